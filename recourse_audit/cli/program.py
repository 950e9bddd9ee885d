"""The program: which commands there are, and how our errors become exit codes."""

import io
import os
import re
import sys
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperOption

from recourse_audit.cli.demo import demo
from recourse_audit.cli.doctor import doctor
from recourse_audit.cli.explain import explain
from recourse_audit.cli.groups import groups
from recourse_audit.cli.init import init
from recourse_audit.cli.inspect import inspect
from recourse_audit.cli.letters import letters
from recourse_audit.cli.printing import say  # which also registers "look-alikes"
from recourse_audit.cli.report import report
from recourse_audit.cli.run import run
from recourse_audit.cli.schema import schema
from recourse_audit.cli.stability import stability
from recourse_audit.cli.study import study
from recourse_audit.cli.verify import verify
from recourse_audit.errors import AuditError, InputError

VARIABLES = "RECOURSE_AUDIT"

app = typer.Typer(
    name="recourse-audit",
    help="Audit a sealed ONNX graph neural network: what a decision rests on, and what could "
    "change it.",
    epilog="Options can be set as variables, too: RECOURSE_AUDIT_RUN_OUT is --out of run. "
    "--install-completion completes commands and options with the Tab key.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"recourse-audit {version('recourse-audit')}")
        raise typer.Exit


def _variable(command: str | None, option: TyperOption) -> str:
    return f"{VARIABLES}_{command}_{option.opts[0].strip('-')}".upper().replace("-", "_")


def _options(
    context: typer.Context,
    _version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Warn of variables that no option reads."""
    if given := [name for name in sorted(os.environ) if name.startswith(f"{VARIABLES}_")]:
        from recourse_audit.settings.section import near_matches

        commands: dict[str, Any] = getattr(context.command, "commands", {})
        known = [
            _variable(name, option)
            for name, command in commands.items()
            for option in command.params
            if isinstance(option, TyperOption) and option.allow_from_autoenv
        ]
        for name in (name for name in given if name not in known):
            say(f"! {name}: no option is set by this variable; {near_matches(name, known)}")


class _Command(TyperCommand):
    """A command whose options may stand in variables; one given twice is refused.

    The parser would keep the last. A letter is signed off by a person, and never by a variable.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for option in self.params:
            if isinstance(option, TyperOption) and option.allow_from_autoenv:
                option.envvar, option.show_envvar = _variable(self.name, option), False
        _, _, given = self.make_parser(ctx).parse_args(args=[*args])
        for option in {*self.params} - {*given}:
            if (variable := getattr(option, "envvar", None) or "") in os.environ:
                vars(option)["get_error_hint"] = partial(str, variable)  # a message names it
        for place, option in enumerate(given):
            single = isinstance(option, TyperOption) and not option.multiple and not option.is_flag
            if single and option in given[:place]:
                raise InputError(f"{option.opts[0]}: is given more than once; give it once")
        return super().parse_args(ctx, args)

    def get_help(self, ctx: Any) -> str:
        """Options that take several values show the type of one."""
        text = super().get_help(ctx)
        return re.sub(r"<list\[(\w+)\]>", lambda m: f"<{m[1].lower()}>".ljust(len(m[0])), text)


app.callback()(_options)
READING = (report, letters, groups, verify, study)  # of a bundle, without the model
COMMANDS = (inspect, init, doctor, explain, run, *READING, stability, schema, demo)
for _command in COMMANDS:
    app.command(cls=_Command)(_command)


def main() -> None:
    """Run a command; turn our errors into one line and an exit code."""
    # Products of matrices are small here: threads would wait for each other longer than they work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="look-alikes")  # a terminal may not know ✂ or ν
    try:
        app(prog_name="recourse-audit")
    except AuditError as error:
        say(f"error: {error}")
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        say("interrupted")
        raise SystemExit(130) from None
    except Exception as error:  # the last net: a traceback never reaches a user
        say(
            f"internal error: {type(error).__name__}: {error}; please report it with the command "
            "and the versions in use"
        )
        raise SystemExit(1) from None
