"""Arrays, in memory or in a numpy archive, become a `Graph` once they have been checked.

An archive holds `x` [N, F] (or the arrays of a scipy CSR matrix: `x_data`, `x_indices`, `x_indptr`
and `x_shape`) and `edge_index` [2, E], whose entries are positions in `x`. Optional arrays are
`ids`, `feature_names`, `edge_weight` [E], `edge_attr` [E, A] and `edge_type` [E]. Every other
one-dimensional array with one entry per node is an attribute. Archives with pickled objects are
refused, because opening one could run a stranger's code.
"""

import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recourse_audit.errors import GraphError
from recourse_audit.graph.columns import (
    MOST_KINDS,
    Kinds,
    Place,
    Positions,
    RawColumns,
    as_labels,
    as_strings,
    check_finite,
    check_ids,
    check_is_file,
    check_raw_columns,
    code_kinds,
    near_matches,
    no_nodes,
    one_kind,
    single_precision,
    to_strings,
)
from recourse_audit.graph.computed import needed_features, with_computed
from recourse_audit.graph.graph import Floats, Graph, Indices, Strings, Ties, build_graph
from recourse_audit.settings import GraphSettings

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
    directed
        Whether ties have a direction. If not, a tie that is listed both ways is read once.
    feature_names
        The names of the columns of `x`; x0, x1, … if absent.

    Examples
    --------
    >>> x, edge_index = [[1.5], [2.0], [0.5]], [[0, 1], [1, 2]]
    >>> from_arrays(x, edge_index, kind=["guarantor", "address"], feature_names=["income"])
    Graph(nodes=3, ties=2, features=1)
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
    _check_names(names, width, place)
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
    dense = _dense(x, place)
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


def _dense(x: Array | sparse.csr_array, place: Place) -> Array:
    """A matrix with its zeros written out, unless it would be too large."""
    if not isinstance(x, np.ndarray):
        size = math.prod(int(length) for length in x.shape) * x.dtype.itemsize
        try:
            dense: Array | None = x.toarray() if size <= MOST_BYTES else None
        except MemoryError:
            dense = None
        if dense is None:
            raise GraphError(
                f"{place.name}: 'x' has shape {[*x.shape]} and would take {size / 2**30:,.1f} GiB "
                "of memory; leave out features that the model does not take"
            )
        return dense
    if x.ndim != 2:
        raise wrong_shape(place, "x", x.shape, "[N, F], with one row per node,")
    return x


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


def _check_names(names: Sequence[str], width: int, place: Place) -> None:
    """Refuse names of features that are not one for each column of `x`."""
    _check_distinct(names, place)
    if len(names) != width:
        needed = f"[{width}], one name per column of x,"
        raise wrong_shape(place, "feature_names", (len(names),), needed)


def _check_distinct(names: Sequence[str], place: Place) -> None:
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


# ---------------------------------------------------------------- npz archives


CSR_ARRAYS = ("x_data", "x_indices", "x_indptr", "x_shape")
RESERVED = frozenset(
    {"x", *CSR_ARRAYS, "edge_index", "edge_weight", "edge_attr", "edge_type"}
    | {"feature_names", "ids"}
)


def read_npz(settings: GraphSettings, raw: RawColumns | None = None) -> Graph:
    """Read `settings.npz`.

    `settings.features`, if given, selects columns of `x` by their `feature_names`; if the archive
    has no names, it names all columns. For whoever takes raw columns, those of `x` are attributes
    like all others, and `x` may be absent.
    """
    assert settings.npz is not None
    check_is_file(settings.npz, "npz")
    place = Positions(settings.npz)
    arrays = _load(settings.npz)
    if "edge_index" not in arrays:
        raise GraphError(
            f"{place.name}: there is no array 'edge_index'; {near_matches('edge_index', arrays)}"
        )
    x: Array | sparse.csr_array | None = None
    names: Sequence[str] | None = ()
    if raw is None:
        names, x = _pick_features(arrays, settings, place)
        attributes = _node_arrays(arrays, x.shape[0])
    else:
        attributes = _raw_columns(arrays, settings, place)
    graph = assemble_arrays(
        place,
        x=x,
        edge_index=arrays["edge_index"],
        ids=arrays.get("ids", attributes.pop(settings.id, None)),
        attributes=attributes,
        kind=arrays.get("edge_type"),
        kinds=settings.kinds,
        weight=arrays.get("edge_weight"),
        edge_attributes=_pick_tie_attributes(arrays, settings.edge_attributes, place),
        directed=settings.directed,
        feature_names=names,
    )
    if raw is not None:
        kinds = raw.kinds([*graph.attributes], place.name)
        graph = replace(graph, attributes=check_raw_columns(graph.attributes, kinds, place))
    return with_computed(graph, settings, place)


def _node_arrays(arrays: Mapping[str, Array], count: int) -> dict[str, Array]:
    """Arrays with one entry per node that nothing else is known about."""
    return {
        name: array
        for name, array in arrays.items()
        if name not in RESERVED and array.shape == (count,)
    }


def _raw_columns(
    arrays: Mapping[str, Array], settings: GraphSettings, place: Place
) -> dict[str, Array]:
    """The columns of `x`, if there is one, by name, and all other arrays with one entry per node.

    Without `x`, it is the ids that say how many nodes there are.
    """
    if "x" not in arrays and "x_data" not in arrays:
        ids = arrays.get("ids", arrays.get(settings.id))
        if ids is None or ids.ndim != 1:
            raise GraphError(
                f"{place.name}: has neither 'x' nor 'ids', so nobody knows how many nodes there "
                "are; save an array 'ids' with one id per node"
            )
        return _node_arrays(arrays, len(ids))
    table = _dense(_pick_x(arrays, place), place)
    names = _stored_names(arrays)
    if names is None:
        whole = len(settings.features) == table.shape[1]
        names = [*settings.features] if whole else [f"x{i}" for i in range(table.shape[1])]
    _check_names(names, table.shape[1], place)
    check_numbers(table, "x", place)
    others = _node_arrays(arrays, len(table))
    both = [name for name in names if name in others]
    if both:
        raise GraphError(
            f"{place.name}: {both[0]!r} is an array and a column of 'x'; rename one of them"
        )
    return {name: table[:, column] for column, name in enumerate(names)} | others


def _stored_names(arrays: Mapping[str, Array]) -> list[str] | None:
    stored = arrays.get("feature_names")
    return None if stored is None else [str(name) for name in stored.ravel().tolist()]


@contextmanager
def _archive_errors(path: Path) -> Iterator[None]:
    """Turn any error of numpy and zipfile into one sentence about the archive."""
    try:
        yield
    except GraphError:
        raise
    except Exception as error:  # numpy parses headers as Python, so damage can raise anything
        if "pickle" in str(error):
            raise GraphError(
                f"{path}: contains pickled objects, which are not opened because they may run "
                "code; save plain arrays of numbers or text"
            ) from None
        reason = " ".join(str(error).split())[:120]
        raise GraphError(
            f"{path}: is a damaged npz archive ({reason}); write it again with numpy.savez"
        ) from None


def _load(path: Path) -> dict[str, Array]:
    if not zipfile.is_zipfile(path):
        raise GraphError(f"{path}: is not an npz archive; write it with numpy.savez")
    with _archive_errors(path):
        _check_entries(path)
    with _archive_errors(path), np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    strangers = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if strangers:
        raise GraphError(
            f"{path}: contains {strangers[0]!r}, which is not an array; write it with numpy.savez"
        )
    return arrays


def _check_entries(path: Path) -> None:
    """Refuse two arrays of one name, of which numpy would take the second, and too much data."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    names = [entry.filename.removesuffix(".npy") for entry in entries]
    repeated = [name for position, name in enumerate(names) if name in names[:position]]
    if repeated:
        raise GraphError(
            f"{path}: has more than one array {repeated[0]!r}; write it again with numpy.savez"
        )
    size = sum(entry.file_size for entry in entries)
    if size > MOST_BYTES:
        raise GraphError(
            f"{path}: unpacks to {size / 2**30:,.0f} GiB, more than {MOST_BYTES / 2**30:.0f} GiB; "
            "save the nodes and ties as Parquet tables"
        )


def _pick_x(arrays: Mapping[str, Array], place: Place) -> Array | sparse.csr_array:
    if "x" in arrays:
        return arrays["x"]
    if not all(name in arrays for name in CSR_ARRAYS):
        hint = near_matches("x", arrays) if arrays else "it is empty"
        raise GraphError(
            f"{place.name}: there is no array 'x' with the features (nor {', '.join(CSR_ARRAYS)}); "
            f"{hint}"
        )
    data, indices, indptr, shape = (arrays[name] for name in CSR_ARRAYS)
    try:
        x = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        x.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise GraphError(
            f"{place.name}: {', '.join(CSR_ARRAYS)} are not a CSR matrix ({error}); "
            "write them from scipy.sparse.csr_array"
        ) from None
    return x


def _pick_features(
    arrays: Mapping[str, Array], settings: GraphSettings, place: Place
) -> tuple[Sequence[str] | None, Array | sparse.csr_array]:
    """`x` with the names of its columns; only those that the settings list, if they list some."""
    x, names = _pick_x(arrays, place), _stored_names(arrays)
    wanted: Sequence[str] = settings.features
    _check_distinct(names or (), place)
    if not wanted or x.ndim != 2:
        return names, x
    if len(wanted) != x.shape[1]:
        wanted = needed_features(settings, names or ())
    if names is None or len(names) != x.shape[1]:
        return (wanted if names is None else names), x
    for name in wanted:
        if name not in names:
            raise GraphError(
                f"{place.name}: 'feature_names' does not contain {name!r} (from graph.features); "
                f"{near_matches(name, names)}"
            )
    if settings.encodings or settings.derived:
        return names, x  # what is no feature may be a part of one, which is found out later
    return wanted, x[:, [names.index(name) for name in wanted]]


def _pick_tie_attributes(
    arrays: Mapping[str, Array], wanted: Sequence[str], place: Place
) -> Array | None:
    """`edge_attr` as it is or, if there is none, the arrays that the settings name."""
    stored = arrays.get("edge_attr")
    if stored is not None and wanted and stored.ndim == 2 and stored.shape[1] != len(wanted):
        raise GraphError(
            f"{place.name}: 'edge_attr' has {stored.shape[1]} columns, but graph.edge_attributes "
            f"names {len(wanted)}; name all columns or none"
        )
    if stored is not None or not wanted:
        return stored
    for name in wanted:
        if name not in arrays:
            raise GraphError(
                f"{place.name}: there is no array {name!r} (from graph.edge_attributes); "
                f"{near_matches(name, arrays)}"
            )
        check_numbers(arrays[name], name, place)
        check_shape(arrays[name], name, arrays["edge_index"].shape[-1:], place)
    return np.stack([arrays[name] for name in wanted], axis=1)
