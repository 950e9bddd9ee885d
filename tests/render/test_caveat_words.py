"""What a page says about an effect is true of it."""

from dataclasses import replace

import pytest

from recourse_audit.audit.caveats import confounder_caveat
from tests.audit.test_grades import SAMPLES, made_up
from tests.render.subject_pages import read
from tests.render.subject_reports import made_report

SENTENCES = {
    "The effect holds: on average it keeps its direction and at least half of its size.": (
        "holds",
        "holds, not for all",
    ),
    "The effect weakens: on average it keeps its direction, but less than half of its size.": (
        "weakens",
    ),
    "No effect to speak of: on average the move is below 0.01": ("no_effect",),
    "The effect reverses: on average it goes the other way.": ("reverses",),
    "Not settled: 960 draws do not show whether the effect holds.": ("not_settled",),
    "too small to hold or reverse.": ("too small", "no direction"),
    "It depends on whom: ": ("holds, not for all", "not_settled", "too small"),
    "in the opposite direction in 0 of 960, and in neither in 320 of 960.": ("holds, not for all",),
    "in the same direction in 960 of 960 draws.": ("holds", "weakens"),
    "in the same direction in 0 of 960 draws.": ("no_effect", "reverses"),
    "in either direction in 480 of 960 draws.": ("no direction",),
    "by no measurable amount with": ("no direction",),
}


def caveat_words(name: str) -> str:
    return words_on(SAMPLES[name])


def words_on(effect: object) -> str:
    report = made_report()
    caveat = confounder_caveat(1, (report.subject.id,), effect)  # type: ignore[arg-type]
    return read(replace(report, caveats=(caveat,))).annex("Caveats in full")


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_is_said_of_the_effects_that_it_is_true_of(sentence: str) -> None:
    true_of = {name for name in SAMPLES if sentence in caveat_words(name)}
    assert true_of == set(SENTENCES[sentence])


def test_no_share_is_less_than_nothing() -> None:
    for zeros in range(1, 15):
        effect = made_up(-0.2, *[-0.3] * (15 - zeros), *[0.0] * zeros)
        assert "in -" not in words_on(effect)
