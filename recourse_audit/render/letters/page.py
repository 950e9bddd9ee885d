"""A letter in words, in reading order: exactly what the template shows.

Texts come from the catalogue, the profile and the settings; facts about the person from `Letter`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from recourse_audit.errors import SettingsError
from recourse_audit.render.letters.cautions import CAUTIONS
from recourse_audit.render.letters.letter import Letter, LetterOption
from recourse_audit.render.letters.profiles import Block, Profile, Undeclared
from recourse_audit.render.letters.sentences import StepText, Words, limits_of, steps_of
from recourse_audit.render.text import plain
from recourse_audit.render.wording import PLACEHOLDER, Wording
from recourse_audit.settings import LetterSettings

_FIRST_SENTENCE = re.compile(r"(.+?[.!]) (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """An entry of the table beside the address: its label, and its text line by line."""

    label: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionText:
    """One option in words; `whom` says with whom it worked, as prominently as the steps."""

    heading: str
    effort: str
    steps: tuple[StepText, ...]
    whom: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Something the person can do: a short lead, then the details."""

    lead: str
    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Part A: the decision, and the reasons for it or the right to ask for them."""

    heading: str
    paragraphs: tuple[str, ...]
    reasons_intro: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Part B: what could change the result; or that nothing does, and within which limits."""

    heading: str
    intro: tuple[str, ...]
    options: tuple[OptionText, ...]
    after: tuple[str, ...]
    limits_heading: str
    limits: tuple[str, ...]
    notes_heading: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterPage:
    """The whole letter; `draft` is the word across every page, "" once it is signed off."""

    language: str
    title: str
    draft: str
    draft_sentence: str
    created: str
    sender: str
    address: tuple[str, ...]
    recipient_label: str
    recipient: tuple[str, ...]
    details: tuple[Detail, ...]
    heading: str
    greeting: str
    notice: Notice | None
    options: Options | None
    remedies_heading: str
    remedies: tuple[Remedy, ...]
    closing: str
    signature: str


def letter_page(
    letter: Letter, wording: Wording, profile: Profile, settings: LetterSettings
) -> LetterPage:
    """Put a letter into words."""
    builder = _PageBuilder(letter, wording, profile, settings)
    say, signed, reference = wording.say, letter.sign_off, plain(letter.reference)
    dated = wording.day(signed.day) if signed else say("date.open")
    contact = settings.contact or (builder.slot("contact"),)
    details = (
        Detail(label=say("label.reference"), lines=(reference,)),
        Detail(label=say("label.date"), lines=(dated,)),
        Detail(label=say("label.contact"), lines=contact),
    )
    signature = say("unsigned") if not signed else say("signed", name=signed.name)
    return LetterPage(
        language=settings.language.replace("_", "-"),
        title=say("title", reference=reference),
        draft="" if signed else say("draft.mark"),
        draft_sentence="" if signed else say("draft.sentence"),
        created=signed.day.isoformat() if signed else "",
        sender=settings.sender or builder.slot("sender"),
        address=settings.address or (builder.slot("address"),),
        recipient_label=say("label.recipient"),
        recipient=letter.recipient or (f"{say('label.reference')} {reference}",),
        details=details,
        heading=about_in(settings) or say("heading"),
        greeting=say("greeting"),
        notice=builder.notice() if "notice" in settings.parts else None,
        options=builder.options() if "options" in settings.parts else None,
        remedies_heading=say("part.remedies"),
        remedies=tuple(_remedy(text) for text in builder.blocks("remedies")),
        closing=say("closing"),
        signature=signature,
    )


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


class _PageBuilder:
    """Puts the parts of one letter into words."""

    def __init__(
        self, letter: Letter, wording: Wording, profile: Profile, settings: LetterSettings
    ) -> None:
        self._letter = letter
        self._wording = wording
        self._profile = profile
        self._settings = settings
        self._words = Words(settings)
        self._language = settings.language.split("_", maxsplit=1)[0]

    def slot(self, name: str) -> str:
        """What the settings or the letter put into a slot, or a note that it is still empty."""
        settings = self._settings
        filled = {
            **settings.slots,
            "sender": settings.sender,
            "address": ", ".join(settings.address),
            "contact": ", ".join(settings.contact),
            "decision": self._words.one(self._letter.decision),
            "reference": plain(self._letter.reference),
        }.get(name, "")
        return filled or self._wording.say(
            "draft.open", name=self._profile.slots.get(name, f"letters.{name}")
        )

    def blocks(self, part: str) -> tuple[str, ...]:
        """The paragraphs of the profile that belong to a part."""
        reasons = bool(self._letter.reasons)
        said = self._profile.said(part, reasons=reasons, facts=self._settings.facts)
        return tuple(self._block(block) for block in said)

    def notice(self) -> Notice:
        return Notice(
            heading=self._wording.say("part.notice"),
            paragraphs=self.blocks("notice"),
            reasons_intro=self.blocks("reasons"),
            reasons=tuple(self._letter.reasons),
        )

    def options(self) -> Options:
        say, letter = self._wording.say, self._letter
        limits = self._limits()
        return Options(
            heading=say("part.options"),
            intro=tuple(self._intro()),
            options=tuple(self._options()),
            after=tuple(self._after()),
            limits_heading=say("limits.heading") if limits else "",
            limits=limits,
            notes_heading=say("notes.heading"),
            notes=tuple(self._notes()) if letter.outcome != "not_worked_out" else (),
        )

    def _block(self, block: Block | Undeclared) -> str:
        if isinstance(block, Undeclared):
            fact = self._profile.facts[block.fact]
            return self._wording.say("draft.fact", key=f"letters.facts.{block.fact}", fact=fact)
        return PLACEHOLDER.sub(lambda found: self.slot(found[1]), block.text[self._language])

    def _intro(self) -> Iterator[str]:
        letter, count = self._letter, self._wording.say_count
        match letter.outcome:
            case "options":
                yield count("options.intro", letter.found)
                if letter.found > 1:
                    yield self._wording.say("options.checked_each")
                else:
                    yield count("options.checked_one", letter.options[0].changes)
                if len(letter.options) > 1:
                    yield self._wording.say("options.order")
            case "staff":
                yield count("staff.intro", letter.withheld)
            case "none_exists" if letter.limits and not self._limits():
                yield self._wording.say("limits.none")
            case "none_exists":
                most = letter.limits.max_changes if letter.limits else 1
                yield count("none_exists.intro", most)
            case _:
                yield self._wording.say(f"{letter.outcome}.intro")

    def _options(self) -> Iterator[OptionText]:
        wording = self._wording
        for number, option in enumerate(self._letter.options, start=1):
            steady = option.steadiness
            yield OptionText(
                heading=wording.say("option.heading", number=wording.number(number)),
                effort=wording.say_count("option.changes", option.changes),
                steps=tuple(steps_of(option, wording, self._words, self._settings.currencies)),
                whom=" ".join(self._whom(option)),
                note="" if steady == "unmeasured" else wording.say(f"option.{steady}"),
            )

    def _whom(self, option: LetterOption) -> Iterator[str]:
        """With whom an option worked, as far as a letter may say."""
        wording = self._wording
        if option.alike > 1:
            yield wording.say("option.alike", count=wording.number(option.alike))
        if option.new_ties == 1:
            yield wording.say_count("option.new", option.partners)
        elif option.new_ties:
            yield wording.say("option.new_several")

    def _after(self) -> Iterator[str]:
        letter, count = self._letter, self._wording.say_count
        if letter.leaves_open_which:
            yield self._wording.say("options.which")
        if letter.outcome == "options" and letter.unlisted:
            yield count("options.unlisted", letter.unlisted)
        if letter.outcome == "options" and letter.withheld:
            yield count("options.withheld", letter.withheld)

    def _limits(self) -> tuple[str, ...]:
        letter = self._letter
        if letter.limits is None or letter.outcome not in {"none_exists", "none_found"}:
            return ()
        return limits_of(letter.limits, self._wording, self._words)

    def _notes(self) -> Iterator[str]:
        say, letter = self._wording.say, self._letter
        if letter.outcome in {"none_exists", "none_found"}:
            yield say("limits.only")
        else:
            yield say("notes.no_promise")
        day = letter.data_date
        used = say("notes.data_then") if day is None else self._dated("notes.data", day)
        until = letter.valid_until
        if until is None:
            yield f"{used} {self._wording.say_count('notes.for_days', letter.valid_days)}"
        else:
            yield f"{used} {self._dated('notes.until', until)}"
        if letter.outcome == "options":
            yield " ".join((say("caution.general"), *self._cautions()))

    def _cautions(self) -> Iterator[str]:
        """The cautions about the listed options, each with the options if it is not about all."""
        wording, options = self._wording, self._letter.options
        for caution in CAUTIONS:
            places = [n for n, one in enumerate(options, start=1) if one.caution == caution]
            said = wording.say(f"caution.{caution}") if places else ""
            if 0 < len(places) < len(options):
                numbers = (wording.say("option.heading", number=wording.number(n)) for n in places)
                about = wording.listed(tuple(numbers))
                said = wording.say("caution.about", options=about, caution=said)
            if said:
                yield said

    def _dated(self, key: str, day: date) -> str:
        return self._wording.say(key, date=self._wording.day(day))


def _remedy(text: str) -> Remedy:
    """Make the first sentence of a paragraph its lead, if there is a second one."""
    found = _FIRST_SENTENCE.fullmatch(text)
    return Remedy(lead=found[1], rest=found[2]) if found else Remedy(lead="", rest=text)
