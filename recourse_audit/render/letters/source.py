"""The boundary: of a subject's document, only what a letter may rest on gets past it.

Every text beyond it comes from the settings, but for the person's own reference. Ids of others,
their labels, answers and probabilities have no place in `LetterSource`; of ties there are kinds and
numbers, of attributes the person's own. An option that cannot be told like that is counted.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NewType

from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.render.letters.cautions import Caution, Cautions
from recourse_audit.settings import Settings

Reference = NewType("Reference", str)
Kind = NewType("Kind", str)
Attribute = NewType("Attribute", str)
Unit = NewType("Unit", str)
DecisionClass = NewType("DecisionClass", str)

Outcome = Literal["options", "staff", "none_exists", "none_found", "not_worked_out"]
NoLetter = Literal["favourable", "undecided"]
_OUTCOMES: dict[str, Outcome] = {
    "verified": "options",
    "certified_infeasible": "none_exists",
    "not_found_within_budget": "none_found",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One of the person's own attributes, before and after, in its unit.

    `yes_no` if it can only be 0 or 1, which no reader takes for numbers.
    """

    attribute: Attribute
    before: float
    after: float
    unit: Unit
    yes_no: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeStep:
    """An attribute to change, and what is taken to change with it."""

    move: Move
    implied: tuple[Move, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TieStep:
    """So many ties of a kind to end or to make.

    `who` numbers the people at the other ends, so that options can be told apart and nobody is
    named; `have` is with how many people the person has ties of the kind now.
    """

    do: Literal["drop", "add"]
    kind: Kind
    count: int
    who: frozenset[int]
    have: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOption:
    """Changes that were confirmed together; `holds` is the smaller share of draws it stood.

    `caution` is what was found about the ties that it ends.
    """

    ties: tuple[TieStep, ...]
    attributes: tuple[AttributeStep, ...]
    holds: float | None
    caution: Caution


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far options were looked for: how many changes together, and which were permitted."""

    max_changes: int
    ties: bool
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterSource:
    """What a letter is made from; `untellable` counts options that involve others."""

    reference: Reference
    decision: DecisionClass
    outcome: Outcome
    options: tuple[SourceOption, ...]
    untellable: int
    limits: Limits | None


class Vocabulary:
    """The names that a letter may use: those that the settings themselves mention.

    A kind of tie is known if a rule, a word or `known_kinds` names it, and if it may be suggested
    at all (family and its like may not); an attribute if a rule moves it and it is not protected.
    """

    def __init__(self, settings: Settings) -> None:
        recourse, letters = settings.recourse, settings.letters
        tables = (letters.words, letters.drop, letters.add)
        worded = {name for table in tables for words in table.values() for name in words}
        kinds = {rule.kind for rule in recourse.ties} | set(letters.known_kinds) | worded
        never = {"*", "", *recourse.never}
        self._kinds = {kind for kind in kinds - never if not is_denied(kind)}
        moved = {rule.name: rule.unit for rule in recourse.attributes}
        implied = {one.name for rule in recourse.attributes for one in rule.implies}
        protected = set(settings.groups.attributes)
        self._units = {
            name: moved.get(name, "") for name in (*moved, *implied) if name not in protected
        }
        self._rules = {rule.name: rule for rule in recourse.attributes}
        self._classes = set(settings.decision.classes)

    def kind(self, name: str | None) -> Kind | None:
        return Kind(name) if name is not None and name in self._kinds else None

    def attribute(self, name: str | None) -> Attribute | None:
        return Attribute(name) if name is not None and name in self._units else None

    def unit(self, attribute: Attribute) -> Unit:
        return Unit(self._units[attribute])

    def is_yes_no(self, attribute: Attribute, values: set[float], levels: int | None) -> bool:
        """Whether an attribute can only be 0 or 1, by its rule or by what the person can reach.

        With whole steps and one level to reach, 1 from 0 or 0 from 1, nothing else is in its range;
        but not if it may only fall, nor if what moves along may keep it from other levels.
        """
        rule = self._rules.get(attribute)
        if rule is None or rule.unit or rule.step != 1 or values != {0.0, 1.0}:
            return False
        if (rule.min, rule.max) == (0, 1):
            return True
        return levels == 1 and rule.direction != "down" and not rule.implies

    def decision(self, name: str) -> DecisionClass | None:
        return DecisionClass(name) if name in self._classes else None


def letter_source(document: dict[str, Any], vocabulary: Vocabulary) -> LetterSource | NoLetter:
    """What a letter to this subject rests on; or why there is none.

    Nobody gets a letter who was decided on favourably, or on whom the model gave no answer: there
    is no decision to tell. Where only the options went wrong there is one, which says so.
    """
    subject = document["subject"]
    if subject["favourable"]:
        return "favourable"
    decision = vocabulary.decision(subject["decision"])
    if decision is None:
        return "undecided"
    recourse = document["recourse"] or {}
    failed = bool(document.get("error"))
    outcome = "not_worked_out" if failed else _OUTCOMES.get(recourse.get("status", ""))
    raw = recourse.get("options") or [] if outcome == "options" else []
    reader = _Reader(document, vocabulary)
    told = [reader.option(option) for option in raw]
    options = tuple(option for option in told if option is not None)
    return LetterSource(
        reference=Reference(subject["id"]),
        decision=decision,
        outcome=outcome or "not_worked_out",
        options=options,
        untellable=len(told) - len(options),
        limits=_limits(recourse.get("certificate"), vocabulary),
    )


def _neighbours(document: dict[str, Any]) -> dict[str, int]:
    """With how many people the subject has ties of each kind, as far as the document shows."""
    own = document["subject"]["id"]
    surroundings = (document.get("surroundings") or {}).get("ties", ())
    droppable = (document["recourse"] or {}).get("droppable", ())
    ends = [(one["ends"], one["kind"]) for one in surroundings]
    ends += [(one["tie"], one["kind"]) for one in droppable]
    people: dict[str, set[str]] = {}
    for tie, kind in ends:
        if own in tie:
            people.setdefault(kind, set()).update(set(tie) - {own})
    return {kind: len(others) for kind, others in people.items()}


class _Reader:
    """Reads options in the person's own terms; others become numbers here, and stay so."""

    def __init__(self, document: dict[str, Any], vocabulary: Vocabulary) -> None:
        self._own = document["subject"]["id"]
        self._vocabulary = vocabulary
        self._neighbours = _neighbours(document)
        self._numbers: dict[str, int] = {}
        self._cautions = Cautions(document)
        certificate = (document["recourse"] or {}).get("certificate") or {}
        self._levels: dict[str, int] = certificate.get("permitted", {}).get("set", {})

    def option(self, option: dict[str, Any]) -> SourceOption | None:
        """An option in the person's own terms; None if it has none for a part of it."""
        ties: dict[tuple[str, Kind], list[Iterable[str]]] = {}
        attributes: list[AttributeStep] = []
        for action in option["actions"]:
            kind = self._vocabulary.kind(action.get("kind"))
            if action["do"] == "set":
                step = self._attribute_step(action)
                if step is None:
                    return None
                attributes.append(step)
            elif self._own in action["tie"] and kind is not None:
                ties.setdefault((action["do"], kind), []).append(action["tie"])
            else:
                return None
        holds = option.get("holds")
        return SourceOption(
            ties=tuple(self._step(do, kind, ends) for (do, kind), ends in ties.items()),
            attributes=tuple(attributes),
            holds=None if not holds else min(holds["ties"], holds["attributes"]),
            caution=self._cautions.of(option["actions"]),
        )

    def _step(self, do: str, kind: Kind, ends: list[Iterable[str]]) -> TieStep:
        others = {name for tie in ends for name in tie} - {self._own}
        return TieStep(
            do="add" if do == "add" else "drop",
            kind=kind,
            count=len(ends),
            who=frozenset(self._numbers.setdefault(name, len(self._numbers)) for name in others),
            have=self._neighbours.get(kind, 0),
        )

    def _attribute_step(self, action: dict[str, Any]) -> AttributeStep | None:
        own = self._move(action, self._levels.get(action["attribute"]))
        moves = [own, *(self._move(one, None) for one in action["implied"])]
        known = tuple(move for move in moves if move is not None)
        return None if len(known) < len(moves) else AttributeStep(move=known[0], implied=known[1:])

    def _move(self, action: dict[str, Any], levels: int | None) -> Move | None:
        attribute = self._vocabulary.attribute(action["attribute"])
        if attribute is None or action["from"] is None or action["to"] is None:
            return None
        before, after = float(action["from"]), float(action["to"])
        return Move(
            attribute=attribute,
            before=before,
            after=after,
            unit=self._vocabulary.unit(attribute),
            yes_no=self._vocabulary.is_yes_no(attribute, {before, after}, levels),
        )


def _limits(certificate: dict[str, Any] | None, vocabulary: Vocabulary) -> Limits | None:
    if not certificate:
        return None
    permitted = certificate["permitted"]
    named = [vocabulary.attribute(name) for name, levels in permitted["set"].items() if levels]
    return Limits(
        max_changes=certificate["max_changes"],
        ties=bool(permitted["drop"] or permitted["add"]),
        attributes=tuple(name for name in named if name is not None),
    )
