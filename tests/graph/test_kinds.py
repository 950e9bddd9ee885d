"""Several kinds of nodes become one graph, the same in every format."""

from pathlib import Path

import pytest

from recourse_audit.graph.readers import read_graph
from tests.graph.kind_graphs import assert_is_world, random_world, write_tables

WORLDS = range(12)


@pytest.mark.parametrize("seed", WORLDS)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_of_several_kinds_are_joined_value_by_value(
    suffix: str, seed: int, tmp_path: Path
) -> None:
    world = random_world(seed, extras=seed % 2 == 0)
    graph = read_graph(write_tables(world, tmp_path, suffix), subject=world.subject)
    assert_is_world(graph, world)
