"""The rates by which groups are compared under the names of the field: definitions and figures.

Positive is a favourable decision, and a good outcome. `DEFINITIONS` is the one table of what each
measure is: the group stage computes rates by it, and pages and docs name measures as it does.
"""

from typing import Any, Literal

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


class Definition(Record):
    """What a measure is, where it comes from, and its name in other tools; empty if it has none."""

    code: str
    formula: str
    source: str
    needs_outcomes: bool
    fairlearn: str
    aif360: str
    aequitas: str


class RateDefinition(Definition):
    """The share of those `counted` among those `given`."""

    counted: Who
    given: Who


EMPLOYMENT = "US Uniform Guidelines, 29 CFR 1607.4(D)"
NEW_YORK = "New York City Local Law 144, 6 RCNY 5-300"
MATRIX, PARITY = "Fawcett 2006", "Calders and Verwer 2010"
ODDS, DEVIATIONS = "Hardt, Price and Srebro 2016", "Castaneda v. Partida, 430 U.S. 482 (1977)"

# Last come the names in fairlearn, AIF360 and Aequitas: `=` is the code, and `-` none.
_RATES: tuple[tuple[RateName, str, Who, Who, str, str], ...] = (
    ("selection_rate", "favourable / decided on", "favourable", "decided", EMPLOYMENT, "= = pprev"),
    ("scoring_rate", "above the median / decided on", "better_half", "scored", NEW_YORK, "- - -"),
    ("true_positive_rate", "TP / (TP + FN)", "favourable", "good", MATRIX, "= = tpr"),
    ("false_positive_rate", "FP / (FP + TN)", "favourable", "bad", MATRIX, "= = fpr"),
    ("false_negative_rate", "FN / (TP + FN)", "refused", "good", MATRIX, "= = fnr"),
    ("true_negative_rate", "TN / (FP + TN)", "refused", "bad", MATRIX, "= = tnr"),
    ("positive_predictive_value", "TP / (TP + FP)", "good", "favourable", MATRIX, "- = precision"),
    ("negative_predictive_value", "TN / (TN + FN)", "bad", "refused", MATRIX, "- = npv"),
    ("false_discovery_rate", "FP / (TP + FP)", "bad", "favourable", MATRIX, "- = fdr"),
    ("false_omission_rate", "FN / (TN + FN)", "good", "refused", MATRIX, "- = for"),
)
_OTHERS: tuple[tuple[str, str, str, str, bool], ...] = (
    ("impact_ratio", "rate / highest rate of a known group", NEW_YORK, "- - -", False),
    (
        *("impact_ratio to the reference", "rate / rate of the reference", EMPLOYMENT),
        *("- disparate_impact pprev_disparity", False),
    ),
    ("below_four_fifths", "impact_ratio < groups.four_fifths (0.8)", EMPLOYMENT, "- - -", False),
    (
        *("demographic_parity_difference", "highest - lowest selection rate", PARITY),
        *("= statistical_parity_difference -", False),
    ),
    ("demographic_parity_ratio", "lowest / highest selection rate", PARITY, "= - -", False),
    ("equal_opportunity_difference", "highest - lowest true positive rate", ODDS, "= = -", True),
    (
        *("equalised_odds_difference", "the same, or of false positive rates if larger", ODDS),
        *("equalized_odds_difference equalized_odds_difference -", True),
    ),
    ("odds_ratio", "p1 / (1 - p1) over p0 / (1 - p0)", "Woolf 1955", "- - -", False),
    ("z", "(p1 - p0) / sqrt(p (1 - p) (1/n1 + 1/n0))", DEVIATIONS, "- - -", False),
    (
        *("standardised_mean_difference", "(mean1 - mean0) / pooled standard deviation"),
        *("Cohen 1988", "- - -", False),
    ),
    ("calibration", "good / people, by bin of answers", "Kleinberg et al. 2017", "- - -", True),
)


def _fields(code: str, formula: str, source: str, names: str, outcomes: bool) -> dict[str, Any]:
    own = [{"=": code, "-": ""}.get(name, name) for name in names.split()]
    tools = dict(zip(("fairlearn", "aif360", "aequitas"), own, strict=True))
    fields = {"code": code, "formula": formula, "source": source, "needs_outcomes": outcomes}
    return fields | tools


RATES: dict[RateName, RateDefinition] = {
    code: RateDefinition(
        counted=counted, given=given, **_fields(code, formula, source, names, source == MATRIX)
    )
    for code, formula, counted, given, source, names in _RATES
}
DEFINITIONS = (*RATES.values(), *(Definition(**_fields(*row)) for row in _OTHERS))


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
