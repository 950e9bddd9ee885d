"""A bar for whoever waits at a terminal, and nothing for anybody else."""

import io
from threading import Event

import pytest
from rich.console import Console
from rich.progress import Progress

from recourse_audit.render import progress as module
from recourse_audit.render.terminal.progress import progress


def console(*, terminal: bool) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=terminal, width=80), file


def test_a_terminal_is_told_how_many_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BEFORE", 0.0)
    shown, file = console(terminal=True)
    started = Event()
    start = Progress.start

    def note_start(bar: Progress) -> None:
        start(bar)
        started.set()

    monkeypatch.setattr(Progress, "start", note_start)
    with progress(shown) as steps:
        assert started.wait(timeout=30)
        steps.begin("Explaining decisions", 3)
        steps.advance()
        steps.advance()
    assert "Explaining decisions" in file.getvalue()
    assert "2/3" in file.getvalue()


def test_a_file_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BEFORE", 0.0)
    shown, file = console(terminal=False)
    with progress(shown) as steps:
        steps.begin("Explaining decisions", 1)
        steps.advance()
    assert file.getvalue() == ""


def test_what_is_over_at_once_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BEFORE", 3600.0)
    shown, file = console(terminal=True)
    with progress(shown) as steps:
        steps.begin("Explaining decisions", 1)
        steps.advance()
    assert "Explaining" not in file.getvalue()


def test_an_error_passes_through() -> None:
    shown, _ = console(terminal=True)
    with pytest.raises(KeyError), progress(shown):
        raise KeyError
