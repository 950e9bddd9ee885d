"""What every test of pages and letters may ask for by name.

With several test processes each makes its own, in a folder of its own.
"""

import shutil
from collections.abc import Iterator
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from types import CodeType, SimpleNamespace
from unittest.mock import patch

import pytest
from fontTools.ttLib import woff2
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from jinja2.sandbox import ImmutableSandboxedEnvironment

from recourse_audit.render.write_letters import write_letters
from recourse_audit.render.write_pages import write_pages
from tests.bundles import request, run_here
from tests.render.browser import chromium, launched

__all__ = ["audited", "bundle", "chromium", "launched", "made"]

SUBJECTS = 2


class CompiledTemplates(BytecodeCache):
    """What was compiled before, by name and content: it takes longer than most tests."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key, bucket.checksum] = bucket.code


@cache
def decompressed(font: bytes) -> bytes:
    out = BytesIO()
    woff2.decompress(BytesIO(font), out)
    return out.getvalue()


@pytest.fixture(scope="session", autouse=True)
def _fonts_decompressed_once() -> Iterator[None]:
    """Every printer decompresses them, which takes longer than a short page."""
    once = SimpleNamespace(decompress=lambda font, out: out.write(decompressed(font.read())))
    with patch("weasyprint.text.fonts.woff2", once):
        yield


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    environment = partial(ImmutableSandboxedEnvironment, bytecode_cache=CompiledTemplates())
    with patch("recourse_audit.render.templates.ImmutableSandboxedEnvironment", environment):
        yield


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the settings and files of an audit, and in `bundle` what was found."""
    place = tmp_path_factory.mktemp("audit")
    run_here(request(place, place / "bundle", sample=SUBJECTS))
    return place


@pytest.fixture(scope="session")
def made(audited: Path) -> Path:
    """The bundle with letters and pages; to be read only."""
    folder = audited / "made"
    shutil.copytree(audited / "bundle", folder)
    write_letters(folder)
    write_pages(folder)
    return folder


@pytest.fixture
def bundle(audited: Path, tmp_path: Path) -> Path:
    """The bundle without either, to work on."""
    folder = tmp_path / "bundle"
    shutil.copytree(audited / "bundle", folder)
    return folder
