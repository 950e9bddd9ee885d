"""What a sealed model takes and returns, and the role of every declared input, with the reason.

A role is guessed from type and rank first, from the name second and from shared sizes last,
because exporters name dimensions and inputs as they like. `model.roles` overrides a wrong guess.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, cast, get_args

import numpy as np

from recourse_audit.errors import ModelError
from recourse_audit.settings import ModelSettings, OutputKind, Role
from recourse_audit.settings.inputs import REVERSED
from recourse_audit.settings.section import near_matches

Dimension = int | str | None
# What one row of an output is about. "other": neither a node, nor a graph, nor a tie.
Rows = Literal["node", "graph", "tie", "other"]


class Form(NamedTuple):
    """How many axes an input of a role may have, and what exporters call it."""

    ranks: tuple[int, ...]
    names: str = ""


FORMS: dict[Role, Form] = {
    "features": Form((2,), "x features feat node_features h input feature"),
    "edges": Form((2,), "edge_index edges edge_list adj_t ties"),
    "sources": Form((1,), "src source sources row senders edge_src u head"),
    "targets": Form((1,), "dst target targets col receivers edge_dst v tail dest"),
    "adjacency": Form((2,), "adj adjacency a a_hat adjacency_matrix adj_norm"),
    "edge_weight": Form((1, 2), "edge_weight weight weights edge_weights w norm"),
    "edge_attributes": Form((2,), "edge_attr edge_attributes edge_features e efeat"),
    "edge_type": Form((1,), "edge_type etype relation edge_types rel"),
    "node_ids": Form((1,), "n_id node_id node_ids ids index"),
    "batch": Form((1,), "batch batch_index graph_id graph_ids"),
    "node_count": Form((0, 1), "num_nodes node_count n size"),
    "target": Form((0, 1), "target target_node node node_idx seed query target_id"),
    "edge_labels": Form((2,), "edge_label_index edge_labels label_index"),
    "node_type": Form((1,), "node_type ntype node_types node_kind"),
    "constant": Form((0, 1, 2)),
}
# A second list of pairs may be another kind of tie, and kinds of nodes may be ids, so these roles
# are never guessed without a name.
_ONLY_BY_NAME: tuple[Role, ...] = ("edge_labels", "node_type")
_FLOATS = frozenset({"float16", "float32", "float64"})
_INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One input or output as the file declares it."""

    name: str
    dtype: str
    shape: tuple[Dimension, ...]

    @property
    def integer(self) -> bool:
        return self.dtype in _INTEGERS

    @property
    def floating(self) -> bool:
        return self.dtype in _FLOATS

    @property
    def numeric(self) -> bool:
        """Whether it is a tensor of numbers, and neither text nor a sequence nor a map."""
        return self.floating or self.integer or self.dtype == "bool"

    def describe(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name!r} ({self.dtype} [{sizes}])"


class Slot(NamedTuple):
    """A role and, where a graph has several kinds, what it is about: a kind or a relation."""

    role: Role
    of: str = ""
    reverse: bool = False

    @classmethod
    def parse(cls, text: str) -> "Slot":
        """Read a role as the settings write it, such as edges:works_at:reversed."""
        role, *about = text.split(":")
        return cls(cast(Role, role), about[0] if about else "", len(about) > 1)

    def __str__(self) -> str:
        return ":".join((self.role, *filter(None, (self.of, REVERSED if self.reverse else ""))))


Sureness = Literal["declared", "certain", "likely", "unsure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPort(Port):
    """One input, its role, why that was guessed, and how sure the guess is.

    In a model of several kinds, `of` is the kind or the relation that it is about, and `reverse`
    says that it takes the arcs of a relation from `to` to `from`.
    """

    role: Role | None = None
    why: str = ""
    of: str = ""
    reverse: bool = False
    sure: Sureness = "unsure"

    @property
    def full_role(self) -> str | None:
        """The role as the settings write it."""
        return None if self.role is None else str(Slot(self.role, self.of, self.reverse))

    def with_slot(self, slot: Slot, why: str, sure: Sureness) -> "InputPort":
        role, of, reverse = slot
        return replace(self, role=role, of=of, reverse=reverse, why=why, sure=sure)

    @property
    def has_batch_axis(self) -> bool:
        """Whether there is one more leading axis than the role needs."""
        if self.role == "edge_weight" and len(self.shape) == 2:
            return self.shape[0] == 1
        return self.role is not None and len(self.shape) == max(FORMS[self.role].ranks) + 1

    @property
    def inner(self) -> tuple[Dimension, ...]:
        """The shape without a leading axis of size one."""
        return self.shape[1:] if self.has_batch_axis else self.shape

    @property
    def by_row(self) -> bool:
        """Whether pairs come as [E, 2] instead of [2, E]."""
        return self.inner[1] == 2 and self.inner[0] != 2


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPort(Port):
    """One output, and what asking showed about its rows and numbers.

    `why` is about `kind`. `looks` describes the rows; `hops` is how far away a node can be and
    still move them: None where that was not measured or has no limit. `taken` says why decisions
    are read from this output, and is empty for every other.
    """

    kind: OutputKind | None = None
    why: str = ""
    classes: int | None = None
    columns: int | None = None
    rows: Rows | None = None
    looks: str = ""
    hops: int | None = None
    taken: str = ""


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
        return self._first_size("features", "adjacency", "node_ids", "batch")

    @property
    def fixed_arcs(self) -> int | None:
        """The number of arcs the export was frozen to, if it was."""
        edges = self.port("edges")
        size = None if edges is None else edges.inner[0 if edges.by_row else 1]
        if isinstance(size, int):
            return size
        return self._first_size("sources", "targets", "edge_weight", "edge_attributes", "edge_type")

    def _first_size(self, *roles: Role) -> int | None:
        """The size of the first axis of whichever of these inputs fixes it."""
        ports = (self.port(role) for role in roles)
        sizes = (port.inner[0] for port in ports if port is not None)
        return next((size for size in sizes if isinstance(size, int)), None)

    @property
    def feature_count(self) -> int | None:
        port = self.port("features")
        size = port.inner[1] if port is not None else None
        return size if isinstance(size, int) else None


def assign_roles(
    ports: tuple[InputPort, ...], settings: ModelSettings, *, complete: bool = True
) -> tuple[InputPort, ...]:
    """Give every input a role: the one declared in the settings, else the best guess.

    Inputs with a clear name go first, so that an input without one never takes their role. With
    `complete`, an input that fits no role, or a model without inputs for features and ties, is an
    error; `inspect` asks without it, to show what there is.
    """
    assigned, declared = [*ports], read_declared(ports, settings)
    for position, port in enumerate(ports):
        if port.name in declared:
            slot = declared[port.name]
            assigned[position] = port.with_slot(slot, "declared in the settings", "declared")
            _check_form(port, slot.role, settings)
    forms = _Forms(ports)
    for names in ("clear", "any", "none"):
        for position, port in enumerate(assigned):
            if port.role is None:
                role, why = _guess(port, forms, {p.role for p in assigned if p.role}, names)
                sure: Sureness = "unsure" if role is None else "certain"
                sure = "likely" if role and names == "none" else sure
                assigned[position] = replace(port, role=role, why=why, sure=sure)
    if complete:
        check_complete(assigned, settings)
    return tuple(assigned)


def read_declared(ports: Sequence[InputPort], settings: ModelSettings) -> dict[str, Slot]:
    """The slots that settings declare, by the names of inputs; these must be there."""
    for key, given in (("roles", settings.roles), ("constants", settings.constants)):
        unknown = sorted(set(given) - {port.name for port in ports})
        if unknown:
            raise ModelError(
                f"{settings.path}: model.{key} names the input {unknown[0]!r}, which the model "
                f"does not have; {near_matches(unknown[0], [port.name for port in ports])}"
            )
    declared = {name: Slot.parse(role) for name, role in settings.roles.items()}
    return declared | dict.fromkeys(settings.constants, Slot("constant"))


def _guess(
    port: InputPort, forms: "_Forms", taken: set[Role], names: str
) -> tuple[Role | None, str]:
    """Guess by a name that means one role, by a name that may mean several, or without the name."""
    shape = forms.inner(port)
    fitting, size = forms.fitting(port)
    fitting = [role for role in fitting if role not in taken]
    form = f"{port.dtype} of rank {len(shape)}"
    plain = re.sub(r"[:.]\d+$", "", port.name.lower()).strip("_ ")
    named = [role for role in fitting if plain in FORMS[role].names.split()]
    if names != "none":
        clear = len(named) == 1 or (named and names == "any")
        return (named[0], f"{form}, and the name") if clear else (None, "")
    fitting = [role for role in fitting if role not in _ONLY_BY_NAME]
    if fitting:
        return fitting[0], f"{form}{size}"
    return None, f"no role that is still free takes {form}"


class _Forms:
    """What the shapes of all inputs together say about each one."""

    def __init__(self, ports: tuple[InputPort, ...]) -> None:
        led = [port.shape for port in ports if len(port.shape) == 3 and _may_be_one(port.shape[0])]
        self._lead = led[0][0] if led else None
        tables = [self.inner(p) for p in ports if p.floating and len(self.inner(p)) == 2]
        pairs = [self.inner(p) for p in ports if p.integer and len(self.inner(p)) == 2]
        lists = [self.inner(p) for p in ports if p.integer and self._is_list(self.inner(p))]
        self._tables, self._pairs = tables, pairs
        square = sum(_square(shape) for shape in tables)
        self._has_ends = not pairs and len(lists) >= 2 and not (square and len(tables) >= 2)
        self._arcs = self._arc_size(lists)
        self._nodes = next((shape[0] for shape in tables if shape[0] != self._arcs), None)

    def inner(self, port: InputPort) -> tuple[Dimension, ...]:
        """The shape without a leading axis of size one, which either all inputs have or none."""
        size = port.shape[0] if len(port.shape) > 1 else None
        led = len(port.shape) == 3 and _may_be_one(size)
        return port.shape[1:] if led or (size is not None and size == self._lead) else port.shape

    def fitting(self, port: InputPort) -> tuple[list[Role], str]:
        """List the roles that type and rank allow, the likeliest first, and what the sizes add."""
        shape = self.inner(port)
        if port.floating and len(shape) == 2:
            return self._table(shape)
        if port.floating and len(shape) == 1:
            return ["edge_weight"], ""
        if port.integer and len(shape) == 2:
            return self._pair(shape), ""
        if port.integer and self._is_list(shape):
            return self._list(shape)
        if port.integer and len(shape) <= 1:
            return ["target", "node_count"], ""
        return [], ""

    def _table(self, shape: tuple[Dimension, ...]) -> tuple[list[Role], str]:
        others = list(self._tables)
        others.remove(shape)
        if not self._pairs and not self._has_ends:
            square = _square(shape) and not all(_square(other) for other in self._tables)
            open_ended = not isinstance(shape[1], int) and any(
                isinstance(other[1], int) for other in others
            )
            if square or open_ended:
                return ["adjacency", "features"], ", and square" if square else ""
            return ["features", "adjacency"], ""
        by_tie = self._arcs is not None and shape[0] == self._arcs
        if by_tie and any(other[0] != self._arcs for other in others):
            return ["edge_attributes", "edge_weight", "features"], ", one row per tie"
        return ["features", "edge_attributes", "edge_weight"], ""

    def _pair(self, shape: tuple[Dimension, ...]) -> list[Role]:
        if 2 not in shape and any(2 in other for other in self._pairs):
            return ["edge_attributes"] if self._tables else ["features", "edge_attributes"]
        pairs = 2 in shape or not all(isinstance(size, int) for size in shape)
        return ["edges", "edge_labels"] if pairs else []

    def _list(self, shape: tuple[Dimension, ...]) -> tuple[list[Role], str]:
        ends: list[Role] = ["sources", "targets"] if self._has_ends else []
        by_tie: list[Role] = [*ends, "edge_type"]
        by_node: list[Role] = ["batch", "node_ids", "node_type"]
        rest: list[Role] = ["target", "node_count"]
        if shape[0] is None or self._arcs is None or self._nodes is None:
            return [*by_tie, *by_node, *rest], ""
        if shape[0] == self._arcs:
            return [*by_tie, *by_node, *rest], ", one entry per tie"
        if shape[0] == self._nodes:
            return [*by_node, *by_tie, *rest], ", one entry per node"
        return [*rest, *by_node, *by_tie], ", with neither one entry per tie nor one per node"

    def _arc_size(self, lists: list[tuple[Dimension, ...]]) -> Dimension:
        """The size that is the number of arcs, where the file gives it a name or a number."""
        for shape in self._pairs:
            if 2 in shape:
                return shape[0] if shape[1] == 2 and shape[0] != 2 else shape[1]
        sizes = [shape[0] for shape in lists if shape[0] is not None]
        shared = [size for size in sizes if sizes.count(size) > 1]
        return shared[0] if shared and self._has_ends else None

    @staticmethod
    def _is_list(shape: tuple[Dimension, ...]) -> bool:
        return len(shape) == 1 and shape != (1,)


def _square(shape: tuple[Dimension, ...]) -> bool:
    return shape[0] is not None and shape[0] == shape[1]


def _may_be_one(size: Dimension) -> bool:
    return size == 1 or not isinstance(size, int)


def _check_form(port: InputPort, role: Role, settings: ModelSettings) -> None:
    """Refuse a declared role that does not fit the input's type or rank."""
    if not port.numeric:
        raise ModelError(
            f"{settings.path}: the input {port.describe()} does not take numbers, so no role fits "
            "it; export the model without it"
        )
    rank, axes = len(port.shape), FORMS[role].ranks
    led = rank == max(axes) + 1 and _may_be_one(port.shape[0])
    if rank not in axes and not led:
        raise ModelError(
            f"{settings.path}: the input {port.describe()} cannot be {role}, which has at "
            f"most {max(axes)} axes; correct model.roles"
        )


def check_complete(ports: Sequence[InputPort], settings: ModelSettings) -> None:
    """Refuse inputs without a role or with the same one, and a model without nodes or ties."""
    pairs = [port for port in ports if port.integer and 2 in port.shape and len(port.shape) == 2]
    if len(pairs) > 1 and not any(port.of for port in ports) and any(not p.role for p in pairs):
        names = " and ".join(port.name for port in pairs)
        raise ModelError(
            f"{settings.path}: takes several lists of ties ({names}), as models of several kinds "
            "of nodes do (heterogeneous graphs); give the graph kind by kind, with a table for "
            "each in [graph.nodes] and for each relation in [graph.ties]"
        )
    for port in ports:
        if port.role is None:
            raise ModelError(
                f"{settings.path}: the input {port.describe()} fits no role ({port.why}); declare "
                f'one with model.roles = {{ "{port.name}" = "…" }} (one of '
                f"{', '.join(get_args(Role))}), with a value in [model.constants] if it is no part "
                "of the graph, or export the model without it"
            )
    filled = [port.full_role for port in ports if port.role != "constant"]
    for role in filled:
        if filled.count(role) > 1:
            twice = [port.name for port in ports if port.full_role == role]
            raise ModelError(
                f"{settings.path}: the inputs {' and '.join(twice)} both have the role {role}; "
                "correct model.roles"
            )
    roles = [port.role for port in ports]
    if "features" not in roles:
        raise ModelError(
            f"{settings.path}: no input takes node features [N, F]; name it in model.roles"
        )
    ties = {"edges", "adjacency"} & set(roles) or {"sources", "targets"} <= set(roles)
    if not ties:
        raise ModelError(
            f"{settings.path}: no input takes the ties, so the graph was baked into the export or "
            "dropped from it (as with cached=True); export the model again with its ties as an "
            "input"
        )


def fixed_value(port: InputPort, constants: Mapping[str, object]) -> np.ndarray:
    """The value of an input that is no part of the graph, in the shape that it has."""
    shape = [size if isinstance(size, int) else 1 for size in port.shape]
    return np.broadcast_to(np.asarray(constants[port.name]), shape)
