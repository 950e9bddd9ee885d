"""What must hold whatever goes wrong at whichever step: nothing lost, and the rerun completes."""

import shutil
from pathlib import Path

from recourse_audit.bundle.verification import verify_bundle
from tests.bundles import contents
from tests.faults.harness import Case, attempt
from tests.faults.points import KILLED, Fault


def expected_of(case: Case, place: Path) -> tuple[dict[str, bytes], list[str]]:
    """What the second command alone leaves, and the steps that the first one takes."""
    out, other = place / "whole", place / "other"
    for folder, words in ((out, case.again), (other, case.first)):
        case.prepare(folder)
        ended = attempt(words, case.audit, folder)
        assert ended.code == 0, ended.said
        found = contents(out)
        shutil.rmtree(other, ignore_errors=True)
    shutil.rmtree(out)
    return found, ended.steps


def check(case: Case, expected: dict[str, bytes], at: int, fault: Fault, place: Path) -> None:
    """Let a command fail at one step, run the one that follows, and compare with it alone."""
    out = place / f"{fault}-{at}"
    case.prepare(out)
    first = attempt(case.first, case.audit, out, at, fault)
    where = f"{case.name} at step {at}, {fault}: {first.said}"
    if fault == "killed":
        assert first.code == KILLED, where
    else:
        assert first.code == 2, where
        assert "\n" not in first.said, where
        assert first.said.startswith(str(out)), where
    if case.template is not None:
        after = contents(out)
        kept = {name: after[name] for name in contents(case.template) if name in after}
        lost = contents(case.template).keys() - kept.keys()
        assert all(name.startswith(("pages/", "letters/")) for name in lost), where
    again = attempt(case.again, case.audit, out)
    assert again.code == 0, f"{where}; then {again.said}"
    assert contents(out) == expected, where
    left = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_dir()}
    assert left <= {"data", "pages", "pages/subjects", "letters"}, where
    assert verify_bundle(out).problems == (), where
    shutil.rmtree(out)
