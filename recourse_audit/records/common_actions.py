"""One action for all: changes from a list that is the same for everybody, and whom each serves."""

from dataclasses import dataclass
from typing import Literal, get_args

from recourse_audit.records.base import Record

Outcome = Literal["serves", "does_not_serve", "does_not_apply", "not_settled"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
NUMBERS = {1: "one", 2: "two"}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CommonAction(Record):
    """A change of one kind with its amount.

    Of ties (`do` is "drop" or "add"), `what` is their kind and `ties` their number. Of a number, it
    moves `by` so much, in the user's `unit`; a category changes `to` a value.
    """

    do: Literal["drop", "add", "set"]
    what: str
    ties: int | None = None
    by: float | None = None
    to: str | None = None
    unit: str = ""

    def __str__(self) -> str:
        """The action in words: raise savings by 5,000 euros; drop one payment tie."""
        if self.ties is not None:
            ties = "tie" if self.ties == 1 else "ties"
            return f"{self.do} {NUMBERS.get(self.ties, self.ties)} {self.what} {ties}"
        if self.by is None:
            return f"change {self.what} to {self.to}"
        unit = f" {self.unit}" if self.unit else ""
        return f"{'raise' if self.by > 0 else 'lower'} {self.what} by {abs(self.by):,.12g}{unit}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CommonOutcome(Record):
    """What one of these actions does for one subject.

    It "serves": with it the model decides favourably, at this `cost`. It "does_not_apply": the
    policy permits the subject no such change. Where it can be taken in several ways (which tie is
    dropped?), it serves if one of them does, and is "not_settled" if none of those that were asked
    about does and some were not.
    """

    action: CommonAction
    outcome: Outcome
    cost: float | None = None
