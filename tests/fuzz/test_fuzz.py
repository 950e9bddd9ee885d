"""A few cases of every format, always the same; `make fuzz` runs as many as you like."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bundles import contents
from tests.fuzz.harness import format_of, run_case
from tests.fuzz.snapshots import differences, restore, snapshot
from tests.fuzz.worlds import FORMATS, World, make_world

ROUNDS = range(8)
MORE_ROUNDS = range(8, 80)
SEED = 1


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("fuzz") / "world"
    make_world(root)
    return World(root)


@pytest.mark.parametrize("name", sorted({format_.name for format_ in FORMATS}))
@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(MORE_ROUNDS, marks=pytest.mark.long)])
def test_a_changed_file_is_read_or_refused_and_nothing_else_is_touched(
    name: str, rounds: range, world: World
) -> None:
    first, behind = rounds.start * len(FORMATS), rounds.stop * len(FORMATS)
    numbers = [number for number in range(first, behind) if format_of(number).name == name]
    assert len(numbers) >= len(rounds)
    outcomes = [run_case(world, SEED, number) for number in numbers]
    assert [outcome for outcome in outcomes if outcome.problem] == []


def test_the_world_is_as_it_was_after_a_case(world: World) -> None:
    before = contents(world.root)
    for number in range(len(FORMATS)):
        run_case(world, SEED + 1, number)
    assert contents(world.root) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "file").write_text("b"),
        lambda folder: (folder / "file").unlink(),
        lambda folder: (folder / "file").chmod(0o600),
        lambda folder: (folder / "inner" / "new").touch(),
        lambda folder: (folder / "inner").rmdir(),
        lambda folder: (folder / "file").rename(folder / "inner" / "file"),
        lambda folder: (folder / "link").symlink_to("file"),
        lambda folder: os.utime(folder / "file", ns=(1, 1)),
    ],
)
def test_every_change_is_seen_and_undone(change: Callable[[Path], None], tmp_path: Path) -> None:
    folder, kept = tmp_path / "folder", tmp_path / "kept"
    (folder / "inner").mkdir(parents=True)
    (folder / "file").write_text("a", encoding="utf-8")
    (folder / "file").chmod(0o644)
    shutil.copytree(folder, kept)
    before = snapshot(folder)
    assert differences(before, snapshot(folder, before)) == []
    change(folder)
    changed = differences(before, snapshot(folder, before))
    assert changed
    restore(folder, kept, changed)
    assert {
        path.relative_to(folder).as_posix(): path.lstat().st_mode for path in folder.rglob("*")
    } == {path.relative_to(kept).as_posix(): path.lstat().st_mode for path in kept.rglob("*")}
    assert contents(folder) == contents(kept)
