"""Preprocessing as a second sealed file: raw columns of the node table in, features out.

A `Graph` has columns, by the user's names: numbers, and categories as text. An `Encoder` turns rows
of columns into rows of features, which the model takes; where columns are features already, there
is none. It knows the `columns` that features depend on before anything is computed from them, which
of these take `whole` numbers only, and the `computation` of what follows from them. A pipeline is
an encoder in a file, opened, hashed and asked like the model. It takes each column by the name of
an input of shape [N, 1] or [N]; an input of shape [N, k] is a block, which takes several columns in
order. One of its outputs has a row for every row that goes in.

An audit changes one person's row and asks again, for many versions of the row at once. That is
right only if a pipeline gives the same features twice, and if a row's features do not depend on
which other rows are asked about with it, nor on their order: means, ranks and maxima over whoever
happens to be in the batch belong to training, not to the file. `probe_rows` measures that.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import ModelError, SettingsError
from recourse_audit.graph.columns import ColumnKind, Columns
from recourse_audit.graph.computed import Computation
from recourse_audit.graph.graph import Floats, Graph, Ints, Strings
from recourse_audit.model.roles import InputPort, OutputPort
from recourse_audit.model.session import Session
from recourse_audit.records.model import PreprocessingInput, PreprocessingProbes
from recourse_audit.settings import GraphSettings, ModelSettings
from recourse_audit.settings.section import near_matches


class PlainEncoder:
    """Computes derived columns and writes out encodings, in the order of the features."""

    whole: frozenset[str] = frozenset()

    def __init__(self, computation: Computation, feature_names: tuple[str, ...]) -> None:
        self.computation = computation
        self.columns = computation.base(feature_names)
        self._feature_names = feature_names

    def encode(self, columns: Columns) -> Floats:
        """Features [n, F] in float64; not finite on a row where a formula has no finite value."""
        whole = self.computation.complete(columns)
        return np.stack([whole[name].astype(np.float64) for name in self._feature_names], axis=1)


def encoder_of(settings: GraphSettings, graph: Graph) -> PlainEncoder | None:
    """The encoder of people's features; None where features are columns as they are."""
    computation, names = Computation(settings), graph.person_features
    made = any(name in computation.maker for name in names)
    return PlainEncoder(computation, names) if made else None


TEXT = "string"
WHOLE = ("int64", "int32", "bool")
NUMBERS = ("float32", "float64", "float16", *WHOLE)
# More rows than this are asked in several calls, so that memory stays bounded.
MOST_ROWS = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """One input of a pipeline or head, and the columns that it takes."""

    port: InputPort
    columns: tuple[str, ...]

    @property
    def kind(self) -> ColumnKind:
        return "text" if self.port.dtype == TEXT else "numbers"

    @property
    def record(self) -> PreprocessingInput:
        port = self.port
        return PreprocessingInput(
            name=port.name, dtype=port.dtype, shape=port.shape, columns=self.columns
        )

    def fill(self, columns: Columns, path: object) -> NDArray[Any]:
        if self.kind == "text":
            parts = [columns[name].astype(object) for name in self.columns]
        else:
            parts = [self._cast(columns[name], name, path) for name in self.columns]
        if len(self.port.shape) == 1:
            return parts[0]
        return np.stack(parts, axis=1)

    def _cast(self, values: NDArray[Any], name: str, path: object) -> NDArray[Any]:
        dtype = np.dtype(self.port.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            cast = values.astype(dtype)
        # Whole numbers: NaN, fractions, and what the type has no room for.
        wrong = np.isinf(cast) if dtype.kind == "f" else cast != values
        if wrong.any():
            index = int(np.flatnonzero(wrong)[0])
            raise ModelError(
                f"{path}: its input {self.port.describe()} cannot take {values[index]:g} from "
                f"the column {name!r}; correct the value, or ask for an export that takes it"
            )
        return cast


class Pipeline(Session):
    """A sealed pipeline in onnxruntime: an encoder, once it has been told its columns by `take`.

    What follows from columns is computed first, then the pipeline is asked once for all rows. The
    features of `graph` are columns for inputs that are not named after one; its encodings and
    derived columns follow from those of the table, whether it has them or not. The columns of a
    head (`further`) follow the features as they are.
    """

    what, setting, about = "the pipeline", "model.preprocessing", "for "

    def __init__(
        self,
        settings: ModelSettings,
        graph: GraphSettings,
        *,
        timeout: float | None = None,
        in_worker: bool = False,
    ) -> None:
        assert settings.preprocessing is not None
        super().__init__(settings.preprocessing, settings, timeout=timeout, in_worker=in_worker)
        self.computation = Computation(graph)
        self._block, self.further = graph.features, settings.head_columns
        self._made: dict[str, ColumnKind] = dict.fromkeys(self.computation.maker, "numbers")
        self._made |= dict.fromkeys(self.computation.categories, "text")
        if not self.inputs:
            raise ModelError(
                f"{self.path}: takes no input, so it says nothing about anybody; name the pipeline "
                "that the model was trained with"
            )
        for port in self.inputs:
            check_port(self.path, port)
        self.output = self._choose(self.outputs, settings.preprocessing_output)
        self.take(())

    def take(self, intakes: tuple[Intake, ...]) -> None:
        self.intakes = intakes
        taken = tuple(name for intake in intakes for name in intake.columns)
        self.columns = self.computation.base((*taken, *self.further))
        self.whole = frozenset(n for i in intakes if i.port.dtype in WHOLE for n in i.columns)

    def kinds(self, known: Sequence[str], origin: str) -> Mapping[str, ColumnKind]:
        """Which of the table's columns are taken, and whether as numbers or as text."""
        kinds: dict[str, ColumnKind] = {}
        for intake in self.find_intakes(known, origin):
            for name in intake.columns:
                kind = kinds.setdefault(name, self._made.get(name, intake.kind))
                if kind != intake.kind:
                    raise ModelError(
                        f"{self.path}: its input {intake.port.describe()} takes {intake.kind} "
                        f"from the column {name!r}, which gives {kind}; ask for another export, or "
                        "correct the settings of the column"
                    )
        for name in self.further:
            kinds.setdefault(name, self._made.get(name, "numbers"))
        return {name: kind for name, kind in kinds.items() if name in known}

    def find_intakes(self, known: Sequence[str], origin: str) -> tuple[Intake, ...]:
        """The columns that each input takes, of those that a table has.

        An input named after a column takes it. The others share the columns of `graph.features`
        that are left, or all columns that are left, in order.
        """
        able = [*known, *(name for name in self._made if name not in known)]
        named = {
            port.name for port in self.inputs if port.name in able and width_of(port) in (1, None)
        }
        rest = [port for port in self.inputs if port.name not in named]
        for port in rest:
            if width_of(port) == 1 and (len(self.inputs) > 1 or len(self._block) != 1):
                raise ModelError(
                    f"{self.path}: its input {port.describe()} takes the column {port.name!r}, "
                    f"which {origin} does not have; {near_matches(port.name, able)}; if it follows "
                    "from others, say how in graph.derived, or with `init --derived`"
                )
        left = [name for name in self._block or known if name not in named]
        shares = self._shares(rest, left, origin)
        taken = {*named, *(name for share in shares.values() for name in share)}
        for name in self._block:
            if name not in taken:
                raise SettingsError(
                    f"graph.features: names {name!r}, which {self.path} does not take; with "
                    "preprocessing, it lists the columns of a block, in order; leave it out"
                )
        return tuple(
            Intake(port=port, columns=shares.get(port.name, (port.name,))) for port in self.inputs
        )

    def encode(self, columns: Columns) -> Floats:
        """Features [n, F], one row per entry of the columns; more than very many in parts."""
        columns = self.computation.complete(columns)
        count = len(columns[self.intakes[0].columns[0]])
        feeds = {intake.port.name: intake.fill(columns, self.path) for intake in self.intakes}
        parts = [
            self._ask(
                {name: values[first : first + MOST_ROWS] for name, values in feeds.items()},
                min(MOST_ROWS, count - first),
            )
            for first in range(0, max(count, 1), MOST_ROWS)
        ]
        features = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if not self.further:
            return features
        return np.column_stack((features, *(columns[name] for name in self.further)))

    def encode_nodes(self, columns: Columns, ids: Strings, origin: str) -> Floats:
        """Everybody's features; a row that the pipeline cannot take is named by its id."""
        try:
            features = self.encode(columns)
        except ModelError as error:
            row = self._find_refused_row(columns)
            if row is None:
                raise
            reason = str(error).removeprefix(f"{self.path}: ")
            raise ModelError(
                f"{self.path}: cannot take the row of {str(ids[row])!r} in {origin} "
                f"({self._describe_row(columns, row)}): {reason}"
            ) from None
        broken = ~np.isfinite(features)
        if broken.any():
            row, place = (int(places[0]) for places in np.nonzero(broken))
            raise ModelError(
                f"{self.path}: gives no finite number ({features[row, place]}) as "
                f"{self.feature_names(features.shape[1])[place]} for {str(ids[row])!r} in {origin} "
                f"({self._describe_row(columns, row)}); correct the row, or ask for another export"
            )
        return features

    def feature_names(self, count: int) -> tuple[str, ...]:
        """The pipeline's features, which have no names of their own: `output[0]`, `output[1]`."""
        own = range(count - len(self.further))
        return (*(f"{self.output.name}[{place}]" for place in own), *self.further)

    def _find_refused_row(self, columns: Columns) -> int | None:
        """The first row that is refused even alone, found by halving; None if there is none."""

        def refuses(first: int, last: int) -> bool:
            try:
                self.encode({name: values[first:last] for name, values in columns.items()})
            except ModelError:
                return True
            return False

        first, last = 0, len(next(iter(columns.values())))
        while last - first > 1:
            middle = (first + last) // 2
            first, last = (first, middle) if refuses(first, middle) else (middle, last)
        return first if refuses(first, last) else None

    def _describe_row(self, columns: Columns, row: int) -> str:
        cells = [f"{name} = {values[row]!s}" for name, values in [*columns.items()][:8]]
        return ", ".join(cells) + (", …" if len(columns) > 8 else "")

    def _ask(self, feeds: Mapping[str, NDArray[Any]], count: int) -> Floats:
        (raw,) = self.run([self.output.name], feeds, _rows(count))
        shape = np.shape(raw)  # () of what is no tensor at all
        if len(shape) != 2 or shape[0] != count or raw.dtype.kind not in "biuf":
            raise ModelError(
                f"{self.path}: the output {self.output.name!r} has shape {[*shape]} for "
                f"{_rows(count)}, and features have one row for each; name another output "
                "with model.preprocessing_output, or ask for an export that keeps rows apart"
            )
        return raw if raw.dtype.kind == "f" else raw.astype(np.float64)

    def _shares(
        self, ports: Sequence[InputPort], able: Sequence[str], origin: str
    ) -> dict[str, tuple[str, ...]]:
        """Divide columns among block inputs in order; one of unknown width takes what is left."""
        widths = [width_of(port) for port in ports]
        wanted, open_ended = sum(width or 0 for width in widths), widths.count(None)
        if not ports:
            return {}
        fits = wanted == len(able) if not open_ended else wanted < len(able)
        if not fits or open_ended > 1:
            names = " and ".join(port.describe() for port in ports)
            source = "graph.features names" if self._block else f"{origin} has, besides the id,"
            columns = ", ".join(repr(name) for name in able[:12])
            raise ModelError(
                f"{self.path}: takes columns by position ({names}), and {source} {len(able)} for "
                f"that ({columns}{', …' if len(able) > 12 else ''}); list in graph.features the "
                "columns that it was made from, in its order"
            )
        shares, first = {}, 0
        for port, width in zip(ports, widths, strict=True):
            size = len(able) - wanted if width is None else width
            shares[port.name] = tuple(able[first : first + size])
            first += size
        return shares

    def _choose(self, ports: Sequence[OutputPort], wanted: str | None) -> OutputPort:
        """The output with the features: the one that is named, or the only one that can be."""
        names = ", ".join(port.describe() for port in ports)
        numbers = [port for port in ports if port.dtype in NUMBERS]
        if wanted is not None:
            for port in numbers:
                if port.name == wanted:
                    return port
            raise SettingsError(
                f"model.preprocessing_output: {self.path} has no output {wanted!r} that holds "
                f"numbers; choose from {names}"
            )
        tables = [port for port in numbers if len(port.shape) == 2]
        able = [port for port in tables if port.floating] or tables
        if not able:
            raise ModelError(
                f"{self.path}: no output is a table of numbers with one row per person (outputs: "
                f"{names}); ask for an export of the features that the model takes"
            )
        if len(able) > 1:
            raise ModelError(
                f"{self.path}: more than one output could hold the features ({names}); name one: "
                f'preprocessing_output = "{able[0].name}"'
            )
        return able[0]


def check_port(path: Path, port: InputPort) -> None:
    """Refuse an input that takes no columns."""
    if port.dtype != TEXT and port.dtype not in NUMBERS:
        raise ModelError(
            f"{path}: its input {port.describe()} takes neither numbers nor text; ask "
            "for an export that takes the columns of the node table"
        )
    if len(port.shape) not in (1, 2):
        raise ModelError(
            f"{path}: its input {port.describe()} is neither [N, 1], [N] nor [N, k]; ask "
            "for an export with one row per person"
        )
    if isinstance(port.shape[0], int):
        raise ModelError(
            f"{path}: its input {port.describe()} takes exactly {port.shape[0]} "
            f"{'row' if port.shape[0] == 1 else 'rows'}; ask for an export whose first axis "
            "is dynamic"
        )


def width_of(port: InputPort) -> int | None:
    """How many columns an input takes; None where the file leaves it open."""
    if len(port.shape) == 1:
        return 1
    return port.shape[1] if isinstance(port.shape[1], int) else None


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


Encoder = PlainEncoder | Pipeline

# Rows that are asked about alone, and rows that are asked about in small random company.
ALONE, MISSING, COMPANY, MOST_IN_COMPANY = 64, 32, 64, 2**16
# Matrix products round differently for other numbers of rows; relative to a feature's size.
ROUNDING = 1e-5


def probe_rows(
    encode: Callable[[Columns], Floats],
    columns: Columns,
    features: Floats,
    feature_names: tuple[str, ...],
    *,
    what: str = "pipeline",
    gives: str = "features",
) -> PreprocessingProbes:
    """Ask a pipeline again about the rows that gave `features`: all, some, one, in another order.

    In notes, `what` names it, and `gives` what it gives.

    Notes
    -----
    Everybody is asked about four times, a random part of 65,536 of them in companies of 64, and
    up to 96 rows alone, those with missing values first.
    """
    different = (encode(columns) != features).any(axis=0)
    if different.any():
        note = (
            f"THE {what.upper()} IS RANDOM: asked twice about the same rows, it gives other "
            f"{gives} ({feature_names[different.argmax()]} is one of them). No figure could be "
            "repeated. Ask for an export in evaluation mode."
        )
        return PreprocessingProbes(
            deterministic=False, row_by_row=None, notes={"deterministic": note}
        )
    allowed = ROUNDING * np.abs(features).max(axis=0, initial=0)
    for rows in _companies(columns, len(features)):
        again = encode({name: values[rows] for name, values in columns.items()})
        moved = (np.abs(again - features[rows]) > allowed).any(axis=0)
        if moved.any():
            note = (
                f"THE {what.upper()} IS NOT ROW BY ROW: a person's {gives} depend on who else is "
                f"asked about with them, or in which order ({feature_names[moved.argmax()]} is one "
                "of them). What is verified about one person would not be what is decided. Ask for "
                "an export with the means and ranks of training in it."
            )
            return PreprocessingProbes(
                deterministic=True, row_by_row=False, notes={"row_by_row": note}
            )
    return PreprocessingProbes(deterministic=True, row_by_row=True)


def _companies(columns: Columns, count: int) -> Iterator[Ints]:
    """Everybody in another order, each half, small random companies, and single rows."""
    order: Ints = np.random.default_rng(0).permutation(count)
    yield np.arange(count)[::-1]
    yield order
    yield np.arange(count // 2, count)
    yield np.arange((count + 1) // 2)
    missing = np.zeros(count, bool)
    for values in columns.values():
        missing |= np.isnan(values) if values.dtype.kind == "f" else values == ""
    incomplete = np.flatnonzero(missing)[:MISSING]
    for row in np.unique(np.concatenate((incomplete, order[:ALONE]))):
        yield np.array([row])
    for first in range(0, min(count, MOST_IN_COMPANY), COMPANY):
        yield order[first : first + COMPANY]
