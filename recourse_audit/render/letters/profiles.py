"""Legal profiles: dated files with what a letter must say, and the sources that require it.

Nothing legal is in the code. A profile has text by language, in blocks. A block is included always,
only with or only without confirmed reasons, or depending on a fact, which the user declares true or
false in `letters.facts`; nothing is assumed until then. A block may have slots, which the user
fills in with `letters.slots`. A profile is not legal advice: a person signs off.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from recourse_audit.errors import SettingsError, TemplateError
from recourse_audit.render.i18n import PLACEHOLDER
from recourse_audit.render.templates import Templates
from recourse_audit.settings import LetterSettings, first_problem
from recourse_audit.settings.section import Section, read_toml

# Filled in by the program, from the settings and the letter.
OWN_SLOTS = frozenset({"sender", "address", "contact", "decided", "decision", "reference"})
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

    part: Literal["notice", "reasons", "remedies"]
    when: str = ALWAYS
    source: str = ""
    text: dict[str, str] = Field(min_length=1)

    @property
    def fact(self) -> str | None:
        """The fact that decides whether this is included, if there is one."""
        plain = self.when in {ALWAYS, WITH_REASONS, WITHOUT_REASONS}
        return None if plain else self.when.removeprefix(NOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undeclared:
    """Takes the place of a text that depends on a fact nobody has declared true or false."""

    fact: str


class Profile(Section):
    """What a letter must say, which law requires it, and as of which date."""

    title: str
    as_of: date
    note: str
    max_reasons: int = Field(default=4, ge=1, le=6)
    sources: dict[str, Source] = Field(default_factory=dict)
    slots: dict[str, str] = Field(default_factory=dict)
    facts: dict[str, str] = Field(default_factory=dict)
    blocks: tuple[Block, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for place, block in enumerate(self.blocks):
            where = f"blocks[{place}]"
            if "en" not in block.text:
                raise ValueError(f"{where}.text: needs the English text, en")
            if block.source and block.source not in self.sources:
                raise ValueError(f"{where}.source: {block.source!r} is not among the sources")
            self._known_condition(where, block.when)
            for language, text in block.text.items():
                slots = set(PLACEHOLDER.findall(text))
                unknown = slots - set(self.slots) - OWN_SLOTS
                if unknown:
                    raise ValueError(
                        f"{where}.text.{language}: {{{min(unknown)}}} is not among the slots"
                    )
                if slots != set(PLACEHOLDER.findall(block.text["en"])):
                    raise ValueError(
                        f"{where}.text.{language}: has other slots than the English text"
                    )
        return self

    def _known_condition(self, where: str, when: str) -> None:
        if when in {ALWAYS, WITH_REASONS, WITHOUT_REASONS}:
            return
        found = _CONDITION.fullmatch(when)
        if found is None or found[2] not in self.facts:
            known = [ALWAYS, WITH_REASONS, WITHOUT_REASONS, *self.facts]
            raise ValueError(
                f"{where}.when: must be one of {', '.join(known)}, or 'not' and a fact "
                f"(got {when!r})"
            )

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in which every block has text."""
        common = set.intersection(*(set(block.text) for block in self.blocks))
        return tuple(sorted(common))

    def said(
        self, part: str, *, reasons: bool, facts: dict[str, bool]
    ) -> tuple[Block | Undeclared, ...]:
        """The blocks of a part that apply; one `Undeclared` per fact that is still open."""
        said: dict[int | Undeclared, Block | Undeclared] = {}
        for place, block in enumerate(self.blocks):
            if block.part != part:
                continue
            if block.fact is not None and block.fact not in facts:
                undeclared = Undeclared(fact=block.fact)
                said[undeclared] = undeclared
            elif _applies(block, reasons=reasons, facts=facts):
                said[place] = block
        return tuple(said.values())

    @property
    def names_class(self) -> bool:
        """Whether a text names the class that was decided on, not only what that means."""
        return any("{decision}" in text for block in self.blocks for text in block.text.values())

    def undeclared(self, facts: dict[str, bool]) -> tuple[str, ...]:
        """The facts that a text depends on and that nobody has declared true or false."""
        needed = {block.fact for block in self.blocks if block.fact is not None}
        return tuple(name for name in self.facts if name in needed - set(facts))


def load_profile(settings: LetterSettings, pages: Templates) -> Profile:
    """Read and check the profile that the settings name, and the slots and facts they give."""
    name = f"profiles/{settings.profile}.toml"
    if not pages.has(name):
        known = ", ".join(one.removesuffix(".toml") for one in pages.names("profiles"))
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
    _known(settings.slots, profile.slots, "letters.slots", name)
    _known(settings.facts, profile.facts, "letters.facts", name)
    base = settings.language.split("_", maxsplit=1)[0]
    if base not in profile.languages:
        raise SettingsError(
            f"letters.language: the profile {settings.profile} has no text in {base!r}, only in "
            f"{', '.join(profile.languages)}; choose one of them, or add it to a copy of {name}"
        )
    return profile


def open_slots(profile: Profile, settings: LetterSettings) -> tuple[str, ...]:
    """The keys of the settings that must be filled in before a letter can be signed off."""
    needed = {"sender", "address", "contact"}
    for reasons in (True, False):
        for part in ("notice", "reasons", "remedies"):
            for block in profile.said(part, reasons=reasons, facts=settings.facts):
                if isinstance(block, Block):
                    needed |= set(PLACEHOLDER.findall(block.text["en"]))
    given = {
        "decided",
        "decision",
        "reference",
        *(name for name, text in settings.slots.items() if text),
    }
    given |= {name for name in ("sender", "address", "contact") if getattr(settings, name)}
    return tuple(
        f"letters.{name}" if name in OWN_SLOTS else f"letters.slots.{name}"
        for name in sorted(needed - given)
    )


def check_sign_off(profile: Profile, settings: LetterSettings) -> None:
    """Refuse to sign off letters that are not complete.

    Raises
    ------
    SettingsError
        A slot is empty, or a fact is not declared.
    """
    undeclared = profile.undeclared(settings.facts)
    if undeclared:
        name = undeclared[0]
        raise SettingsError(
            f"letters cannot be signed off before letters.facts.{name} is declared, because the "
            f"text of the profile {settings.profile} depends on it ({profile.facts[name]!r}); "
            f"write {name} = true or {name} = false under [letters.facts] in audit.toml and pass "
            "that file with --settings, or make drafts without --sign-off"
        )
    empty = open_slots(profile, settings)
    if empty:
        raise SettingsError(
            f"letters cannot be signed off without {', '.join(empty)}; fill in what is missing, or "
            "make drafts without --sign-off"
        )


def _applies(block: Block, *, reasons: bool, facts: dict[str, bool]) -> bool:
    if block.fact is not None:
        return facts[block.fact] != block.when.startswith(NOT)
    return block.when == ALWAYS or (block.when == WITH_REASONS) == reasons


def _known(given: Mapping[str, object], known: dict[str, str], key: str, name: str) -> None:
    unknown = [one for one in given if one not in known]
    if unknown:
        raise SettingsError(
            f"{key}.{unknown[0]}: {name} has no such slot or fact; it has: "
            f"{', '.join(known) or 'none'}"
        )
