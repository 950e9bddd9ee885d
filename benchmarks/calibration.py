"""How often groups are flagged when nothing differs, and how often when something does.

`python -m benchmarks.calibration [--networks 400] [--communities 36 12] [--named]` draws networks
in the same way as the lending sample, lets the sample's model decide about everyone, and compares
the groups as `recourse-audit groups` does. Whether a refused person has an option, and at what
cost, is drawn according to the circle the person belongs to: auditing everyone on all these
networks would take days.

Without a gap, communities differ in who lives there (origin) and in how many of their people are
exposed to other people's bad records, and the two are unrelated. Tests that assume independent
people go wrong in this case. With the gap, origin follows exposure, as in the sample. Each network
is one draw, so the true value that an interval should cover is zero without a gap, and the mean
over all networks with one. With `--named`, the communities are those used to draw the network, as
if a column named them; without it, they are those that Louvain's method finds in the ties.
"""

import argparse
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.engines import decisions_of
from recourse_audit.audit.communities import Communities, communities_of
from recourse_audit.bundle.store import SCHEMA
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.readers import read_graph
from recourse_audit.groups.report import group_report
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.records.group_figures import Comparison
from recourse_audit.records.groups import Communities as CommunityRecord
from recourse_audit.settings import (
    GraphSettings,
    GroupSettings,
    ModelSettings,
)

SAMPLES = Path(__file__).parents[1] / "sample_models"
# Shares of the refused who have an option, by circle (plain, thin, entangled), chosen so that the
# simulated networks have the gap of the sample: 67 % of the north and 35 % of the south.
FEASIBLE = np.array([0.62, 0.74, 0.27])
COSTS = np.array([0.5, 1.0, 1.5, 2.0, 3.0])
COST_SHARES = np.array([0.3, 0.3, 0.2, 0.15, 0.05])
SHARES_IN_SOUTH = (0.7, 0.1)
SETTINGS = GroupSettings(attributes=("origin",), draws=999)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One network to draw."""

    seed: int
    gap: bool
    communities: int
    named: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of comparing south with north on one measure."""

    measure: str
    difference: float
    ordinary: float
    clustered: float
    covers: dict[str, tuple[float, float]]
    flagged: bool


def main(arguments: list[str]) -> None:
    """Print how often gaps are flagged, and how often intervals cover the true value."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--networks", type=int, default=400)
    parser.add_argument("--communities", type=int, nargs="+", default=[36, 12])
    parser.add_argument("--only", choices=("gap", "no_gap"), help="run only one of the two halves")
    parser.add_argument(
        "--named", action="store_true", help="use the communities that the network was drawn with"
    )
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args(arguments)
    with ProcessPoolExecutor(asked.workers, mp_context=get_context("spawn")) as pool:
        for gap in (True, False) if asked.only is None else (asked.only == "gap",):
            for communities in asked.communities:
                plans = [
                    Plan(seed=seed, gap=gap, communities=communities, named=asked.named)
                    for seed in range(asked.networks)
                ]
                _tell(plans[0], list(pool.map(findings_of, plans, chunksize=4)))


def _tell(plan: Plan, networks: list[list[Finding]]) -> None:
    found = "_named" if plan.named else ""
    name = f"{'gap' if plan.gap else 'no_gap'}_{plan.communities}{found}"
    _print(f"{name}_networks", len(networks))
    by_measure: dict[str, list[Finding]] = defaultdict(list)
    for findings in networks:
        for one in findings:
            by_measure[one.measure].append(one)
    alpha = SETTINGS.alpha
    for measure, all_found in by_measure.items():
        own = f"{name}_{measure}"
        mean = float(np.mean([one.difference for one in all_found]))
        truth = mean if plan.gap else 0.0
        _print(f"{own}_mean_difference", mean)
        _print(f"{own}_rejected_ordinary", _share(one.ordinary <= alpha for one in all_found))
        _print(f"{own}_rejected_clustered", _share(one.clustered <= alpha for one in all_found))
        for kind in all_found[0].covers:
            covered = (one.covers[kind][0] <= truth <= one.covers[kind][1] for one in all_found)
            _print(f"{own}_covered_{kind}", _share(covered))
        _print(f"{own}_flagged", _share(one.flagged for one in all_found))
    _print(f"{name}_any_flag", _share(any(one.flagged for one in found) for found in networks))


def _print(name: str, value: float) -> None:
    print(f"{name}: {value:.3g}", flush=True)


def _share(events: Iterator[bool]) -> float:
    return float(np.mean(list(events)))


def findings_of(plan: Plan) -> list[Finding]:
    """Draw a network, let the model decide, and compare south with north."""
    with sqlite3.connect(":memory:") as store:
        report = group_report(store, SETTINGS, _fill(store, plan))
    (table,) = report.tables
    turn = 1.0 if table.reference == "north" else -1.0
    return [_finding(one, turn) for one in table.comparisons if one.primary]


def _finding(one: Comparison, turn: float) -> Finding:
    intervals = one.intervals.difference
    kinds = {
        "ordinary": intervals.ordinary,
        "bootstrap": intervals.bootstrap,
        "clustered": intervals.clustered,
    }
    return Finding(
        measure=one.measure,
        difference=turn * one.difference,
        ordinary=1.0 if one.tests.ordinary is None else one.tests.ordinary,
        clustered=1.0 if one.tests.clustered is None else one.tests.clustered,
        covers={
            name: (min(turn * i.low, turn * i.high), max(turn * i.low, turn * i.high))
            for name, i in kinds.items()
            if i is not None
        },
        flagged=one.verdict == "flag",
    )


def _fill(store: sqlite3.Connection, plan: Plan) -> CommunityRecord:
    """Write the tables of a store that groups are compared from; return their communities."""
    lending = _lending(plan.communities)
    random = np.random.default_rng([plan.seed, plan.communities, plan.gap])
    person = lending.draw_people(random)
    south = _south(random, person, plan)
    with TemporaryDirectory() as place:
        graph = _network(lending, random, person, Path(place))
    batcher = QueryBatcher(_model(), pool_of(graph))
    answers = batcher.ask_raw(whole(graph), np.arange(graph.node_count))
    decisions = decisions_of(graph, answers, ("denied", "approved"), ("approved",))
    refused = ~decisions.favourable(answers, np.arange(len(answers)))
    found = Communities(method="column", seed=0, column="dealt", numbers=person.community)
    if not plan.named:
        found = communities_of(graph, SETTINGS, seed=0)
    assert found.numbers is not None
    store.executescript(SCHEMA)
    people = zip(graph.ids.tolist(), refused.tolist(), found.numbers.tolist(), strict=True)
    store.executemany(
        "INSERT INTO people VALUES (?, ?, ?, ?, ?, NULL)",
        [
            (number, name, "denied" if no else "approved", not no, community)
            for number, (name, no, community) in enumerate(people)
        ],
    )
    store.executemany(
        "INSERT INTO members VALUES (?, 'origin', ?)",
        [(number, "south" if one else "north") for number, one in enumerate(south.tolist())],
    )
    feasible = random.random(graph.node_count) < FEASIBLE[person.circle]
    cost = random.choice(COSTS, graph.node_count, p=COST_SHARES)
    for number in np.flatnonzero(refused).tolist():
        store.execute(
            "INSERT INTO subjects (number, chunk, id, decision, favourable, status, error, options,"
            " cheapest_cost, document) VALUES (?, 0, ?, 'denied', 0, ?, '', ?, ?, '{}')",
            (
                number,
                str(graph.ids[number]),
                "verified" if feasible[number] else "certified_infeasible",
                int(feasible[number]),
                float(cost[number]) if feasible[number] else None,
            ),
        )
    return found.record


def _south(random: np.random.Generator, person: Any, plan: Plan) -> np.ndarray:
    """Draw origin: by community without a gap, by exposure with one."""
    if plan.gap:
        follows = random.random(len(person.exposed)) < 0.96
        return np.asarray(np.where(follows, person.exposed, ~person.exposed))
    many = random.permutation(plan.communities) < plan.communities // 2
    share = np.where(many, *SHARES_IN_SOUTH)
    return np.asarray(random.random(len(person.exposed)) < share[person.community])


def _network(lending: ModuleType, random: np.random.Generator, person: Any, place: Path) -> Graph:
    """Write a network and read it back with the program's own readers."""
    age = lending.draw_ages(random)
    attributes = lending.draw_attributes(random, person, age)
    ties = lending.draw_ties(random, person)
    names = [lending.person_name(row) for row in range(lending.PEOPLE)]
    columns = [[f"{value:g}" for value in attributes[name]] for name in lending.FEATURES]
    lending.write_rows(
        place / "nodes.csv", ("id", *lending.FEATURES), zip(names, *columns, strict=True)
    )
    rows = ((names[tie.source], names[tie.target], tie.kind) for tie in ties)
    lending.write_rows(place / "edges.csv", ("source", "target", "kind"), rows)
    return read_graph(
        GraphSettings(
            nodes=place / "nodes.csv", edges=place / "edges.csv", features=lending.FEATURES
        )
    )


@cache
def _model() -> OnnxModel:
    return OnnxModel(ModelSettings(path=SAMPLES / "lending" / "gcn.onnx"))


def _lending(communities: int) -> ModuleType:
    """The module that draws lending networks, set to the given number of communities."""
    sys.path.insert(0, str(SAMPLES))
    try:
        lending = import_module("make_lending")
    finally:
        sys.path.pop(0)
    setattr(lending, "COMMUNITIES", communities)  # noqa: B010  # a constant of a script
    return lending


if __name__ == "__main__":
    main(sys.argv[1:])
