"""What must hold whatever goes wrong at whichever step: nothing lost, and the rerun completes."""

import shutil
from pathlib import Path

from recourse_audit.bundle.verification import verify_bundle
from tests.bundles import contents
from tests.faults.harness import Case, attempt
from tests.faults.points import KILLED, Fault


def check(case: Case, expected: dict[str, bytes], at: int, fault: Fault, place: Path) -> None:
    """Let a command fail at one step, run it again, and compare with one that never failed."""
    out = place / f"{case.name}-{fault}-{at}"
    case.prepare(out)
    first = attempt(case, out, at, fault)
    where = f"{case.name} at step {at}, {fault}: {first.said}"
    if fault == "killed":
        assert first.code == KILLED, where
    elif first.code == 0:  # a folder that could not be made was there already
        assert contents(out) == expected, where
    else:
        assert first.code == 2, where
        assert "\n" not in first.said, where
        assert first.said.startswith(str(out)), where
    if case.template is not None:
        after = contents(out)
        kept = {name: after[name] for name in contents(case.template) if name in after}
        lost = contents(case.template).keys() - kept.keys()
        assert all(name.startswith(("pages/", "letters/")) for name in lost), where
    again = attempt(case, out)
    assert again.code == 0, f"{where}; then {again.said}"
    assert contents(out) == expected, where
    left = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_dir()}
    assert left <= {"data", "pages", "pages/subjects", "letters"}, where
    assert verify_bundle(out).problems == (), where
    shutil.rmtree(out)
