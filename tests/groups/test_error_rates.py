"""How decisions turned out: right by group, compared, said for whom, and left out jointly."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from recourse_audit.groups.error_rates import bins_of, edges_of
from recourse_audit.groups.tables import choose_steps
from recourse_audit.records.codec import GROUPS
from recourse_audit.records.group_figures import ErrorRateReport, ErrorRates, Rate
from recourse_audit.records.groups import GroupReport
from recourse_audit.records.rates import RateName, RateTable
from recourse_audit.render.groups_csv import groups_csv
from recourse_audit.render.terminal import show_groups
from tests.groups.populations import add_outcomes, drawn_population
from tests.groups.stores import (
    ERROR,
    FOUND,
    INFEASIBLE,
    NOT_FOUND,
    Person,
    report_on,
    settings,
)
from tests.render.group_pages import ReadGroups

USABLE = (FOUND, INFEASIBLE, NOT_FOUND)
# Of each group: favourable and good, favourable and bad, refused and good, refused and bad.
NORTH, SOUTH = ("north", 160, 40, 30, 60), ("south", 90, 30, 40, 80)


def people_of(*groups: tuple[str, int, int, int, int]) -> list[Person]:
    """People with scores from 0.5 on if the decision on them is favourable, and below if not."""
    people: list[Person] = []
    for name, *counts in groups:
        kinds = [(True, True), (True, False), (False, True), (False, False)]
        for (favourable, good), count in zip(kinds, counts, strict=True):
            people += [
                Person(
                    groups={"origin": name},
                    favourable=favourable,
                    outcome=good,
                    score=round(0.5 * favourable + 0.49 * (number % 50) / 50, 4),
                    status=None if favourable else (FOUND, INFEASIBLE, NOT_FOUND)[number % 3],
                )
                for number in range(count)
            ]
    for number, one in enumerate(people):
        one.community = number % 15
    return people


WRONGLY_IN: RateName = "false_discovery_rate"
WRONGLY_OUT: RateName = "false_omission_rate"


def report_of(people: list[Person], *names: str, ties: bool = False, **more: Any) -> GroupReport:
    """The report on people without ties, between whose groups nothing is tested."""
    return report_on(people, settings(*(names or ("origin",)), **more), ties=ties)


def errors_of(report: GroupReport) -> ErrorRateReport:
    assert report.error_rates is not None
    return report.error_rates


def rates_of(people: list[Person], *names: str, **more: Any) -> ErrorRateReport:
    return errors_of(report_of(people, *names, **more))


def shares(table: RateTable, measure: RateName) -> dict[str, tuple[int, int]]:
    found = {name: own[measure] for name, own in table.by_group.items() if measure in own}
    return {name: (one.count, one.of) for name, one in found.items()}


def test_error_rates_are_shares_of_those_decided_on_with_a_known_outcome() -> None:
    people = people_of(NORTH, SOUTH)
    # Groups that are spread evenly over communities clump less than any redrawn labels.
    for one, own in zip(
        people, np.random.default_rng(0).integers(15, size=len(people)), strict=True
    ):
        one.community = int(own)
    report = report_of(people, ties=True)
    found = errors_of(report)
    assert (found.favourable_known, found.favourable) == (320, 320)
    assert (found.refused_known, found.refused) == (210, 210)
    [table] = report.rates.tables
    assert shares(table, WRONGLY_IN) == {"north": (40, 200), "south": (30, 120)}
    assert shares(table, WRONGLY_OUT) == {"north": (30, 90), "south": (40, 120)}
    assert shares(table, "false_negative_rate") == {"north": (30, 190), "south": (40, 130)}
    [pair] = table.pairs
    assert (pair.group, pair.reference) == ("south", "north")
    assert pair.by_rate[WRONGLY_IN].difference.value == pytest.approx(30 / 120 - 40 / 200)
    assert pair.by_rate[WRONGLY_OUT].difference.value == pytest.approx(0)
    for gap in pair.by_rate.values():
        assert gap.difference.value is not None
        interval = gap.difference.on_graph
        assert interval is not None
        assert interval.low < gap.difference.value < interval.high
        assert gap.p is not None
        assert gap.effective is not None
        assert gap.untested is None
        # The more standard deviations, the smaller p; ties leave fewer of them.
        assert gap.z is not None
        assert gap.z_on_graph is not None
        assert abs(gap.z_on_graph) <= abs(gap.z) + 1e-12
    south = table.by_group["south"][WRONGLY_IN]
    assert south.interval is not None
    assert south.on_graph is not None
    assert south.on_graph.low <= south.interval.low


def test_without_ties_there_is_a_gap_and_no_test() -> None:
    [table] = report_of(people_of(NORTH, SOUTH)).rates.tables
    [pair] = table.pairs
    assert all(one.p is None and one.untested == "no_ties" for one in pair.by_rate.values())


def test_without_a_column_there_is_nothing() -> None:
    people = people_of(NORTH, SOUTH)
    for one in people:
        one.outcome = None
    report = report_on(people, settings("origin"), ties=False)
    assert report.error_rates is None
    assert "How decisions turned out" not in ReadGroups(report).text
    assert "error" not in groups_csv(report).replace("errors", "")


def test_people_without_an_outcome_are_counted_said_and_left_out() -> None:
    people = people_of(NORTH, SOUTH)
    for one in [one for one in people if one.favourable and one.outcome][:50]:
        one.outcome = None
    report = report_on(people, settings("origin"), ties=False)
    found = report.error_rates
    assert found is not None
    assert (found.favourable_known, found.favourable) == (270, 320)
    assert shares(report.rates.tables[0], WRONGLY_IN)["north"] == (40, 150)
    said = "known for 270 of 320 people with a favourable decision and for 210 of 210 refused"
    assert said in ReadGroups(report).text


def with_unknown(unknown: Callable[[Person, int], bool]) -> GroupReport:
    people = people_of(NORTH, SOUTH)
    refused = dict.fromkeys(("north", "south"), 0)
    for one in people:
        if not one.favourable:
            refused[one.groups["origin"]] += 1
            if unknown(one, refused[one.groups["origin"]]):
                one.outcome = None
    return report_of(people)


def test_rates_about_the_refused_need_the_outcomes_of_95_of_100_of_them() -> None:
    report = with_unknown(lambda one, number: one.groups["origin"] == "south" and number <= 10)
    found = errors_of(report)
    assert found.refused_known == 200  # of 210: just over 95 %, but of the south 110 of 120
    assert found.tables[0].by_group["south"].refused_known == 110
    [table] = report.rates.tables
    about_refused = {WRONGLY_OUT, "false_negative_rate", "false_positive_rate"}
    assert about_refused <= {*table.by_group["north"]}
    assert not about_refused & {*table.by_group["south"]}
    [pair] = table.pairs
    assert {*pair.by_rate} == {*table.by_group["south"]}
    assert "fewer than 95% of the people concerned are known (origin: south)" in plain(report)


def plain(report: GroupReport) -> str:
    return ReadGroups(report).text


def test_where_refused_people_have_no_outcome_no_rate_is_about_them() -> None:
    report = with_unknown(lambda _, number: number <= 6)  # 198 of 210 are 94.3 %
    found = errors_of(report)
    assert found.overall is not None
    assert {"positive_predictive_value", WRONGLY_IN} == {
        name for name in report.rates.overall if name not in ("selection_rate", "scoring_rate")
    }
    assert "these are rarely seen" in plain(report)
    assert found.overall.good_refused is None
    assert all(one.refused_known is None for one in found.tables[0].by_group.values())
    assert found.calibrated == "favourable"
    assert found.overall.calibration is not None
    assert sum(one.good.of for one in found.overall.calibration) == 320


def recount(people: list[Person], cell: dict[str, str]) -> dict[str, tuple[int, int]]:
    """Error rates the slow way."""
    there = [
        one
        for one in people
        if all((one.groups[name] or "unknown") == group for name, group in cell.items())
    ]
    known = [one for one in there if one.outcome is not None]
    favourable = [one for one in known if one.favourable is True]
    refused = [one for one in known if one.favourable is False]
    good = [one for one in refused if one.outcome and one.status in USABLE]
    return {
        WRONGLY_IN: (sum(not one.outcome for one in favourable), len(favourable)),
        WRONGLY_OUT: (sum(bool(one.outcome) for one in refused), len(refused)),
        "without_option": (sum(one.status != FOUND for one in good), len(good)),
        "certified_infeasible": (sum(one.status == INFEASIBLE for one in good), len(good)),
        "not_found_within_budget": (sum(one.status == NOT_FOUND for one in good), len(good)),
        "refused": (len(refused), sum(one.favourable is False for one in there)),
    }


def check(
    rates: ErrorRates, own: dict[RateName, Rate], people: list[Person], cell: dict[str, str]
) -> list[str]:
    """Compare whatever is shown with the recount; returns what was compared."""
    expected = recount(people, cell)
    shown: dict[str, Rate | None] = {name: own.get(name) for name in (WRONGLY_IN, WRONGLY_OUT)}
    if rates.good_refused is not None:
        names = ("without_option", "certified_infeasible", "not_found_within_budget")
        shown |= {name: getattr(rates.good_refused, name) for name in names}
    compared = []
    for name, rate in shown.items():
        if rate is not None:
            assert (rate.count, rate.of) == expected[name], (cell, name)
            assert rate.share == pytest.approx(rate.count / rate.of if rate.of else None)
            compared.append(name)
    known, refused = expected["refused"]
    enough = known > 0 and known >= 0.95 * refused
    if rates.refused_known is not None:
        assert rates.refused_known == known
        assert (WRONGLY_OUT in own) == enough
    return compared


@pytest.mark.parametrize("seed", [2, 6, 8, 11, 14])
def test_all_figures_equal_a_recount_of_drawn_people(seed: int) -> None:
    people, names = drawn_population(seed)
    people = [replace(one) for _ in range(4) for one in people]
    add_outcomes(seed, people, names[-1])
    report = report_of(people, *names, smallest=5, crossed=seed % 2 > 0)
    found = errors_of(report)
    assert found.overall is not None
    compared = check(found.overall, report.rates.overall, people, {})
    by_table = {table.table: table.by_group for table in report.rates.tables}
    for table in found.tables:
        attributes = table.table.split(" x ")
        for group, rates in table.by_group.items():
            cell = dict(zip(attributes, group.split(", "), strict=True))
            if "other" not in cell.values():
                own = by_table[table.table][group]
                compared += check(rates, own, people, cell)
    assert compared


def test_calibration_has_mean_scores_and_shares_in_bins_of_all_groups() -> None:
    people = people_of(NORTH, SOUTH)
    found = rates_of(people)
    assert found.calibrated == "everybody"
    for origin, rates in {"": found.overall, **found.tables[0].by_group}.items():
        assert rates is not None
        assert rates.calibration is not None
        for one in rates.calibration:
            last = one is rates.calibration[-1]
            there = [
                person
                for person in people
                if person.groups["origin"] == (origin or person.groups["origin"])
                and person.score is not None
                and (one.low <= person.score < one.high or (last and person.score == one.high))
            ]
            assert one.good.of == len(there) > 0
            assert one.good.count == sum(bool(person.outcome) for person in there)
            assert one.score == pytest.approx(np.mean([person.score for person in there]))
            assert min(one.good.count, one.good.of - one.good.count) >= 11
    north, south = (
        [(one.low, one.high) for one in rates.calibration or ()]
        for rates in found.tables[0].by_group.values()
    )
    assert north == south


def test_steps_are_taken_together_until_no_group_has_a_handful_in_one() -> None:
    counts = np.array([[2, 20, 20], [30, 20, 20]])
    assert choose_steps(counts, range(3), 11) == [1, 2]  # the first step joins the second
    assert choose_steps(counts, range(3), 2) == [0, 1, 2]
    assert choose_steps(counts, [1], 11) == [1]
    assert choose_steps(counts[:, ::-1], range(3), 11) == [0, 2]  # a handful would be beyond
    assert choose_steps(np.array([[20, 0, 20], [20, 5, 20]]), range(3), 11) == [0, 2]
    assert choose_steps(np.array([[5], [30]]), range(1), 11) == []
    assert choose_steps(np.array([[0, 0], [30, 20]]), range(2), 11) == [0, 1]  # nobody is there


def test_bins_have_about_equally_many_people() -> None:
    scores = np.round(np.random.default_rng(0).beta(2, 1, 500), 4)
    edges = edges_of(scores)
    assert edges[0] <= scores.min() <= scores.max() <= edges[-1]
    assert np.bincount(bins_of(scores, edges)).min() > 40
    assert bins_of(np.array([np.nan, edges[1], edges[-1]]), edges).tolist() == [-1, 1, 9]


def test_who_was_refused_with_a_good_outcome_and_has_no_option_is_one_table() -> None:
    people = people_of(("north", 160, 40, 60, 90), ("south", 90, 30, 45, 90))
    for one in people[-30:]:
        one.status, one.error = ERROR, "no answer"
    found = rates_of(people)
    [table] = found.tables
    good = {name: one.good_refused for name, one in table.by_group.items()}
    assert good["north"] is not None
    assert good["south"] is not None
    assert (good["north"].without_option.count, good["north"].without_option.of) == (40, 60)
    assert (good["south"].without_option.count, good["south"].without_option.of) == (30, 45)
    assert good["south"].certified_infeasible is not None
    assert good["south"].certified_infeasible.count == 15


@pytest.mark.parametrize(
    ("south", "measures"),
    [
        pytest.param((90, 10, 40, 80), [WRONGLY_OUT], id="ten false approvals"),
        pytest.param((5, 30, 40, 80), [WRONGLY_OUT], id="five who turned out good"),
        pytest.param((90, 0, 40, 80), [WRONGLY_OUT], id="all turned out good"),
        pytest.param((90, 30, 3, 80), [WRONGLY_IN], id="three false refusals"),
        pytest.param((90, 30, 0, 80), [WRONGLY_IN], id="all refused turned out bad"),
    ],
)
def test_a_table_goes_without_where_a_handful_or_all_turned_out_alike(
    south: tuple[int, int, int, int], measures: list[RateName]
) -> None:
    report = report_of(people_of(NORTH, ("south", *south), ("west", 80, 40, 40, 50)), smallest=11)
    assert {WRONGLY_IN, WRONGLY_OUT, "false_negative_rate"} <= {*report.rates.overall}
    [table] = report.rates.tables
    shown = [{*own} for own in table.by_group.values()]
    for own in [*shown, *({*pair.by_rate} for pair in table.pairs)]:
        assert [name for name in (WRONGLY_IN, WRONGLY_OUT) if name in own] == measures
        # Those given the outcome would say the same of people with the other decision.
        assert not {"true_positive_rate", "false_positive_rate"} & own


def test_nothing_is_shown_if_a_handful_turned_out_alike_at_all() -> None:
    found = rates_of(people_of(("north", 160, 4, 3, 60), ("south", 90, 3, 4, 80)), smallest=11)
    assert (found.overall, found.tables, found.favourable) == (None, (), None)


def test_parts_do_not_say_together_what_another_part_withholds() -> None:
    """Bins have all who turned out good; without the refused, the seven approved are left."""
    report = report_of(people_of(("north", 4, 90, 60, 60), ("south", 3, 80, 50, 50)), smallest=11)
    found = errors_of(report)
    assert found.overall is not None
    assert WRONGLY_IN not in report.rates.overall
    assert WRONGLY_OUT in report.rates.overall
    assert found.overall.calibration is None


def test_a_small_group_is_pooled_in_error_rates_as_well() -> None:
    [table] = report_of(people_of(NORTH, SOUTH, ("west", 2, 2, 2, 2)), smallest=11).rates.tables
    assert shares(table, WRONGLY_IN) == {"north": (40, 200), "other": (32, 124)}


def test_a_crossed_table_does_not_give_away_a_table_that_goes_without() -> None:
    """Ten false approvals of the south, of whom all are men."""
    people = people_of(("north", 200, 60, 60, 60), ("south", 90, 10, 40, 80))
    for number, one in enumerate(people):
        bad = one.favourable and not one.outcome and one.groups["origin"] == "south"
        woman = bool(number % 2) and not bad
        one.groups = {**one.groups, "gender": "woman" if woman else "man"}
    report = report_of(people, "origin", "gender", smallest=11)
    shown = {table.table for table in report.rates.tables if shares(table, WRONGLY_IN)}
    assert shown == {"gender"}


def test_json_page_terminal_and_csv_say_the_same() -> None:
    people = people_of(NORTH, SOUTH)
    report = report_on(people, settings("origin", smallest=10))
    assert GROUPS.read(GROUPS.write(report)) == report
    pages = ReadGroups(report)
    caption = "Refused, of those with a good outcome (false negative rate)"
    [south] = [row.cells for row in pages.tables(caption) if row.cells[0] == "south"]
    assert [cell.split()[0] for cell in south] == [
        "south",
        "30.8%",
        "+15",
        "1.95",
        "2.37",
        "3.2",
        "69.2%",
    ]
    assert south[1].endswith("40 of 130")
    caption = "Good outcome, of the refused (false omission rate)"
    [south] = [row.cells for row in pages.tables(caption) if row.cells[0] == "south"]
    assert [cell.split()[0] for cell in south] == [
        "south",
        "33.3%",
        "0.0",
        "1.00",
        "1.00",
        "0.0",
        "66.7%",
    ]
    good = pages.tables("Refused with a good outcome, and without an option")
    assert [row.cells[:3] for row in good if row.cells[0] == "north"] == [["north", "30", "20"]]
    assert pages.tables("Scores and outcomes")
    console = Console(file=io.StringIO(), width=200)
    show_groups(console, report, full=True)
    assert isinstance(console.file, io.StringIO)
    shown = " ".join(console.file.getvalue().split())
    for text in (shown, pages.text):
        first = (
            "Of the people with a good outcome, 21.9% were refused (70 of 320; false negative rate"
        )
        last = "of the refused, 33.3% had a good outcome (70 of 210; false omission rate)."
        assert text.index(first) < text.index(last)
        assert "Origin: north 15.8%, south 30.8%." in text
        assert "stricter standard" in text
    rows = [
        (row["group"], row["measure"], row["count"], row["of"])
        for row in csv.DictReader(groups_csv(report).splitlines())
    ]
    assert ("south", "false_discovery_rate", "30", "120") in rows
    assert ("south", "false_negative_rate", "40", "130") in rows
    assert ("everybody", "good_refused without_option", "46", "70") in rows
    assert sum(name.startswith("calibration") for _, name, _, _ in rows) >= 4
