"""Two networks over people, employers and schools, with standardisation as a layer per kind.

`Hetero` takes features per kind and ties per relation and direction, and answers for people.
`Rgcn` takes one table of all nodes, with kinds and relations as numbers, and answers for all of
them. Both have two layers, so only nodes within two ties affect a decision.
"""

from __future__ import annotations

import torch
from hiring_data import EDGE_TYPES, WIDEST
from make_hiring import FEATURES, RELATIONS
from networks import CLASSES, HIDDEN, Standardise
from torch import Tensor, nn
from torch_geometric.nn import HeteroConv, RGCNConv, SAGEConv  # type: ignore[import-untyped]

Relation = tuple[str, str, str]
KINDS = tuple(FEATURES)


def typed(relation: str, *, reversed_ties: bool) -> Relation:
    """A relation as PyG writes it: the sender's kind, the name, the receiver's kind."""
    source, target = RELATIONS[relation]
    return (target, f"rev_{relation}", source) if reversed_ties else (source, relation, target)


TYPED = tuple(typed(relation, reversed_ties=way) for relation, way in EDGE_TYPES)
# Nothing that the second layer sends to employers and schools is ever read.
TO_PEOPLE = tuple(relation for relation in TYPED if relation[2] == "person")


class Hetero(nn.Module):
    """Two HeteroConv layers of GraphSAGE, in a wrapper with one argument per tensor."""

    def __init__(self, tables: dict[str, Tensor]) -> None:
        super().__init__()
        self.standardise = nn.ModuleDict({k: Standardise(table) for k, table in tables.items()})
        width = {kind: table.size(1) for kind, table in tables.items()}
        self.first = HeteroConv(
            {r: SAGEConv((width[r[0]], width[r[2]]), HIDDEN) for r in TYPED}, aggr="sum"
        )
        self.second = HeteroConv(
            {r: SAGEConv((HIDDEN, HIDDEN), CLASSES) for r in TO_PEOPLE}, aggr="sum"
        )
        self.dropout = nn.Dropout(0.2)

    def forward(
        self,
        x_person: Tensor,
        x_employer: Tensor,
        x_school: Tensor,
        edge_index_works_at: Tensor,
        edge_index_works_at_rev: Tensor,
        edge_index_studied_at: Tensor,
        edge_index_studied_at_rev: Tensor,
        edge_index_recommends: Tensor,
    ) -> Tensor:
        """Logits of people [P, 2]."""
        tables = dict(zip(KINDS, (x_person, x_employer, x_school), strict=True))
        given = (
            edge_index_works_at,
            edge_index_works_at_rev,
            edge_index_studied_at,
            edge_index_studied_at_rev,
            edge_index_recommends,
        )
        arcs = dict(zip(TYPED, given, strict=True))
        states = {kind: self.standardise[kind](table) for kind, table in tables.items()}
        hidden = self.first(states, arcs)
        hidden = {kind: self.dropout(torch.relu(state)) for kind, state in hidden.items()}
        last = {relation: arcs[relation] for relation in TO_PEOPLE}
        logits: Tensor = self.second(hidden, last)["person"]
        return logits


class Rgcn(nn.Module):
    """Two RGCN layers over a homogenised graph; each kind enters through a layer of its own."""

    def __init__(self, tables: dict[str, Tensor]) -> None:
        super().__init__()
        padded = {
            kind: nn.functional.pad(table, (0, WIDEST - table.size(1)))
            for kind, table in tables.items()
        }
        self.standardise = nn.ModuleList(Standardise(padded[kind]) for kind in KINDS)
        self.entry = nn.ModuleList(nn.Linear(WIDEST, HIDDEN) for _ in KINDS)
        self.first = RGCNConv(HIDDEN, HIDDEN, num_relations=len(TYPED))
        self.second = RGCNConv(HIDDEN, CLASSES, num_relations=len(TYPED))
        self.dropout = nn.Dropout(0.2)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_type: Tensor, node_type: Tensor
    ) -> Tensor:
        """Logits of all nodes [N, 2], of which only those of people mean anything."""
        parts = zip(self.standardise, self.entry, strict=True)
        entered = [
            (node_type == kind).float().unsqueeze(1) * entry(standardise(x))
            for kind, (standardise, entry) in enumerate(parts)
        ]
        hidden = torch.relu(torch.stack(entered).sum(dim=0))
        hidden = self.dropout(torch.relu(self.first(hidden, edge_index, edge_type)))
        logits: Tensor = self.second(hidden, edge_index, edge_type)
        return logits
