"""What several kinds of nodes cost: in the search, and for each combination of changes.

    python -m benchmarks.kinds [--subjects N]

`search_vs_limit_hiring` and `population_vs_limit_hiring` are our rate of answers about small graphs
divided by that of the bare runtime on the same queries. `kinds_vs_one_kind_MODEL` is the processor
time of combinations of changes on the lending graph given as a graph of several kinds (each kind of
tie a relation), divided by that of the same combinations on the same graph as it is.
`hiring_vs_one_kind` compares a combination on the hiring graph with one on a graph of one kind that
has the same nodes and ties, for GraphSAGE of two layers on both.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.engines import open_bench
from benchmarks.recourse import DROP, LENDING_ATTRIBUTES, World, open_world
from benchmarks.search_speed import SAMPLE, everyone_together, one_subject_at_a_time, report
from benchmarks.what_ifs import combinations_of, edited_graph, seconds
from recourse_audit.graph.graph import Graph, Kinds, Relation
from recourse_audit.graph.readers import from_arrays, read_graph
from recourse_audit.recourse.actions import action_table
from recourse_audit.search.evaluation import Scope
from recourse_audit.settings import load_settings

HIRING = SAMPLE.parent / "hiring"
HIRING_ATTRIBUTES = [
    {"name": "test_score", "direction": "up", "step": 5, "max": 100},
    {"name": "certificates", "direction": "up", "step": 1, "max": 6},
]
MODELS = ("sage", "gcn")
ROUNDS = 3


def as_kinds(graph: Graph) -> Graph:
    """A graph of one kind, given as one of several: each kind of tie is a relation."""
    relations = tuple(
        Relation(name=name, source=0, target=0, directed=False) for name in graph.ties.kinds
    )
    kinds = Kinds(
        names=("person",),
        starts=np.array([0, graph.node_count]),
        blocks=((0, graph.features.shape[1]),),
        relations=relations,
    )
    return replace(graph, kinds=kinds)


def combination_seconds(world: World, subjects: list[int], count: int) -> tuple[float, int]:
    """The processor time of combinations of changes, and how many there were."""
    policy = world.policy(ties=[DROP], attributes=world.attributes)
    edited, taken, asked = edited_graph(world), 0.0, 0
    for subject in subjects:
        table = action_table(policy, subject, world.probes.depth)
        rows = combinations_of(table, count)
        if len(rows):
            taken += seconds(edited, table, rows, "shared")
            asked += len(rows)
    return taken, asked


def against_one_kind(graph: Graph, path: Path, name: str, subjects: int, count: int) -> None:
    """Print what the same combinations cost on the same graph, as several kinds and as one."""
    plain = open_world(name, graph, path, 1, LENDING_ATTRIBUTES)
    kinds = open_world(name, as_kinds(graph), path, 1, LENDING_ATTRIBUTES)
    chosen = plain.refused(subjects, seed=1)
    ratios = []
    for _ in range(ROUNDS):
        one, asked = combination_seconds(plain, chosen, count)
        several, _ = combination_seconds(kinds, chosen, count)
        ratios.append(several / one)
    report(f"kinds_vs_one_kind_{name}", float(np.median(ratios)))
    print(f"# {name}: {asked} combinations, {1e6 * one / asked:.0f} µs each as one kind")


def on_graphs_of_equal_size(hiring: World, path: Path, subjects: int, count: int) -> None:
    """Print the time of a combination on the hiring graph, divided by that on one of one kind."""
    graph, sample = hiring.graph, read_graph(load_settings(SAMPLE / "audit.toml").graph)
    drawn = np.random.default_rng(0).integers(0, sample.node_count, graph.node_count)
    plain = from_arrays(
        sample.features[drawn],
        np.stack((graph.ties.source, graph.ties.target)),
        feature_names=sample.feature_names,
    )
    world = open_world("plain", plain, path, 1, LENDING_ATTRIBUTES)
    ratios = []
    for _ in range(ROUNDS):
        several, asked = combination_seconds(hiring, hiring.refused(subjects, seed=1), count)
        one, others = combination_seconds(world, world.refused(subjects, seed=1), count)
        ratios.append(several / asked / (one / others))
    report("hiring_vs_one_kind", float(np.median(ratios)))
    print(f"# hiring: {asked} combinations, {1e6 * several / asked:.0f} µs each")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=12, help="subjects of the lending sample")
    parser.add_argument("--combinations", type=int, default=2000, help="per subject")
    options = parser.parse_args(argv)
    settings = load_settings(HIRING / "audit.toml")
    graph = read_graph(settings.graph, subject=settings.decision.subject)
    bench = open_bench(graph, settings.model.path, Scope())
    limit = one_subject_at_a_time(bench, "hiring", 60, 60_000)
    everyone_together(bench, "hiring", limit)
    hiring = open_world("hiring", graph, settings.model.path, 1, HIRING_ATTRIBUTES)
    subjects, combinations = options.subjects, options.combinations
    on_graphs_of_equal_size(hiring, SAMPLE / "sage.onnx", subjects, combinations)
    lending = read_graph(load_settings(SAMPLE / "audit.toml").graph)
    for name in MODELS:
        against_one_kind(lending, SAMPLE / f"{name}.onnx", name, subjects, combinations)


if __name__ == "__main__":
    main()
