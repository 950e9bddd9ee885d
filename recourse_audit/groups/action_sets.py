"""The smallest set of actions that together serve so many people.

People who are served by the same actions are alike, so a set is sought over their patterns. An
integer program finds the smallest set and, among sets of that size, one that serves most. Where
there are too many patterns, or no answer within the limit, actions are taken one by one, always the
one that serves most of those left. Such a set is at most 1 + ln(m) times as large as the smallest,
where m is the number of people whom the best single action serves (Wolsey 1982).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack, identity, vstack

from recourse_audit.groups.arrays import Ints, Mask

MOST_PATTERNS = 2_000
# A number of nodes, not a time, so that the result is the same on every machine.
MOST_NODES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSet:
    """Places of actions, ascending; `exact` if no smaller set serves as many as wanted."""

    actions: tuple[int, ...]
    exact: bool


def smallest_set(serves: Mask, wanted: int) -> ChosenSet | None:
    """The smallest set of columns with somebody in `wanted` rows; None if all are not enough."""
    if wanted <= 0 or int(serves.any(axis=1).sum()) < wanted:
        return None
    patterns, people = np.unique(serves[serves.any(axis=1)], axis=0, return_counts=True)
    found = _smallest(patterns, people, wanted) if len(patterns) <= MOST_PATTERNS else None
    if found is not None:
        return ChosenSet(actions=found, exact=True)
    return ChosenSet(actions=greedy_set(patterns, people, wanted), exact=False)


def greedy_set(patterns: Mask, people: Ints, wanted: int) -> tuple[int, ...]:
    """Take the action that serves most of those left until as many as wanted are served."""
    left = np.ones(len(patterns), dtype=bool)
    chosen: list[int] = []
    while int(people[~left].sum()) < wanted:
        best = int(np.argmax(people * left @ patterns))
        chosen.append(best)
        left &= ~patterns[:, best]
    return tuple(sorted(chosen))


def _smallest(patterns: Mask, people: Ints, wanted: int) -> tuple[int, ...] | None:
    """The same exactly: fewest actions first, then most people; None if it takes too long.

    Unknown are whether each action is taken, and the share of each pattern that is served.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    count, actions = patterns.shape
    served = hstack([-csr_array(patterns.astype(float)), identity(count)])
    number = csr_array(np.concatenate([np.zeros(actions), people.astype(float)])[np.newaxis])
    cost = np.concatenate([np.full(actions, float(people.sum() + 1)), -people.astype(float)])
    found = milp(
        cost,
        constraints=LinearConstraint(
            vstack([served, number], format="csr"),
            np.append(np.full(count, -np.inf), float(wanted)),
            np.append(np.zeros(count), np.inf),
        ),
        integrality=np.concatenate([np.ones(actions), np.zeros(count)]),
        bounds=Bounds(0, 1),
        options={"node_limit": MOST_NODES, "mip_rel_gap": 0.0},
    )
    if found.status != 0:
        return None
    taken: list[int] = np.flatnonzero(found.x[:actions] > 0.5).tolist()
    return tuple(taken)
