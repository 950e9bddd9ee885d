"""The flat facts of one subject, read from its document: the columns of tables and the store."""

from collections.abc import Sequence
from typing import Any

Value = str | int | float | bool | None
Kind = type[str] | type[int] | type[float] | type[bool]

FACTS: dict[str, Kind] = {
    "id": str,
    "decision": str,
    "favourable": bool,
    "status": str,
    "error": str,
    "note": str,
    "margin": float,
    "coverage": str,
    "subgraphs": int,
    "pairs": int,
    "queries": int,
    "explanation_nodes": int,
    "removed_ties": int,
    "simulatability": float,
    "relevance": float,
    "signed_relevance": float,
    "caveat_grade": str,
    "options": int,
    "cheapest_cost": float,
    "cheapest_changes": int,
    "tried": int,
    "possible": int,
    "exhaustive": bool,
    "evaluations": int,
}
STATUSES = (
    "already_favourable",
    "verified",
    "certified_infeasible",
    "not_found_within_budget",
    "error",
)
WINNER = "counterfactual 1"


def facts_of(document: dict[str, Any]) -> dict[str, Value]:
    """One value for each of `FACTS`; None where there is none.

    The status is that of the recourse, or `error` if anything at all went wrong for the subject.
    """
    subject, search = document["subject"], document["search"] or {}
    recourse = document["recourse"] or {}
    certificate, options = recourse.get("certificate") or {}, recourse.get("options") or []
    winner = document["counterfactuals"][0] if document["counterfactuals"] else {}
    wrong = document.get("error", "")
    status = "error" if wrong else recourse.get("status", "error")
    if status == "error":
        wrong = wrong or recourse.get("reason", "")
    cheapest = options[0] if options else {}
    return {
        "id": subject["id"],
        "decision": subject["decision"],
        "favourable": subject["favourable"],
        "status": status,
        "error": wrong,
        "note": document.get("note", ""),
        "margin": recourse.get("margin"),
        "coverage": search.get("coverage"),
        "subgraphs": search.get("subgraphs"),
        "pairs": search.get("pairs"),
        "queries": search.get("queries"),
        "explanation_nodes": len(winner["explanation"]["nodes"]) if winner else None,
        "removed_ties": len(winner["removed"]) if winner else None,
        "simulatability": winner.get("simulatability"),
        "relevance": winner.get("relevance"),
        "signed_relevance": winner.get("signed_relevance"),
        "caveat_grade": _grade(document["caveats"]),
        "options": len(options),
        "cheapest_cost": cheapest.get("cost"),
        "cheapest_changes": len(cheapest["actions"]) if cheapest else None,
        "tried": certificate.get("tried"),
        "possible": certificate.get("possible"),
        "exhaustive": certificate.get("exhaustive"),
        "evaluations": recourse.get("evaluations"),
    }


def _grade(caveats: Sequence[dict[str, Any]]) -> str | None:
    """The grade of what confounds the winner; None if nothing does, or nothing was measured."""
    return next((one["grade"] for one in caveats if one["about"] == WINNER), None)
