"""A letter before it is put into words: what is said to one person, in types without other people.

A kind of tie is named only if the person has ties of that kind with at least `letters.k` people and
not all of them are meant, or if `letters.known_kinds` lists it. Options that read the same are told
once, with their number; fragile ones come last. Options that may not be told, or for which there is
no room, are counted, and the person is referred to staff. Together the counts add up to the options
that were found.
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
Steadiness = Literal["steady", "unsteady", "fragile", "unmeasured"]
MOST_OPTIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOff:
    """Who answers for the letters, and the date on them."""

    name: Signer
    day: date


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterInputs:
    """What staff gave for one letter: the principal reasons, and the address it goes to."""

    reasons: tuple[Reason, ...] = ()
    recipient: tuple[AddressLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TieChange:
    """A number of ties of one kind to end or to form; `only` if the person has no others.

    Ties of a kind that end `together` are one change.
    """

    do: Literal["drop", "add"]
    kind: Kind
    count: int
    only: bool
    together: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterOption:
    """Changes to be made together, and how often their result held when other data changed.

    `alike` counts the options that are told as this one, because they differ only in who the other
    people are. If exactly one new tie is among the changes, `partners` is the number of people with
    whom it worked. `caution` is the gravest of what was found about the ties that end.
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
    """Everything that one letter says, as keys, numbers and dates.

    `withheld` counts the options that only staff may talk about, `unlisted` those for which there
    is no room. A letter that is not signed off is a draft and has no date.
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
    def is_fragile(self) -> bool:
        """Whether an option that the letter tells is fragile."""
        return any(option.steadiness == "fragile" for option in self.options)

    @property
    def unnamed_ties(self) -> int:
        """How many ties options end without saying which of several is meant."""
        ties = (tie for option in self.options for tie in option.ties)
        return sum(tie.count for tie in ties if tie.do == "drop" and not (tie.only or tie.together))


def compose_letter(
    source: LetterSource,
    settings: LetterSettings,
    *,
    inputs: LetterInputs,
    sign_off: SignOff | None,
    data_as_of: str = "",
) -> Letter:
    """Choose from what was found what this letter may say."""
    tellable = [option for option in source.options if _may_tell(option.ties, settings)]
    withheld = source.untellable + len(source.options) - len(tellable)
    # The least effort first, but whatever often stopped working after everything else.
    distinct = sorted(_distinct(tellable, settings), key=lambda one: one.steadiness == "fragile")
    options = tuple(distinct[:MOST_OPTIONS])
    outcome: Outcome = source.outcome
    if outcome == "options" and not options:
        outcome = "staff" if withheld else "not_worked_out"
    return Letter(
        reference=source.reference,
        recipient=inputs.recipient,
        decision=source.decision,
        only_refusal=source.only_refusal,
        reasons=inputs.reasons,
        outcome=outcome,
        options=options,
        withheld=withheld,
        unlisted=sum(option.alike for option in distinct[MOST_OPTIONS:]),
        limits=source.limits,
        data_date=date.fromisoformat(data_as_of) if data_as_of else None,
        valid_days=settings.valid_days,
        sign_off=sign_off,
    )


def _may_tell(ties: Sequence[TieStep], settings: LetterSettings) -> bool:
    """Whether every tie of an option passes the rule of k; the deny list is checked once more."""
    return all(
        not is_denied(tie.kind)
        and (
            tie.kind in settings.known_kinds
            or (
                tie.neighbours >= settings.k
                and (tie.do == "add" or tie.together or len(tie.partners) < tie.neighbours)
            )
        )
        for tie in ties
    )


def _distinct(
    options: Sequence[SourceOption], settings: LetterSettings
) -> tuple[LetterOption, ...]:
    """Options that read differently, in order; those that read the same become one."""
    alike: dict[object, list[SourceOption]] = {}
    for option in options:
        alike.setdefault((_tie_changes(option), option.attributes), []).append(option)
    return tuple(_merged(same, settings) for same in alike.values())


def _merged(same: Sequence[SourceOption], settings: LetterSettings) -> LetterOption:
    """Options that read the same as one, which is only as steady as the least steady of them."""
    shares = [option.robustness for option in same if option.robustness is not None]
    added = [tie for option in same for tie in option.ties if tie.do == "add"]
    return LetterOption(
        ties=_tie_changes(same[0]),
        attributes=same[0].attributes,
        steadiness=_steadiness(min(shares), settings) if shares else "unmeasured",
        alike=len(same),
        partners=len(frozenset().union(*(tie.partners for tie in added))),
        caution=gravest(option.caution for option in same),
    )


def _steadiness(share: float, settings: LetterSettings) -> Steadiness:
    """How an option is described that still worked in this share of draws."""
    if share <= settings.fragile_share:
        return "fragile"
    return "steady" if share >= settings.steady_share else "unsteady"


def _tie_changes(option: SourceOption) -> tuple[TieChange, ...]:
    """The ties of an option by kind, always in the same order, so that options can be compared."""
    ties = [
        TieChange(
            do=tie.do,
            kind=tie.kind,
            count=tie.count,
            together=tie.together,
            only=tie.do == "drop" and len(tie.partners) == tie.neighbours == tie.count == 1,
        )
        for tie in option.ties
    ]
    return tuple(sorted(ties, key=lambda tie: (tie.do, tie.kind)))
