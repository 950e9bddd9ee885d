"""Refusals on own data alone: right by group, compared person by person, and withheld jointly."""

import csv
import io

import numpy as np
import pytest
from rich.console import Console

from recourse_audit.records.groups import LeftOut
from recourse_audit.render.groups_csv import groups_csv
from recourse_audit.render.i18n import Words
from recourse_audit.render.terminal import show_groups
from tests.groups.stores import FOUND, INFEASIBLE, NOT_FOUND, Person, report_on, settings
from tests.render.group_pages import ReadGroups

NORTH, SOUTH = ("north", 20, 30, 20, 130), ("south", 20, 60, 12, 58)


def people_of(*groups: tuple[str, int, int, int, int], communities: int = 12) -> list[Person]:
    """Of each group: refused twice, refused but let in alone, the other way round, let in twice."""
    people: list[Person] = []
    for name, *counts in groups:
        answers = [(False, False), (False, True), (True, False), (True, True)]
        for (decided, alone), count in zip(answers, counts, strict=True):
            people += [
                Person(
                    groups={"origin": name},
                    favourable=decided,
                    favourable_alone=alone,
                    status=None if decided else (FOUND, INFEASIBLE)[number % 2],
                )
                for number in range(count)
            ]
    for number, one in enumerate(people):
        one.community = number % communities
    return people


def test_refusals_alone_stand_beside_those_decided_with_the_paired_difference() -> None:
    report = report_on(people_of(NORTH, SOUTH), settings("origin"))
    [table] = report.own_data.tables
    north, south = table.by_group["north"], table.by_group["south"]
    assert (north.refused.share, north.refused_alone.share) == (0.25, 0.2)
    assert (north.to_favourable, north.to_refused) == (30, 20)
    assert north.difference == pytest.approx(0.05)
    assert south.refused.share == pytest.approx(80 / 150)
    assert south.refused_alone.share == pytest.approx(32 / 150)
    [gap] = table.gaps
    assert (gap.group, gap.reference) == ("south", "north")
    assert gap.alone == pytest.approx(32 / 150 - 0.2)
    assert gap.difference == pytest.approx(48 / 150 - 0.05)
    overall = report.own_data.overall
    assert overall is not None
    assert (overall.refused.count, overall.refused_alone.count) == (130, 72)


def test_the_gap_is_that_of_the_mean_difference_with_an_interval_on_the_graph() -> None:
    people = people_of(NORTH, SOUTH)
    [table] = report_on(people, settings("origin")).own_data.tables
    [gap] = table.gaps
    paired = np.array([int(not one.favourable) - int(not one.favourable_alone) for one in people])
    south = np.array([one.groups["origin"] == "south" for one in people])
    assert gap.difference == pytest.approx(paired[south].mean() - paired[~south].mean())
    assert gap.interval is not None
    assert gap.alone_interval is not None
    assert gap.p is not None
    assert gap.interval.low < gap.difference < gap.interval.high
    independent = 1.96 * np.sqrt(paired.var() * (1 / south.sum() + 1 / (~south).sum()))
    assert gap.interval.high - gap.difference >= 0.99 * independent
    assert (gap.p <= 0.05) == (not gap.interval.low <= 0 <= gap.interval.high)


def test_without_ties_there_is_a_gap_and_no_interval() -> None:
    [table] = report_on(people_of(NORTH, SOUTH), settings("origin"), ties=False).own_data.tables
    assert table.gaps[0].interval is None
    assert table.gaps[0].untested == "no_ties"


def test_answers_that_are_not_known_of_everybody_are_not_compared() -> None:
    people = people_of(NORTH, SOUTH)
    people[5].favourable_alone = None
    found = report_on(people, settings("origin")).own_data
    assert (found.overall, found.tables) == (None, ())
    assert not found.known
    # Of somebody without a decision nothing is compared, so nothing has to be known.
    people[5].favourable, people[5].status = None, None
    assert report_on(people, settings("origin")).own_data.tables


@pytest.mark.parametrize(
    "south",
    [
        pytest.param((20, 6, 4, 40), id="the decisions on ten people change"),
        pytest.param((0, 40, 30, 0), id="all decisions change"),
    ],
)
def test_a_table_goes_without_if_few_or_all_decisions_of_a_group_change(
    south: tuple[int, int, int, int],
) -> None:
    people = people_of(NORTH, ("south", *south), ("west", 20, 30, 20, 60))
    report = report_on(people, settings("origin", smallest=11), ties=False)
    assert report.own_data.overall is not None
    assert report.own_data.tables == ()
    assert LeftOut(table="origin", part="own_data", why="few_people") in report.left_out


def test_nothing_is_shown_if_few_decisions_change_at_all() -> None:
    people = people_of(("north", 60, 3, 2, 130), ("south", 60, 2, 2, 58))
    report = report_on(people, settings("origin", smallest=11), ties=False)
    assert (report.own_data.overall, report.own_data.tables) == (None, ())
    assert LeftOut(table="overall", part="own_data", why="few_people") in report.left_out


def test_a_crossed_table_does_not_give_away_a_table_that_goes_without() -> None:
    """Ten decisions on people of the south change, and all ten are on men."""
    people = people_of(("north", 40, 60, 40, 160), ("south", 40, 5, 5, 60))
    for number, one in enumerate(people):
        changed = one.favourable != one.favourable_alone
        woman = number % 2 if one.groups["origin"] == "north" or not changed else 0
        one.groups = {**one.groups, "gender": "woman" if woman else "man"}
    found = report_on(people, settings("origin", "gender", smallest=11)).own_data
    assert [table.table for table in found.tables] == ["gender"]


def test_page_terminal_and_csv_say_the_same_and_claim_no_cause() -> None:
    report = report_on(people_of(NORTH, SOUTH), settings("origin"))
    pages = ReadGroups(report)
    north, south = (row.cells for row in pages.tables("Refused as decided and on own data alone"))
    assert north[:5] == ["north", "25.0% 50 of 200", "20.0%", "30", "20"]
    assert south[0] == "south"
    assert south[6].startswith("+1")
    assert south[7].startswith("+27")
    console = Console(file=io.StringIO(), width=200)
    show_groups(console, report, full=True)
    assert isinstance(console.file, io.StringIO)
    shown = " ".join(console.file.getvalue().split())
    for text in (shown, pages.text):
        assert "the model would refuse 20.6%; as decided, it refused 37.1%" in text
        assert "it does not predict what would happen, nor say how the ties came about" in text
    every = csv.DictReader(groups_csv(report).splitlines())
    rows = [row for row in every if row["measure"].startswith("adverse_rate ")]
    assert [(row["group"], row["count"], row["difference"]) for row in rows] == [
        ("everybody", "72", ""),
        ("north", "40", ""),
        ("north", "", ""),
        ("south", "32", "0.0133333"),
        ("south", "", "0.27"),
    ]


def test_where_nothing_is_known_only_that_is_said() -> None:
    people = people_of(NORTH, SOUTH)
    for one in people:
        one.favourable_alone = None
    pages = ReadGroups(report_on(people, settings("origin")))
    assert not [caption for caption in pages.captions if "own data" in caption]
    assert "It is not known for everybody" in pages.text
    assert Words().say("board.card.own.not_asked") in pages.text


def test_who_would_be_let_in_alone_and_has_no_option_is_counted_by_group() -> None:
    people = people_of(NORTH, SOUTH)
    report = report_on(people, settings("origin", smallest=11))
    [table] = report.own_data.tables
    overall = report.own_data.overall
    assert overall is not None
    counts = [
        (rates.no_option.count, rates.no_option.of)
        for rates in (*table.by_group.values(), overall)
        if rates.no_option is not None
    ]
    assert counts == [(15, 50), (30, 80), (45, 130)]


def test_an_unfinished_search_is_not_counted_as_no_option() -> None:
    people = people_of(NORTH, SOUTH)
    for person in people:
        if person.status == INFEASIBLE and person.groups["origin"] == "south":
            person.status = NOT_FOUND
    report = report_on(people, settings("origin", smallest=11))
    overall = report.own_data.overall
    assert overall is not None
    assert overall.no_option is not None
    assert (overall.no_option.count, overall.no_option.of) == (15, 130)
    # By group it would follow for how many of them no option exists.
    [table] = report.own_data.tables
    assert [rates.no_option for rates in table.by_group.values()] == [None, None]
    assert LeftOut(table="origin", part="own_data_no_option", why="few_people") in report.left_out


def test_few_of_a_group_are_counted_by_one_attribute_and_not_by_two() -> None:
    people = people_of(NORTH, SOUTH)
    few = 0
    for number, person in enumerate(people):
        person.groups = {**person.groups, "gender": ("man", "woman")[number // 2 % 2]}
        if person.groups["origin"] == "north" and person.favourable_alone:
            few += person.status == INFEASIBLE
            if person.status == INFEASIBLE and few > 5:
                person.status = FOUND
    report = report_on(people, settings("origin", "gender", smallest=5))
    tables = {table.table: table.by_group for table in report.own_data.tables}
    rates = tables["origin"]["north"].no_option
    assert rates is not None
    assert rates.count == 5
    assert {rates.no_option for rates in tables["origin x gender"].values()} == {None}


def test_the_report_says_how_often_chance_alone_shows_a_gap() -> None:
    people = people_of(NORTH, SOUTH)
    assert report_on(people, settings("origin")).by_chance == 0.05
    assert report_on(people, settings("origin"), ties=False).by_chance == 0.0
