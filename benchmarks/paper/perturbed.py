"""Fig. 8 of the paper: how far explanations move when a tie is added or the model is changed.

The paper measures a new tie by the negative cosine between the message it carries and the weights
of the decided class, and a changed model by the distance between the weights of the last layers.
Both need the weights, which our side never sees; how far the answer itself moves is recorded too.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import decisions_of, open_bench
from benchmarks.paper.cache import Key, ResultCache
from benchmarks.paper.datasets import SEED, Dataset
from benchmarks.paper.plans import Plan
from recourse_audit.audit.stability import Standing, stability_row, standing, with_link
from recourse_audit.graph.graph import Graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.search import SearchResult
from recourse_audit.search.evaluation import Scope
from recourse_audit.search.moexp import Search

LINKS, MODELS = "links", "models"
SAMPLES = Path(__file__).parents[2] / "sample_models"


def perturb(cache: ResultCache, dataset: Dataset, plan: Plan) -> None:
    """Compute the missing results of both charts."""
    scope = Scope(max_nodes=plan.max_nodes, max_hops=plan.max_hops, budget=plan.budget, seed=SEED)
    add_ties(cache, dataset, plan, scope)
    change_models(cache, dataset, plan, scope)


def standings(
    graph: Graph, model: OnnxModel, scope: Scope, subjects: list[int]
) -> dict[int, Standing]:
    """The decision and explanation of each subject; the model must have been probed."""
    batcher = QueryBatcher(model, pool_of(graph))
    answers = batcher.ask(whole(graph), np.arange(graph.node_count))
    classes = tuple(str(number) for number in range(answers.shape[1]))
    found = {}
    decisions = decisions_of(graph, answers, classes)
    for result in Search(graph, batcher, decisions, scope).run(np.array(sorted(subjects))):
        assert isinstance(result, SearchResult), result
        answer = answers[[result.subject]]
        [decided] = decisions.names_of(answer, result.subject)
        found[result.subject] = standing(decided, np.exp(answer[0]), result, None)
    return found


def add_ties(cache: ResultCache, dataset: Dataset, plan: Plan, scope: Scope) -> None:
    """Add ties from each subject to other nodes, one at a time."""
    subjects = dataset.test_nodes(plan.linked_nodes)
    wanted = {
        (subject, other): Key(
            part=LINKS,
            graph=dataset.name,
            method=str(other),
            subject=subject,
            setting=plan.size.setting(dataset.fingerprint),
        )
        for subject in subjects
        for other in _strangers(dataset.graph, subject, plan.links)
    }
    missing = {ends: key for ends, key in wanted.items() if not cache.has(key)}
    if not missing:
        return
    before = standings(dataset.graph, dataset.bench.model, scope, sorted({s for s, _ in missing}))
    hidden = dataset.network.whole()[0].numpy()
    rows = dataset.network.state["second.lin.weight"].numpy()
    for (subject, other), key in missing.items():
        changed = with_link(dataset.graph, subject, other)
        after = standings(changed, dataset.bench.model, scope, [subject])[subject]
        row = rows[int(before[subject].decision)]
        cosine = hidden[other] @ row / (np.linalg.norm(hidden[other]) * np.linalg.norm(row) + 1e-12)
        cache.put(key, _document(before[subject], after) | {"strength": -float(cosine)})


def change_models(cache: ResultCache, dataset: Dataset, plan: Plan, scope: Scope) -> None:
    """Explain again with copies of the model whose last layer was moved."""
    subjects = dataset.test_nodes(plan.copied_nodes)
    before: dict[int, Standing] = {}
    for distance in plan.moves:
        keys = {
            subject: Key(
                part=MODELS,
                graph=dataset.name,
                method=f"{distance:g}",
                subject=subject,
                setting=plan.size.setting(dataset.fingerprint),
            )
            for subject in subjects
        }
        missing = {subject: key for subject, key in keys.items() if not cache.has(key)}
        if not missing:
            continue
        before = before or standings(dataset.graph, dataset.bench.model, scope, subjects)
        after = standings(dataset.graph, _moved(dataset, distance, scope), scope, list(missing))
        for subject, key in missing.items():
            document = _document(before[subject], after[subject])
            cache.put(key, document | {"strength": distance})


def _document(before: Standing, after: Standing) -> dict[str, Any]:
    row = stability_row("", "", before, after)
    return {"answer": row.strength, "changed": row.changed, "explanation": row.explanation}


def _strangers(graph: Graph, subject: int, count: int) -> list[int]:
    """Draw nodes at random that the subject is not tied to."""
    able = np.ones(graph.node_count, bool)
    able[[subject, *graph.neighbours(subject).tolist()]] = False
    random = np.random.default_rng((SEED, subject))
    return [int(node) for node in random.permutation(np.flatnonzero(able))[:count]]


def _moved(dataset: Dataset, distance: float, scope: Scope) -> OnnxModel:
    """A copy of the model whose last layer was moved by the given distance."""
    path = dataset.folder / f"{dataset.name}.{dataset.fingerprint}.moved_{distance:g}.onnx"
    if not path.is_file():
        import onnx

        sys.path.insert(0, str(SAMPLES))
        try:
            script = import_module("perturb")
        finally:
            sys.path.pop(0)
        onnx.save(script.perturbed(onnx.load(dataset.onnx), distance, SEED), path)
    return open_bench(dataset.graph, path, scope).model
