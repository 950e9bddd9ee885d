"""Kinds of ties that nobody is ever advised to drop or to add, whatever the rules say.

A kind is denied if one of its words is on the list: `family`, `Family member` and `church_members`
all are. The list has English words only; `recourse.never` adds kinds by name.
"""

import re

DENIED_WORDS = frozenset(
    {
        # family and household
        *("family", "household", "marriage", "married", "marital", "spouse", "husband", "wife"),
        *("partner", "fiance", "fiancee", "parent", "mother", "father", "child", "children"),
        *("son", "daughter", "sibling", "brother", "sister", "relative", "kin"),
        *("kinship", "cousin", "aunt", "uncle", "nephew", "niece", "grandparent", "grandmother"),
        *("grandfather", "grandchild", "guardian", "foster", "adoption", "dependant"),
        *("dependent", "carer", "caregiver"),
        # union and politics
        *("union", "political", "politics", "protest"),
        # religion, origin
        *("religion", "religious", "church", "mosque", "synagogue", "temple", "faith", "parish"),
        *("congregation", "clergy", "caste", "tribe", "tribal", "clan", "ethnicity", "ethnic"),
        *("race", "nationality"),
        # health and counsel
        *("health", "medical", "doctor", "physician", "nurse", "hospital", "clinic", "patient"),
        *("therapist", "therapy", "psychologist", "psychiatrist", "midwife", "disability"),
        *("lawyer", "attorney", "solicitor", "counsel", "counsellor", "counselor"),
        *("confessor", "chaplain"),
    }
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W\d_]+")


def is_denied(kind: str) -> bool:
    """Whether a word of this kind, in the singular or plural, is on the list."""
    words = _WORD.findall(_CAMEL.sub(" ", kind).casefold())
    return any(not DENIED_WORDS.isdisjoint(_singulars(word)) for word in words)


def _singulars(word: str) -> set[str]:
    """What a word may be the plural of, itself included."""
    return {word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word)}
