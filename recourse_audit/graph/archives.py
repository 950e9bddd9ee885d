"""Arrays become nodes and ties once they have been checked, and a numpy archive a `Graph`.

An archive holds `x` [N, F] (or the arrays of a scipy CSR matrix: `x_data`, `x_indices`, `x_indptr`
and `x_shape`) and `edge_index` [2, E], whose entries are positions in `x`. Optional arrays are
`ids`, `feature_names`, `edge_weight` [E], `edge_attr` [E, A] and `edge_type` [E]. Every other
one-dimensional array with one entry per node is an attribute. Archives with pickled objects are
refused, because opening one could run a stranger's code.

An archive of several kinds of nodes has these arrays for each kind (`x_person`, `ids_person`,
`feature_names_person`; `num_nodes_device` where there is nothing else) and for each relation
(`edge_index_works_at`, `edge_weight_works_at`, `edge_attr_works_at`). Which kinds a relation leads
between is in the settings, or in its name: `edge_index_person__works_at__employer`.
"""

import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recourse_audit.errors import GraphError
from recourse_audit.graph.columns import (
    MOST_KINDS,
    Kinds,
    Nodes,
    Place,
    Positions,
    as_strings,
    build_ties,
    check_is_file,
    code_kinds,
    damaged,
    features_needed,
    one_kind,
    to_strings,
)
from recourse_audit.graph.graph import Floats, Graph, Indices, Strings, Ties, build_graph
from recourse_audit.graph.kinds import REVERSED, KindTables, Triple, find_subject, name_relations
from recourse_audit.settings import GraphSettings, Subject
from recourse_audit.settings.section import first_repeated, near_matches

Array = NDArray[Any]
Matrix = Array | sparse.csr_array
Ids = Sequence[object] | Array | None

MOST_BYTES = 16 * 2**30  # of arrays in one archive, and of a sparse matrix once it is dense
CSR_ARRAYS = ("x_data", "x_indices", "x_indptr", "x_shape")
NPZ = "an npz archive", "numpy.savez, from plain arrays of numbers and text"
RESERVED = frozenset(
    {"x", *CSR_ARRAYS, "edge_index", "edge_weight", "edge_attr", "edge_type"}
    | {"feature_names", "ids", "num_nodes"}
)


def node_arrays(
    place: Place,
    x: Matrix | None,
    attributes: Mapping[str, Array],
    *,
    ids: Ids = None,
    names: Sequence[str] | None = None,
    raw: bool = False,
    bare: bool = False,
) -> Nodes:
    """Check what came from `place` about nodes; `bare` ones need no features."""
    if x is None:  # as many nodes as there are ids or values of attributes
        known = [ids] if ids is not None else [*attributes.values()]
        if not known:
            raise GraphError(
                f"{place.name}: has neither 'x' nor 'ids', so nobody knows how many nodes there "
                "are; give an array 'ids' with one id per node"
            )
        x, bare = np.empty((len(known[0]), 0)), True
    features = _features(x, place, raw=raw, bare=bare)
    count, width = features.shape
    names = tuple(f"x{i}" for i in range(width)) if names is None else (*names,)
    _check_names(names, place)
    if len(names) != width:
        needed = f"[{width}], one name per column of x,"
        raise wrong_shape(place, "feature_names", (len(names),), needed)
    for name, values in attributes.items():
        check_shape(values, name, (count,), place)
    return Nodes(
        ids=_ids(ids, count, place),
        features=features,
        feature_names=names,
        attributes={
            name: values if values.dtype.kind in "biuf" else to_strings(values.tolist(), place)
            for name, values in attributes.items()
        },
    )


def tie_arrays(
    place: Place, arrays: Mapping[str, Array], counts: tuple[int, int], settings: GraphSettings
) -> Ties:
    """Check what came from `place` about ties, under the names that an archive has.

    `counts` is how many nodes there are for a tie to start from, and to lead to.
    """
    ends = _ends(arrays["edge_index"], counts, place)
    kinds = _kinds(arrays.get("edge_type"), settings.kinds, len(ends[0]), place)
    numbers = _tie_attributes(arrays, settings.edge_attributes, place)
    tie_attributes = [*numbers]
    weight = "edge_weight" if "edge_weight" in arrays else None
    if weight is not None:
        numbers |= {weight: arrays[weight]}
    for name, values in numbers.items():
        check_numbers(values, name, place)
        check_shape(values, name, (len(ends[0]),), place)
    return build_ties(ends, kinds, numbers.__getitem__, weight, tie_attributes, place)


def _features(x: Matrix, place: Place, *, raw: bool, bare: bool) -> Floats:
    """The features as a dense matrix of finite numbers; raw columns may have gaps."""
    dense = _dense(x, place)
    if not len(dense):
        raise place.no_nodes()
    if not dense.shape[1] and not bare:
        raise wrong_shape(place, "x", dense.shape, "[N, F], with at least one feature,")
    check_numbers(dense, "x", place)
    if raw:
        return dense
    finite = np.isfinite(dense)
    if not finite.all():
        column = int(np.flatnonzero(~finite.all(axis=0))[0])
        place.check_finite(dense[:, column], f"x[:, {column}]")
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
            return np.asarray(x.toarray())
    except MemoryError:
        pass
    raise GraphError(
        f"{place.name}: 'x' has shape {[*x.shape]} and would take {size / 2**30:,.1f} GiB "
        "of memory; leave out features that the model does not take"
    )


def _ends(edge_index: Array, counts: tuple[int, int], place: Place) -> tuple[Indices, Indices]:
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
    outside = (edge_index < 0) | (edge_index >= np.reshape(counts, (2, 1)))
    if outside.any():
        tie = int(np.flatnonzero(outside.any(axis=0))[0])
        side = int(np.flatnonzero(outside[:, tie])[0])
        end, count = int(edge_index[side, tie]), counts[side]
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


def _ids(ids: Ids, count: int, place: Place) -> Strings:
    if ids is None:
        return as_strings(np.arange(count))
    texts = to_strings(ids.tolist() if isinstance(ids, np.ndarray) else ids, place)
    check_shape(texts, "ids", (count,), place)
    place.check_ids(texts)
    return texts


def _check_names(names: Sequence[str], place: Place) -> None:
    """Refuse two features of one name: nobody could say which of them is meant."""
    to_strings(names, place)
    if (name := first_repeated(names)) is not None:
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


def read_npz(
    path: Path, settings: GraphSettings, subject: Subject | None, *, raw: bool
) -> tuple[Graph, Place] | KindTables:
    """Read an archive; also where its nodes are, for further checks.

    `settings.features`, if given, selects columns of `x` by their `feature_names`; if the archive
    has no names, it names all columns. For whoever takes raw columns, `x` may be absent: then the
    ids say how many nodes there are.
    """
    check_is_file(path, "graph.npz")
    place = Positions(path)
    arrays = _load(path)
    several = any(name.startswith("edge_index_") for name in arrays)
    if settings.node_tables or settings.ties or (several and "edge_index" not in arrays):
        kinds = [*settings.node_tables] or _kinds_in(arrays)
        people = find_subject(kinds, subject)
        nodes_of: dict[str, Nodes] = {}
        for kind in kinds:
            own, takes_raw = settings.of_kind(kind, people=kind == people), raw and kind == people
            at = Positions(f"{path}, kind {kind!r}")
            kind_arrays = _arrays_of(arrays, kind, kinds)
            nodes_of[kind] = pick_nodes(kind_arrays, own, at, raw=takes_raw, bare=True)
        edges = _relations_in(arrays, settings, kinds, place.name)
        return join_arrays(place.name, nodes_of, edges, settings, people)
    if "edge_index" not in arrays:
        raise GraphError(
            f"{place.name}: there is no array 'edge_index'; {near_matches('edge_index', arrays)}"
        )
    nodes = pick_nodes(arrays, settings, place, raw=raw)
    count = len(nodes["ids"])
    ties = tie_arrays(place, arrays, (count, count), settings)
    graph = build_graph(**nodes, ties=ties, directed=settings.directed, origin=place.name)
    return graph, place


def pick_nodes(
    arrays: Mapping[str, Array],
    settings: GraphSettings,
    place: Place,
    *,
    raw: bool = False,
    bare: bool = False,
) -> Nodes:
    """The nodes of an archive, or those of one kind, whose arrays have the usual names."""
    names, x, ids = None, None, arrays.get("ids")
    if not (raw or bare) or "x" in arrays or "x_data" in arrays:
        names, x = _pick_features(arrays, settings, place, raw=raw)
    elif ids is None and settings.id in arrays:
        ids = arrays[settings.id]
    elif ids is None and "num_nodes" in arrays:
        ids = np.arange(int(arrays["num_nodes"]))
    if ids is not None and ids.ndim != 1:
        raise wrong_shape(place, "ids", ids.shape, "[N], with one id per node,")
    count = x.shape[0] if x is not None else 0 if ids is None else len(ids)
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
    own = attributes.pop(settings.id, None)
    ids = own if ids is None else ids
    return node_arrays(place, x, attributes, ids=ids, names=names, raw=raw, bare=bare)


def join_arrays(
    origin: str,
    nodes: Mapping[str, Nodes],
    edges: Mapping[Triple, Mapping[str, Array]],
    settings: GraphSettings,
    people: str,
) -> KindTables:
    """The nodes of all kinds with the arrays of each relation, which have an archive's names."""
    ties: dict[Triple, Ties] = {}
    for (source, name, target), arrays in edges.items():
        for kind in (source, target):
            if kind not in nodes:
                raise GraphError(
                    f"{origin}: the relation {name!r} leads to the kind {kind!r}, which has no "
                    f"nodes; {near_matches(kind, nodes)}"
                )
        place = Positions(f"{origin}, relation {name!r}")
        if "edge_index" not in arrays:
            raise GraphError(f"{place.name}: there is no 'edge_index'; give the ends of its ties")
        counts = len(nodes[source]["ids"]), len(nodes[target]["ids"])
        ties[source, name, target] = tie_arrays(place, arrays, counts, GraphSettings())
    return KindTables(
        nodes={kind: nodes[kind] for kind in sorted(nodes, key=lambda kind: kind != people)},
        relations=name_relations(ties, settings.ties, origin),
        place=Positions(f"{origin}, kind {people!r}"),
        origin=origin,
    )


def kinds_in(path: Path) -> list[str]:
    """The kinds of nodes that an archive has; none if all nodes are of one kind."""
    arrays = _load(path)
    return [] if "edge_index" in arrays else _kinds_in(arrays)


def _kinds_in(arrays: Mapping[str, Array]) -> list[str]:
    """The kinds that an archive has features, ids or a number of nodes of."""
    matrices = (name for name, array in arrays.items() if array.ndim == 2)
    names = [name.removeprefix("x_") for name in matrices if name.startswith("x_")]
    for prefix in ("ids_", "num_nodes_"):
        names += [name.removeprefix(prefix) for name in arrays if name.startswith(prefix)]
    return [*dict.fromkeys(names)]


def _arrays_of(arrays: Mapping[str, Array], kind: str, kinds: Sequence[str]) -> dict[str, Array]:
    """The arrays of a kind under their usual names: `gender_person`, or else `gender__person`.

    A name that ends like two kinds belongs to the longer one, unless two underscores say so.
    """
    own = {}
    for name, array in arrays.items():
        ends = [other for other in kinds if name.endswith(f"_{other}")]
        plain = [other for other in ends if name.endswith(f"__{other}")] or ends
        if plain and max(plain, key=len) == kind and not name.startswith("edge_"):
            own[name.removesuffix(kind).removesuffix("_").removesuffix("_")] = array
    return own


def _relations_in(
    arrays: Mapping[str, Array], settings: GraphSettings, kinds: Sequence[str], origin: str
) -> dict[Triple, dict[str, Array]]:
    """The arrays of each relation: of those in the settings, with what may be their reversed ones.

    Without any, of all, by names such as `edge_index_person__works_at__employer`.
    """
    suffixes = [name.removeprefix("edge_index_") for name in arrays if name[:11] == "edge_index_"]
    found: dict[Triple, str] = {}
    for name, tie in settings.ties.items():
        own, back = (tie.start, name, tie.to), (tie.to, REVERSED + name, tie.start)
        for triple in (own, back):
            for suffix in {triple[1], "__".join(triple)} & {*suffixes}:
                found[triple] = suffix
        if own not in found:
            raise GraphError(
                f"{origin}: there is no array 'edge_index_{name}' (from graph.ties.{name}); "
                f"{near_matches(f'edge_index_{name}', arrays)}"
            )
    for suffix in () if settings.ties else suffixes:
        parts = suffix.split("__")
        if len(parts) != 3 or parts[0] not in kinds or parts[2] not in kinds:
            raise GraphError(
                f"{origin}: 'edge_index_{suffix}' does not say which kinds it leads between "
                f"({', '.join(kinds)}); call it edge_index_FROM__RELATION__TO, or give from and to "
                "in [graph.ties]"
            )
        found[parts[0], parts[1], parts[2]] = suffix
    roles = ("edge_index", "edge_weight", "edge_attr")
    return {
        triple: {role: arrays[f"{role}_{end}"] for role in roles if f"{role}_{end}" in arrays}
        for triple, end in found.items()
    }


def _load(path: Path) -> dict[str, Array]:
    """All arrays of an archive; two of one name, of which numpy would take the second, are damage.

    numpy parses headers as Python, so that damage can raise anything.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
        name = first_repeated([entry.filename.removesuffix(".npy") for entry in entries])
        if name is not None:
            raise ValueError(f"more than one array {name!r}")
        size = sum(entry.file_size for entry in entries)
        if size > MOST_BYTES:
            raise GraphError(
                f"{path}: unpacks to {size / 2**30:,.0f} GiB, more than "
                f"{MOST_BYTES / 2**30:.0f} GiB; save the nodes and ties as Parquet tables"
            )
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("not all of it is arrays")
    except GraphError:
        raise
    except Exception as error:
        raise damaged(path, *NPZ, error) from None
    return arrays


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
        raise damaged(place.name, *NPZ, f"{', '.join(CSR_ARRAYS)}: {error}") from None
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
