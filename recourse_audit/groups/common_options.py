"""Common options: the few kinds of change that together serve most of the people refused.

The kinds of change of an option are what it does, whatever the ties and the amounts: drop a payment
tie, raise savings. Greedily, the option's kinds that serve most of those not yet served are chosen,
by name if several serve as many; whoever has an option with no other kinds than those chosen so far
is served.

Notes
-----
People with the same set of options count together. A choice costs products of (people's sets of
options) x (options) x (options), all of them of kinds, so few.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.records import Change

Kinds = frozenset[tuple[str, str]]
MOST_SHOWN = 50


def options_by_subject(store: sqlite3.Connection) -> dict[int, frozenset[Kinds]]:
    """The kinds of change of every option of every subject."""
    rows = store.execute(
        """SELECT subject, option, do, coalesce(kind, attribute, '') FROM actions
           ORDER BY subject, option"""
    )
    found: dict[int, frozenset[Kinds]] = {}
    for subject, actions in groupby(rows, key=itemgetter(0)):
        options = groupby(actions, key=itemgetter(1))
        found[subject] = frozenset(
            frozenset((do, what) for _, _, do, what in steps) for _, steps in options
        )
    return found


def choose(options: Mapping[int, frozenset[Kinds]]) -> Iterator[tuple[tuple[Change, ...], Mask]]:
    """Choose kinds of change until everybody with an option is served.

    Yields what is chosen and who is served so far, a mask over the subjects in the mapping's order.
    """
    choices = sorted({one for several in options.values() for one in several}, key=sorted)
    kinds = sorted({kind for one in choices for kind in one})
    needs = np.array([[kind in one for kind in kinds] for one in choices], dtype=np.float64)
    patterns = Counter(options.values())
    rows = list(patterns)
    has = np.array([[one in row for one in choices] for row in rows], dtype=np.float64)
    people = np.array([patterns[row] for row in rows])
    pattern_of = {row: place for place, row in enumerate(rows)}
    of_subject = np.array([pattern_of[one] for one in options.values()], dtype=np.int64)
    chosen = np.zeros(len(kinds), dtype=bool)
    served = np.zeros(len(rows), dtype=bool)
    while not served.all():
        place = _best(needs, has, people, chosen, served)
        chosen |= needs[place] > 0
        served = (has @ ((needs @ ~chosen) == 0)) > 0
        changes = tuple(Change(do=do, what=what) for do, what in sorted(choices[place]))
        yield changes, served[of_subject]


def _best(needs: Floats, has: Floats, people: Ints, chosen: Mask, served: Mask) -> int:
    """The choice that serves most of those not served; the first by name of several."""
    allowed = (needs > 0) | chosen
    enough = (needs @ (~allowed).T.astype(np.float64)) == 0
    reached = (has @ enough.astype(np.float64)) > 0
    return int((people * ~served @ reached).argmax())
