"""What people read: what the audit is called, the user's own words, and who sends letters."""

import datetime
import re
from collections.abc import Collection, Iterable
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from recourse_audit.settings.policy import TieRule
from recourse_audit.settings.section import BY_FORM, PLAIN, TABLE, Section, Share

LANGUAGE = "[a-z]{2,3}(_[A-Z]{2})?"
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


def _check_form(form: str, needs: str) -> AfterValidator:
    """Refuse a text that is not of a form as a whole."""

    def check(text: str) -> str:
        if not re.fullmatch(form, text):
            raise ValueError(f"{needs} (got {text!r})")
        return text

    return AfterValidator(check)


Day = Annotated[str, BeforeValidator(_write_day), AfterValidator(_check_day)]
Forms = Annotated[tuple[str, ...], BeforeValidator(_split_forms), AfterValidator(_check_forms)]
Text = Annotated[str, _check_form(r"(?s).*\S.*", "needs text")]
Language = Annotated[str, _check_form(LANGUAGE, "must be a language such as en or de")]
Currency = Annotated[str, _check_form("[A-Z]{3}", "must be a currency code of three letters")]
PROFILE = "must be the name of a file in templates/profiles, without .toml: lower-case letters, "
Profile = Annotated[
    str, _check_form("([a-z0-9][a-z0-9_-]*)?", f"{PROFILE}digits, hyphens and underscores")
]


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


class TieWords(Section):
    """What a kind of tie is called, and what ending, adding or moving one is called."""

    name: Forms = ()
    """The kind: singular, plural ('standing payment', …)."""
    end: Forms = ()
    """What ending one is called, then what ending {count} of them is called: 'stop a standing
    payment', 'stop {count} standing payments'. One text without {count} is for a kind whose ties
    end together: 'move to another address'."""
    add: Forms = ()
    """What adding one, and {count} of them, is called."""
    move: Forms = ()
    """What leaving one far end for another is called, and doing so with {count} of them: 'change
    employer'."""
    forward: str = ""
    """What a tie with a direction is called at its first end: 'recommends'."""
    backward: str = ""
    """What it is called at its second end: 'recommended by'."""
    caution: str = ""
    """What a person must know before they do so; for letters."""


class LanguageWords(Section):
    """The words of one language. Keys besides these tables are names, each with its word."""

    names: dict[str, Annotated[Forms, Field(min_length=1)]] = Field(default_factory=dict)
    """The word (or singular and plural) for a class, an attribute, a group, a category, a unit or
    a kind of nodes: denied = 'refused', employer = ['employer', 'employers']."""
    people: dict[str, Text] = Field(default_factory=dict)
    """What the people of a group are called in a sentence: south = 'people in the South'."""
    ties: dict[str, TieWords] = Field(default_factory=dict)
    """What kinds of ties are called, by kind."""
    levels: dict[str, dict[str, Text]] = Field(default_factory=dict)
    """For an attribute, how to say that it reaches a level or a category."""
    reasons: dict[str, Text] = Field(default_factory=dict)
    """What a letter says of a column or a kind of tie as a reason for the decision, if no code of
    the legal profile does: late_payments = 'Late payments in the past'."""
    cautions: dict[str, Text] = Field(default_factory=dict)
    """What a person must know before they change an attribute, as a sentence after the change."""
    decided: dict[str, Text] = Field(default_factory=dict)
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


WordSettings = dict[Language, LanguageWords]


def check_words(words: WordSettings, categories: Collection[str]) -> None:
    """Refuse phrases for a level that is no number of a number."""
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


class LetterSettings(Section):
    """Who sends the letters, in which language and words, and what they may say about ties."""

    sender: str = ""
    """Name of the organisation that decided and sends the letter."""
    address: tuple[str, ...] = ()
    """The sender's address, line by line."""
    contact: tuple[str, ...] = ()
    """How to reach staff who can help (a person's name, telephone with hours, e-mail), line by
    line."""
    about: Annotated[Annotated[str, PLAIN] | Annotated[dict[Language, Text], TABLE], BY_FORM] = ""
    """What the decision was about, such as 'Your application for a loan': one text in the language
    of the letters, or a table with one text per language."""
    language: Language = "en"
    """Language of the letters: en, de, fr, es, or one with a catalogue of your own."""
    profile: Profile = ""
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
    currencies: dict[str, Currency] = Field(default_factory=dict)
    """Units that are money, with their currency codes: { euros = "EUR" }."""

    @field_validator("fragile_share")
    @classmethod
    def _check_fragile(cls, share: float, info: ValidationInfo) -> float:
        steady = info.data.get("steady_share", 1.0)
        if share > steady:
            raise ValueError(f"must not be larger than steady_share, {steady} (got {share})")
        return share
