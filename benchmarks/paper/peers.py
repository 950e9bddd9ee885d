"""Who changes the decision, with how many ties, how fast: others' counterfactuals and our options.

The same subjects for all, and one judge: the ONNX file on the whole graph after the edit. On a
graph of many classes any other class counts. Random edits of the same size are always there,
because published methods have lost to them.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.paper.edits import Around, Edit, answer_after, pair_between
from benchmarks.paper.explanations import pairs_around
from benchmarks.paper.cache import Kept, Key
from benchmarks.paper.paper_datasets import SEED, Place
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
from recourse_audit.recourse.options import RecourseSearch
from recourse_audit.settings import DecisionSettings

PART = "peers"
GREEDY_CANDIDATES = 100
DEPTH = 2
FAVOURABLE = {"german": 1}
POLICIES: dict[str, dict[str, Any]] = {
    OWN: DROP,
    ANY: {"kind": "*", "whose": "any", "allow": ["drop"]},
    NEW: DROP_AND_ADD,
}


def compare_peers(kept: Kept, place: Place, plan: Plan) -> None:
    """Make what is missing for a graph, subject by subject, all methods of one together."""
    settled = plan.peer_setting(place.fingerprint)
    contest = Contest(place, plan)
    for subject in contest.subjects(plan.peers[place.name]):
        keys = {
            method: Key(
                part=PART, graph=place.name, method=method, subject=subject, setting=settled
            )
            for method in METHODS
        }
        # The random edits follow the sizes of ours, so a subject is done as a whole.
        if not all(kept.holds(key) for key in keys.values()):
            for method, document in contest.results(subject):
                kept.put(keys[method], document)


class Contest:
    """One graph on which all methods are tried."""

    def __init__(self, place: Place, plan: Plan) -> None:
        self._place, self._plan = place, plan
        favourable = FAVOURABLE.get(place.name)
        self._world: World = open_world(place.name, place.graph, place.onnx, favourable, [])
        self._searches: dict[tuple[str, tuple[str, ...]], RecourseSearch] = {}

    def subjects(self, count: int) -> list[int]:
        """Test nodes whose decision could be another; refused ones where one class is wanted."""
        world = self._world
        decided = np.array(world.classes)[world.answers.argmax(axis=1)]
        able = [
            node
            for node in self._place.test_nodes(world.graph.node_count)
            if decided[node] not in world.favourable
        ]
        return able[:count]

    def results(self, subject: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """What every method makes of a subject."""
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
        return world.classes[int(answer.argmax())] in world.hoped_for(subject)

    def _timed(self, subject: int, find: Callable[[], tuple[Edit | None, int]]) -> dict[str, Any]:
        """Find an edit, and judge it on the whole graph, which is not part of the time."""
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
        """The share of several draws that change the decision."""
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
            decision = DecisionSettings(classes=world.classes, favourable=hoped)
            self._searches[method, hoped] = RecourseSearch(
                world.graph, world.batcher, world.probes, world.answers, policy, decision, SEED
            )
        found = self._searches[method, hoped].run(subject, None)
        if not found.options:
            return None, found.evaluations
        removed, added = [], []
        for action in found.options[0].actions:
            assert action.tie is not None
            one, other = (world.graph.find(name) for name in action.tie)
            if action.do == "drop":
                removed.append(pair_between(world.graph, one, other))
            else:
                added.append((one, other))
        return Edit(removed=tuple(removed), added=tuple(added)), found.evaluations

    def _masked(self, subject: int) -> tuple[Edit | None, int]:
        from benchmarks.paper.cf_gnn import counterfactual

        found = counterfactual(self._place.network, subject)
        return (None if found.removed is None else Edit(removed=found.removed)), found.passes

    def _greedy(self, subject: int) -> tuple[Edit | None, int]:
        """Remove, up to three times, the tie whose loss helps most; own ties are tried first."""
        world = self._world
        graph = world.graph
        around = Around(graph, world.batcher, subject, DEPTH)
        candidates = self._near(subject)[:GREEDY_CANDIDATES]
        hoped = np.isin(world.classes, world.hoped_for(subject))
        gone: tuple[int, ...] = ()
        queries = 0
        for _ in range(MOST_CHANGES):
            trials = [(*gone, pair) for pair in candidates if pair not in gone]
            if not trials:
                break
            answers = around.answers(trials)
            queries += len(trials)
            lead = answers[:, hoped].max(axis=1) - answers[:, ~hoped].max(axis=1)
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
        """Draw until the decision changes, as often as our search asked."""
        world = self._world
        around = Around(world.graph, world.batcher, subject, DEPTH)
        random = np.random.default_rng((SEED, subject, 2))
        edits = [self._cut(subject, size, random) for _ in range(tries)]
        hoped = np.isin(world.classes, world.hoped_for(subject))
        for first in range(0, tries, 32):
            some = edits[first : first + 32]
            decided = around.answers([edit.removed for edit in some]).argmax(axis=1)
            for place, wanted in enumerate(hoped[decided].tolist()):
                if wanted:
                    return some[place], first + place + 1
        return None, tries

    def _tied(self, subject: int, size: int, random: np.random.Generator) -> Edit:
        graph = self._world.graph
        able = np.ones(graph.node_count, bool)
        able[[subject, *graph.neighbours(subject).tolist()]] = False
        others = random.permutation(np.flatnonzero(able))[:size]
        return Edit(added=tuple((subject, other) for other in others.tolist()))
