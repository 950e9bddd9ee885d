"""Asks the model about combinations of one subject's actions, and checks its answers on the way.

Combinations are edits of the graph (`actions`), and `model/edited_graph.py` decides how they
are asked about. Where an answer is so close to the line that rounding might decide, the whole graph
is asked about as well, if it is small enough; so is a drawn share of all answers.

What a shared query costs hardly depends on how many small combinations it holds. So those that
will probably be asked about soon go along with those that are, and wait here until they are. Only
what is asked for counts as tried.
"""

from functools import cached_property

import numpy as np

from recourse_audit.errors import AnswerError
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.batching import CLOSE
from recourse_audit.model.decisions import Mask
from recourse_audit.model.edited_graph import SubjectAnswers
from recourse_audit.records.recourse import AskedOn
from recourse_audit.recourse.actions import NONE, ActionEdits, ActionTable, action_text
from recourse_audit.recourse.side_effects import OtherPeople

# The runtime may take a kilobyte per arc, in every worker at once.
MOST_ARCS_AGAIN = 1_000_000
# Answers are compared with those of the whole graph where it has at most so many arcs.
MOST_ARCS_COMPARED = 200_000
# Of a larger field, a query holds few combinations anyway, and none of them is cheap.
MOST_ARCS_AHEAD = 4096
LARGEST_KEY = 2**62
SALT = 29


class Verifier:
    """Asks about combinations of one subject's actions (rows of them, padded with `NONE`).

    A share of answers, `compare`, is asked again on the whole graph; the seed draws them.
    """

    def __init__(
        self, asked: SubjectAnswers, table: ActionTable, *, compare: float = 0.0, seed: int = 0
    ) -> None:
        self.asked = asked
        self.edits = ActionEdits(table, _own_features(asked))
        self.others = OtherPeople(asked, table, self.edits)
        # The check of the unchanged graph is one of the evaluations.
        self.evaluations = int(asked.way != "whole")
        self._table = table
        self._compare = compare
        self._fresh = True
        self._draw = np.random.default_rng((SALT, seed, table.subject))
        self._ahead: list[Ints] = []
        self._keys: Ints = np.empty(0, np.int64)
        self._answers: Floats = np.empty((0, asked.edited.batcher.answer_width))

    @property
    def asked_on(self) -> AskedOn:
        """Where: on the subject's "neighbourhood" or on the "whole graph"."""
        return "whole graph" if self.asked.way == "whole" else "neighbourhood"

    def answers(self, combinations: Ints) -> Floats:
        """The answers for the subject, one row per combination.

        A row is NaN where an export of fixed size has no room for the graph with these changes.
        """
        self.evaluations += len(combinations)
        answers, fits = self._ask(combinations)
        if self.asked.way != "whole":
            decisions, within = self.asked.edited.decisions, CLOSE * self.asked.edited.noise
            close = np.flatnonzero(decisions.close(answers, self._table.subject, within))
            if len(close):
                answers[close], _ = self.confirm(
                    combinations[close], answers[close], most_arcs=MOST_ARCS_AGAIN
                )
            self._compare_share(combinations, answers, fits)
        self._refuse_no_numbers(answers[fits], combinations[fits])
        return answers

    def foresee(self, combinations: Ints) -> None:
        """Say what will probably be asked about soon: the next query may hold it too."""
        if self.asked.way == "shared" and self._has_keys(combinations) and self._is_small:
            self._ahead.append(combinations)

    def confirm(self, combinations: Ints, known: Floats, *, most_arcs: int) -> tuple[Floats, Mask]:
        """Ask on the whole graph what is known otherwise; see `SubjectAnswers.confirm`."""
        edits = self.edits.of(combinations)
        answers, fits = self.asked.confirm(edits, known, most_arcs=most_arcs)
        self._refuse_no_numbers(answers[fits], combinations[fits])
        return answers, fits

    def on_whole_graph(self, combinations: Ints) -> Floats:
        """The answers of the whole graph.

        Raises
        ------
        RoomError
            An export of fixed size has no room for it with these changes.
        """
        answers = self.asked.edited.on_whole_graph(self.edits.of(combinations))
        self._refuse_no_numbers(answers, combinations)
        return answers

    def reaches(self, combinations: Ints, answers: Floats) -> Mask:
        """Which combinations get a favourable decision with these answers for the subject.

        Where a quota decides, everybody whom the changes reach is asked about again, unless the
        subject is in or out whatever becomes of them.
        """
        decisions, subject = self.asked.edited.decisions, self._table.subject
        if not decisions.depends_on_others:
            return decisions.favourable(answers, subject)
        favourable = np.zeros(len(answers), bool)
        unsettled: list[int] = []
        chosen = [row[row != NONE] for row in combinations]
        for place, actions in enumerate(chosen):
            own = answers[[place]]
            inside, outside = decisions.certain_either_way(own, subject, self.others.count(actions))
            favourable[place] = inside[0]
            if not (inside | outside)[0]:
                unsettled.append(place)
        after = self.others.decisions_after([chosen[place] for place in unsettled])
        for place, decided in zip(unsettled, after, strict=True):
            favourable[place] = decided.favourable(answers[[place]], subject)[0]
        return favourable

    def _ask(self, combinations: Ints) -> tuple[Floats, Mask]:
        """The answers, from the last query if all of them were foreseen."""
        if len(self._keys) and self._has_keys(combinations):
            wanted = self._key(combinations)
            place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            if bool((self._keys[place] == wanted).all()):
                self._ahead.clear()  # what comes next is foreseen again when it is near
                return self._answers[place], np.ones(len(place), bool)
        count = len(combinations)
        rows, keys = self._add_foreseen(combinations)
        answers, fits = self.asked.answers(self.edits.of(rows), needed=count)
        keys = keys[: len(answers)]
        self._keys, place = np.unique(keys, return_index=True)
        self._answers = answers[place]
        return answers[:count], fits[:count]

    def _compare_share(self, combinations: Ints, answers: Floats, fits: Mask) -> None:
        """Ask some again on the whole graph: a drawn share, and one of the first that are asked."""
        drawn: Mask = self._draw.random(len(answers)) < self._compare
        drawn[:1] |= self._fresh and self._compare > 0
        self._fresh = False
        places = np.flatnonzero(drawn & fits & np.isfinite(answers).all(axis=1))
        if len(places):
            self.confirm(combinations[places], answers[places], most_arcs=MOST_ARCS_COMPARED)

    @cached_property
    def _is_small(self) -> bool:
        """Whether few arcs matter to the subject."""
        sharing = self.asked.edited.sharing
        assert sharing is not None
        return len(sharing.field_around(self._table.subject).arcs) <= MOST_ARCS_AHEAD

    def _add_foreseen(self, combinations: Ints) -> tuple[Ints, Ints]:
        """What to ask about now, those asked for first; and the keys of all of them."""
        ahead, self._ahead = self._ahead, []
        if not ahead or not self._has_keys(combinations):
            return combinations, np.empty(0, np.int64)
        width = max(rows.shape[1] for rows in (combinations, *ahead))
        every = np.concatenate([_pad(rows, width) for rows in (combinations, *ahead)])
        keys = self._key(every)
        _, first = np.unique(keys, return_index=True)
        others = np.sort(first[first >= len(combinations)])
        chosen = np.concatenate((np.arange(len(combinations)), others))
        return every[chosen], keys[chosen]

    def _has_keys(self, combinations: Ints) -> bool:
        return bool((len(self._table) + 1) ** combinations.shape[1] < LARGEST_KEY)

    def _key(self, combinations: Ints) -> Ints:
        """A number for each combination, whatever its padding and order."""
        digits = -np.sort(-(combinations - NONE), axis=1)
        keys: Ints = digits @ (len(self._table) + 1) ** np.arange(digits.shape[1])
        return keys

    def _refuse_no_numbers(self, answers: Floats, combinations: Ints) -> None:
        """Refuse an answer that is not a number, and name the changes."""
        broken = np.flatnonzero(~np.isfinite(answers).all(axis=1))
        if len(broken):
            actions = combinations[broken[0]]
            records = self._table.records(actions[actions != NONE])
            named = ", ".join(map(action_text, records)) or "no change"
            raise AnswerError(f"the model's answer is not a number after {named}")


def _own_features(asked: SubjectAnswers) -> Floats:
    features: Floats = asked.edited.batcher.features_of(np.array([asked.subject]))[0]
    return features


def _pad(rows: Ints, width: int) -> Ints:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=NONE)
