"""How commands print: data to stdout, everything else to stderr."""

import json
import os
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from recourse_audit.errors import InputError

messages = Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print data, not a view.")]


def write(path: Path, text: str) -> None:
    """Write a file that the user named."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); choose another place"
        ) from None


def view() -> Console:
    """A console for views; wide enough for tables where no terminal says how wide it is."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return Console(width=width, markup=False, highlight=False, emoji=False)


def print_json(document: Any) -> None:
    """Print data; in plain ASCII where the terminal knows no more."""
    readable = (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(document, indent=2, ensure_ascii=not readable))


def now() -> str:
    """The time, which nothing below the command line asks for."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def today() -> date:
    """The day, which nothing below the command line asks for."""
    return datetime.now().astimezone().date()
