"""Recourse once more: slow, obvious, and straight from the definitions.

Nothing here is shared with the engine but the tables and settings a user would give and the model's
file. Permitted changes come from reading the rules one after the other, every combination of them
is one changed graph, written down from scratch, and every graph is one query on all of its nodes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import combinations, product
from math import ceil, exp, expm1, floor, isfinite, log, log1p, nan, sqrt, tanh
from pathlib import Path
from statistics import median
from typing import Any

import networkx as nx
import numpy as np
import onnxruntime

DENIED = (
    "family household marriage spouse partner parent child sibling relative kin guardian union "
    "religion church mosque synagogue temple faith congregation caste tribe ethnicity health "
    "medical doctor therapist lawyer"
)
Combination = frozenset[int]


@dataclass(frozen=True, kw_only=True)
class TieRow:
    """A row of the user's table of ties; the ends are places in the table of nodes."""

    source: int
    target: int
    kind: str
    weight: float = 1.0
    attributes: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class World:
    """The tables a user has: one row per person, one per tie, and perhaps new ties to offer."""

    ids: tuple[str, ...]
    columns: Mapping[str, tuple[float, ...]]
    rows: tuple[TieRow, ...]
    kinds: tuple[str, ...]
    directed: bool
    candidates: tuple[tuple[int, int, str], ...] | None = None

    @cached_property
    def hops(self) -> dict[int, dict[int, int]]:
        """How far apart two people are; ties are walked both ways."""
        drawing: nx.Graph[int] = nx.Graph()
        drawing.add_nodes_from(range(len(self.ids)))
        drawing.add_edges_from((row.source, row.target) for row in self.rows)
        return dict(nx.all_pairs_shortest_path_length(drawing))


@dataclass(frozen=True, kw_only=True)
class Move:
    """One change: rows dropped, a tie added, one moved, or an attribute set with what that implies.

    Several rows are dropped if a rule ends them `together`; `new` is the tie that a row moves to.
    `steps` is how many steps an attribute moves, with their sign; `values` are the new values of
    every attribute that moves, in the user's units.
    """

    do: str
    cost: float
    rows: tuple[int, ...] = ()
    ties: tuple[tuple[int, int], ...] = ()
    together: bool = False
    kind: str | None = None
    new: tuple[int, int] | None = None
    attribute: str | None = None
    steps: int = 0
    values: Mapping[str, float] = field(default_factory=dict)


def rounded(value: float) -> float:
    """Twelve significant digits: 0.1 + 0.2 is 0.3."""
    return float(f"{value:.12g}")


@cache
def is_denied(kind: str) -> bool:
    """Whether one of a kind's words is on the list of what is never suggested."""
    words = re.findall(r"[^\W\d_]+", kind.casefold())
    if {"political", "party"} <= set(words):
        return True
    denied = DENIED.split()
    return any(word in denied or word.removesuffix("s") in denied for word in words)


class Units:
    """The user's units of one attribute, and what the table holds for them."""

    def __init__(self, rule: Mapping[str, Any]) -> None:
        self._scale: float = rule.get("scale", 1.0)
        self._shift: float = rule.get("shift", 0.0)
        self._transform: str = rule.get("transform", "linear")

    def of(self, table: float) -> float:
        value = table * self._scale + self._shift
        match self._transform:
            case "log":
                return exp(value)
            case "log1p":
                return expm1(value)
            case _:
                return value

    def table(self, value: float) -> float:
        """What the graph would hold; not a number where there is no such value."""
        match self._transform:
            case "log":
                value = log(value) if value > 0 else nan
            case "log1p":
                value = log1p(value) if value > -1 else nan
        return (value - self._shift) / self._scale


class Policy:
    """What the settings permit, read straight from their text.

    `reach` is how many hops the model looks; None where nothing bounds it.
    """

    def __init__(self, world: World, settings: Mapping[str, Any], reach: int | None) -> None:
        self.world = world
        self.reach = reach
        recourse = settings.get("recourse", {})
        self.max_changes: int = recourse.get("max_changes", 3)
        self.never = set(recourse.get("never", ()))
        self.ties: list[dict[str, Any]] = recourse.get("ties") or [{"kind": "*", "allow": ["drop"]}]
        self.attributes: dict[str, dict[str, Any]] = {
            rule["name"]: rule for rule in recourse.get("attributes", ())
        }
        self.protected = set(settings.get("groups", {}).get("attributes", ()))

    def forbids(self, kind: str) -> bool:
        return is_denied(kind) or kind in self.never

    def covers(self, whose: str, subject: int, source: int, target: int) -> bool:
        """Whether a tie is one of those that a rule is about."""
        own = subject in (source, target)
        others = not own and all(self._within_reach(subject, end) for end in (source, target))
        match whose:
            case "own":
                return own
            case "outgoing":
                return subject == source if self.world.directed else own
            case "others":
                return others
            case _:
                return own or others

    def _within_reach(self, subject: int, node: int) -> bool:
        hops = self.world.hops[subject].get(node)
        return self.reach is None or (hops is not None and hops <= self.reach)

    def rule_for(self, subject: int, source: int, target: int, kind: str) -> dict[str, Any] | None:
        """The first rule that matches a tie; none for a kind that is never suggested."""
        return None if self.forbids(kind) else self._matching(subject, source, target, kind)

    def denied(self, subject: int) -> int:
        """How many ties could be dropped or moved if no kind were never suggested."""
        count = 0
        for row in self.world.rows:
            rule = self._matching(subject, row.source, row.target, row.kind)
            if rule is not None and self.forbids(row.kind):
                own = subject in (row.source, row.target)
                count += "drop" in rule["allow"] or (own and "move" in rule["allow"])
        return count

    def _matching(self, subject: int, source: int, target: int, kind: str) -> dict[str, Any] | None:
        if source == target:
            return None
        for rule in self.ties:
            if rule["kind"] in ("*", kind) and self.covers(
                rule.get("whose", "own"), subject, source, target
            ):
                return rule
        return None

    def moves(self, subject: int, *, whatever_follows: bool = False) -> list[Move]:
        """Every single change that is permitted to a subject.

        With `whatever_follows`, also those that only what they imply forbids.
        """
        sets = self._sets(subject, whatever_follows=whatever_follows)
        return [*self._drops(subject), *self._moves(subject), *self._adds(subject), *sets]

    def _drops(self, subject: int) -> Iterator[Move]:
        ended: dict[tuple[object, ...], list[int]] = {}
        for place, row in enumerate(self.world.rows):
            rule = self.rule_for(subject, row.source, row.target, row.kind)
            if rule is not None and "drop" in rule["allow"]:
                alone = () if rule.get("together") else (place,)
                ended.setdefault((self.ties.index(rule), row.kind, *alone), []).append(place)
        for places in ended.values():
            rows = [self.world.rows[place] for place in places]
            rule = self.rule_for(subject, rows[0].source, rows[0].target, rows[0].kind) or {}
            yield Move(
                do="drop",
                cost=rule.get("cost", 1.0),
                rows=tuple(places),
                ties=tuple((row.source, row.target) for row in rows),
                together=bool(rule.get("together")),
                kind=rows[0].kind,
            )

    def _moves(self, subject: int) -> Iterator[Move]:
        """Every own tie that a rule lets move, to every new tie that lies to the subject alike."""
        for place, row in enumerate(self.world.rows):
            rule = self.rule_for(subject, row.source, row.target, row.kind)
            if (
                rule is None
                or "move" not in rule["allow"]
                or subject not in (row.source, row.target)
            ):
                continue
            for source, target, kind in sorted(self._new_ties(subject)):
                alike = not self.world.directed or (source == subject) == (row.source == subject)
                if kind == row.kind and alike and not self.has_tie(source, target, kind):
                    yield Move(
                        do="move",
                        cost=rule.get("cost", 1.0),
                        rows=(place,),
                        ties=((row.source, row.target),),
                        kind=kind,
                        new=(source, target),
                    )

    def _adds(self, subject: int) -> Iterator[Move]:
        for source, target, kind in sorted(self._new_ties(subject)):
            rule = self.rule_for(subject, source, target, kind)
            if rule is not None and "add" in rule["allow"]:
                new = ((source, target),)
                yield Move(do="add", cost=rule.get("cost", 1.0), ties=new, kind=kind)

    def _new_ties(self, subject: int) -> set[tuple[int, int, str]]:
        """Ties of the subject that could be made; of an undirected one the subject comes first."""
        if self.world.candidates is not None:
            mine = {tie for tie in self.world.candidates if subject in tie[:2]}
            if self.world.directed:
                return mine
            return {(subject, a + b - subject, kind) for a, b, kind in mine}
        found = set()
        for other in range(len(self.world.ids)):
            for kind in self.world.kinds:
                for source, target in ((subject, other), (other, subject)):
                    rule = self.rule_for(subject, source, target, kind)
                    if rule is None or (source == other and not self.world.directed):
                        continue
                    near = self.world.hops[subject].get(other) == 2
                    if near or (
                        rule.get("to", "near") == "anyone"
                        and not self.has_tie(source, target, kind)
                    ):
                        found.add((source, target, kind))
        return found

    def has_tie(self, source: int, target: int, kind: str) -> bool:
        """Whether there is such a tie already."""
        ways = [(source, target)] if self.world.directed else [(source, target), (target, source)]
        return any((row.source, row.target) in ways and row.kind == kind for row in self.world.rows)

    def units(self, name: str) -> Units:
        return Units(self.attributes.get(name, {}))

    def current(self, name: str, subject: int) -> float:
        """What a person has, in the user's units."""
        return rounded(self.units(name).of(self.world.columns[name][subject]))

    @cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """The range of every attribute; where the rules are silent, what occurs in the graph."""
        found = {}
        for name in self.world.columns:
            rule = self.attributes.get(name, {})
            everyone = [self.current(name, node) for node in range(len(self.world.ids))]
            found[name] = rule.get("min", min(everyone)), rule.get("max", max(everyone))
        return found

    def _sets(self, subject: int, *, whatever_follows: bool) -> Iterator[Move]:
        for name, rule in self.attributes.items():
            low, high = self.bounds[name]
            before = self.current(name, subject)
            ways = {"up": [1], "down": [-1], "any": [1, -1]}[rule.get("direction", "any")]
            for way in ways:
                most = ceil((max(abs(high - before), abs(before - low))) / rule["step"]) + 1
                for steps in range(1, most + 1):
                    move = self._level(
                        subject, rule, way * steps, whatever_follows=whatever_follows
                    )
                    if move is not None:
                        yield move

    def _level(
        self, subject: int, rule: Mapping[str, Any], steps: int, *, whatever_follows: bool
    ) -> Move | None:
        """An attribute moved by some steps; None if that, or what it implies, is out of range."""
        name = rule["name"]
        before = self.current(name, subject)
        start, full = before, steps
        if rule.get("integer") and before != round(before):
            # The first step of a value that is not whole leads to the next whole number.
            start = float(ceil(before) if steps > 0 else floor(before))
            full = steps - 1 if steps > 0 else steps + 1
        after = rounded(start + full * rule["step"])
        values = {name: after}
        for implied in rule.get("implies", ()):
            other = implied["name"]
            values[other] = rounded(self.current(other, subject) + steps * implied["by"])
        for moved, value in values.items():
            if whatever_follows and moved != name:
                continue
            low, high = self.bounds[moved]
            if not low <= value <= high or not isfinite(self.units(moved).table(value)):
                return None
        return Move(
            do="set",
            cost=abs(steps) * rule.get("cost", 1.0),
            attribute=name,
            steps=steps,
            values=values,
        )

    @cached_property
    def linked(self) -> dict[str, int]:
        """The group of every attribute: those that an implication links move one at a time."""
        links: nx.Graph[str] = nx.Graph()
        links.add_nodes_from(self.attributes)
        for name, rule in self.attributes.items():
            links.add_edges_from((name, implied["name"]) for implied in rule.get("implies", ()))
        groups = enumerate(nx.connected_components(links))
        return {name: group for group, names in groups for name in names}

    def combinations(self, moves: Sequence[Move]) -> list[Combination]:
        """Every set of one to `max_changes` moves without a conflict, smaller ones first."""
        found = []
        for size in range(1, self.max_changes + 1):
            for some in combinations(range(len(moves)), size):
                names = [moves[place].attribute for place in some]
                groups = [self.linked[name] for name in names if name is not None]
                rows = [row for place in some for row in moves[place].rows]
                new = [
                    (move.kind, move.new or move.ties[0])
                    for move in (moves[place] for place in some)
                    if move.do in ("add", "move")
                ]
                if all(len({*each}) == len(each) for each in (groups, rows, new)):
                    found.append(frozenset(some))
        return found


@dataclass(frozen=True, kw_only=True)
class Form:
    """How a model's file wants to be asked, and what its makers declare of it."""

    inputs: str
    head: str
    dtype: str = "float32"
    normalised: bool = False


class Oracle:
    """Asks a model's file about one whole graph at a time."""

    def __init__(self, path: Path, form: Form, features: Sequence[str]) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
        self._form, self._features = form, features

    def probabilities(self, world: World, nodes: Sequence[int]) -> list[list[float]]:
        """A row of probabilities for some nodes of a graph; classes in the model's order."""
        feeds = self._feeds(world)
        if self._form.inputs == "target":
            every = [{**feeds, "target": np.array([node], np.int64)} for node in nodes]
            rows = [self._session.run(None, one)[0][0] for one in every]
        else:
            (raw,) = self._session.run(None, feeds)
            rows = [raw[node] for node in nodes]
        return [self._shares(row.astype(float).tolist()) for row in rows]

    def _feeds(self, world: World) -> dict[str, Any]:
        arcs = list(self._arcs(world))
        dtype = self._form.dtype
        ends = np.array([arc[:2] for arc in arcs], np.int64).reshape(-1, 2)
        feeds = {"x": np.array([world.columns[name] for name in self._features], dtype).T}
        if self._form.inputs == "dense":
            matrix = np.zeros((len(world.ids), len(world.ids)), dtype)
            for source, target in ends.tolist():
                matrix[target, source] += 1
            return feeds | {"adj": matrix}
        feeds["edge_index"] = ends.T.copy()
        match self._form.inputs:
            case "weight":
                feeds["edge_weight"] = np.array(self._weights(world, arcs), dtype)
            case "type":
                codes = [world.kinds.index(row.kind) for _, _, row in arcs if row is not None]
                feeds["edge_type"] = np.array(codes, np.int64)
            case "attributes":
                cells = [row.attributes for _, _, row in arcs if row is not None]
                feeds["edge_attr"] = np.array(cells, dtype).reshape(-1, 2)
        return feeds

    def _arcs(self, world: World) -> Iterator[tuple[int, int, TieRow | None]]:
        """The ways along which messages go; None for a self-loop that the model expects."""
        for row in world.rows:
            yield row.source, row.target, row
            if not world.directed and row.source != row.target:
                yield row.target, row.source, row
        if self._form.normalised:
            looped = {row.source for row in world.rows if row.source == row.target}
            yield from ((node, node, None) for node in range(len(world.ids)) if node not in looped)

    def _weights(self, world: World, arcs: Sequence[tuple[int, int, TieRow | None]]) -> list[float]:
        """The column of weights, or ones divided by the roots of both ends' degrees."""
        if not self._form.normalised:
            return [float(np.float32(row.weight)) for _, _, row in arcs if row is not None]
        degree = [0] * len(world.ids)
        for _, target, _ in arcs:
            degree[target] += 1
        return [1 / sqrt(degree[source] * degree[target]) for source, target, _ in arcs]

    def _shares(self, raw: list[float]) -> list[float]:
        match self._form.head:
            case "logits":
                powers = [exp(value - max(raw)) for value in raw]
                return [power / sum(powers) for power in powers]
            case "log_softmax":
                return [exp(value) for value in raw]
            case "sigmoid":
                return [1.0 - raw[0], raw[0]]
            case "score":
                return [(1 - tanh(raw[0] / 2)) / 2, (1 + tanh(raw[0] / 2)) / 2]
            case _:
                return raw


def changed(policy: Policy, subject: int, moves: Sequence[Move]) -> World:
    """The whole graph with some changes made, written down from scratch."""
    world = policy.world
    dropped = {row for move in moves for row in move.rows}
    rows = [row for place, row in enumerate(world.rows) if place not in dropped]
    columns = {name: list(values) for name, values in world.columns.items()}
    for move in moves:
        if move.do in ("add", "move") and move.kind is not None:
            rows.append(new_row(world, move.new or move.ties[0], move.kind))
        for name, value in move.values.items():
            columns[name][subject] = policy.units(name).table(value)
    return replace(
        world,
        rows=tuple(rows),
        columns={name: tuple(values) for name, values in columns.items()},
    )


def new_row(world: World, tie: tuple[int, int], kind: str) -> TieRow:
    """A tie as those of its kind are in the middle: the median weight and attributes."""
    alike = [row for row in world.rows if row.kind == kind]
    cells = zip(*(row.attributes for row in alike), strict=True)
    return TieRow(
        source=tie[0],
        target=tie[1],
        kind=kind,
        weight=median(row.weight for row in alike),
        attributes=tuple(median(column) for column in cells),
    )


class BruteForce:
    """Everything that is true of one subject's recourse."""

    def __init__(
        self, policy: Policy, oracle: Oracle, favourable: Sequence[int], subject: int
    ) -> None:
        self.policy, self.subject = policy, subject
        self._oracle, self._favourable = oracle, favourable
        self.moves = policy.moves(subject)

    @cached_property
    def combinations(self) -> list[Combination]:
        return self.policy.combinations(self.moves)

    @cached_property
    def possible(self) -> int:
        """How many combinations there are if nobody looks at what else they move."""
        moves = self.policy.moves(self.subject, whatever_follows=True)
        return len(self.policy.combinations(moves))

    @cached_property
    def answers(self) -> dict[Combination, list[float]]:
        """The subject's probabilities after every combination."""
        return {some: self.answer(some) for some in self.combinations}

    @cached_property
    def now(self) -> list[float]:
        """The subject's probabilities as things are."""
        return self.answer(frozenset())

    def answer(self, some: Combination) -> list[float]:
        [row] = self._oracle.probabilities(self._changed(some), [self.subject])
        return row

    def everyone(self, some: Combination) -> list[list[float]]:
        """Every node's probabilities after a combination."""
        people = range(len(self.policy.world.ids))
        return self._oracle.probabilities(self._changed(some), people)

    def _changed(self, some: Combination) -> World:
        return changed(self.policy, self.subject, [self.moves[place] for place in sorted(some)])

    def margin(self, shares: Sequence[float]) -> float:
        """How far the best favourable class is ahead of the best other one."""
        best = max(shares[place] for place in self._favourable)
        return best - max(p for place, p in enumerate(shares) if place not in self._favourable)

    def is_favourable(self, shares: Sequence[float]) -> bool:
        return int(np.argmax(shares)) in self._favourable

    @cached_property
    def least_margin(self) -> float:
        """How near anything that matters comes to the edge between two decisions."""
        rows = [self.now] if self.is_favourable(self.now) else [self.now, *self.answers.values()]
        return min(abs(self.margin(shares)) for shares in rows)

    @cached_property
    def working(self) -> set[Combination]:
        return {some for some in self.combinations if self.is_favourable(self.answers[some])}

    @cached_property
    def minimal(self) -> set[Combination]:
        """Working combinations of which no part, and nothing with a lower level, works."""
        return {some for some in self.working if not self.working & self.below(some)}

    def cost(self, some: Combination) -> float:
        return sum(self.moves[place].cost for place in some)

    def below(self, some: Combination) -> set[Combination]:
        """Every combination that asks for less: moves left out, or fewer steps the same way."""
        choices = [(None, place, *self._fewer_steps(place)) for place in some]
        smaller = {frozenset(p for p in chosen if p is not None) for chosen in product(*choices)}
        return smaller - {some, frozenset()}

    def _fewer_steps(self, place: int) -> list[int]:
        move = self.moves[place]
        return [
            other
            for other, lower in enumerate(self.moves)
            if lower.attribute is not None
            and lower.attribute == move.attribute
            and lower.steps * move.steps > 0
            and abs(lower.steps) < abs(move.steps)
        ]
