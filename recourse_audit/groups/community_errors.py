"""The error of a gap where a column names everybody's community.

People of one community may be alike in unknown ways, people of different ones are taken for
independent: the jackknife over communities (CV3 of MacKinnon, Nielsen and Webb 2023) with Student's
t. It finds more than redrawn labels where communities are what they seem, and is wrong where labels
cross their borders along ties; so it decides alone only where few ties do.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from recourse_audit.groups.arrays import Floats, Ints, Mask, added

FEWEST_COMMUNITIES, FEWEST_ON_A_SIDE = 6, 3
# A column of communities decides alone if no more of the ties than this lead out of them.
MOST_LEAVING = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityError:
    """The p value over communities, and the inflation of the gap's variance that goes with it.

    Both are None where the groups are in too few communities. `leaving` is the share of all ties
    that lead out of a community.
    """

    communities: int
    leaving: float
    p: float | None = None
    inflation: float | None = None

    def decides(self, p: float) -> bool:
        """Whether it counts instead of the p value of redrawn labels."""
        return self.p is not None and (self.leaving <= MOST_LEAVING or self.p > p)


def community_error(
    values: Floats,
    member: Mask,
    community: Ints,
    *,
    independent: float,
    leaving: float,
    alpha: float,
) -> CommunityError:
    """The error of a gap over communities; `independent` is its variance without them."""
    _, place = np.unique(community, return_inverse=True)
    size = 2 * (int(place.max()) + 1)
    at = 2 * place + member
    people = np.bincount(at, minlength=size).reshape(-1, 2)
    total = added(at, values, size).reshape(-1, 2)
    count = len(people)
    if count < FEWEST_COMMUNITIES or (people > 0).sum(axis=0).min() < FEWEST_ON_A_SIDE:
        return CommunityError(communities=count, leaving=leaving)
    means = (total.sum(axis=0) - total) / (people.sum(axis=0) - people)
    without = means[:, 1] - means[:, 0]
    gap = float(np.subtract(*(total.sum(axis=0) / people.sum(axis=0))[::-1]))
    error = jackknife_error(gap, without)
    reach = error * _quantile(alpha, count) / float(ndtri(1 - alpha / 2))
    p = float(2 * stdtr(count - 1, -abs(gap) / error)) if error else float(gap == 0)
    return CommunityError(
        communities=count, leaving=leaving, p=p, inflation=max(reach**2 / independent, 1e-12)
    )


def jackknife_error(value: float, without: Floats) -> float:
    """The standard error of an estimate, from the estimates that leave one community out."""
    count = without.size
    return math.sqrt((count - 1) / count * float(((without - value) ** 2).sum()))


def log_ratio_reach(ratio: float, without: Floats, alpha: float) -> float | None:
    """How far the interval of a ratio reaches on the log scale; None if any is zero or infinite."""
    values = np.append(without, ratio)
    if not (np.isfinite(values).all() and (values > 0).all()):
        return None
    error = jackknife_error(math.log(ratio), np.log(without))
    return error * _quantile(alpha, without.size)


def _quantile(alpha: float, communities: int) -> float:
    """Student's t for a two-sided interval over communities."""
    return float(stdtrit(communities - 1, 1 - alpha / 2))
