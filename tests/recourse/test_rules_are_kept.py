"""Whatever the policy, no option that is shown breaks one of its rules."""

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recourse_audit.audit.report import explain
from recourse_audit.records.recourse import (
    Action,
    Move,
    MoveAction,
    Option,
    SetAction,
    SideEffects,
    TieAction,
    TogetherAction,
)
from tests.recourse.brute_force import World
from tests.recourse.oracle import Rules
from tests.recourse.random_worlds import (
    IMPLIED,
    NETWORKS,
    PROTECTED,
    RANGES,
    STEPS,
    UNITS,
    Case,
    opened,
    random_candidates,
    random_world,
    without_contradictions,
    without_shadowed,
)

KINDS = ("family", "loan", "payment")
GROUPS = {"groups": {"attributes": list(PROTECTED)}}
WORLDS = ("directed", "undirected", "directed with candidates", "undirected with candidates")


def world_of(name: str) -> World:
    """A world of its own for every name, with family ties and somebody without ties."""
    random = np.random.default_rng(WORLDS.index(name) + 40)
    world = random_world(random)
    while (
        world.kinds != KINDS or len(world.ids) < 9 or all(len(h) > 1 for h in world.hops.values())
    ):
        world = random_world(random)
    candidates = random_candidates(random, world.rows, KINDS, len(world.ids))
    return replace(
        world,
        directed="undirected" not in name,
        candidates=candidates if "candidates" in name else None,
    )


def case_in(world: World) -> Case:
    return Case(
        world=world,
        network=NETWORKS["three"],
        seed=6,
        settings={
            "decision": {"classes": ["refused", "granted", "deferred"], "favourable": ["granted"]},
            "search": {"max_nodes": 2},
            "recourse": {},
            **GROUPS,
        },
    )


@pytest.fixture(scope="module", params=WORLDS)
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[World, Path, dict[str, Any]]:
    """A world, the folder with its files, and the tables that name them."""
    world, folder = world_of(request.param), tmp_path_factory.mktemp("world")
    return world, folder, case_in(world).write(folder)


@st.composite
def tie_rules(draw: st.DrawFn, never: list[str]) -> dict[str, Any]:
    kind = draw(st.sampled_from(["*", *KINDS]))
    whose = draw(st.sampled_from(["own", "outgoing", "others", "any"]))
    able = ["drop"] if whose == "others" else ["drop", "add", "move"]
    forbidden = kind == "family" or kind in never
    allow = [] if forbidden else draw(st.lists(st.sampled_from(able), unique=True))
    return {
        "kind": kind,
        "whose": whose,
        "allow": allow,
        "together": "drop" in allow
        and "move" not in allow
        and whose in ("own", "outgoing")
        and draw(st.booleans()),
        "cost": draw(st.sampled_from([0.0, 0.25, 1.0, 3.0])),
        "to": draw(st.sampled_from(["near", "anyone"])),
    }


@st.composite
def attribute_rules(draw: st.DrawFn, name: str, ruled: list[str]) -> dict[str, Any]:
    rule = {
        "name": name,
        "direction": draw(st.sampled_from(["up", "down", "any"])),
        "step": draw(st.sampled_from(STEPS[name])),
        "cost": draw(st.sampled_from([0.0, 0.5, 1.0])),
        **UNITS[name],
        **draw(st.sampled_from(RANGES[name])),
    }
    other = draw(st.sampled_from([None, *(column for column in UNITS if column != name)]))
    if other is not None:
        rule["implies"] = [{"name": other, "by": IMPLIED[other][0 if other in ruled else 1]}]
    return rule


@st.composite
def policies(draw: st.DrawFn, directed: bool) -> dict[str, Any]:
    never = draw(st.lists(st.sampled_from(["loan", "payment"]), max_size=1))
    rules = draw(st.lists(tie_rules(never), max_size=4))
    names = draw(st.lists(st.sampled_from(list(UNITS)), unique=True, max_size=3))
    attributes = [draw(attribute_rules(name, names)) for name in names]
    return {
        "max_changes": draw(st.integers(1, 3)),
        "options": draw(st.integers(1, 5)),
        "budget": draw(st.sampled_from([3, 40, 200])),
        "draws": 0,
        "never": never,
        "ties": without_shadowed(rules, directed=directed),
        "attributes": [without_contradictions(rule, attributes) for rule in attributes],
        "not_protected": list(UNITS),
    }


@settings(max_examples=14)
@given(data=st.data())
def test_no_option_breaks_a_rule(
    data: st.DataObject, place: tuple[World, Path, dict[str, Any]]
) -> None:
    world, folder, tables = place
    recourse = data.draw(policies(world.directed))
    rules = rules_of(world, {"recourse": recourse, **GROUPS})
    for report in explain(opened(folder, tables, **recourse), world.ids[::2]):
        assert report.recourse is not None
        assert report.recourse.status != "error"
        assert len(report.recourse.options) <= recourse["options"]
        for option in report.recourse.options:
            assert list(rules.broken_by(report.subject.id, option)) == []


def rules_of(world: World, settings: Mapping[str, Any]) -> Rules:
    """The oracle for a policy over a world."""

    def named(tie: tuple[int, int, str]) -> tuple[str, str, str]:
        return world.ids[tie[0]], world.ids[tie[1]], tie[2]

    return Rules(
        settings=settings,
        people={
            name: {column: values[place] for column, values in world.columns.items()}
            for place, name in enumerate(world.ids)
        },
        ties=[named((row.source, row.target, row.kind)) for row in world.rows],
        directed=world.directed,
        reach=NETWORKS["three"].reach,
        candidates=None if world.candidates is None else [*map(named, world.candidates)],
    )


HOUSE = [("a", "b", "address"), ("d", "a", "address"), ("b", "c", "address")]
SAMPLES = Path(__file__).resolve().parent.parent.parent / "sample_models"


@pytest.mark.parametrize(("sample", "step"), [("lending", 60), ("lending_deployed", 45)])
def test_no_option_of_a_sample_audit_breaks_a_rule(sample: str, step: int) -> None:
    settings = tomllib.loads((SAMPLES / sample / "audit.toml").read_text("utf-8"))
    people = {row["id"]: numbers_in(row) for row in rows_of(SAMPLES / sample / "nodes.csv")}
    ties = [
        (row["source"], row["target"], row["kind"])
        for row in rows_of(SAMPLES / sample / "edges.csv")
    ]
    rules = Rules(settings=settings, people=people, ties=ties)
    quick = {**settings, "search": {"max_nodes": 2}}
    audit = opened(SAMPLES / sample, quick, budget=400, draws=0)
    checked = Counter[str]()
    for report in explain(audit, [*people][::step]):
        assert report.recourse is not None
        for option in report.recourse.options:
            assert list(rules.broken_by(report.subject.id, option)) == []
            checked.update(action.do for action in option.actions)
    assert checked["drop"]
    assert checked["set"]
    assert checked.total() > 10


def rows_of(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def numbers_in(row: Mapping[str, str]) -> dict[str, Any]:
    """Cells as numbers where they are some."""
    number = re.compile(r"-?[0-9]+(\.[0-9]+)?")
    return {name: float(cell) if number.fullmatch(cell) else cell for name, cell in row.items()}


def test_the_oracle_sees_every_kind_of_mistake() -> None:
    """A check that never fails would say nothing about the options above."""
    rules = Rules(
        settings={
            "groups": {"attributes": ["age"]},
            "recourse": {
                "max_changes": 2,
                "ties": [
                    {"kind": "loan", "allow": ["drop", "add", "move"], "cost": 2.0},
                    {"kind": "address", "allow": ["drop"], "together": True, "cost": 2.0},
                ],
                "attributes": [
                    {"name": "pay", "step": 2.0, "direction": "up", "max": 9.0},
                    {
                        "name": "job",
                        "moves": [["none", "clerk"]],
                        "implies": [{"name": "pay", "by": 1.0}],
                    },
                    {"name": "debt", "step": 1.0, "cost_in": "percentile"},
                ],
                "conditions": [{"if": 'job = "none"', "then": "debt <= 3"}],
            },
        },
        people={
            "a": {"pay": 1.0, "job": "none", "debt": 3.0, "age": 50.0},
            "b": {"pay": 3.0, "job": "clerk", "debt": 5.0, "age": 20.0},
            "c": {"pay": 5.0, "job": "none", "debt": 4.0, "age": 30.0},
            "d": {"pay": 5.0, "job": "none", "debt": 1.0, "age": 30.0},
        },
        ties=[("a", "b", "loan"), ("b", "c", "loan"), ("a", "d", "family"), *HOUSE],
    )

    def tie(
        do: Literal["drop", "add"], ends: str, kind: str = "loan", cost: float = 2.0
    ) -> TieAction:
        return TieAction(do=do, tie=(ends[0], ends[1]), kind=kind, cost=cost)

    def to(name: str, after: float | str, cost: float = 1.0, *implied: Move) -> SetAction:
        before = rules.people["a"][name]
        return SetAction(
            attribute=name, before=before, after=after, unit="", implied=implied, cost=cost
        )

    def moving(*ties: str, kind: str = "address") -> TogetherAction:
        return TogetherAction(kind=kind, ties=tuple((t[0], t[1]) for t in ties), cost=2.0)

    def shift(ends: str, to: str, kind: str = "loan", cost: float = 2.0) -> MoveAction:
        return MoveAction(tie=(ends[0], ends[1]), to=to, kind=kind, cost=cost)

    pay = Move(attribute="pay", before=1.0, after=2.0, unit="")
    age = Move(attribute="age", before=50.0, after=51.0, unit="")
    assert broken(rules, tie("drop", "ab"), to("pay", 3.0)) == []
    assert broken(rules, tie("add", "ac")) == []
    assert broken(rules, moving("ba", "ad")) == []
    assert broken(rules, shift("ab", "c"), to("pay", 3.0)) == []
    assert broken(rules, to("job", "clerk", 1.0, pay)) == []
    for words, *actions in (
        ("3 changes", tie("drop", "ab"), tie("add", "ac"), to("pay", 3.0)),
        ("family is never suggested", tie("drop", "ad", "family")),
        ("no rule allows to drop", tie("drop", "bc")),
        ("not the cost of its rule", tie("drop", "ab", cost=1.0)),
        ("not there", tie("drop", "ac")),
        ("there already", tie("add", "ab")),
        ("a part of the ties", tie("drop", "ab", "address")),
        ("not all ties of kind address", moving("ab")),
        ("no rule ends ties of kind loan together", moving("ab", kind="loan")),
        ("not near", tie("add", "ad")),
        ("changed too often", tie("drop", "ab"), tie("drop", "ab")),
        ("changed too often", tie("drop", "ab"), shift("ab", "c")),
        ("makes a tie twice", tie("add", "ac"), shift("ab", "c")),
        ("moves a tie of other people", shift("bc", "d")),
        ("no rule allows to move", shift("ab", "c", "address")),
        ("there already", shift("ab", "b")),
        ("not near", shift("ab", "d")),
        ("not the cost of its rule", shift("ab", "c", cost=1.0)),
        ("no rule about age", to("age", 51.0)),
        ("age never changes", to("pay", 3.0, 1.0, age)),
        ("not what the rule implies", to("pay", 3.0, 1.0, age)),
        ("whole steps", to("pay", 4.0)),
        ("out of its range", to("pay", 11.0, 5.0)),
        ("the wrong way", to("pay", -1.0)),
        ("not that of its rule", to("pay", 3.0, 2.0)),
        ("not that of its rule", to("debt", 2.0, 1.0)),
        ("no move from none to boss", to("job", "boss", 1.0, pay)),
        ("does not follow by the steps", to("job", "clerk", 1.0, replace(pay, after=3.0))),
        ("linked attributes", to("pay", 3.0), to("job", "clerk", 1.0, pay)),
        ("would not hold", to("debt", 4.0, 25.0)),
    ):
        assert any(words in reason for reason in broken(rules, *actions)), words
    assert broken(rules, to("debt", 4.0, 25.0), to("job", "clerk", 1.0, pay)) == []


def broken(rules: Rules, *actions: Action) -> list[str]:
    option = Option(
        actions=actions,
        cost=sum(action.cost for action in actions),
        decision="yes",
        probabilities={},
        score=None,
        margin=0.1,
        verified=True,
        verified_on="whole graph",
        minimal=True,
        source="exhaustive",
        robustness=None,
        side_effects=SideEffects(measured=False),
    )
    return list(rules.broken_by("a", option))
