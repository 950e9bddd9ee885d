"""The letters of a finished bundle, as HTML and PDF, in `letters/`, a folder with its own seal.

`LetterWriter` makes the page of one letter. Drafts have no date; a letter that is signed off has
the name and the date of its sign-off.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from recourse_audit.bundle.attempt import Attempt
from recourse_audit.bundle.derived_folder import DerivedFolder
from recourse_audit.bundle.layout import writing
from recourse_audit.bundle.reader import hold_finished_audit, open_finished_audit
from recourse_audit.bundle.seal import digest, digest_of
from recourse_audit.errors import InputError
from recourse_audit.records.manifest import MadeWith
from recourse_audit.records.manifest import SignOff as RecordedSignOff
from recourse_audit.records.report import SubjectReport
from recourse_audit.render.batch import RenderOptions, file_name, make_files
from recourse_audit.render.letters.letter import Letter, LetterInputs, SignOff, compose_letter
from recourse_audit.render.letters.letter_inputs import (
    read_addresses,
    read_allowed,
    read_names,
    read_reasons,
)
from recourse_audit.render.letters.other_people import (
    Everybody,
    Mention,
    OtherPerson,
    find_mentions,
    is_allowed,
    others_in,
)
from recourse_audit.render.letters.page import about_in, letter_page
from recourse_audit.render.letters.profiles import check_sign_off, load_profile, open_slots
from recourse_audit.render.letters.sentences import unworded
from recourse_audit.render.letters.source import NoLetter, Vocabulary, letter_source
from recourse_audit.render.pdf import Printer, open_printer
from recourse_audit.render.templates import Templates
from recourse_audit.render.wording import Wording
from recourse_audit.settings import Settings, load_settings

TEMPLATE = "letters/letter.html"
ALLOWED = ".allowed.json"


class LetterWriter:
    """Writes letters; the catalogue, the profile and staff's files are read and checked once.

    Attributes
    ----------
    open_slots
        Keys of the settings that must be filled in before letters can be signed off.
    unworded
        Names that letters use as they are, because there is no word for them in the language.
    reasons, addresses
        What staff gave, by id; a caller may compare the ids with those of the subjects.
    everybody
        All ids of the graph: needed where a report does not show all neighbours.

    Raises
    ------
    SettingsError
        The letters are signed off with slots still empty or facts undeclared; or `letters.about`
        has texts, but none in the language of the letters.
    """

    def __init__(
        self,
        settings: Settings,
        pages: Templates,
        *,
        reasons: Path | None = None,
        addresses: Path | None = None,
        names: Path | None = None,
        everybody: Callable[[], Iterable[str]] = tuple,
        sign_off: SignOff | None = None,
    ) -> None:
        self._settings = settings.letters
        self._pages = pages
        self._sign_off = sign_off
        self._vocabulary = Vocabulary(settings)
        self._wording = Wording(self._settings.language, pages)
        self._profile = load_profile(self._settings, pages)
        undeclared = self._profile.undeclared(self._settings.facts)
        self.open_slots = (
            *open_slots(self._profile, self._settings),
            *(f"letters.facts.{name}" for name in undeclared),
        )
        self.unworded = unworded(settings)
        about_in(self._settings)  # a missing text is refused now, not after the first letters
        if sign_off is not None:
            check_sign_off(self._profile, self._settings)
        most = self._profile.max_reasons
        self.reasons = {} if reasons is None else read_reasons(reasons, most=most)
        self._allowed = {} if reasons is None else read_allowed(reasons)
        self._names = {} if names is None else read_names(names, self._settings.name_columns)
        self._ids = everybody
        self._everybody: Everybody | None = None
        self.addresses = {} if addresses is None else read_addresses(addresses)

    def letter(self, report: SubjectReport) -> Letter | NoLetter:
        """What is said to one subject, or why there is no letter."""
        source = letter_source(report, self._vocabulary)
        if isinstance(source, NoLetter):
            return source
        own = source.reference
        reasons = self.reasons.get(own, ())
        allowed = self._allowed.get(own, frozenset())
        for mention in self._mentions(report):
            if not is_allowed(mention, allowed):
                raise InputError(
                    f"a reason given for {own} names another person, {mention.person}: it contains "
                    f"{mention.text!r}; reword it, or, if something else is meant, put "
                    f"{mention.text!r} into the column allow of the reasons"
                )
        inputs = LetterInputs(reasons=reasons, recipient=self.addresses.get(own, ()))
        return compose_letter(source, self._settings, inputs=inputs, sign_off=self._sign_off)

    def allowed(self, report: SubjectReport) -> tuple[str, ...]:
        """What looks like another person's name in the reasons, and was allowed by a person."""
        return tuple(sorted({mention.text for mention in self._mentions(report)}))

    def _mentions(self, report: SubjectReport) -> tuple[Mention, ...]:
        """Whom the reasons for a subject seem to name besides the subject."""
        own = report.subject.id
        reasons = self.reasons.get(own, ())
        if not reasons:
            return ()
        others = (
            OtherPerson(id=name, names=self._names.get(name, ())) for name in others_in(report)
        )
        me = OtherPerson(id=own, names=self._names.get(own, ()))
        found = find_mentions(reasons, others, me)
        near = report.ego_network
        if near is not None and near.shown < near.total:
            if self._everybody is None:
                self._everybody = Everybody(self._ids())
            known = {mention.person for mention in found}
            hidden = self._everybody.find(reasons, own)
            found += tuple(one for one in hidden if one.person not in known)
        return found

    def html(self, letter: Letter) -> str:
        """The letter as a page, from which a PDF can be made."""
        page = letter_page(letter, self._wording, self._profile, self._settings)
        return self._pages.render(TEMPLATE, view=page)


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterOptions:
    """How letters are made: with whose templates, settings and inputs, and signed off by whom.

    The `[letters]` of the file `settings` take the place of those of the bundle, and `language`
    that of theirs.
    """

    templates: Path | None = None
    settings: Path | None = None
    language: str | None = None
    reasons: Path | None = None
    addresses: Path | None = None
    names: Path | None = None
    sign_off: SignOff | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLetters:
    """What was written, or `kept` from before; `trouble` says why there are no PDFs, if so.

    `open_slots` are keys of the settings that must be filled in before letters can be signed off,
    `unworded` names that letters use because there is no word for them, `unknown_ids` ids in
    staff's files that belong to no subject, `unprintable` the subjects whose letters contain
    characters that no font has. `allowed` are the files that record what was allowed by hand in
    reasons; `ids_only` says that reasons were compared with other people's ids, but not with names.
    """

    subjects: int
    letters: int
    open_slots: tuple[str, ...]
    unworded: tuple[str, ...]
    unknown_ids: tuple[str, ...]
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
    """Write all letters of a bundle, in place of any that are there."""
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
            kept = not rendering.again and derived.is_there(paper=on_paper)
            if not kept:
                made_with = _made_with(options, settings, pages, on_paper=on_paper)
                factory = _Factory(
                    folder=folder, options=options, settings=settings, on_paper=on_paper
                )
                attempt = Attempt(derived, made_with, rendering.signer)
                make_files(attempt, factory, list(names), rendering)
                attempt.seal()
    boxes = () if kept or printer is None else _unprintable(derived.folder, names, printer)
    return WrittenLetters(
        subjects=len(names),
        letters=sum(1 for _ in derived.folder.glob("*.html")),
        open_slots=writer.open_slots,
        unworded=writer.unworded,
        unknown_ids=tuple(sorted({*writer.reasons, *writer.addresses} - set(names.values()))),
        unprintable=boxes,
        allowed=tuple(sorted(path.name for path in derived.folder.glob(f"*{ALLOWED}"))),
        ids_only=bool(writer.reasons) and options.names is None,
        kept=kept,
        trouble=trouble,
    )


def _letter_settings(own: Settings, options: LetterOptions) -> Settings:
    """The settings of the audit, with the letters that were asked for."""
    letters = own.letters if options.settings is None else load_settings(options.settings).letters
    if options.language is not None:
        letters = letters.model_copy(update={"language": options.language})
    return own.model_copy(update={"letters": letters})


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
        sign_off=options.sign_off,
    )


def _made_with(
    options: LetterOptions, settings: Settings, pages: Templates, *, on_paper: bool
) -> MadeWith:
    signed, given = options.sign_off, settings.letters.model_dump_json()
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
        sign_off=None
        if signed is None
        else RecordedSignOff(name=signed.name, day=signed.day.isoformat()),
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
    on_paper: bool

    def open(self) -> "_LetterFiles":
        pages = Templates(self.options.templates)
        return _LetterFiles(
            writer=_writer(self.settings, pages, self.options, self.folder),
            printer=Printer(pages) if self.on_paper else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _LetterFiles:
    """Makes the letter of one subject after another, as HTML and PDF."""

    writer: LetterWriter
    printer: Printer | None

    def close(self) -> None:
        """Nothing is held open."""

    def files(self, number: int, report: SubjectReport) -> dict[str, bytes]:
        letter = self.writer.letter(report)
        if isinstance(letter, NoLetter):
            return {}
        name = file_name(number, report.subject.id)
        html = self.writer.html(letter)
        files = {f"{name}.html": html.encode()}
        if self.printer is not None:
            files[f"{name}.pdf"] = self.printer.pdf(html)
        allowed = self.writer.allowed(report)
        if allowed:
            record = {"id": report.subject.id, "allowed": allowed}
            files[f"{name}{ALLOWED}"] = (json.dumps(record, ensure_ascii=False) + "\n").encode()
        return files
