"""Everybody, and everyone audited, as arrays; read from the store, without model or graph."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.audit.population import MOST_NUMBERS, bin_labels
from recourse_audit.errors import InputError
from recourse_audit.groups.redraws import Floats, Ints, Mask, Network
from recourse_audit.records.group_figures import GRADES, GroupKind
from recourse_audit.records.groups import Communities
from recourse_audit.records.recourse import STATUSES, RecourseStatus
from recourse_audit.settings import GroupSettings

FAVOURABLE, REFUSED, UNDECIDED = 1, 0, -1
# What came true later.
GOOD, BAD, NOT_KNOWN = 1, 0, -1
# What an audit of somebody who was refused can find; an array of statuses has places in this.
OUTCOMES: tuple[RecourseStatus, ...] = tuple(
    status for status in STATUSES if status != "already_favourable"
)
VERIFIED, INFEASIBLE, NOT_FOUND, ERROR, DISAGREES = map(
    OUTCOMES.index,
    ("verified", "certified_infeasible", "not_found_within_budget", "error", "model_disagrees"),
)
NOWHERE = -1  # the label of people who are in no cell
UNKNOWN = "unknown"  # the group of people without a value
NO_VALUE = f"{UNKNOWN} (no value)"  # the same where a group of the user has that name
RESTORE = "it is damaged; restore it, or run the audit again into another --out"
AGAIN = "fix the settings and run the audit again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """Everybody's group by one attribute, as a place in `groups`.

    The first `known` groups are values of people; then come the people without a value, and the
    groups that are pooled, if there are any.
    """

    name: str
    groups: tuple[str, ...]
    places: Ints
    known: int
    pooled: int = 0

    def kind(self, place: int) -> GroupKind:
        """Whether a group is a value of people, those without one, or several groups together."""
        if place < self.known:
            return "known"
        return "pooled" if self.pooled and place == len(self.groups) - 1 else "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """The refused people whom the audit has reached, one entry each, in the order of their numbers.

    `status` is a place in `OUTCOMES` and `grade` one in `GRADES`; `cost` is that of the cheapest
    option, infinite where there is none. Figures that do not exist are NaN. `usable` marks those
    whose audit did not fail, and whose decision on record is the model's.
    """

    person: Ints
    status: Ints
    usable: Mask
    cost: Floats
    options: Floats
    simulatability: Floats
    relevance: Floats
    grade: Ints
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Everybody: decisions, also on own data alone, groups, ties, and what was found.

    `community` is None unless a column names everybody's. `came_true` is `GOOD`, `BAD` or
    `NOT_KNOWN`; `score` and `score_alone`, on own data alone, are NaN where there is none, and
    `lower` says that lower ones are better. `given` numbers the combinations of
    values that people have in `groups.given`.
    """

    decided: Ints
    decided_alone: Ints
    came_true: Ints
    score: Floats
    score_alone: Floats
    lower: bool
    given: Ints
    community: Ints | None
    network: Network
    attributes: tuple[Attribute, ...]
    audited: Audited

    @property
    def people(self) -> int:
        return self.decided.size

    @property
    def answers(self) -> Floats:
        """The score of everybody decided on, so that higher is better."""
        answers = -self.score if self.lower else self.score
        return np.where(self.decided == UNDECIDED, np.nan, answers)

    @property
    def better_half(self) -> Mask:
        """Whose answer is better than the median of everybody decided on."""
        answers = self.answers
        known = answers[~np.isnan(answers)]
        return np.asarray(answers > np.median(known if known.size else answers[:1]))

    def label_audited(self, labels: Ints) -> Ints:
        """Labels of the audited as labels of everybody; those without a result have none."""
        audited = self.audited
        everybody = np.full(self.people, NOWHERE)
        everybody[audited.person[audited.usable]] = labels[audited.usable]
        return everybody


def read_population(
    store: sqlite3.Connection,
    settings: GroupSettings,
    communities: Communities,
    *,
    lower: bool = False,
) -> Population:
    """Read everything that groups are compared by; refuse attributes that cannot be compared."""
    if not settings.attributes:
        raise InputError(
            f"groups.attributes: names no protected attribute, so there are no groups; {AGAIN}"
        )
    rows = store.execute(
        """SELECT coalesce(favourable, -1), coalesce(favourable_alone, -1), coalesce(community, -1),
             coalesce(outcome, -1), score, score_alone
           FROM people ORDER BY number"""
    )
    *codes, score, score_alone = np.array(list(rows), np.float64).reshape(-1, 6).T
    decided, alone, community, came_true = (code.astype(np.int64) for code in codes)
    if communities.column is not None and (community < 0).any():
        raise InputError(f"the store holds nobody's community, although it names them; {RESTORE}")
    return Population(
        decided=decided,
        decided_alone=alone,
        came_true=came_true,
        score=score,
        score_alone=score_alone,
        lower=lower,
        given=_read_given(store, settings, decided.size),
        community=None if communities.column is None else community,
        network=_read_network(store, decided.size),
        attributes=tuple(
            _read_attribute(store, settings, name, decided.size) for name in settings.attributes
        ),
        audited=_read_audited(store),
    )


def _read_network(store: sqlite3.Connection, people: int) -> Network:
    """Who is tied to whom; a store with ties that cannot be is refused."""
    blocks = store.execute("SELECT pairs FROM ties ORDER BY block")
    low, high = np.frombuffer(b"".join(block for (block,) in blocks), "<i4").reshape(-1, 2).T
    if not ((low >= 0) & (low < high) & (high < people)).all():
        raise InputError(f"the store holds ties between people who are not there; {RESTORE}")
    return Network(people=people, low=low, high=high)


def _read_attribute(
    store: sqlite3.Connection, settings: GroupSettings, name: str, people: int
) -> Attribute:
    rows = store.execute(
        "SELECT person, value FROM members WHERE attribute = ?", (name,)
    ).fetchall()
    values = list(dict.fromkeys(value for _, value in rows))
    groups = _sort_groups([value for value in values if value], settings.bins.get(name))
    _check(settings, name, values, groups)
    place = {value: number for number, value in enumerate(groups)} | {"": len(groups)}
    places = np.full(people, len(groups))
    places[[person for person, _ in rows]] = [place[value] for _, value in rows]
    unknown = NO_VALUE if UNKNOWN in groups else UNKNOWN
    return Attribute(name=name, groups=(*groups, unknown), places=places, known=len(groups))


def _read_given(store: sqlite3.Connection, settings: GroupSettings, people: int) -> Ints:
    """Everybody's combination of values in the columns that are given, as a number."""
    find = "SELECT value FROM members WHERE attribute = ? ORDER BY person"
    given = np.zeros(people, np.int64)
    for name in settings.given:
        _, place = np.unique(
            [value for (value,) in store.execute(find, (name,))], return_inverse=True
        )
        _, given = np.unique(given * (people + 1) + place, return_inverse=True)
    return given


def _sort_groups(values: Sequence[str], edges: Sequence[float] | None) -> list[str]:
    """Bins in their order, numbers by size, and everything else by name."""
    if edges is not None:
        labels = bin_labels(edges)
        return sorted(values, key=lambda value: labels.index(value) if value in labels else -1)
    return sorted(values, key=float if all(map(_is_number, values)) else str)


def _check(settings: GroupSettings, name: str, values: list[str], groups: list[str]) -> None:
    if not values:
        raise InputError(f"groups.attributes: the audit has no groups by {name!r}; {AGAIN}")
    if len(groups) < 2:
        alike = f"{groups[0]!r} or unknown" if groups else "unknown"
        raise InputError(
            f"groups.attributes: everybody's {name!r} is {alike}, so there are no groups to "
            f"compare; {AGAIN}"
        )
    if len(groups) > MOST_NUMBERS and all(map(_is_number, groups)):
        raise InputError(
            f"groups.attributes: {name!r} has {len(groups):,} different numbers, too many to be "
            f"groups; set the edges between groups in groups.bins and run the audit again"
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


def _read_audited(store: sqlite3.Connection) -> Audited:
    """Subjects who were refused; those with a favourable decision, or none, need no option."""
    rows = store.execute(
        """SELECT s.number, s.status, s.cheapest_cost, s.options, s.simulatability, s.relevance,
             s.caveat_grade, s.error
           FROM subjects s JOIN people p ON p.number = s.number
           WHERE p.favourable = 0 ORDER BY s.number"""
    ).fetchall()
    person, status, cost, options, simulatability, relevance, grade, error = (
        zip(*rows, strict=True) if rows else ((),) * 8
    )
    codes = np.array([OUTCOMES.index(code) for code in status], np.int64)
    return Audited(
        person=np.array(person, np.int64),
        status=codes,
        usable=(codes != ERROR) & (codes != DISAGREES),
        cost=np.where(codes == VERIFIED, np.array(cost, np.float64), np.inf),
        options=np.array(options, np.float64),
        simulatability=np.array(simulatability, np.float64),
        relevance=np.array(relevance, np.float64),
        grade=np.array([GRADES.index(word or "none") for word in grade], np.int64),
        errors=tuple(text for text in error if text),
    )
