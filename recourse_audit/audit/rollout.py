"""What a model computes on an explanation as a graph of variables, and what confounds a removal.

Vocabulary
----------
variable     h_j^(l), what layer l of the model computes for node j; layer 0 is j's own features.
roll-out     every variable of an explanation over the model's depth L, with an arc from
             h_j^(l-1) to h_k^(l) wherever a message goes from j to k, and for j = k.
treatment    h_d^(0) of the nodes d that a counterfactual removes.
outcome      h_i^(L) of the subject i.
mediator     a variable on a directed path from treatment to outcome, other than these two.
confounder   a variable, neither treated nor reached from the treatment, that reaches a mediator,
             and reaches the outcome also by a directed path that avoids every mediator.

This is section IV-B of the paper. If h_j^(l) is a confounder then so is h_j^(0): self-arcs lead
from the one to the other, and none of these variables is reached from the treatment. So redrawing
the features of the confounding nodes adjusts for all confounders.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import networkx as nx

Variable = tuple[int, int]
Arc = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollOut:
    """The variables of an explanation, each a node and a layer, and the roles of some of them."""

    graph: "nx.DiGraph[Variable]"
    treatment: frozenset[Variable]
    outcome: Variable
    mediators: frozenset[Variable]
    confounders: frozenset[Variable]

    @property
    def confounding_nodes(self) -> tuple[int, ...]:
        """The nodes whose variables confound, ascending."""
        return tuple(sorted({node for node, _ in self.confounders}))


def roll_out(
    arcs: Iterable[Arc], nodes: Iterable[int], *, subject: int, removed: Iterable[int], depth: int
) -> RollOut:
    """Unfold an explanation over `depth` layers, and find mediators and confounders of a removal.

    `arcs` are the ways messages go, both ways for an undirected tie. Costs O(depth · arcs) for each
    variable. At depth 0 nothing reaches anything, so there is neither mediator nor confounder.
    """
    graph: nx.DiGraph[Variable] = nx.DiGraph()
    every = tuple(nodes)
    steps = [*arcs, *((node, node) for node in every)]
    graph.add_nodes_from((node, 0) for node in every)
    for layer in range(1, depth + 1):
        graph.add_edges_from(((j, layer - 1), (k, layer)) for j, k in steps)
    outcome = (subject, depth)
    treatment = frozenset((node, 0) for node in removed)
    reached = set().union(*(nx.descendants(graph, variable) for variable in treatment))
    leading = nx.ancestors(graph, outcome)
    mediators = frozenset((reached & leading) - treatment)
    to_mediators = set().union(*(nx.ancestors(graph, mediator) for mediator in mediators))
    around = nx.ancestors(graph.subgraph(graph.nodes - mediators), outcome)
    return RollOut(
        graph=graph,
        treatment=treatment,
        outcome=outcome,
        mediators=mediators,
        confounders=frozenset((to_mediators & around) - reached - treatment),
    )


@lru_cache(maxsize=4096)
def confounding_places(
    arcs: tuple[Arc, ...], size: int, subject: int, removed: tuple[int, ...], depth: int
) -> tuple[int, ...]:
    """The places of confounding nodes in an explanation whose nodes are numbered from 0.

    Explanations come in few shapes, so nearly every answer is cached.
    """
    rolled = roll_out(arcs, range(size), subject=subject, removed=removed, depth=depth)
    return rolled.confounding_nodes
