"""Preprocessing as a second sealed file: raw columns of the node table in, features out.

The file is opened, hashed and asked like the model. It takes each column by the name of an input
of shape [N, 1] or [N]; an input of shape [N, k] is a block, which takes several columns in order.
One of its outputs has a row for every row that goes in: the features that the model takes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import LimitError, ModelError, SettingsError
from recourse_audit.graph.arrays import Floats
from recourse_audit.graph.columns import ColumnKind, Columns, near_matches
from recourse_audit.model.calls import OutOfTimeError
from recourse_audit.model.files import ModelFiles
from recourse_audit.model.limits import LARGE_OR_HOSTILE, Limits
from recourse_audit.model.memory import is_out_of_memory
from recourse_audit.model.sessions import (
    FAILURES,
    element_type,
    first_line,
    open_session,
    run_session,
)
from recourse_audit.model.signature import InputPort, OutputPort
from recourse_audit.settings import ModelSettings

SETTING = "model.preprocessing"
TEXT = "string"
WHOLE = ("int64", "int32", "bool")
NUMBERS = ("float32", "float64", "float16", *WHOLE)
# More rows than this are asked in several calls, so that memory stays bounded.
MOST_ROWS = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """One input of a pipeline, and the columns that it takes."""

    port: InputPort
    columns: tuple[str, ...]

    @property
    def kind(self) -> ColumnKind:
        return "text" if self.port.dtype == TEXT else "numbers"

    def filled(self, columns: Columns, path: object) -> NDArray[Any]:
        """What the input gets for some rows."""
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
                f"{path}: its input {self.port.described()} cannot take {values[index]:g} from "
                f"the column {name!r}; correct the value, or ask for an export that takes it"
            )
        return cast


class Pipeline:
    """A sealed pipeline in onnxruntime, one thread, ready to be asked.

    Parameters
    ----------
    block
        The columns of `graph.features`, which inputs that are not named after a column take.
    made
        Columns that follow from those of the table, whether it has them or not.
    timeout, in_worker
        As for the model.
    """

    def __init__(
        self,
        settings: ModelSettings,
        block: Sequence[str] = (),
        *,
        made: Mapping[str, ColumnKind] | None = None,
        timeout: float | None = None,
        in_worker: bool = False,
    ) -> None:
        assert settings.preprocessing is not None
        self.path = settings.preprocessing
        self._block = tuple(block)
        self._made = {} if made is None else made
        self._limits = Limits(settings, timeout=timeout, in_worker=in_worker)
        self._files = ModelFiles(self.path, what="the pipeline", setting=SETTING)
        self._session = open_session(self._files, self._limits)
        self.inputs = tuple(
            InputPort(name=port.name, dtype=element_type(port.type), shape=tuple(port.shape))
            for port in self._session.get_inputs()
        )
        if not self.inputs:
            raise ModelError(
                f"{self.path}: takes no input, so it says nothing about anybody; name the pipeline "
                "that the model was trained with"
            )
        for port in self.inputs:
            self._check_port(port)
        outputs = tuple(
            OutputPort(name=port.name, dtype=element_type(port.type), shape=tuple(port.shape))
            for port in self._session.get_outputs()
        )
        self.output = self._chosen(outputs, settings.preprocessing_output)

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of what the runtime opened, by the name of the file."""
        return self._files.digests

    def digest(self) -> str:
        """One SHA-256 for all that the runtime opened: for a single file, that of its bytes."""
        return self._files.digest()

    def kinds(self, known: Sequence[str], origin: str) -> Mapping[str, ColumnKind]:
        """Which of the table's columns are taken, and whether as numbers or as text."""
        kinds: dict[str, ColumnKind] = {}
        for intake in self.intakes(known, origin):
            for name in intake.columns:
                kind = kinds.setdefault(name, self._made.get(name, intake.kind))
                if kind != intake.kind:
                    raise ModelError(
                        f"{self.path}: its input {intake.port.described()} takes {intake.kind} "
                        f"from the column {name!r}, which gives {kind}; ask for another export, or "
                        "correct the settings of the column"
                    )
        return {name: kind for name, kind in kinds.items() if name in known}

    def intakes(self, known: Sequence[str], origin: str) -> tuple[Intake, ...]:
        """The columns that each input takes, of those that a table has.

        An input named after a column takes it. The others share the columns of `graph.features`
        that are left, or all columns that are left, in order.
        """
        able = [*known, *(name for name in self._made if name not in known)]
        named = {port.name for port in self.inputs if port.name in able and _takes_one(port)}
        rest = [port for port in self.inputs if port.name not in named]
        for port in rest:
            if _takes_one(port, surely=True) and (len(self.inputs) > 1 or len(self._block) != 1):
                raise ModelError(
                    f"{self.path}: its input {port.described()} takes the column {port.name!r}, "
                    f"which {origin} does not have; {near_matches(port.name, able)}"
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

    def features(self, intakes: Sequence[Intake], columns: Columns) -> Floats:
        """The features [n, F] for n rows of raw columns, in one call (or more, for very many)."""
        count = len(columns[intakes[0].columns[0]])
        feeds = {one.port.name: one.filled(columns, self.path) for one in intakes}
        if count <= MOST_ROWS:
            return self._asked(feeds, count)
        parts = []
        for first in range(0, count, MOST_ROWS):
            part = {name: values[first : first + MOST_ROWS] for name, values in feeds.items()}
            parts.append(self._asked(part, min(MOST_ROWS, count - first)))
        return np.concatenate(parts)

    def _asked(self, feeds: Mapping[str, NDArray[Any]], count: int) -> Floats:
        try:
            (raw,) = run_session(self._session, [self.output.name], feeds, self._limits)
        except OutOfTimeError:
            raise LimitError(
                f"{self.path}: the pipeline did not answer for {count:,} rows within "
                f"{self._limits.seconds:g} seconds; if it is only slow, allow more with "
                "model.timeout or --timeout; otherwise ask for another export"
            ) from None
        except FAILURES as error:
            if is_out_of_memory(error):
                raise LimitError(
                    f"{self.path}: the pipeline needs more memory for {_rows(count)} "
                    f"{self._limits.memory}; {LARGE_OR_HOSTILE}"
                ) from None
            raise ModelError(
                f"{self.path}: onnxruntime could not run the pipeline on {_rows(count)}: "
                f"{first_line(error)}"
            ) from None
        shape = np.shape(raw)  # () of what is no tensor at all
        if len(shape) != 2 or shape[0] != count or raw.dtype.kind not in "biuf":
            raise ModelError(
                f"{self.path}: the output {self.output.name!r} has shape {[*shape]} for "
                f"{_rows(count)}, and features have one row for each; name another output with "
                "model.preprocessing_output, or ask for an export that keeps rows apart"
            )
        return raw if raw.dtype.kind == "f" else raw.astype(np.float64)

    def _shares(
        self, ports: Sequence[InputPort], able: Sequence[str], origin: str
    ) -> dict[str, tuple[str, ...]]:
        """Divide columns among block inputs in order; one of unknown width takes what is left."""
        widths = [_width(port) for port in ports]
        wanted, open_ended = sum(width or 0 for width in widths), widths.count(None)
        if not ports:
            return {}
        fits = wanted == len(able) if not open_ended else wanted < len(able)
        if not fits or open_ended > 1:
            names = " and ".join(port.described() for port in ports)
            source = "graph.features names" if self._block else f"{origin} has, besides the id,"
            listed = ", ".join(repr(name) for name in able[:12])
            raise ModelError(
                f"{self.path}: takes columns by position ({names}), and {source} {len(able)} for "
                f"that ({listed}{', …' if len(able) > 12 else ''}); list in graph.features the "
                "columns that it was made from, in its order"
            )
        shares, first = {}, 0
        for port, width in zip(ports, widths, strict=True):
            size = len(able) - wanted if width is None else width
            shares[port.name] = tuple(able[first : first + size])
            first += size
        return shares

    def _check_port(self, port: InputPort) -> None:
        if port.dtype != TEXT and port.dtype not in NUMBERS:
            raise ModelError(
                f"{self.path}: its input {port.described()} takes neither numbers nor text; ask "
                "for an export that takes the columns of the node table"
            )
        if len(port.shape) not in (1, 2):
            raise ModelError(
                f"{self.path}: its input {port.described()} is neither [N, 1], [N] nor [N, k]; ask "
                "for an export with one row per person"
            )
        if isinstance(port.shape[0], int):
            raise ModelError(
                f"{self.path}: its input {port.described()} takes exactly {port.shape[0]} "
                f"{'row' if port.shape[0] == 1 else 'rows'}; ask for an export whose first axis "
                "is dynamic"
            )

    def _chosen(self, ports: Sequence[OutputPort], wanted: str | None) -> OutputPort:
        """The output with the features: the one that is named, or the only one that can be."""
        listed = ", ".join(
            InputPort(name=port.name, dtype=port.dtype, shape=port.shape).described()
            for port in ports
        )
        if wanted is not None:
            named = [port for port in ports if port.name == wanted and port.dtype in NUMBERS]
            if not named:
                raise SettingsError(
                    f"model.preprocessing_output: {self.path} has no output {wanted!r} that holds "
                    f"numbers; choose from {listed}"
                )
            return named[0]
        tables = [port for port in ports if len(port.shape) == 2 and port.dtype in NUMBERS]
        floats = [port for port in tables if port.dtype.startswith("float")]
        able = floats or tables
        if not able:
            raise ModelError(
                f"{self.path}: no output is a table of numbers with one row per person (outputs: "
                f"{listed}); ask for an export of the features that the model takes"
            )
        if len(able) > 1:
            raise ModelError(
                f"{self.path}: more than one output could hold the features ({listed}); name one: "
                f'preprocessing_output = "{able[0].name}"'
            )
        return able[0]


def _width(port: InputPort) -> int | None:
    """How many columns an input takes; None where the file leaves it open."""
    if len(port.shape) == 1:
        return 1
    return port.shape[1] if isinstance(port.shape[1], int) else None


def _takes_one(port: InputPort, *, surely: bool = False) -> bool:
    """Whether an input takes (or may take) a single column."""
    return _width(port) == 1 or (not surely and _width(port) is None)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
