"""Own data or surroundings: the answer without ties, and four answers of one operation.

f(data, place) is what the decision rule watches (the probability of the favourable classes, or the
score) when somebody's data are at somebody's place in the graph. For a subject s and drawn pairs of
other people (d, p), which are the same for every subject, the four answers are

    as it is            f(s, s)
    own data elsewhere  f(s, p)
    others' data here   f(d, s)
    neither             f(d, p)

and, draw by draw, the parts of a two-by-two experiment around the cell with neither:

    own           f(s, p) - f(d, p)
    surroundings  f(d, s) - f(d, p)
    interaction   f(s, s) - f(s, p) - f(d, s) + f(d, p)

They add up to f(s, s) - f(d, p). Measured from the other end, around f(s, s), the interaction is
added to each of the first two; a Shapley value takes the middle and hides that. So a part is called
the larger one only if, from both ends, the interaction is smaller than the smaller part, and if it
is the larger one from both ends, by more than the draws leave open.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from math import sqrt

import numpy as np
from scipy.special import stdtrit

from recourse_audit.audit.exchanges import Exchanges, Isolation, drawn_pairs
from recourse_audit.audit.loaded import LoadedAudit
from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.model.base_fields import KeptFields
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.records.own_data import (
    OTHER_ANSWER,
    TOO_FEW_DRAWS,
    AnswerAlone,
    FourAnswers,
    LargerPart,
    MeanAnswer,
    OwnData,
    Part,
    Parts,
)
from recourse_audit.search.results import Naming, shown
from recourse_audit.settings.search import FEWEST_DRAWS

CONFIDENCE = 0.95
NO_EFFECT = 1e-6
PEOPLE_TOGETHER = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class FourValues:
    """What is watched in the four cells: one value as it is, and one per draw in the others."""

    as_is: float
    elsewhere: Floats
    here: Floats
    neither: Floats

    @property
    def own(self) -> Floats:
        return self.elsewhere - self.neither

    @property
    def surroundings(self) -> Floats:
        return self.here - self.neither

    @property
    def interaction(self) -> Floats:
        return self.as_is - self.elsewhere - self.here + self.neither


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAnswers:
    """What is asked for several subjects together: without ties, and with their data elsewhere.

    Either is None where it is not asked.
    """

    alone: Floats | None
    elsewhere: Floats | None
    neither: Floats | None


class OwnDataReports:
    """Finds, for each subject, what own data and surroundings do to the answer."""

    def __init__(
        self, audit: LoadedAudit, decisions: Decisions, fields: KeptFields | None = None
    ) -> None:
        graph, batcher, probes = audit.graph, audit.batcher, audit.probes
        self._decisions = decisions
        self._naming = Naming(graph=graph, rule=audit.rule, kind=batcher.output_kind)
        self._isolation = Isolation(graph, batcher, probes)
        draws = audit.settings.own_data.draws
        self._draws = draws
        pairs = drawn_pairs(graph.node_count, draws, audit.scope.seed)
        self._exchanges = Exchanges(graph, batcher, probes, pairs, fields)
        self._reason = self._isolation.reason or self._exchanges.reason
        self._exchanged = bool(len(pairs)) and not self._reason

    @property
    def queries(self) -> int:
        """How many questions that several subjects share count for each of them."""
        exchanged = 2 * len(self._exchanges.pairs) if self._exchanged else 0
        return exchanged + (not self._isolation.reason)

    def shared(self, subjects: Ints) -> dict[int, SharedAnswers]:
        """Ask what can be asked for several subjects at once.

        All of it is asked anew, so that nothing depends on what a worker was asked before.
        """
        order = np.sort(subjects)
        alone = None if self._isolation.reason else self._isolation.answers(order)
        elsewhere = self._exchanges.own_data_elsewhere(order) if self._exchanged else None
        neither = self._exchanges.neither() if self._exchanged else None
        return {
            subject: SharedAnswers(
                alone=None if alone is None else alone[[place]],
                elsewhere=None if elsewhere is None else elsewhere[place],
                neither=neither,
            )
            for place, subject in enumerate(order.tolist())
        }

    def on(self, subject: int, answers: SharedAnswers) -> OwnData:
        """The record of one subject, whose answer on the whole graph is a number."""
        alone = None if answers.alone is None else self._alone(subject, answers.alone)
        found = OwnData(alone=alone, reason=self._reason)
        if answers.elsewhere is None or answers.neither is None:
            return found
        known = self._decisions.everybody[subject]
        here = self._exchanges.others_data_here(subject, known)
        if here is None:
            return replace(found, reason=OTHER_ANSWER)
        return self._exchange(found, subject, answers.elsewhere, here, answers.neither)

    def _alone(self, subject: int, answer: Floats) -> AnswerAlone:
        [decision] = self._decisions.names_of(answer, subject)
        usable = bool(decision)
        return AnswerAlone(
            decision=decision,
            favourable=bool(self._decisions.favourable(answer, subject)[0]),
            probabilities=self._naming.probabilities(answer)[0] if usable else {},
            value=shown(float(self._values(answer)[0])) if usable else None,
        )

    def _exchange(
        self, found: OwnData, subject: int, elsewhere: Floats, here: Floats, neither: Floats
    ) -> OwnData:
        pairs = self._exchanges.pairs
        usable = (pairs.data != subject) & (pairs.place != subject)
        for answers in (elsewhere, here, neither):
            usable &= self._decisions.usable(answers)
        draws = int(usable.sum())
        if draws < FEWEST_DRAWS:
            return replace(found, draws=draws, reason=TOO_FEW_DRAWS)
        elsewhere, here, neither = elsewhere[usable], here[usable], neither[usable]
        data, places = pairs.data[usable], pairs.place[usable]
        own = np.full(draws, subject)
        as_is = self._decisions.everybody[[subject]]
        values = FourValues(
            as_is=float(self._values(as_is)[0]),
            elsewhere=self._values(elsewhere),
            here=self._values(here),
            neither=self._values(neither),
        )
        alike = np.full(2, values.as_is)
        return replace(
            found,
            cells=FourAnswers(
                as_is=self._cell(alike, self._decisions.favourable(as_is, subject)),
                own_data_elsewhere=self._cell(
                    values.elsewhere, self._favourable(elsewhere, own, places)
                ),
                others_data_here=self._cell(values.here, self._favourable(here, data, own)),
                neither=self._cell(values.neither, self._favourable(neither, data, places)),
            ),
            parts=Parts(
                own=_part(values.own),
                surroundings=_part(values.surroundings),
                interaction=_part(values.interaction),
            ),
            larger=larger_part(values, self._decisions.spread),
            draws=draws,
        )

    def _values(self, answers: Floats) -> Floats:
        return self._decisions.rule.values(answers).astype(np.float64)

    def _favourable(self, answers: Floats, data: Ints, places: Ints) -> Mask:
        """Which answers are favourable, everybody else being as they are.

        A cut-off by a column is that of the person whose data it is. Under a quota, the person at
        a place gives way to the one whose data are put there.
        """
        by_column = self._decisions.rule.name == "cut_off_by"
        return self._decisions.favourable(answers, data if by_column else places)

    def _cell(self, values: Floats, favourable: Mask) -> MeanAnswer:
        mean, low, high = interval_of(values)
        if not self._decisions.rule.scores:
            low, high = max(low, 0.0), min(high, 1.0)
        return MeanAnswer(
            mean=shown(mean), low=shown(low), high=shown(high), favourable=float(favourable.mean())
        )


def interval_of(values: Floats) -> tuple[float, float, float]:
    """The mean over draws, and Student's interval around it."""
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / sqrt(len(values))
    reach = float(stdtrit(len(values) - 1, 0.5 + CONFIDENCE / 2)) * error
    return mean, mean - reach, mean + reach


def larger_part(values: FourValues, unit: float = 1.0) -> LargerPart | None:
    """The part that moves the answer more, if the four answers name one.

    `unit` is 1 for probabilities, and the standard deviation of everybody's scores for scores.
    """
    both = values.interaction
    ends = [(values.own + end, values.surroundings + end) for end in (np.zeros_like(both), both)]
    smaller = min(abs(float(part.mean())) for parts in ends for part in parts)
    interaction = abs(float(both.mean()))
    if interaction > NO_EFFECT * unit and interaction >= smaller:
        return None
    if all(_ahead(own, surroundings, unit) for own, surroundings in ends):
        return "own"
    if all(_ahead(surroundings, own, unit) for own, surroundings in ends):
        return "surroundings"
    return None


def _ahead(one: Floats, other: Floats, unit: float) -> bool:
    """Whether the first part is larger than the second, by more than the draws leave open."""
    apart = np.sign(one.mean()) * one - np.sign(other.mean()) * other
    _, low, _ = interval_of(apart)
    return low > NO_EFFECT * unit


def _part(values: Floats) -> Part:
    mean, low, high = (shown(value) for value in interval_of(values))
    return Part(mean=mean, low=low, high=high)


def alone_decisions(audit: LoadedAudit, decisions: Decisions) -> Iterator[bool | None]:
    """Whether the decision on everybody would be favourable on their own data alone, in order.

    None for everybody where it would take a question about the whole graph for each, and for
    people for whom the answer is not a number. Asked block by block, so that memory is bounded.
    """
    people = audit.graph.node_count
    isolation = Isolation(audit.graph, audit.batcher, audit.probes)
    if not isolation.cheap:
        yield from repeat(None, people)
        return
    for first in range(0, people, PEOPLE_TOGETHER):
        some = np.arange(first, min(first + PEOPLE_TOGETHER, people))
        answers = isolation.answers(some)
        favourable = decisions.favourable(answers, some).tolist()
        usable = decisions.usable(answers).tolist()
        yield from (good if there else None for good, there in zip(favourable, usable, strict=True))
