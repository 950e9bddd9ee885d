"""Kinds of ties that nobody is ever advised to drop or to add, whatever the rules say.

A kind is denied if one of its words, in whatever case, with or without accents, in the singular or
plural, alone or in a compound, is about kinship, the household, health, counsel, unions and
politics, faith or origin, in English, German, French or Spanish: `fAmily`, `step-sons`,
`Krankenkasse` and `church_members` all are. `denied_words.toml` has the words, and the ordinary
ones that only look like them. The list cannot know every word: `inspect` names the kinds that no
rule names, and `recourse.never` adds kinds by name.
"""

import re
import tomllib
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from recourse_audit.records.texts import fold, split_words_of, words_of

TABLE = tomllib.loads(Path(__file__).with_name("denied_words.toml").read_text(encoding="utf-8"))
_DIGITS = re.compile(r"[0-9]+")
# A word that is written apart from the one it belongs to: co-habitant, house-hold.
_APART = frozenset({"co", "care", "flat", "house", "in", "kin", "room", "trade"})


def is_denied(kind: str) -> bool:
    """Whether ties of this kind, or to nodes of this kind, are never suggested."""
    return denied_topic(kind) is not None


@lru_cache(maxsize=4096)
def denied_topic(kind: str) -> str | None:
    """What a kind is about that makes it one never to suggest; None if it is an ordinary kind.

    A kind is read twice: as it is written, and with words beginning at capital letters inside it.
    """
    readings = {" ".join(read(_DIGITS.sub(" ", kind))) for read in (words_of, split_words_of)}
    for reading in sorted(readings):
        rest = _ORDINARY.sub(" ", reading)
        words = [word for word in rest.split() if word not in _ORDINARY_WORDS]
        words += [first + second for first, second in pairwise(words) if first in _APART]
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
    return "".join(umlauts.get(letter) or re.escape(fold(letter)) for letter in text)


def _word(pattern: str, endings: str) -> str:
    start = "[a-z]*" if pattern.startswith("*") else ""
    ending = "[a-z]*" if pattern.endswith("*") else f"(?:{endings.replace(' ', '|')})?"
    return f"{start}{_letters(pattern.strip('*'))}{ending}"


def _words(by_language: dict[str, str]) -> re.Pattern[str]:
    patterns = [
        _word(pattern, TABLE["endings"][language])
        for language, words in by_language.items()
        for pattern in words.split()
    ]
    return re.compile("|".join(patterns))


def _phrases(text: str) -> re.Pattern[str]:
    """Phrases, of which words may be written as one: in-law, inlaw."""
    apart = (" ?".join(map(_letters, phrase.split())) for phrase in text.split(","))
    return re.compile(rf"\b(?:{'|'.join(apart)})\b")


# Kinship last: a midwife is about health, and a housewife about the household.
_WORDS: dict[str, re.Pattern[str]] = {
    topic: _words(TABLE["words"][topic]) for topic in sorted(TABLE["words"], key="kinship".__eq__)
}
_PHRASES: dict[str, re.Pattern[str]] = {
    topic: _phrases(text) for topic, text in TABLE["phrases"].items()
}
_ORDINARY = re.compile(rf"\b(?:{'|'.join(TABLE['ordinary']['phrases']).replace(' ', ' ?')})\b")
_ORDINARY_WORDS = frozenset(
    spelling
    for word in TABLE["ordinary"]["words"].split()
    for plain in (fold(word), fold(word.replace("ä", "ae").replace("ö", "oe")))
    for spelling in (plain, f"{plain}s", f"{plain}n", f"{plain}en")
)
