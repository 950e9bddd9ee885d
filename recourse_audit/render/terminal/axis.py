"""What a decision is measured on, for a picture in characters: a probability, a margin or a score.

With two classes it is the probability of the favourable one, with its line at 0.5; under a cut-off
or a quota, what the rule compares with its line; with several classes, the margin between the best
favourable class and the best other one, with its line at 0.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from recourse_audit.records.recourse import Option, WhatIf
from recourse_audit.records.search import CarryingSet, WholeGraph
from recourse_audit.records.subject import AnswerAlone, EgoNode, SubjectReport
from recourse_audit.render.terminal.figures import amount, probability, signed
from recourse_audit.render.text import plain

Asked = CarryingSet | WholeGraph | AnswerAlone | Option | WhatIf
HALF = 0.5
TWO = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What is measured, where its line is, and which classes are favourable, if that is known."""

    report: SubjectReport
    favourable: frozenset[str] | None

    @property
    def margins(self) -> bool:
        """Whether margins between classes are measured."""
        line = self.report.decision
        return line.rule == "argmax" and len(self.report.subject.probabilities) != TWO

    @property
    def name(self) -> str:
        """What is measured, in words."""
        if self.report.decision.scored:
            better = "lower" if self.report.decision.better == "lower" else "higher"
            return f"score, {better} is better"
        if self.margins:
            return "margin of the best favourable class"
        if self.favourable is not None and len(self.favourable) == 1:
            return f"probability of {plain(next(iter(self.favourable)))}"
        return "probability of the favourable classes"

    @property
    def line(self) -> float | None:
        """Where the decision changes; None where the record does not tell."""
        if self.report.decision.rule != "argmax":
            return self.report.decision.cut_off
        return 0.0 if self.margins else HALF

    @property
    def now(self) -> float | None:
        """The value as decided."""
        line = self.report.decision
        if line.rule != "argmax":
            return line.score
        if self.margins:
            return line.margin
        return self._probability(self.report.subject.probabilities)

    def value(self, found: Asked) -> float | None:
        """The value of some other answer; None where the record does not tell."""
        if self.report.decision.rule != "argmax":
            return found.value if isinstance(found, AnswerAlone) else found.score
        if not self.margins:
            return self._probability(found.probabilities)
        return found.margin if isinstance(found, Option | WhatIf) else self._margin(found)

    def words(self, value: float) -> str:
        """A value as a figure."""
        if self.report.decision.scored:
            return amount(value)
        return signed(value) if self.margins else probability(value)

    def range(self, values: Collection[float]) -> tuple[float, float]:
        """The ends of the axis: all that is possible or, for scores, all values and the line."""
        if not self.report.decision.scored:
            return (-1.0, 1.0) if self.margins else (0.0, 1.0)
        every = [*values, *(() if self.line is None else (self.line,))]
        low, high = min(every, default=0.0), max(every, default=1.0)
        return (low, high) if low < high else (low - 1.0, high + 1.0)

    def _probability(self, probabilities: dict[str, float]) -> float | None:
        if self.favourable is None or not probabilities:
            return None
        return sum(probabilities.get(name, 0.0) for name in self.favourable)

    def _margin(self, found: CarryingSet | WholeGraph | AnswerAlone) -> float | None:
        if self.favourable is None or not found.probabilities:
            return None
        good = [part for name, part in found.probabilities.items() if name in self.favourable]
        bad = [part for name, part in found.probabilities.items() if name not in self.favourable]
        return max(good) - max(bad) if good and bad else None


def axis_of(report: SubjectReport, favourable: Collection[str] = ()) -> Axis:
    """The axis of a report; without the favourable classes, those that the report itself tells."""
    return Axis(report=report, favourable=frozenset(favourable) or _told(report))


def _told(report: SubjectReport) -> frozenset[str] | None:
    """The favourable classes, if the report says of every class whether it is one."""
    known = {report.subject.decision: report.subject.favourable}
    known |= {one.decision: one.favourable for one in _neighbours(report)}
    if report.recourse is not None:
        known |= {option.decision: True for option in report.recourse.options}
    if report.own_data is not None and report.own_data.alone is not None:
        known[report.own_data.alone.decision] = report.own_data.alone.favourable
    classes = report.subject.probabilities
    unknown = [name for name in classes if name not in known]
    if len(classes) == TWO and len(unknown) == 1:
        known[unknown[0]] = not report.subject.favourable
        unknown = []
    return None if unknown else frozenset(name for name in classes if known[name])


def _neighbours(report: SubjectReport) -> Iterator[EgoNode]:
    nodes = () if report.ego_network is None else report.ego_network.nodes
    return (one for one in nodes if one.decision)
