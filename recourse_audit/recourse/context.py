"""What the search for options shares between all subjects of an audit."""

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.base_fields import KeptFields
from recourse_audit.model.batching import QueryBatcher, noise_of
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.what_ifs import what_ifs_of
from recourse_audit.records.model import ProbeReport
from recourse_audit.recourse.actions import ActionTable
from recourse_audit.recourse.receptive_field import ReceptiveField, everything
from recourse_audit.recourse.variants import Variants, new_ties

QUERIES_WRITTEN = 4
BYTES_WRITTEN = 2**23


class RecourseContext:
    """What all subjects of an audit share; its batcher also knows new ties."""

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        probes: ProbeReport,
        decisions: Decisions,
        *,
        compare: float = 0.0,
        seed: int = 0,
        fields: KeptFields | None = None,
    ) -> None:
        """`decisions` are those on everybody in the whole graph.

        A share of answers, `compare`, is asked again on the whole graph; the seed draws them.
        `fields` are what others have kept who ask about the same subjects.
        """
        self.graph = graph
        self.batcher = batcher.with_more_ties(new_ties(graph)) if batcher.needs_ties else batcher
        self.whole = decisions.everybody
        self.decisions = decisions
        self.depth = probes.depth if neighbourhoods_suffice(probes) else None
        self.what_ifs = what_ifs_of(graph, self.batcher, probes, fields)
        self.reach = probes.depth
        self.noise = noise_of(batcher)
        self.compare = compare
        self.seed = seed
        self._everything: tuple[ReceptiveField, Floats] | None = None

    def features(self, nodes: Ints) -> Floats:
        """Features as the model takes them, in an array of their own."""
        return self.batcher.features_of(nodes)

    @property
    def room(self) -> int:
        """How many nodes to write at once: enough for a few queries, in bounded memory."""
        room = self.batcher.node_room
        width = (
            int(self.graph.features.shape[1]) * np.dtype(self.batcher.model.feature_type).itemsize
        )
        return room * min(max(BYTES_WRITTEN // (room * width), 1), QUERIES_WRITTEN)

    def everything(self, table: ActionTable) -> Variants:
        """Versions of the whole graph; its arrays are made once for all subjects."""
        if self._everything is None:
            around = everything(self.graph)
            self._everything = around, self.features(around.nodes)
        around, features = self._everything
        return Variants(table, around, self.features, depth=None, room=1, own=features)


def neighbourhoods_suffice(probes: ProbeReport) -> bool:
    """Whether a part of the graph, with its nodes and ties renumbered, may stand for the whole."""
    return probes.deterministic and probes.node_order and probes.tie_order
