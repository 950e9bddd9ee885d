"""All that an audit of many found, as the files of a bundle are written from it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from recourse_audit.records.people import Member, Person
from recourse_audit.records.report import SubjectReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was found about one subject: the document as it is kept, and the report in it."""

    subject: int
    chunk: int
    document: str
    report: SubjectReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is known about an audit, about everybody, and about the subjects that are done.

    All rows come in the order of their numbers. They are read anew each time, because those of a
    million people do not fit into memory.
    """

    meta: dict[str, str]
    people: Callable[[], Iterator[Person]]
    members: Callable[[], Iterator[Member]]
    groups: Callable[[int], dict[str, str]]
    results: Callable[[], Iterator[Result]]
