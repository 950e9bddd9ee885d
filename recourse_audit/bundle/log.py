"""The log of a run: what happened when. The one file of a bundle that no two runs share.

Lines are chained by hashes, so that a changed one is noticed.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from recourse_audit.bundle.plain_files import write_all
from recourse_audit.bundle.seal import digest_of
from recourse_audit.errors import DocumentError, InputError
from recourse_audit.records.bundle import LogLine
from recourse_audit.records.codec import LOG_LINE


class RunLog:
    """Appends lines to a file; `now` tells the time as text."""

    def __init__(self, path: Path, now: Callable[[], str]) -> None:
        self._path = path
        self._now = now
        self._before = ""
        if path.exists():
            self._resume()

    def add(self, line: LogLine) -> None:
        """Write down that something happened; the time and the hash are filled in here."""
        whole = chained(self._before, replace(line, at=self._now()))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        handle = os.open(self._path, flags, 0o600)
        try:
            write_all(handle, f"{LOG_LINE.write(whole)}\n".encode())
        finally:
            os.close(handle)
        self._before = whole.hash

    def _resume(self) -> None:
        """Continue after the last line that was written in full."""
        lines = self._path.read_bytes().split(b"\n")
        complete = lines[:-1]
        if lines[-1]:
            os.truncate(self._path, sum(len(line) + 1 for line in complete))
        if complete:
            try:
                self._before = LOG_LINE.read(complete[-1]).hash
            except DocumentError:
                raise InputError(
                    f"{self._path}: its last line is damaged; restore the file, or start over "
                    "with --fresh"
                ) from None


def chained(before: str, line: LogLine) -> LogLine:
    """The line with a hash of itself, given the hash of the one before."""
    return replace(line, hash=digest_of(before + LOG_LINE.write(replace(line, hash=""))))


def is_unbroken(content: bytes) -> bool:
    """Whether a log is complete, ends with "finished", and no line was changed."""
    try:
        lines = read_lines(content)
    except DocumentError:
        return False
    before = ""
    for line in lines:
        if line != chained(before, line):
            return False
        before = line.hash
    return bool(lines) and lines[-1].event == "finished" and _rewritten(lines) == content


def read_lines(content: bytes) -> list[LogLine]:
    """The lines of a log that were written in full."""
    return [LOG_LINE.read(line) for line in content.split(b"\n")[:-1]]


def _rewritten(lines: Iterable[LogLine]) -> bytes:
    return "".join(f"{LOG_LINE.write(line)}\n" for line in lines).encode()


def days_of(path: Path) -> tuple[str, str] | None:
    """The first and the last day that a log tells of (as 2026-11-16, UTC); None if it tells none.

    Nothing in the evidence depends on it: `verify` says whether a line was changed.
    """
    try:
        times = [datetime.fromisoformat(line.at) for line in read_lines(path.read_bytes())]
        days = sorted(time.astimezone(UTC).date().isoformat() for time in times)
    except (OSError, ValueError, DocumentError):
        return None
    return (days[0], days[-1]) if days else None
