"""The whole report: counts add up, verdicts follow their rule, and nothing withheld is in it."""

import csv
import io
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recourse_audit.errors import InputError
from recourse_audit.groups.verdicts import give_verdicts
from recourse_audit.records.codec import GROUPS
from recourse_audit.records.group_figures import Comparison, Measure
from recourse_audit.records.groups import GroupReport, GroupTable
from recourse_audit.render.groups_csv import COLUMNS, groups_csv
from tests.groups.stores import (
    ERROR,
    FOUND,
    INFEASIBLE,
    NOT_FOUND,
    Person,
    drawn_people,
    report_on,
    settings,
)

NORTH = {"origin": "north"}


def report_of(people: list[Person], *attributes: str, **more: Any) -> GroupReport:
    """A report without ties, so without tests: counting is quick."""
    return report_on(people, settings(*attributes, **more), ties=False)


def judged(people: list[Person], *attributes: str, **more: Any) -> GroupReport:
    return report_on(people, settings(*attributes, **more))


def table_of(report: GroupReport, name: str) -> GroupTable:
    [table] = [one for one in report.tables if one.name == name]
    return table


def gap_of(report: GroupReport, group: str, measure: Measure, table: str = "origin") -> Comparison:
    [found] = [
        one
        for one in table_of(report, table).comparisons
        if one.group == group and one.measure == measure
    ]
    return found


@pytest.fixture(scope="module")
def with_gap() -> GroupReport:
    return judged(drawn_people(1, people=1200, gap=0.4), "origin", "gender", reference=NORTH)


@pytest.fixture(scope="module")
def without_gap() -> GroupReport:
    return judged(drawn_people(2, people=3000, communities=100), "origin", "gender")


def test_counts_add_up_in_every_group_and_over_all_groups() -> None:
    people = drawn_people(3)
    for one in people[::7]:
        one.favourable, one.status = None, ERROR  # the model gave no number
    for one in people[::5]:
        one.groups = {"origin": "", "gender": one.groups["gender"]}
    for one in people[3::11]:
        if one.status:
            one.status, one.error = ERROR, "the model's answer is not a number after drop P1 - P2"
    for one in people[4::11]:
        one.status = None  # refused, but not in the audit
    report = report_of(people, "origin", "gender", smallest=2, crossed=False)
    overall, found = report.overall.decisions, report.overall.outcomes
    assert overall is not None
    assert found is not None
    assert overall.people == len(people)
    assert overall.undecided == sum(one.favourable is None for one in people)
    assert overall.not_audited > 0
    assert report.overall.excluded == {"the model's answer is not a number": found.errors}
    for table in report.tables:
        total = dict.fromkeys(("people", "refused", "favourable", "undecided", "audited"), 0)
        verified = 0
        for group in table.by_group:
            counts, audited = group.decisions, group.outcomes
            assert counts is not None
            assert audited is not None
            assert audited.errors is not None
            assert audited.grades is not None
            assert audited.certified_infeasible is not None
            assert audited.not_found_within_budget is not None
            assert counts.people == counts.refused + counts.favourable + counts.undecided
            assert counts.refused == counts.audited + counts.not_audited
            assert audited.certified_infeasible is not None
            assert audited.not_found_within_budget is not None
            assert audited.grades is not None
            assert counts.audited == (
                audited.verified
                + audited.certified_infeasible
                + audited.not_found_within_budget
                + audited.errors
            )
            assert audited.feasibility.of == counts.audited - audited.errors
            assert sum(audited.grades.values()) == audited.feasibility.of
            assert counts.adverse_rate.of == counts.people - counts.undecided
            for name in total:
                total[name] += getattr(counts, name)
            verified += audited.verified
        assert total == {name: getattr(overall, name) for name in total}
        assert verified == found.verified


def test_progress_is_told_up_to_the_last_comparison() -> None:
    told: list[tuple[int, int]] = []
    report = report_on(
        drawn_people(3),
        settings("origin", "gender"),
        progress=lambda done, total: told.append((done, total)),
    )
    total = told[-1][1]
    assert told == [(done, total) for done in range(1, total + 1)]
    assert total >= sum(len(table.comparisons) for table in report.tables) > 0


def test_the_figures_of_a_group_are_those_of_its_people() -> None:
    people = drawn_people(4)
    report = report_of(people, "origin")
    south = [one for one in people if one.groups["origin"] == "south"]
    refused = [one for one in south if not one.favourable]
    [group] = [one for one in table_of(report, "origin").by_group if one.name == "south"]
    assert group.decisions is not None
    assert group.outcomes is not None
    assert group.decisions.adverse_rate.share == len(refused) / len(south)
    found = [one for one in refused if one.status == FOUND]
    assert group.outcomes.feasibility.share == len(found) / len(refused)
    assert group.outcomes.cost_curve is not None
    for point in group.outcomes.cost_curve:
        assert point.count == sum(one.cost <= point.cost for one in found)
        assert point.share == point.count / len(refused)
    assert group.outcomes.cost_curve[-1].count == len(found)


def test_a_large_gap_is_shown_and_says_who_finds_it_harder(with_gap: GroupReport) -> None:
    for measure in ("feasibility", "cost"):
        gap = gap_of(with_gap, "south", measure)
        assert gap.verdict == "gap shown"
        assert gap.worse == "group"
        assert gap.gap > 0
        assert gap.tests.corrected_for == 6
    assert gap_of(with_gap, "south", "feasibility").below_four_fifths


def test_where_there_is_no_gap_none_is_shown_and_the_rule_of_verdicts_holds(
    without_gap: GroupReport,
) -> None:
    assert without_gap.flags == ()
    verdicts = set()
    for table in without_gap.tables:
        for one in table.comparisons:
            if not one.primary:
                assert (one.verdict, one.no_gap) == (None, False)
                continue
            ruled_out = one.tests.no_gap_adjusted
            assert ruled_out is not None
            assert one.no_gap == (ruled_out <= without_gap.alpha)
            assert (one.verdict == "no gap") == one.no_gap
            verdicts.add(one.verdict)
    assert "no gap" in verdicts


def test_few_people_settle_nothing_and_the_gap_that_could_have_been_seen_is_said() -> None:
    report = judged(drawn_people(3, people=300), "origin", reference=NORTH)
    gap = gap_of(report, "south", "adverse_rate")
    assert gap.verdict == "not settled"
    assert gap.smallest_gap is not None
    assert gap.smallest_gap_in_family is not None
    assert report.concern < gap.smallest_gap < gap.smallest_gap_in_family
    assert gap.precision is not None
    assert gap.precision.effective < 300


def test_without_ties_there_are_ordinary_figures_and_nothing_is_settled() -> None:
    people = drawn_people(1, gap=0.35)
    report = report_of(people, "origin", reference=NORTH)
    gap = gap_of(report, "south", "feasibility")
    assert gap.verdict == "not settled"
    assert gap.untested == "no_ties"
    assert (gap.tests.on_graph, gap.gap_interval, gap.precision) == (None, None, None)
    assert gap.intervals.difference.ordinary is not None
    assert gap.tests.ordinary is not None
    assert gap.tests.ordinary < 0.001
    assert (report.tests, report.untested) == ((), 3)
    for group in table_of(report, "origin").by_group:
        assert group.outcomes is not None
        assert group.outcomes.feasibility.on_graph is None


def test_a_column_of_communities_is_tested_too_and_both_p_values_are_given() -> None:
    people = drawn_people(1, people=1200, gap=0.4)
    plain = gap_of(judged(people, "origin", reference=NORTH), "south", "feasibility")
    report = report_on(people, settings("origin", reference=NORTH), column=True)
    gap = gap_of(report, "south", "feasibility")
    assert gap.precision is not None
    by_column = gap.precision.by_column
    assert by_column is not None
    assert by_column.communities == 30
    assert by_column.decides  # few ties of these people lead out of their community
    assert by_column.leaving < 0.2
    assert gap.tests.on_graph == by_column.p != plain.tests.on_graph
    assert report.communities.column == "district"


def test_people_whose_search_stopped_early_are_counted_once_as_without_an_option_once_not() -> None:
    people = drawn_people(1, people=600, gap=0.3)
    gap = gap_of(judged(people, "origin", reference=NORTH, smallest=2), "south", "feasibility")
    known = [one for one in people if one.status and one.status != NOT_FOUND]
    shares = {
        name: np.mean([one.status == FOUND for one in known if one.groups["origin"] == name])
        for name in ("north", "south")
    }
    rest = gap.without_not_found
    assert rest is not None
    assert rest.people + rest.reference_people == len(known)
    assert rest.gap == pytest.approx(shares["north"] - shares["south"])
    assert gap.people + gap.reference_people > len(known)


def test_the_unknown_are_counted_and_never_compared() -> None:
    people = drawn_people(5)
    for one in people[::4]:
        one.groups = {"origin": "", "gender": one.groups["gender"]}
    report = report_of(people, "origin", "gender")
    unknown = table_of(report, "origin").by_group[-1]
    assert (unknown.name, unknown.known) == ("unknown", False)
    assert unknown.decisions is not None
    assert unknown.decisions.people == len(people[::4])
    for table in report.tables:
        for gap in table.comparisons:
            assert "unknown" not in gap.group
            assert "unknown" not in gap.reference
    assert all("unknown" not in one.group for one in report.findings)


def test_the_largest_known_group_is_the_reference_unless_another_is_named() -> None:
    people = drawn_people(6)
    for one in people[: len(people) // 2]:
        one.groups = {"origin": "", "gender": one.groups["gender"]}
    report = report_of(people, "origin", "gender", reference={"gender": "woman"})
    known = [one for one in table_of(report, "origin").by_group if one.known]
    largest = max(known, key=lambda one: one.decisions.people)
    assert table_of(report, "origin").reference == largest.name
    assert table_of(report, "gender").reference == "woman"
    assert table_of(report, "origin x gender").reference == f"{largest.name}, woman"


def test_each_family_is_corrected_by_itself(with_gap: GroupReport) -> None:
    primary = [one for table in with_gap.tables for one in table.comparisons if one.primary]
    assert [*with_gap.tests] == primary
    for family, count in (("single", 3 * 2), ("crossed", 3 * 3)):
        mine = [one for one in with_gap.tests if one.family == family]
        assert len(mine) == count
        for alone, corrected in (
            ("on_graph", "adjusted"),
            ("cautious", "cautious_adjusted"),
            ("no_gap", "no_gap_adjusted"),
        ):
            p = np.array([getattr(one.tests, alone) for one in mine])
            order = np.argsort(p, kind="stable")
            steps = p[order] * (p.size - np.arange(p.size))
            by_hand = np.minimum(np.maximum.accumulate(steps), 1.0)
            assert [getattr(mine[at].tests, corrected) for at in order] == pytest.approx(by_hand)


def test_a_gap_stands_if_it_is_shown_by_the_cautious_p_values_too(with_gap: GroupReport) -> None:
    shown = [one for one in with_gap.tests if one.verdict == "gap shown"]
    assert shown
    for one in with_gap.tests:
        cautious = one.tests.cautious_adjusted
        assert cautious is not None
        assert one.stands == (one in shown and cautious <= with_gap.alpha)
    assert [finding.stands for finding in with_gap.flags] == [
        one.stands
        for finding in with_gap.flags
        for table in with_gap.tables
        for one in table.comparisons
        if (table.name, one.group, one.measure) == (finding.table, finding.group, finding.measure)
    ]


def test_exploratory_measures_stand_outside_the_families(with_gap: GroupReport) -> None:
    gap = gap_of(with_gap, "south", "options")
    assert gap.tests.ordinary is not None
    assert gap.tests.on_graph is not None
    assert (gap.tests.adjusted, gap.family, gap.verdict) == (None, None, None)
    assert "relative_effect" in gap.effect
    crossed = table_of(with_gap, "origin x gender").comparisons
    assert {one.measure for one in crossed} == {"adverse_rate", "feasibility", "cost"}


def test_difference_ratio_and_test_never_contradict_each_other(
    with_gap: GroupReport, without_gap: GroupReport
) -> None:
    for report in (with_gap, without_gap):
        for table in report.tables:
            for one in table.comparisons:
                p, difference = one.tests.on_graph, one.intervals.difference.on_graph
                assert p is not None
                assert difference is not None
                excludes = not difference.low <= 0 <= difference.high
                assert excludes == (p <= report.alpha)
                ratio = one.intervals.ratio.on_graph
                if ratio is not None:
                    assert excludes == (not ratio.low <= 1 <= ratio.high)


def small_groups() -> list[Person]:
    """Fewer than 11 from the east, and fewer than 11 audited from the west."""
    people = drawn_people(7, attributes=["origin"])
    for place, one in enumerate(people):
        if place < 7:
            one.groups = {"origin": "east"}
        elif place < 60:
            one.groups = {"origin": "west"}
            if place >= 12:
                one.favourable, one.status = True, None
            else:
                one.favourable, one.status = False, FOUND if place % 2 else INFEASIBLE
    return people


def test_small_groups_are_pooled_with_the_next_smallest() -> None:
    report = report_of(small_groups(), "origin")
    by_name = {one.name: one for one in table_of(report, "origin").by_group}
    assert set(by_name) == {"north", "south", "other"}
    assert (by_name["other"].kinds, by_name["other"].pooled) == (("pooled",), 2)
    assert by_name["other"].decisions.people == 60
    assert report.pooled == 2
    assert not any("other" in (one.group, one.reference) for one in report.tables[0].comparisons)


def test_what_is_inside_a_pool_is_in_no_document() -> None:
    """Only the pooled people are changed, and not a byte of any output is."""
    people = small_groups()
    before = report_of(people, "origin")
    outputs = GROUPS.write(before), groups_csv(before)
    # Swap what was decided and found between the two pooled groups: their sum stays.
    east = [one for one in people if one.groups["origin"] == "east"]
    west = [one for one in people if one.groups["origin"] == "west"][: len(east)]
    for one, other in zip(east, west, strict=True):
        one.groups, other.groups = other.groups, one.groups
    after = report_of(people, "origin")
    assert (GROUPS.write(after), groups_csv(after)) == outputs


def test_a_handful_of_people_in_all_is_withheld_entirely() -> None:
    people = [Person(groups={"origin": "ns"[n % 2]}, status=FOUND) for n in range(10)]
    report = report_of(people, "origin")
    assert report.overall.decisions is None
    assert report.overall.outcomes is None
    assert report.common_options == ()
    assert not any(one.by_group for one in report.cut_off)
    people += [Person(groups={"origin": "ns"[n % 2]}, favourable=True) for n in range(40)]
    report = report_of(people, "origin")
    assert report.overall.decisions is not None
    assert report.overall.outcomes is None
    assert report.common_options == ()


def test_the_same_store_gives_the_same_report(with_gap: GroupReport) -> None:
    again = judged(drawn_people(1, people=1200, gap=0.4), "origin", "gender", reference=NORTH)
    assert again == with_gap


def test_json_is_plain_and_has_the_names_that_are_promised(with_gap: GroupReport) -> None:
    document = json.loads(GROUPS.write(with_gap))
    assert document["format"] == 11
    assert {"overall", "tables", "findings", "left_out", "cut_off"} <= set(document)
    [table] = [one for one in document["tables"] if one["name"] == "origin"]
    assert {"by_group", "comparisons", "reference"} <= set(table)
    gap = table["comparisons"][0]
    assert {"difference", "ratio", "intervals", "tests", "verdict", "worse"} <= set(gap)


def test_the_table_has_a_row_a_group_and_measure(with_gap: GroupReport) -> None:
    header, *rows = groups_csv(with_gap).splitlines()
    assert header == ",".join(COLUMNS)
    assert len({tuple(row.split(",")[:4]) for row in rows if '"' not in row}) == len(
        [row for row in rows if '"' not in row]
    )
    assert sum(row.startswith("origin,south,known,feasibility,") for row in rows) == 1
    listed = csv.DictReader(io.StringIO(groups_csv(with_gap)))
    corrected = [row for row in listed if row["p_adjusted"]]
    assert {row["corrected_for"] for row in corrected} == {"6", "9"}
    assert all(row["p_on_graph"] and row["effective"] for row in corrected)


def test_a_family_of_one_test_has_one_p_value(with_gap: GroupReport) -> None:
    gap = replace(gap_of(with_gap, "south", "feasibility"), verdict=None, smallest_gap=None)
    [judged] = give_verdicts([gap], settings("origin"))
    assert judged.tests.on_graph == judged.tests.adjusted
    assert judged.tests.corrected_for == 1


def test_a_gap_can_be_shown_to_the_disadvantage_of_the_reference(with_gap: GroupReport) -> None:
    """The same people, with the other group as the reference."""
    other = judged(drawn_people(1, people=1200, gap=0.4), "origin", reference={"origin": "south"})
    one, turned = gap_of(with_gap, "south", "feasibility"), gap_of(other, "north", "feasibility")
    assert (one.verdict, one.worse) == ("gap shown", "group")
    assert (turned.verdict, turned.worse) == ("gap shown", "reference")
    assert turned.gap == pytest.approx(-one.gap)
    assert {found.worse for found in other.flags} == {"reference"}


def test_records_hold_codes_and_no_sentences(
    with_gap: GroupReport, without_gap: GroupReport
) -> None:
    """Every text is a name of the user's, a code or a date: no text has a space and a full stop."""

    def texts(value: object) -> list[str]:
        if isinstance(value, dict):
            return [text for one in value.values() for text in texts(one)]
        if isinstance(value, list):
            return [text for one in value for text in texts(one)]
        return [value] if isinstance(value, str) else []

    for report in (with_gap, without_gap):
        found = texts(json.loads(GROUPS.write(report)))
        assert "gap shown" in found or "no gap" in found
        assert not [text for text in found if re.search(r"[.;]( |$)", text) or len(text) > 40]


def test_bins_stand_in_their_order() -> None:
    people = drawn_people(8, attributes=["origin"])
    labels = ["under 5", "5 to under 30", "30 and over"]
    for place, one in enumerate(people):
        one.groups = {"age": labels[place % 3]}
    report = report_of(people, "age", bins={"age": [5, 30]})
    assert [one.name for one in report.tables[0].by_group] == labels


@pytest.mark.parametrize(
    ("groups", "more", "words"),
    [
        ([{"other": "x"}], {}, "the audit has no groups by 'origin'"),
        ([{"origin": "x"}], {}, "everybody's 'origin' is 'x' or unknown"),
        ([{"origin": ""}], {}, "everybody's 'origin' is unknown"),
        ([{"origin": f"{n}.5"} for n in range(21)], {}, "has 21 different numbers"),
        (
            [{"origin": "x"}, {"origin": "y"}],
            {"reference": {"origin": "z"}},
            "there is nobody whose 'origin' is 'z'; known: x, y",
        ),
    ],
)
def test_attributes_that_cannot_be_compared_are_refused_in_one_sentence(
    groups: list[dict[str, str]], more: dict[str, Any], words: str
) -> None:
    people = [Person(groups=one) for one in groups * 20]
    with pytest.raises(InputError, match=re.escape(words)) as raised:
        report_of(people, "origin", **more)
    assert "run the audit again" in str(raised.value)


def test_no_attributes_at_all_are_refused() -> None:
    with pytest.raises(InputError, match="names no protected attribute"):
        report_on([Person(groups={})], settings())


def test_statuses_that_nobody_has_do_no_harm() -> None:
    people = [
        Person(
            groups={"origin": "ns"[n % 2]},
            community=n % 9,
            status=INFEASIBLE if n % 4 else NOT_FOUND,
            simulatability=None,
            relevance=None,
        )
        for n in range(200)
    ]
    report = report_of(people, "origin")
    gap = gap_of(report, "s", "cost")
    assert (gap.difference, gap.verdict) == (0, "not settled")
    assert gap.untested == "alike"
    assert report.overall.outcomes is not None
    assert report.overall.outcomes.cost is not None
    assert report.overall.outcomes.cost.median is None
    assert report.overall.outcomes.simulatability is None
    assert GROUPS.read(GROUPS.write(report)) == report  # so nothing in it is NaN or infinite
