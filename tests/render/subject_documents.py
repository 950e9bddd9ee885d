"""Documents of subjects, written without an audit: what the report on a subject is made from."""

from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx

from recourse_audit.render.pages.facts import AuditFacts

DIGEST = "0123456789abcdef" * 4
CLASSES = ("denied", "approved")


def person(place: int) -> str:
    return f"P{place:04d}"


def facts(classes: Sequence[str] = CLASSES, protected: Sequence[str] = ("gender",)) -> AuditFacts:
    return AuditFacts(
        classes=tuple(classes),
        favourable=tuple(classes[-1:]),
        protected=tuple(protected),
        model=DIGEST,
        graph={"nodes": DIGEST, "edges": DIGEST},
        settings=DIGEST,
        seed="7",
        versions={"recourse-audit": "0.1.0", "python": "3.11.7"},
    )


def probabilities(first: float, classes: Sequence[str] = CLASSES) -> dict[str, float]:
    rest = (1 - first) / (len(classes) - 1)
    return {name: round(first if not place else rest, 6) for place, name in enumerate(classes)}


def document(
    graph: "nx.Graph[int] | None" = None,
    *,
    name: Callable[[int], str] = person,
    classes: Sequence[str] = CLASSES,
    kind: str = "guarantor",
    attribute: str = "savings",
    total: int | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Subject 0 of a graph, refused; ties 0-1 and 1-2 explain it, and 1-2 is removed."""
    graph = nx.path_graph(4) if graph is None else graph
    made = {
        "format": 1,
        "subject": {
            "id": name(0),
            "decision": classes[0],
            "favourable": False,
            "probabilities": probabilities(0.9, classes),
        },
        "search": {
            "max_nodes": 4,
            "max_hops": 2,
            "subgraphs": 45,
            "pairs": 148,
            "coverage": "exhaustive",
            "queries": 46,
        },
        "counterfactuals": [counterfactual(name, classes)],
        "front": [{"edges": [], "removed": [], "simulatability": -0.006957, "relevance": 0.521894}],
        "front_size": 1,
        "cloud": {
            "simulatability": [-0.45, 0.0],
            "relevance": [0.0, 0.521894],
            "columns": 32,
            "rows": 20,
            "counts": [[0, 1], [31, 99], [639, 48]],
        },
        "surroundings": surroundings(graph, name, classes, kind, total),
        "recourse": recourse(name, classes, kind, attribute),
        "caveats": caveats(name, classes),
        "probes": {
            "deterministic": True,
            "node_order": True,
            "tie_order": True,
            "ties_matter": True,
            "packing": True,
            "depth": 2,
        },
        "notes": {},
    }
    return made | changes


def surroundings(
    graph: "nx.Graph[int]",
    name: Callable[[int], str],
    classes: Sequence[str],
    kind: str,
    total: int | None = None,
) -> dict[str, Any]:
    hops = nx.single_source_shortest_path_length(graph, 0)
    order = sorted(hops, key=lambda node: (hops[node], node))
    return {
        "nodes": [
            {
                "id": name(node),
                "hops": hops[node],
                "decision": classes[node % len(classes)],
                "favourable": bool(node % len(classes)),
            }
            for node in order
        ],
        "ties": [{"ends": [name(a), name(b)], "kind": kind} for a, b in graph.edges],
        "shown": len(order),
        "total": total or len(order),
        "hops": max(hops.values()),
        "limit": 60,
    }


def counterfactual(name: Callable[[int], str], classes: Sequence[str]) -> dict[str, Any]:
    return {
        "explanation": {
            "nodes": [name(0), name(1), name(2)],
            "edges": [[name(0), name(1)], [name(1), name(2)]],
            "simulatability": -0.006957,
            "probabilities": probabilities(0.85, classes),
        },
        "removed": [[name(1), name(2)]],
        "kept": [[name(0), name(1)]],
        "simulatability": -0.006957,
        "relevance": 0.521894,
        "signed_relevance": -0.521894,
        "ranks": {"simulatability": 19, "relevance": 3, "sum": 22},
        "layer": 1,
        "dominates": 127,
        "dominates_picks": {"random": True, "shapley": False},
        "probabilities": probabilities(0.4, classes),
    }


def recourse(
    name: Callable[[int], str], classes: Sequence[str], kind: str, attribute: str
) -> dict[str, Any]:
    drop = {"do": "drop", "tie": [name(1), name(2)], "kind": kind, "cost": 1.0}
    save = {
        "do": "set",
        "attribute": attribute,
        "from": 100.0,
        "to": 600.0,
        "unit": "euros",
        "implied": [],
        "cost": 0.5,
    }
    return {
        "status": "verified",
        "certificate": {
            "max_changes": 3,
            "tried": 27,
            "possible": 80,
            "exhaustive": False,
            "complete_up_to": 2,
            "permitted": {"drop": 2, "add": 0, "set": {attribute: 5}},
            "denied": 1,
            "reason": "",
        },
        "margin": -0.8,
        "options": [option([save], 0.5, name, classes), option([drop], 1.0, name, classes)],
        "evaluations": 28,
        "checked_by": "neighbourhood",
        "reason": "",
        "droppable": [{"tie": [name(0), name(1)], "kind": kind}],
    }


def option(
    actions: list[dict[str, Any]], cost: float, name: Callable[[int], str], classes: Sequence[str]
) -> dict[str, Any]:
    return {
        "actions": actions,
        "cost": cost,
        "decision": classes[-1],
        "probabilities": probabilities(0.3, classes),
        "margin": 0.4,
        "verified": True,
        "minimal": True,
        "source": "counterfactual",
        "holds": {"draws": 50, "ties": 0.96, "attributes": 0.8},
        "others": {
            "measured": True,
            "to_favourable": [name(3)],
            "to_unfavourable": [],
            "other": [],
        },
    }


def caveats(name: Callable[[int], str], classes: Sequence[str]) -> list[dict[str, Any]]:
    general: dict[str, Any] = {
        "kind": "general",
        "grade": None,
        "about": "every counterfactual",
        "text": "A part of how the answer came about.",
        "letter": "These connections are a part of it.",
        "variables": [],
        "effect": None,
    }
    return [
        general,
        {
            "kind": "confounders",
            "grade": "weakens",
            "about": "counterfactual 1",
            "text": f"The effect weakens. Removing {name(1)}-{name(2)} moves {classes[0]}.",
            "letter": "How much this matters depends on other information.",
            "variables": [name(0), name(1)],
            "effect": {
                "unadjusted": -0.315,
                "adjusted": -0.116,
                "low": -0.145,
                "high": -0.087,
                "agreeing": 0.97,
                "draws": 60,
                "grade": "weakens",
            },
        },
    ]
