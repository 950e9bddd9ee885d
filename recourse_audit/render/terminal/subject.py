"""Terminal view of the report on one subject: the sections of its page, in the same words.

Brief are the first sections, full are all of them. Ids, names and classes are the user's: they are
shown as text, whatever they contain, and cut if they are very long; no sentence ever is.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from recourse_audit.records.recourse import Option
from recourse_audit.records.search import CarryingSet, Counterfactual
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.pages.subject import SubjectPage
from recourse_audit.render.pages.tables import facts_of_report
from recourse_audit.render.templates import Templates
from recourse_audit.render.terminal.lines import (
    ELLIPSIS,
    MORE,
    cell,
    cut,
    width_of,
    wrapped,
)
from recourse_audit.render.terminal.what_if import what_if_lines
from recourse_audit.render.text import plain

TAGS = re.compile(r"<[^>]*>")
WORDS = "pages/pieces/subject_words.html"
LABEL, FIGURE, WORD = 34, 10, 16
LONGEST_BAR, SHORTEST_BAR = 28, 8
FIRST_OPTIONS = 8
LINE, START = "│", "○"
LEFT, RIGHT, SHAFT, CROSSED = "◀", "▶", "─", "┼"


def show_subject(
    console: Console,
    report: SubjectReport,
    warnings: Sequence[str] = (),
    *,
    full: bool = False,
    prefer: Literal["paper", "whole_graph"] = "paper",
    favourable: Collection[str] = (),
    more: str = MORE,
) -> None:
    """Print the report on one subject.

    `favourable` are the favourable classes, where they are known. `prefer` says what comes first of
    what is printed in full: the paper's counterfactuals, or the ties that carry the decision on
    the whole graph. `more` says where the rest of a brief view is.
    """
    for warning in warnings:
        for line in wrapped(console, f"! {plain(warning)}", width_of(console), style="yellow"):
            console.print(line, soft_wrap=True)
    view = _SubjectView(console, report, favourable, full=full, more=more)
    sections = [view.head(), view.ladder(), view.what_if(), view.options(), view.caution()]
    if full:
        middle = [view.counterfactuals(), view.sets()]
        sections += middle if prefer == "paper" else middle[::-1]
        sections += [view.own_data(), view.caveats()]
    for section in sections:
        for line in section:
            console.print(line, soft_wrap=True)
    console.print()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rung:
    """One row of the ladder; `is_move` draws an arrow from the answer as decided."""

    label: str
    value: float
    outcome: str
    is_move: bool = True
    heading: str = ""


class _SubjectView:
    """The sections of one report, each as lines that fit the terminal."""

    def __init__(
        self,
        console: Console,
        report: SubjectReport,
        favourable: Collection[str],
        *,
        full: bool,
        more: str,
    ) -> None:
        self._console = console
        self._width = width_of(console)
        self._full = full
        self._more = more
        self._page = SubjectPage(report, facts_of_report(report, favourable))
        self._report = self._page.report
        self._axis = self._page.axis
        self._words = self._page.words
        self._macros: Any = Templates().macros(WORDS, view=self._page)

    def _say(self, name: str, *given: object) -> str:
        """What a macro of the report's words says, as one line."""
        markup = str(getattr(self._macros, name)(*given))
        return _one_line(unescape(TAGS.sub("", markup)))  # what users wrote is escaped in it

    def _lines(self, text: str, style: str = "", indent: str = "") -> Iterator[Text]:
        for line in wrapped(self._console, text, self._width - len(indent), style=style):
            yield Text(indent, style=style).append_text(line)

    def _heading(self, text: str) -> Iterator[Text]:
        yield Text("")
        yield from self._lines(text, "bold")

    # ------------------------------------------------------------------ sections

    def head(self) -> Iterator[Text]:
        """The finding, the status, and where the person stands."""
        report = self._report
        yield from self._lines(self._say("title"), "bold")
        status = self._words.status(report.status)
        yield from self._lines(self._words.say("subject.status", status=status))
        yield from self._lines(self._say("lead"))
        if report.error:
            yield from self._lines(f"{self._words.say('subject.error')} {report.error}", "red")
        if report.note:
            yield from self._lines(self._say("note"))

    def ladder(self) -> Iterator[Text]:
        """The answer as decided, on own data alone, and without each own tie."""
        rungs = [*self._rungs()]
        if not rungs:
            return
        words = max(cell_len(cut(rung.outcome, WORD)) for rung in rungs)
        figure = max(cell_len(self._axis.figure(rung.value)) for rung in rungs)
        bar = max(SHORTEST_BAR, min(self._width - LABEL - figure - words - 6, LONGEST_BAR))
        label = max(8, self._width - bar - figure - words - 6)
        name = self._axis.name
        yield Text("")
        head = cell(f"{name[:1].upper()}{name[1:]}", label + figure + words + 4)
        yield Text(f"{head}  {self._scale(bar)}".rstrip())
        for rung in rungs:
            if rung.heading:
                yield Text(f"  {rung.heading}", style="dim")
            value = cell(self._axis.figure(rung.value), figure, right=True)
            row = f"  {cell(rung.label, label - 2)}  {value}  {cell(rung.outcome, words)}"
            yield Text.assemble(row, (f"  {self._bar(rung, bar)}".rstrip(), "cyan"))
        if self._page.further_ties and not self._full:
            yield Text(
                f"  {ELLIPSIS} {len(self._page.further_ties)} more: {self._more}", style="dim"
            )
        yield from self._lines(self._say("ladder_notes", False))

    def _rungs(self) -> Iterator[_Rung]:
        report, page, words, decided = self._report, self._page, self._words, self._axis.decided
        if decided is None:
            return
        count = report.carriers.own_ties if report.carriers is not None else 0
        ties = words.say_count("subject.ladder.with_ties", count) if count else ""
        label = f"{words.say('subject.ladder.decided')}{ties}"
        yield _Rung(label=label, value=decided, outcome=report.subject.decision, is_move=False)
        alone = report.own_data.alone if report.own_data is not None else None
        value = self._axis.value_alone(alone) if alone is not None and alone.decision else None
        if alone is not None and value is not None:
            label = f"{words.say('subject.ladder.alone')}{words.say('subject.ladder.no_ties')}"
            yield _Rung(label=label, value=value, outcome=alone.decision)
        heading = words.say("subject.ladder.if")
        for tie in page.moving_ties if self._full else page.ladder_ties:
            value = self._axis.value(tie)
            if value is not None:
                label = page.near.tie_label(tie.removed[0], decided=False)
                outcome = self._say("then", tie)
                yield _Rung(label=label, value=value, outcome=outcome, heading=heading)
                heading = ""
        if page.still_ties:
            label = words.say_count("subject.ladder.still", len(page.still_ties))
            yield _Rung(label=label, value=decided, outcome=self._say("then", page.still_ties[0]))

    def what_if(self) -> Iterator[Text]:
        """What the model decides after changes chosen by hand."""
        if self._report.what_if is not None:
            yield Text("")
            for text, style in what_if_lines(self._report.what_if, self._report.subject):
                yield from self._lines(text, style)

    def options(self) -> Iterator[Text]:
        """What could change the decision, or how far was looked for it."""
        recourse = self._report.recourse
        if recourse is None or self._report.error:
            return
        heading = (
            self._words.say_count("subject.options.heading", len(recourse.options))
            if recourse.options
            else self._words.say(f"subject.options.heading.{recourse.status}")
        )
        yield from self._heading(heading)
        yield from self._lines(self._say("coverage", recourse.certificate))
        shown = recourse.options if self._full else recourse.options[:FIRST_OPTIONS]
        for number, option in enumerate(shown, start=1):
            yield from self._option(number, option)
        if len(shown) < len(recourse.options):
            rest = len(recourse.options) - len(shown)
            yield Text(f"{ELLIPSIS} {rest} more: {self._more}", style="dim")
        if self._full and self._page.searched:
            yield from self._lines(self._say("tried", recourse.certificate), "dim")

    def _option(self, number: int, option: Option) -> Iterator[Text]:
        changes = "; ".join(self._say("change", action) for action in option.actions)
        yield from wrapped(self._console, f"{number}  {changes}", self._width, indent="   ")
        tests = option.robustness
        fragile = self._page.is_fragile(option)
        words = self._words
        held = words.say("subject.tests.none")
        if tests is not None:
            held = f"{words.strength(tests)} ({words.out_of(tests.held, tests.draws)})"
        effort = words.fixed(option.cost, self._page.effort_decimals)
        pair = self._axis.pair(self._axis.decided, self._axis.value(option))
        facts = [
            pair if (beyond := self._say("beyond", option)) == "" else f"{pair}, {beyond}",
            f"{words.say('subject.options.effort').lower()} {effort}",
            f"▲ {held}" if fragile else held,
        ]
        if not option.verified:
            facts.append(words.say("subject.options.not_verified"))
        elif option.verified_on == "neighbourhood":
            facts.append(words.say("subject.options.neighbourhood"))
        yield from self._lines("; ".join(facts), "yellow" if fragile else "", indent="   ")
        if others := self._say("others", option):
            yield from self._lines(others, indent="   ")

    def caution(self) -> Iterator[Text]:
        """What no row of the ladder says, and where the rest of a brief view is."""
        yield Text("")
        if len([*self._rungs()]) > 1:
            yield from self._lines(self._words.say("subject.ladder.note"), "italic")
        if not self._full and (self._report.search is not None or self._report.own_data):
            yield from self._lines(self._words.say("subject.terminal.more", more=self._more), "dim")

    def counterfactuals(self) -> Iterator[Text]:
        """What the search found, and how far it looked."""
        report, page, words = self._report, self._page, self._words
        search = report.search
        if search is None or not page.counterfactuals:
            return
        yield from self._heading(words.say_count("subject.cf.heading", len(page.counterfactuals)))
        yield from self._lines(words.say("subject.cf.lead"))
        for number, found in enumerate(page.counterfactuals, start=1):
            yield from self._counterfactual(number, found, search.pairs)
        yield from self._lines(self._say("search_extent"), "dim")

    def _counterfactual(self, number: int, found: Counterfactual, pairs: int) -> Iterator[Text]:
        words, page = self._words, self._page
        ties = page.list_ties(found.removed)
        title = words.say_count("subject.cf.title", len(ties), number=number, ties=", ".join(ties))
        yield from self._lines(title, "bold")
        explanation = ", ".join(page.list_ties(found.explanation.edges))
        figures = (
            f"{words.say('subject.search.nu')} {words.fixed(found.simulatability, 6)}; "
            f"{words.say('subject.search.mu')} {words.fixed(found.relevance, 6)}; "
            f"{words.say('subject.search.ranks')} {found.ranks.simulatability} + "
            f"{found.ranks.relevance}; {words.say('subject.search.layer')} {found.layer}; "
            f"{words.say('subject.search.dominates')} {words.out_of(found.dominates, pairs)} "
            f"{self._say('baselines', found)}"
        )
        lines = [
            f"{words.say('subject.search.explanation')}: {explanation}",
            self._say("direction", found),
            self._say("consequences", found, number),
            figures,
        ]
        for line in lines:
            yield from self._lines(line, indent="   ")

    def sets(self) -> Iterator[Text]:
        """The sets of ties that carry the decision on the whole graph."""
        carriers, words = self._report.carriers, self._words
        if carriers is None:
            return
        yield from self._heading(words.say("subject.sets.title"))
        for ties in carriers.front:
            yield from self._lines(self._set(ties), indent="   ")
        if not carriers.front:
            yield from self._lines(words.say("subject.sets.none"))
        yield from self._lines(self._say("sets_coverage"), "dim")

    def _set(self, ties: CarryingSet) -> str:
        pair = self._axis.pair(self._axis.decided, self._axis.value(ties))
        removed = ", ".join(self._page.list_ties(ties.removed))
        return f"{removed}: {pair}, {self._say('then', ties)}"

    def own_data(self) -> Iterator[Text]:
        """The answer with all ties removed."""
        if sentences := self._say("own_data"):
            yield from self._heading(self._words.say("subject.own.title"))
            yield from self._lines(sentences)

    def caveats(self) -> Iterator[Text]:
        """What must be said beside the counterfactuals."""
        for caveat in self._page.caveats:
            number = caveat.counterfactual
            title = (
                self._words.say("subject.caveat.every")
                if number is None
                else self._words.say("subject.caveat.about", number=number)
            )
            yield Text("")
            yield from self._lines(f"{title}. {self._say('caveat', caveat)}", "italic")

    # ------------------------------------------------------------------ the bar of a rung

    def _bar(self, rung: _Rung, bar: int) -> str:
        """A value on the axis: a ring as decided, and an arrow from it to any other."""
        assert self._axis.decided is not None
        cells = [" "] * bar
        cut_off = None if self._axis.cut_off is None else self._place(self._axis.cut_off, bar)
        if cut_off is not None:
            cells[cut_off] = LINE
        start, end = (self._beside(one, cut_off, bar) for one in (self._axis.decided, rung.value))
        if not rung.is_move:
            cells[end] = START
            return "".join(cells)
        for place in range(min(start, end), max(start, end) + 1):
            cells[place] = CROSSED if place == cut_off else SHAFT
        cells[start] = START
        if end != start:
            cells[end] = RIGHT if end > start else LEFT
        return "".join(cells)

    def _scale(self, bar: int) -> str:
        """The ends and the cut-off as figures above their places, as far as there is room."""
        low, high = self._axis.range
        cells = [" "] * bar
        for value in (self._axis.cut_off, low, high):
            if value is None:
                continue
            figure = self._axis.figure(value)
            text = figure.rstrip("0").rstrip(".") or "0" if "." in figure else figure
            place = self._place(value, bar)
            start = min(max(0, place - (len(text) - 1) // 2), bar - len(text))
            around = cells[max(0, start - 1) : start + len(text) + 1]
            if start >= 0 and all(one == " " for one in around):
                cells[start : start + len(text)] = text
        return "".join(cells)

    def _beside(self, value: float, cut_off: int | None, bar: int) -> int:
        """The place of a value, which is never that of the cut-off unless the value is."""
        place = self._place(value, bar)
        if place != cut_off or self._axis.cut_off is None or value == self._axis.cut_off:
            return place
        return min(max(0, place + (1 if value > self._axis.cut_off else -1)), bar - 1)

    def _place(self, value: float, bar: int) -> int:
        low, high = self._axis.range
        part = (value - low) / (high - low)
        return round(min(1.0, max(0.0, part)) * (bar - 1))


def _one_line(text: str) -> str:
    """A text without line breaks; spaces that do not break a line stay."""
    return re.sub(r"[ \n]+", " ", text).strip()
