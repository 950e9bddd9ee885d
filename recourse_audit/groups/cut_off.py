"""What the options ask for: whom dropped ties lead to, and the kinds of change that serve most.

Both sides count pairs of people once per subject, however many parallel ties a pair has, of
whatever kind and direction: to drop one tie or all three ties to somebody is to be advised against
the same person once.
"""

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

import numpy as np

from recourse_audit.groups.inference import FEWEST_COMMUNITIES, log_ratio_reach
from recourse_audit.groups.population import VERIFIED, Attribute, Population
from recourse_audit.groups.redraws import Floats, Ints, Mask
from recourse_audit.groups.tables import Design, has_few
from recourse_audit.records.group_figures import Interval
from recourse_audit.records.groups import Change, CutOff, CutOffTable, Do
from recourse_audit.settings import GroupSettings

Which = Literal["first", "all"]
PAIR = "subject, min(source, target), max(source, target)"
DROPPED: dict[Which, str] = {
    "first": f"SELECT DISTINCT {PAIR} FROM actions WHERE do = 'drop' AND option = 0",  # noqa: S608
    "all": f"SELECT DISTINCT {PAIR} FROM actions WHERE do = 'drop'",  # noqa: S608
}
PARTS = 16
DROPPABLE = f"SELECT DISTINCT {PAIR} FROM droppable"  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """The people whom ties lead to, and the subject whose ties they are."""

    subject: Ints
    person: Ints


def cut_off(
    store: sqlite3.Connection, population: Population, settings: GroupSettings, design: Design
) -> Iterator[CutOffTable]:
    """By attribute whom first options drop ties to, and whom any option does.

    A tie leads to the end that is not the subject, or to both ends if neither is. Droppable are
    the ties that the policy would let the same people drop: everybody with an option. Pairs of
    people count once among the dropped and once among the droppable, so that their shares can be
    compared. A table passes as those of people do, with ties in its cells.
    """
    audited = population.audited
    advised = audited.person[audited.status == VERIFIED]
    droppable = _ends(store, DROPPABLE, advised)
    dropped = {which: _ends(store, query, advised) for which, query in DROPPED.items()}
    for grouping in design.single:
        [attribute] = grouping.attributes
        first, every, could = (
            _counts(attribute, ends) for ends in (dropped["first"], dropped["all"], droppable)
        )
        shown: list[Which] = []
        if not has_few(np.stack([first, could - first]), settings.smallest).any():
            shown.append("first")
            cells = np.stack([every, every - first, could - every])
            if not has_few(cells, settings.smallest).any():
                shown.append("all")
        if len(shown) < len(dropped):
            design.leave_out(grouping, "ties")
        for which in shown:
            yield _table(
                population, settings, attribute, which, (dropped[which], droppable), advised
            )


def _ends(store: sqlite3.Connection, query: str, advised: Ints) -> _Ends:
    rows = np.array(list(store.execute(query)), np.int64).reshape(-1, 3)
    rows = rows[np.isin(rows[:, 0], advised)]
    subject = np.concatenate([rows[:, 0], rows[:, 0]])
    person = np.concatenate([rows[:, 1], rows[:, 2]])
    leads = subject != person
    return _Ends(subject=subject[leads], person=person[leads])


def _table(
    population: Population,
    settings: GroupSettings,
    attribute: Attribute,
    which: Which,
    ends: tuple[_Ends, _Ends],
    advised: Ints,
) -> CutOffTable:
    dropped, droppable = ends
    few = advised.size < settings.smallest
    nothing: Literal["few_people", "no_tie_dropped"] | None = "few_people" if few else None
    if not few and not dropped.subject.size:
        nothing = "no_tie_dropped"
    rows: list[CutOff] = []
    if nothing is None:
        counts = [_counts(attribute, one) for one in ends]
        for place, name in enumerate(attribute.groups):
            without = _ratios_without(population, attribute, ends, place)
            rows.append(_row(name, place, counts, without, settings.alpha))
    return CutOffTable(
        attribute=attribute.name,
        options=which,
        people=0 if few else advised.size,
        dropped=0 if few else dropped.subject.size,
        droppable=0 if few else droppable.subject.size,
        by_group=tuple(rows),
        nothing=nothing,
    )


def _counts(attribute: Attribute, ends: _Ends) -> Ints:
    return np.bincount(attribute.places[ends.person], minlength=len(attribute.groups))


def _row(
    name: str, place: int, counts: Sequence[Ints], without: Floats | None, alpha: float
) -> CutOff:
    dropped, droppable = (int(one[place]) for one in counts)
    shares = [int(one[place]) / int(one.sum()) if one.sum() else 0.0 for one in counts]
    ratio = shares[0] / shares[1] if shares[1] else None
    interval: Interval | None = None
    if ratio is not None and without is not None:
        reach = log_ratio_reach(ratio, without, alpha)
        if reach is not None:
            interval = Interval(
                low=ratio * math.exp(-reach), high=ratio * math.exp(min(reach, 700))
            )
    return CutOff(
        group=name,
        dropped=dropped,
        dropped_share=shares[0],
        droppable=droppable,
        droppable_share=shares[1],
        ratio=ratio,
        interval=interval,
    )


def _ratios_without(
    population: Population, attribute: Attribute, ends: tuple[_Ends, _Ends], place: int
) -> Floats | None:
    """The ratio with each community of subjects left out; None if there are too few.

    Without a column of communities, the graph is cut into parts with few ties between them.
    """
    everybody = population.community
    if everybody is None:
        everybody = population.network.parts(PARTS)
    size = int(everybody.max(initial=0)) + 1
    sums = []
    for one in ends:
        community = everybody[one.subject]
        inside = attribute.places[one.person] == place
        counts = [
            np.bincount(community, weights=weights, minlength=size)
            for weights in (inside, np.ones(inside.size))
        ]
        sums.append(counts)
    there = sums[1][1] > 0
    if int(there.sum()) < FEWEST_COMMUNITIES:
        return None
    (here, all_here), (could, all_could) = ((a[there], b[there]) for a, b in sums)
    with np.errstate(all="ignore"):
        dropped = (here.sum() - here) / (all_here.sum() - all_here)
        droppable = (could.sum() - could) / (all_could.sum() - all_could)
        ratios: Floats = dropped / droppable
    return ratios


Kinds = frozenset[tuple[Do, str]]
MOST_SHOWN = 50


def options_by_subject(store: sqlite3.Connection) -> dict[int, frozenset[Kinds]]:
    """The kinds of change of each option, by subject; a category is a kind for each value."""
    rows = store.execute(
        """SELECT subject, option, do, coalesce(
             kind, CASE typeof(after) WHEN 'text' THEN attribute || ' = ' || after END, attribute,
             ''
           ) FROM actions ORDER BY subject, option"""
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
