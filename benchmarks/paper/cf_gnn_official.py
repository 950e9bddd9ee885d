"""CF-GNNExplainer by its authors' own code; needs torch, pandas and their repository.

Their code supports one kind of network: three layers, with all hidden states visible. Ours is
rewritten in that form: the second layer gives the logits and, because a rectifier follows, their
negatives as well; the last linear map subtracts the two; the third layer is zero. The answers are
the same, which is checked for every subject, so their code is timed on the same network as every
other method.
"""

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.paper.cf_gnn import DEPTH, RATE, STEPS
from benchmarks.paper.edits import pair_between
from benchmarks.paper.network import Network

BETA = 0.5
SAME = 1e-3


def official_explainer(network: Network, code: Path) -> Callable[[int], dict[str, Any]]:
    """Return a function that runs their code on a subject; `code` is their repository."""
    sys.path.insert(0, str(code / "src"))
    try:
        their_network = import_module("gcn").GCNSynthetic
        explainer = import_module("cf_explanation.cf_explainer").CFExplainer
        tools = import_module("utils.utils")
    finally:
        sys.path.pop(0)
    graph = network.graph
    model = as_theirs(network, their_network)
    features = torch.from_numpy(graph.features.astype("float32"))
    features = (features - network.state["shift"]) / network.state["scale"]
    arcs = torch.from_numpy(np.stack((graph.arc_source, graph.arc_target)).astype(np.int64))
    logits = network.whole()[1]
    decided = logits.argmax(1)

    def explain(subject: int) -> dict[str, Any]:
        with redirect_stdout(io.StringIO()):
            ties, words, labels, places = tools.get_neighbourhood(
                subject, (arcs,), DEPTH + 1, features, decided
            )
            with torch.no_grad():
                answer = model(words, tools.normalize_adj(ties))[places[subject]]
            difference = (answer - logits[subject].log_softmax(0)).abs().max()
            assert difference < SAME, (
                f"node {subject}: the rewritten network differs by {difference}"
            )
            made = explainer(
                model=model,
                sub_adj=ties,
                sub_feat=words,
                n_hid=model.gc1.out_features,
                dropout=0.0,
                sub_labels=labels,
                y_pred_orig=decided[subject],
                num_classes=int(network.state["second.bias"].shape[0]),
                beta=BETA,
                device=torch.device("cpu"),
            )
            found = made.explain(
                cf_optimizer="SGD",
                node_idx=torch.tensor(subject),
                new_idx=torch.tensor(places[subject]),
                lr=RATE,
                n_momentum=0.0,
                num_epochs=STEPS,
            )
        if not found:
            return {"removed": None}
        nodes = sorted(places, key=lambda node: int(places[node]))
        low, high = np.nonzero(np.triu(ties.numpy() != found[-1][2]))
        gone = [
            pair_between(graph, int(nodes[one]), int(nodes[other]))
            for one, other in zip(low, high, strict=True)
        ]
        return {"removed": sorted(gone)}

    return explain


def as_theirs(network: Network, kind: Callable[..., Any]) -> Any:
    """Rewrite our network in the form that their code supports."""
    state = network.state
    hidden, classes = state["first.bias"].shape[0], state["second.bias"].shape[0]
    width = max(hidden, 2 * classes)
    model = kind(state["shift"].shape[0], width, width, classes, 0.0).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        model.gc1.weight[:, :hidden] = state["first.lin.weight"].T
        model.gc1.bias[:hidden] = state["first.bias"]
        for sign, start in ((1, 0), (-1, classes)):
            model.gc2.weight[:hidden, start : start + classes] = sign * state["second.lin.weight"].T
            model.gc2.bias[start : start + classes] = sign * state["second.bias"]
            model.lin.weight[:, width + start : width + start + classes] = sign * torch.eye(classes)
        return model
