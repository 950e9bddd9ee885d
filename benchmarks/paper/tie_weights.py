"""The methods of Table III that weigh ties; all but RND need torch.

Each is opened once per graph and then gives, for a subject, a weight to every pair that an
explanation may contain. Where a method gives the two directions of a tie separate weights, the
larger one counts; Grad adds them up, since removing a tie removes both.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from benchmarks.paper.datasets import Dataset
from recourse_audit.graph.graph import Graph

EXPLAINER_EPOCHS = 200
PG_EPOCHS, PG_NODES = 30, 50
# What PyG's explainers need to know about the network.
NODE_CLASSIFIER = {
    "mode": "multiclass_classification",
    "task_level": "node",
    "return_type": "raw",
}


class Weigher(Protocol):
    """A method that weighs ties, and the seconds that it took to prepare."""

    preparation: float

    def weights(self, subject: int, pairs: np.ndarray) -> np.ndarray: ...


class RandomWeights:
    """RND: uniformly random weights."""

    preparation = 0.0

    def weights(self, subject: int, pairs: np.ndarray) -> np.ndarray:
        return np.random.default_rng((subject, 5)).random(len(pairs))


class FixedWeights:
    """EMB and GAT: weights of all pairs of the graph, computed beforehand."""

    def __init__(self, table: np.ndarray, preparation: float) -> None:
        self._table = table
        self.preparation = preparation

    def weights(self, subject: int, pairs: np.ndarray) -> np.ndarray:
        del subject
        return np.asarray(self._table[pairs])


class Gradients:
    """Grad: the gradient of the decision's log-probability with respect to each tie's message."""

    preparation = 0.0

    def __init__(self, dataset: Dataset) -> None:
        self._network = dataset.network
        self._tail = dataset.network.tail()

    def weights(self, subject: int, pairs: np.ndarray) -> np.ndarray:
        import torch

        part = self._network.part(subject)
        mask = torch.ones(len(part.pair), requires_grad=True)
        logits = self._tail(part.x, part.edge_index, part.edge_weight * mask, part.self_weight)
        answer = logits[part.place].log_softmax(0)
        (gradient,) = torch.autograd.grad(answer.max(), mask)
        total = np.zeros(len(pairs))
        np.add.at(total, np.searchsorted(pairs, part.pair), gradient.numpy())
        return np.abs(total)


class Masks:
    """GNNExplainer and PGExplainer from PyG, on the part of the graph that matters."""

    def __init__(self, dataset: Dataset, algorithm: Callable[[], object]) -> None:
        from torch_geometric.explain import Explainer

        self._network = dataset.network
        start = time.perf_counter()
        made = algorithm()
        learns = hasattr(made, "mlp")
        self._explainer = Explainer(
            dataset.network.tail(),
            algorithm=made,
            explanation_type="phenomenon" if learns else "model",
            edge_mask_type="object",
            model_config=NODE_CLASSIFIER,
        )
        if learns:
            self._train(dataset)
        self.preparation = time.perf_counter() - start

    def _train(self, dataset: Dataset) -> None:
        import torch

        torch.manual_seed(0)
        algorithm, model = self._explainer.algorithm, self._explainer.model
        parts = [self._network.part(node) for node in dataset.training_nodes(PG_NODES)]
        targets = [
            model(part.x, part.edge_index, **part.feeds).argmax(1).detach() for part in parts
        ]
        for epoch in range(PG_EPOCHS):
            for part, target in zip(parts, targets, strict=True):
                algorithm.train(
                    epoch,
                    model,
                    part.x,
                    part.edge_index,
                    target=target,
                    index=part.place,
                    **part.feeds,
                )

    def weights(self, subject: int, pairs: np.ndarray) -> np.ndarray:
        import torch

        torch.manual_seed(subject)
        part = self._network.part(subject)
        target = None
        if hasattr(self._explainer.algorithm, "mlp"):
            with torch.no_grad():
                model = self._explainer.model
                target = model(part.x, part.edge_index, **part.feeds).argmax(1)
        found = self._explainer(
            part.x, part.edge_index, index=part.place, target=target, **part.feeds
        )
        total = np.zeros(len(pairs))
        mask = found.edge_mask.detach().numpy()
        np.maximum.at(total, np.searchsorted(pairs, part.pair), mask)
        return total


def gnn_explainer(dataset: Dataset) -> Weigher:
    from torch_geometric.explain import GNNExplainer

    return Masks(dataset, lambda: GNNExplainer(epochs=EXPLAINER_EPOCHS))


def pg_explainer(dataset: Dataset) -> Weigher:
    from torch_geometric.explain import PGExplainer

    return Masks(dataset, lambda: PGExplainer(epochs=PG_EPOCHS))


def embedded(dataset: Dataset) -> Weigher:
    from benchmarks.paper.deepwalk import similarities

    return _fixed(dataset, "emb", similarities)


def attended(dataset: Dataset) -> Weigher:
    from benchmarks.paper.attention import attention

    return _fixed(dataset, "gat", lambda graph: attention(graph, dataset))


def _fixed(dataset: Dataset, name: str, make: Callable[[Graph], np.ndarray]) -> Weigher:
    """The weights of all pairs, computed once and saved in the working folder."""
    path: Path = dataset.folder / f"{dataset.name}.{name}.{dataset.fingerprint}.npz"
    if not path.is_file():
        start = time.perf_counter()
        table = make(dataset.graph)
        seconds = time.perf_counter() - start
        half_written = path.with_suffix(".part.npz")
        np.savez(half_written, table=table, seconds=seconds)
        half_written.rename(path)
    with np.load(path) as archive:
        return FixedWeights(archive["table"], float(archive["seconds"]))


OPENERS: dict[str, Callable[[Dataset], Weigher]] = {
    "RND": lambda _: RandomWeights(),
    "EMB": embedded,
    "Grad": Gradients,
    "GAT": attended,
    "GNNExp": gnn_explainer,
    "PGExp": pg_explainer,
}
