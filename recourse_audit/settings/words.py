"""What the audit is called, and the user's own words for what people read about."""

import datetime
import re
from collections.abc import Collection, Iterable
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator, model_validator

from recourse_audit.settings.policy import TieRule
from recourse_audit.settings.section import Section

LANGUAGE = re.compile(r"[a-z]{2,3}(_[A-Z]{2})?")
_LEVEL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
COUNT = "{count}"


def _split_forms(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _write_day(value: object) -> object:
    """Turn a TOML date into text, so that settings can be written as JSON."""
    return value.isoformat() if isinstance(value, datetime.date) else value


def _check_day(day: str) -> str:
    try:
        return datetime.date.fromisoformat(day).isoformat() if day else ""
    except ValueError:
        raise ValueError(f"must be a date such as 2026-03-31 (got {day!r})") from None


def _check_forms(forms: tuple[str, ...]) -> tuple[str, ...]:
    if len(forms) > 2 or not all(form.strip() for form in forms):
        raise ValueError(f"needs one text, or a singular and a plural (got {list(forms)})")
    return forms


def check_languages(table: Iterable[str]) -> None:
    """Refuse keys that are no languages."""
    for language in table:
        if not LANGUAGE.fullmatch(language):
            raise ValueError(f"needs languages such as en or de as keys (got {language!r})")


Day = Annotated[str, BeforeValidator(_write_day)]
Forms = Annotated[tuple[str, ...], BeforeValidator(_split_forms)]


class AuditSettings(Section):
    """What was audited, for whom and by whom: the first line of every page."""

    title: str = ""
    """Name of the audit, such as 'Lending audit, Q3'."""
    organisation: str = ""
    """Whose model it is."""
    purpose: str = ""
    """What the model does, as the end of a sentence about it: 'decides on applications for a
    loan'."""
    data_as_of: Day = ""
    """The date of the data, such as 2026-09-30 (without quotes)."""
    auditor: str = ""
    """Who audits."""
    notice: str = ""
    """A sentence that stands at the top of every page, such as 'Sample data: invented people.'"""

    _check_day = field_validator("data_as_of")(_check_day)


class TieWords(Section):
    """What a kind of tie is called, and what ending or adding one is called."""

    name: Forms = ()
    """The kind: singular, plural ('standing payment', …)."""
    end: Forms = ()
    """What ending one is called, then what ending {count} of them is called: 'stop a standing
    payment', 'stop {count} standing payments'. One text without {count} is for a kind whose ties
    end together: 'move to another address'."""
    add: Forms = ()
    """What adding one, and {count} of them, is called."""
    caution: str = ""
    """What a person must know before they do so; for letters."""

    _check = field_validator("name", "end", "add")(_check_forms)


class LanguageWords(Section):
    """The words of one language. Keys besides these tables are names, each with its word."""

    names: dict[str, Forms] = Field(default_factory=dict)
    """The word (or singular and plural) for a class, an attribute, a group, a category or a unit:
    denied = 'refused'."""
    people: dict[str, str] = Field(default_factory=dict)
    """What the people of a group are called in a sentence: south = 'people in the South'."""
    ties: dict[str, TieWords] = Field(default_factory=dict)
    """What kinds of ties are called, by kind."""
    levels: dict[str, dict[str, str]] = Field(default_factory=dict)
    """For an attribute, how to say that it reaches a level or a category."""
    decided: dict[str, str] = Field(default_factory=dict)
    """For an unfavourable class, the opening sentence of a letter, such as 'We have declined your
    application for a loan.'"""

    @model_validator(mode="before")
    @classmethod
    def _gather_names(cls, table: object) -> object:
        """Keys that are no table of ours are names."""
        if not isinstance(table, dict):
            return table
        tables = {name: value for name, value in table.items() if isinstance(value, dict)}
        names = {name: value for name, value in table.items() if name not in tables}
        return {**tables, "names": {**tables.get("names", {}), **names}}

    @field_validator("names")
    @classmethod
    def _check_names(cls, names: dict[str, Forms]) -> dict[str, Forms]:
        for name, forms in names.items():
            if not forms or len(forms) > 2 or not all(form.strip() for form in forms):
                raise ValueError(f"needs one word, or a singular and a plural, for {name}")
        return names

    @field_validator("people", "decided")
    @classmethod
    def _check_texts(cls, texts: dict[str, str]) -> dict[str, str]:
        for name, text in texts.items():
            if not text.strip():
                raise ValueError(f"needs text for {name} (got {text!r})")
        return texts

    @field_validator("levels")
    @classmethod
    def _check_levels(cls, levels: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        for name, phrases in levels.items():
            for level, phrase in phrases.items():
                if not phrase.strip():
                    raise ValueError(f"needs a phrase for level {level} of {name}")
        return levels


WordSettings = dict[str, LanguageWords]


def check_words(words: WordSettings, categories: Collection[str]) -> None:
    """Refuse unknown languages, and phrases for a level that is no number of a number."""
    check_languages(words)
    for language, own in words.items():
        for name, levels in own.levels.items():
            strangers = [level for level in levels if not _LEVEL.fullmatch(level)]
            if strangers and name not in categories:
                raise ValueError(
                    f"{language}.levels needs numbers as levels of {name}, such as "
                    f'{{ "1" = "…", "0" = "…" }} (got {strangers[0]!r})'
                )


def check_endings(words: WordSettings, rules: Iterable[TieRule]) -> None:
    """Refuse words that call the end of some ties of a kind the end of all of them, or the reverse.

    "Move to another address" ends every tie of the kind: as the word for ending one of three it
    would advise what was not tested. A rule for "*" is about the kinds without a rule of their own.
    """
    ending = [rule for rule in rules if "drop" in rule.allow]
    for language, own in words.items():
        for kind, tie in own.ties.items():
            ruled = [rule for rule in ending if rule.kind == kind]
            ruled = ruled or [rule for rule in ending if rule.kind == "*"]
            key, counted = f"{language}.ties.{kind}.end", any(COUNT in form for form in tie.end)
            if tie.end and not counted and not all(rule.together for rule in ruled):
                raise ValueError(
                    f"{key} has no {COUNT} ({tie.end[-1]!r}), but the policy ends ties of this "
                    f"kind one by one; add a plural with {COUNT}, or set together = true in its "
                    "rule of recourse.ties"
                )
            if counted and any(rule.together for rule in ruled):
                raise ValueError(
                    f"{key} has {COUNT} ({tie.end[-1]!r}), but the policy ends all ties of this "
                    "kind together; give one text for that, such as 'move to another address'"
                )
