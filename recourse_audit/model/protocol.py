"""The seam between the audit and whatever runs the model: questions in, raw numbers out."""

from typing import Protocol

from recourse_audit.graph.arrays import Floats
from recourse_audit.model.queries import Query
from recourse_audit.model.signature import Signature


class SealedModel(Protocol):
    """A node classifier that can be asked and not looked into."""

    @property
    def signature(self) -> Signature:
        """Its inputs with their roles, and its output."""

    @property
    def weighs_ties(self) -> bool:
        """Whether the weights of the user's ties are part of a question."""

    @property
    def node_room(self) -> int | None:
        """How many nodes fit into one query, where the export fixed it."""

    @property
    def arc_room(self) -> int | None:
        """How many arcs fit into one query, where the export fixed it."""

    @property
    def feature_type(self) -> type:
        """The number type in which it takes features."""

    def reseed(self, seed: int) -> None:
        """Restart the random numbers that a model with dropout left on would draw."""

    def ask(self, query: Query) -> Floats:
        """Answer one query: the raw output, a row for each of the rows asked for."""
