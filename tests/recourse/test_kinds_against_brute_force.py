"""Over several kinds of nodes, options and certificates are what trying every change says they are.

Models are PyG's own exports; every change is written down as a table of ties, from which both
directions of each relation are made anew, and put to onnxruntime as one whole graph.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import exp
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from recourse_audit.audit.load import LoadedAudit, open_audit
from recourse_audit.audit.report import explain
from recourse_audit.graph.columns import to_strings
from recourse_audit.records.recourse import Action, MoveAction, Option, Recourse, TieAction
from recourse_audit.settings import parse_settings
from tests.cases import long_after
from tests.model.kind_files import settings_for
from tests.search.test_kinds_against_reference import KindOracle, World, random_world

WORKS_AT, RECOMMENDS = range(2)
NAMES = ("works_at", "recommends")
KNIFE_EDGE = 1e-5
MOST = 2
Row = tuple[int, int, int]
Rules = list[dict[str, Any]]
POLICIES: tuple[Rules, ...] = (
    [
        {"kind": "works_at", "allow": ["move"], "cost": 2.0},
        {"kind": "recommends", "allow": ["drop", "add"], "whose": "outgoing"},
    ],
    [
        {"to_kind": "employer", "allow": ["drop", "add", "move"], "to": "anyone", "cost": 1.5},
        {"to_kind": "person", "allow": ["drop"]},
    ],
    [{"kind": "*", "allow": ["drop", "move"], "to": "anyone"}],
    [
        {"kind": "recommends", "allow": ["move", "add"], "to": "near"},
        {"kind": "*", "allow": ["add", "move"], "to": "near", "cost": 0.5},
    ],
)
SEEDS = range(16)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A row of the table of ties that ends, one that is new, or both: then the tie moves."""

    cost: float
    old: int | None = None
    new: Row | None = None


class Truth:
    """Everything that is true of one subject's options, found by trying all of it."""

    def __init__(self, world: World, rules: Rules, oracle: KindOracle, subject: int) -> None:
        self.world, self.subject = world, subject
        self._rules, self._oracle = rules, oracle
        self.changes = [*self._changes()]

    def _rule(self, kind: int, far: int, *, outward: bool) -> dict[str, Any]:
        """The first rule that matches a tie of the subject, or one that allows nothing."""
        far_kind = "person" if far < self.world.people else "employer"
        for rule in self._rules:
            if rule.get("kind", "*") not in ("*", NAMES[kind]):
                continue
            if rule.get("to_kind", far_kind) == far_kind and (
                outward or rule.get("whose", "own") != "outgoing"
            ):
                return rule
        return {"allow": []}

    def _new(self, kind: int, *, outward: bool) -> Iterator[Row]:
        """Ties of the subject that could be made."""
        hops = dict(self._distances)
        for far in self.world.drawing:
            is_person = far < self.world.people
            if far == self.subject or is_person != (kind == RECOMMENDS):
                continue
            row = (kind, self.subject, far) if outward else (kind, far, self.subject)
            near = hops.get(far) in ((2,) if is_person else (2, 3))
            anyone = self._rule(kind, far, outward=outward).get("to", "near") == "anyone"
            if row not in self.world.ties_by_relation and (near or anyone):
                yield row

    @cached_property
    def _distances(self) -> dict[int, int]:
        return dict(nx.single_source_shortest_path_length(self.world.drawing, self.subject))

    def _changes(self) -> Iterator[Change]:
        for place, (kind, a, b) in enumerate(self.world.ties_by_relation):
            if self.subject in (a, b):
                outward = a == self.subject
                rule = self._rule(kind, b if outward else a, outward=outward)
                if "drop" in rule["allow"]:
                    yield Change(cost=rule.get("cost", 1.0), old=place)
                if "move" in rule["allow"]:
                    for new in self._new(kind, outward=outward):
                        yield Change(cost=rule.get("cost", 1.0), old=place, new=new)
        for kind, outward in ((WORKS_AT, True), (RECOMMENDS, True), (RECOMMENDS, False)):
            for new in self._new(kind, outward=outward):
                rule = self._rule(kind, new[2] if outward else new[1], outward=outward)
                if "add" in rule["allow"]:
                    yield Change(cost=rule.get("cost", 1.0), new=new)

    @cached_property
    def combinations(self) -> list[tuple[Change, ...]]:
        every = []
        for size in range(1, MOST + 1):
            for chosen in combinations(self.changes, size):
                old = [change.old for change in chosen if change.old is not None]
                new = [change.new for change in chosen if change.new is not None]
                if len({*old}) == len(old) and len({*new}) == len(new):
                    every.append(chosen)
        return every

    def after(self, chosen: Sequence[Change]) -> tuple[Row, ...]:
        """The table of ties after some changes."""
        gone = {change.old for change in chosen}
        rows = [row for place, row in enumerate(self.world.ties_by_relation) if place not in gone]
        return (*rows, *(change.new for change in chosen if change.new is not None))

    def margins(self, rows: tuple[Row, ...]) -> dict[int, float]:
        """How far the favourable class is ahead for everybody, on the whole graph."""
        world = replace(self.world, ties_by_relation=rows)
        answers = self._oracle.log_probabilities(world, sorted(self.world.drawing), world.ties)
        return {person: exp(row[1]) - exp(row[0]) for person, row in answers.items()}

    @cached_property
    def now(self) -> dict[int, float]:
        return self.margins(self.world.ties_by_relation)

    @cached_property
    def answers(self) -> list[float]:
        return [self.margins(self.after(chosen))[self.subject] for chosen in self.combinations]

    @property
    def least_margin(self) -> float:
        own = self.now[self.subject]
        return min(map(abs, [own, *([] if own > 0 else self.answers)]))


def open_world(world: World, name: str, rules: Rules, **recourse: Any) -> LoadedAudit:
    numbered = world.for_engine()
    names = [name_of(world, node) for node in range(numbered.node_count)]
    tables = {
        "model": settings_for(name).model_dump(mode="json", exclude_unset=True),
        "decision": {"subject": "person", "classes": ["no", "yes"], "favourable": ["yes"]},
        "search": {"max_nodes": 2},
        "recourse": {"ties": rules, "max_changes": MOST, "draws": 2, "compare": 0.05, **recourse},
    }
    settings = parse_settings(tables, folder=Path(), origin="audit.toml", graph_in_memory=True)
    return open_audit(settings, graph=replace(numbered, ids=to_strings(names)))


def name_of(world: World, node: int) -> str:
    return f"person:{node}" if node < world.people else f"employer:{node - world.people}"


def number_of(world: World, name: str) -> int:
    kind, _, number = name.partition(":")
    return int(number) + (world.people if kind == "employer" else 0)


def with_actions(world: World, subject: int, actions: Sequence[Action]) -> tuple[Row, ...]:
    """The table of ties if a person does literally what an option says."""
    rows = list(world.ties_by_relation)
    for action in actions:
        assert isinstance(action, TieAction | MoveAction)
        kind = NAMES.index(action.kind)
        a, b = (number_of(world, end) for end in action.tie)
        if action.do != "add":
            rows.remove((kind, a, b))
        if isinstance(action, MoveAction):
            to = number_of(world, action.to)
            rows.append((kind, subject, to) if a == subject else (kind, to, subject))
        elif action.do == "add":
            rows.append((kind, a, b))
    return tuple(rows)


@pytest.mark.parametrize("seed", long_after(4, SEEDS))
@pytest.mark.parametrize("name", ["flat", "gcn", "rgcn"])
def test_recourse_over_kinds_equals_the_brute_force(name: str, seed: int) -> None:
    world, rules = random_world(1000 + seed), POLICIES[seed % len(POLICIES)]
    oracle = KindOracle(name)
    audit = open_world(world, name, rules)
    reports = explain(audit, [name_of(world, person) for person in range(world.people)])
    for person, report in enumerate(reports):
        truth = Truth(world, rules, oracle, person)
        if truth.least_margin < KNIFE_EDGE:
            continue
        recourse = report.recourse
        assert recourse is not None
        assert not recourse.error
        if truth.now[person] > 0:
            assert recourse.status == "already_favourable"
            continue
        assert_same(truth, recourse)


def assert_same(truth: Truth, recourse: Recourse) -> None:
    certificate, changes = recourse.certificate, truth.changes
    assert certificate.possible == len(truth.combinations)
    permitted = certificate.permitted
    assert (permitted.drop, permitted.add, permitted.move) == (
        sum(change.new is None for change in changes),
        sum(change.old is None for change in changes),
        sum(change.new is not None and change.old is not None for change in changes),
    )
    working = {
        chosen: margin
        for chosen, margin in zip(truth.combinations, truth.answers, strict=True)
        if margin > 0
    }
    if not working:
        assert (recourse.status, recourse.options) == ("certified_infeasible", ())
        assert certificate.tried == certificate.possible
        return
    assert recourse.status == "verified"
    ends = {tuple(sorted(truth.after(chosen))): sum(c.cost for c in chosen) for chosen in working}
    assert recourse.options[0].cost == pytest.approx(
        min(sum(change.cost for change in chosen) for chosen in working)
    )
    for option in recourse.options:
        rows = with_actions(truth.world, truth.subject, option.actions)
        assert tuple(sorted(rows)) in ends
        assert_option(truth, option, rows)


def assert_option(truth: Truth, option: Option, rows: tuple[Row, ...]) -> None:
    """The option flips the decision on the whole graph, and changes whose decisions it says."""
    after = truth.margins(rows)
    assert option.margin == pytest.approx(after[truth.subject], abs=2e-5)
    for action in option.actions:
        if isinstance(action, MoveAction):
            assert action.shared_by == count_sharing(truth.world, action)
    if min(map(abs, [*truth.now.values(), *after.values()])) < KNIFE_EDGE:
        return
    flips = Counter[tuple[bool, str]]()
    for person, margin in after.items():
        if person != truth.subject and (margin > 0) != (truth.now[person] > 0):
            flips[margin > 0, name_of(truth.world, person)] += 1
    assert {*option.side_effects.to_favourable} == {name for good, name in flips if good}
    assert {*option.side_effects.to_unfavourable} == {name for good, name in flips if not good}


def count_sharing(world: World, action: MoveAction) -> int | None:
    to, kind = number_of(world, action.to), NAMES.index(action.kind)
    if to < world.people:
        return None
    return len({a for number, a, b in world.ties_by_relation if (number, b) == (kind, to)})


@pytest.mark.parametrize(("seeds", "least"), [(SEEDS[:8], 3), (SEEDS, 6)])
def test_the_random_worlds_hold_moves_that_work_and_people_for_whom_nothing_does(
    seeds: range, least: int
) -> None:
    kinds = Counter[str]()
    for seed in seeds:
        world, rules = random_world(1000 + seed), POLICIES[seed % len(POLICIES)]
        oracle = KindOracle("flat")
        for person in range(world.people):
            truth = Truth(world, rules, oracle, person)
            if truth.now[person] > 0:
                continue
            good = [c for c, m in zip(truth.combinations, truth.answers, strict=True) if m > 0]
            kinds["nothing"] += bool(truth.changes) and not good
            kinds["move"] += any(c.old is not None and c.new is not None for g in good for c in g)
            kinds["refused"] += 1
    assert kinds["nothing"] >= least
    assert kinds["move"] >= least


@pytest.mark.parametrize("seeds", long_after(1, [SEEDS[:4], SEEDS[4:12]]))
@pytest.mark.parametrize("name", ["rgcn", pytest.param("flat", marks=pytest.mark.long)])
def test_a_move_typed_by_hand_is_answered_like_the_brute_force(name: str, seeds: range) -> None:
    tried = 0
    for seed in seeds:
        world, rules = random_world(1000 + seed), POLICIES[2]
        oracle, audit = KindOracle(name), open_world(world, name, rules, budget=1, draws=0)
        for person in range(world.people):
            truth = Truth(world, rules, oracle, person)
            moves = [c for c in truth.changes if c.new is not None and c.old is not None]
            for change in moves[:1]:
                assert change.old is not None
                assert change.new is not None
                kind, a, b = world.ties_by_relation[change.old]
                if world.ties_by_relation.count((kind, a, b)) > 1:
                    continue  # which of them is meant cannot be said
                to = change.new[2] if change.new[1] == person else change.new[1]
                text = f"move {name_of(world, a)}-{name_of(world, b)}:{NAMES[kind]} to "
                [report] = explain(audit, [str(person)], what_if=[text + name_of(world, to)])
                assert report.what_if is not None
                assert report.what_if.margin == pytest.approx(
                    truth.margins(truth.after([change]))[person], abs=2e-5
                )
                assert report.what_if.forbidden == ()
                tried += 1
    assert tried > 1.5 * len(seeds)
