"""Versions of everything that figures, or the bytes of a file, may depend on."""

import platform
import sqlite3
from importlib.metadata import version

PACKAGES = ("recourse-audit", "networkx", "numpy", "onnxruntime", "pyarrow", "scipy")


def versions() -> dict[str, str]:
    """The program first, then packages by name, then Python and SQLite."""
    found = {name: version(name) for name in PACKAGES}
    return found | {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
