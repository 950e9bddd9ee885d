"""The one place that turns answers into decisions: the model answers, a rule decides.

Vocabulary
----------
answers   rows of log-probabilities, one column per class; of a score model, one column of scores.
value     what the rule compares: the summed probability of the favourable classes, or the score.
cut-off   what the value is compared with; under a quota, the last value that it lets in.
margin    how far the value is on the favourable side of the cut-off, in the cut-off's own units.
lead      the same where differences add up: in log-odds for probabilities, in units of the score.

`DecisionRule` is what the settings say; `Decisions` is the rule applied to everybody's answers: a
quota lets in the best of everybody, and the spread of scores is a fact about everybody. Whatever
speaks of a decision, a favourable one, a margin or a change of decision asks `Decisions`, and says
about whom, because a cut-off may differ from person to person.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, logsumexp

from recourse_audit.errors import SettingsError
from recourse_audit.graph.columns import check_known
from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.records.model import RuleName
from recourse_audit.settings import DecisionSettings, OutputKind

Mask = NDArray[np.bool_]
Nodes = NDArray[np.integer] | int
NO_DECISION = ""
# A probability comes out of its own logarithm a few units of the last place off.
ROUNDING = 4 * np.finfo(np.float64).eps
LEAST, MOST = 1e-12, 1 - 1e-12


class DecisionRule:
    """How decisions are taken from answers, as the settings say it.

    Without a cut-off or a quota, the class with the highest probability is decided; of equals, the
    first. With one, the decision is favourable if the value reaches it, and the class is the
    likeliest of the favourable classes or of the others. A row that is not a number (any entry
    NaN or infinite) has no decision.

    Parameters
    ----------
    kind, precision
        What the model's output holds, and its number type: values are compared with the cut-off in
        that precision, as the deployment does that gets its numbers from the model.
    """

    def __init__(
        self,
        settings: DecisionSettings,
        graph: Graph,
        *,
        kind: OutputKind = "probabilities",
        precision: str = "float32",
    ) -> None:
        self.classes = settings.classes
        self.favourable_classes: Mask = np.array([c in settings.favourable for c in self.classes])
        self.scores = kind == "score"
        self.better: Literal["higher", "lower"] = settings.better
        self.sign = 1.0 if settings.better == "higher" else -1.0
        self.precision = np.dtype(precision).type
        self.quota = settings.quota
        self.ids = graph.ids
        self.cut_offs: Floats | None = None
        self.name: RuleName = "argmax"
        if settings.cut_off is not None:
            self.name, self.cut_offs = "cut_off", np.full(graph.node_count, settings.cut_off)
        elif settings.cut_off_by is not None:
            self.name = "cut_off_by"
            column = settings.cut_off_by.column
            self.cut_offs = _cut_offs(graph, column, settings.cut_off_by.values)
        elif settings.quota is not None:
            self.name = "quota"

    @property
    def needs_everybody(self) -> bool:
        """Whether a decision, or a figure beside it, depends on everybody's answers."""
        return self.scores or self.name == "quota"

    def over(self, answers: Floats) -> "Decisions":
        """The rule applied to everybody's answers on the whole graph, one row per node."""
        return Decisions(self, answers)

    def usable(self, answers: Floats) -> Mask:
        """Which rows are numbers, so that there is a decision at all."""
        return np.asarray(np.isfinite(answers).all(axis=1))

    def values(self, answers: Floats) -> Floats:
        """What the rule compares with the cut-off, row by row."""
        if self.scores:
            return answers[:, 0]
        return np.asarray(np.exp(answers[:, self.favourable_classes]).sum(axis=1))

    def towards(self, values: Floats) -> Floats:
        """Values in the model's own precision, and so that higher is better."""
        with np.errstate(over="ignore"):
            exact = (self.sign * values).astype(self.precision)
        return exact.astype(np.float64)

    def class_value(self, answers: Floats, decided: int) -> Floats:
        """What an effect is measured on: the probability of a class, or the score; any axes."""
        value: Floats = answers[..., 0] if self.scores else np.exp(answers[..., decided])
        return value

    def has_moved(self, before: Floats, after: Floats, within: float) -> Mask:
        """Which answers moved by more than rounding, `within` being that of a logarithm."""
        room = within * (1 + np.abs(before).max(axis=1, initial=0)) if self.scores else within
        return np.asarray(np.abs(after - before).max(axis=1, initial=0) > room)


class Decisions:
    """The decisions of one audit: a rule, and everybody's answers on the whole graph.

    Methods take rows of answers, and whom each row is about: `nodes` has one number per row, or is
    one number for all of them. Everybody else is as on the whole graph.
    """

    def __init__(self, rule: DecisionRule, everybody: Floats) -> None:
        self.rule = rule
        self.classes = rule.classes
        self.everybody = everybody
        self.usable = rule.usable
        # The standard deviation of everybody's scores; 1 where all are equal.
        scores = rule.values(everybody)[rule.usable(everybody)] if rule.scores else everybody[:0]
        self.spread = (float(scores.std()) if len(scores) else 0.0) or 1.0
        self._ranking: _Ranking | None = None
        if rule.quota is not None:
            self._ranking = _Ranking(rule, rule.quota, everybody)

    def classes_of(self, answers: Floats, nodes: Nodes) -> Ints:
        """The number of the decided class for each row; -1 where there is no decision."""
        usable = self.usable(answers)
        if self.rule.name == "argmax":
            return np.asarray(np.where(usable, answers.argmax(axis=1), -1))
        good, bad = (self._likeliest(answers, wanted=wanted) for wanted in (True, False))
        reached = self._reaches_cut_off(answers, nodes)
        return np.where(usable, np.where(reached, good, bad), -1)

    def names_of(self, answers: Floats, nodes: Nodes) -> list[str]:
        """The name of the decided class for each row; "" where there is no decision."""
        names = (*self.classes, NO_DECISION)
        return [names[number] for number in self.classes_of(answers, nodes).tolist()]

    def favourable(self, answers: Floats, nodes: Nodes) -> Mask:
        """Which rows get a favourable decision; a row without a decision does not."""
        decided = self.classes_of(answers, nodes)
        return np.asarray(self.rule.favourable_classes[decided] & (decided >= 0))

    def margin(self, answers: Floats, nodes: Nodes) -> Floats:
        """How far each row is on the favourable side of the cut-off, in its own units.

        Without one: the probability of the best favourable class minus that of the best other.
        """
        if self.rule.name == "argmax":
            return self._ahead(np.exp(answers))
        return np.asarray(self.rule.sign * (self.rule.values(answers) - self.cut_offs(nodes)))

    def lead(self, answers: Floats, nodes: Nodes) -> Floats:
        """The same on a scale on which effects add up: log-odds, or the units of the score."""
        if self.rule.name == "argmax":
            return self._ahead(answers)
        if self.rule.scores:
            return self.margin(answers, nodes)
        good = self.rule.favourable_classes
        odds = logsumexp(answers[:, good], axis=1) - logsumexp(answers[:, ~good], axis=1)
        return np.asarray(odds - logit(np.clip(self.cut_offs(nodes), LEAST, MOST)))

    def close(self, answers: Floats, nodes: Nodes, within: float) -> Mask:
        """Which rows are so close to the cut-off that rounding may decide.

        `within` is how far a log-probability may be off; a score, in proportion to its size.
        """
        lead = np.abs(self.lead(answers, nodes))
        room = within * (1 + np.abs(answers[:, 0])) if self.rule.scores else within
        return np.asarray(lead <= room)

    def cut_offs(self, nodes: Nodes) -> Floats:
        """The cut-off for some people; there is none where the likeliest class decides."""
        if self._ranking is not None:
            return self._ranking.cut_offs(nodes)
        assert self.rule.cut_offs is not None, "where the likeliest class decides, there is none"
        return np.asarray(self.rule.cut_offs[nodes])

    @property
    def depends_on_others(self) -> bool:
        """Whether a change that reaches others can change this decision through theirs."""
        return self._ranking is not None

    def certain_either_way(self, answers: Floats, node: int, others: int) -> tuple[Mask, Mask]:
        """Which rows of one person are in, and which out, however `others` people change."""
        assert self._ranking is not None, "only under a quota do others matter"
        ahead = self._ranking.ahead(answers, node)
        usable = self.usable(answers)
        count = self._ranking.count
        return usable & (ahead + others < count), ~usable | (ahead - others >= count)

    def rank(self, answers: Floats, node: int) -> int | None:
        """The place of one person among everybody under a quota, the best being 1."""
        if self._ranking is None or not self.usable(answers)[0]:
            return None
        return int(self._ranking.ahead(answers, node)[0]) + 1

    @property
    def places(self) -> int | None:
        return None if self._ranking is None else self._ranking.count

    def _reaches_cut_off(self, answers: Floats, nodes: Nodes) -> Mask:
        if self._ranking is not None:
            return np.asarray(self._ranking.ahead(answers, nodes) < self._ranking.count)
        values, cut_offs = map(self.rule.towards, (self.rule.values(answers), self.cut_offs(nodes)))
        with np.errstate(invalid="ignore"):
            return np.asarray(values >= cut_offs - (0.0 if self.rule.scores else ROUNDING))

    def _likeliest(self, answers: Floats, *, wanted: bool) -> Ints:
        """The likeliest class of those that are favourable, or of the others."""
        columns = np.flatnonzero(self.rule.favourable_classes == wanted)
        if self.rule.scores:
            return np.broadcast_to(columns[:1], len(answers))
        return np.asarray(columns[answers[:, columns].argmax(axis=1)])

    def _ahead(self, values: Floats) -> Floats:
        """The best favourable column minus the best other one."""
        good = self.rule.favourable_classes
        return np.asarray(values[:, good].max(axis=1) - values[:, ~good].max(axis=1))


class _Ranking:
    """Everybody with an answer, from the best value to the worst; of equals, by id.

    Answers with equal values are told apart by the ids' order as text. Keys are whole numbers: two
    levels for each distinct value (between values, and at it), then the place of the id.
    """

    def __init__(self, rule: DecisionRule, quota: float, everybody: Floats) -> None:
        self._rule = rule
        self._size = len(everybody)
        usable = rule.usable(everybody)
        self.count = _places(quota, int(usable.sum()))
        values = rule.values(everybody)
        towards = rule.towards(values)
        self._distinct = np.unique(-towards[usable])
        # The place of each id among all of them, as text.
        self._order_of_id = np.empty(len(rule.ids), np.int64)
        self._order_of_id[np.argsort(rule.ids, kind="stable")] = np.arange(len(rule.ids))
        self._key = np.full(len(everybody), np.iinfo(np.int64).max)
        people = np.flatnonzero(usable)
        self._key[people] = self._keys(towards[people], people)
        self._sorted = np.sort(self._key[people])
        best = people[np.argsort(self._key[people])]
        self._last, self._next = (values[best[place]] for place in (self.count - 1, self.count))

    def ahead(self, answers: Floats, nodes: Nodes) -> Ints:
        """How many others are ahead of each row, everybody else being as they are."""
        usable = self._rule.usable(answers)
        towards = np.where(usable, self._rule.towards(self._rule.values(answers)), -np.inf)
        key = self._keys(towards, nodes)
        own = self._key[nodes] < key
        return np.asarray(np.searchsorted(self._sorted, key) - own)

    def cut_offs(self, nodes: Nodes) -> Floats:
        """The value of the last person let in, if the person in question is left out."""
        inside = self._key[nodes] < self._sorted[self.count]
        return np.asarray(np.where(inside, self._next, self._last))

    def _keys(self, towards: Floats, nodes: Nodes) -> Ints:
        level = np.searchsorted(self._distinct, -towards)
        there = self._distinct[np.minimum(level, len(self._distinct) - 1)] == -towards
        place = np.where(there, self._order_of_id[nodes], 0)
        return np.asarray((2 * level + there) * self._size + place)


def _places(quota: float, people: int) -> int:
    """How many a quota lets in: a share is rounded down."""
    places = quota if isinstance(quota, int) else int(quota * people)
    if 0 < places < people:
        return places
    raise SettingsError(
        f"decision.quota: lets in {'nobody' if not places else 'everybody'} ({quota} of "
        f"{people:,} people with an answer), so there is nothing to decide; set another number or "
        "share"
    )


def _cut_offs(graph: Graph, name: str, values: dict[str, float]) -> Floats:
    known = graph.columns
    check_known("decision.cut_off_by.column", name, known)
    column = [
        str(value)
        if not isinstance(value, float)
        else f"{value:{'.0f' if value % 1 == 0 else 'g'}}"
        for value in known[name][: graph.person_count].tolist()
    ]
    for row, value in enumerate(column):
        if value not in values:
            raise SettingsError(
                f"decision.cut_off_by.values: has no cut-off for {value!r}, the {name} of "
                f"{graph.ids[row]}; add one"
            )
    cut_offs = np.full(graph.node_count, np.nan)
    cut_offs[: len(column)] = [values[value] for value in column]
    return cut_offs
