"""Why changes are not suggested: conditions that must hold after them, and reasons in words.

A condition is checked wherever an option changes a column that it names, or one that such a column
is computed from; what stays as it is was never advised. Numbers are compared in the user's units.
A combination after which a derived column has no finite value is left out in the same way.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import comb

import numpy as np

from recourse_audit.graph.arrays import Ints
from recourse_audit.graph.computed import Column, evaluate
from recourse_audit.model.decisions import Mask
from recourse_audit.records.recourse import LeftOut
from recourse_audit.recourse.action_edits import column_from
from recourse_audit.recourse.actions import (
    ADD,
    NONE,
    SET,
    ActionTable,
    action_table,
    action_text,
    tied_by,
)
from recourse_audit.recourse.attributes import Value, column_of
from recourse_audit.recourse.combinations import count_possible, counts, every
from recourse_audit.recourse.policy import (
    INCOMING,
    OTHERS,
    OUTGOING,
    Conditions,
    Policy,
    relations,
)
from recourse_audit.recourse.proxies import SAME, named_like

MOST_COUNTED = 1_000_000
AT_ONCE = 65_536
BROKEN_FORMULA = -2
KEPT = -1
WHOSE = {OUTGOING: "own", INCOMING: "incoming", OTHERS: "other people's"}


class SubjectConditions:
    """The conditions of a policy for the actions of one subject."""

    def __init__(self, conditions: Conditions, table: ActionTable) -> None:
        self._conditions = conditions
        self._table = table
        assigned = [*(table.assigned(action) for action in range(len(table))), {}]
        self._columns = {name: self._column(name, assigned) for name in conditions.columns}

    def _column(
        self, name: str, assigned: Sequence[dict[str, tuple[Value, Value]]]
    ) -> tuple[Mask, Column, Column]:
        """Which actions set a column, and its value after each, in the table's and user's units.

        The last entry, which `NONE` selects, is what the subject has.
        """
        value = column_of(self._table.graph, name)[self._table.subject]
        own: tuple[Value, Value] = (
            (value, value)
            if isinstance(value, str)
            else (float(value), self._conditions.user_value(name, value))
        )
        pairs = [columns.get(name, own) for columns in assigned]
        sets = np.array([name in columns for columns in assigned], bool)
        return (
            sets,
            column_from([pair[0] for pair in pairs]),
            column_from([pair[1] for pair in pairs]),
        )

    def allowed(self, combinations: Ints) -> Mask:
        """Which combinations break no condition, and leave every derived column a value."""
        return np.asarray(self._verdicts(combinations) == KEPT)

    def broken_by_all(self) -> Iterator[str]:
        """What would be wrong after all actions together, in words; nothing if all is well."""
        [verdict] = self._verdicts(np.arange(len(self._table))[None]).tolist()
        if verdict >= 0:
            yield f"the condition {self._conditions.texts[verdict]!r} would not hold"
        elif verdict == BROKEN_FORMULA:
            yield "a column that a formula gives would have no finite value"

    def left_out(self, max_changes: int) -> LeftOut:
        """How many combinations of at most so many changes are left out, and why."""
        table = self._table
        own = np.flatnonzero(table.do == SET)
        ties = len(table) - len(own)
        sizes = counts(table.group[own], max_changes)
        if sum(sizes) > MOST_COUNTED:
            return LeftOut(conditions=None, formulas=None)
        broken: Counter[int] = Counter()
        for size in range(1, max_changes + 1):
            beside = sum(comb(ties, number) for number in range(max_changes - size + 1))
            rows = own[every(table.group[own], size)]
            for first in range(0, len(rows), AT_ONCE):
                verdicts = self._verdicts(rows[first : first + AT_ONCE])
                for verdict, count in zip(*np.unique(verdicts, return_counts=True), strict=True):
                    broken[int(verdict)] += int(count) * beside
        texts = self._conditions.texts
        return LeftOut(
            conditions=sum(broken[number] for number in range(len(texts))),
            formulas=broken[BROKEN_FORMULA],
            why=tuple(f"{text}: {broken[n]:,}" for n, text in enumerate(texts) if broken[n]),
        )

    def _verdicts(self, combinations: Ints) -> Ints:
        """The first condition that each combination breaks; `KEPT` if none."""
        verdicts = np.full(len(combinations), KEPT)
        conditions = self._conditions
        in_table: dict[str, Column] = {}
        compared: dict[str, Column] = {}
        touched: dict[str, Mask] = {}
        for name, (sets, table_values, user_values) in self._columns.items():
            setting = np.full(len(combinations), NONE)
            for action in combinations.T:
                setting = np.where(sets[action], action, setting)
            in_table[name], compared[name] = table_values[setting], user_values[setting]
            touched[name] = setting != NONE
        # What is compared is in the user's units; what is computed is computed from the table's.
        whole = conditions.computation.complete(in_table)
        compared = {**whole, **compared}
        for number, (when, then) in enumerate(conditions.trees):
            moved = np.zeros(len(combinations), bool)
            for name in conditions.base[number]:
                moved |= touched[name]
            kept = evaluate(then, compared)
            if when is not None:
                kept = kept | ~evaluate(when, compared)
            verdicts[(verdicts == KEPT) & moved & ~kept] = number
        for name in conditions.derived:
            verdicts[~np.isfinite(whole[name])] = BROKEN_FORMULA
        return verdicts


def with_implications(table: ActionTable, left_out: LeftOut, max_changes: int) -> LeftOut:
    """The same, with what implied attributes forbid counted as well."""
    permitted = sum(counts(table.group, max_changes)[1:])
    why = [
        f"{movement.rule.name} would move {name} out of its range or against its rule: {number:,} "
        f"{'level' if number == 1 else 'levels'}"
        for movement, levels in table.unreachable
        for name, number in sorted(levels.left_out.items())
    ]
    return LeftOut(
        implications=count_possible(table, max_changes) - permitted,
        conditions=left_out.conditions,
        formulas=left_out.formulas,
        why=(*why, *left_out.why),
    )


def reasons_against(policy: Policy, typed: ActionTable, depth: int | None) -> Iterator[str]:
    """Why the policy would not suggest the changes of a table to its subject, in words.

    `typed` are changes that somebody chose by hand. Each is looked up in the table of what is
    permitted; then all of them are judged together.
    """
    permitted = action_table(policy, typed.subject, depth)
    for action, record in enumerate(typed.records(np.arange(len(typed)))):
        reason = (
            _reason_against_value(policy, typed, action)
            if typed.do[action] == SET
            else _reason_against_tie(policy, typed, action, permitted, depth)
        )
        if reason:
            yield f"{action_text(record)}: {reason}"
    most = policy.settings.max_changes
    if len(typed) > most:
        yield f"these are {len(typed)} changes; at most {most} are suggested together"
    if policy.conditions and typed.moves:
        yield from SubjectConditions(policy.conditions, typed).broken_by_all()
    known = [policy.movement(movement.rule.name) for movement, _ in typed.moves]
    families = [movement.family for movement in known if movement is not None]
    if len(set(families)) < len(families):
        yield "attributes that move along with each other are not suggested together"


def _reason_against_tie(
    policy: Policy, typed: ActionTable, action: int, permitted: ActionTable, depth: int | None
) -> str:
    """Why a tie is not in the table of what is permitted; empty if it is."""
    graph, subject = policy.graph, typed.subject
    adds = bool(typed.do[action] == ADD)
    source, target, kind = (
        int(column[action]) for column in (typed.source, typed.target, typed.kind)
    )
    ends = (source, target) if graph.directed else (min(source, target), max(source, target))
    same = (permitted.do == typed.do[action]) & (permitted.kind == kind)
    if (same & (permitted.source == ends[0]) & (permitted.target == ends[1])).any():
        return ""
    name = graph.ties.kinds[kind]
    if policy.denied[kind]:
        return f"ties of the kind {name!r} are never suggested"
    for end in ends:
        if end != subject and policy.denied_nodes[end]:
            return f"ties to nodes like {graph.ids[end]} are never suggested"
    relation = int(relations(graph, subject, source, target))
    if not (policy.add if adds else policy.drop)[kind, relation]:
        rule = policy.rule_for(name, relation)
        why = f" ({rule.reason})" if rule is not None and rule.reason else ""
        doing = "adding" if adds else "dropping"
        return f"no rule allows {doing} {WHOSE[relation]} ties of the kind {name!r}{why}"
    if not adds:
        return f"is farther away than the {depth} hops that the model looks"
    other = target if source == subject else source
    if other in tied_by(graph, subject, kind, relation):
        return "this tie already exists"
    if policy.candidates is not None:
        return "is not among the candidates"
    return f"{graph.ids[other]} is not two ties away"


def _reason_against_value(policy: Policy, typed: ActionTable, action: int) -> str:
    """Why an attribute may not be set to a value; empty if that is one of its levels."""
    movement, levels = typed.moves[typed.move[action]]
    name, before, after = movement.rule.name, levels.before[0], levels.after[0][0]
    for protected in policy.protected:
        relation = named_like(name, protected)
        if relation == SAME or (relation and name not in policy.settings.not_protected):
            return "protected attributes never change"
    known = policy.movement(name)
    if known is None:
        return f"no rule allows {name!r} to change"
    if after == before:
        return "is the value it has already"
    own = next((own for own in known.own_levels(before) if _equal(own[1], after)), None)
    if own is None:
        return known.reason_against(before, after)
    now = tuple(attribute.of(policy.graph, typed.subject) for attribute in known.moved)
    level = known.at(now, own[0] or 1, own[1])
    return next((reason for _, reason in known.reasons_in_implied(now, level)), "")


def _equal(value: Value, other: Value) -> bool:
    if isinstance(value, str) or isinstance(other, str):
        return value == other
    return abs(value - other) <= 1e-9 * max(1.0, abs(other))
