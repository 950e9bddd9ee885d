"""The board block as a reader meets it: its text, card by card and row by row."""

import re
from dataclasses import dataclass
from functools import cache
from html import unescape
from typing import Any

from recourse_audit.records.groups import GroupReport
from recourse_audit.render.groups import GroupPage
from recourse_audit.render.i18n import Words
from recourse_audit.render.templates import Templates
from recourse_audit.settings import LanguageWords

OWN = LanguageWords(
    names={"south": ("South",), "north": ("North",)},
    people={"south": "people in the South", "north": "people in the North"},
)


@cache
def words_in(language: str) -> Words:
    return Words(language, own={language: OWN})


def text_of(markup: str) -> str:
    """Markup as it is read, on one line; what a picture says is left out."""
    markup = re.sub(r"<(svg|style|script)\b.*?</\1>", " ", markup, flags=re.DOTALL)
    text = re.sub(r"[^\S\xa0]+", " ", unescape(re.sub(r"<[^>]+>", " ", markup))).strip()
    return re.sub(r" (?=[.,;:)])", "", text)


def pieces(markup: str, pattern: str) -> list[str]:
    return [text_of(found) for found in re.findall(pattern, markup, flags=re.DOTALL)]


@dataclass(frozen=True, kw_only=True)
class BoardText:
    """What the block says."""

    markup: str

    @property
    def text(self) -> str:
        return text_of(self.markup)

    @property
    def about(self) -> str:
        return pieces(self.markup, r'<p class="about">(.*?)</p>')[0]

    @property
    def headline(self) -> str:
        return pieces(self.markup, r"<h1>(.*?)</h1>")[0]

    @property
    def lead(self) -> str:
        return pieces(self.markup, r'<p class="lead">(.*?)</p>')[0]

    @property
    def cards(self) -> list[str]:
        return pieces(self.markup, r'<section class="card">(.*?)</section>')

    @property
    def titles(self) -> list[str]:
        return pieces(self.markup, r'<section class="card">\s*<h2>(.*?)</h2>')

    @property
    def verdicts(self) -> list[str]:
        return pieces(self.markup, r'<p class="verdict[^"]*">(.*?)</p>')

    @property
    def reasons(self) -> str:
        """Whose reasons nothing that they may change touches; "" where that is not said."""
        return " ".join(pieces(self.markup, r'<section class="untouched">(.*?)</section>'))

    def rows(self, card: int) -> list[str]:
        """The groups of a card, each with its figures."""
        found = re.findall(r'<section class="card">(.*?)</section>', self.markup, flags=re.DOTALL)
        rows = pieces(found[card], r"<tr[^>]*>(<th.*?)</tr>")
        return [row for row in rows if row]

    @property
    def gaps(self) -> list[str]:
        """The rows of the plot."""
        plot = re.findall(r'<section class="gaps">(.*?)</section>', self.markup, flags=re.DOTALL)
        return pieces(plot[0], r"<tr[^>]*>\s*(<th scope=\"row\".*?)</tr>") if plot else []

    @property
    def notes(self) -> str:
        return pieces(self.markup, r'<div class="board-notes"[^>]*>(.*?)</div>')[0]


def board_of(report: GroupReport, language: str = "en", people: str = "") -> BoardText:
    """The block of a report."""
    macros: Any = Templates().macros("pages/pieces/board.html")
    return BoardText(markup=str(macros.board(GroupPage(report, words_in(language)), people)))
