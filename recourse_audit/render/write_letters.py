"""The letters of a finished bundle, as HTML and PDF, in `letters/`; and which are signed off.

Letters are drafts without a date until somebody signs them off by name, if nothing speaks against
them: each of the `CAUSES` needs its own word to be accepted, and only for letters that are named.
What is refused stays a draft and is listed with its causes in `signing.csv`. `reasons.csv` has the
candidates for reasons and what staff wrote about them, which holds for later commands.

Letters that were signed off before stay as they are, byte for byte: they may have been sent, and
the folder is the record of what people were told. If one would now read differently, nothing is
written, and the command says which letters these are.
"""

import csv
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Literal, Self

from recourse_audit.bundle.layout import read_plain, writing
from recourse_audit.bundle.manifest import DerivedFolder, digest, digest_of
from recourse_audit.bundle.reader import StoredAudit, hold_finished_audit, open_finished_audit
from recourse_audit.bundle.register import REGISTER, read_register, register_text
from recourse_audit.errors import DocumentError, InputError, SubjectError
from recourse_audit.records.bundle import (
    CAUSES,
    LETTER_NOTES,
    Cause,
    LetterNote,
    MadeWith,
    Review,
    SignedLetter,
    SignOff,
    StatedReason,
)
from recourse_audit.records.codec import SIGNED_LETTER
from recourse_audit.records.subject import SubjectReport
from recourse_audit.records.texts import csv_lines
from recourse_audit.render.batch import ALONE, Files, RenderOptions, file_name, make_files
from recourse_audit.render.clerk import PAGE, ClerkPage
from recourse_audit.render.letter_facts import Letter
from recourse_audit.render.letter_inputs import Profile, full_id, read_reviews
from recourse_audit.render.letter_reasons import COLUMNS as REASON_COLUMNS
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.pdf import Printer, open_printer
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain
from recourse_audit.settings import Settings, load_settings
from recourse_audit.settings.section import near_matches

ALL: Literal["all"] = "all"
Ids = tuple[str, ...] | Literal["all"] | None
TABLE, REASONS = "signing.csv", "reasons.csv"
SIGNED = ".signed.json"
MOST_NAMED = 5
COLUMNS = (
    *("id", "letter", "status", "signed_by", "date", "against", "accepted"),
    *("reviewer", "reviewed", "draft", "notes", "outcome", "options", "send_by"),
)
BETWEEN = "; "


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """What somebody asks for: letters to sign off, or signed letters to make drafts again.

    Raises
    ------
    InputError
        Nobody is named, or the words do not go together.
    """

    by: SignOff | None = None
    ids: Ids = None
    accept: frozenset[str] = frozenset()
    reopen: bool = False

    def __post_init__(self) -> None:
        unknown = sorted(self.accept - set(CAUSES))
        if unknown:
            hint = near_matches(unknown[0], CAUSES)
            raise InputError(f"--accept: there is no cause {unknown[0]!r}; {hint}")
        if self.by is not None and self.reopen:
            raise InputError(
                "--reopen makes drafts of letters, and --sign-off signs them off; reopen them "
                "first, review the drafts, then sign them off"
            )
        if self.ids is None and (self.by is not None or self.reopen):
            word = "--reopen" if self.reopen else "--sign-off"
            every = "all of them" if self.reopen else "every letter that nothing speaks against"
            raise InputError(
                f"{word} needs to know which letters: name them with --ids P0012,P0034 or with "
                f"--ids-file FILE, or give --all for {every}"
            )
        if self.ids == ():
            raise InputError("no letter is named; give at least one id")
        if self.ids is not None and self.by is None and not self.reopen:
            raise InputError("letters are named for --sign-off NAME or --reopen: give one of them")
        if self.accept and (self.by is None or self.ids == ALL):
            raise InputError(
                "--accept is for letters that are signed off by name: give --sign-off NAME with "
                "--ids or --ids-file, not with --all"
            )

    def of_kind(self, prefix: str) -> "Signing":
        """The same, with ids in full: in a graph of several kinds, they may lack their kind."""
        if self.ids is None or isinstance(self.ids, str):
            return self
        return replace(self, ids=tuple(full_id(own, prefix) for own in self.ids))

    def names(self, own: str) -> bool:
        """Whether this is about the letter to a subject."""
        return self.ids is not None and (self.ids == ALL or own in self.ids)

    def check_known(self, subjects: Collection[str]) -> None:
        """Refuse ids that belong to no subject: a misspelt one would go unnoticed."""
        unknown = [] if self.ids is None or self.ids == ALL else sorted({*self.ids} - {*subjects})
        if unknown:
            more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            raise SubjectError(
                f"there is no subject {plain(unknown[0])!r}{more} in this audit; "
                f"{plain(near_matches(unknown[0], sorted(subjects)))}"
            )


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

    `profile` is the legal profile of the letters.
    `signed` are the subjects whose letters this command signed off, `signed_before` counts those
    that were signed off already, and `refused` says what spoke against the others that were asked
    for. All other letters are drafts. `notes` says of which of the letters that were asked for
    whoever signs should know what. `open_slots` are keys of the settings that must be filled in
    before letters can be signed off, `unworded` names that letters use because there is no word
    for them, `unknown_ids` ids in the addresses that belong to no subject, `unaddressed` people
    with a letter who are not among the addresses, `unprintable` the subjects whose letters contain
    characters that no font has. `ids_only` says that reasons were compared with other people's ids,
    but not with names.
    """

    subjects: int
    letters: int
    profile: Profile
    signed: tuple[str, ...] = ()
    signed_before: int = 0
    refused: Mapping[str, tuple[Cause, ...]] = field(default_factory=dict)
    notes: Mapping[LetterNote, tuple[str, ...]] = field(default_factory=dict)
    open_slots: tuple[str, ...] = ()
    unworded: tuple[str, ...] = ()
    unknown_ids: tuple[str, ...] = ()
    unaddressed: tuple[str, ...] = ()
    unprintable: tuple[str, ...] = ()
    ids_only: bool = False
    kept: bool = False
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A letter in the table of the folder: whether it is signed, and what speaks against it.

    `notes` keep nobody from signing it; `reasons` are those it states. `draft` is the fingerprint
    of the letter before it is signed. `signed` is None for a draft. `kept` says that its files stay
    as they are: if it is signed, it was so before. `summary` is that of its writer.
    """

    id: str
    letter: str
    status: Literal["signed", "draft", "refused"]
    against: tuple[Cause, ...]
    draft: str
    review: Review | None
    notes: tuple[LetterNote, ...] = ()
    reasons: tuple[StatedReason, ...] = ()
    signed: SignedLetter | None = None
    kept: bool = False
    summary: tuple[str, str, str] = ("", "", "")

    @property
    def row(self) -> tuple[str, ...]:
        signed, review = self.signed, self.review
        by = ("", "") if signed is None else (signed.sign_off.name, signed.sign_off.day)
        accepted = () if signed is None else signed.accepted
        read = ("", "") if review is None else (review.reviewer, review.day)
        causes = (BETWEEN.join(self.against), BETWEEN.join(accepted))
        notes = BETWEEN.join(self.notes)
        known = (self.id, self.letter, self.status, *by, *causes, *read, self.draft, notes)
        return (*known, *self.summary)


DRAFTS = LetterOptions()


def write_letters(
    folder: Path, options: LetterOptions = DRAFTS, rendering: RenderOptions = ALONE
) -> WrittenLetters:
    """Write all letters of a bundle, in place of any drafts that are there."""
    pages = Templates(options.templates)
    derived = DerivedFolder(bundle=folder, name="letters")
    with hold_finished_audit(folder) as stored:
        names = stored.names()
        settings = letter_settings(stored.settings, options)
        printer, trouble = open_printer(pages)
        on_paper = printer is not None
        kept = derived.folder / REASONS
        maker = _LetterMaker(
            folder=folder,
            options=options,
            settings=settings,
            on_paper=on_paper,
            kept_reasons=kept if derived.read_manifest() and kept.is_file() else None,
        )
        writer = maker.writer
        with writing(folder):
            derived.tidy()
            there = not rendering.again and derived.is_there(paper=on_paper)
            if not there:
                entries_by_number, reasons = _plan(stored, writer, derived, options, rendering)
                maker.entries.update(entries_by_number)
                table = "".join(csv_lines([COLUMNS, *(e.row for e in maker.entries.values())]))
                made_with = _describe(options, settings, pages, maker, table)
                rendering.begin("Writing letters", len(names))
                with derived.remake(made_with, rendering.signer) as new:
                    pages_of = {n: f"{e.letter}.html" for n, e in maker.entries.items()}
                    left = [number for number, page in pages_of.items() if page not in new.digests]
                    rendering.done(len(names) - len(left))
                    fresh = replace(maker)  # what it has read cannot be sent to other processes
                    for files in make_files(folder, fresh.open, left, rendering):
                        new.put_together(files)
                    register = read_register(derived.folder)
                    page = ClerkPage(table, register, writer, made_with).html()
                    texts = {TABLE: table, REASONS: reasons, PAGE: page}
                    for name, text in (texts | {REGISTER: register_text(register)}).items():
                        new.put(name, text.encode())
    entries = maker.entries.values()
    asked_for = [e for e in entries if e.status == "refused" or (e.signed and not e.kept)]
    return WrittenLetters(
        subjects=len(names),
        letters=sum(1 for _ in derived.folder.glob("[0-9]*.html")),
        profile=writer.profile,
        signed=maker.new_signatures,
        signed_before=sum(entry.signed is not None and entry.kept for entry in entries),
        refused={entry.id: entry.against for entry in entries if entry.status == "refused"},
        notes={n: tuple(e.id for e in asked_for if n in e.notes) for n in LETTER_NOTES},
        open_slots=writer.open_slots,
        unworded=writer.unworded,
        unknown_ids=tuple(sorted(set(writer.addresses) - set(names.values()))),
        unaddressed=tuple(e.id for e in entries if e.id not in (writer.addresses or [e.id])),
        unprintable=()
        if there or printer is None
        else _unprintable(derived.folder, names, printer),
        ids_only=bool(writer.given) and options.names is None,
        kept=there,
        trouble=trouble,
    )


def letter_settings(own: Settings, options: LetterOptions) -> Settings:
    """The settings of the audit, with the letters that were asked for."""
    given = own if options.settings is None else load_settings(options.settings)
    letters = given.letters
    if options.language is not None:
        letters = letters.model_copy(update={"language": options.language})
    codes = {"codes": given.reasons.codes}
    update = {"letters": letters, "words": given.words, "audit": given.audit}
    update |= {"reasons": own.reasons.model_copy(update=codes)}
    return own.model_copy(update=update)


def _plan(
    stored: StoredAudit,
    writer: LetterWriter,
    derived: DerivedFolder,
    options: LetterOptions,
    rendering: RenderOptions,
) -> tuple[dict[int, Entry], str]:
    """What becomes of each letter, by the number of its subject, before anything is written.

    Then, the table of candidates for reasons and of what staff wrote about them.
    """
    prefix, names = stored.settings.subject_prefix, stored.names()
    signing = options.signing.of_kind(prefix)
    signing.check_known(names.values())
    for own in sorted(set(writer.given) - set(names.values())):
        raise InputError(
            f"{writer.given[own][0].place}: there is no subject {plain(own)!r} in this audit; "
            f"{near_matches(own, names.values())}"
        )
    reviews = {} if options.reviewed is None else read_reviews(options.reviewed, prefix)
    for row in read_register(derived.folder) if signing.reopen else ():
        if signing.names(row["id"]):
            raise InputError(
                f"the letter to {plain(row['id'])} was sent on {row['sent']} ({REGISTER}, no. "
                f"{row['number']}), and stays as it is; leave this id out, and write a new letter "
                "in a copy of the bundle without its letters"
            )
    before, drafts = read_before(derived, names)
    entries: dict[int, Entry] = {}
    reasons = [*csv_lines([REASON_COLUMNS])]
    changed: list[str] = []
    rendering.begin("Reading reports", len(names))
    for number, own in names.items():
        rendering.done(1)
        report, file = stored.report(number), file_name(number, own)
        signed = None if signing.reopen and signing.names(own) else before.get(number)
        draft = writer.facts(report, signed)
        if draft is None:
            if signing.ids != ALL and signing.names(own):
                raise InputError(
                    f"there is no letter to {plain(own)}, because there is no unfavourable "
                    "decision to report; leave this id out"
                )
            changed += [] if signed is None else [own]
            continue
        entry = decide(writer, report, draft, file, signing, reviews, signed)
        reasons += csv_lines(writer.reasons.table_rows(report, entry.reasons))
        entries[number] = entry
        if signed is None:
            same = signing.ids is not None and drafts.get(number) == entry.draft
            entries[number] = replace(entry, kept=same and entry.signed is None)
            continue
        again = writer.facts(report, signed, signed.sign_off)
        old = _files_of(derived.folder, file)[f"{file}.html"].decode("utf-8", "replace")
        if again is None or _body(old) != _body(writer.html(again)):
            changed.append(own)
    if changed:
        named = plain(",".join(changed[:MOST_NAMED]))
        more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
        raise InputError(
            f"these letters are signed off and would now read differently: {named}{more}; give the "
            "settings, language, templates and files that they were signed with, or make them "
            "drafts again with --reopen and --ids"
        )
    return entries, "".join(reasons)


def decide(
    writer: LetterWriter,
    report: SubjectReport,
    letter: Letter,
    file: str,
    signing: Signing,
    reviews: Mapping[str, Review],
    before: SignedLetter | None = None,
) -> Entry:
    """Sign a letter off, refuse that, or leave it as it is, and say why."""
    own, draft = str(letter.reference), writer.fingerprint(letter)
    review = reviews.get(own) if before is None else before.review
    if review is not None and review.draft not in ("", draft) and before is None:
        review = None
    stated = writer.reasons.state(report, before)
    against: tuple[Cause, ...] = tuple(writer.causes(report, letter, stated))
    against += () if review is not None else ("unreviewed",)
    entry = Entry(
        id=own,
        letter=file,
        status="draft" if before is None else "signed",
        against=against if before is None else before.accepted,
        draft=draft,
        review=review,
        notes=tuple(writer.notes(report, letter, stated)),
        reasons=stated,
        signed=before,
        kept=before is not None,
        summary=writer.summary(letter),
    )
    if before is not None or signing.by is None or not signing.names(own):
        return entry
    if not signing.accept.issuperset(against):
        return replace(entry, status="refused")
    signed = SignedLetter(
        id=own,
        sign_off=signing.by,
        accepted=against,
        review=review,
        reasons=stated,
        recipient=letter.recipient,
        details=letter.details,
    )
    return replace(entry, status="signed", signed=signed)


def _describe(
    options: LetterOptions, settings: Settings, pages: Templates, maker: "_LetterMaker", table: str
) -> MadeWith:
    parts = {"audit", "letters", "reasons", "words"}
    given = f"{settings.model_dump_json(include=parts)}{table}"
    if options.names is not None:
        given += digest(options.names)
    return MadeWith(
        what="letters",
        version=version("recourse-audit"),
        templates=pages.digest,
        paper=maker.on_paper,
        language=settings.letters.language,
        letters=digest_of(given),
        reasons=None if options.reasons is None else digest(options.reasons),
        addresses=None if options.addresses is None else digest(options.addresses),
        sign_off=options.signing.by if maker.new_signatures else None,
    )


@dataclass(frozen=True, kw_only=True)
class _LetterMaker:
    """Makes the letters of one subject after another, in any process, as HTML and PDF."""

    folder: Path
    options: LetterOptions
    settings: Settings
    on_paper: bool
    kept_reasons: Path | None = None
    entries: dict[int, Entry] = field(default_factory=dict)

    def open(self, _: StoredAudit) -> Self:
        """The maker of a process; it reads templates and staff's files when it needs them."""
        return self

    @cached_property
    def writer(self) -> LetterWriter:
        def everybody() -> list[str]:
            with open_finished_audit(self.folder) as stored:
                return [name for (name,) in stored.connection.execute("SELECT id FROM people")]

        return LetterWriter(
            self.settings,
            Templates(self.options.templates),
            reasons=self.options.reasons,
            kept_reasons=self.kept_reasons,
            addresses=self.options.addresses,
            names=self.options.names,
            everybody=everybody,
            sign_off=self.options.signing.by,
        )

    @cached_property
    def _printer(self) -> Printer:
        return Printer(Templates(self.options.templates))

    @property
    def new_signatures(self) -> tuple[str, ...]:
        """The subjects whose letters this command signs off."""
        entries = self.entries.values()
        return tuple(entry.id for entry in entries if entry.signed and not entry.kept)

    def __call__(self, number: int, report: SubjectReport) -> Files:
        name, entry = file_name(number, report.subject.id), self.entries.get(number)
        if entry is None:
            return {}
        if entry.kept:
            files = _files_of(self.folder / "letters", name)
        else:
            letter = self.writer.letter(report, signed=entry.signed is not None)
            assert letter is not None
            files = {f"{name}.html": self.writer.html(letter).encode()}
            if entry.signed is not None:
                files[f"{name}{SIGNED}"] = SIGNED_LETTER.write_indented(entry.signed).encode()
        if self.on_paper and f"{name}.pdf" not in files:
            files[f"{name}.pdf"] = self._printer.pdf(files[f"{name}.html"].decode())
        return files


def _unprintable(folder: Path, names: dict[int, str], printer: Printer) -> tuple[str, ...]:
    """The subjects whose letters contain characters that no font has."""
    pages = {name: folder / f"{file_name(number, name)}.html" for number, name in names.items()}

    def characters(page: Path) -> set[str]:
        return set((read_plain(page) or b"").decode())

    used = {own for page in pages.values() for own in characters(page) if not own.isascii()}
    missing = printer.unprintable(used)
    return tuple(name for name in pages if missing and missing & characters(pages[name]))


# ---------------------------------------------------------------- what is there from before


def read_before(
    derived: DerivedFolder, names: Mapping[int, str]
) -> tuple[dict[int, SignedLetter], dict[int, str]]:
    """By number: the letters of the folder that are signed, and the drafts that are as sealed.

    Of a draft it is the fingerprint: signing one letter off need not make all drafts again.

    Raises
    ------
    InputError
        There are signed letters, but not of this bundle, or not as they were sealed.
    """
    folder = derived.folder
    manifest, any_manifest = derived.read_manifest(), derived.read_manifest(of_any=True)
    sealed = {} if manifest is None else manifest.files
    there = any(folder.glob(f"*{SIGNED}"))
    recorded = any_manifest is not None and any(SIGNED in name for name in any_manifest.files)
    if (there or recorded) and not (there and manifest is not None):
        raise InputError(
            f"{folder}: has letters that were signed off, and not by this version from "
            "this bundle; move the folder elsewhere to keep them, and run the command again"
        )
    register = read_plain(folder / REGISTER)
    if REGISTER in sealed and sha256(register or b"").hexdigest() != sealed[REGISTER]:
        raise InputError(f"{folder / REGISTER}: was changed since it was sealed; restore it")
    content = read_plain(folder / TABLE) or b""
    is_sealed = sha256(content).hexdigest() == sealed.get(TABLE)
    rows = csv.DictReader(content.decode().splitlines() if is_sealed else [])
    fingerprints = {row["letter"]: row["draft"] for row in rows if row["status"] != "signed"}
    signed: dict[int, SignedLetter] = {}
    drafts: dict[int, str] = {}
    for number, own in names.items():
        name = file_name(number, own)
        files = _files_of(folder, name)
        digests = {file: sha256(text).hexdigest() for file, text in files.items()}
        changed = [f for f in _possible_files(name) if digests.get(f) != sealed.get(f)]
        if f"{name}{SIGNED}" not in sealed:
            if name in fingerprints and not changed:
                drafts[number] = fingerprints[name]
            continue
        if changed:
            raise InputError(
                f"{folder / changed[0]}: belongs to a letter that is signed off, and was changed, "
                "added or removed since; restore it, or move the folder elsewhere"
            )
        try:
            signed[number] = SIGNED_LETTER.read(files[f"{name}{SIGNED}"])
        except DocumentError as error:
            raise InputError(f"{folder / name}{SIGNED}: {error}") from None
    return signed, drafts


def _files_of(folder: Path, name: str) -> Files:
    """All files of a letter, as they are."""
    contents = {file: read_plain(folder / file) for file in _possible_files(name)}
    return {file: content for file, content in contents.items() if content is not None}


def _possible_files(name: str) -> tuple[str, ...]:
    return tuple(f"{name}{ending}" for ending in (".html", ".pdf", SIGNED))


def _body(page: str) -> str:
    """What a letter says; its style may differ."""
    return page.partition("<body")[2]
