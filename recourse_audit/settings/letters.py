"""Who writes to people, in which language and in which words."""

import re
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from recourse_audit.settings.section import Section, Share
from recourse_audit.settings.words import LANGUAGE, check_languages

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_CURRENCY = re.compile(r"[A-Z]{3}")


class LetterSettings(Section):
    """Who sends the letters, in which language and words, and what they may say about ties."""

    sender: str = ""
    """Name of the organisation that decided and sends the letter."""
    address: tuple[str, ...] = ()
    """The sender's address, line by line."""
    contact: tuple[str, ...] = ()
    """How to reach staff who can help (office, telephone, e-mail), line by line."""
    about: str | dict[str, str] = ""
    """What the decision was about, such as 'Your application for a loan': one text in the language
    of the letters, or a table with one text per language."""
    language: str = "en"
    """Language of the letters: en, de, fr, es, or one with a catalogue of your own."""
    profile: str = ""
    """The legal profile: us-credit, eu, uk, generic if no law requires a letter, or one of your
    own. Drafts are generic until you choose; letters are not signed off before."""
    parts: tuple[Literal["notice", "options"], ...] = Field(
        default=("notice", "options"), min_length=1
    )
    """What a letter contains: the notice of the decision, the options, or both."""
    slots: dict[str, str] = Field(default_factory=dict)
    """Text for the slots that the profile leaves open."""
    facts: dict[str, bool] = Field(default_factory=dict)
    """Facts about your case, true or false, on which the wording of the profile depends."""
    k: int = Field(default=3, ge=2)
    """A letter names a kind of tie only if the person has at least this many of it."""
    known_kinds: tuple[str, ...] = ()
    """Kinds of ties that people are sure to know about; always named."""
    name_columns: tuple[str, ...] = ()
    """Columns of the --names file that contain names of people; all of them if absent."""
    valid_days: int = Field(default=90, ge=1, le=3650)
    """Number of days for which a letter says that its options are valid."""
    steady_share: Share = 0.8
    """From this share of tests on, a letter says that an option worked in most tests."""
    fragile_share: Share = 0.5
    """Up to this share of tests, an option is fragile: a letter says that it is not reliable, it
    comes last, and it is not signed off without --accept fragile."""
    currencies: dict[str, str] = Field(default_factory=dict)
    """Units that are money, with their currency codes: { euros = "EUR" }."""

    @field_validator("about", mode="before")
    @classmethod
    def _check_about(cls, about: object) -> object:
        if not isinstance(about, dict):
            if not isinstance(about, str):
                raise ValueError(f"must be text, or a table of texts by language (got {about!r})")
            return about
        check_languages(about)
        for language, text in about.items():
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"needs text for {language} (got {text!r})")
        return about

    @field_validator("language")
    @classmethod
    def _check_language(cls, language: str) -> str:
        if not LANGUAGE.fullmatch(language):
            raise ValueError(f"must be a language such as en or de (got {language!r})")
        return language

    @field_validator("profile")
    @classmethod
    def _check_profile(cls, profile: str) -> str:
        if profile and not _NAME.fullmatch(profile):
            raise ValueError(
                "must be the name of a file in templates/profiles, without .toml: lower-case "
                f"letters, digits, hyphens and underscores (got {profile!r})"
            )
        return profile

    @field_validator("fragile_share")
    @classmethod
    def _check_fragile(cls, share: float, info: ValidationInfo) -> float:
        steady = info.data.get("steady_share", 1.0)
        if share > steady:
            raise ValueError(f"must not be larger than steady_share, {steady} (got {share})")
        return share

    @field_validator("currencies")
    @classmethod
    def _check_codes(cls, currencies: dict[str, str]) -> dict[str, str]:
        for unit, code in currencies.items():
            if not _CURRENCY.fullmatch(code):
                raise ValueError(f"needs a three-letter currency code for {unit} (got {code!r})")
        return currencies
