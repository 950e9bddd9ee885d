"""What ties do on the whole graph, against the graph built anew without them and asked as it is."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.edited_graph import EditedGraph, SubjectAnswers
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.search import Carriers, Counterfactual, SearchResult, WholeGraph
from recourse_audit.search import influential_ties
from recourse_audit.search.evaluation import Scope
from recourse_audit.search.influential_ties import MAX_TIES, on_whole_graph
from recourse_audit.search.moexp import Naming, Search
from recourse_audit.settings import ModelSettings
from tests.audits import SAMPLES
from tests.decisions import decisions_over
from tests.onnx_models import sum_network
from tests.onnx_networks import network
from tests.search.engine import results_by_subject, whole_answers

FEATURES = 7
EVERYTHING = 1_000_000
# Models whose questions shared fields can answer, and one each that they cannot.
SAMPLE_MODELS = ("gcn", "gat", "sage", "gin", "sigmoid", "outside_normalised", "dense")
Pair = frozenset[int]


@dataclass(frozen=True, kw_only=True)
class World:
    """A small graph as rows of ties, and a model that is asked about it."""

    path: Path
    declared: tuple[tuple[str, Any], ...]
    features: tuple[tuple[float, ...], ...]
    rows: tuple[tuple[int, int], ...]
    weights: tuple[float, ...]
    directed: bool
    rule: tuple[tuple[str, Any], ...] = ()

    def without(self, removed: frozenset[Pair] = frozenset()) -> Graph:
        kept = [place for place, row in enumerate(self.rows) if Pair(row) not in removed]
        return from_arrays(
            np.array(self.features),
            np.array([self.rows[place] for place in kept], np.int64).reshape(-1, 2).T,
            weight=np.array([self.weights[place] for place in kept]),
            directed=self.directed,
        )

    @property
    def settings(self) -> ModelSettings:
        return ModelSettings(path=self.path, **dict(self.declared))


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A world with its model opened and probed, and what is decided there."""

    world: World
    graph: Graph
    batcher: QueryBatcher
    probes: ProbeReport
    decisions: Decisions

    def about(self, subject: int, **known: Any) -> SubjectAnswers:
        """Asks about a subject, as if a probe had found something else."""
        probes = replace(self.probes, **known)
        return EditedGraph(self.graph, self.batcher, probes, self.decisions).about(subject)

    @property
    def naming(self) -> Naming:
        return Naming(graph=self.graph, rule=self.decisions.rule, kind=self.batcher.output_kind)

    def alone(self, removed: frozenset[Pair], subject: int) -> Floats:
        """The subject's answer on a graph that never had these ties."""
        graph = self.world.without(removed)
        batcher = QueryBatcher(self.batcher.model, pool_of(graph))
        answer: Floats = whole_answers(batcher, graph)[subject]
        return answer

    def found(self, subject: int) -> SearchResult:
        search = Search(self.graph, self.batcher, self.decisions, Scope(max_nodes=3))
        [found] = results_by_subject([*search.run(np.array([subject]))]).values()
        return found


@cache
def asked(world: World) -> Asked:
    graph = world.without()
    model = OnnxModel(world.settings)
    probes = probe(model, world.settings, pool_of(graph))
    batcher = QueryBatcher(model, pool_of(graph), graphs_per_query=None if probes.packing else 1)
    answers = whole_answers(batcher, graph)
    kind = batcher.output_kind
    classes = ["no", "yes"] if kind == "score" else [f"c{n}" for n in range(answers.shape[1])]
    decisions = decisions_over(
        answers,
        classes[-1:],
        classes,
        graph=graph,
        kind=kind,
        precision="float32",
        **dict(world.rule),
    )
    return Asked(world=world, graph=graph, batcher=batcher, probes=probes, decisions=decisions)


def random_world(path: Path, seed: int, *, directed: bool, ties: int = 8, **declared: Any) -> World:
    """Seven people with parallel ties, a loop, and weights."""
    random = np.random.default_rng(seed)
    rule = declared.pop("rule", {})
    drawn = random.integers(7, size=(ties, 2)).tolist()
    rows = [(a, b) for a, b in drawn if a != b]
    rows += [rows[0], rows[1][::-1], (int(rows[0][0]),) * 2]
    if not directed:  # with every row mirrored, the two rows of a tie would be read as one
        rows = [(min(row), max(row)) for row in rows]
    return World(
        path=path,
        declared=tuple(declared.items()),
        features=tuple(map(tuple, random.normal(size=(7, FEATURES)).tolist())),
        rows=tuple(rows),
        weights=tuple(random.uniform(0.3, 2.0, len(rows)).tolist()),
        directed=directed,
        rule=tuple(rule.items()),
    )


DECLARED: dict[str, dict[str, Any]] = {
    "outside_normalised": {"self_loops": "add", "normalisation": "symmetric"}
}


def sample_worlds() -> list[Any]:
    """One world for each sample model and each kind of graph."""
    found = []
    for place, name in enumerate(SAMPLE_MODELS):
        for directed in (False, True):
            world = random_world(
                SAMPLES / f"{name}.onnx",
                10 * place + directed,
                directed=directed,
                **DECLARED.get(name, {}),
            )
            found.append(pytest.param(world, id=f"{name}-{'one' if directed else 'both'}"))
    return found


def first_tied(graph: Graph) -> int:
    return int(np.argmax(np.diff(graph.starts)))


def pairs_of(ties: tuple[tuple[str, str], ...]) -> frozenset[Pair]:
    return frozenset(Pair((int(a), int(b))) for a, b in ties)


def with_whole_graph(
    world: Asked, subject: int, found: SearchResult, budget: int, **known: Any
) -> tuple[tuple[Counterfactual, ...], Carriers | None]:
    removed = [numbers.removed for numbers in found.numbers]
    asked = world.about(subject, **known)
    return on_whole_graph(asked, world.naming, found.counterfactuals, removed, budget)


def carried(world: Asked, subject: int, budget: int = EVERYTHING, **known: Any) -> Carriers:
    _, found = on_whole_graph(world.about(subject, **known), world.naming, (), (), budget)
    assert found is not None
    return found


def moved(world: Asked, removed: frozenset[Pair], subject: int) -> tuple[float, bool]:
    """How far an answer moves away from the decision, and whether the decision changes."""
    decisions = world.decisions
    own, other = decisions.everybody[subject], world.alone(removed, subject)
    [before] = decisions.names_of(own[None], subject)
    [after] = decisions.names_of(other[None], subject)
    if decisions.rule.scores:
        rise = round(float(other[0]), 6) - round(float(own[0]), 6)
        better = decisions.rule.better == "higher"
        away = -rise if (before == "yes") == better else rise
    else:
        column = decisions.classes.index(before)
        away = round(float(np.exp(own[column])), 6) - round(float(np.exp(other[column])), 6)
    return round(away, 6), after != before


def brute_force(world: Asked, subject: int) -> tuple[dict[int, float], int | None]:
    """The farthest move of each size that exceeds every smaller one, and the smallest flip."""
    every = sorted({Pair(row) for row in world.world.rows if len(Pair(row)) == 2}, key=sorted)
    front, smallest, farthest = {}, None, 0.0
    for size in range(1, MAX_TIES + 1):
        sets = [frozenset(some) for some in combinations(every, size)]
        found = [moved(world, some, subject) for some in sets]
        best = max((away for away, _ in found), default=0.0)
        if best > farthest:
            front[size], farthest = best, best
        if smallest is None and any(flips for _, flips in found):
            smallest = size
    return front, smallest


@pytest.mark.parametrize("world", sample_worlds())
def test_the_front_is_that_of_all_sets_of_ties(world: World) -> None:
    opened = asked(world)
    subject = first_tied(opened.graph)
    front, smallest = brute_force(opened, subject)
    found = carried(opened, subject)
    assert found.coverage == "exhaustive"
    assert {one.size: abs(one.effect) for one in found.front} == pytest.approx(front, abs=2e-6)
    for one in found.front:
        assert moved(opened, pairs_of(one.removed), subject)[0] == pytest.approx(
            abs(one.effect), abs=2e-6
        )
    flip = found.smallest_flip
    assert (None if flip is None else flip.size) == smallest


@pytest.mark.parametrize("world", sample_worlds())
def test_every_own_tie_is_listed_with_what_it_does_alone(world: World) -> None:
    opened = asked(world)
    subject = first_tied(opened.graph)
    name = opened.graph.ids[subject]
    found = carried(opened, subject)
    assert len(found.own) == found.own_ties > 0
    assert len({frozenset(tie) for one in found.own for tie in one.removed}) == found.own_ties
    for one in found.own:
        assert all(name in tie for tie in one.removed)
        assert abs(moved(opened, pairs_of(one.removed), subject)[0]) == pytest.approx(
            abs(one.effect), abs=2e-6
        )
    sizes = [abs(one.effect) for one in found.own]
    assert sizes == pytest.approx(sorted(sizes, reverse=True), abs=2e-6)


RULES: dict[str, dict[str, Any]] = {
    "cut-off": {"cut_off": 0.1, "better": "higher"},
    "lower is better": {"cut_off": 0.1, "better": "lower"},
    "quota": {"quota": 3},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(2))
def test_a_score_moves_towards_the_line_whichever_side_is_better(
    rule: str, seed: int, tmp_path: Path
) -> None:
    path = sum_network(tmp_path / "model.onnx", features=FEATURES, head="score", seed=seed)
    world = random_world(path, seed, directed=False, output="score", rule=RULES[rule])
    opened = asked(world)
    for subject in range(4):
        if not opened.graph.degree(subject):
            continue
        front, smallest = brute_force(opened, subject)
        found = carried(opened, subject)
        assert {one.size: abs(one.effect) for one in found.front} == pytest.approx(front, abs=1e-5)
        flip = found.smallest_flip
        assert (None if flip is None else flip.size) == smallest
        for one in found.front:
            assert one.probabilities == {}
            assert one.score is not None


@pytest.mark.parametrize("world", sample_worlds())
def test_a_counterfactual_says_what_a_graph_without_its_ties_would(world: World) -> None:
    opened = asked(world)
    subject = first_tied(opened.graph)
    search = opened.found(subject)
    found, none = with_whole_graph(opened, subject, search, 0)
    assert none is None
    assert [replace(one, whole_graph=None) for one in found] == [*search.counterfactuals]
    assert found
    own = opened.decisions.everybody[[subject]]
    [decided] = opened.decisions.names_of(own, subject)
    for one in found:
        answer = opened.alone(pairs_of(one.removed), subject)[None]
        [decision] = opened.decisions.names_of(answer, subject)
        assert one.whole_graph is not None
        chances = dict(zip(opened.decisions.classes, np.exp(answer[0]).tolist(), strict=True))
        assert one.whole_graph.probabilities == pytest.approx(chances, abs=2e-6)
        column = opened.decisions.classes.index(decided)
        assert one.whole_graph.effect == pytest.approx(
            float(np.exp(answer[0, column]) - np.exp(own[0, column])), abs=3e-6
        )
        assert one.whole_graph.decision == decision
        assert one.whole_graph.flips == (decision != decided)


NO_FORM: dict[str, Any] = {"sender_degree": None}
NO_DEPTH: dict[str, Any] = {"sender_degree": None, "depth": None}


@pytest.mark.parametrize("name", ["gcn", "gat"])
@pytest.mark.parametrize("budget", [40, EVERYTHING])
def test_a_model_without_a_form_gets_the_same_figures_one_by_one(name: str, budget: int) -> None:
    opened = asked(random_world(SAMPLES / f"{name}.onnx", 3, directed=False))
    assert opened.probes.sender_degree is (name == "gcn")
    subject = first_tied(opened.graph)
    plain = opened.found(subject)
    shared, some = with_whole_graph(opened, subject, plain, budget)
    assert some is not None
    for known in (NO_FORM, NO_DEPTH):
        apart, others = with_whole_graph(opened, subject, plain, budget, **known)
        assert shared == apart
        assert others is not None
        assert some.front == others.front
        assert some.smallest_flip == others.smallest_flip


def test_a_field_that_does_not_give_the_known_answer_is_not_relied_on(tmp_path: Path) -> None:
    """As if a probe had found too small a depth: shared states are not right."""
    path = sum_network(tmp_path / "m.onnx", features=FEATURES, scale=0.05)
    world = replace(crowd().world, path=path, declared=(("output", "logits"),))
    opened, subject = asked(world), 0
    asking = opened.about(subject, depth=1)
    assert asking.edited.allows("shared")
    _, found = on_whole_graph(asking, opened.naming, (), (), 40)
    assert asking.way == "field"
    assert found is not None
    assert found.front
    for one in found.front:
        right, _ = moved(opened, pairs_of(one.removed), subject)
        assert abs(one.effect) == pytest.approx(right, abs=2e-6)


def test_half_precision_is_compared_by_its_own_rounding(tmp_path: Path) -> None:
    """An answer in half precision differs by more than 1e-5 between queries, and is the same."""
    path = sum_network(tmp_path / "m.onnx", features=FEATURES, dtype="float16")
    opened = asked(random_world(path, 3, directed=False, output="logits"))
    subject = first_tied(opened.graph)
    asking = opened.about(subject)
    known = asking.edited.everybody
    asking.edited.everybody = known + 2e-4  # what another order of additions may do
    on_whole_graph(asking, opened.naming, (), (), EVERYTHING)
    assert asking.way == "shared"
    far = opened.about(subject)
    far.edited.everybody = known + 0.2
    on_whole_graph(far, opened.naming, (), (), EVERYTHING)
    assert far.way == "whole"


def crowd() -> Asked:
    """Forty people around one, so that nobody can try every set."""
    random = np.random.default_rng(5)
    spokes = [(0, other) for other in range(1, 12)]
    rows = [*spokes, *((int(a), int(b)) for a, b in random.integers(1, 40, (60, 2)) if a != b)]
    features = random.normal(size=(40, FEATURES))
    world = World(
        path=SAMPLES / "gcn.onnx",
        declared=(),
        features=tuple(map(tuple, features.tolist())),
        rows=tuple(rows),
        weights=(1.0,) * len(rows),
        directed=False,
    )
    return asked(world)


@pytest.mark.parametrize("budget", [7, 60, 300])
def test_no_more_sets_are_tried_than_the_budget_allows_and_all_are_counted(budget: int) -> None:
    opened = crowd()
    before = opened.batcher.graphs
    found = carried(opened, 0, budget)
    tried = sum(one.tried for one in found.tried)
    own = 11 + 55
    assert tried <= max(budget, min(own + budget // 2, 4 * budget))
    # Besides the sets, the field as it is, in two ways.
    assert opened.batcher.graphs - before == tried + 2
    assert found.coverage == "beam"
    assert found.own_ties == 11
    for one in found.tried:
        assert one.own_tried <= one.tried <= one.of
        assert one.own_tried <= one.own_of


def test_all_sets_of_one_and_two_own_ties_are_tried_before_others_are_grown() -> None:
    found = carried(crowd(), 0, 40)
    one, two, *_ = found.tried
    assert (one.own_tried, two.own_tried) == (11, 55)
    assert one.own_of == 11
    assert two.own_of == 55
    assert [front.size for front in found.front] == [1, 2, 3, 4]


def test_a_larger_budget_never_ends_with_a_worse_set_of_own_ties_and_repeats_itself() -> None:
    opened = crowd()
    small, large = (carried(opened, 0, budget) for budget in (120, 2_000))
    assert small == carried(opened, 0, 120)
    for one, other in zip(small.front, large.front, strict=True):
        assert abs(other.effect) >= abs(one.effect)


def test_where_the_whole_graph_is_too_large_the_model_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = asked(random_world(SAMPLES / "gcn.onnx", 3, directed=False))
    subject = first_tied(opened.graph)
    plain = opened.found(subject)
    arcs = len(opened.graph.arc_source)
    monkeypatch.setattr(influential_ties, "MOST_ARCS_TRIED", arcs - 1)
    found, none = with_whole_graph(opened, subject, plain, 100, **NO_DEPTH)
    assert none is None
    assert all(isinstance(one.whole_graph, WholeGraph) for one in found)
    monkeypatch.setattr(influential_ties, "MOST_ARCS_GIVEN", arcs - 1)
    before = opened.batcher.graphs
    found, none = with_whole_graph(opened, subject, plain, 100, **NO_DEPTH)
    assert none is None
    assert found == plain.counterfactuals
    assert opened.batcher.graphs == before
    monkeypatch.setattr(influential_ties, "MOST_ARCS_TRIED", arcs * 9)
    _, some = with_whole_graph(opened, subject, plain, 100, **NO_DEPTH)
    assert some is not None
    assert sum(one.tried for one in some.tried) <= 9


def test_an_answer_that_is_not_a_number_is_no_finding(tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", features=FEATURES, trap="some_nan", seed=3)
    world = random_world(path, 1, directed=False, output="logits")
    opened = asked(world)
    usable = np.flatnonzero(opened.decisions.usable(opened.decisions.everybody))
    broken = 0
    for subject in usable.tolist():
        if not opened.graph.degree(subject):
            continue
        found = carried(opened, subject)
        for one in found.front:
            assert all(np.isfinite(list(one.probabilities.values())))
        every = {Pair(row) for row in world.rows if len(Pair(row)) == 2}
        broken += any(
            not np.isfinite(opened.alone(frozenset([pair]), subject)).all() for pair in every
        )
    assert broken


def test_somebody_without_ties_has_none_that_carry_the_decision() -> None:
    features = np.random.default_rng(0).normal(size=(3, FEATURES))
    world = World(
        path=SAMPLES / "gcn.onnx",
        declared=(),
        features=tuple(map(tuple, features.tolist())),
        rows=((0, 1),),
        weights=(1.0,),
        directed=False,
    )
    opened = asked(world)
    assert on_whole_graph(opened.about(2), opened.naming, (), (), 100) == ((), None)


def hub(folder: Path, ties: int) -> Asked:
    """One person with many ties, each of which moves the answer a little."""
    random = np.random.default_rng(11)
    features = random.normal(size=(ties + 1, FEATURES))
    world = World(
        path=network(folder / "m.onnx", "gcn", features=FEATURES, seed=1),
        declared=(("output", "logits"),),
        features=tuple(map(tuple, features.tolist())),
        rows=tuple((0, other) for other in range(1, ties + 1)),
        weights=(1.0,) * ties,
        directed=False,
    )
    return asked(world)


def test_a_hub_gets_an_equal_share_of_the_budget_for_every_size(tmp_path: Path) -> None:
    """Of 240 own ties there are 28,680 pairs, which would take any budget."""
    opened = hub(tmp_path, 240)
    found = carried(opened, 0, 128)
    assert [one.size for one in found.tried] == [1, 2, 3, 4]
    singles, *larger = [one.tried for one in found.tried]
    assert singles == 240
    assert max(larger) - min(larger) <= 1
    assert sum(larger) == 4 * 128 - 240
    best = [pairs_of(one.removed) for one in sorted(found.own, key=lambda one: one.effect)[:4]]
    four = moved(opened, frozenset().union(*best), 0)[0]
    assert abs(found.front[-1].effect) >= four > 0


def test_a_hub_with_more_ties_than_may_be_tried_still_has_larger_sets(tmp_path: Path) -> None:
    found = carried(hub(tmp_path, 700), 0, 128)
    assert [one.size for one in found.tried] == [1, 2, 3, 4]
    assert found.tried[0].tried == 384
    assert all(one.tried >= 42 for one in found.tried[1:])


def test_hubs_are_ranked_before_their_sets_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand own ties there are half a million pairs; a few are listed for each tried."""
    listed: list[int] = []
    every = influential_ties._every

    def counted(items: Any, size: int) -> Any:
        found = every(items, size)
        listed.append(len(found))
        return found

    monkeypatch.setattr(influential_ties, "_every", counted)
    carried(crowd(), 0, 3)
    assert max(listed) <= 4 * 4 * 3
