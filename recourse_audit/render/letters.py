"""Letters in words: facts, legal profile and catalogue meet in the template.

The catalogue, the profile and staff's files are read and checked once. Which options a letter tells
is decided in `letter_facts`; every sentence is in the template, the catalogue or the profile.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from recourse_audit.bundle.manifest import digest_of
from recourse_audit.errors import InputError, SettingsError
from recourse_audit.records.bundle import Cause, SignedLetter
from recourse_audit.records.subject import SubjectReport
from recourse_audit.records.texts import fold
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.render.i18n import PLACEHOLDER, Words, words_of
from recourse_audit.render.letter_facts import Letter, SignOff, Vocabulary, read_letter
from recourse_audit.render.letter_inputs import (
    Mentions,
    read_addresses,
    read_reasons,
    sign_off_of,
    staff_texts,
)
from recourse_audit.render.profiles import Block, check_sign_off, load_profile
from recourse_audit.render.templates import Templates
from recourse_audit.render.text import plain
from recourse_audit.settings import LetterSettings, Settings

TEMPLATE = "letters/letter.html"
FINGERPRINT = 16
LONGEST_LEAD = 80
_FIRST_SENTENCE = re.compile(r"(.+?[.!]) (.+)", re.DOTALL)


class LetterWriter:
    """Writes letters; the catalogue, the profile and staff's files are read and checked once.

    Parameters
    ----------
    reasons, addresses, names
        Files that staff wrote: confirmed reasons, where letters go, everybody's names.
    everybody
        Gives all ids of the graph: needed where a report does not show all neighbours.
    sign_off
        Who signs the letters off that are to be signed; without it, all are drafts.

    Attributes
    ----------
    open_slots
        Keys of the settings that must be filled in before letters can be signed off.
    unworded
        Names that letters use as they are, because there is no word for them in the language.
    reasons, addresses
        What staff gave, by id; a caller may compare the ids with those of the subjects.

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
        self._settings = letters = settings.letters
        self._data_as_of = settings.audit.data_as_of
        self._pages = pages
        self._sign_off = sign_off
        self._vocabulary = Vocabulary(settings)
        self._profile = load_profile(letters, pages)
        language = letters.language
        if self._profile.country and "_" not in language:
            language = f"{language}_{self._profile.country}"
        self._words = words_of(settings, language, pages)
        self._language = language.split("_", maxsplit=1)[0]
        self._about = about_in(letters)
        self.open_slots = (
            *self._profile.empty_slots(letters),
            *(f"letters.facts.{name}" for name in self._profile.undeclared(letters.facts)),
        )
        self.unworded = find_unworded(
            settings, words_of(settings, language, pages), names_class=self._profile.names_class
        )
        if sign_off is not None:
            check_sign_off(self._profile, letters)
        most = self._profile.max_reasons
        self.reasons = {} if reasons is None else read_reasons(reasons, most=most)
        self.addresses = {} if addresses is None else read_addresses(addresses)
        self._mentions = Mentions(reasons, names, letters.name_columns, everybody)
        made_of = settings.model_dump_json(include={"audit", "letters", "words"})
        self._made_of = f"{version('recourse-audit')}{pages.digest()}{made_of}"

    def letter(self, report: SubjectReport, *, signed: bool = True) -> Letter | None:
        """What is said to one subject; None if there is no letter; a draft if it is not `signed`.

        Raises
        ------
        InputError
            A reason names another person.
        """
        own = report.subject.id
        reasons = self.reasons.get(own, ())
        for mention in self._mentions.find(report, reasons):
            if not self._mentions.is_allowed(own, mention.text):
                raise InputError(
                    f"a reason given for {own} names another person, {mention.person}: it contains "
                    f"{mention.text!r}; reword it, or, if something else is meant, put "
                    f"{mention.text!r} into the column allow of the reasons"
                )
        return self._read(report, None, self._sign_off if signed else None)

    def draft(self, report: SubjectReport, before: SignedLetter | None = None) -> Letter | None:
        """The draft of a letter, without a check of its reasons; of one signed `before`, as then.

        What staff gave for a signed letter holds until they give something else.
        """
        return self._read(report, before, None)

    def again(self, report: SubjectReport, before: SignedLetter) -> Letter | None:
        """A letter that was signed off before, as it would be today."""
        name, day = sign_off_of(before)
        return self._read(report, before, SignOff(name=name, day=day))

    def _read(
        self, report: SubjectReport, before: SignedLetter | None, sign_off: SignOff | None
    ) -> Letter | None:
        own = report.subject.id
        reasons, recipient = staff_texts(before)
        return read_letter(
            report,
            self._vocabulary,
            self._settings,
            recipient=self.addresses.get(own, recipient),
            reasons=self.reasons.get(own, reasons),
            data_as_of=self._data_as_of,
            sign_off=sign_off,
        )

    def allowed(self, report: SubjectReport) -> tuple[str, ...]:
        """What looks like another person's name in the reasons, and was allowed by a person."""
        reasons = self.reasons.get(report.subject.id, ())
        return tuple(sorted({mention.text for mention in self._mentions.find(report, reasons)}))

    def causes(self, letter: Letter) -> tuple[Cause, ...]:
        """What speaks against signing a letter, whoever has read it."""
        return tuple(self._causes(letter))

    def _causes(self, letter: Letter) -> Iterator[Cause]:
        if letter.is_fragile:
            yield "fragile"
        if not letter.reasons:
            yield "no-reason"
        elif letter.options and all(not option.attributes for option in letter.options):
            text = fold(" ".join(letter.reasons))
            if not any(
                fold(name) in text
                for tie in letter.ended
                for name in (tie.kind, *(self._words.tie_name(tie.kind, n) for n in (1, 2)))
            ):
                yield "ties-only"

    def fingerprint(self, draft: Letter) -> str:
        """A short digest of everything that a draft says, and of what it is said with."""
        return digest_of(f"{self._made_of}{draft!r}")[:FINGERPRINT]

    def html(self, letter: Letter) -> str:
        """The letter as a page, from which a PDF can be made."""
        words, tried = self._words, [self._words.say("limits.ties")] if letter.tries_ties else []
        return self._pages.render(
            TEMPLATE,
            letter=letter,
            words=words,
            settings=self._settings,
            tried=[*tried, *map(words.name, letter.tries_attributes)],
            rights=self._profile.rights.get(self._language, ""),
            reference=plain(letter.reference),
            heading=self._about,
            slot=lambda name: self._slot(letter, name),
            paragraphs=lambda part: self._paragraphs(letter, part),
        )

    def _slot(self, letter: Letter, name: str) -> str:
        """What the settings or the letter put into a slot, or a note that it is still empty."""
        settings, words = self._settings, self._words
        given = {
            **settings.slots,
            "sender": settings.sender,
            "address": ", ".join(settings.address),
            "contact": ", ".join(settings.contact),
            "decision": words.class_name(letter.decision),
            "decided": words.decided(letter.decision)
            or words.say(
                f"decided.{'declined' if letter.only_refusal else 'otherwise'}",
                decision=words.class_name(letter.decision),
            ),
            "reference": plain(letter.reference),
        }.get(name, "")
        key = f"letters.slots.{name}" if name in self._profile.slots else f"letters.{name}"
        return given or words.say("draft.open", name=key)

    def _paragraphs(self, letter: Letter, part: str) -> list[tuple[str, str]]:
        """The paragraphs of the profile for a part, each with its first sentence if it is short."""
        blocks = self._profile.select(part, bool(letter.reasons), self._settings.facts)
        return [_split_lead(self._fill(letter, block)) for block in blocks]

    def _fill(self, letter: Letter, block: Block | str) -> str:
        if isinstance(block, str):
            return self._words.say("draft.fact", key=f"letters.facts.{block}")
        text = block.text[self._language]
        return PLACEHOLDER.sub(lambda slot: self._slot(letter, slot[1]), text)


def _split_lead(text: str) -> tuple[str, str]:
    """A short first sentence, "" if there is none, and the rest."""
    match = _FIRST_SENTENCE.fullmatch(text)
    lead, rest = (match[1], match[2]) if match else (text, "")
    return (lead, rest) if len(lead) <= LONGEST_LEAD else ("", text)


def about_in(settings: LetterSettings) -> str:
    """What the decision was about, in the language of the letter; "" if no text is given."""
    about = settings.about
    if isinstance(about, str):
        return about
    base = settings.language.split("_", maxsplit=1)[0]
    text = about.get(settings.language) or about.get(base) or ""
    if about and not text:
        raise SettingsError(
            f"letters.about: has no text in {base!r}, the language of the letters, only in "
            f'{", ".join(about)}; add a line such as {base} = "…" to [letters.about]'
        )
    return text


def find_unworded(settings: Settings, words: Words, *, names_class: bool) -> tuple[str, ...]:
    """Names that letters may use as they are in the settings, because there is no word for them.

    Classes are among them only where a letter names them: if the profile does (`names_class`), or
    if several are unfavourable and there is no sentence for one. Most names read well in an English
    letter; in any other language they are foreign words.
    """
    recourse, decision = settings.recourse, settings.decision
    labels = {encoding.name: encoding.all_labels for encoding in settings.graph.encodings}
    for tie in recourse.ties:
        worded = words.has_tie(tie.kind) or tie.kind == "*" or is_denied(tie.kind)
        if tie.allow and not worded:
            words.missing.add(tie.kind)
    for rule in recourse.attributes:
        used = [rule.name, *(along.name for along in rule.implies)]
        used += [along.to for along in rule.implies if along.to is not None]
        used += [rule.unit] if rule.unit not in settings.letters.currencies else []
        if rule.of_category:
            used += labels.get(rule.name, rule.values)
            used += [label for move in rule.moves for label in (move.before, move.to)]
        for name in used:
            if name not in settings.groups.attributes:
                words.name(name)
    refused = set(decision.classes) - set(decision.favourable)
    if not names_class:
        refused = {name for name in refused if words.decided(name) is None}
        refused = refused if len(decision.classes) - len(decision.favourable) > 1 else set()
    for name in refused:
        words.class_name(name)
    return tuple(sorted(words.missing))
