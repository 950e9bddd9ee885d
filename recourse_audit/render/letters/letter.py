"""A letter before it is words: what is said to one person, in types that hold nothing of others.

The kind of a tie is said only if the person has ties of it with at least `letters.k` people, and
not all of them are meant, or if `letters.known_kinds` says that people know of theirs. Options that
read alike are told once, with how many they are. What cannot be said is counted, and staff are
named instead; so is what finds no room. All counts together are the options that were found.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, NewType

from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.render.letters.cautions import Caution, gravest
from recourse_audit.render.letters.source import (
    AttributeStep,
    DecisionClass,
    Kind,
    LetterSource,
    Limits,
    Outcome,
    Reference,
    SourceOption,
    TieStep,
)
from recourse_audit.settings import LetterSettings

Reason = NewType("Reason", str)
AddressLine = NewType("AddressLine", str)
Signer = NewType("Signer", str)
Steadiness = Literal["steady", "easily_upset", "unmeasured"]
MOST_OPTIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOff:
    """Who answers for the letters, and from which day they are."""

    name: Signer
    day: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """What people gave for one letter: the principal reasons, and where it is sent."""

    reasons: tuple[Reason, ...] = ()
    recipient: tuple[AddressLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TieChange:
    """So many ties of a kind to end or make; `only` if the person has no others of the kind."""

    do: Literal["drop", "add"]
    kind: Kind
    count: int
    only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterOption:
    """Changes to be made together, and how easily the result is upset.

    `alike` counts the options that differ only in who the others are, and are told as this one. If
    one new tie is among the changes, `partners` is with how many people it was found to work.
    `caution` is the gravest of what was found about the ties that end.
    """

    ties: tuple[TieChange, ...]
    attributes: tuple[AttributeStep, ...]
    steadiness: Steadiness
    alike: int
    partners: int
    caution: Caution

    @property
    def changes(self) -> int:
        return sum(tie.count for tie in self.ties) + len(self.attributes)

    @property
    def new_ties(self) -> int:
        return sum(tie.count for tie in self.ties if tie.do == "add")


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """All that one letter says, as keys, numbers and dates.

    `withheld` counts the options that only staff may talk about, `unlisted` those that find no
    room. A letter that is not signed off is a draft and has no date.
    """

    reference: Reference
    recipient: tuple[AddressLine, ...]
    decision: DecisionClass
    reasons: tuple[Reason, ...]
    outcome: Outcome
    options: tuple[LetterOption, ...]
    withheld: int
    unlisted: int
    limits: Limits | None
    data_date: date | None
    valid_days: int
    sign_off: SignOff | None

    @property
    def valid_until(self) -> date | None:
        if self.sign_off is None:
            return None
        return self.sign_off.day + timedelta(days=self.valid_days)

    @property
    def found(self) -> int:
        """How many options were found, as the report counts them."""
        return sum(option.alike for option in self.options) + self.withheld + self.unlisted

    @property
    def leaves_open_which(self) -> bool:
        """Whether an option ends a tie, and does not say which of several."""
        ties = (tie for option in self.options for tie in option.ties)
        return any(tie.do == "drop" and not tie.only for tie in ties)


def letter_of(
    source: LetterSource,
    settings: LetterSettings,
    *,
    confirmed: Confirmed,
    sign_off: SignOff | None,
) -> Letter:
    """What may be said of what was found."""
    may_say = [option for option in source.options if _may_say(option.ties, settings)]
    withheld = source.untellable + len(source.options) - len(may_say)
    different = _different(may_say, settings)
    options = different[:MOST_OPTIONS]
    outcome: Outcome = source.outcome
    if outcome == "options" and not options:
        outcome = "staff" if withheld else "not_worked_out"
    return Letter(
        reference=source.reference,
        recipient=confirmed.recipient,
        decision=source.decision,
        reasons=confirmed.reasons,
        outcome=outcome,
        options=options,
        withheld=withheld,
        unlisted=sum(option.alike for option in different[MOST_OPTIONS:]),
        limits=source.limits,
        data_date=date.fromisoformat(settings.data_date) if settings.data_date else None,
        valid_days=settings.valid_days,
        sign_off=sign_off,
    )


def _different(
    options: Sequence[SourceOption], settings: LetterSettings
) -> tuple[LetterOption, ...]:
    """Options that read alike are told once, as upset as the most easily upset of them."""
    alike: dict[object, list[SourceOption]] = {}
    for option in options:
        alike.setdefault((_changes(option), option.attributes), []).append(option)
    return tuple(_told(same, settings) for same in alike.values())


def _may_say(ties: Sequence[TieStep], settings: LetterSettings) -> bool:
    """The rule of k, for every tie of an option; checked against the deny list once more."""
    return all(
        not is_denied(tie.kind)
        and (
            tie.kind in settings.known_kinds
            or (tie.have >= settings.k and (tie.do == "add" or len(tie.who) < tie.have))
        )
        for tie in ties
    )


def _changes(option: SourceOption) -> tuple[TieChange, ...]:
    """The ties of an option by kind, in one order, so that it can be compared with others."""
    ties = [
        TieChange(
            do=tie.do,
            kind=tie.kind,
            count=tie.count,
            only=tie.do == "drop" and len(tie.who) == tie.have == tie.count == 1,
        )
        for tie in option.ties
    ]
    return tuple(sorted(ties, key=lambda tie: (tie.do, tie.kind)))


def _told(same: Sequence[SourceOption], settings: LetterSettings) -> LetterOption:
    """Options that read alike as one."""
    shares = [option.holds for option in same if option.holds is not None]
    steadiness: Steadiness = "unmeasured"
    if shares:
        steadiness = "steady" if min(shares) >= settings.steady_share else "easily_upset"
    new = [tie for option in same for tie in option.ties if tie.do == "add"]
    return LetterOption(
        ties=_changes(same[0]),
        attributes=same[0].attributes,
        steadiness=steadiness,
        alike=len(same),
        partners=len(frozenset().union(*(tie.who for tie in new))),
        caution=gravest(option.caution for option in same),
    )
