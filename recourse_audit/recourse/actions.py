"""Every change that the policy permits to one subject, as a table of arrays.

An action drops a tie, adds a tie, or moves an attribute to a level. Actions of one group exclude
each other: every tie is a group of its own, and all levels of linked attributes are one group.
Groups are contiguous, so a combination is an ascending list of rows of different groups.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.decisions import Mask
from recourse_audit.model.encoding import Encoder
from recourse_audit.records.recourse import (
    Action,
    DroppableTie,
    Move,
    Permitted,
    SetAction,
    TieAction,
)
from recourse_audit.recourse.attributes import Attribute, Levels, Movement, Value, round_value

DROP, ADD, SET = range(3)
TIE_WORDS: tuple[Literal["drop", "add"], ...] = ("drop", "add")
NONE = -1


def action_text(action: Action) -> str:
    """A change as somebody would type it."""
    if isinstance(action, SetAction):
        after = action.after
        return f"{action.attribute}={after if isinstance(after, str) else f'{after:.12g}'}"
    return f"{action.do} {action.tie[0]}-{action.tie[1]}:{action.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TieActions:
    """Ties to drop or to add: ends as node numbers, and the first arc of a tie that exists."""

    source: Ints
    target: Ints
    kind: Ints
    arc: Ints
    cost: Floats

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, kw_only=True)
class ActionTable:
    """The actions of one subject: ties to drop, ties to add, then levels of attributes.

    Action a sets the features `column[changes[a]:changes[a + 1]]` to `number`, in the table's
    units; with an `encoder`, it sets columns instead, and the features follow (see `assigned`).
    `unreachable` are levels that only an implied attribute forbids: how many, by family.
    """

    graph: Graph
    subject: int
    drops: TieActions
    adds: TieActions
    moves: tuple[tuple[Movement, Levels], ...]
    denied: int
    encoder: Encoder | None = None
    unreachable: tuple[tuple[Movement, Levels], ...] = ()

    def __len__(self) -> int:
        return len(self.do)

    @cached_property
    def do(self) -> NDArray[np.int8]:
        counts = [len(self.drops), len(self.adds), sum(len(levels) for _, levels in self.moves)]
        return np.repeat(np.arange(3, dtype=np.int8), counts)

    @cached_property
    def source(self) -> Ints:
        """Where a tie starts; for an attribute, the subject."""
        return self._tied(self.drops.source, self.adds.source)

    @cached_property
    def own(self) -> Mask:
        """Whether an action changes the subject's own ties, adds one, or sets an attribute."""
        mine: Mask = (self.source == self.subject) | (self.target == self.subject)
        return mine

    @cached_property
    def target(self) -> Ints:
        """Where a tie leads; for an attribute, the subject."""
        return self._tied(self.drops.target, self.adds.target)

    @cached_property
    def other(self) -> Ints:
        """The end of an own tie that is not the subject."""
        return np.where(self.source == self.subject, self.target, self.source)

    @cached_property
    def kind(self) -> Ints:
        return self._filled(self.drops.kind, self.adds.kind)

    @cached_property
    def arc(self) -> Ints:
        """The first arc of a tie to drop."""
        return self._filled(self.drops.arc)

    @cached_property
    def move(self) -> Ints:
        """The place of an attribute's rule in `moves`; `NONE` for ties."""
        own = np.repeat(np.arange(len(self.moves)), [len(levels) for _, levels in self.moves])
        return np.concatenate((np.full(len(self) - len(own), NONE), own))

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
        own = [np.full(len(levels), movement.family) for movement, levels in self.moves]
        families = np.concatenate((np.empty(0, np.int64), *own))
        _, number = np.unique(families, return_inverse=True)
        return np.concatenate((np.arange(self._ties), self._ties + number))

    @cached_property
    def touched(self) -> Ints:
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
        own = [
            np.tile(
                [one.column if isinstance(one, Attribute) else NONE for one in movement.moved],
                len(levels),
            )
            for movement, levels in self.moves
        ]
        return np.concatenate((np.empty(0, np.int64), *own))

    @cached_property
    def number(self) -> Floats:
        return np.concatenate((np.empty(0), *(levels.numbers.ravel() for _, levels in self.moves)))

    @property
    def permitted(self) -> Permitted:
        """How many changes there are."""
        return Permitted(
            drop=len(self.drops),
            add=len(self.adds),
            set={movement.rule.name: len(levels) for movement, levels in self.moves},
        )

    @property
    def droppable(self) -> tuple[DroppableTie, ...]:
        """The ties that may be dropped, with the ids of their ends."""
        drops, kinds = self.drops, self.graph.ties.kinds
        sources, targets = self.graph.ids[drops.source], self.graph.ids[drops.target]
        rows = zip(sources.tolist(), targets.tolist(), drops.kind.tolist(), strict=True)
        return tuple(
            DroppableTie(tie=(source, target), kind=kinds[kind]) for source, target, kind in rows
        )

    def assigned(self, action: int) -> dict[str, tuple[Value, Value]]:
        """The columns that an action sets: each value as the table holds it, and in user's units.

        A category that is implied and is there already is not set.
        """
        if self.do[action] != SET:
            return {}
        movement, levels = self.moves[self.move[action]]
        row = self._row(action)
        found: dict[str, tuple[Value, Value]] = {}
        for place, one in enumerate(movement.moved):
            after = levels.after[row][place]
            if isinstance(one, Attribute):
                found[one.name] = float(levels.numbers[row, place]), after
            elif not place or after != levels.before[place]:
                found[one.name] = after, after
        return found

    def at_least(self, action: int) -> Mask:
        """The action itself, and those that move the same attribute further in its direction.

        No category is further than another.
        """
        same: Mask = np.arange(len(self)) == action
        steps = int(self.steps[action])
        if steps:
            farther = self.steps >= steps if steps > 0 else self.steps <= steps
            same = (self.move == self.move[action]) & farther
        return same

    def records(self, actions: Ints) -> tuple[Action, ...]:
        """Some actions as records, in the user's ids and units."""
        return tuple(self._record(int(action)) for action in actions)

    def _record(self, action: int) -> Action:
        cost, ids = float(self.cost[action]), self.graph.ids
        if self.do[action] == SET:
            return self._set(action, round_value(cost))
        return TieAction(
            do=TIE_WORDS[self.do[action]],
            tie=(str(ids[self.source[action]]), str(ids[self.target[action]])),
            kind=self.graph.ties.kinds[self.kind[action]],
            cost=cost,
        )

    def _set(self, action: int, cost: float) -> SetAction:
        movement, levels = self.moves[self.move[action]]
        own, *implied = (
            Move(attribute=one.name, before=before, after=after, unit=one.unit)
            for one, before, after in zip(
                movement.moved, levels.before, levels.after[self._row(action)], strict=True
            )
            if one is movement.attribute or isinstance(one, Attribute) or before != after
        )
        return SetAction(
            attribute=own.attribute,
            before=own.before,
            after=own.after,
            unit=own.unit,
            implied=tuple(implied),
            cost=cost,
        )

    def _row(self, action: int) -> int:
        """The place of an action among the levels of its attribute."""
        return action - int(self._first[self.move[action]])

    @cached_property
    def _first(self) -> Ints:
        """The first action of each attribute."""
        return self._ties + np.cumsum([0, *(len(levels) for _, levels in self.moves)])[:-1]

    @property
    def _ties(self) -> int:
        return len(self.drops) + len(self.adds)

    def _tied(self, *parts: Ints) -> Ints:
        rest = np.full(len(self) - self._ties, self.subject)
        return np.concatenate((*parts, rest)).astype(np.int64)

    def _filled(self, *parts: Ints) -> Ints:
        known = np.concatenate(parts)
        return np.concatenate((known, np.zeros(len(self) - len(known), np.int64)))
