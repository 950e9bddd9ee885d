"""What happened during a run, one line per event."""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.base import Record
from recourse_audit.records.recourse import RecourseStatus


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LogLine(Record):
    """One event: when it happened, what it was, and a hash of it and of all lines before it.

    `fingerprint` and `subjects` go with "started", `chunk` and `subjects` with "chunk", `text`
    with "trouble", `statuses` with "finished".
    """

    at: str = ""
    event: Literal["started", "chunk", "trouble", "finished"]
    fingerprint: str | None = None
    chunk: int | None = None
    subjects: int | None = None
    text: str | None = None
    statuses: dict[RecourseStatus, int] | None = None
    hash: str = ""
