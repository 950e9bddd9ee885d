"""A graph with its trained model: the ONNX file for our side, the weights for the others.

Models are trained once and stay in the working folder; a graph is opened when first needed.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.datasets import load_graph
from benchmarks.engines import Bench, open_bench
from benchmarks.paper.cache import fingerprint
from recourse_audit.graph.arrays import Graph
from recourse_audit.search.blocks import subtree_bounds
from recourse_audit.search.results import Scope

if TYPE_CHECKING:
    from benchmarks.paper.network import Network

SEED = 0
SAME = 1e-3


class Dataset:
    """One data set and everything made for it."""

    def __init__(self, data: Path, work: Path, name: str) -> None:
        self.data, self.name = data, name
        self.folder = work / "models"
        self._train_once()

    def _train_once(self) -> None:
        # The weights are written last, so that a model is there as a whole or not at all.
        if not self.weights.is_file():
            from benchmarks.train import train

            train(self.data, self.folder, self.name, SEED)

    @property
    def onnx(self) -> Path:
        return self.folder / f"{self.name}.onnx"

    @property
    def weights(self) -> Path:
        return self.folder / f"{self.name}.pt"

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.onnx)

    @cached_property
    def graph(self) -> Graph:
        return load_graph(self.data, self.name)

    @cached_property
    def bench(self) -> Bench:
        return open_bench(self.graph, self.onnx, Scope(seed=SEED))

    @cached_property
    def bounds(self) -> np.ndarray:
        """At most how many explanations of the usual size each node has."""
        return subtree_bounds(self.graph, Scope().max_nodes)

    @cached_property
    def network(self) -> "Network":
        """The same model seen from inside, checked against the ONNX file on the whole graph."""
        from benchmarks.paper.network import Network

        network = Network(self.graph, self.weights)
        inside = network.whole()[1].log_softmax(1).numpy()
        difference = float(np.abs(np.exp(inside) - np.exp(self.bench.whole)).max())
        assert difference < SAME, f"{self.name}: weights and ONNX file differ by {difference}"
        return network

    @cached_property
    def accuracy(self) -> float:
        """The share of test nodes whose label the model gets right."""
        import torch

        return float(torch.load(self.weights, weights_only=True)["accuracy"])

    def test_nodes(self, count: int) -> list[int]:
        """Test nodes with a tie, in one random order: asking for more keeps those there are."""
        test = np.load(self.folder / f"{self.name}.test.npy")
        tied = test[np.diff(self.graph.starts)[test] > 0]
        return [int(node) for node in np.random.default_rng(SEED).permutation(tied)[:count]]

    def training_nodes(self, count: int) -> list[int]:
        """Nodes with a tie that are not in the test set."""
        able = np.diff(self.graph.starts) > 0
        able[np.load(self.folder / f"{self.name}.test.npy")] = False
        drawn = np.random.default_rng(SEED).permutation(np.flatnonzero(able))[:count]
        return [int(node) for node in drawn]
