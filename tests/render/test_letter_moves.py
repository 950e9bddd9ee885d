"""A letter says that a tie moves, and names the new far end only if many people share it."""

from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from recourse_audit.records.recourse import MoveAction
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.terminal import what_if_lines
from tests.render.letters import LANGUAGES, OWN, drop, option, report, settings, writer, written
from tests.render.test_signing import REVIEWED, decided

SMALLEST = settings().groups.smallest
HELD = {"guarantor": 4}
WORDS: dict[str, Any] = {"en": {"ties": {"guarantor": {"move": "change your guarantor"}}}}
# Without words of one's own; with the far end named; without; and with a person at the far end.
SAID = {
    "en": (
        "replace one of your connections of this kind by a new one",
        "We tested this with Acme; with another choice it may not work.",
        "We tested this with one particular choice; with another it may not work.",
        "We tested this with one particular person;",
    ),
    "de": (
        "eine Ihrer Verbindungen dieser Art durch eine neue ersetzen",
        "Wir haben das mit Acme geprüft; mit einer anderen Wahl klappt es womöglich nicht.",
        "Wir haben das mit einer bestimmten Wahl geprüft;",
        "Wir haben das mit einer bestimmten Person geprüft;",
    ),
    "fr": (
        "remplacer un de vos liens de ce type par un nouveau",
        "Nous l'avons testé avec Acme ; avec un autre choix, cela pourrait ne pas marcher.",
        "Nous l'avons testé avec un choix précis ;",
        "Nous l'avons testé avec une personne précise ;",
    ),
    "es": (
        "sustituir uno de sus vínculos de este tipo por uno nuevo",
        "Lo hemos comprobado con Acme; con otra elección puede no funcionar.",
        "Lo hemos comprobado con una elección concreta;",
        "Lo hemos comprobado con una persona concreta;",
    ),
}


def moving(to: str, shared_by: int | None, old: str = "P1000") -> MoveAction:
    return MoveAction(tie=(OWN, old), to=to, kind="guarantor", shared_by=shared_by, cost=1.0)


def text_of(found: SubjectReport, **letters: Any) -> str:
    by = writer(**letters)
    text = by.html(written(found, by)).split("</style>")[1]
    plain = str.maketrans({"\N{NO-BREAK SPACE}": " ", "\N{RIGHT SINGLE QUOTATION MARK}": "'"})
    return unescape(text).translate(plain)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_far_end_is_named_from_the_smallest_number_of_people_on(language: str) -> None:
    step, named, unnamed, person = SAID[language]
    for count in (SMALLEST, SMALLEST + 1):
        text = text_of(report(option(moving("Acme", count)), ties=HELD), language=language)
        assert step in text
        assert named in text
        assert unnamed not in text
        assert person not in text
    for count in (0, 1, SMALLEST - 1):
        text = text_of(report(option(moving("Acme", count)), ties=HELD), language=language)
        assert step in text
        assert unnamed in text
        assert "Acme" not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_person_at_the_far_end_is_never_named(language: str) -> None:
    text = text_of(report(option(moving("P2000", None)), ties=HELD), language=language)
    assert SAID[language][3] in text
    assert SAID[language][2] not in text
    assert "P2000" not in text


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "We tested this with the employer Acme;"),
        ("de", "Wir haben das mit Arbeitgeber Acme geprüft;"),
        ("fr", "avec employeur Acme ;"),
        ("es", "con empleador Acme;"),
    ],
)
def test_the_kind_in_an_id_is_said_in_words(language: str, words: str) -> None:
    own = f"person:{OWN}"
    action = MoveAction(
        tie=(own, "employer:Old"), to="employer:Acme", kind="guarantor", shared_by=SMALLEST
    )
    found = report(option(action), ties=HELD)
    found = replace(found, subject=replace(found.subject, id=own))
    kinds = {"de": "Arbeitgeber", "fr": "employeur", "es": "empleador"}
    names = {name: {"employer": word} for name, word in kinds.items()}
    text = text_of(found, known_kinds=["guarantor"], language=language, words=names)
    assert words in text
    assert "Old" not in text


def test_if_one_of_two_far_ends_may_not_be_named_neither_is() -> None:
    both = option(moving("Acme", SMALLEST), moving("Bolt", SMALLEST - 1, "P1001"))
    text = text_of(report(both, ties=HELD))
    assert "Acme" not in text
    assert "Bolt" not in text
    assert "We tested this with 2 particular choices" in text


def test_options_to_different_named_far_ends_are_told_apart_and_others_are_told_once() -> None:
    named = [option(moving(name, SMALLEST)) for name in ("Acme", "Bolt")]
    by = writer()
    assert len(written(report(*named, ties=HELD), by).options) == 2
    few = [option(moving(name, 1)) for name in ("Acme", "Bolt")]
    [told] = written(report(*few, ties=HELD), by).options
    assert (told.alike, told.unnamed) == (2, 2)


def test_the_users_words_say_what_a_move_is_called() -> None:
    found = report(option(moving("Acme", SMALLEST)), ties=HELD)
    text = text_of(found, words=WORDS)
    assert "Change your guarantor." in text
    # Which of four is meant cannot be said, and that must be said.
    assert "We tested one particular" in text
    assert "Talk to us before you end anything." in text
    words = writer(words=WORDS)._words
    [said] = what_if_lines("change", moving("Acme", SMALLEST), words)
    assert said == f"change your guarantor ({OWN}\N{EN DASH}P1000 \N{RIGHTWARDS ARROW} Acme)"


def test_a_kind_that_would_tell_who_is_meant_is_withheld_in_a_move_too() -> None:
    found = report(option(moving("Acme", SMALLEST)), ties={"guarantor": 1})
    letter = written(found, writer())
    assert (letter.options, letter.withheld, letter.outcome) == ((), 1, "staff")
    assert written(found, writer(known_kinds=["guarantor"])).options


def test_whoever_signs_a_letter_accepts_that_a_far_end_must_be_asked_for() -> None:
    reasons = ("Debts of your guarantors",)
    given: dict[str, Any] = {"reasons": reasons, "reviews": {OWN: REVIEWED}}
    found = report(option(moving("Acme", 1)), ties=HELD)
    assert decided(found, **given).against == ("unnamed",)
    assert decided(found, **given, accept=frozenset({"unnamed"})).status == "signed"
    named = report(option(moving("Acme", SMALLEST)), ties=HELD)
    person = report(option(moving("P2000", None)), ties=HELD)
    for other in (named, person, report(option(drop("P1000")), ties=HELD)):
        assert decided(other, **given).status == "signed"
