"""What must be said beside a finding, and how far findings move under perturbation."""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.base import Record

# Each further than the one before from the effect as it is; what is not settled is nowhere.
Grade = Literal["holds", "weakens", "no_effect", "reverses", "not_settled"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AdjustedEffect(Record):
    """What removing a part does to the probability of the decision, confounders drawn or not.

    `unadjusted` is the move with all features as they are, `adjusted` the mean over draws of the
    confounders' features, `low` to `high` its interval. A move of up to `smallest` is no effect to
    speak of. `agreeing` is the share of draws with a larger move the same way, `negligible` the
    share with no larger move; `depends_on_whom` where the mean does not speak for nine draws in
    ten.
    """

    unadjusted: float
    adjusted: float
    low: float
    high: float
    smallest: float
    agreeing: float
    negligible: float
    depends_on_whom: bool
    draws: int
    grade: Grade


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Caveat(Record):
    """What must be said beside a finding, and what it is about.

    `counterfactual` is the number of the counterfactual it is about, the first being 1; None if it
    is about all of them. `about` says the same in words. `text` is for the auditor and may name
    nodes; `letter` says it to the subject without naming anybody or anything.
    """

    kind: str
    grade: Grade | None
    counterfactual: int | None
    about: str
    text: str
    letter: str
    variables: tuple[str, ...] = ()
    effect: AdjustedEffect | None = None


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
