"""What is needed to ask about the whole graph."""

from typing import Protocol

from recourse_audit.graph.arrays import Graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import DecisionRule
from recourse_audit.records.model import ProbeReport


class Askable(Protocol):
    """A `LoadedAudit`, or a part of one."""

    @property
    def graph(self) -> Graph:
        """The graph that is asked about."""

    @property
    def batcher(self) -> QueryBatcher:
        """What asks the model."""

    @property
    def probes(self) -> ProbeReport:
        """What may be relied on."""

    @property
    def rule(self) -> DecisionRule:
        """What tells how close an answer is to its line."""
