"""The run's own log: what happened when. The one file of a bundle that no two runs share.

Lines are chained, so that a changed one is noticed.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recourse_audit.bundle.chain import START, chained
from recourse_audit.records.codec import compact


def days_of(path: Path) -> tuple[str, str] | None:
    """The first and the last day that a log tells of (as 2026-11-16, UTC); None if it tells none.

    Nothing in the evidence depends on it: `verify` says whether a line was changed.
    """
    try:
        whole = path.read_text(encoding="utf-8").split("\n")[:-1]
        times = [datetime.fromisoformat(json.loads(line)["at"]) for line in whole]
        days = sorted(time.astimezone(UTC).date().isoformat() for time in times)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (days[0], days[-1]) if days else None


class RunLog:
    """Appends lines to a file; `now` tells the time as text."""

    def __init__(self, path: Path, now: Callable[[], str]) -> None:
        self._path = path
        self._now = now
        self._before = START
        if path.exists():
            self._continue()

    def add(self, event: str, **facts: Any) -> None:
        """Write down that something happened."""
        line = chained(self._before, {"at": self._now(), "event": event, **facts})
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(f"{compact(line)}\n")
        self._before = line["hash"]

    def _continue(self) -> None:
        """Go on after the last line that was written in full."""
        lines = self._path.read_bytes().split(b"\n")
        whole = lines[:-1]
        if lines[-1]:
            self._path.write_bytes(b"".join(line + b"\n" for line in whole))
        if whole:
            self._before = json.loads(whole[-1])["hash"]
