"""Everybody's group, and settings about groups that are refused before any work."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.population import bin_labels, check_groups, groups_by
from recourse_audit.errors import SettingsError
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.settings import GroupSettings
from tests.audits import small_audit
from tests.command import command, one_line

COUNT = 30


def graph_of(**attributes: Any) -> Graph:
    x = np.linspace(0, 1, COUNT, dtype=np.float32).reshape(-1, 1)
    return from_arrays(x, np.array([[0], [1]]), attributes=attributes, feature_names=["share"])


def test_an_edge_belongs_to_the_bin_above_it_and_no_number_is_unknown() -> None:
    ages = np.array([18.0, 29.9, 30.0, 49.0, 50.0, np.nan, np.inf, *[40.0] * (COUNT - 7)])
    settings = GroupSettings(attributes=("age",), bins={"age": (30, 50)})
    assert groups_by(graph_of(age=ages), settings, "age")[:7] == [
        *("under 30", "under 30", "30 to under 50", "30 to under 50", "50 and over"),
        *("", ""),
    ]
    assert bin_labels((0.5,)) == ["under 0.5", "0.5 and over"]


def test_an_edge_in_a_column_of_single_precision_is_the_number_that_the_column_holds() -> None:
    values = np.full(COUNT, 0.7, np.float32)
    values[0] = 0.6
    settings = GroupSettings(attributes=("score",), bins={"score": (0.7,)})
    groups = groups_by(graph_of(score=values), settings, "score")
    assert groups == ["under 0.7", *["0.7 and over"] * (COUNT - 1)]


def test_few_different_numbers_are_groups_as_they_are() -> None:
    settings = GroupSettings(attributes=("band",))
    graph = graph_of(band=np.arange(COUNT) % 20)
    check_groups(graph, settings)
    assert groups_by(graph, settings, "band")[:2] == ["0", "1"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"attributes": ["age"]},
            "groups.attributes: 'age' has 30 different numbers, too many for groups; give",
        ),
        ({"attributes": ["share"]}, "groups.attributes: 'share' has 30 different numbers"),
        (
            {"attributes": ["same"]},
            "groups.attributes: everybody's 'same' is 'x' or unknown, so there are no groups to",
        ),
        ({"attributes": ["empty"]}, "groups.attributes: nobody's 'empty' is known, so"),
        (
            {"attributes": ["age"], "bins": {"age": [90]}},
            "groups.attributes: everybody's 'age' is 'under 90' or unknown, so there are no groups",
        ),
        (
            {"attributes": ["sex"], "given": ["age"]},
            "groups.given: 'age' has 30 different numbers, too many for groups; give",
        ),
        (
            {"attributes": ["sex"], "bins": {"sex": [1]}},
            "groups.bins: 'sex' does not hold numbers, so it has no bins; leave it out",
        ),
        (
            {"attributes": ["sex"], "reference": {"sex": "men"}},
            "groups.reference: there is nobody whose 'sex' is 'men'; did you mean 'man'",
        ),
        (
            {"attributes": ["age"], "bins": {"age": [30]}, "reference": {"age": "25"}},
            "groups.reference: there is nobody whose 'age' is '25'; choose from '30 and over'",
        ),
        (
            {"attributes": ["sex"], "communities": "vilage"},
            "groups.communities: the nodes have no column 'vilage'; did you mean 'village'",
        ),
        (
            {"attributes": ["sex"], "communities": "country"},
            "groups.communities: everybody has the same value in 'country', so it divides",
        ),
    ],
)
def test_groups_that_could_not_be_compared_are_refused(
    settings: dict[str, Any], words: str
) -> None:
    graph = graph_of(
        age=np.arange(COUNT) + 18,
        sex=np.array(["man", "woman", ""] * (COUNT // 3)),
        same=np.array(["x", ""] * (COUNT // 2)),
        empty=np.array([""] * COUNT),
        village=np.array(["a", "b"] * (COUNT // 2)),
        country=np.array(["a"] * COUNT),
    )
    with pytest.raises(SettingsError) as raised:
        check_groups(graph, GroupSettings.model_validate(settings))
    assert str(raised.value).startswith(words)


def test_a_run_refuses_them_in_one_sentence_before_any_work(tmp_path: Path) -> None:
    settings = small_audit(tmp_path, old='["gender"]', new='["gender"]\nreference = {gender="x"}')
    finished = command("run", "--no-pages", settings, "--out", tmp_path / "bundle")
    assert finished.code == 2
    assert one_line(finished).startswith(f"error: {settings}: groups.reference: there is nobody")
    assert not (tmp_path / "bundle").exists()


def graph_of_many(**attributes: list[str]) -> Graph:
    count = len(next(iter(attributes.values())))
    x = np.zeros((count, 1), np.float32)
    columns = {name: np.array(values) for name, values in attributes.items()}
    return from_arrays(x, np.array([[0], [1]]), attributes=columns)


def test_more_groups_than_memory_allows_are_refused() -> None:
    graph = graph_of_many(street=[f"street {number}" for number in range(30_000)])
    with pytest.raises(SettingsError) as raised:
        check_groups(graph, GroupSettings(attributes=("street",)))
    assert str(raised.value) == (
        "groups.attributes: 'street' has 30,000 different values ('street 0', 'street 1', …), and "
        "at most 250 groups are compared; leave it out, or name a column with wider groups "
        "instead, such as ages or years made from it, with groups.bins"
    )
    several = [f"street {number % 250}" for number in range(1000)]
    check_groups(graph_of_many(street=several), GroupSettings(attributes=("street",)))


def test_more_combinations_than_memory_allows_are_refused_unless_nothing_is_crossed() -> None:
    one = [str(number // 40) for number in range(1600)]
    other = [str(number % 40) for number in range(1600)]
    graph = graph_of_many(one=[f"a{x}" for x in one], other=[f"b{x}" for x in other])
    with pytest.raises(SettingsError, match=r"have 1,600 combinations, .* set crossed = false"):
        check_groups(graph, GroupSettings(attributes=("one", "other")))
    check_groups(graph, GroupSettings(attributes=("one", "other"), crossed=False))
