"""A command that is killed, or finds the disk full, at a drawn step; `make faults` tries all."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import pytest

from tests.bundles import contents
from tests.faults.check import check, expected_of
from tests.faults.harness import GROUPS, RUN, Case, attempt, cases
from tests.faults.points import KILLED, Fault

FAULTS: tuple[Fault, ...] = ("killed", "full")
NAMES = (
    "run",
    "report",
    "letters",
    pytest.param("report, then for others", marks=pytest.mark.long),
    pytest.param("letters, then in German", marks=pytest.mark.long),
)
REPLACED = ("os.remove work/work.sqlite", "os.remove pages.old/", "os.remove letters.old/")
# What is in these is made again, or checked by digests, before it is used.
UNFINISHED = ("work/", "pages.new/", "letters.new/")


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A case, what it is to leave, and the steps at which it can fail."""

    case: Case
    expected: dict[str, bytes]
    steps: list[str]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Prepared]:
    """Prepares a case when it is first asked for."""
    place = tmp_path_factory.mktemp("audit")
    every = cases(place)

    @cache
    def prepare(name: str) -> Prepared:
        expected, steps = expected_of(every[name], place)
        return Prepared(case=every[name], expected=expected, steps=steps)

    return prepare


@pytest.mark.parametrize("fault", [pytest.param("killed", marks=pytest.mark.long), "full"])
@pytest.mark.parametrize("name", NAMES)
def test_a_command_that_fails_at_any_step_loses_nothing_and_can_be_rerun(
    name: str, fault: Fault, prepared: Callable[[str], Prepared], tmp_path: Path
) -> None:
    one = prepared(name)
    assert len(one.steps) > 15, "the steps of a command are counted"
    at = Random(f"{name} {fault}").randint(1, len(one.steps))
    check(one.case, one.expected, at, fault, tmp_path)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_that_fails_while_the_group_report_is_put_in_place_resumes(
    fault: Fault, prepared: Callable[[str], Prepared], tmp_path: Path
) -> None:
    run = prepared("run")
    at = run.steps.index("os.rename work/new to groups.json") + 1
    check(run.case, run.expected, at, fault, tmp_path)
    assert "groups.json" in run.expected


@pytest.mark.parametrize(
    ("name", "folder"), [("letters", "letters.new"), ("report", "pages.new/subjects")]
)
def test_what_was_made_before_a_kill_is_not_made_again(
    name: str, folder: str, prepared: Callable[[str], Prepared], tmp_path: Path
) -> None:
    one = prepared(name)

    def written(steps: list[str]) -> list[str]:
        return [step for step in steps if step.startswith(f"open {folder}/0")]

    first, second = written(one.steps)
    out = tmp_path / "bundle"
    one.case.prepare(out)
    killed = attempt(one.case.first, one.case.audit, out, one.steps.index(second) + 1)
    assert killed.code == KILLED
    again = attempt(one.case.again, one.case.audit, out)
    assert again.code == 0
    assert written(again.steps) == [second] != [first]
    assert contents(out) == one.expected


def moved(steps: list[str]) -> Iterator[tuple[int, str, str]]:
    """Which step puts what in which place, if it is one that a bundle keeps."""
    for number, step in enumerate(steps):
        what, _, rest = step.partition(" ")
        source, _, target = rest.partition(" to ")
        if what == "os.rename" and not target.startswith(UNFINISHED):
            yield number, source, target


@pytest.mark.parametrize("name", NAMES)
def test_what_is_put_in_place_would_outlive_a_power_loss(
    name: str, prepared: Callable[[str], Prepared]
) -> None:
    """A rename never outlives what was renamed, nor the end of the old what is to replace it."""
    steps = prepared(name).steps
    put = [*moved(steps)]
    assert put
    for number, source, target in put:
        if target.endswith(".old"):  # sealed long ago
            continue
        synced = {f"os.fsync {source}", "os.sync"}
        last = max(place for place, step in enumerate(steps[:number]) if step in synced)
        between = steps[last + 1 : number]
        assert not [step for step in between if step.split()[1].startswith(source)], steps[number]
    after = steps[put[-1][0] :]
    gone = next(place for place, step in enumerate(after) if step.startswith(REPLACED))
    assert "os.fsync ." in after[:gone]


def test_the_checkpoint_stays_until_the_log_and_all_files_are_on_disk(
    prepared: Callable[[str], Prepared],
) -> None:
    steps = prepared("run").steps
    gone = len(steps) - steps[::-1].index("os.remove work/work.sqlite") - 1
    for name, last in (
        ("run.jsonl", "os.write run.jsonl"),
        ("data", "os.rename work/new.parquet to data/subjects.parquet"),
        (".", "os.rename work/new to checksums.txt"),
    ):
        written = max(place for place, step in enumerate(steps) if step == last)
        assert f"os.fsync {name}" in steps[written:gone], name


@pytest.mark.parametrize("unfinished", [False, True])
def test_comparing_groups_writes_nothing(
    unfinished: bool, prepared: Callable[[str], Prepared], tmp_path: Path
) -> None:
    case, out = prepared("run").case, tmp_path / "bundle"
    if unfinished:
        steps = enumerate(prepared("run").steps, 1)
        chunks = [at for at, step in steps if step == "INSERT INTO chunks VALUES"]
        attempt(RUN, case.audit, out, chunks[1], "killed")
    else:
        shutil.copytree(case.audit / "finished", out)
    before = state_of(out)
    ended = attempt(GROUPS, case.audit, out)
    assert ended.code == 0, ended.said
    assert state_of(out) == before
    assert set(ended.steps) <= {"os.remove work/work.sqlite-shm"}, "which SQLite makes to read"


def state_of(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Every file: its number, its rights, when it was written, and what is in it."""
    found = {path: path.lstat() for path in folder.rglob("*") if not path.is_dir()}
    return {
        path.relative_to(folder).as_posix(): (
            *(one.st_ino, one.st_mode, one.st_mtime_ns),
            path.read_bytes(),
        )
        for path, one in found.items()
    }
