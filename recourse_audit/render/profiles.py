"""Legal profiles: dated files with what a letter must say, and the sources that require it.

Nothing legal is in the code. A profile has text by language, in blocks. A block is included always,
only with or only without confirmed reasons, or depending on a fact, which the user declares true or
false in `letters.facts`; nothing is assumed until then. A block may have slots, which the user
fills in with `letters.slots`. A profile is not legal advice: a person signs off.
"""

import re
from collections.abc import Mapping
from datetime import date
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from recourse_audit.errors import SettingsError, TemplateError
from recourse_audit.render.i18n import PLACEHOLDER
from recourse_audit.render.templates import Templates
from recourse_audit.settings import LetterSettings, first_problem
from recourse_audit.settings.section import Section, read_toml

# Filled in by the program: from the settings, where they may be missing, and from the letter.
SENDER_SLOTS = frozenset({"sender", "address", "contact"})
LETTER_SLOTS = frozenset({"decided", "decision", "reference"})
ALWAYS, WITH_REASONS, WITHOUT_REASONS = "always", "reasons", "no reasons"
NOT = "not "
_CONDITION = re.compile(rf"({NOT})?([a-z_]+)")


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
    heading of the blocks of that part, by language.
    """

    title: str
    as_of: date
    note: str
    country: str = Field(default="", pattern="^([A-Z]{2})?$")
    max_reasons: int = Field(default=4, ge=1, le=6)
    sources: dict[str, Source] = Field(default_factory=dict)
    slots: dict[str, str] = Field(default_factory=dict)
    facts: dict[str, str] = Field(default_factory=dict)
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

    def undeclared(self, facts: Mapping[str, bool]) -> tuple[str, ...]:
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


def load_profile(settings: LetterSettings, pages: Templates) -> Profile:
    """Read and check the profile that the settings name, and the slots and facts they give."""
    name = f"profiles/{settings.profile}.toml"
    if not pages.has(name):
        known = ", ".join(file.removesuffix(".toml") for file in pages.names("profiles"))
        raise SettingsError(
            f"letters.profile: there is no profile {settings.profile}, only {known}; choose one of "
            f"them, or write {name} in a folder for --templates"
        )
    text = pages.text(name)
    try:
        profile = Profile.model_validate(read_toml(text))
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
            f"letters.language: the profile {settings.profile} has no text in {base!r}, only in "
            f"{', '.join(profile.languages)}; choose one of them, or add it to a copy of {name}"
        )
    return profile


def check_sign_off(profile: Profile, settings: LetterSettings) -> None:
    """Refuse to sign off letters that are not complete.

    Raises
    ------
    SettingsError
        A slot is empty, or a fact is not declared.
    """
    for name in profile.undeclared(settings.facts):
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
