"""Parts of a subject's document as records again, with people called as the page calls them."""

from typing import Any

from recourse_audit.records.caveats import AdjustedEffect
from recourse_audit.records.recourse import (
    Action,
    Certificate,
    Holding,
    Option,
    Permitted,
    Recourse,
    SideEffects,
)
from recourse_audit.records.search import Counterfactual, Explanation, Ranks, Tie
from recourse_audit.render.pages.redaction import Names

Document = dict[str, Any]


def counterfactual_of(found: Document, names: Names) -> Counterfactual:
    """One counterfactual; its ties stay in their order."""
    explanation = found["explanation"]
    return Counterfactual(
        explanation=Explanation(
            nodes=tuple(names.name(node) for node in explanation["nodes"]),
            edges=_ties(explanation["edges"], names),
            simulatability=explanation["simulatability"],
            probabilities=explanation["probabilities"],
        ),
        removed=_ties(found["removed"], names),
        kept=_ties(found["kept"], names),
        simulatability=found["simulatability"],
        relevance=found["relevance"],
        signed_relevance=found["signed_relevance"],
        ranks=Ranks(**found["ranks"]),
        layer=found["layer"],
        dominates=found["dominates"],
        dominates_picks=found["dominates_picks"],
        probabilities=found["probabilities"],
    )


def recourse_of(found: Document, names: Names) -> Recourse:
    """Status, options and certificate."""
    return Recourse(
        status=found["status"],
        certificate=_certificate(found["certificate"], names),
        margin=found["margin"],
        options=tuple(_option(option, names) for option in found["options"]),
        evaluations=found["evaluations"],
        checked_by=found["checked_by"],
        reason=found["reason"],
    )


def effect_of(found: Document | None) -> AdjustedEffect | None:
    """What was measured with confounders drawn anew."""
    return None if found is None else AdjustedEffect(**found)


def _ties(ties: list[list[str]], names: Names) -> tuple[Tie, ...]:
    return tuple(names.tie(tie) for tie in ties)


def _certificate(found: Document, names: Names) -> Certificate:
    permitted = found["permitted"]
    levels: dict[str, int] = {}
    for attribute, count in permitted["set"].items():
        name = names.attribute(attribute)
        levels[name] = levels.get(name, 0) + count
    return Certificate(
        max_changes=found["max_changes"],
        tried=found["tried"],
        possible=found["possible"],
        exhaustive=found["exhaustive"],
        complete_up_to=found["complete_up_to"],
        permitted=Permitted(drop=permitted["drop"], add=permitted["add"], set=levels),
        denied=found["denied"],
        reason=found["reason"],
    )


def _option(found: Document, names: Names) -> Option:
    others = found["others"]
    return Option(
        actions=tuple(action_of(action, names) for action in found["actions"]),
        cost=found["cost"],
        decision=found["decision"],
        probabilities=found["probabilities"],
        margin=found["margin"],
        verified=found["verified"],
        minimal=found["minimal"],
        source=found["source"],
        holds=None if found["holds"] is None else _holding(found["holds"]),
        others=SideEffects(
            measured=others["measured"],
            to_favourable=tuple(map(names.name, others["to_favourable"])),
            to_unfavourable=tuple(map(names.name, others["to_unfavourable"])),
            other=tuple(map(names.name, others["other"])),
        ),
    )


def _holding(found: Document) -> Holding:
    """The shares; counts and intervals follow from them, also in bundles that do not list them."""
    return Holding(draws=found["draws"], ties=found["ties"], attributes=found["attributes"])


def action_of(found: Document, names: Names) -> Action:
    """One change."""
    if found["do"] != "set":
        tie = names.tie(found["tie"])
        return Action(do=found["do"], tie=tie, kind=found["kind"], cost=found["cost"])
    return Action(
        do="set",
        attribute=names.attribute(found["attribute"]),
        before=found["from"],
        after=found["to"],
        unit=found["unit"],
        implied=tuple(
            Action(
                do="set",
                attribute=names.attribute(one["attribute"]),
                before=one["from"],
                after=one["to"],
                unit=one["unit"],
            )
            for one in found["implied"]
        ),
        cost=found["cost"],
    )
