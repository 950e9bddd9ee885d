"""Changes chosen by hand: what the model decides with them, and what speaks against them."""

from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from recourse_audit.records.recourse import (
    Action,
    Forbidden,
    ForbiddenCode,
    Move,
    SetAction,
    TogetherAction,
    WhatIf,
)
from recourse_audit.records.subject import Decision
from recourse_audit.render.terminal.figures import (
    amount,
    minus,
    probability,
    signed,
    signed_amount,
)
from recourse_audit.render.text import plain

DOING = {"drop": "dropping", "add": "adding"}
WHOSE = {"own": "own", "incoming": "incoming", "others": "other people's"}
FORBIDDEN: dict[ForbiddenCode, str] = {
    "kind_denied": "ties of the kind {kind!r} are never suggested",
    "node_denied": "ties to nodes like {node} are never suggested",
    "no_rule_for_ties": "no rule allows {doing} {whose} ties of the kind {kind!r}",
    "only_together": "a person's ties of the kind {kind!r} end only together, as one change",
    "out_of_reach": "is farther away than the {hops:g} hops that the model looks",
    "tie_exists": "this tie already exists",
    "no_candidate": "is not among the candidates",
    "not_near": "{node} is not two ties away",
    "protected": "protected attributes never change",
    "no_rule": "no rule allows {attribute!r} to change",
    "no_change": "is the value it has already",
    "no_move": "no move leads there from {before!r}",
    "not_a_value": "is not among the values that may be suggested",
    "wrong_direction": "{attribute!r} may only go {direction} (from {before:g})",
    "out_of_range": "is outside {low:g} to {high:g}",
    "not_a_step": "is not a whole number of steps of {step:g} from {before:g}",
    "implied_move": "would change {attribute!r} from {before!r} to {after!r}, which no move allows",
    "implied_range": "would take {attribute!r} to {value:g}, outside {low:g} to {high:g}",
    "too_many_changes": "these are {count:g} changes; at most {most:g} are suggested together",
    "condition": "the condition {condition!r} would not hold",
    "formula": "a column that a formula gives would have no finite value",
    "linked": "attributes that move along with each other are not suggested together",
}


def forbidden_words(forbidden: Forbidden) -> str:
    """Why the policy would not suggest something, after the change that it is about."""
    details = forbidden.details
    if forbidden.code == "no_rule_for_ties":
        words = {"doing": DOING[str(details["do"])], "whose": WHOSE[str(details["whose"])]}
        details = {**details, **words}
    sentence = FORBIDDEN[forbidden.code].format(**details)
    reason = f" ({details['reason']})" if details.get("reason") else ""
    change = f"{forbidden.change}: " if forbidden.change else ""
    return f"{change}{sentence}{reason}"


def show_what_if(console: Console, tried: WhatIf) -> None:
    """What the model decides after changes chosen by hand, and whether the policy permits them."""
    for text, style in what_if_lines(tried):
        console.print(Padding(Text(text, style=style), (0, 2)))


def what_if_lines(tried: WhatIf, now: Decision | None = None) -> Iterator[tuple[str, str]]:
    """The changes with what is decided, then what speaks against them; each with its style."""
    changes = "; ".join(change_words(action) for action in tried.actions)
    decided = f"What if {changes}: decided {plain(tried.decision)}{_answer(tried, now)}"
    yield decided, "bold green" if tried.favourable else "bold"
    for forbidden in tried.forbidden:
        sentence = plain(forbidden_words(forbidden))
        yield f"The policy would not suggest this: {sentence}.", "yellow"
    for number in tried.outside:
        end = ("lowest", number.lowest) if number.side == "below" else ("highest", number.highest)
        unit = f" {plain(number.unit)}" if number.unit else ""
        value = f"{plain(number.attribute)} = {amount(number.value)}"
        nobody = (
            f"Nobody in the graph has a value like {value}: the {end[0]} is "
            f"{amount(end[1])}{unit}. The model's answer there is an extrapolation."
        )
        yield nobody, "yellow"


def change_words(action: Action) -> str:
    """One change in plain words."""
    if isinstance(action, SetAction):
        implied = ", ".join(_move_words(move) for move in action.implied)
        return f"{_move_words(action)}{f' (so {implied})' if implied else ''}"
    if isinstance(action, TogetherAction):
        return f"{action.do} all {plain(action.kind)} ties"
    one, other = (plain(end) for end in action.tie)
    return f"{action.do} the {plain(action.kind)} tie {one} - {other}"


def _answer(tried: WhatIf, now: Decision | None) -> str:
    """The answer after the changes and before them, and the margins."""
    if not tried.probabilities and tried.score is not None and tried.score_before is not None:
        return (
            f" with a score of {amount(tried.score)} (now {amount(tried.score_before)}), margin "
            f"{signed_amount(tried.margin)} (now {signed_amount(tried.margin_before)})"
        )
    before = ""
    if now is not None:
        before = f" (now {probability(now.probabilities.get(tried.decision, 0.0))})"
    return (
        f" with probability {probability(tried.probabilities[tried.decision])}{before}, margin "
        f"{signed(tried.margin)} (now {signed(tried.margin_before)})"
    )


def _move_words(move: SetAction | Move) -> str:
    unit = f" {plain(move.unit)}" if move.unit else ""
    before, after = (
        plain(value) if isinstance(value, str) else minus(f"{value:,.12g}")
        for value in (move.before, move.after)
    )
    return f"{plain(move.attribute)} {before} → {after}{unit}"
