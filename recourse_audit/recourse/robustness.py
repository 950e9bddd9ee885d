"""How often an option still works when the graph changes a little.

There are two kinds of seeded draws. In one, other people's ties change, each with the probability
`jitter`: half of these ties are gone, the others lead to somebody else who is as far from the
subject. (So no draw brings anybody nearer, and the receptive field stays complete.) In the other,
everybody's attributes shift by normal noise of `jitter` standard deviations; what the option sets
stays as it is. Where features follow from columns, numbers among the columns shift and the features
follow; a category stays what it is, because half a category means nothing.
"""

from dataclasses import dataclass

import numpy as np

from recourse_audit.errors import RoomError
from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.model.queries import Union
from recourse_audit.records.recourse import Robustness, survival
from recourse_audit.recourse.actions import ActionTable
from recourse_audit.recourse.attributes import column_of
from recourse_audit.recourse.context import RecourseContext
from recourse_audit.recourse.encoded_rows import changed_columns, columns_of
from recourse_audit.recourse.variants import Question

MOST_DRAWN_ARCS = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionGraph:
    """A receptive field with an option applied; the subject's place in it; how far everyone is."""

    union: Union
    features: Floats
    subject: int
    hops: Ints


class RobustnessTest:
    """Tests options by draws."""

    def __init__(self, context: RecourseContext, *, draws: int, jitter: float, seed: int) -> None:
        self._context = context
        self._draws = draws
        self._jitter = jitter
        self._seed = seed
        self._spread = context.graph.features.std(axis=0).astype(np.float32)
        self._spreads: dict[str, float] = {}

    def of(
        self,
        table: ActionTable,
        combination: Ints,
        question: Question,
        place: int,
        decisions: Decisions,
    ) -> Robustness | None:
        """In how many draws the subject's option number `place` still works.

        `question` is what the model was asked about it, and `decisions` are those with the option:
        under a quota, others' answers are not drawn again, so the line stays where it is.
        None if no draws are wanted, or the receptive field is too large for them, or an export of
        fixed size has no room for them.
        """
        if not self._draws or len(question.union.sources) * self._draws > MOST_DRAWN_ARCS:
            return None
        try:
            return self._drawn(table, combination, question, place, decisions)
        except RoomError:
            return None

    def _drawn(
        self,
        table: ActionTable,
        combination: Ints,
        question: Question,
        place: int,
        decisions: Decisions,
    ) -> Robustness:
        option_graph = self._option_graph(question)
        generator = np.random.default_rng((self._seed, table.subject, place))
        fixed = _columns(table, combination)
        with_ties = with_attributes = 0

        def working(union: Union, features: Floats) -> int:
            answers = self._answers(option_graph, union, features)
            return int(decisions.favourable(answers, table.subject).sum())

        copies = max(1, self._context.batcher.node_room // len(option_graph.hops))
        for first in range(0, self._draws, copies):
            count = min(copies, self._draws - first)
            drawn = self._with_other_ties(option_graph, generator, count)
            same = np.tile(option_graph.features, (count, 1))
            with_ties += working(drawn, same)
            plain = self._copies(option_graph, count)
            shifted = (
                self._shifted(option_graph, generator, count, fixed)
                if table.encoder is None
                else self._shifted_columns(option_graph, generator, count, table, combination)
            )
            with_attributes += working(plain, shifted)
        return Robustness(
            draws=self._draws,
            ties=survival(with_ties, self._draws),
            attributes=survival(with_attributes, self._draws),
        )

    def _option_graph(self, question: Question) -> OptionGraph:
        subject, depth = int(question.rows[0]), self._context.depth
        return OptionGraph(
            union=question.union,
            features=question.features,
            subject=subject,
            hops=_hops(question.union, subject, depth),
        )

    def _answers(self, option_graph: OptionGraph, union: Union, features: Floats) -> Floats:
        """The subject's answers in some versions."""
        rows = np.arange(len(union)) * len(option_graph.hops) + option_graph.subject
        return self._context.batcher.ask(union, rows, features=features)

    def _copies(self, option_graph: OptionGraph, count: int) -> Union:
        every = np.ones((count, len(option_graph.union.sources)), bool)
        ends = np.stack((option_graph.union.sources, option_graph.union.targets))
        return _union(option_graph, np.broadcast_to(ends[:, None], (2, *every.shape)), every)

    def _with_other_ties(
        self, option_graph: OptionGraph, generator: np.random.Generator, count: int
    ) -> Union:
        """Versions in which other people's ties are gone or lead elsewhere."""
        union, hops = option_graph.union, option_graph.hops
        ends = np.stack((union.sources, union.targets))
        others = np.flatnonzero((ends != option_graph.subject).all(axis=0) & (ends[0] != ends[1]))
        _, first, tie = np.unique(union.ties[others], return_index=True, return_inverse=True)
        shape = (count, len(first))
        change = generator.random(shape) < self._jitter
        move = generator.random(shape) < 0.5
        side = generator.integers(0, 2, shape)
        pick = generator.random(shape)
        left = ends[side, others[first]]
        order = np.argsort(hops, kind="stable")
        low = np.searchsorted(hops[order], hops[left], side="left")
        high = np.searchsorted(hops[order], hops[left], side="right")
        to = order[low + (pick * (high - low)).astype(np.int64)]
        move &= change & (to != ends[1 - side, others[first]])
        gone = change & ~move
        drawn = np.repeat(ends[:, None], count, axis=1)
        keep = np.ones(drawn.shape[1:], bool)
        keep[:, others] = ~gone[:, tie]
        for end in (0, 1):
            own = drawn[end][:, others]
            drawn[end][:, others] = np.where(move[:, tie] & (own == left[:, tie]), to[:, tie], own)
        return _union(option_graph, drawn, keep)

    def _shifted(
        self, option_graph: OptionGraph, generator: np.random.Generator, count: int, fixed: Ints
    ) -> Floats:
        """Features with noise for everyone the model looks at, except on what the option sets."""
        size, depth = len(option_graph.hops), self._context.depth
        near = np.flatnonzero(option_graph.hops <= (1 if depth is None else depth))
        shape = (count, len(near), option_graph.features.shape[1])
        noise = generator.standard_normal(shape, dtype=np.float32) * self._spread * self._jitter
        noise[:, np.searchsorted(near, option_graph.subject), fixed] = 0
        features = np.tile(option_graph.features, (count, 1))
        features.reshape(count, size, -1)[:, near] += noise.astype(features.dtype)
        return features

    def _shifted_columns(
        self,
        option_graph: OptionGraph,
        generator: np.random.Generator,
        count: int,
        table: ActionTable,
        combination: Ints,
    ) -> Floats:
        """Features after noise on the numbers that they follow from.

        Somebody whose features would have no finite value after it keeps theirs.
        """
        encoder, graph = table.encoder, self._context.graph
        assert encoder is not None
        size, depth = len(option_graph.hops), self._context.depth
        near = np.flatnonzero(option_graph.hops <= (1 if depth is None else depth))
        columns = columns_of(graph, encoder.columns, option_graph.union.nodes[near])
        own = int(np.searchsorted(near, option_graph.subject))
        changed = changed_columns(table, [combination.tolist()])
        fixed = {name for action in combination.tolist() for name in table.assigned(action)}
        for name, values in columns.items():
            values[own] = changed[name][0]
        drawn = {}
        for name, values in columns.items():
            drawn[name] = np.tile(values, count)
            if values.dtype.kind == "f":
                noise = generator.standard_normal((count, len(near))) * self._spread_of(name)
                noise[:, own] *= name not in fixed
                drawn[name] = drawn[name].astype(np.float64) + noise.ravel() * self._jitter
                if name in encoder.whole:
                    drawn[name] = np.rint(drawn[name])
        shifted = encoder.encode(drawn).reshape(count, len(near), -1)
        features = np.tile(option_graph.features, (count, 1))
        inside = features.reshape(count, size, -1)
        with np.errstate(over="ignore"):
            shifted = shifted.astype(features.dtype)
        finite = np.isfinite(shifted).all(axis=2, keepdims=True)
        inside[:, near] = np.where(finite, shifted, inside[:, near])
        return features

    def _spread_of(self, name: str) -> float:
        """The standard deviation of a column."""
        if name not in self._spreads:
            column = column_of(self._context.graph, name).astype(np.float64)
            self._spreads[name] = float(np.nanstd(column))
        return self._spreads[name]


def _columns(table: ActionTable, combination: Ints) -> Ints:
    """The features that a combination sets."""
    spans = [slice(table.changes[a], table.changes[a + 1]) for a in combination.tolist()]
    return np.concatenate([np.empty(0, np.int64), *(table.column[span] for span in spans)])


def _hops(union: Union, subject: int, depth: int | None) -> Ints:
    """How far each node is from the subject; without a known depth all are equally far."""
    if depth is None:
        hops = np.ones(len(union.nodes), np.int64)
        hops[subject] = 0
        return hops
    hops = np.full(len(union.nodes), depth + 2)
    hops[subject] = 0
    for hop in range(1, depth + 2):
        for ends in ((union.sources, union.targets), (union.targets, union.sources)):
            next_to = ends[1][hops[ends[0]] == hop - 1]
            hops[next_to] = np.minimum(hops[next_to], hop)
    return hops


def _union(option_graph: OptionGraph, ends: Ints, keep: Mask) -> Union:
    """Versions side by side, each with its own ends and without some arcs."""
    count, size = keep.shape[0], len(option_graph.hops)
    shifted = ends + np.arange(count)[None, :, None] * size
    return Union(
        nodes=np.tile(option_graph.union.nodes, count),
        node_starts=np.arange(count + 1) * size,
        sources=shifted[0][keep],
        targets=shifted[1][keep],
        ties=np.broadcast_to(option_graph.union.ties, keep.shape)[keep],
        arc_starts=np.concatenate(([0], np.cumsum(keep.sum(axis=1)))),
    )
