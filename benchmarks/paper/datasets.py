"""A graph with its trained model: the ONNX file for our side, the weights for other methods.

Models are trained once and stay in the working folder; a graph is loaded when first needed.
`benchmarks.datasets` reads the files.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.datasets import load_graph
from benchmarks.engines import Bench, open_bench
from benchmarks.paper.cache import fingerprint
from recourse_audit.graph.graph import Graph
from recourse_audit.search.evaluation import Scope
from recourse_audit.search.moexp import subtree_bounds

if TYPE_CHECKING:
    from benchmarks.paper.network import Network

SEED = 0
SAME = 1e-3


class Dataset:
    """One data set and everything made from it."""

    def __init__(self, data: Path, work: Path, name: str) -> None:
        self.data, self.name = data, name
        self.folder = work / "models"
        self._train_once()

    def _train_once(self) -> None:
        # The weights are written last, so that a model is complete or absent.
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
        """An upper bound on each node's number of explanations of the default size."""
        return subtree_bounds(self.graph, Scope().max_nodes)

    @cached_property
    def network(self) -> "Network":
        """The same model with its weights, checked against the ONNX file on the whole graph."""
        from benchmarks.paper.network import Network

        network = Network(self.graph, self.weights)
        inside = network.whole()[1].log_softmax(1).numpy()
        difference = float(np.abs(np.exp(inside) - np.exp(self.bench.whole)).max())
        assert difference < SAME, f"{self.name}: weights and ONNX file differ by {difference}"
        return network

    @cached_property
    def accuracy(self) -> float:
        """The share of test nodes that the model labels correctly."""
        import torch

        return float(torch.load(self.weights, weights_only=True)["accuracy"])

    def test_nodes(self, count: int) -> list[int]:
        """Test nodes with a tie, in a fixed random order, so that a larger count adds nodes."""
        test = np.load(self.folder / f"{self.name}.test.npy")
        tied = test[np.diff(self.graph.starts)[test] > 0]
        return [int(node) for node in np.random.default_rng(SEED).permutation(tied)[:count]]

    def training_nodes(self, count: int) -> list[int]:
        """Nodes with a tie outside the test set, in a fixed random order."""
        able = np.diff(self.graph.starts) > 0
        able[np.load(self.folder / f"{self.name}.test.npy")] = False
        drawn = np.random.default_rng(SEED).permutation(np.flatnonzero(able))[:count]
        return [int(node) for node in drawn]
