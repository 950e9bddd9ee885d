"""A bar for a terminal, a line now and then for a log."""

import io

from recourse_audit.render.terminal.pace import pace
from rich.console import Console


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_a_line_now_and_then() -> None:
    file, clock = io.StringIO(), Clock()
    with pace(Console(file=file, width=200, soft_wrap=True), clock) as shown:
        shown.begin(1000, 200)
        for _ in range(8):
            clock.now += 4.0
            shown.advance(10, 4000)
        shown.say("one \x1b[31mthing")
    assert file.getvalue().splitlines() == [
        "1,000 subjects to audit, 200 of them done before",
        "230 of 1,000 subjects, 1,000 queries a second, 5 min 08 s left",
        "260 of 1,000 subjects, 1,000 queries a second, 4 min 56 s left",
        "one \\x1b[31mthing",
    ]


def test_a_terminal_gets_a_bar() -> None:
    file, clock = io.StringIO(), Clock()
    with pace(Console(file=file, force_terminal=True, width=120), clock) as shown:
        shown.begin(3, 0)
        clock.now += 7200.0
        shown.advance(1, 10)
    assert "1/3" in file.getvalue()
    assert "4 h 00 min left" in file.getvalue()
