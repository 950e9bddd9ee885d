"""Answers, the rule's line and margins in words: probabilities by class, or scores in their units.

A score model has no probabilities. What is said of the probability of the decision is then said of
the score, and the rule that turns the one or the other into a decision is said beside it.
"""

from recourse_audit.records.model import RuleReport
from recourse_audit.records.recourse import Option, WhatIf
from recourse_audit.records.search import CarryingSet, Counterfactual, Explanation, WholeGraph
from recourse_audit.records.subject import DecisionLine, SubjectReport
from recourse_audit.render.text import plain, share

Answered = Explanation | Counterfactual | WholeGraph | CarryingSet | Option | WhatIf


def amount(value: float) -> str:
    """A score: whole above a thousand, otherwise with as many decimals as matter."""
    size = abs(value)
    decimals = 0 if size >= 1000 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{decimals}f}"


def watched(report: SubjectReport) -> str:
    """What effects on the decision are measured on."""
    if report.decision.scored:
        return "the score"
    return f"the probability of {plain(report.subject.decision)}"


def value_of(report: SubjectReport, found: Answered | None = None) -> float:
    """That value on some graph; on the whole graph as it is, if none is given."""
    if report.decision.scored:
        score = report.decision.score if found is None else found.score
        return 0.0 if score is None else score
    answered = report.subject if found is None else found
    return answered.probabilities.get(report.subject.decision, 0.0)


def figure(report: SubjectReport, value: float) -> str:
    """A value in its own units."""
    return amount(value) if report.decision.scored else share(value)


def margin_words(line: DecisionLine, margin: float) -> str:
    """How far from the line, with a sign: above zero is favourable."""
    return f"{'+' if margin >= 0 else ''}{amount(margin)}" if line.scored else f"{margin:+.3f}"


def effect(found: Counterfactual, report: SubjectReport) -> str:
    """The value on the explanation, then without the ties removed."""
    before, after = value_of(report, found.explanation), value_of(report, found)
    return f"{figure(report, before)} → {figure(report, after)}"


def held_back(found: Counterfactual, report: SubjectReport) -> bool:
    """Whether removing the ties speaks more clearly for the decision that was taken.

    The sign of the relevance does not tell: only the answers do.
    """
    rise = value_of(report, found) - value_of(report, found.explanation)
    if report.decision.scored and report.subject.favourable == (report.decision.better == "lower"):
        rise = -rise
    return rise > 0


def direction(found: Counterfactual, report: SubjectReport, which: str) -> str:
    """A sentence for ties that stood against the decision; empty for all others."""
    if not found.relevance or not held_back(found, report):
        return ""
    moves = f"raises {watched(report)}"
    if report.decision.scored:
        moves = f"moves the score further towards {plain(report.subject.decision)}"
    return (
        f"Removing {which} {moves} ({effect(found, report)}): the decision does not rest on them; "
        "they held it back."
    )


def decided_words(report: SubjectReport) -> str:
    """The answer behind the decision, to follow its name; empty if there is none."""
    line = report.decision
    if not report.subject.decision:
        return ""
    if line.scored:
        return "" if line.score is None else f" with a score of {amount(line.score)}"
    return f" with probability {share(value_of(report))}"


def outcome_words(report: SubjectReport, option: Option) -> str:
    """What an option makes of the answer: that of the class it leads to, or the score."""
    if report.decision.scored:
        after = value_of(report, option)
        return f"{figure(report, value_of(report))} → {figure(report, after)}"
    before = report.subject.probabilities.get(option.decision, 0.0)
    return f"{share(before)} → {share(option.probabilities[option.decision])}"


def rule_sentence(line: DecisionLine) -> str:
    """The rule and where the person stands; empty where the likeliest class is decided."""
    if line.rule == "argmax":
        return ""
    unit = "score" if line.scored else "probability of the favourable classes"
    shown = "" if line.score is None else _number(line, line.score)
    if line.rule == "quota":
        return _quota_sentence(line, unit, shown)
    if line.cut_off is None:
        return ""
    at = _number(line, line.cut_off)
    rule = f"Favourable if the favourable classes have a probability of at least {at}."
    if line.scored:
        bound = f"up to a score of {at}" if line.better == "lower" else f"from a score of {at} on"
        rule = f"Favourable {bound}."
    if not shown or line.margin is None:
        return rule
    if line.scored:
        return f"{rule} This person {_apart(line)}."
    return f"{rule} This person has {shown} and {_apart(line)}."


def decision_sentence(found: RuleReport) -> str:
    """The rule over everybody, and how many it lets in."""
    unit = "score" if found.better else "probability of the favourable classes"
    how = {
        "argmax": "The class with the highest probability is decided",
        "quota": f"The {found.places or 0:,} with the best {unit} get a favourable decision",
    }.get(found.rule)
    if how is None:
        until = "up to" if found.better == "lower" else "at least"
        lines = (
            f"{line:g}{f' ({plain(value)})' if value else ''}"
            for value, line in found.cut_offs.items()
        )
        how = f"Favourable if the {unit} is {until} {', '.join(lines)}"
    none = f", {found.undecided:,} without an answer" if found.undecided else ""
    return f"{how}: {found.favourable:,} favourable, {found.refused:,} refused{none}."


def _quota_sentence(line: DecisionLine, unit: str, shown: str) -> str:
    rule = f"The {line.places or 0:,} with the best {unit} get a favourable decision."
    if not shown or line.rank is None:
        return rule
    ranks = f"{rule} This person has {shown} and ranks {line.rank:,}"
    if line.cut_off is None or line.margin is None:
        return f"{ranks}."
    last = "the best of those left out" if line.margin >= 0 else "the last of those let in"
    return f"{ranks}; {last} has {_number(line, line.cut_off)}."


def _apart(line: DecisionLine) -> str:
    margin = line.margin or 0.0
    words = _number(line, abs(margin))
    if margin >= 0:
        return f"clears the line by {words}"
    return f"is {words} {'above it' if line.better == 'lower' else 'short of it'}"


def _number(line: DecisionLine, value: float) -> str:
    return amount(value) if line.scored else share(value)
