"""An independent check of the rules: why a change may not be suggested, or an option not offered.

Nothing here uses the tables that the search works with. It reads the finished records and the
user's rules, so that a mistake on either side is found by the other.
"""

from collections.abc import Sequence

import numpy as np

from recourse_audit.graph.arrays import Graph, Ints
from recourse_audit.graph.neighbourhoods import neighbourhood
from recourse_audit.records.recourse import Action, SetAction, TieAction
from recourse_audit.recourse.attribute_checks import goes_against
from recourse_audit.recourse.attributes import Attribute, Category, Value, column_of
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.recourse.movements import Movement
from recourse_audit.recourse.policy import (
    INCOMING,
    OTHERS,
    OUTGOING,
    Policy,
    relations,
)
from recourse_audit.recourse.proxies import SAME, named_like
from recourse_audit.recourse.recheck import broken_by_result


def why_not(policy: Policy, subject: int, action: Action, reach: int | None) -> str:
    """Why the policy would not suggest this change to this subject; empty if it would.

    `reach` is the model's depth, which bounds whose other ties may be suggested.
    """
    if isinstance(action, SetAction):
        return _why_not_set(policy, subject, action)
    return _why_not_tie(policy, subject, action, reach)


def broken_rule(policy: Policy, subject: int, actions: Sequence[Action], reach: int | None) -> str:
    """Why a finished option must not be offered; empty if every rule is kept."""
    if not 0 < len(actions) <= policy.settings.max_changes:
        most = policy.settings.max_changes
        return f"it has {len(actions)} changes, but at most {most} are allowed"
    families = [
        movement.family
        for action in actions
        if isinstance(action, SetAction) and (movement := policy.movement(action.attribute))
    ]
    if len(set(families)) < len(families):
        return "it changes attributes that move along with each other"
    if len({_identity(action) for action in actions}) < len(actions):
        # Parallel ties of one kind look alike, and each may be dropped once.
        for action in actions:
            alike = [other for other in actions if _identity(other) == _identity(action)]
            if action.do != "drop" or len(alike) > len(ties_between(policy.graph, action)):
                return f"it changes {described(action)} twice"
    reasons = (why_not(policy, subject, action, reach) for action in actions)
    return next((reason for reason in reasons if reason), "") or broken_by_result(
        policy, subject, actions
    )


def described(action: Action) -> str:
    """A change as somebody would type it."""
    if isinstance(action, SetAction):
        return f"{action.attribute}={_written(action.after)}"
    return f"{action.do} {action.tie[0]}-{action.tie[1]}:{action.kind}"


def _written(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"


def ties_between(graph: Graph, action: TieAction) -> list[int]:
    """The rows of the table of ties that a change may be about."""
    source, target = (graph.find(end) for end in action.tie)
    ties, found = graph.ties, []
    for row in rows_between(graph, source, target).tolist():
        leads = not graph.directed or ties.source[row] == source
        if leads and ties.kinds[ties.kind[row]] == action.kind:
            found.append(row)
    return found


def rows_between(graph: Graph, one: int, other: int) -> Ints:
    """The rows of the table of ties between two different nodes, in either direction."""
    place = np.flatnonzero(graph.neighbours(one) == other)
    if not len(place):
        return np.empty(0, np.int64)
    pair = graph.neighbour_pair[graph.starts[one] + int(place[0])]
    arcs = graph.arc_tie[graph.pair_starts[pair] : graph.pair_starts[pair + 1]]
    return np.unique(arcs).astype(np.int64)


def _identity(action: Action) -> tuple[object, ...]:
    """What makes two changes the same change."""
    if isinstance(action, SetAction):
        return action.do, action.attribute
    return action.do, action.tie, action.kind


def _why_not_tie(policy: Policy, subject: int, action: TieAction, reach: int | None) -> str:
    graph, kind = policy.graph, action.kind
    source, target = (graph.find(end) for end in action.tie)
    change = described(action)
    if source == target:
        return f"{change}: a tie from a person to themselves is never changed"
    if is_denied(kind) or kind in policy.settings.never:
        return f"{change}: ties of the kind {kind!r} are never suggested"
    for end in (source, target):
        if end != subject and policy.denied_nodes[end]:
            return f"{change}: ties to nodes like {graph.ids[end]} are never suggested"
    relation = int(relations(graph, subject, source, target))
    rule = policy.rule_for(kind, relation)
    if rule is None or action.do not in rule.allow:
        whose = {OUTGOING: "own", INCOMING: "incoming", OTHERS: "other people's"}[relation]
        why = f" ({rule.reason})" if rule is not None and rule.reason else ""
        doing = {"drop": "dropping", "add": "adding"}[action.do]
        return f"{change}: no rule allows {doing} {whose} ties of the kind {kind!r}{why}"
    if action.cost != rule.cost:
        return f"{change}: costs {rule.cost:g}, not {action.cost:g}"
    rows = ties_between(graph, action)
    if action.do == "drop":
        if not rows:
            return f"{change}: there is no such tie"
        if relation == OTHERS and reach is not None:
            near = neighbourhood(graph, np.array([subject]), reach).nodes
            if not np.isin((source, target), near).all():
                return f"{change}: is farther away than the {reach} hops that the model looks"
        return ""
    if rows:
        return f"{change}: this tie already exists"
    return _why_not_to(policy, subject, (source, target), kind, near=rule.to == "near")


def _why_not_to(
    policy: Policy, subject: int, ends: tuple[int, int], kind: str, *, near: bool
) -> str:
    """Why a new tie may not lead to this person; empty if it may."""
    graph, listed = policy.graph, policy.candidates
    other = ends[1] if ends[0] == subject else ends[0]
    name = graph.ids[other]
    if listed is not None:
        for row in listed.of(subject).tolist():
            there = (int(listed.source[row]), int(listed.target[row]))
            of_kind = listed.kind is None or graph.ties.kinds[listed.kind[row]] == kind
            if of_kind and (there == ends or (not graph.directed and there == ends[::-1])):
                return ""
        return f"a new {kind!r} tie to {name} is not among the candidates"
    if near:
        around = neighbourhood(graph, np.array([subject]), 2)
        if other not in around.nodes[around.hops == 2]:
            return f"a new tie to {name} would not lead to somebody two ties away"
    return ""


def _why_not_set(policy: Policy, subject: int, action: SetAction) -> str:
    name, change = action.attribute, described(action)
    if _is_protected(policy, name):
        return f"{change}: protected attributes never change"
    movement = policy.movement(name)
    if movement is None:
        return f"{change}: no rule allows {name!r} to change"
    rule, attribute = movement.rule, movement.attribute
    before = attribute.of(policy.graph, subject)
    if action.after == before:
        return f"{change}: is the value it has already"
    if isinstance(attribute, Category) or isinstance(before, str):
        return _why_not_category(policy, movement, subject, action, str(before))
    if isinstance(action.after, str):
        return f"{change}: {name!r} is a number"
    if rule.direction == ("down" if action.after > before else "up"):
        return f"{change}: {name!r} may only go {rule.direction} (from {before:g})"
    if not attribute.holds(action.after):
        return f"{change}: is outside {attribute.low:g} to {attribute.high:g}"
    steps = steps_to(movement, before, action.after)
    if steps is None:
        return f"{change}: is not a whole number of steps of {rule.step:g} from {before:g}"
    cost = abs(steps) * rule.cost
    if rule.cost_in == "percentile":
        cost = rule.cost * _passed(policy, attribute, before, action.after)
    if abs(action.cost - cost) > 1e-9 * max(1.0, action.cost):
        return f"{change}: costs {cost:g}, not {action.cost:g}"
    return _why_not_implied(policy, movement, subject, action, steps)


def _why_not_category(
    policy: Policy, movement: Movement, subject: int, action: SetAction, before: str
) -> str:
    """Why a category may not be changed in this way; empty if it may."""
    rule, change = movement.rule, described(action)
    allowed = [move for move in rule.moves if (move.before, move.to) == (before, action.after)]
    if rule.moves and not allowed:
        return f"{change}: no move leads there from {before!r}"
    if rule.values and action.after not in rule.values:
        return f"{change}: is not among the values that may be suggested"
    cost = rule.cost if not allowed or allowed[0].cost is None else allowed[0].cost
    if abs(action.cost - cost) > 1e-9 * max(1.0, cost):
        return f"{change}: costs {cost:g}, not {action.cost:g}"
    return _why_not_implied(policy, movement, subject, action, 1)


def _passed(policy: Policy, attribute: Attribute, before: float, after: float) -> float:
    """How many percent of everybody lie between two values; with an equal value, half of them."""
    column = column_of(policy.graph, attribute.name).astype(np.float64)
    single = column_of(policy.graph, attribute.name).dtype.itemsize < 8
    shares = []
    for number in attribute.stored((before, after)).tolist():
        equal = np.isclose(column, number, rtol=1e-6 if single else 1e-9, atol=0)
        shares.append(((column < number) & ~equal).mean() + equal.mean() / 2)
    return float(100 * abs(shares[1] - shares[0]))


def _is_protected(policy: Policy, name: str) -> bool:
    """Whether an attribute is protected, or named like one that is."""
    like = (named_like(name, protected) for protected in policy.protected)
    checked = name in policy.settings.not_protected
    return any(one is not None and not (checked and one != SAME) for one in like)


def steps_to(movement: Movement, before: float, after: float) -> int | None:
    """How many signed steps lead from one value to the other; None if no whole number does."""
    guess = round((after - before) / movement.step)
    known = (before, *(0.0 for _ in movement.implied))
    for steps in (guess, guess - 1, guess + 1):
        own = float(movement.at(known, steps)[0]) if steps else before
        if steps and abs(own - after) <= 1e-9 * max(1.0, abs(after)):
            return steps
    return None


def _why_not_implied(
    policy: Policy, movement: Movement, subject: int, action: SetAction, steps: int
) -> str:
    implied = {one.attribute: one.after for one in action.implied}
    rules = {one.name: one for one in movement.rule.implies}
    there = {
        name
        for name, one in rules.items()
        if one.to is not None and str(column_of(policy.graph, name)[subject]) == one.to
    }
    if set(implied) != set(rules) - there:
        return f"{described(action)}: does not move the attributes that it implies"
    for one in movement.implied:
        name = one.attribute.name
        if name in there:
            continue
        if _is_protected(policy, name):
            return f"{described(action)}: moves {name!r}, and protected attributes never change"
        reason = (
            _why_not_implied_category(policy, subject, name, implied[name], rules[name].to)
            if isinstance(one.attribute, Category)
            else _why_not_implied_number(
                policy, subject, one.attribute, implied[name], steps * (rules[name].by or 0.0)
            )
        )
        if reason:
            return f"{described(action)}: {reason}"
    return ""


def _why_not_implied_number(
    policy: Policy, subject: int, other: Attribute, after: Value, by: float
) -> str:
    own = policy.movement(other.name)
    if own is not None and goes_against(own.rule, by):
        return f"moves {other.name!r} by {by:g}, which may only go {own.rule.direction}"
    wanted = other.of(policy.graph, subject) + by
    if isinstance(after, str) or abs(after - wanted) > 1e-9 * max(1.0, abs(wanted)):
        return f"moves {other.name!r} to {_written(after)}, not to {wanted:g}"
    if not other.holds(after):
        return f"would take {other.name!r} to {after:g}, outside {other.low:g} to {other.high:g}"
    return ""


def _why_not_implied_category(
    policy: Policy, subject: int, name: str, after: Value, to: str | None
) -> str:
    before = str(column_of(policy.graph, name)[subject])
    if after != to:
        return f"changes {name!r} to {_written(after)}, not to {to}"
    own = policy.movement(name)
    moves = () if own is None else own.rule.moves
    if moves and not any((move.before, move.to) == (before, after) for move in moves):
        return f"would change {name!r} from {before!r} to {after!r}, which no move allows"
    return ""
