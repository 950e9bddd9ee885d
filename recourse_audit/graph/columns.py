"""Columns become arrays of the graph only after every value has been checked.

Whatever the format, features, weights and tie attributes are finite numbers in every row, either
all ties have a kind or none has, and no id is empty or repeated. A model would silently accept a
NaN, so a graph that contains one never gets past this module. Readers hand in a `Table` of nodes
and one of ties, or arrays; `read_nodes` and `build_ties` are where all of them end.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.graph import Floats, Graph, Indices, Strings, Ties
from recourse_audit.settings import GraphSettings
from recourse_audit.settings.section import first_repeated, is_file, is_folder, near_matches

DEFAULT_KIND = "tie"
MOST_KINDS = np.iinfo(np.int16).max
FEW_VALUES = 50
PIPELINE = "or, if a pipeline fills in or encodes raw columns, give it in model.preprocessing"

Numbers = NDArray[np.number | np.bool_]
ColumnKind = Literal["numbers", "text"]
Column = NDArray[np.generic]
Columns = Mapping[str, Column]
Kinds = tuple[NDArray[np.int16], tuple[str, ...]]
# Whoever takes raw columns says which of a table's columns, and as what; a column that the table
# (named by the second argument) lacks is an error.
TakeColumns = Callable[[Sequence[str], str], Mapping[str, ColumnKind]]


class Place:
    """A file, or data in memory, whose rows are counted from 1; a section of settings names it."""

    section = "graph"

    def __init__(self, name: str | Path) -> None:
        self.name = str(name)

    def row(self, index: int) -> str:
        """Name the row at this position (counted from 0) in the way the user counts."""
        return f"{self.name}, row {index + 1}"

    def text(self, index: int, column: str) -> str | None:
        """The text of a cell in the user's file, if the reader may have changed it."""
        del index, column
        return None

    def bad_value(self, index: int, column: str, value: str | None) -> GraphError:
        """The error for a cell that should hold a finite number; `value` is None if it is empty."""
        value = self.text(index, column) or value
        what = "is empty" if value is None or not value.strip() else f"contains {value!r}"
        return GraphError(
            f"{self.row(index)}: column {column!r} {what}, but a finite number is needed; "
            "correct the value or remove the row"
        )

    def check_finite(self, values: Numbers, column: str) -> None:
        """Refuse NaN (which may stand for an empty cell) and infinity, naming the row."""
        if values.dtype.kind == "f" and not (finite := np.isfinite(values)).all():
            index = int(np.flatnonzero(~finite)[0])
            raise self.bad_value(index, column, str(values[index]))

    def check_ids(self, ids: Strings) -> None:
        """Refuse an empty id, and an id that two nodes share, naming both rows."""
        seen: dict[str, int] = {}
        for index, name in enumerate(ids.tolist()):
            if not name.strip():
                raise GraphError(f"{self.row(index)}: the id is empty; give every node an id")
            first = seen.setdefault(name, index)
            if first != index:
                again = self.row(index).removeprefix(f"{self.name}, ")
                raise GraphError(
                    f"{self.row(first)}: the id {name!r} is used again in {again}; "
                    "remove one of them or give them different ids"
                )

    def no_nodes(self) -> GraphError:
        """The error for a file without nodes."""
        return GraphError(
            f"{self.name}: there are no nodes, so there is nobody to audit; add nodes"
        )


class Positions(Place):
    """Arrays, whose entries are counted from 0 as in the code that made them."""

    def row(self, index: int) -> str:
        return f"{self.name}, position {index} (counted from 0)"


IN_MEMORY = Positions("the graph in memory")


# ---------------------------------------------------------------- files, names and cells


def check_is_file(path: Path, key: str) -> None:
    """Refuse a path without a file, naming the setting or the option it came from."""
    if is_folder(path):
        raise GraphError(f"{path}: is a folder; name the file inside it in {key}")
    if not is_file(path):
        raise GraphError(f"{path}: there is no such file; correct the path in {key}")


def damaged(path: Path | str, kind: str, program: str, error: object) -> GraphError:
    """The error for a file that its reader cannot read, with the first words of the reason."""
    reason = " ".join(str(error).split())[:120]
    return GraphError(f"{path}: is damaged or not {kind} ({reason}); write it again with {program}")


def check_known(key: str, name: str, known: Iterable[str]) -> None:
    """Refuse a setting that names a column which the nodes do not have."""
    if name not in (names := [*known]):
        raise SettingsError(
            f"{key}: the nodes have no column {name!r}; {near_matches(name, names)}"
        )


def parse_numbers(texts: Sequence[str | None], column: str, place: Place) -> NDArray[np.float64]:
    """Parse texts as numbers one by one, and name the first that is not a number."""
    numbers = np.empty(len(texts))
    for index, text in enumerate(texts):
        try:
            numbers[index] = float((text or "").replace("_", "?"))  # Python would accept 1_000
        except ValueError:
            raise place.bad_value(index, column, text) from None
    return numbers


def to_strings(values: Iterable[object], place: Place = IN_MEMORY) -> Strings:
    """Convert ids or labels of any type to text: 7 becomes "7", and None becomes ""."""
    texts = [
        value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        for value in ("" if value is None else value for value in values)
    ]
    try:
        return as_strings(np.array(texts, object))
    except UnicodeEncodeError as error:  # Python's text may hold half of a character
        index = next(index for index, text in enumerate(texts) if error.object in text)
        raise GraphError(
            f"{place.row(index)}: {texts[index]!r} is not valid Unicode text; write it again"
        ) from None


def as_strings(values: NDArray[np.generic]) -> Strings:
    """Convert an array of whole numbers or texts to numpy's string type, fast."""
    return values.astype(np.dtypes.StringDType())


# ---------------------------------------------------------------- tables of nodes and of ties


class Nodes(TypedDict):
    """What is kept of the nodes, under the names that `build_graph` takes."""

    ids: Strings
    features: Floats
    feature_names: tuple[str, ...]
    attributes: Columns


def features_needed(settings: GraphSettings, known: Collection[str]) -> tuple[str, ...]:
    """The features that must stand in the table: all but derived ones that it lacks."""
    derived = {column.name for column in settings.derived}
    return tuple(name for name in settings.features if name in known or name not in derived)


class Table(ABC):
    """Nodes or ties in rows, from which columns are taken in the way that a method's name says."""

    def __init__(self, place: Place, names: list[str]) -> None:
        self.place = place
        self.names = names
        if (name := first_repeated(names)) is not None:
            raise GraphError(f"{place.name}: has more than one column {name!r}; rename one of them")

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def numbers(self, name: str) -> Numbers:
        """A column as numbers; text may be parsed, and an empty cell is an error."""

    @abstractmethod
    def labels(self, name: str) -> Column | None:
        """A column that describes nodes, as numbers (NaN if empty) or text ("" if empty).

        A column of lists, records or bytes describes no node, and gives None.
        """

    @abstractmethod
    def codes(self, name: str) -> tuple[Indices, list[str]]:
        """A column as positions in a list of its distinct texts ("" if empty)."""

    def check_column(self, name: str, key: str) -> None:
        """Refuse a column that a setting names but the file does not have."""
        if name not in self.names:
            hint = near_matches(name, self.names) if self.names else "it has no columns at all"
            if len(self.names) == 1 and ";" in self.names[0]:
                hint = "its fields are separated by ';'; save it with commas"
            where = f"from {self.place.section}.{key}"
            raise GraphError(f"{self.place.name}: there is no column {name!r} ({where}); {hint}")

    def check_features(self, settings: GraphSettings) -> None:
        """Refuse a table of nodes that lacks a feature."""
        for name in features_needed(settings, self.names):
            self.check_column(name, "features")

    def read_nodes(self, ids: Strings, settings: GraphSettings, *, raw: bool) -> Nodes:
        """Take features and attributes; for whoever takes raw columns, attributes only.

        Features have the widest floating-point type among their columns; whole numbers and booleans
        count as float64, which represents most of them exactly. All may be derived ones.
        """
        names = () if raw else features_needed(settings, self.names)
        try:
            columns = {name: self.numbers(name) for name in names}
            for name, values in columns.items():
                self.place.check_finite(values, name)
        except GraphError as error:
            raise GraphError(f"{error}; {PIPELINE}") from None
        kinds = [v.dtype if v.dtype.kind == "f" else np.dtype(float) for v in columns.values()]
        features = np.empty((len(self), len(columns)), np.result_type(*kinds) if kinds else float)
        for position, values in enumerate(columns.values()):
            features[:, position] = values
        labels = {name: self.labels(name) for name in self.names if name not in names}
        attributes = {name: values for name, values in labels.items() if values is not None}
        return Nodes(ids=ids, features=features, feature_names=names, attributes=attributes)

    def check_tie_columns(self, settings: GraphSettings, *further: str) -> None:
        """Refuse ties without a column that the settings name; `further` are their keys."""
        optional = [key for key in ("kind", "weight") if key in settings.model_fields_set]
        for key in (*further, *optional):
            self.check_column(getattr(settings, key), key)
        for name in settings.edge_attributes:
            self.check_column(name, "edge_attributes")

    def read_ties(self, ends: tuple[Indices, Indices], settings: GraphSettings) -> Ties:
        """Take kinds, weights and attributes of ties, whose columns were found."""
        if settings.kind in self.names:
            kinds = code_kinds(*self.codes(settings.kind), settings.kinds, self.place)
        else:
            kinds = one_kind(len(self), settings.kinds, self.place)
        weight = settings.weight if settings.weight in self.names else None
        return build_ties(ends, kinds, self.numbers, weight, settings.edge_attributes, self.place)


def build_ties(
    ends: tuple[Indices, Indices],
    kinds: Kinds,
    numbers: Callable[[str], Numbers],
    weight: str | None,
    attributes: Sequence[str],
    place: Place,
) -> Ties:
    """Ties with their numbers in float32; `weight` and `attributes` are names of columns."""

    def single_precision(name: str) -> NDArray[np.float32]:
        values = numbers(name)
        place.check_finite(values, name)
        with np.errstate(over="ignore"):
            single = values.astype(np.float32)
        place.check_finite(single, name)
        return single

    stacked = np.empty((len(ends[0]), len(attributes)), np.float32)
    for position, name in enumerate(attributes):
        stacked[:, position] = single_precision(name)
    return Ties(
        source=ends[0],
        target=ends[1],
        kind=kinds[0],
        kinds=kinds[1],
        weight=None if weight is None else single_precision(weight),
        attributes=stacked if attributes else None,
    )


def code_kinds(
    codes: NDArray[np.integer], names: Sequence[str], wanted: Sequence[str], place: Place
) -> Kinds:
    """Number the kinds in the order in which the settings list them, or else alphabetically.

    `codes[t]` is the position of tie t's kind in `names`. A tie without a kind is refused if others
    have one: rules for kinds decide what a person may be advised to drop, and a tie whose kind is
    missing by accident would escape them.
    """
    used = [*wanted] if wanted else sorted(set(names))
    place_of = {name: position for position, name in enumerate(used)}
    for code, name in enumerate(names):
        if name and name in place_of:
            continue
        where = place.row(int(np.flatnonzero(codes == code)[0]))
        if not name:
            raise GraphError(
                f"{where}: the kind of the tie is empty; give a kind to every tie or to none"
            )
        raise GraphError(
            f"{where}: the kind {name!r} is not listed in graph.kinds; {near_matches(name, used)}"
        )
    if len(used) > MOST_KINDS:
        raise GraphError(
            f"{place.name}: has {len(used):,} kinds of ties, more than {MOST_KINDS:,}; "
            "choose a column with fewer distinct values in graph.kind"
        )
    return np.array([place_of[name] for name in names], np.int16)[codes], tuple(used)


def one_kind(count: int, wanted: Sequence[str], place: Place) -> Kinds:
    """Give every tie the same kind, because no column says more."""
    if wanted:
        raise GraphError(
            f"{place.name}: the ties have no kind, but graph.kinds lists {len(wanted)}; "
            "name the column in graph.kind, or remove graph.kinds"
        )
    return np.zeros(count, np.int16), (DEFAULT_KIND,)


# ---------------------------------------------------------------- raw columns


def with_raw_columns(graph: Graph, take: TakeColumns, place: Place) -> Graph:
    """The graph without features: all columns are attributes, and those taken raw are checked.

    Raw columns are what preprocessing takes, as the people in the table know it: numbers that may
    be missing, or text.
    """
    columns: Columns = {**graph.features_by_name, **graph.attributes}
    kinds = take([*columns], place.name)
    attributes = {
        name: values if name not in kinds else as_kind(values, kinds[name], name, place)
        for name, values in columns.items()
    }
    features = graph.features[:, :0]
    return replace(graph, features=features, feature_names=(), attributes=attributes)


def as_kind(values: Column, kind: ColumnKind, column: str, place: Place) -> Column:
    """A column as numbers (float64, NaN where a cell is empty) or as text ("" where it is)."""
    if kind == "numbers":
        if values.dtype.kind in "biuf":
            numbers = values.astype(np.float64)
        else:
            texts = [str(text) if str(text).strip() else "nan" for text in values.tolist()]
            numbers = parse_numbers(texts, column, place)
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            raise place.bad_value(int(infinite[0]), column, str(values[infinite[0]]))
        return numbers
    if values.dtype.kind == "T":
        return values
    if values.dtype.kind == "f":
        raise GraphError(
            f"{place.name}: column {column!r} holds numbers with fractions, but text is needed; "
            "store it as text, as the pipeline was trained on it"
        )
    return to_strings(values.tolist(), place)


# ---------------------------------------------------------------- what a table has


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """What a column holds before anyone has said what it means: numbers or text, and how varied.

    `values` are its different values as settings name them, if there are few. `padded` says that
    some of its numbers are written with zeros in front, as codes are.
    """

    name: str
    numeric: bool
    distinct: int
    rows: int
    values: tuple[str, ...] = ()
    padded: bool = False


def write_values(column: Column) -> list[str]:
    """The values of a column as settings name them: 1 of 1.0, and "" of a cell that is empty."""
    plain = column.dtype.kind != "f"
    return [str(value) for value in column.tolist()] if plain else [*map(write_number, column)]


def write_number(value: np.generic) -> str:
    """A number in the shortest form; "" if it is not finite."""
    number = value.item()
    if not np.isfinite(number):
        return ""
    return str(int(number)) if number == int(number) else str(value)


def describe_columns(columns: Columns) -> list[ColumnSummary]:
    """Say of each column whether it holds numbers, and how varied it is."""
    summaries = []
    for name, column in columns.items():
        distinct = np.unique(column)
        texts = write_values(distinct) if len(distinct) <= FEW_VALUES else []
        summaries.append(
            ColumnSummary(
                name=name,
                numeric=column.dtype.kind in "iuf",
                distinct=len(distinct),
                rows=len(column),
                values=tuple(text for text in texts if text not in ("", "nan")),
            )
        )
    return summaries
