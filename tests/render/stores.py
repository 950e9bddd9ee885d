"""Stores with any subjects, written without an audit: what pages are made from."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from recourse_audit.records.summary_columns import FACTS, STATUSES

from recourse_audit.bundle.store import SCHEMA

DIGEST = "0123456789abcdef" * 4


def subject(name: str, **facts: Any) -> dict[str, Any]:
    """A subject who was refused and has one option, unless told otherwise."""
    made = dict.fromkeys(FACTS) | {
        "id": name,
        "decision": "denied",
        "favourable": False,
        "status": "verified",
        "margin": -0.25,
        "caveat_grade": "holds",
        "options": 1,
        "cheapest_cost": 1.0,
    }
    return made | facts


def store_of(subjects: Iterable[Mapping[str, Any]]) -> sqlite3.Connection:
    """A store in memory, with the tables of a real one; numbers are places in the list."""
    store = sqlite3.connect(":memory:")
    store.executescript(SCHEMA)
    names = ["number", "piece", "document", *FACTS]
    places = ", ".join("?" * len(names))
    store.executemany(
        f"INSERT INTO subjects ({', '.join(names)}) VALUES ({places})",
        [
            (number, 0, "{}", *(facts[name] for name in FACTS))
            for number, facts in enumerate(subjects)
        ],
    )
    return store


def manifest_of(store: sqlite3.Connection, **changes: Any) -> str:
    """A manifest with the parts that pages read."""
    [[subjects]] = store.execute("SELECT count(*) FROM subjects")
    found = dict(store.execute("SELECT status, count(*) FROM subjects GROUP BY status").fetchall())
    manifest = {
        "versions": {"recourse-audit": "0.1.0", "python": "3.11.2"},
        "command": {"name": "run", "subjects": "unfavourable", "sample": None, "stratify": None},
        "inputs": {
            "model": {"sha256": DIGEST, "files": {"model.onnx": DIGEST}},
            "graph": {
                "nodes": {"file": "nodes.csv", "sha256": DIGEST},
                "edges": {"file": "edges.csv", "sha256": DIGEST},
            },
            "candidates": None,
        },
        "seed": 0,
        "notes": {},
        "counts": {
            "people": subjects + 100,
            "subjects": subjects,
            "statuses": {status: found.get(status, 0) for status in STATUSES},
        },
        "files": {name: {"sha256": DIGEST} for name in ("store.sqlite", "settings.json")},
        "signed_by": None,
    }
    return json.dumps(manifest | changes)
