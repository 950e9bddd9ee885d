"""Whatever the policy, no option that is shown breaks one of its rules."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recourse_audit.audit.reporter import explain
from recourse_audit.records.recourse import Move, Option, SetAction, TieAction
from tests.recourse.brute_force import Policy, World, rounded
from tests.recourse.random_worlds import (
    FEATURES,
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
    able = ["drop"] if whose == "others" else ["drop", "add"]
    forbidden = kind == "family" or kind in never
    allow = [] if forbidden else draw(st.lists(st.sampled_from(able), unique=True))
    return {
        "kind": kind,
        "whose": whose,
        "allow": allow,
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


@settings(max_examples=20)
@given(data=st.data())
def test_no_option_breaks_a_rule(
    data: st.DataObject, place: tuple[World, Path, dict[str, Any]]
) -> None:
    world, folder, tables = place
    recourse = data.draw(policies(world.directed))
    policy = Policy(world, {"recourse": recourse, **GROUPS}, NETWORKS["three"].reach)
    for report in explain(opened(folder, tables, **recourse), world.ids[::2]):
        assert report.recourse is not None
        assert report.recourse.status != "error"
        assert len(report.recourse.options) <= recourse["options"]
        for option in report.recourse.options:
            subject = world.ids.index(report.subject.id)
            assert list(broken_rules(policy, subject, option)) == []


def broken_rules(policy: Policy, subject: int, option: Option) -> Iterator[str]:
    """What is wrong with an option, in words; nothing if it keeps every rule."""
    if not 1 <= len(option.actions) <= policy.max_changes:
        yield f"{len(option.actions)} changes"
    if not option.verified:
        yield "not verified"
    if abs(option.cost - sum(action.cost for action in option.actions)) > 1e-9:
        yield "the cost is not that of its actions"
    groups = [policy.linked[a.attribute] for a in option.actions if isinstance(a, SetAction)]
    if len(set(groups)) < len(groups):
        yield "linked attributes are set together"
    for action in option.actions:
        if isinstance(action, SetAction):
            yield from broken_by_attribute(policy, subject, action)
        else:
            yield from broken_by_tie(policy, subject, action)


def broken_by_tie(policy: Policy, subject: int, action: TieAction) -> Iterator[str]:
    world = policy.world
    source, target = (world.ids.index(end) for end in action.tie)
    if action.kind == "family" or action.kind in policy.never:
        yield f"{action.kind} is never suggested"
    if source == target:
        yield "a self-loop"
    there = policy.has_tie(source, target, action.kind)
    if action.do == "drop" and not there:
        yield "drops a tie that is not there"
    rule = policy.rule_for(subject, source, target, action.kind)
    if rule is None or action.do not in rule["allow"]:
        yield f"no rule allows to {action.do} a tie of kind {action.kind}"
    elif action.cost != rule.get("cost", 1.0):
        yield "not the cost of its rule"
    if action.do == "add":
        if subject not in (source, target):
            yield "adds a tie of other people"
        yield from broken_by_new_tie(policy, subject, (source, target, action.kind), rule or {})


def broken_by_new_tie(
    policy: Policy, subject: int, tie: tuple[int, int, str], rule: Mapping[str, Any]
) -> Iterator[str]:
    world, (source, target, kind) = policy.world, tie
    if world.candidates is not None:
        ways = [tie] if world.directed else [tie, (target, source, kind)]
        if not any(way in world.candidates for way in ways):
            yield "adds a tie that is not among the candidates"
    elif rule.get("to", "near") == "near":
        if world.hops[subject].get(source + target - subject) != 2:
            yield "adds a tie to somebody who is not near"
    elif policy.has_tie(*tie):
        yield "adds a tie that is there already"


def broken_by_attribute(policy: Policy, subject: int, action: SetAction) -> Iterator[str]:
    name = action.attribute
    rule = policy.attributes.get(name)
    if rule is None:
        yield f"no rule about {name}"
        return
    if action.before != pytest.approx(policy.current(name, subject)):
        yield "does not start from what the person has"
    before, after = float(action.before), float(action.after)
    way = 1 if after > before else -1
    if rule["direction"] != "any" and way != {"up": 1, "down": -1}[rule["direction"]]:
        yield f"moves {name} the wrong way"
    steps = round(action.cost / rule["cost"]) if rule["cost"] else None
    if rule.get("integer"):
        if after != round(after):
            yield f"{name} is no whole number"
    else:
        exact = (after - before) / rule["step"]
        if abs(exact - round(exact)) > 1e-6:
            yield f"{name} moves by {exact} steps"
        if steps is not None and steps != abs(round(exact)):
            yield "the cost is not that of the steps"
        steps = abs(round(exact))
    expected = {implied["name"]: implied["by"] for implied in rule.get("implies", ())}
    if {implied.attribute for implied in action.implied} != set(expected):
        yield "not what the rule implies"
    every: tuple[SetAction | Move, ...] = (action, *action.implied)
    for moved in every:
        yield from broken_by_value(policy, moved.attribute, float(moved.after))
        if moved is not action and steps is not None:
            other = moved.attribute
            value = policy.current(other, subject) + way * steps * expected[other]
            if moved.after != pytest.approx(rounded(value), abs=1e-9):
                yield f"{other} does not follow by the steps"


def broken_by_value(policy: Policy, name: str, value: float) -> Iterator[str]:
    low, high = policy.bounds[name]
    if not low - 1e-9 <= value <= high + 1e-9:
        yield f"{name} is out of its range"
    if name in PROTECTED or name not in FEATURES:
        yield f"{name} never changes"
