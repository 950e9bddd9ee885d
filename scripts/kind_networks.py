"""Small networks over people, employers and devices, wrapped as PyG's users wrap theirs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from kind_worlds import (
    GRAPHS,
    RECOMMENDS,
    THREE,
    USES,
    USES_REVERSED,
    WIDEST,
    WIDTHS,
    WORKS_AT,
    WORKS_AT_REVERSED,
    Relation,
)
from torch import Tensor, nn
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GraphConv,
    HeteroConv,
    MessagePassing,
    RGCNConv,
    SAGEConv,
    to_hetero,
)
from torch_geometric.utils import softmax

HIDDEN = 8
CLASSES = 2


def sage(relation: Relation, sizes: dict[str, int], outputs: int) -> nn.Module:
    """GraphSAGE between two kinds: the mean over the sender's kind, and the receiver itself."""
    return SAGEConv((sizes[relation[0]], sizes[relation[2]]), outputs)


def attention(relation: Relation, sizes: dict[str, int], outputs: int) -> nn.Module:
    """Graph attention; between two kinds there are no self-loops."""
    inputs = (sizes[relation[0]], sizes[relation[2]])
    return GATConv(inputs, outputs, heads=2, concat=False, add_self_loops=False)


def convolution_of_equals(relation: Relation, sizes: dict[str, int], outputs: int) -> nn.Module:
    """Normalised by the degrees of both ends where a relation has one kind; else GraphSAGE."""
    if relation[0] == relation[2]:
        return GCNConv(sizes[relation[0]], outputs)
    return sage(relation, sizes, outputs)


def sums(relation: Relation, sizes: dict[str, int], outputs: int) -> nn.Module:
    """GraphConv: plain sums, with a weight per tie where one is given."""
    return GraphConv((sizes[relation[0]], sizes[relation[2]]), outputs)


def attributed(relation: Relation, sizes: dict[str, int], outputs: int) -> nn.Module:
    """Attention over two attributes per tie for jobs, GraphSAGE for the rest."""
    if relation[1] == "recommends":
        return sage(relation, sizes, outputs)
    inputs = (sizes[relation[0]], sizes[relation[2]])
    return GATConv(inputs, outputs, edge_dim=2, add_self_loops=False)


class TwoLayers(nn.Module):
    """Two HeteroConv layers over dictionaries; a kind that nobody sends to keeps its own data."""

    def __init__(
        self,
        relations: tuple[Relation, ...] = THREE,
        layer: Callable[[Relation, dict[str, int], int], nn.Module] = sage,
        widths: dict[str, int] = WIDTHS,
        last: tuple[Relation, ...] | None = None,
    ) -> None:
        super().__init__()
        receivers = {relation[2] for relation in relations}
        hidden = {kind: HIDDEN if kind in receivers else w for kind, w in widths.items()}
        self.first = HeteroConv({r: layer(r, widths, HIDDEN) for r in relations})
        last = relations if last is None else last
        self.second = HeteroConv({r: layer(r, hidden, CLASSES) for r in last})

    def forward(
        self,
        x: dict[str, Tensor],
        ties: dict[Relation, Tensor],
        weights: dict[str, dict[Relation, Tensor]] | None = None,
    ) -> dict[str, Tensor]:
        """Logits of every kind that a tie of the second layer leads to."""
        more = weights or {}
        sent = self.first(x, ties, **more)
        hidden = {kind: torch.relu(sent[kind]) if kind in sent else x[kind] for kind in x}
        answers: dict[str, Tensor] = self.second(hidden, ties, **more)
        return answers


class Flat(nn.Module):
    """The usual cure for dictionaries: a wrapper with one argument per tensor."""

    def __init__(self, inner: nn.Module, relations: tuple[Relation, ...] = THREE) -> None:
        super().__init__()
        self.inner = inner
        self.relations = relations

    def forward(self, x_person: Tensor, x_employer: Tensor, *ties: Tensor) -> Tensor:
        """Logits of people."""
        x = {"person": x_person, "employer": x_employer}
        answers: Tensor = self.inner(x, dict(zip(self.relations, ties, strict=True)))["person"]
        return answers


class EveryKind(Flat):
    """The same with one output per kind."""

    def forward(self, x_person: Tensor, x_employer: Tensor, *ties: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        """Logits of people, then of employers."""
        x = {"person": x_person, "employer": x_employer}
        answers = self.inner(x, dict(zip(self.relations, ties, strict=True)))
        return answers["person"], answers["employer"]


class PersonOf(nn.Module):
    """A network over dictionaries that answers for people only."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: dict[str, Tensor], ties: dict[Relation, Tensor]) -> Tensor:
        """Logits of people."""
        answers: Tensor = self.inner(x, ties)["person"]
        return answers


class SageForAll(nn.Module):
    """A network for one kind, for `to_hetero` to copy for every relation."""

    def __init__(self) -> None:
        super().__init__()
        self.first = SAGEConv((-1, -1), HIDDEN)
        self.second = SAGEConv((-1, -1), CLASSES)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits."""
        answers: Tensor = self.second(torch.relu(self.first(x, edge_index)), edge_index)
        return answers


def build_to_hetero() -> nn.Module:
    """`to_hetero` of GraphSAGE; one pass tells its layers how wide they are."""
    graph = GRAPHS["large"]
    network = to_hetero(SageForAll(), (list(WIDTHS), list(THREE)))
    x = {"person": graph.x_person, "employer": graph.x_employer}
    network(x, {relation: graph.relation(relation) for relation in THREE})
    return Flat(network)


class TypedLinear(nn.Module):
    """One linear layer per kind of node, chosen by `node_type`."""

    def __init__(self, inputs: int, outputs: int, kinds: int = len(WIDTHS)) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(inputs, outputs) for _ in range(kinds))

    def forward(self, x: Tensor, node_type: Tensor) -> Tensor:
        """Every node through the layer of its kind."""
        out = torch.zeros(x.size(0), self.layers[0].out_features)
        for kind, layer in enumerate(self.layers):
            out = out + (node_type == kind).float().unsqueeze(1) * layer(x)
        return out


class Rgcn(nn.Module):
    """RGCN over a homogenised graph: kinds in `node_type`, relations in `edge_type`."""

    def __init__(self) -> None:
        super().__init__()
        self.entry = TypedLinear(WIDEST, HIDDEN)
        self.first = RGCNConv(HIDDEN, HIDDEN, num_relations=len(THREE))
        self.second = RGCNConv(HIDDEN, CLASSES, num_relations=len(THREE))

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_type: Tensor, node_type: Tensor
    ) -> Tensor:
        """Logits of all nodes of all kinds."""
        hidden = self.entry(x, node_type)
        hidden = torch.relu(self.first(hidden, edge_index, edge_type))
        answers: Tensor = self.second(hidden, edge_index, edge_type)
        return answers


class TypedAttention(MessagePassing):  # type: ignore[misc]
    """A layer of a heterogeneous graph transformer over a homogenised graph.

    PyG's own HGTConv takes dictionaries and exports by neither route; this is the same attention
    (keys, queries and values by kind of node; a matrix and a prior by relation) on flat arrays.
    """

    def __init__(self, width: int) -> None:
        super().__init__(aggr="add", node_dim=0)
        self.key, self.query = TypedLinear(width, width), TypedLinear(width, width)
        self.value, self.out = TypedLinear(width, width), TypedLinear(width, width)
        self.by_relation = nn.Parameter(torch.randn(len(THREE), width, width) / width**0.5)
        self.prior = nn.Parameter(torch.ones(len(THREE)))
        self.scale = width**-0.5

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_type: Tensor, node_type: Tensor
    ) -> Tensor:
        """New states, each the old one plus what arrived."""
        key, query = self.key(x, node_type), self.query(x, node_type)
        value = self.value(x, node_type)
        sent = self.propagate(edge_index, key=key, query=query, value=value, edge_type=edge_type)
        answers: Tensor = self.out(torch.nn.functional.gelu(sent), node_type) + x
        return answers

    def message(
        self,
        key_j: Tensor,
        query_i: Tensor,
        value_j: Tensor,
        edge_type: Tensor,
        index: Tensor,
        size_i: int,
    ) -> Tensor:
        """Values weighted by attention over all ties of a node, of whatever relation."""
        turned = torch.bmm(key_j.unsqueeze(1), self.by_relation[edge_type]).squeeze(1)
        score = (turned * query_i).sum(dim=1) * self.prior[edge_type] * self.scale
        return value_j * softmax(score, index, num_nodes=size_i).unsqueeze(1)


class Transformer(nn.Module):
    """Two layers of typed attention, then logits."""

    def __init__(self) -> None:
        super().__init__()
        self.entry = TypedLinear(WIDEST, HIDDEN)
        self.first, self.second = TypedAttention(HIDDEN), TypedAttention(HIDDEN)
        self.exit = nn.Linear(HIDDEN, CLASSES)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_type: Tensor, node_type: Tensor
    ) -> Tensor:
        """Logits of all nodes of all kinds."""
        hidden = self.entry(x, node_type)
        hidden = self.first(hidden, edge_index, edge_type, node_type)
        hidden = self.second(hidden, edge_index, edge_type, node_type)
        answers: Tensor = self.exit(hidden)
        return answers


class CountedDevices(nn.Module):
    """Devices have no data: the network learns one vector for all, and is told how many."""

    RELATIONS = (*THREE, USES, USES_REVERSED)

    def __init__(self) -> None:
        super().__init__()
        self.device = nn.Parameter(torch.randn(1, 3))
        self.inner = TwoLayers(self.RELATIONS, widths=WIDTHS | {"device": 3})

    def forward(
        self, x_person: Tensor, x_employer: Tensor, num_device: Tensor, *ties: Tensor
    ) -> Tensor:
        """Logits of people."""
        x_device = self.device.expand(num_device, -1)
        x = {"person": x_person, "employer": x_employer, "device": x_device}
        answers: Tensor = self.inner(x, dict(zip(self.RELATIONS, ties, strict=True)))["person"]
        return answers


class WithConstants(nn.Module):
    """Two inputs that are no part of the graph: a temperature, and a flag that turns ties off."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Flat(TwoLayers())
        self.alone = nn.Linear(WIDTHS["person"], CLASSES)

    def forward(
        self,
        x_person: Tensor,
        x_employer: Tensor,
        works_at: Tensor,
        works_at_rev: Tensor,
        recommends: Tensor,
        temperature: Tensor,
        use_graph: Tensor,
    ) -> Tensor:
        """Logits of people, divided by the temperature."""
        graph = self.inner(x_person, x_employer, works_at, works_at_rev, recommends)
        answers: Tensor = torch.where(use_graph, graph, self.alone(x_person)) / temperature
        return answers


class WithAttributes(nn.Module):
    """Attributes of jobs, for both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = TwoLayers(layer=attributed)

    def forward(
        self,
        x_person: Tensor,
        x_employer: Tensor,
        works_at: Tensor,
        works_at_rev: Tensor,
        recommends: Tensor,
        attributes: Tensor,
    ) -> Tensor:
        """Logits of people; the reversed ties have the same attributes in the same order."""
        ties = dict(zip(THREE, (works_at, works_at_rev, recommends), strict=True))
        given = {"edge_attr_dict": {WORKS_AT: attributes, WORKS_AT_REVERSED: attributes}}
        x = {"person": x_person, "employer": x_employer}
        answers: Tensor = self.inner(x, ties, given)["person"]
        return answers


class WithWeights(nn.Module):
    """Weights of recommendations, and plain sums."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = TwoLayers(layer=sums)

    def forward(
        self,
        x_person: Tensor,
        x_employer: Tensor,
        works_at: Tensor,
        works_at_rev: Tensor,
        recommends: Tensor,
        weights: Tensor,
    ) -> Tensor:
        """Logits of people."""
        ties = dict(zip(THREE, (works_at, works_at_rev, recommends), strict=True))
        x = {"person": x_person, "employer": x_employer}
        given = {"edge_weight_dict": {RECOMMENDS: weights}}
        answers: Tensor = self.inner(x, ties, given)["person"]
        return answers
