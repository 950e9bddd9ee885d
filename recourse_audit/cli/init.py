"""`init`: a first audit.toml, written from the user's files."""

import shutil
import sys
from contextlib import nullcontext
from pathlib import Path
from shlex import quote
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from typer import Argument, Option

from recourse_audit.cli.printing import doing, say, warn, write
from recourse_audit.errors import AuditError, InputError

if TYPE_CHECKING:
    from recourse_audit.audit.questions import Question

T = TypeVar("T")


def init(
    model: Annotated[Path, Argument(help="The ONNX file to audit.")],
    nodes: Annotated[
        list[str] | None,
        Option(help="CSV or Parquet, one row per node; KIND=FILE for each of several kinds."),
    ] = None,
    edges: Annotated[
        list[str] | None,
        Option(help="CSV or Parquet, one row per tie; RELATION=FILE for each, if several."),
    ] = None,
    npz: Annotated[Path | None, Option(help="An npz file with x and edge_index.")] = None,
    graphml: Annotated[Path | None, Option(help="A GraphML file, for a small graph.")] = None,
    cut_off: Annotated[
        float | None, Option(help="Favourable from this probability, or this score, on.")
    ] = None,
    preprocessing: Annotated[
        Path | None, Option(help="An ONNX file that makes the model's features from raw columns.")
    ] = None,
    recorded: Annotated[
        str | None, Option(help="The column of nodes with the decisions that were actually taken.")
    ] = None,
    outcome: Annotated[
        str | None, Option(help="The column of nodes with what happened later.")
    ] = None,
    derived: Annotated[
        list[str] | None,
        Option(metavar="NAME=FORMULA", help="A column of nodes that is computed from others."),
    ] = None,
    ask: Annotated[
        bool, Option("--ask/--no-input", help="Ask about the guesses, if there is a terminal.")
    ] = True,
    out: Annotated[Path, Option(help="The file to write.")] = Path("audit.toml"),
    force: Annotated[bool, Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a commented audit.toml from a model and a graph."""
    from recourse_audit.audit.init import name_files, starting_settings
    from recourse_audit.settings.section import exists, is_folder

    if is_folder(out):
        raise InputError(f"{out}: is a folder; name the file to write: --out {out / 'audit.toml'}")
    if exists(out) and not force:
        raise InputError(f"{out}: already exists; choose another --out, or replace it with --force")
    ask = ask and sys.stdin.isatty() and sys.stdout.isatty()
    with nullcontext() if ask else doing("Reading the files and probing the model"):
        start = starting_settings(
            model,
            {**name_files(nodes or (), edges or ()), "npz": npz, "graphml": graphml},
            folder=out.parent,
            cut_off=cut_off,
            preprocessing=preprocessing,
            recorded=recorded,
            outcome=outcome,
            derived=derived or (),
            ask=Interviewer() if ask else None,
        )
    write(out, start.text)
    for guess in start.guesses:
        say(guess)
    if start.problem:
        raise InputError(f"wrote {out}, but nobody can be audited with it yet: {start.problem}")
    tried = _try_first(out, asked=ask)
    check = f"recourse-audit explain {out} {tried}" if tried else f"recourse-audit inspect {out}"
    say(f"Wrote {out}. Check the lines marked CHECK, then run: {check}")


class Interviewer:
    """Asks the person at the terminal, and asks again where an answer cannot be meant."""

    def __init__(self) -> None:
        self._asked = 0
        say("Enter accepts a guess. Nothing is written before the last answer.")

    def __call__(self, question: "Question[T]", /) -> T:
        from recourse_audit.audit.questions import NONE, QUESTIONS

        self._asked += 1
        title, form = QUESTIONS[question.key]
        width = shutil.get_terminal_size().columns - 1
        say(f"\n{self._asked}. {title}")
        guess = "none" if question.guess == NONE else question.guess
        for line in (f"Guess: {guess}", f"Why: {question.why}.", f"Write {form}."):
            say(fill(line, width, initial_indent="   ", subsequent_indent="   "))
        while True:
            try:
                answer = typer.prompt(
                    "  ", question.guess, show_default=False, prompt_suffix="> ", err=True
                )
                return question.read(answer)
            except typer.Abort:
                say("\ninterrupted; nothing was written")
                raise typer.Exit(130) from None
            except InputError as error:
                say(fill(str(error), width, initial_indent="   ", subsequent_indent="   "))


def _try_first(out: Path, *, asked: bool) -> str:
    """Ask the model about everybody, and say what is wrong; the id of somebody refused, or "".

    Where a person was asked, explain that decision, as `explain` would.
    """
    from recourse_audit.api import Audit
    from recourse_audit.audit.population import check_groups
    from recourse_audit.render.i18n import status_name
    from recourse_audit.render.text import plain

    try:
        audit = Audit.from_toml(out, progress=True)
        check_groups(audit.loaded.graph, audit.loaded.settings.groups)
        inspection = audit.inspect()
        people, rule = inspection.refused[:1], inspection.decision
        if rule is not None and not (rule.refused and rule.favourable):
            whom = "everybody" if rule.refused else "nobody"
            say(f"! The model refuses {whom}: check graph.features, decision.classes and cut_off.")
        warn((inspection.disagreement,) * bool(inspection.disagreement))
        for report in audit.explain_many(people, progress=True) if asked else ():
            subject, status = report.subject, status_name(report.status)
            say(f"Tried it on {subject.id}: {subject.decision}, {status}.")
    except AuditError as error:
        if asked:
            raise InputError(f"wrote {out}, and trying it failed: {error}") from None
        say(f"! Trying it failed: {error}")
        return ""
    return quote(plain(people[0])) if people else ""
