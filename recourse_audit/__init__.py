"""Audit a sealed ONNX graph neural network: what a decision rests on, and what could change it.

>>> import recourse_audit as ra
>>> audit = ra.Audit.from_toml("sample_models/lending/audit.toml")
>>> audit.explain("P0004")
SubjectReport('P0004': denied, verified, 3 counterfactuals, 2 options)

`audit.run("out")` writes a bundle of reports on everybody who was refused.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recourse_audit.api import Audit, Bundle, open_bundle
    from recourse_audit.errors import AuditError
    from recourse_audit.graph.readers import from_arrays, from_networkx, read_graph
    from recourse_audit.records.groups import GroupReport
    from recourse_audit.records.recourse import WhatIf
    from recourse_audit.records.subject import SubjectReport
    from recourse_audit.settings import Settings, load_settings

# Where each public name comes from. What is not listed is private.
_HOMES = {
    "Audit": "api",
    "AuditError": "errors",
    "Bundle": "api",
    "GroupReport": "records.groups",
    "Settings": "settings",
    "SubjectReport": "records.subject",
    "WhatIf": "records.recourse",
    "from_arrays": "graph.readers",
    "from_networkx": "graph.readers",
    "load_settings": "settings",
    "open_bundle": "api",
    "read_graph": "graph.readers",
}

__all__ = [
    "Audit",
    "AuditError",
    "Bundle",
    "GroupReport",
    "Settings",
    "SubjectReport",
    "WhatIf",
    "from_arrays",
    "from_networkx",
    "load_settings",
    "open_bundle",
    "read_graph",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing the package is quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'recourse_audit' has no attribute {name!r}")
    value = getattr(import_module(f"recourse_audit.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
