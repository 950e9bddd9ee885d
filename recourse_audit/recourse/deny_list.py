"""Kinds of ties that nobody is ever advised to drop or to add, whatever the rules say.

A kind is denied if one of its words, in whatever case, with or without accents, in the singular or
plural, alone or in a compound, is about kinship, the household, health, counsel, unions and
politics, faith or origin, in English, German, French or Spanish: `fAmily`, `step-sons`,
`Krankenkasse` and `church_members` all are. `denied_words` has the words, and the ordinary ones
that only look like them. The list cannot know every word: `inspect` names the kinds that no rule
names, and `recourse.never` adds kinds by name.
"""

import re
from functools import lru_cache
from itertools import pairwise

from recourse_audit.records.names import folded, split_words_of, words_of
from recourse_audit.recourse.denied_words import (
    ENDINGS,
    ORDINARY_PHRASES,
    ORDINARY_WORDS,
    PHRASES,
    WORDS,
    Topic,
)

_DIGITS = re.compile(r"[0-9]+")
# A word that is written apart from the one it belongs to: co-habitant, house-hold.
_APART = frozenset({"co", "care", "flat", "house", "in", "kin", "room", "trade"})


def is_denied(kind: str) -> bool:
    """Whether ties of this kind, or to nodes of this kind, are never suggested."""
    return denied_topic(kind) is not None


@lru_cache(maxsize=4096)
def denied_topic(kind: str) -> Topic | None:
    """What a kind is about that makes it one never to suggest; None if it is an ordinary kind.

    A kind is read twice: as it is written, and with words beginning at capital letters inside it.
    """
    readings = {" ".join(read(_DIGITS.sub(" ", kind))) for read in (words_of, split_words_of)}
    for reading in sorted(readings):
        rest = _ORDINARY.sub(" ", reading)
        words = [word for word in rest.split() if word not in _ORDINARY_WORDS]
        words += [one + other for one, other in pairwise(words) if one in _APART]
        for topic, phrases in _PHRASES.items():
            if phrases.search(rest):
                return topic
        for topic, pattern in _WORDS.items():
            if any(pattern.fullmatch(word) for word in words):
                return topic
    return None


def _letters(text: str) -> str:
    """A folded text as a regular expression in which umlauts may be one letter or two."""
    umlauts = {"ä": "ae?", "ö": "oe?", "ü": "ue?"}
    parts = (umlauts[one] if one in umlauts else re.escape(folded(one)) for one in text)
    return "".join(parts)


def _word(pattern: str, endings: str) -> str:
    before, after = pattern.startswith("*"), pattern.endswith("*")
    core = _letters(pattern.strip("*"))
    ending = "[a-z]*" if after else f"(?:{'|'.join(endings.split())})?"
    return f"{'[a-z]*' if before else ''}{core}{ending}"


def _words(topic: Topic) -> re.Pattern[str]:
    patterns = [
        _word(pattern, ENDINGS[language])
        for language, words in WORDS[topic].items()
        for pattern in words.split()
    ]
    return re.compile("|".join(patterns))


def _phrases(text: str) -> re.Pattern[str]:
    """Phrases, of which words may be written as one: in-law, inlaw."""
    phrases = (phrase.strip() for line in text.splitlines() for phrase in line.split("|"))
    apart = (" ?".join(map(_letters, phrase.split())) for phrase in phrases if phrase)
    return re.compile(rf"\b(?:{'|'.join(apart)})\b")


# Kinship last: a midwife is about health, and a housewife about the household.
_WORDS = {topic: _words(topic) for topic in sorted(WORDS, key="kinship".__eq__)}
_PHRASES = {topic: _phrases(text) for topic, text in PHRASES.items()}
_ORDINARY = re.compile(rf"\b(?:{'|'.join(ORDINARY_PHRASES).replace(' ', ' ?')})\b")
_ORDINARY_WORDS = frozenset(
    spelling
    for word in ORDINARY_WORDS.split()
    for plain in (folded(word), folded(word.replace("ä", "ae").replace("ö", "oe")))
    for spelling in (plain, f"{plain}s", f"{plain}n", f"{plain}en")
)
