"""The slow and obvious way: rebuild the changed graph, ask about all of it, try everything."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from recourse_audit.graph.graph import Floats, Graph, build_graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.records.recourse import Action, Move, MoveAction, SetAction
from recourse_audit.recourse.policy import Policy


def changed(policy: Policy, subject: int, actions: Sequence[Action]) -> Graph:
    """The graph after some actions, built anew from its tables."""
    graph = policy.graph
    ties, features = graph.ties, graph.features.copy()
    keep = np.ones(len(ties), bool)
    rows: list[dict[str, Any]] = []
    for action in actions:
        if isinstance(action, SetAction):
            put(policy, features, subject, action)
            for implied in action.implied:
                put(policy, features, subject, implied)
            continue
        code = ties.kinds.index(action.kind)
        for tie in action.ties:
            ends = [graph.find(end) for end in tie]
            if action.do != "add":
                keep[first_row(graph, ends, code, keep)] = False
            if isinstance(action, MoveAction):
                ends = [end if end == subject else graph.find(action.to) for end in ends]
            if action.do != "drop":
                rows.append(new_row(graph, ends, code))
    return build_graph(
        ids=graph.ids,
        features=features,
        feature_names=graph.feature_names,
        attributes=graph.attributes,
        directed=graph.directed,
        ties=replace(
            ties,
            source=np.append(ties.source[keep], [row["ends"][0] for row in rows]).astype(np.int32),
            target=np.append(ties.target[keep], [row["ends"][1] for row in rows]).astype(np.int32),
            kind=np.append(ties.kind[keep], [row["kind"] for row in rows]).astype(np.int16),
            weight=None
            if ties.weight is None
            else np.append(ties.weight[keep], [row["weight"] for row in rows]).astype(np.float32),
            attributes=None
            if ties.attributes is None
            else np.concatenate([ties.attributes[keep], *(row["attributes"] for row in rows)]),
        ),
    )


def put(policy: Policy, features: Floats, subject: int, action: SetAction | Move) -> None:
    """Write a user's value as the table holds it."""
    rule = next((r for r in policy.settings.attributes if r.name == action.attribute), None)
    value = action.after
    assert not isinstance(value, str)
    if rule is not None:
        if rule.transform != "linear":
            value = float(np.log(value) if rule.transform == "log" else np.log1p(value))
        value = (value - rule.shift) / rule.scale
    features[subject, policy.graph.feature_names.index(action.attribute)] = value


def first_row(graph: Graph, ends: list[int], code: int, keep: np.ndarray) -> int:
    """The first row that is left of a tie between two nodes."""
    for row in np.flatnonzero(keep & (graph.ties.kind == code)).tolist():
        there = [int(graph.ties.source[row]), int(graph.ties.target[row])]
        if there == ends or (not graph.directed and there == ends[::-1]):
            return int(row)
    raise AssertionError("an action drops a tie that is not there")


def new_row(graph: Graph, ends: list[int], code: int) -> dict[str, Any]:
    ties, row = graph.ties, {"ends": ends, "kind": code}
    of_kind = ties.kind == code if (ties.kind == code).any() else np.ones(len(ties), bool)
    more: dict[str, Any] = dict(row)
    if ties.weight is not None:
        more["weight"] = np.median(ties.weight[of_kind])
    if ties.attributes is not None:
        more["attributes"] = np.median(ties.attributes[of_kind], axis=0)[None].astype(np.float32)
    return more


def asked(batcher: QueryBatcher, graph: Graph, subject: int) -> Floats:
    """Log-probabilities of a node on another whole graph, asked of the same model."""
    answers: Floats = QueryBatcher(batcher.model, pool_of(graph)).ask(
        whole(graph), np.array([subject])
    )
    return answers.reshape(-1)


def all_combinations(group: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Every set of up to `most` actions of different groups."""
    for size in range(1, most + 1):
        for chosen in combinations(range(len(group)), size):
            if len({group[action] for action in chosen}) == size:
                yield chosen
