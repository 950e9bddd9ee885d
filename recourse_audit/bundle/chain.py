"""Records chained by hashes: each holds the digest of itself and of all before it."""

from collections.abc import Iterable
from typing import Any

from recourse_audit.records.codec import compact
from recourse_audit.bundle.digests import digest_of

START = ""


def chained(before: str, record: dict[str, Any]) -> dict[str, Any]:
    """The record with its hash, given the hash of the one before."""
    return record | {"hash": digest_of(before + compact(record))}


def broken_at(records: Iterable[dict[str, Any]]) -> int | None:
    """The place of the first record that does not follow from those before it."""
    before = START
    for place, record in enumerate(records):
        rest = {key: value for key, value in record.items() if key != "hash"}
        if record != chained(before, rest):
            return place
        before = record["hash"]
    return None
