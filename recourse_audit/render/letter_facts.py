"""The facts that a letter may say: the privacy boundary between a report and its reader.

Of a report only the person's own reference and categories pass it; every other text comes from the
settings or from staff, and each has a type of its own. Ids, labels, decisions and probabilities of
other people have no place in a `Letter`: it holds kinds and counts of ties, and the person's own
attributes. An option that cannot be described in these terms is only counted, and so is one with a
kind of tie that would tell who is meant: a kind is named if `letters.known_kinds` lists it, or if
the person has ties of it with at least `letters.k` people and either all of them end together or
some stay. The far end that a tie moves to is named only if it is no person and at least
`groups.smallest` people share it (`OptionReader.shared_ends`); otherwise the person must ask.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, NewType

from recourse_audit.records.recourse import (
    Move,
    MoveAction,
    Option,
    SetAction,
    TieWord,
    TogetherAction,
    is_shared,
)
from recourse_audit.records.search import Tie
from recourse_audit.records.subject import OwnData, SubjectReport
from recourse_audit.records.texts import same_name
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.recourse.proxies import relation_by_name
from recourse_audit.render.letter_inputs import AddressLine, Reason, Signer
from recourse_audit.settings import Settings

Reference = NewType("Reference", str)
Kind = NewType("Kind", str)
Attribute = NewType("Attribute", str)
Unit = NewType("Unit", str)
OwnCategory = NewType("OwnCategory", str)
SharedEnd = NewType("SharedEnd", str)
NodeKind = NewType("NodeKind", str)
Column = NewType("Column", str)
DecisionClass = NewType("DecisionClass", str)

Outcome = Literal["options", "staff", "none_exists", "none_found", "not_worked_out"]
Strength = Literal["steady", "unsteady", "fragile", "unmeasured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TieChange:
    """Ties of one kind to end, form or move; `count` is None where all of them end together.

    `only` if the person has no others of this kind, so that they know which are meant. `to` are the
    far ends that ties move to, each with the kind of node that it is ("" if there is one kind), if
    so many people share each of them that it may be named.
    """

    do: TieWord
    kind: Kind
    count: int | None
    only: bool
    to: tuple[tuple[NodeKind, SharedEnd], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeChange:
    """One of the person's own attributes, before and after: a number in its unit, or a category.

    `yes_no` if it can only be 0 or 1, which a letter writes as words; `implied` are attributes that
    are assumed to change with it.
    """

    attribute: Attribute
    before: float | OwnCategory
    after: float | OwnCategory
    unit: Unit
    yes_no: bool
    implied: "tuple[AttributeChange, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterOption:
    """Changes to be made together, and how often they worked when other data changed.

    `alike` counts the options that are told as this one, because they differ only in who the other
    people are; `partners` are the people with whom a new tie worked, and `unnamed` the far ends
    other than people that may not be named. `unconfirmed` says that the effect of the ties that it
    ends was not found to stay with other data.
    """

    ties: tuple[TieChange, ...]
    attributes: tuple[AttributeChange, ...]
    strength: Strength
    alike: int
    partners: int
    unnamed: int
    unconfirmed: bool

    @property
    def new_ties(self) -> int:
        return sum(tie.count or 1 for tie in self.ties if tie.do != "drop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """Everything that one letter says, as keys, numbers, dates and texts with a type of their own.

    `details` are what staff's addresses say besides the lines: the name in the greeting, what the
    decision was about, then the details of the profile. `data` are the columns of the person's own
    data. `withheld` counts the options that only staff may talk about, `unlisted`
    those for which there is no room; with those that are told they are the `option_count` of
    the report. `tries_ties` and `tries_attributes` are what the search could change, up to
    `max_changes` at a time. Without a `signer`, it is a draft and has no date.
    """

    reference: Reference
    recipient: tuple[AddressLine, ...]
    details: tuple[AddressLine | None, ...]
    decision: DecisionClass
    reasons: tuple[Reason, ...]
    data: tuple[Column, ...]
    outcome: Outcome
    options: tuple[LetterOption, ...]
    withheld: int
    unlisted: int
    max_changes: int
    tries_ties: bool
    tries_attributes: tuple[Attribute, ...]
    data_as_of: date | None
    valid_days: int
    signer: Signer | None
    day: date | None

    @property
    def valid_until(self) -> date | None:
        return None if self.day is None else self.day + timedelta(self.valid_days)

    @property
    def option_count(self) -> int:
        """How many options were found, as the report counts them."""
        return sum(option.alike for option in self.options) + self.withheld + self.unlisted

    @property
    def is_fragile(self) -> bool:
        return any(option.strength == "fragile" for option in self.options)

    @property
    def ties_to_end(self) -> tuple[TieChange, ...]:
        """The ties that options end, also by moving them."""
        return tuple(tie for option in self.options for tie in option.ties if tie.do != "add")

    @property
    def unnamed_ties(self) -> tuple[TieChange, ...]:
        """Those of them of which the person has others, and cannot know which are meant."""
        return tuple(tie for tie in self.ties_to_end if tie.count is not None and not tie.only)


def protected_by_name(name: str, settings: Settings) -> str:
    """The protected attribute that a column is named like; "" if there is none, or it is waived."""
    waived = name in settings.recourse.not_protected
    like = (own for own in settings.groups.attributes if relation_by_name(name, own) is not None)
    return next((own for own in like if not waived or same_name(name, own)), "")


class Vocabulary:
    """The names that a letter may use: only those that the settings themselves mention.

    A kind of tie is known if a rule, a word or `known_kinds` names it and it may be suggested at
    all, which family ties and the like may not. An attribute is known if a rule moves it and it is
    neither protected nor named like a protected one.
    """

    def __init__(self, settings: Settings) -> None:
        recourse = settings.recourse
        worded = {kind for words in settings.words.values() for kind in words.ties}
        kinds = {rule.kind for rule in recourse.ties} | {*settings.letters.known_kinds} | worded
        never = {"*", "", *recourse.never}
        self._kinds = {kind for kind in kinds - never if not is_denied(kind)}
        self._rules = {rule.name: rule for rule in recourse.attributes}
        implied = {along.name for rule in recourse.attributes for along in rule.implies}
        named = {*self._rules, *implied}
        self._attributes = {name for name in named if not protected_by_name(name, settings)}
        self._refusals = set(settings.decision.classes) - set(settings.decision.favourable)
        self.only_refusal = len(self._refusals) == 1

    def kind(self, name: str) -> Kind | None:
        return Kind(name) if name in self._kinds else None

    def attribute(self, name: str) -> Attribute | None:
        return Attribute(name) if name in self._attributes else None

    def refusal(self, name: str) -> DecisionClass | None:
        return DecisionClass(name) if name in self._refusals else None

    def columns(self, own: OwnData | None) -> tuple[Column, ...]:
        """The columns of a person's own data: the names of the user's table."""
        return tuple(Column(column.name) for column in (own.columns if own else ()))

    def change(self, move: SetAction | Move, levels: int | None = None) -> AttributeChange | None:
        """A change of an attribute; None if a letter may not name all that changes."""
        attribute, rule = self.attribute(move.attribute), self._rules.get(move.attribute)
        along = [self.change(other) for other in getattr(move, "implied", ())]
        implied = tuple(change for change in along if change is not None)
        if attribute is None or len(implied) < len(along):
            return None
        return AttributeChange(
            attribute=attribute,
            before=_own(move.before),
            after=_own(move.after),
            unit=Unit("" if rule is None else rule.unit),
            yes_no=self._is_yes_no(attribute, {move.before, move.after}, levels),
            implied=implied,
        )

    def _is_yes_no(
        self, attribute: Attribute, values: set[float | str], levels: int | None
    ) -> bool:
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


def _own(value: float | str) -> float | OwnCategory:
    return OwnCategory(value) if isinstance(value, str) else value


_Changes = tuple[tuple[TieChange, ...], tuple[AttributeChange, ...]]
_Unnamed = tuple[frozenset[str], frozenset[str]]  # people, and other far ends


class OptionReader:
    """Reads the options of one report; who the other people are does not leave this class."""

    def __init__(self, report: SubjectReport, vocabulary: Vocabulary, settings: Settings) -> None:
        recourse, near = report.recourse, report.ego_network
        self._smallest = settings.groups.smallest
        self._own = report.subject.id
        self._vocabulary, self._settings = vocabulary, settings.letters
        self._levels = {} if recourse is None else recourse.certificate.permitted.set
        ties = [(tie.ends, tie.kind) for tie in (near.ties if near is not None else ())]
        ties += [(tie.tie, tie.kind) for tie in (recourse.droppable if recourse else ())]
        self._neighbours: dict[str, set[str]] = {}
        for ends, kind in ties:
            if self._own in ends:
                self._neighbours.setdefault(kind, set()).update({*ends} - {self._own})
        # A caveat is about the ties that a counterfactual removes: an option must end them all.
        removed = [_pairs(found.removed) for found in report.counterfactuals]
        self._doubtful = [
            removed[number - 1]
            for caveat in report.caveats
            if caveat.kind == "confounders"
            and caveat.grade != "holds"
            and 0 < (number := caveat.counterfactual or 0) <= len(removed)
        ]
        self._unmeasured = any(caveat.kind == "unknown_reach" for caveat in report.caveats)

    def may_name(self, kind: str) -> bool:
        """Whether a letter may name a kind of the person's ties, all of them meant."""
        near = len(self._neighbours.get(kind, ()))
        known = kind in self._settings.known_kinds or near >= self._settings.k
        return known and self._vocabulary.kind(kind) is not None

    def read(self, options: Sequence[Option]) -> tuple[list[LetterOption], int]:
        """Options that read differently, the fragile last; and how many may not be told."""
        alike: dict[_Changes, list[tuple[Option, _Unnamed]]] = {}
        for option in options:
            if (told := self._changes(option)) is not None:
                changes, unnamed = told
                alike.setdefault(changes, []).append((option, unnamed))
        distinct = [self._merge(changes, same) for changes, same in alike.items()]
        withheld = len(options) - sum(option.alike for option in distinct)
        return sorted(distinct, key=lambda option: option.strength == "fragile"), withheld

    def _changes(self, option: Option) -> tuple[_Changes, _Unnamed] | None:
        """The changes of an option, and with whom its new ties are; None if it may not be told."""
        ties: dict[tuple[TieWord, Kind, bool], list[Tie]] = {}
        moves: dict[Kind, list[MoveAction]] = {}
        attributes: list[AttributeChange] = []
        for action in option.actions:
            if isinstance(action, SetAction):
                change = self._vocabulary.change(action, self._levels.get(action.attribute))
                if change is None:
                    return None
                attributes.append(change)
                continue
            kind = self._vocabulary.kind(action.kind)
            if kind is None or any(self._own not in tie for tie in action.ties):
                return None
            together = isinstance(action, TogetherAction)
            ties.setdefault((action.do, kind, together), []).extend(action.ties)
            if isinstance(action, MoveAction):
                moves.setdefault(kind, []).append(action)
        changes: list[TieChange] = []
        partners: set[str] = set()
        unnamed: set[str] = set()
        for (do, kind, together), ends in sorted(ties.items()):
            others = {name for tie in ends for name in tie} - {self._own}
            near = len(self._neighbours.get(kind, ()))
            hides = near >= self._settings.k and (do == "add" or together or len(others) < near)
            if not hides and kind not in self._settings.known_kinds:
                return None
            new = others if do == "add" else {action.to for action in moves.get(kind, ())}
            only = do != "add" and len(others) == near == len(ends)
            count = None if together else len(ends)
            to = self.shared_ends(moves.get(kind, ()) if do == "move" else ())
            if do != "drop":
                people = {name for name in new if self._is_person(name, moves.get(kind, ()))}
                partners |= people
                unnamed |= new - people if not to else set()
            changes.append(TieChange(do=do, kind=kind, count=count, only=only, to=to))
        return (tuple(changes), tuple(attributes)), (frozenset(partners), frozenset(unnamed))

    def _is_person(self, name: str, moves: Sequence[MoveAction]) -> bool:
        """Whether a far end is a person, as far as a report tells."""
        if any(move.to == name for move in moves):
            return any(move.shared_by is None for move in moves if move.to == name)
        kind, colon, _ = self._own.partition(":")
        return not colon or name.startswith(f"{kind}:")

    def shared_ends(self, moves: Sequence[MoveAction]) -> tuple[tuple[NodeKind, SharedEnd], ...]:
        """The far ends of moves, each with its kind; none if one of them may not be named."""
        if not all(is_shared(move, self._smallest) for move in moves):
            return ()
        ends = [move.to.partition(":") if ":" in self._own else ("", "", move.to) for move in moves]
        return tuple((NodeKind(kind), SharedEnd(name)) for kind, _, name in ends)

    def _merge(self, changes: _Changes, same: Sequence[tuple[Option, _Unnamed]]) -> LetterOption:
        """Options that read the same as one, which is as steady as the least steady of them."""
        tests = [option.robustness for option, _ in same if option.robustness is not None]
        people, others = zip(*(unnamed for _, unnamed in same), strict=True)
        return LetterOption(
            ties=changes[0],
            attributes=changes[1],
            strength=self._strength(min((test.success_share for test in tests), default=None)),
            alike=len(same),
            partners=len(frozenset[str]().union(*people)),
            unnamed=len(frozenset[str]().union(*others)),
            unconfirmed=any(self._is_doubtful(option) for option, _ in same),
        )

    def _strength(self, share: float | None) -> Strength:
        if share is None:
            return "unmeasured"
        if share <= self._settings.fragile_share:
            return "fragile"
        return "steady" if share >= self._settings.steady_share else "unsteady"

    def _is_doubtful(self, option: Option) -> bool:
        """Whether the effect of the ties that an option ends was not found to stay."""
        changed = (action for action in option.actions if not isinstance(action, SetAction))
        ended = _pairs(tie for action in changed if action.do != "add" for tie in action.ties)
        return bool(ended) and (
            self._unmeasured or any(removed and removed <= ended for removed in self._doubtful)
        )


def _pairs(ties: Iterable[Tie]) -> frozenset[frozenset[str]]:
    """Ties without direction: a counterfactual removes every tie between two people."""
    return frozenset(frozenset(tie) for tie in ties)
