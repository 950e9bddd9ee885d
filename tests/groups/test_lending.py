"""The lending sample with the planted gap is flagged by origin, and its twin is not."""

import csv
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from recourse_audit.api.bundle import Bundle
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


def report_on(sample: str, folder: Path) -> GroupReport:
    """Audit everyone refused in a sample, and compare its groups."""
    for name in ("gcn.onnx", "nodes.csv", "edges.csv"):
        shutil.copy(SAMPLES.parent / sample / name, folder / name)
    text = (SAMPLES.parent / sample / "audit.toml").read_text(encoding="utf-8")
    for old, new in CHANGES.items():
        assert old in text
        text = text.replace(old, new)
    settings = folder / "audit.toml"
    settings.write_text(f"{text}\n[caveats]\ndraws = 0\n", encoding="utf-8")
    run_here(request_for(settings, folder / "out", Selection()))
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


def test_the_planted_gap_is_shown_by_origin(with_gap: GroupReport) -> None:
    flags = {(one.table, one.group, one.measure): one for one in with_gap.flags}
    for measure in ("adverse_rate", "feasibility", "cost"):
        assert flags["origin", "south", measure].direction == "harder"
    refusals = flags["origin", "south", "adverse_rate"]
    assert refusals.interval is not None
    assert refusals.gap == pytest.approx(0.2076, abs=1e-4)
    assert (refusals.interval.low, refusals.interval.high) == pytest.approx((0.11, 0.30), abs=0.015)
    [headline] = [one for one in with_gap.findings if one.headline]
    assert (headline.table, headline.group, headline.measure) == ("origin", "south", "feasibility")


def test_refusals_of_the_south_are_beyond_chance_alone_and_in_the_family(
    with_gap: GroupReport,
) -> None:
    [gap] = [
        one
        for one in with_gap.tables[0].comparisons
        if (one.group, one.measure) == ("south", "adverse_rate")
    ]
    assert gap.tests.on_graph is not None
    assert gap.tests.adjusted is not None
    assert gap.tests.on_graph < 1e-4  # 2e-5 over many seeds
    assert gap.tests.adjusted < 1e-3
    assert gap.precision is not None
    assert 3.0 < gap.precision.redrawn < 4.0


def test_nothing_is_shown_where_nothing_is_planted(with_gap: GroupReport) -> None:
    assert all("origin" in one.table for one in with_gap.flags)


def test_of_the_twin_nothing_is_shown(twin: GroupReport) -> None:
    assert twin.flags == ()
    assert len(twin.tests) + twin.untested == 51
    assert not any(one.headline and one.verdict == "gap shown" for one in twin.findings)


def test_the_adverse_rates_are_those_of_the_card(with_gap: GroupReport, twin: GroupReport) -> None:
    for report, shares in ((with_gap, (20.5, 41.2)), (twin, (32.3, 30.5))):
        groups = report.tables[0].by_group[:2]
        for group, share in zip(groups, shares, strict=True):
            assert group.decisions is not None
            assert group.decisions.adverse_rate.share is not None
            assert round(100 * group.decisions.adverse_rate.share, 1) == share


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
    shown = {
        table.table: {
            name
            for name in ("false_approvals", "false_refusals", "good_refused", "calibration")
            if all(getattr(one, name) is not None for one in table.by_group.values())
        }
        for table in found.tables
    }
    assert {"false_approvals", "false_refusals", "calibration"} <= shown["origin"]
    for table in found.tables:
        names = table.table.split(" x ")
        for group, rates in table.by_group.items():
            mine = [row for row in rows if [row[name] for name in names] == group.split(", ")]
            let_in = [row for row in mine if favourable[row["id"]]]
            refused = [row for row in mine if not favourable[row["id"]]]
            good = [row for row in refused if row["outcome"] == "repaid"]
            defaulted = sum(row["outcome"] == "defaulted" for row in let_in)
            without = sum(statuses[row["id"]] != "verified" for row in good)
            counts = {
                "false_approvals": (defaulted, len(let_in)),
                "false_refusals": (len(good), len(refused)),
            }
            for name, expected in counts.items():
                rate = getattr(rates, name)
                assert rate is None or (rate.count, rate.of) == expected
            if rates.good_refused is not None:
                rate = rates.good_refused.without_option
                assert (rate.count, rate.of) == (without, len(good))
