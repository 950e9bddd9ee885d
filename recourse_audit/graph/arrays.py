"""Arrays in memory, one set or one per kind of nodes, and PyG's `HeteroData` become a `Graph`.

The checks are those of an archive (`graph.archives`). PyG is not needed: whatever has an `x_dict`
and an `edge_index_dict` will do, with tensors or with arrays.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from recourse_audit.errors import GraphError
from recourse_audit.graph.archives import (
    Array,
    Ids,
    Matrix,
    build_from,
    join_arrays,
    node_arrays,
    tie_arrays,
)
from recourse_audit.graph.columns import Nodes, Positions
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.kinds import OtherKinds, Triple, find_subject, join_kinds, people_alone
from recourse_audit.settings import GraphSettings, Subject

Features = ArrayLike | sparse.sparray | sparse.spmatrix | None
# What `HeteroData` calls its stores' contents, besides the attributes of nodes.
OWN_NAMES = frozenset({"x", "num_nodes", "ids", "feature_names"})


def from_arrays(
    x: Features | Mapping[str, Features],
    edge_index: ArrayLike | Mapping[Triple, ArrayLike],
    *,
    ids: Ids | Mapping[str, Ids] = None,
    attributes: Mapping[str, ArrayLike] | Mapping[str, Mapping[str, ArrayLike]] | None = None,
    kind: ArrayLike | None = None,
    weight: ArrayLike | Mapping[Triple, ArrayLike] | None = None,
    edge_attributes: ArrayLike | Mapping[Triple, ArrayLike] | None = None,
    directed: bool = False,
    feature_names: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    subject: str | None = None,
) -> Graph:
    """Build a `Graph` from arrays in memory, with the same checks as for a file.

    Parameters
    ----------
    x, edge_index
        Features [N, F], dense or scipy sparse, and the ends of ties [2, E] as positions in `x`.
        `x` may be None where a pipeline makes the features from `attributes`.
    ids
        Ids of any type, which become text; 0 to N-1 if absent.
    attributes
        What else is known about the nodes, one entry per node.
    kind
        The kind of each tie: names, or whole numbers that are the model's codes.
    weight, edge_attributes
        The weight [E] and the attributes [E, A] of each tie.
    directed
        Whether ties have a direction. If not, a tie that is listed both ways is read once.
    feature_names
        The names of the columns of `x`; x0, x1, … if absent.
    subject
        The kind of nodes that is decided on, if there are several. Then `x`, `ids`, `attributes`
        and `feature_names` are dictionaries by kind, and `edge_index`, `weight` and
        `edge_attributes` by `(from, relation, to)`, as in PyG. Positions count within each kind; a
        kind without features has an `x` without columns; a relation within a kind that lists every
        tie both ways has no direction; and a relation `rev_…` is checked against its own.

    Examples
    --------
    >>> x, edge_index = [[1.5], [2.0], [0.5]], [[0, 1], [1, 2]]
    >>> from_arrays(x, edge_index, kind=["guarantor", "address"], feature_names=["income"])
    Graph(nodes=3, ties=2, features=1)
    >>> kinds = {"person": [[1.5], [2.0]], "employer": [[40.0, 3.0]]}
    >>> ties = {("person", "works_at", "employer"): [[0, 1], [0, 0]]}
    >>> from_arrays(kinds, ties, subject="person")
    Graph(nodes=3, ties=2, features=3)
    """
    if isinstance(x, Mapping) or isinstance(edge_index, Mapping):
        if not isinstance(x, Mapping) or not isinstance(edge_index, Mapping):
            raise GraphError("arrays: x and edge_index must both be dictionaries, or neither")
        return _join(
            "arrays",
            x,
            _by_relation(edge_index=edge_index, edge_weight=weight, edge_attr=edge_attributes),
            subject,
            ids=_by_kind("ids", ids),
            attributes=_by_kind("attributes", attributes),
            names=_by_kind("feature_names", feature_names),
        )
    place = Positions("arrays")
    columns = {name: as_array(values) for name, values in (attributes or {}).items()}
    nodes = node_arrays(place, _matrix(x), columns, ids=ids, names=feature_names)  # type: ignore[arg-type]
    given = {"edge_type": kind, "edge_weight": weight, "edge_attr": edge_attributes}
    given["edge_index"] = edge_index
    arrays = {name: as_array(values) for name, values in given.items() if values is not None}
    count = len(nodes["ids"])
    ties = tie_arrays(place, arrays, (count, count), GraphSettings())
    return build_from(nodes, ties, place, directed=directed)


def from_pyg(
    data: Any,
    subject: Subject | None = None,
    *,
    ids: Mapping[str, Ids] | None = None,
    feature_names: Mapping[str, Sequence[str]] | None = None,
) -> Graph:
    """Build a `Graph` from PyG's `HeteroData`, as it is.

    Parameters
    ----------
    data
        Has an `x_dict` and an `edge_index_dict`, and perhaps an `edge_attr_dict` and an
        `edge_weight_dict`. Whatever else a store of nodes has one entry per node of is an
        attribute; a kind without `x` needs `num_nodes`.
    subject
        The kind of nodes that is decided on.
    ids, feature_names
        By kind, in place of the stores' own `ids` and `feature_names`.
    """
    x = {kind: as_array(values) for kind, values in _collect(data, "x").items()}
    stores = {kind: _store_of(data, kind) for kind in getattr(data, "node_types", [*x])}
    known: dict[str, dict[str, Any]] = {"ids": {}, "feature_names": {}}
    attributes: dict[str, dict[str, Array]] = {}
    for kind, store in stores.items():
        if kind not in x:
            count = store.get("num_nodes")
            if count is None:
                raise GraphError(
                    f"HeteroData: the kind {kind!r} has neither x nor num_nodes, so nobody knows "
                    "how many nodes there are; set num_nodes"
                )
            x[kind] = np.empty((int(count), 0))
        for name, column in known.items():
            if name in store:
                values = store[name]
                column[kind] = as_array(values) if hasattr(values, "detach") else [*values]
        columns = {name: as_array(v) for name, v in store.items() if name not in OWN_NAMES}
        count = len(x[kind])
        attributes[kind] = {n: v for n, v in columns.items() if v.shape == (count,)}
    names = ("edge_index", "edge_weight", "edge_attr")
    return _join(
        "HeteroData",
        {kind: x[kind] for kind in stores},
        _by_relation(**{name: _collect(data, name) for name in names}),
        subject,
        ids={**known["ids"], **(ids or {})},
        attributes=attributes,
        names={**known["feature_names"], **(feature_names or {})},
    )


def is_hetero_data(graph: object) -> bool:
    """Whether an object is like PyG's `HeteroData`."""
    return bool(_collect(graph, "edge_index"))


def _collect(data: Any, name: str) -> dict[Any, Any]:
    """What the stores of a `HeteroData` have under a name; PyG raises an error if none has it."""
    try:
        return dict(getattr(data, f"{name}_dict"))
    except (AttributeError, KeyError, TypeError):
        return {}


def as_array(values: Any) -> Array:
    """An array of whatever numpy takes, or of a tensor of PyTorch, on any device."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)


def _store_of(data: Any, kind: str) -> dict[str, Any]:
    """What a `HeteroData` has about the nodes of a kind, by name."""
    try:
        store = data[kind]
    except (KeyError, TypeError):
        return {}
    known = dict(store.items())
    return {"num_nodes": getattr(store, "num_nodes", None), **known}


def _matrix(x: Any) -> Matrix | None:
    if isinstance(x, sparse.sparray | sparse.spmatrix):
        matrix: Matrix = sparse.csr_array(x)  # type: ignore[call-overload]  # a gap in the stubs
        return matrix
    return None if x is None else as_array(x)


def _by_kind(name: str, values: Any) -> dict[str, Any]:
    """Values by kind; what is no dictionary would not say whose they are."""
    if values is not None and not isinstance(values, Mapping):
        raise GraphError(f"arrays: {name} must be a dictionary by kind, as x is")
    return dict(values or {})


def _by_relation(**columns: Any) -> dict[Triple, dict[str, Array]]:
    """The arrays of each relation by their names."""
    edges: dict[Triple, dict[str, Array]] = {}
    for name, values in columns.items():
        if values is not None and not isinstance(values, Mapping):
            raise GraphError(f"arrays: {name} must be a dictionary by relation, as edge_index is")
        for triple, array in (values or {}).items():
            if not isinstance(triple, tuple) or len(triple) != 3:
                raise GraphError(
                    f"arrays: {name} has the key {triple!r}; a relation is (from, relation, to)"
                )
            edges.setdefault(triple, {})[name] = as_array(array)
    return edges


def _join(
    origin: str,
    x: Mapping[str, Any],
    edges: Mapping[Triple, Mapping[str, Array]],
    subject: Subject | None,
    *,
    ids: Mapping[str, Ids],
    attributes: Mapping[str, Mapping[str, Any]],
    names: Mapping[str, Sequence[str]],
) -> Graph:
    """Check the arrays of each kind and relation, and join them."""
    strangers: Iterable[str] = {*ids, *attributes, *names} - {*x}
    for kind in sorted(strangers):
        raise GraphError(
            f"{origin}: there is something about the kind {kind!r}, which has no x; add it"
        )
    people = find_subject(x, subject)
    nodes: dict[str, Nodes] = {}
    for kind in sorted(x, key=lambda kind: kind != people):
        nodes[kind] = node_arrays(
            Positions(f"{origin}, kind {kind!r}"),
            _matrix(x[kind]),
            {name: as_array(values) for name, values in attributes.get(kind, {}).items()},
            ids=ids.get(kind),
            names=names.get(kind),
            bare=True,
        )
    relations = join_arrays(origin, nodes, edges, {})
    alone = people_alone(nodes.pop(people), origin)
    return join_kinds(
        alone, OtherKinds(subject=people, nodes=nodes, relations=relations, origin=origin)
    )
