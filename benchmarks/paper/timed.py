"""The time per node of our search and of the slow methods, run in turn on the same machine.

Needs torch. GNNExplainer runs twice: on the whole graph, as PyG offers it to its users, and on the
neighbourhood that the answer depends on. CF-GNNExplainer runs twice: with ties only, and with a
dense matrix as its authors do; and a third time with their own code, if the folder is given. Our
search runs twice: for one node alone, and for all test nodes of the table, which share queries.
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
# Runs a method on a subject; what it returns is cached with the time.
Method = Callable[[int], dict[str, Any]]


def time_all(cache: ResultCache, dataset: Dataset, plan: Plan) -> None:
    """Compute the missing times; each subject is run by all methods or by none."""
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
    methods = methods_of(dataset, plan)
    for explain in methods.values():
        # A warm-up: the first call in a process also pays for one-time costs.
        explain(subjects[0])
    for subject in subjects:
        cache.put(key(OURS_TOGETHER, subject), {"seconds": together})
        for method, explain in methods.items():
            start = time.perf_counter()
            found = explain(subject)
            cache.put(key(method, subject), {"seconds": time.perf_counter() - start} | found)


def timed_together(dataset: Dataset, plan: Plan) -> float:
    """The seconds per node of one search for all test nodes of the table."""
    subjects = np.sort(dataset.test_nodes(plan.nodes))
    search = search_of(dataset, plan.size)
    start = time.perf_counter()
    count = sum(1 for _ in search.run(subjects))
    return (time.perf_counter() - start) / count


def methods_of(dataset: Dataset, plan: Plan) -> dict[str, Method]:
    """The methods as functions of a subject, in the order in which they take turns."""
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

    methods = {
        OURS_ALONE: ours,
        EXPLAINER_WHOLE: whole,
        EXPLAINER_NEAR: on_part,
        CF_LEAN: lean,
        CF_DENSE: dense,
    }
    if plan.cf_code is not None:
        from benchmarks.paper.cf_gnn_official import official_explainer

        methods[CF_AUTHORS] = official_explainer(dataset.network, plan.cf_code)
    return methods


def whole_graph_explainer(dataset: Dataset) -> Method:
    """GNNExplainer as PyG offers it to its users, with a mask over ties only."""
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
