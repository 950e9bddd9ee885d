"""Many combinations of one subject's actions in one question, some of them before their turn.

What a question costs hardly depends on how many small combinations it holds. So those that will
probably be asked about soon go along with those that are, and wait here until they are. Only what
is asked for counts as tried.
"""

from functools import cached_property

import numpy as np

from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.model.decisions import Mask
from recourse_audit.model.what_ifs import WhatIfs
from recourse_audit.recourse.actions import NONE, ActionTable
from recourse_audit.recourse.context import RecourseContext
from recourse_audit.recourse.edited import ActionEdits

LARGEST_KEY = 2**62
# Of a larger field, a question holds few combinations anyway, and none of them is cheap.
MOST_ARCS = 4096


class Shared:
    """Asks by shared receptive fields."""

    def __init__(self, context: RecourseContext, table: ActionTable, what_ifs: WhatIfs) -> None:
        self._what_ifs = what_ifs
        self._table = table
        own = context.batcher.features_of(np.array([table.subject]))[0]
        self._edits = ActionEdits(table, own)
        self._ahead: list[Ints] = []
        self._keys: Ints = np.empty(0, np.int64)
        self._answers: Floats = np.empty((0, context.batcher.answer_width))

    def checked(self, combinations: Ints) -> tuple[Floats, Mask, Floats]:
        """The answers, and two about the unchanged graph."""
        asked, keys = self._with_foreseen(combinations)
        answers = self._what_ifs.ask(self._edits.of(asked, checked=True))
        self._remember(keys, answers)
        count = len(combinations)
        return answers[:count], np.ones(count, bool), answers[len(asked) :]

    def answers(self, combinations: Ints) -> tuple[Floats, Mask]:
        """One row per combination; all of them fit."""
        fits = np.ones(len(combinations), bool)
        if len(self._keys) and self._can_wait(combinations):
            wanted = self._key(combinations)
            place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            if bool((self._keys[place] == wanted).all()):
                self._ahead.clear()  # what comes next is foreseen again when it is near
                return self._answers[place], fits
        asked, keys = self._with_foreseen(combinations)
        answers = self._what_ifs.ask(self._edits.of(asked))
        self._remember(keys, answers)
        return answers[: len(combinations)], fits

    def foresee(self, combinations: Ints) -> None:
        """Ask about these as well, if there is a question before anything else is answered."""
        if self._can_wait(combinations) and self._is_small:
            self._ahead.append(combinations)

    @cached_property
    def _is_small(self) -> bool:
        """Whether few arcs matter to the subject."""
        nothing = self._edits.of(np.empty((0, 1), np.int64), checked=True)
        return self._what_ifs.size(nothing) <= MOST_ARCS

    def _with_foreseen(self, combinations: Ints) -> tuple[Ints, Ints]:
        """What to ask about now, those asked for first; and the keys of all of them."""
        ahead, self._ahead = self._ahead, []
        if not ahead or not self._can_wait(combinations):
            return combinations, np.empty(0, np.int64)
        width = max(rows.shape[1] for rows in (combinations, *ahead))
        every = np.concatenate([_padded(rows, width) for rows in (combinations, *ahead)])
        keys = self._key(every)
        _, first = np.unique(keys, return_index=True)
        others = np.sort(first[first >= len(combinations)])
        chosen = np.concatenate((np.arange(len(combinations)), others))
        return every[chosen], keys[chosen]

    def _remember(self, keys: Ints, answers: Floats) -> None:
        self._keys, place = np.unique(keys, return_index=True)
        self._answers = answers[place]

    def _can_wait(self, combinations: Ints) -> bool:
        """Whether combinations have keys."""
        return bool((len(self._table) + 1) ** combinations.shape[1] < LARGEST_KEY)

    def _key(self, combinations: Ints) -> Ints:
        """A number for each combination, whatever its padding and order."""
        digits = -np.sort(-(combinations - NONE), axis=1)
        keys: Ints = digits @ (len(self._table) + 1) ** np.arange(digits.shape[1])
        return keys


def _padded(rows: Ints, width: int) -> Ints:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=NONE)
