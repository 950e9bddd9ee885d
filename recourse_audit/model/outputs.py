"""Measures every output of a model: what its rows are about, what they hold, how far they see.

Nothing is read from the file. Small graphs of several sizes are asked about, and the numbers of
rows that come back tell rows per node, per graph and per tie apart. How far an output sees is
measured on a path: a later layer is moved by nodes that are farther away.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.output import guess_kind
from recourse_audit.model.probe_graphs import (
    is_constant,
    joined,
    path,
    ring,
    room_for,
    varied_pools,
    with_other_features,
)
from recourse_audit.model.queries import Pool, Query
from recourse_audit.model.signature import OutputPort, Rows

# With these sizes no two of the numbers of nodes, ties, arcs and graphs are ever equal twice.
SIZES = ((5, 6), (4, 5, 7))
PATHS = 8
FARTHEST = 9
# How far features are moved to compare outputs, and how many times.
STEP = 0.01
STEPS = 96
# The share of changes that must move an answer for its reach to count as measured.
STEADY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One query as the model saw it, and the table that every output gave."""

    nodes: int
    arcs: int
    graphs: int
    rows: int
    own_nodes: int
    tables: dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How many hops away a node can be and still move an output; None if there is no limit.

    `steady` says whether nodes at that distance move it often: an answer that is saturated, and
    moves only now and then, may reach farther than was seen.
    """

    hops: int | None
    steady: bool


class _Listener(OnnxModel):
    """An open model that keeps what all of its outputs say to every query."""

    def __init__(self, model: OnnxModel) -> None:
        vars(self).update(vars(model))
        self.heard: list[Asked] = []

    def ask(self, query: Query) -> Floats:
        nodes, arcs = self.sizes(query)
        graphs = len(query.node_starts) - 1 + (nodes > len(query.nodes))
        answers = self.ask_every(query)
        self.heard.append(
            Asked(
                nodes=nodes,
                arcs=arcs,
                graphs=graphs,
                rows=len(query.rows),
                own_nodes=len(query.nodes),
                tables={name: self.rows_of(raw) for name, raw in answers.items()},
            )
        )
        return np.zeros((len(query.rows), 1))


class OutputSurvey:
    """What small graphs show about every output of one model."""

    def __init__(self, model: OnnxModel, pools: list[Pool], generator: np.random.Generator) -> None:
        self._model = model
        self._pools = pools
        self._generator = generator
        listener = _Listener(model)
        for pool in pools:
            batcher = QueryBatcher(listener, pool)
            for sizes in SIZES:
                graphs = [ring(generator, pool, room_for(model, size)) for size in sizes]
                union = joined(graphs)
                batcher.ask_raw(union, np.arange(len(union.nodes)))
        self._heard = listener.heard

    def listed(self) -> tuple[OutputPort, ...]:
        """Every output, with what was found out about it."""
        return tuple(self._described(port) for port in self._model.signature.outputs)

    def answers(self, name: str) -> Floats:
        """What an output with one row per node said, without the rows of padding."""
        return np.concatenate([_own_rows(asked, name) for asked in self._heard])

    def random(self) -> bool:
        """Whether the same question gets different answers."""
        listener = _Listener(self._model)
        for pool in self._pools:
            union = joined([ring(self._generator, pool, room_for(self._model, 6))])
            for _ in range(4):
                QueryBatcher(listener, pool).ask_raw(union, np.arange(len(union.nodes)))
        rounds = np.array_split(np.arange(len(listener.heard)), len(self._pools))
        return any(
            not np.array_equal(
                listener.heard[first].tables[name], listener.heard[other].tables[name], True
            )
            for first, *others in rounds
            for other in others
            for name in listener.heard[first].tables
        )

    def reaches(self, names: list[str]) -> dict[str, Reach]:
        """How far each of some outputs with one row per node sees.

        On a path with the subject at its end, one node after the other gets other features; the
        last node has no tie, so an output that it moves has no limit.
        """
        farthest = min(FARTHEST, room_for(self._model, FARTHEST + 2) - 2)
        best = {name: np.zeros(max(farthest, 0) + 2) for name in names}
        for pool in self._varied():
            moved = self._moved(pool, names, farthest)
            for name in names:
                best[name] = np.maximum(best[name], moved[name])
        return {name: _reach(shares, farthest) for name, shares in best.items()}

    def responses(self, names: list[str]) -> dict[str, Floats]:
        """How one node's row of each output answers to small random changes of all features."""
        pool = self._varied()[0]
        union = joined([ring(self._generator, pool, room_for(self._model, 7))])
        own = np.asarray(pool.features, np.float64)[union.nodes]
        scale = STEP * np.maximum(np.asarray(pool.features, np.float64).std(axis=0), 1e-6)
        listener = _Listener(self._model)
        batcher = QueryBatcher(listener, pool)
        for step in range(STEPS + 1):
            noise = self._generator.normal(size=own.shape) * scale * (step > 0)
            features = (own + noise).astype(self._model.feature_type)
            batcher.ask_raw(union, np.arange(1), features=features)
        rows = {
            name: np.array([_first_row(asked, name) for asked in listener.heard], np.float64)
            for name in names
        }
        return {name: table[1:] - table[0] for name, table in rows.items()}

    def _varied(self) -> list[Pool]:
        """Pools in which nodes differ, since exchanging equal nodes shows nothing."""
        pools = []
        for pool in self._pools:
            pools += list(varied_pools(self._generator, pool)) if is_constant(pool) else [pool]
        return pools

    def _moved(self, pool: Pool, names: list[str], farthest: int) -> dict[str, Floats]:
        """The share of paths on which a node at each distance moves each output; 0 is its own."""
        farthest = max(farthest, 0)
        counts = {name: np.zeros(farthest + 2) for name in names}
        for _ in range(PATHS):
            base = path(self._generator, pool, farthest)
            changed = [
                with_other_features(self._generator, pool, base, position)
                for position in range(farthest + 2)
            ]
            listener = _Listener(self._model)
            union = joined([base, *changed])
            batcher = QueryBatcher(listener, pool, graphs_per_query=1)
            batcher.ask_raw(union, union.node_starts[:-1])
            for name in names:
                first, *rest = (_first_row(asked, name) for asked in listener.heard)
                counts[name] += [not np.array_equal(first, row, equal_nan=True) for row in rest]
        return {name: count / PATHS for name, count in counts.items()}

    def _described(self, port: OutputPort) -> OutputPort:
        if not port.numeric:
            kind = "text" if port.dtype == "string" else "a sequence, a map or another container"
            return replace(port, looks=f"{kind}, which is not read")
        tables = [asked.tables[port.name] for asked in self._heard]
        widths = {table.shape[1] for table in tables}
        rows = self._rows(port.name)
        columns = widths.pop() if len(widths) == 1 else None
        return replace(port, rows=rows, columns=columns, looks=self._looks(port, rows, columns))

    def _rows(self, name: str) -> Rows:
        def each(wanted: list[int]) -> bool:
            return wanted == [len(asked.tables[name]) for asked in self._heard]

        if len({asked.tables[name].shape[1] for asked in self._heard}) > 1:
            return "other"  # such as a matrix of pairs of nodes
        targets = self._model.signature.port("target") is not None
        if targets and each([asked.rows for asked in self._heard]):
            return "node"
        if each([asked.nodes for asked in self._heard]):
            return "node"
        if each([asked.graphs for asked in self._heard]) or each([1] * len(self._heard)):
            return "graph"
        ties = ([a.arcs, a.arcs + a.nodes, a.arcs // 2] for a in self._heard)
        return "tie" if any(each(list(sizes)) for sizes in zip(*ties, strict=True)) else "other"

    def _looks(self, port: OutputPort, rows: Rows, columns: int | None) -> str:
        table = np.concatenate([a.tables[port.name].reshape(-1, columns or 1) for a in self._heard])
        if not port.floating:
            return "whole numbers, not scores"
        finite = table[np.isfinite(table).all(axis=1)]
        if rows == "other":
            asked = self._heard[0]
            shape = " by ".join(str(size) for size in asked.tables[port.name].shape)
            return f"a table of {shape} for {asked.nodes} nodes and {asked.arcs} arcs"
        return guess_kind(finite)[1] if len(finite) else "no answer is a number"


def _own_rows(asked: Asked, name: str) -> NDArray[Any]:
    """The rows of the nodes that were asked about, and not those of padding."""
    table = asked.tables[name]
    return table if len(table) == asked.rows else table[: asked.own_nodes]


def _first_row(asked: Asked, name: str) -> NDArray[Any]:
    return np.asarray(asked.tables[name][0])


def _reach(shares: Floats, farthest: int) -> Reach:
    """The farthest distance that moves an answer; the last share is that of a node without ties."""
    hops = int(np.flatnonzero(shares).max(initial=0))
    limit = None if hops >= max(farthest, 1) else hops
    return Reach(hops=limit, steady=bool(shares[hops] >= STEADY))


def unexplained(one: Floats, by: Floats) -> float:
    """The share of one output's changes that is no linear function of another's.

    Near 0 where the first is computed from the second, row by row; a head that is smooth is
    linear for changes as small as these.
    """
    total = float(np.square(one).sum())
    if total == 0.0 or not np.isfinite(one).all() or not np.isfinite(by).all():
        return float("nan")
    fitted = by @ np.linalg.lstsq(by, one, rcond=1e-4)[0]
    return float(np.square(one - fitted).sum()) / total
