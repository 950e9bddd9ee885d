"""Every network here takes features in real units, because standardisation is one of its layers.

Input: `x` float32 [N, F], and the ties in the form that the network takes. Output: two columns of
logits, for denied and approved, or (for `Sigmoid`) one column with the probability of approved. All
have two layers and 16 hidden units, so only people within two hops affect a decision.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import (  # type: ignore[import-untyped]
    GATConv,
    GCNConv,
    GINConv,
    SAGEConv,
)

HIDDEN = 16
CLASSES = 2


class Standardise(nn.Module):
    """Shift and scale every feature by the training people's mean and deviation."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, people: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", people.mean(dim=0))
        self.register_buffer("deviation", people.std(dim=0).clamp(min=1e-6))

    def forward(self, x: Tensor) -> Tensor:
        """Features with mean 0 and standard deviation 1 over the training people."""
        return (x - self.mean) / self.deviation


class TwoLayers(nn.Module):
    """Two message-passing layers over `edge_index`, with dropout while training."""

    def __init__(self, people: Tensor, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.standardise = Standardise(people)
        self.first = first
        self.second = second
        self.dropout = nn.Dropout(0.2)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits [N, 2]."""
        hidden = torch.relu(self.first(self.standardise(x), edge_index))
        logits: Tensor = self.second(self.dropout(hidden), edge_index)
        return logits


def gcn(people: Tensor) -> nn.Module:
    """Graph convolution with self-loops and symmetric normalisation inside the model."""
    return TwoLayers(people, GCNConv(people.size(1), HIDDEN), GCNConv(HIDDEN, CLASSES))


def sage(people: Tensor) -> nn.Module:
    """GraphSAGE: combines a person with the mean of their neighbours."""
    return TwoLayers(people, SAGEConv(people.size(1), HIDDEN), SAGEConv(HIDDEN, CLASSES))


def gat(people: Tensor) -> nn.Module:
    """Graph attention: two heads of eight units, then one head; softmax over a person's ties."""
    first = GATConv(people.size(1), HIDDEN // 2, heads=2)
    return TwoLayers(people, first, GATConv(HIDDEN, CLASSES))


def gin(people: Tensor) -> nn.Module:
    """Graph isomorphism network: sums over neighbours, then a small perceptron."""
    return TwoLayers(
        people,
        GINConv(perceptron(people.size(1), HIDDEN), train_eps=True),
        GINConv(perceptron(HIDDEN, CLASSES), train_eps=True),
    )


def perceptron(inputs: int, outputs: int) -> nn.Module:
    """A perceptron with one hidden layer, as GIN applies it after each sum."""
    return nn.Sequential(nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs))


class Dense(nn.Module):
    """Graph convolution over a dense matrix, with self-loops and normalisation inside."""

    def __init__(self, people: Tensor) -> None:
        super().__init__()
        self.standardise = Standardise(people)
        self.first = nn.Linear(people.size(1), HIDDEN)
        self.second = nn.Linear(HIDDEN, CLASSES)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x: Tensor, adj: Tensor) -> Tensor:
        """Logits [N, 2] from features [N, F] and the number of ties between people [N, N]."""
        looped = adj + torch.eye(adj.size(0), dtype=adj.dtype)
        scale = looped.sum(dim=1).pow(-0.5)
        spread = scale.unsqueeze(1) * looped * scale.unsqueeze(0)
        hidden = torch.relu(spread @ self.first(self.standardise(x)))
        logits: Tensor = spread @ self.second(self.dropout(hidden))
        return logits


class OutsideNormalised(nn.Module):
    """Weighted sums only: self-loops and normalisation must already be in the ties."""

    def __init__(self, people: Tensor) -> None:
        super().__init__()
        self.standardise = Standardise(people)
        plain = {"normalize": False, "add_self_loops": False}
        self.first = GCNConv(people.size(1), HIDDEN, **plain)
        self.second = GCNConv(HIDDEN, CLASSES, **plain)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        """Logits [N, 2]."""
        hidden = torch.relu(self.first(self.standardise(x), edge_index, edge_weight))
        logits: Tensor = self.second(self.dropout(hidden), edge_index, edge_weight)
        return logits


class Sigmoid(nn.Module):
    """A graph convolution with one output column, the probability of approved."""

    def __init__(self, people: Tensor) -> None:
        super().__init__()
        first, second = GCNConv(people.size(1), HIDDEN), GCNConv(HIDDEN, 1)
        self.logit = TwoLayers(people, first, second)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Probabilities [N, 1]."""
        return torch.sigmoid(self.logit(x, edge_index))


class WithoutTies(nn.Module):
    """The baseline: a network of the same size that sees no ties."""

    def __init__(self, people: Tensor) -> None:
        super().__init__()
        self.standardise = Standardise(people)
        self.layers = perceptron(people.size(1), CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """Logits [N, 2]."""
        logits: Tensor = self.layers(self.standardise(x))
        return logits
