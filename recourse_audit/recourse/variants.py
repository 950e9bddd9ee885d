"""A subject's receptive field with changes applied: many versions side by side in one question."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, spans
from recourse_audit.model.decisions import Mask
from recourse_audit.model.queries import Pool, Union
from recourse_audit.recourse.actions import ADD, DROP, NONE, SET, ActionTable
from recourse_audit.recourse.encoded_rows import EncodedRows
from recourse_audit.recourse.receptive_field import (
    FieldExtension,
    ReceptiveField,
    extension,
)


def new_ties(graph: Graph) -> Pool:
    """What new ties weigh and carry, one row per kind: medians over that kind, or over all ties."""
    ties = graph.ties
    chosen = [ties.kind == code for code in range(len(ties.kinds))]
    chosen = [mask if mask.any() else np.ones(len(ties), bool) for mask in chosen]
    weight = attributes = None
    if ties.weight is not None:
        weight = np.array([_median(ties.weight[mask]) for mask in chosen], np.float32)
    if ties.attributes is not None:
        attributes = np.array(
            [[_median(column[mask]) for column in ties.attributes.T] for mask in chosen], np.float32
        )
    kind = np.arange(len(ties.kinds), dtype=np.int16)
    return Pool(features=graph.features[:0], weight=weight, attributes=attributes, kind=kind)


def _median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Versions side by side, the rows to read, and the features of all nodes.

    `arcs` numbers the union's arcs as in the graph, loops after all others; `NONE` for new ones.
    """

    union: Union
    rows: Ints
    features: Floats
    arcs: NDArray[np.integer]


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A question before arcs are dropped: one row per version says which arcs it keeps."""

    starts: Ints
    nodes: Ints
    features: Floats
    sources: NDArray[np.integer]
    targets: NDArray[np.integer]
    ties: NDArray[np.integer]
    arcs: NDArray[np.integer]
    keep: Mask


class Variants:
    """Writes versions of one subject's receptive field, reusing one array of features.

    A question must be answered before the next one is written. Call `restore` when the features
    are shared with others.
    """

    def __init__(
        self,
        table: ActionTable,
        around: ReceptiveField,
        features: Callable[[Ints], Floats],
        *,
        depth: int | None,
        room: int,
        own: Floats | None = None,
    ) -> None:
        """`features` gives the features of nodes in the model's number type, `own` the field's.

        `room` is how many nodes a question should have. `depth` says how far new ties reach; None
        where the field is the whole graph.
        """
        self.around = around
        self._table = table
        self._depth = depth
        self._room = room
        self._features_of = features
        self._size = len(around.nodes)
        self._copies = max(1, room // self._size)
        self._place = int(around.place(np.array([table.subject]))[0])
        self._base = features(around.nodes) if own is None else own
        self._own = self._base[self._place].copy()
        self._block = self._base
        self._nodes = around.nodes
        self._sources, self._targets = around.sources[None], around.targets[None]
        if self._copies > 1:
            shift = np.arange(self._copies)[:, None] * self._size
            self._block = np.tile(self._base, (self._copies, 1))
            self._nodes = np.tile(around.nodes, self._copies)
            self._sources, self._targets = self._sources + shift, self._targets + shift
        self._ties = np.broadcast_to(around.ties, self._sources.shape)
        self._arcs = np.broadcast_to(around.arcs, self._sources.shape)
        self._arc = np.searchsorted(around.arcs, table.arc)
        self._encoded = EncodedRows(table) if table.encoder is not None else None
        self._extensions: dict[int, FieldExtension] = {}
        self._grown = np.empty((0, self._base.shape[1]), self._base.dtype)

    def batches(self, combinations: Ints) -> Iterator[Ints]:
        """Divide combinations, by their places, into those of one question each."""
        added = (combinations != NONE) & (self._table.do[combinations] == ADD)
        plain = np.flatnonzero(~added.any(axis=1))
        for first in range(0, len(plain), self._copies):
            yield plain[first : first + self._copies]
        batch: list[int] = []
        held = 0
        for place in np.flatnonzero(added.any(axis=1)).tolist():
            far = self._table.other[combinations[place, added[place]]].tolist()
            size = self._size + sum(len(self._extension(end).nodes) for end in far)
            if batch and held + size > self._room:
                yield np.array(batch)
                batch, held = [], 0
            batch.append(place)
            held += size
        if batch:
            yield np.array(batch)

    def ask(self, combinations: Ints) -> Question:
        """Write one version for each combination of a batch."""
        table, count = self._table, len(combinations)
        do = np.where(combinations == NONE, NONE, table.do[combinations])
        row, column = np.nonzero(do == ADD)
        draft = (
            self._extended(count, row, combinations[row, column])
            if len(row)
            else self._unextended(count)
        )
        row, column = np.nonzero(do == DROP)
        arc = self._arc[combinations[row, column]]
        draft.keep[row, arc] = False
        if not table.graph.directed:
            draft.keep[row, arc + 1] = False
        rows = draft.starts[:-1] + self._place
        row, column = np.nonzero(do == SET)
        if table.moves and self._encoded is not None:
            draft.features[rows] = self._own
            changed, features = self._encoded.rows(combinations)
            if len(features):
                with np.errstate(over="ignore"):
                    draft.features[rows[changed]] = features
        elif table.moves:
            draft.features[rows] = self._own
            entry, owner = spans(table.changes, combinations[row, column])
            draft.features[rows[row[owner]], table.column[entry]] = table.number[entry]
        return Question(
            union=Union(
                nodes=draft.nodes,
                node_starts=draft.starts,
                sources=draft.sources[draft.keep],
                targets=draft.targets[draft.keep],
                ties=draft.ties[draft.keep],
                arc_starts=np.concatenate(([0], np.cumsum(draft.keep.sum(axis=1)))),
            ),
            rows=rows,
            features=draft.features,
            arcs=draft.arcs[draft.keep],
        )

    def restore(self) -> None:
        """Reset the subject's features in every version."""
        self._block[self._place :: self._size] = self._own

    def _unextended(self, count: int) -> _Draft:
        """Versions without new ties, which stay inside the field."""
        assert count <= self._copies
        sources = self._sources[:count]
        return _Draft(
            starts=np.arange(count + 1) * self._size,
            nodes=self._nodes[: count * self._size],
            features=self._block[: count * self._size],
            sources=sources,
            targets=self._targets[:count],
            ties=self._ties[:count],
            arcs=self._arcs[:count],
            keep=np.ones(sources.shape, bool),
        )

    def _extended(self, count: int, row: Ints, action: Ints) -> _Draft:
        """Versions with new ties: `row` and `action` say which version adds which."""
        parts = [self._extension(end) for end in self._table.other[action].tolist()]
        several = len(np.unique(row)) < len(row)
        total = self._table.graph.node_count
        key = np.concatenate([part.nodes for part in parts])
        key += np.repeat(row, [len(part.nodes) for part in parts]) * total
        if several:
            key = np.unique(key)
        owner = key // total
        extra = np.bincount(owner, minlength=count)
        starts = np.concatenate(([0], np.cumsum(self._size + extra)))
        first = np.cumsum(extra) - extra
        outside = starts[owner] + self._size + np.arange(len(key)) - first[owner]

        def placed(version: Ints, node: Ints, place: Ints) -> Ints:
            """Where nodes of a version are: inside by their places, outside by their keys."""
            found = starts[version] + place
            missing = place == OUTSIDE
            wanted = (version * total + node)[missing]
            found[missing] = outside[np.searchsorted(key, wanted)]
            return found

        version, *more = (
            np.concatenate(both)
            for both in zip(
                self._more_arcs(row, parts, several, placed),
                self._new_arcs(row, action, placed),
                strict=True,
            )
        )
        draft = _Draft(
            starts=starts,
            nodes=np.empty(starts[-1], np.int64),
            features=self._features(starts, outside, key % total),
            sources=self.around.sources + starts[:-1, None],
            targets=self.around.targets + starts[:-1, None],
            ties=np.broadcast_to(self.around.ties, (count, len(self.around.ties))),
            arcs=np.broadcast_to(self.around.arcs, (count, len(self.around.ties))),
            keep=np.ones((count, len(self.around.ties)), bool),
        )
        draft.nodes[starts[:-1, None] + np.arange(self._size)] = self.around.nodes
        draft.nodes[outside] = key % total
        _widen(draft, version, *more)
        return draft

    def _more_arcs(
        self, row: Ints, parts: list[FieldExtension], several: bool, placed: Callable[..., Ints]
    ) -> tuple[Ints, ...]:
        """The arcs of the extensions, each of them once per version."""
        version = np.repeat(row, [len(part.arc) for part in parts])
        ends = np.concatenate([part.ends for part in parts], axis=1)
        places = np.concatenate([part.places for part in parts], axis=1)
        ties = np.concatenate([part.ties for part in parts])
        arcs = np.concatenate([part.arc for part in parts])
        if several:
            graph = self._table.graph
            key = arcs + version * (len(graph.arc_source) + len(graph.loop_node))
            _, once = np.unique(key, return_index=True)
            version, ties, arcs = version[once], ties[once], arcs[once]
            ends, places = ends[:, once], places[:, once]
        return (
            version,
            placed(version, ends[0], places[0]),
            placed(version, ends[1], places[1]),
            ties,
            arcs,
        )

    def _new_arcs(self, row: Ints, action: Ints, placed: Callable[..., Ints]) -> tuple[Ints, ...]:
        """The arcs of the new ties, both ways unless ties have a direction."""
        table = self._table
        source, target = (
            placed(row, ends[action], self.around.place(ends[action]))
            for ends in (table.source, table.target)
        )
        tie = len(table.graph.ties) + table.kind[action]
        if table.graph.directed:
            return row, source, target, tie, np.full(len(row), NONE)
        return (
            np.repeat(row, 2),
            np.column_stack((source, target)).ravel(),
            np.column_stack((target, source)).ravel(),
            np.repeat(tie, 2),
            np.full(2 * len(row), NONE),
        )

    def _features(self, starts: Ints, outside: Ints, nodes: Ints) -> Floats:
        """Features of all versions; a single version reuses the array, whose first rows stay."""
        total = int(starts[-1])
        if len(starts) > 2:
            features = np.empty((total, self._base.shape[1]), self._base.dtype)
            for start in starts[:-1].tolist():
                features[start : start + self._size] = self._base
        else:
            if len(self._grown) < total:
                self._grown = np.empty((2 * total, self._base.shape[1]), self._base.dtype)
                self._grown[: self._size] = self._base
            features = self._grown[:total]
        features[outside] = self._features_of(nodes)
        return features

    def _extension(self, far: int) -> FieldExtension:
        if far not in self._extensions:
            graph = self._table.graph
            self._extensions[far] = extension(graph, self.around, far, self._depth)
        return self._extensions[far]


def _widen(
    draft: _Draft, version: Ints, sources: Ints, targets: Ints, ties: Ints, arcs: Ints
) -> None:
    """Append more arcs to those of each version."""
    order = np.argsort(version, kind="stable")
    version = version[order]
    counts = np.bincount(version, minlength=len(draft.keep))
    column = np.arange(len(version)) - (np.cumsum(counts) - counts)[version]
    shape = (len(draft.keep), int(counts.max()))
    keep = np.zeros(shape, bool)
    keep[version, column] = True
    draft.keep = np.concatenate((draft.keep, keep), axis=1)
    columns = {"sources": sources, "targets": targets, "ties": ties, "arcs": arcs}
    for name, values in columns.items():
        more = np.zeros(shape, np.int64)
        more[version, column] = values[order]
        setattr(draft, name, np.concatenate((getattr(draft, name), more), axis=1))
