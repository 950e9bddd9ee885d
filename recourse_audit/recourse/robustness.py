"""How often an option still works when the graph changes a little.

There are two kinds of seeded draws. In one, other people's ties change, each with the probability
`jitter`: half of these ties are gone, the others lead to somebody else who is as far from the
subject. (So no draw brings anybody nearer, and the receptive field stays complete.) In the other,
everybody's attributes shift by normal noise of `jitter` standard deviations; what the option sets
stays as it is. Where features follow from columns, numbers among the columns shift and the features
follow; a category stays what it is, because half a category means nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import RoomError
from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.model.edits import Edits, edits_of
from recourse_audit.model.queries import Union
from recourse_audit.records.recourse import Robustness, survival
from recourse_audit.recourse.actions import ActionTable
from recourse_audit.recourse.attributes import column_of
from recourse_audit.recourse.context import RecourseContext
from recourse_audit.recourse.edited import ActionEdits
from recourse_audit.recourse.encoded_rows import changed_columns, columns_of
from recourse_audit.recourse.variants import Question

MOST_DRAWN_ARCS = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionGraph:
    """A receptive field with an option applied; the subject's place in it; how far everyone is.

    `arcs` numbers the union's arcs as in the graph; `NONE` for those that the option adds.
    """

    union: Union
    features: Floats
    arcs: NDArray[np.integer]
    subject: int
    hops: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draws:
    """Versions of an option's graph, some at a time.

    `ends` and `keep` say where each arc leads and which are left, one row per version; `near` are
    the places whose features are replaced, by the rows of `features`, version after version.
    """

    ends: Ints
    keep: Mask
    near: Ints
    features: Floats


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
        copies = max(1, self._context.batcher.node_room // len(option_graph.hops))
        with_ties, with_attributes = [], []
        for first in range(0, self._draws, copies):
            count = min(copies, self._draws - first)
            with_ties.append(self._with_other_ties(option_graph, generator, count))
            near, shifted = (
                self._shifted(option_graph, generator, count, _columns(table, combination))
                if table.encoder is None
                else self._shifted_columns(option_graph, generator, count, table, combination)
            )
            with_attributes.append(_unmoved(option_graph, count, near, shifted))
        draws = [*with_ties, *with_attributes]
        works = self._working(table, combination, option_graph, draws, decisions)
        return Robustness(
            draws=self._draws,
            ties=survival(int(works[: self._draws].sum()), self._draws),
            attributes=survival(int(works[self._draws :].sum()), self._draws),
        )

    def _working(
        self,
        table: ActionTable,
        combination: Ints,
        option_graph: OptionGraph,
        draws: list[_Draws],
        decisions: Decisions,
    ) -> Mask:
        """In which versions the decision is favourable."""
        what_ifs = self._context.what_ifs
        if what_ifs is not None:
            own = option_graph.features[option_graph.subject]
            option = ActionEdits(table, own).of(combination[None])
            answers = what_ifs.ask(_edits(table.subject, option, option_graph, draws))
        else:
            answers = np.concatenate([self._answers(option_graph, some) for some in draws])
        return decisions.favourable(answers, table.subject)

    def _option_graph(self, question: Question) -> OptionGraph:
        subject, depth = int(question.rows[0]), self._context.depth
        return OptionGraph(
            union=question.union,
            features=question.features,
            arcs=question.arcs,
            subject=subject,
            hops=_hops(question.union, subject, depth),
        )

    def _answers(self, option_graph: OptionGraph, draws: _Draws) -> Floats:
        """The subject's answers in some versions, each of them a graph of its own."""
        union = _union(option_graph, draws.ends, draws.keep)
        size = len(option_graph.hops)
        features = np.tile(option_graph.features, (len(union), 1))
        inside = features.reshape(len(union), size, -1)
        if len(draws.near):
            inside[:, draws.near] = draws.features.reshape(len(union), len(draws.near), -1)
        rows = np.arange(len(union)) * size + option_graph.subject
        return self._context.batcher.ask(union, rows, features=features)

    def _with_other_ties(
        self, option_graph: OptionGraph, generator: np.random.Generator, count: int
    ) -> _Draws:
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
        # Those who are as far from the subject as whoever loses a tie are next to each other.
        bounds = np.searchsorted(hops[order], np.arange(int(hops.max()) + 2))
        low, high = bounds[hops[left]], bounds[hops[left] + 1]
        to = order[low + (pick * (high - low)).astype(np.int64)]
        move &= change & (to != ends[1 - side, others[first]])
        gone = change & ~move
        drawn = np.repeat(ends[:, None], count, axis=1)
        keep = np.ones(drawn.shape[1:], bool)
        by_tie = others[np.argsort(tie, kind="stable")]
        starts = np.concatenate(([0], np.cumsum(np.bincount(tie, minlength=len(first)))))
        version, changed = np.nonzero(gone)
        arcs, owner = spans(starts, changed)
        keep[version[owner], by_tie[arcs]] = False
        version, changed = np.nonzero(move)
        arcs, owner = spans(starts, changed)
        arcs, version, changed = by_tie[arcs], version[owner], changed[owner]
        for end in (0, 1):
            there = ends[end, arcs] == left[version, changed]
            drawn[end, version[there], arcs[there]] = to[version[there], changed[there]]
        nobody = np.empty(0, np.int64)
        return _Draws(ends=drawn, keep=keep, near=nobody, features=option_graph.features[:0])

    def _shifted(
        self, option_graph: OptionGraph, generator: np.random.Generator, count: int, fixed: Ints
    ) -> tuple[Ints, Floats]:
        """Features with noise for everyone the model looks at, except on what the option sets.

        Says who these are, and gives their features, version after version.
        """
        depth = self._context.depth
        near = np.flatnonzero(option_graph.hops <= (1 if depth is None else depth))
        shape = (count, len(near), option_graph.features.shape[1])
        noise = generator.standard_normal(shape, dtype=np.float32) * self._spread * self._jitter
        noise[:, np.searchsorted(near, option_graph.subject), fixed] = 0
        features = np.tile(option_graph.features[near], (count, 1, 1))
        features += noise.astype(features.dtype)
        return near, features.reshape(count * len(near), -1)

    def _shifted_columns(
        self,
        option_graph: OptionGraph,
        generator: np.random.Generator,
        count: int,
        table: ActionTable,
        combination: Ints,
    ) -> tuple[Ints, Floats]:
        """The same with noise on the numbers that features follow from.

        Somebody whose features would have no finite value after it keeps theirs.
        """
        encoder, graph = table.encoder, self._context.graph
        assert encoder is not None
        depth = self._context.depth
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
        known = option_graph.features[near]
        with np.errstate(over="ignore"):
            shifted = shifted.astype(known.dtype)
        finite = np.isfinite(shifted).all(axis=2, keepdims=True)
        return near, np.where(finite, shifted, known).reshape(count * len(near), -1)

    def _spread_of(self, name: str) -> float:
        """The standard deviation of a column."""
        if name not in self._spreads:
            column = column_of(self._context.graph, name).astype(np.float64)
            self._spreads[name] = float(np.nanstd(column))
        return self._spreads[name]


def _columns(table: ActionTable, combination: Ints) -> Ints:
    """The features that a combination sets."""
    entries = [slice(table.changes[a], table.changes[a + 1]) for a in combination.tolist()]
    return np.concatenate([np.empty(0, np.int64), *(table.column[some] for some in entries)])


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


def _unmoved(option_graph: OptionGraph, count: int, near: Ints, features: Floats) -> _Draws:
    """Versions with all ties as they are, and other features."""
    ends = np.stack((option_graph.union.sources, option_graph.union.targets))
    keep = np.ones((count, ends.shape[1]), bool)
    ends = np.broadcast_to(ends[:, None], (2, *keep.shape))
    return _Draws(ends=ends, keep=keep, near=near, features=features)


def _edits(
    subject: int, option: Edits, option_graph: OptionGraph, draws: Sequence[_Draws]
) -> Edits:
    """What all versions change in the graph as it is: the option, then what was drawn."""
    union = option_graph.union
    before = np.stack((union.sources, union.targets))
    count = sum(len(some.keep) for some in draws)
    dropped, added = [_for_each(option.dropped, count)], [_for_each(option.added, count)]
    replaced, features = [], [option.features]
    first, row = 0, len(option.features)
    for some in draws:
        moved = some.keep & (some.ends != before[:, None]).any(axis=0)
        version, arc = np.nonzero(~some.keep | moved)
        dropped.append(np.stack((first + version, option_graph.arcs[arc])))
        version, arc = np.nonzero(moved)
        source, target = union.nodes[some.ends[:, version, arc]]
        added.append(np.stack((first + version, source, target, union.ties[arc])))
        if not len(some.near):
            own = _for_each(option.replaced, len(some.keep))
            own[0] += first
            replaced.append(own)
        version = np.repeat(np.arange(len(some.keep)), len(some.near))
        who = np.tile(union.nodes[some.near], len(some.keep))
        replaced.append(np.stack((first + version, who, row + np.arange(len(who)))))
        features.append(some.features)
        first, row = first + len(some.keep), row + len(some.features)
    return edits_of(
        count,
        np.stack((np.arange(count), np.full(count, subject))),
        dropped=np.concatenate(dropped, axis=1),
        added=np.concatenate(added, axis=1),
        replaced=np.concatenate(replaced, axis=1),
        features=np.concatenate(features),
    )


def _for_each(one: Ints, count: int) -> Ints:
    """What a single edit changes, once for each of many edits."""
    every = np.tile(one, count)
    every[0] = np.repeat(np.arange(count), one.shape[1])
    return every


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
