"""An `audit.toml` becomes one frozen, checked `Settings`; no later stage reads the file itself.

Paths are resolved against the file's folder, an unknown key is refused with the closest known one
as a suggestion, and every message names the key. A bundle keeps the settings as `settings.json`,
which is written and read here too.
"""

from recourse_audit.settings.decision import DecisionSettings
from recourse_audit.settings.groups import GroupSettings
from recourse_audit.settings.inputs import (
    DerivedSettings,
    EncodingSettings,
    GraphSettings,
    ModelSettings,
    OutputKind,
    Role,
)
from recourse_audit.settings.letters import LetterSettings
from recourse_audit.settings.policy import (
    AttributeRule,
    CategoryMove,
    ConditionSettings,
    Implication,
    RecourseSettings,
    TieRule,
)
from recourse_audit.settings.reading import (
    Settings,
    fingerprint_text,
    first_problem,
    load_bundle_settings,
    load_settings,
    parse_settings,
    settings_schema,
    settings_text,
)
from recourse_audit.settings.search import (
    FIRST_DRAWS,
    LARGEST_EXPLANATION,
    CaveatSettings,
    SearchSettings,
)
from recourse_audit.settings.words import AuditSettings, LanguageWords, TieWords, WordSettings

__all__ = [
    "FIRST_DRAWS",
    "LARGEST_EXPLANATION",
    "AttributeRule",
    "AuditSettings",
    "CategoryMove",
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
    "RecourseSettings",
    "Role",
    "SearchSettings",
    "Settings",
    "TieRule",
    "TieWords",
    "WordSettings",
    "fingerprint_text",
    "first_problem",
    "load_bundle_settings",
    "load_settings",
    "parse_settings",
    "settings_schema",
    "settings_text",
]
