"""What all sections of `audit.toml` have in common: paths, TOML, and words for what is wrong."""

import difflib
import os.path
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    SerializationInfo,
    Tag,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import ErrorDetails

_WHOLE, _NUMBER, _LIST = "must be a whole number", "must be a number", "must be a list: [ … ]"
WORDING = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be a table: {{ name = value }}",
    "finite_number": "must be a finite number",
    "float_parsing": _NUMBER,
    "float_type": _NUMBER,
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "int_from_float": _WHOLE,
    "int_parsing": _WHOLE,
    "int_type": _WHOLE,
    "less_than_equal": "must be at most {le:g}",
    "literal_error": "must be {expected}",
    "model_type": "must be a table, with its keys below a line in square brackets",
    "path_type": "must be a path, in quotes",
    "string_type": "must be text, in quotes",
    "too_short": "must name at least {min_length}",
    "tuple_type": _LIST,
}


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
Share = Annotated[float, Field(ge=0, le=1)]


# A key that may hold a plain value or a table; the tags of the two are no part of the key's name.
PLAIN, TABLE = Tag("<plain>"), Tag("<table>")
BY_FORM = Discriminator(
    lambda value: (TABLE if isinstance(value, Mapping | BaseModel) else PLAIN).tag
)


MOST_COMPARED = 100_000


class Section(BaseModel):
    """One table of `audit.toml`: frozen, and closed to keys it does not know.

    The text below a key is its description, here, in the JSON Schema and in the documentation.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )


def close_matches(name: str, known: Iterable[str]) -> str:
    """Ask whether the known names closest to an unknown one are meant; "" if none is close."""
    names = list(islice(known, MOST_COMPARED))
    folded = {other.casefold().strip(): other for other in reversed(names)}
    plain = _unpadded(name)
    same = [other for other in names if _unpadded(other) == plain][:3]
    close = difflib.get_close_matches(name.casefold().strip(), folded, n=3)
    meant = same or [folded[match] for match in close]
    return f"did you mean {' or '.join(map(repr, meant))}?" if meant else ""


def _unpadded(name: str) -> str:
    """A name without what is often written differently: case, and zeros in front of numbers."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", name.casefold().strip())


def near_matches(name: str, known: Iterable[str]) -> str:
    """Suggest the known names closest to an unknown one, or else list the known names."""
    names = list(known)
    if not names:
        return "there are none"
    first = ", ".join(repr(other) for other in names[:12])
    listed = f"choose from {first}{', …' if len(names) > 12 else ''}"
    return close_matches(name, names) or listed


def first_repeated(names: Sequence[str]) -> str | None:
    """The first name that stands in the list twice."""
    return next((name for place, name in enumerate(names) if name in names[:place]), None)


def _check_distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if repeated := first_repeated(names):
        raise ValueError(f"names {repeated!r} twice; remove one of them")
    return names


Distinct = Annotated[tuple[str, ...], AfterValidator(_check_distinct)]


# Path.is_file and its siblings raise an error for a name that is too long, or in a folder that must
# not be read. What cannot be looked at is not there; whoever opens it says why.
is_file, is_folder, exists = os.path.isfile, os.path.isdir, os.path.exists


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


def first_problem(error: ValidationError, root: type[BaseModel]) -> str:
    """Describe the first problem; a mistyped key comes before the key that is missing for it."""
    problems = error.errors(include_url=False)
    first = min(problems, key=lambda problem: problem["type"] != "extra_forbidden")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    key = _key(first["loc"])  # empty for what several sections disagree about; the words name it
    return f"{key}: {_describe(first, root)}{more}".removeprefix(": ")


def _key(location: tuple[int | str, ...]) -> str:
    """The key as a user would write it: `recourse.ties[0].kind`."""
    named = (part for part in location if part not in (PLAIN.tag, TABLE.tag, "[key]"))
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in named)
    return "".join(parts).removeprefix(".")


def _describe(problem: ErrorDetails, root: type[BaseModel]) -> str:
    """Describe one problem in plain words, or in pydantic's where there are none."""
    kind, limits = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        return f"is not a known key{_nearest(problem['loc'], root)}"
    if kind == "missing":
        return "is missing"
    if kind == "value_error":
        return str(limits["error"])
    wording = WORDING.get(kind)
    if wording is None:
        wording = problem["msg"][0].lower() + problem["msg"][1:].replace("{", "{{")
    return f"{wording.format(**limits)} (got {problem['input']!r})"


def _nearest(location: tuple[int | str, ...], root: type[BaseModel]) -> str:
    """Suggest the known key that a mistyped one most likely stands for."""
    section = root
    for part in location[:-1]:
        if part in section.model_fields:
            section = _model_in(section.model_fields[str(part)].annotation) or section
    known = [field.alias or name for name, field in section.model_fields.items()]
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known keys here: {', '.join(known)}"


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The table that a key holds, or that each entry of its list or table holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
