"""Small random graphs with everything awkward in them, and the answers worked out by hand."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.queries import Pool, Union
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import ModelSettings
from tests.onnx_models import KIND_WEIGHTS

TIE_ROWS = 40


def open_model(path: Path, *, complete: bool = True, **declared: Any) -> OnnxModel:
    return OnnxModel(ModelSettings(path=path, **declared), complete=complete)


def random_pool(random: np.random.Generator, *, features: int = 5, rows: int = 30) -> Pool:
    """Features, and ties with weights, two attributes and one of three kinds."""
    return Pool(
        features=random.normal(size=(rows, features)),
        weight=random.uniform(0.2, 2.0, TIE_ROWS).astype(np.float32),
        attributes=random.normal(size=(TIE_ROWS, 2)).astype(np.float32),
        kind=random.integers(0, 3, TIE_ROWS).astype(np.int16),
    )


def random_union(
    random: np.random.Generator, pool: Pool, graphs: int, *, largest: int = 7, most_arcs: int = 16
) -> Union:
    """Graphs of 1 to `largest` nodes: no arcs or many, parallel, directed, loops, equal nodes."""
    sizes = random.integers(1, largest + 1, size=graphs)
    counts = random.integers(0, most_arcs + 1, size=graphs) * (random.random(graphs) < 0.8)
    node_starts = np.concatenate(([0], np.cumsum(sizes)))
    arc_starts = np.concatenate(([0], np.cumsum(counts)))
    owner = np.repeat(np.arange(graphs), counts)
    ends = random.integers(0, sizes[owner], size=(2, len(owner))) + node_starts[owner]
    return Union(
        nodes=random.integers(0, len(pool.features), size=node_starts[-1]),
        node_starts=node_starts,
        sources=ends[0],
        targets=ends[1],
        ties=random.integers(0, TIE_ROWS, size=len(owner)),
        arc_starts=arc_starts,
    )


def all_rows(union: Union) -> Ints:
    return np.arange(len(union.nodes))


@dataclass(frozen=True, kw_only=True)
class SumNetwork:
    """The network of `tests.onnx_models.sum_network` once more, in numpy and in float64."""

    features: int = 5
    classes: int = 3
    layers: int = 2
    hidden: int = 8
    seed: int = 0
    dtype: str = "float32"
    form: str = "edges"
    head: str = "logits"
    scale: float = 0.5
    activation: str = "leaky"

    def answer(self, pool: Pool, union: Union) -> Floats:
        """What the network answers for every node, one graph after the other."""
        return np.concatenate([self._alone(pool, union, graph) for graph in range(len(union))])

    def _alone(self, pool: Pool, union: Union, graph: int) -> Floats:
        low, high = union.node_starts[graph], union.node_starts[graph + 1]
        arcs = slice(union.arc_starts[graph], union.arc_starts[graph + 1])
        spread = np.eye(high - low)
        weight = self._weights(pool, union.ties[arcs])
        ends = zip(union.sources[arcs] - low, union.targets[arcs] - low, weight, strict=True)
        for source, target, arc_weight in ends:
            spread[target, source] += arc_weight
        random = np.random.default_rng(self.seed)
        columns = 1 if self.head in ("sigmoid", "score") else self.classes
        widths = [self.features, *[self.hidden] * (self.layers - 1), columns]
        values = pool.features[union.nodes[low:high]].astype(self.dtype).astype(float) * self.scale
        for layer in range(self.layers):
            values = values @ self._drawn(random, widths[layer], widths[layer + 1])
            values = spread @ values + self._drawn(random, widths[layer + 1])
            if layer < self.layers - 1:
                slope = 0.0 if self.activation == "relu" else float(np.float32(0.2))
                values = np.where(values > 0, values, slope * values)
        return self._headed(values)

    def _drawn(self, random: np.random.Generator, *shape: int) -> Floats:
        drawn = random.normal(0, 1.2 / np.sqrt(shape[0]), size=shape)
        return drawn.astype(self.dtype).astype(np.float64)

    def _weights(self, pool: Pool, ties: NDArray[np.integer]) -> Floats:
        if self.form == "weight":
            assert pool.weight is not None
            return np.asarray(pool.weight[ties], np.float64)
        if self.form == "attributes":
            assert pool.attributes is not None
            return np.asarray(pool.attributes[ties].astype(np.float64).sum(axis=1))
        if self.form == "type":
            assert pool.kind is not None
            return np.asarray(np.array(KIND_WEIGHTS)[pool.kind[ties]])
        return np.ones(len(ties))

    def _headed(self, values: Floats) -> Floats:
        if self.head == "sigmoid":
            return np.asarray(1 / (1 + np.exp(-values)))
        if self.head in ("softmax", "log_softmax"):
            power = np.exp(values)
            share: Floats = power / power.sum(axis=1, keepdims=True)
            return share if self.head == "softmax" else np.log(share)
        return values
