"""What all tables of `audit.toml` have in common."""

from pathlib import Path
from typing import Annotated

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


def _written(path: Path, info: SerializationInfo) -> str:
    folder: Path | None = (info.context or {}).get("folder")
    if folder is not None and path.is_relative_to(folder):
        path = path.relative_to(folder)
    return path.as_posix()


# Read relative to the settings file's folder, and written relative to it again as JSON.
FilePath = Annotated[Path, AfterValidator(_resolve), PlainSerializer(_written, when_used="json")]


class Section(BaseModel):
    """One table of `audit.toml`: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
