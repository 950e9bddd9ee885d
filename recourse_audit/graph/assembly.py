"""Arrays in memory become a `Graph` once their shapes, types and values have been checked."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recourse_audit.errors import GraphError
from recourse_audit.graph.arrays import Floats, Graph, Indices, Strings, Ties, build_graph
from recourse_audit.graph.columns import (
    MOST_KINDS,
    Kinds,
    Place,
    Positions,
    as_labels,
    as_strings,
    check_finite,
    check_ids,
    code_kinds,
    no_nodes,
    one_kind,
    single_precision,
    to_strings,
)

Array = NDArray[Any]

MOST_BYTES = 16 * 2**30  # of arrays in one archive, and of a sparse matrix once it is dense


def from_arrays(
    x: ArrayLike | sparse.sparray | sparse.spmatrix | None,
    edge_index: ArrayLike,
    *,
    ids: Sequence[object] | Array | None = None,
    attributes: Mapping[str, ArrayLike] | None = None,
    kind: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    edge_attributes: ArrayLike | None = None,
    directed: bool = False,
    feature_names: Sequence[str] | None = None,
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
    """
    features: Array | sparse.csr_array | None
    if x is None:
        features = None
    elif isinstance(x, sparse.sparray | sparse.spmatrix):
        features = sparse.csr_array(x)  # type: ignore[call-overload]  # a gap in the stubs
    else:
        features = np.asarray(x)
    return assemble_arrays(
        Positions("arrays"),
        x=features,
        edge_index=np.asarray(edge_index),
        ids=ids,
        attributes={name: np.asarray(values) for name, values in (attributes or {}).items()},
        kind=None if kind is None else np.asarray(kind),
        kinds=(),
        weight=None if weight is None else np.asarray(weight),
        edge_attributes=None if edge_attributes is None else np.asarray(edge_attributes),
        directed=directed,
        feature_names=feature_names,
    )


def assemble_arrays(
    place: Place,
    *,
    x: Array | sparse.csr_array | None,
    edge_index: Array,
    ids: Sequence[object] | Array | None,
    attributes: Mapping[str, Array],
    kind: Array | None,
    kinds: Sequence[str],
    weight: Array | None,
    edge_attributes: Array | None,
    directed: bool,
    feature_names: Sequence[str] | None,
) -> Graph:
    """Check and index arrays that came from `place`."""
    features = _no_features(ids, attributes, place) if x is None else _features(x, place)
    count, width = features.shape
    names = tuple(f"x{i}" for i in range(width)) if feature_names is None else (*feature_names,)
    if len(names) != width:
        raise wrong_shape(
            place, "feature_names", (len(names),), f"[{width}], one name per column of x,"
        )
    check_distinct(names, place)
    source, target = _ends(edge_index, count, place)
    for name, values in attributes.items():
        check_shape(values, name, (count,), place)
    code, kind_names = _kinds(kind, kinds, len(source), place)
    if weight is not None:
        check_numbers(weight, "edge_weight", place)
        check_shape(weight, "edge_weight", (len(source),), place)
        weight = single_precision(weight, "edge_weight", place)
    if edge_attributes is not None:
        check_numbers(edge_attributes, "edge_attr", place)
        columns = edge_attributes.shape[1] if edge_attributes.ndim == 2 else 1
        check_shape(edge_attributes, "edge_attr", (len(source), columns), place)
        for column in range(columns):
            single_precision(edge_attributes[:, column], f"edge_attr[:, {column}]", place)
        edge_attributes = edge_attributes.astype(np.float32)
    return build_graph(
        ids=_ids(ids, count, place),
        features=features,
        feature_names=names,
        attributes={name: _labels(values, place) for name, values in attributes.items()},
        ties=Ties(
            source=source,
            target=target,
            kind=code,
            kinds=kind_names,
            weight=weight,
            attributes=edge_attributes,
        ),
        directed=directed,
        origin=place.name,
    )


def _no_features(
    ids: Sequence[object] | Array | None, attributes: Mapping[str, Array], place: Place
) -> Floats:
    """A matrix without columns, for as many nodes as there are ids or values of attributes."""
    known = [ids] if ids is not None else [*attributes.values()]
    if not known:
        raise GraphError(f"{place.name}: without 'x', ids or attributes must say who is there")
    if not len(known[0]):
        raise no_nodes(place)
    return np.empty((len(known[0]), 0))


def _features(x: Array | sparse.csr_array, place: Place) -> Floats:
    dense: Array = x if isinstance(x, np.ndarray) else dense_array(x, place)
    if dense.ndim != 2:
        raise wrong_shape(place, "x", dense.shape, "[N, F], with one row per node,")
    if not len(dense):
        raise no_nodes(place)
    if not dense.shape[1]:
        raise wrong_shape(place, "x", dense.shape, "[N, F], with at least one feature,")
    check_numbers(dense, "x", place)
    finite = np.isfinite(dense)
    if not finite.all():
        column = int(np.flatnonzero(~finite.all(axis=0))[0])
        check_finite(dense[:, column], f"x[:, {column}]", place)
    return dense if dense.dtype.kind == "f" else dense.astype(float)


def dense_array(x: sparse.csr_array, place: Place) -> Array:
    """A sparse matrix with its zeros written out, unless it would be too large."""
    rows, columns = x.shape
    size = int(rows) * int(columns) * x.dtype.itemsize
    try:
        if size <= MOST_BYTES:
            dense: Array = x.toarray()
            return dense
    except MemoryError:
        pass
    raise GraphError(
        f"{place.name}: 'x' has shape {[*x.shape]} and would take {size / 2**30:,.1f} GiB of "
        "memory; leave out features that the model does not take"
    )


def _ends(edge_index: Array, count: int, place: Place) -> tuple[Indices, Indices]:
    """Check the two rows of `edge_index`; the runtime would wrap negative entries."""
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        turned = edge_index.ndim == 2 and edge_index.shape[1] == 2
        raise wrong_shape(
            place, "edge_index", edge_index.shape, "[2, E]" + turned * " (transpose it)"
        )
    if not edge_index.size:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    if edge_index.dtype.kind not in "iu":
        raise GraphError(
            f"{place.name}: 'edge_index' has type {edge_index.dtype}, but whole numbers are "
            "needed; save it as int64"
        )
    outside = (edge_index < 0) | (edge_index >= count)
    if outside.any():
        tie = int(np.flatnonzero(outside.any(axis=0))[0])
        end = int(edge_index[:, tie][outside[:, tie]][0])
        raise GraphError(
            f"{place.name}: 'edge_index' has {end} in column {tie} (counted from 0), which is not "
            f"a node: nodes are 0 to {count - 1}; correct the tie or remove it"
        )
    source, target = edge_index.astype(np.int32)
    return source, target


def _kinds(kind: Array | None, wanted: Sequence[str], count: int, place: Place) -> Kinds:
    """Keep whole numbers, which are the model's codes, as they are; number names."""
    if kind is None:
        return one_kind(count, wanted, place)
    check_shape(kind, "edge_type", (count,), place)
    if kind.dtype.kind not in "iu":
        names, codes = np.unique(to_strings(kind.tolist(), place), return_inverse=True)
        return code_kinds(codes, names.tolist(), wanted, place)
    most = len(wanted) if wanted else MOST_KINDS
    outside = (kind < 0) | (kind >= most)
    if outside.any():
        index = int(np.flatnonzero(outside)[0])
        remedy = "list every kind in graph.kinds" if wanted else "number the kinds from 0"
        raise GraphError(
            f"{place.row(index)}: 'edge_type' is {int(kind[index])}, which is not one of the codes "
            f"0 to {most - 1}; {remedy}"
        )
    used = int(kind.max()) + 1 if count else 1
    return kind.astype(np.int16), tuple(wanted) or tuple(str(code) for code in range(used))


def _ids(ids: Sequence[object] | Array | None, count: int, place: Place) -> Strings:
    if ids is None:
        return as_strings(np.arange(count))
    texts = to_strings(ids.tolist() if isinstance(ids, np.ndarray) else ids, place)
    check_shape(texts, "ids", (count,), place)
    check_ids(texts, place)
    return texts


def _labels(values: Array, place: Place) -> NDArray[np.generic]:
    if values.dtype.kind in "biuf":
        return values
    return as_labels(to_strings(values.tolist(), place))


def check_distinct(names: Sequence[str], place: Place) -> None:
    """Refuse two features of one name: nobody could say which of them is meant."""
    to_strings(names, place)
    for position, name in enumerate(names):
        if name in names[:position]:
            raise GraphError(
                f"{place.name}: 'feature_names' has {name!r} more than once; rename one of them"
            )


def check_numbers(values: Array, name: str, place: Place) -> None:
    """Refuse an array of text, dates or objects."""
    if values.dtype.kind not in "biuf":
        raise GraphError(
            f"{place.name}: {name!r} has type {values.dtype}, but numbers are needed; "
            "save it as floating-point numbers"
        )


def check_shape(values: Array, name: str, shape: tuple[int, ...], place: Place) -> None:
    """Refuse an array whose shape does not match the number of nodes or ties."""
    if values.shape != shape:
        raise wrong_shape(place, name, values.shape, str([*shape]))


def wrong_shape(place: Place, name: str, shape: tuple[int, ...], needed: str) -> GraphError:
    """The error for an array of the wrong shape."""
    return GraphError(
        f"{place.name}: {name!r} has shape {[*shape]}, but {needed} is needed; reshape it"
    )
