"""Who of the refused has approved comparators: counted by group, unless it tells of a few."""

import csv
import io

from recourse_audit.records.groups import GroupReport, LeftOut
from recourse_audit.render.groups_csv import groups_csv
from tests.groups.stores import FOUND, Person, report_on, settings
from tests.render.group_pages import ReadGroups


def report(**south: int) -> GroupReport:
    """Refused people with comparators in both, in other groups, in their own or in none."""
    kinds = {"both": (3, 1), "others": (2, 0), "own": (0, 3), "none": (0, 0)}
    counts = {"north": {"both": 20, "others": 11, "own": 12, "none": 13}}
    counts["south"] = {"both": 30, "others": 5, "own": 6, "none": 20} | south
    people = [
        Person(groups={"origin": group}, status=FOUND, compared={"origin": kinds[kind]})
        for group, own in counts.items()
        for kind, count in own.items()
        for _ in range(count)
    ]
    # Whose group is not known is compared with nobody, and who was approved has no comparators.
    people += [Person(groups={"origin": ""}, status=FOUND, compared={"origin": (0, 0)})] * 12
    people += [Person(groups={"origin": g}, favourable=True) for g in ("north", "south") * 20]
    return report_on(people, settings("origin"))


def test_people_are_counted_by_where_they_have_comparators() -> None:
    found = report()
    assert {*found.comparators} == {"origin"}
    counts = {
        group: (rates.others.count, rates.own.count, rates.others.of, rates.own.of)
        for group, rates in found.comparators["origin"].items()
    }
    assert counts == {"north": (31, 32, 56, 56), "south": (35, 36, 61, 61)}
    rows = [*csv.DictReader(io.StringIO(groups_csv(found)))]
    [row] = [
        row
        for row in rows
        if (row["group"], row["measure"]) == ("south", "comparator in own group")
    ]
    assert (row["count"], row["of"]) == ("36", "61")


def test_the_annex_says_that_the_own_group_is_the_control() -> None:
    text = ReadGroups(report()).text
    assert "In the own group (control)" in text
    assert "Such people can be found for almost anybody" in text
    assert "is a test of its own" in text


def test_a_few_without_comparators_are_not_told_apart() -> None:
    few = report(none=2, own=6)  # of the south, 8 have none in other groups
    assert few.comparators == {}
    assert LeftOut(table="origin", part="comparators", why="few_people") in few.left_out
    page = ReadGroups(few).text
    assert "In the own group (control)" not in page
    assert "approved people no better on own data" in page
