"""Everybody's answer, asked block by block, is the whole graph's; otherwise nobody gets it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from recourse_audit.audit import large_graphs as module
from recourse_audit.audit.large_graphs import (
    BlockFields,
    BlockLimits,
    Blocks,
    LargeGraph,
    Ring,
    number_looks,
    whole_answers,
)
from recourse_audit.audit.load import LoadedAudit, load_audit
from recourse_audit.errors import LimitError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Floats, Graph, Indices
from recourse_audit.graph.neighbourhoods import by_locality
from recourse_audit.model.batching import same_answer
from recourse_audit.model.queries import Query, whole
from recourse_audit.model.session import OnnxModel
from tests.audit.test_samples import PREPARED
from tests.audits import lending_audit
from tests.onnx_models import degree_network, sum_network

PEOPLE = 240
SIZES = (1, 60, 700)


def limits(size: int, times: float = np.inf) -> BlockLimits:
    """Cut any graph, into blocks of one size."""
    return BlockLimits(whole=0, sizes=(size,), times=times)


def in_one(audit: LoadedAudit) -> Floats:
    return audit.batcher.ask(whole(audit.graph), np.arange(audit.graph.node_count))


def in_blocks(audit: LoadedAudit, cut: BlockLimits) -> Floats | None:
    assert audit.probes.depth is not None
    return LargeGraph(audit, audit.probes.depth, cut).answers_in_blocks()


def agree(some: Floats | None, other: Floats) -> bool:
    assert some is not None
    return all(same_answer(one, two, 1e-5) for one, two in zip(some, other, strict=True))


def audit_of(
    folder: Path, *, form: str = "edges", directed: bool = False, trap: str | None = None
) -> LoadedAudit:
    """People in a ring with some more ties: loops, parallel ones, and ten people without any."""
    if form == "degree":
        degree_network(folder / "model.onnx")
    else:
        sum_network(folder / "model.onnx", form=form, trap=trap)
    random = np.random.default_rng(3)
    tied = PEOPLE - 10
    around = np.stack((np.arange(tied), (np.arange(tied) + 1) % tied))
    more = random.integers(0, tied, (2, 60))
    ends = np.concatenate((around, more, more[:, :5], [[4, 9, 9], [4, 9, 9]]), axis=1)
    count = ends.shape[1]
    np.savez(
        folder / "graph.npz",
        x=np.float32(random.integers(0, 2, (PEOPLE, 5))),
        edge_index=random.permutation(tied + 10)[ends],
        edge_type=random.integers(0, 3, count),
        edge_weight=np.float32(random.random(count)),
        edge_attr=np.float32(random.random((count, 2))),
    )
    (folder / "audit.toml").write_text(
        f'[model]\npath = "model.onnx"\n'
        f'[graph]\nnpz = "graph.npz"\ndirected = {str(directed).lower()}\n'
        '[decision]\nclasses = ["a", "b", "c"]\nfavourable = ["c"]\n',
        encoding="utf-8",
    )
    return load_audit(folder / "audit.toml")


@pytest.mark.parametrize("model", ["gcn", "gat", "sage", "gin", "outside_normalised", "sigmoid"])
def test_every_architecture_answers_in_blocks_as_on_the_whole_graph(
    model: str, tmp_path: Path
) -> None:
    audit = load_audit(lending_audit(tmp_path, model, more=PREPARED.get(model, "")))
    assert agree(in_blocks(audit, limits(4000)), in_one(audit))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("form", ["edges", "type", "weight", "attributes", "ends", "degree"])
def test_blocks_of_any_size_give_the_whole_graphs_answers(
    form: str, directed: bool, tmp_path: Path
) -> None:
    audit = audit_of(tmp_path, form=form, directed=directed)
    expected = in_one(audit)
    for size in SIZES:
        assert agree(in_blocks(audit, limits(size)), expected)


def test_a_graph_of_small_components_is_cut_between_them(tmp_path: Path) -> None:
    audit = audit_of(tmp_path)
    first = 3 * np.arange(PEOPLE // 3)
    ends = np.concatenate([np.stack((first, first + 1)), np.stack((first, first + 2))], axis=1)
    graph = from_arrays(audit.graph.features, ends)
    pieces = replace(audit, graph=graph)
    assert agree(in_blocks(pieces, limits(40)), in_one(pieces))


def fields_of(audit: LoadedAudit) -> BlockFields:
    assert audit.probes.depth is not None
    features = audit.batcher.features
    alike = not audit.batcher.needs_ties
    return BlockFields(audit.graph, audit.probes.depth, features=features, alike=alike)


@pytest.mark.parametrize("ring", ["bare", "counted", "tied"])
@pytest.mark.parametrize("size", SIZES)
def test_everybody_is_in_one_block_and_blocks_keep_to_their_size(
    ring: Ring, size: int, tmp_path: Path
) -> None:
    audit = audit_of(tmp_path, form="weight")
    blocks = [*Blocks(fields_of(audit), by_locality(audit.graph), ring, size)]
    assert np.array_equal(
        np.sort(np.concatenate([block.nodes for block in blocks])), np.arange(PEOPLE)
    )
    loops = len(audit.graph.loop_node)
    assert all(block.arcs <= size + loops or len(block.nodes) == 1 for block in blocks)
    assert len(blocks) > 1 or size >= len(audit.graph.arc_source)


def test_the_block_of_a_node_is_found_without_the_others(tmp_path: Path) -> None:
    audit = audit_of(tmp_path)
    order = by_locality(audit.graph)
    blocks = Blocks(fields_of(audit), order, "counted", 100)
    where = {node: block.nodes.tolist() for block in blocks for node in block.nodes.tolist()}
    for place in (0, 77, PEOPLE - 1):
        assert blocks.find_block(place).nodes.tolist() == where[int(order[place])]


@pytest.mark.parametrize(("model", "ring"), [("gcn", "counted"), ("sage", "bare")])
def test_degrees_of_the_ring_are_shown_only_to_a_model_that_looks_at_them(
    model: str, ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = load_audit(lending_audit(tmp_path, model))
    chosen: list[Ring] = []

    def noted(fields: BlockFields, order: Indices, ring: Ring, most: int) -> Blocks:
        chosen.append(ring)
        return Blocks(fields, order, ring, most)

    monkeypatch.setattr(module, "Blocks", noted)
    assert in_blocks(audit, limits(4000)) is not None
    assert chosen == [ring]


@dataclass
class Sizes:
    """How many nodes the questions to a model have had."""

    asked: list[int]


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> Sizes:
    found = Sizes([])
    ask = OnnxModel.ask

    def noted(model: OnnxModel, query: Query) -> object:
        found.asked.append(len(query.nodes))
        return ask(model, query)

    monkeypatch.setattr(OnnxModel, "ask", noted)
    return found


def test_a_model_that_minds_how_many_are_asked_about_is_asked_about_the_whole_graph(
    tmp_path: Path, sizes: Sizes
) -> None:
    audit = audit_of(tmp_path, trap="crowd")
    assert audit.probes.depth == 2
    assert not audit.probes.failed
    sizes.asked.clear()
    answers = whole_answers(audit, np.arange(PEOPLE), limits(300))
    assert sizes.asked[-1] == PEOPLE
    assert max(sizes.asked[:-1]) < PEOPLE
    assert np.array_equal(answers, in_one(audit))


@pytest.mark.parametrize("missing", [0, 1])
def test_a_large_graph_is_one_query_if_the_free_memory_allows_it_and_otherwise_blocks(
    missing: int, tmp_path: Path, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = audit_of(tmp_path)
    expected = in_one(audit)
    arcs = len(audit.graph.arc_source)
    free = int(1000 * arcs / module.SHARE_OF_FREE) + 1 - 2 * missing
    monkeypatch.setattr(module, "MEASURED", (40, 80))
    monkeypatch.setattr(LargeGraph, "_peak", lambda _, union: 5 + 1000 * len(union.sources))
    monkeypatch.setattr(OnnxModel, "free_memory", free)
    sizes.asked.clear()
    answers = whole_answers(audit, np.arange(PEOPLE), limits(300))
    assert (PEOPLE in sizes.asked) == (not missing)
    assert agree(answers, expected)


def test_a_query_that_takes_more_memory_than_was_measured_is_asked_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = audit_of(tmp_path)
    expected = in_one(audit)
    ask = OnnxModel.ask

    def limited(model: OnnxModel, query: Query) -> object:
        if len(query.nodes) == PEOPLE:
            raise LimitError("more memory")
        return ask(model, query)

    monkeypatch.setattr(LargeGraph, "_bytes_at_once", lambda _: 1.0)
    monkeypatch.setattr(OnnxModel, "ask", limited)
    assert agree(whole_answers(audit, np.arange(PEOPLE), limits(300)), expected)


def test_decisions_within_rounding_do_not_depend_on_the_free_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = audit_of(tmp_path)
    monkeypatch.setattr(module, "CLOSE", 1e9)
    in_parts = whole_answers(audit, np.arange(PEOPLE), limits(300))
    monkeypatch.setattr(LargeGraph, "_bytes_at_once", lambda _: 1.0)
    assert np.array_equal(whole_answers(audit, np.arange(PEOPLE), limits(300)), in_parts)


def test_a_depth_that_is_too_small_shows(tmp_path: Path) -> None:
    audit = audit_of(tmp_path)
    mistaken = replace(audit, probes=replace(audit.probes, depth=0))
    assert in_blocks(mistaken, limits(300)) is None


def test_blocks_that_cost_too_much_are_not_asked(tmp_path: Path) -> None:
    audit = audit_of(tmp_path)
    assert in_blocks(audit, limits(60, times=1.0)) is None
    assert in_blocks(audit, limits(60, times=100.0)) is not None


def test_a_graph_that_is_not_large_is_one_query_to_the_bit(tmp_path: Path, sizes: Sizes) -> None:
    audit = audit_of(tmp_path)
    expected = in_one(audit)
    sizes.asked.clear()
    assert np.array_equal(whole_answers(audit, np.arange(PEOPLE)), expected)
    assert sizes.asked == [PEOPLE]


def test_answers_close_to_the_line_do_not_depend_on_the_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = audit_of(tmp_path)
    monkeypatch.setattr(module, "CLOSE", 1e9)
    monkeypatch.setattr(module, "MOST_CLOSE", PEOPLE)
    first, *others = [in_blocks(audit, limits(size)) for size in SIZES]
    assert first is not None
    assert all(np.array_equal(first, other) for other in others if other is not None)
    assert agree(first, in_one(audit))


def test_too_many_answers_close_to_the_line_are_the_whole_graphs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = audit_of(tmp_path)
    monkeypatch.setattr(module, "CLOSE", 1e9)
    monkeypatch.setattr(module, "MOST_CLOSE", PEOPLE - 1)
    assert in_blocks(audit, limits(700)) is None


def test_a_share_of_blocks_is_asked_twice(tmp_path: Path) -> None:
    audit = audit_of(tmp_path)
    repeater = audit.batcher.repeater
    with repeater.always():
        before = audit.batcher.runs
        assert in_blocks(audit, limits(60)) is not None
        made = audit.batcher.runs - before
    assert 1 <= repeater.result.calls < made / 4
    assert repeater.result.differed == 0


def pairs_of(graph: Graph, numbers: Sequence[int]) -> set[tuple[int, int]]:
    return {
        (one, other)
        for one in range(graph.node_count)
        for other in range(graph.node_count)
        if numbers[one] == numbers[other]
    }


def test_nodes_look_alike_only_if_every_bit_and_count_is_equal() -> None:
    random = np.random.default_rng(1)
    x = random.integers(0, 2, (60, 2)).astype(np.float32)
    x[7, 0] = -0.0
    graph = from_arrays(x, random.integers(0, 60, (2, 90)))
    counts = np.bincount(graph.arc_target, minlength=60)
    rows = [(x[node].tobytes(), int(counts[node])) for node in range(60)]
    expected = {
        (one, other) for one in range(60) for other in range(60) if rows[one] == rows[other]
    }
    assert pairs_of(graph, number_looks(x, counts).tolist()) == expected
