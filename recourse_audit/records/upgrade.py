"""Documents of the last format, rewritten as those of the current one."""

from typing import Any

Json = dict[str, Any]


def subject_from_1(data: Json) -> Json:
    """A subject's document of format 1 as one of format 2: new names, every key there."""
    search, recourse, grid = data["search"], data["recourse"], data["cloud"]
    return {
        "format": 2,
        "subject": data["subject"],
        "search": None if search is None else {"sample": None, **search},
        "explanation": data["explanation"],
        "counterfactuals": [_counterfactual(one) for one in data["counterfactuals"]],
        "front": data["front"],
        "front_size": data["front_size"],
        "baselines": data["picks"],
        "objective_grid": grid,
        "ego_network": None if data["surroundings"] is None else _ego_network(data["surroundings"]),
        "recourse": None if recourse is None else _recourse(recourse),
        "caveats": [_caveat(one) for one in data["caveats"]],
        "probes": {**data["probes"], "notes": data["notes"]},
        "what_if": data.get("what_if"),
        "queries": (search or {}).get("queries", 0) + (recourse or {}).get("evaluations", 0),
        "note": data.get("note", ""),
        "error": data.get("error", ""),
    }


def _ego_network(data: Json) -> Json:
    """That format listed a kind of tie between two people once, however many there were."""
    return {**data, "ties": [{**tie, "count": 1} for tie in data["ties"]]}


def _counterfactual(data: Json) -> Json:
    return _renamed(data, dominates_picks="dominates_baselines")


def _recourse(data: Json) -> Json:
    checked_by = data["checked_by"] or None
    rest = {key: value for key, value in data.items() if key != "checked_by"}
    options = [_option(one, checked_by) for one in data["options"]]
    return {**rest, "options": options, "evaluated_on": checked_by}


def _option(data: Json, checked_by: str | None) -> Json:
    held = data["holds"]
    return {
        **_renamed(data, others="side_effects", holds="robustness"),
        "verified_on": checked_by,
        "robustness": None if held is None else _robustness(held),
    }


def _robustness(data: Json) -> Json:
    def survival(what: str) -> Json:
        low, high = data[f"{what}_interval"]
        return {"count": data[f"{what}_count"], "share": data[what], "low": low, "high": high}

    return {
        "draws": data["draws"],
        "ties": survival("ties"),
        "attributes": survival("attributes"),
    }


def _caveat(data: Json) -> Json:
    kind, _, number = data["about"].partition(" ")
    return {**data, "counterfactual": int(number) if kind == "counterfactual" else None}


def _renamed(data: Json, **names: str) -> Json:
    return {names.get(key, key): value for key, value in data.items()}
