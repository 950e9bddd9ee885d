"""Every change that the policy permits to one subject, as a table of arrays.

An action drops a tie, or all ties of a kind that end together; it adds a tie; or it moves an
attribute to a level. Actions of one group exclude each other: every change of ties is a group of
its own, and all levels of linked attributes are one group. Groups are contiguous, so a combination
is an ascending list of rows of different groups.

`action_table` is where the policy is applied: what it does not list is never suggested.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import neighbourhood, reach, spans
from recourse_audit.model.decisions import Mask
from recourse_audit.model.preprocessing import Encoder
from recourse_audit.records.recourse import (
    Action,
    DroppableTie,
    Move,
    Permitted,
    SetAction,
    TieAction,
    TogetherAction,
)
from recourse_audit.recourse.attributes import Attribute, Levels, Movement, Value, round_value
from recourse_audit.recourse.policy import INCOMING, OTHERS, OUTGOING, Policy, relations

DROP, ADD, SET = range(3)
TIE_WORDS: tuple[Literal["drop", "add"], ...] = ("drop", "add")
NONE = -1


def action_text(action: Action) -> str:
    """A change as somebody would type it."""
    if isinstance(action, SetAction):
        after = action.after
        return f"{action.attribute}={after if isinstance(after, str) else f'{after:.12g}'}"
    if isinstance(action, TogetherAction):
        return f"{action.do} {action.kind}"
    return f"{action.do} {action.tie[0]}-{action.tie[1]}:{action.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TieActions:
    """Changes of ties: their kinds and costs, and the ties that each of them ends or adds.

    Change c is about the ties from `starts[c]` to `starts[c + 1]`: several, if they end `together`.
    A tie has its ends as node numbers, and its first arc if it exists.
    """

    kind: Ints
    cost: Floats
    together: Mask
    starts: Ints
    source: Ints
    target: Ints
    arc: Ints

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, kw_only=True)
class ActionTable:
    """The actions of one subject: ties to drop, ties to add, then levels of attributes.

    Action a changes the ties from `tie_starts[a]` to `tie_starts[a + 1]` of `source` and `target`.
    Action a sets the features `column[changes[a]:changes[a + 1]]` to `number`, in the table's
    units; with an `encoder`, it sets columns instead, and the features follow (see `assignments`).
    `denied` counts the ties that only the deny list forbids; `unreachable` are levels that only an
    implied attribute forbids: how many, by family.
    """

    graph: Graph
    subject: int
    drops: TieActions
    adds: TieActions
    moves: tuple[tuple[Movement, Levels], ...]
    denied: int = 0
    encoder: Encoder | None = None
    unreachable: tuple[tuple[Movement, Levels], ...] = ()

    def __len__(self) -> int:
        return len(self.do)

    @cached_property
    def do(self) -> NDArray[np.int8]:
        counts = [len(self.drops), len(self.adds), sum(self._sizes)]
        return np.repeat(np.arange(3, dtype=np.int8), counts)

    @cached_property
    def tie_starts(self) -> Ints:
        """Where the ties of each action begin; an attribute has none."""
        dropped, added = self.drops.starts, self.adds.starts
        ends = np.full(sum(self._sizes), dropped[-1] + added[-1])
        return np.concatenate((dropped, dropped[-1] + added[1:], ends))

    @cached_property
    def source(self) -> Ints:
        """Where a tie starts."""
        return np.concatenate((self.drops.source, self.adds.source))

    @cached_property
    def target(self) -> Ints:
        """Where a tie leads."""
        return np.concatenate((self.drops.target, self.adds.target))

    @cached_property
    def own(self) -> Mask:
        """Whether an action changes the subject's own ties, adds one, or sets an attribute."""
        mine = np.ones(len(self), bool)
        first = self.tie_starts[: self._ties]
        mine[: self._ties] = (self.source[first] == self.subject) | (
            self.target[first] == self.subject
        )
        return mine

    @cached_property
    def kind(self) -> Ints:
        """The kind of an action's ties; 0 for attributes."""
        rest = np.zeros(sum(self._sizes), np.int64)
        return np.concatenate((self.drops.kind, self.adds.kind, rest))

    @cached_property
    def together(self) -> Mask:
        """Whether an action ends all ties of a kind as one change."""
        rest = np.zeros(len(self) - len(self.drops), bool)
        return np.concatenate((self.drops.together, rest))

    def people(self, actions: Ints) -> Ints:
        """Everybody at an end of the ties that some actions change; the subject if they set."""
        ties, _ = spans(self.tie_starts, actions)
        own = [self.subject] if (self.do[actions] == SET).any() else []
        ends = (self.source[ties], self.target[ties], np.array(own, np.int64))
        return np.unique(np.concatenate(ends))

    @cached_property
    def move(self) -> Ints:
        """The place of an attribute's rule in `moves`; `NONE` for ties."""
        own = np.repeat(np.arange(len(self.moves)), self._sizes)
        return np.concatenate((np.full(self._ties, NONE), own))

    @cached_property
    def steps(self) -> Ints:
        """Signed steps of an attribute; 0 for ties."""
        own = [levels.steps for _, levels in self.moves]
        return np.concatenate((np.zeros(self._ties, np.int64), *own))

    @cached_property
    def cost(self) -> Floats:
        own = [levels.cost for _, levels in self.moves]
        return np.concatenate((self.drops.cost, self.adds.cost, *own))

    @cached_property
    def group(self) -> Ints:
        """Actions of one group exclude each other."""
        families = np.array([movement.family for movement, _ in self.moves], np.int64)
        _, number = np.unique(np.repeat(families, self._sizes), return_inverse=True)
        return np.concatenate((np.arange(self._ties), self._ties + number))

    @cached_property
    def touches(self) -> Ints:
        """What an action touches: a tie, or an attribute at whatever level."""
        return np.where(self.do == SET, self._ties + self.move, np.arange(len(self)))

    @cached_property
    def changes(self) -> Ints:
        """Where the numbers that each action sets begin."""
        widths = [np.full(len(levels), levels.numbers.shape[1]) for _, levels in self.moves]
        ends = np.cumsum(np.concatenate((np.zeros(self._ties, np.int64), *widths)))
        return np.concatenate(([0], ends))

    @cached_property
    def column(self) -> Ints:
        """The feature that each number is about; `NONE` if it is not a feature."""
        rows = [
            [
                attribute.column if isinstance(attribute, Attribute) else NONE
                for attribute in movement.attributes
            ]
            for movement, _ in self.moves
        ]
        own = [np.tile(row, size) for row, size in zip(rows, self._sizes, strict=True)]
        return np.concatenate((np.empty(0, np.int64), *own))

    @cached_property
    def number(self) -> Floats:
        return np.concatenate((np.empty(0), *(levels.numbers.ravel() for _, levels in self.moves)))

    @property
    def permitted_counts(self) -> Permitted:
        """How many changes there are."""
        return Permitted(
            drop=len(self.drops),
            add=len(self.adds),
            set={movement.rule.name: len(levels) for movement, levels in self.moves},
        )

    @property
    def droppable(self) -> tuple[DroppableTie, ...]:
        """The ties that may be dropped, with the ids of their ends."""
        drops, kinds, ids = self.drops, self.graph.ties.kinds, self.graph.ids
        ends = zip(ids[drops.source].tolist(), ids[drops.target].tolist(), strict=True)
        kind = np.repeat(drops.kind, np.diff(drops.starts))
        return tuple(
            DroppableTie(tie=tie, kind=kinds[number])
            for tie, number in zip(ends, kind.tolist(), strict=True)
        )

    def assignments(self, action: int) -> dict[str, tuple[Value, Value]]:
        """The columns that an action sets: each value as the table holds it, and in user's units.

        A category that is implied and is there already is not set.
        """
        if self.do[action] != SET:
            return {}
        movement, levels = self.moves[self.move[action]]
        row = self._level(action)
        columns: dict[str, tuple[Value, Value]] = {}
        for place, attribute in enumerate(movement.attributes):
            after = levels.after[row][place]
            if isinstance(attribute, Attribute):
                columns[attribute.name] = float(levels.numbers[row, place]), after
            elif not place or after != levels.before[place]:
                columns[attribute.name] = after, after
        return columns

    def at_least(self, action: int) -> Mask:
        """The action itself, and those that move the same attribute further in its direction.

        No category is further than another.
        """
        steps = int(self.steps[action])
        if not steps:
            return np.asarray(np.arange(len(self)) == action)
        farther = self.steps >= steps if steps > 0 else self.steps <= steps
        same: Mask = (self.move == self.move[action]) & farther
        return same

    def records(self, actions: Ints) -> tuple[Action, ...]:
        """Some actions as records, in the user's ids and units."""
        return tuple(self._record(int(action)) for action in actions)

    def _record(self, action: int) -> Action:
        if self.do[action] == SET:
            return self._set_record(action)
        ids, span = self.graph.ids, slice(*self.tie_starts[action : action + 2].tolist())
        ends = ids[self.source[span]].tolist(), ids[self.target[span]].tolist()
        ties = tuple(zip(*ends, strict=True))
        kind, cost = self.graph.ties.kinds[self.kind[action]], float(self.cost[action])
        if self.together[action]:
            return TogetherAction(kind=kind, ties=ties, cost=cost)
        return TieAction(do=TIE_WORDS[self.do[action]], tie=ties[0], kind=kind, cost=cost)

    def _set_record(self, action: int) -> SetAction:
        movement, levels = self.moves[self.move[action]]
        own, *implied = (
            Move(attribute=attribute.name, before=before, after=after, unit=attribute.unit)
            for attribute, before, after in zip(
                movement.attributes, levels.before, levels.after[self._level(action)], strict=True
            )
            if before != after
            or attribute is movement.attribute
            or isinstance(attribute, Attribute)
        )
        return SetAction(
            attribute=own.attribute,
            before=own.before,
            after=own.after,
            unit=own.unit,
            implied=tuple(implied),
            cost=round_value(float(self.cost[action])),
        )

    def _level(self, action: int) -> int:
        """The place of an action among the levels of its attribute."""
        return action - self._ties - sum(self._sizes[: self.move[action]])

    @cached_property
    def _sizes(self) -> list[int]:
        return [len(levels) for _, levels in self.moves]

    @property
    def _ties(self) -> int:
        return len(self.drops) + len(self.adds)


def action_table(policy: Policy, subject: int, depth: int | None) -> ActionTable:
    """List what the policy permits to a subject; `depth` is how many hops the model looks."""
    drops, denied = _drops(policy, subject, depth)
    every = [(movement, movement.levels(policy.graph, subject)) for movement in policy.movements]
    moves = [(movement, levels) for movement, levels in every if len(levels)]
    return ActionTable(
        graph=policy.graph,
        subject=subject,
        drops=drops,
        adds=_adds(policy, subject),
        moves=tuple(sorted(moves, key=lambda move: move[0].family)),
        denied=denied,
        encoder=policy.encoder,
        unreachable=tuple((movement, levels) for movement, levels in every if levels.left_out),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """Ties to drop or to add: their ends, kinds and relations to the subject.

    `arc` is the first arc of a tie that exists. `owner` is the place of the first tie of those that
    it ends together with: its own place, unless a rule ends them `together`.
    """

    source: Ints
    target: Ints
    kind: Ints
    relation: Ints
    arc: Ints
    owner: Ints
    together: Mask

    def take(self, rows: Ints) -> "Ties":
        """Some of the ties; owners keep their numbers."""
        columns = (getattr(self, field.name)[rows] for field in fields(self))
        return Ties(**dict(zip((field.name for field in fields(self)), columns, strict=True)))


def ties_to_drop(policy: Policy, subject: int, depth: int | None) -> Ties:
    """The subject's own ties, and those of others around them if a rule lets these be dropped.

    They are in canonical order. Whether a tie may be dropped is not asked here.
    """
    arcs = own_arcs(policy.graph, subject)
    if policy.drop[:, OTHERS].any():
        around = _pairs_around(policy.graph, subject, depth)
        arcs = np.union1d(arcs, _first_arcs(policy.graph, around))
    return ties_of(policy, subject, arcs)


def own_arcs(graph: Graph, subject: int) -> Ints:
    """The first arcs of a person's ties, ascending."""
    own = graph.neighbour_pair[graph.starts[subject] : graph.starts[subject + 1]]
    return _first_arcs(graph, np.sort(own))


def _first_arcs(graph: Graph, pairs: Ints | Indices) -> Ints:
    """The first arc of every tie of some pairs."""
    arcs, _ = spans(graph.pair_starts, pairs)
    return arcs if graph.directed else arcs[::2]


def ties_of(policy: Policy, subject: int, arcs: Ints) -> Ties:
    """The ties with these first arcs, and which of them end together."""
    graph, alone = policy.graph, np.arange(len(arcs))
    source, target = graph.arc_source[arcs], graph.arc_target[arcs]
    kind = graph.ties.kind[graph.arc_tie[arcs]].astype(np.int64)
    relation = relations(graph, subject, source, target)
    rule = policy.together[kind, relation]
    owner = alone
    if (rule >= 0).any():
        key = np.where(rule < 0, -1 - alone, kind * len(policy.rules) + rule)
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        owner = first[place]
    return Ties(
        source=source.astype(np.int64),
        target=target.astype(np.int64),
        kind=kind,
        relation=relation,
        arc=arcs,
        owner=owner,
        together=rule >= 0,
    )


def _drops(policy: Policy, subject: int, depth: int | None) -> tuple[TieActions, int]:
    """Ties that may be dropped, and how many only the deny list forbids.

    Where one of several that end together is never suggested, none of them is.
    """
    ties = ties_to_drop(policy, subject, depth)
    allowed = policy.drop[ties.kind, ties.relation]
    denied = policy.denied[ties.kind] | _leads_to_denied(policy, subject, ties.source, ties.target)
    denied = np.bincount(ties.owner, denied)[ties.owner] > 0
    chosen = ties.take(np.flatnonzero(allowed & ~denied))
    return tie_actions(policy, chosen), int((allowed & denied).sum())


def tie_actions(policy: Policy, ties: Ties) -> TieActions:
    """Ties as changes, at the costs of their rules; the ends of one without direction in order."""
    ties = ties.take(np.argsort(ties.owner, kind="stable"))
    source, target = ties.source, ties.target
    if not policy.graph.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    first = np.flatnonzero(np.diff(ties.owner, prepend=-1))
    kind = ties.kind[first]
    return TieActions(
        kind=kind,
        cost=policy.cost[kind, ties.relation[first]],
        together=ties.together[first],
        starts=np.append(first, len(ties.owner)),
        source=source,
        target=target,
        arc=ties.arc,
    )


def _leads_to_denied(policy: Policy, subject: int, source: Ints, target: Ints) -> Mask:
    """Whether ties lead to a node of a kind that is never suggested, other than the subject."""
    nodes = policy.denied_nodes
    ends: Mask = (nodes[source] & (source != subject)) | (nodes[target] & (target != subject))
    return ends


def _pairs_around(graph: Graph, subject: int, depth: int | None) -> Ints:
    """The pairs of other people who are both within the model's depth."""
    if depth is None:
        return np.arange(graph.pair_count)
    near = reach(graph, np.array([subject]), depth)
    positions, owner = spans(graph.starts, near)
    inside = np.isin(graph.neighbour[positions], near) & (near[owner] < graph.neighbour[positions])
    return graph.neighbour_pair[positions[inside]].astype(np.int64)


def _adds(policy: Policy, subject: int) -> TieActions:
    """Ties that may be added: by kind, by direction, then by the other end."""
    parts = [*_new_ties(policy, subject)]
    source, target, kind, relation = (
        np.concatenate([np.empty(0, np.int64), *(part[place] for part in parts)])
        for place in range(4)
    )
    return tie_actions(policy, new_ties(source, target, kind, relation))


def new_ties(source: Ints, target: Ints, kind: Ints, relation: Ints) -> Ties:
    """Ties that do not exist; each is a change of its own."""
    return Ties(
        source=source,
        target=target,
        kind=kind,
        relation=relation,
        arc=np.zeros(len(source), np.int64),
        owner=np.arange(len(source)),
        together=np.zeros(len(source), bool),
    )


def _new_ties(policy: Policy, subject: int) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    graph, near = policy.graph, None
    for kind, relation in np.argwhere(policy.add).tolist():
        if relation == INCOMING and not graph.directed:
            continue
        if policy.candidates is not None:
            others = _candidate_ends(policy, subject, kind, relation)
        elif policy.near[kind, relation]:
            if near is None:
                around = neighbourhood(graph, np.array([subject]), 2)
                near = around.nodes[around.hops == 2].astype(np.int64)
            others = near
        else:
            others = np.delete(np.arange(graph.node_count), subject)
        others = np.setdiff1d(others, tied_by(graph, subject, kind, relation))
        others = others[~policy.denied_nodes[others]]
        own = np.full(len(others), subject)
        ends = (own, others) if relation == OUTGOING else (others, own)
        yield *ends, np.full(len(others), kind), np.full(len(others), relation)


def _candidate_ends(policy: Policy, subject: int, kind: int, relation: int) -> Ints:
    """The other ends of a subject's candidates of one kind and one direction."""
    listed = policy.candidates
    assert listed is not None
    rows = listed.of(subject)
    if listed.kind is not None:
        rows = rows[listed.kind[rows] == kind]
    outward = listed.source[rows] == subject
    if policy.graph.directed:
        rows = rows[outward == (relation == OUTGOING)]
        outward = listed.source[rows] == subject
    return np.where(outward, listed.target[rows], listed.source[rows]).astype(np.int64)


def tied_by(graph: Graph, subject: int, kind: int, relation: int) -> Ints:
    """Everyone already tied to the subject by this kind, in the same direction."""
    pairs = graph.neighbour_pair[graph.starts[subject] : graph.starts[subject + 1]]
    arcs, _ = spans(graph.pair_starts, pairs)
    ends = (graph.arc_source[arcs], graph.arc_target[arcs])
    own, other = ends if relation == OUTGOING else ends[::-1]
    chosen = (own == subject) & (graph.ties.kind[graph.arc_tie[arcs]] == kind)
    tied: Ints = other[chosen].astype(np.int64)
    return tied
