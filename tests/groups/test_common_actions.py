"""One action for all: shares, sets and gaps by hand, and nothing about a few people."""

import csv
import io

import numpy as np
import pytest
from rich.console import Console

from recourse_audit.groups.inference import GapTest
from recourse_audit.groups.tables import Pair
from recourse_audit.groups.verdicts import judge_gaps
from recourse_audit.records.group_figures import (
    CommonActions,
    JudgedGap,
    Precision,
    WhyUntested,
)
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.groups import GroupPage
from recourse_audit.render.groups_csv import groups_csv
from recourse_audit.render.terminal import show_groups
from tests.groups.stores import ERROR, FOUND, INFEASIBLE, Person, report_on, settings
from tests.render.group_pages import ReadGroups

SERVES, NOT, UNKNOWN = "serves", "does_not_serve", "not_settled"


def people_of(name: str, *several: tuple[int, dict[int, str]]) -> list[Person]:
    """People of one origin, so many for each set of outcomes; whoever is served has an option."""
    return [
        Person(
            groups={"origin": name, "gender": "fm"[number % 2]},
            status=FOUND if SERVES in common.values() else INFEASIBLE,
            community=number % 12,
            common=dict(common),
        )
        for count, common in several
        for number in range(count)
    ]


def audit() -> list[Person]:
    """100 in the north and 100 in the south, and some whose audit failed."""
    north = people_of(
        "north",
        (30, {0: SERVES, 2: NOT}),
        (20, {0: NOT, 2: SERVES, 3: SERVES}),
        (12, {3: SERVES}),
        (14, {0: UNKNOWN}),
        (24, {}),
    )
    south = people_of("south", (12, {0: SERVES}), (15, {2: SERVES, 3: SERVES}), (73, {0: NOT}))
    failed = people_of("south", (3, {}))
    for one in failed:
        one.status, one.error = ERROR, "no answer"
    return [*north, *south, *failed]


def report() -> GroupReport:
    return report_on(audit(), settings("origin", smallest=11, reference={"origin": "north"}))


def shares(found: CommonActions) -> dict[int, dict[str, int]]:
    return {
        number: {group: rate.count for group, rate in one.served.by_group["origin"].items()}
        for number, one in enumerate(found.actions)
        if "origin" in one.served.by_group
    }


def test_shares_are_of_everybody_audited_and_who_cannot_is_counted_apart() -> None:
    found = report().common_actions
    first, _, third, fourth, last = found.actions
    assert (first.action.do, first.action.what, first.action.ties) == ("drop", "payment", 1)
    assert first.served.everybody is not None
    assert (first.served.everybody.count, first.served.everybody.of) == (42, 200)
    assert first.served.everybody.share == pytest.approx(0.21)
    assert (first.applies, first.not_settled, first.effort) == (30 + 20 + 14 + 12 + 73, 14, 1.0)
    assert first.applies_by_group == {"origin": {"north": 64, "south": 85}}
    assert shares(found)[0] == {"north": 30, "south": 12}
    assert shares(found)[2] == {"north": 20, "south": 15}
    assert third.effort == 3.0
    assert shares(found)[3] == {"north": 32, "south": 15}
    assert last.served.everybody is not None
    assert (last.served.everybody.count, last.applies, last.effort) == (0, 0, None)
    assert fourth.applies == 47


def test_the_smallest_sets_serve_what_they_say() -> None:
    found = report().common_actions
    sets = {(one.of, one.share): one for one in found.sets}
    assert set(sets) == {("of the served", share) for share in (0.5, 0.8, 0.9, 1.0)}
    assert sets["of the served", 0.5].actions == (3,)
    assert all(one.exact for one in found.sets)
    widest = sets["of the served", 1.0]
    assert widest.actions == (0, 3)
    assert widest.served.everybody is not None
    assert widest.served.everybody.count == 89
    rates = widest.served.by_group["origin"]
    assert (rates["north"].count, rates["south"].count) == (62, 27)


def test_a_set_that_reaches_several_shares_is_said_once_for_the_most_it_reaches() -> None:
    found = report()
    assert [one.actions for one in found.common_actions.sets] == [(3,), (0, 3), (0, 3), (0, 3)]
    assert [(one.share, one.actions) for one in GroupPage(found).sets] == [
        (1.0, (0, 3)),
        (0.5, (3,)),
    ]


def test_a_plus_means_that_an_action_serves_fewer_of_the_group() -> None:
    found = report().common_actions
    [gap] = found.actions[0].served.gaps
    assert (gap.table, gap.group, gap.reference) == ("origin", "south", "north")
    assert gap.gap == pytest.approx(0.30 - 0.12)
    [gap] = found.sets[-1].served.gaps
    assert gap.gap == pytest.approx(0.62 - 0.27)


def drafted(difference: float, error: float | None, p: float | None) -> tuple[Pair, GapTest]:
    precision = None
    if error is not None:
        precision = Precision(
            error=error,
            effective=90.0,
            inflation=1.0,
            redrawn=1.0,
            fit=0.1,
            redraws=100,
            sampled=None,
            by_column=None,
        )
    reason: WhyUntested | None = None if p is not None else "few_cases"
    tested = GapTest(difference=difference, precision=precision, p=p, reason=reason)
    nobody = np.zeros(0, dtype=np.int64)
    return Pair("south", "north", nobody, nobody), tested


def judged(*drafts: tuple[Pair, GapTest]) -> list[JudgedGap]:
    return [JudgedGap(**own) for own in judge_gaps(drafts, settings("origin", concern=0.1))]


def test_verdicts_are_corrected_for_all_gaps_that_were_tested() -> None:
    drafts = [drafted(0.2, 0.05, 6e-5), drafted(0.1, 0.05, 0.06), drafted(-0.2, 0.05, 6e-5)]
    made = judged(*drafts, drafted(0.3, None, None))
    assert [one.verdict for one in made] == ["gap shown", "not settled", "gap shown", "not settled"]
    assert made[0].adjusted == pytest.approx(3 * 6e-5)
    assert {one.corrected_for for one in made} == {3}
    assert made[0].smallest_gap == pytest.approx((2.394 + 0.8416) * 0.05, rel=1e-3)
    assert (made[3].adjusted, made[3].smallest_gap, made[3].untested) == (None, None, "few_cases")
    assert [one.worse for one in made] == ["group", None, "reference", None]
    [none] = judged(drafted(0.0, 0.02, 1.0))
    assert none.verdict == "no gap"


def test_beside_what_is_not_settled_stands_what_would_have_been_found() -> None:
    drafts = [drafted(0.2, 0.05, 6e-5), drafted(0.1, 0.05, 0.06), drafted(0.3, None, None)]
    shown, open_, untested = judged(*drafts)
    [none] = judged(drafted(0.0, 0.02, 1.0))
    verdicts = [gap.verdict for gap in (shown, open_, none, untested)]
    assert verdicts == ["gap shown", "not settled", "no gap", "not settled"]


def test_an_action_that_serves_few_has_no_figures_and_is_in_no_set() -> None:
    people = [*audit(), *people_of("north", (5, {4: SERVES}))]
    found = report_on(people, settings("origin", smallest=11)).common_actions
    assert found.actions[4].served.everybody is None
    assert found.actions[4].served.by_group == {}
    assert found.actions[4].effort is None
    assert all(4 not in one.actions for one in found.sets)


def test_a_table_in_which_few_of_a_group_are_served_goes_without() -> None:
    people = [one for one in audit() if one.groups["origin"] == "north"]
    several = ((5, {0: SERVES}), (20, {2: SERVES}), (12, {3: SERVES}), (63, {0: NOT}))
    people += people_of("south", *several)
    found = report_on(people, settings("origin", "gender", smallest=11)).common_actions
    assert "origin" not in found.actions[0].served.by_group
    assert "gender" in found.actions[0].served.by_group
    assert "origin" in found.actions[2].served.by_group


def test_nothing_is_said_where_no_action_was_tried_or_too_few_were_audited() -> None:
    people = audit()
    for one in people:
        one.common = {}
    found = report_on(people, settings("origin")).common_actions
    assert (found.actions, found.sets) == ((), ())
    assert found.nothing == "not_asked"
    few = [*people_of("north", (5, {0: SERVES})), *people_of("south", (4, {0: SERVES}))]
    few += [Person(groups={"origin": "north", "gender": "f"}, favourable=True) for _ in range(50)]
    found = report_on(few, settings("origin", smallest=11)).common_actions
    assert (found.actions, found.sets) == ((), ())
    assert found.nothing == "few_people"


def test_the_page_the_terminal_and_the_csv_say_the_same() -> None:
    made = report()
    pages = ReadGroups(made)
    first = pages.tables("One change for everyone")[0]
    assert first.cells == ["End one payment tie", "149", "14", "42", "21.0%", "1"]
    rows = pages.tables("One change for everyone, by group")
    of_first = [row.cells for row in rows if row.attribute == "End one payment tie"]
    assert of_first[0][:3] == ["north", "30 of 100", "30.0%"]
    assert of_first[1][:3] == ["south", "12 of 100", "12.0%"]
    assert of_first[1][3].startswith("+18")
    assert rows[-1].attribute.startswith("End one payment tie or raise savings by 5,000")
    console = Console(width=200, file=(said := io.StringIO()))
    show_groups(console, made, full=True)
    text = " ".join(said.getvalue().split())
    for shown in (text, pages.text):
        assert "89 of 200 people audited (44.5%) are helped by at least one of the changes" in shown
        assert "No set of these changes helps half of everyone audited." in shown
    assert "south 27 of 100 27.0% +35" in text
    rows_in_csv = list(csv.DictReader(io.StringIO(groups_csv(made))))
    [row] = [
        one
        for one in rows_in_csv
        if (one["group"], one["measure"]) == ("south", "served: drop payment 1")
    ]
    assert (row["count"], row["of"], row["value"], row["reference"]) == (
        "12",
        "100",
        "0.12",
        "north",
    )
    assert float(row["gap"]) == pytest.approx(0.18)
