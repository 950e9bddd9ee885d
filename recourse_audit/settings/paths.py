"""Whether there is something at a path that a user gave.

`Path.is_file` and its siblings raise an error for a name that is too long, or in a folder that must
not be read. What cannot be looked at is not there; whoever opens it says why.
"""

import os.path
from pathlib import Path


def is_file(path: Path) -> bool:
    """Whether a file can be seen there."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Whether a folder can be seen there."""
    return os.path.isdir(path)  # noqa: PTH112


def exists(path: Path) -> bool:
    """Whether anything can be seen there."""
    return os.path.exists(path)  # noqa: PTH110
