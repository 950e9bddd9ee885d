"""What can be said about a model from the outside, as `inspect --json` prints it."""

from dataclasses import dataclass

from recourse_audit.records.base import Record
from recourse_audit.records.probes import ProbeReport

# 1: the first. 2: notes are part of the probes; every key is always there.
FORMAT = 2

Size = int | str | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelInput(Record):
    """One input as the file declares it, the role it plays, and why we think so.

    `shape` has a number or a name for each axis, None where the file gives neither. `role` is None
    where no role could be guessed.
    """

    name: str
    dtype: str
    shape: tuple[Size, ...]
    role: str | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelOutput(Record):
    """The output that decisions are read from, what its numbers are, and why we think so."""

    name: str
    dtype: str
    shape: tuple[Size, ...]
    kind: str | None
    classes: int | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelReport(Record):
    """A model's inputs and output, and what the probes found.

    Where the model cannot be asked at all, `problem` says why and there are no probes.
    """

    format: int
    sha256: str
    inputs: tuple[ModelInput, ...]
    output: ModelOutput
    probes: ProbeReport | None = None
    problem: str = ""
