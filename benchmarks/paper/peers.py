"""Counterfactual methods and our options: who changes decisions, with how many ties, how fast.

All methods get the same subjects and the same judge: the ONNX file on the whole graph after the
edit. On a graph of many classes, any other class counts. Random edits of the same size are always
included, because published methods have lost to them.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.paper.cache import Key, ResultCache
from benchmarks.paper.datasets import SEED, Dataset
from benchmarks.paper.edits import AT_ONCE, Around, Edit, answer_after, pair_between
from benchmarks.paper.explanations import pairs_around
from benchmarks.paper.plans import Plan
from benchmarks.paper.rivals import (
    ANY,
    CF,
    GREEDY,
    METHODS,
    MOST_CHANGES,
    NEW,
    OWN,
    RANDOM,
    RANDOM_NEW,
    RANDOM_TRIES,
)
from benchmarks.recourse import DROP, DROP_AND_ADD, World, open_world
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.records.recourse import TieAction
from recourse_audit.recourse.search import RecourseSearch

PART = "peers"
GREEDY_CANDIDATES = 100
DEPTH = 2
FAVOURABLE = {"german": 1}
POLICIES: dict[str, dict[str, Any]] = {
    OWN: DROP,
    ANY: {"kind": "*", "whose": "any", "allow": ["drop"]},
    NEW: DROP_AND_ADD,
}


def compare_peers(cache: ResultCache, dataset: Dataset, plan: Plan) -> None:
    """Compute the missing results of a data set, subject by subject, all methods in one go."""
    setting = plan.peer_setting(dataset.fingerprint)
    contest = Contest(dataset, plan)
    for subject in contest.subjects(plan.peers[dataset.name]):
        keys = {
            method: Key(
                part=PART, graph=dataset.name, method=method, subject=subject, setting=setting
            )
            for method in METHODS
        }
        # Random edits are as large as ours, so all methods of a subject are run together.
        if not all(cache.has(key) for key in keys.values()):
            for method, document in contest.results(subject):
                cache.put(keys[method], document)


class Contest:
    """One graph on which all methods are tried."""

    def __init__(self, dataset: Dataset, plan: Plan) -> None:
        self._dataset, self._plan = dataset, plan
        favourable = FAVOURABLE.get(dataset.name)
        self._world: World = open_world(dataset.name, dataset.graph, dataset.onnx, favourable, [])
        self._searches: dict[tuple[str, tuple[str, ...]], RecourseSearch] = {}

    def subjects(self, count: int) -> list[int]:
        """Test nodes to try; where one class is favourable, only those that were refused."""
        world = self._world
        decided = world.decided()
        able = [
            node
            for node in self._dataset.test_nodes(world.graph.node_count)
            if decided[node] not in world.favourable
        ]
        return able[:count]

    def results(self, subject: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run every method on a subject."""
        sizes: dict[str, int] = {}
        tries = 1
        for method in POLICIES:
            document = self._timed(subject, partial(self._ours, method, subject))
            sizes[method] = document["size"] or MOST_CHANGES
            tries = max(tries, document["queries"]) if method == ANY else tries
            yield method, document
        yield CF, self._timed(subject, lambda: self._masked(subject))
        yield GREEDY, self._timed(subject, lambda: self._greedy(subject))
        yield RANDOM, self._drawn(subject, lambda random: self._cut(subject, sizes[ANY], random))
        yield RANDOM_TRIES, self._timed(subject, lambda: self._tries(subject, sizes[ANY], tries))
        yield (
            RANDOM_NEW,
            self._drawn(
                subject,
                lambda random: self._tied(subject, sizes[NEW], random),
            ),
        )

    def _flips(self, subject: int, edit: Edit) -> bool:
        world = self._world
        answer = answer_after(world.graph, world.batcher, subject, edit)
        return bool(world.decisions(world.hoped_for(subject)).favourable(answer[None], subject)[0])

    def _timed(self, subject: int, find: Callable[[], tuple[Edit | None, int]]) -> dict[str, Any]:
        """Time the search for an edit, then judge the edit on the whole graph, off the clock."""
        start = time.perf_counter()
        edit, queries = find()
        seconds = time.perf_counter() - start
        return {
            "claimed": edit is not None,
            "flipped": float(edit is not None and self._flips(subject, edit)),
            "size": 0 if edit is None else len(edit),
            "seconds": seconds,
            "queries": queries,
        }

    def _drawn(self, subject: int, draw: Callable[[np.random.Generator], Edit]) -> dict[str, Any]:
        """Draw several edits, and report the share that changes the decision."""
        start = time.perf_counter()
        random = np.random.default_rng((SEED, subject, 1))
        edits = [draw(random) for _ in range(self._plan.draws)]
        flips = [self._flips(subject, edit) for edit in edits]
        return {
            "claimed": True,
            "flipped": float(np.mean(flips)),
            "size": len(edits[0]),
            "seconds": (time.perf_counter() - start) / len(edits),
            "queries": 1,
        }

    def _ours(self, method: str, subject: int) -> tuple[Edit | None, int]:
        world, hoped = self._world, self._world.hoped_for(subject)
        if (method, hoped) not in self._searches:
            policy = world.policy(
                ties=[POLICIES[method]],
                budget=self._plan.peer_budget,
                draws=0,
                max_changes=MOST_CHANGES,
                options=1,
            )
            decisions = world.decisions(hoped)
            edited = EditedGraph(world.graph, world.batcher, world.probes, decisions)
            self._searches[method, hoped] = RecourseSearch(edited, policy, SEED)
        found = self._searches[method, hoped].run(subject, None)
        if not found.options:
            return None, found.evaluations
        removed, added = [], []
        for action in found.options[0].actions:
            assert isinstance(action, TieAction), action
            one, other = (world.graph.find(name) for name in action.tie)
            if action.do == "drop":
                removed.append(pair_between(world.graph, one, other))
            else:
                added.append((one, other))
        return Edit(removed=tuple(removed), added=tuple(added)), found.evaluations

    def _masked(self, subject: int) -> tuple[Edit | None, int]:
        from benchmarks.paper.cf_gnn import counterfactual

        found = counterfactual(self._dataset.network, subject)
        return (None if found.removed is None else Edit(removed=found.removed)), found.passes

    def _greedy(self, subject: int) -> tuple[Edit | None, int]:
        """Up to three times, remove the tie whose removal helps most; own ties come first."""
        world = self._world
        graph = world.graph
        around = Around(graph, world.batcher, subject, DEPTH)
        candidates = self._near(subject)[:GREEDY_CANDIDATES]
        decisions = world.decisions(world.hoped_for(subject))
        gone: tuple[int, ...] = ()
        queries = 0
        for _ in range(MOST_CHANGES):
            trials = [(*gone, pair) for pair in candidates if pair not in gone]
            if not trials:
                break
            answers = around.answers(trials)
            queries += len(trials)
            lead = decisions.lead(answers, subject)
            gone = trials[int(lead.argmax())]
            if lead.max() > 0:
                return Edit(removed=gone), queries
        return None, queries

    def _near(self, subject: int) -> list[int]:
        """The pairs that the answer can depend on, the subject's own first."""
        graph = self._world.graph
        pairs = pairs_around(graph, subject, DEPTH)
        own = (graph.pair_low[pairs] == subject) | (graph.pair_high[pairs] == subject)
        return [*pairs[own].tolist(), *pairs[~own].tolist()]

    def _cut(self, subject: int, size: int, random: np.random.Generator) -> Edit:
        pairs = pairs_around(self._world.graph, subject, DEPTH)
        return Edit(removed=tuple(random.permutation(pairs)[:size].tolist()))

    def _tries(self, subject: int, size: int, tries: int) -> tuple[Edit | None, int]:
        """Draw edits until the decision changes, at most as many as our search tried."""
        world = self._world
        around = Around(world.graph, world.batcher, subject, DEPTH)
        random = np.random.default_rng((SEED, subject, 2))
        edits = [self._cut(subject, size, random) for _ in range(tries)]
        decisions = world.decisions(world.hoped_for(subject))
        for first in range(0, tries, AT_ONCE):
            some = edits[first : first + AT_ONCE]
            answers = around.answers([edit.removed for edit in some])
            flipped = decisions.favourable(answers, subject)
            if flipped.any():
                found = int(flipped.argmax())
                return some[found], first + found + 1
        return None, tries

    def _tied(self, subject: int, size: int, random: np.random.Generator) -> Edit:
        graph = self._world.graph
        able = np.ones(graph.node_count, bool)
        able[[subject, *graph.neighbours(subject).tolist()]] = False
        others = random.permutation(np.flatnonzero(able))[:size]
        return Edit(added=tuple((subject, other) for other in others.tolist()))
