"""Who a page names: everybody to the auditor, numbers to a reviewer, nobody to the subject.

Names are replaced in the report before anything is worded, so no finished text has to be searched
for them. What a reader other than the auditor gets is a table: `SHOWN` has the fields of each
record that they may see. A field that is new in a record is empty until somebody adds it there.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Literal

from recourse_audit.records import Record
from recourse_audit.records.recourse import (
    Certificate,
    DroppableTie,
    LeftOut,
    Move,
    MoveAction,
    Option,
    Part,
    Permitted,
    Recourse,
    Responsiveness,
    SetAction,
    SideEffects,
    TieAction,
    TogetherAction,
)
from recourse_audit.records.search import (
    Carriers,
    CarryingSet,
    Counterfactual,
    Explanation,
    FrontPair,
    Rest,
    StudyCase,
)
from recourse_audit.records.subject import (
    AnswerAlone,
    Caveat,
    DecisionLine,
    EgoNetwork,
    EgoNode,
    EgoTie,
    OwnColumn,
    OwnData,
    OwnPair,
    OwnTies,
    ReasonCandidate,
    SubjectReport,
)
from recourse_audit.render.i18n import Words
from recourse_audit.render.text import printable

Level = Literal["auditor", "reviewer", "subject"]
LEVELS: tuple[Level, ...] = ("auditor", "reviewer", "subject")
PROTECTED = "a protected attribute"
LEFT_TO_THE_AUDITOR = "Something went wrong for this subject; the auditor's copy says what."

Table = Mapping[type, str]
# The fields that readers other than the auditor may see. Records that are not here are about the
# subject or the search alone, and are shown as they are.
SHOWN: Table = {
    SubjectReport: "format subject decision search explanation counterfactuals front front_size "
    "carriers baselines objective_grid ego_network own_data recourse reasons caveats probes "
    "queries repeats note error kinds study_cases",
    DecisionLine: "rule cut_off score margin better places rank recorded",
    Explanation: "nodes edges simulatability probabilities score",
    Counterfactual: "explanation removed kept simulatability relevance signed_relevance ranks "
    "layer dominates dominates_baselines probabilities score whole_graph",
    Carriers: "front smallest_flip own own_ties ties_in_reach max_ties coverage tried",
    CarryingSet: "removed size probabilities score effect decision favourable flips",
    FrontPair: "edges removed simulatability relevance",
    StudyCase: "explanation high low",
    Rest: "removed relevance probabilities",
    EgoNetwork: "nodes ties shown total hops limit",
    EgoNode: "id hops decision favourable kind",
    EgoTie: "ends kind count directed",
    OwnData: "alone reason distance columns columns_reason ties pairs",
    OwnColumn: "name value unit reference percentile answer moves reason",
    OwnTies: "kind count answer moves",
    OwnPair: "parts answer moves",
    ReasonCandidate: "part moves share fixed proxy",
    AnswerAlone: "decision favourable probabilities value",
    Recourse: "status certificate margin options evaluations evaluated_on compared error "
    "droppable common_actions responsiveness",
    Part: "what name",
    Responsiveness: "part moves tried flips share interval best_answer best_move",
    Certificate: "max_changes tried possible exhaustive complete_up_to permitted left_out denied "
    "unasked reason",
    Permitted: "drop add move set",
    LeftOut: "implications conditions formulas",
    Option: "actions cost decision probabilities margin score verified verified_on minimal source "
    "robustness side_effects",
    SideEffects: "measured to_favourable to_unfavourable other",
    DroppableTie: "tie kind",
    TieAction: "do tie kind cost",
    TogetherAction: "do kind ties cost",
    MoveAction: "do tie to kind cost",
    SetAction: "do attribute before after unit implied cost",
    Move: "attribute before after unit",
    Caveat: "kind grade counterfactual about text variables effect",
}
# What the subject does not see of these: whatever tells something about other people, and what
# nobody has confirmed yet.
NOT_FOR_THE_SUBJECT: Table = {
    SubjectReport: "search explanation counterfactuals front front_size baselines objective_grid "
    "ego_network reasons caveats study_cases",
    Carriers: "front smallest_flip own tried",
    OwnData: "reason columns_reason ties pairs",
    OwnColumn: "reason",
    Recourse: "responsiveness",
}
# Nor, under a quota, where the cut-off is somebody else's value.
NOT_UNDER_A_QUOTA: Table = {
    DecisionLine: "cut_off margin",
    AnswerAlone: "value",
    OwnData: "distance",
    OwnColumn: "answer moves",
    Recourse: "margin",
    Option: "score",
}
# Fields that hold people, by id, and fields that hold attributes, by name.
PEOPLE: Table = {
    Explanation: "nodes edges",
    Counterfactual: "removed kept",
    CarryingSet: "removed",
    FrontPair: "edges removed",
    Rest: "removed",
    EgoNode: "id",
    EgoTie: "ends",
    DroppableTie: "tie",
    TieAction: "tie",
    TogetherAction: "ties",
    MoveAction: "tie to",
    SideEffects: "to_favourable to_unfavourable other",
    Caveat: "variables",
}
ATTRIBUTES: Table = {
    SetAction: "attribute",
    Move: "attribute",
    Permitted: "set",
    Part: "name",
    ReasonCandidate: "proxy",
}


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
    whatever lies between other people is left out. Protected
    attributes have no name, and what went wrong is left to the auditor. `words` say "person 1" in
    the language of the page; without them it is English. `subject` is put in place of the
    subject's own id, for readers who must not know that either.
    """
    if level == "auditor":
        return printable(report)
    redaction = _Redaction(report, level, frozenset(protected), words or Words(), subject)
    shown = redaction.shown(report)
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
        alias: str = "",
    ) -> None:
        self._subject = report.subject.id
        self._alias = alias or self._subject
        self._level = level
        self._protected = protected
        self._words = words
        self._kind_of = report.kind_of
        self._numbers: dict[str, dict[str, int]] = {}
        self._left_out: list[Table] = []
        if level == "subject":
            quota = report.decision.rule == "quota"
            self._left_out = [NOT_FOR_THE_SUBJECT, NOT_UNDER_A_QUOTA][: 2 if quota else 1]
        for person in _people_of(report):
            self._name(person)

    def shown(self, value: object) -> object:
        """A record, or several, with what the reader may see of them."""
        if isinstance(value, tuple):
            return tuple(map(self.shown, value))
        if isinstance(value, Mapping):
            return {name: self.shown(record) for name, record in value.items()}
        if not isinstance(value, Record) or type(value) not in SHOWN:
            return value
        record, kind = self._without_quotes(value), type(value)
        gone = {name for table in self._left_out for name in table.get(kind, "").split()}
        changes: dict[str, object] = {}
        for field in fields(record):
            inside = getattr(record, field.name)
            if field.name not in SHOWN[kind].split() or field.name in gone:
                changes[field.name] = _empty(inside)
            elif field.name in PEOPLE.get(kind, "").split():
                changes[field.name] = self._rename(inside)
            elif field.name in ATTRIBUTES.get(kind, "").split():
                changes[field.name] = self._attribute(inside)
            else:
                changes[field.name] = self.shown(inside)
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


def _people_of(report: SubjectReport) -> Iterator[str]:
    """Everybody whom a report draws or explains with: the subject first, then nearest first."""
    yield from (node.id for node in (report.ego_network.nodes if report.ego_network else ()))
    pairs: Iterable[Counterfactual | StudyCase] = (*report.counterfactuals, *report.study_cases)
    for pair in pairs:
        yield from pair.explanation.nodes


def _empty(value: object) -> object:
    """What a field holds that is left out."""
    return type(value)() if isinstance(value, tuple | str | dict | int) else None
