"""What must be said beside a finding."""

from dataclasses import dataclass
from typing import Literal

Grade = Literal["holds", "weakens", "reverses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjustedEffect:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveat:
    """What must be said beside a finding, and what it is about.

    `text` is for the auditor and may name nodes; `letter` says the same to the subject, and names
    nobody and nothing.
    """

    kind: str
    grade: Grade | None
    about: str
    text: str
    letter: str
    variables: tuple[str, ...] = ()
    effect: AdjustedEffect | None = None
