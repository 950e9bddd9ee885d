"""People as they describe themselves, and everything that is true of their options.

Rows are raw: a job, an education, an income. This module writes them out as the columns of a table
(one-hot, ordinal, thermometer, bins), lists every permitted change straight from the rules, and
asks the model's file about the whole graph for every combination. It shares no code with the
program: conditions are Python functions beside the texts that the settings hold.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from recourse_audit.audit.load import LoadedAudit, open_audit
from recourse_audit.settings import parse_settings
from tests.onnx_models import sum_network
from tests.recourse.random_worlds import write_csv

Raw = dict[str, Any]
JOBS, SCHOOLS, TENURES = (
    ("none", "clerk", "boss"),
    ("low", "middle", "high"),
    ("new", "some", "old"),
)
REGIONS, SCORE_EDGES = ("near", "middle", "far"), (2.0, 4.0)
SCHOOL_CODES = (0.5, 1.0, 2.5)
FEATURES = (
    *("job_none", "job_clerk", "job_boss", "income", "school_code", "tenure_1", "tenure_2"),
    *("ratio", "score_low", "score_middle", "score_high", "region_code", "children", "gap"),
)
ENCODINGS = [
    {
        "name": "job",
        "kind": "one_hot",
        "columns": ["job_none", "job_clerk", "job_boss"],
        "labels": JOBS,
    },
    {
        "name": "school",
        "kind": "ordinal",
        "columns": ["school_code"],
        "labels": SCHOOLS,
        "values": SCHOOL_CODES,
    },
    {
        "name": "tenure",
        "kind": "thermometer",
        "columns": ["tenure_1", "tenure_2"],
        "labels": TENURES,
    },
    {
        "name": "score_band",
        "kind": "binned",
        "columns": ["score_low", "score_middle", "score_high"],
        "edges": SCORE_EDGES,
        "of": "score",
    },
    {
        "name": "region",
        "kind": "binned",
        "columns": ["region_code"],
        "edges": (10, 100),
        "labels": REGIONS,
    },
]
DERIVED = [
    {"name": "gap", "formula": "income - 2 * debt"},
    {"name": "ratio", "formula": "debt / (income + 0.5)"},
]


def written_out(raw: Raw) -> dict[str, float]:
    """The columns of the table that stand for a person."""
    band = sum(raw["score"] >= edge for edge in SCORE_EDGES)
    return {
        **{f"job_{label}": float(raw["job"] == label) for label in JOBS},
        "income": raw["income"],
        "school_code": SCHOOL_CODES[SCHOOLS.index(raw["school"])],
        "tenure_1": float(raw["tenure"] != "new"),
        "tenure_2": float(raw["tenure"] == "old"),
        "ratio": raw["debt"] / (raw["income"] + 0.5),
        "score_low": float(band == 0),
        "score_middle": float(band == 1),
        "score_high": float(band == 2),
        "region_code": float(REGIONS.index(raw["region"])),
        "children": raw["children"],
        "gap": raw["income"] - 2 * raw["debt"],
    }


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition as the settings say it, and as Python does; `about` are the raw columns."""

    then: str
    holds: Callable[[Raw], bool]
    about: frozenset[str]
    when: str | None = None

    @property
    def table(self) -> dict[str, str]:
        return {"then": self.then} | ({} if self.when is None else {"if": self.when})


CONDITIONS = (
    Condition(
        when='job = "none"',
        then="income <= 3",
        holds=lambda raw: raw["job"] != "none" or raw["income"] <= 3,
        about=frozenset({"job", "income"}),
    ),
    Condition(
        then="ratio < 0.9 or children = 0",
        holds=lambda raw: raw["debt"] / (raw["income"] + 0.5) < 0.9 or raw["children"] == 0,
        about=frozenset({"debt", "income", "children"}),
    ),
    Condition(
        then='not (school = "low" and tenure != "new")',
        holds=lambda raw: not (raw["school"] == "low" and raw["tenure"] != "new"),
        about=frozenset({"school", "tenure"}),
    ),
    Condition(
        when='score_band = "4 and over"',
        then='job != "none" and debt < income',
        holds=lambda raw: (
            raw["score"] < 4 or (raw["job"] != "none" and raw["debt"] < raw["income"])
        ),
        about=frozenset({"score", "job", "debt", "income"}),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Change:
    """One permitted change; `values` are what it sets, `further` how far along a number it is."""

    attribute: str
    values: Mapping[str, Any]
    cost: float
    further: int = 0
    stopped: bool = False


@dataclass(frozen=True, kw_only=True)
class RawWorld:
    """People, ties, rules and conditions."""

    people: tuple[Raw, ...]
    ties: tuple[tuple[int, int], ...]
    rules: tuple[dict[str, Any], ...]
    conditions: tuple[Condition, ...]
    max_changes: int
    seed: int

    def open(self, folder: Path, **recourse: Any) -> LoadedAudit:
        """Write the files and open the audit."""
        tables = self.write(folder, **recourse)
        return open_audit(parse_settings(tables, folder=folder, origin="audit.toml"))

    def write(self, folder: Path, **recourse: Any) -> dict[str, Any]:
        """Write the files, the derived columns left out of them; return the settings."""
        self._write_model(folder / "model.onnx")
        names = [name for name in FEATURES if name not in ("gap", "ratio")]
        rows = []
        for number, raw in enumerate(self.people):
            out = written_out(raw)
            cells = [repr(out[name]) for name in names]
            rows.append([f"P{number}", *cells, repr(raw["debt"]), repr(raw["score"]), raw["team"]])
        write_csv(folder / "nodes.csv", ["id", *names, "debt", "score", "team"], rows)
        ties = [[f"P{a}", f"P{b}", "loan"] for a, b in self.ties]
        write_csv(folder / "edges.csv", ["source", "target", "kind"], ties)
        return {
            "model": {"path": "model.onnx"},
            "graph": {
                "nodes": "nodes.csv",
                "edges": "edges.csv",
                "features": FEATURES,
                "encodings": ENCODINGS,
                "derived": DERIVED,
            },
            "decision": {"classes": ["no", "yes"], "favourable": ["yes"]},
            "groups": {"attributes": ["team"]},
            "recourse": {
                "attributes": list(self.rules),
                "conditions": [one.table for one in self.conditions],
                "not_protected": ["job", "school", "tenure", "income", "debt", "score", "children"],
                "max_changes": self.max_changes,
                "budget": 100_000,
                "draws": 3,
                "options": 3,
                **recourse,
            },
        }

    def _write_model(self, path: Path) -> None:
        """A model that refuses some people and not others, and is not too sure of it."""
        for attempt in range(200):
            sum_network(
                path,
                features=len(FEATURES),
                classes=2,
                seed=1000 * self.seed + attempt,
                head="softmax",
                scale=0.12,
            )
            answers = np.array(answers_of(session_of(path), self.people, self.ties))
            if 3 <= (answers < 0.5).sum() <= 7 and np.abs(answers - 0.5).mean() < 0.2:
                return
        raise AssertionError("no such model")


def session_of(path: Path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def answers_of(
    session: onnxruntime.InferenceSession,
    people: Sequence[Raw],
    ties: Sequence[tuple[int, int]],
) -> list[float]:
    """The probability of the favourable class for everybody, asked of the file itself."""
    rows = [written_out(raw) for raw in people]
    x = np.array([[row[name] for name in FEATURES] for row in rows], np.float32)
    arcs = [*ties, *((b, a) for a, b in ties)]
    ends = np.array(arcs, np.int64).reshape(-1, 2).T.copy()
    [answers] = session.run(None, {"x": x, "edge_index": ends})
    found: list[float] = answers[:, 1].tolist()
    return found


class Truth:
    """Everything that is true of one person's options."""

    def __init__(self, world: RawWorld, folder: Path, subject: int) -> None:
        self.world, self.subject = world, subject
        self.raw = world.people[subject]
        self._session = session_of(folder / "model.onnx")
        self.drops = [tie for tie in world.ties if subject in tie]
        self.changes = [change for rule in world.rules for change in self._changes(rule)]

    def _changes(self, rule: Mapping[str, Any]) -> list[Change]:
        own = self._categories(rule) if "step" not in rule else self._steps(rule)
        return [self._with_implied(rule, change) for change in own]

    def _categories(self, rule: Mapping[str, Any]) -> list[Change]:
        name, before = rule["name"], self.raw[rule["name"]]
        pairs = [
            (move["from"], move["to"], move.get("cost", rule.get("cost", 1.0)))
            if isinstance(move, dict)
            else (*move, rule.get("cost", 1.0))
            for move in rule.get("moves", ())
        ]
        if "moves" not in rule:
            cost = rule.get("cost", 1.0)
            pairs = [(before, to, cost) for to in rule["values"] if to != before]
        return [
            Change(attribute=name, values={name: to}, cost=cost)
            for start, to, cost in pairs
            if start == before
        ]

    def _steps(self, rule: Mapping[str, Any]) -> list[Change]:
        name, before = rule["name"], self.raw[rule["name"]]
        everyone = [raw[name] for raw in self.world.people]
        low, high = rule.get("min", min(everyone)), rule.get("max", max(everyone))
        ways = {"up": (1,), "down": (-1,), "any": (1, -1)}[rule.get("direction", "any")]
        found = []
        for way in ways:
            for number in range(1, ceil((max(everyone) - min(everyone) + 9) / rule["step"])):
                after = float(f"{before + way * number * rule['step']:.12g}")
                if low <= after <= high:
                    cost = number * rule.get("cost", 1.0)
                    if rule.get("cost_in") == "percentile":
                        passed = abs(self._percentile(name, after) - self._percentile(name, before))
                        cost = passed * rule.get("cost", 1.0)
                    found.append(
                        Change(
                            attribute=name, values={name: after}, cost=cost, further=way * number
                        )
                    )
        return found

    def _percentile(self, name: str, value: float) -> float:
        everyone: list[float] = [raw[name] for raw in self.world.people]
        below = sum(one < value for one in everyone)
        return float(100 * (below + everyone.count(value) / 2) / len(everyone))

    def _with_implied(self, rule: Mapping[str, Any], change: Change) -> Change:
        values, stopped = dict(change.values), False
        for implied in rule.get("implies", ()):
            name = implied["name"]
            own = next((one for one in self.world.rules if one["name"] == name), {})
            if "to" in implied:
                values[name] = implied["to"]
                pairs = [
                    (move["from"], move["to"]) if isinstance(move, dict) else tuple(move)
                    for move in own.get("moves", ())
                ]
                moved = self.raw[name] != implied["to"]
                stopped |= bool(pairs) and moved and (self.raw[name], implied["to"]) not in pairs
            else:
                steps = change.further or 1
                values[name] = float(f"{self.raw[name] + steps * implied['by']:.12g}")
                everyone = [raw[name] for raw in self.world.people]
                low, high = own.get("min", min(everyone)), own.get("max", max(everyone))
                stopped |= not low <= values[name] <= high
        return Change(
            attribute=change.attribute,
            values=values,
            cost=change.cost,
            further=change.further,
            stopped=stopped,
        )

    @cached_property
    def families(self) -> dict[str, int]:
        """Attributes that an implication links, directly or not, have one number."""
        number = {rule["name"]: place for place, rule in enumerate(self.world.rules)}
        for _ in self.world.rules:
            for rule in self.world.rules:
                linked = [rule["name"], *(one["name"] for one in rule.get("implies", ()))]
                least = min(number.get(name, 99) for name in linked)
                number |= dict.fromkeys(linked, least)
        return number

    @cached_property
    def possible(self) -> list[tuple[int, ...]]:
        """Every combination that the rules permit one by one; ties come before changes."""
        found = []
        count = len(self.drops)
        for size in range(1, self.world.max_changes + 1):
            for some in combinations(range(count + len(self.changes)), size):
                sets = [self.changes[place - count] for place in some if place >= count]
                names = [self.families[change.attribute] for change in sets]
                if len(set(names)) == len(names):
                    found.append(some)
        return found

    def sets(self, some: Sequence[int]) -> list[Change]:
        count = len(self.drops)
        return [self.changes[place - count] for place in some if place >= count]

    def after(self, some: Sequence[int]) -> Raw:
        raw = dict(self.raw)
        for change in self.sets(some):
            raw |= change.values
        return raw

    def is_stopped(self, some: Sequence[int]) -> bool:
        return any(change.stopped for change in self.sets(some))

    def is_broken(self, some: Sequence[int]) -> bool:
        """Whether a condition about something that changes does not hold afterwards."""
        raw = self.after(some)
        moved = {name for name in raw if raw[name] != self.raw[name]}
        return any(one.about & moved and not one.holds(raw) for one in self.world.conditions)

    @cached_property
    def permitted(self) -> list[tuple[int, ...]]:
        return [s for s in self.possible if not self.is_stopped(s) and not self.is_broken(s)]

    @cached_property
    def answers(self) -> dict[tuple[int, ...], float]:
        return {some: self.answer(some) for some in self.permitted}

    @cached_property
    def working(self) -> set[tuple[int, ...]]:
        return {some for some, answer in self.answers.items() if answer > 0.5}

    def answer(self, some: Sequence[int]) -> float:
        """The probability of the favourable class on the whole graph, after some changes."""
        gone = [self.drops[place] for place in some if place < len(self.drops)]
        people = [*self.world.people]
        people[self.subject] = self.after(some)
        ties = [tie for tie in self.world.ties if tie not in gone]
        return answers_of(self._session, people, ties)[self.subject]

    def cost(self, some: Sequence[int]) -> float:
        ties = sum(place < len(self.drops) for place in some)
        return ties + sum(change.cost for change in self.sets(some))

    def below(self, some: Sequence[int]) -> set[tuple[int, ...]]:
        """Everything that asks for less: changes left out, or fewer steps of a number."""
        count = len(self.drops)
        choices: list[list[int | None]] = []
        for place in some:
            lower: list[int | None] = [None, place]
            if place >= count:
                own = self.changes[place - count]
                lower += [
                    count + number
                    for number, other in enumerate(self.changes)
                    if other.attribute == own.attribute
                    and other.further * own.further > 0
                    and abs(other.further) < abs(own.further)
                ]
            choices.append(lower)
        found = {tuple(sorted(p for p in chosen if p is not None)) for chosen in product(*choices)}
        return found - {tuple(some), ()}


def raw_world(seed: int) -> RawWorld:
    """A random world of nine people."""
    random = np.random.default_rng(seed)

    def pick(values: Sequence[Any]) -> Any:
        return values[int(random.integers(len(values)))]

    people = tuple(
        {
            "job": pick(JOBS),
            "school": pick(SCHOOLS),
            "tenure": pick(TENURES),
            "income": pick((1.0, 2.0, 2.5, 4.0, 5.0)),
            "debt": pick((0.0, 0.5, 1.0, 2.0)),
            "score": pick((1.0, 2.0, 3.5, 4.0, 6.0)),
            "region": pick(REGIONS),
            "children": float(pick((0, 1, 2))),
            "team": "ab"[number % 2],
        }
        for number in range(9)
    )
    pairs = [tuple(sorted(random.choice(9, 2, replace=False).tolist())) for _ in range(11)]
    rules = [
        pick(
            (
                {"name": "job", "values": ["clerk", "boss"], "cost": 2.0},
                {
                    "name": "job",
                    "moves": [
                        ["none", "clerk"],
                        {"from": "clerk", "to": "boss", "cost": 0.7},
                        {"from": "boss", "to": "clerk", "cost": 3.0},
                    ],
                    "implies": [{"name": "tenure", "to": "new"}],
                },
            )
        ),
        {
            "name": "school",
            "values": ["middle", "high"],
            "cost": 1.3,
            "implies": pick(([], [{"name": "income", "by": 0.5}])),
        },
        pick(
            (
                {"name": "tenure", "moves": [["new", "some"], ["some", "old"], ["old", "new"]]},
                {"name": "tenure", "values": ["new", "old"], "cost": 0.4},
            )
        ),
        {
            "name": "income",
            "step": 1.0,
            "direction": "up",
            **pick(({"cost": 0.3}, {"cost": 0.01, "cost_in": "percentile"})),
            "implies": pick(([], [{"name": "debt", "by": -0.5}])),
        },
        {"name": "debt", "step": 0.5, "min": 0.0, "direction": pick(("down", "any"))},
        {"name": "score", "step": 1.0, "cost": 0.02, "cost_in": "percentile", "direction": "up"},
    ]
    chosen = [rule for rule in rules if random.random() < 0.65] or rules[:2]
    conditions = tuple(one for one in CONDITIONS if random.random() < 0.6)
    return RawWorld(
        people=people,
        ties=tuple(dict.fromkeys(pairs)),
        rules=tuple(chosen),
        conditions=conditions,
        max_changes=int(random.integers(1, 3)),
        seed=seed,
    )
