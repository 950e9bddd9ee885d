"""For subjects with too many subtrees: a uniform sample of them, then moves that only improve.

Draw n subtrees uniformly, each with its at most p = 2^(C-1) - 1 parts that have a tie. An
explanation among them that nothing in the sample dominates is, with confidence 1 - δ, dominated
through at most ε = (ln np + ln 1/δ) / (n - 1) of all subtrees: a part of one draw escapes the
n - 1 others with a probability of at most (1 - ε)^(n - 1), and there are np parts.
A move to a pair that dominates the one before keeps the bound: what dominates the new pair also
dominates the old one.

Subtrees are drawn by *shape*: the sorted tuple of its root's children's shapes; a leaf is (). A
*walk* of a shape maps it into the graph: the root goes to the subject, and each child to any
neighbour of its parent's node. Walks are counted exactly by dynamic programming and drawn uniformly
from the top down. A walk that visits no node twice is a subtree, and each subtree of a shape is
found by as many walks as the shape has automorphisms. So draw a shape with a probability
proportional to walks over automorphisms, draw a walk, and keep it if it is a subtree: all subtrees
are equally likely.

What was drawn is kept in a `Closure`, a set of trees that is closed under taking subtrees. It
contains all counterfactuals of every tree in it, so pairs, ranks and fronts are built from it just
as from the complete enumeration.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import ceil, factorial, log

import numpy as np
from scipy import sparse

from recourse_audit.graph.graph import Floats, Indices, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.records.search import Sample
from recourse_audit.search.evaluation import (
    Evaluator,
    Finding,
    Scope,
    Scores,
    join_scores,
    sort_rows,
)
from recourse_audit.search.pareto import PairTable
from recourse_audit.search.ranking import Layers, RankedPairs, Ranking, canonical_firsts, winners
from recourse_audit.search.subtrees import (
    KeyIndex,
    Level,
    LocalGraph,
    Trees,
    keys_of,
    level_of,
    roots_alone,
    tie_words,
)


def stack_trees(parts: list[Trees]) -> list[Trees]:
    """Put trees of the same size together, the smallest first."""
    by_size = [[part for part in parts if part.size == n] for n in {part.size for part in parts}]
    return [
        Trees(
            nodes=np.concatenate([part.nodes for part in alike], axis=1),
            ties=np.concatenate([part.ties for part in alike], axis=1),
            parent=np.concatenate([part.parent for part in alike], axis=1),
        )
        for alike in sorted(by_size, key=lambda alike: alike[0].size)
    ]


def canonical(trees: Trees) -> Trees:
    """Reorder growth so that each tree without its last leaf is the tree it canonically grew from.

    The largest leaf comes last, then the largest of what remains, and so on down to the root.
    """
    size, count = trees.nodes.shape
    every = np.arange(count)
    above = np.concatenate((np.zeros((1, count), np.int8), trees.parent))
    children = np.zeros((size, count), np.int8)
    for row in range(1, size):
        np.add.at(children, (above[row], every), 1)
    label = trees.nodes.copy()
    label[0] = -1
    order = np.zeros((size, count), np.intp)
    for place in range(size - 1, 0, -1):
        picked = np.where(children == 0, label, -1).argmax(axis=0)
        order[place] = picked
        label[picked, every] = -1
        children[above[picked, every], every] -= 1
    rank = np.argsort(order, axis=0)
    parent = np.take_along_axis(rank, above[order, every].astype(np.intp), axis=0)[1:]
    return Trees(
        nodes=np.take_along_axis(trees.nodes, order, axis=0),
        ties=np.take_along_axis(trees.ties, order[1:] - 1, axis=0),
        parent=parent.astype(np.int8),
    )


def subtrees_of(trees: Trees) -> Iterator[tuple[Trees, Ints]]:
    """All subtrees with a tie of each tree, by the ties they keep, and those trees' columns."""
    for mask in range(1, 1 << (trees.size - 1)):
        kept = [tie for tie in range(trees.size - 1) if mask >> tie & 1]
        rows = [0, *(tie + 1 for tie in kept)]
        place = np.full(trees.size, -1, np.int8)
        place[rows] = np.arange(len(rows))
        columns = np.flatnonzero((place[trees.parent[kept]] >= 0).all(axis=0))
        part = Trees(
            nodes=trees.nodes[rows][:, columns],
            ties=trees.ties[kept][:, columns],
            parent=place[trees.parent[kept][:, columns]],
        )
        yield part, columns


class Closure:
    """Takes in trees, evaluates those that are new, and gives levels and scores."""

    def __init__(self, local: LocalGraph, evaluator: Evaluator, max_nodes: int) -> None:
        self._local = local
        self._evaluator = evaluator
        self.words = tie_words(local.pairs)
        self._index = {size: KeyIndex() for size in range(2, max_nodes + 1)}
        alone = roots_alone(local)
        self._trees: dict[int, Trees] = {1: alone}
        self._scores = {1: evaluator.score(local, [alone])[0]}

    def __len__(self) -> int:
        return 1 + sum(len(index) for index in self._index.values())

    def add(self, trees: Trees) -> None:
        """Add trees with all their subtrees; those not seen before are evaluated."""
        for part, _ in subtrees_of(trees):
            if not len(part):
                continue
            size = part.size
            number, fresh = self._index[size].enter(keys_of(self.words, part.ties))
            new = canonical(part.take(fresh))
            level = level_of(new, np.zeros(len(new), np.int32))
            [score] = self._evaluator.score(self._local, [level])
            if size in self._trees:
                [new] = stack_trees([self._trees[size], new])
                score = join_scores((self._scores[size], score))
            self._trees[size], self._scores[size] = new, score
            same = sort_rows(new.ties[:, number]) == sort_rows(part.ties)
            assert same.all(), "two sets of ties with one 64-bit key"

    def is_finite(self) -> bool:
        return all(np.isfinite(score.simulatability).all() for score in self._scores.values())

    def new_among(self, trees: Trees) -> Trees:
        """The trees that are not in it yet; of several equal ones, the first."""
        index = KeyIndex()
        if trees.size in self._trees:
            index.enter(keys_of(self.words, self._trees[trees.size].ties))
        return trees.take(index.enter(keys_of(self.words, trees.ties))[1])

    def levels(self) -> tuple[tuple[Level, ...], Scores]:
        """Levels of growth, the root alone first, and the scores of all trees in their order."""
        sizes, levels = sorted(self._trees), []
        for size in sizes:
            trees = self._trees[size]
            owner = np.zeros(len(trees), np.int64)
            if size > 2:
                owner = self._index[size - 1].enter(keys_of(self.words, trees.ties[:-1]))[0]
            levels.append(level_of(trees, owner))
        return tuple(levels), join_scores([self._scores[size] for size in sizes])


Shape = tuple["Shape", ...]
LEAF: Shape = ()


@cache
def shapes(size: int) -> tuple[Shape, ...]:
    """All shapes of rooted trees with `size` nodes, each once."""
    if size == 1:
        return (LEAF,)
    return tuple(sorted({tuple(sorted(forest)) for forest in _forests(size - 1, size - 1)}))


def _forests(total: int, largest: int) -> Iterator[tuple[Shape, ...]]:
    """Collections of shapes with `total` nodes in all, none larger than `largest`."""
    if total == 0:
        yield ()
        return
    for size in range(min(total, largest), 0, -1):
        for number in range(1, total // size + 1):
            for chosen in combinations_with_replacement(shapes(size), number):
                for rest in _forests(total - number * size, size - 1):
                    yield (*chosen, *rest)


def automorphisms(shape: Shape) -> int:
    """In how many ways a rooted tree maps onto itself."""
    ways = 1
    for child, number in Counter(shape).items():
        ways *= factorial(number) * automorphisms(child) ** number
    return ways


class SubtreeSampler:
    """Draws subtrees of the only root of a local graph, uniformly and independently.

    Setting up costs one sparse product per shape that occurs; a draw, one binary search per node.
    """

    def __init__(self, local: LocalGraph, max_nodes: int) -> None:
        self._local = local
        count = len(local.nodes)
        ones = np.ones(len(local.neighbour))
        self._ties = sparse.csr_array((ones, local.neighbour, local.starts), shape=(count, count))
        self._walks: dict[Shape, Floats] = {LEAF: np.ones(count)}
        self._sums: dict[Shape, Floats] = {}
        self._root = int(local.roots[0])
        self._shapes = [shape for size in range(2, max_nodes + 1) for shape in shapes(size)]
        self.weights = np.array(
            [self._count_walks(shape)[self._root] / automorphisms(shape) for shape in self._shapes]
        )
        self.walked = 0
        self.kept = 0

    def draw(self, generator: np.random.Generator, count: int) -> list[tuple[Trees, Ints]]:
        """Draw `count` walks; return the subtrees among them, by shape, and when each was drawn."""
        chosen = generator.multinomial(count, self.weights / self.weights.sum())
        turns = generator.permutation(count)
        drawn, first = [], 0
        for shape, number in zip(self._shapes, chosen.tolist(), strict=True):
            trees, simple = self._walk(shape, number, generator)
            drawn.append((trees, turns[first : first + number][simple]))
            first += number
            self.kept += len(simple)
        self.walked += count
        return drawn

    def estimated_total(self) -> float:
        """How many subtrees there are, judging by the share of walks that are; root included."""
        return 1.0 + float(self.weights.sum()) * self.kept / max(self.walked, 1)

    def _count_walks(self, shape: Shape) -> Floats:
        """How many walks of a shape start at each node."""
        if shape not in self._walks:
            walks = np.ones(len(self._local.nodes))
            for child in shape:
                walks = walks * (self._ties @ self._count_walks(child))
            self._walks[shape] = walks
        return self._walks[shape]

    def _walk(
        self, shape: Shape, number: int, generator: np.random.Generator
    ) -> tuple[Trees, Ints]:
        """Draw walks of one shape, and keep those that visit no node twice."""
        nodes = [np.full(number, self._root, np.int32)]
        ties: list[Indices] = []
        parents: list[int] = []
        todo = [(0, child) for child in shape]
        while todo:
            parent, child = todo.pop(0)
            position = self._step(nodes[parent], child, generator)
            todo += [(len(nodes), grandchild) for grandchild in child]
            nodes.append(self._local.neighbour[position])
            ties.append(self._local.tie[position])
            parents.append(parent)
        simple = np.ones(number, bool)
        for first, second in combinations(nodes, 2):
            simple &= first != second
        keep = np.flatnonzero(simple)
        grown = np.repeat(np.array(parents, np.int8)[:, None], len(keep), axis=1)
        trees = Trees(nodes=np.stack(nodes)[:, keep], ties=np.stack(ties)[:, keep], parent=grown)
        return trees, keep

    def _step(self, start: Indices, child: Shape, generator: np.random.Generator) -> Ints:
        """Choose a neighbour of each node, with a probability proportional to its walks."""
        starts = self._local.starts
        chance = generator.random(len(start))
        if child == LEAF:
            degree = starts[start + 1] - starts[start]
            step: Ints = np.minimum((chance * degree).astype(np.int64), degree - 1)
            return starts[start] + step
        if child not in self._sums:
            # Each node's list is scaled to add up to one: beside those of a large hub, the plain
            # sums of other nodes would vanish.
            along = self._count_walks(child)[self._local.neighbour]
            owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            total = np.bincount(owner, weights=along, minlength=len(starts) - 1)
            share = along / np.where(total > 0, total, 1.0)[owner]
            self._sums[child] = np.concatenate(([0.0], np.cumsum(share)))
        sums = self._sums[child]
        low, high = sums[starts[start]], sums[starts[start + 1]]
        position = np.searchsorted(sums, low + chance * (high - low), side="right") - 1
        return np.asarray(np.clip(position, starts[start], starts[start + 1] - 1))


RISK = 0.05
KEPT_FOR_MOVES = 0.1
FEWEST_DRAWS = 8
LEAST_ROUND = 2000
MOST_WALKS = 50


def sample_subtrees(
    local: LocalGraph, subject: int, total: int | None, evaluator: Evaluator, scope: Scope
) -> Finding:
    """Search within the budget; `total` is the exact number of subtrees, where it is known."""
    generator = np.random.default_rng((scope.seed, subject))
    sampler = SubtreeSampler(local, scope.max_nodes)
    closure = Closure(local, evaluator, scope.max_nodes)
    for_sample = scope.budget - int(scope.budget * KEPT_FOR_MOVES)
    drawn = _fill(closure, sampler, generator, for_sample, scope.max_nodes)
    best = _improve(closure, local, generator, scope)
    levels, scores = closure.levels()
    of = round(sampler.estimated_total()) if total is None else total
    return Finding(
        subjects=np.array([subject]),
        local=local,
        levels=levels,
        scores=scores,
        totals=(of,),
        sample=Sample(
            drawn=drawn,
            of=of,
            of_is_estimate=total is None,
            bound=dominated_share(drawn, scope.max_nodes),
            confidence=1 - RISK,
        ),
        winner=best,
    )


def dominated_share(drawn: int, max_nodes: int) -> float:
    """The share of all subtrees through which the best of a sample may yet be dominated."""
    parts = drawn * (2 ** (max_nodes - 1) - 1)
    return min(1.0, (log(parts) + log(1 / RISK)) / max(drawn - 1, 1))


def _fill(
    closure: Closure,
    sampler: SubtreeSampler,
    generator: np.random.Generator,
    budget: int,
    max_nodes: int,
) -> int:
    """Draw without replacement while the trees drawn, with all their parts, fit the budget.

    How many are drawn depends on how many trees there are, never on the model's answers.
    """
    drawn = 0
    seen = {size: KeyIndex() for size in range(2, max_nodes + 1)}
    while True:
        wanted = max((budget - len(closure)) // (1 << (max_nodes - 1)), 1)
        if drawn and wanted < max(FEWEST_DRAWS, budget // LEAST_ROUND):
            return drawn
        share = max(sampler.kept, 1) / max(sampler.walked, 1)
        walks = min(ceil(wanted / share), MOST_WALKS * wanted)
        by_shape = [(t, turn) for t, turn in sampler.draw(generator, walks) if len(t)]
        if not by_shape:
            continue  # every walk of one tie is a subtree, so this ends
        last = np.sort(np.concatenate([turn for _, turn in by_shape]))[:wanted][-1]
        early_ones = [trees.take(np.flatnonzero(turn <= last)) for trees, turn in by_shape]
        for early in stack_trees(early_ones):
            _, first_time = seen[early.size].enter(keys_of(closure.words, early.ties))
            drawn += len(first_time)
            closure.add(early.take(first_time))


def _improve(
    closure: Closure, local: LocalGraph, generator: np.random.Generator, scope: Scope
) -> int | None:
    """Move to a neighbouring explanation while one dominates; None if an answer is no number."""
    if not closure.is_finite():
        return None
    levels, ranking = _rank(closure, local)
    best = int(winners(ranking.table, Layers(ranking).peel())[0])
    while True:
        room = (scope.budget - len(closure)) // (1 << (scope.max_nodes - 1))
        explanation, mask = ranking.table.places(np.array([best]))
        ties = int(ranking.table.sizes(explanation)[0])
        # The place of a tree in its level, which later trees do not change.
        place = int(explanation[0]) - ranking.table.blocks[ties - 1].first_explanation
        tree = levels[ties].take(np.array([place]))
        moves = [closure.new_among(trees) for trees in neighbours(local, tree, scope.max_nodes)]
        number = sum(len(trees) for trees in moves)
        if not number or room < 1:
            return best
        keep, first = np.sort(generator.permutation(number)[:room]), 0
        for trees in moves:
            here = keep[(keep >= first) & (keep < first + len(trees))] - first
            closure.add(trees.take(here))
            first += len(trees)
        if not closure.is_finite():
            return None
        levels, ranking = _rank(closure, local)
        block = ranking.table.blocks[ties - 1]
        best = block.first + int(mask[0]) * block.count + place
        better = _find_dominating(ranking, best)
        if better is None:
            return best
        best = better


def neighbours(local: LocalGraph, tree: Trees, max_nodes: int) -> list[Trees]:
    """The trees that differ from a single one by one leaf: one more, or one exchanged."""
    bases = [tree] if tree.size < max_nodes else []
    parents = set(tree.parent[:, 0].tolist())
    for leaf in range(1, tree.size):
        if leaf not in parents:
            rows = [row for row in range(tree.size) if row != leaf]
            ties = [row - 1 for row in rows[1:]]
            hung = tree.parent[ties]
            bases.append(
                Trees(
                    nodes=tree.nodes[rows],
                    ties=tree.ties[ties],
                    parent=np.where(hung > leaf, hung - 1, hung).astype(np.int8),
                )
            )
    return [_with_leaf(local, base) for base in bases]


def _with_leaf(local: LocalGraph, base: Trees) -> Trees:
    """Hang every possible leaf on one tree."""
    nodes = base.nodes[:, 0]
    position, parent = spans(local.starts, nodes)
    leaf = local.neighbour[position]
    free = np.flatnonzero(~np.isin(leaf, nodes))
    count = len(free)
    return canonical(
        Trees(
            nodes=np.concatenate((np.repeat(base.nodes, count, axis=1), leaf[None, free])),
            ties=np.concatenate(
                (np.repeat(base.ties, count, axis=1), local.tie[position[free]][None])
            ),
            parent=np.concatenate(
                (np.repeat(base.parent, count, axis=1), parent[None, free].astype(np.int8))
            ),
        )
    )


def _rank(closure: Closure, local: LocalGraph) -> tuple[tuple[Level, ...], Ranking]:
    levels, scores = closure.levels()
    return levels, Ranking(PairTable(levels, scores.simulatability, local.pairs))


def _find_dominating(ranking: Ranking, pair: int) -> int | None:
    """The best pair of the front that dominates this one, if any does."""
    front, own = Layers(ranking).peel(), RankedPairs(ranking, np.array([pair]))
    at_least = (front.simulatability >= own.simulatability) & (front.relevance >= own.relevance)
    more = (front.simulatability > own.simulatability) | (front.relevance > own.relevance)
    places: Ints = np.flatnonzero(at_least & more)
    if not len(places):
        return None
    total = front.rank_sum[places]
    best = places[total == total.min()]
    return int(canonical_firsts(ranking.table, front.pairs[best], front.root[best])[0])
