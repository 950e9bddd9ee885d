"""Who a page names: everybody to the auditor, numbers to a reviewer, nobody to the subject.

Names are replaced in the report before anything is worded, so no finished text has to be searched
for them. What a reader other than the auditor gets is a table: `redaction.toml` has the fields of
each record that they may see. A new field of a record is empty until somebody adds it there.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Literal

from recourse_audit.records import Record, recourse, search, subject
from recourse_audit.records.recourse import Recourse
from recourse_audit.records.search import Counterfactual, StudyCase
from recourse_audit.records.subject import OwnData, SubjectReport
from recourse_audit.render.i18n import Words
from recourse_audit.render.text import printable

Level = Literal["auditor", "reviewer", "subject"]
LEVELS: tuple[Level, ...] = ("auditor", "reviewer", "subject")
PROTECTED = "a protected attribute"
LEFT_TO_THE_AUDITOR = "Something went wrong for this subject; the auditor's copy says what."

Table = Mapping[type, frozenset[str]]
TABLES = tomllib.loads(Path(__file__).with_name("redaction.toml").read_text(encoding="utf-8"))
RECORDS = {**vars(recourse), **vars(search), **vars(subject)}


def _table(name: str) -> Table:
    """A table of `redaction.toml`, by record; a record that it misspells ends the program."""
    return {RECORDS[record]: frozenset(names.split()) for record, names in TABLES[name].items()}


SHOWN, PEOPLE, ATTRIBUTES = _table("shown"), _table("people"), _table("attributes")
NOT_FOR_THE_SUBJECT, NOT_UNDER_A_QUOTA = _table("not_for_the_subject"), _table("not_under_a_quota")


def redact(
    report: SubjectReport,
    level: Level,
    protected: Iterable[str] = (),
    words: Words | None = None,
    subject: str = "",
) -> SubjectReport:
    """The report as one kind of reader may see it, with every text in it made plain.

    For a reviewer, other people are "person 1", "person 2" and so on, nearest first, and nodes of
    other kinds "employer 1"; for the subject each is "another person", or nothing but its kind, and
    whatever lies between other people is left out. Protected attributes have no name, and what went
    wrong is left to the auditor. `words` say "person 1" in the language of the page; without them
    it is English. `subject` is put in place of the subject's own id, for readers who must not know
    that either.
    """
    if level == "auditor":
        return printable(report)
    redaction = _Redaction(report, level, frozenset(protected), words or Words(), subject)
    shown = redaction.redact(report)
    assert isinstance(shown, SubjectReport)
    decided = replace(shown.subject, id=subject or shown.subject.id)
    return printable(replace(shown, subject=decided))


class _Redaction:
    """One report on its way to one kind of reader."""

    def __init__(
        self,
        report: SubjectReport,
        level: Level,
        protected: frozenset[str],
        words: Words,
        alias: str,
    ) -> None:
        self._subject = report.subject.id
        self._alias = alias or self._subject
        self._level = level
        self._protected = protected
        self._words = words
        self._kind_of = report.kind_of
        self._numbers: dict[str, dict[str, int]] = {}
        self._shown = {**SHOWN}
        for table in (NOT_FOR_THE_SUBJECT, NOT_UNDER_A_QUOTA) if level == "subject" else ():
            if table is NOT_FOR_THE_SUBJECT or report.decision.rule == "quota":
                self._shown |= {kind: self._shown[kind] - gone for kind, gone in table.items()}
        for person in _people_of(report):
            self._name(person)

    def redact(self, value: object) -> object:
        """A record, or several, with what the reader may see of them."""
        if isinstance(value, tuple):
            return tuple(map(self.redact, value))
        if isinstance(value, Mapping):
            return {name: self.redact(record) for name, record in value.items()}
        if not isinstance(value, Record) or type(value) not in SHOWN:
            return value
        record, kind = self._without_quotes(value), type(value)
        changes: dict[str, object] = {}
        for field in fields(record):
            inside = getattr(record, field.name)
            if field.name not in self._shown[kind]:  # a field that is left out is empty
                has_empty = isinstance(inside, tuple | str | dict | int)
                changes[field.name] = type(inside)() if has_empty else None
            elif field.name in PEOPLE.get(kind, ()):
                changes[field.name] = self._rename(inside)
            elif field.name in ATTRIBUTES.get(kind, ()):
                changes[field.name] = self._attribute(inside)
            else:
                changes[field.name] = self.redact(inside)
        return replace(record, **changes)

    def _without_quotes(self, record: Record) -> Record:
        """A record without texts that may quote anybody, and without protected columns."""
        if isinstance(record, SubjectReport | Recourse) and record.error:
            return replace(record, error=LEFT_TO_THE_AUDITOR)
        if isinstance(record, OwnData):
            columns = [column for column in record.columns if column.name not in self._protected]
            return replace(record, columns=tuple(columns))
        return record

    def _name(self, person: str) -> str:
        if person == self._subject:
            return self._alias
        words, kind = self._words, self._kind_of(person)
        name = words.forms_of_kind(kind)[0] if kind else ""
        if self._level == "subject":
            return name or words.say("subject.somebody")
        numbers = self._numbers.setdefault(kind, {})
        number = str(numbers.setdefault(person, len(numbers) + 1))
        return words.say("subject.node" if kind else "subject.person", kind=name, number=number)

    def _rename(self, people: object) -> object:
        """People, ties or lists of them by the names that the reader may see."""
        if isinstance(people, str):
            return self._name(people)
        assert isinstance(people, tuple)
        return tuple(map(self._rename, people))

    def _attribute(self, named: object) -> object:
        """The name of an attribute, or counts by attribute."""
        if isinstance(named, str):
            return PROTECTED if named in self._protected else named
        assert isinstance(named, Mapping)
        counts: dict[object, int] = {}
        for name, count in named.items():
            shown = self._attribute(name)
            counts[shown] = counts.get(shown, 0) + count
        return counts


def people_in(value: object, *, named: bool = False) -> Iterator[str]:
    """Everybody whom a record names anywhere; a value in a field that holds people is `named`."""
    if isinstance(value, str):
        yield from [value] * named
    elif isinstance(value, tuple | Mapping):
        for inside in value.values() if isinstance(value, Mapping) else value:
            yield from people_in(inside, named=named)
    elif isinstance(value, Record):
        people = PEOPLE.get(type(value), ())
        for field in fields(value):
            yield from people_in(getattr(value, field.name), named=field.name in people)


def _people_of(report: SubjectReport) -> Iterator[str]:
    """Everybody whom a report draws or explains with: the subject first, then nearest first."""
    yield from (node.id for node in (report.ego_network.nodes if report.ego_network else ()))
    pairs: Iterable[Counterfactual | StudyCase] = (*report.counterfactuals, *report.study_cases)
    for pair in pairs:
        yield from pair.explanation.nodes
