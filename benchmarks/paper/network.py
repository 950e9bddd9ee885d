"""The trained network with its weights, for the methods that need them; needs torch.

Explaining ties leaves the features unchanged, so the first matrix product is computed once for all
nodes. What remains for one subject is the part of the graph that its answer depends on, with the
degrees of the whole graph: exactly the network's own answer, at the cost of a neighbourhood. PyG's
explainers get this part instead of the whole graph, which makes them faster and changes nothing.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch_geometric.nn import MessagePassing

from recourse_audit.graph.graph import Graph
from recourse_audit.graph.neighbourhoods import reach, spans


class Convolution(MessagePassing):
    """A graph convolution with given degrees; a node's message to itself is never masked."""

    def __init__(self, weight: torch.Tensor | None, bias: torch.Tensor) -> None:
        super().__init__(aggr="add")
        self.weight, self.bias = weight, bias

    def forward(
        self,
        x: torch.Tensor,
        edge_index: torch.Tensor,
        edge_weight: torch.Tensor,
        self_weight: torch.Tensor,
    ) -> torch.Tensor:
        if self.weight is not None:
            x = x @ self.weight.T
        out = self.propagate(edge_index, x=x, edge_weight=edge_weight)
        return out + self_weight[:, None] * x + self.bias

    def message(self, x_j: torch.Tensor, edge_weight: torch.Tensor) -> torch.Tensor:
        return edge_weight[:, None] * x_j


class Tail(torch.nn.Module):
    """The network after its first matrix product."""

    def __init__(self, state: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.first = Convolution(None, state["first.bias"])
        self.second = Convolution(state["second.lin.weight"], state["second.bias"])

    def forward(
        self,
        x: torch.Tensor,
        edge_index: torch.Tensor,
        edge_weight: torch.Tensor,
        self_weight: torch.Tensor,
    ) -> torch.Tensor:
        hidden = self.first(x, edge_index, edge_weight, self_weight).relu()
        return self.second(hidden, edge_index, edge_weight, self_weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a subject's answer depends on: nodes, arcs, and the pair of each arc."""

    nodes: np.ndarray
    place: int
    x: torch.Tensor
    edge_index: torch.Tensor
    edge_weight: torch.Tensor
    self_weight: torch.Tensor
    pair: np.ndarray

    @property
    def feeds(self) -> dict[str, torch.Tensor]:
        return {"edge_weight": self.edge_weight, "self_weight": self.self_weight}


class Network:
    """A two-layer GCN from `benchmarks.train` on its graph."""

    def __init__(self, graph: Graph, weights: Path) -> None:
        self.graph = graph
        self.state = torch.load(weights, weights_only=True)
        x = torch.from_numpy(np.asarray(graph.features, np.float32))
        product = []
        for rows in torch.split(x, 4096):
            scaled = (rows - self.state["shift"]) / self.state["scale"]
            product.append(scaled @ self.state["first.lin.weight"].T)
        self.projected = torch.cat(product)
        self.degree = np.bincount(graph.arc_target, minlength=graph.node_count) + 1.0

    def tail(self) -> Tail:
        """A fresh copy, since PyG leaves masks behind that spoil the next explainer's gradients."""
        made = Tail(self.state).eval()
        made.requires_grad_(False)
        return made

    def part(self, subject: int) -> Part:
        """The arcs into the subject and its neighbours, which is all that two layers see."""
        graph = self.graph
        near = reach(graph, np.array([subject]), 1)
        positions, owner = spans(graph.starts, near)
        source, target = graph.neighbour[positions], near[owner]
        nodes = np.unique(np.concatenate((near, source)))
        ends = np.stack((np.searchsorted(nodes, source), np.searchsorted(nodes, target)))
        weight = 1 / np.sqrt(self.degree[source] * self.degree[target])
        return Part(
            nodes=nodes,
            place=int(np.searchsorted(nodes, subject)),
            x=self.projected[nodes],
            edge_index=torch.from_numpy(ends),
            edge_weight=torch.from_numpy(weight).float(),
            self_weight=torch.from_numpy(1 / self.degree[nodes]).float(),
            pair=graph.neighbour_pair[positions].astype(np.int64),
        )

    def whole(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The hidden states and logits of every node on the whole graph."""
        graph = self.graph
        ends = torch.from_numpy(np.stack((graph.arc_source, graph.arc_target)).astype(np.int64))
        scale = 1 / np.sqrt(self.degree[graph.arc_source] * self.degree[graph.arc_target])
        weight, own = torch.from_numpy(scale).float(), torch.from_numpy(1 / self.degree).float()
        tail = self.tail()
        with torch.no_grad():
            hidden = tail.first(self.projected, ends, weight, own).relu()
            return hidden, tail.second(hidden, ends, weight, own)
