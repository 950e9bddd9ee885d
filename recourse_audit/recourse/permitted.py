"""What the policy permits to one subject: ties to drop, ties to add, levels of attributes.

What a user types is judged by the same table: a change is permitted if it is in there, and
`reasons_against` says in words why one is not.
"""

from collections.abc import Iterator

import numpy as np

from recourse_audit.graph.arrays import Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import neighbourhood, reach, spans
from recourse_audit.model.decisions import Mask
from recourse_audit.recourse.actions import ADD, SET, ActionTable, TieActions, action_text
from recourse_audit.recourse.attributes import Value
from recourse_audit.recourse.conditions import SubjectConditions
from recourse_audit.recourse.policy import INCOMING, OTHERS, OUTGOING, Policy, relations
from recourse_audit.recourse.proxies import SAME, named_like

_WHOSE = {OUTGOING: "own", INCOMING: "incoming", OTHERS: "other people's"}


def action_table(policy: Policy, subject: int, depth: int | None) -> ActionTable:
    """List what the policy permits to a subject; `depth` is how many hops the model looks."""
    graph = policy.graph
    drops, denied = _drops(policy, subject, depth)
    every = [(one, one.levels(graph, subject)) for one in policy.movements]
    moves = [(movement, levels) for movement, levels in every if len(levels)]
    return ActionTable(
        graph=graph,
        subject=subject,
        drops=drops,
        adds=_adds(policy, subject),
        moves=tuple(sorted(moves, key=lambda move: move[0].family)),
        denied=denied,
        encoder=policy.encoder,
        unreachable=tuple((one, levels) for one, levels in every if levels.left_out),
    )


def _drops(policy: Policy, subject: int, depth: int | None) -> tuple[TieActions, int]:
    """Ties that may be dropped, in canonical order, and how many only the deny list forbids."""
    graph = policy.graph
    pairs = np.sort(graph.neighbour_pair[graph.starts[subject] : graph.starts[subject + 1]])
    if policy.drop[:, OTHERS].any():
        pairs = np.union1d(pairs, _pairs_around(graph, subject, depth))
    arcs, _ = spans(graph.pair_starts, pairs)
    arcs = arcs if graph.directed else arcs[::2]
    source, target = graph.arc_source[arcs], graph.arc_target[arcs]
    kind = graph.ties.kind[graph.arc_tie[arcs]].astype(np.int64)
    relation = relations(graph, subject, source, target)
    allowed = policy.drop[kind, relation]
    denied = policy.denied[kind] | _to_denied(policy, subject, source, target)
    chosen = allowed & ~denied
    if not graph.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    return (
        TieActions(
            source=source[chosen].astype(np.int64),
            target=target[chosen].astype(np.int64),
            kind=kind[chosen],
            arc=arcs[chosen],
            cost=policy.cost[kind[chosen], relation[chosen]],
        ),
        int((allowed & denied).sum()),
    )


def _to_denied(policy: Policy, subject: int, source: Indices, target: Indices) -> Mask:
    """Whether ties lead to a node of a kind that is never suggested, other than the subject."""
    nodes = policy.denied_nodes
    ends: Mask = (nodes[source] & (source != subject)) | (nodes[target] & (target != subject))
    return ends


def _pairs_around(graph: Graph, subject: int, depth: int | None) -> Ints:
    """The pairs of other people who are both within the model's depth."""
    if depth is None:
        return np.arange(graph.pair_count)
    near = reach(graph, np.array([subject]), depth)
    positions, owner = spans(graph.starts, near)
    inside = np.isin(graph.neighbour[positions], near) & (near[owner] < graph.neighbour[positions])
    return graph.neighbour_pair[positions[inside]].astype(np.int64)


def _adds(policy: Policy, subject: int) -> TieActions:
    """Ties that may be added: by kind, by direction, then by the other end."""
    graph = policy.graph
    parts = [*_new_ties(policy, subject)]
    source, target, kind, relation = (
        np.concatenate([np.empty(0, np.int64), *(part[place] for part in parts)])
        for place in range(4)
    )
    if not graph.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    return TieActions(
        source=source,
        target=target,
        kind=kind,
        arc=np.zeros(len(source), np.int64),
        cost=policy.cost[kind, relation],
    )


def _new_ties(policy: Policy, subject: int) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    graph, near = policy.graph, None
    for kind, relation in np.argwhere(policy.add).tolist():
        if relation == INCOMING and not graph.directed:
            continue
        if policy.candidates is not None:
            others = _listed(policy, subject, kind, relation)
        elif policy.near[kind, relation]:
            if near is None:
                around = neighbourhood(graph, np.array([subject]), 2)
                near = around.nodes[around.hops == 2].astype(np.int64)
            others = near
        else:
            others = np.delete(np.arange(graph.node_count), subject)
        others = np.setdiff1d(others, _tied_by(graph, subject, kind, relation))
        others = others[~policy.denied_nodes[others]]
        own = np.full(len(others), subject)
        ends = (own, others) if relation == OUTGOING else (others, own)
        yield *ends, np.full(len(others), kind), np.full(len(others), relation)


def _listed(policy: Policy, subject: int, kind: int, relation: int) -> Ints:
    """The other ends of a subject's candidates of one kind and one direction."""
    listed = policy.candidates
    assert listed is not None
    rows = listed.of(subject)
    if listed.kind is not None:
        rows = rows[listed.kind[rows] == kind]
    outward = listed.source[rows] == subject
    if policy.graph.directed:
        rows = rows[outward == (relation == OUTGOING)]
        outward = listed.source[rows] == subject
    return np.where(outward, listed.target[rows], listed.source[rows]).astype(np.int64)


def _tied_by(graph: Graph, subject: int, kind: int, relation: int) -> Ints:
    """Everyone already tied to the subject by this kind, in the same direction."""
    pairs = graph.neighbour_pair[graph.starts[subject] : graph.starts[subject + 1]]
    arcs, _ = spans(graph.pair_starts, pairs)
    ends = (graph.arc_source[arcs], graph.arc_target[arcs])
    own, other = ends if relation == OUTGOING else ends[::-1]
    chosen = (own == subject) & (graph.ties.kind[graph.arc_tie[arcs]] == kind)
    tied: Ints = other[chosen].astype(np.int64)
    return tied


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
    source, target, kind = (int(one[action]) for one in (typed.source, typed.target, typed.kind))
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
        return f"no rule allows {doing} {_WHOSE[relation]} ties of the kind {name!r}{why}"
    if not adds:
        return f"is farther away than the {depth} hops that the model looks"
    other = target if source == subject else source
    if other in _tied_by(graph, subject, kind, relation):
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
    now = tuple(one.of(policy.graph, typed.subject) for one in known.moved)
    level = known.at(now, own[0] or 1, own[1])
    return next((reason for _, reason in known.reasons_in_implied(now, level)), "")


def _equal(one: Value, other: Value) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return abs(one - other) <= 1e-9 * max(1.0, abs(other))
