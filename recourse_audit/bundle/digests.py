"""SHA-256 digests of files and texts, and the versions that figures may depend on."""

import hashlib
import platform
import sqlite3
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("recourse-audit", "networkx", "numpy", "onnxruntime", "pyarrow", "scipy")


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def versions() -> dict[str, str]:
    """The program first, then packages by name, then Python and SQLite."""
    found = {name: version(name) for name in PACKAGES}
    return found | {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
