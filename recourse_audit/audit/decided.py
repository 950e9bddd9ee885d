"""The rule that decides over everybody, and how its decisions agree with those on record."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from recourse_audit.audit.agreement import agreement_of, recorded_decisions
from recourse_audit.audit.answers import whole_answers
from recourse_audit.audit.large_graphs import Askable
from recourse_audit.audit.loaded import check_classes, rule_of
from recourse_audit.graph.arrays import Graph, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import DecisionRule
from recourse_audit.model.queries import pool_of
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.model import ProbeReport, RuleReport
from recourse_audit.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What asking everybody takes, where the policy need not be sound yet."""

    graph: Graph
    batcher: QueryBatcher
    probes: ProbeReport
    rule: DecisionRule


def decided_of(settings: Settings, recorded: Ints | None, audit: Askable) -> dict[str, Any]:
    """The rule over everybody, and how it agrees with the decisions on record."""
    every = np.arange(audit.graph.node_count)
    decisions = audit.rule.over(whole_answers(audit, every))
    decided = decisions.classes_of(decisions.everybody, every)
    good = int(audit.rule.favourable_classes[decided[decided >= 0]].sum())
    undecided = int((decided < 0).sum())
    by = settings.decision.cut_off_by
    lines = {} if settings.decision.cut_off is None else {"": settings.decision.cut_off}
    return {
        "decision": RuleReport(
            rule=audit.rule.name,
            cut_offs=lines if by is None else by.values,
            better=audit.rule.better if audit.rule.scores else None,
            places=decisions.places,
            favourable=good,
            refused=len(every) - good - undecided,
            undecided=undecided,
        ),
        "agreement": None
        if recorded is None
        else agreement_of(settings, audit.graph, recorded, decisions),
    }


def decided_by(
    settings: Settings, graph: Graph, model: OnnxModel, probes: ProbeReport
) -> dict[str, Any]:
    """The same for a model that is open and probed."""
    check_classes(settings, model)
    batcher = QueryBatcher(model, pool_of(graph), graphs_per_query=None if probes.packing else 1)
    rule = rule_of(settings, graph, model)
    asked = _Asked(graph=graph, batcher=batcher, probes=probes, rule=rule)
    return decided_of(settings, recorded_decisions(settings, graph), asked)
