"""The graphs that the exports of several kinds are made and tested with, and their forms as inputs.

Two graphs of different sizes, six with no or one tie or node, and one function per form in which
the files take a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

WIDTHS = {"person": 4, "employer": 3}
WIDEST = max(WIDTHS.values())

WORKS_AT = ("person", "works_at", "employer")
WORKS_AT_REVERSED = ("employer", "rev_works_at", "person")
RECOMMENDS = ("person", "recommends", "person")
USES = ("person", "uses", "device")
USES_REVERSED = ("device", "rev_uses", "person")
EMPLOYS = ("employer", "employs", "person")
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
