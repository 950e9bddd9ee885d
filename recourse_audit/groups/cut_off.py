"""Whom the advice cuts off: where dropped ties lead, against where they could have led."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask, added
from recourse_audit.groups.clustered import FEWEST_COMMUNITIES, ratio_interval
from recourse_audit.groups.people import STATUSES, Attribute, Population
from recourse_audit.groups.records import CutOff, CutOffTable, Interval
from recourse_audit.settings import GroupSettings

Which = Literal["first", "all"]
TIE = "a.subject, a.source, a.target"
DROPPED = {
    "first": f"SELECT {TIE} FROM actions a WHERE a.do = 'drop' AND a.option = 0",  # noqa: S608
    # A tie that several options drop is one tie.
    "all": f"SELECT DISTINCT {TIE}, a.kind FROM actions a WHERE a.do = 'drop'",  # noqa: S608
}
DROPPABLE = f"SELECT {TIE} FROM droppable a"  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """Whom ties lead to, and whose advice or possibility each of them is."""

    subject: Ints
    person: Ints


def cut_off(
    store: sqlite3.Connection,
    population: Population,
    settings: GroupSettings,
    hidden: Sequence[Mask],
) -> list[CutOffTable]:
    """A table for each attribute, of the first options and of all; `hidden` groups are withheld.

    A tie leads to the end that is not the subject, or to both if neither is. What could have been
    dropped is what the policy would let the same people drop: all who have an option.
    """
    audited = population.audited
    advised = audited.person[audited.status == STATUSES.index("verified")]
    droppable = _ends(store, DROPPABLE, advised)
    tables = []
    for which in ("first", "all"):
        dropped = _ends(store, DROPPED[which], advised)
        for attribute, mask in zip(population.attributes, hidden, strict=True):
            tables.append(
                _table(population, settings, attribute, mask, which, (dropped, droppable), advised)
            )
    return tables


def _ends(store: sqlite3.Connection, query: str, advised: Ints) -> _Ends:
    rows = np.array([row[:3] for row in store.execute(query)], np.int64).reshape(-1, 3)
    rows = rows[np.isin(rows[:, 0], advised)]
    subject = np.concatenate([rows[:, 0], rows[:, 0]])
    person = np.concatenate([rows[:, 1], rows[:, 2]])
    leads = subject != person
    return _Ends(subject=subject[leads], person=person[leads])


def _table(
    population: Population,
    settings: GroupSettings,
    attribute: Attribute,
    hidden: Mask,
    which: Which,
    ends: tuple[_Ends, _Ends],
    advised: Ints,
) -> CutOffTable:
    dropped, droppable = ends
    names = tuple(name for name, gone in zip(attribute.groups, hidden, strict=True) if gone)
    few = advised.size < settings.smallest
    note = "" if not few else f"fewer than {settings.smallest} people have an option"
    if not few and not dropped.subject.size:
        note = "no option drops a tie"
    rows: list[CutOff] = []
    if not note:
        counts = [_counts(attribute, one) for one in ends]
        for place, name in enumerate(attribute.groups):
            if not hidden[place]:
                without = _ratios_without(population, attribute, ends, place)
                rows.append(_row(name, place, counts, without, settings.alpha))
    return CutOffTable(
        attribute=attribute.name,
        options=which,
        people=0 if few else advised.size,
        dropped=0 if few else dropped.subject.size,
        droppable=0 if few else droppable.subject.size,
        by_group=tuple(rows),
        withheld=names,
        note=note,
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
        interval = ratio_interval(ratio, without, alpha)
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
    """The ratio with each community of subjects left out; None if they are too few."""
    if population.community is None:
        return None
    size = int(population.community.max()) + 1
    sums = []
    for one in ends:
        community = population.community[one.subject]
        inside = attribute.places[one.person] == place
        sums.append((added(community, inside, size), added(community, np.ones(inside.size), size)))
    there = sums[1][1] > 0
    if int(there.sum()) < FEWEST_COMMUNITIES:
        return None
    (here, all_here), (could, all_could) = ((a[there], b[there]) for a, b in sums)
    with np.errstate(all="ignore"):
        dropped = (here.sum() - here) / (all_here.sum() - all_here)
        droppable = (could.sum() - could) / (all_could.sum() - all_could)
        ratios: Floats = dropped / droppable
    return ratios
