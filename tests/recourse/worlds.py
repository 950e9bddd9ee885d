"""Small graphs, policies and models for tests of recourse."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.edited_graph import EditedGraph, Way
from recourse_audit.model.form_probe import takes_shared_fields
from recourse_audit.model.queries import whole
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.recourse import CommonAction
from recourse_audit.recourse.actions import ActionTable
from recourse_audit.recourse.policy import Policy
from recourse_audit.recourse.trials import Verifier
from recourse_audit.recourse.what_if import (
    read_actions,
    read_changes,
    reasons_against,
)
from recourse_audit.render.i18n import Words
from recourse_audit.render.terminal import what_if_lines
from recourse_audit.settings import Settings, parse_settings
from tests.decisions import decisions_over

KINDS = ("address", "family", "guarantor", "payment")
NAMES = ("income", "debt", "savings", "late", "loan")
WORDS = Words()
NUMBERS = {1: "one", 2: "two"}


def change_words(action: CommonAction) -> str:
    """A common change in English: raise savings by 5,000 euros; drop one payment tie."""
    if action.ties == "all":
        return f"{action.do} all {action.what} ties together"
    if action.ties is not None:
        ties = "tie" if action.ties == 1 else "ties"
        return f"{action.do} {NUMBERS.get(action.ties, action.ties)} {action.what} {ties}"
    if action.by is None:
        return f"change {action.what} to {action.to}"
    unit = f" {action.unit}" if action.unit else ""
    way = "raise" if action.by > 0 else "lower"
    return f"{way} {action.what} by {abs(action.by):,.12g}{unit}"


def town(
    seed: int = 0,
    *,
    people: int = 14,
    ties: int = 22,
    directed: bool = False,
    loops: int = 2,
    kinds: Sequence[str] = KINDS,
) -> Graph:
    """A random graph with parallel ties, self-loops, weights, kinds and tie attributes."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, people, size=(2, ties))
    ends[1] = np.where(ends[0] == ends[1], (ends[1] + 1) % people, ends[1])
    ends = np.concatenate(
        (ends, ends[:, :3], np.repeat(random.integers(0, people, (1, loops)), 2, 0)), 1
    )
    count = ends.shape[1]
    return from_arrays(
        random.normal(size=(people, len(NAMES))).round(2),
        ends,
        ids=[f"P{number:02d}" for number in range(people)],
        attributes={"gender": ["fm"[number % 2] for number in range(people)]},
        kind=np.array(kinds)[random.integers(0, len(kinds), count)],
        weight=np.round(random.uniform(0.2, 2.0, count), 2),
        edge_attributes=random.normal(size=(count, 2)).round(2),
        directed=directed,
        feature_names=NAMES,
    )


def star() -> Graph:
    """Person a in the middle, with one tie of each kind; b-c and d-e are ties of others."""
    return from_arrays(
        np.array([[1.0, 0.5, 1000, 2, 3.0]] * 5 + [[4.0, 0.9, 9000, 0, 9.0]]),
        np.array([[0, 0, 0, 0, 1, 3], [1, 2, 3, 4, 2, 5]]),
        ids=list("abcdef"),
        attributes={"gender": list("fmfmfm")},
        kind=np.array([*KINDS, "payment", "address"]),
        feature_names=NAMES,
    )


def settings_with(
    folder: Path = Path(), groups: Sequence[str] = ("gender",), **recourse: Any
) -> Settings:
    """Settings with this [recourse] table."""
    table = {
        "model": {"path": "model.onnx"},
        "graph": {"npz": "graph.npz"},
        "decision": {"classes": ["no", "maybe", "yes"], "favourable": ["yes"]},
        "groups": {"attributes": [*groups]},
        "recourse": recourse,
    }
    return parse_settings(table, folder=folder, origin="audit.toml")


def policy_of(
    graph: Graph, folder: Path = Path(), groups: Sequence[str] = ("gender",), **recourse: Any
) -> Policy:
    return Policy(settings_with(folder, groups, **recourse), graph)


def reasons(policy: Policy, subject: int, *typed: str) -> list[str]:
    """Why the policy would not suggest what somebody types, for a model of two layers."""
    changes = read_changes(typed, policy.graph, policy.encoder)
    table = read_actions(policy, subject, changes, 2)
    against = reasons_against(policy, table, 2)
    return [text for reason in against for text in what_if_lines("forbidden", reason, WORDS)]


def sound(
    depth: int | None = 2, *, sender_degree: bool | None = None, **failed: bool
) -> ProbeReport:
    """What probes would say of a model of this depth, apart from what failed."""
    names = ("deterministic", "node_order", "tie_order", "ties_matter", "packing")
    good: dict[str, Any] = {name: failed.get(name, True) for name in names}
    return ProbeReport(**good, depth=depth, sender_degree=sender_degree)


def sound_for(batcher: QueryBatcher) -> ProbeReport:
    """What probes would say of a sum of two layers, whose messages no degree weighs."""
    return sound(sender_degree=False if takes_shared_fields(batcher) else None)


def edited_graph(
    graph: Graph, batcher: QueryBatcher, probes: ProbeReport | None = None
) -> EditedGraph:
    """The graph to ask about, with decisions in which the last class is favourable."""
    answers = batcher.ask(whole(graph), np.arange(graph.node_count))
    classes = ("no", "maybe", "yes")[-answers.shape[1] :]
    decisions = decisions_over(answers, classes[-1:], classes, graph=graph)
    return EditedGraph(graph, batcher, probes or sound_for(batcher), decisions)


def verifier_of(edited: EditedGraph, table: ActionTable, first: Way = "shared") -> Verifier:
    """What asks about the actions of a table, in the first way that can be used."""
    return Verifier(edited.about(table.subject, first), table)
