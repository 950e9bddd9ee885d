"""A user's `audit.toml` becomes one frozen, checked `Settings`; no later stage reads the file.

Paths are resolved against the folder of the file, unknown keys are refused with the nearest known
one, and every message names the key.
"""

from recourse_audit.settings.groups import GroupSettings
from recourse_audit.settings.inputs import (
    DecisionSettings,
    GraphSettings,
    ModelSettings,
    OutputKind,
    Role,
)
from recourse_audit.settings.letters import LetterSettings
from recourse_audit.settings.reading import (
    Settings,
    first_problem,
    load_settings,
    parse_settings,
    settings_schema,
)
from recourse_audit.settings.recourse import (
    AttributeRule,
    Implication,
    RecourseSettings,
    TieRule,
)
from recourse_audit.settings.search import LARGEST_EXPLANATION, CaveatSettings, SearchSettings

__all__ = [
    "LARGEST_EXPLANATION",
    "AttributeRule",
    "CaveatSettings",
    "DecisionSettings",
    "GraphSettings",
    "GroupSettings",
    "Implication",
    "LetterSettings",
    "ModelSettings",
    "OutputKind",
    "RecourseSettings",
    "Role",
    "SearchSettings",
    "Settings",
    "TieRule",
    "first_problem",
    "load_settings",
    "parse_settings",
    "settings_schema",
]
