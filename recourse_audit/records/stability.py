"""How far findings move when the graph or the model is perturbed."""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.base import Record

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StabilityRow(Record):
    """One subject under one perturbation: how far the answer, and what explains it, moved.

    Distances are Jaccard distances; None where there was nothing to compare.
    """

    subject: str
    perturbation: str
    strength: float
    changed: bool
    explanation: float | None
    options: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StabilityPoint(Record):
    """Means over some rows of about the same strength."""

    strength: float
    explanation: float
    options: float | None
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StabilityReport(Record):
    """How stable the findings are: every row, and curves for changed and unchanged decisions.

    `kind` is "links" or "models"; `unanswered` are subjects whom the model gave no number.
    """

    format: int
    kind: Literal["links", "models"]
    subjects: int
    unanswered: tuple[str, ...]
    rows: tuple[StabilityRow, ...]
    changed: tuple[StabilityPoint, ...]
    unchanged: tuple[StabilityPoint, ...]
