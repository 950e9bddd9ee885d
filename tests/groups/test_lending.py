"""The lending sample with the planted gap is flagged by origin, and its twin is not."""

import csv
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from recourse_audit.api import Bundle
from recourse_audit.audit.load import Selection
from recourse_audit.records.groups import GroupReport
from tests.audits import SAMPLES
from tests.bundles import request_for, run_here

# Small explanations, one change and no draws: some 25 milliseconds a person.
CHANGES = {
    "max_nodes = 4": "max_nodes = 2",
    "max_changes = 3": "max_changes = 1",
    "options = 3": "options = 1",
    "[recourse]\n": "[recourse]\nbudget = 300\ndraws = 0\n",
}


ALL_ATTRIBUTES = 'attributes = ["origin", "gender", "age_band"]'
# Decisions are everybody's: for gaps in refusals it is enough to audit a few.
FEW = 4


def report_on(sample: str, folder: Path, *, few: bool = False) -> GroupReport:
    """Compare the groups of a sample, having audited everyone refused, or a few for one table."""
    for name in ("gcn.onnx", "nodes.csv", "edges.csv"):
        shutil.copy(SAMPLES.parent / sample / name, folder / name)
    text = (SAMPLES.parent / sample / "audit.toml").read_text(encoding="utf-8")
    for old, new in CHANGES.items():
        assert old in text
        text = text.replace(old, new)
    if few:
        assert ALL_ATTRIBUTES in text
        text = text.replace(ALL_ATTRIBUTES, 'attributes = ["origin"]\nredraws = 200')
    settings = folder / "audit.toml"
    settings.write_text(f"{text}\n[caveats]\ndraws = 0\n", encoding="utf-8")
    run_here(request_for(settings, folder / "out", Selection(sample=FEW if few else None)))
    return Bundle(folder / "out").groups()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lending")


@pytest.fixture(scope="module")
def with_gap(folder: Path) -> GroupReport:
    return report_on("lending", folder)


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> GroupReport:
    return report_on("lending_twin", tmp_path_factory.mktemp("twin"))


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> tuple[GroupReport, GroupReport]:
    """The sample and its twin by origin alone."""
    first, second = (
        report_on(name, tmp_path_factory.mktemp(name), few=True)
        for name in ("lending", "lending_twin")
    )
    return first, second


def test_more_refusals_are_shown_where_they_were_planted_and_nowhere_else(
    refusals: tuple[GroupReport, GroupReport],
) -> None:
    with_gap, twin = refusals
    [flag] = with_gap.flags
    assert (flag.table, flag.group, flag.measure) == ("origin", "south", "adverse_rate")
    assert flag.worse == "group"
    check_refusals(with_gap)
    assert twin.flags == ()


def test_the_planted_gap_comes_with_ties_and_its_twin_has_none(
    refusals: tuple[GroupReport, GroupReport],
) -> None:
    found = [report.own_data.tables[0] for report in refusals]
    assert [table.carried for table in found] == [{"south": "ties"}, {"south": "neither"}]
    rates = [found[0].by_group[group].approved_alone for group in ("south", "north")]
    assert [(rate.count, rate.of) for rate in rates] == [(218, 593), (111, 851)]
    gaps = {gap.measure: gap for gap in found[0].gaps}
    assert gaps["given_alone"].gap == pytest.approx(0.207, abs=5e-4)
    assert {gap.worse for name, gap in gaps.items() if name != "alone"} == {"group"}
    assert gaps["alone"].no_gap
    ties = refusals[0].own_data.ties["origin"]
    assert ties.within.value == pytest.approx(0.595, abs=5e-4)
    assert ties.by_chance == pytest.approx(0.517, abs=5e-4)
    assert ties.told["south"].value == pytest.approx(0.688, abs=5e-4)


def test_the_adverse_rates_are_those_of_the_card(
    refusals: tuple[GroupReport, GroupReport],
) -> None:
    for report, shares in zip(refusals, ((20.5, 41.2), (32.3, 30.5)), strict=True):
        groups = report.tables[0].by_group[:2]
        for group, share in zip(groups, shares, strict=True):
            assert group.decisions is not None
            assert group.decisions.adverse_rate.share is not None
            assert round(100 * group.decisions.adverse_rate.share, 1) == share


def check_refusals(report: GroupReport) -> None:
    """How many more of the south are refused, beyond chance, and between which limits."""
    [gap] = [
        one
        for one in report.tables[0].comparisons
        if (one.group, one.measure) == ("south", "adverse_rate")
    ]
    assert gap.difference == pytest.approx(0.2076, abs=1e-4)
    assert gap.gap_interval is not None
    assert (gap.gap_interval.low, gap.gap_interval.high) == pytest.approx((0.11, 0.30), abs=0.015)
    assert gap.tests.on_graph is not None
    assert gap.tests.adjusted is not None
    assert gap.tests.on_graph < 1e-4  # 2e-5 over many seeds
    assert gap.tests.adjusted < 1e-3
    assert gap.precision is not None
    assert 3.0 < gap.precision.redrawn < 4.0


@pytest.mark.long
def test_the_planted_gap_is_shown_by_origin(with_gap: GroupReport) -> None:
    flags = {(one.table, one.group, one.measure): one for one in with_gap.flags}
    for measure in ("adverse_rate", "feasibility", "cost"):
        assert flags["origin", "south", measure].worse == "group"
    check_refusals(with_gap)
    [headline] = [one for one in with_gap.findings if one.headline]
    assert (headline.table, headline.group, headline.measure) == ("origin", "south", "feasibility")


@pytest.mark.long
def test_nothing_is_shown_where_nothing_is_planted(with_gap: GroupReport) -> None:
    assert all("origin" in one.table for one in with_gap.flags)


@pytest.mark.long
def test_of_the_twin_nothing_is_shown(twin: GroupReport) -> None:
    assert twin.flags == ()
    assert len(twin.tests) + twin.untested == 51
    assert not any(one.headline and one.verdict == "gap shown" for one in twin.findings)


@pytest.mark.long
def test_error_rates_are_those_of_the_tables(with_gap: GroupReport, folder: Path) -> None:
    """Counted from nodes.csv, the decisions and the statuses alone."""
    with closing(sqlite3.connect(folder / "out" / "store.sqlite")) as store:
        favourable = dict(store.execute("SELECT id, favourable FROM people"))
        statuses = dict(store.execute("SELECT id, status FROM subjects"))
    with (folder / "nodes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = with_gap.error_rates
    assert found is not None
    assert (found.favourable, found.refused) == (1279, 521)
    assert (found.favourable_known, found.refused_known) == (1279, 521)
    for table in with_gap.rates.tables:
        names = table.table.split(" x ")
        for group, rates in table.by_group.items():
            mine = [row for row in rows if [row[name] for name in names] == group.split(", ")]
            good = [row for row in mine if row["outcome"] == "repaid"]
            bad = [row for row in mine if row["outcome"] == "defaulted"]
            let_in = [row for row in mine if favourable[row["id"]]]
            counts = {
                "false_negative_rate": (sum(row not in let_in for row in good), len(good)),
                "false_positive_rate": (sum(row in let_in for row in bad), len(bad)),
                "false_discovery_rate": (sum(row in bad for row in let_in), len(let_in)),
                "selection_rate": (len(let_in), len(mine)),
            }
            for name, (count, of) in counts.items():
                rate = {str(each): own for each, own in rates.items()}.get(name)
                assert rate is None or (rate.count, rate.of) == (count, of)
    [by_origin] = [table for table in with_gap.rates.tables if table.table == "origin"]
    north, south = by_origin.by_group["north"], by_origin.by_group["south"]
    # The two rates of good people who are refused rank the groups in opposite ways.
    assert (north["false_negative_rate"].share or 0) < (south["false_negative_rate"].share or 0)
    assert (north["false_omission_rate"].share or 0) > (south["false_omission_rate"].share or 0)
    for each in found.tables:
        names = each.table.split(" x ")
        for group, own in each.by_group.items():
            mine = [row for row in rows if [row[name] for name in names] == group.split(", ")]
            good = [row for row in mine if row["outcome"] == "repaid" and not favourable[row["id"]]]
            without = sum(statuses[row["id"]] != "verified" for row in good)
            if own.good_refused is not None:
                rate = own.good_refused.without_option
                assert (rate.count, rate.of) == (without, len(good))
