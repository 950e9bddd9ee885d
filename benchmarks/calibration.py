"""How often a gap between groups is shown where there is none, and how often where there is one.

`python -m benchmarks.calibration [--networks 25] [--draws 20] [--communities 36 12] [--data DIR]`
draws networks in the same way as the lending sample, lets the sample's model decide about everyone,
and compares two groups in refusals as `recourse-audit groups` does. What became of people is that
of the network; their labels are drawn again and again, in worlds without a gap (labels that have
nothing to do with what became of people, but clump in different ways) and with one (labels that
follow who is exposed to other people's bad records, as in the sample, always or half as closely).
Whether a refused person has an option is drawn by the circle the person belongs to, with
`--options` draws per network and world: auditing everyone on all networks would take days.

With `--carried`, the program's own figures on own data alone and with ties are made for as many
draws per network, in worlds in which a gap comes with ties, is there on own data alone, or is not
there: how often does it say so, and how often is a gap between people alike on own data shown where
there is none? In the same draws, comparators of refused people of the group are looked for: of
those no better on own data, what share was approved in the other group, and in their own?

With `--data`, labels without a gap are also drawn on the graphs in that folder, whose outcome is
the class of each node.
"""

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from benchmarks.datasets import labelled_graphs
from benchmarks.engines import decisions_of
from recourse_audit.audit.comparators import ComparatorFinder
from recourse_audit.audit.load import LoadedAudit
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import read_graph
from recourse_audit.groups.inference import GapTest, Inference
from recourse_audit.groups.measures import Inputs
from recourse_audit.groups.own_data import own_data_of
from recourse_audit.groups.population import NOT_KNOWN, Attribute, Audited, Population
from recourse_audit.groups.redraws import Network
from recourse_audit.groups.tables import design_tables
from recourse_audit.model.batching import QueryBatcher, sharing_of
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import (
    ComparatorSettings,
    DecisionSettings,
    GraphSettings,
    GroupSettings,
    ModelSettings,
)

SAMPLES = Path(__file__).parents[1] / "sample_models"
# Shares of the refused who have an option, by circle (plain, thin, entangled), chosen so that the
# networks have the gap of the sample: 67 % of the north and 35 % of the south.
FEASIBLE = np.array([0.62, 0.74, 0.27])
MODEL = ModelSettings(path=SAMPLES / "lending" / "gcn.onnx")
SHARE = 735 / 1800
TESTS = 12  # of single attributes, in the lending sample
ALPHA = 0.05
FAR = 8.0  # a logit

COMPARED = 100  # refused people of the group, per draw

# How closely labels follow answers on own data alone: as large a gap there as the other with ties.
FOLLOWS_OWN_DATA = 0.40

World = Literal[
    "by community", "segregated", "at random", "redlined", "weakly along ties",
    "strongly along ties", "half a gap", "gap", "own data",
]  # fmt: skip
WORLDS: tuple[World, ...] = get_args(World)
# Where a gap comes from, by world.
CARRIED: dict[World, str] = {
    "gap": "ties", "own data": "own_data", "at random": "neither", "by community": "neither",
    "weakly along ties": "neither", "strongly along ties": "neither",
}  # fmt: skip
WITH_GAP: dict[World, float] = {"gap": 0.96, "half a gap": 0.73}
ON_ANY_GRAPH: tuple[World, ...] = (
    "segregated", "at random", "redlined", "weakly along ties", "strongly along ties",
)  # fmt: skip
Floats = NDArray[np.floating]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """One test: its world and measure, and what came out."""

    world: World
    measure: str
    gap: float
    p: float | None
    ordinary: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A graph on which labels are drawn: what became of people, and who they are."""

    network: Network
    outcome: Floats
    community: NDArray[np.integer]
    exposed: Mask | None = None
    option: Floats | None = None
    alone: Floats | None = None
    alone_score: Floats | None = None
    asked: tuple[Graph, Decisions, Floats] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What is said of one draw: where a gap is, the gaps, and the test between people alike.

    `compared` has, of some refused people of the group, the share of the others no better on own
    data who were approved, in the other group and in their own; NaN if there are none.
    """

    world: World
    said: str
    gaps: dict[str, float]
    p: float | None
    adjusted: float | None
    compared: Floats


def main(arguments: list[str]) -> None:
    """Print the table: how often gaps are shown, and how often intervals cover the truth."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--networks", type=int, default=25)
    parser.add_argument("--draws", type=int, default=20, help="draws of labels in every world")
    parser.add_argument("--options", type=int, default=4, help="of these, tested in options too")
    parser.add_argument("--communities", type=int, nargs="*", default=[36, 12])
    parser.add_argument("--carried", type=int, default=0, help="draws on own data and with ties")
    parser.add_argument("--data", type=Path, help="a folder of labelled graphs")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args(arguments)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # in the workers, as in commands
    with ProcessPoolExecutor(asked.workers, mp_context=get_context("spawn")) as pool:
        for communities in asked.communities:
            work = partial(on_network, communities, asked.draws, asked.options)
            if asked.draws:
                found = [one for some in pool.map(work, range(asked.networks)) for one in some]
                _tell(f"{communities} communities", found)
            if asked.carried:
                block = partial(blocks_on_network, communities, asked.carried)
                made = [one for some in pool.map(block, range(asked.networks)) for one in some]
                _tell_carried(f"{communities} communities", made)
        if asked.data is not None:
            names = sorted(labelled_graphs(asked.data))
            work_on = partial(on_graph, asked.data, asked.draws * asked.networks)
            for name, found in zip(names, pool.map(work_on, names), strict=True):
                _tell(name, found)


def _tell(where: str, draws: list[Draw]) -> None:
    by: dict[tuple[str, str], list[Draw]] = defaultdict(list)
    for one in draws:
        by[one.world, one.measure].append(one)
    heads = (
        where,
        "measure",
        "draws",
        "gap, points",
        "ordinary test at 5 %",
        "alone at 5 %",
        f"in {TESTS} tests",
        "not tested",
        "interval covers",
    )
    print(f"\n| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for (world, measure), some in sorted(by.items(), key=lambda one: _order(one[0])):
        mean = float(np.mean([one.gap for one in some]))
        truth = mean if world in WITH_GAP else 0.0
        covered = [
            one.interval[0] <= truth <= one.interval[1] for one in some if one.interval is not None
        ]
        figures = (
            _share((one.ordinary or 1.0) <= ALPHA for one in some),
            _share(one.p is not None and one.p <= ALPHA for one in some),
            _share(one.p is not None and one.p <= ALPHA / TESTS for one in some),
            _share(one.p is None for one in some),
            _share(iter(covered)) if covered else "none",
        )
        row = (world, measure, f"{len(some):,}", f"{100 * mean:+.1f}", *figures)
        print(f"| {' | '.join(row)} |", flush=True)


def _order(key: tuple[str, str]) -> tuple[int, str]:
    return WORLDS.index(key[0]), key[1]


def _share(events: Iterator[bool]) -> str:
    return f"{100 * float(np.mean(list(events))):.1f} %"


def on_network(communities: int, draws: int, options: int, seed: int) -> list[Draw]:
    """All worlds on one network of the lending sample's kind."""
    place = _lending_place(communities, seed)
    inference = Inference(place.network, seed=0)
    random = np.random.default_rng([seed, communities, 7])
    found = []
    for world in (each for each in WORLDS if each != "own data"):
        for number in range(draws):
            south = labels(random, place, world)
            found.append(_drawn(world, "refusals", inference, place.outcome, south))
            if number < options and place.option is not None:
                among = np.flatnonzero(place.outcome)
                found.append(_drawn(world, "options", inference, 1 - place.option, south, among))
    return found


def on_graph(folder: Path, draws: int, name: str) -> list[Draw]:
    """All worlds without a gap on a graph with labelled nodes."""
    network, outcome = labelled_graphs(folder)[name]()
    place = Place(network=network, outcome=outcome, community=network.parts(16))
    inference = Inference(network, seed=0)
    random = np.random.default_rng(1)
    return [
        _drawn(world, "class", inference, outcome, labels(random, place, world))
        for world in ON_ANY_GRAPH
        for _ in range(draws)
    ]


def blocks_on_network(communities: int, draws: int, seed: int) -> list[Block]:
    """What the program says of own data and ties, in some worlds on one network."""
    place = _lending_place(communities, seed)
    settings = GroupSettings(attributes=("label",))
    inference = Inference(place.network, seed=0)
    random = np.random.default_rng([seed, communities, 11])
    made = []
    for world, _ in [*CARRIED.items()] * draws:
        member = labels(random, place, world)
        population = _population(place, member)
        design = design_tables(population, settings)
        inputs = Inputs(
            population=population, settings=settings, design=design, inference=inference
        )
        # A table that would tell of a few people is left out.
        tables = own_data_of(inputs).tables
        gaps = {gap.measure: gap for table in tables for gap in table.gaps}
        alike = gaps.get("given_alone")
        made.append(
            Block(
                world=world,
                said=tables[0].carried.get("yes", "not tested") if tables else "withheld",
                gaps={measure: gap.gap for measure, gap in gaps.items()},
                p=alike and alike.p,
                adjusted=alike and alike.adjusted,
                compared=_compared(place, member, random),
            )
        )
    return made


def _compared(place: Place, member: Mask, random: np.random.Generator) -> Floats:
    """How many people no better than a refused one were approved, in the other and own group."""
    assert place.asked is not None
    graph, decisions, alone = place.asked
    labelled = replace(graph, attributes={"label": np.where(member, "yes", "no")})
    audit = SimpleNamespace(
        graph=labelled,
        recorded=None,
        probes=SimpleNamespace(deterministic=True),
        settings=SimpleNamespace(
            groups=GroupSettings(attributes=("label",)),
            comparators=ComparatorSettings(),
            decision=DecisionSettings(classes=("denied", "approved"), favourable=("approved",)),
        ),
    )
    finder = ComparatorFinder(cast("LoadedAudit", audit), decisions, alone, ())
    refused = random.permutation(np.flatnonzero(member & (place.outcome > 0)))[:COMPARED]
    sets = [finder.find(person).sets[0] for person in refused.tolist()]
    counts = np.array(
        [((e.others_approved, e.own_approved), (e.others_of, e.own_of)) for e in sets], float
    )
    with np.errstate(invalid="ignore"):
        shares: Floats = counts[:, 0] / counts[:, 1]
    return shares


def _population(place: Place, member: Mask) -> Population:
    """People with these labels, of whom nobody is audited."""
    assert place.alone is not None
    assert place.alone_score is not None
    nobody, nothing = np.zeros(0, np.int64), np.zeros(0)
    people = member.size
    return Population(
        decided=1 - place.outcome.astype(np.int64),
        decided_alone=1 - place.alone.astype(np.int64),
        came_true=np.full(people, NOT_KNOWN),
        score=np.full(people, np.nan),
        score_alone=place.alone_score,
        lower=False,
        given=np.zeros(people, np.int64),
        community=None,
        network=place.network,
        attributes=(
            Attribute(name="label", groups=("no", "yes"), places=member.astype(np.int64), known=2),
        ),
        audited=Audited(
            person=nobody,
            status=nobody,
            usable=nobody > 0,
            cost=nothing,
            options=nothing,
            simulatability=nothing,
            relevance=nothing,
            grade=nobody,
            errors=(),
        ),
    )


def _tell_carried(where: str, made: list[Block]) -> None:
    said = ("ties", "own_data", "both", "neither", "not tested", "withheld")
    heads = (
        where, "draws", "gap alone", "gap between people alike", *(f"said: {one}" for one in said),
        "right", "alike, alone at 5 %", "alike, corrected", "no better, approved: other group",
        "own group", "other group higher",
    )  # fmt: skip
    print(f"\n| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for world, truth in CARRIED.items():
        some = [one for one in made if one.world == world]
        means = [
            np.mean([one.gaps[name] for one in some if name in one.gaps])
            for name in ("alone", "given_alone")
        ]
        figures = (
            *(f"{100 * float(mean):+.1f}" for mean in means),
            *(str(sum(one.said == name for one in some)) for name in said),
            _share(one.said == truth for one in some),
            _share(one.p is not None and one.p <= ALPHA for one in some),
            _share(one.adjusted is not None and one.adjusted <= ALPHA for one in some),
            *_tell_compared([one.compared for one in some]),
        )
        print(f"| {' | '.join((world, f'{len(some):,}', *figures))} |", flush=True)


def _tell_compared(draws: list[Floats]) -> list[str]:
    """Mean shares over all people, and in how many draws that of the other group is higher."""
    means = np.array([np.nanmean(draw, axis=0) for draw in draws])
    people = np.nanmean(np.concatenate(draws), axis=0)
    return [*(f"{100 * share:.1f} %" for share in people), _share(iter(means[:, 0] > means[:, 1]))]


def labels(random: np.random.Generator, place: Place, world: World) -> Mask:
    """Draw everybody's label; as many are in the group as in the lending sample."""
    people = place.network.people
    count = round(SHARE * people)
    if world in WITH_GAP:
        assert place.exposed is not None
        follows = random.random(people) < WITH_GAP[world]
        score = np.where(follows, place.exposed, ~place.exposed).astype(float)
    elif world == "own data":
        assert place.alone_score is not None
        rank = np.argsort(np.argsort(place.alone_score, kind="stable"))
        field = -ndtri((rank + 0.5) / people)
        noise = random.standard_normal(people)
        score = FOLLOWS_OWN_DATA * field + np.sqrt(1 - FOLLOWS_OWN_DATA**2) * noise
    elif world in ("by community", "segregated", "redlined"):
        area = place.network.parts(8) if world == "redlined" else place.community
        there = int(area.max()) + 1
        many = (random.permutation(there) < there // 2)[area]
        strength = {"by community": (0.85, -2.2), "segregated": (FAR, -FAR), "redlined": (2, -2)}
        score = np.where(many, *strength[world]) + random.logistic(size=people)
    else:
        steps, signal = {"weakly along ties": (2, 0.5), "strongly along ties": (16, 0.95)}.get(
            world, (0, 0.0)
        )
        field = random.standard_normal(people)
        for _ in range(steps):
            field = place.network.walks[0] @ field
        field = (field - field.mean()) / field.std()
        score = np.sqrt(signal) * field + np.sqrt(1 - signal) * random.standard_normal(people)
    order = np.argsort(-(score + 1e-9 * random.random(people)), kind="stable")
    member = np.zeros(people, dtype=bool)
    member[order[:count]] = True
    return member


def _drawn(
    world: World,
    measure: str,
    inference: Inference,
    values: Floats,
    member: Mask,
    people: NDArray[np.integer] | None = None,
) -> Draw:
    among = np.arange(member.size) if people is None else people
    found: GapTest = inference.test(values[among], member[among], among)
    ends = None if found.interval is None else (found.interval.low, found.interval.high)
    return Draw(
        world=world,
        measure=measure,
        gap=found.difference,
        p=found.p,
        ordinary=found.ordinary.p,
        interval=ends,
    )


def _lending_place(communities: int, seed: int) -> Place:
    """Draw a network, and let the sample's model decide about everyone."""
    lending = _lending(communities)
    random = np.random.default_rng([seed, communities])
    person = lending.draw_people(random)
    with TemporaryDirectory() as folder:
        graph = _network(lending, random, person, Path(folder))
    batcher = QueryBatcher(_model(), pool_of(graph))
    answers = batcher.ask_raw(whole(graph), np.arange(graph.node_count))
    decisions = decisions_of(graph, answers, ("denied", "approved"), ("approved",))
    everybody = np.arange(len(answers))
    refused = ~decisions.favourable(answers, everybody)
    probes = probe(_model(), MODEL, pool_of(graph))
    edited = EditedGraph(
        graph, QueryBatcher(_model(), pool_of(graph), sharing=sharing_of(probes)), probes, decisions
    )
    alone = edited.without_ties(everybody)
    option = random.random(graph.node_count) < FEASIBLE[person.circle]
    return Place(
        network=Network(people=graph.node_count, low=graph.pair_low, high=graph.pair_high),
        outcome=refused.astype(float),
        community=person.community,
        exposed=person.exposed,
        option=option.astype(float),
        alone=(~decisions.favourable(alone, everybody)).astype(float),
        alone_score=decisions.rule.values(alone),
        asked=(graph, decisions.rule.over(answers), alone),
    )


def _network(lending: ModuleType, random: np.random.Generator, person: Any, place: Path) -> Graph:
    """Write a network and read it back with the program's own readers."""
    age = lending.draw_ages(random)
    attributes = lending.draw_attributes(random, person, age)
    ties = lending.draw_ties(random, person)
    names = [lending.person_name(row) for row in range(lending.PEOPLE)]
    columns = [[f"{value:g}" for value in attributes[name]] for name in lending.FEATURES]
    lending.write_rows(
        place / "nodes.csv", ("id", *lending.FEATURES), zip(names, *columns, strict=True)
    )
    rows = ((names[tie.source], names[tie.target], tie.kind) for tie in ties)
    lending.write_rows(place / "edges.csv", ("source", "target", "kind"), rows)
    return read_graph(
        GraphSettings(
            nodes=place / "nodes.csv", edges=place / "edges.csv", features=lending.FEATURES
        )
    )


@cache
def _model() -> OnnxModel:
    return OnnxModel(MODEL)


def _lending(communities: int) -> ModuleType:
    """The module that draws lending networks, set to the given number of communities."""
    sys.path.insert(0, str(SAMPLES))
    try:
        lending = import_module("make_lending")
    finally:
        sys.path.pop(0)
    setattr(lending, "COMMUNITIES", communities)  # noqa: B010  # a constant of a script
    return lending


if __name__ == "__main__":
    main(sys.argv[1:])
