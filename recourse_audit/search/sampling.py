"""Subjects with too many subtrees: a uniform sample of them, then moves that only improve.

With n subtrees drawn uniformly, and m explanations among all that were evaluated (those drawn and
their parts), an explanation of the m that none of the sample dominates is, with confidence 1 - δ,
dominated through at most ε = (ln m + ln 1/δ) / (n - 1) of all subtrees: each of the m would have
escaped n - 1 independent draws with a chance of (1 - ε)^(n - 1) at most, and there are m of them.
A move to a pair that dominates the one before keeps the bound: what dominates the new one also
dominates the old.
"""

from dataclasses import dataclass
from math import ceil, log

import numpy as np

from recourse_audit.graph.arrays import Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.records import Coverage
from recourse_audit.search.choice import Pairs, Ranking, canonical_order, fronts, winner
from recourse_audit.search.closure import Closure, Trees, canonical
from recourse_audit.search.evaluation import Evaluator
from recourse_audit.search.keys import KeyIndex
from recourse_audit.search.local import LocalGraph
from recourse_audit.search.pairs import PairTable, pair_table
from recourse_audit.search.results import Finding
from recourse_audit.search.scope import Scope
from recourse_audit.search.shapes import SubtreeSampler

RISK = 0.05
KEPT_FOR_MOVES = 0.1
FEWEST_DRAWS = 8
MOST_WALKS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A pair, named so that it can be found again when more trees have come in."""

    size: int
    column: int
    mask: int


def sampled(
    local: LocalGraph, subject: int, total: int | None, evaluator: Evaluator, scope: Scope
) -> Finding:
    """Search within the budget; `total` is the exact number of subtrees, where it is known."""
    generator = np.random.default_rng((scope.seed, subject))
    sampler = SubtreeSampler(local, scope.max_nodes)
    closure = Closure(local, evaluator, scope.max_nodes)
    for_sample = scope.budget - int(scope.budget * KEPT_FOR_MOVES)
    drawn = _fill(closure, sampler, generator, for_sample, scope.max_nodes)
    explanations = len(closure) - 1
    best = _improve(closure, local, generator, scope)
    levels, scores = closure.levels()
    bound = (log(explanations) + log(1 / RISK)) / max(drawn - 1, 1)
    return Finding(
        subject=subject,
        local=local,
        levels=levels,
        simulatability=scores,
        coverage=Coverage(
            kind="sampled",
            drawn=drawn,
            total=round(sampler.estimated_total()) if total is None else total,
            total_is_estimate=total is None,
            bound=min(1.0, bound),
            confidence=1 - RISK,
        ),
        winner=best,
    )


def _fill(
    closure: Closure,
    sampler: SubtreeSampler,
    generator: np.random.Generator,
    budget: int,
    max_nodes: int,
) -> int:
    """Draw without replacement while the trees drawn, with all their parts, fit the budget.

    How many are drawn depends on how many trees there are, never on what the model answers.
    """
    drawn = 0
    seen = {size: KeyIndex() for size in range(2, max_nodes + 1)}
    while True:
        wanted = (budget - len(closure)) // (1 << (max_nodes - 1))
        if wanted < (FEWEST_DRAWS if drawn else 1):
            return drawn
        share = max(sampler.kept, 1) / max(sampler.walked, 1)
        walks = min(ceil(wanted / share), MOST_WALKS * wanted)
        by_shape = [(t, turn) for t, turn in sampler.draw(generator, walks) if len(t)]
        if not by_shape:
            return drawn
        last = np.sort(np.concatenate([turn for _, turn in by_shape]))[:wanted][-1]
        for trees, turn in by_shape:
            early = trees.take(np.flatnonzero(turn <= last))
            _, first_time = seen[early.size].enter(closure.keys_of(early))
            drawn += len(first_time)
            closure.add(early.take(first_time))


def _improve(
    closure: Closure, local: LocalGraph, generator: np.random.Generator, scope: Scope
) -> Pairs:
    """Move to a neighbouring explanation while one dominates and the budget lasts."""
    table, ranking = _ranked(closure, local)
    best = winner(ranking, next(fronts(table)))
    while True:
        room = (scope.budget - len(closure)) // (1 << (scope.max_nodes - 1))
        spot = _spot(table, best)
        moves = neighbours(local, table, best, scope.max_nodes)
        moves = [trees.take(np.flatnonzero(closure.is_new(trees))) for trees in moves]
        number = sum(len(trees) for trees in moves)
        if not number or room < 1:
            return best
        keep = np.sort(generator.permutation(number)[:room])
        first = 0
        for trees in moves:
            here = keep[(keep >= first) & (keep < first + len(trees))] - first
            closure.add(trees.take(here))
            first += len(trees)
        table, ranking = _ranked(closure, local)
        best = _found(table, spot)
        better = _dominating(ranking, best)
        if better is None:
            return best
        best = better


def neighbours(
    local: LocalGraph, table: PairTable, pair: Pairs, max_nodes: int
) -> list[Trees]:
    """The explanations that differ by one leaf from a pair's: one more, or one for another."""
    level, column = table.locate(int(pair.explanation[0]))
    tree = Trees(
        nodes=level.level.nodes[:, [column]],
        ties=level.level.ties[:, [column]],
        parent=level.level.parent[:, [column]],
    )
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


def _ranked(closure: Closure, local: LocalGraph) -> tuple[PairTable, Ranking]:
    levels, scores = closure.levels()
    table = pair_table(levels, scores, local.pairs)
    return table, Ranking(table)


def _spot(table: PairTable, pair: Pairs) -> Spot:
    level, column = table.locate(int(pair.explanation[0]))
    return Spot(size=level.level.size, column=column, mask=int(pair.mask[0]))


def _found(table: PairTable, spot: Spot) -> Pairs:
    level = next(level for level in table.levels if level.level.size == spot.size)
    return Pairs(
        explanation=np.array([spot.column + level.first - 1]), mask=np.array([spot.mask])
    )


def _dominating(ranking: Ranking, pair: Pairs) -> Pairs | None:
    """The best pair of the front that dominates this one, if any does."""
    front = next(fronts(ranking.table))
    own, figures = ranking.figures(pair), ranking.figures(front)
    least = (figures.simulatability >= own.simulatability) & (figures.relevance >= own.relevance)
    more = (figures.simulatability > own.simulatability) | (figures.relevance > own.relevance)
    places: Ints = np.flatnonzero(least & more)
    if not len(places):
        return None
    total = figures.rank_sum[places]
    better = front.take(places[total == total.min()])
    return better.take(canonical_order(ranking.table, better)[:1])
