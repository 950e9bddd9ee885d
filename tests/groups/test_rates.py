"""Rates by group: fairlearn has the same ones, and nothing is compared that should not be."""

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fairlearn import metrics
from sklearn.metrics import precision_score
from statsmodels.stats.contingency_tables import Table2x2

from recourse_audit.records.groups import GroupReport
from recourse_audit.records.rates import RATES
from tests.groups.populations import add_outcomes, drawn_population
from tests.groups.stores import FOUND, INFEASIBLE, Person, report_on, settings
from tests.groups.test_error_rates import NORTH, SOUTH, people_of

PRECISION = partial(precision_score, zero_division=np.nan)
THEIRS: dict[str, Callable[..., Any]] = {
    "selection_rate": metrics.selection_rate,
    "true_positive_rate": metrics.true_positive_rate,
    "false_positive_rate": metrics.false_positive_rate,
    "false_negative_rate": metrics.false_negative_rate,
    "true_negative_rate": metrics.true_negative_rate,
    "positive_predictive_value": PRECISION,
    "negative_predictive_value": partial(PRECISION, pos_label=0),
    "false_discovery_rate": lambda *both: 1 - PRECISION(*both),
    "false_omission_rate": lambda *both: 1 - PRECISION(*both, pos_label=0),
}
SPREADS: dict[str, Callable[..., Any]] = {
    "demographic_parity_difference": metrics.demographic_parity_difference,
    "demographic_parity_ratio": metrics.demographic_parity_ratio,
    "equal_opportunity_difference": metrics.equal_opportunity_difference,
    "equalised_odds_difference": metrics.equalized_odds_difference,
}


def report_of(people: Sequence[Person], *names: str, **more: Any) -> GroupReport:
    return report_on(people, settings(*(names or ("origin",)), **more), ties=False)


@pytest.mark.parametrize("seed", [2, 6])
def test_rates_and_spreads_are_those_of_fairlearn(seed: int) -> None:
    people, names = drawn_population(seed)
    people = [
        replace(one, groups={name: value or "none" for name, value in one.groups.items()})
        for _ in range(8)
        for one in people
        if one.favourable is not None
    ]
    add_outcomes(seed, people, names[-1])
    for one in people:
        one.outcome = one.outcome or False
    report = report_of(people, *names, smallest=2)
    compared: set[str] = set()
    for table in report.rates.tables:
        labels = [", ".join(one.groups[n] for n in table.table.split(" x ")) for one in people]
        data = {
            "y_true": [int(bool(one.outcome)) for one in people],
            "y_pred": [int(bool(one.favourable)) for one in people],
            "sensitive_features": labels,
        }
        theirs = metrics.MetricFrame(metrics=THEIRS, **data).by_group
        assert {*table.by_group} == {*labels}
        for group, rates in table.by_group.items():
            for name in {*rates} & {*THEIRS}:
                share = rates[name].share if rates[name].of else math.nan
                theirs_here = theirs.loc[group, name]
                assert share == pytest.approx(theirs_here, abs=1e-12, nan_ok=True)
                compared.add(name)
        for pair in table.pairs:
            for name in {*pair.by_rate} & {*THEIRS}:
                share, base = theirs.loc[[pair.group, pair.reference], name]
                difference = pair.by_rate[name].difference.value
                assert difference == pytest.approx(share - base, abs=1e-12)
        for spread, value in table.spreads.items():
            data_of_spread = {"y_true": data["y_true"], "y_pred": data["y_pred"]}
            expected = SPREADS[spread](**data_of_spread, sensitive_features=labels)
            assert value == pytest.approx(expected, abs=1e-12)
            compared.add(spread)
    assert compared == {*THEIRS, *SPREADS}


def test_what_two_groups_differ_in_equals_an_own_calculation() -> None:
    people = people_of(NORTH, SOUTH)
    [table] = report_of(people).rates.tables
    [pair] = table.pairs
    # Of the people with a good outcome: refused and let in, in the south and in the north.
    gap = pair.by_rate["false_negative_rate"]
    theirs = Table2x2([[40, 90], [30, 160]])
    assert gap.odds_ratio.value == pytest.approx(theirs.oddsratio)
    ends = gap.odds_ratio.ordinary
    assert ends is not None
    assert (ends.low, ends.high) == pytest.approx(theirs.oddsratio_confint())
    assert gap.odds_ratio.on_graph is None  # without ties nothing is tested
    assert (gap.untested, gap.p, gap.z_on_graph) == ("no_ties", None, None)
    share = 70 / 320
    error = math.sqrt(share * (1 - share) * (1 / 130 + 1 / 190))
    assert gap.z == pytest.approx((40 / 130 - 30 / 190) / error)
    assert gap.ratio.value == pytest.approx((40 / 130) / (30 / 190))
    mirrored = pair.by_rate["true_positive_rate"]
    assert mirrored.difference.value == pytest.approx(-(40 / 130 - 30 / 190))
    assert mirrored.odds_ratio.value == pytest.approx(1 / theirs.oddsratio)
    south, north = (
        np.array([one.score for one in people if one.groups["origin"] == name], float)
        for name in ("south", "north")
    )
    pooled = (south.size - 1) * south.var(ddof=1) + (north.size - 1) * north.var(ddof=1)
    deviation = math.sqrt(pooled / (south.size + north.size - 2))
    value = pair.standardised_mean_difference.value
    assert value == pytest.approx((south.mean() - north.mean()) / deviation)


def people_by_rate(**rates: tuple[int, int]) -> list[Person]:
    """Groups of so many people with a favourable decision, and so many refused."""
    return [
        Person(groups={"origin": "" if name == "unknown" else name}, favourable=favourable)
        for name, counts in rates.items()
        for favourable, count in zip((True, False), counts, strict=True)
        for _ in range(count)
    ]


def test_impact_ratios_are_against_the_highest_known_group() -> None:
    people = people_by_rate(
        north=(50, 50), south=(80, 20), west=(64, 36), none=(0, 40), unknown=(30, 0), tiny=(9, 1)
    )
    people += [Person(groups={"origin": "north"}, favourable=None) for _ in range(5)]
    [table] = report_of(people, smallest=20, reference={"origin": "north"}).rates.tables
    ratios = {
        name: (own["selection_rate"].highest, own["selection_rate"].below_four_fifths)
        for name, own in table.impact_ratios.items()
        if own
    }
    assert ratios == {
        "north": (0.625, True),  # undecided people are in no rate
        "south": (1.0, False),
        "west": (0.8, False),  # at the line is not below it
        "none": (0.0, True),
    }
    # A pool and people without a value are counted, and never the highest.
    assert {*table.by_group} - {*table.impact_ratios} == {"other"}
    assert (table.by_group["other"]["selection_rate"].share or 0) > 0.8
    assert table.impact_ratios["west"]["selection_rate"].reference == pytest.approx(1.28)
    assert {pair.group for pair in table.pairs} == {"none", "south", "west"}
    assert table.spreads["demographic_parity_difference"] == pytest.approx(0.8)


def test_where_nobody_is_let_in_there_is_no_ratio() -> None:
    people = people_by_rate(north=(0, 50), south=(30, 20))
    [table] = report_of(people).rates.tables
    [pair] = table.pairs
    gap = pair.by_rate["selection_rate"]
    if pair.reference == "south":
        assert gap.ratio.value == 0
    else:
        assert (gap.ratio.value, gap.odds_ratio.value) == (None, None)
    assert table.impact_ratios["north"]["selection_rate"].highest == 0
    [table] = report_of(people_by_rate(north=(0, 50), south=(0, 50))).rates.tables
    assert table.impact_ratios == {"north": {}, "south": {}}
    assert table.spreads == {"demographic_parity_difference": 0}


def test_the_scoring_rate_is_the_share_better_than_the_median_of_everybody() -> None:
    people = people_of(NORTH, SOUTH)
    median = np.median([one.score for one in people if one.score is not None])
    overall = report_of(people).rates.overall["scoring_rate"]
    assert overall.count == sum((one.score or 0) > median for one in people)
    people[0].favourable = None
    assert report_of(people).rates.overall["scoring_rate"].of == len(people) - 1


def test_a_scoring_rate_with_a_few_people_on_a_side_is_left_out() -> None:
    people = people_of(NORTH, SOUTH)
    for number, one in enumerate(each for each in people if each.groups["origin"] == "south"):
        one.score = 0.999 if number < 5 and one.favourable else 0.01
    report = report_of(people)
    assert "scoring_rate" in report.rates.overall
    [table] = report.rates.tables
    assert all("scoring_rate" not in rates for rates in table.by_group.values())
    assert ("origin", "scoring_rate") in {(one.table, one.part) for one in report.left_out}


def test_no_bin_of_calibration_ends_a_few_people_from_the_median() -> None:
    """Otherwise those in between could be counted, from the bin and the scoring rate."""
    report = report_of(people := people_of(NORTH, SOUTH))
    assert report.error_rates is not None
    [table] = report.error_rates.tables
    median = float(np.median([one.score for one in people if one.score is not None]))
    for name, rates in table.by_group.items():
        for one in (rates.calibration or ())[1:]:
            between = [
                each
                for each in people
                if each.groups["origin"] == name
                and each.score is not None
                and (each.score >= one.low) != (each.score > median)
            ]
            assert len(between) == 0 or len(between) >= 11, (name, one.low)


def test_rates_given_the_outcome_need_the_outcomes_of_nearly_all_with_either_decision() -> None:
    people = people_of(NORTH, SOUTH)
    for one in [one for one in people if one.favourable and one.outcome][:50]:
        one.outcome = None
    rates = report_of(people).rates
    assert {"false_discovery_rate", "false_omission_rate"} <= {*rates.overall}
    assert not {"true_positive_rate", "false_positive_rate"} & {*rates.overall}
    [table] = rates.tables
    assert "true_positive_rate" in table.by_group["south"]
    assert "true_positive_rate" not in table.by_group["north"]
    assert "true_positive_rate" not in table.pairs[0].by_rate


def test_an_outcome_that_all_share_is_not_said_of_the_few_without_an_option() -> None:
    """Who has no option is said of whole groups, however few they are."""
    people = people_of(NORTH, SOUTH)
    for number, one in enumerate(each for each in people if each.favourable is False):
        one.status = INFEASIBLE if one.outcome and number % 2 else FOUND
    report = report_of(people)
    assert report.error_rates is not None
    assert report.error_rates.overall is not None
    assert report.error_rates.overall.good_refused is None
    assert ("overall", "good_refused") in {(one.table, one.part) for one in report.left_out}


def definitions() -> list[dict[str, str]]:
    """The table in the docs of what each rate is."""
    path = Path(__file__).parents[2] / "docs" / "_ext" / "rates.csv"
    return [*csv.DictReader(path.read_text(encoding="utf-8").splitlines())]


def test_every_rate_is_defined_in_the_docs_once_and_in_order() -> None:
    codes = [each["code"] for each in definitions()]
    assert [code for code in codes if code in RATES] == [*RATES]
    assert all(each["formula"] and each["source"] for each in definitions())


def test_names_in_fairlearn_are_functions_of_fairlearn() -> None:
    names = {each["fairlearn"] for each in definitions()} - {""}
    assert all(callable(getattr(metrics, name)) for name in names)
