"""The page on JSON has every key of the documents that other programs read, and their formats."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recourse_audit.records.codec import INSPECTION, STABILITY, SUBJECT, VERIFICATION, Document

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")


def keys_in(schema: Any) -> Iterator[str]:
    """Every key of every record in a JSON Schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield from schema["properties"]
        for inner in schema.values():
            yield from keys_in(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from keys_in(inner)


@pytest.mark.parametrize("document", [SUBJECT, INSPECTION, STABILITY, VERIFICATION])
def test_every_key_is_on_the_page(document: Document[Any]) -> None:
    code = " ".join(re.findall(r"`([^`]+)`", PAGE))
    words = set(re.findall(r"\w+", code))
    assert set(keys_in(document.schema())) - words == set()


def test_the_page_says_the_formats_that_are_written() -> None:
    assert f"## A subject: format {SUBJECT.format}\n" in PAGE
    assert f"| `format` | {SUBJECT.format} |" in PAGE
    for command, document in (
        ("inspect", INSPECTION),
        ("stability", STABILITY),
        ("verify", VERIFICATION),
    ):
        assert f"`{command} --json` prints `format` ({document.format})" in PAGE
