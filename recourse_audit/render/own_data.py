"""Own data and surroundings in words: for pages and the terminal. No sentence claims a cause."""

from dataclasses import dataclass
from functools import cache

from recourse_audit.records.own_data import (
    DEPENDS_ON_OTHERS,
    ONE_BY_ONE,
    OTHER_ANSWER,
    RANDOM_ANSWERS,
    TOO_FEW_DRAWS,
    OwnData,
    Parts,
)
from recourse_audit.records.report import SubjectReport
from recourse_audit.render.page_words import SUBJECT_WORDS, PageWords, english
from recourse_audit.render.text import plain
from recourse_audit.settings.search import FEWEST_DRAWS

HEADING = "Own data and surroundings"
CELLS = ("as_is", "own_data_elsewhere", "others_data_here", "neither")
REASONS = {
    RANDOM_ANSWERS: "random",
    DEPENDS_ON_OTHERS: "depends",
    ONE_BY_ONE: "one_by_one",
    OTHER_ANSWER: "other_answer",
    TOO_FEW_DRAWS: "too_few",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """One answer: a value with its interval, in words as well, and the share of favourable ones.

    `favourable` is a decision for the answer as it is and for the one on own data alone, which are
    no means.
    """

    name: str
    mean: float
    low: float
    high: float
    words: str
    favourable: str


@cache
def english_words() -> PageWords:
    """The words of a subject's report in English, for the terminal."""
    return english(*SUBJECT_WORDS)


def watched_value(report: SubjectReport, words: PageWords | None = None) -> str:
    """What the answers are about."""
    key = "score" if report.decision.scored else "favourable"
    return (words or english_words()).say(f"subject.own.{key}")


def answer_rows(
    report: SubjectReport, found: OwnData, words: PageWords | None = None
) -> list[AnswerRow]:
    """The four answers, then the one on own data alone; as many as there are."""
    words = words or english_words()
    rows = []
    scored = report.decision.scored
    for key in CELLS if found.cells is not None else ():
        cell = getattr(found.cells, key)
        said = _figure(cell.mean, words, scored=scored)
        favourable = words.say(f"subject.{'yes' if cell.favourable > 0 else 'no'}")
        if key != "as_is":
            low, high = (_figure(end, words, scored=scored) for end in (cell.low, cell.high))
            said = f"{said} ({words.interval(low, high)})"
            favourable = words.percent(cell.favourable)
        rows.append(
            AnswerRow(
                name=words.say(f"subject.own.{key}"),
                mean=cell.mean,
                low=cell.low,
                high=cell.high,
                words=said,
                favourable=favourable,
            )
        )
    alone = found.alone
    if alone is not None and alone.value is not None:
        rows.append(
            AnswerRow(
                name=words.say("subject.own.alone"),
                mean=alone.value,
                low=alone.value,
                high=alone.value,
                words=_figure(alone.value, words, scored=scored),
                favourable=words.say(f"subject.{'yes' if alone.favourable else 'no'}"),
            )
        )
    return rows


def own_data_sentences(report: SubjectReport, words: PageWords | None = None) -> list[str]:
    """What the model decides without ties, which part is the larger one, and what was not asked."""
    found = report.own_data
    if found is None:
        return []
    words = words or english_words()
    sentences = []
    if found.alone is not None:
        decided, now = plain(found.alone.decision), plain(report.subject.decision)
        key = "none" if not decided else "same" if decided == now else "other"
        sentences.append(words.say(f"subject.own.without.{key}", decided=decided, now=now))
    if found.parts is not None:
        sentences.append(_larger_sentence(report, found, found.parts, words))
    if sentences:
        several = found.parts is not None
        sentences.append(words.say(f"subject.own.no_cause{'s' if several else ''}"))
    if found.reason:
        sentences.append(words.say("subject.own.not_asked", reason=_reason(found.reason, words)))
    return sentences


def _reason(reason: str, words: PageWords) -> str:
    key = REASONS.get(reason)
    if key is None:
        return plain(reason)
    return words.say(f"subject.own.reason.{key}", draws=words.number(FEWEST_DRAWS))


def _larger_sentence(report: SubjectReport, found: OwnData, parts: Parts, words: PageWords) -> str:
    scored = report.decision.scored
    own, place, both = (
        _signed(part.mean, words, scored=scored)
        for part in (parts.own, parts.surroundings, parts.interaction)
    )
    sentence = words.say(
        "subject.own.parts",
        watched=watched_value(report, words),
        own=own,
        place=place,
        both=both,
    )
    if found.larger is not None:
        return f"{sentence} {words.say(f'subject.own.larger.{found.larger}')}"
    if interacts(parts):
        return f"{sentence} {words.say('subject.own.neither.interacts')}"
    return f"{sentence} {words.say_count('subject.own.neither.few', found.draws)}"


def interacts(parts: Parts) -> bool:
    """Whether the interaction is not smaller than the smaller part, from either end."""
    both = parts.interaction.mean
    sizes = [abs(one.mean + end) for one in (parts.own, parts.surroundings) for end in (0.0, both)]
    return abs(both) >= min(sizes)


def _figure(value: float, words: PageWords, *, scored: bool) -> str:
    return words.amount(value) if scored else words.probability(value)


def _signed(value: float, words: PageWords, *, scored: bool) -> str:
    size = abs(value)
    decimals = 0 if size >= 1000 else 1 if size >= 10 else 2 if size >= 1 else 3
    return words.signed(value, decimals if scored else 3)
