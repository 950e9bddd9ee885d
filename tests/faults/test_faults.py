"""A command that is killed, or finds the disk full, at a drawn step; `make faults` tries all."""

from pathlib import Path
from random import Random

import pytest

from tests.bundles import contents
from tests.faults.check import check
from tests.faults.harness import Case, attempt, cases

DRAWN = 2


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    return {case.name: case for case in cases(tmp_path_factory.mktemp("audit"))}


@pytest.mark.parametrize("name", ["run", "report", "letters"])
def test_a_command_that_fails_at_any_step_loses_nothing_and_can_be_rerun(
    name: str, prepared: dict[str, Case], tmp_path: Path
) -> None:
    case = prepared[name]
    out = tmp_path / "whole"
    case.prepare(out)
    steps = attempt(case, out).steps
    expected, chance = contents(out), Random(name)
    assert len(steps) > 15, "the steps of a command are counted"
    for at in sorted(chance.sample(range(1, len(steps) + 1), DRAWN)):
        check(case, expected, at, "killed", tmp_path)
        check(case, expected, at, "full", tmp_path)
