"""A letter in words, in reading order: exactly what the template shows.

Texts come from the catalogue, the profile and the settings; facts about the person from `Letter`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recourse_audit.errors import SettingsError
from recourse_audit.render.i18n import PLACEHOLDER, Words
from recourse_audit.render.letters.cautions import CAUTIONS
from recourse_audit.render.letters.letter import Letter, LetterOption
from recourse_audit.render.letters.profiles import Block, Profile, Undeclared
from recourse_audit.render.letters.sentences import StepText, limits_of, steps_of
from recourse_audit.render.text import plain
from recourse_audit.settings import LetterSettings

_FIRST_SENTENCE = re.compile(r"(.+?[.!]) (.+)", re.DOTALL)
LONGEST_LEAD = 80
LONGEST_IN_MARGIN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """An entry of the table beside the address: its label, and its text line by line."""

    label: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionText:
    """One option in words; `whom` says with whom it worked, as prominently as the steps.

    `note` says how often it held; `warns` if it often did not.
    """

    heading: str
    effort: str
    steps: tuple[StepText, ...]
    whom: str
    note: str
    warns: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A short lead, which stands out, and the rest; either may be empty."""

    lead: str
    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """The decision, and the reasons for it or the right to ask for them."""

    paragraphs: tuple[Paragraph, ...]
    reasons_intro: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What could change the result; or that nothing does, and within which limits."""

    heading: str
    intro: tuple[str, ...]
    options: tuple[OptionText, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """What the person can do: whom to contact, then review, correction and complaint."""

    heading: str
    paragraphs: tuple[Paragraph, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterPage:
    """The whole letter; `draft` is the word across every page, "" once it is signed off.

    `margin` is the reference as it is repeated in the margin, where there is little room; `notes`
    is what must be kept in mind about the options.
    """

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
    margin: str
    heading: str
    greeting: str
    notice: Notice | None
    options: Options | None
    box: Box
    notes: str
    closing: str
    signature: str


def letter_page(
    letter: Letter, wording: Words, profile: Profile, settings: LetterSettings
) -> LetterPage:
    """Put a letter into words."""
    builder = _PageBuilder(letter, wording, profile, settings)
    say, signed, reference = wording.say, letter.sign_off, plain(letter.reference)
    dated = wording.day(signed.day) if signed else say("date.open")
    details = (
        Detail(label=say("label.reference"), lines=(reference,)),
        Detail(label=say("label.date"), lines=(dated,)),
    )
    options = "options" in settings.parts
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
        margin=shortened(reference, LONGEST_IN_MARGIN),
        heading=about_in(settings) or say("heading"),
        greeting=say("greeting"),
        notice=builder.notice() if "notice" in settings.parts else None,
        options=builder.options() if options else None,
        box=builder.box(),
        notes=" ".join(builder.notes()) if options else "",
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
        self, letter: Letter, wording: Words, profile: Profile, settings: LetterSettings
    ) -> None:
        self._letter = letter
        self._wording = wording
        self._profile = profile
        self._settings = settings
        self._language = settings.language.split("_", maxsplit=1)[0]

    def slot(self, name: str) -> str:
        """What the settings or the letter put into a slot, or a note that it is still empty."""
        settings = self._settings
        filled = {
            **settings.slots,
            "sender": settings.sender,
            "address": ", ".join(settings.address),
            "contact": ", ".join(settings.contact),
            "decision": self._wording.class_name(self._letter.decision),
            "decided": self._decided(),
            "reference": plain(self._letter.reference),
        }.get(name, "")
        own = f"letters.slots.{name}" if name in self._profile.slots else f"letters.{name}"
        return filled or self._wording.say("draft.open", name=own)

    def _decided(self) -> str:
        """The decision as a sentence: the user's own, or one that fits any application."""
        letter = self._letter
        own = self._wording.decided(letter.decision)
        if own is not None:
            return own
        if letter.only_refusal:
            return self._wording.say("decided.declined")
        return self._wording.say(
            "decided.otherwise", decision=self._wording.class_name(letter.decision)
        )

    def blocks(self, part: str) -> tuple[str, ...]:
        """The paragraphs of the profile that belong to a part."""
        reasons = bool(self._letter.reasons)
        said = self._profile.said(part, reasons=reasons, facts=self._settings.facts)
        return tuple(self._block(block) for block in said)

    def notice(self) -> Notice:
        return Notice(
            paragraphs=tuple(_paragraph(text) for text in self.blocks("notice")),
            reasons_intro=self.blocks("reasons"),
            reasons=tuple(self._letter.reasons),
        )

    def options(self) -> Options:
        return Options(
            heading=self._wording.say("part.options"),
            intro=tuple(self._intro()),
            options=tuple(self._options()),
            after=tuple(self._after()),
        )

    def box(self) -> Box:
        say = self._wording.say
        contact = Paragraph(lead=say("label.contact"), rest=self.slot("contact"))
        return Box(
            heading=say("part.remedies"),
            paragraphs=(contact, *(_paragraph(text) for text in self.blocks("remedies"))),
        )

    def _block(self, block: Block | Undeclared) -> str:
        if isinstance(block, Undeclared):
            return self._wording.say("draft.fact", key=f"letters.facts.{block.fact}")
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
                    held = any(one.steadiness != "fragile" for one in letter.options)
                    last = "_fragile_last" if letter.is_fragile and held else ""
                    yield self._wording.say(f"options.order{last}")
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
                steps=tuple(steps_of(option, wording)),
                whom=" ".join(self._whom(option)),
                note="" if steady == "unmeasured" else wording.say(f"option.{steady}"),
                warns=steady == "fragile",
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
        if letter.unnamed_ties:
            yield count("options.which", letter.unnamed_ties)
        if letter.outcome == "options" and letter.unlisted:
            yield count("options.unlisted", letter.unlisted)
        if letter.outcome == "options" and letter.withheld:
            yield count("options.withheld", letter.withheld)
        limits = self._limits()
        if limits:
            yield self._wording.say("limits.list", limits=self._wording.listed(limits))

    def _limits(self) -> tuple[str, ...]:
        letter = self._letter
        if letter.limits is None or letter.outcome not in {"none_exists", "none_found"}:
            return ()
        return limits_of(letter.limits, self._wording)

    def notes(self) -> Iterator[str]:
        """What must be kept in mind: no promise, for how long, and what it does not mean."""
        wording, letter = self._wording, self._letter
        if letter.outcome == "not_worked_out":
            return
        none = letter.outcome in {"none_exists", "none_found"}
        yield wording.say("limits.only" if none else "notes.no_promise")
        if letter.valid_until is None:
            yield wording.say_count("notes.for_days", letter.valid_days)
        else:
            until = wording.day(letter.valid_until)
            yield wording.say_count("notes.until", letter.valid_days, date=until)
        if letter.data_date is not None:
            yield wording.say("notes.data", date=wording.day(letter.data_date))
        if letter.outcome == "options":
            yield wording.say("caution.general")
            yield from self._cautions()

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


def shortened(text: str, longest: int) -> str:
    """A text with its middle left out, if it is longer than this."""
    if len(text) <= longest:
        return text
    kept = (longest - 1) // 2
    return f"{text[:kept]}…{text[-kept:]}"


def _paragraph(text: str) -> Paragraph:
    """Make the first sentence of a paragraph its lead, if it is short."""
    found = _FIRST_SENTENCE.fullmatch(text)
    lead, rest = (found[1], found[2]) if found else (text, "")
    return (
        Paragraph(lead=lead, rest=rest)
        if len(lead) <= LONGEST_LEAD
        else Paragraph(lead="", rest=text)
    )
