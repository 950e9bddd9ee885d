"""GAT: the attention of a network trained to imitate the explained one; needs torch.

The network has two layers, eight hidden units and two heads, and learns the explained network's
decisions on nodes outside the test set. The weight of an arc is its mean attention over heads and
layers; the weight of a tie is the larger of its two arcs' weights.
"""

import numpy as np
import torch
from torch_geometric.nn import GATConv

from benchmarks.paper.datasets import Dataset
from benchmarks.train import multiplied, thinned
from recourse_audit.graph.graph import Graph

HIDDEN, HEADS, EPOCHS, PATIENCE = 8, 2, 150, 20


class Attending(torch.nn.Module):
    """A two-layer GAT that returns its attention."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        # Applied before the layer's own product, and no wider: together they are one linear map,
        # but this one accepts sparse features.
        self.words = torch.nn.Parameter(torch.empty(features, HIDDEN * HEADS))
        torch.nn.init.xavier_uniform_(self.words)
        self.first = GATConv(HIDDEN * HEADS, HIDDEN, heads=HEADS)
        self.second = GATConv(HIDDEN * HEADS, classes, heads=HEADS, concat=False)

    def forward(
        self, x: torch.Tensor, arcs: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        product = multiplied(x, self.words)
        hidden, (_, one) = self.first(product, arcs, return_attention_weights=True)
        logits, (_, two) = self.second(hidden.relu(), arcs, return_attention_weights=True)
        return logits, [one, two]


def attention(graph: Graph, dataset: Dataset) -> np.ndarray:
    """Return the weight of every pair."""
    torch.manual_seed(0)
    state = dataset.network.state
    x = torch.from_numpy(np.asarray(graph.features, np.float32))
    x = thinned((x - state["shift"]) / state["scale"])
    arcs = torch.from_numpy(np.stack((graph.arc_source, graph.arc_target)).astype(np.int64))
    said = dataset.network.whole()[1].argmax(1)
    model = Attending(x.shape[1], int(said.max()) + 1)
    fit_to_decisions(model, x, arcs, said, dataset)
    model.eval()
    with torch.no_grad():
        layers = [layer.mean(1).numpy() for layer in model(x, arcs)[1]]
    # GATConv appends self-loops after the arcs.
    weight = np.mean(layers, axis=0)[: arcs.shape[1]]
    return np.maximum.reduceat(weight, graph.pair_starts[:-1])


def fit_to_decisions(
    model: Attending, x: torch.Tensor, arcs: torch.Tensor, said: torch.Tensor, dataset: Dataset
) -> None:
    """Train until the agreement on held-out nodes stops improving."""
    nodes = np.array(dataset.training_nodes(dataset.graph.node_count))
    cut = int(0.8 * len(nodes))
    fit, check = torch.from_numpy(nodes[:cut]), torch.from_numpy(nodes[cut:])
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best, waited, kept = -1.0, 0, {}
    for _ in range(EPOCHS):
        model.train()
        optimiser.zero_grad()
        logits = model(x, arcs)[0]
        torch.nn.functional.cross_entropy(logits[fit], said[fit]).backward()
        optimiser.step()
        right = float((logits[check].argmax(1) == said[check]).float().mean())
        if right > best:
            best, waited = right, 0
            kept = {key: value.clone() for key, value in model.state_dict().items()}
        waited += 1
        if waited > PATIENCE:
            break
    model.load_state_dict(kept)
