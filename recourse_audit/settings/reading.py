"""The one reader and the one writer of settings, with plain words for whatever is wrong.

A user writes `audit.toml`; a bundle keeps the same settings, defaults included, as `settings.json`.
"""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Self, get_args

from pydantic import (
    BaseModel,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.main import IncEx
from pydantic_core import ErrorDetails

from recourse_audit.errors import SettingsError
from recourse_audit.settings.decision import DecisionSettings, check_rule
from recourse_audit.settings.groups import GroupSettings
from recourse_audit.settings.inputs import ONE_SOURCE, GraphSettings, ModelSettings
from recourse_audit.settings.letters import LetterSettings
from recourse_audit.settings.policy import RecourseSettings
from recourse_audit.settings.search import CaveatSettings, SearchSettings
from recourse_audit.settings.section import Section, check_numbers, read_toml
from recourse_audit.settings.words import AuditSettings, WordSettings, check_endings, check_words

BUNDLE_SETTINGS = "settings.json"
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

    audit: AuditSettings = AuditSettings()
    model: ModelSettings
    graph: GraphSettings = GraphSettings()
    decision: DecisionSettings
    groups: GroupSettings = GroupSettings()
    search: SearchSettings = SearchSettings()
    recourse: RecourseSettings = RecourseSettings()
    caveats: CaveatSettings = CaveatSettings()
    letters: LetterSettings = LetterSettings()
    words: WordSettings = Field(default_factory=dict)

    @field_validator("graph")
    @classmethod
    def _check_features(cls, graph: GraphSettings, info: ValidationInfo) -> GraphSettings:
        model: ModelSettings | None = info.data.get("model")
        listed = graph.nodes is not None or graph.graphml is not None
        if listed and not graph.features and model and model.preprocessing is None:
            raise ValueError("needs features: the columns that the model takes, in order")
        return graph

    @field_validator("words")
    @classmethod
    def _check_words(cls, words: WordSettings, info: ValidationInfo) -> WordSettings:
        recourse: RecourseSettings | None = info.data.get("recourse")
        graph: GraphSettings | None = info.data.get("graph")
        if recourse is not None and graph is not None:
            ruled = (rule.name for rule in recourse.attributes if rule.of_category)
            check_words(words, {*ruled, *(encoding.name for encoding in graph.encodings)})
            check_endings(words, recourse.ties)
        return words

    @model_validator(mode="after")
    def _check_rule(self) -> Self:
        check_rule(self.model, self.decision)
        return self


def load_settings(path: Path) -> Settings:
    """Read and check an `audit.toml`; its paths are resolved against the folder it is in.

    Examples
    --------
    >>> settings = load_settings(Path("sample_models/lending/audit.toml"))
    >>> settings.decision.favourable
    ('approved',)
    """
    try:
        table = read_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(
            f"{path}: there is no such file; create one with `recourse-audit init`"
        ) from None
    except IsADirectoryError:
        raise SettingsError(f"{path}: is a folder; name the audit.toml inside it") from None
    except OSError as error:
        raise SettingsError(
            f"{path}: cannot be read ({error.strerror}); check the path and its permissions"
        ) from None
    except UnicodeDecodeError:
        raise SettingsError(
            f"{path}: is not UTF-8 text, so it is not an audit.toml; create one with "
            "`recourse-audit init`"
        ) from None
    except ValueError as error:
        raise SettingsError(
            f"{path}: is not valid TOML ({error}); fix that line, or create a new file with "
            "`recourse-audit init`"
        ) from None
    return parse_settings(table, folder=path.parent, origin=str(path))


def load_bundle_settings(folder: Path) -> Settings:
    """Read the settings that a bundle keeps; relative paths are resolved against its folder.

    The model and graph files need not be there: the paths say where they were for the audit.
    """
    path = folder / BUNDLE_SETTINGS
    remedy = "restore it from a copy of the bundle, or rerun the audit"
    try:
        table = json.loads(path.read_bytes())
        check_numbers(table)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
    except (ValueError, RecursionError):  # the latter from brackets in thousands of brackets
        raise SettingsError(f"{path}: was changed, it is not valid JSON; {remedy}") from None
    try:
        return Settings.model_validate(table, context={"folder": folder})
    except ValidationError as error:
        problem = first_problem(error, Settings)
        raise SettingsError(
            f"{path}: was changed, or written by another version of recourse-audit ({problem}); "
            f"{remedy}"
        ) from None


def settings_text(settings: Settings, folder: Path) -> str:
    """The content of a bundle's `settings.json`: all settings, defaults included.

    Paths inside `folder`, which holds the settings file, are written relative to it.
    """
    document = settings.model_dump(mode="json", context={"folder": folder}, by_alias=True)
    return f"{json.dumps(document, ensure_ascii=False, indent=2)}\n"


def fingerprint_text(settings: Settings, folder: Path) -> str:
    """The settings that results depend on, as JSON on one line: without words and the seed.

    The fingerprint of an audit holds the seed separately. No result depends on a limit.
    """
    left_out: dict[str, IncEx | bool] = {
        "audit": True,
        "letters": True,
        "words": True,
        "search": {"seed": True},
        "model": {"timeout": True, "memory": True},
    }
    document = settings.model_dump(
        mode="json", context={"folder": folder}, exclude=left_out, by_alias=True
    )
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def parse_settings(
    table: Mapping[str, object], *, folder: Path, origin: str, graph_in_memory: bool = False
) -> Settings:
    """Check a settings table that came from `origin`, and report the first problem."""
    try:
        settings = Settings.model_validate(table, context={"folder": folder})
    except ValidationError as error:
        raise SettingsError(f"{origin}: {first_problem(error, Settings)}") from None
    if not settings.graph.files and not graph_in_memory:
        raise SettingsError(f"{origin}: graph: {ONE_SOURCE} (got none of them)")
    return settings


def settings_schema() -> str:
    """The JSON Schema of `audit.toml`, for editors and for other programs."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    schema = Settings.model_json_schema()
    schema["required"].append("graph")  # of a file, though not of settings for a graph in memory
    return json.dumps({"$schema": dialect, **schema}, indent=2)


def first_problem(error: ValidationError, root: type[BaseModel]) -> str:
    """Describe the first problem; a mistyped key comes before the key that is missing for it."""
    problems = error.errors(include_url=False)
    first = min(problems, key=lambda problem: problem["type"] != "extra_forbidden")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    key = _key(first["loc"])  # empty for what several sections disagree about; the words name it
    return f"{key}: {_describe(first, root)}{more}".removeprefix(": ")


def _key(location: tuple[int | str, ...]) -> str:
    """The key as a user would write it: `recourse.ties[0].kind`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
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
    for inner in (annotation, *get_args(annotation)):
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            return inner
    return None
