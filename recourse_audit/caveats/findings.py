"""Adds the caveats to every counterfactual of a subject."""

import numpy as np

from recourse_audit.caveats.effects import Effects, Removal
from recourse_audit.caveats.wording import confounder_caveat, general_caveats
from recourse_audit.graph.arrays import Graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.records.caveats import Caveat
from recourse_audit.records.search import Counterfactual, SearchResult, Tie
from recourse_audit.settings import CaveatSettings


class Caveats:
    """Finds the caveats of counterfactuals, for one graph and one model."""

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        depth: int | None,
        settings: CaveatSettings,
        seed: int,
    ) -> None:
        self._graph = graph
        self._effects = None if depth is None else Effects(graph, batcher, depth, settings, seed)
        self._general = general_caveats(depth_known=depth is not None)

    def on(
        self, search: SearchResult, classes: tuple[str, ...], decision: int
    ) -> tuple[Caveat, ...]:
        """The general caveats, then one for each counterfactual that has confounders.

        There are none where removing ties changes nothing, since there is no effect then.
        """
        shown = search.counterfactuals
        if not shown or search.moves_nothing:
            return ()
        if self._effects is None:
            return self._general
        caveats = list(self._general)
        finder = TieFinder(self._graph, search.subject)
        removals = [finder.removal(one, decision) for one in shown]
        measured = self._effects.measure(removals)
        for number, (one, (nodes, effect)) in enumerate(zip(shown, measured, strict=True), start=1):
            if len(nodes):
                names = tuple(self._graph.ids[nodes].tolist())
                caveats.append(confounder_caveat(number, one, classes[decision], names, effect))
        return tuple(caveats)


class TieFinder:
    """Finds the ties of explanations in the graph again, walking from the subject by ids."""

    def __init__(self, graph: Graph, subject: int) -> None:
        self._graph = graph
        self._subject = subject
        self._numbers = {str(graph.ids[subject]): subject}
        self._near: dict[int, dict[str, int]] = {}

    def removal(self, shown: Counterfactual, decision: int) -> Removal:
        """The explanation, and what is kept of it, by numbers."""
        pairs = self._pairs(shown.explanation.edges)
        nodes = [self._numbers[name] for name in shown.explanation.nodes]
        return Removal(
            subject=self._subject,
            decision=decision,
            nodes=np.sort(np.array(nodes, np.int64)),
            pairs=np.array([pairs[tie] for tie in shown.explanation.edges], np.int64),
            kept=np.array([pairs[tie] for tie in shown.kept], np.int64),
        )

    def _pairs(self, ties: tuple[Tie, ...]) -> dict[Tie, int]:
        """The pair numbers of ties that are connected to the subject."""
        found: dict[Tie, int] = {}
        while len(found) < len(ties):
            for tie in ties:
                known, other = tie if tie[0] in self._numbers else tie[::-1]
                if tie not in found and known in self._numbers:
                    position = self._position(self._numbers[known], other)
                    found[tie] = int(self._graph.neighbour_pair[position])
                    self._numbers[other] = int(self._graph.neighbour[position])
        return found

    def _position(self, node: int, name: str) -> int:
        """The place of a neighbour, given by id, in a node's list."""
        first = int(self._graph.starts[node])
        if node not in self._near:
            names = self._graph.ids[self._graph.neighbours(node)].tolist()
            self._near[node] = {name: place for place, name in enumerate(names)}
        return first + self._near[node][name]
