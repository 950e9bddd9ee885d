"""All that an audit of many found, as the files of a bundle are written from it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from recourse_audit.records.people import Member, Person



@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was found about one subject, and in which piece of the work; the document is JSON."""

    subject: int
    piece: int
    document: str

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.document)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is known about an audit, about everybody, and about the subjects that are done.

    Members are (person, attribute, group), with "" for unknown. All are in the order of their
    numbers, and are read anew each time, since those of a million fill more than the memory.
    """

    meta: dict[str, str]
    people: Callable[[], Iterator[Person]]
    members: Callable[[], Iterator[Member]]
    groups: Callable[[int], dict[str, str]]
    results: Callable[[], Iterator[Result]]
