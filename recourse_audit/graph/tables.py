"""The one door to pyarrow: CSV and Parquet tables of nodes and ties become a `Graph`.

Nodes keep the order of their rows. Each column of the node table is the id, a feature or an
attribute; from the tie table, only the columns that the settings name are read. The default kind
and weight columns are used if they exist. pyarrow ships no types, so its objects are `Any` inside
this module: also ids and ends of ties on their way to node numbers.

The fast reader counts rows, an editor counts lines, and a quoted field may span several lines. So
`Lines` takes a second, slow pass over a text table to find the line that the user should look at;
except for the header, nothing of it runs unless there is an error to report.
"""

import csv
import gzip
import io
import zlib
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.columns import (
    Column,
    ColumnSummary,
    Nodes,
    Numbers,
    Place,
    Table,
    TakeColumns,
    as_strings,
    build_ties,
    check_is_file,
    damaged,
    describe_columns,
    parse_numbers,
)
from recourse_audit.graph.graph import Graph, Indices, Ints, Strings, Ties, build_graph
from recourse_audit.graph.kinds import KindTables, RelationTies
from recourse_audit.settings import GraphSettings
from recourse_audit.settings.inputs import TieTable
from recourse_audit.settings.section import is_file, near_matches

TEXT_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
PARQUET_SUFFIXES = (".parquet", ".pq")
TABLE = "a CSV or Parquet table", "the program that exported it"


# ---------------------------------------------------------------- files


class Lines(Place):
    """A text table whose rows are named by the line they start on (the header is line 1)."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path
        self.delimiter = "\t" if ".tsv" in path.name.lower() else ","

    def row(self, index: int) -> str:
        line, _ = self._record(index + 1)
        return f"{self.name}, line {line}"

    def text(self, index: int, column: str) -> str | None:
        header = self.header()
        _, fields = self._record(index + 1)
        return fields[header.index(column)] if column in header else None

    def header(self) -> list[str]:
        """The names of the columns; an unreadable file is refused here first."""
        try:
            header = next((fields for _, fields in self._records()), None)
        except (OSError, EOFError, zlib.error, UnicodeError, csv.Error) as error:
            raise self.explain(error) from None
        if header is None:
            raise GraphError(
                f"{self.name}: is empty; it needs a header and one row per node or tie"
            )
        return header

    def explain(self, error: Exception) -> GraphError:
        """Find out why a file cannot be read: bad bytes, a ragged row, or what the reader said."""
        try:
            with self._open() as file:
                for number, line in enumerate(file, start=1):
                    try:
                        line.decode("utf-8")
                    except UnicodeDecodeError:
                        return GraphError(
                            f"{self.name}, line {number}: is not UTF-8 text; "
                            "save the file with UTF-8 encoding"
                        )
            width = len(next(fields for _, fields in self._records()))
            for line_number, fields in self._records():
                if len(fields) != width:
                    return GraphError(
                        f"{self.name}, line {line_number}: has {len(fields)} fields, but the "
                        f"header has {width}; quote fields that contain {self.delimiter!r}, and "
                        "fill in missing fields"
                    )
        except (OSError, EOFError, zlib.error, csv.Error, StopIteration) as second:
            error = second
        return damaged(self.name, *TABLE, error)

    def _record(self, number: int) -> tuple[int, list[str]]:
        for position, record in enumerate(self._records()):
            if position == number:
                return record
        raise AssertionError(f"{self.name} has no record {number}")

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each record with its first line; empty lines are skipped, as in the fast reader."""
        with self._open() as file:
            text = (line.decode("utf-8-sig" if not i else "utf-8") for i, line in enumerate(file))
            reader = csv.reader(text, delimiter=self.delimiter)
            first = 1
            for fields in reader:
                if fields:
                    yield first, fields
                first = reader.line_num + 1

    def _open(self) -> io.BufferedIOBase:
        if self.path.name.lower().endswith(".gz"):
            return gzip.open(self.path)
        return self.path.open("rb")


@contextmanager
def arrow_errors(name: str) -> Iterator[None]:
    """Turn any error of pyarrow into one sentence about the file."""
    try:
        yield
    except (pa.ArrowException, OSError, csv.Error, UnicodeError) as error:
        raise damaged(name, *TABLE, error) from None


def open_table(path: Path, *, few: Collection[str] = ()) -> "FileTable":
    """Read the header of a file whose suffix gives its format.

    `few` are columns with few distinct values, for which a Parquet file's own codes are kept.
    """
    name = path.name.lower()
    if name.endswith(TEXT_SUFFIXES):
        return _CsvTable(Lines(path))
    if name.endswith(PARQUET_SUFFIXES):
        return _ParquetTable(Place(path), few)
    known = ", ".join(TEXT_SUFFIXES + PARQUET_SUFFIXES)
    raise GraphError(f"{path}: is not a known file type; save the table as one of {known}")


class FileTable(Table):
    """A file of rows from which only the requested columns are read."""

    _data: Any = None

    @abstractmethod
    def load(self, columns: list[str], as_text: Collection[str] = ()) -> None:
        """Read these columns into memory; in a CSV file, `as_text` stay as written (007 is 007)."""

    def __len__(self) -> int:
        return int(self._data.num_rows)

    def numbers(self, name: str) -> Numbers:
        column = self._plain(name)
        kind = column.type
        if column.null_count:
            row = int(pc.index(pc.is_null(column), True).as_py())
            raise self.place.bad_value(row, name, None)
        if pa.types.is_null(kind) or pa.types.is_decimal(kind):
            column = column.cast(pa.float64())
        elif pa.types.is_large_string(kind):
            try:
                column = column.cast(pa.float64())
            except pa.ArrowInvalid:
                return parse_numbers(column.to_pylist(), name, self.place)
        elif not _is_number(kind):
            raise GraphError(
                f"{self.place.name}: column {name!r} has type {kind}, but numbers are needed; "
                "store it as numbers"
            )
        return _to_numpy(column)

    def labels(self, name: str) -> Column | None:
        column = self._plain(name)
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        kind = column.type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return None
        if _is_number(kind) and not (pa.types.is_boolean(kind) and column.null_count):
            return _to_numpy(column)
        return _to_strings(column)

    def is_padded(self, name: str) -> bool:
        """Whether cells of a column that was loaded as text have zeros in front of other digits."""
        text = self._plain(name).cast(pa.large_string())
        return bool(pc.any(pc.match_substring_regex(text, r"^0\d")).as_py())

    def codes(self, name: str) -> tuple[Indices, list[str]]:
        column = self._data.column(name)
        if not pa.types.is_dictionary(column.type) or column.null_count:
            text = self._plain(name).cast(pa.large_string())
            column = pc.fill_null(text, "").dictionary_encode()
        whole = column.unify_dictionaries().combine_chunks()
        codes: Indices = whole.indices.to_numpy(zero_copy_only=False).astype(np.int32)
        texts = whole.dictionary.cast(pa.large_string()).to_pylist()
        used = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
        place = np.zeros(len(texts), np.int32)
        place[used] = np.arange(len(used))
        return place[codes], [texts[code] for code in used]

    def keys(self, name: str) -> Any:
        """A column as ids: whole numbers if all of them are, even stored as floats; else text."""
        column = self._plain(name)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            try:
                return column.cast(pa.int64())
            except pa.ArrowInvalid:
                pass
        return column.cast(pa.large_string())

    def identifiers(self, keys: Any) -> Strings:
        """Keys as the ids of nodes; empty and repeated ids are errors."""
        ids = _to_strings(keys)
        doubtful = keys.null_count or pc.count_distinct(keys).as_py() < len(keys)
        if not doubtful and not pa.types.is_int64(keys.type):
            doubtful = pc.any(pc.equal(pc.utf8_trim_whitespace(keys), "")).as_py()
        if doubtful:
            self.place.check_ids(ids)
        return ids

    def _plain(self, name: str) -> Any:
        """A column without dictionary encoding, with all text types cast to one."""
        column = self._data.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())
        return column


class _CsvTable(FileTable):
    """A text table; each column becomes numbers, booleans or text, whichever fits all its cells."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines, lines.header())
        self._lines = lines

    def load(self, columns: list[str], as_text: Collection[str] = ()) -> None:
        try:
            data = self._read(columns, as_text)
            dates = [field.name for field in data.schema if pa.types.is_temporal(field.type)]
            if dates:
                data = self._read(columns, {*as_text, *dates})
        except (pa.ArrowException, OSError) as error:
            raise self._lines.explain(error) from None
        if any(pa.types.is_binary(field.type) for field in data.schema):
            raise self._lines.explain(ValueError("it contains bytes that are not text"))
        self._data = data

    def _read(self, columns: list[str], as_text: Collection[str]) -> Any:
        return pacsv.read_csv(
            self._lines.path,
            parse_options=pacsv.ParseOptions(
                delimiter=self._lines.delimiter, newlines_in_values=True
            ),
            convert_options=pacsv.ConvertOptions(
                column_types={name: pa.string() for name in as_text}, include_columns=columns
            ),
        )


class _ParquetTable(FileTable):
    """A Parquet file; its columns keep the types they were written with."""

    def __init__(self, place: Place, few: Collection[str]) -> None:
        with pq.ParquetFile(place.name) as file:
            schema = file.schema_arrow
        super().__init__(place, list(schema.names))
        self._few = [f.name for f in schema if f.name in few and pa.types.is_string(f.type)]

    def load(self, columns: list[str], as_text: Collection[str] = ()) -> None:
        del as_text  # text is stored as text
        with pq.ParquetFile(self.place.name, read_dictionary=self._few) as file:
            self._data = file.read(columns=columns)
        # A damaged file may hold codes without a text; pyarrow checks this only on request.
        self._data.validate(full=True)


def match(known: Any, wanted: Any) -> Indices:
    """Find the node at each end of a tie; -1 where the end is missing or unknown.

    Keys of different types are compared as text.
    """
    if known.type != wanted.type:
        known, wanted = known.cast(pa.large_string()), wanted.cast(pa.large_string())
    return _to_numpy(pc.fill_null(pc.index_in(wanted, value_set=known), -1))


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    )


def _to_numpy(column: Any) -> NDArray[Any]:
    """Numbers as an array; empty cells become NaN, which turns whole numbers into floats."""
    return np.asarray(column.to_numpy())


def _to_strings(column: Any) -> Strings:
    if pa.types.is_int64(column.type) and not column.null_count:
        return as_strings(_to_numpy(column))
    return as_strings(_to_numpy(pc.fill_null(column.cast(pa.large_string()), "")))


# ---------------------------------------------------------------- nodes and ties


def read_tables(settings: GraphSettings, raw: TakeColumns | None) -> tuple[Graph, Place]:
    """Read `settings.nodes` and `settings.edges`; also where the nodes are, for further checks.

    Notes
    -----
    Matching ends with ids takes O(N + T) time, on top of the indexing in `build_graph`.
    """
    assert isinstance(settings.nodes, Path)
    assert settings.edges is not None
    check_is_file(settings.nodes, "graph.nodes")
    check_is_file(settings.edges, "graph.edges")
    with arrow_errors(str(settings.nodes)):
        nodes, keys, place = _read_nodes(settings.nodes, settings, raw)
    pa.default_memory_pool().release_unused()  # pyarrow would keep it for later
    with arrow_errors(str(settings.edges)):
        ties = _read_ties(settings.edges, keys, settings)
    pa.default_memory_pool().release_unused()
    graph = build_graph(**nodes, ties=ties, directed=settings.directed, origin=str(settings.edges))
    return graph, place


def read_kinds(settings: GraphSettings, subject: str, raw: TakeColumns | None) -> KindTables:
    """Read a table for each kind and each relation."""
    read: dict[str, tuple[Nodes, Any, Place]] = {}
    for kind in sorted(settings.node_tables, key=lambda kind: kind != subject):
        own, take = settings.of_kind(kind, people=kind == subject), raw if kind == subject else None
        path, section = settings.files[f"nodes.{kind}"], f"graph.nodes.{kind}"
        check_is_file(path, f"{section}.path")
        with arrow_errors(str(path)):
            read[kind] = _read_nodes(path, own, take, section)
    relations = []
    for name, tie in settings.ties.items():
        path = settings.files[f"ties.{name}"]
        check_is_file(path, f"graph.ties.{name}.path")
        with arrow_errors(str(path)):
            ties = _read_relation(path, name, tie, read)
        relations.append(
            RelationTies(
                name=name, source=tie.start, target=tie.to, ties=ties, directed=tie.directed
            )
        )
    pa.default_memory_pool().release_unused()
    nodes, (_, _, place) = {kind: own for kind, (own, _, _) in read.items()}, read[subject]
    return KindTables(nodes=nodes, relations=relations, place=place, origin=place.name)


def _read_relation(
    path: Path, name: str, tie: TieTable, nodes: Mapping[str, tuple[Nodes, Any, Place]]
) -> Ties:
    """The ties of a relation; each end is looked up among the ids of its kind."""
    table = open_table(path)
    table.place.section = f"graph.ties.{name}"
    ends = []
    for key, kind in (("source", tie.start), ("target", tie.to)):
        column = getattr(tie, key)
        if key not in tie.model_fields_set and column not in table.names and tie.start != tie.to:
            column = kind if kind in table.names else column
        table.check_column(column, key)
        ends.append(column)
    if "weight" in tie.model_fields_set:
        table.check_column(tie.weight, "weight")
    for column in tie.attributes:
        table.check_column(column, "attributes")
    wanted = {*ends, tie.weight, *tie.attributes}
    table.load([column for column in table.names if column in wanted], as_text=ends)
    source, target = (
        _find_ends(table, column, ids, place.name)
        for column, (_, ids, place) in zip(ends, (nodes[tie.start], nodes[tie.to]), strict=True)
    )
    kinds = np.zeros(len(source), np.int16), (name,)
    weight = tie.weight if tie.weight in table.names else None
    return build_ties((source, target), kinds, table.numbers, weight, tie.attributes, table.place)


def _read_nodes(
    path: Path, settings: GraphSettings, raw: TakeColumns | None, section: str = "graph"
) -> tuple[Nodes, Any, Place]:
    """The nodes, their ids in the type they are stored as, and where they are."""
    table = open_table(path)
    table.place.section = section
    table.check_column(settings.id, "id")
    table.check_features(settings)
    others = [name for name in table.names if name != settings.id]
    kinds = {} if raw is None else raw(others, table.place.name)
    texts = {name for name, kind in kinds.items() if kind == "text"}
    table.load(table.names, as_text={settings.id, *texts})
    if not len(table):
        raise table.place.no_nodes()
    keys = table.keys(settings.id)
    table.names = others
    nodes = table.read_nodes(table.identifiers(keys), settings, raw=raw is not None)
    for name in kinds:
        if name not in nodes["attributes"]:
            raise GraphError(
                f"{table.place.name}: column {name!r} holds neither numbers nor text; store it as "
                "one of them"
            )
    return nodes, keys, table.place


def _read_ties(path: Path, ids: Any, settings: GraphSettings) -> Ties:
    ends = (settings.source, settings.target)
    table = open_table(path, few={settings.kind})
    table.check_tie_columns(settings, "source", "target")
    wanted = {*ends, settings.kind, settings.weight, *settings.edge_attributes}
    loaded = [name for name in table.names if name in wanted]
    table.load(loaded, as_text={*ends, settings.kind})
    source, target = (_find_ends(table, name, ids, str(settings.nodes)) for name in ends)
    return table.read_ties((source, target), settings)


def find_kind(path: Path, column: str, ids: Mapping[str, tuple[Path, str]]) -> str:
    """The kind whose ids are in a column of ties, by the tables of nodes and their columns."""
    with arrow_errors(str(path)):
        table = open_table(path)
        table.load([column], as_text=[column])
        for kind, (own, identifier) in ids.items():
            nodes = open_table(own)
            nodes.load([identifier], as_text=[identifier])
            if (match(nodes.keys(identifier), table.keys(column)) >= 0).all():
                return kind
    raise GraphError(
        f"{path}: no kind of nodes ({', '.join(ids)}) has all the ids in column {column!r}; add "
        "the missing nodes, or give the table of their kind"
    )


def _find_ends(table: FileTable, column: str, ids: Any, origin: str) -> Indices:
    """Turn a column of ids into node numbers; `origin` is where the nodes are."""
    if not len(table):
        return np.empty(0, np.int32)
    keys = table.keys(column)
    places = match(ids, keys)
    if places.min() < 0:
        unknown = np.flatnonzero(places < 0)
        row, end = table.place.row(int(unknown[0])), keys[int(unknown[0])].as_py()
        name = "" if end is None else str(end)
        if not name.strip():
            raise GraphError(
                f"{row}: column {column!r} is empty; give both ends of the tie, or remove the row"
            )
        others = f" (and {len(unknown) - 1:,} more)" if len(unknown) > 1 else ""
        raise GraphError(
            f"{row}: {name!r} in column {column!r} is not the id of a node in {origin}{others}; "
            "add the node or remove the tie"
        )
    return places


# ---------------------------------------------------------------- candidate ties


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Possible new ties, with node numbers as ends; without `kind`, each may be of any kind."""

    source: Indices
    target: Indices
    kind: NDArray[np.int16] | None
    starts: Ints
    rows: Ints

    def of(self, node: int) -> Ints:
        return self.rows[self.starts[node] : self.starts[node + 1]]


def read_candidates(path: Path, graph: Graph, settings: GraphSettings) -> Candidates:
    """Read a CSV or Parquet file whose columns have the same names as in the table of ties."""
    try:
        with arrow_errors(str(path)):
            source, target, kind = _read_candidates(path, graph, settings)
    except GraphError as error:
        raise SettingsError(f"recourse.candidates: {error}") from None
    both = np.concatenate((source, target))
    order = np.argsort(both, kind="stable")
    return Candidates(
        source=source,
        target=target,
        kind=kind,
        starts=np.searchsorted(both[order], np.arange(graph.node_count + 1)),
        rows=order % max(len(source), 1),
    )


def _read_candidates(
    path: Path, graph: Graph, settings: GraphSettings
) -> tuple[Indices, Indices, NDArray[np.int16] | None]:
    if not is_file(path):
        raise GraphError(f"{path}: there is no such file; correct the path")
    ends = (settings.source, settings.target)
    table = open_table(path, few={settings.kind})
    for key, name in zip(("source", "target"), ends, strict=True):
        table.check_column(name, key)
    further = [name for name in table.names if name not in {*ends, settings.kind}]
    if further:
        raise GraphError(
            f"{path}: the column {further[0]!r} has no meaning here; keep only {ends[0]!r}, "
            f"{ends[1]!r} and, if ties have kinds, {settings.kind!r}"
        )
    table.load(table.names, as_text=table.names)
    ids = pa.array(graph.ids.tolist(), pa.large_string())
    source, target = (_find_ends(table, name, ids, "the graph") for name in ends)
    loops = np.flatnonzero(source == target)
    if len(loops):
        raise GraphError(
            f"{table.place.row(int(loops[0]))}: is a tie from a node to itself; give it two "
            "different ends, or remove the row"
        )
    if settings.kind not in table.names:
        return source, target, None
    codes, names = table.codes(settings.kind)
    known = graph.ties.kinds
    for code, name in enumerate(names):
        if name not in known:
            row = table.place.row(int(np.flatnonzero(codes == code)[0]))
            hint = near_matches(name, known)
            raise GraphError(f"{row}: {name!r} is not a kind of tie in the graph; {hint}")
    return source, target, np.array([known.index(name) for name in names], np.int16)[codes]


# ---------------------------------------------------------------- what a table has


def survey(path: Path) -> list[ColumnSummary]:
    """Describe every column of a CSV or Parquet file."""
    with arrow_errors(str(path)):
        table = open_table(path)
        table.load(table.names)
        labels = {name: table.labels(name) for name in table.names}
        columns = {name: column for name, column in labels.items() if column is not None}
        found = describe_columns(columns)
        table.load(table.names, as_text=table.names)
        return [replace(s, padded=s.numeric and table.is_padded(s.name)) for s in found]
