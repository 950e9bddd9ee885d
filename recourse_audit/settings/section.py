"""What all tables of `audit.toml` have in common."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo


def _resolve(path: Path, info: ValidationInfo) -> Path:
    folder: Path = (info.context or {}).get("folder", Path())
    return folder / path


FilePath = Annotated[Path, AfterValidator(_resolve)]


class Section(BaseModel):
    """One table of `audit.toml`: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
