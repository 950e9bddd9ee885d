"""A letter says in three strengths how often an option held, and tells fragile ones last."""

from typing import Any

import pytest

from recourse_audit.errors import SettingsError
from recourse_audit.records.recourse import Option, Robustness, survival
from recourse_audit.records.subject import SubjectReport
from tests.render.letters import (
    LANGUAGES,
    drop,
    move,
    option,
    report,
    settings,
    writer,
    written,
)

STRENGTHS = ("steady", "unsteady", "fragile")
WORDS = {
    "en": (
        "Worked in most of our tests",
        "Not certain: worked in many of our tests, but not in all",
        "Not reliable: failed in many of our tests",
    ),
    "de": ("Wirkte in den meisten", "Nicht sicher: Wirkte in vielen", "Nicht verlässlich: Wirkte"),
    "fr": ("dans la plupart de nos tests", "mais pas dans tous.", "Pas fiable : cela"),
    "es": ("en la mayoría de nuestras", "pero no en todas.", "No es fiable: falló en muchas"),
}


def saved(to: float, holds: float | None) -> Option:
    return option(move("savings", 1.0, to), holds=holds)


def text_of(found: SubjectReport, **letters: Any) -> str:
    by = writer(**letters)
    return by.html(written(found, by)).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("holds", "strength"),
    [(1.0, 0), (0.8, 0), (0.78, 1), (0.52, 1), (0.5, 2), (0.0, 2)],
)
def test_how_often_an_option_held_is_said_in_three_strengths(
    holds: float, strength: int, language: str
) -> None:
    found = report(saved(2.0, holds))
    assert written(found, writer()).options[0].strength == STRENGTHS[strength]
    text = text_of(found, language=language)
    assert [words in text for words in WORDS[language]] == [n == strength for n in range(3)]


def test_the_weaker_of_the_two_tests_counts() -> None:
    for ties, attributes in ((50, 20), (20, 50)):
        held = Robustness(draws=50, ties=survival(ties, 50), attributes=survival(attributes, 50))
        one = option(move("savings", 1.0, 2.0))
        object.__setattr__(one, "robustness", held)
        assert written(report(one), writer()).options[0].strength == "fragile"


def test_what_was_not_tested_is_not_said_to_hold() -> None:
    text = text_of(report(saved(2.0, None)))
    assert "of our tests" not in text


def test_both_limits_are_settings() -> None:
    found = report(saved(2.0, 0.7))
    steady = written(found, writer(steady_share=0.7)).options[0]
    fragile = written(found, writer(fragile_share=0.7)).options[0]
    assert (steady.strength, fragile.strength) == ("steady", "fragile")
    with pytest.raises(SettingsError, match=r"fragile_share: must not be larger than steady_share"):
        settings(steady_share=0.6, fragile_share=0.7)


def test_fragile_options_come_last_and_are_marked() -> None:
    found = report(saved(2.0, 0.1), saved(3.0, 0.7), saved(4.0, 0.9))
    letter = written(found, writer())
    assert [one.strength for one in letter.options] == ["unsteady", "steady", "fragile"]
    text = text_of(found)
    assert "The easiest comes first, the least reliable last." in text
    last = text.split('<section class="option">')[-1]
    assert '<p class="note warns">' in last
    assert text.count('class="note warns"') == 1
    assert "Raise your savings from €1 to €2" in last


def test_where_all_options_are_fragile_or_none_is_nothing_is_said_of_their_order() -> None:
    for holds in (0.1, 0.9):
        text = text_of(report(saved(2.0, holds), saved(3.0, holds)))
        assert "The easiest comes first." in text
        assert "least reliable" not in text


def test_there_is_room_for_what_holds_before_what_is_fragile() -> None:
    found = report(saved(2.0, 0.1), *(saved(to, 0.9) for to in (3.0, 4.0, 5.0)))
    letter = written(found, writer())
    assert [one.strength for one in letter.options] == ["steady"] * 3
    assert (letter.unlisted, letter.is_fragile) == (1, False)


def test_a_fragile_option_that_is_not_told_makes_no_letter_fragile() -> None:
    hidden = report(saved(2.0, 0.9), option(drop("P1000", "hobby"), holds=0.1))
    assert not written(hidden, writer()).is_fragile
    assert written(report(saved(2.0, 0.9), saved(3.0, 0.1)), writer()).is_fragile
