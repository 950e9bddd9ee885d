"""The subjects of an audit by columns, as the index holds them for its table.

A column is a list with one value per subject. A word is kept once and referred to by its place, so
that 20,000 subjects take about a megabyte.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypedDict, TypeVar

from recourse_audit.records.group_figures import GradeOrNone
from recourse_audit.records.recourse import STATUSES, RecourseStatus
from recourse_audit.records.summary import SummaryRow
from recourse_audit.render.status import STATUS_WORDS
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


NO_DECISION = "no decision"
NO_GRADE = "no grade"
GRADES: dict[GradeOrNone, str] = {
    "holds": "holds",
    "weakens": "weakens",
    "no_effect": "no effect to speak of",
    "reverses": "reverses",
    "not_settled": "not settled",
    "none": NO_GRADE,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A subject as the index shows it; words are safe to print but not escaped."""

    id: str
    decision: str
    status: RecourseStatus
    options: int
    cost: float | None
    margin: float | None
    grade: str
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
    """What the script of the index reads; `page` and `letter` have one character per row."""

    count: int
    missing: list[str]
    id: list[str]
    decision: Coded
    status: Coded
    grade: Coded
    options: list[int]
    cost: Figures
    margin: Figures
    file: list[str]
    page: str
    letter: str
    ending: Ending


def rows_of(
    subjects: Iterable[tuple[int, SummaryRow]], links: Mapping[int, Links]
) -> tuple[Row, ...]:
    """Every subject, sorted by id as a person would sort them (P9 before P10)."""
    known: dict[str, RecourseStatus] = {status: status for status in STATUSES}
    grades: dict[str, str] = dict(GRADES.items())
    rows = (
        Row(
            id=plain(row.id),
            decision=plain(row.decision) or NO_DECISION,
            status=known[row.status],
            options=row.options,
            cost=row.cheapest_cost,
            margin=row.margin,
            grade=grades[row.caveat_grade or "none"],
            links=links.get(number),
        )
        for number, row in subjects
    )
    return tuple(sorted(rows, key=lambda row: natural(row.id)))


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


def columns_of(rows: Sequence[Row]) -> IndexColumns:
    """The columns of the table."""
    decisions = sorted({row.decision for row in rows}, key=natural)
    statuses = [STATUS_WORDS[status].name for status in STATUSES]
    return {
        "count": len(rows),
        "missing": [NO_DECISION, GRADES["not_settled"], NO_GRADE],
        "id": [row.id for row in rows],
        "decision": _coded(rows, decisions, lambda row: row.decision),
        "status": _coded(rows, statuses, lambda row: STATUS_WORDS[row.status].name),
        "grade": _coded(rows, list(GRADES.values()), lambda row: row.grade),
        "options": [row.options for row in rows],
        "cost": _figures([row.cost for row in rows]),
        "margin": _figures([row.margin for row in rows]),
        "file": [row.links.file if row.links else "" for row in rows],
        "page": _marks(row.links is not None and row.links.page for row in rows),
        "letter": _marks(row.links is not None and row.links.letter for row in rows),
        "ending": next((row.links.ending for row in rows if row.links), "pdf"),
    }


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


def _short(value: float | None) -> float | int | None:
    """A whole number without its decimal point, to save space."""
    return int(value) if value is not None and value == int(value) else value


def _marks(values: Iterable[bool]) -> str:
    """One character per row: 1 is yes."""
    return "".join("1" if value else "0" for value in values)
