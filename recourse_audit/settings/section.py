"""What all sections of `audit.toml` have in common, and how TOML and paths are looked at."""

import os.path
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    PlainSerializer,
    SerializationInfo,
    ValidationInfo,
)


def _resolve(path: Path, info: ValidationInfo) -> Path:
    if "\0" in str(path):
        raise ValueError("holds a null character, which no path can; write the name of the file")
    folder: Path = (info.context or {}).get("folder", Path())
    return folder / path


def _relative(path: Path, info: SerializationInfo) -> str:
    folder: Path | None = (info.context or {}).get("folder")
    if folder is not None and path.is_relative_to(folder):
        path = path.relative_to(folder)
    return path.as_posix()


# Read relative to the settings file's folder, and written relative to it again as JSON.
FilePath = Annotated[Path, AfterValidator(_resolve), PlainSerializer(_relative, when_used="json")]


class Section(BaseModel):
    """One table of `audit.toml`: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


# Path.is_file and its siblings raise an error for a name that is too long, or in a folder that must
# not be read. What cannot be looked at is not there; whoever opens it says why.


def is_file(path: Path) -> bool:
    """Whether a file can be seen there."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Whether a folder can be seen there."""
    return os.path.isdir(path)  # noqa: PTH112


def exists(path: Path) -> bool:
    """Whether anything can be seen there."""
    return os.path.exists(path)  # noqa: PTH110


LARGEST = 2**63


def read_toml(text: str) -> dict[str, Any]:
    """The table that a text holds.

    TOML has whole numbers of 64 bits. Python reads larger ones, and cannot always print them.

    Raises
    ------
    ValueError
        The text is not valid TOML, is nested too deeply, or has a whole number that is too large.
    """
    try:
        table = tomllib.loads(text)
        check_numbers(table)
    except RecursionError:
        raise ValueError("its lists are nested too deeply") from None
    return table


def check_numbers(value: object) -> None:
    """Refuse whole numbers of more than 64 bits in tables and lists."""
    if isinstance(value, dict):
        for inner in value.values():
            check_numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            check_numbers(inner)
    elif isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise ValueError("it has a whole number of more than 64 bits")
