"""How often an option still works when the graph changes a little.

There are two kinds of seeded draws. In one, other people's ties change, each with the probability
`jitter`: half of these ties are gone, the others lead to somebody else who is as far from the
subject, and of the same kind. (So no draw brings anybody nearer, and the receptive field stays
complete.) In the other, everybody's attributes shift by normal noise of `jitter` standard
deviations, those of other kinds of nodes as well; what the option sets stays as it is. Where
features follow from columns, numbers among the columns shift and the features follow; a category
stays what it is, because half a category means nothing.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, grow, places_in, spans
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.model.edited_graph import EditedGraph, SubjectAnswers
from recourse_audit.model.edits import Edits, edits_of, join_edits, receptive_field
from recourse_audit.records.recourse import Robustness, survival
from recourse_audit.recourse.actions import NONE, ActionEdits, ActionTable, columns_after
from recourse_audit.recourse.attributes import columns_of, population_column

MOST_DRAWN_ARCS = 20_000_000


class OptionGraph:
    """A subject's receptive field with an option made; `subject` is their place in it.

    `arcs` numbers the arcs as in the graph, `NONE` for those that the option adds; `ends` are their
    sources and targets as places in `nodes`, and `ties` their rows. `hops` says how far everyone is
    from the subject. People whom only a new tie brings in are `late`: they come last in every draw.
    """

    def __init__(self, asked: SubjectAnswers, table: ActionTable, combination: Ints) -> None:
        self.table, self.combination = table, combination
        graph, batcher = asked.edited.graph, asked.edited.batcher
        depth = None if asked.way == "whole" else asked.edited.depth
        subject = np.array([asked.subject])
        option = ActionEdits(table, batcher.features_of(subject)[0]).of(combination[None])
        field = receptive_field(graph, subject, depth, option.added[1:3])
        self.option = option
        self.nodes = field.nodes
        self.late: Mask = np.zeros(len(field.nodes), bool)
        if option.added.shape[1]:
            near = receptive_field(graph, subject, depth).nodes
            self.late = places_in(near, field.nodes) == OUTSIDE
        kept = np.flatnonzero(places_in(np.sort(option.dropped[1]), field.arcs) == OUTSIDE)
        ends = np.stack((field.sources[kept], field.targets[kept]))
        self.ends: Ints = np.concatenate((ends, field.place(option.added[1:3])), axis=1)
        self.arcs = np.append(field.arcs[kept], np.full(option.added.shape[1], NONE))
        self.ties = np.append(field.ties[kept], option.added[3])
        [self.subject] = field.place(subject).tolist()
        self.features = batcher.features_of(field.nodes)
        if len(option.features):
            self.features[self.subject] = option.features[0]
        self.hops = _hops(self.ends, len(field.nodes), self.subject, asked.edited.depth)

    def versions(self, count: int, dropped: Ints | None = None, added: Ints | None = None) -> Edits:
        """The option so many times, with further arcs dropped and added; features are shared."""

        def repeat(table: Ints, more: Ints | None = None) -> Ints:
            rows = np.tile(table, count)
            rows[0] = np.repeat(np.arange(count), table.shape[1])
            return rows if more is None else np.concatenate((rows, more), axis=1)

        option = self.option
        return edits_of(
            count,
            repeat(option.asked),
            dropped=repeat(option.dropped, dropped),
            added=repeat(option.added, added),
            replaced=repeat(option.replaced),
            features=option.features,
        )

    def kinds_in(self, graph: Graph, places: Ints) -> Ints:
        if graph.kinds is None:
            return np.zeros(len(places), np.int64)
        return graph.kinds.of(self.nodes[places])

    def with_features(self, near: Ints, features: Floats) -> Edits:
        """The option in versions that replace people's features, version after version."""
        count = len(features) // max(len(near), 1)
        people = np.tile(self.nodes[near], count)
        version = np.repeat(np.arange(count), len(near))
        replaced = np.stack((version, people, np.arange(len(features))))
        return replace(self.versions(count), replaced=replaced, features=features)


class RobustnessTest:
    """Tests options by draws."""

    def __init__(self, edited: EditedGraph, *, draws: int, jitter: float, seed: int) -> None:
        self._edited = edited
        self._draws = draws
        self._jitter = jitter
        self._seed = seed
        self._spread = _spread_of_features(edited.graph)
        self._spread_of = cache(
            lambda name: float(np.nanstd(population_column(edited.graph, name).astype(np.float64)))
        )

    def of(
        self,
        asked: SubjectAnswers,
        table: ActionTable,
        combination: Ints,
        place: int,
        decisions: Decisions,
    ) -> Robustness | None:
        """In how many draws the subject's option number `place` still works.

        `decisions` are those with the option: under a quota, others' answers are not drawn again,
        so the line stays where it is. None if no draws are wanted, or the receptive field is too
        large for them, or an export of fixed size has no room for them.
        """
        if not self._draws:
            return None
        option_graph = OptionGraph(asked, table, combination)
        if len(option_graph.arcs) * self._draws > MOST_DRAWN_ARCS:
            return None
        answers, fits = asked.answers(self._draw(option_graph, place))
        if not fits.all():
            return None
        works = decisions.favourable(answers, asked.subject)
        return Robustness(
            draws=self._draws,
            ties=survival(int(works[: self._draws].sum()), self._draws),
            attributes=survival(int(works[self._draws :].sum()), self._draws),
        )

    def _draw(self, option_graph: OptionGraph, place: int) -> Edits:
        """All versions: first those with other ties, then those with other attributes."""
        table = option_graph.table
        generator = np.random.default_rng((self._seed, table.subject, place))
        copies = max(1, self._edited.batcher.node_room // len(option_graph.hops))
        with_ties, with_attributes = [], []
        for first in range(0, self._draws, copies):
            count = min(copies, self._draws - first)
            with_ties.append(self._with_other_ties(option_graph, generator, count))
            shift = self._shift_features if table.encoder is None else self._shift_columns
            with_attributes.append(
                option_graph.with_features(*shift(option_graph, generator, count))
            )
        return join_edits([*with_ties, *with_attributes])

    def _with_other_ties(
        self, option_graph: OptionGraph, generator: np.random.Generator, count: int
    ) -> Edits:
        """Versions in which other people's ties are ended or lead elsewhere."""
        ends, hops = option_graph.ends, option_graph.hops
        others = np.flatnonzero((ends != option_graph.subject).all(axis=0) & (ends[0] != ends[1]))
        rows, graph = option_graph.ties[others], self._edited.graph
        if graph.relations:  # the reversed arc of a tie has a row of its own
            rows = np.where(rows < graph.row_count, rows % len(graph.ties), rows)
        _, first, tie = np.unique(rows, return_index=True, return_inverse=True)
        shape = (count, len(first))
        change = generator.random(shape) < self._jitter
        move = generator.random(shape) < 0.5
        side = generator.integers(0, 2, shape)
        pick = generator.random(shape)
        left = ends[side, others[first]]
        if graph.kinds is not None:  # whoever takes the place of another is of the same kind
            hops = hops * len(graph.kinds.names) + graph.kinds.of(option_graph.nodes)
        order = np.lexsort((option_graph.late, hops))
        # Those who are as far from the subject as whoever loses a tie are next to each other.
        bounds = np.searchsorted(hops[order], np.arange(int(hops.max()) + 2))
        low, high = bounds[hops[left]], bounds[hops[left] + 1]
        to = order[low + (pick * (high - low)).astype(np.int64)]
        move &= change & (to != ends[1 - side, others[first]])
        change &= ~(move & (to == left))  # it was drawn to lead where it leads
        by_tie = others[np.argsort(tie, kind="stable")]
        starts = np.concatenate(([0], np.cumsum(np.bincount(tie, minlength=len(first)))))
        version, changed = np.nonzero(change)
        arcs, owner = spans(starts, changed)
        arcs, version, changed = by_tie[arcs], version[owner], changed[owner]
        dropped = np.stack((version, option_graph.arcs[arcs]))
        there = np.flatnonzero(move[version, changed])
        there = there[np.lexsort((arcs[there], version[there]))]
        arcs, version, changed = arcs[there], version[there], changed[there]
        new = ends[:, arcs]
        new = np.where(new == left[version, changed], to[version, changed], new)
        added = np.stack((version, *option_graph.nodes[new], option_graph.ties[arcs]))
        return option_graph.versions(count, dropped, added)

    def _near(self, option_graph: OptionGraph) -> tuple[Ints, int]:
        """The places of everyone the model looks at, and where the subject is among them."""
        depth = 1 if self._edited.depth is None else self._edited.depth
        places = np.flatnonzero(option_graph.hops <= depth)
        near = places[np.argsort(option_graph.late[places], kind="stable")]
        return near, int(np.flatnonzero(near == option_graph.subject)[0])

    def _shift_features(
        self, option_graph: OptionGraph, generator: np.random.Generator, count: int
    ) -> tuple[Ints, Floats]:
        """Whom the model looks at, and their features with noise but on what the option sets."""
        near, own = self._near(option_graph)
        table, combination = option_graph.table, option_graph.combination
        shape = (count, len(near), option_graph.features.shape[1])
        spread = self._spread[option_graph.kinds_in(self._edited.graph, near)]
        noise = generator.standard_normal(shape, dtype=np.float32) * spread * self._jitter
        noise[:, own, table.column[spans(table.changes, combination)[0]]] = 0
        features = np.tile(option_graph.features[near], (count, 1, 1))
        features += noise.astype(features.dtype)
        return near, features.reshape(count * len(near), -1)

    def _shift_columns(
        self, option_graph: OptionGraph, generator: np.random.Generator, count: int
    ) -> tuple[Ints, Floats]:
        """The same with noise on columns; whoever would lack a finite feature keeps theirs."""
        table, combination = option_graph.table, option_graph.combination.tolist()
        encoder, graph = table.encoder, self._edited.graph
        assert encoder is not None
        everyone, own = self._near(option_graph)
        # Only people have columns; of other kinds of nodes the features shift as they are.
        is_person = option_graph.nodes[everyone] < graph.person_count
        near, own = everyone[is_person], int(is_person[:own].sum())
        columns = columns_of(graph, encoder.columns, option_graph.nodes[near])
        changed = columns_after(table, [combination])
        fixed = {name for action in combination for name in table.assignments(action)}
        drawn = {}
        for name, values in columns.items():
            values[own] = changed[name][0]
            drawn[name] = np.tile(values, count)
            if values.dtype.kind == "f":
                noise = generator.standard_normal((count, len(near))) * self._spread_of(name)
                noise[:, own] *= name not in fixed
                drawn[name] = drawn[name].astype(np.float64) + noise.ravel() * self._jitter
                if name in encoder.whole:
                    drawn[name] = np.rint(drawn[name])
        shifted = encoder.encode(drawn).reshape(count, len(near), -1)
        known = option_graph.features[near, : shifted.shape[2]]
        with np.errstate(over="ignore"):
            shifted = shifted.astype(known.dtype)
        finite = np.isfinite(shifted).all(axis=2, keepdims=True)
        shifted = np.where(finite, shifted, known)
        features = np.tile(option_graph.features[everyone], (count, 1, 1))
        others = option_graph.kinds_in(graph, everyone[~is_person])
        shape = (count, len(others), features.shape[2])
        spread = self._spread[others] * np.float32(self._jitter)
        features[:, ~is_person] += generator.standard_normal(shape).astype(features.dtype) * spread
        features[:, np.flatnonzero(is_person), : shifted.shape[2]] = shifted
        return everyone, features.reshape(count * len(everyone), -1)


def _spread_of_features(graph: Graph) -> Floats:
    """The standard deviation of each feature, one row per kind; 0 for the features of others."""
    if graph.kinds is None:
        return np.asarray(graph.features.std(axis=0, keepdims=True), np.float32)
    spread = np.zeros((len(graph.kinds.names), graph.features.shape[1]), np.float32)
    people = (0, len(graph.person_features))
    for kind, (first, last) in enumerate((people, *graph.kinds.blocks[1:])):
        members = graph.kinds.members(kind)
        if members:
            own = graph.features[members.start : members.stop, first:last]
            spread[kind, first:last] = own.std(axis=0)
    return spread


def _hops(ends: Ints, nodes: int, subject: int, depth: int | None) -> Ints:
    """How far each node is from the subject; without a known depth all are equally far."""
    most = 0 if depth is None else depth + 1
    one, other = np.concatenate((ends, ends[::-1]), axis=1)
    hops = np.full(nodes, most + 1)
    near, distance = grow(subject, most, lambda at: other[np.isin(one, at)])
    hops[near] = distance
    return hops
