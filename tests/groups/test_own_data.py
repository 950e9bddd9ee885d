"""Refusals on own data alone and with ties: by group, tested, withheld jointly, and in words."""

import csv
import io
import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from recourse_audit.groups.own_data import areas_without
from recourse_audit.records.group_figures import Carried, OwnDataGap, OwnDataMeasure
from recourse_audit.records.groups import GroupReport, LeftOut, OwnDataTable
from recourse_audit.render.groups_csv import groups_csv
from recourse_audit.render.i18n import Words
from recourse_audit.render.terminal import show_groups
from tests.groups.stores import (
    FOUND,
    INFEASIBLE,
    NOT_FOUND,
    Person,
    report_on,
    settings,
    ties_within,
)
from tests.render.boards import board_of
from tests.render.group_pages import ReadGroups

PEOPLE = Words().people("origin", "south")
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


def gaps_of(table: OwnDataTable) -> dict[OwnDataMeasure, OwnDataGap]:
    return {gap.measure: gap for gap in table.gaps}


def test_refusals_alone_stand_beside_those_decided_with_the_paired_difference() -> None:
    report = report_on(people_of(NORTH, SOUTH), settings("origin"))
    [table] = report.own_data.tables
    north, south = table.by_group["north"], table.by_group["south"]
    assert (north.refused.share, north.refused_alone.share) == (0.25, 0.2)
    assert (north.to_favourable, north.to_refused) == (30, 20)
    assert north.difference == pytest.approx(0.05)
    assert south.refused.share == pytest.approx(80 / 150)
    assert south.refused_alone.share == pytest.approx(32 / 150)
    rates = [rates.approved_alone for rates in (north, south)]
    assert [(rate.count, rate.of) for rate in rates] == [(30, 160), (60, 118)]
    gaps = gaps_of(table)
    assert {(gap.group, gap.reference) for gap in table.gaps} == {("south", "north")}
    assert gaps["alone"].gap == pytest.approx(32 / 150 - 0.2)
    assert gaps["ties"].gap == pytest.approx(48 / 150 - 0.05)
    assert gaps["approved_alone"].gap == pytest.approx(60 / 118 - 30 / 160)
    overall = report.own_data.overall
    assert overall is not None
    assert (overall.refused.count, overall.refused_alone.count) == (130, 72)


def test_the_gap_is_that_of_the_mean_difference_with_an_interval_on_the_graph() -> None:
    people = people_of(NORTH, SOUTH)
    [table] = report_on(people, settings("origin")).own_data.tables
    gap = gaps_of(table)["ties"]
    paired = np.array([int(not one.favourable) - int(not one.favourable_alone) for one in people])
    south = np.array([one.groups["origin"] == "south" for one in people])
    assert gap.gap == pytest.approx(paired[south].mean() - paired[~south].mean())
    assert gap.interval is not None
    assert gap.p is not None
    assert gap.interval.low < gap.gap < gap.interval.high
    independent = 1.96 * np.sqrt(paired.var() * (1 / south.sum() + 1 / (~south).sum()))
    assert gap.interval.high - gap.gap >= 0.99 * independent
    assert (gap.p <= 0.05) == (not gap.interval.low <= 0 <= gap.interval.high)


def test_without_ties_there_is_a_gap_and_no_interval() -> None:
    [table] = report_on(people_of(NORTH, SOUTH), settings("origin"), ties=False).own_data.tables
    assert table.gaps[0].interval is None
    assert table.gaps[0].untested == "no_ties"
    assert table.carried == {}


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
    assert north[:5] == ["north", "25.0% 50 of 200", "20.0%", "18.8% 30 of 160", "20"]
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
        ("everybody", "90", ""),
        ("north", "40", ""),
        ("north", "", ""),
        ("north", "30", ""),
        ("south", "32", "0.0133333"),
        ("south", "", "0.27"),
        ("south", "60", "0.320975"),
    ]
    assert rows[-1]["verdict"] == "gap shown"
    p, adjusted = (float(rows[-1][name]) for name in ("p_on_graph", "p_adjusted"))
    assert adjusted == pytest.approx(3 * p, rel=1e-5)


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
    families = report_on(people, settings("origin"))
    assert families.by_chance == 0.1  # single attributes, and own data with ties
    assert {gap.corrected_for for gap in families.own_data.tables[0].gaps} == {3}
    assert report_on(people, settings("origin"), ties=False).by_chance == 0.0


# ---------------------------------------------------------------- people alike, and ties


def scored(
    seed: int = 0, *, own: float = 0.0, ties: float = 0.0, products: int = 1, people: int = 900
) -> list[Person]:
    """South and north differ in their own data, or in what their ties add; half are each."""
    random = np.random.default_rng(seed)
    south = np.arange(people) % 2 == 1
    score = random.normal(size=people) - own * south
    answer = score + random.normal(size=people) - ties * south
    return [
        Person(
            groups={
                "origin": "south" if south[number] else "north",
                "product": f"p{number % products}",
            },
            favourable=bool(answer[number] > -0.7),
            favourable_alone=bool(score[number] > -0.7),
            score_alone=float(score[number]),
            community=int(random.integers(40)),
            status=None if answer[number] > -0.7 else (FOUND, INFEASIBLE)[number // 2 % 2],
        )
        for number in range(people)
    ]


def test_people_alike_are_in_one_tenth_of_answers_alone_and_have_the_same_given_values() -> None:
    people = scored(ties=0.5, products=3)
    for given in ((), ("product",)):
        report = report_on(
            people if given else plain(people), settings("origin", given=given, smallest=5)
        )
        gap = gaps_of(report.own_data.tables[0])["given_alone"]
        order = sorted(one.score_alone or 0.0 for one in people)
        alike: dict[object, list[Person]] = defaultdict(list)
        for one in people:
            tenth = sum((one.score_alone or 0.0) >= order[90 * k] for k in range(1, 10))
            alike[tenth, one.groups["product"] if given else ""].append(one)
        sides: dict[str, list[float]] = defaultdict(list)
        for several in alike.values():
            share = sum(not one.favourable for one in several) / len(several)
            for one in several:
                sides[one.groups["origin"]].append((not one.favourable) - share)
        assert gap.gap == pytest.approx(np.mean(sides["south"]) - np.mean(sides["north"]), abs=1e-9)
        assert report.given == given


def plain(people: list[Person]) -> list[Person]:
    return [replace(one, groups={"origin": one.groups["origin"]}) for one in people]


@pytest.mark.parametrize(
    ("own", "ties", "carried"),
    [(0.0, 0.9, "ties"), (0.9, 0.0, "own_data"), (0.9, 0.9, "both"), (0.0, 0.0, "neither")],
)
def test_the_block_says_where_a_gap_is_and_nothing_else(
    own: float, ties: float, carried: Carried
) -> None:
    report = report_on(plain(scored(own=own, ties=ties)), settings("origin", smallest=5))
    assert report.own_data.tables[0].carried == {"south": carried}
    text = ReadGroups(report).text
    words = {
        "ties": "with ties",
        "own_data": "on own data alone",
        "both": "on own data alone and with ties",
        "neither": "neither shown",
    }
    assert f"South against north: {words[carried]}." in text
    more = f"Among people alike on own data, {PEOPLE} are refused more often."
    assert (more in text) == (carried in ("ties", "both"))
    alone = f"On own data alone, {PEOPLE} are refused more often."
    assert (alone in text) == (carried in ("own_data", "both"))
    assert "This cannot tell how the ties came about, whether anybody meant it" in text


def test_a_gap_against_the_reference_is_found_as_well() -> None:
    report = report_on(plain(scored(ties=-0.9)), settings("origin", reference={"origin": "north"}))
    [table] = report.own_data.tables
    gap = gaps_of(table)["given_alone"]
    assert (gap.verdict, gap.worse) == ("gap shown", "reference")
    assert table.carried == {"south": "ties"}
    card = board_of(report).cards[2]
    assert "▲ gap shown: " in card
    assert re.search(r"p [=<].0\.\d+, corrected for \d+ tests\. The gap also stands under", card)
    north = Words().people("origin", "north")
    assert f"{north} are refused more often. On own data alone, no gap" in ReadGroups(report).text


def test_without_answers_on_own_data_people_alike_are_not_compared() -> None:
    people = plain(scored(ties=0.9))
    people[0] = replace(people[0], score_alone=None)
    table = report_on(people, settings("origin", smallest=5)).own_data.tables[0]
    assert set(gaps_of(table)) == {"alone", "ties", "approved_alone"}
    assert table.carried == {}


def test_the_area_is_the_chance_that_a_member_has_the_larger_value() -> None:
    random = np.random.default_rng(3)
    values, part = random.integers(6, size=200) / 6, random.integers(5, size=200)
    member = random.random(200) < values
    for out, area in enumerate(areas_without(values, member, part), start=-1):
        kept = part != out
        pairs = np.sign(values[kept & member][:, None] - values[kept & ~member][None])
        assert area == pytest.approx((pairs.mean() + 1) / 2)


def test_how_ties_keep_to_groups_is_counted_pair_by_pair() -> None:
    people = plain(scored())
    found = report_on(people, settings("origin")).own_data.ties["origin"]
    group = [one.groups["origin"] for one in people]
    same = [group[low] == group[high] for low, high in ties_within(people).tolist()]
    assert found.within.value == pytest.approx(np.mean(same))
    assert found.by_chance == pytest.approx(0.5)
    assert found.within.interval is not None
    assert found.within.interval.low < 0.5 < found.within.interval.high
    assert set(found.told) == {"north", "south"}
    unequal = [replace(one, community=number % 2) for number, one in enumerate(people)]
    ties = report_on(unequal, settings("origin")).own_data.ties["origin"]
    assert ties.within.value > 0.9
    assert ties.told["south"].value > 0.95
    assert report_on(people, settings("origin"), ties=False).own_data.ties == {}


def shown_gaps(report: GroupReport) -> list[str]:
    return [gap.measure for gap in report.own_data.tables[0].gaps if gap.verdict == "gap shown"]


def test_no_gap_is_ruled_out_in_both_directions() -> None:
    found = report_on(plain(scored(people=2000)), settings("origin", concern=0.2))
    assert {gap.no_gap for gap in found.own_data.tables[0].gaps} == {True}
    assert shown_gaps(found) == []
    for sign in (1, -1):
        people = plain(scored(ties=sign * 0.5, people=2000))
        report = report_on(people, settings("origin", concern=0.05, reference={"origin": "north"}))
        [gap] = [one for one in report.tables[0].comparisons if one.measure == "adverse_rate"]
        assert np.sign(gap.gap) == sign
        assert not gap.no_gap
        assert gap.tests.no_gap is not None
        assert gap.tests.no_gap > 0.5
