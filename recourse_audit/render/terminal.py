"""Terminal views: the sections of the pages, read from the same templates and printed with rich.

Brief are the first sections, full are all of them. Pictures are left out, but for the ladder, which
is drawn in characters. What users wrote is text, whatever it contains; nothing is ever cut off.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from html.parser import HTMLParser
from io import StringIO
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recourse_audit.records import Record
from recourse_audit.records.groups import GroupReport
from recourse_audit.records.model import ModelReport
from recourse_audit.records.recourse import WhatIf
from recourse_audit.records.subject import StabilityReport, SubjectReport
from recourse_audit.render.decision_axis import AuditFacts, DecisionAxis, facts_of_report
from recourse_audit.render.drawing import Picture
from recourse_audit.render.groups import GroupPage
from recourse_audit.render.i18n import Words, agreement_sentences, probe_notes
from recourse_audit.render.subject import SubjectPage
from recourse_audit.render.templates import our_templates
from recourse_audit.render.text import NO_BREAK, plain

PIECES = "pages/pieces/"
COLUMNS = 80
MORE = "--full"
IN_A_NOTEBOOK = "to_dict()"  # where the rest is
FIRST_COMPARISONS = 12
GAP = 2  # between columns
LONGEST_BAR, SHORTEST_BAR = 25, 9
BESIDE_THE_BAR = 64
FRAME = '<pre style="font-family:monospace;line-height:1.3;white-space:pre">{code}</pre>'


# ---------------------------------------------------------------- one subject


def show_subject(
    console: Console,
    report: SubjectReport,
    warnings: Sequence[str] = (),
    *,
    full: bool = False,
    facts: AuditFacts | None = None,
    more: str = MORE,
    words: Words | None = None,
) -> None:
    """Print the report on one subject.

    Parameters
    ----------
    facts
        The audit that the report belongs to; what the report tells of it without them.
    more
        Where the rest of a brief view is.
    words
        What people read, with the user's own words; ours in English without them.
    """
    width = min(console.width, COLUMNS)
    for warning in warnings:
        console.print(Text(f"! {plain(warning)}", style="yellow"), width=width)
    page = SubjectPage(report, facts or facts_of_report(report), words=words)
    page.axis = TextAxis.of(page.axis, width - BESIDE_THE_BAR)
    page.ladder_axis = TextAxis.of(page.ladder_axis, width - BESIDE_THE_BAR)
    tried = report.what_if
    against = what_if_lines("objections", tried, page.words) if tried is not None else []
    sections = _macros("subject_terminal.html", view=page, objections=against)
    show_markup(console, sections.full() if full else sections.brief(more), width)
    console.print()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAxis(DecisionAxis):
    """The axis of a decision in characters, with `room` for so many; none if that is too few."""

    room: int
    is_drawn: ClassVar[bool] = False

    @classmethod
    def of(cls, axis: DecisionAxis, room: int) -> "TextAxis":
        given = {part.name: getattr(axis, part.name) for part in fields(axis)}
        return cls(room=min(room, LONGEST_BAR) if room >= SHORTEST_BAR else 0, **given)

    def draw(
        self, before: float | None, after: float | None, alt: str, *, narrow: bool = False
    ) -> Picture | None:
        """A ring at the answer as it is, and an arrow from it to the answer with a change."""
        if before is None or narrow or not self.room:
            return None
        cells = [" "] * self.room
        if self.cut_off is not None:
            cells[self._place(self.cut_off)] = "│"
        start = self._place_aside(before)
        end = start if after is None else self._place_aside(after)
        for place in range(min(start, end), max(start, end) + 1) if end != start else ():
            cells[place] = "┼" if cells[place] == "│" else "─"
        cells[end] = "▶" if end > start else "◀"
        cells[start] = "○"
        return _picture(cells, alt)

    def draw_sides(self) -> Picture | None:
        return None

    def draw_figures(self) -> Picture:
        """The ends and the cut-off as figures below their places, as far as there is room."""
        cells = [" "] * self.room
        for value in (self.cut_off, *self.range):
            figure = "" if value is None else self.figure(value)
            text = figure.rstrip("0").rstrip(".") or "0" if "." in figure else figure
            middle = 0 if value is None else self._place(value) - (len(text) - 1) // 2
            start = min(max(0, middle), self.room - len(text))
            around = cells[max(0, start - 1) : start + len(text) + 1]
            if text and start >= 0 and set(around) <= {" "}:
                cells[start : start + len(text)] = text
        return _picture(cells, self.name)

    def _place_aside(self, value: float) -> int:
        """The place of a value, which is never that of the cut-off unless the value is."""
        place = self._place(value)
        if self.cut_off is None or value == self.cut_off or place != self._place(self.cut_off):
            return place
        return min(max(0, place + (1 if value > self.cut_off else -1)), self.room - 1)

    def _place(self, value: float) -> int:
        low, high = self.range
        return round(min(1.0, max(0.0, (value - low) / (high - low))) * (self.room - 1))


def _picture(cells: Sequence[str], alt: str) -> Picture:
    return Picture(svg="".join(cells).replace(" ", NO_BREAK), alt=alt)


# ---------------------------------------------------------------- changes chosen by hand


def show_what_if(console: Console, tried: WhatIf, words: Words | None = None) -> None:
    """What the model decides after changes chosen by hand, and whether the policy permits them."""
    [result] = what_if_lines("result", tried, words or Words())
    console.print(Text(result, style="bold green" if tried.favourable else "bold"))
    for objection in what_if_lines("objections", tried, words or Words()):
        console.print(Text(objection, style="yellow"))


def what_if_lines(macro: str, about: Record, words: Words) -> list[str]:
    """What a macro of `what_if.html` says: of changes by hand, or of a part of them."""
    return our_templates().lines(f"{PIECES}what_if.html", macro, about, words=words)


# ---------------------------------------------------------------- groups, a model, stability


def show_groups(
    console: Console,
    report: GroupReport,
    *,
    words: Words | None = None,
    full: bool = False,
    more: str = MORE,
) -> None:
    """Print a group report; `more` says where the rest of a brief view is."""
    sections = _macros("group_sections.html", view=GroupPage(report, words))
    if not report.finished:
        console.print(Text(unfinished(report), style="bold yellow"))
    markup = sections.brief(0, "") if full else sections.brief(FIRST_COMPARISONS, more)
    show_markup(console, f"{markup}{sections.rest() if full else ''}")


def unfinished(report: GroupReport) -> str:
    """The warning for an audit that is not finished."""
    return (
        f"THIS AUDIT IS NOT FINISHED: {report.done:,} of {report.total:,} subjects are done, and "
        "the figures cover these only; rerun the same `run` command to resume"
    )


def show_model(
    console: Console, name: str, report: ModelReport, *, full: bool = False, more: str = MORE
) -> None:
    """Print what was found of a model; `more` says where the rest of a brief view is."""
    words = Words()
    sections = _macros(
        "model.html",
        words=words,
        name=plain(name),
        report=report,
        plain=plain,
        agreement=agreement_sentences(report.agreement, words),
    )
    width = console.width if full else min(console.width, COLUMNS)
    show_markup(console, sections.full() if full else sections.brief(more), width)


def show_stability(console: Console, report: StabilityReport) -> None:
    """How far explanations and options moved, for changed and unchanged decisions separately."""
    sections = _macros("model.html", words=Words(), report=report, plain=plain)
    show_markup(console, sections.stability())


def _macros(file: str, /, **values: object) -> Any:
    return our_templates().macros(f"{PIECES}{file}", **values)


# ---------------------------------------------------------------- a notebook


def html_of(record: Record) -> str:
    """What a notebook shows of a record: its terminal view as HTML, or else its repr.

    Whatever the record contains is text in the HTML, never markup.
    """
    console = Console(
        record=True,
        file=StringIO(),
        width=COLUMNS,
        markup=False,
        highlight=False,
        emoji=False,
        force_jupyter=False,  # or a notebook shows every section a second time
    )
    match record:
        case SubjectReport():
            show_subject(console, record, probe_notes(record.probes), more=IN_A_NOTEBOOK)
        case WhatIf():
            show_what_if(console, record)
        case StabilityReport():
            show_stability(console, record)
        case GroupReport():
            show_groups(console, record, more=IN_A_NOTEBOOK)
        case ModelReport():
            show_model(console, "Model", record, more=IN_A_NOTEBOOK)
            if record.problem:
                console.print(plain(record.problem))
        case _:
            return f"<pre>{escape(repr(record))}</pre>"
    return console.export_html(inline_styles=True, code_format=FRAME)


# ---------------------------------------------------------------- pages as text

HIDDEN = {"svg", "nav", "style", "figure", "button"}
HEADINGS = {"h1", "h2", "h3", "summary", "caption"}
STYLES = {"attention": "bold red", "caution": "yellow", "note": "dim", "aside": "dim"}
SPACES = re.compile(r"[^\S\N{NO-BREAK SPACE}]+")
Cell = tuple[str, str]  # its text, and how it is printed


@dataclass(slots=True)
class _Cells:
    """A table as it is read; rows of `stacked` ones are paragraphs, as on a phone."""

    stacked: bool
    heads: list[Cell] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)


def show_markup(console: Console, markup: str, width: int | None = None) -> None:
    """Print headings, paragraphs, lists and tables of a page."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    for block in reader.blocks:
        parts = [block] if isinstance(block, Text) else _parts(block, width or console.width)
        for part in parts:
            console.print(part, width=width)


def _parts(cells: _Cells, width: int) -> Iterator[Text | Table]:
    """A table and the lines in it that go over all columns; row by row if it is too wide."""
    rows = [row for row in cells.rows if any(text.strip() for text, _ in row)]
    wide = max(map(len, rows), default=0)
    rows = [row if len(row) == 1 else [*row, *[("", "")] * (wide - len(row))] for row in rows]
    whole = [row for row in rows if len(row) == wide]
    kept = [place for place in range(wide) if any(row[place][0] for row in whole)]
    heads = [*cells.heads, *[("", "")] * wide][:wide]
    least: list[int] = []  # the widest word of each column
    widths: list[int] = []
    for place in kept:
        column = "\n".join(row[place][0] for row in whole)
        least.append(max(map(cell_len, re.split("[ \n]", f"{heads[place][0]} {column}"))))
        widths.append(max(least[-1], *map(cell_len, column.split("\n"))))
    room = width - GAP * (len(kept) - 1)
    if cells.stacked or sum(least) > room:
        yield from _stack(whole, heads, stacked=cells.stacked)
        return
    while sum(widths) > room:  # the widest that can be narrower
        _, place = max((size, at) for at, size in enumerate(widths) if size > least[at])
        widths[place] -= 1
    table = None
    has_heads = any(text for text, _ in heads)
    for row in rows:
        if len(row) < wide:
            yield from filter(None, (table, Text(row[0][0], style=row[0][1])))
            table = None
            continue
        if table is None:
            table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=has_heads)
            for place, size in zip(kept, widths, strict=True):
                table.add_column(Text(heads[place][0]), width=size, overflow="fold")
            has_heads = False
        table.add_row(
            *(Text(row[place][0].replace(NO_BREAK, " "), style=row[place][1]) for place in kept)
        )
    yield from filter(None, (table,))


def _stack(
    rows: Sequence[Sequence[Cell]], heads: Sequence[Cell], *, stacked: bool
) -> Iterator[Text | Table]:
    """Rows as paragraphs: numbered, or each figure after the head of its column."""
    grid = Table.grid(padding=(0, GAP, 0, 0))
    grid.add_column()
    grid.add_column(overflow="fold")
    for row in rows:
        if stacked:
            (number, _), (first, _), *rest = row
            body = Text(first)
            for place, (text, style) in enumerate(cell for cell in rest if cell[0]):
                body.append("; " if place else "\n")
                body.append(text.replace("\n", "; "), style=style)
            grid.add_row(number, body)
            continue
        body = Text()
        for (head, _), (text, style) in zip(heads, row, strict=True):
            if text:
                body.append(f"{'; ' if body else ''}{head}{': ' if head else ''}")
                body.append(text.replace("\n", ", "), style=style)
        yield body
    if grid.row_count:
        yield grid


class _Reader(HTMLParser):
    """Turns the markup of our templates into what a terminal prints."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Text | _Cells] = []
        self._text = self._style = ""
        self._hidden = 0  # how many open elements are inside one that is not printed
        self._table: _Cells | None = None
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        classes = (given.get("class") or "").split()
        unseen = "hidden" in given or ("aria-hidden" in given and tag != "tr")
        if self._hidden or tag in HIDDEN or unseen:
            self._hidden += 1
            return
        styles = [STYLES[name] for name in classes if name in STYLES]
        if self._in_cell:
            self._style = self._style or " ".join(style for style in styles if "bold" in style)
            if tag == "li" or {"cell-line", "test"} & set(classes):
                before = self._text.rstrip(" ")
                self._text = self._text if before[-1:] in {"", ":"} else f"{before}\n"
        elif tag == "table":
            self._table = _Cells(stacked="options" in classes)
        elif tag == "tr" and self._table is not None:
            self._table.rows.append([])
        elif tag in {"p", "li", "dt", "td", "th", *HEADINGS}:
            bold = tag in HEADINGS or given.get("scope") == "rowgroup"
            self._style = " ".join([*styles, *["bold"] * bold])
            self._text = "\N{BULLET} " if tag == "li" else ""
            self._in_cell = tag in {"td", "th"}
        elif "cell-line" in classes and self._text.strip():
            self._text = f"{self._text.rstrip(' ')}\n"

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            self._hidden -= 1
        elif tag in {"td", "th"}:
            assert self._table is not None
            self._table.rows[-1].append((self._text.strip(" \n"), self._style))
            self._in_cell = False
        elif self._in_cell:
            return
        elif tag == "thead" and self._table is not None:
            self._table.heads = self._table.rows.pop()
        elif tag == "table" and self._table is not None:
            self.blocks.append(self._table)
        elif tag == "dt":
            self._text += ": "
        elif tag in {"p", "li", "dd", *HEADINGS}:
            text = self._text.strip(" \n")
            if tag == "dd":
                text = text.replace("\n", ", ").replace(": , ", ": ")
            apart = self.blocks and tag in HEADINGS
            self.blocks += [Text()] * bool(apart and text)
            self.blocks += [Text(text, style=self._style)] * bool(text)
            self._text = self._style = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            text = SPACES.sub(" ", data)
            begins = not self._text or self._text[-1] in " \n"
            self._text += text.lstrip(" ") if begins else text
