"""The real command, run in this process: what it printed, and the exit code a pipeline sees."""

import io
import json
import os
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from recourse_audit.cli import main


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What was printed as JSON; a NaN or an infinity is none."""
        return json.loads(self.out, parse_constant=refuse)


def refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def command(*words: str | Path, columns: int | None = None, encoding: str = "utf-8") -> Finished:
    """Run `recourse-audit` with these arguments, its output going to files."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    surroundings = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    surroundings |= {} if columns is None else {"COLUMNS": str(columns)}
    with (
        patch("sys.argv", ["recourse-audit", *map(str, words)]),
        patch.dict(os.environ, surroundings, clear=True),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as stopped,
    ):
        main()
    return Finished(int(stopped.value.code or 0), content(out), content(err))


def leave_out_pdfs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make no PDFs and miss none: they take seconds, and tests of their own look at them."""
    for name in ("write_pages", "write_letters"):
        monkeypatch.setattr(f"recourse_audit.render.{name}.open_printer", lambda _: (None, ""))


def content(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def one_line(finished: Finished) -> str:
    """The only line on stderr of a command that printed nothing else."""
    assert finished.out == ""
    [line] = finished.err.splitlines()
    return line
