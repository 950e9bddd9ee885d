"""The value that a decision turns on: its figures, its cut-off, and the one axis it is drawn on.

With two classes it is the probability of the favourable one, with more the lead of the favourable
classes over the others, and of a score model the score. Where no single change moves a probability
to speak of, a ladder is in log-odds. Everything that a page says or draws of an answer goes through
here, so that no two places can disagree on what was decided.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf, log
from typing import ClassVar, Literal, Protocol, Self

from recourse_audit.records.bundle import Fingerprint
from recourse_audit.records.subject import AnswerAlone, SubjectReport
from recourse_audit.render.drawing import (
    EDGE,
    STRIP,
    Axis,
    Drawing,
    Picture,
    Strip,
    axis_row,
    shorten,
    ticks,
    widen,
)
from recourse_audit.render.i18n import MOST_LOG_ODDS, Words
from recourse_audit.render.text import NO_BREAK, plain
from recourse_audit.settings import GroupSettings, ReasonSettings, Settings

Kind = Literal["probability", "lead", "score", "log_odds"]
WIDE, NARROW = 380.0, 250.0
ROOM = 0.05  # of the range of scores, on either side of it
# Effects on a probability below this say nothing; on a score, below this share of its distance.
NOTHING = 0.01
BEYOND = 0.3  # of the distance to the cut-off: room for the name of the other side
FINE = 0.01 * (1 - 1e-9)  # ticks that are closer need more than two decimals
EXACT = 1e-4  # figures have six digits, so log-odds of smaller probabilities are not known
LETTER = 7.6  # width of a letter in the names of the two sides, in pixels
TICKS = {"probability": (0.0, 0.25, 0.5, 0.75, 1.0), "lead": (-1.0, -0.5, 0.0, 0.5, 1.0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFacts:
    """The audit that a page belongs to.

    `prefer` is `search.prefer`, and `smallest` is `groups.smallest`. Without `reasons` it is not
    known which reference own columns were put at. `codes` has the texts of codes for reasons in
    the legal profile, by language.
    """

    classes: tuple[str, ...]
    favourable: tuple[str, ...]
    protected: tuple[str, ...] = ()
    made_of: Fingerprint | None = None
    prefer: Literal["paper", "whole_graph"] = "paper"
    smallest: int = GroupSettings().smallest
    reasons: ReasonSettings | None = None
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def facts_of(settings: Settings, fingerprint: Fingerprint | None = None) -> AuditFacts:
    """Take the facts from the settings, and from what a bundle says it is of."""
    return AuditFacts(
        classes=tuple(settings.decision.classes),
        favourable=tuple(settings.decision.favourable),
        protected=tuple(settings.groups.attributes),
        made_of=fingerprint,
        prefer=settings.search.prefer,
        smallest=settings.groups.smallest,
        reasons=settings.reasons,
    )


def facts_of_report(report: SubjectReport) -> AuditFacts:
    """What a report alone tells of its audit; classes of which it does not tell are left open."""
    subject, near, own = report.subject, report.ego_network, report.own_data
    options = report.recourse.options if report.recourse else ()
    known = {option.decision: True for option in options}
    known |= {node.decision: node.favourable for node in (near.nodes if near else ())}
    known[subject.decision] = subject.favourable
    if own is not None and own.alone is not None:
        known[own.alone.decision] = own.alone.favourable
    known.pop("", None)  # no decision
    classes = tuple(subject.probabilities) or tuple(known)
    if len(classes) == 2 and len(known) == 1:  # then the other class is the other kind
        [(name, good)] = known.items()
        known |= {other: not good for other in classes if other != name}
    favourable = tuple(name for name, good in known.items() if good)
    return AuditFacts(classes=classes, favourable=favourable if set(classes) <= set(known) else ())


class Answer(Protocol):
    """Whatever has the model's answer: an explanation, an option, a set of removed ties."""

    @property
    def probabilities(self) -> dict[str, float]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionAxis:
    """The value that the report on one subject is about.

    `cut_off` is None where a copy does not tell it. `favourable` and `other` name the two sides.
    `range` holds all values that the report has, so that every chart has the same axis.
    """

    words: Words
    kind: Kind
    favourable_classes: tuple[str, ...]
    cut_off: float | None
    at_least: bool
    better: Literal["higher", "lower"]
    favourable: str
    other: str
    decided: float | None = None
    range: tuple[float, float] = (0.0, 1.0)
    is_drawn: ClassVar[bool] = True  # with marks that have to be explained

    def value(self, answer: Answer) -> float | None:
        """The value of an answer; None where the report does not tell it."""
        if self.kind == "score":
            score = getattr(answer, "score", None)
            return None if score is None else float(score)
        return self._from_probabilities(answer.probabilities)

    def value_alone(self, alone: AnswerAlone) -> float | None:
        """The value on own data alone; None where a copy leaves it out."""
        if alone.value is None or self.kind != "lead":
            return alone.value
        return self._from_probabilities(alone.probabilities)

    def _from_probabilities(self, probabilities: Mapping[str, float]) -> float | None:
        if not probabilities or not self.favourable_classes:
            return None
        classes = self.favourable_classes
        good = [chance for name, chance in probabilities.items() if name in classes]
        if self.kind == "probability":
            return sum(good)
        bad = [chance for name, chance in probabilities.items() if name not in classes]
        return max(good, default=0.0) - max(bad, default=0.0)

    def is_favourable(self, value: float | None) -> bool | None:
        """Whether a value is on the favourable side; None where that is not known."""
        if value is None or self.cut_off is None:
            return None
        if self.better == "lower":
            return value <= self.cut_off
        return value >= self.cut_off if self.at_least else value > self.cut_off

    def gain(self, before: float | None, after: float | None) -> float | None:
        """How far a change goes towards the favourable side; below zero, away from it."""
        if before is None or after is None:
            return None
        return before - after if self.better == "lower" else after - before

    @property
    def least(self) -> float:
        """The smallest effect that is worth a row or a sentence."""
        distance = abs((self.decided or 0.0) - (self.cut_off or 0.0))
        return NOTHING * (distance if self.kind in {"score", "log_odds"} else 1.0)

    def in_log_odds(self, distance: float, values: Iterable[float | None]) -> Self:
        """The same decision in log-odds from the cut-off, on an axis with room for some values."""
        span = _span((BEYOND * distance, -distance, *values))
        return replace(self, kind="log_odds", decided=-distance, cut_off=0.0, range=span)

    def log_odds(self, value: float | None) -> float | None:
        """A probability in log-odds from the cut-off; None if it is too small to be known so."""
        line = self.cut_off if self.kind == "probability" else None
        if line is None or value is None or not (0 < line < 1 and EXACT < value < 1 - EXACT):
            return None
        return log(value / (1 - value)) - log(line / (1 - line))

    # ------------------------------------------------------------------ figures

    @property
    def name(self) -> str:
        return self.words.say(f"subject.axis.{self.kind}")

    def figure(self, value: float | None) -> str:
        if value is None:
            return self.words.say("subject.none")
        if self.kind == "score":
            return self.words.amount(value)
        return self.words.probability(value) if self.kind == "probability" else self.change(value)

    def change(self, difference: float) -> str:
        """A difference between two values, with its sign."""
        if self.kind == "log_odds":
            return self.words.log_odds(difference)
        size = abs(difference) if self.kind == "score" else 0.0
        decimals = 0 if size >= 1000 else 1 if size >= 10 else 2 if size >= 1 else 3
        return self.words.signed(difference, decimals)

    def size(self, difference: float) -> str:
        """A difference between two values, without its sign."""
        return self.change(abs(difference)).replace("+", "")

    def pair(self, before: float | None, after: float | None) -> str:
        """A value before and after: 0.307 → 0.527."""
        return f"{self.figure(before)}{NO_BREAK}→ {self.figure(after)}"

    # ------------------------------------------------------------------ drawings

    def scale(self, width: float = WIDE) -> Axis:
        """The axis of every chart of the report, in some width."""
        low, high = self.range
        known = MOST_LOG_ODDS if self.kind == "log_odds" else inf
        places = TICKS.get(self.kind) or tuple(t for t in ticks(low, high, 4) if abs(t) <= known)
        return Axis(low=low, high=high, ticks=places, line=self.cut_off, width=width)

    def draw_figures(self) -> Picture:
        axis = self.scale()
        steps = [other - one for one, other in zip(axis.ticks, axis.ticks[1:], strict=False)]
        write = self.words.amount if min(steps, default=1.0) < FINE else self.words.number
        return axis_row(axis, [write(tick) for tick in axis.ticks], self.name)

    def draw_sides(self) -> Picture | None:
        """The names of the two sides, to the left and to the right of the cut-off."""
        if self.cut_off is None:
            return None
        axis = self.scale()
        x = axis(self.cut_off)
        sign = "≤" if self.better == "lower" else "≥" if self.at_least else ">"
        right = f"{self.favourable} ({sign}{NO_BREAK}{self.figure(self.cut_off)})"
        right = self.favourable if self.kind == "log_odds" else right
        sides = (right, self.other) if self.better == "lower" else (self.other, right)
        drawing = Drawing(axis.width, 20, " | ".join(sides))
        for side, place, anchor, room in (
            (sides[0], x - 8, "end", x - EDGE),
            (sides[1], x + 8, "start", axis.width - EDGE - x),
        ):
            text = shorten(side, max(3, int(room / LETTER)))
            drawing.text(place, 14, text, font_size=13, font_weight=600, text_anchor=anchor)
        return drawing.picture()

    def draw(
        self, before: float | None, after: float | None, alt: str, *, narrow: bool = False
    ) -> Picture | None:
        """A ring at the answer as it is, and a disc at the answer with a change.

        Without a change, the ring alone. A disc is blue if the answer is favourable, else orange.
        """
        if before is None:
            return None
        axis, height = self.scale(NARROW if narrow else WIDE), 22.0 if narrow else STRIP
        strip = Strip(axis, alt, height=height)
        if after is not None:
            favourable = self.is_favourable(after)
            colour = "ink" if favourable is None else "yes" if favourable else "no"
            strip.span(before, after, colour=colour).dot(after, colour=colour)
        return strip.dot(before, filled=False, colour="ink").picture()


def decision_axis(report: SubjectReport, facts: AuditFacts, words: Words) -> DecisionAxis:
    """What the report on a subject measures, by the rule of the audit."""
    line = report.decision
    classes = tuple(plain(name) for name in facts.classes)
    good = tuple(plain(name) for name in facts.favourable)
    bad = [name for name in classes if name not in good]
    kind: Kind = "score" if line.has_score else "probability"
    cut_off = line.cut_off
    if line.rule == "argmax":
        two = len(good) == 1 and len(classes) == 2
        kind, cut_off = ("probability", 0.5) if two else ("lead", 0.0)
    axis = DecisionAxis(
        words=words,
        kind=kind,
        favourable_classes=good,
        cut_off=cut_off,
        at_least=line.rule != "argmax",
        better=line.better or "higher",
        favourable=words.class_name(good[0]) if len(good) == 1 else words.say("subject.favourable"),
        other=words.class_name(bad[0]) if len(bad) == 1 else words.say("subject.unfavourable"),
    )
    decided = line.score if line.has_score else axis.value(report.subject)
    span = (0.0, 1.0) if kind == "probability" else (-1.0, 1.0)
    if kind == "score":
        span = _span((decided, cut_off, *_values(axis, report)))
    return replace(axis, decided=decided, range=span)


def _span(values: Iterable[float | None]) -> tuple[float, float]:
    """A range that holds some values, with room on either side."""
    known = [value for value in values if value is not None]
    low, high = widen(min(known, default=0.0), max(known, default=1.0))
    room = ROOM * (high - low)
    return low - room, high + room


def _values(axis: DecisionAxis, report: SubjectReport) -> Iterable[float | None]:
    """Every value of a report that its page draws."""
    answers: list[Answer] = [*(report.carriers.own if report.carriers else ())]
    if report.own_data is not None:
        if report.own_data.alone is not None:
            yield axis.value_alone(report.own_data.alone)
        answers += [column.answer for column in report.own_data.columns if column.answer]
        answers += [kind.answer for kind in report.own_data.ties if kind.answer]
    answers += report.recourse.options if report.recourse else ()
    for counterfactual in report.counterfactuals:
        answers += (counterfactual.explanation, counterfactual)
        answers += () if counterfactual.whole_graph is None else (counterfactual.whole_graph,)
    yield from map(axis.value, answers)
