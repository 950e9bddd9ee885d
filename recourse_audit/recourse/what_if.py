"""Changes that somebody types: read, put to the model on the whole graph, checked by the rules.

    drop A-B         every tie between two people; drop A-B:kind only those of one kind
    add A-B:kind     a new tie; where ties have a direction it leads from A to B
    savings=4000     the subject's attribute, in the user's units
    housing=own      the subject's category

Ids may contain hyphens and colons: a text is split wherever both sides are ids, and refused if it
can be read in two ways. What the policy would not suggest is reported, and tried all the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recourse_audit.errors import InputError
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.graph.columns import near_matches
from recourse_audit.model.encoding import Encoder
from recourse_audit.records.recourse import Action, SetAction, WhatIf
from recourse_audit.recourse.actions import ActionTable, TieActions
from recourse_audit.recourse.attributes import (
    Value,
    attribute_of,
    category_of,
    column_of,
    is_category,
)
from recourse_audit.recourse.movements import Levels, Movement
from recourse_audit.recourse.policy import Policy, relations
from recourse_audit.recourse.recheck import broken_by_result
from recourse_audit.recourse.rules import rows_between, why_not
from recourse_audit.recourse.verification import RecourseContext, Verifier
from recourse_audit.search.results import Naming, shown
from recourse_audit.settings import AttributeRule


@dataclass(frozen=True, slots=True, kw_only=True)
class TieChange:
    """A tie to drop or to add, as typed; `kind` is None where any kind will do."""

    text: str
    do: Literal["drop", "add"]
    source: int
    target: int
    kind: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueChange:
    """An attribute to set: a number in the user's units, or a category."""

    text: str
    name: str
    value: Value


Change = TieChange | ValueChange


def read_changes(
    texts: Sequence[str], graph: Graph, encoder: Encoder | None = None
) -> tuple[Change, ...]:
    """Read what was typed; the first text that cannot be read is an error.

    With an encoder, the columns that it takes may be set; without one, the features.
    """
    if not texts:
        return ()
    numbers = {name: number for number, name in enumerate(graph.ids.tolist())}
    changes: list[Change] = []
    for text in texts:
        word, _, rest = text.strip().partition(" ")
        if word == "drop":
            drop = _read_tie(text, "drop", rest, graph, numbers)
            _arcs(graph, drop)
            changes.append(drop)
        elif word == "add":
            changes.append(_read_tie(text, "add", rest, graph, numbers))
        else:
            changes.append(_read_value(text, graph, encoder))
    names = [change.name for change in changes if isinstance(change, ValueChange)]
    repeated = [name for place, name in enumerate(names) if name in names[:place]]
    if repeated:
        raise InputError(f"--what-if sets {repeated[0]!r} twice; give one value")
    return tuple(changes)


def _refused(text: str, why: str) -> InputError:
    return InputError(f"--what-if {text!r}: {why}")


def _read_tie(
    text: str,
    do: Literal["drop", "add"],
    rest: str,
    graph: Graph,
    numbers: dict[str, int],
) -> TieChange:
    readings = list(_readings(rest, numbers, graph.ties.kinds))
    if not readings:
        kinds = ", ".join(graph.ties.kinds[:12])
        raise _refused(
            text,
            f"does not name two people and a kind of tie of this graph; write {do} ID-ID:KIND "
            f"(kinds: {kinds})",
        )
    if len(readings) > 1:
        some = " or ".join(f"{a!r} and {b!r}" for a, b, _ in readings[:3])
        raise _refused(text, f"can be read in {len(readings)} ways, as about {some}")
    (one, other, kind) = readings[0]
    source, target = numbers[one], numbers[other]
    if source == target:
        raise _refused(text, "a tie from a person to themselves is never changed")
    if do == "add" and kind is None:
        if len(graph.ties.kinds) > 1:
            kinds = ", ".join(graph.ties.kinds[:12])
            raise _refused(text, f"does not say which kind of tie; write {text}:KIND ({kinds})")
        kind = graph.ties.kinds[0]
    return TieChange(text=text, do=do, source=source, target=target, kind=kind)


def _readings(
    rest: str, numbers: dict[str, int], kinds: Sequence[str]
) -> Iterator[tuple[str, str, str | None]]:
    """Every way to read A-B or A-B:kind as two ids and a kind."""
    for hyphen in (place for place, letter in enumerate(rest) if letter == "-"):
        one, right = rest[:hyphen].strip(), rest[hyphen + 1 :].strip()
        if one not in numbers:
            continue
        if right in numbers:
            yield one, right, None
        for colon in (place for place, letter in enumerate(right) if letter == ":"):
            other, kind = right[:colon].strip(), right[colon + 1 :].strip()
            if other in numbers and kind in kinds:
                yield one, other, kind


def _read_value(text: str, graph: Graph, encoder: Encoder | None) -> ValueChange:
    known = graph.feature_names if encoder is None else encoder.columns
    name, equals, value = text.rpartition("=")
    if name.strip() not in known and text.partition("=")[0].strip() in known:
        name, equals, value = text.partition("=")
    name = name.strip()
    if not equals:
        raise _refused(text, "is not one of drop ID-ID, add ID-ID:KIND and ATTRIBUTE=VALUE")
    if name not in known:
        raise _refused(text, _why_unknown(name, graph, encoder, known))
    if is_category(graph, name):
        step = None if encoder is None else encoder.computation.categories.get(name)
        labels = category_of(graph, name, None if step is None else step.settings.all_labels).labels
        if value.strip() not in labels:
            near = near_matches(value.strip(), labels)
            raise _refused(text, f"{value.strip()!r} is not a value of {name!r}; {near}")
        return ValueChange(text=text, name=name, value=value.strip())
    try:
        number = float(value.replace("_", "?"))
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise _refused(text, f"{value.strip()!r} is not a finite number")
    return ValueChange(text=text, name=name, value=number)


def _why_unknown(name: str, graph: Graph, encoder: Encoder | None, known: Sequence[str]) -> str:
    step = None if encoder is None else encoder.computation.maker.get(name)
    if step is not None:
        parts = " and ".join(repr(one) for one in step.inputs)
        return f"{name!r} is computed from {parts}; set {parts} instead"
    if name in graph.column_names:
        return f"the model does not see {name!r}, so it changes no decision"
    return f"there is no feature {name!r}; {near_matches(name, known)}"


def try_changes(
    context: RecourseContext,
    policy: Policy,
    naming: Naming,
    subject: int,
    changes: Sequence[Change],
) -> WhatIf:
    """Apply changes together and ask about the subject on the whole graph."""
    table, actions = _table(policy, subject, changes)
    verifier = Verifier(context, table, whole=True)
    answer = verifier.on_whole_graph(np.arange(len(table))[None])
    return WhatIf(
        actions=actions,
        decision=context.decisions.names_of(answer)[0],
        favourable=bool(context.decisions.favourable(answer)[0]),
        probabilities=naming.probabilities(answer)[0],
        margin_before=shown(float(context.decisions.margin(context.whole[subject][None])[0])),
        margin=shown(float(context.decisions.margin(answer)[0])),
        forbidden=tuple(_forbidden(policy, subject, actions, context.reach)),
    )


def _forbidden(
    policy: Policy, subject: int, actions: Sequence[Action], reach: int | None
) -> Iterator[str]:
    for action in actions:
        reason = why_not(policy, subject, action, reach)
        if reason:
            yield reason
    most = policy.settings.max_changes
    if len(actions) > most:
        yield f"these are {len(actions)} changes; at most {most} are suggested together"
    moved = [
        policy.movement(action.attribute) for action in actions if isinstance(action, SetAction)
    ]
    broken = broken_by_result(policy, subject, actions)
    if broken:
        yield broken
    families = [movement.family for movement in moved if movement is not None]
    if len(set(families)) < len(families):
        yield "attributes that move along with each other are not suggested together"


def _table(
    policy: Policy, subject: int, changes: Sequence[Change]
) -> tuple[ActionTable, tuple[Action, ...]]:
    """The changes as a table of their own, and as records."""
    graph = policy.graph
    ties = [change for change in changes if isinstance(change, TieChange)]
    values = [change for change in changes if isinstance(change, ValueChange)]
    drops = [arc for change in ties if change.do == "drop" for arc in _arcs(graph, change)]
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


def _arcs(graph: Graph, change: TieChange) -> Ints:
    """The first arcs of the ties that a change would drop; there must be at least one."""
    rows = rows_between(graph, change.source, change.target)
    ties = graph.ties
    if graph.directed:
        rows = rows[ties.source[rows] == change.source]
    if change.kind is not None:
        rows = rows[ties.kind[rows] == ties.kinds.index(change.kind)]
    if not len(rows):
        kind = "" if change.kind is None else f" of the kind {change.kind!r}"
        way = "from the one to the other" if graph.directed else "between the two"
        raise _refused(change.text, f"there is no tie{kind} {way}")
    place = np.flatnonzero(graph.neighbours(change.source) == change.target)[0]
    pair = graph.neighbour_pair[graph.starts[change.source] + place]
    arcs = np.arange(graph.pair_starts[pair], graph.pair_starts[pair + 1])
    arcs = arcs if graph.directed else arcs[::2]
    chosen: Ints = arcs[np.isin(graph.arc_tie[arcs], rows)]
    return chosen


def _move(
    policy: Policy, subject: int, change: ValueChange, named: set[str]
) -> tuple[Movement, Levels]:
    """One attribute and what its rule implies, except what is set by hand as well."""
    known = policy.movement(change.name) or _without_rule(policy, change)
    implied = tuple(one for one in known.implied if one.attribute.name not in named)
    movement = replace(known, implied=implied, family=-1)
    before = tuple(one.of(policy.graph, subject) for one in movement.moved)
    if missing := movement.missing(before):
        raise _refused(
            change.text, f"{missing!r} is empty for this person; fill it in to change it"
        )
    if isinstance(change.value, str) or isinstance(before[0], str):
        steps, cost = 1.0, dict(movement.targets(str(before[0]))).get(str(change.value), 0.0)
    else:
        steps = movement.steps_to(before[0], change.value)
        cost = 0.0
    after = (change.value, *movement.at(before, steps, change.value)[1:])
    numbers = movement.stored([after])
    if not (np.isnan(numbers) | (np.abs(numbers) <= np.finfo(np.float32).max)).all() or any(
        np.isnan(number) and not isinstance(value, str)
        for number, value in zip(numbers[0].tolist(), after, strict=True)
    ):
        transform = movement.rule.transform
        raise _refused(change.text, f"has no {transform} value that the model can take")
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
        return movement.climbed(start, numbers)
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
