"""The first subjects of the index as a plain list: on paper, and for browsers without scripts."""

from collections.abc import Sequence
from dataclasses import dataclass

from recourse_audit.render.charts.strips import Axis, Strip
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.index_rows import Links, Row, decimals_of
from recourse_audit.render.pages.index_words import ValueAxis

PAGES, LETTERS = "subjects/", "../letters/"
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRow:
    """A subject in the list on paper and without scripts; an address is "" if there is no file."""

    id: str
    lead: str
    detail: str
    effort: str
    holds: str
    fragile: bool
    value: str
    picture: Picture | None
    page: str
    letter: str
    letter_words: str


def listed_rows(rows: Sequence[Row], axis: ValueAxis, words: Words) -> tuple[ListedRow, ...]:
    """The rows with every figure in words."""
    decimals = decimals_of(row.effort for row in rows)
    drawn = _drawn_on(axis, rows)
    return tuple(
        ListedRow(
            id=row.id,
            lead=row.lead,
            detail=row.detail,
            effort=NOTHING if row.effort is None else words.fixed(row.effort, decimals),
            holds=NOTHING if row.held is None else words.out_of(row.held, row.tests or 0),
            fragile=row.need == "fragile",
            value=NOTHING if row.value is None else value_words(row.value, axis, words),
            picture=_mark(drawn, row.value, axis, words),
            page=f"{PAGES}{row.links.file}.html" if row.links and row.links.page else "",
            letter=_letter(row.links),
            letter_words=words.say(
                "index.signed" if row.links and row.links.signed else "index.draft"
            ),
        )
        for row in rows
    )


def value_words(value: float, axis: ValueAxis, words: Words) -> str:
    """A probability, a margin or a score, as it is written."""
    if axis.whole:
        return words.probability(value)
    return words.signed(value) if axis.of_margin else words.amount(value)


def _drawn_on(axis: ValueAxis, rows: Sequence[Row]) -> Axis | None:
    values = [row.value for row in rows if row.value is not None]
    low, high = (0.0, 1.0) if axis.whole else (min([*values, axis.line]), max([*values, axis.line]))
    if low == high:
        return None
    return Axis(low=low, high=high, line=axis.line, width=96)


def _mark(drawn: Axis | None, value: float | None, axis: ValueAxis, words: Words) -> Picture | None:
    """A hollow dot, whose text alternative is the figure."""
    if value is None or drawn is None:
        return None
    alt = value_words(value, axis, words)
    return Strip(drawn, alt, height=16).dot(value, filled=False).picture()


def _letter(links: Links | None) -> str:
    return f"{LETTERS}{links.file}.{links.ending}" if links and links.letter else ""
