"""Everybody and everyone audited as arrays, read from the store of an audit; no model, no graph."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from recourse_audit.errors import InputError
from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.records import GRADES, UNKNOWN, Communities
from recourse_audit.audit.grouping import MOST_NUMBERS, bin_labels
from recourse_audit.bundle.store import meta_of
from recourse_audit.settings import GroupSettings

FAVOURABLE, REFUSED, UNDECIDED = 1, 0, -1
STATUSES = ("verified", "certified_infeasible", "not_found_within_budget", "error")
ERROR = STATUSES.index("error")
AGAIN = "mend the settings and run the audit again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """Everybody's group by one attribute: a place in `groups`, whose last is unknown."""

    name: str
    groups: tuple[str, ...]
    places: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """The refused whom the audit has reached, an entry each, in the order of their numbers.

    `cost` is that of the cheapest option, infinite where there is none; `grade` is a place in
    `GRADES`; figures that do not exist are NaN.
    """

    person: Ints
    status: Ints
    cost: Floats
    options: Floats
    simulatability: Floats
    relevance: Floats
    grade: Ints
    errors: tuple[str, ...]

    @property
    def usable(self) -> Mask:
        """Whose audit did not end in an error."""
        return np.asarray(self.status != ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Everybody: what was decided, who belongs where, and what the audit found."""

    decided: Ints
    community: Ints | None
    communities: Communities
    attributes: tuple[Attribute, ...]
    audited: Audited

    @property
    def people(self) -> int:
        return self.decided.size

    def alone(self, people: Ints) -> int:
        """How many of these are a community by themselves."""
        if self.community is None:
            return 0
        sizes = np.bincount(self.community)
        return int((sizes[self.community[people]] == 1).sum())


def read_population(store: sqlite3.Connection, settings: GroupSettings) -> Population:
    """Read all that groups are compared by; attributes that cannot be compared are refused."""
    if not settings.attributes:
        raise InputError(
            f"groups.attributes: names no protected attribute, so there are no groups; {AGAIN}"
        )
    rows = store.execute("SELECT coalesce(favourable, -1), community FROM people ORDER BY number")
    table = np.array([(decided, -1 if own is None else own) for decided, own in rows], np.int64)
    table = table.reshape(-1, 2)
    communities = Communities(**json.loads(meta_of(store)["communities"]))
    population = Population(
        decided=table[:, 0],
        community=None if communities.method == "none" else table[:, 1],
        communities=communities,
        attributes=tuple(
            _attribute(store, settings, name, len(table)) for name in settings.attributes
        ),
        audited=_audited(store),
    )
    alone = population.alone(np.arange(population.people))
    return replace(population, communities=replace(communities, alone=alone))


def _attribute(
    store: sqlite3.Connection, settings: GroupSettings, name: str, people: int
) -> Attribute:
    found = store.execute("SELECT DISTINCT value FROM members WHERE attribute = ?", (name,))
    values = [value for (value,) in found]
    groups = _ordered([value for value in values if value], settings.bins.get(name))
    _check(settings, name, values, groups)
    unknown = f"{UNKNOWN} (no value)" if UNKNOWN in groups else UNKNOWN
    place = {value: number for number, value in enumerate(groups)} | {"": len(groups)}
    places = np.full(people, len(groups))
    rows = store.execute("SELECT person, value FROM members WHERE attribute = ?", (name,))
    pairs = np.array([(person, place[value]) for person, value in rows], np.int64).reshape(-1, 2)
    places[pairs[:, 0]] = pairs[:, 1]
    return Attribute(name=name, groups=(*groups, unknown), places=places)


def _ordered(values: Sequence[str], edges: Sequence[float] | None) -> list[str]:
    """Bins in their order, numbers by size, and everything else by name."""
    if edges is not None:
        labels = bin_labels(edges)
        return sorted(values, key=lambda value: labels.index(value) if value in labels else -1)
    return sorted(values, key=_number if all(map(_is_number, values)) else str)


def _check(settings: GroupSettings, name: str, values: list[str], groups: list[str]) -> None:
    if not values:
        raise InputError(f"groups.attributes: the audit holds no groups by {name!r}; {AGAIN}")
    if len(groups) < 2:
        alike = f"{groups[0]!r} or unknown" if groups else "unknown"
        raise InputError(
            f"groups.attributes: everybody's {name!r} is {alike}, so there are no groups to "
            f"compare; {AGAIN}"
        )
    if len(groups) > MOST_NUMBERS and all(map(_is_number, groups)):
        raise InputError(
            f"groups.attributes: {name!r} has {len(groups):,} different numbers, too many to be "
            f"groups; name edges between groups in groups.bins, and run the audit again"
        )
    wanted = settings.reference.get(name)
    if wanted is not None and wanted not in groups:
        raise InputError(
            f"groups.reference: there is nobody whose {name!r} is {wanted!r}; known: "
            f"{', '.join(groups[:MOST_NUMBERS])}; {AGAIN}"
        )


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _number(value: str) -> float:
    return float(value)


def _audited(store: sqlite3.Connection) -> Audited:
    """Subjects who were refused; those decided on favourably or not at all need no option."""
    rows = store.execute(
        """SELECT s.number, s.status, s.cheapest_cost, s.options, s.simulatability, s.relevance,
             s.caveat_grade, s.error
           FROM subjects s JOIN people p ON p.number = s.number
           WHERE p.favourable = 0 ORDER BY s.number"""
    ).fetchall()
    person, status, cost, options, simulatability, relevance, grade, error = (
        zip(*rows, strict=True) if rows else ((),) * 8
    )
    codes = np.array([STATUSES.index(one) for one in status], np.int64)
    found = codes == STATUSES.index("verified")
    return Audited(
        person=np.array(person, np.int64),
        status=codes,
        cost=np.where(found, np.array(cost, np.float64), np.inf),
        options=np.array(options, np.float64),
        simulatability=np.array(simulatability, np.float64),
        relevance=np.array(relevance, np.float64),
        grade=np.array([GRADES.index(one or "none") for one in grade], np.int64),
        errors=tuple(one for one in error if one),
    )
