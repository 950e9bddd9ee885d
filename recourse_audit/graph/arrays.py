"""Arrays, in memory or in a numpy archive, become a `Graph` once they have been checked.

An archive holds `x` [N, F] (or the arrays of a scipy CSR matrix: `x_data`, `x_indices`, `x_indptr`
and `x_shape`) and `edge_index` [2, E], whose entries are positions in `x`. Optional arrays are
`ids`, `feature_names`, `edge_weight` [E], `edge_attr` [E, A] and `edge_type` [E]. Every other
one-dimensional array with one entry per node is an attribute. Archives with pickled objects are
refused, because opening one could run a stranger's code.
"""

import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recourse_audit.errors import GraphError
from recourse_audit.graph.columns import (
    MOST_KINDS,
    Column,
    Kinds,
    Place,
    Positions,
    as_strings,
    build_ties,
    check_finite,
    check_ids,
    check_is_file,
    code_kinds,
    features_needed,
    find_repeated,
    near_matches,
    no_nodes,
    one_kind,
    to_strings,
)
from recourse_audit.graph.graph import Floats, Graph, Indices, Strings, build_graph
from recourse_audit.settings import GraphSettings

Array = NDArray[Any]
Matrix = Array | sparse.csr_array

MOST_BYTES = 16 * 2**30  # of arrays in one archive, and of a sparse matrix once it is dense
CSR_ARRAYS = ("x_data", "x_indices", "x_indptr", "x_shape")
RESERVED = frozenset(
    {"x", *CSR_ARRAYS, "edge_index", "edge_weight", "edge_attr", "edge_type"}
    | {"feature_names", "ids"}
)


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
    features: Matrix | None = None
    if isinstance(x, sparse.sparray | sparse.spmatrix):
        features = sparse.csr_array(x)  # type: ignore[call-overload]  # a gap in the stubs
    elif x is not None:
        features = np.asarray(x)
    given = {"edge_type": kind, "edge_weight": weight, "edge_attr": edge_attributes}
    given["edge_index"] = edge_index
    return _assemble(
        Positions("arrays"),
        features,
        {name: np.asarray(values) for name, values in given.items() if values is not None},
        {name: np.asarray(values) for name, values in (attributes or {}).items()},
        ids=ids,
        names=feature_names,
        settings=GraphSettings(directed=directed),
    )


def _assemble(
    place: Place,
    x: Matrix | None,
    arrays: Mapping[str, Array],
    attributes: Mapping[str, Array],
    *,
    ids: Sequence[object] | Array | None,
    names: Sequence[str] | None,
    settings: GraphSettings,
    raw: bool = False,
) -> Graph:
    """Check and index arrays that came from `place`, under the names that an archive has."""
    features = _no_features(ids, attributes, place) if x is None else _features(x, place, raw=raw)
    count, width = features.shape
    names = tuple(f"x{i}" for i in range(width)) if names is None else (*names,)
    _check_names(names, place)
    if len(names) != width:
        needed = f"[{width}], one name per column of x,"
        raise wrong_shape(place, "feature_names", (len(names),), needed)
    ends = _ends(arrays["edge_index"], count, place)
    for name, values in attributes.items():
        check_shape(values, name, (count,), place)
    kinds = _kinds(arrays.get("edge_type"), settings.kinds, len(ends[0]), place)
    numbers = _tie_attributes(arrays, settings.edge_attributes, place)
    tie_attributes = [*numbers]
    weight = "edge_weight" if "edge_weight" in arrays else None
    if weight is not None:
        numbers |= {weight: arrays[weight]}
    for name, values in numbers.items():
        check_numbers(values, name, place)
        check_shape(values, name, (len(ends[0]),), place)
    return build_graph(
        ids=_ids(ids, count, place),
        features=features,
        feature_names=names,
        attributes={name: _labels(values, place) for name, values in attributes.items()},
        ties=build_ties(ends, kinds, numbers.__getitem__, weight, tie_attributes, place),
        directed=settings.directed,
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


def _features(x: Matrix, place: Place, *, raw: bool) -> Floats:
    """The features as a dense matrix of finite numbers; raw columns may have gaps."""
    dense = _dense(x, place)
    if not len(dense):
        raise no_nodes(place)
    if not dense.shape[1]:
        raise wrong_shape(place, "x", dense.shape, "[N, F], with at least one feature,")
    check_numbers(dense, "x", place)
    if raw:
        return dense
    finite = np.isfinite(dense)
    if not finite.all():
        column = int(np.flatnonzero(~finite.all(axis=0))[0])
        check_finite(dense[:, column], f"x[:, {column}]", place)
    return dense if dense.dtype.kind == "f" else dense.astype(float)


def _dense(x: Matrix, place: Place) -> Array:
    """A matrix with its zeros written out, unless it would be too large."""
    if isinstance(x, np.ndarray):
        if x.ndim != 2:
            raise wrong_shape(place, "x", x.shape, "[N, F], with one row per node,")
        return x
    size = math.prod(int(length) for length in x.shape) * x.dtype.itemsize
    try:
        if size <= MOST_BYTES:
            dense: Array = x.toarray()
            return dense
    except MemoryError:
        pass
    raise GraphError(
        f"{place.name}: 'x' has shape {[*x.shape]} and would take {size / 2**30:,.1f} GiB "
        "of memory; leave out features that the model does not take"
    )


def _ends(edge_index: Array, count: int, place: Place) -> tuple[Indices, Indices]:
    """The two rows of `edge_index`, all of them nodes: the runtime would wrap negative entries."""
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


def _tie_attributes(
    arrays: Mapping[str, Array], wanted: Sequence[str], place: Place
) -> dict[str, Array]:
    """The columns of `edge_attr` or, if there is none, the arrays that the settings name."""
    stored = arrays.get("edge_attr")
    if stored is None:
        for name in wanted:
            if name not in arrays:
                raise GraphError(
                    f"{place.name}: there is no array {name!r} (from graph.edge_attributes); "
                    f"{near_matches(name, arrays)}"
                )
        return {name: arrays[name] for name in wanted}
    width = stored.shape[1] if stored.ndim == 2 else 1
    if wanted and stored.ndim == 2 and width != len(wanted):
        raise GraphError(
            f"{place.name}: 'edge_attr' has {width} columns, but graph.edge_attributes "
            f"names {len(wanted)}; name all columns or none"
        )
    check_numbers(stored, "edge_attr", place)
    check_shape(stored, "edge_attr", (arrays["edge_index"].shape[1], width), place)
    return {f"edge_attr[:, {column}]": stored[:, column] for column in range(width)}


def _ids(ids: Sequence[object] | Array | None, count: int, place: Place) -> Strings:
    if ids is None:
        return as_strings(np.arange(count))
    texts = to_strings(ids.tolist() if isinstance(ids, np.ndarray) else ids, place)
    check_shape(texts, "ids", (count,), place)
    check_ids(texts, place)
    return texts


def _labels(values: Array, place: Place) -> Column:
    return values if values.dtype.kind in "biuf" else to_strings(values.tolist(), place)


def _check_names(names: Sequence[str], place: Place) -> None:
    """Refuse two features of one name: nobody could say which of them is meant."""
    to_strings(names, place)
    if (name := find_repeated(names)) is not None:
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


def read_npz(path: Path, settings: GraphSettings, *, raw: bool) -> tuple[Graph, Place]:
    """Read an archive; also where its nodes are, for further checks.

    `settings.features`, if given, selects columns of `x` by their `feature_names`; if the archive
    has no names, it names all columns. For whoever takes raw columns, `x` may be absent: then the
    ids say how many nodes there are.
    """
    check_is_file(path, "npz")
    place = Positions(path)
    arrays = _load(path)
    if "edge_index" not in arrays:
        raise GraphError(
            f"{place.name}: there is no array 'edge_index'; {near_matches('edge_index', arrays)}"
        )
    x: Matrix | None = None
    names: Sequence[str] | None = ()
    if raw and "x" not in arrays and "x_data" not in arrays:
        nodes = arrays.get("ids", arrays.get(settings.id))
        if nodes is None or nodes.ndim != 1:
            raise GraphError(
                f"{place.name}: has neither 'x' nor 'ids', so nobody knows how many nodes there "
                "are; save an array 'ids' with one id per node"
            )
        count = len(nodes)
    else:
        names, x = _pick_features(arrays, settings, place, raw=raw)
        count = x.shape[0]
    attributes = {
        name: array
        for name, array in arrays.items()
        if name not in RESERVED and array.shape == (count,)
    }
    both = [name for name in names or () if raw and name in attributes]
    if both:
        raise GraphError(
            f"{place.name}: {both[0]!r} is an array and a column of 'x'; rename one of them"
        )
    ids = arrays.get("ids", attributes.pop(settings.id, None))
    graph = _assemble(
        place, x, arrays, attributes, ids=ids, names=names, settings=settings, raw=raw
    )
    return graph, place


def _load(path: Path) -> dict[str, Array]:
    """All arrays of an archive; any error of numpy and zipfile becomes one sentence about it."""
    if not zipfile.is_zipfile(path):
        raise GraphError(f"{path}: is not an npz archive; write it with numpy.savez")
    try:
        _check_entries(path)
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
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
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise GraphError(
                f"{path}: contains {name!r}, which is not an array; write it with numpy.savez"
            )
    return arrays


def _check_entries(path: Path) -> None:
    """Refuse two arrays of one name, of which numpy would take the second, and too much data."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    name = find_repeated([entry.filename.removesuffix(".npy") for entry in entries])
    if name is not None:
        raise GraphError(
            f"{path}: has more than one array {name!r}; write it again with numpy.savez"
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
    arrays: Mapping[str, Array], settings: GraphSettings, place: Place, *, raw: bool
) -> tuple[Sequence[str] | None, Matrix]:
    """`x` with the names of its columns; only those that the settings list, if they list some."""
    x, stored = _pick_x(arrays, place), arrays.get("feature_names")
    names = None if stored is None else [str(name) for name in stored.ravel().tolist()]
    wanted: Sequence[str] = settings.features
    _check_names(names or (), place)
    if x.ndim != 2:
        return names, x
    whole = len(wanted) == x.shape[1]
    if raw and names is None:
        return (wanted if whole else [f"x{i}" for i in range(x.shape[1])]), x
    if raw or not wanted:
        return names, x
    if not whole:
        wanted = features_needed(settings, names or ())
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
