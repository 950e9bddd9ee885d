"""The privacy boundary: only what a letter may rest on passes from a subject's report to a letter.

Apart from the person's own reference and their own categories, every text beyond this point comes
from the settings. The
ids, labels, decisions and probabilities of other people have no place in `LetterSource`: it holds
kinds and counts of ties, and the person's own attributes. An option that cannot be described in
these terms is only counted.
"""

from dataclasses import dataclass
from typing import Literal, NewType

from recourse_audit.records.recourse import Move as ReportedMove
from recourse_audit.records.recourse import Option, Recourse, SetAction, TogetherAction
from recourse_audit.records.search import Tie
from recourse_audit.records.subject import SubjectReport
from recourse_audit.records.texts import same_name
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.recourse.proxies import named_like
from recourse_audit.render.letters.cautions import Caution, Cautions
from recourse_audit.settings import Settings

Reference = NewType("Reference", str)
Kind = NewType("Kind", str)
Attribute = NewType("Attribute", str)
Unit = NewType("Unit", str)
OwnCategory = NewType("OwnCategory", str)
DecisionClass = NewType("DecisionClass", str)

Outcome = Literal["options", "staff", "none_exists", "none_found", "not_worked_out"]
_OUTCOMES: dict[str, Outcome] = {
    "verified": "options",
    "certified_infeasible": "none_exists",
    "not_found_within_budget": "none_found",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeChange:
    """One of the person's own attributes, before and after: a number in its unit, or a category.

    `yes_no` if it can only be 0 or 1, which a letter writes as words.
    """

    attribute: Attribute
    before: float | OwnCategory
    after: float | OwnCategory
    unit: Unit
    yes_no: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeStep:
    """An attribute to change, and the attributes that are assumed to change with it."""

    change: AttributeChange
    implied: tuple[AttributeChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TieStep:
    """A number of ties of one kind to end or to form; those that end `together` are one change.

    `partners` are the people at the other ends, as numbers that mean nothing outside this letter,
    so that options can be told apart and nobody is named. `neighbours` is the number of people
    with whom the person has ties of this kind now.
    """

    do: Literal["drop", "add"]
    kind: Kind
    count: int
    partners: frozenset[int]
    neighbours: int
    together: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOption:
    """Changes that were verified together.

    `robustness` is the smaller of the two shares of draws in which the option still worked, None
    if that was not measured. `caution` is what the caveats say about the ties that it ends.
    """

    ties: tuple[TieStep, ...]
    attributes: tuple[AttributeStep, ...]
    robustness: float | None
    caution: Caution


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far the search for options went: how many changes together, and which were permitted."""

    max_changes: int
    ties: bool
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterSource:
    """What a letter is made from; `untellable` counts the options that it cannot describe.

    `only_refusal` says that no other class is unfavourable, so that any other decision would have
    been in the person's favour.
    """

    reference: Reference
    decision: DecisionClass
    only_refusal: bool
    outcome: Outcome
    options: tuple[SourceOption, ...]
    untellable: int
    limits: Limits | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoLetter:
    """Why a subject gets no letter: the decision was favourable, or the model gave no answer."""

    reason: Literal["favourable", "undecided"]


class Vocabulary:
    """The names that a letter may use: only those that the settings themselves mention.

    A kind of tie is known if a rule, a word or `known_kinds` names it and it may be suggested at
    all, which family ties and the like may not. An attribute is known if a rule moves it and it is
    neither protected nor named like a protected one.
    """

    def __init__(self, settings: Settings) -> None:
        recourse, letters = settings.recourse, settings.letters
        worded = {kind for words in settings.words.values() for kind in words.ties}
        kinds = {rule.kind for rule in recourse.ties} | set(letters.known_kinds) | worded
        never = {"*", "", *recourse.never}
        self._kinds = {kind for kind in kinds - never if not is_denied(kind)}
        moved = {rule.name: rule.unit for rule in recourse.attributes}
        implied = {one.name for rule in recourse.attributes for one in rule.implies}
        protected, checked = settings.groups.attributes, recourse.not_protected
        self._units = {
            name: moved.get(name, "")
            for name in (*moved, *implied)
            if not any(
                named_like(name, one) is not None and (name not in checked or same_name(name, one))
                for one in protected
            )
        }
        self._rules = {rule.name: rule for rule in recourse.attributes}
        self._classes = set(settings.decision.classes)
        self.favourable = frozenset(settings.decision.favourable)
        self.only_refusal = len(self._classes - self.favourable) == 1

    def kind(self, name: str) -> Kind | None:
        return Kind(name) if name in self._kinds else None

    def attribute(self, name: str) -> Attribute | None:
        return Attribute(name) if name in self._units else None

    def unit(self, attribute: Attribute) -> Unit:
        return Unit(self._units[attribute])

    def is_yes_no(self, attribute: Attribute, values: set[float | str], levels: int | None) -> bool:
        """Whether an attribute can only be 0 or 1, by its rule or by the levels in reach.

        With whole steps and a single level in reach (1 from 0, or 0 from 1), nothing else is in
        its range. That does not follow if the attribute may only fall, or if attributes that move
        along may keep it from other levels.
        """
        rule = self._rules.get(attribute)
        if rule is None or rule.unit or rule.step != 1 or values != {0.0, 1.0}:
            return False
        if (rule.min, rule.max) == (0, 1):
            return True
        return levels == 1 and rule.direction != "down" and not rule.implies

    def decision(self, name: str) -> DecisionClass | None:
        return DecisionClass(name) if name in self._classes else None


def letter_source(report: SubjectReport, vocabulary: Vocabulary) -> LetterSource | NoLetter:
    """What a letter to this subject rests on, or why there is no letter.

    There is no letter about a favourable decision, or where the model gave no answer and so there
    is no decision. If only the search for options failed, there is a letter, and it says so.
    """
    subject, recourse = report.subject, report.recourse
    # People were told the decision on record, whatever the model says of them today.
    taken = report.decision.recorded or subject.decision
    if taken in vocabulary.favourable:
        return NoLetter(reason="favourable")
    decision = vocabulary.decision(taken)
    if decision is None:
        return NoLetter(reason="undecided")
    outcome = _OUTCOMES.get(report.status, "not_worked_out")
    found = recourse.options if recourse is not None and outcome == "options" else ()
    reader = _OptionReader(report, vocabulary)
    described = [reader.describe(option) for option in found]
    options = tuple(option for option in described if option is not None)
    return LetterSource(
        reference=Reference(subject.id),
        decision=decision,
        only_refusal=vocabulary.only_refusal,
        outcome=outcome,
        options=options,
        untellable=len(described) - len(options),
        limits=None if recourse is None else _limits(recourse, vocabulary),
    )


class _OptionReader:
    """Describes options in the person's own terms; other people become numbers here."""

    def __init__(self, report: SubjectReport, vocabulary: Vocabulary) -> None:
        recourse = report.recourse
        self._own = report.subject.id
        self._vocabulary = vocabulary
        self._neighbours = _neighbours(report)
        self._numbers: dict[str, int] = {}
        self._cautions = Cautions(report)
        self._levels = {} if recourse is None else recourse.certificate.permitted.set

    def describe(self, option: Option) -> SourceOption | None:
        """An option in the person's own terms; None if a part of it has no such terms."""
        ties: dict[tuple[Literal["drop", "add"], Kind], list[Tie]] = {}
        together: set[Kind] = set()
        attributes: list[AttributeStep] = []
        for action in option.actions:
            if isinstance(action, SetAction):
                step = self._attribute_step(action)
                if step is None:
                    return None
                attributes.append(step)
                continue
            kind = self._vocabulary.kind(action.kind)
            if kind is None or any(self._own not in tie for tie in action.ties):
                return None
            ties.setdefault((action.do, kind), []).extend(action.ties)
            if isinstance(action, TogetherAction):
                together.add(kind)
        held = option.robustness
        return SourceOption(
            ties=tuple(
                self._tie_step(do, kind, ends, together=do == "drop" and kind in together)
                for (do, kind), ends in ties.items()
            ),
            attributes=tuple(attributes),
            robustness=None if held is None else min(held.ties.share, held.attributes.share),
            caution=self._cautions.about(option.actions),
        )

    def _tie_step(
        self, do: Literal["drop", "add"], kind: Kind, ties: list[Tie], *, together: bool
    ) -> TieStep:
        others = {name for tie in ties for name in tie} - {self._own}
        numbers = (self._numbers.setdefault(name, len(self._numbers)) for name in sorted(others))
        return TieStep(
            do=do,
            kind=kind,
            count=1 if together else len(ties),
            partners=frozenset(numbers),
            neighbours=self._neighbours.get(kind, 0),
            together=together,
        )

    def _attribute_step(self, action: SetAction) -> AttributeStep | None:
        own = self._change(action, self._levels.get(action.attribute))
        implied = [self._change(move, None) for move in action.implied]
        known = tuple(change for change in implied if change is not None)
        if own is None or len(known) < len(implied):
            return None
        return AttributeStep(change=own, implied=known)

    def _change(self, move: SetAction | ReportedMove, levels: int | None) -> AttributeChange | None:
        attribute = self._vocabulary.attribute(move.attribute)
        if attribute is None:
            return None
        values = {move.before, move.after}
        return AttributeChange(
            attribute=attribute,
            before=_own(move.before),
            after=_own(move.after),
            unit=self._vocabulary.unit(attribute),
            yes_no=self._vocabulary.is_yes_no(attribute, values, levels),
        )


def _own(value: float | str) -> float | OwnCategory:
    return OwnCategory(value) if isinstance(value, str) else value


def _neighbours(report: SubjectReport) -> dict[str, int]:
    """With how many people the subject has ties of each kind, as far as the report shows."""
    own, near, recourse = report.subject.id, report.ego_network, report.recourse
    ties = [(tie.ends, tie.kind) for tie in (near.ties if near is not None else ())]
    ties += [(one.tie, one.kind) for one in (recourse.droppable if recourse is not None else ())]
    people: dict[str, set[str]] = {}
    for ends, kind in ties:
        if own in ends:
            people.setdefault(kind, set()).update(set(ends) - {own})
    return {kind: len(others) for kind, others in people.items()}


def _limits(recourse: Recourse, vocabulary: Vocabulary) -> Limits:
    permitted = recourse.certificate.permitted
    named = [vocabulary.attribute(name) for name, levels in permitted.set.items() if levels]
    return Limits(
        max_changes=recourse.certificate.max_changes,
        ties=bool(permitted.drop or permitted.add),
        attributes=tuple(name for name in named if name is not None),
    )
