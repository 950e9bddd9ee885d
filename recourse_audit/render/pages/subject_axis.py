"""What a page watches: one value per answer, the line where the decision turns, and one axis.

It is the probability of the favourable classes where that decides; the lead of the best favourable
class over the best other one where the likeliest of several classes is decided; or the score.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import floor, log10
from typing import Literal, Protocol

from recourse_audit.records.report import SubjectReport
from recourse_audit.render.charts.strips import EDGE, Axis, Strip, axis_row
from recourse_audit.render.charts.svg import Drawing, Picture, shortened, ticks, widened
from recourse_audit.render.page_words import PageWords
from recourse_audit.render.pages.tables import AuditFacts
from recourse_audit.render.text import plain
from recourse_audit.render.wording import NO_BREAK

Kind = Literal["probability", "lead", "score"]
WIDE, NARROW, SMALL = 420.0, 250.0, 120.0
ROOM = 0.12  # of the range of scores, on either side of it
LETTER = 7.6  # of the names of the two sides, in pixels
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Answered(Protocol):
    """Whatever has the model's answer: an explanation, an option, a set of removed ties."""

    @property
    def probabilities(self) -> dict[str, float]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The value that the page of one subject is about.

    `line` is where the decision turns, None where a copy does not tell it. `favourable` and
    `other` name the two sides. `values` are all that the page draws, so that every chart of it has
    the same axis.
    """

    words: PageWords
    kind: Kind
    classes: tuple[str, ...]
    favourable_classes: tuple[str, ...]
    line: float | None
    at_least: bool
    better: Literal["higher", "lower"]
    favourable: str
    other: str
    decided: float | None
    range: tuple[float, float] = (0.0, 1.0)

    def value(self, found: Answered) -> float | None:
        """The value of an answer; None where the report does not tell it."""
        if self.kind == "score":
            score = getattr(found, "score", None)
            return None if score is None else float(score)
        return self._of(found.probabilities)

    def alone(self, value: float | None, probabilities: Mapping[str, float]) -> float | None:
        """The value on own data alone, which the report has unless the copy leaves it out."""
        return self._of(probabilities) if value is not None and self.kind == "lead" else value

    def _of(self, probabilities: Mapping[str, float]) -> float | None:
        if not probabilities:
            return None
        good = [chance for name, chance in probabilities.items() if name in self.favourable_classes]
        if self.kind == "probability":
            return sum(good)
        bad = [
            chance for name, chance in probabilities.items() if name not in self.favourable_classes
        ]
        return max(good, default=0.0) - max(bad, default=0.0)

    def reached(self, value: float | None) -> bool | None:
        """Whether a value is on the favourable side; None where that is not known."""
        if value is None or self.line is None:
            return None
        if self.better == "lower":
            return value <= self.line
        return value >= self.line if self.at_least else value > self.line

    def gains(self, before: float, after: float) -> float:
        """How far a change goes towards the favourable side; below zero, away from it."""
        return before - after if self.better == "lower" else after - before

    def figure(self, value: float | None) -> str:
        """A value in its own units."""
        if value is None:
            return self.words.say("subject.none")
        if self.kind == "score":
            return self.words.amount(value)
        return self.words.probability(value) if self.kind == "probability" else self._signed(value)

    def change(self, difference: float) -> str:
        """A difference between two values, with its sign."""
        return self._signed(difference)

    def _signed(self, value: float) -> str:
        size = abs(value) if self.kind == "score" else 0.0
        decimals = 0 if size >= 1000 else 1 if size >= 10 else 2 if size >= 1 else 3
        return self.words.signed(value, decimals)

    def pair(self, before: float | None, after: float | None) -> str:
        """A value before and after: 0.307 → 0.527."""
        return f"{self.figure(before)}{NO_BREAK}→ {self.figure(after)}"

    @property
    def name(self) -> str:
        """What the axis is about."""
        if self.kind == "probability":
            return self.words.say("subject.axis.probability", favourable=self.favourable)
        return self.words.say(f"subject.axis.{self.kind}")

    def axis(self, width: float = WIDE) -> Axis:
        """The axis of every chart of the page, in some width."""
        low, high = self.range
        return Axis(
            low=low,
            high=high,
            ticks=self._ticks(),
            line=self.line,
            shade=self._shade(),
            width=width,
        )

    def _ticks(self) -> tuple[float, ...]:
        low, high = self.range
        if self.kind == "probability":
            return QUARTERS
        return (-1.0, -0.5, 0.0, 0.5, 1.0) if self.kind == "lead" else tuple(ticks(low, high, 4))

    def _shade(self) -> tuple[float, float] | None:
        if self.line is None:
            return None
        low, high = self.range
        return (low, self.line) if self.better == "lower" else (self.line, high)

    def figures(self) -> Picture:
        """The figures at the ticks of the wide axis."""
        return self._figures(self.axis())

    def small_figures(self) -> Picture:
        """The figures at the ticks of a narrow axis."""
        return self._figures(self.axis(NARROW))

    def _figures(self, axis: Axis) -> Picture:
        steps = [other - one for one, other in zip(axis.ticks, axis.ticks[1:], strict=False)]
        decimals = max(0, -floor(log10(min(steps)) + 1e-9)) if steps else 0
        said = [
            self.words.number(tick) if decimals <= 2 else self.words.amount(tick)
            for tick in axis.ticks
        ]
        return axis_row(axis, [one.replace("-", "\N{MINUS SIGN}") for one in said], self.name)

    def sides(self) -> Picture | None:
        """The names of the two sides, to the left and to the right of the line."""
        if self.line is None:
            return None
        axis = self.axis()
        x = axis(self.line)
        left, right = self.other, self._with_line()
        if self.better == "lower":
            left, right = right, left
        drawing = Drawing(axis.width, 20, f"{left} | {right}")
        for words, place, anchor, room in (
            (left, x - 8, "end", x - EDGE),
            (right, x + 8, "start", axis.width - EDGE - x),
        ):
            drawing.text(
                place,
                14,
                shortened(words, max(3, int(room / LETTER))),
                font_size=13,
                font_weight=600,
                text_anchor=anchor,
            )
        return drawing.picture()

    def _with_line(self) -> str:
        sign = "≤" if self.better == "lower" else "≥" if self.at_least else ">"
        return f"{self.favourable} ({sign}{NO_BREAK}{self.figure(self.line)})"

    def moved(self, before: float, after: float | None, alt: str, width: float = WIDE) -> Picture:
        """An arrow from one value to another; a ring alone where there is no other."""
        strip = Strip(self.axis(width), alt)
        if after is None:
            return strip.dot(before, filled=False).picture()
        return strip.arrow(before, after).picture()


def watched_of(shown: SubjectReport, facts: AuditFacts, words: PageWords) -> Watched:
    """What the page of a subject watches, by the rule of the audit."""
    line = shown.decision
    classes = tuple(plain(name) for name in facts.classes)
    good = tuple(plain(name) for name in facts.favourable)
    two = len(good) == 1 and len(classes) == 2
    bad = [name for name in classes if name not in good]
    kind: Kind = "score" if line.scored else "probability"
    at: float | None = line.cut_off
    if line.rule == "argmax":
        kind, at = ("probability", 0.5) if two else ("lead", 0.0)
    found = Watched(
        words=words,
        kind=kind,
        classes=classes,
        favourable_classes=good,
        line=at,
        at_least=line.rule != "argmax",
        better=line.better or "higher",
        favourable=good[0] if len(good) == 1 else words.say("subject.favourable"),
        other=bad[0] if len(bad) == 1 else words.say("subject.unfavourable"),
        decided=None,
    )
    decided = line.score if line.scored else found.value(shown.subject)
    return _ranged(found, shown, decided)


def _ranged(found: Watched, shown: SubjectReport, decided: float | None) -> Watched:
    """The same with a range that holds everything the page draws."""
    span = (0.0, 1.0) if found.kind == "probability" else (-1.0, 1.0)
    if found.kind == "score":
        known = [value for value in _values(found, shown, decided) if value is not None]
        low, high = widened(min(known, default=0.0), max(known, default=1.0))
        room = ROOM * (high - low)
        span = (low - room, high + room)
    return replace(found, decided=decided, range=span)


def _values(found: Watched, shown: SubjectReport, decided: float | None) -> Iterable[float | None]:
    yield from (decided, found.line)
    if shown.own_data is not None and shown.own_data.alone is not None:
        yield shown.own_data.alone.value
    for one in shown.counterfactuals:
        yield from (found.value(one.explanation), found.value(one))
        if one.whole_graph is not None:
            yield found.value(one.whole_graph)
    for option in shown.recourse.options if shown.recourse else ():
        yield found.value(option)
    for tie in shown.carriers.own if shown.carriers else ():
        yield found.value(tie)
