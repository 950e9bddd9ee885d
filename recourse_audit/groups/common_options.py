"""Common options: the few kinds of change that together serve most of the people refused.

The kinds of change of an option are what it does, whatever the ties and amounts: drop a payment
tie, set savings. At each step the option that serves most of the people not yet served is added,
the first by name if several serve equally many. Somebody is served if they have an option that
needs only kinds of change added so far.

Notes
-----
People with the same set of options are handled together, and options differ only in their kinds of
change; so each step costs two products of small matrices.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.records.groups import Change, Do

Kinds = frozenset[tuple[Do, str]]
MOST_SHOWN = 50


def options_by_subject(store: sqlite3.Connection) -> dict[int, frozenset[Kinds]]:
    """The kinds of change of each option, by subject."""
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
    """Choose options until everybody with an option is served.

    Yields the kinds of change of each choice, and who is served so far: a mask over the subjects in
    the order of the mapping.
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
    """The option that serves most of those not served; the first by name if several do."""
    allowed = (needs > 0) | chosen
    enough = (needs @ (~allowed).T.astype(np.float64)) == 0
    reached = (has @ enough.astype(np.float64)) > 0
    return int((people * ~served @ reached).argmax())
