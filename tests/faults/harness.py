"""Commands that are ended, or find the disk full, at a given step; and what becomes of the bundle.

Each command runs in a process that is forked from one that has imported everything, which takes
milliseconds; no model has been opened there yet.
"""

import json
import multiprocessing
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tests.faults.points import KILLED, Fault, Points, end, install

PRELOADED = (
    "recourse_audit.api.audit",
    "recourse_audit.bundle.tables",
    "recourse_audit.cli.program",
    "recourse_audit.execute.pipeline",
    "recourse_audit.render.letters.write_letters",
    "recourse_audit.render.pages.write_pages",
    "tests.bundles",
    "tests.faults.points",
)
SUBJECTS = 2
NEVER = 0


@dataclass(frozen=True)
class Case:
    """A command and the folder that it is given, made anew for each step."""

    name: str
    audit: Path
    template: Path | None

    def prepare(self, out: Path) -> None:
        if self.template is not None:
            shutil.copytree(self.template, out)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, what it said, the steps it took."""

    code: int
    said: str
    steps: list[str]


def run_command(name: str, audit: Path, out: Path) -> None:
    """One of the commands, as the command line does it, in this process alone."""
    if name == "run":
        from tests.bundles import request, run_here

        run_here(request(audit, out, sample=SUBJECTS))
    elif name == "report":
        from recourse_audit.render.pages import write_pages as pages

        with patch.object(pages, "open_printer", _no_printer):
            pages.write_pages(out, pages.PageOptions(level="reviewer"))
    else:
        from recourse_audit.render.letters import write_letters as letters

        with patch.object(letters, "open_printer", _no_printer):
            letters.write_letters(out)


def _no_printer(_: object) -> tuple[None, str]:
    """PDFs take seconds, and are written in the same steps as pages."""
    return None, "no PDFs here"


def _in_process(name: str, audit: Path, out: Path, at: int, fault: Fault, notes: Path) -> None:
    from recourse_audit.errors import AuditError

    points = Points(out, at, fault)
    install(points)
    code, said = 0, ""
    try:
        run_command(name, audit, out)
    except AuditError as error:
        code, said = error.exit_code, str(error)
    except Exception as error:  # as `main` does
        code, said = 1, f"internal error: {type(error).__name__}: {error}"
    notes.write_text(json.dumps([code, said, points.seen]), encoding="utf-8")
    end(code)


def attempt(case: Case, out: Path, at: int = NEVER, fault: Fault = "killed") -> Ended:
    """Run a command in a process of its own, and let it fail at one step."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED])
    notes = out.with_name(f"{out.name}.notes")
    notes.unlink(missing_ok=True)
    process = context.Process(
        target=_in_process, args=(case.name, case.audit, out, at, fault, notes)
    )
    process.start()
    process.join()
    if process.exitcode == KILLED:
        return Ended(KILLED, "", [])
    code, said, steps = json.loads(notes.read_text(encoding="utf-8"))
    assert code == process.exitcode
    return Ended(code, said, steps)


def cases(place: Path) -> Sequence[Case]:
    """The commands with what they work on, written into an empty folder."""
    from tests.audits import quick_audit

    path = quick_audit(place)
    text = path.read_text(encoding="utf-8")
    without = re.sub(r"(?ms)^\[groups\].*?(?=^\[)", "", text)  # which take seconds to compare
    assert without != text
    path.write_text(without, encoding="utf-8")
    bundle = Case("run", place, None)
    assert attempt(bundle, place / "finished").code == 0
    made = shutil.copytree(place / "finished", place / "made")
    report, letters = Case("report", place, made), Case("letters", place, made)
    for case in (letters, report):
        assert attempt(case, made).code == 0
    return bundle, report, letters
