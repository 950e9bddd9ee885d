"""The rates by which groups are compared under the names of the field: definitions and figures.

Positive is a favourable decision, and a good outcome.
"""

from typing import Literal

from recourse_audit.records import Record
from recourse_audit.records.group_figures import Intervals, Rate, WhyUntested

RateName = Literal[
    "selection_rate",
    "scoring_rate",
    "true_positive_rate",
    "false_positive_rate",
    "false_negative_rate",
    "true_negative_rate",
    "positive_predictive_value",
    "negative_predictive_value",
    "false_discovery_rate",
    "false_omission_rate",
]
SpreadName = Literal[
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equal_opportunity_difference",
    "equalised_odds_difference",
]
# Who is counted, and among whom: the `scored` are people decided on who have an answer.
Who = Literal["decided", "scored", "favourable", "refused", "good", "bad", "better_half"]
# The rates of which there are impact ratios.
IMPACTS: tuple[RateName, ...] = ("selection_rate", "scoring_rate")
# The share of whom, among whom, each rate is; a table in the docs has formulas and sources.
RATES: dict[RateName, tuple[Who, Who]] = {
    "selection_rate": ("favourable", "decided"),
    "scoring_rate": ("better_half", "scored"),
    "true_positive_rate": ("favourable", "good"),
    "false_positive_rate": ("favourable", "bad"),
    "false_negative_rate": ("refused", "good"),
    "true_negative_rate": ("refused", "bad"),
    "positive_predictive_value": ("good", "favourable"),
    "negative_predictive_value": ("bad", "refused"),
    "false_discovery_rate": ("bad", "favourable"),
    "false_omission_rate": ("good", "refused"),
}


class Figure(Intervals):
    """A figure with its intervals; None where it does not exist, as a ratio to zero."""

    value: float | None


class RateGap(Record):
    """A rate of the group against that of the reference: group minus, or over, reference.

    `z` is the difference in standard errors of independent people, and `z_on_graph` in those that
    allow for ties, as `p` does; `effective` independent people would be as informative.
    """

    difference: Figure
    ratio: Figure
    odds_ratio: Figure
    z: float | None
    z_on_graph: float | None
    p: float | None
    effective: float | None
    untested: WhyUntested | None


class PairFigures(Record):
    """A group against the reference, in rates and in answers: plus is better for the group."""

    group: str
    reference: str
    by_rate: dict[RateName, RateGap]
    standardised_mean_difference: Figure


class ImpactRatio(Record):
    """The rate of a group over the highest of a known group, and over that of the reference."""

    highest: float
    reference: float | None
    below_four_fifths: bool


class RateTable(Record):
    """The groups of one attribute, or of two crossed; a rate that is left out is in no group.

    Unknown and pooled groups have rates, but no impact ratio: they are compared with nobody.
    `spreads` are over all known groups.
    """

    table: str
    by_group: dict[str, dict[RateName, Rate]]
    impact_ratios: dict[str, dict[RateName, ImpactRatio]]
    pairs: tuple[PairFigures, ...]
    spreads: dict[SpreadName, float]


class RateReport(Record):
    """All rates of everybody, and by group."""

    overall: dict[RateName, Rate]
    tables: tuple[RateTable, ...]
