"""The subjects of an audit by columns, as the index holds them for its table.

A column is a list with one value per subject. A word is kept once and referred to by its place, so
that 20,000 subjects take about two megabytes. Subjects who need a person's attention come first.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypedDict, TypeVar

from recourse_audit.records.bundle import SummaryRow
from recourse_audit.records.recourse import STATUSES, RecourseStatus
from recourse_audit.render.i18n import Words, strength
from recourse_audit.render.pages.index_words import Change, change_words, detail_of
from recourse_audit.render.text import plain

# `<` could end the element or begin a comment; two separators end a line in old scripts.
_WRITTEN_OUT = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Embedded(Generic[T]):
    """A value that JSON can express, for a `<script type="application/json">`."""

    value: T

    def __html__(self) -> str:
        """The shortest JSON; none of its characters means anything to a browser."""
        text = json.dumps(
            self.value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=False
        )
        return text.translate(_WRITTEN_OUT)


# What a subject needs, most urgent first: the order of the table, and its filters.
Need = Literal["failed", "open", "disagrees", "fragile", "other", "none", "favourable"]
NEEDS: tuple[Need, ...] = (
    *("failed", "open", "disagrees", "fragile", "other", "none", "favourable"),
)
_NEEDS: dict[RecourseStatus, Need] = {
    "error": "failed",
    "not_found_within_budget": "open",
    "model_disagrees": "disagrees",
    "certified_infeasible": "none",
    "already_favourable": "favourable",
}
MOST_DECIMALS = 3
Ending = Literal["pdf", "html"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The name of a subject's files without ending, and which of them there are.

    `ending` is that of the letter: HTML where no PDF can be made.
    """

    file: str
    page: bool
    letter: bool
    ending: Ending = "pdf"
    signed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A subject as the index shows it; words are safe to print but not escaped.

    `lead` is whether something could change the result, and `detail` what, or how far the search
    went. The cheapest option `held` in so many of all `tests`. `value` is what the decision goes
    by, or the margin where that is not one figure for everybody.
    """

    id: str
    decision: str
    status: RecourseStatus
    need: Need
    lead: str
    detail: str
    effort: float | None
    held: int | None
    tests: int | None
    value: float | None
    links: Links | None


class Coded(TypedDict):
    """The words of a column, and for each row the place of its word."""

    words: list[str]
    codes: list[int]


class Figures(TypedDict):
    """The figures of a column, and with how many decimals all of them are shown."""

    decimals: int
    values: list[float | int | None]


class IndexColumns(TypedDict):
    """What the script of the index reads; `page`, `letter`, `signed` have one character per row."""

    count: int
    needs: list[str]
    id: list[str]
    decision: Coded
    need: Coded
    lead: Coded
    detail: Coded
    effort: Figures
    held: list[int | None]
    tests: list[int | None]
    value: Figures
    file: list[str]
    page: str
    letter: str
    signed: str
    ending: Ending


def rows_of(
    subjects: Iterable[tuple[int, SummaryRow]],
    links: Mapping[int, Links],
    words: Words,
    *,
    values: Mapping[int, float | None] | None = None,
    changes: Mapping[int, tuple[Change, ...]] | None = None,
) -> tuple[Row, ...]:
    """Every subject: those who need a person first, then as a person would sort ids (P9, P10).

    `values` replaces margins, and `changes` are those of the cheapest options.
    """
    known: dict[str, RecourseStatus] = {status: status for status in STATUSES}
    said: dict[tuple[Change, ...], str] = {}
    rows = []
    for number, row in subjects:
        change = (changes or {}).get(number, ())
        if change not in said:
            said[change] = change_words(change, words)
        status = known[row.status]
        need = need_of(row, status)
        rows.append(
            Row(
                id=plain(row.id),
                decision=plain(row.decision) or words.say("index.no_decision"),
                status=status,
                need=need,
                lead=words.say_count("index.options", row.options)
                if row.options
                else words.say(f"index.lead.{need}"),
                detail=detail_of(row, need, said[change], words),
                effort=row.cheapest_cost,
                held=row.cheapest_held,
                tests=row.tests if row.cheapest_held is not None else None,
                value=row.margin if values is None else values.get(number),
                links=links.get(number),
            )
        )
    return in_order(rows)


def in_order(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Rows in the order of the table, by what they show as their id."""
    return tuple(sorted(rows, key=lambda row: (NEEDS.index(row.need), natural(row.id))))


def list_order(rows: Mapping[int, SummaryRow], labels: Mapping[int, str]) -> list[int]:
    """The numbers of subjects in the order of the table; `labels` are what it shows as ids."""
    known: dict[str, RecourseStatus] = {status: status for status in STATUSES}

    def place(number: int) -> tuple[int, tuple[tuple[str, int, str], ...]]:
        row = rows[number]
        return NEEDS.index(need_of(row, known[row.status])), natural(plain(labels[number]))

    return sorted(rows, key=place)


def need_of(row: SummaryRow, status: RecourseStatus) -> Need:
    """What a subject needs; an option that failed half of its tests or more is fragile."""
    if status != "verified":
        return _NEEDS[status]
    if row.cheapest_held is None or not row.tests:
        return "other"
    return "fragile" if strength(row.cheapest_held / row.tests) == "fragile" else "other"


def without_id(row: Row) -> Row:
    """The subject by the number that is the name of their page, and without their letter."""
    if row.links is None:
        return replace(row, id="")
    return replace(row, id=row.links.file, links=replace(row.links, letter=False))


def natural(name: str) -> tuple[tuple[str, int, str], ...]:
    """A sort key that ignores case and takes digits as numbers.

    The longer of two numbers is the larger, so that no id is too long to be compared.
    """
    parts = re.split(r"0*([0-9]+)", name)
    return tuple(
        (words.casefold(), len(digits), digits)
        for words, digits in zip(parts[::2], [*parts[1::2], ""], strict=True)
    )


def columns_of(rows: Sequence[Row], words: Words) -> IndexColumns:
    """The columns of the table."""
    decisions = sorted({row.decision for row in rows}, key=natural)
    needs = {need: words.say(f"index.need.{need}") for need in NEEDS}
    return {
        "count": len(rows),
        "needs": [need for need in NEEDS if any(row.need == need for row in rows)],
        "id": [row.id for row in rows],
        "decision": _coded(rows, decisions, lambda row: row.decision),
        "need": _coded(rows, list(needs.values()), lambda row: needs[row.need]),
        "lead": _coded(rows, _distinct(row.lead for row in rows), lambda row: row.lead),
        "detail": _coded(rows, _distinct(row.detail for row in rows), lambda row: row.detail),
        "effort": _figures([row.effort for row in rows]),
        "held": [row.held for row in rows],
        "tests": [row.tests for row in rows],
        "value": {"decimals": MOST_DECIMALS, "values": [_digits(row.value) for row in rows]},
        "file": [row.links.file if row.links else "" for row in rows],
        "page": _marks(row.links is not None and row.links.page for row in rows),
        "letter": _marks(row.links is not None and row.links.letter for row in rows),
        "signed": _marks(row.links is not None and row.links.signed for row in rows),
        "ending": next((row.links.ending for row in rows if row.links), "pdf"),
    }


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))


def _coded(rows: Sequence[Row], words: Sequence[str], word: Callable[[Row], str]) -> Coded:
    """A column of words; those that do not occur are left out."""
    found = [word(row) for row in rows]
    occurring = set(found)
    kept = [one for one in words if one in occurring]
    places = {one: place for place, one in enumerate(kept)}
    return {"words": kept, "codes": [places[one] for one in found]}


def _figures(values: Sequence[float | None]) -> Figures:
    return {"decimals": decimals_of(values), "values": [_short(value) for value in values]}


def decimals_of(values: Iterable[float | None]) -> int:
    """As many decimals as the finest value needs, up to a limit, so that a column aligns."""
    known = [value for value in values if value is not None]
    for decimals in range(MOST_DECIMALS):
        if all(round(value, decimals) == value for value in known):
            return decimals
    return MOST_DECIMALS


def _digits(value: float | None) -> float | int | None:
    return _short(None if value is None else round(value, 6))


def _short(value: float | None) -> float | int | None:
    """A whole number without its decimal point, to save space."""
    return int(value) if value is not None and value == int(value) else value


def _marks(values: Iterable[bool]) -> str:
    """One character per row: 1 is yes."""
    return "".join("1" if value else "0" for value in values)
