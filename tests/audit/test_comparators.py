"""Comparators: equal to brute force over random worlds; columns that cannot be declared."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.comparators import ComparatorFinder
from recourse_audit.audit.load import LoadedAudit, load_audit, open_audit
from recourse_audit.audit.own_data import OwnDataReports
from recourse_audit.errors import SettingsError
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.records.subject import Comparators
from recourse_audit.settings import parse_settings
from tests.audits import small_audit, write_settings
from tests.onnx_models import sum_network

PEOPLE, FEATURES = 100, ("income", "late", "savings")
SAVINGS = {"savings": {"direction": "higher", "caliper": 2.0}}
COLUMNS = {
    "late": {"direction": "lower", "caliper": 2.0},
    "income": {"caliper": 3.0},
    "product": {},
    "tenure": {"direction": "higher", "caliper": 3.0},
}


@dataclass(frozen=True, kw_only=True)
class World:
    """An audit with answers of its own, and the tables that they are about."""

    audit: LoadedAudit
    decisions: Decisions
    alone: Floats
    columns: dict[str, list[float | str | None]]
    groups: dict[str, list[str]]

    def finder(self) -> ComparatorFinder:
        edited = EditedGraph(
            self.audit.graph, self.audit.batcher, self.audit.probes, self.decisions
        )
        own = [column.name for column in OwnDataReports(self.audit, edited).columns]
        return ComparatorFinder(self.audit, self.decisions, self.alone, own)

    @property
    def refused(self) -> list[bool | None]:
        """By person, whether they were refused; None without a decision."""
        if self.audit.recorded is not None:
            return [None if code < 0 else code == 0 for code in self.audit.recorded.tolist()]
        every = np.arange(PEOPLE)
        answers = self.decisions.everybody
        usable = self.decisions.usable(answers).tolist()
        good = self.decisions.favourable(answers, every).tolist()
        return [not yes if known else None for known, yes in zip(usable, good, strict=True)]


def make_graph(random: np.random.Generator) -> tuple[Graph, dict[str, Any]]:
    """People whose columns have few values, so that many are equal; some cells are empty."""
    table: dict[str, Any] = {
        "income": random.integers(0, 8, PEOPLE) / 2,
        "late": random.integers(0, 3, PEOPLE) * 1.0,
        "savings": random.normal(size=PEOPLE).round(1),
        "product": random.choice(["car", "house", ""], PEOPLE),
        "tenure": np.where(random.random(PEOPLE) < 0.2, np.nan, random.integers(0, 5, PEOPLE)),
        "origin": random.choice(["north", "south", "west", ""], PEOPLE, p=[0.4, 0.3, 0.2, 0.1]),
        "paid": random.choice(["yes", "no"], PEOPLE),
    }
    ties = random.integers(0, PEOPLE, (2, 150))
    kind = random.choice(["loan", "address"], 150)
    x = np.stack([table[name] for name in FEATURES], axis=1)
    more = {name: table[name] for name in table if name not in FEATURES}
    return from_arrays(x, ties, kind=kind, feature_names=FEATURES, attributes=more), table


def make_world(
    seed: int, folder: Path, *, scored: bool = False, recorded: bool = False, **comparators: Any
) -> World:
    random = np.random.default_rng(seed)
    graph, table = make_graph(random)
    score = {"cut_off": 0.0, "better": "lower"} if scored else {}
    options: dict[str, Any] = {"head": "score"} if scored else {"classes": 2}
    model = sum_network(folder / "model.onnx", features=3, **options)
    settings = parse_settings(
        {
            "model": {"path": str(model), **({"output": "score"} if scored else {})},
            "graph": {"nodes": "n.csv", "edges": "e.csv", "features": [*FEATURES]},
            "decision": {
                "classes": ["no", "yes"],
                "favourable": ["yes"],
                "outcome": "paid",
                **score,
            },
            "groups": {"attributes": ["origin"]},
            "recourse": {
                "attributes": [
                    # In thousands, and turned: higher in the table is lower for the user.
                    {"name": "savings", "step": 1, "scale": -2.0, "shift": 3.0, "unit": "k"}
                ]
            },
            "comparators": comparators,
        },
        folder=folder,
        origin="audit.toml",
    )
    audit = open_audit(settings, graph=graph)

    def answers() -> Floats:
        if scored:
            rows = random.normal(size=(PEOPLE, 1)).round(1)
        else:
            chance = random.integers(1, 40, PEOPLE) / 40
            rows = np.log(np.stack((1 - chance + 1e-9, chance), axis=1))
        rows[random.random(PEOPLE) < 0.05] = np.nan
        return np.asarray(rows)

    if recorded:
        audit = replace(audit, recorded=random.integers(-1, 2, PEOPLE))
    decisions, alone = audit.rule.over(answers()), answers()
    columns: dict[str, list[float | str | None]] = {
        name: [None if str(value) in ("", "nan") else value for value in table[name].tolist()]
        for name in ("income", "late", "savings", "product", "tenure")
    }
    columns["savings"] = [-2 * v + 3 for v in columns["savings"] if isinstance(v, float)]
    return World(
        audit=audit,
        decisions=decisions,
        alone=alone,
        columns=columns,
        groups={"origin": table["origin"].tolist()},
    )


def place(values: list[float | str | None], person: int) -> float:
    """A person's rank among everybody with a value, from 0 to 1; those equal count half."""
    own = values[person]
    known = [value for value in values if isinstance(value, float)]
    assert isinstance(own, float)
    return (sum(v < own for v in known) + sum(v <= own for v in known)) / 2 / len(known)


def distance(world: World, names: list[str], person: int, other: int) -> float:
    apart = []
    for name in names:
        values = world.columns[name]
        own, theirs = values[person], values[other]
        if own is None or theirs is None or isinstance(own, str):
            apart.append(float(own != theirs))
        else:
            apart.append(abs(place(values, person) - place(values, other)))
    return round(sum(apart) / len(apart), 6)


def expected(world: World, person: int) -> dict[str, tuple[list[str], int, int]]:
    """By side, who is listed, how many were approved, and of how many."""
    settings, rule = world.audit.settings.comparators, world.audit.rule
    values = rule.values(world.alone).round(6).tolist()
    known = [value for value in values if np.isfinite(value)]
    caliper = settings.caliper or 0.1 * (float(np.std(known)) if rule.scores else 1.0)
    sides: dict[str, list[tuple[float, int]]] = {"others": [], "own": []}
    counts = {"others": 0, "own": 0}
    group = world.groups["origin"]
    declared = settings.columns
    names = [*declared, *(name for name in FEATURES if name not in declared)]
    for other in range(PEOPLE):
        behind = (values[person] - values[other]) * rule.sign
        if other == person or not -1e-12 <= behind <= caliper + 1e-9:
            continue
        if world.refused[other] is None or "" in (group[person], group[other]):
            continue
        for name, column in declared.items():
            own, theirs = world.columns[name][person], world.columns[name][other]
            if own is None or theirs is None:
                break
            if isinstance(own, str) or isinstance(theirs, str):
                if own != theirs:
                    break
                continue
            ahead = {"higher": theirs - own, "lower": own - theirs, None: 0.0}[column.direction]
            if ahead > 1e-6 or abs(own - theirs) > column.caliper + 1e-6:
                break
        else:
            side = "own" if group[other] == group[person] else "others"
            counts[side] += 1
            if not world.refused[other]:
                sides[side].append((distance(world, names, person, other), other))
    return {
        side: ([str(n) for _, n in sorted(people)[: settings.count]], len(people), counts[side])
        for side, people in sides.items()
    }


def sides_of(found: Comparators) -> dict[str, tuple[list[str], int, int]]:
    [listed] = found.sets
    return {
        "others": ([*listed.others], listed.others_approved, listed.others_of),
        "own": ([*listed.own], listed.own_approved, listed.own_of),
    }


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"recorded": True, "count": 1},
        {"scored": True},
        {"caliper": 0.6, "columns": COLUMNS},
        {"caliper": 3.0, "scored": True, "recorded": True, "columns": {"product": {}}},
        {"caliper": 0.5, "columns": SAVINGS, "count": 20},
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_comparators_are_those_of_brute_force(
    changes: dict[str, Any], seed: int, tmp_path: Path
) -> None:
    world = make_world(seed, tmp_path, **changes)
    finder = world.finder()
    values = world.audit.rule.values(world.alone)
    listed = 0
    for person, refused in enumerate(world.refused):
        found = finder.find(person)
        if refused is None:
            assert found.reason == "no_decision"
        elif not refused:
            assert found.reason == "favourable"
        elif not np.isfinite(values[person]):
            assert found.reason == "not_a_number"
        else:
            assert sides_of(found) == expected(world, person)
            check_people(world, found)
            listed += len(found.people)
    assert listed > 5


def check_people(world: World, found: Comparators) -> None:
    """Everybody listed stands there once, with their own columns, ties and answers."""
    assert found.subject is not None
    graph, refused = world.audit.graph, world.refused
    listed = {name for side in found.sets for name in (*side.others, *side.own)}
    assert [person.id for person in found.people] == sorted(listed, key=int)
    for person in (found.subject, *found.people):
        number = int(person.id)
        assert refused[number] == (person is found.subject)
        for name, value in person.columns.items():
            wanted = world.columns[name][number]
            assert value == (pytest.approx(wanted, abs=1e-6) if wanted is not None else None)
        assert person.groups == {"origin": world.groups["origin"][number]}
        ends = np.stack((graph.ties.source, graph.ties.target))
        mine = (ends == number).any(axis=0) & (ends[0] != ends[1])
        kinds = [graph.ties.kinds[kind] for kind in graph.ties.kind[mine].tolist()]
        assert person.ties == {kind: kinds.count(kind) for kind in sorted({*kinds})}
        near = {*ends[:, mine].ravel().tolist()} - {number}
        assert person.neighbours == len(near)
        assert person.favourable == sum(refused[other] is False for other in near)


def test_protected_columns_outcomes_and_unknown_groups_are_left_out(tmp_path: Path) -> None:
    world = make_world(0, tmp_path)
    finder = world.finder()
    unknown = [n for n in range(PEOPLE) if world.groups["origin"][n] == "" and world.refused[n]]
    for person in unknown:
        found = finder.find(person)
        if not found.reason:
            [listed] = found.sets
            assert (listed.group, listed.others, listed.own) == ("", (), ())
            assert [column.name for column in found.columns] == [*FEATURES]
    assert unknown


def test_without_protected_attributes_everybody_is_compared(tmp_path: Path) -> None:
    world = make_world(0, tmp_path, caliper=1.0)
    groups = world.audit.settings.groups.model_copy(update={"attributes": ()})
    settings = world.audit.settings.model_copy(update={"groups": groups})
    alone = replace(world, audit=replace(world.audit, settings=settings))
    person = next(n for n in range(PEOPLE) if not alone.finder().find(n).reason)
    [listed] = alone.finder().find(person).sets
    assert (listed.attribute, listed.group, listed.own_of) == ("", "", 0)
    assert len(listed.others) == 3
    with_groups = sides_of(world.finder().find(person))
    assert listed.others_of >= with_groups["others"][2] + with_groups["own"][2]


def test_under_cut_offs_by_column_only_people_with_the_same_one_are_compared(
    tmp_path: Path,
) -> None:
    world = make_world(0, tmp_path, caliper=1.0)
    cut_offs: Floats = np.where(np.arange(PEOPLE) % 2, 0.4, 0.6)
    world.audit.rule.cut_offs = cut_offs
    finder = world.finder()
    found = [found for n in range(PEOPLE) if not (found := finder.find(n)).reason]
    assert any(each.people for each in found)
    for each in found:
        assert each.subject is not None
        assert {int(p.id) % 2 for p in each.people} <= {int(each.subject.id) % 2}


def test_it_is_said_why_nobody_was_looked_for(tmp_path: Path) -> None:
    world = make_world(0, tmp_path)
    person = world.refused.index(True)
    for complete, reason in ((True, "depends_on_others"), (False, "other_answers_not_known")):
        finder = ComparatorFinder(world.audit, world.decisions, None, (), complete=complete)
        assert finder.find(person).reason == reason
        assert finder.find(world.refused.index(False)).reason == "favourable"
    probes = replace(world.audit.probes, deterministic=False)
    random = replace(world, audit=replace(world.audit, probes=probes))
    assert random.finder().find(person).reason == "random_answers"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("f9 = { caliper = 1 }", "comparators.columns.f9: the nodes have no column 'f9'"),
        ("gender = {}", "comparators.columns.gender: is a protected attribute, and nobody"),
        ("f0 = {}", "comparators.columns.f0.caliper: must be more than 0, because 'f0' holds"),
        ("f0 = { caliper = -1 }", "comparators.columns.f0.caliper: must be at least 0 (got -1)"),
        ("f0 = { caliper = 1, direction = 'up' }", "must be 'higher' or 'lower' (got 'up')"),
    ],
)
def test_columns_that_nobody_can_be_compared_by_are_refused(
    columns: str, message: str, tmp_path: Path
) -> None:
    small_audit(tmp_path)
    path = write_settings(tmp_path, "[search]", f"[comparators.columns]\n{columns}\n[search]")
    with pytest.raises(SettingsError) as refused:
        load_audit(path)
    assert message in str(refused.value)


def test_text_has_neither_direction_nor_caliper_and_outcomes_are_not_compared(
    tmp_path: Path,
) -> None:
    for columns, message in (
        ({"product": {"caliper": 1}}, "comparators.columns.product: holds text"),
        ({"paid": {}}, "comparators.columns.paid: is what was or should be decided"),
    ):
        with pytest.raises(SettingsError, match=message):
            make_world(0, tmp_path, columns=columns)
