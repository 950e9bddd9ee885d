"""Small graphs that share equal states are answered for as by themselves; words tell sets apart."""

from pathlib import Path

import numpy as np
import pytest

from recourse_audit.graph.graph import Graph
from recourse_audit.model import batching
from recourse_audit.model.batching import QueryBatcher, Sharing
from recourse_audit.model.queries import Union, pool_of, side_by_side, with_pairs
from recourse_audit.model.shared_unions import share_union
from recourse_audit.model.state_sharing import distinct, pair_word, word_of
from tests.model.test_edited_graph import KINDS, drawn, forms_of, nearly_equal

PARTS = 60
ASKED = 0.4


def small_graphs(graph: Graph, random: np.random.Generator, *, strangers: bool) -> Union:
    """Parts of a graph side by side; with strangers, some places are somebody else's."""
    parts = []
    for _ in range(PARTS):
        if graph.pair_count:
            pairs = np.unique(random.integers(0, graph.pair_count, random.integers(1, 5)))
        else:
            pairs = np.empty(0, np.int64)
        ends = (graph.pair_low[pairs], graph.pair_high[pairs])
        more = random.integers(0, graph.node_count, 1)
        parts.append(with_pairs(graph, np.unique(np.concatenate((*ends, more))), pairs))
    union = side_by_side(parts, [np.empty(0, np.int64)] * PARTS)[0]
    if strangers:
        moved = random.random(len(union.nodes)) < 0.3
        union.nodes[moved] = random.integers(0, graph.node_count, int(moved.sum()))
    return union


@pytest.mark.parametrize("strangers", [False, True])
@pytest.mark.parametrize("seed", range(2 * len(KINDS)))
def test_answers_are_those_of_each_graph_by_itself(
    seed: int, strangers: bool, tmp_path: Path
) -> None:
    kind, layers, world, _ = drawn(tmp_path, seed, layers=1 + seed % 3)
    random = np.random.default_rng(seed)
    union = small_graphs(world.graph, random, strangers=strangers)
    rows = np.flatnonzero(random.random(len(union.nodes)) < ASKED)
    alone = QueryBatcher(world.batcher.model, pool_of(world.graph))
    right = alone.ask(union, rows)
    for form in forms_of(kind):
        sharing = Sharing(depth=layers, form=form)
        shared = QueryBatcher(world.batcher.model, pool_of(world.graph), sharing=sharing)
        answers = shared.ask(union, rows)
        assert nearly_equal(answers, right), form
        assert shared.graphs == alone.graphs == PARTS


def test_states_are_shared_and_a_question_may_be_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, layers, world, _ = drawn(tmp_path, 9, kind="gcn", layers=2)
    random = np.random.default_rng(0)
    union = small_graphs(world.graph, random, strangers=False)
    rows = np.flatnonzero(random.random(len(union.nodes)) < ASKED)
    sizes: list[int] = []
    real = share_union

    def seen(*given: object, **named: object) -> object:
        shared, places = real(*given, **named)  # type: ignore[arg-type]
        sizes.append(len(shared.nodes))
        return shared, places

    monkeypatch.setattr(batching, "share_union", seen)
    sharing = Sharing(depth=layers, form="degree")
    batcher = QueryBatcher(world.batcher.model, pool_of(world.graph), sharing=sharing)
    at_once = batcher.ask(union, rows)
    assert len(sizes) == 1
    assert sizes[0] < len(union.nodes)
    monkeypatch.setattr(batching, "NODES_SHARED", 20)
    batcher = QueryBatcher(world.batcher.model, pool_of(world.graph), sharing=sharing)
    assert nearly_equal(batcher.ask(union, rows), at_once)
    assert len(sizes) > 5
    # In the plain form a GCN gets other answers, and this is seen.
    sharing = Sharing(depth=layers, form="plain")
    batcher = QueryBatcher(world.batcher.model, pool_of(world.graph), sharing=sharing)
    assert not nearly_equal(batcher.ask(union, rows), at_once)


def test_nothing_is_shared_where_most_nodes_are_asked_about(tmp_path: Path) -> None:
    _, layers, world, _ = drawn(tmp_path, 9, kind="gcn", layers=2)
    union = small_graphs(world.graph, np.random.default_rng(0), strangers=False)
    rows = np.arange(len(union.nodes))
    alone = QueryBatcher(world.batcher.model, pool_of(world.graph))
    sharing = Sharing(depth=layers, form="degree")
    batcher = QueryBatcher(world.batcher.model, pool_of(world.graph), sharing=sharing)
    assert np.array_equal(batcher.ask(union, rows), alone.ask(union, rows))
    assert batcher.runs == alone.runs


def test_numbers_of_any_size_have_words_of_their_own() -> None:
    numbers = np.unique(np.concatenate((np.arange(40_000), 2 ** np.arange(15, 40))))
    words = word_of(numbers, 3)
    assert len(np.unique(words)) == len(numbers)
    assert not np.isin(words, word_of(numbers, 4)).any()


def test_a_word_does_not_depend_on_what_is_asked_beside_it() -> None:
    assert word_of(np.array([5]), 0)[0] == word_of(np.array([5, 2**20]), 0)[0]


def test_sums_of_words_of_pairs_tell_sets_apart() -> None:
    generator = np.random.default_rng(7)
    pairs = generator.integers(0, 6, (20_000, 3, 2))
    pairs[:, :, 0] += 6 * np.arange(3)  # one pair for each of three first numbers, as of arcs
    sums = pair_word(pairs[..., 0], pairs[..., 1], 1).sum(axis=1)
    sets = np.unique(pairs.reshape(len(pairs), -1), axis=0)
    assert len(np.unique(sums)) == len(sets)


def test_distinct_words_are_listed_once_with_who_has_which() -> None:
    numbers = np.random.default_rng(1).integers(0, 50, 1000)
    words = word_of(numbers, 9)
    chosen, number = distinct(words)
    assert len(chosen) == len(np.unique(numbers))
    assert np.array_equal(words[chosen][number], words)


def test_no_words_are_no_trouble() -> None:
    chosen, number = distinct(np.empty(0, np.uint64))
    assert len(chosen) == len(number) == 0
