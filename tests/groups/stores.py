"""Stores and reports of made-up audits: people, groups, ties, and what the audit found."""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.bundle.store import SCHEMA, VERSION
from recourse_audit.groups.inference import FEWEST_TIED
from recourse_audit.groups.redraws import Ints
from recourse_audit.groups.report import group_report
from recourse_audit.records.groups import Communities, GroupReport
from recourse_audit.records.recourse import CommonAction
from recourse_audit.settings import DecisionSettings, GroupSettings

FOUND, INFEASIBLE, NOT_FOUND, ERROR = (
    "verified",
    "certified_infeasible",
    "not_found_within_budget",
    "error",
)
Tie = tuple[int, int]
Step = tuple[str, str, Tie | None]
PartName = tuple[str, str]
Changed = Literal["no", "in vain", "flips"]
Reason = Literal["no", "moves", "fixed"]


# The common actions of an audit in which anybody has an outcome of one.
ACTIONS: tuple[CommonAction, ...] = (
    CommonAction(do="drop", what="payment", ties=1),
    CommonAction(do="drop", what="payment", ties=2),
    CommonAction(do="set", what="savings", by=2500.0, unit="euros"),
    CommonAction(do="set", what="savings", by=5000.0, unit="euros"),
    CommonAction(do="set", what="housing", to="own"),
)


NO_BETTER = ("others_of", "others_approved", "own_of", "own_approved")


@dataclass(kw_only=True)
class Person:
    """One person of a made-up audit; somebody with a status is a subject."""

    groups: Mapping[str, str]
    favourable: bool | None = False
    community: int | None = 0
    favourable_alone: bool | None = None
    outcome: bool | None = None
    score: float | None = None
    score_alone: float | None = None
    status: str | None = None
    cost: float = 1.0
    error: str = ""
    simulatability: float | None = 0.1
    relevance: float | None = 0.2
    grade: str | None = None
    options: Sequence[Sequence[Step]] = ()
    droppable: Sequence[Tie] = field(default_factory=list)
    # Outcomes of common actions that apply, by number; whom one serves pays its number plus one.
    common: dict[int, str] = field(default_factory=dict)
    # By part how far it may be changed, and whether it is a reason; None if nothing was asked.
    parts: Mapping[PartName, tuple[Changed, Reason]] | None = None
    # By attribute how many are no better, and approved of them: in other groups, and in the own.
    compared: Mapping[str, tuple[int, int, int, int]] | None = None


def communities_of(people: Sequence[Person], *, column: bool = False, seed: int = 0) -> Communities:
    """What the store of these people says about their communities."""
    count = len({one.community for one in people}) if column else 0
    return Communities(column="district" if column else None, count=count, seed=seed)


def ties_within(people: Sequence[Person], *, each: int = 3, away: float = 0.1) -> Ints:
    """Ties of people: each picks some others of their own community, now and then of any."""
    random = np.random.default_rng(0)
    community = np.array([one.community or 0 for one in people])
    order = np.argsort(community, kind="stable")
    starts = np.searchsorted(community[order], np.arange(community.max(initial=0) + 2))
    pairs = set()
    for number, own in enumerate(community.tolist()):
        inside = order[starts[own] : starts[own + 1]]
        for _ in range(each):
            other = (
                random.integers(len(people)) if random.random() < away else random.choice(inside)
            )
            if other != number:
                pairs.add((min(number, int(other)), max(number, int(other))))
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def make_store(
    people: Sequence[Person],
    *,
    column: bool = False,
    seed: int = 0,
    path: Path | None = None,
    ties: bool = True,
) -> sqlite3.Connection:
    """A store with these people, in memory or in a file; with ties if there are enough of them."""
    store = sqlite3.connect(":memory:" if path is None else path)
    for statement in SCHEMA:
        store.execute(statement)
    store.execute(f"PRAGMA user_version = {VERSION}")
    communities = json.dumps(asdict(communities_of(people, column=column, seed=seed)))
    store.execute("INSERT INTO meta VALUES ('communities', ?)", (communities,))
    for number, one in enumerate(people):
        decision = {None: "", True: "yes", False: "no"}[one.favourable]
        own = one.community if column else None
        row = (number, f"P{number}", decision, one.favourable, own, one.favourable_alone)
        more = (one.outcome, one.score, one.score_alone)
        store.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, *more))
        members = [(number, name, value) for name, value in one.groups.items()]
        store.executemany("INSERT INTO members VALUES (?, ?, ?)", members)
        if one.status is not None:
            _add_subject(store, number, one)
    if ties and len(people) >= FEWEST_TIED:
        pairs = ties_within(people).astype("<i4").tobytes()
        store.execute("INSERT INTO ties VALUES (0, ?)", (pairs,))
    if any(one.common for one in people):
        for number, action in enumerate(ACTIONS):
            fields = (action.do, action.what, action.ties, action.by, action.to, action.unit)
            insert = "INSERT INTO common_actions VALUES (?, ?, ?, ?, ?, ?, ?)"
            store.execute(insert, (number, *fields))
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
        favourable=bool(one.favourable),
        options=max(1, len(one.options)) if found else 0,
        cheapest_cost=one.cost if found else None,
        simulatability=one.simulatability,
        relevance=one.relevance,
        caveat_grade=one.grade,
        reasons=None if one.parts is None else len(listed := _documents(one)["reasons"]),
        fixed_reasons=None if one.parts is None else sum(each["fixed"] for each in listed),
        document=json.dumps(_documents(one)),
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
    for action, outcome in sorted(one.common.items()):
        cost = action + 1.0 if outcome == "serves" else None
        row = (number, action, outcome, cost)
        store.execute("INSERT INTO common_outcomes VALUES (?, ?, ?, ?)", row)


def _documents(one: Person) -> dict[str, Any]:
    """What a document says of the parts of what a decision rests on."""
    parts = [
        ({"what": what, "name": name}, *levels)
        for (what, name), levels in (one.parts or {}).items()
    ]
    changed = [
        {"part": part, "moves": 3, "tried": 3, "flips": 2 * (change == "flips")}
        for part, change, _ in parts
        if change != "no"
    ]
    reasons = [
        {"part": part, "fixed": reason == "fixed"} for part, _, reason in parts if reason != "no"
    ]
    sets = [
        {"attribute": name, "group": one.groups[name], **dict(zip(NO_BETTER, counts, strict=True))}
        for name, counts in (one.compared or {}).items()
    ]
    found = {"recourse": {"responsiveness": changed}, "reasons": reasons}
    return found if one.compared is None else found | {"comparators": {"sets": sets}}


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
    """Settings with few redraws, so that tests are quick."""
    return GroupSettings.model_validate({"attributes": attributes, "redraws": 100} | more)


def report_on(
    people: Sequence[Person],
    groups: GroupSettings,
    *,
    column: bool = False,
    seed: int = 0,
    ties: bool = True,
    decision: DecisionSettings | None = None,
    scored: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> GroupReport:
    """The group report on these people, with its sentences.

    There is a column of outcomes if anybody has one, and a sweep if there is a rule.
    """
    outcome = "repaid" if any(one.outcome is not None for one in people) else None
    communities = communities_of(people, column=column, seed=seed)
    with closing(make_store(people, column=column, seed=seed, ties=ties)) as store:
        return group_report(
            store,
            groups,
            communities,
            outcome=outcome,
            scored=scored,
            decision=decision,
            progress=progress,
        )
