"""Of those no better on own data than a refused person, who was approved: by group."""

import csv
import io

from recourse_audit.records.groups import ComparatorShares, GroupReport, LeftOut
from recourse_audit.render.groups_csv import groups_csv
from tests.groups.stores import FOUND, Person, report_on, settings
from tests.render.group_pages import ReadGroups


def report(*, nobody_near: int = 0) -> GroupReport:
    """Refused people of two groups; of those no better, more of the north were approved."""
    counts = {
        "north": [(10, 2, 10, 5)] * 20 + [(4, 0, 8, 6)] * 20,
        "south": [(10, 8, 10, 2)] * 30 + [(5, 5, 0, 0)] * 10 + [(0, 0, 5, 0)] * nobody_near,
    }
    people = [
        Person(groups={"origin": group}, status=FOUND, compared={"origin": each})
        for group, own in counts.items()
        for each in own
    ]
    # Whose group is not known is compared with nobody, and who was approved has no comparators.
    people += [Person(groups={"origin": ""}, status=FOUND, compared={"origin": (9, 9, 9, 9)})] * 12
    people += [Person(groups={"origin": g}, favourable=True) for g in ("north", "south") * 20]
    return report_on(people, settings("origin"))


def test_shares_are_means_over_refused_people_who_have_somebody_no_better() -> None:
    found = report()
    assert found.comparators == {
        "origin": {
            "north": ComparatorShares(others=0.1, own=0.625),
            "south": ComparatorShares(others=0.85, own=0.2),
        }
    }
    rows = [*csv.DictReader(io.StringIO(groups_csv(found)))]
    shares = {(row["group"], row["measure"]): row["value"] for row in rows}
    assert shares["south", "no better, approved: other groups"] == "0.85"
    assert shares["south", "no better, approved: own group"] == "0.2"


def test_the_annex_says_that_the_own_group_is_the_control() -> None:
    text = ReadGroups(report()).text
    assert "In the own group (control)" in text
    assert "neither share is a finding by itself" in text
    assert "is a test of its own" in text


def test_a_mean_of_few_people_is_left_out() -> None:
    few = [(10, 8, 10, 2)] * 30 + [(0, 0, 5, 0)] * 5
    people = [
        Person(groups={"origin": group}, status=FOUND, compared={"origin": each})
        for group, own in {"north": few, "south": [(0, 0, 9, 3)] * 30 + [(5, 5, 9, 3)] * 10}.items()
        for each in own
    ]
    report = report_on(people, settings("origin"))
    assert report.comparators == {}
    assert LeftOut(table="origin", part="comparators", why="few_people") in report.left_out
    page = ReadGroups(report).text
    assert "In the own group (control)" not in page
    assert "who of the people no better on own data was approved" in page
