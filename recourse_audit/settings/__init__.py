"""An `audit.toml` becomes one frozen, checked `Settings`; no later stage reads the file itself.

Paths are resolved against the file's folder, an unknown key is refused with the closest known one
as a suggestion, and every message names the key. A bundle keeps the settings as `settings.json`,
which is written and read here too.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic.main import IncEx

from recourse_audit.errors import SettingsError
from recourse_audit.settings.analysis import (
    CaveatSettings,
    ComparatorSettings,
    DecisionSettings,
    GroupSettings,
    ReasonSettings,
    SearchSettings,
    check_rule,
)
from recourse_audit.settings.inputs import (
    ONE_SOURCE,
    DerivedSettings,
    EncodingSettings,
    GraphSettings,
    ModelSettings,
    OutputKind,
    Role,
    Subject,
    SubjectColumn,
)
from recourse_audit.settings.letters import (
    AuditSettings,
    LanguageWords,
    LetterSettings,
    WordSettings,
    check_endings,
    check_words,
)
from recourse_audit.settings.policy import (
    AttributeRule,
    ConditionSettings,
    Implication,
    RecourseSettings,
    TieRule,
)
from recourse_audit.settings.section import Section, check_numbers, first_problem, read_toml

__all__ = [
    "AttributeRule",
    "CaveatSettings",
    "ConditionSettings",
    "DecisionSettings",
    "DerivedSettings",
    "EncodingSettings",
    "GraphSettings",
    "GroupSettings",
    "Implication",
    "LanguageWords",
    "LetterSettings",
    "ModelSettings",
    "OutputKind",
    "ReasonSettings",
    "RecourseSettings",
    "Role",
    "Settings",
    "Subject",
    "SubjectColumn",
    "TieRule",
    "fingerprint_text",
    "load_bundle_settings",
    "load_settings",
    "parse_settings",
    "settings_schema",
    "settings_text",
]

BUNDLE_SETTINGS = "settings.json"


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
    reasons: ReasonSettings = ReasonSettings()
    comparators: ComparatorSettings = ComparatorSettings()
    letters: LetterSettings = LetterSettings()
    words: WordSettings = Field(default_factory=dict)

    @field_validator("graph")
    @classmethod
    def _check_features(cls, graph: GraphSettings, info: ValidationInfo) -> GraphSettings:
        model: ModelSettings | None = info.data.get("model")
        listed = isinstance(graph.nodes, Path) or graph.graphml is not None
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
        for key in ("outcome", "recorded"):
            if getattr(self.decision, key) in self.groups.given:
                raise ValueError(
                    f"groups.given names {getattr(self.decision, key)!r}, which is decision.{key}: "
                    "people alike are told by what is known of them before the decision; leave it "
                    "out"
                )
        return self

    @property
    def subject_prefix(self) -> str:
        """What the ids of people begin with where there are several kinds: "person:"; else ""."""
        kind = self.decision.subject
        return f"{kind}:" if isinstance(kind, str) and len(self.graph.node_tables) != 1 else ""


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
    except OSError as error:
        raise SettingsError(
            f"{path}: cannot be read ({error.strerror}); name an audit.toml, or create one with "
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
        "reasons": {"codes": True},
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
    text = json.dumps({"$schema": dialect, **schema}, indent=2)
    return re.sub(r"(?<!\\n)\\n(?!\\n)", " ", text)  # descriptions are docstrings of several lines
