"""How close verification comes to the speed of the bare runtime, and what policies make possible.

    python -m benchmarks.recourse [--data DIR --models DIR] [--subjects N] [--budget B]

`recourse_vs_limit` is the number of evaluations per second of the verifier, divided by that of the
bare runtime on the same packed queries. Then, for ties only, attributes only and both, come the
share of subjects with each status and the mean cost of the cheapest option.
"""

import argparse
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import load_graph
from benchmarks.engines import Recorder, answers_of, decisions_of
from benchmarks.search_speed import SAMPLE, report
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import read_graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.model.edits import receptive_field
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.model import ProbeReport
from recourse_audit.recourse.actions import NONE, action_table
from recourse_audit.recourse.conditions import every
from recourse_audit.recourse.policy import Policy
from recourse_audit.recourse.search import RecourseSearch
from recourse_audit.recourse.trials import Verifier
from recourse_audit.settings import (
    ModelSettings,
    load_settings,
    parse_settings,
)

STATUSES = ("verified", "certified_infeasible", "not_found_within_budget", "error")
DROP = {"kind": "*", "allow": ["drop"]}
DROP_AND_ADD = {"kind": "*", "allow": ["drop", "add"]}
NOTHING = {"kind": "*", "allow": []}
LENDING_ATTRIBUTES = [
    {"name": "savings", "direction": "up", "step": 2500, "max": 20000, "cost": 0.5},
    {"name": "loan_amount", "direction": "down", "step": 2500, "min": 1000, "cost": 0.5},
]
GERMAN_ATTRIBUTES = [
    {"name": "LoanDuration", "direction": "down", "step": 6, "min": 4, "cost": 0.5},
    {"name": "LoanAmount", "direction": "down", "step": 1000, "min": 250, "cost": 0.5},
    {"name": "HasGuarantor", "direction": "up", "step": 1, "integer": True},
    {"name": "SavingsAccountBalance_geq_100", "direction": "up", "step": 1, "integer": True},
    {"name": "CheckingAccountBalance_geq_0", "direction": "up", "step": 1, "integer": True},
]
WORDS = 12


@dataclass
class World:
    """A graph with a model. If no class is favourable, every class but the decided one counts."""

    name: str
    graph: Graph
    model: OnnxModel
    probes: ProbeReport
    batcher: QueryBatcher
    answers: np.ndarray
    classes: tuple[str, ...]
    favourable: tuple[str, ...]
    attributes: list[dict[str, Any]]

    def policy(self, **recourse: Any) -> Policy:
        tables = {
            "model": {"path": str(self.model.path)},
            "graph": {"npz": "unused.npz"},
            "decision": {"classes": self.classes, "favourable": self.classes[:1]},
            "recourse": recourse,
        }
        return Policy(parse_settings(tables, folder=Path(), origin="benchmark"), self.graph)

    def decisions(self, favourable: tuple[str, ...] = ()) -> Decisions:
        """The rule that turns answers into decisions, with some classes favourable."""
        hoped = favourable or self.favourable or self.classes[:1]
        return decisions_of(self.graph, self.answers, self.classes, hoped)

    def decided(self) -> list[str]:
        """The class that the model decides on for each node of the whole graph."""
        return self.decisions().names_of(self.answers, np.arange(len(self.answers)))

    def hoped_for(self, subject: int) -> tuple[str, ...]:
        """The classes that count as favourable for a subject."""
        if self.favourable:
            return self.favourable
        [decided] = self.decisions().names_of(self.answers[[subject]], subject)
        return tuple(name for name in self.classes if name != decided)

    def refused(self, count: int, seed: int) -> list[int]:
        """Draw subjects uniformly among those whom the model refused."""
        decided = self.decided()[: self.graph.person_count]
        refused = np.flatnonzero(~np.isin(decided, self.favourable))
        return np.random.default_rng(seed).permutation(refused)[:count].tolist()


def open_world(
    name: str, graph: Graph, path: Path, favourable: int | None, attributes: list[dict[str, Any]]
) -> World:
    settings = ModelSettings(path=path)
    model = OnnxModel(settings, kinds=graph.kinds)
    probes = probe(model, settings, pool_of(graph))
    batcher = QueryBatcher(model, pool_of(graph))
    answers = answers_of(batcher, graph)
    classes = tuple(f"class {number}" for number in range(answers.shape[1]))
    hoped = () if favourable is None else (classes[favourable],)
    return World(name, graph, model, probes, batcher, answers, classes, hoped, attributes)


def against_the_runtime(world: World, name: str, rules: dict[str, Any], count: int) -> None:
    """Print the verifier's rate divided by the runtime's, on single changes and on pairs."""
    policy = world.policy(ties=[rules], attributes=world.attributes)
    decisions = world.decisions(world.classes[-1:])
    edited = EditedGraph(world.graph, world.batcher, world.probes, decisions)
    session, engine, runtime, answers, nodes = world.model._session, 0.0, 0.0, 0, []
    for subject in world.refused(12, seed=1):
        table = action_table(policy, subject, world.probes.depth)
        pairs = every(table.group, 2)
        pairs = pairs[np.random.default_rng(subject).permutation(len(pairs))[:count]]
        singles = np.column_stack((np.arange(len(table)), np.full(len(table), NONE)))[:count]
        rows = np.concatenate((singles, pairs))
        recorder = Recorder(session)
        world.model._session = recorder
        Verifier(edited.about(subject), table).answers(rows)
        world.model._session = session
        start = time.perf_counter()
        verifier = Verifier(edited.about(subject), table)
        verifier.answers(rows)
        middle = time.perf_counter()
        for outputs, feeds in recorder.asked:
            session.run(outputs, feeds)
        runtime += time.perf_counter() - middle
        engine += middle - start
        answers += len(rows)
        nodes.append(len(receptive_field(world.graph, subject, world.probes.depth).nodes))
    report(f"recourse_vs_limit_{name}", runtime / engine)
    print(
        f"# {name}: {answers} evaluations of {len(nodes)} subjects, {np.mean(nodes):.0f} nodes "
        f"around each, {answers / engine:.0f} per second"
    )


def shares(world: World, kind: str, recourse: dict[str, Any], count: int, budget: int) -> None:
    """Print the share of each status, and the mean cost of the cheapest option."""
    policy = world.policy(**recourse, budget=budget, draws=0)
    searches: dict[tuple[str, ...], RecourseSearch] = {}
    statuses: Counter[str] = Counter()
    costs, start = [], time.perf_counter()
    subjects = world.refused(count, seed=2)
    for subject in subjects:
        hoped = world.hoped_for(subject)
        if hoped not in searches:
            decisions = world.decisions(hoped)
            edited = EditedGraph(world.graph, world.batcher, world.probes, decisions)
            searches[hoped] = RecourseSearch(edited, policy, 0)
        found = searches[hoped].run(subject, None)
        statuses[found.status] += 1
        costs += [option.cost for option in found.options[:1]]
    for status in STATUSES:
        report(f"recourse_{world.name}_{kind}_{status}", statuses[status] / len(subjects))
    if costs:
        report(f"recourse_{world.name}_{kind}_mean_cost", float(np.mean(costs)))
    seconds = (time.perf_counter() - start) / len(subjects)
    print(
        f"# {world.name}, {kind}: {len(subjects)} subjects, at most {budget} evaluations each, "
        f"{seconds:.2f} s per subject"
    )


def measure(world: World, count: int, budget: int, evaluations: int) -> None:
    against_the_runtime(world, world.name, DROP, evaluations)
    against_the_runtime(world, f"{world.name}_with_new_ties", DROP_AND_ADD, evaluations)
    shares(world, "ties", {"ties": [DROP]}, count, budget)
    shares(world, "new_ties", {"ties": [DROP_AND_ADD]}, count, budget)
    only = {"ties": [NOTHING], "attributes": world.attributes}
    shares(world, "attributes", only, count, budget)
    shares(world, "both", {"ties": [DROP], "attributes": world.attributes}, count, budget)


def common_words(graph: Graph) -> list[dict[str, Any]]:
    """Rules that let the most frequent words of a paper be added or removed."""
    words = np.argsort(-graph.features.sum(axis=0), kind="stable")[:WORDS]
    names = [graph.feature_names[word] for word in words.tolist()]
    return [{"name": name, "step": 1, "min": 0, "max": 1, "integer": True} for name in names]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the npz data sets")
    parser.add_argument("--models", type=Path, help="folder with the models (see benchmarks.train)")
    parser.add_argument("--subjects", type=int, default=24, help="subjects per policy")
    parser.add_argument("--budget", type=int, default=1000, help="evaluations per subject")
    options = parser.parse_args(argv)
    settings = load_settings(SAMPLE / "audit.toml")
    graph = read_graph(settings.graph)
    lending = open_world("lending", graph, settings.model.path, 1, LENDING_ATTRIBUTES)
    measure(lending, options.subjects, options.budget, 300)
    if options.data is None or options.models is None:
        print("# for real graphs, pass --data DIR and --models DIR")
        return
    graph = load_graph(options.data, "cora")
    cora = open_world("cora", graph, options.models / "cora.onnx", None, common_words(graph))
    measure(cora, options.subjects, options.budget, 300)
    graph = load_graph(options.data, "german")
    german = open_world("german", graph, options.models / "german.onnx", 1, GERMAN_ATTRIBUTES)
    # Nearly everyone is within two hops of everyone, so each evaluation covers the whole graph.
    measure(german, max(options.subjects // 4, 1), max(options.budget // 4, 1), 60)


if __name__ == "__main__":
    main()
