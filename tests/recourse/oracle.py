"""What is wrong with a finished option, read straight from a user's tables and settings.

This is the second implementation of the policy. It shares nothing with the program but the records
that it judges: rules are read one after the other from the text of the settings, and conditions are
worked out by Python itself on the row that an option leads to.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isclose, isnan
from typing import Any

import networkx as nx

from recourse_audit.records.recourse import (
    MoveAction,
    Option,
    SetAction,
    TieAction,
    TogetherAction,
)
from tests.recourse.brute_force import Units, is_denied

Row = Mapping[str, Any]
Tie = tuple[str, str, str]


def near(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def moved_by(action: SetAction) -> dict[str, float | str]:
    """What an action sets, and what moves along."""
    along = {move.attribute: move.after for move in action.implied}
    return {action.attribute: action.after, **along}


def by_python(text: str, row: Row) -> Any:
    """What Python itself makes of a formula or a condition; not a number where it makes nothing."""
    plain = re.sub(r"`([^`]+)`", r"row['\1']", re.sub(r"\s", " ", text))
    plain = re.sub(r"(?<![!<>=])=(?!=)", "==", plain)
    try:
        value = eval(f"({plain})", {"row": row, **row})
    except (ZeroDivisionError, OverflowError):
        return float("nan")
    return float("nan") if isinstance(value, complex) else value


@dataclass(frozen=True, kw_only=True)
class Rules:
    """A policy and the tables it is about: one row per person, in the table's units."""

    settings: Mapping[str, Any]
    people: Mapping[str, Row]
    ties: Sequence[Tie]
    directed: bool = False
    reach: int | None = 2
    candidates: Sequence[Tie] | None = None

    @property
    def recourse(self) -> Mapping[str, Any]:
        table: Mapping[str, Any] = self.settings.get("recourse", {})
        return table

    @property
    def protected(self) -> Sequence[str]:
        names: Sequence[str] = self.settings.get("groups", {}).get("attributes", ())
        return names

    @cached_property
    def rules(self) -> dict[str, Mapping[str, Any]]:
        return {rule["name"]: rule for rule in self.recourse.get("attributes", ())}

    @cached_property
    def tie_set(self) -> set[Tie]:
        back = () if self.directed else ((b, a, kind) for a, b, kind in self.ties)
        return {*self.ties, *back}

    @cached_property
    def drawing(self) -> "nx.Graph[str]":
        drawing: nx.Graph[str] = nx.Graph()
        drawing.add_nodes_from(self.people)
        drawing.add_edges_from((a, b) for a, b, _ in self.ties)
        return drawing

    def hops(self, subject: str, other: str) -> float:
        if not nx.has_path(self.drawing, subject, other):
            return float("inf")
        return float(nx.shortest_path_length(self.drawing, subject, other))

    def broken_by(self, subject: str, option: Option) -> Iterator[str]:
        """What is wrong with an option, in words; nothing if it keeps every rule."""
        if not 1 <= len(option.actions) <= self.recourse.get("max_changes", 3):
            yield f"{len(option.actions)} changes"
        if not option.verified:
            yield "not verified"
        if not isclose(option.cost, sum(action.cost for action in option.actions), abs_tol=1e-5):
            yield "the cost is not that of its actions"
        sets = [action for action in option.actions if isinstance(action, SetAction)]
        ties = [action for action in option.actions if isinstance(action, TieAction)]
        for together in option.actions:
            if isinstance(together, TogetherAction):
                yield from self._broken_by_together(subject, together)
        yield from self._broken_by_moves(subject, option)
        families = [self.family.get(action.attribute, -1) for action in sets]
        if len(set(families)) < len(families):
            yield "linked attributes are set together"
        for action in ties:
            yield from self._broken_by_tie(subject, action)
            again = sum(other.tie == action.tie and other.kind == action.kind for other in ties)
            if again > max(1, self._count(action)):
                yield f"{action.tie} is changed too often"
        for setting in sets:
            yield from self._broken_by_set(subject, setting)
        if sets:
            yield from self._broken_by_result(subject, sets)

    def _count(self, action: TieAction) -> int:
        """How many parallel ties there are; none that is new."""
        ways = {action.tie} if self.directed else {action.tie, action.tie[::-1]}
        return sum((a, b) in ways and kind == action.kind for a, b, kind in self.ties)

    def _tie_rule(self, subject: str, action: TieAction) -> Mapping[str, Any] | None:
        own = subject in action.tie
        outgoing = subject == action.tie[0] or (own and not self.directed)
        meant = {"own": own, "outgoing": outgoing, "others": not own, "any": True}
        default: list[dict[str, Any]] = [{"kind": "*", "allow": ["drop"]}]
        for rule in self.recourse.get("ties") or default:
            if rule["kind"] in ("*", action.kind) and meant[rule.get("whose", "own")]:
                return dict(rule)
        return None

    def _broken_by_together(self, subject: str, action: TogetherAction) -> Iterator[str]:
        """Each of the ties may end at this cost, and they are all that the same rule covers."""
        alone = [
            TieAction(do="drop", tie=tie, kind=action.kind, cost=action.cost) for tie in action.ties
        ]
        for tie in alone:
            yield from self._broken_by_tie(subject, tie, ends_all=True)
        own = [
            TieAction(do="drop", tie=(a, b), kind=kind)
            for a, b, kind in self.ties
            if subject in (a, b) and a != b and kind == action.kind
        ]
        rule = self._tie_rule(subject, alone[0])
        meant = [tie.tie for tie in own if self._tie_rule(subject, tie) == rule]
        order = (lambda tie: tie) if self.directed else sorted
        if sorted(map(order, meant)) != sorted(map(order, action.ties)):
            yield f"not all ties of kind {action.kind}"
        if rule is None or not rule.get("together"):
            yield f"no rule ends ties of kind {action.kind} together"

    def _broken_by_moves(self, subject: str, option: Option) -> Iterator[str]:
        """A move keeps the rule for the old tie as for the new one, and makes no tie twice."""
        new = [
            frozenset((*action.tie, action.kind))
            for action in option.actions
            if isinstance(action, TieAction) and action.do == "add"
        ]
        ended = [
            (action.tie, action.kind)
            for action in option.actions
            if isinstance(action, TieAction | MoveAction) and action.do != "add"
        ]
        for action in option.actions:
            if not isinstance(action, MoveAction):
                continue
            if subject not in action.tie:
                yield "moves a tie of other people"
            outward = action.tie[0] == subject
            tie = (subject, action.to) if outward else (action.to, subject)
            new.append(frozenset((*tie, action.kind)))
            for do, ends in (("drop", action.tie), ("add", tie)):
                one = TieAction(do=do, tie=ends, kind=action.kind, cost=action.cost)  # type: ignore[arg-type]
                yield from self._broken_by_tie(subject, one, moves=True)
            alone = TieAction(do="drop", tie=action.tie, kind=action.kind)
            if ended.count((action.tie, action.kind)) > self._count(alone):
                yield f"{action.tie} is changed too often"
        if not self.directed and len({*new}) < len(new):
            yield "makes a tie twice"

    def _broken_by_tie(
        self, subject: str, action: TieAction, *, ends_all: bool = False, moves: bool = False
    ) -> Iterator[str]:
        source, target = action.tie
        kind, new = action.kind, (source, target, action.kind)
        if is_denied(kind) or kind in self.recourse.get("never", ()):
            yield f"{kind} is never suggested"
        if source == target:
            yield "a self-loop"
        rule = self._tie_rule(subject, action)
        do = "move" if moves else action.do
        if rule is None or do not in rule["allow"]:
            yield f"no rule allows to {do} a tie of kind {kind}"
            return
        if action.cost != rule.get("cost", 1.0):
            yield "not the cost of its rule"
        if action.do == "drop" and rule.get("together") and not ends_all:
            yield f"ends a part of the ties of kind {kind}"
        if action.do == "drop":
            if new not in self.tie_set:
                yield "drops a tie that is not there"
            far = max(self.hops(subject, end) for end in (source, target))
            if subject not in (source, target) and self.reach is not None and far > self.reach:
                yield "drops a tie beyond the model's reach"
            return
        if subject not in (source, target):
            yield "adds a tie of other people"
        if new in self.tie_set:
            yield "adds a tie that is there already"
        if self.candidates is not None:
            ways = {new} if self.directed else {new, (target, source, kind)}
            if ways.isdisjoint(self.candidates):
                yield "adds a tie that is not among the candidates"
            return
        other = target if source == subject else source
        if rule.get("to", "near") == "near" and self.hops(subject, other) != 2:
            yield "adds a tie to somebody who is not near"

    def value(self, name: str, person: str) -> Any:
        """What a person has, in the user's units."""
        value = self.people[person][name]
        if isinstance(value, str):
            return value
        return float(f"{Units(self.rules.get(name, {})).of(value):.12g}")

    def bounds(self, name: str) -> tuple[float, float]:
        rule = self.rules.get(name, {})
        everyone = [self.value(name, person) for person in self.people]
        return rule.get("min", min(everyone)), rule.get("max", max(everyone))

    @cached_property
    def family(self) -> dict[str, int]:
        """Attributes that an implication links, directly or not, have one number."""
        links: nx.Graph[str] = nx.Graph()
        links.add_nodes_from(self.rules)
        for name, rule in self.rules.items():
            links.add_edges_from((name, implied["name"]) for implied in rule.get("implies", ()))
        groups = enumerate(nx.connected_components(links))
        return {name: group for group, names in groups for name in names}

    def _broken_by_set(self, subject: str, action: SetAction) -> Iterator[str]:
        name = action.attribute
        rule = self.rules.get(name)
        if rule is None:
            yield f"no rule about {name}"
            return
        before = self.value(name, subject)
        if isinstance(before, str):
            yield from self._broken_by_category(rule, before, action)
            steps = 1
        else:
            whole = self._steps(rule, before, float(action.after))
            if whole is None:
                yield f"{name} does not move by whole steps"
                return
            steps = whole
            if rule.get("direction", "any") == ("down" if steps > 0 else "up"):
                yield f"{name} moves the wrong way"
            if not near(action.cost, self._price(rule, before, float(action.after), steps)):
                yield f"the cost {action.cost} of {name} is not that of its rule"
        if action.before != before or action.after == before:
            yield f"{name} does not start from what the person has, or stays there"
        yield from self._broken_by_implied(subject, rule, action, steps)
        for name, after in moved_by(action).items():
            yield from self._broken_by_value(name, after)

    def _broken_by_category(
        self, rule: Mapping[str, Any], before: str, action: SetAction
    ) -> Iterator[str]:
        cost = rule.get("cost", 1.0)
        moves = [
            (move["from"], move["to"], move.get("cost", cost))
            if isinstance(move, Mapping)
            else (*move, cost)
            for move in rule.get("moves", ())
        ]
        if moves:
            costs = [price for start, to, price in moves if (start, to) == (before, action.after)]
            if costs != [action.cost]:
                yield f"no move from {before} to {action.after} costs {action.cost}"
        elif action.after not in rule["values"] or action.cost != cost:
            yield f"{action.after} is not among the values, or not at that cost"

    def _steps(self, rule: Mapping[str, Any], before: float, after: float) -> int | None:
        """How many signed steps lead there; a fraction is first rounded the way one moves."""
        way, start, first = (1 if after > before else -1), before, 0
        if rule.get("integer") and before != round(before):
            start, first = float(-(-before // 1) if way > 0 else before // 1), way
        steps = round((after - start) / rule["step"])
        return steps + first if near(start + steps * rule["step"], after) else None

    def _price(self, rule: Mapping[str, Any], before: float, after: float, steps: int) -> float:
        cost: float = rule.get("cost", 1.0)
        if rule.get("cost_in") != "percentile":
            return abs(steps) * cost
        everyone = [self.value(rule["name"], person) for person in self.people]

        def below(value: float) -> float:
            equal = sum(near(one, value) for one in everyone)
            less = sum(one < value and not near(one, value) for one in everyone)
            return float(100 * (less + equal / 2) / len(everyone))

        return float(cost * abs(below(after) - below(before)))

    def _broken_by_implied(
        self, subject: str, rule: Mapping[str, Any], action: SetAction, steps: int
    ) -> Iterator[str]:
        expected = {}
        for implied in rule.get("implies", ()):
            name = implied["name"]
            before = self.value(name, subject)
            after = implied["to"] if "to" in implied else before + steps * implied["by"]
            if after != before or "by" in implied:
                expected[name] = after
            own = self.rules.get(name, {})
            if "by" in implied and own.get("direction", "any") == (
                "down" if after > before else "up" if after < before else "none"
            ):
                yield f"{name} follows against its own rule"
        moved = {move.attribute: move.after for move in action.implied}
        if set(moved) != set(expected):
            yield "not what the rule implies"
        for name in set(moved) & set(expected):
            after = moved[name]
            same = after == expected[name]
            if not same and (isinstance(after, str) or not near(after, expected[name])):
                yield f"{name} does not follow by the steps"

    def _broken_by_value(self, name: str, value: float | str) -> Iterator[str]:
        if name in self.protected:
            yield f"{name} never changes"
        if not isinstance(value, str):
            low, high = self.bounds(name)
            if not low - 1e-9 <= value <= high + 1e-9:
                yield f"{name} is out of its range"

    def _broken_by_result(self, subject: str, sets: Sequence[SetAction]) -> Iterator[str]:
        """Conditions about what changes, on the row that the option leads to."""
        changed: dict[str, Any] = {}
        for action in sets:
            changed |= moved_by(action)
        before = {name: self.value(name, subject) for name in self.people[subject]}
        rows = [self._completed(row) for row in (before, before | changed)]
        for derived in self.settings.get("graph", {}).get("derived", ()):
            if isnan(rows[1][derived["name"]]):
                yield f"{derived['name']} has no value"
        for condition in self.recourse.get("conditions", ()):
            text = f"{condition.get('if', '')} {condition['then']}"
            about = [name for name in rows[0] if re.search(rf"\b{re.escape(name)}\b", text)]
            applies = "if" not in condition or by_python(condition["if"], rows[1])
            moved = any(rows[0][name] != rows[1][name] for name in about)
            if applies and moved and not by_python(condition["then"], rows[1]):
                yield f"{text} would not hold"

    def _completed(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row with derived columns; formulas are about plain units here."""
        done = dict(row)
        for derived in self.settings.get("graph", {}).get("derived", ()):
            done[derived["name"]] = by_python(derived["formula"], done)
        return done
