"""A numpy archive becomes a `Graph`, and no code in it ever runs.

An archive holds `x` [N, F] (or the arrays of a scipy CSR matrix: `x_data`, `x_indices`, `x_indptr`
and `x_shape`) and `edge_index` [2, E], whose entries are positions in `x`. Optional arrays are
`ids`, `feature_names`, `edge_weight` [E], `edge_attr` [E, A] and `edge_type` [E]. Every other
one-dimensional array with one entry per node is an attribute. Archives with pickled objects are
refused, because opening one could run a stranger's code.
"""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from recourse_audit.errors import GraphError
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.assembly import (
    MOST_BYTES,
    Array,
    assemble_arrays,
    check_distinct,
    check_numbers,
    check_shape,
    dense_array,
    wrong_shape,
)
from recourse_audit.graph.columns import Place, Positions, check_is_file, near_matches
from recourse_audit.graph.computed import needed_features, with_computed
from recourse_audit.graph.raw_columns import RawColumns, checked_columns
from recourse_audit.settings import GraphSettings

CSR_ARRAYS = ("x_data", "x_indices", "x_indptr", "x_shape")
RESERVED = {
    *(
        "x",
        *CSR_ARRAYS,
        "edge_index",
        "edge_weight",
        "edge_attr",
        "edge_type",
        "feature_names",
        "ids",
    )
}


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
    if raw is None:
        names, x = _pick_features(
            _pick_x(arrays, place), arrays.get("feature_names"), settings, place
        )
        graph = _assembled(settings, place, arrays, x, names, _attributes(arrays, x.shape[0]))
    else:
        columns = _raw_columns(arrays, settings, place)
        graph = _assembled(settings, place, arrays, None, (), columns)
        kinds = raw.kinds([*graph.attributes], place.name)
        graph = replace(graph, attributes=checked_columns(graph.attributes, kinds, place))
    return with_computed(graph, settings, place)


def _assembled(
    settings: GraphSettings,
    place: Place,
    arrays: Mapping[str, Array],
    x: Array | sparse.csr_array | None,
    names: Sequence[str] | None,
    attributes: dict[str, Array],
) -> Graph:
    return assemble_arrays(
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


def _attributes(arrays: Mapping[str, Array], count: int) -> dict[str, Array]:
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
        return _attributes(arrays, len(ids))
    x = _pick_x(arrays, place)
    table = x if isinstance(x, np.ndarray) else dense_array(x, place)
    if table.ndim != 2:
        raise wrong_shape(place, "x", table.shape, "[N, F], with one row per node,")
    stored = arrays.get("feature_names")
    names = [str(name) for name in stored.ravel().tolist()] if stored is not None else []
    if stored is None:
        whole = len(settings.features) == table.shape[1]
        names = [*settings.features] if whole else [f"x{i}" for i in range(table.shape[1])]
    check_distinct(names, place)
    if len(names) != table.shape[1]:
        needed = f"[{table.shape[1]}], one name per column of x,"
        raise wrong_shape(place, "feature_names", (len(names),), needed)
    check_numbers(table, "x", place)
    others = _attributes(arrays, len(table))
    both = [name for name in names if name in others]
    if both:
        raise GraphError(
            f"{place.name}: {both[0]!r} is an array and a column of 'x'; rename one of them"
        )
    return {name: table[:, column] for column, name in enumerate(names)} | others


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
    x: Array | sparse.csr_array, stored: Array | None, settings: GraphSettings, place: Place
) -> tuple[Sequence[str] | None, Array | sparse.csr_array]:
    names = None if stored is None else [str(name) for name in stored.ravel().tolist()]
    check_distinct(names or (), place)
    wanted: Sequence[str] = settings.features
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
