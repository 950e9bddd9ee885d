"""Whom options cut off, and which kinds of change serve most, by hand or by brute force."""

import numpy as np
import pytest

from recourse_audit.groups.changes import Kinds, choose_options
from recourse_audit.records.groups import (
    Change,
    CutOff,
    Do,
    GroupReport,
    LeftOut,
)
from tests.groups.stores import FOUND, INFEASIBLE, Person, Step, report_on, settings

NORTH, SOUTH = {"origin": "north"}, {"origin": "south"}


def report_of(people: list[Person], **more: object) -> GroupReport:
    return report_on(people, settings("origin", **more))


def advised(own: int, dropped: list[int], could: list[int], community: int = 0) -> Person:
    """A northerner who is told to drop ties to some of those they could drop."""
    return Person(
        groups=NORTH,
        community=community,
        status=FOUND,
        options=[[("drop", "payment", (own, end)) for end in dropped]],
        droppable=[(end, own) for end in could],
    )


def crowd() -> list[Person]:
    """0 to 19 are from the north, 20 to 39 from the south; all of them are approved."""
    return [Person(groups=NORTH, favourable=True, community=n % 8) for n in range(20)] + [
        Person(groups=SOUTH, favourable=True, community=n % 8) for n in range(20)
    ]


def row(report: GroupReport, group: str, options: str = "first") -> CutOff:
    [table] = [one for one in report.cut_off if one.options == options]
    [found] = [one for one in table.by_group if one.group == group]
    return found


def test_shares_of_dropped_ties_stand_against_those_that_could_be_dropped() -> None:
    people = crowd()
    # Each of 12 could drop ties to 3 from the north and 1 from the south, and is told the latter.
    people += [advised(40 + n, [20 + n], [n, n + 1, n + 2, 20 + n], n % 8) for n in range(12)]
    south = row(report_of(people), "south")
    assert (south.dropped, south.droppable) == (12, 12)
    assert (south.dropped_share, south.droppable_share, south.ratio) == (1.0, 0.25, 4.0)
    north = row(report_of(people), "north")
    assert (north.dropped, north.dropped_share, north.ratio) == (0, 0.0, 0.0)
    assert north.interval is None


def test_a_tie_between_two_others_leads_to_both_and_infeasible_people_do_not_count() -> None:
    people = crowd()
    for number in range(12):
        options: list[list[Step]] = [[("drop", "x", (0, 20))], [("drop", "x", (0, 20))]]
        people.append(
            Person(groups=NORTH, status=FOUND, options=options, droppable=[(0, 20), (number, 1)])
        )
    people.append(Person(groups=SOUTH, status=INFEASIBLE, droppable=[(0, 20)] * 3))
    for which in ("first", "all"):
        south = row(report_of(people), "south", which)
        assert (south.dropped, south.droppable) == (12, 12)
        assert (south.dropped_share, south.droppable_share) == (0.5, 0.25)


@pytest.mark.parametrize("which", ["first", "all"])
def test_parallel_ties_of_a_pair_count_once_among_the_dropped_and_the_droppable(which: str) -> None:
    people = crowd()
    for number in range(12):
        own = 40 + number
        twice: list[Step] = [("drop", "x", (own, 20)), ("drop", "x", (own, 20))]
        other: list[Step] = [("drop", "x", (own, 20)), ("drop", "y", (20, own))]
        people.append(
            Person(
                groups=NORTH,
                community=number % 8,
                status=FOUND,
                options=[twice, other],
                droppable=[(own, 20), (own, 20), (20, own), (own, 1)],
            )
        )
    south = row(report_of(people), "south", which)
    # One of two people whom each could drop is from the south, and only that one is dropped.
    assert (south.dropped, south.droppable) == (12, 12)
    assert (south.dropped_share, south.droppable_share, south.ratio) == (1.0, 0.5, 2.0)


def test_the_interval_leaves_out_communities_of_subjects() -> None:
    random = np.random.default_rng(0)
    people = crowd()
    for number in range(60):
        could = [int(end) for end in random.choice(40, size=5, replace=False)]
        people.append(advised(40 + number, could[:2], could, number % 10))
    made = row(report_on(people, settings("origin"), column=True), "south")
    subjects = people[40:]

    def ratio(kept: list[Person]) -> float:
        dropped = [end >= 20 for one in kept for _, _, (_, end) in one.options[0]]  # type: ignore[misc]
        could = [end >= 20 for one in kept for end, _ in one.droppable]
        return float(np.mean(dropped) / np.mean(could))

    whole = ratio(subjects)
    each = [ratio([one for one in subjects if one.community != out]) for out in range(10)]
    error = np.sqrt(0.9 * ((np.log(each) - np.log(whole)) ** 2).sum())
    assert made.ratio == pytest.approx(whole)
    assert made.interval is not None
    reach = np.log(made.interval.high / whole) / error
    assert reach == pytest.approx(2.262157, abs=1e-4)  # Student's t with 9 degrees of freedom


def test_few_people_with_an_option_and_small_groups_are_not_told() -> None:
    people = crowd() + [advised(40 + n, [20], [20, 1]) for n in range(10)]
    report = report_of(people)
    assert all(one.nothing == "few_people" and one.by_group == () for one in report.cut_off)


def test_a_table_with_a_handful_of_ties_to_a_group_is_left_out() -> None:
    """3 of 3 droppable ties lead to the south: neither number is shown, nor can be worked out."""
    people = crowd() + [
        Person(groups={"origin": "west"}, favourable=True, community=n % 8) for n in range(20)
    ]
    could = [[20, 0], [21, 1], [22, 2], *([n % 20, 40 + n % 20] for n in range(40))]
    told = [[20], [21], [22], *([(n % 20, 40 + n % 20)[n % 2]] for n in range(40))]
    for number, (ends, some) in enumerate(zip(could, told, strict=True)):
        people.append(advised(60 + number, some, ends, number % 8))
    report = report_of(people)
    assert report.cut_off == ()
    assert LeftOut(table="origin", part="ties", why="few_people") in report.left_out


def greedy(options: dict[int, frozenset[Kinds]]) -> list[tuple[Kinds, set[int]]]:
    """The same by trying everything, with sets."""
    allowed: set[tuple[Do, str]] = set()
    found: list[tuple[Kinds, set[int]]] = []

    def served(kinds: set[tuple[Do, str]]) -> set[int]:
        return {who for who, some in options.items() if any(one <= kinds for one in some)}

    while len(served(allowed)) < len(options):
        choices = sorted({one for some in options.values() for one in some}, key=sorted)
        best = max(choices, key=lambda one: len(served(allowed | one)))
        allowed |= best
        found.append((best, served(allowed)))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_common_options_are_the_greedy_choice_of_a_brute_force(seed: int) -> None:
    random = np.random.default_rng(seed)
    kinds: list[tuple[Do, str]] = [
        ("drop", "payment"),
        ("drop", "address"),
        ("set", "savings"),
        ("add", "guarantor"),
    ]
    options = {}
    for who in range(40):
        several = [
            frozenset(kinds[k] for k in random.choice(4, size=random.integers(1, 4)))
            for _ in range(int(random.integers(1, 4)))
        ]
        options[who] = frozenset(several)
    expected = greedy(options)
    made = list(choose_options(options))
    assert len(made) == len(expected)
    for (changes, served), (best, reached) in zip(made, expected, strict=True):
        assert {(one.do, one.what) for one in changes} == best
        assert set(np.flatnonzero(served).tolist()) == reached


def test_nobody_with_an_option_needs_no_choice() -> None:
    assert list(choose_options({})) == []


def test_common_options_say_how_far_each_group_comes() -> None:
    savings: list[list[Step]] = [[("set", "savings", None)]]
    payment: list[list[Step]] = [[("drop", "payment", (0, 1))]]
    people = [Person(groups=NORTH, status=FOUND, options=savings) for _ in range(15)]
    people += [Person(groups=SOUTH, status=FOUND, options=payment) for _ in range(10)]
    people += [Person(groups=SOUTH, status=INFEASIBLE) for _ in range(15)]
    first, second = report_of(people, smallest=5).common_options
    assert first.changes == (Change(do="set", what="savings"),)
    assert (first.serves, first.served_so_far, first.share_so_far) == (15, 15, 15 / 40)
    assert first.shares_by_group == {}  # all of the north, and nobody of the south
    assert second.changes == (Change(do="drop", what="payment"),)
    assert (second.serves, second.served_so_far, second.share_so_far) == (10, 25, 25 / 40)
    assert second.shares_by_group == {"origin": {"north": 1.0, "south": 0.4}}
