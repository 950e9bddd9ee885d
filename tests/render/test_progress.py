"""Progress: a bar on a terminal; in a log, a line now and then for an audit, and nothing else."""

import io
from contextlib import closing
from threading import Event

import pytest
from rich.console import Console
from rich.progress import Progress

from recourse_audit.render import progress as module
from recourse_audit.render.progress import AuditProgress, progress


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


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


def test_a_log_gets_a_line_now_and_then() -> None:
    file, clock = io.StringIO(), Clock()
    with closing(AuditProgress(Console(file=file, width=200, soft_wrap=True), clock)) as shown:
        shown.begin(1000, 200)
        for _ in range(8):
            clock.now += 4.0
            shown.advance(10, 4000)
        shown.say("one \x1b[31mthing")
    assert file.getvalue().splitlines() == [
        "1,000 subjects to audit, 200 already done",
        "230 of 1,000 subjects, 1,000 queries per second, 5 min 08 s left",
        "260 of 1,000 subjects, 1,000 queries per second, 4 min 56 s left",
        "one \\x1b[31mthing",
    ]


def test_a_terminal_gets_a_bar() -> None:
    file, clock = io.StringIO(), Clock()
    with closing(AuditProgress(Console(file=file, force_terminal=True, width=120), clock)) as shown:
        shown.begin(3, 0)
        clock.now += 7200.0
        shown.advance(1, 10)
    assert "1/3" in file.getvalue()
    assert "4 h 00 min left" in file.getvalue()


def test_what_follows_the_subjects_is_shown_and_its_time_is_counted() -> None:
    file, clock = io.StringIO(), Clock()
    console = Console(file=file, width=200, soft_wrap=True)
    with closing(AuditProgress(console, clock, on_paper=0.5)) as shown:
        shown.stage("Asking the model about everybody")
        shown.begin(100, 0)
        clock.now += 10.0
        shown.advance(50, 500)
        shown.advance(50, 500)
        for done in range(5):
            clock.now += 10.0
            shown.stage("Comparing groups", done, 4)
    assert file.getvalue().splitlines() == [
        "100 subjects to audit",
        "50 of 100 subjects, 50 queries per second, 1 min 00 s left",
        "Comparing groups: 1 of 4, 1 min 20 s left",
        "Comparing groups: 2 of 4, 1 min 10 s left",
        "Comparing groups: 3 of 4, 1 min 00 s left",
        "Comparing groups: 4 of 4, 50 s left",
    ]


def test_a_stage_that_cannot_be_counted_has_no_total_of_the_one_before() -> None:
    file, clock = io.StringIO(), Clock()
    with closing(AuditProgress(Console(file=file, force_terminal=True, width=120), clock)) as shown:
        shown.begin(3, 0)
        shown.stage("Writing the tables")
    assert "Writing the tables" in file.getvalue()
    assert "/3" not in file.getvalue().split("Writing the tables")[-1]


def test_steps_say_how_long_the_rest_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BEFORE", 3600.0)
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    shown, file = console(terminal=True)
    with progress(shown) as steps:
        steps.begin("Making pages", 5)
        steps._bar.start()
        clock.now += 30.0
        steps.advance(2)
        steps._bar.refresh()
    assert "2/5" in file.getvalue()
    assert "45 s left" in file.getvalue()
