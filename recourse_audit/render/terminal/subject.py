"""Terminal view of the report on one subject: the sections of its page, in the same words.

Brief are the first sections, full are all of them. Ids, names and classes are the user's: they are
shown as text, whatever they contain, and cut if they are very long; no sentence ever is.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from recourse_audit.records.recourse import (
    Action,
    Forbidden,
    Move,
    Option,
    SetAction,
    TieAction,
    WhatIf,
)
from recourse_audit.records.search import CarryingSet, Counterfactual, WholeGraph
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.decision_axis import facts_of_report
from recourse_audit.render.i18n import Words
from recourse_audit.render.subject import SubjectPage
from recourse_audit.render.templates import Templates
from recourse_audit.render.terminal.lines import MORE, cell, cut, width_of, wrapped
from recourse_audit.render.text import plain

TAGS = re.compile(r"<[^>]*>")
MACROS = "pages/pieces/subject_words.html"
LABEL, WORD = 34, 16
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
    words: Words | None = None,
) -> None:
    """Print the report on one subject.

    Parameters
    ----------
    favourable
        The favourable classes, where they are known.
    prefer
        What comes first of what is printed in full: the paper's counterfactuals, or the ties that
        carry the decision on the whole graph.
    more
        Where the rest of a brief view is.
    words
        What people read, with the user's own words; ours in English without them.
    """
    for warning in warnings:
        for line in wrapped(console, f"! {plain(warning)}", width_of(console), style="yellow"):
            console.print(line, soft_wrap=True)
    page = SubjectPage(report, facts_of_report(report, favourable), words=words)
    view = _SubjectView(console, page, full=full, more=more)
    sections = [view.head(), view.own_columns(), view.ladder(), view.what_if()]
    sections += [view.options(), view.caution()]
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
    """One row of the ladder; `is_move` draws an arrow from the answer as decided.

    A row without a value is a sentence.
    """

    label: str
    value: float | None = None
    outcome: str = ""
    is_move: bool = True
    heading: str = ""


class _SubjectView:
    """The sections of one report, each as lines that fit the terminal."""

    def __init__(self, console: Console, page: SubjectPage, *, full: bool, more: str) -> None:
        self._console = console
        self._width = width_of(console)
        self._full = full
        self._more = more
        self._page = page
        self._report = page.report
        self._axis = page.axis
        self._words = page.words
        self._macros: Any = Templates().macros(MACROS, view=page)

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

    def _rest(self, count: int, indent: str = "") -> Iterator[Text]:
        """How many more rows the full view has."""
        number = self._words.number(count)
        yield from self._lines(
            self._words.say("terminal.more", count=number, more=self._more), "dim", indent
        )

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

    def own_columns(self) -> Iterator[Text]:
        """The subject's own data in full: the value, the reference, and where they stand."""
        if not self._full or not self._page.columns:
            return
        yield from self._heading(self._words.say("subject.columns.heading"))
        for column in self._page.columns:
            name = self._page.name(column.name)
            facts = [self._say("value", column.value, column.unit)]
            if column.reference is not None:
                label = self._say("reference_name", column)
                facts.append(f"{label} {self._words.value(column.reference, column.unit)}")
            facts.append(self._say("among_all", column))
            yield from self._lines(f"{name}: {', '.join(filter(None, facts))}", indent="  ")

    def ladder(self) -> Iterator[Text]:
        """The answer as decided, on own data alone, and with one thing changed."""
        rungs = [*self._rungs()]
        if not rungs:
            return
        values = [rung for rung in rungs if rung.value is not None]
        words = max(cell_len(cut(rung.outcome, WORD)) for rung in values)
        figure = max(cell_len(self._axis.figure(rung.value)) for rung in values)
        bar = max(SHORTEST_BAR, min(self._width - LABEL - figure - words - 6, LONGEST_BAR))
        label = max(6, self._width - bar - figure - words - 6)
        yield Text("")
        head = cell(_capital(self._axis.name), label + figure + words + 4)
        yield Text(f"{head}  {self._scale(bar)}".rstrip())
        for rung in rungs:
            if rung.heading:
                yield from self._lines(rung.heading, "dim", indent="  ")
            if rung.value is None:
                yield from self._lines(rung.label, indent="  ")
                continue
            value = cell(self._axis.figure(rung.value), figure, right=True)
            row = f"  {cell(rung.label, label - 2)}  {value}  {cell(rung.outcome, words)}"
            yield Text.assemble(row, (f"  {self._bar(rung, bar)}".rstrip(), "cyan"))
        if self._page.further_ties and not self._full:
            yield from self._rest(len(self._page.further_ties), "  ")
        yield from self._lines(self._say("ladder_notes", False))

    def _rungs(self) -> Iterator[_Rung]:
        report, page, words, decided = self._report, self._page, self._words, self._axis.decided
        if decided is None:
            return
        count = report.carriers.own_ties if report.carriers is not None else 0
        ties = words.say_count("subject.ladder.with_ties", count) if count else ""
        label = f"{words.say('subject.ladder.decided')}{ties}"
        decision = words.class_name(report.subject.decision)
        yield _Rung(label=label, value=decided, outcome=decision, is_move=False)
        alone = report.own_data.alone if report.own_data is not None else None
        value = self._axis.value_alone(alone) if alone is not None and alone.decision else None
        if alone is not None and value is not None:
            label = f"{words.say('subject.ladder.alone')}{words.say('subject.ladder.no_ties')}"
            yield _Rung(label=label, value=value, outcome=words.class_name(alone.decision))
        moving, still = page.column_ladder
        rungs = [
            self._rung(self._say("column_label", column), column.answer)
            for column in moving
            if column.answer is not None
        ]
        if still:
            rungs.append(_Rung(label=self._say("still_columns", still)))
        yield from _under(words.say("subject.ladder.columns"), rungs)
        rungs = [
            self._rung(self._say("tie_label", tie.removed[0], False), tie)
            for tie in (page.moving_ties if self._full else page.ladder_ties)
        ]
        if page.still_ties:
            rungs.append(_Rung(label=self._say("still_ties")))
        yield from _under(words.say("subject.ladder.ties"), rungs)

    def _rung(self, label: str, answer: WholeGraph | CarryingSet) -> _Rung:
        return _Rung(label=label, value=self._axis.value(answer), outcome=self._say("then", answer))

    def what_if(self) -> Iterator[Text]:
        """What the model decides after changes chosen by hand."""
        tried = self._report.what_if
        if tried is None:
            return
        yield Text("")
        style = "bold green" if tried.favourable else "bold"
        yield from self._lines(self._say("what_if", tried), style)
        for sentence in objections(tried, self._words):
            yield from self._lines(sentence, "yellow")

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
        first = recourse.options if self._full else recourse.options[:FIRST_OPTIONS]
        for number, option in enumerate(first, start=1):
            yield from self._option(number, option)
        if len(first) < len(recourse.options):
            yield from self._rest(len(recourse.options) - len(first))
        if self._full and self._page.searched:
            yield from self._lines(self._say("tried", recourse.certificate), "dim")

    def _option(self, number: int, option: Option) -> Iterator[Text]:
        changes = [self._say("change", *change) for change in self._page.changes_of(option.actions)]
        text = _capital("; ".join(changes))
        yield from wrapped(self._console, f"{number}  {text}", self._width, indent="   ")
        tests, words = option.robustness, self._words
        fragile = self._page.is_fragile(option)
        worked = words.say("subject.tests.none")
        if tests is not None:
            worked = self._say("worked", tests, fragile)
        effort = words.fixed(option.cost, self._page.effort_decimals)
        pair = self._axis.pair(self._axis.decided, self._axis.value(option))
        facts = [
            ", ".join(filter(None, (pair, self._say("beyond", option)))),
            f"{words.say('subject.options.effort').lower()} {effort}",
            f"▲ {worked}" if fragile else worked,
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
        yield from self._heading(words.say("subject.cf.heading"))
        yield from self._lines(words.say("subject.cf.lead"))
        for number, pair in enumerate(page.counterfactuals, start=1):
            yield from self._counterfactual(number, pair, search.pairs)
        yield from self._lines(self._say("search_extent"), "dim")

    def _counterfactual(self, number: int, pair: Counterfactual, pairs: int) -> Iterator[Text]:
        words, page = self._words, self._page
        yield from self._lines(f"{number}. {self._say('removed', pair)}", "bold")
        explanation = ", ".join(page.list_ties(pair.explanation.edges))
        figures = (
            f"{words.say('subject.search.nu')} {words.fixed(pair.simulatability, 6)}; "
            f"{words.say('subject.search.mu')} {words.fixed(pair.relevance, 6)}; "
            f"{words.say('subject.search.ranks')} {pair.ranks.simulatability} + "
            f"{pair.ranks.relevance}; {words.say('subject.search.layer')} {pair.layer}; "
            f"{words.say('subject.search.dominates')} {words.out_of(pair.dominates, pairs)} "
            f"{self._say('baselines', pair)}"
        )
        lines = [
            f"{words.say('subject.search.explanation')}: {explanation}",
            self._say("moves", pair),
            self._say("consequences", pair, number),
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
            pair = self._axis.pair(self._axis.decided, self._axis.value(ties))
            removed = ", ".join(self._page.list_ties(ties.removed))
            yield from self._lines(f"{removed}: {pair}, {self._say('then', ties)}", indent="   ")
        if not carriers.front:
            yield from self._lines(words.say("subject.sets.none"))
        yield from self._lines(self._say("sets_coverage"), "dim")

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
        assert rung.value is not None
        cells = [" "] * bar
        cut_off = None if self._axis.cut_off is None else self._place(self._axis.cut_off, bar)
        if cut_off is not None:
            cells[cut_off] = LINE
        start, end = (
            self._beside(value, cut_off, bar) for value in (self._axis.decided, rung.value)
        )
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
            if start >= 0 and set(around) <= {" "}:
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


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _one_line(text: str) -> str:
    """A text without line breaks; spaces that do not break a line stay."""
    return re.sub(r"[ \n]+", " ", text).strip()


def _under(heading: str, rungs: Sequence[_Rung]) -> list[_Rung]:
    """Rows with a heading above the first of them."""
    return [replace(rung, heading="" if place else heading) for place, rung in enumerate(rungs)]


# ---------------------------------------------------------------- changes chosen by hand


def show_what_if(console: Console, tried: WhatIf, words: Words | None = None) -> None:
    """What the model decides after changes chosen by hand, and whether the policy permits them."""
    words = words or Words()
    changes = "; ".join(change_words(action, words) for action in tried.actions)
    said = {"changes": changes, "decision": words.class_name(tried.decision)}
    scored = tried.score is not None and tried.score_before is not None and not tried.probabilities
    write = words.amount if scored else words.signed
    said |= {"margin": write(tried.margin), "before": write(tried.margin_before)}
    if scored:
        scores = {"score": tried.score, "score_before": tried.score_before}
        said |= {name: words.amount(score or 0.0) for name, score in scores.items()}
    else:
        said["chance"] = words.probability(tried.probabilities[tried.decision])
    sentence = words.say(f"subject.what_if.{'score' if scored else 'alone'}", **said)
    style = "bold green" if tried.favourable else "bold"
    console.print(Padding(Text(sentence, style=style), (0, 2)))
    for objection in objections(tried, words):
        console.print(Padding(Text(objection, style="yellow"), (0, 2)))


def change_words(action: Action, words: Words) -> str:
    """One change by hand, in the user's words."""
    if isinstance(action, SetAction):
        moves: list[SetAction | Move] = [action, *action.implied]
        return ", ".join(
            f"{words.name(move.attribute)} {words.value(move.before, move.unit)} → "
            f"{words.value(move.after, move.unit)}"
            for move in moves
        )
    people = ", ".join("\N{EN DASH}".join(map(plain, tie)) for tie in action.ties)
    count = 1 if isinstance(action, TieAction) else None
    kind = plain(action.kind)
    what = words.change_ties(action.do, kind, count) if kind else action.do
    return f"{what} ({people})"


def forbidden_words(forbidden: Forbidden, words: Words) -> str:
    """Why the policy would not suggest something, after the change that it is about."""
    details = {
        name: plain(value) if isinstance(value, str) else words.exact(value)
        for name, value in forbidden.details.items()
    }
    key = f"forbidden.{forbidden.code}"
    if forbidden.code == "no_rule_for_ties":
        key = f"{key}.{details['do']}.{details['whose']}"
    sentence = words.say(key, **details)
    reason = f" ({details['reason']})" if details.get("reason") else ""
    change = f"{plain(forbidden.change)}: " if forbidden.change else ""
    return f"{change}{sentence}{reason}"


def objections(tried: WhatIf, words: Words) -> Iterator[str]:
    """What speaks against changes chosen by hand."""
    for forbidden in tried.forbidden:
        reason = forbidden_words(forbidden, words)
        yield words.say("subject.what_if.forbidden", reason=reason)
    for number in tried.outside:
        end = number.lowest if number.side == "below" else number.highest
        yield words.say(
            f"subject.what_if.{number.side}",
            name=words.name(number.attribute),
            value=words.value(number.value, number.unit),
            end=words.value(end, number.unit),
        )
