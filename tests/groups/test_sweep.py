"""Groups at other cut-offs: every figure equals a slow count, and no step is about a few people."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from recourse_audit.groups import sweep
from recourse_audit.records.codec import GROUPS
from recourse_audit.records.groups import GroupReport, SweepTable
from recourse_audit.render.groups import GroupPage
from recourse_audit.render.groups_csv import cut_offs_csv
from recourse_audit.render.templates import Templates
from recourse_audit.settings import DecisionSettings
from tests.groups.attacker import System
from tests.groups.populations import report_on_population
from tests.groups.published import read
from tests.groups.stores import Person, report_on, settings

Decide = Callable[[float, int], bool]
SMALLEST = 5
BY = {"column": "site", "values": {"here": 0.4, "there": 0.6}}
YES_NO: dict[str, Any] = {"classes": ("no", "yes"), "favourable": ("yes",)}
THREE: dict[str, Any] = {"classes": ("no", "later", "yes"), "favourable": ("yes",)}


def drawn(decide: Decide, low: float = 0.0, high: float = 1.0) -> list[Person]:
    """People of three regions, one unknown, with answers that often tie; some have none."""
    random = np.random.default_rng(0)
    people = []
    for number in range(600):
        region = ("north", "south", "", "north")[number % 4]
        share = random.beta(2, 1.2 if region == "south" else 0.8)
        answer = round(low + (high - low) * float(share), 2)
        missing = number % 50 == 7
        people.append(
            Person(
                groups={"origin": region},
                favourable=None if missing else decide(answer, number),
                score=None if missing else answer,
            )
        )
    return people


def swept(
    people: Sequence[Person], rule: dict[str, Any], *, smallest: int = SMALLEST, **more: Any
) -> GroupReport:
    decision = DecisionSettings.model_validate(rule)
    chosen = settings("origin", smallest=smallest)
    report = report_on(people, chosen, ties=False, decision=decision, **more)
    return GROUPS.read(GROUPS.write(report))


def best(people: Sequence[Person], places: int) -> list[Person]:
    """The same under a quota; of equals the first are let in."""
    there = [one for one in people if one.score is not None]
    let_in = sorted(there, key=lambda one: -(one.score or 0.0))[:places]
    for one in there:
        one.favourable = any(one is other for other in let_in)
    return list(people)


def say(report: GroupReport, macro: str, *given: object) -> str:
    """What a section of the group page says, without line breaks."""
    sections: Any = Templates().macros("pages/pieces/group_sections.html", view=GroupPage(report))
    return " ".join(str(getattr(sections, macro)(*given)).split())


def no(answer: float, number: int) -> bool:
    return False


def is_below(score: float, cut_off: float, better: str) -> bool:
    return score < cut_off if better == "higher" else score > cut_off


CASES = [
    pytest.param(YES_NO | {"cut_off": 0.62}, lambda s, n: s >= 0.62, 0.62, {}, id="cut-off"),
    pytest.param(YES_NO, lambda s, n: s > 0.5, 0.5, {}, id="likelier of two classes"),
    pytest.param(THREE, lambda s, n: s > 0.45, None, {}, id="likeliest of three classes"),
    pytest.param(
        YES_NO | {"cut_off_by": BY}, lambda s, n: s >= (0.4, 0.6)[n // 4 % 2], None, {}, id="two"
    ),
    pytest.param(YES_NO | {"quota": 200}, no, 0.84, {}, id="quota that ties"),
    pytest.param(
        YES_NO | {"cut_off": 640, "better": "lower"},
        lambda s, n: s <= 640,
        640.0,
        {"low": 800.0, "high": 500.0},
        id="lower scores are better",
    ),
    pytest.param(
        YES_NO | {"recorded": "decided"},
        lambda s, n: (s > 0.5) != (n % 9 == 2),
        0.5,
        {},
        id="record",
    ),
]


@pytest.mark.parametrize(("rule", "decide", "cut_off", "ends"), CASES)
def test_every_figure_is_a_count_of_people(
    rule: dict[str, Any], decide: Decide, cut_off: float | None, ends: dict[str, float]
) -> None:
    people = drawn(decide, **ends)
    if "quota" in rule:
        people = best(people, rule["quota"])
        assert {one.favourable for one in people if one.score == cut_off} == {True, False}
    report = swept(people, rule, scored=bool(ends))
    [table] = report.sweeps
    better, in_force = rule.get("better", "higher"), table.rule.cut_off
    assert in_force == cut_off
    assert len(table.cut_offs) > 6
    assert list(table.cut_offs) == sorted(table.cut_offs)
    for name, curve in table.by_group.items():
        mine = [one for one in people if (one.groups["origin"] or "unknown") == name]
        scores = [one.score for one in mine if one.score is not None]
        counts = [sum(is_below(s, c, better) for s in scores) for c in table.cut_offs]
        if cut_off is not None and "recorded" not in rule:
            decisions = report.by_group["origin"][name].decisions
            counts[table.cut_offs.index(cut_off)] = decisions.refused
        assert (curve.of, list(curve.refused)) == (len(scores), counts)
        assert curve.selection_rate == pytest.approx([1 - n / curve.of for n in counts])
        base = table.by_group["north"].selection_rate
        highest = [max(table.by_group[g].selection_rate[k] for g in ("north", "south"))
                   for k in range(len(base))]  # fmt: skip
        for ratios, others in ((curve.impact_ratio, base), (curve.highest_ratio, highest)):
            known = name != "unknown"
            wanted = [
                a / b if known else None for a, b in zip(curve.selection_rate, others, strict=True)
            ]
            assert list(ratios) == ([None] * len(wanted) if not known else pytest.approx(wanted))
        steps = sorted([0, *curve.refused, curve.of])
        assert min(after - before for before, after in pairwise(steps)) >= SMALLEST
    _check_stretches(report, table)


def _check_stretches(report: GroupReport, table: SweepTable) -> None:
    """What is said of a group holds at each cut-off of a stretch, and at no other."""
    south, north = table.by_group["south"], table.by_group["north"]
    for place, cut_off in enumerate(table.cut_offs):
        own, other = (each.refused[place] / each.of for each in (south, north))
        wanted = {"more" if own > other else "fewer" if own < other else "same"}
        ratio = south.impact_ratio[place]
        wanted |= {"below"} if ratio is not None and ratio < report.four_fifths else set()
        mine = [s for s in table.stretches if s.group == "south"]
        assert {s.what for s in mine if s.first <= cut_off <= s.last} == wanted


def turning(count: int = 400) -> list[Person]:
    """The south is refused more often below 0.5, and less often above."""
    people = []
    for number in range(count):
        share = number / count
        for region, answer in (("north", 0.3 + 0.4 * share), ("south", share)):
            favourable = answer >= 0.5
            people.append(Person(groups={"origin": region}, favourable=favourable, score=answer))
    return people


def test_it_is_said_where_the_direction_turns() -> None:
    report = swept(turning(), YES_NO | {"cut_off": 0.5})
    [table] = report.sweeps
    more, same, fewer, below = table.stretches
    assert [each.what for each in table.stretches] == ["more", "same", "fewer", "below"]
    assert more.last < 0.5 == same.first == same.last < fewer.first
    text = say(report, "sweep_sentence", table, "south")
    for part in (
        f"more often at {more.first:g} to {more.last:g}; less often at {fewer.first:g} to ",
        "as often at 0.5.",
        f"below 0.80 at cut-offs of {below.first:g} to {below.last:g}.",
    ):
        assert part in text
    assert "at each of" not in text


def test_a_direction_that_holds_everywhere_is_said_to() -> None:
    people = [
        Person(groups={"origin": g}, favourable=s >= 0.5, score=s)
        for n in range(300)
        for g, s in (("north", (n + 0.5) / 300), ("south", ((n + 0.5) / 300) ** 1.1))
    ]
    report = swept(people, YES_NO | {"cut_off": 0.5}, smallest=40)
    [table] = report.sweeps
    text = say(report, "sweep_sentence", table, "south")
    assert {each.what for each in table.stretches} == {"more"}
    assert "more often than" in text
    assert f"at each of the {len(table.cut_offs)} cut-offs" in text
    assert "below 0.80 at none of them" in text


def test_a_group_of_few_refused_has_no_curve_below_the_cut_off() -> None:
    people = drawn(lambda s, n: s >= 0.5)
    refused = [n for n, one in enumerate(people) if one.score is not None and not one.favourable]
    left = {n for n in refused if people[n].groups["origin"] == "south"}
    left -= set(sorted(left)[:3])
    [table] = swept([one for n, one in enumerate(people) if n not in left], YES_NO).sweeps
    assert min(table.cut_offs) == 0.5
    assert table.by_group["south"].refused[0] == 3


def test_without_steps_a_table_is_left_out_and_nothing_is_said() -> None:
    for answers in ([0.2, 0.8], [None, None]):
        people = [
            Person(groups={"origin": name}, favourable=bool(n % 2), score=answers[n % 2])
            for n in range(100)
            for name in ("north", "south")
        ]
        report = swept(people, YES_NO | {"cut_off": 0.5})
        left_out = [entry.table for entry in report.left_out if entry.part == "cut_offs"]
        assert report.sweeps == ()
        assert left_out == ([] if answers[0] is None else ["origin"])
        assert cut_offs_csv(report).count("\n") == 1


def test_the_picture_marks_the_cut_off_in_force_and_tells_groups_apart_by_dash() -> None:
    report = swept(drawn(lambda s, n: s >= 0.62), YES_NO | {"cut_off": 0.62})
    [table] = report.sweeps
    root = Xml.fromstring(GroupPage(report).draw_sweep(table, "words").svg)
    lines = [each.attrib for each in root.iter() if each.tag.endswith("}line")]
    marks = [line for line in lines if line.get("class") == "stroke-axis"]
    curves = [each.attrib for each in root.iter() if each.tag.endswith("}polyline")]
    assert [float(line["x1"]) for line in marks] == [50 + 0.62 * 250, 370 + 0.62 * 250]
    dashes = [curve.get("stroke-dasharray") for curve in curves]
    assert dashes == [None, "7 4", "7 4"]  # both refused, and the ratio of the south
    assert {curve["class"] for curve in curves} == {"stroke-ink"}


def test_nothing_is_marked_where_no_one_number_decides() -> None:
    [three] = swept(drawn(lambda s, n: s > 0.45), THREE).sweeps
    report = swept(drawn(lambda s, n: s >= (0.4, 0.6)[n // 4 % 2]), YES_NO | {"cut_off_by": BY})
    [by] = report.sweeps
    for table, count in ((three, 0), (by, 4)):
        assert GroupPage(report).draw_sweep(table, "words").svg.count("stroke-axis") == count
    assert "most probable class" in say(report, "sweep_note", three.rule)
    assert "here 0.4, there 0.6" in say(report, "sweep_note", by.rule)


@pytest.mark.parametrize("seed", [54, 390])
def test_the_curves_give_no_count_of_a_few_people_away(seed: int) -> None:
    report, sizes = report_on_population(seed)
    known = read(report, sizes)
    curves = [known.divisions[name] for name in known.divisions if " to " in name]
    assert curves
    assert [learnt for each in curves for learnt in System(known, each).learn()] == []


def test_an_attacker_notices_steps_that_hide_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def every(counts: Any, candidates: Sequence[int], smallest: int) -> list[int]:
        return list(candidates)

    people = drawn(lambda s, n: s >= 0.5)[:120]
    monkeypatch.setattr(sweep, "choose_steps", every)
    known = read(swept(people, YES_NO).to_dict(), {})
    curves = [known.divisions[name] for name in known.divisions if " to " in name]
    assert any(System(known, each).learn() for each in curves)
