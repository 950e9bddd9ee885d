"""Changes that somebody types: read, put to the model on the whole graph, judged by the policy.

    drop A-B         every tie between two people; drop A-B:kind only those of one kind
    drop kind        all of the subject's ties of one kind
    add A-B:kind     a new tie; where ties have a direction it leads from A to B
    move A-B:kind to C    a tie of the subject that leaves its far end for C
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
from recourse_audit.graph.graph import Graph, Ints
from recourse_audit.model.edited_graph import SubjectAnswers
from recourse_audit.model.preprocessing import Encoder
from recourse_audit.records.recourse import Forbidden, OutsideRange, TieWord, WhatIf, forbid
from recourse_audit.recourse.actions import (
    ADD,
    DROP,
    MOVE,
    NO_PLACES,
    NONE,
    SET,
    TIE_WORDS,
    ActionTable,
    Ties,
    action_table,
    action_text,
    find_tied,
    move_ties,
    new_ties,
    own_arcs,
    ties_of,
    ties_to_drop,
)
from recourse_audit.recourse.attributes import (
    Levels,
    Movement,
    Value,
    is_category,
    is_missing,
    read_attribute,
)
from recourse_audit.recourse.conditions import SubjectConditions, repeats
from recourse_audit.recourse.policy import (
    INCOMING,
    OTHERS,
    OUTGOING,
    WAYS,
    Policy,
    can_lead_both_ways,
)
from recourse_audit.recourse.proxies import SAME, relation_by_name
from recourse_audit.recourse.trials import Verifier
from recourse_audit.search.moexp import Naming
from recourse_audit.search.pareto import round_figure
from recourse_audit.settings import AttributeRule
from recourse_audit.settings.section import first_repeated, near_matches

WHOSE = {OUTGOING: "own", INCOMING: "incoming", OTHERS: "others"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TieChange:
    """Ties to drop, a tie to add, or one to move to another far end, as typed.

    Without `ends`, all of the subject's ties of a kind; `kind` is None where any kind will do.
    """

    text: str
    do: TieWord
    ends: tuple[int, int] | None
    kind: str | None
    to: int | None = None


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
    """Read what was typed, or say what is wrong; an encoder's columns, or features, may be set."""
    if not texts:
        return ()
    numbers = {name: number for number, name in enumerate(graph.ids.tolist())}
    if graph.relations and graph.kinds is not None:  # an id without its kind is that of a person
        bare = len(f"{graph.kinds.names[0]}:")
        people = [*numbers.items()][: graph.person_count]
        numbers = {name[bare:]: number for name, number in people} | numbers
    changes: list[Change] = []
    for text in texts:
        word, _, rest = text.strip().partition(" ")
        do = next((do for do in TIE_WORDS if do == word), None)
        if do == "move":
            changes.append(_read_move(text, rest.strip(), graph, numbers))
        elif do is not None:
            changes.append(_read_tie(text, do, rest.strip(), graph, numbers))
        else:
            changes.append(_read_value(text, graph, encoder))
    repeated = first_repeated([each.name for each in changes if isinstance(each, ValueChange)])
    if repeated is not None:
        raise InputError(f"--what-if sets {repeated!r} twice; give one value")
    return tuple(changes)


def refusal(text: str, why: str) -> InputError:
    """The error for a change that cannot be read or tried."""
    return InputError(f"--what-if {text!r}: {why}")


def _read_move(text: str, rest: str, graph: Graph, numbers: dict[str, int]) -> TieChange:
    """Read A-B:kind to C; an id may contain the word "to"."""
    readings = [
        (tie, to)
        for tie, to in _splits(rest, " to ")
        if to in numbers and any(_readings(tie, numbers, graph.ties.kinds))
    ]
    if len(readings) != 1:
        raise refusal(
            text, "does not name a tie and a node of this graph; write move ID-ID:KIND to ID"
        )
    [(tie, to)] = readings
    change = _read_tie(text, "drop", tie, graph, numbers)
    if len(arcs_to_drop(graph, change, -1)) > 1:
        raise refusal(text, "there are several such ties, and one of them moves; name its kind")
    if numbers[to] in (change.ends or ()):
        raise refusal(text, "leads where the tie is already")
    return replace(change, do="move", to=numbers[to])


def _read_tie(
    text: str, do: Literal["drop", "add"], rest: str, graph: Graph, numbers: dict[str, int]
) -> TieChange:
    kinds = graph.ties.kinds
    readings = list(_readings(rest, numbers, kinds))
    if do == "drop" and not readings and rest in kinds:
        return TieChange(text=text, do=do, ends=None, kind=rest)
    if not readings:
        raise refusal(
            text,
            f"does not name two people and a kind of tie of this graph; write {do} ID-ID:KIND "
            f"(kinds: {', '.join(kinds[:12])})",
        )
    if len(readings) > 1:
        examples = " or ".join(f"{a!r} and {b!r}" for a, b, _ in readings[:3])
        raise refusal(text, f"can be read in {len(readings)} ways, as about {examples}")
    (first, other, kind) = readings[0]
    if first == other:
        raise refusal(text, "a tie from a person to themselves is never changed")
    if do == "add" and kind is None:
        if len(kinds) > 1:
            listed = ", ".join(kinds[:12])
            raise refusal(text, f"does not say which kind of tie; write {text}:KIND ({listed})")
        kind = kinds[0]
    ends = numbers[first], numbers[other]
    if do == "drop":
        change = TieChange(text=text, do=do, ends=ends, kind=kind)
        arcs_to_drop(graph, change, numbers[first])
        return change
    return TieChange(text=text, do=do, ends=_fitting_ends(text, graph, ends, kind or ""), kind=kind)


def _fitting_ends(text: str, graph: Graph, ends: tuple[int, int], kind: str) -> tuple[int, int]:
    """The ends of a new tie, from and to; between two kinds it may be typed either way round."""
    if not graph.relations:
        return ends
    assert graph.kinds is not None
    relation = graph.relations[graph.ties.kinds.index(kind)]
    fitting = relation.source, relation.target
    for way in (ends, ends[::-1]):
        if tuple(graph.kinds.of(np.array(way)).tolist()) == fitting:
            return way
    leads = " to ".join(graph.kinds.names[end] for end in fitting)
    raise refusal(text, f"a tie of the kind {kind!r} leads from {leads}")


def _readings(
    rest: str, numbers: dict[str, int], kinds: Sequence[str]
) -> Iterator[tuple[str, str, str | None]]:
    """Every way to read A-B or A-B:kind as two ids and a kind."""
    for first, right in (split for split in _splits(rest, "-") if split[0] in numbers):
        if right in numbers:
            yield first, right, None
        for other, kind in _splits(right, ":"):
            if other in numbers and kind in kinds:
                yield first, other, kind


def _splits(text: str, mark: str) -> Iterator[tuple[str, str]]:
    """What stands before and after a mark, wherever it is."""
    for place in range(len(text)):
        if text.startswith(mark, place):
            yield text[:place].strip(), text[place + len(mark) :].strip()


def _read_value(text: str, graph: Graph, encoder: Encoder | None) -> ValueChange:
    known = graph.person_features if encoder is None else encoder.columns
    name, equals, value = text.rpartition("=")
    if name.strip() not in known and text.partition("=")[0].strip() in known:
        name, equals, value = text.partition("=")
    name = name.strip()
    if not equals:
        raise refusal(
            text,
            "is not one of drop ID-ID, add ID-ID:KIND, move ID-ID:KIND to ID and ATTRIBUTE=VALUE",
        )
    if name not in known:
        raise refusal(text, _why_unknown(name, graph, encoder, known))
    if is_category(graph, name):
        step = None if encoder is None else encoder.computation.categories.get(name)
        known_labels = None if step is None else step.settings.all_labels
        labels = read_attribute(graph, name, None, known_labels).labels or ()
        if value.strip() not in labels:
            near = near_matches(value.strip(), labels)
            raise refusal(text, f"{value.strip()!r} is not a value of {name!r}; {near}")
        return ValueChange(text=text, name=name, value=value.strip())
    try:
        number = float(value.replace("_", "?"))
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise refusal(text, f"{value.strip()!r} is not a finite number")
    return ValueChange(text=text, name=name, value=number)


def _why_unknown(name: str, graph: Graph, encoder: Encoder | None, known: Sequence[str]) -> str:
    step = None if encoder is None else encoder.computation.maker.get(name)
    if step is not None:
        parts = " and ".join(repr(part) for part in step.inputs)
        return f"{name!r} is computed from {parts}; set {parts} instead"
    if graph.kinds is not None and name in graph.feature_names:
        return f"{name!r} is an attribute of another kind of node, and not the subject's"
    if name in graph.column_names:
        return f"the model does not see {name!r}, so it changes no decision"
    return f"there is no feature {name!r}; {near_matches(name, known)}"


def arcs_to_drop(graph: Graph, change: TieChange, subject: int) -> Ints:
    """The first arcs of the ties that a change would drop; there must be at least one."""
    person, other = change.ends or (subject, None)
    arcs = own_arcs(graph, person)
    source, target = graph.ends_of(arcs)
    if other is not None:
        either_way = ~can_lead_both_ways(graph)[graph.ties.kind[graph.arc_tie[arcs]]]
        there = (source == person) & (target == other)
        arcs = arcs[there | ((source == other) & (target == person) & either_way)]
    if change.kind is not None:
        kinds = graph.ties.kind[graph.arc_tie[arcs]]
        arcs = arcs[kinds == graph.ties.kinds.index(change.kind)]
    if len(arcs):
        return arcs
    kind = "" if change.kind is None else f" of the kind {change.kind!r}"
    if other is None:
        raise refusal(change.text, f"{graph.ids[person]} has no tie{kind}")
    way = "from the one to the other" if graph.directed else "between the two"
    raise refusal(change.text, f"there is no tie{kind} {way}")


def try_changes(
    asked: SubjectAnswers, policy: Policy, naming: Naming, changes: Sequence[Change]
) -> WhatIf:
    """Apply changes together and ask about the subject on the whole graph."""
    edited, subject = asked.edited, asked.subject
    table = read_actions(policy, subject, changes, edited.reach)
    verifier = Verifier(asked, table)
    every = np.arange(len(table))
    answer = verifier.on_whole_graph(every[None])
    before = edited.everybody[[subject]]
    decisions = verifier.others.decisions(every)
    return WhatIf(
        actions=table.records(every),
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
    for movement, levels in table.moves:
        for attribute, value in zip(movement.attributes, levels.after[0], strict=True):
            if not isinstance(value, str):
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


def read_actions(
    policy: Policy, subject: int, changes: Sequence[Change], depth: int | None
) -> ActionTable:
    """The changes as a table, at their rules' costs; all of what ends together is one action."""
    graph = policy.graph
    values = [change for change in changes if isinstance(change, ValueChange)]
    ties = [change for change in changes if isinstance(change, TieChange)]
    drops, adds, moved = ([change for change in ties if change.do == do] for do in TIE_WORDS)
    arcs = [arcs_to_drop(graph, change, subject) for change in drops]
    typed = ties_of(policy, subject, np.unique(np.concatenate((NO_PLACES, *arcs))))
    every = ties_to_drop(policy, subject, depth)
    whole = np.bincount(every["owner"], ~np.isin(every["arc"], typed["arc"])) == 0
    together = np.flatnonzero(typed["rule"] >= 0)
    alone = np.ones(len(typed), bool)
    alone[together] = ~whole[every["owner"][np.searchsorted(every["arc"], typed["arc"][together])]]
    typed["owner"] = np.where(alone, np.arange(len(typed)), typed["owner"])
    typed["rule"][alone] = -1
    source, target = np.array([change.ends for change in adds], np.int64).reshape(-1, 2).T
    kind = np.array([graph.ties.kinds.index(change.kind or "") for change in adds], np.int64)
    named = {change.name for change in values}
    moves = [_move(policy, subject, change, named) for change in values]
    return ActionTable(
        policy,
        subject,
        typed,
        new_ties(policy, subject, source, target, kind),
        moves,
        moved=_read_moves(policy, subject, moved, len(typed)),
    )


def _read_moves(policy: Policy, subject: int, changes: Sequence[TieChange], first: int) -> Ties:
    """The ties that are moved by hand, each with the new one; numbered after `first` others."""
    arcs = [arcs_to_drop(policy.graph, change, subject) for change in changes]
    old = ties_of(policy, subject, np.concatenate((NO_PLACES, *arcs)))
    old["owner"], old["rule"] = first + np.arange(len(old)), -1
    outward, to = old["source"] == subject, np.array([change.to for change in changes], np.int64)
    new = old.copy()
    new["source"], new["target"] = np.where(outward, subject, to), np.where(outward, to, subject)
    for change, before, after in zip(changes, old, new, strict=True):
        if subject not in (before["source"], before["target"]):
            raise refusal(change.text, "only a tie of the subject can be moved")
        ends = int(after["source"]), int(after["target"])
        _fitting_ends(change.text, policy.graph, ends, policy.graph.ties.kinds[after["kind"]])
    return move_ties(old, new_ties(policy, subject, new["source"], new["target"], new["kind"]))


def _move(
    policy: Policy, subject: int, change: ValueChange, named: set[str]
) -> tuple[Movement, Levels]:
    """One attribute and what its rule implies, except what is set by hand as well."""
    known = policy.movement(change.name) or _without_rule(policy, change)
    implied = tuple(implied for implied in known.implied if implied.attribute.name not in named)
    movement = replace(known, implied=implied, family=-1)
    before = movement.values_of(policy.graph, subject)
    for attribute, own in zip(movement.attributes, before, strict=True):
        if is_missing(own):
            why = f"{attribute.name!r} is empty for this person; fill it in to change it"
            raise refusal(change.text, why)
    value, category = change.value, isinstance(change.value, str)
    steps = 1.0 if isinstance(value, str) else movement.steps_to(float(before[0]), value)
    after = movement.at(before, steps, value)
    numbers = movement.table_numbers([after])
    for new, stored in zip(after, numbers[0].tolist(), strict=True):
        if not isinstance(new, str) and not abs(stored) <= np.finfo(np.float32).max:
            transform = movement.rule.transform
            raise refusal(change.text, f"has no {transform} value that the model can take")
    whole = np.array([0 if category else int(np.sign(steps)) * max(1, round(abs(steps)))])
    if category:
        cost = np.array([dict(movement.targets(str(before[0]))).get(str(value), 0.0)])
    else:
        cost = movement.cost(policy.graph, subject, whole, numbers[:, 0])
    return movement, Levels(steps=whole, before=before, after=(after,), numbers=numbers, cost=cost)


def _without_rule(policy: Policy, change: ValueChange) -> Movement:
    """How an attribute moves that no rule allows to change: freely, and at no known cost."""
    rule = (
        AttributeRule(name=change.name, values=(change.value,))
        if isinstance(change.value, str)
        else AttributeRule(name=change.name, step=1)
    )
    return Movement(rule=rule, attribute=read_attribute(policy.graph, change.name, None))


def reasons_against(policy: Policy, typed: ActionTable, depth: int | None) -> Iterator[Forbidden]:
    """Why the policy would not suggest typed changes to their subject: each, then together."""
    permitted = action_table(policy, typed.subject, depth)
    for action, record in enumerate(typed.records(np.arange(len(typed)))):
        reason = (
            _reason_against_value(policy, typed, action)
            if typed.do[action] == SET
            else _reason_against_tie(policy, typed, action, permitted, depth)
        )
        if reason is not None:
            yield replace(reason, change=action_text(record))
    most = policy.settings.max_changes
    if len(typed) > most:
        yield forbid("too_many_changes", count=len(typed), most=most)
    yield from SubjectConditions(policy.conditions, typed).reasons_against_all()
    known = [policy.movement(movement.rule.name) for movement, _ in typed.moves]
    families = [movement.family for movement in known if movement is not None]
    if len(set(families)) < len(families):
        yield forbid("linked")
    ended = typed.arc[typed.arc != NONE]
    every = np.arange(len(typed))[None]
    if len(np.unique(ended)) < len(ended) or repeats(every, typed.new).any():
        yield forbid("same_tie")


def _reason_against_tie(
    policy: Policy, typed: ActionTable, action: int, permitted: ActionTable, depth: int | None
) -> Forbidden | None:
    """Why a change of ties is not in the table of what is permitted; None if it is."""
    graph, subject = policy.graph, typed.subject
    do, kind = int(typed.do[action]), int(typed.kind[action])
    together, ends = typed.together[action], _ends(typed, action)
    alike = (permitted.do == do) & (permitted.kind == kind) & (permitted.together == together)
    if any(np.array_equal(_ends(permitted, row), ends) for row in np.flatnonzero(alike).tolist()):
        return None
    name = graph.ties.kinds[kind]
    if policy.denied[kind]:
        return forbid("kind_denied", kind=name)
    for end in typed.people(np.array([action])).tolist():
        if end != subject and policy.denied_nodes[end]:
            return forbid("node_denied", node=str(graph.ids[end]))
    lies = policy.relations(subject, ends[0], ends[1], np.full(ends.shape[1], kind))
    relation, (source, target) = int(lies[0]), ends[:, -1].tolist()
    word = next(word for word, number in TIE_WORDS.items() if number == do)
    if not {DROP: policy.drop, ADD: policy.add, MOVE: policy.move}[do][kind, relation]:
        rule = policy.rule_for(name, relation)
        return forbid(
            "no_rule_for_ties",
            do=word,
            whose=WHOSE[relation % WAYS],
            kind=name,
            reason="" if rule is None else rule.reason,
        )
    if do == DROP:
        if policy.together[kind, relation] >= 0:
            return forbid("only_together", kind=name)
        return forbid("out_of_reach", hops=depth or 0)
    other = target if source == subject else source
    if lies[-1] != relation or not policy.fits[kind, relation]:
        return forbid("wrong_end", kind=name, node=str(graph.ids[other]))
    if other in find_tied(policy, subject, kind, relation):
        return forbid("tie_exists")
    if policy.candidates is not None:
        return forbid("no_candidate")
    far = graph.kinds is not None and relation >= WAYS
    return forbid("not_near_kind" if far else "not_near", node=str(graph.ids[other]))


def _ends(table: ActionTable, action: int) -> Ints:
    ties = slice(*table.tie_starts[action : action + 2].tolist())
    return np.stack((table.source[ties], table.target[ties]))


def _reason_against_value(policy: Policy, typed: ActionTable, action: int) -> Forbidden | None:
    """Why an attribute may not be set to a value; None if that is one of its levels."""
    movement, levels = typed.moves[typed.move[action]]
    name, before, after = movement.rule.name, levels.before[0], levels.after[0][0]
    for protected in policy.protected:
        relation = relation_by_name(name, protected)
        if relation == SAME or (relation and name not in policy.settings.not_protected):
            return forbid("protected")
    known = policy.movement(name)
    if known is None:
        return forbid("no_rule", attribute=name)
    if after == before:
        return forbid("no_change")
    own = next((own for own in known.own_levels(before) if _equal(own[1], after)), None)
    if own is None:
        return known.reason_against(before, after)
    now = known.values_of(policy.graph, typed.subject)
    return known.reason_against_implied(now, known.at(now, own[0] or 1, own[1]))


def _equal(value: Value, other: Value) -> bool:
    if isinstance(value, str) or isinstance(other, str):
        return value == other
    return abs(value - other) <= 1e-9 * max(1.0, abs(other))
