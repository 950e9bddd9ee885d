"""The ladder in characters: the decision as it is, on own data alone, and without each own tie.

All of it is about the whole graph. Every row has its figure and its decision in words, so that
nothing has to be read off the picture.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.text import Text

from recourse_audit.records.search import CarryingSet, Tie, WholeGraph
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.terminal.axis import Asked, Axis
from recourse_audit.render.terminal.lines import cell, cut
from recourse_audit.render.text import number, plain

AS_DECIDED = "as decided"
ALONE = "own data alone"
LABEL = 34
FIGURE = 10
DECISION = 12
BAR = 20
SHORTEST_BAR = 8
# Of a tie: "  without " and a space between its kind and the name.
AROUND_A_TIE = 11
# So many ties that do not move the figure share a row.
FEWEST_TOGETHER = 3
LINE, START, END = "│", "○", "●"
LEFT, RIGHT, SHAFT, CROSSED = "◀", "▶", "─", "┼"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One row: what was asked, the answer, and what is decided by it.

    `moved` draws an arrow from the answer as decided.
    """

    label: str
    value: float
    decision: str
    changes: bool = False
    moved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Widths:
    """How many cells each part of a row takes, with two between them."""

    label: int
    figure: int
    decision: int
    bar: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """The rows above the ties, those of the ties, and how many own ties have no figure."""

    axis: Axis
    first: tuple[Rung, ...]
    ties: tuple[Rung, ...]
    missing: int

    def heading(self, width: int) -> Text:
        """What is measured, and the ends of the axis with its line."""
        wide = self._widths(width)
        room = wide.label + wide.figure + wide.decision + 4
        return Text(f"{cell(self._title, room)}  {self._scale(wide.bar)}".rstrip())

    def lines(self, width: int) -> tuple[Text, ...]:
        """The whole ladder."""
        return (self.heading(width), *self.rows((*self.first, *self.ties), width))

    def rows(self, rungs: tuple[Rung, ...], width: int) -> tuple[Text, ...]:
        """Rows as lines of that width."""
        wide = self._widths(width)
        return tuple(self._row(rung, wide) for rung in rungs)

    @property
    def _title(self) -> str:
        name = self.axis.name
        return f"{name[0].upper()}{name[1:]} on the whole graph"

    def _widths(self, width: int) -> "_Widths":
        rungs = (*self.first, *self.ties)
        label = min(LABEL, max(cell_len(one.label) for one in rungs) + 2)
        figure = min(FIGURE, max(cell_len(self.axis.words(one.value)) for one in rungs))
        decision = min(DECISION, max(cell_len(plain(one.decision)) for one in rungs))
        most = width - figure - decision - 6 - BAR
        label = max(label, min(most, cell_len(self._title) - figure - decision - 4))
        bar = max(SHORTEST_BAR, width - label - figure - decision - 6)
        label = width - bar - figure - decision - 6
        return _Widths(label=label, figure=figure, decision=decision, bar=bar)

    def _row(self, rung: Rung, wide: "_Widths") -> Text:
        figure = cell(self.axis.words(rung.value), wide.figure, right=True)
        style = "bold" if rung.changes else ""
        return Text.assemble(
            f"{cell(f'  {rung.label}', wide.label)}  {figure}  ",
            (cell(plain(rung.decision), wide.decision), style),
            (f"  {self._bar(rung, wide.bar)}".rstrip(), "cyan"),
        )

    def _bar(self, rung: Rung, bar: int) -> str:
        cells = [" "] * bar
        line = None if self.axis.line is None else self._place(self.axis.line, bar)
        if line is not None:
            cells[line] = LINE
        place = self._beside(rung.value, line, bar)
        start = self._beside(self.first[0].value, line, bar) if rung.moved else place
        low, high = sorted((place, start))
        for one in range(low, high + 1):
            cells[one] = CROSSED if one == line else SHAFT
        cells[start] = START
        if place != start:
            cells[place] = RIGHT if place > start else LEFT
        elif not rung.moved and rung.label != AS_DECIDED:
            cells[place] = END
        return "".join(cells)

    def _scale(self, bar: int) -> str:
        """The ends and the line as figures above their places, as far as there is room."""
        low, high = self._range
        line = self.axis.line
        cells = [" "] * bar
        if line is not None:
            _write(cells, self._short(line), self._place(line, bar))
        _write(cells, self._short(low), 0)
        _write(cells, self._short(high), bar - 1)
        return "".join(cells)

    def _short(self, value: float) -> str:
        words = self.axis.words(value)
        return words.rstrip("0").rstrip(".") or "0" if "." in words else words

    def _beside(self, value: float, line: int | None, bar: int) -> int:
        """The place of a value, which is never that of the line unless the value is."""
        place = self._place(value, bar)
        if place != line or self.axis.line is None or value == self.axis.line:
            return place
        return min(max(0, place + (1 if value > self.axis.line else -1)), bar - 1)

    def _place(self, value: float, bar: int) -> int:
        low, high = self._range
        part = (value - low) / (high - low)
        return round(min(1.0, max(0.0, part)) * (bar - 1))

    @property
    def _range(self) -> tuple[float, float]:
        return self.axis.range([one.value for one in (*self.first, *self.ties)])


def ladder_of(axis: Axis, *, full: bool = False) -> Ladder | None:
    """The rows that the report has figures for; None without an answer.

    Ties that do not move the figure share a row, unless the ladder is `full`.
    """
    report, now = axis.report, axis.now
    if now is None or not report.subject.decision:
        return None
    decided = Rung(label=AS_DECIDED, value=now, decision=report.subject.decision)
    ties = tuple(_ties(axis))
    return Ladder(
        axis=axis,
        first=(decided, *_alone(axis), *_tried(axis)),
        ties=ties if full else tuple(_together(axis, decided, ties)),
        missing=0 if report.carriers is None else max(0, report.carriers.own_ties - len(ties)),
    )


def _alone(axis: Axis) -> Iterator[Rung]:
    found = None if axis.report.own_data is None else axis.report.own_data.alone
    if found is not None and found.decision and axis.report.ego_network is not None:
        own = None if axis.report.carriers is None else axis.report.carriers.own_ties
        label = ALONE if not own else f"{ALONE} (without {number(own, 'tie')})"
        yield from _rung(axis, found, label, found.decision)


def _tried(axis: Axis) -> Iterator[Rung]:
    found = axis.report.what_if
    if found is not None:
        yield from _rung(axis, found, "with the changes tried", found.decision, moved=True)


def _ties(axis: Axis) -> Iterator[Rung]:
    """Each own tie by itself, the one that moves the answer farthest first."""
    for removed, found in _single_ties(axis.report):
        yield from _rung(axis, found, _without(axis.report, removed), found.decision, moved=True)


def _together(axis: Axis, now: Rung, ties: Sequence[Rung]) -> Iterator[Rung]:
    """The ties, those that do not move the figure in one row."""
    still = [one for one in ties if _looks_like(axis, one, now)]
    if len(still) < FEWEST_TOGETHER:
        yield from ties
        return
    yield from (one for one in ties if not _looks_like(axis, one, now))
    others = "other ties" if len(still) < len(ties) else "ties"
    yield replace(still[0], label=f"without any one of {len(still):,} {others}")


def _looks_like(axis: Axis, one: Rung, now: Rung) -> bool:
    return not one.changes and axis.words(one.value) == axis.words(now.value)


def _single_ties(report: SubjectReport) -> Iterator[tuple[Tie, CarryingSet | WholeGraph]]:
    """What the report has about single own ties; reports of older versions have few of them."""
    subject, carriers = report.subject.id, report.carriers
    if carriers is not None and carriers.own:
        yield from ((one.removed[0], one) for one in carriers.own)
        return
    front = () if carriers is None else carriers.front
    few: dict[Tie, CarryingSet | WholeGraph] = {
        one.removed[0]: one for one in front if one.size == 1
    }
    few |= {
        one.removed[0]: one.whole_graph
        for one in report.counterfactuals
        if one.whole_graph is not None and len(one.removed) == 1
    }
    own = [(tie, one) for tie, one in few.items() if subject in tie]
    yield from sorted(own, key=lambda pair: -abs(pair[1].effect))


def _rung(
    axis: Axis, found: Asked, label: str, decision: str, *, moved: bool = False
) -> Iterator[Rung]:
    value = axis.value(found)
    if value is not None:
        changes = decision != axis.report.subject.decision
        yield Rung(label=label, value=value, decision=decision, changes=changes, moved=moved)


def _without(report: SubjectReport, tie: Tie) -> str:
    """A tie as it is left out, by its kinds and the person at its other end."""
    other = tie[1] if tie[0] == report.subject.id else tie[0]
    drawn = () if report.ego_network is None else report.ego_network.ties
    kinds = [one.kind for one in drawn if {*one.ends} == {*tie}]
    kind = plain("/".join(dict.fromkeys(kinds))) or "tie"
    room = LABEL - AROUND_A_TIE  # of which a long kind leaves half to the name
    name = cut(plain(other), max(room // 2, room - cell_len(kind)))
    return f"without {cut(kind, room - cell_len(name))} {name}"


def _write(cells: list[str], text: str, place: int) -> None:
    """Write a text around a place, if nothing else is there."""
    start = min(max(0, place - (len(text) - 1) // 2), len(cells) - len(text))
    if start < 0 or any(one != " " for one in cells[max(0, start - 1) : start + len(text) + 1]):
        return
    cells[start : start + len(text)] = text
