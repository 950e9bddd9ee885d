"""What every test of pages and letters may ask for by name.

With several test processes each makes its own, in a folder of its own.
"""

import shutil
from pathlib import Path

import pytest

from recourse_audit.render.write_letters import write_letters
from recourse_audit.render.write_pages import write_pages
from tests.bundles import request, run_here
from tests.render.browser import chromium, launched

__all__ = ["audited", "bundle", "chromium", "launched", "made"]

SUBJECTS = 2


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
