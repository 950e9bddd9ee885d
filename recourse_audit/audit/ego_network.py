"""Who is near a subject, and what the model decides on them: everything a picture needs.

These are the nodes within the hops that explanations may reach, nearest first, as many as can be
drawn, with every tie between them.
"""

from collections.abc import Sequence

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Indices, Ints
from recourse_audit.graph.neighbourhoods import neighbourhood, spans
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.queries import whole
from recourse_audit.records.search import SearchResult
from recourse_audit.records.subject import EgoNetwork, EgoNode, EgoTie

MOST_SHOWN = 60


class EgoNetworks:
    """The ego networks of subjects of one graph."""

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        answers: Floats,
        decisions: Decisions,
        hops: int,
        *,
        complete: bool,
    ) -> None:
        """`answers` are those on the whole graph.

        If they are not `complete`, nodes without an answer are asked about when they are shown.
        """
        self._graph = graph
        self._batcher = batcher
        self._answers = answers
        self._decisions = decisions
        self._hops = hops
        self._complete = complete

    def of(self, subject: int, search: SearchResult | None) -> EgoNetwork | None:
        """The ego network of a subject; None without ties. Walks the neighbourhood once."""
        if not self._graph.degree(subject):
            return None
        near = neighbourhood(self._graph, np.array([subject]), self._hops)
        nearest = np.argsort(near.hops, kind="stable")
        chosen = np.sort(nearest[:MOST_SHOWN])
        missing = self._missing(near.nodes[chosen], search)
        if len(missing):
            chosen = _with_all(nearest, np.searchsorted(near.nodes, missing))
        nodes, hops = near.nodes[chosen], near.hops[chosen]
        neighbours = self._neighbours(nodes, hops.tolist())
        ties = self._ties(nodes)
        order = np.argsort(hops, kind="stable").tolist()
        return EgoNetwork(
            nodes=tuple(neighbours[place] for place in order),
            ties=ties,
            shown=len(neighbours),
            total=len(near.nodes),
            hops=self._hops,
            limit=MOST_SHOWN,
        )

    def _missing(self, nodes: Indices, search: SearchResult | None) -> Ints:
        """All nodes of the counterfactuals, if any of them is missing from `nodes`."""
        trees = () if search is None else search.numbers
        wanted = {node for tree in trees for node in tree.nodes}
        return np.array([] if wanted <= set(nodes.tolist()) else sorted(wanted), np.int64)

    def _neighbours(self, nodes: Indices, hops: Sequence[int]) -> list[EgoNode]:
        """What the model decides on some nodes, given in ascending order."""
        answers = self._answers[nodes]
        if not self._complete:
            unknown = np.flatnonzero(np.isnan(answers).any(axis=1))
            rows = nodes[unknown].astype(np.int64)
            answers[unknown] = self._batcher.ask(whole(self._graph), rows)
        names = self._decisions.names_of(answers, nodes)
        favourable: list[bool] = self._decisions.favourable(answers, nodes).tolist()
        people = zip(self._graph.ids[nodes].tolist(), hops, names, favourable, strict=True)
        return [
            EgoNode(id=name, hops=hop, decision=decision, favourable=good)
            for name, hop, decision, good in people
        ]

    def _ties(self, nodes: Indices) -> tuple[EgoTie, ...]:
        """The ties among some nodes, one entry per kind between two of them, in canonical order.

        Looks every other node up in each one's neighbours, so that a hub costs a few steps.
        """
        graph, found = self._graph, []
        for place, node in enumerate(nodes.tolist()):
            later, own = nodes[place + 1 :], graph.neighbours(node)
            position = own.searchsorted(later)
            there = position < len(own)
            there[there] = own[position[there]] == later[there]
            found.append(graph.neighbour_pair[graph.starts[node] + position[there]])
        return self._kinds(np.concatenate(found))

    def _kinds(self, pairs: Indices) -> tuple[EgoTie, ...]:
        """What ties there are between the people of each pair."""
        graph = self._graph
        arcs, owner = spans(graph.pair_starts, pairs)
        ties = np.unique(np.stack((owner, graph.arc_tie[arcs])), axis=1)  # one has two arcs
        of_kind = np.stack((ties[0], graph.ties.kind[ties[1]]))
        (place, kind), counts = np.unique(of_kind, axis=1, return_counts=True)
        low, high = (graph.ids[ends[pairs]].tolist() for ends in (graph.pair_low, graph.pair_high))
        return tuple(
            EgoTie(ends=(str(low[at]), str(high[at])), kind=graph.ties.kinds[number], count=count)
            for at, number, count in zip(
                place.tolist(), kind.tolist(), counts.tolist(), strict=True
            )
        )


def _with_all(nearest: Ints, wanted: Ints) -> Ints:
    """The wanted places and the nearest others, as many as are shown, in ascending order."""
    others = nearest[~np.isin(nearest, wanted)]
    return np.sort(np.concatenate((wanted, others[: max(MOST_SHOWN - len(wanted), 0)])))
