"""Names as people read them: upper or lower case, accents and punctuation make no difference.

Names of people, of columns and of kinds of ties come from users, who write the same name in many
ways. Whatever decides by a name compares what these functions make of it, never the text itself.
"""

import re
from unicodedata import category, normalize

# Letters that Unicode does not decompose, and Cyrillic and Greek ones that look like Latin ones.
_LETTERS = str.maketrans(
    dict(zip("авекмнорстухіјѕ", "abekmhopctyxijs", strict=True))
    | dict(zip("αβεζηικμνορτυχ", "abezhikmnoptyx", strict=True))
    | {
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "\u0131": "i",
        "ħ": "h",
    }
)
# Fillers of Hangul are letters to Unicode, and nobody sees them.
_UNSEEN = frozenset("\u115f\u1160\u3164\uffa0")
_CAMEL = re.compile(r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zß-ÿ])")
_WORD = re.compile(r"[^\W_]+")


def folded(text: str) -> str:
    """The text in lower case, without accents and invisible characters: "Fiancée" is "fiancee"."""
    composed = normalize("NFKC", text)
    seen = "".join(one for one in composed if category(one) != "Cf" and one not in _UNSEEN)
    plain = normalize("NFKD", seen.casefold()).translate(_LETTERS)
    return "".join(letter for letter in plain if not category(letter).startswith("M"))


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, folded; whatever is neither a letter nor a digit separates words."""
    return tuple(_WORD.findall(folded(text)))


def split_words_of(text: str) -> tuple[str, ...]:
    """The same, where a capital letter inside a word begins another: tradeUnion is two words."""
    return words_of(_CAMEL.sub(" ", normalize("NFKC", text)))


def same_name(one: str, other: str) -> bool:
    """Whether two names differ only in case, accents and separators."""
    return "".join(words_of(one)) == "".join(words_of(other))
