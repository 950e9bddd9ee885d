"""An edited graph gets the answers of the graph written out in full, whatever is edited.

`python -m tests.model.test_edited_graph FIRST LAST` compares further random worlds.
"""

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from recourse_audit.graph.graph import Floats
from recourse_audit.graph.readers import from_arrays, read_graph
from recourse_audit.model import edited_graph
from recourse_audit.model.edited_graph import EditedGraph, StateSharing, Way
from recourse_audit.model.edits import arriving_field, exceeds, join_edits
from recourse_audit.model.queries import whole
from recourse_audit.model.session import OnnxModel
from recourse_audit.model.state_sharing import Form
from recourse_audit.records.model import ProbeReport
from recourse_audit.settings import load_settings
from tests.cases import long_after
from tests.decisions import decisions_over
from tests.model.edited_graphs import Edit, World, random_graph
from tests.model.small_graphs import open_model
from tests.model.test_packing import SAMPLE_MODELS, sample_name, sample_settings
from tests.onnx_models import degree_network, sum_network
from tests.onnx_networks import network

PLAIN = ("gat", "sage", "gin", "max", "rgcn", "attributes", "bare_mean")
DEGREE = ("gcn", "weighted_gcn", "sender_degree", "own_degree", "degrees")
KINDS = (*PLAIN, *DEGREE)
WORLDS = 96
EDITS = 110
CLASSES = 3
SOUND = ProbeReport(
    deterministic=True, node_order=True, tie_order=True, ties_matter=True, packing=True, depth=2
)


def test_ten_thousand_edits_are_answered_as_on_the_whole_graph(tmp_path: Path) -> None:
    """Random graphs, networks of every architecture and of one to four layers, random edits."""
    assert WORLDS * EDITS >= 10_000
    for seed in range(WORLDS):
        kind, layers, world, edits = drawn(tmp_path, seed)
        right = world.answers(edits)
        for form in forms_of(kind):
            answers = asked(world, edits, layers, form)
            assert nearly_equal(answers, right), (seed, kind, layers, form)
            # An exponential may round otherwise at another place of a vector.
            same = np.array_equal(answers, right, equal_nan=True)
            assert same or kind == "gat", (seed, kind, layers, form)


WAYS: tuple[Way, ...] = ("shared", "field", "whole")


@pytest.mark.parametrize("one_node", [False, True])
@pytest.mark.parametrize("kind", ["gcn", "sage", "weighted_gcn"])
def test_every_way_to_ask_gives_the_answers_of_the_whole_graph(
    kind: str, one_node: bool, tmp_path: Path
) -> None:
    """Also edits about one node, which share fields, and join_edits lists of edits."""
    _, layers, world, edits = drawn(tmp_path, 16, kind=kind, layers=2)
    if one_node:
        edits = [replace(edit, asked=edits[0].asked[:1]) for edit in edits]
    right = world.answers(edits)
    nodes = np.arange(world.graph.node_count)
    answers = world.batcher.ask(whole(world.graph), nodes)
    decisions = decisions_over(answers, ["c"], ["a", "b", "c"], graph=world.graph)
    report = replace(SOUND, depth=layers, sender_degree=kind in DEGREE)
    edited = EditedGraph(world.graph, world.batcher, report, decisions)
    edited.batcher = world.batcher  # which knows the further ties of the world
    half = len(edits) // 2
    halves = join_edits([world.packed(edits[:half]), world.packed(edits[half:])])
    for way in WAYS:
        for packed in (world.packed(edits), halves):
            answers, fits = edited.answers(packed, way)
            assert fits.all()
            assert nearly_equal(answers, right), way
    assert nearly_equal(edited.on_whole_graph(world.packed(edits)), right)


@pytest.mark.parametrize("seed", long_after(6, range(12)))
def test_a_layer_less_or_the_leaner_form_of_a_gcn_gives_other_answers(
    seed: int, tmp_path: Path
) -> None:
    """The comparison sees what is wrong."""
    kind, layers, world, edits = drawn(tmp_path, seed, layers=2)
    right = world.answers(edits)
    assert not nearly_equal(asked(world, edits, layers - 1, forms_of(kind)[0]), right)
    if kind in DEGREE:
        assert not nearly_equal(asked(world, edits, layers, "plain"), right)


@pytest.mark.parametrize("kind", ["gcn", "gin", "weighted_gcn"])
@pytest.mark.parametrize("most", [(1, 2**17), (7, 2**17), (512, 1)])
def test_answers_do_not_depend_on_how_a_query_is_cut(
    kind: str, most: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, layers, world, edits = drawn(tmp_path, 5, kind=kind, layers=2)
    form = forms_of(kind)[0]
    at_once = asked(world, edits, layers, form)
    before = world.batcher.runs
    monkeypatch.setattr(edited_graph, "MOST_EDITS", most[0])
    monkeypatch.setattr(edited_graph, "MOST_ARCS", most[1])
    assert np.array_equal(asked(world, edits, layers, form), at_once)
    assert world.batcher.runs - before > 1


@pytest.mark.parametrize("kind", ["gcn", "gat", "rgcn"])
def test_answers_do_not_depend_on_the_order_of_edits(kind: str, tmp_path: Path) -> None:
    _, layers, world, edits = drawn(tmp_path, 8, kind=kind, layers=3)
    alone = [replace(edit, asked=edit.asked[:1]) for edit in edits]
    order = np.random.default_rng(0).permutation(len(alone))
    form = forms_of(kind)[0]
    shuffled = asked(world, [alone[number] for number in order], layers, form)
    assert nearly_equal(shuffled, asked(world, alone, layers, form)[order])


@pytest.mark.parametrize("kind", ["gcn", "sage"])
@pytest.mark.parametrize("seed", long_after(8, range(15)))
def test_few_edits_and_edits_that_reach_nobody_are_answered(
    seed: int, kind: str, tmp_path: Path
) -> None:
    _, layers, world, edits = drawn(tmp_path, seed, kind=kind)
    nobody, nothing = Edit(asked=[]), Edit(asked=[0, 1, 0])
    for few in (
        [edits[0]],
        [nothing],
        [nobody],
        [nobody, edits[0], nobody],
        [nobody, nothing],
        [replace(edit, asked=[0]) for edit in edits[:3]],
        [],
    ):
        for form in forms_of(kind):
            answers = asked(world, few, layers, form)
            assert answers.shape == (sum(len(edit.asked) for edit in few), CLASSES)
            if len(answers):
                assert nearly_equal(answers, world.answers(few))


@pytest.mark.parametrize("kind", ["gcn", "rgcn", "sage", "weighted_gcn"])
def test_an_edit_by_itself_is_answered_as_on_the_whole_graph(kind: str, tmp_path: Path) -> None:
    _, layers, world, edits = drawn(tmp_path, 4, kind=kind, layers=2)
    without = [replace(edit, added=[]) for edit in edits if edit.asked]
    assert any(edit.dropped for edit in without)
    for edit in without:
        for form in forms_of(kind):
            assert nearly_equal(asked(world, [edit], layers, form), world.answers([edit]))


@pytest.mark.parametrize("kind", ["gcn", "own_degree", "gin"])
def test_an_arc_that_an_edit_drops_twice_is_dropped_once(kind: str, tmp_path: Path) -> None:
    _, layers, world, edits = drawn(tmp_path, 3, kind=kind, layers=2)
    twice = [replace(edit, dropped=edit.dropped * 2) for edit in edits]
    targets = world.graph.arc_target
    first, other = np.flatnonzero(targets == np.bincount(targets).argmax())[:2].tolist()
    everybody = list(range(world.graph.node_count))
    twice += [Edit(asked=everybody, dropped=[first, more]) for more in (other, first)]
    assert nearly_equal(asked(world, twice, layers, forms_of(kind)[0]), world.answers(twice))


@pytest.mark.parametrize("seed", range(8))
def test_a_depth_larger_than_the_model_s_gives_the_same_answers(seed: int, tmp_path: Path) -> None:
    kind, layers, world, edits = drawn(tmp_path, seed, layers=1 + seed % 3)
    answers = asked(world, edits, layers + 2, forms_of(kind)[0])
    assert nearly_equal(answers, world.answers(edits))


@pytest.mark.parametrize("form", ["plain", "degree"])
def test_a_model_that_uses_no_ties_has_fields_of_depth_0(form: Form, tmp_path: Path) -> None:
    path = sum_network(tmp_path / "model.onnx", trap="ties", features=4)
    world = a_world(path, 1, features=4)
    edits = random_edits(world, 1)
    assert nearly_equal(asked(world, edits, 0, form), world.answers(edits))


def test_a_model_that_counts_ties_only_has_degree_fields_of_depth_0(tmp_path: Path) -> None:
    world = a_world(degree_network(tmp_path / "model.onnx", features=4), 2, features=4)
    edits = random_edits(world, 2)
    assert nearly_equal(asked(world, edits, 0, "degree"), world.answers(edits))


def test_every_edit_counts_as_one_graph_that_was_asked_about(tmp_path: Path) -> None:
    _, layers, world, edits = drawn(tmp_path, 4, kind="gin", layers=2)
    asked(world, edits, layers, "plain")
    assert world.batcher.graphs == len(edits)


@pytest.mark.parametrize(
    "path",
    [path for path in SAMPLE_MODELS if path.stem in ("gcn", "gat", "gin", "outside_normalised")],
    ids=sample_name,
)
def test_a_sample_model_answers_as_on_the_whole_graph(path: Path) -> None:
    graph = read_graph(load_settings(path.parent / "audit.toml").graph)
    model = OnnxModel(sample_settings(path))
    model.with_output(replace(model.signature.output, kind="logits", columns=2, classes=2))
    random = np.random.default_rng(0)
    world = World(graph, model, random)
    world.rows = graph.features[random.integers(0, graph.node_count, len(world.rows))]
    edits = [world.random_edit(random) for _ in range(10)]
    form: Form = "degree" if path.stem in ("gcn", "outside_normalised") else "plain"
    assert nearly_equal(asked(world, edits, 2, form), world.answers(edits))


def drawn(
    folder: Path, seed: int, *, kind: str | None = None, layers: int | None = None
) -> tuple[str, int, World, list[Edit]]:
    """A network, a graph and edits; seeds that follow each other have all kinds and depths."""
    random = np.random.default_rng(seed)
    kind = kind or KINDS[seed % len(KINDS)]
    layers = layers or 1 + seed // len(KINDS) % 4
    features = int(random.integers(1, 41))
    path = network(
        folder / "model.onnx",
        kind,
        features=features,
        classes=CLASSES,
        layers=layers,
        hidden=int(random.integers(1, 20)),
        seed=seed,
        dtype="float64" if random.random() < 0.3 else "float32",
    )
    world = a_world(path, seed, features=features)
    return kind, layers, world, random_edits(world, seed)


def a_world(path: Path, seed: int, *, features: int) -> World:
    random = np.random.default_rng(seed + 1000)
    model = open_model(path)
    model.with_output(
        replace(model.signature.output, kind="logits", columns=CLASSES, classes=CLASSES)
    )
    graph = random_graph(random, features=features, largest=18 if seed % 4 else 60)
    return World(graph, model, random)


def random_edits(world: World, seed: int) -> list[Edit]:
    random = np.random.default_rng(seed + 2000)
    return [world.random_edit(random) for _ in range(EDITS)]


def forms_of(kind: str) -> tuple[Form, ...]:
    """The forms that answer for a network: the leaner one first."""
    return ("degree",) if kind in DEGREE else ("plain", "degree")


def asked(world: World, edits: list[Edit], depth: int, form: Form) -> Floats:
    return StateSharing(world.graph, world.batcher, depth, form).answers(world.packed(edits))


def nearly_equal(answers: Floats, right: Floats) -> bool:
    """Whether probabilities agree to 1e-6; what is no number in one is none in the other."""
    return np.allclose(np.exp(answers), np.exp(right), rtol=0, atol=1e-6, equal_nan=True)


def main(first: int, last: int) -> None:
    """Compare the worlds of some seeds, and write what differs."""
    cases = 0
    with TemporaryDirectory() as folder:
        for seed in range(first, last):
            kind, layers, world, edits = drawn(Path(folder), seed)
            right = world.answers(edits)
            for form in forms_of(kind):
                answers = asked(world, edits, layers, form)
                if not np.array_equal(answers, right, equal_nan=True):
                    how = "rounded" if nearly_equal(answers, right) else "different"
                    sys.stdout.write(f"{seed} {kind} {layers} {form}: {how}\n")
            cases += len(edits)
    sys.stdout.write(f"{cases:,} edits compared\n")


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_a_field_is_too_large_exactly_if_more_arcs_than_allowed_are_in_it(
    hops: int, directed: bool
) -> None:
    random = np.random.default_rng(hops)
    ends = random.integers(40, size=(2, 60))
    graph = from_arrays(random.normal(size=(40, 2)), ends[:, ends[0] != ends[1]], directed=directed)
    for asked in (np.array([3]), random.permutation(40)[:4]):
        arcs = len(arriving_field(graph, asked, hops, counted=False).arcs)
        assert exceeds(graph, asked, hops, arcs - 1)
        assert not exceeds(graph, asked, hops, arcs)


if __name__ == "__main__":
    main(*(int(number) for number in sys.argv[1:]))
