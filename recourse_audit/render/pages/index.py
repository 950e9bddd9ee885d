"""The index: who was audited and what came of it, where the files are, and how to check them.

In: the store, the manifest, the files that were written, the verdicts on groups. Out: one record
that the template prints, without a figure left to work out.
"""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recourse_audit.render.pages.embedded import Embedded
from recourse_audit.render.text import number, plain
from recourse_audit.render.pages.index_rows import (
    STATUS_WORDS,
    Links,
    Row,
    columns_of,
    decimals_of,
    rows_of,
)
from recourse_audit.records.summary_columns import STATUSES

LISTED_WITHOUT_SCRIPT = 500
PAGES, LETTERS = "subjects/", "../letters/"
NOTHING = "\N{EN DASH}"
MEANINGS = {
    "already_favourable": "Decided favourably: nothing to change.",
    "verified": "At least one option, each confirmed by the model.",
    "certified_infeasible": "Every permitted combination was tried or covered; none works.",
    "not_found_within_budget": "The budget ended first; there may be an option.",
    "error": "No options could be worked out.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table, by its name in the data."""

    name: str
    title: str


COLUMNS = tuple(
    Column(name=name, title=title)
    for name, title in {
        "id": "Subject",
        "decision": "Decision",
        "status": "Status",
        "options": "Options",
        "cost": "Cheapest",
        "margin": "Margin",
        "grade": "Caveat",
        "letter": "Letter",
    }.items()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """How many subjects have a status; all of them add up to the subjects."""

    status: str
    meaning: str
    count: str
    share: str
    width: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The SHA-256 of something that the audit read or wrote."""

    what: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupVerdict:
    """How many gaps of one attribute, or of two crossed, have each verdict."""

    attribute: str
    flags: int
    no_flags: int
    insufficient: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupVerdicts:
    """What the group summary concludes, and whether there is a page of it."""

    page: str
    rows: tuple[GroupVerdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRow:
    """A subject in the list for a browser without scripts; addresses are "" where nothing is."""

    id: str
    decision: str
    status: str
    options: str
    cost: str
    page: str
    letter: str
    ending: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexView:
    """What the index shows."""

    subjects: str
    people: str
    whom: str
    warnings: tuple[str, ...]
    totals: tuple[Total, ...]
    total: str
    total_share: str
    columns: tuple[Column, ...]
    data: Embedded
    plain_rows: tuple[PlainRow, ...]
    digests: tuple[Digest, ...]
    versions: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    seed: str
    signed_by: str
    groups: GroupVerdicts | None


def index_view(
    store: sqlite3.Connection,
    *,
    manifest: str,
    links: Mapping[int, Links],
    groups: GroupVerdicts | None,
) -> IndexView:
    """Make the index of a finished bundle; `manifest` is the text of its manifest."""
    facts: dict[str, Any] = json.loads(manifest)
    rows = rows_of(store, links)
    return IndexView(
        subjects=number(len(rows), "subject"),
        people=_people(facts["counts"]["people"]),
        whom=_whom(facts["command"]),
        warnings=tuple(plain(note) for note in facts["notes"].values()),
        totals=_totals(rows),
        total=f"{len(rows):,}",
        total_share="100.0 %" if rows else NOTHING,
        columns=COLUMNS,
        data=Embedded(columns_of(rows)),
        plain_rows=_plain_rows(rows) if len(rows) <= LISTED_WITHOUT_SCRIPT else (),
        digests=_digests(facts, manifest),
        versions=tuple(facts["versions"].items()),
        commands=_commands(facts["signed_by"]),
        seed=str(facts["seed"]),
        signed_by=facts["signed_by"] or "",
        groups=groups,
    )


def _people(count: int) -> str:
    return f"{count:,} person" if count == 1 else f"{count:,} people"


def _whom(command: dict[str, Any]) -> str:
    """Whom the audit was about, in words."""
    asked = str(command["subjects"])
    known = {
        "unfavourable": "everyone not decided on favourably",
        "all": "everyone",
    }
    whom = known.get(asked, f"those chosen by {plain(asked)}")
    if command["sample"] is None:
        return whom
    drawn = f"{command['sample']:,} drawn from {whom}"
    if command["stratify"] is None:
        return drawn
    return f"{drawn}, in proportion to the values of {plain(command['stratify'])}"


def _totals(rows: Sequence[Row]) -> tuple[Total, ...]:
    found = Counter(row.status for row in rows)
    counts = {status: found[STATUS_WORDS[status]] for status in STATUSES}
    return tuple(
        Total(
            status=STATUS_WORDS[status],
            meaning=MEANINGS[status],
            count=f"{count:,}",
            share=f"{100 * count / len(rows):.1f} %" if rows else NOTHING,
            width=f"{100 * count / (len(rows) or 1):.2f}",
        )
        for status, count in counts.items()
    )


def _commands(signed_by: str | None) -> tuple[str, ...]:
    key = " --key KEY.pub" if signed_by else ""
    return (
        "sha256sum -c checksums.txt",
        f"recourse-audit verify .{key}",
        f"recourse-audit verify .{key} --replay 20 --settings audit.toml",
    )


def _digests(facts: dict[str, Any], manifest: str) -> tuple[Digest, ...]:
    inputs, files = facts["inputs"], facts["files"]
    model = ", ".join(inputs["model"]["files"])
    found = [
        Digest(what="Model", file=plain(model), sha256=inputs["model"]["sha256"]),
        *(
            Digest(what=f"Graph, {key}", file=plain(one["file"]), sha256=one["sha256"])
            for key, one in inputs["graph"].items()
        ),
        Digest(what="Settings", file="settings.json", sha256=files["settings.json"]["sha256"]),
        Digest(what="Store", file="store.sqlite", sha256=files["store.sqlite"]["sha256"]),
    ]
    if inputs["candidates"] is not None:
        found.append(Digest(what="New ties", file="candidates", sha256=inputs["candidates"]))
    whole = hashlib.sha256(manifest.encode()).hexdigest()
    return (*found, Digest(what="Manifest", file="manifest.json", sha256=whole))


def _plain_rows(rows: Sequence[Row]) -> tuple[PlainRow, ...]:
    decimals = decimals_of(row.cost for row in rows)
    return tuple(
        PlainRow(
            id=row.id,
            decision=row.decision,
            status=row.status,
            options=f"{row.options:,}",
            cost=NOTHING if row.cost is None else f"{row.cost:.{decimals}f}",
            page=f"{PAGES}{row.links.file}.html" if row.links and row.links.page else "",
            letter=_letter(row.links),
            ending=row.links.ending.upper() if row.links else "",
        )
        for row in rows
    )


def _letter(links: Links | None) -> str:
    return f"{LETTERS}{links.file}.{links.ending}" if links and links.letter else ""
