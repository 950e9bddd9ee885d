"""Whether an effect holds when its confounders are redrawn, by the mean over draws.

Vocabulary
----------
move      what a removal does to the probability of the decision, or to the score.
smallest  a move below this is no effect to speak of; at least what the model resolves.
interval  that of the mean move at 95 %, turned so that the move as it is points upwards.

Only the mean decides, and only where its whole interval is on one side of a line. So a grade is
about the population and not about the draws: more draws would settle more effects, and change no
settled grade but by the chance that every interval has. The share of draws that go the same way is
beside it, and says whether the mean speaks for most of them.
"""

from math import sqrt

import numpy as np
from scipy.special import ndtri

from recourse_audit.graph.arrays import Floats
from recourse_audit.records.caveats import AdjustedEffect, Grade
from recourse_audit.search.results import shown

CONFIDENCE = 0.95
# Share of the move as it is that the mean must keep in order to hold.
KEPT = 0.5
# Share of draws that must do as the grade says, or it depends on whom.
MOST = 0.9
# An effect in which as many draws keep the direction does not reverse, whatever the mean.
HALF = 0.5


def adjusted_effect(
    unadjusted: float, drawn: Floats, *, smallest: float, resolved: float = 0.0
) -> AdjustedEffect:
    """The mean of the moves that were drawn, with its interval and its grade.

    Moves that the model does not resolve are zero in `unadjusted` and `drawn`. Where `resolved`
    exceeds `smallest`, it takes its place, and nobody can say that there is no effect.
    """
    line = max(smallest, resolved)
    mean, error = float(drawn.mean()), float(drawn.std(ddof=1)) / sqrt(len(drawn))
    width = float(ndtri(0.5 + CONFIDENCE / 2)) * error
    turned = np.sign(unadjusted) * drawn
    agreeing = float(np.mean(turned > line))
    negligible = float(np.mean(np.abs(drawn) <= line))
    found = grade(unadjusted, (mean - width, mean + width), agreeing, line)
    if found == "no_effect" and resolved > smallest:
        found = "not_settled"
    as_graded = {"no_effect": negligible, "reverses": float(np.mean(turned < -line))}
    return AdjustedEffect(
        unadjusted=shown(unadjusted),
        adjusted=shown(mean),
        low=shown(mean - width),
        high=shown(mean + width),
        smallest=shown(line),
        agreeing=agreeing,
        negligible=negligible,
        depends_on_whom=as_graded.get(found, agreeing) < MOST,
        draws=len(drawn),
        grade=found,
    )


def grade(
    unadjusted: float, interval: tuple[float, float], agreeing: float, smallest: float
) -> Grade:
    """What becomes of a move when its confounders are redrawn, by the interval of the mean.

    *No effect*: less than `smallest` either way. *Holds*: the same way, by at least `smallest` and
    half of the move as it is. *Weakens*: the same way, by at least `smallest` but less than half.
    *Reverses*: the opposite way, by at least `smallest`, and fewer than half of the draws keep the
    direction. *Not settled*: the interval has more than one of these in it.

    A move below `smallest` as it is cannot weaken, and does not reverse: it was none to speak of.
    It can hold. One of zero has no direction, and can only be no effect or not settled.
    """
    sign = float(np.sign(unadjusted))
    low, high = sorted(sign * end for end in interval) if sign else interval
    size = abs(unadjusted)
    if -smallest < low and high < smallest:
        return "no_effect"
    if sign and low >= max(smallest, KEPT * size):
        return "holds"
    if low >= smallest and high < KEPT * size:
        return "weakens"
    if size >= smallest and high <= -smallest and agreeing < HALF:
        return "reverses"
    return "not_settled"
