"""Changes that somebody typed: put to the model on the whole graph, checked by the rules.

What the policy would not suggest is reported, and tried all the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.model.edited_graph import SubjectAnswers
from recourse_audit.records.recourse import Action, OutsideRange, SetAction, WhatIf
from recourse_audit.recourse.actions import ActionTable, TieActions
from recourse_audit.recourse.attributes import (
    Attribute,
    Levels,
    Movement,
    attribute_of,
    category_of,
    column_of,
)
from recourse_audit.recourse.conditions import (
    reasons_against,
)
from recourse_audit.recourse.policy import Policy, relations
from recourse_audit.recourse.typed_changes import Change, TieChange, ValueChange, arcs_of, refused
from recourse_audit.recourse.verification import Verifier
from recourse_audit.search.results import Naming, round_figure
from recourse_audit.settings import AttributeRule


def try_changes(
    asked: SubjectAnswers,
    policy: Policy,
    naming: Naming,
    changes: Sequence[Change],
) -> WhatIf:
    """Apply changes together and ask about the subject on the whole graph."""
    edited, subject = asked.edited, asked.subject
    table, actions = typed_actions(policy, subject, changes)
    verifier = Verifier(asked, table)
    every = np.arange(len(table))
    answer = verifier.on_whole_graph(every[None])
    before = edited.everybody[[subject]]
    decisions = verifier.others.decisions(every)
    return WhatIf(
        actions=actions,
        decision=decisions.names_of(answer, subject)[0],
        favourable=bool(decisions.favourable(answer, subject)[0]),
        probabilities=naming.probabilities(answer)[0],
        margin_before=round_figure(float(edited.decisions.margin(before, subject)[0])),
        margin=round_figure(float(decisions.margin(answer, subject)[0])),
        score_before=naming.scores(before)[0],
        score=naming.scores(answer)[0],
        forbidden=tuple(reasons_against(policy, table, edited.reach)),
        outside=tuple(_outside(table)),
    )


def _outside(table: ActionTable) -> Iterator[OutsideRange]:
    """The numbers that lie outside what anybody in the graph has."""
    for movement, levels in table.moves:
        for attribute, value in zip(movement.moved, levels.after[0], strict=True):
            if isinstance(attribute, Attribute) and not isinstance(value, str):
                low, high = attribute.observed_range(table.graph)
                if not low <= value <= high:
                    yield OutsideRange(
                        attribute=attribute.name,
                        value=value,
                        side="below" if value < low else "above",
                        lowest=low,
                        highest=high,
                        unit=attribute.unit,
                    )


def typed_actions(
    policy: Policy, subject: int, changes: Sequence[Change]
) -> tuple[ActionTable, tuple[Action, ...]]:
    """The changes as a table of their own, and as records."""
    graph = policy.graph
    ties = [change for change in changes if isinstance(change, TieChange)]
    values = [change for change in changes if isinstance(change, ValueChange)]
    drops = [arc for change in ties if change.do == "drop" for arc in arcs_of(graph, change)]
    arcs = np.unique(np.array(drops, np.int64))
    adds = [change for change in ties if change.do == "add"]
    moves = [_move(policy, subject, change, {other.name for other in values}) for change in values]
    table = ActionTable(
        graph=graph,
        subject=subject,
        drops=TieActions(
            source=graph.arc_source[arcs].astype(np.int64),
            target=graph.arc_target[arcs].astype(np.int64),
            kind=graph.ties.kind[graph.arc_tie[arcs]].astype(np.int64),
            arc=arcs,
            cost=np.zeros(len(arcs)),
        ),
        adds=TieActions(
            source=np.array([change.source for change in adds], np.int64),
            target=np.array([change.target for change in adds], np.int64),
            kind=np.array([graph.ties.kinds.index(change.kind or "") for change in adds], np.int64),
            arc=np.zeros(len(adds), np.int64),
            cost=np.zeros(len(adds)),
        ),
        moves=tuple(moves),
        denied=0,
        encoder=policy.encoder,
    )
    return table, tuple(_priced(policy, table, action) for action in range(len(table)))


def _move(
    policy: Policy, subject: int, change: ValueChange, named: set[str]
) -> tuple[Movement, Levels]:
    """One attribute and what its rule implies, except what is set by hand as well."""
    known = policy.movement(change.name) or _without_rule(policy, change)
    implied = tuple(one for one in known.implied if one.attribute.name not in named)
    movement = replace(known, implied=implied, family=-1)
    before = tuple(one.of(policy.graph, subject) for one in movement.moved)
    if missing := movement.missing(before):
        raise refused(change.text, f"{missing!r} is empty for this person; fill it in to change it")
    if isinstance(change.value, str) or isinstance(before[0], str):
        steps, cost = 1.0, dict(movement.targets(str(before[0]))).get(str(change.value), 0.0)
    else:
        steps = movement.steps_to(before[0], change.value)
        cost = 0.0
    after = (change.value, *movement.at(before, steps, change.value)[1:])
    numbers = movement.table_numbers([after])
    if not (np.isnan(numbers) | (np.abs(numbers) <= np.finfo(np.float32).max)).all() or any(
        np.isnan(number) and not isinstance(value, str)
        for number, value in zip(numbers[0].tolist(), after, strict=True)
    ):
        transform = movement.rule.transform
        raise refused(change.text, f"has no {transform} value that the model can take")
    whole_steps = np.array([int(np.sign(steps)) * max(1, round(abs(steps)))])
    if isinstance(change.value, str):
        whole_steps[:] = 0
    price = (
        np.array([cost])
        if isinstance(change.value, str)
        else _price(policy, movement, subject, whole_steps, numbers[:, 0])
    )
    return movement, Levels(
        steps=whole_steps, before=before, after=(after,), numbers=numbers, cost=price
    )


def _without_rule(policy: Policy, change: ValueChange) -> Movement:
    """How an attribute moves that no rule allows to change: freely, and at no known cost."""
    if isinstance(change.value, str):
        return Movement(
            rule=AttributeRule(name=change.name, values=(change.value,)),
            attribute=category_of(policy.graph, change.name, None),
            implied=(),
            family=-1,
        )
    return Movement(
        rule=AttributeRule(name=change.name, step=1),
        attribute=attribute_of(policy.graph, change.name, None),
        implied=(),
        family=-1,
    )


def _price(
    policy: Policy, movement: Movement, subject: int, steps: Ints, numbers: Floats
) -> Floats:
    if movement.population is not None:
        start = float(column_of(policy.graph, movement.rule.name)[subject])
        return movement.percentile_cost(start, numbers)
    cost: Floats = np.abs(steps) * movement.rule.cost
    return cost


def _priced(policy: Policy, table: ActionTable, place: int) -> Action:
    """An action as a record, at the cost that its rule gives it."""
    [action] = table.records(np.array([place]))
    if isinstance(action, SetAction):
        return action
    ends = int(table.source[place]), int(table.target[place])
    rule = policy.rule_for(action.kind, int(relations(table.graph, table.subject, *ends)))
    return replace(action, cost=0.0 if rule is None else rule.cost)
