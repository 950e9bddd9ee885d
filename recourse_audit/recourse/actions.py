"""Every change that the policy permits to one subject, as a table of arrays, and as edits.

An action drops a tie, or all ties of a kind that end together; it adds a tie; or it moves an
attribute to a level. Actions of one group exclude each other: every change of ties is a group of
its own, and all levels of linked attributes are one group. Groups are contiguous, so a combination
is an ascending list of rows of different groups.

`action_table` is where the policy is applied: what it does not list is never suggested.

Where features follow from columns, changes are made in the columns that people know: the encoder
turns all new rows of a batch into features in one call, and what it said about a row is kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.columns import Column
from recourse_audit.graph.graph import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import neighbourhood, reach, spans
from recourse_audit.model.decisions import Mask
from recourse_audit.model.edits import Edits, edits_of
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
from recourse_audit.recourse.attributes import (
    Attribute,
    Levels,
    Movement,
    Value,
    column_from,
    column_of,
    round_value,
)
from recourse_audit.recourse.policy import INCOMING, OTHERS, OUTGOING, Policy, relations

DROP, ADD, SET = range(3)
TIE_WORDS: tuple[Literal["drop", "add"], ...] = ("drop", "add")
NONE = -1
LARGEST_KEY = 2**62
NO_PLACES = np.empty(0, np.int64)


def action_text(action: Action) -> str:
    """A change as somebody would type it."""
    if isinstance(action, SetAction):
        after = action.after
        return f"{action.attribute}={after if isinstance(after, str) else f'{after:.12g}'}"
    if isinstance(action, TogetherAction):
        return f"{action.do} {action.kind}"
    return f"{action.do} {action.tie[0]}-{action.tie[1]}:{action.kind}"


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
        return Ties(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class TieChanges:
    """Changes of ties, of which the first `drops` end some: kinds, costs, and the ties of each.

    Change c is about the ties from `starts[c]` to `starts[c + 1]`: several, if they end `together`.
    A tie has its ends as node numbers, and its first arc if it exists.
    """

    drops: int
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

    Action a changes the ties from `tie_starts[a]` to `tie_starts[a + 1]`, and sets the features
    `column[changes[a]:changes[a + 1]]` to `number`, in the table's units; with an `encoder`, it
    sets columns instead, and the features follow (see `assignments`). `denied` counts the ties that
    only the deny list forbids; `unreachable` are levels that only an implied attribute forbids: how
    many, by family.
    """

    graph: Graph
    subject: int
    ties: TieChanges
    moves: tuple[tuple[Movement, Levels], ...]
    denied: int = 0
    encoder: Encoder | None = None
    unreachable: tuple[tuple[Movement, Levels], ...] = ()

    def __len__(self) -> int:
        return len(self.do)

    @cached_property
    def do(self) -> NDArray[np.int8]:
        counts = [self.ties.drops, len(self.ties) - self.ties.drops, sum(self._sizes)]
        return np.repeat(np.arange(3, dtype=np.int8), counts)

    @cached_property
    def tie_starts(self) -> Ints:
        """Where the ties of each action begin; an attribute has none."""
        starts = self.ties.starts
        return np.pad(starts, (0, sum(self._sizes)), constant_values=starts[-1])

    @cached_property
    def own(self) -> Mask:
        """Whether an action changes the subject's own ties, adds one, or sets an attribute."""
        first = self.ties.starts[:-1]
        ends = self.ties.source[first], self.ties.target[first]
        mine = (ends[0] == self.subject) | (ends[1] == self.subject)
        return np.pad(mine, (0, sum(self._sizes)), constant_values=True)

    @cached_property
    def kind(self) -> Ints:
        """The kind of an action's ties; 0 for attributes."""
        return np.pad(self.ties.kind, (0, sum(self._sizes)))

    @cached_property
    def together(self) -> Mask:
        """Whether an action ends all ties of a kind as one change."""
        return np.pad(self.ties.together, (0, sum(self._sizes)))

    @cached_property
    def move(self) -> Ints:
        """The place of an attribute's rule in `moves`; `NONE` for ties."""
        own = np.repeat(np.arange(len(self.moves)), self._sizes)
        return np.concatenate((np.full(len(self.ties), NONE), own))

    @cached_property
    def steps(self) -> Ints:
        """Signed steps of an attribute; 0 for ties."""
        own = [levels.steps for _, levels in self.moves]
        return np.concatenate((np.zeros(len(self.ties), np.int64), *own))

    @cached_property
    def cost(self) -> Floats:
        return np.concatenate((self.ties.cost, *(levels.cost for _, levels in self.moves)))

    @cached_property
    def group(self) -> Ints:
        """Actions of one group exclude each other."""
        families = np.array([movement.family for movement, _ in self.moves], np.int64)
        _, number = np.unique(np.repeat(families, self._sizes), return_inverse=True)
        return np.concatenate((np.arange(len(self.ties)), len(self.ties) + number))

    @cached_property
    def touches(self) -> Ints:
        """What an action touches: its ties, or an attribute at whatever level."""
        return np.where(self.do == SET, len(self.ties) + self.move, np.arange(len(self)))

    @cached_property
    def changes(self) -> Ints:
        """Where the numbers that each action sets begin."""
        widths = [np.full(len(levels), levels.numbers.shape[1]) for _, levels in self.moves]
        return np.cumsum(np.concatenate((np.zeros(len(self.ties) + 1, np.int64), *widths)))

    @cached_property
    def column(self) -> Ints:
        """The feature that each number is about; `NONE` if it is not a feature."""
        rows = [
            [a.column if isinstance(a, Attribute) else NONE for a in movement.attributes]
            for movement, _ in self.moves
        ]
        return np.concatenate((NO_PLACES, *map(np.tile, rows, self._sizes)))

    @cached_property
    def number(self) -> Floats:
        return np.concatenate((np.empty(0), *(levels.numbers.ravel() for _, levels in self.moves)))

    @property
    def permitted_counts(self) -> Permitted:
        """How many changes there are."""
        return Permitted(
            drop=self.ties.drops,
            add=len(self.ties) - self.ties.drops,
            set={movement.rule.name: len(levels) for movement, levels in self.moves},
        )

    @property
    def droppable(self) -> tuple[DroppableTie, ...]:
        """The ties that may be dropped, with the ids of their ends."""
        return tuple(
            DroppableTie(tie=tie, kind=self.graph.ties.kinds[self.kind[action]])
            for action in range(self.ties.drops)
            for tie in self._named_ties(action)
        )

    @cached_property
    def dropping(self) -> Ints:
        """The actions that drop the ties of `ties`, one for each tie that may be dropped."""
        starts = self.ties.starts[: self.ties.drops + 1]
        return np.repeat(np.arange(self.ties.drops), np.diff(starts))

    def people(self, actions: Ints) -> Ints:
        """Everybody at an end of the ties that some actions change; the subject if they set."""
        ties, _ = spans(self.tie_starts, actions)
        own = [self.subject] if (self.do[actions] == SET).any() else []
        ends = self.ties.source[ties], self.ties.target[ties], np.array(own, np.int64)
        return np.unique(np.concatenate(ends))

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
        return np.asarray((self.move == self.move[action]) & farther)

    def records(self, actions: Ints) -> tuple[Action, ...]:
        """Some actions as records, in the user's ids and units."""
        return tuple(self._record(int(action)) for action in actions)

    def _record(self, action: int) -> Action:
        if self.do[action] == SET:
            return self._set_record(action)
        ties = self._named_ties(action)
        kind, cost = self.graph.ties.kinds[self.kind[action]], float(self.cost[action])
        if self.together[action]:
            return TogetherAction(kind=kind, ties=ties, cost=cost)
        return TieAction(do=TIE_WORDS[self.do[action]], tie=ties[0], kind=kind, cost=cost)

    def _named_ties(self, action: int) -> tuple[tuple[str, str], ...]:
        """The ties of an action, with the ids of their ends."""
        ids, span = self.graph.ids, slice(*self.tie_starts[action : action + 2].tolist())
        ends = ids[self.ties.source[span]].tolist(), ids[self.ties.target[span]].tolist()
        return tuple(zip(*ends, strict=True))

    def _set_record(self, action: int) -> SetAction:
        movement, levels = self.moves[self.move[action]]
        after = levels.after[self._level(action)]
        own, *implied = (
            Move(attribute=attribute.name, before=old, after=new, unit=attribute.unit)
            for attribute, old, new in zip(movement.attributes, levels.before, after, strict=True)
            if old != new or attribute is movement.attribute or isinstance(attribute, Attribute)
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
        return action - len(self.ties) - sum(self._sizes[: self.move[action]])

    @cached_property
    def _sizes(self) -> list[int]:
        return [len(levels) for _, levels in self.moves]


def action_table(policy: Policy, subject: int, depth: int | None) -> ActionTable:
    """List what the policy permits to a subject; `depth` is how many hops the model looks."""
    drops, denied = _drops(policy, subject, depth)
    every = [(movement, movement.levels(policy.graph, subject)) for movement in policy.movements]
    moves = [(movement, levels) for movement, levels in every if len(levels)]
    return ActionTable(
        graph=policy.graph,
        subject=subject,
        ties=tie_changes(policy, drops, _adds(policy, subject)),
        moves=tuple(sorted(moves, key=lambda move: move[0].family)),
        denied=denied,
        encoder=policy.encoder,
        unreachable=tuple((movement, levels) for movement, levels in every if levels.left_out),
    )


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
    graph, owner = policy.graph, np.arange(len(arcs))
    source, target = graph.arc_source[arcs], graph.arc_target[arcs]
    kind = graph.ties.kind[graph.arc_tie[arcs]].astype(np.int64)
    relation = relations(graph, subject, source, target)
    rule = policy.together[kind, relation]
    if (rule >= 0).any():
        key = np.where(rule < 0, -1 - owner, kind * len(policy.rules) + rule)
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


def new_ties(source: Ints, target: Ints, kind: Ints, relation: Ints) -> Ties:
    """Ties that do not exist; each is a change of its own."""
    none = np.zeros(len(source), np.int64)
    return Ties(
        source=source,
        target=target,
        kind=kind,
        relation=relation,
        arc=none,
        owner=np.arange(len(source)),
        together=none > 0,
    )


def tie_changes(policy: Policy, drops: Ties, adds: Ties) -> TieChanges:
    """Ties as changes, at the costs of their rules; the ends of one without direction in order."""
    drops = drops.take(np.argsort(drops.owner, kind="stable"))
    ended = np.flatnonzero(np.diff(drops.owner, prepend=-1))
    first = np.concatenate((ended, len(drops.owner) + np.arange(len(adds.owner))))

    def join(name: str) -> Ints:
        return np.concatenate((getattr(drops, name), getattr(adds, name)))

    source, target, kind = join("source"), join("target"), join("kind")[first]
    if not policy.graph.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    return TieChanges(
        drops=len(ended),
        kind=kind,
        cost=policy.cost[kind, join("relation")[first]],
        together=np.concatenate((drops.together, adds.together))[first],
        starts=np.append(first, len(source)),
        source=source,
        target=target,
        arc=drops.arc,
    )


def _drops(policy: Policy, subject: int, depth: int | None) -> tuple[Ties, int]:
    """Ties that may be dropped, and how many only the deny list forbids.

    Where one of several that end together is never suggested, none of them is.
    """
    ties, nodes = ties_to_drop(policy, subject, depth), policy.denied_nodes
    allowed = policy.drop[ties.kind, ties.relation]
    denied = policy.denied[ties.kind]
    for end in (ties.source, ties.target):
        denied = denied | (nodes[end] & (end != subject))
    denied = np.bincount(ties.owner, denied)[ties.owner] > 0
    return ties.take(np.flatnonzero(allowed & ~denied)), int((allowed & denied).sum())


def _pairs_around(graph: Graph, subject: int, depth: int | None) -> Ints:
    """The pairs of other people who are both within the model's depth."""
    if depth is None:
        return np.arange(graph.pair_count)
    near = reach(graph, np.array([subject]), depth)
    positions, owner = spans(graph.starts, near)
    inside = np.isin(graph.neighbour[positions], near) & (near[owner] < graph.neighbour[positions])
    return graph.neighbour_pair[positions[inside]].astype(np.int64)


def _adds(policy: Policy, subject: int) -> Ties:
    """Ties that may be added: by kind, by direction, then by the other end."""
    parts = [(NO_PLACES,) * 4, *_new_ties(policy, subject)]
    return new_ties(*map(np.concatenate, zip(*parts, strict=True)))


def _new_ties(policy: Policy, subject: int) -> Iterator[tuple[Ints, ...]]:
    """Sources, targets, kinds and relations."""
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
    if policy.graph.directed:
        rows = rows[(listed.source[rows] == subject) == (relation == OUTGOING)]
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


class ActionEdits:
    """Writes the edits that combinations of actions (padded with `NONE`) make."""

    def __init__(self, table: ActionTable, own: Floats) -> None:
        """`own` is the subject's row of features, as the model takes it."""
        self._table = table
        self._own = own
        self._encoded: dict[tuple[int, ...], Floats] = {}

    def of(self, combinations: Ints, asked: Ints | None = None) -> Edits:
        """One edit for each combination; `asked` are edits and nodes, by default the subject."""
        table, count = self._table, len(combinations)
        do = np.where(combinations == NONE, NONE, table.do[combinations])
        if asked is None:
            asked = np.stack((np.arange(count), np.full(count, table.subject)))
        changed, row, features = self._replacements(combinations, do)
        return edits_of(
            count,
            asked,
            dropped=self._drops(combinations, do),
            added=self._adds(combinations, do),
            replaced=np.stack((changed, np.full(len(changed), table.subject), row)),
            features=features,
        )

    def _drops(self, combinations: Ints, do: Ints) -> Ints:
        """Edits and arcs: two arcs next to each other, unless ties have a direction."""
        edit, column = np.nonzero(do == DROP)
        ties, owner = spans(self._table.tie_starts, combinations[edit, column])
        edit, arc = edit[owner], self._table.ties.arc[ties]
        if self._table.graph.directed:
            return np.stack((edit, arc))
        return np.stack((np.repeat(edit, 2), np.column_stack((arc, arc + 1)).ravel()))

    def _adds(self, combinations: Ints, do: Ints) -> Ints:
        """Edits, sources, targets and rows of ties; a change adds one tie."""
        table = self._table
        edit, column = np.nonzero(do == ADD)
        action = combinations[edit, column]
        place = table.tie_starts[action]
        source, target = table.ties.source[place], table.ties.target[place]
        tie = len(table.graph.ties) + table.kind[action]
        if table.graph.directed:
            return np.stack((edit, source, target, tie))
        pairs = ((edit, edit), (source, target), (target, source), (tie, tie))
        return np.stack([np.column_stack(pair).ravel() for pair in pairs])

    def _replacements(self, combinations: Ints, do: Ints) -> tuple[Ints, Ints, Floats]:
        """Which edits replace the subject's features, by which row; each row is written once."""
        table = self._table
        sets = np.sort(np.where(do == SET, combinations, NONE), axis=1)
        changed = np.flatnonzero(sets[:, -1] != NONE) if sets.shape[1] else NO_PLACES
        if not len(changed):
            return changed, changed, np.empty((0, len(self._own)), self._own.dtype)
        first, row = _distinct(sets[changed], len(table))
        chosen = sets[changed[first]]
        features = np.repeat(self._own[None], len(chosen), axis=0)
        with np.errstate(over="ignore"):
            if table.encoder is not None:
                features[:] = self._encode(table.encoder, chosen)
            else:
                place, column = np.nonzero(chosen != NONE)
                entry, owner = spans(table.changes, chosen[place, column])
                features[place[owner], table.column[entry]] = table.number[entry]
        return changed, row, features

    def _encode(self, encoder: Encoder, sets: Ints) -> Floats:
        """The subject's features for each row of actions that set columns."""
        keys = [tuple(action for action in row if action != NONE) for row in sets.tolist()]
        new = [key for key in dict.fromkeys(keys) if key not in self._encoded]
        if new:
            features = encoder.encode(changed_columns(self._table, new))
            self._encoded |= zip(new, features, strict=True)
        return np.array([self._encoded[key] for key in keys])


def as_rows(combinations: Sequence[Sequence[int]]) -> Ints:
    """Combinations of any sizes as rows, padded with `NONE`."""
    rows = np.full((len(combinations), max(map(len, combinations), default=1)), NONE)
    for row, combination in zip(rows, combinations, strict=True):
        row[: len(combination)] = combination
    return rows


def _distinct(rows: Ints, actions: int) -> tuple[Ints, Ints]:
    """The first place of each distinct row, and for each row which of these it is."""
    width = rows.shape[1]
    if (actions + 1) ** width < LARGEST_KEY:
        key = (rows + 1) @ (actions + 1) ** np.arange(width)
        _, first, row = np.unique(key, return_index=True, return_inverse=True)
    else:
        _, first, row = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, row.ravel()


def changed_columns(table: ActionTable, changes: Sequence[Sequence[int]]) -> dict[str, Column]:
    """The subject's columns, one entry for each set of actions, with what these set."""
    assert table.encoder is not None
    own = {name: column_of(table.graph, name)[table.subject] for name in table.encoder.columns}
    rows: dict[str, list[Value]] = {
        name: [value if isinstance(value, str) else float(value)] * len(changes)
        for name, value in own.items()
    }
    assigned = {action: table.assignments(action) for actions in changes for action in actions}
    for place, actions in enumerate(changes):
        for action in actions:
            for name, (stored, _) in assigned[action].items():
                if name in rows:
                    rows[name][place] = stored
    return {name: column_from(values) for name, values in rows.items()}
