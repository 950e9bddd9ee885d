"""Fig. 8 of the paper: how far explanations move when a tie is added, or the model is changed.

The paper measures a new tie by minus the cosine between the message it brings and the weights of
the class that was decided, and a changed model by the distance of the last layer's weights. Both
need the weights, which the explained side never sees; how far the answer itself moved is kept too.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import open_bench
from benchmarks.paper.cache import Kept, Key
from benchmarks.paper.paper_datasets import SEED, Place
from benchmarks.paper.plans import Plan
from recourse_audit.caveats.stability import Standing, linked, moved, standing
from recourse_audit.graph.arrays import Graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.records.search import SearchResult
from recourse_audit.search.moexp import Search
from recourse_audit.search.results import Scope

LINKS, MODELS = "links", "models"
SAMPLES = Path(__file__).parents[2] / "sample_models"


def perturb(kept: Kept, place: Place, plan: Plan) -> None:
    """Make what is missing of both pictures."""
    scope = Scope(max_nodes=plan.max_nodes, max_hops=plan.max_hops, budget=plan.budget, seed=SEED)
    add_ties(kept, place, plan, scope)
    change_models(kept, place, plan, scope)


def standings(
    graph: Graph, model: OnnxModel, scope: Scope, subjects: list[int]
) -> dict[int, Standing]:
    """Where subjects stand by a model, which has been probed, on a graph."""
    batcher = QueryBatcher(model, pool_of(graph))
    answers = batcher.ask(whole(graph), np.arange(graph.node_count))
    classes = [str(number) for number in range(answers.shape[1])]
    found = {}
    for result in Search(graph, batcher, answers, classes, scope).run(np.array(sorted(subjects))):
        assert isinstance(result, SearchResult), result
        found[result.subject] = standing(np.exp(answers[result.subject]), result, None)
    return found


def add_ties(kept: Kept, place: Place, plan: Plan, scope: Scope) -> None:
    """Tie each subject to some others, one at a time."""
    subjects = place.test_nodes(plan.linked_nodes)
    wanted = {
        (subject, other): Key(
            part=LINKS,
            graph=place.name,
            method=str(other),
            subject=subject,
            setting=plan.size.setting(place.fingerprint),
        )
        for subject in subjects
        for other in _strangers(place.graph, subject, plan.links)
    }
    missing = {ends: key for ends, key in wanted.items() if not kept.holds(key)}
    if not missing:
        return
    before = standings(place.graph, place.bench.model, scope, sorted({s for s, _ in missing}))
    hidden = place.network.whole()[0].numpy()
    rows = place.network.state["second.lin.weight"].numpy()
    for (subject, other), key in missing.items():
        changed = linked(place.graph, subject, other)
        after = standings(changed, place.bench.model, scope, [subject])[subject]
        row = rows[before[subject].decision]
        cosine = hidden[other] @ row / (np.linalg.norm(hidden[other]) * np.linalg.norm(row) + 1e-12)
        kept.put(key, _document(before[subject], after) | {"strength": -float(cosine)})


def change_models(kept: Kept, place: Place, plan: Plan, scope: Scope) -> None:
    """Explain again by copies of the model whose last layer was moved."""
    subjects = place.test_nodes(plan.copied_nodes)
    before: dict[int, Standing] = {}
    for distance in plan.moves:
        keys = {
            subject: Key(
                part=MODELS,
                graph=place.name,
                method=f"{distance:g}",
                subject=subject,
                setting=plan.size.setting(place.fingerprint),
            )
            for subject in subjects
        }
        missing = {subject: key for subject, key in keys.items() if not kept.holds(key)}
        if not missing:
            continue
        before = before or standings(place.graph, place.bench.model, scope, subjects)
        after = standings(place.graph, _moved(place, distance, scope), scope, list(missing))
        for subject, key in missing.items():
            document = _document(before[subject], after[subject])
            kept.put(key, document | {"strength": distance})


def _document(before: Standing, after: Standing) -> dict[str, Any]:
    row = moved("", "", before, after)
    return {"answer": row.strength, "changed": row.changed, "explanation": row.explanation}


def _strangers(graph: Graph, subject: int, count: int) -> list[int]:
    """Other nodes that the subject is not tied to, drawn at random."""
    able = np.ones(graph.node_count, bool)
    able[[subject, *graph.neighbours(subject).tolist()]] = False
    random = np.random.default_rng((SEED, subject))
    return [int(node) for node in random.permutation(np.flatnonzero(able))[:count]]


def _moved(place: Place, distance: float, scope: Scope) -> OnnxModel:
    """A copy of the model whose last layer lies so far away."""
    path = place.folder / f"{place.name}.{place.fingerprint}.moved_{distance:g}.onnx"
    if not path.is_file():
        import onnx

        sys.path.insert(0, str(SAMPLES))
        try:
            script = import_module("perturb")
        finally:
            sys.path.pop(0)
        onnx.save(script.perturbed(onnx.load(place.onnx), distance, SEED), path)
    return open_bench(place.graph, path, scope).model
