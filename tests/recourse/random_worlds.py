"""Random small worlds: people, ties, policies, and the files of an audit about them."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import log, log1p
from pathlib import Path
from typing import Any

import numpy as np

from recourse_audit.audit.load import LoadedAudit, open_audit
from recourse_audit.settings import parse_settings
from tests.onnx_models import sum_network
from tests.recourse.brute_force import BruteForce, Form, Oracle, Policy, TieRow, World, is_denied

FEATURES = ("income", "savings", "debt", "cards", "ratio", "age")
PROTECTED = ("gender", "age")
KINDS = (
    ("family", "loan", "payment"),
    ("loan", "payment"),
    ("Trade Unions", "co-worker", "loan"),
    ("tie",),
)
ALLOWED: tuple[list[str], ...] = (["drop"], ["drop", "add"], ["drop", "add"], ["add"], [])
CLASSES = ("refused", "granted", "deferred")
AMPLE = 100_000
# In worlds with such numbers, whatever a rule allows besides, own ties may move.
MOVING = 1000
MOST_COMBINATIONS = 600
# What a rule about each attribute says of its units, and what it may say of steps and range.
UNITS: dict[str, dict[str, Any]] = {
    "income": {"scale": 1000.0, "shift": 3000.0, "unit": "EUR"},
    "savings": {"scale": 4.0, "shift": 7.0, "transform": "log1p"},
    "debt": {},
    "cards": {"integer": True, "scale": 2.0, "shift": 3.0},
    "ratio": {"transform": "log", "scale": -1.0, "shift": 0.5},
}
STEPS: dict[str, tuple[float, ...]] = {
    "income": (500, 1250.5),
    "savings": (900,),
    "debt": (0.1, 0.25),
    "cards": (1, 2),
    "ratio": (0.6,),
}
RANGES: dict[str, tuple[dict[str, float], ...]] = {
    "income": ({}, {"min": 1000}, {"max": 4500.25}, {"min": 2000, "max": 6000}),
    "savings": ({}, {"max": 6000}, {"min": 0, "max": 3000}),
    "debt": ({}, {"min": -0.3}, {"min": -0.2, "max": 0.9}),
    "cards": ({}, {"min": 0}, {"min": 1, "max": 8}),
    "ratio": ({}, {"min": 0.1, "max": 3}),
}
# What one step of another attribute may imply: in the units of a rule, and without a rule.
IMPLIED = {
    "income": (-300, 0.2),
    "savings": (250, 0.1),
    "debt": (-0.05, 0.05),
    "cards": (1, -0.5),
    "ratio": (0.2, -0.3),
}


@dataclass(frozen=True, kw_only=True)
class Network:
    """A model as it is written, as the reference asks it, and as the settings declare it."""

    form: Form
    classes: int = 2
    layers: int = 2
    scale: float = 1.5
    trap: str | None = None
    declared: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reach(self) -> int | None:
        """How many hops away a change may reach a person."""
        return None if self.trap == "batch" else self.layers

    def write(self, path: Path, seed: int) -> Path:
        return sum_network(
            path,
            features=len(FEATURES),
            classes=self.classes,
            layers=self.layers,
            seed=seed,
            form=self.form.inputs,
            head=self.form.head,
            dtype=self.form.dtype,
            trap=self.trap,
            scale=self.scale,
        )


NETWORKS = {
    "sum": Network(form=Form(inputs="edges", head="softmax")),
    "gcn": Network(
        form=Form(inputs="weight", head="log_softmax", normalised=True),
        scale=4.0,
        declared={"self_loops": "add", "normalisation": "symmetric"},
    ),
    "three": Network(form=Form(inputs="edges", head="logits"), classes=3),
    "sigmoid": Network(form=Form(inputs="edges", head="sigmoid")),
    "weight": Network(form=Form(inputs="weight", head="score", dtype="float64")),
    "type": Network(form=Form(inputs="type", head="logits"), classes=3),
    "attributes": Network(form=Form(inputs="attributes", head="softmax"), scale=3.0),
    "dense": Network(form=Form(inputs="dense", head="softmax"), layers=1),
    "target": Network(form=Form(inputs="target", head="logits"), layers=3),
    "whole": Network(form=Form(inputs="edges", head="logits"), trap="batch"),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A world, a model for it, and the tables of an `audit.toml` but for its files."""

    world: World
    network: Network
    settings: Mapping[str, Any]
    seed: int

    def policy(self) -> Policy:
        return Policy(self.world, self.settings, self.network.reach)

    @property
    def favourable(self) -> list[int]:
        decision = self.settings["decision"]
        return [decision["classes"].index(name) for name in decision["favourable"]]

    def write(self, folder: Path) -> dict[str, Any]:
        """Write the files, and return the tables that name them."""
        self.network.write(folder / "model.onnx", self.seed)
        return write_tables(folder, self.world, self.settings, self.network.declared)

    def open(self, folder: Path, **recourse: Any) -> LoadedAudit:
        """Open the audit, with some recourse settings replaced."""
        return opened(folder, self.write(folder), **recourse)

    def brute_force(self, folder: Path) -> list[BruteForce]:
        """The truth about every person."""
        oracle = Oracle(folder / "model.onnx", self.network.form, FEATURES)
        policy = self.policy()
        people = range(len(self.world.ids))
        return [BruteForce(policy, oracle, self.favourable, person) for person in people]


def opened(folder: Path, tables: Mapping[str, Any], **recourse: Any) -> LoadedAudit:
    tables = {**tables, "recourse": {**tables.get("recourse", {}), **recourse}}
    return open_audit(parse_settings(tables, folder=folder, origin="audit.toml"))


def write_tables(
    folder: Path, world: World, settings: Mapping[str, Any], declared: Mapping[str, Any]
) -> dict[str, Any]:
    """Write nodes, ties and candidates; return the settings that name them."""
    people = [
        [name, *(repr(world.columns[column][place]) for column in FEATURES), "fm"[place % 2]]
        for place, name in enumerate(world.ids)
    ]
    write_csv(folder / "nodes.csv", ["id", *FEATURES, "gender"], people)
    names = [f"a{number}" for number in range(len(world.rows[0].attributes) if world.rows else 0)]
    ties = [
        [world.ids[row.source], world.ids[row.target], row.kind, row.weight, *row.attributes]
        for row in world.rows
    ]
    write_csv(folder / "edges.csv", ["source", "target", "kind", "weight", *names], ties)
    tables: dict[str, Any] = {
        **settings,
        "model": {"path": "model.onnx", **declared},
        "graph": {
            "nodes": "nodes.csv",
            "edges": "edges.csv",
            "features": list(FEATURES),
            "edge_attributes": names,
            "directed": world.directed,
            "kinds": list(world.kinds),
        },
    }
    if world.candidates is not None:
        new = [[world.ids[a], world.ids[b], kind] for a, b, kind in world.candidates]
        write_csv(folder / "candidates.csv", ["source", "target", "kind"], new)
        tables["recourse"] = {**tables["recourse"], "candidates": "candidates.csv"}
    return tables


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def toml(tables: Mapping[str, Any]) -> str:
    """The text of an `audit.toml`, a line a key."""
    lines = []
    for section, keys in tables.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {_inline(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_inline(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_inline(inner) for inner in value) + "]"
    return json.dumps(value)


@cache
def random_case(name: str, number: int) -> Case:
    """Draw a world and a policy for a network; small enough to try every combination."""
    network = NETWORKS[name]
    seed = 1000 * list(NETWORKS).index(name) + number
    random = np.random.default_rng(seed)
    world = random_world(random)
    recourse = random_recourse(random, world, network)
    if number >= MOVING:
        recourse["ties"] = [may_move(rule) for rule in recourse["ties"]]
    classes = CLASSES[: network.classes]
    favourable = random.permutation(classes)[: 1 if random.random() < 0.7 else len(classes) - 1]
    case = Case(
        world=world,
        network=network,
        seed=seed,
        settings={
            "decision": {"classes": list(classes), "favourable": favourable.tolist()},
            "groups": {"attributes": list(PROTECTED)},
            "search": {"max_nodes": int(random.integers(2, 4))},
            "recourse": {**recourse, "budget": AMPLE, "draws": int(random.choice([0, 3]))},
        },
    )
    return with_max_changes(case, int(random.integers(1, 5)))


def with_max_changes(case: Case, most: int) -> Case:
    """Lower `max_changes` until nobody has too many combinations."""
    recourse = {**case.settings["recourse"], "max_changes": most}
    smaller = replace(case, settings={**case.settings, "recourse": recourse})
    policy = smaller.policy()
    for person in range(len(case.world.ids)):
        moves = policy.moves(person)
        if most > 1 and (len(moves) > 60 or len(policy.combinations(moves)) > MOST_COMBINATIONS):
            return with_max_changes(case, most - 1)
    return smaller


def random_world(random: np.random.Generator) -> World:
    """Five to fourteen people with parallel ties, self-loops, and somebody without ties."""
    count = int(random.integers(5, 15))
    kinds = KINDS[int(random.integers(len(KINDS)))]
    directed = bool(random.random() < 0.5)
    tied = count - int(random.random() < 0.5)
    pairs = random.integers(tied, size=(int(random.integers(count // 2, 3 * count // 2)), 2))
    ends = [(int(a), int(b)) for a, b in pairs if a != b]
    again = [ends[int(place)] for place in random.integers(len(ends), size=2)] if ends else []
    ends += [*again[:1], *((b, a) for a, b in again[1:])]
    if random.random() < 0.4:
        ends += [(int(node), int(node)) for node in random.integers(count, size=2)]
    rows = [
        TieRow(
            source=a,
            target=b,
            kind=str(random.choice(kinds)),
            weight=float(random.choice([0.5, 1.0, 1.5, 3.0])),
            attributes=tuple(random.choice([0.25, 0.5, 1.0], size=2).tolist()),
        )
        for a, b in ends
    ]
    rows = list({(row.source, row.target, row.kind): row for row in rows}.values())
    if not directed:
        # Parallel ties of one kind cannot be told apart in an option, and have their own test.
        rows = list({(*sorted((r.source, r.target)), r.kind): r for r in rows}.values())
    for kind in kinds:  # every kind occurs, so that there is a median to take
        if all(row.kind != kind for row in rows):
            rows.append(TieRow(source=0, target=1, kind=kind, weight=2.0, attributes=(0.5, 1.0)))
    return World(
        ids=tuple(f"p-{number}" for number in range(count)),
        columns=random_columns(random, count),
        rows=tuple(rows),
        kinds=kinds,
        directed=directed,
        candidates=random_candidates(random, rows, kinds, count) if random.random() < 0.3 else None,
    )


def random_columns(random: np.random.Generator, count: int) -> dict[str, tuple[float, ...]]:
    """What the table holds; `cards` are halves of whole numbers, but for a few."""
    cards = random.integers(-3, 4, size=count) / 2
    cards[random.random(count) < 0.15] += 0.2
    drawn = {
        "income": random.normal(size=count).round(2),
        "savings": np.array([log1p(u) / 4 - 1.75 for u in random.uniform(0, 5000, count)]).round(3),
        "debt": random.uniform(-0.5, 0.5, count).round(2),
        "cards": cards,
        "ratio": np.array([0.5 - log(u) for u in random.uniform(0.2, 4, count)]).round(3),
        "age": random.uniform(-1, 1, count).round(2),
    }
    return {name: tuple(values.tolist()) for name, values in drawn.items()}


def random_candidates(
    random: np.random.Generator, rows: Sequence[TieRow], kinds: Sequence[str], count: int
) -> tuple[tuple[int, int, str], ...]:
    """Ties that could be made between people who have none of that kind."""
    there = {(frozenset((row.source, row.target)), row.kind) for row in rows}
    found = {}
    for a, b in random.integers(count, size=(2 * count, 2)).tolist():
        key = (frozenset((a, b)), str(random.choice(kinds)))
        if a != b and key not in there:
            found[key] = (a, b, key[1])
    return tuple(found.values())


def random_recourse(random: np.random.Generator, world: World, network: Network) -> dict[str, Any]:
    recourse: dict[str, Any] = {"options": int(random.integers(1, 5))}
    if random.random() < 0.2:
        recourse["never"] = [str(random.choice(world.kinds))]
    never = recourse.get("never", [])
    rules = [random_tie_rule(random, world, network, never) for _ in range(random.integers(4))]
    recourse["ties"] = without_shadowed(rules, directed=world.directed)
    names = random.permutation(list(UNITS))[: random.choice([0, 1, 1, 2, 3])].tolist()
    rules = [random_attribute_rule(random, name, names) for name in names]
    recourse["attributes"] = [without_contradictions(rule, rules) for rule in rules]
    recourse["not_protected"] = list(UNITS)  # in small tables anything may seem to follow
    return recourse


def without_contradictions(
    rule: dict[str, Any], rules: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Leave out what would move another attribute against its own rule."""
    directions = {one["name"]: one["direction"] for one in rules}
    steps = {"up": [1], "down": [-1], "any": [1, -1]}[rule["direction"]]
    kept = [
        one
        for one in rule.get("implies", [])
        if not any(
            directions.get(one["name"], "any") == ("down" if step * one["by"] > 0 else "up")
            for step in steps
        )
    ]
    return {**rule, "implies": kept} if "implies" in rule else rule


def random_tie_rule(
    random: np.random.Generator, world: World, network: Network, never: Sequence[str]
) -> dict[str, Any]:
    kind = str(random.choice([*world.kinds, "*"]))
    whose = ["own", "own", "outgoing", "others", "any"][int(random.integers(5))]
    if network.reach is None and whose in ("others", "any"):
        whose = "own"  # nothing bounds the reach of this model
    allow: list[str] = ALLOWED[int(random.integers(len(ALLOWED)))]
    if is_denied(kind) or kind in never:
        allow = []
    if whose == "others":
        allow = [do for do in allow if do == "drop"]
    rule: dict[str, Any] = {"kind": kind, "whose": whose, "allow": allow}
    rule["cost"] = float(random.choice([0.0, 0.5, 1.0, 2.5]))
    if random.random() < 0.5:
        rule["to"] = str(random.choice(["near", "anyone"]))
    if "drop" in allow and whose in ("own", "outgoing") and rule["cost"] in (0.5, 2.5):
        rule["together"] = True
    if random.random() < 0.3:
        rule["reason"] = "as the branch manager said"
    return rule


def may_move(rule: dict[str, Any]) -> dict[str, Any]:
    """A rule by which ties may also move, and by which nothing ends together; some only move."""
    if rule["whose"] == "others" or not rule["allow"]:
        return rule
    alone = {key: value for key, value in rule.items() if key != "together"}
    allow = ["move"] if rule["allow"] == ["drop"] else [*rule["allow"], "move"]
    return {**alone, "allow": allow}


def without_shadowed(rules: Sequence[dict[str, Any]], *, directed: bool) -> list[dict[str, Any]]:
    """Leave out rules that could never match, which are a contradiction."""
    kept: list[dict[str, Any]] = []
    for rule in rules:
        if not any(shadows(earlier, rule, directed=directed) for earlier in kept):
            kept.append(rule)
    return kept


def shadows(earlier: Mapping[str, Any], rule: Mapping[str, Any], *, directed: bool) -> bool:
    """Whether an earlier rule takes every tie that a later one would."""
    wider = {"own": {"own", "outgoing"}, "outgoing": {"outgoing"}, "others": {"others"}}
    if not directed:
        wider["outgoing"] = {"own", "outgoing"}
    wider["any"] = {"own", "outgoing", "others", "any"}
    return earlier["kind"] in ("*", rule["kind"]) and rule["whose"] in wider[earlier["whose"]]


def random_attribute_rule(
    random: np.random.Generator, name: str, ruled: Sequence[str]
) -> dict[str, Any]:
    ranges, steps = RANGES[name], STEPS[name]
    rule = {
        "name": name,
        "direction": str(random.choice(["up", "down", "any"])),
        "step": steps[int(random.integers(len(steps)))],
        "cost": float(random.choice([0.1, 0.5, 1.0])),
        **UNITS[name],
        **ranges[int(random.integers(len(ranges)))],
    }
    others = [other for other in UNITS if other != name]
    if random.random() < 0.4:
        other = str(random.choice(others))
        by = IMPLIED[other][0 if other in ruled else 1]
        rule["implies"] = [{"name": other, "by": by * int(random.choice([1, -1]))}]
    return rule
