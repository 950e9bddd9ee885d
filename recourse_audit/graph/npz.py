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
)
from recourse_audit.graph.columns import Place, Positions, check_is_file, near_matches
from recourse_audit.graph.computed import needed_features, with_computed
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


def read_npz(settings: GraphSettings) -> Graph:
    """Read `settings.npz`.

    `settings.features`, if given, selects columns of `x` by their `feature_names`; if the archive
    has no names, it names all columns.
    """
    assert settings.npz is not None
    check_is_file(settings.npz, "npz")
    place = Positions(settings.npz)
    arrays = _load(settings.npz)
    x = _pick_x(arrays, place)
    if "edge_index" not in arrays:
        raise GraphError(
            f"{place.name}: there is no array 'edge_index'; {near_matches('edge_index', arrays)}"
        )
    names, x = _pick_features(x, arrays.get("feature_names"), settings, place)
    attributes = {
        name: array
        for name, array in arrays.items()
        if name not in RESERVED and array.shape == (x.shape[0],)
    }
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
    return with_computed(graph, settings, place)


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
