"""What goes into letters besides the report: the legal profile, and the files that staff write.

**Profiles** are dated files with what a letter must say, and the sources that require it; nothing
legal is in the code. A profile has text by language, in blocks. A block is included always, only
with or only without confirmed reasons, or depending on a fact, which the user declares true or
false in `letters.facts`; nothing is assumed until then. `letters.slots` fills in slots. A profile
is not legal advice: a person signs off.

**Reasons** come as CSV (`id`, then columns whose names start with `reason`; a person may have
several rows) or as TOML (`[reasons]`, then `P0012 = ["…", "…"]`). A reason must name nobody but its
reader: it is compared with the id and the given names of everybody in the report, word by word;
case, accents and punctuation make no difference, and whatever is spelled otherwise is not found.
What looks like another person's name and is not can be allowed: in the CSV column `allow`, with
semicolons between words, or in the TOML table `[allow]`. **Addresses** come as CSV: `id`, then one
column per line of the address, and columns named like the details of the profile.
"""

import csv
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Literal, NewType, Self
from unicodedata import category

from pydantic import Field, ValidationError, model_validator

from recourse_audit.errors import InputError, SettingsError, TemplateError
from recourse_audit.graph.columns import near_matches
from recourse_audit.records.bundle import Review, SignedLetter, SignOff
from recourse_audit.records.recourse import MoveAction, SetAction
from recourse_audit.records.subject import SubjectReport
from recourse_audit.records.texts import unguard, words_of
from recourse_audit.render.i18n import PLACEHOLDER
from recourse_audit.render.templates import Templates
from recourse_audit.settings import LetterSettings, first_problem
from recourse_audit.settings.section import Section, read_toml

# Filled in by the program: from the settings, where they may be missing, and from the letter.
SENDER_SLOTS = frozenset({"sender", "address", "contact"})
LETTER_SLOTS = frozenset({"connections", "decided", "decision", "reference"})
ALWAYS, WITH_REASONS, WITHOUT_REASONS = "always", "reasons", "no reasons"
NOT = "not "
UNCHOSEN = "generic"  # the profile of drafts until somebody chooses one
LONGEST = 200
MOST_LINES = 5
ALLOW, NAME = "allow", "name"
Reason = NewType("Reason", str)
AddressLine = NewType("AddressLine", str)
Signer = NewType("Signer", str)
# The lines of an address; then the name in the greeting and the details of the profile.
Addressee = tuple[tuple[AddressLine, ...], tuple[AddressLine | None, ...]]
_CONDITION = re.compile(rf"({NOT})?([a-z_]+)")
_BREAKS = re.compile(r"[ \t\r\n]+")

# ---------------------------------------------------------------- legal profiles


class Source(Section):
    """The law that a text comes from."""

    cite: str = Field(description="The law, with its article or section.")
    url: str = Field(description="Where it can be read.")
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

    In a `country`, a letter is in its variety of the language: en is then en_US. `rights` is the
    heading of the blocks of that part, and `details` are the labels of what staff's addresses say
    about each application, both by language.
    """

    title: str
    as_of: date
    note: str
    country: str = Field(default="", pattern="^([A-Z]{2})?$")
    max_reasons: int = Field(default=4, ge=1, le=6)
    sources: dict[str, Source] = Field(default_factory=dict)
    slots: dict[str, str] = Field(default_factory=dict)
    facts: dict[str, str] = Field(default_factory=dict)
    details: dict[str, dict[str, str]] = Field(default_factory=dict)
    rights: dict[str, str] = Field(default_factory=dict)
    blocks: tuple[Block, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for place, block in enumerate(self.blocks):
            where = f"blocks[{place}]"
            if "en" not in block.text:
                raise ValueError(f"{where}.text: needs the English text, en")
            if block.source and block.source not in self.sources:
                raise ValueError(f"{where}.source: {block.source!r} is not among the sources")
            if block.part == "rights" and not set(block.text) <= set(self.rights):
                raise ValueError(f"{where}.part: rights needs a heading in [rights] by language")
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
        for detail, labels in self.details.items():
            if not set(self.languages) <= set(labels):
                raise ValueError(f"details.{detail}: needs a label in {', '.join(self.languages)}")
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
        needed = {block.fact for block in self.blocks} - set(facts)
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
        known = ", ".join(file.removesuffix(".toml") for file in pages.names("profiles"))
        raise SettingsError(
            f"letters.profile: there is no profile {named}, only {known}; choose one of "
            f"them, or write {name} in a folder for --templates"
        )
    try:
        profile = Profile.model_validate(read_toml(pages.text(name)))
    except ValidationError as error:
        raise TemplateError(f"{name}: {first_problem(error, Profile)}") from None
    except ValueError as error:
        raise TemplateError(f"{name}: is not valid TOML ({error}); fix that line") from None
    for key, given, known_names in (
        ("letters.slots", [*settings.slots], profile.slots),
        ("letters.facts", [*settings.facts], profile.facts),
    ):
        for unknown in (one for one in given if one not in known_names):
            raise SettingsError(
                f"{key}.{unknown}: {name} has no such slot or fact; it has: "
                f"{', '.join(known_names) or 'none'}"
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
    if not settings.profile:
        raise SettingsError(
            "letters cannot be signed off before letters.profile is chosen: write the profile of "
            'the law that applies to you, such as us-credit, eu or uk, or "generic" if none '
            "requires a letter, under [letters] in audit.toml and pass that file with --settings"
        )
    for name in profile.open_facts(settings.facts):
        raise SettingsError(
            f"letters cannot be signed off before letters.facts.{name} is declared, because the "
            f"text of the profile {settings.profile} depends on it ({profile.facts[name]!r}); "
            f"write {name} = true or {name} = false under [letters.facts] in audit.toml and pass "
            "that file with --settings, or make drafts without --sign-off"
        )
    empty = profile.empty_slots(settings)
    if empty:
        raise SettingsError(
            f"letters cannot be signed off without {', '.join(empty)}; fill in what is missing, or "
            "make drafts without --sign-off"
        )


# ---------------------------------------------------------------- files that staff write


def full_id(own: str, prefix: str) -> str:
    """An id that staff wrote; without its kind, it is that of the kind that is decided on."""
    return own if own.startswith(prefix) else prefix + own


def read_reasons(path: Path, *, most: int, prefix: str = "") -> dict[str, tuple[Reason, ...]]:
    """The confirmed reasons of each person, by id; more than `most` are refused."""
    reasons: dict[str, tuple[Reason, ...]] = {}
    for place, own, texts in _columns(path, "reason", prefix, table="reasons"):
        for text in texts:
            if len(text) > LONGEST:
                raise InputError(
                    f"{path}{place}: a reason for {own} has {len(text)} characters; use at most "
                    f"{LONGEST}, and give one reason per field"
                )
        reasons[own] = (*reasons.get(own, ()), *(Reason(text) for text in texts))
        if len(reasons[own]) > most:
            raise InputError(
                f"{path}{place}: {own} has {len(reasons[own])} reasons, and the profile allows "
                f"{most}; keep the most important ones"
            )
    return {own: texts for own, texts in reasons.items() if texts}


def read_addresses(
    path: Path, details: Collection[str] = (), prefix: str = ""
) -> dict[str, Addressee]:
    """The lines of each person's address by id, and what other columns say of these `details`.

    The column `name` is a line of the address as well, and the name in the greeting.
    """
    addresses: dict[str, Addressee] = {}
    for place, own, row in _rows(path, prefix, "line1"):
        if own in addresses:
            raise InputError(f"{path}{place}: has a second address for {own}; keep one of them")
        lines = [text for column, text in row.items() if text and column not in details]
        if len(lines) > MOST_LINES:
            raise InputError(
                f"{path}{place}: the address of {own} has {len(lines)} lines, and the envelope "
                f"window shows {MOST_LINES}; shorten it"
            )
        given = [AddressLine(row.get(column, "")) or None for column in (NAME, *details)]
        addresses[own] = (tuple(map(AddressLine, lines)), tuple(given))
    return addresses


def read_ids(path: Path) -> tuple[str, ...]:
    """The ids in a file: one per line, or the column `id` of a CSV file."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None
    if lines and "id" in next(csv.reader(lines[:1]), []):
        return tuple(dict.fromkeys(own for _, own, _ in _rows(path)))
    ids = (unguard(line.strip()) for line in lines)
    return tuple(dict.fromkeys(own for own in ids if own))


def read_reviews(path: Path, prefix: str = "") -> dict[str, Review]:
    """Who has read whose draft: columns `id`, `reviewer`, `reviewed` (a day) and perhaps `draft`.

    The table of the letters' folder has these columns, so that a reviewer can fill it in.
    """
    reviews: dict[str, Review] = {}
    for place, own, row in _rows(path, prefix):
        if not {"reviewer", "reviewed"} <= set(row):
            raise InputError(
                f"{path}: needs columns named id, reviewer and reviewed (got id, {', '.join(row)})"
            )
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


def staff_texts(signed: SignedLetter | None) -> tuple[tuple[Reason, ...], Addressee]:
    """The reasons and the addressee that a letter was signed off with; none if it was not."""
    if signed is None:
        return (), ((), ())
    details = tuple(None if text is None else AddressLine(text) for text in signed.details)
    return tuple(map(Reason, signed.reasons)), (tuple(map(AddressLine, signed.recipient)), details)


def read_sign_off(sign_off: SignOff | None) -> tuple[Signer | None, date | None]:
    """Who signs a letter off, and the date on it; None for a draft."""
    if sign_off is None:
        return None, None
    try:
        return Signer(sign_off.name), date.fromisoformat(sign_off.day)
    except ValueError:
        raise InputError(f"a signed letter was changed: it has the day {sign_off.day!r}") from None


class Mentions:
    """Looks for other people in reasons.

    Parameters
    ----------
    reasons
        The file of reasons, in which a person may allow a false alarm, word by word.
    names, columns
        A file of everybody's names, and the columns of it that hold names; all if none are given.
    everybody
        Gives all ids of the graph, for people whose report does not show all of their neighbours.
        Ids that are ordinary words or numbers are not looked up: among a million people, some are.
    prefix
        What ids of people begin with in a graph of several kinds of nodes: "person:". Reasons may
        name nodes with their kind or without.
    """

    def __init__(
        self,
        reasons: Path | None,
        names: Path | None,
        columns: Collection[str],
        everybody: Callable[[], Iterable[str]],
        prefix: str = "",
    ) -> None:
        self._prefix = prefix
        self._allowed: dict[str, set[tuple[str, ...]]] = {}
        self._names: dict[str, list[str]] = {}
        self._everybody = everybody
        self._ids: dict[tuple[str, ...], str] | None = None
        allowed = () if reasons is None else _columns(reasons, ALLOW, prefix, table=ALLOW)
        for _, own, texts in allowed:
            words = {words_of(word) for text in texts for word in text.split(";")}
            self._allowed.setdefault(own, set()).update(words)
        for _, own, row in () if names is None else _rows(names, prefix, NAME, only=columns):
            self._names.setdefault(own, []).extend(filter(None, row.values()))

    def find(
        self, report: SubjectReport, reasons: Collection[Reason]
    ) -> tuple[tuple[str, str], ...]:
        """Everybody else whom reasons name, and by which words, in the order of their ids."""
        if not reasons:
            return ()
        own, near = report.subject.id, report.ego_network
        mine = {words_of(name) for name in (*self._ids_of(own), *self._names.get(own, ()))}
        runs = {run for reason in reasons for run in _runs(words_of(reason))}
        mentions = {
            (person, name)
            for person in others_in(report)
            for name in (*self._ids_of(person), *self._names.get(person, ()))
            if (words := words_of(name)) in runs and words not in mine
        }
        if near is not None and near.shown < near.total:
            known = {person for person, _ in mentions} | {own}
            ids = self._all_ids()
            mentions |= {(ids[run], ids[run]) for run in runs if ids.get(run, own) not in known}
        return tuple(sorted(mentions))

    def _ids_of(self, node: str) -> tuple[str, ...]:
        """The id of a node, and without its kind if it has one."""
        return (node, node.partition(":")[2]) if self._prefix and ":" in node else (node,)

    def is_allowed(self, own: str, text: str) -> bool:
        """Whether a person has allowed this very word in the reasons for a subject."""
        return words_of(text) in self._allowed.get(own, ())

    def _all_ids(self) -> dict[tuple[str, ...], str]:
        if self._ids is None:
            self._ids = {}
            for name in self._everybody():
                for words in map(words_of, self._ids_of(name)):
                    if len(words) > 1 or (words and not (words[0].isdigit() or words[0].isalpha())):
                        self._ids.setdefault(words, name)
        return self._ids


def others_in(report: SubjectReport) -> tuple[str, ...]:
    """The ids of everybody but the subject whom a report names anywhere."""
    near, recourse = report.ego_network, report.recourse
    ids: set[str] = set() if near is None else {node.id for node in near.nodes}
    for counterfactual in report.counterfactuals:
        explanation = counterfactual.explanation
        ids.update(explanation.nodes, *explanation.edges)
        ids.update(*counterfactual.removed, *counterfactual.kept)
    if recourse is not None:
        ids.update(*(droppable.tie for droppable in recourse.droppable))
        for option in recourse.options:
            effects = option.side_effects
            ids.update(effects.to_favourable, effects.to_unfavourable, effects.other)
            for action in option.actions:
                ids.update(*(() if isinstance(action, SetAction) else action.ties))
                ids.update([action.to] if isinstance(action, MoveAction) else ())
    return tuple(sorted(ids - {report.subject.id}))


def _runs(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every run of words that follow one another."""
    for first in range(len(words)):
        yield from (words[first : last + 1] for last in range(first, len(words)))


# ---------------------------------------------------------------- tables


def _columns(
    path: Path, start: str, prefix: str, *, table: str
) -> Iterator[tuple[str, str, list[str]]]:
    """For each row: its place, the id, and the texts in columns whose names start so."""
    if path.suffix == ".toml":
        yield from _toml(path, table, prefix)
        return
    for place, own, row in _rows(path, prefix, "" if start == ALLOW else f"{start}1", start):
        yield place, own, [text for text in row.values() if text]


def _rows(
    path: Path, prefix: str = "", example: str = "", start: str = "", only: Collection[str] = ()
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """For each row of a CSV file: its place, the id in full, and the texts in columns by name.

    With an `example` of a column, there must be at least one; `start` is what the names of columns
    start with, and `only` are the names themselves.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, strict=True)
            columns = list(table.fieldnames or ())
            others = [name for name in columns if name != "id" and name.startswith(start)]
            if "id" not in columns or (example and not others):
                raise InputError(
                    f"{path}: needs a column named id and at least one more, such as "
                    f"{example or 'reason1'} (got {', '.join(columns) or 'no columns'})"
                )
            missing = sorted(set(only) - set(others))
            if missing:
                raise InputError(
                    f"{path}: there is no column {missing[0]!r} (from letters.name_columns); "
                    f"{near_matches(missing[0], columns)}"
                )
            chosen = [name for name in others if not only or name in only]
            twice = [name for name in columns if columns.count(name) > 1]
            if twice:
                raise InputError(f"{path}: has two columns named {twice[0]!r}; number them")
            for row in table:
                if not row["id"]:
                    raise InputError(f"{path}, line {table.line_num}: has no id; add one")
                if None in row:
                    # Text after a stray comma would be missing from the letter unnoticed.
                    raise InputError(
                        f"{path}, line {table.line_num}: has more fields than the header; "
                        "put text that contains a comma in quotation marks"
                    )
                texts = {name: _text(path, row[name] or "") for name in chosen}
                yield f", line {table.line_num}", full_id(unguard(row["id"]), prefix), texts
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(path, error) from None


def _toml(path: Path, key: str, prefix: str) -> Iterator[tuple[str, str, list[str]]]:
    try:
        table = read_toml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if not isinstance(table.get("reasons"), dict) or not set(table) <= {"reasons", ALLOW}:
        raise InputError(
            f'{path}: needs one table [reasons] with lines such as P0012 = ["…"], and perhaps a '
            f"table [{ALLOW}]"
        )
    rows = table.get(key, {})
    if not isinstance(rows, dict):
        raise InputError(f'{path}: {key} must be a table with lines such as P0012 = ["…"]')
    for own, texts in rows.items():
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{path}: {key}.{own} must be a list of texts")
        yield (
            "",
            full_id(own, prefix),
            [line for line in (_text(path, text) for text in texts) if line],
        )


def _text(path: Path, text: str) -> str:
    """The text on one line; control characters, which cannot be printed, are refused."""
    line = _BREAKS.sub(" ", text).strip()
    if any(category(letter) == "Cc" for letter in line):
        raise InputError(f"{path}: has a control character in {line!r}; remove it")
    return line


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InputError(f"{path}: cannot be read ({reason}); give a CSV or TOML file in UTF-8")
