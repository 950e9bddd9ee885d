"""What was found about one subject as plain data, under the names that other programs rely on.

Printed by `explain --json`, and kept in the store of an audit of many.
"""

from dataclasses import asdict, replace
from typing import Any

from recourse_audit.records.probes import ProbeReport
from recourse_audit.records.recourse import Action, Option, Recourse
from recourse_audit.records.report import SubjectReport
from recourse_audit.records.search import Cloud, SearchResult

FORMAT = 1


def subject_document(report: SubjectReport, probes: ProbeReport) -> dict[str, Any]:
    """What `explain --json` prints for one subject; the same names whatever was found."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "subject": asdict(report.decision),
        **_found(report.search),
        "surroundings": None if report.surroundings is None else asdict(report.surroundings),
        "recourse": None if report.recourse is None else _recourse(report.recourse),
        "caveats": [asdict(caveat) for caveat in report.caveats],
        "probes": probes_document(probes),
        "notes": probes.sentences,
    }
    if report.what_if is not None:
        actions = [action_document(action) for action in report.what_if.actions]
        document["what_if"] = asdict(report.what_if) | {"actions": actions}
    if report.note:
        document["note"] = report.note
    if report.error:
        document["error"] = report.error
    return document


def _found(search: SearchResult | None) -> dict[str, Any]:
    found = () if search is None else search.counterfactuals
    return {
        "search": None if search is None else _extent(search),
        "explanation": asdict(found[0].explanation) if found else None,
        "counterfactuals": [asdict(one) for one in found],
        "front": [] if search is None else [asdict(pair) for pair in search.front],
        "front_size": 0 if search is None else search.front_size,
        "picks": {} if search is None else {n: asdict(pair) for n, pair in search.picks.items()},
        "cloud": None if search is None or search.cloud is None else _cloud(search.cloud),
    }


def _cloud(cloud: Cloud) -> dict[str, Any]:
    return {
        "simulatability": cloud.simulatability,
        "relevance": cloud.relevance,
        "columns": cloud.columns,
        "rows": cloud.rows,
        "counts": list(zip(cloud.cells, cloud.pairs, strict=True)),
    }


def _extent(search: SearchResult) -> dict[str, Any]:
    coverage = search.coverage
    facts: dict[str, Any] = {
        "max_nodes": search.max_nodes,
        "max_hops": search.max_hops,
        "subgraphs": search.subgraphs,
        "pairs": search.pairs,
        "coverage": coverage.kind,
        "queries": search.queries,
    }
    if coverage.kind == "sampled":
        facts["sample"] = {
            "drawn": coverage.drawn,
            "of": coverage.total,
            "of_is_estimate": coverage.total_is_estimate,
            "bound": coverage.bound,
            "confidence": coverage.confidence,
        }
    return facts


def _recourse(recourse: Recourse) -> dict[str, Any]:
    document = asdict(replace(recourse, options=(), droppable=()))
    document["options"] = [_option(option) for option in recourse.options]
    document["droppable"] = [{"tie": one.tie, "kind": one.kind} for one in recourse.droppable]
    return document


def _option(option: Option) -> dict[str, Any]:
    document = asdict(option)
    document["actions"] = [action_document(action) for action in option.actions]
    if option.holds is not None:
        document["holds"] |= {
            "ties_count": option.holds.ties_count,
            "ties_interval": option.holds.ties_interval,
            "attributes_count": option.holds.attributes_count,
            "attributes_interval": option.holds.attributes_interval,
        }
    return document


def action_document(action: Action) -> dict[str, Any]:
    """One change: a tie by its ends and kind, or an attribute by its values."""
    if action.do == "set":
        return {
            "do": "set",
            "attribute": action.attribute,
            "from": action.before,
            "to": action.after,
            "unit": action.unit,
            "implied": [
                {"attribute": one.attribute, "from": one.before, "to": one.after, "unit": one.unit}
                for one in action.implied
            ],
            "cost": action.cost,
        }
    return {"do": action.do, "tie": action.tie, "kind": action.kind, "cost": action.cost}


def probes_document(probes: ProbeReport) -> dict[str, Any]:
    """What may be relied on in a model; true is good."""
    return {
        "deterministic": probes.deterministic,
        "node_order": probes.node_order,
        "tie_order": probes.tie_order,
        "ties_matter": probes.ties_matter,
        "packing": probes.packing,
        "depth": probes.depth,
    }
