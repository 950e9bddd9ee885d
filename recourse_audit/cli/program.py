"""The program: which commands there are, and how our errors become exit codes."""

import io
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from recourse_audit.cli.demo import demo
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
from recourse_audit.cli.verify import verify
from recourse_audit.errors import AuditError

app = typer.Typer(
    name="recourse-audit",
    help="Audit a sealed ONNX graph neural network: what a decision rests on, and what could "
    "change it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"recourse-audit {version('recourse-audit')}")
        raise typer.Exit


def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


app.callback()(_options)
app.command(short_help="Show a model's inputs, their roles, and what probes found.")(inspect)
app.command(short_help="Write a commented audit.toml from your files.")(init)
app.command(short_help="Explain decisions on people, and what could change them.")(explain)
app.command(short_help="Audit everyone, into a bundle.")(run)
app.command(short_help="Make the pages of a bundle: reports, group report, index.")(report)
app.command(short_help="Make the letters of a bundle, as HTML and PDF.")(letters)
app.command(short_help="Compare the groups of an audit: gaps, with uncertainty.")(groups)
app.command(short_help="Check that a bundle is what was sealed.")(verify)
app.command(short_help="Measure how far explanations and options move under perturbation.")(
    stability
)
app.command(short_help="Print the JSON Schema of a document.")(schema)
app.command()(demo)


def main() -> None:
    """Run a command; turn our errors into one line and an exit code."""
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
            "and the versions in use",
        )
        raise SystemExit(1) from None
