"""Saves every result as soon as it is made, so that a stopped run can be resumed.

The cache is one SQLite file in the working folder. A result belongs to a part of the benchmark, a
graph, a method, a subject and a setting. The setting contains everything that affects the result,
including the model's fingerprint, so that results of another model are never used by mistake.
"""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    part TEXT, graph TEXT, method TEXT, subject INTEGER, setting TEXT, document TEXT NOT NULL,
    PRIMARY KEY (part, graph, method, subject, setting)
)
"""
WAIT = 120.0
NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Identifies a result; `subject` is NOBODY for results about a whole graph."""

    part: str
    graph: str
    method: str
    subject: int = NOBODY
    setting: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A result with its key."""

    key: Key
    document: dict[str, Any]


class ResultCache:
    """The results so far; several processes may share a file if they work on different graphs."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._store = sqlite3.connect(path, timeout=WAIT)
        self._store.execute(SCHEMA)
        self._store.commit()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._store.close()

    def put(self, key: Key, document: dict[str, Any]) -> None:
        """Save a result permanently."""
        with self._store:
            self._store.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?)",
                (
                    key.part,
                    key.graph,
                    key.method,
                    key.subject,
                    key.setting,
                    json.dumps(document, sort_keys=True),
                ),
            )

    def has(self, key: Key) -> bool:
        """Whether there is a result for a key."""
        found = self._store.execute(
            "SELECT 1 FROM results WHERE part = ? AND graph = ? AND method = ? AND subject = ?"
            " AND setting = ?",
            (key.part, key.graph, key.method, key.subject, key.setting),
        )
        return found.fetchone() is not None

    def rows(self, part: str, **wanted: str) -> Iterator[Result]:
        """Yield a part's results by subject, optionally for one graph, method or setting."""
        columns = ("graph", "method", "setting")
        assert set(wanted) <= set(columns), wanted
        where = "".join(f" AND {name} = ?" for name in wanted)
        found = self._store.execute(
            "SELECT graph, method, subject, setting, document FROM results WHERE part = ?"
            f"{where} ORDER BY graph, method, setting, subject",
            (part, *wanted.values()),
        )
        for graph, method, subject, setting, document in found.fetchall():
            key = Key(part=part, graph=graph, method=method, subject=subject, setting=setting)
            yield Result(key=key, document=json.loads(document))


def setting_of(**values: str | float) -> str:
    """Turn a setting into text; equal values always give the same text."""
    return json.dumps(values, sort_keys=True)


def fingerprint(path: Path) -> str:
    """A short digest of the file that a result was made with."""
    return sha256(path.read_bytes()).hexdigest()[:12]
