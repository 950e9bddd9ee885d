"""Score intervals of two shares: of their difference and of their ratio.

The shares are of numbers of people that need not be whole: of people who are tied, fewer count.
Both intervals and the test of no difference use the variance that a difference, or ratio, would
have if it were true, so that none contradicts another (Miettinen and Nurminen 1985, without their
factor N/(N-1); Farrington and Manning 1990 give the shares in closed form).

Notes
-----
statsmodels has such intervals too, but fails where a share is 0 or 1 or both are equal; and those
of differences are not quite the ones that follow from the likelihood, which the tests maximise.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from scipy.special import ndtri

from recourse_audit.records.group_figures import Interval

LARGEST_RATIO = 1e12


class Shares(NamedTuple):
    """The share of a group and that of the reference, and of how many people each is."""

    group: float
    reference: float
    people: float
    reference_people: float


def difference_interval(shares: Shares, alpha: float) -> Interval:
    """The differences, group minus reference, that are not rejected at a level."""
    gap, reach = shares.group - shares.reference, float(ndtri(1 - alpha / 2))
    return Interval(
        low=_end(lambda at: _difference_score(shares, at) - reach, -1.0, gap),
        high=_end(lambda at: _difference_score(shares, at) + reach, gap, 1.0),
    )


def ratio_interval(shares: Shares, alpha: float) -> Interval | None:
    """The ratios of the group's share to the reference's that are not rejected at a level.

    None where the reference's share is zero, or the highest ratio has no end.
    """
    if not shares.reference:
        return None
    ratio, reach = shares.group / shares.reference, float(ndtri(1 - alpha / 2))
    top = math.log(LARGEST_RATIO)
    middle = math.log(ratio) if ratio else -top
    if _ratio_score(shares, LARGEST_RATIO) > -reach:
        return None
    high = _end(lambda at: _ratio_score(shares, math.exp(at)) + reach, middle, top)
    low = _end(lambda at: _ratio_score(shares, math.exp(at)) - reach, -top, middle)
    return Interval(low=math.exp(low) if ratio else 0.0, high=math.exp(high))


def _end(beyond: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function is zero; an end, if it is not zero in between."""
    from scipy.optimize import brentq

    if beyond(low) <= 0:
        return low
    if beyond(high) >= 0:
        return high
    return float(brentq(beyond, low, high, xtol=1e-10))


def _difference_score(shares: Shares, difference: float) -> float:
    """How many standard errors the gap is above a difference, if that is the true one."""
    more = shares.reference_people / shares.people
    p1, p0, d = shares.group, shares.reference, difference
    cubed, squared = 1 + more, -(1 + more + p1 + more * p0 + d * (more + 2))
    linear = d * d + d * (2 * p1 + more + 1) + p1 + more * p0
    constant = -p1 * d * (1 + d)
    third = squared / (3 * cubed)
    v = third**3 - squared * linear / (6 * cubed**2) + constant / (2 * cubed)
    u = math.copysign(math.sqrt(max(0.0, third**2 - linear / (3 * cubed))), v)
    turn = math.acos(min(1.0, max(-1.0, v / u**3))) if u else 0.0
    group = 2 * u * math.cos((math.pi + turn) / 3) - third
    return _score(p1 - p0 - d, shares, group, group - d, 1.0)


def _ratio_score(shares: Shares, ratio: float) -> float:
    """How many standard errors the group's share is above a ratio of the reference's."""
    more = shares.reference_people / shares.people
    p1, p0 = shares.group, shares.reference
    squared, linear = 1 + more, -(ratio * (1 + more * p0) + more + p1)
    constant = ratio * (p1 + more * p0)
    root = math.sqrt(max(0.0, linear**2 - 4 * squared * constant))
    # The smaller root, written so that nothing cancels out.
    group = 2 * constant / (root - linear)
    return _score(p1 - ratio * p0, shares, group, group / ratio, ratio)


def _score(gap: float, shares: Shares, group: float, reference: float, weight: float) -> float:
    group, reference = min(1.0, max(0.0, group)), min(1.0, max(0.0, reference))
    variance = group * (1 - group) / shares.people
    variance += weight**2 * reference * (1 - reference) / shares.reference_people
    if variance <= 0 or abs(gap) < 1e-15:
        return math.copysign(math.inf, gap) if abs(gap) > 1e-12 else 0.0
    return gap / math.sqrt(variance)
