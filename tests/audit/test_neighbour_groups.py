"""Groups by a property of people's neighbours are what reading the ties one by one says."""

from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.population import check_groups, groups_by, with_neighbour_columns
from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Graph
from recourse_audit.settings import GroupSettings

PEOPLE = 7
SECTORS = ["care", "care", "retail", ""]
SIZES = [10.0, 30.0, 500.0, np.nan]
# Person 0 has one job, 1 two in one sector, 2 two in different ones, 3 one that nothing is known
# of, 4 one of each, 5 none; 6 is only recommended by 0.
JOBS = [(0, 2), (1, 0), (1, 1), (2, 0), (2, 2), (3, 3), (4, 3), (4, 1)]
RECOMMENDS = [(0, 6), (1, 2), (1, 3)]


def town() -> Graph:
    attributes: dict[str, dict[str, Any]] = {
        "person": {"region": list("aabbaab")},
        "employer": {"sector": SECTORS, "size": SIZES},
    }
    return from_arrays(
        {"person": np.zeros((PEOPLE, 1)), "employer": np.zeros((4, 1))},
        {
            ("person", "works_at", "employer"): np.array(JOBS).T,
            ("person", "recommends", "person"): np.array(RECOMMENDS).T,
        },
        attributes=attributes,
        subject="person",
    )


def groups_of(
    name: str, graph: Graph | None = None, bins: dict[str, Any] | None = None
) -> list[str]:
    settings = GroupSettings(attributes=(name,), bins=bins or {})
    graph = with_neighbour_columns(town() if graph is None else graph, settings)
    check_groups(graph, settings)
    return groups_by(graph, settings, name)


def test_everybody_has_the_value_at_the_far_end() -> None:
    assert groups_of("works_at.sector") == [
        "retail",
        "care",
        "several",
        "",
        "care",
        "no works_at",
        "no works_at",
    ]


def test_ties_between_people_count_whichever_way_they_lead() -> None:
    assert groups_of("recommends.region") == [
        "b",
        "b",
        "a",
        "a",
        "no recommends",
        "no recommends",
        "a",
    ]


def test_two_numbers_in_one_bin_are_not_several() -> None:
    found = groups_of("works_at.size", bins={"works_at.size": (100.0,)})
    assert found == [
        "100 and over",
        "under 100",
        "several",
        "",
        "under 100",
        "no works_at",
        "no works_at",
    ]


def test_few_numbers_need_no_bins() -> None:
    assert groups_of("works_at.size")[:3] == ["500", "several", "several"]


def test_a_graph_of_one_kind_has_neighbours_too() -> None:
    graph = from_arrays(
        np.zeros((4, 1)),
        np.array([[0, 1, 1], [1, 2, 1]]),
        kind=["friend", "friend", "friend"],
        attributes={"origin": list("nsnn")},
    )
    assert groups_of("friend.origin", graph) == ["s", "n", "s", "no friend"]


def test_a_column_of_that_name_comes_first() -> None:
    graph = from_arrays(
        np.zeros((3, 1)),
        np.array([[0, 1], [1, 2]]),
        kind=["friend", "friend"],
        attributes={"friend.origin": list("nsn")},
    )
    assert groups_of("friend.origin", graph) == list("nsn")


@pytest.mark.parametrize(
    ("name", "bins", "words"),
    [
        ("work_at.sector", {}, "did you mean 'works_at.sector'"),
        ("works_at.sektor", {}, "far end of 'works_at' have no column 'sektor'; did you mean"),
        ("works_at.region", {}, "have no column 'region'"),
        ("works_at.sector", {"works_at.sector": (1.0,)}, "does not hold numbers"),
    ],
)
def test_what_cannot_be_meant_is_refused(name: str, bins: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as raised:
        groups_of(name, bins=bins)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
    assert raised.value.exit_code == 2


def test_a_relation_that_leads_to_nobody_makes_no_groups() -> None:
    graph = from_arrays(
        {"person": np.zeros((2, 1)), "employer": np.zeros((2, 1))},
        {
            ("person", "works_at", "employer"): np.array([[0], [0]]),
            ("employer", "supplies", "employer"): np.array([[0], [1]]),
        },
        attributes={"person": {}, "employer": {"sector": ["a", "b"]}},
        subject="person",
    )
    with pytest.raises(SettingsError, match="which leads to no 'person'"):
        groups_of("supplies.sector", graph)
