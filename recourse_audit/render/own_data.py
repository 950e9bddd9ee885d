"""Own data alone in words: for pages and the terminal. No sentence claims a cause."""

from functools import cache

from recourse_audit.records.subject import DEPENDS_ON_OTHERS, RANDOM_ANSWERS, SubjectReport
from recourse_audit.render.page_words import SUBJECT_WORDS, PageWords, english
from recourse_audit.render.text import plain

HEADING = "Own data alone"
REASONS = {RANDOM_ANSWERS: "random", DEPENDS_ON_OTHERS: "depends"}


@cache
def english_words() -> PageWords:
    """The words of a subject's report in English, for the terminal."""
    return english(*SUBJECT_WORDS)


def own_data_sentences(report: SubjectReport, words: PageWords | None = None) -> list[str]:
    """What the model decides without ties, or why it was not asked."""
    found = report.own_data
    if found is None:
        return []
    words = words or english_words()
    sentences = []
    if found.alone is not None:
        decided, now = plain(found.alone.decision), plain(report.subject.decision)
        key = "none" if not decided else "same" if decided == now else "other"
        sentences.append(words.say(f"subject.own.without.{key}", decided=decided, now=now))
        sentences.append(words.say("subject.own.no_cause"))
    if found.reason:
        sentences.append(words.say("subject.own.not_asked", reason=_reason(found.reason, words)))
    return sentences


def _reason(reason: str, words: PageWords) -> str:
    key = REASONS.get(reason)
    return plain(reason) if key is None else words.say(f"subject.own.reason.{key}")
