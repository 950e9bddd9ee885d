"""What removing ties does to a decision: which way it goes is in its probability alone."""

from recourse_audit.records.search import Counterfactual
from recourse_audit.render.text import share

HELD_BACK = "held it back"


def effect(found: Counterfactual, decision: str) -> str:
    """The probability of the decision on the explanation, then without the ties removed."""
    before, after = found.explanation.probabilities[decision], found.probabilities[decision]
    return f"{share(before)} → {share(after)}"


def held_back(found: Counterfactual, decision: str) -> bool:
    """Whether removing the ties makes the decision more probable."""
    return found.probabilities[decision] > found.explanation.probabilities[decision]


def direction(found: Counterfactual, decision: str, which: str) -> str:
    """A sentence where the ties removed did not carry the decision but stood against it."""
    if not found.relevance or not held_back(found, decision):
        return ""
    return (
        f"Removing {which} raises the probability of {decision} ({effect(found, decision)}): they "
        "held the decision back rather than carried it."
    )
