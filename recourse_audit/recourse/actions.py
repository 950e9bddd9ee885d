"""Every change that the policy permits to one subject, as a table of arrays, and as edits.

An action drops a tie, or all ties of a kind that end together; it adds a tie; it moves a tie to
another far end; or it moves an attribute to a level. Actions of one group exclude each other: a new
tie is a group of its own, so are the end of a tie and all its moves, and so are all levels of
linked attributes. Groups are contiguous, so a combination is an ascending list of rows of different
groups. Nor does a combination make the same new tie twice, by two moves, or by a move and by
adding it.

`action_table` is where the policy is applied: what it does not list is never suggested.

Where features follow from columns, changes are made in the columns that people know: the encoder
turns all new rows of a batch into features in one call, and what it said about a row is kept.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.columns import Column
from recourse_audit.graph.graph import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, neighbourhood, pairs_among, reach, spans
from recourse_audit.model.decisions import Mask
from recourse_audit.model.edits import Edits, edits_of
from recourse_audit.model.preprocessing import Encoder
from recourse_audit.records.recourse import (
    Action,
    DroppableTie,
    Move,
    MoveAction,
    Permitted,
    SetAction,
    TieAction,
    TieWord,
    TogetherAction,
)
from recourse_audit.recourse.attributes import (
    Levels,
    Movement,
    Value,
    column_from,
    column_of,
    round_value,
)
from recourse_audit.recourse.policy import OTHERS, OUTGOING, WAYS, Policy, can_lead_both_ways

DROP, ADD, SET, MOVE = range(4)
TIE_WORDS: dict[TieWord, int] = {"drop": DROP, "add": ADD, "move": MOVE}
NONE = OUTSIDE
LARGEST_KEY = 2**62
NO_PLACES = np.empty(0, np.int64)

Moves = Sequence[tuple[Movement, Levels]]
# Ties to drop or to add: their ends, kinds and relations to the subject, and the first arc of one
# that exists, or `NONE`. `owner` is the place of the first tie of those that it ends together with
# (its own place, unless a rule ends them together); `rule` is the number of that rule, or -1. A
# move is two of them of one owner and one `choice` above 0: the tie that ends, and the new one.
Ties = NDArray[np.void]
TIE = np.dtype(
    [
        (name, np.int64)
        for name in ("source", "target", "kind", "relation", "arc", "owner", "rule", "choice")
    ]
)


def action_text(action: Action) -> str:
    """A change as somebody would type it."""
    if isinstance(action, SetAction):
        after = action.after
        return f"{action.attribute}={after if isinstance(after, str) else f'{after:.12g}'}"
    if isinstance(action, TogetherAction):
        return f"{action.do} {action.kind}"
    text = f"{action.do} {action.tie[0]}-{action.tie[1]}:{action.kind}"
    return f"{text} to {action.to}" if isinstance(action, MoveAction) else text


class ActionTable:
    """The actions of one subject: ties to drop or move, ties to add, then levels of attributes.

    Action a changes the ties from `tie_starts[a]` to `tie_starts[a + 1]`: several if they end
    `together`, the old and the new one if it moves, none if it sets an attribute. A tie has its
    ends as node numbers (in order, if it has no direction), and its first arc if it exists and
    ends; it is new otherwise. `new` numbers the ties that actions make, `NONE` for those that make
    none; there is only a need for it if ties move. Other actions are levels of the attributes of
    `moves`: `move` is the place of the rule there (`NONE` for ties), `steps` how many signed steps
    lead to the level. They set the features `column[changes[a]:changes[a + 1]]` to `number`, in the
    table's units; with an `encoder`, they set columns instead, and the features follow (see
    `assignments`).

    The first `tie_actions` are about ties. `own` actions change the subject's own ties, or set an
    attribute. `denied` counts the ties that only the deny list forbids; `unreachable` are levels
    that only an implied attribute forbids.
    """

    def __init__(
        self,
        policy: Policy,
        subject: int,
        drops: Ties,
        adds: Ties,
        moves: Moves,
        *,
        moved: Ties | None = None,
        denied: int = 0,
        unreachable: Moves = (),
    ) -> None:
        self.graph = policy.graph
        self.encoder = policy.encoder
        self.subject = subject
        self.moves = moves
        self.denied = denied
        self.unreachable = unreachable
        ended = drops if moved is None else np.concatenate((drops, moved))
        # For the same owner, a move comes after the end of the tie, and its new tie after the old.
        ended = ended[np.lexsort((ended["arc"] == NONE, ended["choice"], ended["owner"]))]
        adds = adds.copy()
        adds["owner"] = ended["owner"].max(initial=-1) + 1 + np.arange(len(adds))
        ties = np.concatenate((ended, adds))
        owner, choice = ties["owner"], ties["choice"]
        first = np.flatnonzero(np.diff(owner, prepend=-1) | np.diff(choice, prepend=-1))
        lead = ties[first]
        kind, relation = lead["kind"], lead["relation"]
        self.source: Ints = ties["source"]
        self.target: Ints = ties["target"]
        both_ways = ~policy.one_way[ties["kind"]]
        ends = self.source[both_ways], self.target[both_ways]
        self.source[both_ways], self.target[both_ways] = np.minimum(*ends), np.maximum(*ends)
        self.arc: Ints = ties["arc"]
        do = np.where(lead["choice"] > 0, MOVE, np.where(lead["arc"] == NONE, ADD, DROP))
        levels = [own for _, own in moves]
        sizes = [len(own) for own in levels]
        more = (0, sum(sizes))
        self.do = np.pad(do.astype(np.int8), more, constant_values=SET)
        self.kind: Ints = np.pad(kind, more)
        self.together: Mask = np.pad(lead["rule"] >= 0, more)
        self.relation: Ints = np.pad(relation, more)
        self.own: Mask = np.pad(relation != OTHERS, more, constant_values=True)
        self.tie_starts: Ints = np.pad(np.append(first, len(ties)), more, mode="edge")
        self.cost: Floats = np.concatenate(
            (policy.cost[kind, relation], *(own.cost for own in levels))
        )
        self.tie_actions = len(lead)
        family = np.repeat(np.array([movement.family for movement, _ in moves], np.int64), sizes)
        owned = np.cumsum(np.diff(lead["owner"], prepend=-1) > 0) - 1
        self.group = np.append(owned, len(lead) + family)
        self.new: Ints | None = None
        if (do == MOVE).any():
            last, nodes = self.tie_starts[1 : len(lead) + 1] - 1, self.graph.node_count
            key = (kind * nodes + self.source[last]) * nodes + self.target[last]
            number = np.unique(key, return_inverse=True)[1]
            self.new = np.pad(np.where(do == DROP, NONE, number), more, constant_values=NONE)
        self.move = np.append(np.full(len(lead), NONE), np.repeat(np.arange(len(moves)), sizes))
        no_steps = np.zeros(len(lead), np.int64)
        self.steps: Ints = np.concatenate((no_steps, *(own.steps for own in levels)))
        columns = [[attribute.column for attribute in movement.attributes] for movement, _ in moves]
        widths = np.repeat(np.array([len(row) for row in columns], np.int64), sizes)
        self.changes = np.cumsum(np.concatenate(([0], no_steps, widths)))
        self.column: Ints = np.concatenate((NO_PLACES, *map(np.tile, columns, sizes)))
        self.number: Floats = np.concatenate(
            (np.empty(0), *(own.numbers.ravel() for own in levels))
        )

    def __len__(self) -> int:
        return len(self.do)

    @cached_property
    def touches(self) -> Ints:
        """What an action touches: its ties, wherever they move, or an attribute at any level."""
        ties = self.tie_actions
        return np.append(self.group[:ties], ties + self.move[ties:])

    def keys(self, combinations: Ints, width: int | None = None) -> NDArray[Any]:
        """A number or text per combination, whatever the order and, for a `width`, the padding."""
        width = combinations.shape[1] if width is None else width
        digits = np.sort(combinations - NONE, axis=1)
        base = len(self) + 1
        if base**width < LARGEST_KEY:
            return np.asarray(digits @ base ** np.arange(width - digits.shape[1], width))
        wide = np.zeros((len(digits), width), ">i4")
        wide[:, : digits.shape[1]] = digits[:, ::-1]
        return wide.view(f"S{4 * width}").ravel()

    @property
    def permits(self) -> Permitted:
        return Permitted(
            drop=int((self.do == DROP).sum()),
            add=int((self.do == ADD).sum()),
            move=int((self.do == MOVE).sum()),
            set={movement.rule.name: len(levels) for movement, levels in self.moves},
        )

    @property
    def droppable(self) -> tuple[DroppableTie, ...]:
        """The ties that may be dropped or moved, with the ids of their ends."""
        ended = np.flatnonzero((self.do != ADD) & (np.diff(self.group, prepend=-1) > 0))
        return tuple(
            DroppableTie(tie=tie, kind=self.graph.ties.kinds[self.kind[action]])
            for action in ended[ended < self.tie_actions].tolist()
            for tie in self._tie_names(action)[: 1 if self.do[action] == MOVE else None]
        )

    @cached_property
    def dropping(self) -> tuple[Ints, Ints]:
        """The actions that drop ties, one for each tie that may be dropped, and its first arc."""
        actions = np.flatnonzero(self.do == DROP)
        ties, owner = spans(self.tie_starts, actions)
        return actions[owner], self.arc[ties]

    def people(self, actions: Ints) -> Ints:
        """Everybody at an end of the ties that some actions change; the subject if they set."""
        ties, _ = spans(self.tie_starts, actions)
        own = [self.subject] if (self.do[actions] == SET).any() else []
        return np.unique(np.concatenate((self.source[ties], self.target[ties], np.array(own, int))))

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
            if attribute.is_number:
                columns[attribute.name] = float(levels.numbers[row, place]), after
            elif not place or after != levels.before[place]:
                columns[attribute.name] = after, after
        return columns

    def at_least(self, action: int) -> Mask:
        """The action, and those that move its attribute further; no category is further."""
        steps = int(self.steps[action])
        if not steps:
            return np.asarray(np.arange(len(self)) == action)
        farther = self.steps >= steps if steps > 0 else self.steps <= steps
        return np.asarray((self.move == self.move[action]) & farther)

    def records(self, actions: Ints) -> tuple[Action, ...]:
        return tuple(self._record(int(action)) for action in actions)

    def _record(self, action: int) -> Action:
        if self.do[action] == SET:
            return self._set_record(action)
        ties = self._tie_names(action)
        kind, cost = self.graph.ties.kinds[self.kind[action]], float(self.cost[action])
        if self.together[action]:
            return TogetherAction(kind=kind, ties=ties, cost=cost)
        if self.do[action] == MOVE:
            to = self.destination(action)
            return MoveAction(
                tie=ties[0],
                to=str(self.graph.ids[to]),
                kind=kind,
                shared_by=_count_sharing(self.graph, to, int(self.kind[action])),
                cost=cost,
            )
        return TieAction(
            do="drop" if self.do[action] == DROP else "add", tie=ties[0], kind=kind, cost=cost
        )

    def destination(self, action: int) -> int:
        new = self.tie_starts[action + 1] - 1
        ends = int(self.source[new]), int(self.target[new])
        return ends[ends[0] == self.subject]

    def _tie_names(self, action: int) -> tuple[tuple[str, str], ...]:
        ids, span = self.graph.ids, slice(*self.tie_starts[action : action + 2].tolist())
        ends = ids[self.source[span]].tolist(), ids[self.target[span]].tolist()
        return tuple(zip(*ends, strict=True))

    def _set_record(self, action: int) -> SetAction:
        movement, levels = self.moves[self.move[action]]
        after = levels.after[self._level(action)]
        own, *implied = (
            Move(attribute=attribute.name, before=old, after=new, unit=attribute.unit)
            for attribute, old, new in zip(movement.attributes, levels.before, after, strict=True)
            if old != new or attribute is movement.attribute or attribute.is_number
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
        return action - int(np.searchsorted(self.move, self.move[action]))


def action_table(policy: Policy, subject: int, depth: int | None) -> ActionTable:
    """List what the policy permits to a subject; `depth` is how many hops the model looks."""
    ties, denied = _ties_to_end(policy, subject, depth)
    drops = ties[policy.drop[ties["kind"], ties["relation"]]]
    new = [np.empty(0, TIE), *_new_ties(policy, subject)]
    adds = np.concatenate(new)
    every = [(movement, movement.levels(policy.graph, subject)) for movement in policy.movements]
    moves = [(movement, levels) for movement, levels in every if len(levels)]
    return ActionTable(
        policy,
        subject,
        drops,
        adds[policy.add[adds["kind"], adds["relation"]]],
        sorted(moves, key=lambda move: move[0].family),
        moved=_moves(policy, ties, new),
        denied=denied,
        unreachable=[(movement, levels) for movement, levels in every if levels.left_out],
    )


def ties_to_drop(policy: Policy, subject: int, depth: int | None) -> Ties:
    """Own ties, and others' around if a rule drops any, in canonical order, permitted or not."""
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
    arcs, _ = spans(graph.pair_starts, pairs)
    return arcs if graph.directed else arcs[::2]


def ties_of(policy: Policy, subject: int, arcs: Ints) -> Ties:
    """The ties with these first arcs, and which of them end together."""
    graph, owner = policy.graph, np.arange(len(arcs))
    kind = graph.ties.kind[graph.arc_tie[arcs]].astype(np.int64)
    ties = new_ties(policy, subject, *graph.ends_of(arcs), kind)
    rule = policy.together[kind, ties["relation"]]
    if (rule >= 0).any():
        key = np.where(rule < 0, -1 - owner, kind * len(policy.rules) + rule)
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        owner = first[place]
    ties["arc"], ties["owner"], ties["rule"] = arcs, owner, rule
    return ties


def new_ties(
    policy: Policy, subject: int, source: Ints | Indices, target: Ints | Indices, kind: Ints
) -> Ties:
    """Ties that do not exist; each is a change of its own."""
    ties = np.zeros(len(kind), TIE)
    ties["source"], ties["target"], ties["kind"] = source, target, kind
    ties["relation"] = policy.relations(subject, source, target, kind)
    ties["owner"], ties["arc"], ties["rule"] = np.arange(len(ties)), NONE, -1
    return ties


def move_ties(old: Ties, new: Ties) -> Ties:
    """Moves of some ties, each to the new tie beside it; all moves of a tie have its owner."""
    moved = np.concatenate((old, new))
    moved["owner"] = np.tile(old["owner"], 2)
    moved["choice"] = np.tile(1 + np.arange(len(old)), 2)
    return moved


def _moves(policy: Policy, ties: Ties, new: Sequence[Ties]) -> Ties:
    """Every move of a tie that may move to a new tie of its kind and relation."""
    ties = ties[policy.move[ties["kind"], ties["relation"]]]
    moves = [np.empty(0, TIE)]
    for others in (part for part in new if len(part)):
        same = [ties[name] == others[name][0] for name in ("kind", "relation")]
        alike = ties[same[0] & same[1]]
        old, place = (part.ravel() for part in np.indices((len(alike), len(others))))
        moves.append(move_ties(alike[old], others[place]))
    return np.concatenate(moves)


def _count_sharing(graph: Graph, node: int, kind: int) -> int | None:
    """How many people have a tie of a kind with a node; None if it is a person."""
    if node < graph.person_count:
        return None
    arcs = own_arcs(graph, node)
    source, target = graph.ends_of(arcs[graph.ties.kind[graph.arc_tie[arcs]] == kind])
    others = np.unique(np.where(source == node, target, source))
    return int((others < graph.person_count).sum())


def _ties_to_end(policy: Policy, subject: int, depth: int | None) -> tuple[Ties, int]:
    """Ties that may be dropped or moved, and how many only the deny list forbids.

    Where one of several that end together is never suggested, none of them is.
    """
    ties, nodes = ties_to_drop(policy, subject, depth), policy.denied_nodes
    allowed = (policy.drop | policy.move)[ties["kind"], ties["relation"]]
    denied = policy.denied[ties["kind"]]
    for end in (ties["source"], ties["target"]):
        denied = denied | (nodes[end] & (end != subject))
    denied = np.bincount(ties["owner"], denied)[ties["owner"]] > 0
    return ties[allowed & ~denied], int((allowed & denied).sum())


def _pairs_around(graph: Graph, subject: int, depth: int | None) -> Ints:
    """The pairs of other people who are both within the model's depth."""
    if depth is None:
        return np.arange(graph.pair_count)
    near = reach(graph, np.array([subject]), depth)
    return pairs_among(graph, near).astype(np.int64)


def _new_ties(policy: Policy, subject: int) -> Iterator[Ties]:
    """Ties that may be added or moved to: by kind, by relation, then by the other end."""
    graph, around = policy.graph, None
    wanted = (policy.add | policy.move) & ~policy.denied[:, None]
    for kind, relation in np.argwhere(wanted).tolist():
        if policy.candidates is not None:
            others = _candidate_ends(policy, subject, kind, relation)
        elif policy.near[kind, relation]:
            # Whoever has a tie with a node of another kind is a tie farther from the next of them.
            most = 3 if graph.kinds is not None and relation >= WAYS else 2
            if around is None:
                around = neighbourhood(graph, np.array([subject]), 2 if graph.kinds is None else 3)
            others = around.nodes[(around.hops >= 2) & (around.hops <= most)].astype(np.int64)
        else:
            others = np.delete(np.arange(graph.node_count), subject)
        others = np.setdiff1d(others, find_tied(policy, subject, kind, relation))
        others = others[policy.far_kind[others] == relation // WAYS]
        others = others[~policy.denied_nodes[others]]
        own = np.full(len(others), subject)
        source, target = (own, others) if relation % WAYS == OUTGOING else (others, own)
        if graph.relations and graph.relations[kind].source != 0:
            source, target = others, own
        yield new_ties(policy, subject, source, target, np.full(len(others), kind))


def _candidate_ends(policy: Policy, subject: int, kind: int, relation: int) -> Ints:
    """The other ends of a subject's candidates of one kind and one direction."""
    listed = policy.candidates
    assert listed is not None
    rows = listed.of(subject)
    if listed.kind is not None:
        rows = rows[listed.kind[rows] == kind]
    if can_lead_both_ways(policy.graph)[kind]:
        rows = rows[(listed.source[rows] == subject) == (relation % WAYS == OUTGOING)]
    outward = listed.source[rows] == subject
    return np.where(outward, listed.target[rows], listed.source[rows]).astype(np.int64)


def find_tied(policy: Policy, subject: int, kind: int, relation: int) -> Ints:
    """Everyone already tied to the subject by this kind, in the same direction."""
    own = ties_of(policy, subject, own_arcs(policy.graph, subject))
    alike = own[(own["kind"] == kind) & (own["relation"] == relation)]
    return np.asarray(np.where(alike["source"] == subject, alike["target"], alike["source"]))


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
        edit, column = np.nonzero((do == DROP) | (do == MOVE))
        ties, owner = spans(self._table.tie_starts, combinations[edit, column])
        edit, arc = edit[owner], self._table.arc[ties]
        edit, arc = edit[arc != NONE], arc[arc != NONE]
        if self._table.graph.directed:
            return np.stack((edit, arc))
        return np.stack((np.repeat(edit, 2), np.column_stack((arc, arc + 1)).ravel()))

    def _adds(self, combinations: Ints, do: Ints) -> Ints:
        """Edits, sources, targets and rows of ties; a change adds one tie, its last."""
        table = self._table
        edit, column = np.nonzero((do == ADD) | (do == MOVE))
        action = combinations[edit, column]
        place = table.tie_starts[action + 1] - 1
        source, target = table.source[place], table.target[place]
        forward, back = table.graph.new_rows(table.kind[action])
        if table.graph.directed:
            return np.stack((edit, source, target, forward))
        pairs = ((edit, edit), (source, target), (target, source), (forward, back))
        return np.stack([np.column_stack(pair).ravel() for pair in pairs])

    def _replacements(self, combinations: Ints, do: Ints) -> tuple[Ints, Ints, Floats]:
        """Which edits replace the subject's features, by which row; each row is written once."""
        table = self._table
        sets = np.sort(np.where(do == SET, combinations, NONE), axis=1)
        changed = np.flatnonzero(sets[:, -1] != NONE) if sets.shape[1] else NO_PLACES
        if not len(changed):
            return changed, changed, np.empty((0, len(self._own)), self._own.dtype)
        keys = table.keys(sets[changed])
        _, first, row = np.unique(keys, return_index=True, return_inverse=True)
        chosen = sets[changed[first]]
        features = np.repeat(self._own[None], len(chosen), axis=0)
        with np.errstate(over="ignore"):
            if table.encoder is not None:
                encoded = self._encode(table.encoder, chosen)
                features[:, : encoded.shape[1]] = encoded
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
            features = encoder.encode(columns_after(self._table, new))
            self._encoded |= zip(new, features, strict=True)
        return np.array([self._encoded[key] for key in keys])


def columns_after(table: ActionTable, changes: Sequence[Sequence[int]]) -> dict[str, Column]:
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
