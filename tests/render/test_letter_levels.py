"""A letter says what level an attribute reaches in words that a reader understands."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from recourse_audit.errors import SettingsError
from recourse_audit.records.recourse import SetAction
from recourse_audit.render.i18n import Words
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.templates import Templates
from recourse_audit.settings import parse_settings, settings_schema
from tests.render.letters import LANGUAGES, LETTERS, TABLES, move, option, report, written

SPACE = "\N{NO-BREAK SPACE}"
MONTHS = {
    "en": ["month", "months"],
    "de": ["Monat", "Monate"],
    "fr": ["mois entier", "mois entiers"],
    "es": ["mes", "meses"],
}


def text_of(action: SetAction, rule: dict[str, Any], levels: int = 1, **letters: Any) -> str:
    """A letter about one attribute that moves by one rule, and can reach this many levels."""
    recourse = {"attributes": [{"name": "a", "step": 1, **rule}]}
    words = letters.pop("words", {})
    given = TABLES | {"recourse": recourse, "letters": LETTERS | letters, "words": words}
    by = LetterWriter(parse_settings(given, folder=Path(), origin="audit.toml"), Templates())
    found = report(option(action), permitted={"a": levels})
    return by.html(written(found, by)).split("</style>")[1].replace(SPACE, " ")


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "Raise your a from 1 month to 30 months"),
        ("de", "erhöhen: 30 Monate statt 1 Monat"),
        ("fr", "porter de 1 mois entier à 30 mois entiers"),
        ("es", "subir de 1 mes a 30 meses"),
    ],
)
def test_a_unit_is_in_the_form_that_goes_with_its_number(language: str, words: str) -> None:
    names = {one: {"months": forms} for one, forms in MONTHS.items()}
    rule = {"unit": "months", "direction": "up"}
    assert words in text_of(move("a", 1.0, 30.0), rule, words=names, language=language)


@pytest.mark.parametrize(
    ("language", "value", "one"),
    [
        *((language, 1.0, True) for language in LANGUAGES),
        *((language, 2.0, False) for language in LANGUAGES),
        ("en", 1.5, False),
        ("fr", 1.5, True),
        ("fr", 0.0, True),
        ("de", 0.0, False),
        # It is written as 1.
        ("en", 1.001, True),
    ],
)
def test_a_language_chooses_between_one_and_several(language: str, value: float, one: bool) -> None:
    assert Words(language, Templates()).form(value, ("one", "several")) == (
        "one" if one else "several"
    )


def test_a_unit_in_one_form_is_used_for_all_numbers() -> None:
    assert Words("en", Templates()).form(5.0, ("km",)) == "km"


@pytest.mark.parametrize(
    ("language", "yes", "no"),
    [
        ("en", "Change your a from no to yes", "Change your a from yes to no"),
        ("de", "A ändern: Ja statt Nein", "A ändern: Nein statt Ja"),
        ("fr", "A : passer de non à oui", "A : passer de oui à non"),
        ("es", "A: cambiar de no a sí", "A: cambiar de sí a no"),
    ],
)
def test_what_is_only_0_or_1_is_yes_or_no(language: str, yes: str, no: str) -> None:
    rule = {"direction": "any"}
    assert yes in text_of(move("a", 0.0, 1.0), rule, language=language)
    assert no in text_of(move("a", 1.0, 0.0), rule, language=language)


@pytest.mark.parametrize(
    ("rule", "levels"),
    [
        ({"direction": "up"}, 5),
        ({"direction": "any", "unit": "cards"}, 1),
        ({"direction": "any", "step": 0.5}, 1),
        ({"direction": "down"}, 1),
        ({"direction": "any", "implies": [{"name": "b", "by": 1}]}, 1),
    ],
)
def test_what_may_be_another_number_stays_a_number(rule: dict[str, Any], levels: int) -> None:
    text = text_of(move("a", 1.0, 0.0), rule, levels)
    assert "from yes to no" not in text
    assert "Reduce your a from 1" in text


def test_a_range_of_0_to_1_in_the_rule_makes_it_yes_or_no() -> None:
    rule = {"direction": "down", "min": 0, "max": 1}
    assert "Change your a from yes to no" in text_of(move("a", 1.0, 0.0), rule)


PHRASES = {
    "en": {"a": {"1": "Get a telephone line", "2.50": "Get two and a half"}},
    "de": {"a": {"1": "Einen Telefonanschluss anmelden"}},
}


@pytest.mark.parametrize(
    ("language", "after", "phrase"),
    [
        ("en", 1.0, "Get a telephone line"),
        ("en", 2.5, "Get two and a half"),
        ("en_GB", 1.0, "Get a telephone line"),
        ("de_AT", 1.0, "Einen Telefonanschluss anmelden"),
        ("en", 3.0, "Raise your a from 0 to 3"),
        ("es", 1.0, "A: cambiar de no a sí"),
    ],
)
def test_a_phrase_for_a_level_takes_the_place_of_ours(
    language: str, after: float, phrase: str
) -> None:
    words = {name: {"levels": levels} for name, levels in PHRASES.items()}
    text = text_of(move("a", 0.0, after), {"direction": "any"}, words=words, language=language)
    assert f"<li>{phrase}.</li>" in text


@pytest.mark.parametrize(
    ("phrases", "words"),
    [
        ({"en": {"levels": {"a": {"yes": "x"}}}}, "words: en.levels needs numbers as levels of a"),
        ({"en": {"levels": {"a": {"1": " "}}}}, "words.en.levels.a.1: needs text"),
        ({"english": {}}, "words.english: must be a language such as en or de"),
    ],
)
def test_phrases_for_levels_are_checked(phrases: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(words)):
        text_of(move("a", 0.0, 1.0), {"direction": "any"}, words=phrases)


def test_the_schema_knows_phrases_for_levels() -> None:
    levels = json.loads(settings_schema())["$defs"]["LanguageWords"]["properties"]["levels"]
    by_name = levels["additionalProperties"]
    assert by_name["additionalProperties"] == {"type": "string"}
