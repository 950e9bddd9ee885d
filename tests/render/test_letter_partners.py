"""A letter says that an option was tried with particular people, and counts as the report does."""

from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from recourse_audit.records.subject import SubjectReport
from tests.render.letters import LANGUAGES, OWN, add, drop, move, option, report, writer, written

MANY = {"guarantor": 4}
# With one person, with any of three, for several new ties, and what is said of a tie to end.
WORDS = {
    "en": (
        "We tested this with one particular person; with someone else it may not work.",
        "We tested this with 3 particular people, and it worked with each of them;",
        "We tested this with particular people;",
        "We tested one particular guarantor. Ending a different one may not help,",
    ),
    "de": (
        "Wir haben das mit einer bestimmten Person geprüft; mit einer anderen klappt es",
        "Wir haben das mit 3 bestimmten Personen geprüft, und mit jeder von ihnen klappte es;",
        "Wir haben das mit bestimmten Personen geprüft;",
        "nur einen bestimmten Fall (Bürge). Etwas anderes zu beenden hilft womöglich nicht",
    ),
    "fr": (
        "Nous l'avons testé avec une personne précise ; avec quelqu'un d'autre, cela pourrait ne",
        "Nous l'avons testé avec 3 personnes précises, et cela marchait avec chacune d'elles ;",
        "Nous l'avons testé avec des personnes précises ;",
        "Nous n'avons testé qu'un cas précis (lien « guarantor »). Mettre fin à autre chose",
    ),
    "es": (
        "Lo hemos comprobado con una persona concreta; con otra puede no funcionar.",
        "Lo hemos comprobado con 3 personas concretas, y funcionaba con cada una de ellas;",
        "Lo hemos comprobado con personas concretas;",
        "Solo hemos comprobado un caso concreto (vínculo «guarantor»). Poner fin a otra cosa",
    ),
}
ASKS = {
    "en": "please ask us first, also if you have someone else in mind",
    "de": "Bitte fragen Sie uns vorher, auch wenn Sie an jemand anderen denken",
    "fr": "demandez-nous d'abord, même si vous pensez à quelqu'un d'autre",
    "es": "pregúntenos antes, también si piensa en otra persona",
}
ALIKE = {
    "en": "There are 3 ways to do this: ask us which.",
    "de": "Dafür gibt es 3 Wege: Fragen Sie uns, welche.",
    "fr": "Il y a 3 façons de le faire : demandez-nous lesquelles.",
    "es": "Hay 3 maneras de hacerlo: pregúntenos cuáles.",
}
ENDING_SEVERAL = {
    "en": "We tested particular guarantors. Ending different ones may not help,",
    "de": "nur bestimmte Fälle (Bürgen). Etwas anderes zu beenden hilft womöglich nicht",
    "fr": "Nous n'avons testé que des cas précis (liens « guarantor »). Mettre fin à autre chose",
    "es": "Solo hemos comprobado casos concretos (vínculos «guarantor»). Poner fin a otra",
}


def text_of(found: SubjectReport, **letters: Any) -> str:
    by = writer(**letters)
    text = by.html(written(found, by)).split("</style>")[1]
    plain = str.maketrans({"\N{NO-BREAK SPACE}": " ", "\N{RIGHT SINGLE QUOTATION MARK}": "'"})
    return unescape(text).translate(plain)


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
    assert (len(letter.options), letter.options[0].alike, letter.option_count) == (1, 3, 3)
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
    if language == "en":
        assert "To protect other people we do not name it here." in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_several_ties_to_end_are_not_spoken_of_as_one(language: str) -> None:
    both = option(drop("P1000"), drop("P1001"))
    text = text_of(report(both, ties=MANY), language=language)
    assert ENDING_SEVERAL[language] in text
    assert WORDS[language][3] not in text


def test_the_phrase_of_the_user_for_a_new_tie_comes_with_the_same_words() -> None:
    found = report(option(add("P2000")), ties=MANY)
    text = text_of(found, words={"en": {"ties": {"guarantor": {"add": "find another guarantor"}}}})
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
    assert letter.option_count == len(found.recourse.options)
    text = text_of(found)
    assert "We found 8 options." in text
    assert "There are 2 ways to do this: ask us which." in text
    assert "There is no room here for 3 more options: please ask us about them." in text
    assert "We cannot describe one more option here, to protect other people" in text


@pytest.mark.parametrize(
    ("language", "one", "several", "more"),
    [
        ("en", "tested this change", "tested these changes", "one more option"),
        ("de", "diese Änderung geprüft", "diese Änderungen zusammen", "Eine weitere Mögl"),
        ("fr", "testé ce changement", "testé ces changements", "une autre possibilité"),
        ("es", "comprobado este cambio", "comprobado estos cambios", "otra opción"),
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
