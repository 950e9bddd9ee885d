"""Audit a sealed ONNX graph neural network: what carried a decision, and what could change it.

>>> from recourse_audit import explain, load_audit
>>> audit = load_audit("audit.toml")
>>> [report] = explain(audit, ["P0001"])
>>> report.search.counterfactuals[0].removed
"""

from recourse_audit.graph.readers import from_arrays, from_networkx, read_graph
from recourse_audit.groups.bundle import groups_of
from recourse_audit.render.mailing import Mailing, mail
from recourse_audit.render.publishing import Edition, publish
from recourse_audit.run.audit import Audit, explain, load_audit, open_audit
from recourse_audit.run.everyone import Request, Summary, run_audit
from recourse_audit.run.selection import Selection
from recourse_audit.run.verification import Verdict, verify
from recourse_audit.run.workers import Workers
from recourse_audit.settings import Settings, load_settings

__all__ = [
    "Audit",
    "Edition",
    "Mailing",
    "Request",
    "Selection",
    "Settings",
    "Summary",
    "Verdict",
    "Workers",
    "explain",
    "from_arrays",
    "from_networkx",
    "groups_of",
    "load_audit",
    "load_settings",
    "mail",
    "open_audit",
    "publish",
    "read_graph",
    "run_audit",
    "verify",
]
