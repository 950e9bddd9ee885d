"""Documents of earlier formats, rewritten one format at a time into the one after it.

Each function takes the plain data of a document and leaves it alone; a key that the format did not
have is an error, because such a document was changed.
"""

from typing import Any

Json = dict[str, Any]


def subject_from_2(data: Json) -> Json:
    """A subject's document of format 2 as one of format 3: one rule, no scores, all tried."""
    recourse, explanation = data["recourse"], data["explanation"]
    margin = None if recourse is None else recourse["margin"]
    line = dict.fromkeys(("cut_off", "score", "better", "places", "rank", "recorded"))
    tried = data["what_if"]
    return {
        **data,
        "format": 3,
        "decision": {"rule": "argmax", "margin": margin, **line},
        "explanation": None if explanation is None else _unscored(explanation),
        "counterfactuals": [
            {**_unscored(one), "explanation": _unscored(one["explanation"])}
            for one in data["counterfactuals"]
        ],
        "recourse": None if recourse is None else _recourse_from_2(recourse),
        "what_if": None if tried is None else {**_unscored(tried), "score_before": None},
    }


def _unscored(data: Json) -> Json:
    return {**data, "score": None}


def subject_from_3(data: Json) -> Json:
    """A subject's document of format 3 as one of format 4: no call was repeated."""
    if "repeats" in data:
        raise KeyError("repeats")
    return {**data, "format": 4, "repeats": {"calls": 0, "differed": 0, "largest": 0.0}}


def subject_from_4(data: Json) -> Json:
    """A subject's document of format 4 as one of format 5."""
    before = _without_own_data(_without_comparisons(_without_whole_graph(data)))
    return {**before, "format": 5}


def subject_from_5(data: Json) -> Json:
    """A subject's document of format 5 as one of format 6: caveats keep their grades and words."""
    caveats = [_graded_by_signs(one) for one in data["caveats"]]
    return {**_without_common_actions(data), "format": 6, "caveats": caveats}


def subject_from_6(data: Json) -> Json:
    """A subject's document of format 6 as one of format 7: it did not keep what single ties do."""
    carriers = data["carriers"]
    if carriers is not None:
        if "own" in carriers:
            raise KeyError("own")
        carriers = {**carriers, "own": []}
    return {**data, "format": 7, "carriers": carriers}


def _without_common_actions(data: Json) -> Json:
    """That format tried no actions that are the same for everybody."""
    recourse = data["recourse"]
    if recourse is None:
        return data
    if "common_actions" in recourse:
        raise KeyError("common_actions")
    return {**data, "recourse": {**recourse, "common_actions": []}}


def _graded_by_signs(caveat: Json) -> Json:
    """That format knew three grades, and nothing of effects that are too small to speak of."""
    if caveat["grade"] not in (None, "holds", "weakens", "reverses"):
        raise KeyError("grade")
    effect = caveat["effect"]
    if effect is None:
        return caveat
    new = ("smallest", "negligible", "depends_on_whom")
    if any(key in effect for key in new):
        raise KeyError("effect")
    return {**caveat, "effect": {**effect, **dict.fromkeys(new)}}


def _without_whole_graph(data: Json) -> Json:
    """That format did not ask about counterfactuals on the whole graph, nor for a form."""
    if "carriers" in data or "sender_degree" in data["probes"]:
        raise KeyError("carriers")
    return {
        **data,
        "counterfactuals": [_not_asked(one) for one in data["counterfactuals"]],
        "carriers": None,
        "probes": {"sender_degree": None, **data["probes"]},
    }


def _not_asked(counterfactual: Json) -> Json:
    if "whole_graph" in counterfactual:
        raise KeyError("whole_graph")
    return {**counterfactual, "whole_graph": None}


def _without_own_data(data: Json) -> Json:
    """That format knew nothing of own data."""
    if "own_data" in data:
        raise KeyError("own_data")
    return {**data, "own_data": None}


def _without_comparisons(data: Json) -> Json:
    """That format did not count the answers that were asked again on the whole graph."""
    recourse = data["recourse"]
    if recourse is None:
        return data
    if "compared" in recourse:
        raise KeyError("compared")
    return {**data, "recourse": {**recourse, "compared": {"answers": 0, "largest": 0.0}}}


def _recourse_from_2(data: Json) -> Json:
    """That format counted only what could be tried, and did not say what had been left out."""
    nothing = {"implications": 0, "conditions": 0, "formulas": 0, "why": []}
    return {
        **data,
        "options": [_unscored(one) for one in data["options"]],
        "certificate": {**data["certificate"], "left_out": nothing},
    }


def inspection_from_2(data: Json) -> Json:
    """An inspection of format 2 as one of format 3: one output is known, and nothing besides."""
    output = data["output"]
    listed = {key: output[key] for key in ("name", "dtype", "shape")}
    listed |= {"rows": None, "columns": None, "looks": "", "hops": None, "taken": ""}
    new = dict.fromkeys(("preprocessing", "decision", "agreement"))
    return {**data, "format": 3, "outputs": [listed], **new}


def inspection_from_3(data: Json) -> Json:
    """An inspection of format 3 as one of format 4: no form was probed."""
    probes = data["probes"]
    if probes is not None and "sender_degree" in probes:
        raise KeyError("sender_degree")
    new = None if probes is None else {"sender_degree": None, **probes}
    return {**data, "format": 4, "probes": new}
