"""Subjects whose own columns and kinds of ties were asked about part by part."""

from dataclasses import replace
from math import log
from typing import Any

import networkx as nx

from recourse_audit.records.recourse import Part
from recourse_audit.records.search import WholeGraph
from recourse_audit.records.subject import (
    EgoTie,
    OwnColumn,
    OwnTies,
    SubjectReport,
)
from tests.render.subject_reports import (
    made_report,
    own_carriers,
    own_data,
    probabilities,
    whole_graph,
)

SPACE = "\N{NO-BREAK SPACE}"
ARROW = f"{SPACE}→ "
LATE, PAYMENT = Part(what="column", name="late"), Part(what="ties", name="payment")


def moves_to(after: float, before: float = 0.9) -> float:
    """How far an answer moves towards approval in log-odds, given the probability of denied."""
    return log(before / (1 - before)) - log(after / (1 - after))


def column(name: str, after: float, value: Any = 1.0, reference: Any = 0.0) -> OwnColumn:
    answer = whole_graph(after)
    return OwnColumn(
        name=name, value=value, reference=reference, answer=answer, moves=moves_to(after)
    )


def ties(kind: str, count: int, after: float) -> OwnTies:
    return OwnTies(kind=kind, count=count, answer=whole_graph(after), moves=moves_to(after))


COLUMNS = (column("late", 0.8), column("income", 0.87), column("age", 0.899))
TIES = (ties("payment", 2, 0.95), ties("guarantor", 2, 0.6), ties("address", 1, 0.88))
OWN: dict[str, Any] = {"columns": COLUMNS, "ties": TIES, "distance": moves_to(0.5)}


def two_kinds(**changes: Any) -> SubjectReport:
    """A subject with two payments to 1 and 2, two guarantors, 3 and 4, and the address of 5."""
    made = own_carriers(made_report(nx.star_graph(5)), 0.7, 0.96, 0.8, 0.85, 0.88)
    assert made.ego_network is not None
    kinds = ("payment", "payment", "guarantor", "guarantor", "address")
    between = tuple(
        EgoTie(ends=("P0000", f"P000{place}"), kind=kind)
        for place, kind in enumerate(kinds, start=1)
    )
    near = replace(made.ego_network, ties=between)
    return replace(made, ego_network=near, own_data=own_data(**{**OWN, **changes}))


LADDER = [
    ["As decided, with all 5 ties", "0.100 refused"],
    ["Own data alone, without ties", "0.200 refused"],
    ["Own data: one item at the median of the approved"],
    ["Late 1 → 0", "0.200 up 0.100, still refused"],
    ["Income 1 → 0", "0.130 up 0.030, still refused"],
    ["1 more item moves the answer by less than 0.01: age (→ 0.101)"],
    ["Ties: without them"],
    ["Both guarantor ties", "0.400 up 0.300, still refused"],
    ["only the one with P0003 (approved)", "0.200 up 0.100, still refused"],
    ["only the one with P0004 (refused)", "0.150 up 0.050, still refused"],
    ["Address tie: P0005 (approved)", "0.120 up 0.020, still refused"],
    ["Both payment ties", "0.050 down 0.050, still refused"],
    ["only the one with P0001 (approved)", "0.300 up 0.200, still refused"],
    ["only the one with P0002 (refused)", "0.040 down 0.060, still refused"],
]


def far_below(**changes: Any) -> SubjectReport:
    """A subject far below the cut-off: every part moves the probability by hardly anything."""

    def answer(denied: float) -> WholeGraph:
        return replace(whole_graph(denied), effect=denied - 0.9999)

    made = made_report()
    subject = replace(made.subject, probabilities=probabilities(0.9999))
    columns = (
        replace(COLUMNS[0], answer=answer(0.9989), moves=2.5),
        replace(COLUMNS[1], answer=answer(0.9999), moves=0.05),
    )
    kinds = (OwnTies(kind="payment", count=3, answer=answer(0.9996), moves=-0.25),)
    own = own_data(columns=columns, ties=kinds, distance=9.21)
    assert own.alone is not None
    own = replace(own, alone=replace(own.alone, value=0.0, probabilities=probabilities(1.0)))
    return replace(made, subject=subject, own_data=replace(own, **changes))
