"""Arrays in memory, one set or one per kind of nodes, and PyG's `HeteroData` become a `Graph`.

The checks are those of an archive (`graph.archives`). PyG is not needed: whatever has an `x_dict`
and an `edge_index_dict` will do, with tensors or with arrays.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from recourse_audit.errors import GraphError
from recourse_audit.graph.archives import (
    Array,
    Ids,
    Matrix,
    join_arrays,
    node_arrays,
    pick_nodes,
    tie_arrays,
)
from recourse_audit.graph.columns import Nodes, Positions
from recourse_audit.graph.graph import Graph, build_graph
from recourse_audit.graph.kinds import Triple, find_subject, join_kinds
from recourse_audit.settings import GraphSettings, Subject

Features = ArrayLike | sparse.sparray | sparse.spmatrix | None


def from_arrays(
    x: Features | Mapping[str, Features] | Any,
    edge_index: ArrayLike | Mapping[Triple, ArrayLike] | None = None,
    *,
    ids: Ids | Mapping[str, Ids] = None,
    attributes: Mapping[str, ArrayLike] | Mapping[str, Mapping[str, ArrayLike]] | None = None,
    kind: ArrayLike | None = None,
    weight: ArrayLike | Mapping[Triple, ArrayLike] | None = None,
    edge_attributes: ArrayLike | Mapping[Triple, ArrayLike] | None = None,
    directed: bool = False,
    feature_names: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    subject: Subject | None = None,
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
        tie both ways has no direction; and a relation `rev_…` is checked against its own. PyG's
        `HeteroData` takes the place of `x` as it is: attributes are what its stores of nodes have
        one entry per node of, and a kind without features needs `num_nodes`.

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
    numbers = {"edge_index": edge_index, "edge_weight": weight, "edge_attr": edge_attributes}
    if is_hetero_data(x) or isinstance(x, Mapping) or isinstance(edge_index, Mapping):
        origin = "HeteroData" if is_hetero_data(x) else "arrays"
        if is_hetero_data(x):
            numbers = {name: _collect(x, name) for name in numbers}
        given = {"ids": ids, "feature_names": feature_names, "attributes": attributes}
        nodes = _nodes_by_kind(x, given, origin)
        people = find_subject(nodes, subject)
        edges = _edges_by_relation(numbers)
        tables = join_arrays(origin, nodes, edges, GraphSettings(), people)
        return join_kinds(tables.people, tables)
    place = Positions("arrays")
    arrays = {name: as_array(values) for name, values in numbers.items() if values is not None}
    if "edge_index" not in arrays:
        raise GraphError("arrays: there is no edge_index; give the ends of the ties")
    if kind is not None:
        arrays["edge_type"] = as_array(kind)
    columns = {name: as_array(values) for name, values in (attributes or {}).items()}
    own = node_arrays(place, _matrix(x), columns, ids=ids, names=feature_names)  # type: ignore[arg-type]
    count = len(own["ids"])
    ties = tie_arrays(place, arrays, (count, count), GraphSettings())
    return build_graph(**own, ties=ties, directed=directed, origin=place.name)


def is_hetero_data(graph: object) -> bool:
    """Whether an object is like PyG's `HeteroData`."""
    return bool(_collect(graph, "edge_index"))


def as_array(values: Any) -> Array:
    """An array of whatever numpy takes, or of a tensor of PyTorch, on any device."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)


def _matrix(x: Any) -> Matrix | None:
    if isinstance(x, sparse.sparray | sparse.spmatrix):
        matrix: Matrix = sparse.csr_array(x)  # type: ignore[call-overload]  # a gap in the stubs
        return matrix
    return None if x is None else as_array(x)


def _collect(data: Any, name: str) -> dict[Any, Any]:
    """What the stores of a `HeteroData` have under a name; PyG raises an error if none has it."""
    try:
        return dict(getattr(data, f"{name}_dict"))
    except (AttributeError, KeyError, TypeError):
        return {}


def _stores_of(data: Any) -> dict[str, dict[str, Array]]:
    """What a `HeteroData` has about the nodes of each kind, under the names of an archive."""
    x = _collect(data, "x")
    stores: dict[str, dict[str, Array]] = {}
    for kind in getattr(data, "node_types", x):
        known = dict(data[kind].items()) if hasattr(data, "node_types") else {"x": x[kind]}
        if "x" not in known and known.setdefault("num_nodes", data[kind].num_nodes) is None:
            raise GraphError(
                f"HeteroData: the kind {kind!r} has neither x nor num_nodes, so nobody knows how "
                "many nodes there are; set num_nodes"
            )
        stores[kind] = {name: as_array(values) for name, values in known.items()}
    return stores


def _nodes_by_kind(x: Any, given: Mapping[str, Any], origin: str) -> dict[str, Nodes]:
    """The nodes of each kind; of a `HeteroData`, its stores have the names of an archive."""
    of_kind = {name: _by("kind", name, values) for name, values in given.items()}
    stores = _stores_of(x) if is_hetero_data(x) else _by("kind", "x", x)
    for name, kinds in of_kind.items():
        if unknown := [kind for kind in kinds if kind not in stores]:
            raise GraphError(f"{origin}: {name} names {unknown[0]!r}, which has no x; add it")
    nodes = {}
    for kind, store in stores.items():
        place = Positions(f"{origin}, kind {kind!r}")
        ids, names, attributes = (values.get(kind) for values in of_kind.values())
        if is_hetero_data(x):
            more = {"ids": ids, "feature_names": names}
            store |= {n: np.array([*v], object) for n, v in more.items() if v is not None}
            nodes[kind] = pick_nodes(store, GraphSettings(), place, bare=True)
        else:
            columns = {name: as_array(values) for name, values in (attributes or {}).items()}
            nodes[kind] = node_arrays(
                place, _matrix(store), columns, ids=ids, names=names, bare=True
            )
    return nodes


def _edges_by_relation(columns: Mapping[str, Any]) -> dict[Triple, dict[str, Array]]:
    edges: dict[Triple, dict[str, Array]] = {}
    for name, values in columns.items():
        for triple, array in _by("relation", name, values).items():
            if not isinstance(triple, tuple) or len(triple) != 3:
                raise GraphError(
                    f"arrays: {name} has the key {triple!r}; a relation is (from, relation, to)"
                )
            edges.setdefault(triple, {})[name] = as_array(array)
    return edges


def _by(what: str, name: str, values: Any) -> dict[Any, Any]:
    """Values by kind or relation; what is no dictionary would not say whose they are."""
    if values is not None and not isinstance(values, Mapping):
        raise GraphError(f"arrays: {name} must be a dictionary by {what}, as the other arrays are")
    return dict(values or {})
