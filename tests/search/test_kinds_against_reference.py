"""Explanations over several kinds of nodes are what the definitions say, on models of PyG."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log
from typing import Any

import networkx as nx
import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from recourse_audit.graph.columns import to_strings
from recourse_audit.graph.graph import Graph, Relation
from recourse_audit.model.batching import QueryBatcher, Sharing
from recourse_audit.model.probes import identify_output
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.model.session import OnnxModel
from recourse_audit.model.state_sharing import Form
from recourse_audit.search.evaluation import Scope
from recourse_audit.search.moexp import Search
from tests.cases import Cases
from tests.decisions import decisions_over
from tests.model.kind_files import FILES, FOLDER, build, settings_for
from tests.search.engine import Recorder
from tests.search.reference import (
    Reference,
    Tie,
    TieSet,
    neighbourhood_ties,
    rooted_trees,
    simulatability,
    tie_between,
)
from tests.search.test_against_reference import (
    SHOWN,
    assert_same_grid,
    assert_same_ranks_and_layers,
    assert_same_result,
)

# GraphSAGE, attention, and a GCN over recommendations; and the form in which states are shared.
ARCHITECTURES: dict[str, Form] = {"flat": (), "gat": (), "gcn": (1,), "rgcn": ()}
RELATIONS = (
    Relation(name="works_at", source=0, target=1),
    Relation(name="recommends", source=0, target=0),
)
SEEDS = range(100)


@dataclass(frozen=True, kw_only=True)
class World:
    """People and employers in one numbering, people first; ties as (relation, from, to)."""

    people: int
    features: dict[str, NDArray[np.float32]]
    ties_by_relation: tuple[tuple[int, int, int], ...]

    @cached_property
    def drawing(self) -> "nx.Graph[int]":
        drawing: nx.Graph[int] = nx.Graph()
        drawing.add_nodes_from(range(self.people + len(self.features["employer"])))
        drawing.add_edges_from((a, b) for _, a, b in self.ties_by_relation)
        return drawing

    @property
    def ties(self) -> TieSet:
        return frozenset(tie_between(*ends) for ends in self.drawing.edges)

    def for_engine(self) -> Graph:
        ties = {}
        for number, relation in enumerate(RELATIONS):
            shift = self.people if relation.target else 0
            pairs = [(a, b - shift) for kind, a, b in self.ties_by_relation if kind == number]
            ties[relation.name] = np.array(pairs, np.int64).reshape(-1, 2).T
        graph = build(self.features, ties, RELATIONS)
        return replace(graph, ids=to_strings(range(graph.node_count)))


def random_world(seed: int) -> World:
    """A small world; some people have no job, some two ties to one employer, some no tie at all."""
    random = np.random.default_rng(seed)
    people, employers = int(random.integers(3, 7)), int(random.integers(1, 4))
    ties: list[tuple[int, int, int]] = []
    for person in range(people):
        number = 0 if seed % 9 == 0 else int(random.choice([0, 1, 1, 2]))
        jobs = random.integers(0, employers, number)
        ties += [(0, person, people + int(job)) for job in jobs]
    for _ in range(int(random.integers(1, 7))):
        first, second = random.choice(people, 2, replace=False).tolist()
        ties.append((1, first, second))
    return World(
        people=people,
        features={
            "person": random.normal(size=(people, 4)).astype(np.float32),
            "employer": random.normal(size=(employers, 3)).astype(np.float32),
        },
        ties_by_relation=tuple(ties),
    )


class KindOracle:
    """Asks a file about one subgraph at a time, with inputs written out by loops."""

    def __init__(self, name: str) -> None:
        self._facts = FILES[name]
        self._session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx")
        self._pads = name == "gat"

    def log_probabilities(
        self, world: World, nodes: Sequence[int], ties: TieSet
    ) -> dict[int, list[float]]:
        """A row of natural log-probabilities for each person of a subgraph."""
        people = sorted(node for node in nodes if node < world.people)
        employers = sorted(node - world.people for node in nodes if node >= world.people)
        own = [row for row in world.ties_by_relation if tie_between(*row[1:]) in ties]
        tables = {
            "person": world.features["person"][people],
            "employer": world.features["employer"][employers],
        }
        if self._pads and not employers:  # attention fails without; nobody is tied to this one
            tables["employer"] = np.zeros((1, 3), np.float32)
        place = {node: k for k, node in enumerate(people)}
        place |= {node + world.people: k for k, node in enumerate(employers)}
        feeds: dict[str, Any] = {}
        if "x" in self._facts["roles"]:
            wide = [np.pad(table, ((0, 0), (0, 4 - table.shape[1]))) for table in tables.values()]
            order = [*people, *(node + world.people for node in employers)]
            where = {node: k for k, node in enumerate(order)}
            arcs = [(where[a], where[b], 0 if kind == 0 else 2) for kind, a, b in own]
            arcs += [(where[b], where[a], 1) for kind, a, b in own if kind == 0]
            feeds["x"] = np.concatenate(wide)
            feeds["edge_index"] = np.array([arc[:2] for arc in arcs], np.int64).reshape(-1, 2).T
            feeds["edge_index"] = feeds["edge_index"].copy()
            feeds["edge_type"] = np.array([arc[2] for arc in arcs], np.int64)
            feeds["node_type"] = np.array([0] * len(people) + [1] * len(employers), np.int64)
        else:
            for port, role in self._facts["roles"].items():
                what, of, *back = role.split(":")
                if what == "features":
                    feeds[port] = tables[of]
                    continue
                number = [relation.name for relation in RELATIONS].index(of)
                pairs = [(place[a], place[b]) for kind, a, b in own if kind == number]
                ends = np.array(pairs, np.int64).reshape(-1, 2).T
                feeds[port] = np.ascontiguousarray(ends[::-1] if back else ends)
        raw = self._session.run(None, feeds)[0]
        rows = {}
        for node in people:
            row = raw[place[node]].astype(float).tolist()
            total = log(sum(exp(value) for value in row))
            rows[node] = [value - total for value in row]
        return rows


class KindReference:
    """The values of every subgraph of a subject, one query each."""

    def __init__(self, world: World, name: str) -> None:
        self.graph = world
        self._oracle = KindOracle(name)
        self.whole = self._oracle.log_probabilities(world, list(world.drawing), world.ties)

    def answer(self, ties: TieSet, subject: int) -> list[float]:
        nodes = sorted({subject, *(end for tie in ties for end in tie)})
        return self._oracle.log_probabilities(self.graph, nodes, ties)[subject]

    def values(self, subject: int, *, max_nodes: int, max_hops: int) -> dict[TieSet, float]:
        near: frozenset[Tie] = neighbourhood_ties(self.graph, subject, max_hops)  # type: ignore[arg-type]
        return {
            tree: simulatability(self.whole[subject], self.answer(tree, subject))
            for tree in rooted_trees(near, subject, max_nodes)
        }


def assert_equals_the_reference(name: str, seed: int, *, shared: bool) -> None:
    world = random_world(seed)
    graph = world.for_engine()
    settings = settings_for(name)
    model = OnnxModel(settings, kinds=graph.kinds)
    model.feeder.pads = name == "gat"
    identify_output(model, settings, [pool_of(graph)], np.random.default_rng(0))
    sharing = Sharing(depth=2, form=ARCHITECTURES[name]) if shared else None
    batcher = QueryBatcher(model, pool_of(graph), sharing=sharing)
    answers = np.full((graph.node_count, 2), np.nan)
    people = np.arange(world.people)
    answers[people] = batcher.ask(whole(graph), people)
    decisions = decisions_over(answers, ["c1"], ["c0", "c1"], graph=graph)
    scope = Scope(max_nodes=3 + seed % 2, max_hops=1 + seed % 3, counterfactuals=SHOWN)
    with pytest.MonkeyPatch.context() as patched:
        recorder = Recorder(graph, patched)
        found = recorder.run(Search(graph, batcher, decisions, scope), range(world.people))
    slow = KindReference(world, name)
    for subject in {0, world.people - 1}:
        result, table = found[subject]
        values = slow.values(subject, max_nodes=scope.max_nodes, max_hops=scope.max_hops)
        assert table.values == pytest.approx(values, abs=1e-5)
        reference = Reference(table.values)
        if reference.pairs:
            assert_same_ranks_and_layers(reference, table)
            assert_same_result(reference, result, slow, subject)  # type: ignore[arg-type]
            assert_same_grid(reference, result)


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("seeds", [SEEDS[:8], pytest.param(SEEDS[8:], marks=pytest.mark.long)])
def test_explanations_over_kinds_equal_the_reference(seeds: range, name: str) -> None:
    cases = Cases()
    for seed in seeds:
        with cases(seed):
            shared = bool(seed % 4)
            assert_equals_the_reference(name, seed + 1000 * len(name), shared=shared)
    cases.assert_sound()


def test_the_random_worlds_hold_what_is_awkward() -> None:
    worlds = [random_world(seed + 1000 * len(name)) for name in ARCHITECTURES for seed in SEEDS]
    assert any(len({*world.ties_by_relation}) < len(world.ties_by_relation) for world in worlds)
    assert any(world.drawing.degree(0) == 0 for world in worlds)
    assert any(not any(row[0] == 0 for row in world.ties_by_relation) for world in worlds)
    both = [{row[1:] for row in world.ties_by_relation if row[0] == 1} for world in worlds]
    assert any((b, a) in rows for rows in both for a, b in rows)
