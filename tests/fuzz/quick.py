"""What a hundred thousand cases in one process need not do again and again.

Left out is only what no changed file reaches: PDFs, workers in other processes, syncing the disk,
building the command line. Templates are compiled once for each text, so that only changed ones are
compiled, and the collector of garbage does not look at what was there before the first case.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import CodeType
from typing import Any
from unittest.mock import patch

import typer.main
from jinja2 import Environment

from recourse_audit.execute.worker import InProcess

MOST_CODES = 100
_compile: Callable[..., CodeType] = Environment.compile
_build = typer.main.get_command


_codes: dict[tuple[str, str, str], CodeType] = {}


def _compile_once(environment: Environment, source: str, name: str, path: str) -> CodeType:
    text = (source, name, path)
    if text not in _codes:
        if len(_codes) >= MOST_CODES:
            _codes.clear()
        _codes[text] = _compile(environment, source, name, path)
    return _codes[text]


@cache
def _program(app: typer.Typer) -> Any:
    return _build(app)


def _no_paper(_: object) -> tuple[None, str]:
    return None, "no PDF is made here"


@contextmanager
def made_quick() -> Iterator[None]:
    """Commands do not do what takes long and is the same in all cases."""
    with ExitStack() as stack:
        for name, instead in {
            "recourse_audit.render.write_pages.open_printer": _no_paper,
            "recourse_audit.render.write_letters.open_printer": _no_paper,
            "recourse_audit.execute.worker.executor_for": lambda **_: InProcess(),
            "jinja2.Environment.compile": _compile_once,
            "os.sync": lambda: None,
            "os.fsync": lambda _: None,
            "typer.main.get_command": _program,
        }.items():
            stack.enter_context(patch(name, instead))
        yield


def settle() -> None:
    """What is in memory now stays, and no collection looks at it again."""
    gc.collect()
    gc.freeze()
