"""How commands print: data to stdout, everything else to stderr."""

import codecs
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from recourse_audit.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from recourse_audit.render.i18n import Words
    from recourse_audit.settings import Settings


def check_seconds(seconds: float | None) -> float | None:
    """Refuse a timeout that is too short, too long, or not a number."""
    from recourse_audit.settings.inputs import LONGEST_TIMEOUT, SHORTEST_TIMEOUT

    if seconds is None or SHORTEST_TIMEOUT <= seconds <= LONGEST_TIMEOUT:
        return seconds
    raise typer.BadParameter(
        f"must be from {SHORTEST_TIMEOUT} to {LONGEST_TIMEOUT:,} seconds (got {seconds:g})."
    )


AsJson = Annotated[bool, Option("--json", help="Print JSON instead of a view.")]
Full = Annotated[bool, Option("--full", help="Print everything, not only the first sections.")]
BundleArgument = Annotated[Path, Argument(help="The folder that `run` wrote.")]
Sarif = Annotated[
    Path | None,
    Option(metavar="FILE", help="With --fail-on: write findings as SARIF 2.1.0 for code hosts."),
]
SettingsArgument = Annotated[Path, Argument(help="The audit.toml.")]
Workers = Annotated[
    int | None, Option(min=1, max=1024, help="Number of worker processes. [default: one per core]")
]
ModelTimeout = Annotated[
    float | None,
    Option(
        "--timeout",
        callback=check_seconds,
        help="Timeout per model query, in seconds. Replaces model.timeout.",
    ),
]
Sign = Annotated[Path | None, Option(help="Sign with this Ed25519 private key (PEM).")]
Templates = Annotated[
    Path | None,
    Option(help="A folder laid out like ours (see report --eject); its files replace ours."),
]
WIDTH = 120


def say(text: str) -> None:
    """Print a message for the person at the terminal."""
    from recourse_audit.render.progress import message_console

    console = message_console()
    # A terminal would break lines inside words; a log breaks none.
    console.print(text, soft_wrap=not console.is_terminal)


def warn(warnings: tuple[str, ...]) -> None:
    """Print what a reader must know before any figure."""
    for warning in warnings:
        say(f"! {warning}")


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Show on stderr what takes more than a second."""
    from recourse_audit.render.progress import steps_on_stderr

    with steps_on_stderr(shown=True) as steps:
        steps.begin(what)
        yield


def english(settings: "Settings") -> "Words":
    """The words of the terminal, with those of the settings."""
    from recourse_audit.render.i18n import words_of
    from recourse_audit.render.templates import Templates

    return words_of(settings, "en", Templates())


def view() -> "Console":
    """A console on stdout, wide enough for tables where no terminal says how wide it is."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH
    return Console(width=width, markup=False, highlight=False, emoji=False)


# Each as wide as what it stands for, so that columns stay columns.
LOOK_ALIKES = dict(
    zip(
        "│┼─├└○●◀▶→▲◇…✂█░νμ·≤≥\u2212\u2013\u00a0\u2018\u2019\u201c\u201d",
        "|+-|`o*<>>!?~x#.nm-<>-- ''\"\"",
        strict=True,
    )
)


def look_alikes(error: UnicodeError) -> tuple[str, int]:
    """Characters that a terminal does not know as ones that it does, each as wide as before."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(LOOK_ALIKES.get(letter, "?") for letter in unknown), error.end


codecs.register_error("look-alikes", look_alikes)


def print_json(document: Any) -> None:
    """Print plain data; in ASCII where the terminal knows no more."""
    readable = (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(document, indent=2, ensure_ascii=not readable))


def write(path: Path, text: str) -> None:
    """Write a file that the user named."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); choose another place"
        ) from None


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Answer Ctrl-C with how to go on where what is finished is kept."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted; rerun the same command to resume from what is in {out}")
        raise typer.Exit(130) from None
