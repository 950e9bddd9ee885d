"""What removing ties does on the whole graph, in words: beside the explanation's own effect.

A counterfactual is a statement about a small subgraph. Where the whole graph says something else,
one sentence says so, with both figures.
"""

from recourse_audit.records.report import SubjectReport
from recourse_audit.records.search import (
    Carriers,
    CarryingSet,
    Counterfactual,
    Explanation,
    WholeGraph,
)
from recourse_audit.render.answers import amount, figure, value_of, watched
from recourse_audit.render.text import number, plain

# Effects on a probability below this say nothing; of a score, below this share of its margin.
NOTHING = 0.01
# One effect is much smaller than another if it is less than this share of it.
MUCH_SMALLER = 0.25
CARRIERS = "The ties that carry the decision on the whole graph"
NOT_ASKED = "not asked"


def whole_effect(report: SubjectReport, found: WholeGraph | CarryingSet) -> str:
    """The value on the whole graph as it is, then without the ties."""
    return f"{figure(report, value_of(report))} → {figure(report, value_of(report, found))}"


def then_decided(found: WholeGraph | CarryingSet) -> str:
    """What the decision becomes, to follow "the decision"."""
    decision = plain(found.decision)
    return f"changes to {decision}" if found.flips else f"stays {decision}"


def disagreement(found: Counterfactual, report: SubjectReport, which: str = "these ties") -> str:
    """One sentence if the explanation and the whole graph disagree; otherwise empty.

    They disagree if removing the ties moves what effects are measured on in opposite directions,
    or less than a quarter as far on one of them, or changes the decision on one of them only.
    """
    whole = found.whole_graph
    if whole is None:
        return ""
    before, after = value_of(report, found.explanation), value_of(report, found)
    inside = after - before
    flips = _flips_inside(found, report)
    verb = _compared(inside, whole.effect, _least(report))
    if not verb:
        if flips is None or flips == whole.flips:
            return ""
        verb = "moves it as well"
    there = ", which changes the decision there" if flips else ""
    return (
        f"Inside the explanation, removing {which} moves {watched(report)} from "
        f"{figure(report, before)} to {figure(report, after)}{there}; on the whole graph it {verb} "
        f"({whole_effect(report, whole)}), and the decision {then_decided(whole)}."
    )


def _compared(inside: float, whole: float, least: float) -> str:
    """What the whole graph does differently, to follow "on the whole graph it"; or nothing."""
    larger = max(abs(inside), abs(whole))
    if larger < least or not larger:
        return ""
    if abs(whole) < MUCH_SMALLER * larger:
        return "hardly moves it" if abs(whole) < least else "moves it far less"
    if abs(inside) < MUCH_SMALLER * larger:
        return "moves it far more"
    return "moves it the other way" if inside * whole < 0 else ""


def _least(report: SubjectReport) -> float:
    """The smallest effect that is worth a sentence."""
    if not report.decision.scored:
        return NOTHING
    return NOTHING * abs(report.decision.margin or 0.0)


def _flips_inside(found: Counterfactual, report: SubjectReport) -> bool | None:
    """Whether the rule decides otherwise without the ties, on the explanation alone.

    None where a copy does not tell the line.
    """
    line = report.decision
    if line.rule == "argmax":
        before, after = (
            max(one.probabilities, key=one.probabilities.__getitem__, default="")
            for one in (found.explanation, found)
        )
        return before != after
    sides = [_reaches(one, report) for one in (found.explanation, found)]
    return None if None in sides else sides[0] != sides[1]


def _reaches(found: Explanation | Counterfactual, report: SubjectReport) -> bool | None:
    line = report.decision
    if line.cut_off is None or found.score is None:
        return None
    return found.score <= line.cut_off if line.better == "lower" else found.score >= line.cut_off


def per_tie(report: SubjectReport, found: CarryingSet) -> str:
    """The effect divided by the number of ties, with its sign."""
    effect = found.effect / found.size
    if report.decision.scored:
        return f"{'+' if effect > 0 else ''}{amount(effect)}"
    return f"{effect:+.3f}"


def carriers_sentence(report: SubjectReport, found: Carriers) -> str:
    """What the front says: that nothing moves the answer, or which tie does and what flips it."""
    about = watched(report)
    if not found.front:
        return (
            "Of the sets of ties that were tried, none moves "
            f"{about} away from the decision on the whole graph."
        )
    best = max(found.front, key=lambda one: abs(one.effect) / one.size)
    most = (
        f"Removing {number(best.size, 'tie')} moves {about} most per tie removed: "
        f"{whole_effect(report, best)}."
    )
    if found.smallest_flip is None:
        return f"{most} No set that was tried changes the decision."
    flip = found.smallest_flip
    if flip == best:
        changed = f"this one does, to {plain(flip.decision)}"
        return f"{most} No smaller set that was tried changes the decision; {changed}."
    return (
        f"{most} The smallest set found that changes the decision (to {plain(flip.decision)}) has "
        f"{number(flip.size, 'tie')}: {whole_effect(report, flip)}."
    )


def carriers_coverage(found: Carriers) -> str:
    """How far the search for these ties went."""
    reach = number(found.ties_in_reach, "tie")
    if found.coverage == "exhaustive":
        total = sum(one.tried for one in found.tried)
        return f"All {total:,} sets of up to {found.max_ties} of the {reach} within reach tried."
    sizes = ", ".join(
        f"{number(one.size, 'tie')}: {one.tried:,} of {one.of:,}" for one in found.tried
    )
    own = [one for one in found.tried if one.size <= 2 and one.own_of]
    every = [str(one.size) for one in own if one.own_tried == one.own_of]
    complete = (
        f" Among them are all sets of {' and '.join(every)} of the subject's own "
        f"{number(found.own_ties, 'tie')}."
        if every
        else ""
    )
    return (
        f"Sets tried, out of all sets of the {reach} within reach: {sizes}. Where not all could be "
        f"tried, the best smaller sets were extended.{complete}"
    )
