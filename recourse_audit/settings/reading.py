"""Read and check an `audit.toml`, and say in plain words what is wrong with it."""

import difflib
import json
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from recourse_audit.errors import SettingsError
from recourse_audit.settings.groups import GroupSettings
from recourse_audit.settings.inputs import DecisionSettings, GraphSettings, ModelSettings
from recourse_audit.settings.letters import LetterSettings
from recourse_audit.settings.recourse import RecourseSettings
from recourse_audit.settings.search import CaveatSettings, SearchSettings
from recourse_audit.settings.section import Section

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


class Settings(Section):
    """Everything an audit is told, checked once."""

    model: ModelSettings
    graph: GraphSettings
    decision: DecisionSettings
    groups: GroupSettings = GroupSettings()
    search: SearchSettings = SearchSettings()
    recourse: RecourseSettings = RecourseSettings()
    caveats: CaveatSettings = CaveatSettings()
    letters: LetterSettings = LetterSettings()


def load_settings(path: Path) -> Settings:
    """Read and check an `audit.toml`; its paths become relative to the folder it lies in."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(
            f"{path}: there is no such file; `recourse-audit init` writes one"
        ) from None
    except IsADirectoryError:
        raise SettingsError(f"{path}: is a folder; name the audit.toml inside it") from None
    except OSError as error:
        raise SettingsError(
            f"{path}: cannot be read ({error.strerror}); check the path and who may read it"
        ) from None
    except UnicodeDecodeError:
        raise SettingsError(
            f"{path}: is not text in UTF-8, so no audit.toml; `recourse-audit init` writes one"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"{path}: is not valid TOML ({error}); mend that line, or write a new file with "
            "`recourse-audit init`"
        ) from None
    return parse_settings(table, folder=path.parent, origin=str(path))


def parse_settings(table: dict[str, Any], *, folder: Path, origin: str) -> Settings:
    """Check a settings table that came from `origin`; report the first thing wrong with it."""
    try:
        return Settings.model_validate(table, context={"folder": folder})
    except ValidationError as error:
        raise SettingsError(f"{origin}: {first_problem(error, Settings)}") from None


def settings_schema() -> str:
    """The JSON Schema of `audit.toml`, for editors and for other programs."""
    return json.dumps(Settings.model_json_schema(), indent=2)


def first_problem(error: ValidationError, root: type[BaseModel]) -> str:
    """Word the first problem; a mistyped key comes before the key it leaves missing."""
    problems = error.errors(include_url=False)
    first = min(problems, key=lambda problem: problem["type"] != "extra_forbidden")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{_key(first['loc'])}: {_worded(first, root)}{more}"


def _key(location: tuple[int | str, ...]) -> str:
    """A key as a user would look for it: `recourse.ties[0].kind`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def _worded(problem: ErrorDetails, root: type[BaseModel]) -> str:
    """One problem in plain words; what pydantic says where there are none."""
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
    """Name the known key that a mistyped one most likely meant."""
    section: Any = root
    for part in location[:-1]:
        if isinstance(part, int):
            continue
        section = section.model_fields[part].annotation
        section = next(
            (inner for inner in getattr(section, "__args__", ()) if inner is not Ellipsis), section
        )
    known = list(getattr(section, "model_fields", {}))
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(known)}"
