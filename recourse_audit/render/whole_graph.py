"""What removing ties does on the whole graph, in words: beside the explanation's own effect.

A counterfactual is a statement about a small subgraph. Where the whole graph says something else,
one sentence says so, with both figures.
"""

from recourse_audit.records.search import (
    Carriers,
    CarryingSet,
    Counterfactual,
    Explanation,
    WholeGraph,
)
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.answers import amount, figure, value_of, watched
from recourse_audit.render.own_data import english_words
from recourse_audit.render.page_words import PageWords
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
    """One sentence if the explanation and the whole graph disagree; otherwise empty."""
    key = comparison(found, report)
    whole = found.whole_graph
    if not key or whole is None:
        return ""
    before, after = value_of(report, found.explanation), value_of(report, found)
    there = ", which changes the decision there" if _flips_inside(found, report) else ""
    return (
        f"Inside the explanation, removing {which} moves {watched(report)} from "
        f"{figure(report, before)} to {figure(report, after)}{there}; on the whole graph it "
        f"{_VERBS[key]} ({whole_effect(report, whole)}), and the decision {then_decided(whole)}."
    )


_VERBS = {
    "hardly": "hardly moves it",
    "less": "moves it far less",
    "more": "moves it far more",
    "opposite": "moves it the other way",
    "decision": "moves it as well",
}


def comparison(found: Counterfactual, report: SubjectReport) -> str:
    """How the whole graph disagrees with the explanation: the key of a word, or nothing.

    They disagree if removing the ties moves what effects are measured on in opposite directions,
    or less than a quarter as far on one of them, or changes the decision on one of them only.
    """
    whole = found.whole_graph
    if whole is None:
        return ""
    inside = value_of(report, found) - value_of(report, found.explanation)
    key = _compared(inside, whole.effect, _least(report))
    flips = _flips_inside(found, report)
    return key or ("decision" if flips is not None and flips != whole.flips else "")


def _compared(inside: float, whole: float, least: float) -> str:
    """How far the whole graph moves, compared with the explanation: a key, or nothing."""
    larger = max(abs(inside), abs(whole))
    if larger < least or not larger:
        return ""
    if abs(whole) < MUCH_SMALLER * larger:
        return "hardly" if abs(whole) < least else "less"
    if abs(inside) < MUCH_SMALLER * larger:
        return "more"
    return "opposite" if inside * whole < 0 else ""


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


def carriers_coverage(found: Carriers, words: PageWords | None = None) -> str:
    """How far the search for these ties went."""
    words = words or english_words()
    reach = words.say_count("subject.ties", found.ties_in_reach)
    if found.coverage == "exhaustive":
        total = sum(one.tried for one in found.tried)
        return words.say(
            "subject.sets.all",
            total=words.number(total),
            most=words.number(found.max_ties),
            reach=reach,
        )
    sizes = "; ".join(
        words.say_count("subject.sets.size", one.size, tried=words.out_of(one.tried, one.of))
        for one in found.tried
    )
    said = words.say("subject.sets.some", reach=reach, sizes=sizes)
    own = [one for one in found.tried if one.size <= 2 and one.own_of]
    every = [words.number(one.size) for one in own if one.own_tried == one.own_of]
    if not every:
        return said
    complete = words.say_count("subject.sets.own", found.own_ties, sizes=words.listed(every))
    return f"{said} {complete}"
