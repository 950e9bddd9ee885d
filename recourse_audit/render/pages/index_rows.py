"""The subjects of an audit by columns, as the index holds them for its table.

A column is a list with a value a subject, words are kept once and counted by their place, so that
20,000 subjects take about a megabyte.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from recourse_audit.render.text import plain
from recourse_audit.records.summary_columns import STATUSES

STATUS_WORDS = {
    "already_favourable": "already favourable",
    "verified": "verified",
    "certified_infeasible": "certified infeasible",
    "not_found_within_budget": "not found within budget",
    "error": "error",
}
NO_DECISION = "no decision"
NO_GRADE = "no grade"
GRADES = ("holds", "weakens", "reverses", NO_GRADE)
MOST_DECIMALS = 3
_COLUMNS = "number, id, decision, status, options, cheapest_cost, margin, caveat_grade"


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The name of a subject's files without ending, and which of them there are.

    `ending` is that of the letter: where no PDF can be made there is HTML alone.
    """

    file: str
    page: bool
    letter: bool
    ending: Literal["pdf", "html"] = "pdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A subject as the index shows it; words are safe to print but not escaped."""

    id: str
    decision: str
    status: str
    options: int
    cost: float | None
    margin: float | None
    grade: str
    links: Links | None


def rows_of(store: sqlite3.Connection, links: Mapping[int, Links]) -> tuple[Row, ...]:
    """Every subject, by id as a person would sort them (P9 before P10)."""
    found = store.execute(f"SELECT {_COLUMNS} FROM subjects ORDER BY number")  # noqa: S608
    rows = (
        Row(
            id=plain(name),
            decision=plain(decision) or NO_DECISION,
            status=STATUS_WORDS[status],
            options=options,
            cost=cost,
            margin=margin,
            grade=grade or NO_GRADE,
            links=links.get(number),
        )
        for number, name, decision, status, options, cost, margin, grade in found
    )
    return tuple(sorted(rows, key=lambda row: natural(row.id)))


def natural(name: str) -> tuple[tuple[str, int, str], ...]:
    """A key by which text sorts without regard to case, and digits in it as numbers.

    Of two numbers the longer one is larger: no id is too long for that.
    """
    parts = re.split(r"0*([0-9]+)", name)
    return tuple(
        (words.casefold(), len(digits), digits)
        for words, digits in zip(parts[::2], [*parts[1::2], ""], strict=True)
    )


def columns_of(rows: Sequence[Row]) -> dict[str, Any]:
    """The columns of the table; a word's place in its list stands for it."""
    decisions = sorted({row.decision for row in rows}, key=natural)
    statuses = [STATUS_WORDS[status] for status in STATUSES]
    return {
        "count": len(rows),
        "missing": [NO_DECISION, NO_GRADE],
        "id": [row.id for row in rows],
        "decision": _coded(rows, decisions, lambda row: row.decision),
        "status": _coded(rows, statuses, lambda row: row.status),
        "grade": _coded(rows, GRADES, lambda row: row.grade),
        "options": [row.options for row in rows],
        "cost": _figures([row.cost for row in rows]),
        "margin": _figures([row.margin for row in rows]),
        "file": [row.links.file if row.links else "" for row in rows],
        "page": _marks(row.links is not None and row.links.page for row in rows),
        "letter": _marks(row.links is not None and row.links.letter for row in rows),
        "ending": next((row.links.ending for row in rows if row.links), "pdf"),
    }


def _coded(rows: Sequence[Row], words: Sequence[str], word: Callable[[Row], str]) -> dict[str, Any]:
    """The words that occur, in their order, and the place of each row's."""
    occurring = {word(row) for row in rows}
    kept = [one for one in words if one in occurring]
    places = {one: place for place, one in enumerate(kept)}
    return {"words": kept, "codes": [places[word(row)] for row in rows]}


def _figures(values: Sequence[float | None]) -> dict[str, Any]:
    """The figures, and with how many decimals all of them are shown."""
    return {"decimals": decimals_of(values), "values": [_short(value) for value in values]}


def decimals_of(values: Iterable[float | None]) -> int:
    """As many decimals as the finest value needs, up to a limit, so that a column aligns."""
    known = [value for value in values if value is not None]
    for decimals in range(MOST_DECIMALS):
        if all(round(value, decimals) == value for value in known):
            return decimals
    return MOST_DECIMALS


def _short(value: float | None) -> float | int | None:
    """A whole number without its point, to be short."""
    return int(value) if value is not None and value == int(value) else value


def _marks(values: Iterable[bool]) -> str:
    """A character a row: 1 is yes."""
    return "".join("1" if value else "0" for value in values)
