"""The letters of a finished bundle, as HTML and PDF, into `letters/`, which is sealed by itself.

Drafts have no date; a letter that is signed off has the name and the day of whoever did it.
"""

import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recourse_audit.errors import InputError, PaperError
from recourse_audit.render.letters.writer import LetterDesk
from recourse_audit.render.templates import Pages
from recourse_audit.render.pdf import Paper
from recourse_audit.render.batch import ALONE, Job, Work, file_name, press_all
from recourse_audit.render.letters.letter import SignOff
from recourse_audit.bundle.layout import writing
from recourse_audit.bundle.digests import digest
from recourse_audit.bundle.reader import finished_store
from recourse_audit.bundle.derived_folder import Rendered
from recourse_audit.settings import Settings, load_settings, parse_settings

NAME = "letters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailing:
    """How letters are made: in whose words, and signed off by whom."""

    templates: Path | None = None
    settings: Path | None = None
    reasons: Path | None = None
    addresses: Path | None = None
    sign_off: SignOff | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailed:
    """What was made, or `kept` from before; `trouble` says why no PDF was.

    `open_slots` are keys of the settings without which letters stay drafts, `unworded` names that
    letters use for want of a word, `strangers` ids of the user's files that are no subject's,
    `unprintable` those of whoever gets a letter on which boxes stand for characters.
    """

    subjects: int
    letters: int
    open_slots: tuple[str, ...]
    unworded: tuple[str, ...]
    strangers: tuple[str, ...]
    unprintable: tuple[str, ...] = ()
    kept: bool = False
    trouble: str = ""


def mail(folder: Path, mailing: Mailing, work: Work = ALONE) -> Mailed:
    """Make all letters of a bundle, in place of those that are there."""
    pages = Pages(mailing.templates)
    rendered = Rendered(bundle=folder, name=NAME)
    with finished_store(folder) as store:
        names = dict(store.execute("SELECT number, id FROM subjects ORDER BY number").fetchall())
    settings = _settings(folder, mailing.settings)
    desk = _desk(settings, pages, mailing)
    paper, trouble = _paper(pages)
    facts = _facts(mailing, settings, pages, on_paper=not trouble)
    kept = not work.again and rendered.is_there(paper=not trouble)
    if not kept:
        opener = _Opener(mailing=mailing, settings=settings, on_paper=not trouble)
        job = Job(rendered=rendered, opener=opener)
        with writing(folder):
            rendered.begin(facts)
            rendered.seal(press_all(job, list(names), work), work.signer)
    boxes = () if kept or paper is None else _unprintable(rendered.folder, names, paper)
    known = set(names.values())
    return Mailed(
        subjects=len(names),
        letters=sum(1 for _ in rendered.folder.glob("*.html")),
        open_slots=tuple(desk.open_slots),
        unworded=tuple(desk.unworded),
        strangers=tuple(sorted(({*desk.reasons} | {*desk.addresses}) - known)),
        unprintable=boxes,
        kept=kept,
        trouble=trouble,
    )


def _paper(pages: Pages) -> tuple[Paper | None, str]:
    """What makes PDFs; or why nothing does."""
    try:
        return Paper(pages), ""
    except PaperError as error:
        return None, str(error)


def _unprintable(folder: Path, names: dict[int, str], paper: Paper) -> tuple[str, ...]:
    """Who gets a letter with characters that no font has."""
    rare: dict[str, list[str]] = {}
    for number, name in names.items():
        page = folder / f"{file_name(number, name)}.html"
        if page.is_file():
            for character in set(page.read_text(encoding="utf-8")):
                if not character.isascii():
                    rare.setdefault(character, []).append(name)
    boxes = paper.unprintable(rare)
    concerned = {name for character in boxes for name in rare[character]}
    return tuple(name for name in names.values() if name in concerned)


def _settings(folder: Path, other: Path | None) -> Settings:
    """The settings of the audit, with the letters of another file if one is named."""
    place = folder / "settings.json"
    try:
        table = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(
            f"{place}: is missing or was changed; restore it, or run the audit again"
        ) from None
    own = parse_settings(table, folder=folder, origin=str(place))
    if other is None:
        return own
    return own.model_copy(update={"letters": load_settings(other).letters})


def _desk(settings: Settings, pages: Pages, mailing: Mailing) -> LetterDesk:
    return LetterDesk(
        settings,
        pages,
        reasons=mailing.reasons,
        addresses=mailing.addresses,
        sign_off=mailing.sign_off,
    )


def _facts(mailing: Mailing, settings: Settings, pages: Pages, *, on_paper: bool) -> dict[str, Any]:
    sign_off = mailing.sign_off
    return {
        "what": NAME,
        "version": version("recourse-audit"),
        "templates": pages.digest(),
        "paper": on_paper,
        "letters": settings.letters.model_dump(mode="json"),
        "reasons": None if mailing.reasons is None else digest(mailing.reasons),
        "addresses": None if mailing.addresses is None else digest(mailing.addresses),
        "sign_off": None if sign_off is None else [sign_off.name, sign_off.day.isoformat()],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opener:
    """Makes the press of one process."""

    mailing: Mailing
    settings: Settings
    on_paper: bool

    def open(self) -> "_LetterPress":
        pages = Pages(self.mailing.templates)
        return _LetterPress(
            desk=_desk(self.settings, pages, self.mailing),
            paper=Paper(pages) if self.on_paper else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _LetterPress:
    """Writes one letter after the other."""

    desk: LetterDesk
    paper: Paper | None

    def files(self, number: int, document: dict[str, Any]) -> dict[str, bytes]:
        letter = self.desk.letter(document)
        if isinstance(letter, str):
            return {}
        name = file_name(number, document["subject"]["id"])
        html = self.desk.html(letter)
        files = {f"{name}.html": html.encode()}
        if self.paper is not None:
            files[f"{name}.pdf"] = self.paper.pdf(html)
        return files
