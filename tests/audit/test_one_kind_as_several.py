"""A model of one kind, given a graph that calls itself one of several, finds the same."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.kinds import as_kinds
from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit, open_audit
from recourse_audit.audit.report import Reporter
from recourse_audit.graph.readers import read_graph
from recourse_audit.records.subject import SubjectReport
from recourse_audit.settings import load_settings

SAMPLE = Path(__file__).parents[2] / "sample_models" / "lending" / "audit.toml"
PEOPLE = 12


def reports_of(audit: LoadedAudit, subjects: np.ndarray) -> dict[str, SubjectReport]:
    reporter = Reporter(audit, whole_answers(audit, np.arange(audit.graph.person_count)))
    return {
        report.subject.id: report
        for block in reporter.search.blocks(subjects)
        for _, report in reporter.on_block(block)
    }


def figures(value: Any) -> Any:
    """What is found, with figures to five digits: other queries round differently."""
    if isinstance(value, dict):
        return {key: figures(item) for key, item in value.items()}
    if isinstance(value, list):
        return [figures(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) and abs(value) > 1e-5 else value


@pytest.mark.parametrize("model", ["gcn", pytest.param("sage", marks=pytest.mark.long)])
def test_findings_are_the_same(model: str) -> None:
    settings = load_settings(SAMPLE)
    path = SAMPLE.parent / f"{model}.onnx"
    settings = settings.model_copy(
        update={"model": settings.model.model_copy(update={"path": path})}
    )
    graph = read_graph(settings.graph)
    plain = open_audit(settings, graph=graph)
    several = open_audit(settings, graph=as_kinds(graph))
    assert several.model.feeder.splits
    assert several.probes.depth == plain.probes.depth
    answers = whole_answers(plain, np.arange(graph.node_count))
    refused = ~plain.rule.over(answers).favourable(answers, np.arange(graph.node_count))
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(refused))[:PEOPLE]
    first, second = reports_of(plain, np.sort(chosen)), reports_of(several, np.sort(chosen))
    for name, report in first.items():
        other = replace(second[name], probes=report.probes)
        one, two = figures(report.to_dict()), figures(other.to_dict())
        for key in ("subject", "explanation", "counterfactuals", "front", "recourse", "own_data"):
            if key in one:
                assert one[key] == two[key], (name, key)
        assert one["recourse"]["status"] == two["recourse"]["status"]
