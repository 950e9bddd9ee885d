"""What a bundle is, and of what: digests of inputs and files, counts, and a chain of events.

The manifest depends on the audit alone: not on the time, the folder, or the number of workers.
"""

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recourse_audit.records.codec import probes_document
from recourse_audit.errors import InputError
from recourse_audit.audit.loaded import LoadedAudit
from recourse_audit.bundle.layout import CHECKSUMS, FILES, MANIFEST, SIGNATURE, Bundle
from recourse_audit.bundle.chain import START, chained
from recourse_audit.records.summary_columns import STATUSES
from recourse_audit.records.codec import compact
from recourse_audit.execute.fingerprint import digest, digest_of, fingerprint, graph_files
from recourse_audit.bundle.seal import checksums_text
from recourse_audit.audit.selection import Selection
from recourse_audit.bundle.digests import versions

FORMAT = 1
SHORTEST_KEY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the manifest says beside the files; with `id_key`, also the ids, hashed with it."""

    audit: LoadedAudit
    selection: Selection
    parts: dict[str, str]
    id_key: bytes | None
    signed_by: str | None


def manifest_text(bundle: Bundle, evidence: Evidence, store: sqlite3.Connection) -> str:
    """The manifest of the files that are in the bundle, as it is written."""
    manifest = {
        "format": FORMAT,
        "versions": versions(),
        "command": _command(evidence.selection),
        "fingerprint": fingerprint(evidence.parts),
        "inputs": _inputs(evidence.audit),
        "seed": evidence.audit.scope.seed,
        "probes": probes_document(evidence.audit.probes),
        "notes": evidence.audit.probes.notes,
        "counts": counts_of(store),
        "hashed_ids": None if evidence.id_key is None else hashed_ids(store, evidence.id_key),
        "files": {name: _file(bundle.folder / name) for name in FILES},
        "signed_by": evidence.signed_by,
    }
    events = chain_of(manifest, piece_digests(store))
    return written(manifest | {"events": events})


def written(manifest: dict[str, Any]) -> str:
    """The one way to write a manifest down."""
    return f"{json.dumps(manifest, ensure_ascii=False, allow_nan=False, indent=1)}\n"


def chain_of(
    manifest: dict[str, Any], pieces: Iterable[tuple[int, int, str]]
) -> list[dict[str, Any]]:
    """The events of an audit: begun, each piece finished, sealed with the rest of the manifest."""
    begun = {"event": "started", "fingerprint": manifest["fingerprint"]}
    done = [
        {"event": "piece", "piece": piece, "subjects": count, "content": content}
        for piece, count, content in pieces
    ]
    sealed = {"event": "sealed", "content": digest_of(compact(manifest))}
    events: list[dict[str, Any]] = []
    for event in (begun, *done, sealed):
        events.append(chained(events[-1]["hash"] if events else START, event))
    return events


def counts_of(store: sqlite3.Connection) -> dict[str, Any]:
    """How many there are of everything; the statuses add up to the subjects."""
    [[subjects, queries, evaluations, pieces]] = store.execute(
        "SELECT count(*), coalesce(sum(queries), 0), coalesce(sum(evaluations), 0), "
        "count(DISTINCT piece) FROM subjects"
    )
    [[people]] = store.execute("SELECT count(*) FROM people")
    found = dict(store.execute("SELECT status, count(*) FROM subjects GROUP BY status").fetchall())
    return {
        "people": people,
        "subjects": subjects,
        "statuses": {status: found.get(status, 0) for status in STATUSES},
        "pieces": pieces,
        "queries": queries,
        "evaluations": evaluations,
    }


def piece_digests(store: sqlite3.Connection) -> Iterator[tuple[int, int, str]]:
    """Each piece in order: its number, how many subjects, and a digest of their documents."""
    rows = store.execute("SELECT piece, number, document FROM subjects ORDER BY piece, number")
    digests: dict[int, tuple[int, Any]] = {}
    for piece, number, document in rows:
        count, content = digests.get(piece, (0, hashlib.sha256()))
        content.update(f"{number} {document}\n".encode())
        digests[piece] = (count + 1, content)
    for piece, (count, content) in digests.items():
        yield piece, count, content.hexdigest()


def hashed_ids(store: sqlite3.Connection, key: bytes) -> list[str]:
    """The ids of the subjects, in their order, as nobody without the key can guess them."""
    rows = store.execute("SELECT id FROM subjects ORDER BY number")
    return [hmac.new(key, name.encode(), hashlib.sha256).hexdigest() for (name,) in rows]


def read_id_key(path: Path) -> bytes:
    """Read the key for ids: any file of some length that is kept secret."""
    try:
        key = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); correct --id-key") from None
    if len(key) < SHORTEST_KEY:
        raise InputError(
            f"{path}: is too short for a key; --id-key takes at least {SHORTEST_KEY} random bytes, "
            "as from `openssl rand 32`"
        )
    return key


def seal(bundle: Bundle, text: str, signature: str | None) -> None:
    """Put the manifest, its signature and the checksums into the bundle, in this order."""
    bundle.write(MANIFEST, text)
    if signature is None:
        (bundle.folder / SIGNATURE).unlink(missing_ok=True)
    else:
        bundle.write(SIGNATURE, signature)
    files = {name: facts["sha256"] for name, facts in json.loads(text)["files"].items()}
    bundle.write(CHECKSUMS, checksums_text(bundle.folder, files))


def _command(selection: Selection) -> dict[str, Any]:
    subjects = selection.subjects
    listed = Path(subjects).is_file()
    return {
        "name": "run",
        "subjects": Path(subjects).name if listed else subjects,
        "sample": selection.sample,
        "stratify": selection.stratify,
    }


def _inputs(audit: LoadedAudit) -> dict[str, Any]:
    candidates = audit.settings.recourse.candidates
    return {
        "model": {
            "sha256": audit.model.digest(),
            "files": {path.name: digest(path) for path in audit.model.files},
        },
        "graph": {
            key: {"file": path.name, "sha256": digest(path)}
            for key, path in graph_files(audit.settings.graph).items()
        },
        "candidates": None if candidates is None else digest(candidates),
    }


def _file(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": digest(path)}
