"""Commands that are ended, or find the disk full, at a given step; and what becomes of the bundle.

Each command runs in a process that is forked from one that has imported everything, which takes
milliseconds; no model has been opened there yet.
"""

import json
import multiprocessing
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from unittest.mock import patch

from recourse_audit.render.redaction import Level
from tests.audits import quick_audit
from tests.faults.points import KILLED, Fault, Points, end, install

PRELOADED = (
    "recourse_audit.api",
    "recourse_audit.bundle.reader",
    "recourse_audit.cli.program",
    "recourse_audit.groups.report",
    "recourse_audit.execute.pipeline",
    "recourse_audit.render.write_letters",
    "recourse_audit.render.write_pages",
    "tests.bundles",
    "tests.faults.points",
)
SUBJECTS = 2
Words = tuple[str, str]  # a command, and the level or language that it is given
NEVER = 0


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command that fails and the one that follows, with the folder that they are given."""

    name: str
    audit: Path
    template: Path | None
    first: Words
    again: Words

    def prepare(self, out: Path) -> None:
        """Make the folder anew."""
        if self.template is not None:
            shutil.copytree(self.template, out)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, what it said, the steps it took."""

    code: int
    said: str
    steps: list[str]


def run_command(words: Words, audit: Path, out: Path) -> None:
    """One of the commands, as the command line does it, in this process alone."""
    name, option = words
    if name == "run":
        from tests.bundles import request, run_here

        run_here(request(audit, out, sample=SUBJECTS))
    elif name == "report":
        from recourse_audit.render import write_pages as pages

        with patch.object(pages, "open_printer", _no_printer):
            pages.write_pages(out, pages.PageOptions(level=cast(Level, option)))
    elif name == "letters":
        from recourse_audit.render import write_letters as letters

        with patch.object(letters, "open_printer", _no_printer):
            letters.write_letters(out, letters.LetterOptions(language=option))
    else:
        from recourse_audit.api import Bundle

        Bundle(out).groups()


def _no_printer(_: object) -> tuple[None, str]:
    """PDFs take seconds, and are written in the same steps as pages."""
    return None, "no PDFs here"


def _in_process(words: Words, audit: Path, out: Path, at: int, fault: Fault, notes: Path) -> None:
    from recourse_audit.errors import AuditError

    points = Points(out, at, fault)
    install(points)
    code, said = 0, ""
    try:
        run_command(words, audit, out)
    except AuditError as error:
        code, said = error.exit_code, str(error)
    except Exception as error:  # as `main` does
        code, said = 1, f"internal error: {type(error).__name__}: {error}"
    notes.write_text(json.dumps([code, said, points.seen]), encoding="utf-8")
    end(code)


def attempt(
    words: Words, audit: Path, out: Path, at: int = NEVER, fault: Fault = "killed"
) -> Ended:
    """Run a command in a process of its own, and let it fail at one step."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED])
    notes = out.with_name(f"{out.name}.notes")
    notes.unlink(missing_ok=True)
    process = context.Process(target=_in_process, args=(words, audit, out, at, fault, notes))
    process.start()
    process.join()
    if process.exitcode == KILLED:
        return Ended(KILLED, "", [])
    code, said, steps = json.loads(notes.read_text(encoding="utf-8"))
    assert code == process.exitcode
    return Ended(code, said, steps)


RUN: Words = ("run", "")
AUDITOR, REVIEWER, SUBJECT = (("report", level) for level in ("auditor", "reviewer", "subject"))
ENGLISH, GERMAN = (("letters", language) for language in ("en", "de"))
GROUPS: Words = ("groups", "")


def cases(place: Path) -> dict[str, Case]:
    """The commands by name, with what they work on, written into an empty folder."""
    quick_audit(place)
    assert attempt(RUN, place, place / "finished").code == 0
    made = shutil.copytree(place / "finished", place / "made")
    for words in (ENGLISH, REVIEWER):
        assert attempt(words, place, made).code == 0
    found = (
        Case(name="run", audit=place, template=None, first=RUN, again=RUN),
        *(
            Case(name=name, audit=place, template=made, first=first, again=again)
            for name, first, again in (
                ("report", REVIEWER, REVIEWER),
                ("report, then for others", AUDITOR, SUBJECT),
                ("letters", ENGLISH, ENGLISH),
                ("letters, then in German", ENGLISH, GERMAN),
            )
        ),
    )
    return {case.name: case for case in found}
