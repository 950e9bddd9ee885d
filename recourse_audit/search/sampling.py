"""For subjects with too many subtrees: a uniform sample of them, then moves that only improve.

Draw n subtrees uniformly, each with its at most p = 2^(C-1) - 1 parts that have a tie. An
explanation among them that nothing in the sample dominates is, with confidence 1 - δ, dominated
through at most ε = (ln np + ln 1/δ) / (n - 1) of all subtrees: a part of one draw escapes the
n - 1 others with a probability of at most (1 - ε)^(n - 1), and there are np parts.
A move to a pair that dominates the one before keeps the bound: what dominates the new pair also
dominates the old one.
"""

from math import ceil, log

import numpy as np

from recourse_audit.graph.arrays import Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.records.search import Sample
from recourse_audit.search.closure import Closure, Trees, canonical, stacked
from recourse_audit.search.evaluation import Evaluator
from recourse_audit.search.keys import KeyIndex
from recourse_audit.search.local import LocalGraph
from recourse_audit.search.pairs import PairTable, pair_table
from recourse_audit.search.ranking import Layers, Ranking, canonical_firsts, winners
from recourse_audit.search.results import Finding, Scope
from recourse_audit.search.shapes import SubtreeSampler
from recourse_audit.search.subtrees import Level

RISK = 0.05
KEPT_FOR_MOVES = 0.1
FEWEST_DRAWS = 8
LEAST_ROUND = 2000
MOST_WALKS = 50


def sampled(
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
        for early in stacked(early_ones):
            _, first_time = seen[early.size].enter(closure.keys_of(early))
            drawn += len(first_time)
            closure.add(early.take(first_time))


def _improve(
    closure: Closure, local: LocalGraph, generator: np.random.Generator, scope: Scope
) -> int | None:
    """Move to a neighbouring explanation while one dominates and the budget lasts.

    None where an answer is not a number, so that nothing can be ranked.
    """
    if not closure.is_finite():
        return None
    levels, ranking = _ranked(closure, local)
    best = int(winners(ranking.table, Layers(ranking).peel())[0])
    while True:
        room = (scope.budget - len(closure)) // (1 << (scope.max_nodes - 1))
        tree, place = _tree_of(levels, ranking.table, best)
        moves = neighbours(local, tree, scope.max_nodes)
        moves = [trees.take(np.flatnonzero(closure.is_new(trees))) for trees in moves]
        number = sum(len(trees) for trees in moves)
        if not number or room < 1:
            return best
        keep = np.sort(generator.permutation(number)[:room])
        mask, first = int(ranking.table.places(np.array([best]))[1][0]), 0
        for trees in moves:
            here = keep[(keep >= first) & (keep < first + len(trees))] - first
            closure.add(trees.take(here))
            first += len(trees)
        if not closure.is_finite():
            return None
        levels, ranking = _ranked(closure, local)
        best = _found(ranking.table, tree.size, place, mask)
        better = _dominating(ranking, best)
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


def _ranked(closure: Closure, local: LocalGraph) -> tuple[tuple[Level, ...], Ranking]:
    levels, scores = closure.levels()
    return levels, Ranking(pair_table(levels, scores.simulatability, local.pairs))


def _tree_of(levels: tuple[Level, ...], table: PairTable, pair: int) -> tuple[Trees, int]:
    """A pair's explanation, and its place in its level, which later trees do not change."""
    place = int(table.explanation(np.array([pair]))[0]) + 1
    for level in levels:
        if place < len(level):
            tree = level.select(np.array([place]))
            return Trees(nodes=tree.nodes, ties=tree.ties, parent=tree.parent), place
        place -= len(level)
    raise IndexError(pair)


def _found(table: PairTable, size: int, place: int, mask: int) -> int:
    """The pair of one mask of the explanation at a place in the level of a size."""
    block = table.blocks[size - 2]
    return block.first + mask * block.count + place


def _dominating(ranking: Ranking, pair: int) -> int | None:
    """The best pair of the front that dominates this one, if any does."""
    front = Layers(ranking).peel()
    own, figures = ranking.figures(np.array([pair])), front.figures
    least = (figures.simulatability >= own.simulatability) & (figures.relevance >= own.relevance)
    more = (figures.simulatability > own.simulatability) | (figures.relevance > own.relevance)
    places: Ints = np.flatnonzero(least & more)
    if not len(places):
        return None
    total = figures.rank_sum[places]
    best = places[total == total.min()]
    return int(canonical_firsts(ranking.table, front.pairs[best], front.root[best])[0])
