"""What must be said beside a finding."""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.base import Record

Grade = Literal["holds", "weakens", "reverses"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AdjustedEffect(Record):
    """What removing a part does to the probability of the decision, confounders drawn or not.

    `unadjusted` is the move with all features as they are, `adjusted` the mean over draws of the
    confounders' features, `low` to `high` its interval; `agreeing` is the share of draws in which
    the move goes the same way.
    """

    unadjusted: float
    adjusted: float
    low: float
    high: float
    agreeing: float
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
