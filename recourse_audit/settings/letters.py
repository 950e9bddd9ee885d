"""Who writes to people, in which language and in which words."""

import datetime
import re
from collections.abc import Collection, Iterable
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from recourse_audit.settings.section import Section

_LANGUAGE = re.compile(r"[a-z]{2,3}(_[A-Z]{2})?")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_LEVEL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_CURRENCY = re.compile(r"[A-Z]{3}")


def _forms(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _day(value: object) -> object:
    """Turn a TOML date into text, so that settings can be written as JSON."""
    return value.isoformat() if isinstance(value, datetime.date) else value


def _check_languages(table: Iterable[str]) -> None:
    for language in table:
        if not _LANGUAGE.fullmatch(language):
            raise ValueError(f"needs languages such as en or de as keys (got {language!r})")


Forms = Annotated[tuple[str, ...], BeforeValidator(_forms)]
ByLanguage = dict[str, dict[str, Forms]]


class LetterSettings(Section):
    """Who sends the letters, in which language and words, and what they may say about ties."""

    sender: str = Field(
        default="", description="Name of the organisation that decided and sends the letter."
    )
    address: tuple[str, ...] = Field(default=(), description="The sender's address, line by line.")
    contact: tuple[str, ...] = Field(
        default=(),
        description="How to reach staff who can help (office, telephone, e-mail), line by line.",
    )
    about: str | dict[str, str] = Field(
        default="",
        description="What the decision was about, such as 'Your application for a loan': one text "
        "in the language of the letters, or a table with one text per language.",
    )
    language: str = Field(
        default="en",
        description="Language of the letters: en, de, fr, es, or one with a catalogue of your own.",
    )
    profile: str = Field(
        default="generic",
        description="The legal profile: generic, us-credit, eu, or one of your own.",
    )
    parts: tuple[Literal["notice", "options"], ...] = Field(
        default=("notice", "options"),
        min_length=1,
        description="What a letter contains: the notice of the decision, the options, or both.",
    )
    slots: dict[str, str] = Field(
        default_factory=dict, description="Text for the slots that the profile leaves open."
    )
    facts: dict[str, bool] = Field(
        default_factory=dict,
        description="Facts about your case, true or false, on which the wording of the profile "
        "depends.",
    )
    k: int = Field(
        default=3,
        ge=2,
        description="A letter names a kind of tie only if the person has at least this many of it.",
    )
    known_kinds: tuple[str, ...] = Field(
        default=(),
        description="Kinds of ties that people are sure to know about; always named.",
    )
    name_columns: tuple[str, ...] = Field(
        default=(),
        description="Columns of the --names file that contain names of people; all of them if "
        "absent.",
    )
    valid_days: int = Field(
        default=90,
        ge=1,
        le=3650,
        description="Number of days for which a letter says that its options are valid.",
    )
    data_date: Annotated[str, BeforeValidator(_day)] = Field(
        default="", description="The date of the model and its data, such as 2026-03-31."
    )
    steady_share: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="From this share of tests on, a letter says that an option usually still "
        "worked.",
    )
    fragile_share: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Up to this share of tests, an option is fragile: a letter says that it "
        "often stopped working, it comes last, and it is not signed off without "
        "--accept fragile.",
    )
    decided: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="For each language and unfavourable class, the opening sentence of a "
        "letter, such as 'We have declined your application for a loan.'",
    )
    currencies: dict[str, str] = Field(
        default_factory=dict,
        description='Units that are money, with their currency codes: { euros = "EUR" }.',
    )
    words: ByLanguage = Field(
        default_factory=dict,
        description="For each language, the word for a kind of tie (singular, plural), an "
        "attribute, a unit or a class.",
    )
    drop: ByLanguage = Field(
        default_factory=dict,
        description="For each language, how to say that a tie of a kind is ended (singular; plural "
        "with {count}).",
    )
    add: ByLanguage = Field(
        default_factory=dict,
        description="For each language, how to say that a tie of a kind is added.",
    )
    set: dict[str, dict[str, dict[str, str]]] = Field(
        default_factory=dict,
        description="For each language and attribute, how to say that it reaches a level or "
        "category.",
    )

    @field_validator("about", mode="before")
    @classmethod
    def _check_about(cls, about: object) -> object:
        if not isinstance(about, dict):
            if not isinstance(about, str):
                raise ValueError(f"must be text, or a table of texts by language (got {about!r})")
            return about
        _check_languages(about)
        for language, text in about.items():
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"needs text for {language} (got {text!r})")
        return about

    @field_validator("language")
    @classmethod
    def _check_language(cls, language: str) -> str:
        if not _LANGUAGE.fullmatch(language):
            raise ValueError(f"must be a language such as en or de (got {language!r})")
        return language

    @field_validator("profile")
    @classmethod
    def _check_profile(cls, profile: str) -> str:
        if not _NAME.fullmatch(profile):
            raise ValueError(
                "must be the name of a file in templates/profiles, without .toml: lower-case "
                f"letters, digits, hyphens and underscores (got {profile!r})"
            )
        return profile

    @field_validator("data_date")
    @classmethod
    def _check_day(cls, day: str) -> str:
        try:
            return datetime.date.fromisoformat(day).isoformat() if day else ""
        except ValueError:
            raise ValueError(f"must be a date such as 2026-03-31 (got {day!r})") from None

    @field_validator("fragile_share")
    @classmethod
    def _check_fragile(cls, share: float, info: ValidationInfo) -> float:
        steady = info.data.get("steady_share", 1.0)
        if share > steady:
            raise ValueError(f"must not be larger than steady_share, {steady} (got {share})")
        return share

    @field_validator("decided")
    @classmethod
    def _check_sentences(cls, decided: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        _check_languages(decided)
        for language, table in decided.items():
            for name, sentence in table.items():
                if not sentence.strip():
                    raise ValueError(f"needs a sentence for {language}.{name}")
        return decided

    @field_validator("currencies")
    @classmethod
    def _check_codes(cls, currencies: dict[str, str]) -> dict[str, str]:
        for unit, code in currencies.items():
            if not _CURRENCY.fullmatch(code):
                raise ValueError(f"needs a three-letter currency code for {unit} (got {code!r})")
        return currencies

    @field_validator("set")
    @classmethod
    def _check_phrases(
        cls, phrases: dict[str, dict[str, dict[str, str]]]
    ) -> dict[str, dict[str, dict[str, str]]]:
        _check_languages(phrases)
        for language, table in phrases.items():
            for name, levels in table.items():
                for level, phrase in levels.items():
                    if not phrase.strip():
                        raise ValueError(f"needs a phrase for level {level} of {language}.{name}")
        return phrases

    def check_levels(self, categories: Collection[str]) -> None:
        """Refuse a phrase for a level that is not a number, unless the attribute is a category."""
        for language, table in self.set.items():
            for name, levels in table.items():
                strangers = [level for level in levels if not _LEVEL.fullmatch(level)]
                if strangers and name not in categories:
                    raise ValueError(
                        f"set needs numbers as levels of {language}.{name}, such as "
                        f'{{ "1" = "…", "0" = "…" }} (got {strangers[0]!r})'
                    )

    @field_validator("words", "drop", "add")
    @classmethod
    def _check_forms(cls, words: ByLanguage) -> ByLanguage:
        _check_languages(words)
        for language, table in words.items():
            for name, forms in table.items():
                if len(forms) not in {1, 2} or not all(form.strip() for form in forms):
                    raise ValueError(
                        f"needs one word, or a singular and a plural, for {language}.{name}"
                    )
        return words
