"""Who is named on a page: everybody to the auditor, numbers to a reviewer, nobody to the subject.

Names are replaced before anything is worded, so that no text has to be searched for them.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from recourse_audit.records.search import Tie
from recourse_audit.render.text import plain

Level = Literal["auditor", "reviewer", "subject"]
LEVELS: tuple[Level, ...] = ("auditor", "reviewer", "subject")
SAID: dict[Level, str] = {
    "auditor": "Auditor's copy: nothing is left out.",
    "reviewer": "Reviewer's copy: other people have numbers in place of their ids, and protected "
    "attributes are left out.",
    "subject": "Subject's copy: nothing is said about other people but kinds of ties and counts.",
}
SOMEBODY = "another person"
PROTECTED = "a protected attribute"


class Names:
    """What people are called at one level of redaction; the same on the whole page."""

    def __init__(self, level: Level, subject: str, protected: Iterable[str] = ()) -> None:
        self.level = level
        self.subject = subject
        self._protected = frozenset(map(plain, protected))
        self._numbers: dict[str, int] = {}

    @property
    def full(self) -> bool:
        """Whether everything may be shown."""
        return self.level == "auditor"

    @property
    def tells_people_apart(self) -> bool:
        """Whether other people appear at all."""
        return self.level != "subject"

    def name(self, person: str) -> str:
        """What a person is called in a text."""
        if self.full or person == self.subject:
            return person
        return f"person {self._number(person)}" if self.tells_people_apart else SOMEBODY

    def label(self, person: str) -> str:
        """What stands at a person's mark in a picture."""
        if self.full or person == self.subject:
            return person
        return str(self._number(person)) if self.tells_people_apart else ""

    def tie(self, ends: Sequence[str]) -> Tie:
        one, other = ends
        return self.name(one), self.name(other)

    def attribute(self, name: str) -> str:
        """What an attribute is called."""
        return name if self.full or name not in self._protected else PROTECTED

    def _number(self, person: str) -> int:
        return self._numbers.setdefault(person, len(self._numbers) + 1)


def people_of(document: dict[str, Any]) -> list[str]:
    """Everybody whom a document names, the subject first, then nearest first."""
    names = [document["subject"]["id"]]
    names += [node["id"] for node in (document.get("surroundings") or {}).get("nodes", ())]
    for found in document["counterfactuals"]:
        names += found["explanation"]["nodes"]
    return list(dict.fromkeys(names))
