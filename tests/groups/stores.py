"""Stores and reports of made-up audits: people, groups, communities, and what the audit found."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.bundle.store import SCHEMA, VERSION
from recourse_audit.groups.report import group_report
from recourse_audit.records.groups import Communities, CommunityMethod, GroupReport
from recourse_audit.settings import GroupSettings

FOUND, INFEASIBLE, NOT_FOUND, ERROR = (
    "verified",
    "certified_infeasible",
    "not_found_within_budget",
    "error",
)
Tie = tuple[int, int]
Step = tuple[str, str, Tie | None]


@dataclass(kw_only=True)
class Person:
    """One person of a made-up audit; somebody with a status is a subject."""

    groups: Mapping[str, str]
    favourable: bool | None = False
    community: int | None = 0
    favourable_alone: bool | None = None
    status: str | None = None
    cost: float = 1.0
    error: str = ""
    simulatability: float | None = 0.1
    relevance: float | None = 0.2
    grade: str | None = None
    options: Sequence[Sequence[Step]] = ()
    droppable: Sequence[Tie] = field(default_factory=list)


def communities_of(
    people: Sequence[Person], *, method: CommunityMethod = "louvain", seed: int = 0
) -> Communities:
    """What the store of these people says about their communities."""
    sizes = Counter(one.community for one in people)
    none = method == "none"
    return Communities(
        method=method,
        column="district" if method == "column" else None,
        seed=seed,
        count=0 if none else len(sizes),
        reason="too many ties" if none else "",
        alone=0 if none else sum(size == 1 for size in sizes.values()),
    )


def make_store(
    people: Sequence[Person],
    *,
    method: CommunityMethod = "louvain",
    seed: int = 0,
    path: Path | None = None,
) -> sqlite3.Connection:
    """A store with these people, in memory or in a file."""
    store = sqlite3.connect(":memory:" if path is None else path)
    for statement in SCHEMA.split(";"):
        store.execute(statement)
    store.execute(f"PRAGMA user_version = {VERSION}")
    communities = json.dumps(asdict(communities_of(people, method=method, seed=seed)))
    store.execute("INSERT INTO meta VALUES ('communities', ?)", (communities,))
    for number, one in enumerate(people):
        decision = {None: "", True: "yes", False: "no"}[one.favourable]
        own = None if method == "none" else one.community
        row = (number, f"P{number}", decision, one.favourable, own, one.favourable_alone)
        store.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", row)
        members = [(number, name, value) for name, value in one.groups.items()]
        store.executemany("INSERT INTO members VALUES (?, ?, ?)", members)
        if one.status is not None:
            _add_subject(store, number, one)
    store.commit()
    return store


def _add_subject(store: sqlite3.Connection, number: int, one: Person) -> None:
    found = one.status == FOUND
    _insert(
        store,
        "subjects",
        number=number,
        id=f"P{number}",
        decision={None: "", True: "yes", False: "no"}[one.favourable],
        status=one.status,
        error=one.error or "",
        note="",
        queries=1,
        favourable=one.favourable,
        options=max(1, len(one.options)) if found else 0,
        cheapest_cost=one.cost if found else None,
        simulatability=one.simulatability,
        relevance=one.relevance,
        caveat_grade=one.grade,
        document="{}",
    )
    for option, steps in enumerate(one.options):
        for place, (do, what, tie) in enumerate(steps):
            source, target = tie or (None, None)
            _insert(
                store,
                "actions",
                subject=number,
                option=option,
                action=place,
                do=do,
                kind=None if do == "set" else what,
                source=source,
                target=target,
                attribute=what if do == "set" else None,
                cost=1.0,
            )
    for place, (source, target) in enumerate(one.droppable):
        _insert(
            store,
            "droppable",
            subject=number,
            place=place,
            kind="x",
            source=source,
            target=target,
        )


def _insert(store: sqlite3.Connection, table: str, **values: str | float | None) -> None:
    """Insert one row; columns that must have a value and are of no interest here are 0."""
    columns = store.execute(f"SELECT name, \"notnull\" FROM pragma_table_info('{table}')")
    row = {name: 0 if required else None for name, required in columns}
    assert set(values) <= set(row)
    places = ", ".join("?" * len(row))
    store.execute(f"INSERT INTO {table} VALUES ({places})", list((row | values).values()))


def drawn_people(
    seed: int,
    *,
    people: int = 2000,
    communities: int = 30,
    gap: float = 0.0,
    attributes: Sequence[str] = ("origin", "gender"),
) -> list[Person]:
    """People in communities that differ; in one of two origins, options are rarer by the gap."""
    random = np.random.default_rng(seed)
    own = random.integers(communities, size=people)
    tilt = random.normal(0, 0.1, communities)
    south = random.random(people) < 0.2 + 0.6 * random.random(communities)[own]
    woman = random.random(people) < 0.5
    refused = random.random(people) < 0.4 + tilt[own]
    chance = 0.6 + tilt[own] - gap * south
    found = random.random(people) < chance
    status = np.where(found, FOUND, np.where(random.random(people) < 0.9, INFEASIBLE, NOT_FOUND))
    cost = random.integers(1, 6, size=people)
    values: dict[str, NDArray[Any]] = {
        "origin": np.where(south, "south", "north"),
        "gender": np.where(woman, "woman", "man"),
    }
    return [
        Person(
            groups={name: str(values[name][number]) for name in attributes},
            favourable=not refused[number],
            community=int(own[number]),
            status=str(status[number]) if refused[number] else None,
            cost=float(cost[number]),
            simulatability=float(random.random()),
            relevance=float(random.random()),
            grade=random.choice(["holds", "weakens", "reverses"]) if found[number] else None,
        )
        for number in range(people)
    ]


def settings(*attributes: str, **more: Any) -> GroupSettings:
    """Settings with few draws, so that tests are quick."""
    return GroupSettings.model_validate({"attributes": attributes, "draws": 199} | more)


def report_on(
    people: Sequence[Person],
    groups: GroupSettings,
    *,
    method: CommunityMethod = "louvain",
    seed: int = 0,
) -> GroupReport:
    """The group report on these people."""
    with closing(make_store(people, method=method, seed=seed)) as store:
        return group_report(store, groups, communities_of(people, method=method, seed=seed))
