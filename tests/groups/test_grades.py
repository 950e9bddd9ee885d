"""Grades of caveats are compared between groups in their order, and only where they are settled."""

import numpy as np
import pytest

from recourse_audit.records.subject import Grade
from tests.groups.stores import drawn_people, report_on, settings


def test_grades_are_compared_in_their_order_and_what_is_not_settled_is_left_out() -> None:
    people = drawn_people(3)
    order: list[Grade] = ["holds", "weakens", "no_effect", "reverses"]
    audited = [one for one in people if one.status is not None]
    for number, one in enumerate(audited):
        south = one.groups["origin"] == "south"
        every = south or number % 3 == 1
        one.grade = "not_settled" if number % 3 == 0 else order[number % 4 if every else number % 2]
    report = report_on(people, settings("origin"))
    [found] = [one for one in report.tables[0].comparisons if one.measure == "caveats"]
    by_group: dict[str, list[int]] = {"north": [], "south": []}
    for one in audited:
        if one.grade != "not_settled":
            by_group[one.groups["origin"]].append([*map(str, order)].index(str(one.grade)))
    own, other = by_group[found.group], by_group[found.reference]
    assert (found.people, found.reference_people) == (len(own), len(other))
    signs = np.sign(np.subtract.outer(own, other))
    assert found.difference == pytest.approx(float(signs.mean()), abs=1e-6)
    known = [group for group in report.tables[0].by_group if group.name in by_group]
    assert len(known) == 2
    for group in known:
        assert group.outcomes is not None
        assert group.outcomes.grades is not None
        settled = sum(group.outcomes.grades[grade] for grade in order)
        assert settled == len(by_group[group.name])
        assert group.outcomes.grades["not_settled"] > 0
