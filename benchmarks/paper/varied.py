"""Quality and time a node by C and D (Fig. 6 and 7), and PyG's explainer as it comes."""

import time

from benchmarks.paper.kept import Kept, Key, setting_of
from benchmarks.paper.own import search_all
from benchmarks.paper.places import Place
from benchmarks.paper.plans import Plan
from benchmarks.paper.weighing import EXPLAINER_EPOCHS

VARIED, TIMED = "varied", "timed"


def vary(kept: Kept, place: Place, plan: Plan) -> None:
    """Search again with other C and D."""
    subjects = place.test_nodes(plan.varied_nodes)
    for size in plan.sizes_varied:
        search_all(kept, VARIED, place, size, subjects)


def time_explainer(kept: Kept, place: Place, plan: Plan) -> None:
    """GNNExplainer as PyG gives it to its users: the whole graph, here with a mask of ties only."""
    settled = setting_of(epochs=EXPLAINER_EPOCHS, model=place.fingerprint)
    keys = [
        Key(part=TIMED, graph=place.name, method="GNNExp", subject=subject, setting=settled)
        for subject in place.test_nodes(plan.timed_nodes)
    ]
    missing = [key for key in keys if not kept.holds(key)]
    if not missing:
        return
    import torch
    from torch_geometric.explain import Explainer, GNNExplainer

    from benchmarks.train import GCN

    state = {key: value for key, value in place.network.state.items() if key != "accuracy"}
    model = GCN(state["shift"].shape[0], state["second.bias"].shape[0])
    model.load_state_dict(state)
    explainer = Explainer(
        model.eval(),
        algorithm=GNNExplainer(epochs=EXPLAINER_EPOCHS),
        explanation_type="model",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "node",
            "return_type": "raw",
        },
    )
    graph = place.graph
    x = torch.from_numpy(graph.features.astype("float32"))
    arcs = torch.stack(
        (torch.from_numpy(graph.arc_source).long(), torch.from_numpy(graph.arc_target).long())
    )
    for key in missing:
        start = time.perf_counter()
        explainer(x, arcs, index=key.subject)
        kept.put(key, {"seconds": time.perf_counter() - start})
