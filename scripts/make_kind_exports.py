"""Makes the ONNX files of several kinds of nodes that the tests ask, as PyG's users make theirs.

Input: only the seed below. Output: `tests/files/kinds/`: one ONNX file per way of exporting, one
`.npz` beside each with two graphs of different sizes as the file takes them and torch's answers
to them, the two graphs themselves, and `files.json` with the roles of all inputs. Run it with
torch 2.13.0, torch_geometric 2.8.1, onnx, onnxscript and onnxruntime; the tests need none of them.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GraphConv,
    HeteroConv,
    HGTConv,
    MessagePassing,
    RGCNConv,
    SAGEConv,
    to_hetero,
)
from torch_geometric.utils import softmax

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "sample_models"))
from export import OPSET, forget_sources, number_names  # noqa: E402

SEED = 11
HIDDEN = 8
CLASSES = 2
WIDTHS = {"person": 4, "employer": 3}
WIDEST = max(WIDTHS.values())
TOLERANCE = 1e-5

WORKS_AT = ("person", "works_at", "employer")
WORKS_AT_REVERSED = ("employer", "rev_works_at", "person")
RECOMMENDS = ("person", "recommends", "person")
USES = ("person", "uses", "device")
USES_REVERSED = ("device", "rev_uses", "person")
THREE = (WORKS_AT, WORKS_AT_REVERSED, RECOMMENDS)
Relation = tuple[str, str, str]
Named = dict[str, Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """People, employers and devices; relations as [2, ties], with numbers local to each kind."""

    x_person: Tensor
    x_employer: Tensor
    devices: int
    works_at: Tensor
    recommends: Tensor
    uses: Tensor
    works_at_attributes: Tensor
    recommends_weight: Tensor

    def relation(self, relation: Relation) -> Tensor:
        """The ties of a relation; a reversed one has its rows swapped."""
        name = relation[1].removeprefix("rev_")
        ties: Tensor = getattr(self, name)
        return ties.flip(0) if relation[1].startswith("rev_") else ties


def draw_graph(
    seed: int, *, people: int, employers: int, devices: int, jobs: int, recommendations: int
) -> Graph:
    """A random graph; the last person and the last employer have no tie if there are several."""
    random = torch.Generator().manual_seed(seed)

    def ends(count: int, most: int) -> Tensor:
        return torch.randint(0, max(most, 1), (count,), generator=random)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random)

    works_at = torch.stack([ends(jobs, people - 1), ends(jobs, employers - 1)])
    if jobs > 2:
        works_at[:, 1] = works_at[:, 0]  # one person has two ties to the same employer
    first = ends(recommendations, people - 1)
    step = 1 + ends(recommendations, people - 2)
    recommends = torch.stack([first, (first + step) % max(people - 1, 1)])
    used = 0 if devices == 0 else people
    return Graph(
        x_person=numbers(people, WIDTHS["person"]),
        x_employer=numbers(employers, WIDTHS["employer"]),
        devices=devices,
        works_at=works_at,
        recommends=recommends,
        uses=torch.stack([ends(used, people - 1), ends(used, devices)]),
        works_at_attributes=numbers(jobs, 2),
        recommends_weight=torch.rand(recommendations, generator=random),
    )


GRAPHS = {
    "small": draw_graph(1, people=7, employers=3, devices=2, jobs=8, recommendations=9),
    "large": draw_graph(2, people=23, employers=6, devices=5, jobs=27, recommendations=40),
}
# Sizes that a search meets: what a file does with them is measured and written down.
EDGE_CASES = {
    "no recommendation": draw_graph(3, people=5, employers=2, devices=2, jobs=4, recommendations=0),
    "one recommendation": draw_graph(
        3, people=5, employers=2, devices=2, jobs=4, recommendations=1
    ),
    "no job": draw_graph(4, people=5, employers=2, devices=2, jobs=0, recommendations=4),
    "one employer": draw_graph(5, people=5, employers=1, devices=1, jobs=4, recommendations=4),
    "no employer": draw_graph(6, people=5, employers=0, devices=0, jobs=0, recommendations=4),
    "one person alone": draw_graph(7, people=1, employers=0, devices=0, jobs=0, recommendations=0),
}


# ---------------------------------------------------------------- networks


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


# ---------------------------------------------------------------- inputs


EMPLOYS = ("employer", "employs", "person")


def features(graph: Graph) -> Named:
    """The data of people and employers, one input per kind."""
    return {"x_person": graph.x_person, "x_employer": graph.x_employer}


def three_relations(graph: Graph) -> Named:
    """Jobs both ways as two inputs, recommendations as they are."""
    return {
        **features(graph),
        "edge_index_works_at": graph.works_at,
        "edge_index_works_at_rev": graph.works_at.flip(0),
        "edge_index_recommends": graph.recommends,
    }


def renamed(*names: str) -> Callable[[Graph], Named]:
    """The same five tensors under other names."""
    return lambda graph: dict(zip(names, three_relations(graph).values(), strict=True))


def employs_only(graph: Graph) -> Named:
    """Jobs from employer to person, and no input for the other direction."""
    return {
        **features(graph),
        "edge_index_employs": graph.works_at.flip(0),
        "edge_index_recommends": graph.recommends,
    }


def works_at_only(graph: Graph) -> Named:
    """Jobs from person to employer only: nothing about an employer reaches a person."""
    return {
        **features(graph),
        "edge_index_works_at": graph.works_at,
        "edge_index_recommends": graph.recommends,
    }


def counted_devices(graph: Graph) -> Named:
    """Devices as a count, with their relation both ways."""
    given = three_relations(graph)
    return {
        "x_person": given.pop("x_person"),
        "x_employer": given.pop("x_employer"),
        "num_device": torch.tensor(graph.devices),
        **given,
        "edge_index_uses": graph.uses,
        "edge_index_uses_rev": graph.uses.flip(0),
    }


def constants(graph: Graph) -> Named:
    """The three relations, a temperature and a flag."""
    given = {"temperature": torch.tensor(1.5), "use_graph": torch.tensor(True)}
    return three_relations(graph) | given


def job_attributes(graph: Graph) -> Named:
    """The three relations, and two attributes per job."""
    return three_relations(graph) | {"edge_attr_works_at": graph.works_at_attributes}


def recommendation_weights(graph: Graph) -> Named:
    """The three relations, and one weight per recommendation."""
    return three_relations(graph) | {"edge_weight_recommends": graph.recommends_weight}


def homogenised(graph: Graph) -> Named:
    """One numbering, people first; features padded with zeros; kinds and relations as numbers."""
    people, employers = graph.x_person.size(0), graph.x_employer.size(0)
    padded = nn.functional.pad(graph.x_employer, (0, WIDEST - WIDTHS["employer"]))
    jobs = graph.works_at + torch.tensor([[0], [people]])
    ties = (jobs, jobs.flip(0), graph.recommends)
    counts = torch.tensor([part.size(1) for part in ties])
    return {
        "x": torch.cat([graph.x_person, padded]),
        "edge_index": torch.cat(ties, dim=1),
        "edge_type": torch.arange(len(ties)).repeat_interleave(counts),
        "node_type": torch.arange(2).repeat_interleave(torch.tensor([people, employers])),
    }


def dictionaries(graph: Graph) -> tuple[dict[str, Tensor], dict[Relation, Tensor]]:
    """What a network over dictionaries takes."""
    x = {"person": graph.x_person, "employer": graph.x_employer}
    return x, {relation: graph.relation(relation) for relation in THREE}


# ---------------------------------------------------------------- recipes

FLAT_ROLES = {
    "x_person": "features:person",
    "x_employer": "features:employer",
    "edge_index_works_at": "edges:works_at",
    "edge_index_works_at_rev": "edges:works_at:reversed",
    "edge_index_recommends": "edges:recommends",
}
HOMOGENISED_ROLES = {
    "x": "features",
    "edge_index": "edges",
    "edge_type": "edge_type",
    "node_type": "node_type",
}
RELATIONS = {"works_at": ("person", "employer"), "recommends": ("person", "person")}
MANGLED = ("_x_0.1", "_x_1.1", "edge_index.1", "edge_index.3", "edge_index")
MISNAMED = ("x_dict", "edge_index_dict", "edge_index.1", "edge_index.3", "edge_index")


def roles_of(*names: str) -> dict[str, str]:
    """The five roles of a flat wrapper under other names."""
    return dict(zip(names, FLAT_ROLES.values(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One file: its network, its inputs, how it is exported and what the tests must know."""

    name: str
    about: str
    network: Callable[[], nn.Module]
    inputs: Callable[[Graph], Named] = three_relations
    roles: dict[str, str] = field(default_factory=lambda: FLAT_ROLES)
    outputs: dict[str, str] = field(default_factory=lambda: {"logits": "person"})
    relations: dict[str, tuple[str, str]] = field(default_factory=lambda: RELATIONS)
    route: str = "torchscript"
    traced: Graph = GRAPHS["large"]
    more: dict[str, object] = field(default_factory=dict)


HOMOGENISED = {
    "inputs": homogenised,
    "roles": HOMOGENISED_ROLES,
    "outputs": {"logits": "*"},
    "more": {
        "node_types": ["person", "employer"],
        "edge_types": ["works_at", "works_at:reversed", "recommends"],
    },
}
TRACED_SMALL = draw_graph(8, people=5, employers=1, devices=1, jobs=3, recommendations=0)

RECIPES = (
    Recipe(
        name="flat",
        about="A flat wrapper round two HeteroConv layers of SAGEConv.",
        network=lambda: Flat(TwoLayers()),
    ),
    Recipe(
        name="flat_dynamo",
        about="The same by the newer exporter.",
        network=lambda: Flat(TwoLayers()),
        route="dynamo",
    ),
    Recipe(
        name="to_hetero",
        about="A one-kind GraphSAGE made heterogeneous by `to_hetero`, in a flat wrapper.",
        network=build_to_hetero,
    ),
    Recipe(
        name="to_hetero_dynamo",
        about="The same by the newer exporter.",
        network=build_to_hetero,
        route="dynamo",
    ),
    Recipe(
        name="rgcn",
        about="RGCNConv over a homogenised graph, answering for all nodes of all kinds.",
        network=Rgcn,
        **HOMOGENISED,  # type: ignore[arg-type]
    ),
    Recipe(
        name="hgt",
        about="Attention by kind and relation (HGT) over a homogenised graph.",
        network=Transformer,
        **HOMOGENISED,  # type: ignore[arg-type]
    ),
    Recipe(
        name="mangled",
        about="HeteroConv given dictionaries and no names: the exporter makes the names up.",
        network=lambda: PersonOf(TwoLayers()),
        inputs=renamed(*MANGLED),
        roles=roles_of(*MANGLED),
        route="dictionaries",
    ),
    Recipe(
        name="misnamed",
        about="The same given one name per dictionary: they go to the first two tensors, so that "
        "`edge_index_dict` is the employers' features.",
        network=lambda: PersonOf(TwoLayers()),
        inputs=renamed(*MISNAMED),
        roles=roles_of(*MISNAMED),
        route="dictionaries",
    ),
    Recipe(
        name="no_reverse",
        about="Jobs from employer to person only, under the relation's other name: employers "
        "reach people, and nothing reaches an employer.",
        network=lambda: Flat(TwoLayers((EMPLOYS, RECOMMENDS)), relations=(EMPLOYS, RECOMMENDS)),
        inputs=employs_only,
        roles={
            "x_person": "features:person",
            "x_employer": "features:employer",
            "edge_index_employs": "edges:employs",
            "edge_index_recommends": "edges:recommends",
        },
        relations={"employs": ("employer", "person"), "recommends": ("person", "person")},
    ),
    Recipe(
        name="dead_end",
        about="Jobs from person to employer only, with one output per kind: nothing about an "
        "employer ever reaches a person.",
        network=lambda: EveryKind(
            TwoLayers((WORKS_AT, RECOMMENDS)), relations=(WORKS_AT, RECOMMENDS)
        ),
        inputs=works_at_only,
        roles={
            name: role for name, role in FLAT_ROLES.items() if name != "edge_index_works_at_rev"
        },
        outputs={"out_person": "person", "out_employer": "employer"},
    ),
    Recipe(
        name="every_kind",
        about="One output per kind.",
        network=lambda: EveryKind(TwoLayers()),
        outputs={"out_person": "person", "out_employer": "employer"},
    ),
    Recipe(
        name="counted",
        about="Devices have no features; the only input of their kind is their number.",
        network=CountedDevices,
        inputs=counted_devices,
        roles=FLAT_ROLES
        | {
            "num_device": "node_count:device",
            "edge_index_uses": "edges:uses",
            "edge_index_uses_rev": "edges:uses:reversed",
        },
        relations=RELATIONS | {"uses": ("person", "device")},
    ),
    Recipe(
        name="constants",
        about="Two inputs that are no part of the graph.",
        network=WithConstants,
        inputs=constants,
        roles=FLAT_ROLES | {"temperature": "constant", "use_graph": "constant"},
        more={"constants": {"temperature": 1.5, "use_graph": True}},
    ),
    Recipe(
        name="attributes",
        about="Attention over two attributes per job; one input serves both directions.",
        network=WithAttributes,
        inputs=job_attributes,
        roles=FLAT_ROLES | {"edge_attr_works_at": "edge_attributes:works_at"},
    ),
    Recipe(
        name="weights",
        about="Plain sums, with one weight per recommendation.",
        network=WithWeights,
        inputs=recommendation_weights,
        roles=FLAT_ROLES | {"edge_weight_recommends": "edge_weight:recommends"},
    ),
    Recipe(
        name="gat",
        about="GATConv for every relation.",
        network=lambda: Flat(TwoLayers(layer=attention)),
    ),
    Recipe(
        name="gcn",
        about="GCNConv over recommendations, which weighs a message by the degrees of both ends; "
        "SAGEConv over jobs.",
        network=lambda: Flat(TwoLayers(layer=convolution_of_equals)),
    ),
    Recipe(
        name="traced_small",
        about="`flat`, traced with one employer and no recommendation; it came out well.",
        network=lambda: Flat(TwoLayers()),
        traced=TRACED_SMALL,
    ),
    Recipe(
        name="traced_wrong",
        about="`gat`, traced with one employer and no recommendation: GATConv leaves early where "
        "there is no tie, so the file never normalises the attention over recommendations.",
        network=lambda: Flat(TwoLayers(layer=attention)),
        traced=TRACED_SMALL,
    ),
)
# Other routes, tried and printed: what works is in `RECIPES` by another route already.
OTHER_ROUTES = (
    Recipe(
        name="HGTConv in a flat wrapper",
        about="",
        network=lambda: Flat(HGTConv(WIDTHS, HIDDEN, (list(WIDTHS), list(THREE)), heads=2)),
    ),
    Recipe(
        name="HGTConv in a flat wrapper",
        about="",
        network=lambda: Flat(HGTConv(WIDTHS, HIDDEN, (list(WIDTHS), list(THREE)), heads=2)),
        route="dynamo",
    ),
    Recipe(
        name="HeteroConv given dictionaries",
        about="",
        network=lambda: PersonOf(TwoLayers()),
        route="dictionaries, dynamo",
    ),
    Recipe(
        name="counted", about="", network=CountedDevices, inputs=counted_devices, route="dynamo"
    ),
    Recipe(
        name="RGCNConv, homogenised", about="", network=Rgcn, inputs=homogenised, route="dynamo"
    ),
    Recipe(
        name="GATConv in a flat wrapper",
        about="",
        network=lambda: Flat(TwoLayers(layer=attention)),
        route="dynamo",
    ),
)


# ---------------------------------------------------------------- export


def free_axis(name: str, value: Tensor) -> dict[int, str]:
    """The axis of an input that grows with the graph: ties are [2, E], all else has rows."""
    if value.dim() == 0:
        return {}
    axis = 1 if value.dim() == 2 and value.dtype == torch.int64 else 0
    return {axis: f"n_{name}"}


def export(recipe: Recipe, network: nn.Module, path: Path) -> None:
    """Write one file by the recipe's route."""
    given = recipe.inputs(recipe.traced)
    shared = {
        "f": path,
        "output_names": list(recipe.outputs),
        "opset_version": OPSET,
        "dynamo": recipe.route.endswith("dynamo"),
    }
    axes = {name: free_axis(name, value) for name, value in given.items()}
    if recipe.route == "dictionaries":
        # An empty dictionary last: without it the exporter takes the second for keyword arguments.
        # The names are what the exporter makes up if given none (`MANGLED`) or two (`MISNAMED`);
        # they are spelt out because it frees the sizes of inputs only if it is told their names.
        arguments = (*dictionaries(recipe.traced), {})
        check_names(recipe, network, arguments, path)
        torch.onnx.export(network, arguments, input_names=list(axes), dynamic_axes=axes, **shared)
    elif recipe.route == "dictionaries, dynamo":
        torch.onnx.export(network, dictionaries(recipe.traced), **shared)
    elif recipe.route == "torchscript":
        torch.onnx.export(
            network, tuple(given.values()), input_names=list(given), dynamic_axes=axes, **shared
        )
    else:
        auto = torch.export.Dim.AUTO
        shapes = [dict.fromkeys(axis, auto) for axis in axes.values()]
        torch.onnx.export(
            network,
            tuple(given.values()),
            input_names=list(given),
            dynamic_shapes=group_rest(recipe, shapes),
            external_data=False,
            verbose=False,
            **shared,
        )
    forget_sources(path)
    number_names(path)


def check_names(
    recipe: Recipe, network: nn.Module, arguments: tuple[object, ...], path: Path
) -> None:
    """Stop if the exporter does not make up the names that the recipe has."""
    names = [] if recipe.roles.keys() == set(MANGLED) else list(MISNAMED[:2])
    torch.onnx.export(
        network, arguments, path, input_names=names, opset_version=OPSET, dynamo=False
    )
    made = [port.name for port in onnx.load(path).graph.input]
    if made != list(recipe.roles):
        raise SystemExit(f"{recipe.name}: the exporter calls the inputs {made}")


def group_rest(recipe: Recipe, shapes: list[dict[int, object]]) -> tuple[object, ...]:
    """Shapes in the structure of the arguments: those of `*ties` are one tuple."""
    network = recipe.network
    if recipe.inputs is homogenised:
        return tuple(shapes)
    features_given = 3 if network is CountedDevices else 2
    return (*shapes[:features_given], tuple(shapes[features_given:]))


def answers_of(network: nn.Module, recipe: Recipe, graph: Graph) -> list[Tensor]:
    """Torch's answers, one tensor per output."""
    given = recipe.inputs(graph)
    with torch.no_grad():
        if recipe.route == "dictionaries":
            answers = network(*dictionaries(graph))
        else:
            answers = network(*given.values())
    return list(answers) if isinstance(answers, tuple) else [answers]


def differs(
    session: onnxruntime.InferenceSession, network: nn.Module, recipe: Recipe, graph: Graph
) -> str:
    """What is wrong with a file's answer to a graph, or an empty text."""
    feed = {name: value.numpy() for name, value in recipe.inputs(graph).items()}
    try:
        got = session.run(list(recipe.outputs), feed)
    except Exception as error:
        return short(error)
    for answer, wanted in zip(got, answers_of(network, recipe, graph), strict=True):
        if answer.shape != tuple(wanted.shape):
            return f"shape {answer.shape} where torch has {tuple(wanted.shape)}"
        if answer.size and float(np.abs(answer - wanted.numpy()).max()) > TOLERANCE:
            return f"differs by {float(np.abs(answer - wanted.numpy()).max()):.2g}"
    return ""


def short(error: BaseException) -> str:
    """The innermost message of an error, on one line without codes for colour."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}"


def write_graphs(folder: Path) -> None:
    """The two graphs with keys per kind and relation, whatever form the files take them in."""
    for name, graph in GRAPHS.items():
        arrays = {
            "x_person": graph.x_person,
            "x_employer": graph.x_employer,
            "x_device": torch.zeros(graph.devices, 0),
            "edge_index_works_at": graph.works_at,
            "edge_index_recommends": graph.recommends,
            "edge_index_uses": graph.uses,
            "edge_attr_works_at": graph.works_at_attributes,
            "edge_weight_recommends": graph.recommends_weight,
        }
        arrays = {key: value.numpy() for key, value in arrays.items()}
        np.savez(folder / f"graph_{name}.npz", **arrays)


def make(recipe: Recipe, folder: Path) -> dict[str, object]:
    """Export one file, keep torch's answers beside it, and measure what it does with odd sizes."""
    torch.manual_seed(SEED)
    network = recipe.network().eval()
    path = folder / f"{recipe.name}.onnx"
    export(recipe, network, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]
    if names != list(recipe.inputs(recipe.traced)):
        raise SystemExit(f"{recipe.name}: the inputs are called {names}")
    arrays = {}
    for title, graph in GRAPHS.items():
        arrays |= {f"{title}/in/{k}": v.numpy() for k, v in recipe.inputs(graph).items()}
        answers = answers_of(network, recipe, graph)
        for name, answer in zip(recipe.outputs, answers, strict=True):
            arrays[f"{title}/out/{name}"] = answer.numpy()
    np.savez(folder / f"{recipe.name}.npz", **arrays)
    trouble = {
        title: problem
        for title, graph in (GRAPHS | EDGE_CASES).items()
        if (problem := differs(session, network, recipe, graph))
    }
    if trouble.keys() & GRAPHS.keys() and recipe.name != "traced_wrong":
        raise SystemExit(f"{recipe.name}: {trouble}")
    shapes = {port.name: f"{port.type} {port.shape}" for port in session.get_inputs()}
    print(f"{recipe.name:<20} {path.stat().st_size:>6} bytes", trouble or "")
    return {
        "about": recipe.about,
        "route": recipe.route,
        "inputs": shapes,
        "roles": recipe.roles,
        "outputs": recipe.outputs,
        "relations": recipe.relations,
        **recipe.more,
        "trouble": trouble,
    }


def try_route(recipe: Recipe, folder: Path) -> str:
    """What the exporter says on this route, or that it works."""
    torch.manual_seed(SEED)
    path = folder / "route.onnx"
    try:
        export(recipe, recipe.network().eval(), path)
    except Exception as error:
        return short(error)
    finally:
        path.unlink(missing_ok=True)
    return "works"


def main() -> None:
    """Make every file, and print how the other routes fare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=ROOT / "tests" / "files" / "kinds")
    parser.add_argument("--only", nargs="*", default=[recipe.name for recipe in RECIPES])
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    options.into.mkdir(parents=True, exist_ok=True)
    write_graphs(options.into)
    files = {r.name: make(r, options.into) for r in RECIPES if r.name in options.only}
    text = json.dumps(files, indent=2, ensure_ascii=False)
    (options.into / "files.json").write_text(text + "\n", encoding="utf-8")
    for recipe in OTHER_ROUTES:
        print(f"{recipe.name}, {recipe.route}: {try_route(recipe, options.into)}")


if __name__ == "__main__":
    main()
