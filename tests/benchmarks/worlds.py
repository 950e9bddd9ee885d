"""Small data sets for the tests of the benchmarks, with an ONNX model and a working folder."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.datasets import Dataset
from tests.onnx_models import sum_network

NAME = "small"


def random_ties(count: int, seed: int) -> NDArray[np.int64]:
    """A connected random graph with cycles; both directions of every tie, as in PyG."""
    random = np.random.default_rng(seed)
    ties = {(int(random.integers(node)), node) for node in range(1, count)}
    while len(ties) < 2 * count:
        one, other = sorted(random.choice(count, 2, replace=False).tolist())
        ties.add((one, other))
    ends = np.array(sorted(ties)).T
    return np.concatenate((ends, ends[::-1]), axis=1)


def open_dataset(folder: Path, *, nodes: int = 18, seed: int = 0) -> Dataset:
    """A data set as a run finds it after training; only the weights are a placeholder."""
    features = np.random.default_rng(seed).normal(size=(nodes, 4)).astype(np.float32)
    data, models = folder / "data", folder / "work" / "models"
    data.mkdir(parents=True, exist_ok=True)
    models.mkdir(parents=True, exist_ok=True)
    labels = np.zeros(nodes, np.int64)
    np.savez(data / f"{NAME}.npz", x=features, edge_index=random_ties(nodes, seed), y=labels)
    sum_network(models / f"{NAME}.onnx", features=4, classes=3)
    np.save(models / f"{NAME}.test.npy", np.arange(nodes // 2))
    (models / f"{NAME}.pt").touch()
    return Dataset(data, folder / "work", NAME)
