"""The index: who was audited with which result, where the files are, and how to check them.

In: the summary rows, the manifest, the files that were written, the verdicts on groups. Out: one
view that the template prints, with every figure worked out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recourse_audit.records.agreement import Agreement
from recourse_audit.records.manifest import Command, Manifest
from recourse_audit.records.recourse import STATUSES
from recourse_audit.records.summary import SummaryRow
from recourse_audit.render.agreement import agreement_sentences
from recourse_audit.render.page_words import INDEX_WORDS, PageWords, english
from recourse_audit.render.pages.index_rows import (
    Embedded,
    IndexColumns,
    Links,
    Row,
    columns_of,
    decimals_of,
    rows_of,
    without_id,
)
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.status import STATUS_WORDS
from recourse_audit.render.text import number, plain

LISTED_WITHOUT_SCRIPT = 500
PAGES, LETTERS = "subjects/", "../letters/"
NOTHING = "\N{EN DASH}"


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
    """How many subjects have a status; all totals add up to the subjects."""

    status: str
    meaning: str
    count: str
    share: str
    width: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The SHA-256 of a file that the audit read or wrote."""

    what: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupVerdict:
    """How many gaps of one attribute, or of two crossed, got each verdict."""

    attribute: str
    shown: int
    no_gap: int
    not_settled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupVerdicts:
    """What the group report concludes, and the address of its page."""

    page: str
    headline: str
    rows: tuple[GroupVerdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRow:
    """A subject in the list for browsers without scripts; an address is "" if there is no file."""

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

    words: PageWords
    lead: str
    agreement: tuple[str, ...]
    warnings: tuple[str, ...]
    totals: tuple[Total, ...]
    total: str
    total_share: str
    columns: tuple[Column, ...]
    listed: bool
    data: Embedded[IndexColumns]
    tables: str
    plain_rows: tuple[PlainRow, ...]
    digests: tuple[Digest, ...]
    versions: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    seed: str
    repeats: str
    compared: str
    signed_by: str
    groups: GroupVerdicts | None


def index_view(
    subjects: Iterable[tuple[int, SummaryRow]],
    *,
    manifest: Manifest,
    manifest_digest: str,
    links: Mapping[int, Links],
    groups: GroupVerdicts | None,
    words: PageWords | None = None,
    agreement: Agreement | None = None,
    level: Level = "auditor",
    results: bool = True,
    sizes: bool = True,
) -> IndexView:
    """Make the index of a finished bundle; `manifest_digest` is that of the manifest's file.

    Only the auditor's index has ids. A reviewer's lists the numbers of subjects, which are the
    names of their pages, and a subject's lists nobody. Without `results` it does not say how many
    subjects have each status, and without `sizes` not how many subjects and people there are.
    """
    rows = rows_of(subjects, links)
    shown = rows
    if level != "auditor":
        shown = tuple(without_id(row) for row in rows if level == "reviewer")
    return IndexView(
        words=words or english(*INDEX_WORDS),
        lead=_lead(manifest, len(rows), level, sizes=sizes),
        agreement=_agreement(agreement, level) if sizes else (),
        warnings=tuple(plain(note) for note in manifest.probes.notes.values()),
        totals=_totals(rows) if results else (),
        total=f"{len(rows):,}",
        total_share="100.0 %" if rows else NOTHING,
        columns=COLUMNS,
        listed=level != "subject",
        data=Embedded(columns_of(shown)),
        tables="../data/subjects.csv" if level == "auditor" else "",
        plain_rows=_plain_rows(shown) if len(shown) <= LISTED_WITHOUT_SCRIPT else (),
        digests=_digests(manifest, manifest_digest),
        versions=tuple(manifest.versions.items()),
        commands=_commands(manifest.signed_by),
        seed=str(manifest.seed),
        repeats=str(manifest.counts.repeats),
        compared=str(manifest.counts.compared),
        signed_by=manifest.signed_by or "",
        groups=groups,
    )


def _agreement(found: Agreement | None, level: Level) -> tuple[str, ...]:
    """What is said of decisions on record; only the auditor learns about whom they differ."""
    if found is None:
        return ()
    return agreement_sentences(found if level == "auditor" else found.without_people())


def _lead(manifest: Manifest, subjects: int, level: Level, *, sizes: bool) -> str:
    """How many people were audited, and which."""
    whom = _whom(manifest.command, level)
    if not sizes:
        return f"Too few people to say how many were audited: {whom}."
    count = manifest.counts.people
    people = f"{count:,} person" if count == 1 else f"{count:,} people"
    return f"{number(subjects, 'subject')} of {people} in the graph: {whom}."


def _whom(command: Command, level: Level) -> str:
    """Whom the audit was about, in words; a selection may name people, or what they are."""
    known = {"unfavourable": "everyone with an unfavourable decision", "all": "everyone"}
    by = f"those selected by {plain(command.subjects)}" if level == "auditor" else "a selection"
    whom = known.get(command.subjects, by)
    if command.sample is None:
        return whom
    drawn = f"{command.sample:,} drawn from {whom}"
    if command.stratify is None or level != "auditor":
        return drawn
    return f"{drawn}, in proportion to the values of {plain(command.stratify)}"


def _totals(rows: Sequence[Row]) -> tuple[Total, ...]:
    found = Counter(row.status for row in rows)
    return tuple(
        Total(
            status=STATUS_WORDS[status].name,
            meaning=STATUS_WORDS[status].meaning,
            count=f"{found[status]:,}",
            share=f"{100 * found[status] / len(rows):.1f} %" if rows else NOTHING,
            width=f"{100 * found[status] / (len(rows) or 1):.2f}",
        )
        for status in STATUSES
        if found[status] or status != "model_disagrees"  # which needs decisions on record
    )


def _commands(signed_by: str | None) -> tuple[str, ...]:
    key = " --key KEY.pub" if signed_by else ""
    return (
        "sha256sum -c checksums.txt",
        f"recourse-audit verify .{key}",
        f"recourse-audit verify .{key} --replay 20 --settings audit.toml",
    )


def _digests(manifest: Manifest, manifest_digest: str) -> tuple[Digest, ...]:
    inputs, files = manifest.inputs, manifest.files
    model = ", ".join(inputs.model.files)
    found = [
        Digest(what="Model", file=plain(model), sha256=inputs.model.sha256),
        *(
            Digest(what=f"Graph, {part}", file=plain(one.file), sha256=one.sha256)
            for part, one in inputs.graph.items()
        ),
        Digest(what="Settings", file="settings.json", sha256=files["settings.json"].sha256),
        Digest(what="Store", file="store.sqlite", sha256=files["store.sqlite"].sha256),
    ]
    if inputs.preprocessing is not None:
        files_of = plain(", ".join(inputs.preprocessing.files))
        digest = inputs.preprocessing.sha256
        found.insert(1, Digest(what="Preprocessing", file=files_of, sha256=digest))
    if inputs.candidates is not None:
        found.append(Digest(what="New ties", file="candidates", sha256=inputs.candidates))
    return (*found, Digest(what="Manifest", file="manifest.json", sha256=manifest_digest))


def _plain_rows(rows: Sequence[Row]) -> tuple[PlainRow, ...]:
    decimals = decimals_of(row.cost for row in rows)
    return tuple(
        PlainRow(
            id=row.id,
            decision=row.decision,
            status=STATUS_WORDS[row.status].name,
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
