"""Reports on groups of made-up audits, worked out by the real stage."""

import json
from dataclasses import replace
from functools import cache

from recourse_audit.groups.verdicts import findings_of
from recourse_audit.records.codec import GROUPS
from recourse_audit.records.groups import GroupReport
from recourse_audit.settings import GroupSettings
from tests.groups.stores import FOUND, Person, drawn_people, report_on, settings

HOSTILE = "<b onclick=alert(1)>{{7*7}}</b>"


@cache
def gap_report(*, south_is_reference: bool = False) -> GroupReport:
    """A gap in having an option against the south; ties of options lead to both; some unknown."""
    people = drawn_people(3, people=900, communities=20, gap=0.45)
    for number, one in enumerate(people):
        if one.status == FOUND:
            tie = (number, (number * 7) % len(people))
            one.options = [[("drop", "payment", tie)], [("set", "savings", None)]]
            one.droppable = [tie, (number, (number * 11) % len(people))]
        if number % 5 == 0:
            one.groups = {**one.groups, "origin": ""}
    reference = {"origin": "south"} if south_is_reference else {}
    return report_on(people, settings("origin", "gender", reference=reference))


@cache
def quiet_report() -> GroupReport:
    """Two groups as alike as chance leaves them."""
    return report_on(drawn_people(5, people=900, communities=20), settings("gender"))


def pooled_report(name: str = "tiny") -> GroupReport:
    """One group of three people, so that it and the next smallest are pooled."""
    people = drawn_people(7, people=600, communities=20, attributes=("gender",))
    for number, one in enumerate(people):
        if number < 3:
            one.groups = {"gender": name}
        elif number < 40:
            one.groups = {"gender": "other"}
    return report_on(people, settings("gender"))


def column_report() -> GroupReport:
    """A column names everybody's community."""
    people = drawn_people(13, people=600, communities=20, attributes=("gender",))
    return report_on(people, settings("gender"), column=True)


def no_ties_report() -> GroupReport:
    """Nobody has a tie, so that nothing can be tested."""
    people = drawn_people(9, people=300, communities=5, attributes=("origin",))
    return report_on(people, settings("origin"), ties=False)


def unfinished_report() -> GroupReport:
    return replace(quiet_report(), finished=False, done=120, total=400)


@cache
def tiny_report() -> GroupReport:
    """Too few people to show anything."""
    people = [Person(groups={"gender": name}, status=FOUND) for name in ("man", "woman")]
    return report_on(people, settings("gender"))


def few_audited_report() -> GroupReport:
    """Everybody's decision is known, and six of the refused were audited."""
    people = drawn_people(11, people=600, communities=20, attributes=("gender",))
    audited = [one for one in people if one.status is not None]
    for one in audited[6:]:
        one.status = None
    return report_on(people, settings("gender"))


@cache
def one_group_report() -> GroupReport:
    """All groups but one are pooled, so that there is nothing to compare."""
    report = quiet_report()
    [table] = report.tables
    first, other = table.by_group
    pooled = replace(other, name="other", values=("other",), kinds=("pooled",), pooled=3)
    alone = replace(
        table,
        by_group=(first, pooled),
        reference=None,
        comparisons=(),
        not_compared="few_groups",
    )
    return replace(report, tables=(alone,), findings=())


@cache
def many_groups_report() -> GroupReport:
    """Twelve groups of one attribute, made from two; each a little smaller than the one before."""
    report = quiet_report()
    [table] = report.tables
    reference, other = (one for one in table.by_group if one.known)
    people = other.decisions.people
    groups = [
        replace(other, name=f"g{place}", values=(f"g{place}",), decisions=decided)
        for place in range(11)
        for decided in [replace(other.decisions, people=people - place)]
    ]
    compared = [
        replace(one, group=group.name, reference=reference.name)
        for group in groups
        for one in table.comparisons
    ]
    many = replace(
        table,
        by_group=(reference, *groups),
        reference=reference.name,
        comparisons=tuple(compared),
    )
    found = tuple(findings_of([many], GroupSettings()))
    return replace(report, tables=(many,), findings=found)


def renamed_report(south: str, north: str = "north") -> GroupReport:
    """The report with a gap, of groups with other names."""
    text = GROUPS.write(gap_report())
    names = {"south": south, "north": north}
    for name, other in names.items():
        text = text.replace(f'"{name}"', json.dumps(other))
        text = text.replace(f'"{name}, ', json.dumps(f"{other}, ")[:-1])
    return GROUPS.read(text)


@cache
def favourable_report() -> GroupReport:
    """Nobody was refused, so that nobody was audited."""
    people = drawn_people(5, people=300, communities=5, attributes=("gender",))
    for one in people:
        one.favourable, one.status = True, None
    return report_on(people, settings("gender"))
