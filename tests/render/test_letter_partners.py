"""A letter says that an option was tried with particular people, and counts as the report does."""

from dataclasses import replace
from typing import Any

import pytest

from recourse_audit.records.report import SubjectReport
from tests.render.letters import LANGUAGES, OWN, add, drop, move, option, report, writer, written

MANY = {"guarantor": 4}
# With one person, with any of three, for several new ties, and what is said of a tie to end.
WORDS = {
    "en": (
        "This worked with one particular person, who is not named here",
        "This worked with any one of 3 particular people",
        "This worked with particular people",
        "we tested it with a particular one",
    ),
    "de": (
        "Das ging mit einer bestimmten Person, die wir hier zum Schutz ihrer Daten nicht nennen",
        "Das ging mit jeder einzelnen von 3 bestimmten Personen",
        "Das ging mit bestimmten Personen",
        "haben wir es mit einer bestimmten versucht",
    ),
    "fr": (
        "Cela a fonctionné avec une personne précise, que nous ne nommons pas ici",
        "Cela a fonctionné avec chacune de 3 personnes précises",
        "Cela a fonctionné avec des personnes précises",
        "avons essayé avec un lien précis",
    ),
    "es": (
        "Esto funcionó con una persona determinada, a la que no nombramos aquí",
        "Esto funcionó con cada una de 3 personas determinadas",
        "Esto funcionó con personas determinadas",
        "lo probamos con una determinada",
    ),
}
ASKS = {
    "en": "whether it would also work with someone you have in mind",
    "de": "ob jemand in Frage kommt, an den Sie denken",
    "fr": "un à qui vous pensez conviendrait",
    "es": "si serviría alguien en quien usted piensa",
}
ALIKE = {
    "en": "This describes 3 of the options that we found.",
    "de": "Das steht für 3 der Möglichkeiten, die wir gefunden haben.",
    "fr": "Cela représente 3 des possibilités que nous avons trouvées.",
    "es": "Esto representa 3 de las opciones que hemos encontrado.",
}


def text_of(found: SubjectReport, **letters: Any) -> str:
    by = writer(**letters)
    return by.html(written(found, by)).split("</style>")[1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_tie_is_said_to_work_with_a_particular_person(language: str) -> None:
    text = text_of(report(option(add("P2000")), ties=MANY), language=language)
    one, any_of, several, ended = WORDS[language]
    # In the ink of the text, not in that of the small print.
    assert f'<p class="whom">{one}' in text
    assert ASKS[language] in text
    assert any_of not in text
    # Nobody can be told to ask which of their connections is meant that they do not have.
    assert several not in text
    assert ended not in text
    assert "P2000" not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_options_that_differ_only_in_the_partner_are_counted_as_the_report_does(
    language: str,
) -> None:
    options = [option(add(f"P200{place}")) for place in range(3)]
    found = report(*options, ties=MANY)
    letter = written(found, writer(language=language))
    assert (len(letter.options), letter.options[0].alike, letter.found) == (1, 3, 3)
    text = text_of(found, language=language)
    assert WORDS[language][1] in text
    assert ASKS[language] in text
    assert ALIKE[language] in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_several_new_ties_are_said_to_need_particular_people(language: str) -> None:
    text = text_of(report(option(add("P2000"), add("P2001")), ties=MANY), language=language)
    assert WORDS[language][2] in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_tie_to_end_is_said_to_be_a_particular_one(language: str) -> None:
    text = text_of(report(option(drop("P1000")), ties=MANY), language=language)
    assert WORDS[language][3] in text
    assert WORDS[language][0] not in text


def test_the_phrase_of_the_user_for_a_new_tie_comes_with_the_same_words() -> None:
    found = report(option(add("P2000")), ties=MANY)
    text = text_of(found, add={"en": {"guarantor": "Find another guarantor"}})
    assert "Find another guarantor" in text
    assert WORDS["en"][0] in text


def test_of_the_only_tie_of_a_kind_it_is_known_which_is_meant() -> None:
    found = report(option(drop("P1000")), ties={"guarantor": 1})
    assert WORDS["en"][3] not in text_of(found, known_kinds=["guarantor"])


def test_a_partner_who_comes_twice_is_one_person() -> None:
    there, back = option(add("P2000")), option(replace(add("P2000"), tie=("P2000", OWN)))
    letter = written(report(there, back, ties=MANY), writer())
    assert (letter.options[0].alike, letter.options[0].partners) == (2, 1)


def test_all_options_of_the_report_are_accounted_for() -> None:
    listed = [option(move("savings", 0.0, 500.0 * n)) for n in range(1, 6)]
    alike = [option(drop("P1000")), option(drop("P1001"))]
    found = report(*alike, *listed, option(drop("P1000", "hobby")), ties=MANY)
    letter = written(found, writer())
    assert (len(letter.options), letter.unlisted, letter.withheld) == (3, 3, 1)
    assert found.recourse is not None
    assert letter.found == len(found.recourse.options)
    text = text_of(found)
    assert "We found 8 options." in text
    assert "This describes 2 of the options that we found." in text
    assert "There are 3 more options that do not fit in this letter." in text
    assert "There is one more option that we cannot describe in this letter" in text


@pytest.mark.parametrize(
    ("language", "one", "several", "more"),
    [
        ("en", "exactly this change and", "exactly these changes and", "one more option"),
        ("de", "genau diese Änderung vor", "genau diese Änderungen vor", "eine weitere Mögl"),
        ("fr", "exactement ce changement", "exactement ces changements", "encore une possib"),
        ("es", "exactamente este cambio", "exactamente estos cambios", "una opción más"),
    ],
)
def test_one_is_not_spoken_of_as_several(language: str, one: str, several: str, more: str) -> None:
    single = report(option(move("savings", 1.0, 2.0)))
    pair = report(option(move("savings", 1.0, 2.0), move("loan_amount", 3.0, 2.0)))
    assert one in text_of(single, language=language)
    assert several not in text_of(single, language=language)
    assert several in text_of(pair, language=language)
    hidden = report(option(move("savings", 1.0, 2.0)), option(drop("P1000", "hobby")))
    assert more in text_of(hidden, language=language)
