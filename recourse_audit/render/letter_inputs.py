"""What goes into letters besides the report: the legal profile, and the files that staff write.

**Profiles** are dated files with what a letter must say, and the sources that require it; nothing
legal is in the code. A profile has text by language, in blocks. A block is included always, only
with or only without confirmed reasons, or depending on a fact, which the user declares true or
false in `letters.facts`; nothing is assumed until then. `letters.slots` fills in slots. A profile
is not legal advice: a person signs off.

**Addresses** come as CSV: `id`, columns for the lines of the address, and columns named like the
details of the profile. Reasons are in `letter_reasons`.
"""

import csv
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal, NewType, Self
from unicodedata import category

from pydantic import Field, model_validator

from recourse_audit.errors import InputError, SettingsError
from recourse_audit.records.bundle import Review, SignedLetter, SignOff
from recourse_audit.records.texts import unguard
from recourse_audit.render.i18n import PLACEHOLDER
from recourse_audit.render.templates import Templates
from recourse_audit.settings import LetterSettings
from recourse_audit.settings.section import Section, near_matches

# Filled in by the program: from the settings, where they may be missing, and from the letter.
SENDER_SLOTS = frozenset({"sender", "address", "contact"})
LETTER_SLOTS = frozenset({"connections", "data", "decided", "decision", "reference"})
ALWAYS, WITH_REASONS, WITHOUT_REASONS = "always", "reasons", "no reasons"
NOT = "not "
UNCHOSEN = "generic"  # the profile of drafts until somebody chooses one
MOST_LINES = 5
NAME, ABOUT, EMAIL = "name", "about", "email"
# Columns of the addresses that are lines of the address, one each.
LINES = (NAME, *(f"line{n}" for n in range(1, 6)), "street", "town", "postcode", "country")
Reason = NewType("Reason", str)
AddressLine = NewType("AddressLine", str)
Signer = NewType("Signer", str)
_CONDITION = re.compile(rf"({NOT})?([a-z_]+)")
_BREAKS = re.compile(r"[ \t\r\n]+")
_EMAIL = re.compile(r"([^\s@,;<>]+@[^\s@,;<>]+)?")

# ---------------------------------------------------------------- legal profiles


class Source(Section):
    """The law that a text comes from."""

    cite: str = Field(description="The law, with its article or section.")
    url: str = Field(default="", description="Where it can be read.")
    about: str = Field(description="What it requires.")


class Block(Section):
    """A paragraph that a letter must include, and when."""

    part: Literal["notice", "reasons", "options", "remedies", "rights"]
    when: str = ALWAYS
    source: str = ""
    text: dict[str, str] = Field(min_length=1)

    @property
    def fact(self) -> str | None:
        """The fact that decides whether this is included, if there is one."""
        plain = self.when in {ALWAYS, WITH_REASONS, WITHOUT_REASONS}
        return None if plain else self.when.removeprefix(NOT)

    def applies(self, reasons: bool, facts: Mapping[str, bool]) -> bool:
        """Whether this is included, once its fact is declared."""
        if self.fact is not None:
            return facts[self.fact] != self.when.startswith(NOT)
        return self.when == ALWAYS or (self.when == WITH_REASONS) == reasons


class Profile(Section):
    """What a letter must say, which law requires it, and as of which date.

    `covers` and `leaves_out` say which law the texts come from, and what the sender must see to.
    In a `country`, a letter is in its variety of the language: en is then en_US. It is due `days`
    after the day of the detail `completed`. `headings` stand above the blocks of a part, and
    `details` are the labels of what staff's addresses say about each application, both by language;
    without a detail that is not `optional`, a letter is not complete. `reasons` are the texts of
    the codes for reasons. If the fact `not_for` is true, another profile is the right one.
    """

    title: str
    as_of: date
    note: str
    covers: str
    leaves_out: str
    not_for: str = ""
    country: str = Field(default="", pattern="^([A-Z]{2})?$")
    max_reasons: int = Field(default=4, ge=1, le=6)
    days: int | None = Field(default=None, ge=1, le=365)
    sources: dict[str, Source] = Field(default_factory=dict)
    slots: dict[str, str] = Field(default_factory=dict)
    facts: dict[str, str] = Field(default_factory=dict)
    details: dict[str, dict[str, str]] = Field(default_factory=dict)
    optional: tuple[str, ...] = ()
    headings: dict[str, dict[str, str]] = Field(default_factory=dict)
    reasons: dict[str, dict[str, str]] = Field(default_factory=dict)
    blocks: tuple[Block, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for place, block in enumerate(self.blocks):
            where = f"blocks[{place}]"
            if "en" not in block.text:
                raise ValueError(f"{where}.text: needs the English text, en")
            if block.source and block.source not in self.sources:
                raise ValueError(f"{where}.source: {block.source!r} is not among the sources")
            if block.part == "rights" and "rights" not in self.headings:
                raise ValueError(f"{where}.part: rights needs a heading in [headings.rights]")
            match = _CONDITION.fullmatch(block.when)
            if block.fact is not None and (match is None or match[2] not in self.facts):
                known = [ALWAYS, WITH_REASONS, WITHOUT_REASONS, *self.facts]
                raise ValueError(
                    f"{where}.when: must be one of {', '.join(known)}, or 'not' and a fact "
                    f"(got {block.when!r})"
                )
            for language, text in block.text.items():
                slots = set(PLACEHOLDER.findall(text))
                unknown = slots - set(self.slots) - SENDER_SLOTS - LETTER_SLOTS
                if unknown:
                    raise ValueError(
                        f"{where}.text.{language}: {{{min(unknown)}}} is not among the slots"
                    )
                if slots != set(PLACEHOLDER.findall(block.text["en"])):
                    raise ValueError(
                        f"{where}.text.{language}: has other slots than the English text"
                    )
        tables = {"details": self.details, "headings": self.headings, "reasons": self.reasons}
        for key, table in tables.items():
            for name, texts in table.items():
                if not set(self.languages) <= set(texts):
                    raise ValueError(f"{key}.{name}: needs text in {', '.join(self.languages)}")
        if self.not_for and self.not_for not in self.facts:
            raise ValueError(f"not_for: must be one of the facts (got {self.not_for!r})")
        return self

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in which every block has text."""
        return tuple(sorted(set.intersection(*(set(block.text) for block in self.blocks))))

    @property
    def names_class(self) -> bool:
        """Whether a text names the class that was decided on, not only what that means."""
        return any("{decision}" in text for block in self.blocks for text in block.text.values())

    def select(self, part: str, reasons: bool, facts: Mapping[str, bool]) -> list[Block | str]:
        """The blocks of a part that apply; in place of those whose fact is open, its name, once."""
        chosen: dict[int | str, Block | str] = {}
        for place, block in enumerate(self.blocks):
            if block.part != part:
                continue
            if block.fact is not None and block.fact not in facts:
                chosen[block.fact] = block.fact
            elif block.applies(reasons, facts):
                chosen[place] = block
        return list(chosen.values())

    def open_facts(self, facts: Mapping[str, bool]) -> tuple[str, ...]:
        """The facts that a text depends on and that nobody has declared true or false."""
        needed = {self.not_for, *(block.fact for block in self.blocks)} - set(facts)
        return tuple(name for name in self.facts if name in needed)

    def empty_slots(self, settings: LetterSettings) -> tuple[str, ...]:
        """The keys of slots that a letter prints and that are not filled in."""
        needed = set(SENDER_SLOTS)
        for block in self.blocks:
            declared = block.fact is None or block.fact in settings.facts
            if declared and any(block.applies(given, settings.facts) for given in (True, False)):
                needed |= set(PLACEHOLDER.findall(block.text["en"]))
        given = {name for name, text in settings.slots.items() if text} | LETTER_SLOTS
        given |= {name for name in SENDER_SLOTS if getattr(settings, name)}
        return tuple(
            f"letters.{name}" if name in SENDER_SLOTS else f"letters.slots.{name}"
            for name in sorted(needed - given)
        )

    def open_keys(self, settings: LetterSettings) -> tuple[str, ...]:
        """The keys of the settings that keep letters drafts until somebody gives them."""
        facts = (f"letters.facts.{name}" for name in self.open_facts(settings.facts))
        chosen = () if settings.profile else ("letters.profile",)
        return (*chosen, *self.empty_slots(settings), *facts)


def load_profile(settings: LetterSettings, pages: Templates) -> Profile:
    """Read and check the profile that the settings name, and the slots and facts they give."""
    named = settings.profile or UNCHOSEN
    name = f"profiles/{named}.toml"
    if not pages.has(name):
        known = [file.removesuffix(".toml") for file in pages.names("profiles")]
        raise SettingsError(
            f"letters.profile: there is no profile {named}, only {', '.join(known)}; "
            f"write {name} in a folder for --templates, or {near_matches(named, known)}"
        )
    profile = pages.section(name, Profile)
    for key, given, known_names in (
        ("letters.slots", [*settings.slots], profile.slots),
        ("letters.facts", [*settings.facts], profile.facts),
    ):
        for unknown in (one for one in given if one not in known_names):
            raise SettingsError(
                f"{key}.{unknown}: {name} has no such slot or fact; "
                f"{near_matches(unknown, known_names)}"
            )
    base = settings.language.split("_", maxsplit=1)[0]
    if base not in profile.languages:
        raise SettingsError(
            f"letters.language: the profile {named} has no text in {base!r}, only in "
            f"{', '.join(profile.languages)}; choose one of them, or add it to a copy of {name}"
        )
    return profile


def check_sign_off(profile: Profile, settings: LetterSettings) -> None:
    """Refuse to sign off letters without a chosen profile, a fact that matters or a slot."""
    meanings = profile.slots | {
        name: f"{text}? true or false" for name, text in profile.facts.items()
    }
    meanings["profile"] = "us-credit, eu or uk, or generic if no law requires a letter"
    keys = profile.open_keys(settings)
    named = ((key, meanings.get(key.rpartition(".")[2])) for key in keys)
    if keys:
        raise SettingsError(
            "letters cannot be signed off without "
            f"{', '.join(f'{key} ({text})' if text else key for key, text in named)}; write it in "
            "audit.toml and pass that file with --settings, or make drafts without --sign-off"
        )


# ---------------------------------------------------------------- files that staff write


def full_id(own: str, prefix: str) -> str:
    """An id that staff wrote; without its kind, it is that of the kind that is decided on."""
    return own if own.startswith(prefix) else prefix + own


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressee:
    """Where a letter goes: the lines of the address, and what else staff say of the person.

    `details` are the name in the greeting, what the decision was about, and then the details of the
    profile; None where nothing is given. `email` is for whoever sends letters, and in none of them.
    """

    lines: tuple[AddressLine, ...] = ()
    details: tuple[AddressLine | None, ...] = ()
    email: str = ""


def read_addresses(
    path: Path, details: Collection[str] = (), prefix: str = ""
) -> dict[str, Addressee]:
    """Where letters go, by id: columns of `LINES` are lines of the address, in the file's order.

    The column `name` is a line of the address as well, and the name in the greeting.
    """
    addresses: dict[str, Addressee] = {}
    for place, own, row in read_rows(path, prefix):
        for column in row:
            known = (*LINES, ABOUT, EMAIL, *details)
            if column not in known:
                raise InputError(
                    f"{path}: the column {column!r} is none of an address ({', '.join(known)}); "
                    "rename it or leave it out, so that nothing is printed by mistake; "
                    f"{near_matches(column, known)}"
                )
        if own in addresses:
            raise InputError(f"{path}{place}: has a second address for {own}; keep one of them")
        if not _EMAIL.fullmatch(row.get(EMAIL, "")):
            raise InputError(
                f"{path}{place}: {row[EMAIL]!r} is not one e-mail address; correct or remove it"
            )
        lines = [text for column, text in row.items() if text and column in LINES]
        if len(lines) > MOST_LINES:
            raise InputError(
                f"{path}{place}: the address of {own} has {len(lines)} lines, and the envelope "
                f"window shows {MOST_LINES}; shorten it"
            )
        given = [AddressLine(row.get(column, "")) or None for column in (NAME, ABOUT, *details)]
        addresses[own] = Addressee(
            lines=tuple(map(AddressLine, lines)), details=tuple(given), email=row.get(EMAIL, "")
        )
    return addresses


def read_ids(path: Path) -> tuple[str, ...]:
    """The ids in a file: one per line, or the column `id` of a CSV file."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None
    if lines and "id" in next(csv.reader(lines[:1]), []):
        return tuple(dict.fromkeys(own for _, own, _ in read_rows(path)))
    ids = (unguard(line.strip()) for line in lines)
    return tuple(dict.fromkeys(own for own in ids if own))


def read_reviews(path: Path, prefix: str = "") -> dict[str, Review]:
    """Who has read whose draft: columns `id`, `reviewer`, `reviewed` (a day) and perhaps `draft`.

    The table of the letters' folder has these columns, so that a reviewer can fill it in.
    """
    reviews: dict[str, Review] = {}
    for place, own, row in read_rows(path, prefix, ("reviewer", "reviewed")):
        reviewer, day = row["reviewer"], row["reviewed"]
        if not reviewer:
            continue
        try:
            date.fromisoformat(day)
        except ValueError:
            raise InputError(
                f"{path}{place}: needs the day of the review of {own}, such as 2026-03-31 "
                f"(got {day!r})"
            ) from None
        if own in reviews:
            raise InputError(f"{path}{place}: has a second review of {own}; keep one of them")
        reviews[own] = Review(reviewer=unguard(reviewer), day=day, draft=row.get("draft", ""))
    return reviews


def addressee_of(signed: SignedLetter) -> Addressee:
    """Whom a letter was signed off for."""
    details = tuple(None if text is None else AddressLine(text) for text in signed.details)
    return Addressee(lines=tuple(map(AddressLine, signed.recipient)), details=details)


def read_sign_off(sign_off: SignOff | None) -> tuple[Signer | None, date | None]:
    """Who signs a letter off, and the date on it; None for a draft."""
    if sign_off is None:
        return None, None
    return Signer(sign_off.name), date.fromisoformat(sign_off.day)


# ---------------------------------------------------------------- tables


def read_rows(
    path: Path, prefix: str = "", needed: Collection[str] = ()
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """For each row of a CSV file: its line, the id in full, and the texts in columns by name."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, strict=True)
            columns = list(table.fieldnames or ())
            for name in ("id", *needed):
                if name not in columns:
                    raise InputError(
                        f"{path}: has no column {name!r}, and needs {', '.join(('id', *needed))} "
                        f"(got {', '.join(columns) or 'no columns'}); {near_matches(name, columns)}"
                    )
            twice = [name for name in columns if columns.count(name) > 1]
            if twice:
                raise InputError(f"{path}: has two columns named {twice[0]!r}; keep one of them")
            for row in table:
                if not row["id"]:
                    raise InputError(f"{path}, line {table.line_num}: has no id; add one")
                if None in row:
                    # Text after a stray comma would be missing from the letter unnoticed.
                    raise InputError(
                        f"{path}, line {table.line_num}: has more fields than the header; "
                        "put text that contains a comma in quotation marks"
                    )
                texts = {name: _text(path, row[name] or "") for name in columns if name != "id"}
                yield f", line {table.line_num}", full_id(unguard(row["id"]), prefix), texts
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(path, error) from None


def _text(path: Path, text: str) -> str:
    """The text on one line; control characters, which cannot be printed, are refused."""
    line = _BREAKS.sub(" ", text).strip()
    if any(category(letter) == "Cc" for letter in line):
        raise InputError(f"{path}: has a control character in {line!r}; remove it")
    return line


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InputError(f"{path}: cannot be read ({reason}); give a CSV file in UTF-8")
