"""What it costs to verify options through a sealed pipeline, against features as they are.

    python -m benchmarks.preprocessing [--subjects N] [--combinations N]

The lending sample is audited twice: with its columns as features, and with a pipeline that makes
the same features from the same columns, one of them text. `recourse_preprocessing_ratio` is the
time for verifying the same combinations of changes through the pipeline, divided by the time
without it, in one run; 1.3 or less is wanted.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from benchmarks.search_speed import SAMPLE, report
from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit, load_audit
from recourse_audit.graph.graph import Ints
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.recourse.actions import NONE, ActionTable, action_table
from recourse_audit.recourse.conditions import every
from recourse_audit.recourse.trials import Verifier

TEXT = "late_payments"
REPEATS = 5
RULES = """
[[recourse.attributes]]
name = "savings"
direction = "up"
step = 500
max = 20000
cost = 0.1
[[recourse.attributes]]
name = "loan_amount"
direction = "down"
step = 500
min = 1000
cost = 0.1
[[recourse.attributes]]
name = "open_accounts"
direction = "any"
step = 1
integer = true
"""


def pipeline(path: Path, columns: tuple[str, ...], texts: list[str]) -> None:
    """Write a pipeline that gives every column as it is; one is text and becomes its number."""
    nodes: list[Any] = []
    inputs: list[Any] = []
    parts = []
    for name in columns:
        element = TensorProto.STRING if name == TEXT else TensorProto.FLOAT
        inputs.append(helper.make_tensor_value_info(name, element, [None, 1]))
        part = f"{name}_number"
        if name == TEXT:
            attributes: dict[str, Any] = {
                "keys_strings": texts,
                "values_floats": [float(text) for text in texts],
            }
            kind = "LabelEncoder"
        else:
            attributes = {"offset": [0.0], "scale": [1.0]}
            kind = "Scaler"
        nodes.append(helper.make_node(kind, [name], [part], domain="ai.onnx.ml", **attributes))
        parts.append(part)
    nodes.append(helper.make_node("Concat", parts, ["variable"], axis=1))
    output = helper.make_tensor_value_info("variable", TensorProto.FLOAT, [None, len(columns)])
    graph = helper.make_graph(nodes, "pipeline", inputs, [output])
    versions = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=versions)
    model.ir_version = 9
    onnx.save(model, path)


def opened(folder: Path) -> tuple[LoadedAudit, LoadedAudit]:
    """The lending sample without a pipeline and with one."""
    for name in ("gcn.onnx", "nodes.csv", "edges.csv"):
        shutil.copy(SAMPLE / name, folder / name)
    text = (SAMPLE / "audit.toml").read_text(encoding="utf-8")
    start = text.index("[[recourse.attributes]]")
    text = text[:start] + RULES
    (folder / "plain.toml").write_text(text, encoding="utf-8")
    plain = load_audit(folder / "plain.toml")
    values = plain.graph.features[:, plain.graph.feature_names.index(TEXT)]
    texts = [f"{value:g}" for value in np.unique(values).tolist()]
    pipeline(folder / "pipeline.onnx", plain.graph.feature_names, texts)
    line = 'path = "gcn.onnx"'
    (folder / "raw.toml").write_text(
        text.replace(line, f'{line}\npreprocessing = "pipeline.onnx"'), encoding="utf-8"
    )
    raw = load_audit(folder / "raw.toml")
    assert np.array_equal(raw.graph.features, plain.graph.features.astype(np.float32))
    return plain, raw


def combinations_of(table: ActionTable, subject: int, count: int) -> Ints:
    """Single changes and random pairs of changes."""
    pairs = every(table.group, 2)
    pairs = pairs[np.random.default_rng(subject).permutation(len(pairs))[:count]]
    singles = np.column_stack((np.arange(len(table)), np.full(len(table), NONE)))[:count]
    return np.concatenate((singles, pairs))


def verified(audit: LoadedAudit, edited: EditedGraph, subject: int, count: int) -> Any:
    """Verify combinations of one subject's changes; the answers, and how long it took."""
    table = action_table(audit.policy, subject, audit.probes.depth)
    rows = combinations_of(table, subject, count)
    start = time.perf_counter()
    answers = Verifier(edited.about(subject), table).answers(rows)
    return answers, time.perf_counter() - start


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=12, help="subjects who were refused")
    parser.add_argument("--combinations", type=int, default=1000, help="pairs per subject")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        audits = opened(Path(folder))
    graphs = []
    for audit in audits:
        answers = whole_answers(audit, np.arange(audit.graph.node_count))
        decisions = audit.rule.over(answers)
        graphs.append(EditedGraph(audit.graph, audit.batcher, audit.probes, decisions))
    refused = np.flatnonzero(~decisions.favourable(answers, np.arange(len(answers))))
    subjects = np.random.default_rng(1).permutation(refused)[: options.subjects].tolist()
    least = np.zeros((2, len(subjects)))
    evaluations = 0
    for place, subject in enumerate(subjects):
        times = np.full((2, REPEATS), np.inf)
        for repeat in range(REPEATS):
            found = []
            for way, (audit, edited) in enumerate(zip(audits, graphs, strict=True)):
                one, times[way, repeat] = verified(audit, edited, subject, options.combinations)
                found.append(one)
            assert np.allclose(*found), "both ways must verify the same"
        evaluations += len(found[0])
        least[:, place] = times.min(axis=1)
    plain, raw = least.sum(axis=1)
    report("recourse_preprocessing_ratio", raw / plain)
    print(
        f"# lending: {evaluations} evaluations of {len(subjects)} subjects, "
        f"{evaluations / plain:.0f} per second with features as they are, "
        f"{evaluations / raw:.0f} through a pipeline"
    )


if __name__ == "__main__":
    main()
