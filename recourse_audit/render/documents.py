"""Records as JSON documents, under the names that other programs rely on."""

from dataclasses import asdict
from typing import Any

from recourse_audit.model.signature import Signature
from recourse_audit.records import Explanation, ProbeReport, SearchResult, SubjectReport

FORMAT = 1


def subject_document(report: SubjectReport) -> dict[str, Any]:
    """What `explain --json` prints for one subject."""
    document: dict[str, Any] = {"format": FORMAT, "subject": asdict(report.decision)}
    if report.search is not None:
        document |= _search(report.search)
    document["caveats"] = [asdict(caveat) for caveat in report.caveats]
    if report.note:
        document["note"] = report.note
    if report.error:
        document["error"] = report.error
    return document


def _search(search: SearchResult) -> dict[str, Any]:
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
    best = search.counterfactuals[0].explanation if search.counterfactuals else None
    return {
        "search": facts,
        "explanation": None if best is None else _explanation(best),
        "counterfactuals": [
            {**asdict(found), "explanation": _explanation(found.explanation)}
            for found in search.counterfactuals
        ],
        "front": [asdict(pair) for pair in search.front],
        "front_size": search.front_size,
        "picks": {name: asdict(pair) for name, pair in search.picks.items()},
    }


def _explanation(explanation: Explanation) -> dict[str, Any]:
    return asdict(explanation)


def model_document(
    signature: Signature, probes: ProbeReport | None, sha256: str, problem: str = ""
) -> dict[str, Any]:
    """What `inspect --json` prints."""
    output = signature.output
    document: dict[str, Any] = {
        "format": FORMAT,
        "sha256": sha256,
        "inputs": [
            {
                "name": port.name,
                "dtype": port.dtype,
                "shape": list(port.shape),
                "role": port.role,
                "why": port.why,
            }
            for port in signature.inputs
        ],
        "output": {
            "name": output.name,
            "dtype": output.dtype,
            "shape": list(output.shape),
            "kind": output.kind,
            "classes": output.classes,
            "why": output.why,
        },
    }
    if probes is not None:
        document["probes"] = {
            "deterministic": probes.deterministic,
            "node_order": probes.node_order,
            "tie_order": probes.tie_order,
            "ties_matter": probes.ties_matter,
            "packing": probes.packing,
            "depth": probes.depth,
        }
        document["notes"] = probes.sentences
    if problem:
        document["problem"] = problem
    return document
