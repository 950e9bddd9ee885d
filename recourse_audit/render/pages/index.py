"""The index: what was audited, what was found, who needs a person first, and how to check it.

In: the summary rows, the manifest, the settings, the files that were written, the comparison of
groups. Out: one view that the template prints, with every figure worked out and worded.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from recourse_audit.records.bundle import Command, Manifest, SummaryRow
from recourse_audit.records.groups import GroupReport
from recourse_audit.records.model import Agreement
from recourse_audit.records.recourse import STEADY
from recourse_audit.render.agreement import agreement_sentences
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.index_evidence import Evidence, evidence_of
from recourse_audit.render.pages.index_labels import Labels, labels_of
from recourse_audit.render.pages.index_list import ListedRow, listed_rows
from recourse_audit.render.pages.index_rows import (
    NEEDS,
    Embedded,
    IndexColumns,
    Links,
    Row,
    columns_of,
    in_order,
    rows_of,
    without_id,
)
from recourse_audit.render.pages.index_words import (
    Change,
    rule_words,
    value_axis,
)
from recourse_audit.render.redaction import Level
from recourse_audit.render.text import plain
from recourse_audit.settings import Settings

LISTED = 50  # rows of the list on paper, and for browsers without scripts
COLUMNS = ("id", "what", "effort", "holds", "value", "letter")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSource:
    """What an index is made from; `subjects` and `links` are by number.

    `scores` are what decisions go by, `cheapest` the changes of each cheapest option.
    `manifest_digest` is that of the manifest's file. `day` is when the audit ended, as 2026-11-17.
    """

    subjects: Iterable[tuple[int, SummaryRow]]
    manifest: Manifest
    manifest_digest: str
    links: Mapping[int, Links]
    settings: Settings | None = None
    scores: Mapping[int, float | None] = field(default_factory=dict)
    cheapest: Mapping[int, tuple[Change, ...]] = field(default_factory=dict)
    agreement: Agreement | None = None
    groups: GroupReport | None = None
    auditor: str = ""
    day: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table, by its name in the data."""

    name: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """How many subjects need the same; all totals add up to the subjects."""

    need: str
    name: str
    count: str
    share: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexView:
    """What the index shows; `board` is None where no groups were compared."""

    words: Words
    about: tuple[str, ...]
    board: object | None
    headline: str
    lead: str
    notes: tuple[tuple[str, str], ...]
    agreement: tuple[str, ...]
    warnings: tuple[str, ...]
    totals: tuple[Total, ...]
    total: str
    columns: tuple[Column, ...]
    listed: bool
    data: Embedded[IndexColumns]
    labels: Embedded[Labels]
    tables: str
    rows: tuple[ListedRow, ...]
    more: str
    evidence: Evidence
    groups_page: str
    paper: bool


def index_view(
    source: IndexSource,
    *,
    words: Words | None = None,
    level: Level = "auditor",
    results: bool = True,
    sizes: bool = True,
    paper: bool = False,
) -> IndexView:
    """Make the index of a finished bundle; `paper` says whether there is a PDF of it.

    Only the auditor's index has ids. A reviewer's lists the numbers of subjects, which are the
    names of their pages, and a subject's lists nobody. Without `results` it does not say how many
    subjects have each result, and without `sizes` not how many subjects and people there are.
    """
    words = words or Words()
    axis = value_axis(source.settings, words)
    settings, manifest = source.settings, source.manifest
    subjects = tuple(source.subjects)
    rows = rows_of(
        subjects,
        source.links,
        words,
        values=None if axis.of_margin else source.scores,
        changes=source.cheapest,
    )
    shown = rows
    if level != "auditor":
        shown = in_order(without_id(row) for row in rows if level == "reviewer")
    listed = shown[:LISTED]
    return IndexView(
        words=words,
        about=tuple(_about(source, words)),
        board=_board(source.groups, words),
        headline=_headline(source, len(rows), words),
        lead=_lead(manifest, len(rows), level, words, sizes=sizes),
        notes=tuple(_notes([row for _, row in subjects], words, source.groups)) if results else (),
        agreement=_agreement(source.agreement, level, words) if sizes else (),
        warnings=tuple(_warnings(manifest, words)),
        totals=_totals(rows, words) if results else (),
        total=words.number(len(rows)),
        columns=tuple(
            Column(name=name, title=axis.title if name == "value" else words.say(f"column.{name}"))
            for name in COLUMNS
        ),
        listed=level != "subject",
        data=Embedded(columns_of(shown, words)),
        labels=Embedded(labels_of(words, axis)),
        tables="../data/subjects.csv" if level == "auditor" else "",
        rows=listed_rows(listed, axis, words),
        more=_more(len(listed), len(shown), words),
        evidence=evidence_of(manifest, source.manifest_digest, settings, words),
        groups_page="groups.html" if source.groups is not None else "",
        paper=paper,
    )


def _about(source: IndexSource, words: Words) -> Iterable[str]:
    """The model, its hash, the rule, the checks, the day, and who audited."""
    model = source.manifest.inputs.model
    name = plain(", ".join(model.files))
    yield words.say("index.model", model=name, digest=model.sha256[:8])
    if source.settings is not None:
        scored = source.settings.model.output == "score"
        yield rule_words(source.settings.decision, words, scored=scored)
    failed = len(source.manifest.probes.failed)
    yield words.say("index.checks", passed=str(5 - failed), all="5")
    if source.day:
        yield words.say("index.audited_on", day=words.day(date.fromisoformat(source.day)))
    if source.auditor:
        yield words.say("index.audited_by", name=plain(source.auditor))


def _board(groups: GroupReport | None, words: Words) -> object | None:
    if groups is None:
        return None
    from recourse_audit.render.pages.board import board_view

    return board_view(groups, words)


def _headline(source: IndexSource, subjects: int, words: Words) -> str:
    """What leads the page where no groups are compared."""
    if not subjects:
        people = source.manifest.counts.people
        return words.say_count("index.nothing", people)
    return words.say("index.not_compared")


def _agreement(found: Agreement | None, level: Level, words: Words) -> tuple[str, ...]:
    """What is said of decisions on record; only the auditor learns about whom they differ."""
    if found is None:
        return ()
    return agreement_sentences(found if level == "auditor" else found.without_people(), words)


def _warnings(manifest: Manifest, words: Words) -> Iterable[str]:
    """What failed probes mean: as stored in English, which has figures, or by the probe's name."""
    for key, note in manifest.probes.notes.items():
        name = f"probe.{key}"
        yield words.say(name) if name in words.keys and words.language != "en" else plain(note)


def _lead(manifest: Manifest, subjects: int, level: Level, words: Words, *, sizes: bool) -> str:
    """How many people were audited, and which."""
    whom = _whom(manifest.command, level, words)
    if not sizes:
        return words.say("index.too_few", whom=whom)
    people = words.number(manifest.counts.people)
    return words.say_count("index.audited", subjects, people=people, whom=whom)


def _whom(command: Command, level: Level, words: Words) -> str:
    """Whom the audit was about, in words; a selection may name people, or what they are."""
    if command.subjects in ("unfavourable", "all"):
        whom = words.say(f"index.whom.{command.subjects}")
    elif level == "auditor":
        whom = words.say("index.whom.by", selection=plain(command.subjects))
    else:
        whom = words.say("index.whom.some")
    if command.sample is None:
        return whom
    drawn = words.say("index.whom.sample", count=words.number(command.sample), whom=whom)
    if command.stratify is None or level != "auditor":
        return drawn
    return words.say("index.whom.stratified", whom=drawn, column=plain(command.stratify))


def _notes(
    rows: Sequence[SummaryRow], words: Words, groups: GroupReport | None
) -> Iterable[tuple[str, str]]:
    """How well options stand changes around them, and what is left for a person to decide.

    Where groups are compared, searches that stopped early are counted there.
    """
    held = [row for row in rows if row.most_held is not None and row.tests]
    if held:
        tests = max(row.tests or 0 for row in held)
        least = -(-tests * int(100 * STEADY) // 100)
        steady = sum((row.most_held or 0) >= STEADY * (row.tests or 1) for row in held)
        half = sum((row.most_held or 0) <= (row.tests or 1) / 2 for row in held)
        said = words.say(
            "index.held", steady=words.number(steady), least=str(least), tests=str(tests)
        )
        if half:
            said = f"{said} {words.say_count('index.held_half', half)}"
        yield words.say_count("index.with_option", len(held)), said
    found = Counter(row.status for row in rows)
    parts = [
        words.say_count(f"index.open.{status}", found[status])
        for status in ("not_found_within_budget", "model_disagrees", "error")
        if found[status] and (groups is None or status != "not_found_within_budget")
    ]
    if parts:
        yield words.say("index.open"), " ".join(parts)


def _totals(rows: Sequence[Row], words: Words) -> tuple[Total, ...]:
    found = Counter(row.need for row in rows)
    return tuple(
        Total(
            need=need,
            name=words.say(f"index.need.{need}"),
            count=words.number(found[need]),
            share=words.percent(found[need] / len(rows)),
        )
        for need in NEEDS
        if found[need]
    )


def _more(shown: int, total: int, words: Words) -> str:
    if shown == total:
        return ""
    return words.say("index.more", shown=words.number(shown), all=words.number(total))
