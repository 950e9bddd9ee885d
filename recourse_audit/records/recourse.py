"""What a subject could change, or how sure it is that there is nothing."""

from dataclasses import field
from math import sqrt
from statistics import NormalDist
from typing import Literal, get_args

from recourse_audit.records import Record, Sparse
from recourse_audit.records.search import Tie

TieWord = Literal["drop", "add", "move"]
Outcome = Literal["serves", "does_not_serve", "does_not_apply", "not_settled"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
CertificateReason = Literal["already_favourable", "nothing_permitted", "no_room", "enough_options"]
# Why the policy forbids a change: of an old tie, of a new one, of an attribute, or all together.
OldTie = Literal["kind_denied", "node_denied", "no_rule_for_ties", "only_together", "same_tie"]
NewTie = Literal["wrong_end", "out_of_reach", "tie_exists", "no_candidate", "not_near"]
NoValue = Literal["protected", "no_rule", "no_change", "no_move", "not_a_value", "not_a_step"]
TooFar = Literal["wrong_direction", "out_of_range", "implied_move", "implied_range"]
AllTogether = Literal["too_many_changes", "condition", "formula", "linked"]
ForbiddenCode = Literal[OldTie, NewTie, "not_near_kind", NoValue, TooFar, AllTogether]


class CommonAction(Record):
    """A change of one kind with its amount.

    Of ties, `what` is their kind and `ties` their number, or "all" where the policy lets them end
    only together. A number moves `by` so much, in the user's `unit`; a category changes `to`.
    """

    do: Literal["drop", "add", "move", "set"]
    what: str
    ties: int | Literal["all"] | None = None
    by: float | None = None
    to: str | None = None
    unit: str = ""


class CommonOutcome(Record):
    """What one of these actions does for one subject.

    It "serves", at this `cost`; or the policy permits the subject no such change. Where it can be
    taken in several ways (which tie is dropped?), it serves if one of them does, and is
    "not_settled" if none of those that were asked about does and some were not.
    """

    action: CommonAction
    outcome: Outcome
    cost: float | None = None


# The statuses of subjects for whom options were searched for, and of all.
Searched = Literal["verified", "certified_infeasible", "not_found_within_budget"]
RecourseStatus = Literal["already_favourable", Searched, "model_disagrees", "error"]
SEARCHED: tuple[RecourseStatus, ...] = get_args(Searched)

AskedOn = Literal["neighbourhood", "whole graph"]

# Shares of its tests in which an option held: from the first on it holds in most of them, and up to
# the second it is called fragile.
STEADY, FRAGILE = 0.8, 0.5
STATUSES: tuple[RecourseStatus, ...] = get_args(RecourseStatus)
# Python reserves the names that the JSON of a change has.
FROM_AND_TO: dict[str, object] = {
    "extra": "forbid",
    "alias_generator": lambda name: {"before": "from", "after": "to"}.get(name, name),
    "populate_by_name": True,
}


class TieAction(Record):
    """A tie to drop or to add, by its ends and its kind."""

    do: Literal["drop", "add"]
    tie: Tie
    kind: str
    cost: float = 0.0

    @property
    def ties(self) -> tuple[Tie, ...]:
        """The tie, as several that end together are given."""
        return (self.tie,)


class TogetherAction(Record):
    """All of the subject's ties of a kind, which end together: one change at one cost."""

    do: Literal["drop"] = "drop"
    kind: str
    ties: tuple[Tie, ...]
    cost: float = 0.0


class MoveAction(Record):
    """A tie that leaves one far end for another: one change at one cost.

    `to` is the new far end. `shared_by` is how many people have such a tie with it, if it is not a
    person itself.
    """

    do: Literal["move"] = "move"
    tie: Tie
    to: str
    kind: str
    shared_by: int | None = None
    cost: float = 0.0

    @property
    def ties(self) -> tuple[Tie, ...]:
        """The tie that ends, as other changes of ties give theirs."""
        return (self.tie,)


def is_shared(action: object, smallest: int) -> bool:
    """Whether so many people share the new end of a tie that a letter may name it."""
    shared_by = action.shared_by if isinstance(action, MoveAction) else None
    return shared_by is not None and shared_by >= smallest


class Move(Record):
    """An attribute before and after, in the user's units. In JSON: `from` and `to`.

    A category is text, a number is a number.
    """

    __pydantic_config__ = FROM_AND_TO

    attribute: str
    before: float | str
    after: float | str
    unit: str = ""


class SetAction(Record):
    """An attribute to change, in the user's units, and the attributes that move along with it."""

    __pydantic_config__ = FROM_AND_TO

    do: Literal["set"] = "set"
    attribute: str
    before: float | str
    after: float | str
    unit: str = ""
    implied: tuple[Move, ...] = ()
    cost: float = 0.0


Action = TieAction | TogetherAction | MoveAction | SetAction


class Survival(Record):
    """In how many draws an option still worked, with Wilson's 95 % interval of the share."""

    count: int
    share: float
    low: float
    high: float


class Robustness(Record):
    """How often an option still works when the graph around it changes a little.

    `ties`: with other people's ties changed. `attributes`: with everybody's attributes shifted.
    """

    draws: int
    ties: Survival
    attributes: Survival

    @property
    def successes(self) -> int:
        """In how many draws it worked in the weaker of the two tests."""
        return min(self.ties.count, self.attributes.count)

    @property
    def success_share(self) -> float:
        """The share of draws in which it worked in the weaker of the two tests."""
        return min(self.ties.share, self.attributes.share)


def survival(count: int, of: int) -> Survival:
    """What `count` successes in `of` draws say, rounded to six digits."""
    low, high = wilson(count, of)
    return Survival(count=count, share=round(count / of, 6), low=round(low, 6), high=round(high, 6))


def wilson(count: float, of: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a share; `of` must be above 0, and may be an effective number."""
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, room = count / of, z * z / of
    middle = share + room / 2
    reach = z * sqrt(share * (1 - share) / of + room / (4 * of))
    low, high = (middle - reach) / (1 + room), (middle + reach) / (1 + room)
    return max(low, 0.0), min(high, 1.0)


class SideEffects(Record):
    """Whose other decisions an option changes; `other` are changes between classes of one kind.

    Not `measured`: what the option reaches is too large, or the model answers for one person per
    query.
    """

    measured: bool
    to_favourable: tuple[str, ...] = ()
    to_unfavourable: tuple[str, ...] = ()
    other: tuple[str, ...] = ()


class Option(Record):
    """Changes with which the model decides favourably.

    `verified_on` says on what it was last put to the model: the subject's "neighbourhood" where the
    whole graph is too large to be asked about by every worker. `score` and `margin` are as in
    `DecisionLine`. `minimal`: every part of it that the policy permits was tried, and none works.
    `source` says how it was found: "counterfactual", "effect", "exhaustive" or "common action".
    """

    actions: tuple[Action, ...]
    cost: float
    decision: str
    probabilities: dict[str, float]
    margin: float
    score: float | None = None
    verified: bool
    verified_on: AskedOn
    minimal: bool
    source: str
    robustness: Robustness | None
    side_effects: SideEffects


class Permitted(Record):
    """How many changes a policy permits a subject: ties to drop, add and move, levels by attribute.

    Ties that end together are one change; a tie may move to several far ends.
    """

    drop: int = 0
    add: int = 0
    move: Sparse[int] = 0
    set: dict[str, int] = field(default_factory=dict)


class LeftOutLevels(Record):
    """How many levels of an attribute were left out, because they move another one too far."""

    attribute: str
    moves: str
    levels: int


class LeftOut(Record):
    """How many combinations were left out because of what else would be so after them.

    `implications`: an attribute that moves along would leave its range, or break its own rule;
    `levels` says which. `conditions`: the result would break a condition of the policy. `formulas`:
    a derived column would have no finite value. Each combination counts once: by implications
    first, then by formulas. None where there are too many to be counted.
    """

    implications: int = 0
    conditions: int | None = 0
    formulas: int | None = 0
    levels: tuple[LeftOutLevels, ...] = ()
    by_condition: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int | None:
        """All of them; None if some were not counted."""
        if self.conditions is None or self.formulas is None:
            return None
        return self.implications + self.conditions + self.formulas


class Certificate(Record):
    """How far the search for options looked.

    `possible` counts all combinations of at most `max_changes` changes that the rules permit one by
    one, `left_out` those of them that were not tried because of what would follow, `tried` those
    put to the model. What contains a combination that works is covered without being tried; where
    none works, `tried` and `left_out` add up to `possible`. `exhaustive`: all were tried, covered
    or left out; `complete_up_to` is the largest size of which that is so. `denied` counts the ties
    never suggested, `unasked` the combinations for which an export of fixed size has no room.
    """

    max_changes: int
    tried: int = 0
    possible: int = 0
    exhaustive: bool = False
    complete_up_to: int = 0
    permitted: Permitted = field(default_factory=Permitted)
    left_out: LeftOut = field(default_factory=LeftOut)
    denied: int = 0
    unasked: int = 0
    reason: CertificateReason | None = None


class DroppableTie(Record):
    """A tie that the policy would let a subject drop, or move to another far end."""

    tie: Tie
    kind: str


class Compared(Record):
    """How many answers about changes were asked again on the whole graph.

    `largest` is the largest difference of a probability (of a score, if the model gives scores).
    """

    answers: int = 0
    largest: float = 0.0

    def with_more(self, more: "Compared") -> "Compared":
        return Compared(
            answers=self.answers + more.answers, largest=max(self.largest, more.largest)
        )


class Part(Record):
    """A part of what a decision rests on: one of the subject's own columns, or a kind of tie."""

    what: Literal["column", "ties"]
    name: str


class Responsiveness(Record):
    """What single permitted changes of one column or kind of tie do to the decision.

    Of the `moves` that the policy permits, `tried` were asked about, and `flips` of these make the
    decision favourable: a `share`, with Wilson's 95 % interval if not all were tried, and None if
    none could be. `best_answer` is what the rule compares after the best of them, `best_move` how
    far that is towards a favourable decision, in log-odds or units of the score; below 0, every one
    of them does harm.
    """

    part: Part
    moves: int
    tried: int = 0
    flips: int = 0
    share: float | None = None
    interval: tuple[float, float] | None = None
    best_answer: float | None = None
    best_move: float | None = None


class Recourse(Record):
    """What a subject could change, or how sure it is that there is nothing.

    `margin` is that of the decision as it stands. `evaluations` counts the combinations that the
    search put to the model, `evaluated_on` says on what; `compared` are those that were asked again
    on the whole graph. `droppable` are all ties that could have been dropped, in the order of the
    graph. `common_actions` has every action of the list that is the same for everybody, if any was
    asked about.
    """

    status: RecourseStatus
    certificate: Certificate
    margin: float | None = None
    options: tuple[Option, ...] = ()
    evaluations: int = 0
    evaluated_on: AskedOn | None = None
    compared: Compared = Compared()
    error: str = ""
    droppable: tuple[DroppableTie, ...] = ()
    common_actions: tuple[CommonOutcome, ...] = ()
    responsiveness: tuple[Responsiveness, ...] = ()


class OutsideRange(Record):
    """A number that nobody in the graph has: below the lowest or above the highest there is."""

    attribute: str
    value: float
    side: Literal["below", "above"]
    lowest: float
    highest: float
    unit: str = ""


class Forbidden(Record):
    """Something that the policy would not let anybody suggest, and the names and figures in it.

    `change` is the change as it is typed; empty if the reason is about all of them together.
    """

    code: ForbiddenCode
    change: str = ""
    details: dict[str, float | str] = field(default_factory=dict)


def forbid(code: ForbiddenCode, **details: float | str) -> Forbidden:
    """What the policy forbids, with the names and figures in it."""
    return Forbidden(code=code, details=details)


class WhatIf(Record):
    """What the model decides on the whole graph after changes that somebody chose by hand.

    `forbidden` is what the policy would not let anybody suggest, `outside` the numbers that nobody
    in the graph has, where the answer is an extrapolation.
    """

    actions: tuple[Action, ...]
    decision: str
    favourable: bool
    probabilities: dict[str, float]
    margin_before: float
    margin: float
    score_before: float | None = None
    score: float | None = None
    forbidden: tuple[Forbidden, ...]
    outside: tuple[OutsideRange, ...] = ()
