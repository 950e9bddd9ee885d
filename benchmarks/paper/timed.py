"""Time a node of ours and of the slow ones, in turn, so that all meet the same machine.

Needs torch. GNNExplainer twice: on the whole graph, as PyG gives it to its users, and on the
neighbourhood that the answer comes from. CF-GNNExplainer twice: lean, and the way its authors hold
it; and, if the folder is given, by their own code. Ours twice: one node alone, and among all test
nodes of the table, which share their questions.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.paper.cache import Key, ResultCache
from benchmarks.paper.datasets import Dataset
from benchmarks.paper.explanations import pairs_around
from benchmarks.paper.moexp import search_of, searched
from benchmarks.paper.plans import Plan
from benchmarks.paper.tie_weights import EXPLAINER_EPOCHS, NODE_CLASSIFIER, gnn_explainer

PART = "timed"
OURS_ALONE = "GNN-MOExp"
OURS_TOGETHER = "GNN-MOExp, with all test nodes of the table"
EXPLAINER_WHOLE = "GNNExplainer on the whole graph (PyG)"
EXPLAINER_NEAR = "GNNExplainer on the neighbourhood only"
CF_LEAN = "CF-GNNExplainer, ties only, stops at the flip"
CF_DENSE = "CF-GNNExplainer, dense matrix, all 500 steps"
CF_AUTHORS = "CF-GNNExplainer, its authors' code"
TIMED = (OURS_TOGETHER, OURS_ALONE, EXPLAINER_WHOLE, EXPLAINER_NEAR, CF_LEAN, CF_DENSE)
# What a method takes, given a subject; what it returns is kept beside the time.
Way = Callable[[int], dict[str, Any]]


def time_all(cache: ResultCache, dataset: Dataset, plan: Plan) -> None:
    """Time what is missing; a subject is done by all methods or by none."""
    setting = plan.size.setting(dataset.fingerprint)

    def key(method: str, subject: int) -> Key:
        return Key(part=PART, graph=dataset.name, method=method, subject=subject, setting=setting)

    wanted = TIMED if plan.cf_code is None else (*TIMED, CF_AUTHORS)
    subjects = [
        subject
        for subject in dataset.test_nodes(plan.timed_nodes)
        if not all(cache.has(key(method, subject)) for method in wanted)
    ]
    if not subjects:
        return
    together = timed_together(dataset, plan)
    ways = ways_of(dataset, plan)
    for way in ways.values():
        # The first call of a process pays for what all others find ready.
        way(subjects[0])
    for subject in subjects:
        cache.put(key(OURS_TOGETHER, subject), {"seconds": together})
        for method, way in ways.items():
            start = time.perf_counter()
            found = way(subject)
            cache.put(key(method, subject), {"seconds": time.perf_counter() - start} | found)


def timed_together(dataset: Dataset, plan: Plan) -> float:
    """Seconds a node of one search for all test nodes of the table."""
    subjects = np.sort(dataset.test_nodes(plan.nodes))
    search = search_of(dataset, plan.size)
    start = time.perf_counter()
    count = sum(1 for _ in search.run(subjects))
    return (time.perf_counter() - start) / count


def ways_of(dataset: Dataset, plan: Plan) -> dict[str, Way]:
    """Each method as something that takes a subject, in the order in which they take turns."""
    from benchmarks.paper.cf_gnn import DenseMask, counterfactual

    search = search_of(dataset, plan.size)
    whole = whole_graph_explainer(dataset)
    near = gnn_explainer(dataset)
    hops = plan.max_hops

    def ours(subject: int) -> dict[str, Any]:
        return {"subgraphs": searched(search, dataset, plan.size, subject).extent.subgraphs}

    def on_part(subject: int) -> dict[str, Any]:
        near.weights(subject, pairs_around(dataset.graph, subject, hops))
        return {}

    def lean(subject: int) -> dict[str, Any]:
        return {"removed": counterfactual(dataset.network, subject).removed}

    def dense(subject: int) -> dict[str, Any]:
        found = counterfactual(dataset.network, subject, DenseMask, to_the_end=True)
        return {"removed": found.removed}

    ways = {
        OURS_ALONE: ours,
        EXPLAINER_WHOLE: whole,
        EXPLAINER_NEAR: on_part,
        CF_LEAN: lean,
        CF_DENSE: dense,
    }
    if plan.cf_code is not None:
        from benchmarks.paper.cf_gnn_official import official_explainer

        ways[CF_AUTHORS] = official_explainer(dataset.network, plan.cf_code)
    return ways


def whole_graph_explainer(dataset: Dataset) -> Way:
    """GNNExplainer as PyG gives it to its users, with a mask of ties only."""
    import torch
    from torch_geometric.explain import Explainer, GNNExplainer

    from benchmarks.train import GCN

    state = {key: value for key, value in dataset.network.state.items() if key != "accuracy"}
    model = GCN(state["shift"].shape[0], state["second.bias"].shape[0])
    model.load_state_dict(state)
    explainer = Explainer(
        model.eval(),
        algorithm=GNNExplainer(epochs=EXPLAINER_EPOCHS),
        explanation_type="model",
        edge_mask_type="object",
        model_config=NODE_CLASSIFIER,
    )
    graph = dataset.graph
    x = torch.from_numpy(graph.features.astype("float32"))
    arcs = torch.stack(
        (torch.from_numpy(graph.arc_source).long(), torch.from_numpy(graph.arc_target).long())
    )

    def explain(subject: int) -> dict[str, Any]:
        explainer(x, arcs, index=subject)
        return {}

    return explain
