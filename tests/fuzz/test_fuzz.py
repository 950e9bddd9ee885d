"""A few cases of every format, always the same; `make fuzz` runs as many as you like."""

from pathlib import Path

import pytest

from tests.fuzz.harness import format_of, run_case
from tests.fuzz.worlds import FORMATS, make_world

ROUNDS = 4
SEED = 1
INPUTS = {
    *("settings", "csv", "parquet", "graphml", "npz", "onnx", "template", "catalogue", "profile"),
    *("reasons", "addresses"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fuzz") / "world"
    make_world(root, pages=False)
    return root


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_a_changed_file_is_read_or_refused_and_nothing_else_is_touched(
    name: str, world: Path
) -> None:
    numbers = [n for n in range(ROUNDS * len(FORMATS)) if format_of(n).name == name]
    assert numbers
    for number in numbers:
        outcome = run_case(world, SEED, number)
        assert not outcome.problem, outcome
