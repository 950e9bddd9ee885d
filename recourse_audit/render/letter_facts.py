"""The facts that may be said to a person: the privacy boundary of letters.

Of a report only the person's own reference and categories pass it; every other text comes from the
settings or from staff, and each has a type of its own. Ids, labels, decisions and probabilities of
other people have no place in a `Letter`: it holds kinds and counts of ties, and the person's own
attributes. An option that cannot be described in these terms is only counted, and so is one with a
kind of tie that would tell who is meant: a kind is named if `letters.known_kinds` lists it, or if
the person has ties of it with at least `letters.k` people and either all of them end together or
some stay.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, NewType

from recourse_audit.records.recourse import Move, Option, SetAction, TogetherAction
from recourse_audit.records.search import Tie
from recourse_audit.records.subject import SubjectReport
from recourse_audit.records.texts import same_name
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.recourse.proxies import relation_by_name
from recourse_audit.render.letter_inputs import AddressLine, Reason, Signer
from recourse_audit.settings import LetterSettings, Settings

MOST_OPTIONS = 3
Reference = NewType("Reference", str)
Kind = NewType("Kind", str)
Attribute = NewType("Attribute", str)
Unit = NewType("Unit", str)
OwnCategory = NewType("OwnCategory", str)
DecisionClass = NewType("DecisionClass", str)

Outcome = Literal["options", "staff", "none_exists", "none_found", "not_worked_out"]
Strength = Literal["steady", "unsteady", "fragile", "unmeasured"]
_OUTCOMES: dict[str, Outcome] = {
    "verified": "options",
    "certified_infeasible": "none_exists",
    "not_found_within_budget": "none_found",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOff:
    """Who answers for a letter, and the date on it."""

    name: Signer
    day: date


@dataclass(frozen=True, slots=True, kw_only=True)
class TieChange:
    """Ties of one kind to end or to form; `count` is None where all of them end together.

    `only` if the person has no other of this kind, so that they know which is meant.
    """

    do: Literal["drop", "add"]
    kind: Kind
    count: int | None
    only: bool


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
    people are; `partners` are the people with whom a new tie worked. `unconfirmed` says that the
    effect of the ties that it ends was not found to stay with other data.
    """

    ties: tuple[TieChange, ...]
    attributes: tuple[AttributeChange, ...]
    strength: Strength
    alike: int
    partners: int
    unconfirmed: bool

    @property
    def changes(self) -> int:
        return sum(tie.count or 1 for tie in self.ties) + len(self.attributes)

    @property
    def new_ties(self) -> int:
        return sum(tie.count or 1 for tie in self.ties if tie.do == "add")


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """Everything that one letter says, as keys, numbers, dates and texts with a type of their own.

    `withheld` counts the options that only staff may talk about, `unlisted` those for which there
    is no room; with those that are told they add up to the options that were `found`. `tries_ties`
    and `tries_attributes` are what the search could change, up to `max_changes` at a time. A letter
    that is not signed off is a draft and has no date.
    """

    reference: Reference
    recipient: tuple[AddressLine, ...]
    decision: DecisionClass
    only_refusal: bool
    reasons: tuple[Reason, ...]
    outcome: Outcome
    options: tuple[LetterOption, ...]
    withheld: int
    unlisted: int
    max_changes: int
    tries_ties: bool
    tries_attributes: tuple[Attribute, ...]
    data_as_of: date | None
    valid_days: int
    sign_off: SignOff | None

    @property
    def valid_until(self) -> date | None:
        return None if self.sign_off is None else self.sign_off.day + timedelta(self.valid_days)

    @property
    def found(self) -> int:
        """How many options were found, as the report counts them."""
        return sum(option.alike for option in self.options) + self.withheld + self.unlisted

    @property
    def is_fragile(self) -> bool:
        """Whether an option that the letter tells is fragile."""
        return any(option.strength == "fragile" for option in self.options)

    @property
    def ended(self) -> tuple[TieChange, ...]:
        """The ties that options end."""
        return tuple(tie for option in self.options for tie in option.ties if tie.do == "drop")


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
        self._attributes = {
            name
            for name in {*self._rules, *implied}
            if not any(
                relation_by_name(name, protected) is not None
                and (name not in recourse.not_protected or same_name(name, protected))
                for protected in settings.groups.attributes
            )
        }
        self._classes = set(settings.decision.classes)
        self.favourable = frozenset(settings.decision.favourable)
        self.only_refusal = len(self._classes - self.favourable) == 1

    def kind(self, name: str) -> Kind | None:
        return Kind(name) if name in self._kinds else None

    def attribute(self, name: str) -> Attribute | None:
        return Attribute(name) if name in self._attributes else None

    def decision(self, name: str) -> DecisionClass | None:
        return DecisionClass(name) if name in self._classes else None

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


class _OptionReader:
    """Reads the options of one report; who the other people are does not leave this class."""

    def __init__(
        self, report: SubjectReport, vocabulary: Vocabulary, settings: LetterSettings
    ) -> None:
        recourse, near = report.recourse, report.ego_network
        self._own = report.subject.id
        self._vocabulary, self._settings = vocabulary, settings
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

    def tell(self, options: Sequence[Option]) -> tuple[list[LetterOption], int]:
        """Options that read differently, the fragile last; and how many may not be told."""
        alike: dict[_Changes, list[tuple[Option, frozenset[str]]]] = {}
        for option in options:
            if (told := self._changes(option)) is not None:
                changes, partners = told
                alike.setdefault(changes, []).append((option, partners))
        distinct = [self._merge(changes, same) for changes, same in alike.items()]
        withheld = len(options) - sum(option.alike for option in distinct)
        return sorted(distinct, key=lambda option: option.strength == "fragile"), withheld

    def _changes(self, option: Option) -> tuple[_Changes, frozenset[str]] | None:
        """The changes of an option, and with whom its new ties are; None if it may not be told."""
        ties: dict[tuple[Literal["drop", "add"], Kind, bool], list[Tie]] = {}
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
        told: list[TieChange] = []
        partners: set[str] = set()
        for (do, kind, together), ends in sorted(ties.items()):
            others = {name for tie in ends for name in tie} - {self._own}
            near = len(self._neighbours.get(kind, ()))
            hides = near >= self._settings.k and (do == "add" or together or len(others) < near)
            if not hides and kind not in self._settings.known_kinds:
                return None
            partners |= others if do == "add" else set()
            only = do == "drop" and len(others) == near == len(ends) == 1
            count = None if together else len(ends)
            told.append(TieChange(do=do, kind=kind, count=count, only=only))
        return (tuple(told), tuple(attributes)), frozenset(partners)

    def _merge(
        self, changes: _Changes, same: Sequence[tuple[Option, frozenset[str]]]
    ) -> LetterOption:
        """Options that read the same as one, which is as steady as the least steady of them."""
        tests = [option.robustness for option, _ in same if option.robustness is not None]
        return LetterOption(
            ties=changes[0],
            attributes=changes[1],
            strength=self._strength(min((test.held_share for test in tests), default=None)),
            alike=len(same),
            partners=len(frozenset[str]().union(*(partners for _, partners in same))),
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
        ended = _pairs(tie for action in changed if action.do == "drop" for tie in action.ties)
        return bool(ended) and (
            self._unmeasured or any(removed and removed <= ended for removed in self._doubtful)
        )


def _pairs(ties: Iterable[Tie]) -> frozenset[frozenset[str]]:
    """Ties without direction: a counterfactual removes every tie between two people."""
    return frozenset(frozenset(tie) for tie in ties)


def read_letter(
    report: SubjectReport,
    vocabulary: Vocabulary,
    settings: LetterSettings,
    *,
    recipient: tuple[AddressLine, ...] = (),
    reasons: tuple[Reason, ...] = (),
    data_as_of: str = "",
    sign_off: SignOff | None = None,
) -> Letter | None:
    """The facts of a letter; None about a favourable decision, or if there is no decision.

    If only the search for options failed, there is a letter, and it says so.
    """
    recourse = report.recourse
    # People were told the decision on record, whatever the model says of them today.
    decision = vocabulary.decision(report.decision.recorded or report.subject.decision or "")
    if decision is None or decision in vocabulary.favourable:
        return None
    outcome = _OUTCOMES.get(report.status, "not_worked_out")
    found = recourse.options if recourse is not None and outcome == "options" else ()
    distinct, withheld = _OptionReader(report, vocabulary, settings).tell(found)
    if outcome == "options" and not distinct:
        outcome = "staff" if withheld else "not_worked_out"
    permitted = None if recourse is None else recourse.certificate.permitted
    levels = {} if permitted is None else permitted.set
    movable = [vocabulary.attribute(name) for name, count in levels.items() if count]
    return Letter(
        reference=Reference(report.subject.id),
        recipient=recipient,
        decision=decision,
        only_refusal=vocabulary.only_refusal,
        reasons=reasons,
        outcome=outcome,
        options=tuple(distinct[:MOST_OPTIONS]),
        withheld=withheld,
        unlisted=sum(option.alike for option in distinct[MOST_OPTIONS:]),
        max_changes=1 if recourse is None else recourse.certificate.max_changes,
        tries_ties=permitted is not None and bool(permitted.drop or permitted.add),
        tries_attributes=tuple(name for name in movable if name is not None),
        data_as_of=date.fromisoformat(data_as_of) if data_as_of else None,
        valid_days=settings.valid_days,
        sign_off=sign_off,
    )
