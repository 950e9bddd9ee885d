"""How decisions turned out, by group: false approvals, false refusals, and the score's calibration.

*Good* and *bad* are what came true later, by the column `decision.outcome`. A figure that is left
out, or that too little is known for, is None.
"""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.base import Record
from recourse_audit.records.group_figures import Interval, Rate, WhyUntested

ErrorMeasure = Literal["false_approvals", "false_refusals"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CalibrationBin(Record):
    """People with a known outcome and a score from `low` to under `high`; the last has its end.

    `score` is their mean score, and `good` the share of them whose outcome is good.
    """

    low: float
    high: float
    score: float
    good: Rate


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GoodRefused(Record):
    """Refused and audited people whose outcome is good: how many of them have no option.

    They are certified infeasible, or nothing was found for them within the budget; both are None
    where this division is left out.
    """

    without_option: Rate
    certified_infeasible: Rate | None
    not_found_within_budget: Rate | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErrorRates(Record):
    """The error rates of one group, or of everybody.

    `false_approvals` is the share with a bad outcome among people with a favourable decision and a
    known outcome (`favourable_known`), `false_refusals` the share with a good one among the refused
    (`refused_known`).
    """

    favourable_known: int | None
    false_approvals: Rate | None
    refused_known: int | None
    false_refusals: Rate | None
    good_refused: GoodRefused | None
    calibration: tuple[CalibrationBin, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErrorGap(Record):
    """A group against the reference in one error rate: group minus reference.

    `effective` is the number of independent people who would be as informative. Where the gap
    was not tested, `interval`, `p` and `effective` are None, and `untested` says why.
    """

    measure: ErrorMeasure
    group: str
    reference: str
    difference: float
    interval: Interval | None
    p: float | None
    effective: float | None
    untested: WhyUntested | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErrorRateTable(Record):
    """The groups of one attribute, or of two crossed.

    A group of whose refused too few have a known outcome has `refused_known`, but no
    `false_refusals`.
    """

    table: str
    by_group: dict[str, ErrorRates]
    gaps: tuple[ErrorGap, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErrorRateReport(Record):
    """Error rates of everybody, and in the tables that can show them.

    `favourable_known` of `favourable`, and `refused_known` of `refused` people have a known
    outcome; None where nothing is shown of anybody. `calibrated` says whose scores are compared
    with outcomes: everybody's with a decision, or, where the outcomes of fewer than 95 % of the
    refused are known, those of people with a favourable one; then there are no false refusals.
    """

    column: str
    favourable: int | None
    favourable_known: int | None
    refused: int | None
    refused_known: int | None
    score: Literal["probability", "score"]
    calibrated: Literal["everybody", "favourable"]
    overall: ErrorRates | None
    tables: tuple[ErrorRateTable, ...]
