"""The group report in a terminal: the sections of its page and annex, read from the same templates.

Brief is the first section, full are all of them. Drawings are left out; no sentence is ever cut.
"""

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from recourse_audit.records.groups import GroupReport
from recourse_audit.render.groups import GroupPage
from recourse_audit.render.i18n import Words
from recourse_audit.render.templates import Templates
from recourse_audit.render.terminal.lines import MORE

SECTIONS = "pages/pieces/group_sections.html"
FIRST_COMPARISONS = 12
HIDDEN = {"svg", "nav", "style"}
HEADINGS = {"h1", "h2", "h3"}
STYLES = {"attention": "bold red", "note": "dim"}
SPACES = re.compile(r"[^\S\N{NO-BREAK SPACE}]+")


def show_groups(
    console: Console,
    report: GroupReport,
    *,
    words: Words | None = None,
    full: bool = False,
    more: str = MORE,
) -> None:
    """Print a group report; `more` says where the rest of a brief view is."""
    templates = Templates()
    page = GroupPage(report, words, templates)
    sections: Any = templates.macros(SECTIONS, view=page)
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


def show_markup(console: Console, markup: str) -> None:
    """Print headings, paragraphs, lists and tables of a page."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    for block in reader.blocks:
        console.print(block)


class _Reader(HTMLParser):
    """Turns the markup of our templates into what a terminal prints."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Text | Table] = []
        self._text = Text()
        self._style = ""
        self._hidden = 0  # how many open elements are inside one that is not printed
        self._rows: list[list[Text]] = []
        self._heads: list[Text] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        classes = (given.get("class") or "").split()
        if self._hidden or tag in HIDDEN or "strip" in classes or "aria-hidden" in given:
            self._hidden += 1
        elif tag in {"p", "li", "dt", "td", "th", "caption", *HEADINGS}:
            apart = tag == "th" and given.get("scope") == "rowgroup"
            styles = [STYLES[name] for name in classes if name in STYLES]
            self._style = "bold" if apart or tag == "caption" or tag in HEADINGS else ""
            self._style = " ".join([*styles, self._style]).strip()
            self._text = Text("\N{BULLET} " if tag == "li" else "")
        elif tag == "tr":
            self._rows.append([])
        elif tag == "table":
            self._rows, self._heads = [], []
        elif "cell-line" in classes and self._text.plain.strip():
            self._text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            self._hidden -= 1
        elif tag in {"td", "th"}:
            self._rows[-1].append(self._take())
        elif tag == "thead":
            self._heads = self._rows.pop()
        elif tag == "table":
            self._add_table()
        elif tag == "dt":
            self._text.append(": ")
        elif tag in {"p", "li", "dd", "caption", *HEADINGS}:
            text = self._take()
            if text.plain:
                self.blocks += [Text(), text] if tag in {"h2", "h3", "caption"} else [text]

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            text = SPACES.sub(" ", data)
            begins = not self._text.plain or self._text.plain[-1] in " \n"
            self._text.append(text.lstrip(" ") if begins else text)

    def _take(self) -> Text:
        """The text of the element that ends."""
        text = self._text
        text.rstrip()
        text.stylize(self._style)
        self._text, self._style = Text(), ""
        return text

    def _add_table(self) -> None:
        rows = [row for row in self._rows if any(cell.plain for cell in row)]
        wide = max(map(len, rows), default=0)
        heads = [*self._heads, *[Text()] * wide][:wide]
        table = Table(box=None, pad_edge=False, show_header=any(head.plain for head in heads))
        for head in heads:
            table.add_column(head, overflow="fold")
        for row in rows:
            table.add_row(*row)
        if rows:
            self.blocks.append(table)
