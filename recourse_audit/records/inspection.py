"""What can be said of a model from outside, under the names that `inspect --json` prints."""

from dataclasses import dataclass

from recourse_audit.records.base import Record
from recourse_audit.records.probes import ProbeReport

# 1: the first. 2: notes are part of the probes; every key is always there.
FORMAT = 2

Dimension = int | str | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class InputReport(Record):
    """One input of a model: what its file declares, the role it plays, and why we think so."""

    name: str
    dtype: str
    shape: tuple[Dimension, ...]
    role: str | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OutputReport(Record):
    """The output that is read: what its numbers are, and how many classes they are about."""

    name: str
    dtype: str
    shape: tuple[Dimension, ...]
    kind: str | None
    classes: int | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelReport(Record):
    """A model as it looks from outside; `problem` says why it cannot be asked, if it cannot."""

    format: int = FORMAT
    model: str
    sha256: str
    inputs: tuple[InputReport, ...]
    output: OutputReport
    probes: ProbeReport | None = None
    problem: str = ""
