"""A group report is a document: it is read back as it was written, and nothing is half read."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recourse_audit.errors import DocumentError
from recourse_audit.records.codec import GROUPS
from recourse_audit.records.group_figures import GRADES
from recourse_audit.records.groups import GroupReport
from tests.cases import Cases
from tests.groups.stores import ERROR, FOUND, INFEASIBLE, NOT_FOUND, Person, Step, report_on
from tests.groups.stores import settings as group_settings
from tests.render.group_reports import (
    few_audited_report,
    gap_report,
    no_ties_report,
    pooled_report,
    tiny_report,
    unfinished_report,
)

REPORTS: dict[str, Callable[[], GroupReport]] = {
    "gap": gap_report,
    "few audited": few_audited_report,
    "no ties": no_ties_report,
    "tiny": tiny_report,
    "unfinished": unfinished_report,
    "pooled": pooled_report,
}
Path = tuple[str | int, ...]
# Objects whose keys are names of something.
FREE = [(name,) for name in ("effect", "grades", "excluded", "ties", "told", "carried")]
# In the rates: maps by group, by rate, or by both.
BY_GROUP, BY_RATE = ("by_group", "impact_ratios"), ("overall", "by_rate", "spreads")


@cache
def report_of(name: str) -> GroupReport:
    return REPORTS[name]()


@cache
def text_of(name: str) -> str:
    return GROUPS.write(report_of(name))


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_read_back_as_it_was_written(name: str) -> None:
    read = GROUPS.read(text_of(name))
    assert read == report_of(name)
    assert GROUPS.write(read) == text_of(name)
    assert GROUPS.read(GROUPS.write_indented(read)) == read


TIES = st.tuples(st.integers(0, 39), st.integers(0, 39))
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("drop"), st.sampled_from(["payment", "Ä \N{SNOWMAN}"]), TIES),
    st.tuples(st.just("set"), st.sampled_from(["savings", 'a"b']), st.none()),
)
PEOPLE = st.builds(
    Person,
    groups=st.fixed_dictionaries({"origin": st.sampled_from(["north", "s\N{SNOWMAN}", ""])}),
    favourable=st.sampled_from([True, False, False, None]),
    community=st.integers(0, 8),
    status=st.sampled_from([None, FOUND, FOUND, INFEASIBLE, NOT_FOUND, ERROR]),
    cost=st.floats(0, 1e9),
    simulatability=st.none() | st.floats(0, 1),
    relevance=st.none() | st.floats(0, 1),
    grade=st.sampled_from([None, *GRADES[:-1]]),
    options=st.lists(st.lists(STEPS, min_size=1, max_size=2), max_size=2),
    droppable=st.lists(TIES, max_size=3),
)


@given(
    people=st.lists(PEOPLE, min_size=40, max_size=60),
    smallest=st.integers(2, 12),
    column=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_any_report_is_read_back_as_it_was_written(
    people: list[Person], smallest: int, column: bool
) -> None:
    people[0].groups, people[1].groups = {"origin": "north"}, {"origin": "s\N{SNOWMAN}"}
    asked = group_settings("origin", smallest=smallest, redraws=100)
    report = report_on(people, asked, column=column)
    text = GROUPS.write(report)
    assert GROUPS.read(text) == report
    assert GROUPS.write(GROUPS.read(text)) == text


def objects_in(value: Any, path: Path = ()) -> Iterator[Path]:
    """The places of all objects in a document whose keys are fixed."""
    if isinstance(value, dict):
        in_rates = path[:1] == ("rates",)
        free = in_rates and (path[-1] in (*BY_GROUP, *BY_RATE) or path[-2:][0] in BY_GROUP)
        if path[-1:] not in FREE and not free and ("shares_by_group" not in path):
            yield path
        for key, inner in value.items():
            yield from objects_in(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value[:1]):
            yield from objects_in(inner, (*path, place))


def at(document: Any, path: Path) -> Any:
    for part in path:
        document = document[part]
    return document


def test_a_key_too_many_or_too_few_is_refused_wherever_it_is() -> None:
    text, cases = text_of("gap"), Cases()
    for path in objects_in(json.loads(text)):
        document = json.loads(text)
        at(document, path)["surprise"] = 1
        with cases(path), pytest.raises(DocumentError, match="surprise"):
            GROUPS.read(json.dumps(document))
        for key in at(json.loads(text), path):
            document = json.loads(text)
            del at(document, path)[key]
            with cases((*path, key)), pytest.raises(DocumentError):
                GROUPS.read(json.dumps(document))
    cases.assert_sound()


@pytest.mark.parametrize("number", [0, 1, 8, 9, 10, 12, "11", None])
def test_another_format_is_refused(number: Any) -> None:
    document = json.loads(text_of("tiny")) | {"format": number}
    with pytest.raises(DocumentError, match="format"):
        GROUPS.read(json.dumps(document))


def test_what_is_no_report_is_refused() -> None:
    for text in ("", "[]", "{}", "null", text_of("tiny")[:-1]):
        with pytest.raises(DocumentError):
            GROUPS.read(text)


def test_groups_differences_and_ratios_are_found_by_name() -> None:
    report = report_of("gap")
    assert set(report.by_group) == {"origin", "gender", "origin x gender"}
    south = report.by_group["origin"]["south"]
    assert south in report.tables[0].by_group
    [gap] = [
        one
        for one in report.tables[0].comparisons
        if (one.group, one.measure) == ("south", "feasibility")
    ]
    assert report.difference["origin"]["south"]["feasibility"] == gap.difference < 0
    assert report.ratio["origin"]["south"]["feasibility"] == gap.ratio
    assert "north" not in report.difference["origin"]  # the reference has no gap to itself
    assert sorted(one.gap for one in report.flags) == sorted(
        one.gap
        for table in report.tables
        for one in table.comparisons
        if one.verdict == "gap shown"
    )


def test_a_report_shows_itself_in_one_line() -> None:
    assert repr(report_of("gap")).startswith("GroupReport(finished=True, ")
    assert "\n" not in repr(report_of("gap"))
