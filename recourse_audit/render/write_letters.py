"""The letters of a finished bundle, as HTML and PDF, in `letters/`, a folder with its own seal.

Letters are drafts without a date until somebody signs them off by name; `signing.csv` lists which
ones are. What was signed off before is kept as it is.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from recourse_audit.bundle.layout import writing
from recourse_audit.bundle.manifest import DerivedFolder, digest, digest_of
from recourse_audit.bundle.reader import StoredAudit, hold_finished_audit, open_finished_audit
from recourse_audit.errors import InputError
from recourse_audit.records.bundle import Cause, MadeWith
from recourse_audit.records.codec import SIGNED_LETTER
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.batch import Files, RenderOptions, file_name, make_files
from recourse_audit.render.letter_inputs import read_reviews
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.pdf import Printer, open_printer
from recourse_audit.render.signing import (
    ALL,
    ALLOWED,
    SIGNED,
    TABLE,
    Entry,
    LettersBefore,
    Signing,
    decide,
    files_of,
    keep,
    reads_the_same,
    record_sign_off,
    refuse_changed,
    signing_table,
)
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain
from recourse_audit.settings import Settings, load_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterOptions:
    """How letters are made: with whose templates, settings and inputs, and which are signed off.

    `[letters]`, `[words]` and `[audit]` of the file `settings` take the place of those of the
    bundle, and `language` that of theirs. `reviewed` is a file that says who has read which draft.
    """

    templates: Path | None = None
    settings: Path | None = None
    language: str | None = None
    reasons: Path | None = None
    addresses: Path | None = None
    names: Path | None = None
    reviewed: Path | None = None
    signing: Signing = field(default_factory=Signing)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLetters:
    """What was written, or `kept` from before; `trouble` says why there are no PDFs, if so.

    `signed` are the subjects whose letters this command signed off, `signed_before` counts those
    that were signed off already, and `refused` says what spoke against the others that were asked
    for. All other letters are drafts.

    `open_slots` are keys of the settings that must be filled in before letters can be signed off,
    `unworded` names that letters use because there is no word for them, `unknown_ids` ids in
    staff's files that belong to no subject, `unprintable` the subjects whose letters contain
    characters that no font has. `allowed` are the files that record what was allowed by hand in
    reasons; `ids_only` says that reasons were compared with other people's ids, but not with names.
    """

    subjects: int
    letters: int
    signed: tuple[str, ...] = ()
    signed_before: int = 0
    refused: Mapping[str, tuple[Cause, ...]] = field(default_factory=dict)
    open_slots: tuple[str, ...] = ()
    unworded: tuple[str, ...] = ()
    unknown_ids: tuple[str, ...] = ()
    unprintable: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    ids_only: bool = False
    kept: bool = False
    trouble: str = ""


DRAFTS = LetterOptions()
ALONE = RenderOptions()


def write_letters(
    folder: Path, options: LetterOptions = DRAFTS, rendering: RenderOptions = ALONE
) -> WrittenLetters:
    """Write all letters of a bundle, in place of any drafts that are there."""
    pages = Templates(options.templates)
    derived = DerivedFolder(bundle=folder, name="letters")
    with hold_finished_audit(folder) as stored:
        names = stored.names()
        settings = _letter_settings(stored.settings, options)
        writer = _writer(settings, pages, options, folder)
        printer, trouble = open_printer(pages)
        on_paper = printer is not None
        with writing(folder):
            derived.tidy()
            there = not rendering.again and derived.is_there(paper=on_paper)
            plan = _Plan(entries={})
            if not there:
                plan = _planned(stored, writer, derived, options, rendering)
                made_with = _made_with(options, settings, pages, plan, on_paper=on_paper)
                factory = _Factory(
                    folder=folder,
                    options=options,
                    settings=settings,
                    plan=plan,
                    on_paper=on_paper,
                )
                rendering.begin("Writing letters", len(names))
                with derived.remake(made_with, rendering.signer) as new:
                    for name, content in make_files(folder, factory, list(names), rendering):
                        new.put(name, content)
                    new.put(TABLE, plan.table.encode())
    boxes = () if there or printer is None else _unprintable(derived.folder, names, printer)
    return WrittenLetters(
        subjects=len(names),
        letters=sum(1 for _ in derived.folder.glob("*.html")),
        signed=tuple(one.id for one in plan.signed_now.values()),
        signed_before=len(plan.before),
        refused={one.id: one.against for one in plan.entries.values() if one.status == "refused"},
        open_slots=writer.open_slots,
        unworded=writer.unworded,
        unknown_ids=tuple(sorted({*writer.reasons, *writer.addresses} - set(names.values()))),
        unprintable=boxes,
        allowed=tuple(sorted(path.name for path in derived.folder.glob(f"*{ALLOWED}"))),
        ids_only=bool(writer.reasons) and options.names is None,
        kept=there,
        trouble=trouble,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What becomes of each letter, by the number of the subject.

    `before` are the numbers of letters that were signed off before, and `copied` those of all
    letters whose files stay as they are.
    """

    entries: dict[int, Entry]
    before: frozenset[int] = frozenset()
    copied: frozenset[int] = frozenset()

    @property
    def signed_now(self) -> dict[int, Entry]:
        signed = {n: one for n, one in self.entries.items() if one.signed is not None}
        return {number: one for number, one in signed.items() if number not in self.before}

    @property
    def table(self) -> str:
        return signing_table(self.entries.values())


def _planned(
    stored: StoredAudit,
    writer: LetterWriter,
    derived: DerivedFolder,
    options: LetterOptions,
    rendering: RenderOptions,
) -> _Plan:
    """Decide which letters are signed off, before anything is written."""
    signing, names = options.signing, stored.names()
    signing.check_known(names.values())
    reviews = {} if options.reviewed is None else read_reviews(options.reviewed)
    folder = LettersBefore(derived, names)
    before = folder.signed()
    drafts = {} if signing.ids is None else folder.drafts()
    entries: dict[int, Entry] = {}
    copied = set()
    changed: list[str] = []
    rendering.begin("Reading reports", len(names))
    for number, own in names.items():
        rendering.done(1)
        report, file = stored.report(number), file_name(number, own)
        if signing.reopen and signing.names(own):
            before.pop(number, None)
        signed = before.get(number)
        draft = writer.draft(report, signed)
        if draft is None:
            if signing.ids != ALL and signing.names(own):
                raise InputError(
                    f"there is no letter to {plain(own)}, because there is no unfavourable "
                    "decision to report; leave this id out"
                )
            changed += [] if signed is None else [own]
            continue
        fingerprint = writer.fingerprint(draft)
        if signed is None:
            entry = decide(
                draft,
                writer.causes(draft),
                file=file,
                draft=fingerprint,
                signing=signing,
                reviews=reviews,
            )
            entries[number] = entry
            # Reasons are checked against a file of names, which may be another one now.
            if entry.signed is None and not draft.reasons and drafts.get(number) == fingerprint:
                copied.add(number)
            continue
        copied.add(number)
        entries[number] = keep(signed, file=file, draft=fingerprint)
        again = writer.again(report, signed)
        old = files_of(derived.folder, file)[f"{file}.html"]
        if again is None or not reads_the_same(old, writer.html(again)):
            changed.append(own)
    refuse_changed(changed)
    return _Plan(entries=entries, before=frozenset(before), copied=frozenset(copied))


def _letter_settings(own: Settings, options: LetterOptions) -> Settings:
    """The settings of the audit, with the letters that were asked for."""
    given = own if options.settings is None else load_settings(options.settings)
    letters = given.letters
    if options.language is not None:
        letters = letters.model_copy(update={"language": options.language})
    update = {"letters": letters, "words": given.words, "audit": given.audit}
    return own.model_copy(update=update)


def _writer(
    settings: Settings, pages: Templates, options: LetterOptions, folder: Path
) -> LetterWriter:
    def everybody() -> list[str]:
        with open_finished_audit(folder) as stored:
            return [name for (name,) in stored.connection.execute("SELECT id FROM people")]

    return LetterWriter(
        settings,
        pages,
        reasons=options.reasons,
        addresses=options.addresses,
        names=options.names,
        everybody=everybody,
        sign_off=options.signing.by,
    )


def _made_with(
    options: LetterOptions, settings: Settings, pages: Templates, plan: _Plan, *, on_paper: bool
) -> MadeWith:
    by = options.signing.by if plan.signed_now else None
    given = f"{settings.model_dump_json(include={'audit', 'letters', 'words'})}{plan.table}"
    if options.names is not None:
        given += digest(options.names)
    return MadeWith(
        what="letters",
        version=version("recourse-audit"),
        templates=pages.digest(),
        paper=on_paper,
        letters=digest_of(given),
        reasons=None if options.reasons is None else digest(options.reasons),
        addresses=None if options.addresses is None else digest(options.addresses),
        sign_off=None if by is None else record_sign_off(by),
    )


def _unprintable(folder: Path, names: dict[int, str], printer: Printer) -> tuple[str, ...]:
    """The subjects whose letters contain characters that no font has."""
    used_by: dict[str, set[str]] = {}
    for number, name in names.items():
        page = folder / f"{file_name(number, name)}.html"
        if page.is_file():
            for character in set(page.read_text(encoding="utf-8")):
                if not character.isascii():
                    used_by.setdefault(character, set()).add(name)
    missing = printer.unprintable(used_by)
    affected = set().union(*(used_by[character] for character in missing))
    return tuple(name for name in names.values() if name in affected)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Factory:
    """Makes the file maker of one process."""

    folder: Path
    options: LetterOptions
    settings: Settings
    plan: _Plan
    on_paper: bool

    def open(self, stored: StoredAudit) -> "_LetterFiles":
        del stored
        pages = Templates(self.options.templates)
        return _LetterFiles(
            writer=_writer(self.settings, pages, self.options, self.folder),
            printer=Printer(pages) if self.on_paper else None,
            folder=DerivedFolder(bundle=self.folder, name="letters").folder,
            plan=self.plan,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _LetterFiles:
    """Makes the letter of one subject after another, as HTML and PDF.

    Letters that stay as they are are copied from the `folder` of before.
    """

    writer: LetterWriter
    printer: Printer | None
    folder: Path
    plan: _Plan

    def files(self, number: int, report: SubjectReport) -> Files:
        name = file_name(number, report.subject.id)
        if number in self.plan.copied:
            files = files_of(self.folder, name)
            html = files[f"{name}.html"].decode()
        else:
            entry = self.plan.entries.get(number)
            signed = None if entry is None else entry.signed
            letter = self.writer.letter(report, signed=signed is not None)
            if letter is None:
                return {}
            html = self.writer.html(letter)
            files = {f"{name}.html": html.encode()}
            if signed is not None:
                files[f"{name}{SIGNED}"] = SIGNED_LETTER.write_indented(signed).encode()
            allowed = self.writer.allowed(report)
            if allowed:
                record = {"id": report.subject.id, "allowed": allowed}
                files[f"{name}{ALLOWED}"] = (json.dumps(record, ensure_ascii=False) + "\n").encode()
        if self.printer is not None and f"{name}.pdf" not in files:
            files[f"{name}.pdf"] = self.printer.pdf(html)
        return files
