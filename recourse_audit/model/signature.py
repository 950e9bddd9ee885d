"""What a sealed model takes and returns: what its file declares, and the roles assigned."""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.settings import OutputKind, Role

Dimension = int | str | None
# What one row of an output is about. "other": neither a node, nor a graph, nor a tie.
Rows = Literal["node", "graph", "tie", "other"]

RANKS: dict[Role, tuple[int, ...]] = {
    "features": (2,),
    "edges": (2,),
    "sources": (1,),
    "targets": (1,),
    "adjacency": (2,),
    "edge_weight": (1, 2),
    "edge_attributes": (2,),
    "edge_type": (1,),
    "node_ids": (1,),
    "batch": (1,),
    "node_count": (0, 1),
    "target": (0, 1),
    "edge_labels": (2,),
}
_FLOATS = frozenset({"float16", "float32", "float64"})
_INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPort:
    """One input as the file declares it, and its role."""

    name: str
    dtype: str
    shape: tuple[Dimension, ...]
    role: Role | None = None
    why: str = ""

    @property
    def batched(self) -> bool:
        """Whether there is one more leading axis than the role needs."""
        if self.role == "edge_weight" and len(self.shape) == 2:
            return self.shape[0] == 1
        return self.role is not None and len(self.shape) == max(RANKS[self.role]) + 1

    @property
    def inner(self) -> tuple[Dimension, ...]:
        """The shape without a leading axis of size one."""
        return self.shape[1:] if self.batched else self.shape

    @property
    def by_row(self) -> bool:
        """Whether pairs come as [E, 2] instead of [2, E]."""
        return self.inner[1] == 2 and self.inner[0] != 2

    @property
    def integer(self) -> bool:
        return self.dtype in _INTEGERS

    @property
    def floating(self) -> bool:
        return self.dtype in _FLOATS

    def described(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name!r} ({self.dtype} [{sizes}])"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPort:
    """One output as the file declares it, and what asking showed about its rows and numbers.

    `why` is about `kind`. `looks` describes the rows; `hops` is how far away a node can be and
    still move them: None where that was not measured or has no limit. `taken` says why decisions
    are read from this output, and is empty for every other.
    """

    name: str
    dtype: str
    shape: tuple[Dimension, ...]
    kind: OutputKind | None = None
    why: str = ""
    classes: int | None = None
    columns: int | None = None
    rows: Rows | None = None
    looks: str = ""
    hops: int | None = None
    taken: str = ""

    @property
    def floating(self) -> bool:
        return self.dtype in _FLOATS

    @property
    def numeric(self) -> bool:
        """Whether it is a tensor of numbers, and neither text nor a sequence nor a map."""
        return self.floating or self.dtype in _INTEGERS or self.dtype == "bool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """All inputs with their roles, all outputs, and the output that is read."""

    inputs: tuple[InputPort, ...]
    output: OutputPort
    outputs: tuple[OutputPort, ...] = ()

    def port(self, role: Role) -> InputPort | None:
        return next((port for port in self.inputs if port.role == role), None)

    @property
    def fixed_nodes(self) -> int | None:
        """The number of nodes the export was frozen to, if it was."""
        return self._first_size(("features", "adjacency", "node_ids", "batch"))

    @property
    def fixed_arcs(self) -> int | None:
        """The number of arcs the export was frozen to, if it was."""
        edges = self.port("edges")
        if edges is not None:
            size = edges.inner[0 if self.edges_by_row else 1]
            if isinstance(size, int):
                return size
        return self._first_size(
            ("sources", "targets", "edge_weight", "edge_attributes", "edge_type")
        )

    def _first_size(self, roles: tuple[Role, ...]) -> int | None:
        """The size of the first axis of whichever of these inputs fixes it."""
        ports = (self.port(role) for role in roles)
        sizes = (port.inner[0] for port in ports if port is not None)
        return next((size for size in sizes if isinstance(size, int)), None)

    @property
    def edges_by_row(self) -> bool:
        """Whether ties come as [E, 2] instead of [2, E]."""
        port = self.port("edges")
        return port is not None and port.by_row

    @property
    def feature_count(self) -> int | None:
        port = self.port("features")
        size = port.inner[1] if port is not None else None
        return size if isinstance(size, int) else None
