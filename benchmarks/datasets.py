"""Real graphs for the benchmarks: `.npz` files in a folder that the user names."""

from pathlib import Path

import numpy as np

from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.readers import from_arrays

# These hold word counts. As in PyG, only whether a word occurs is used.
WORD_COUNTS = ("amazon_", "coauthor_")


def load_arrays(folder: Path, name: str) -> dict[str, np.ndarray]:
    """Load the arrays of one data set, with dense features."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    if "x" not in arrays:
        rows, width = (int(size) for size in arrays["x_shape"])
        x = np.zeros((rows, width), np.float32)
        owner = np.repeat(np.arange(rows), np.diff(arrays["x_indptr"]))
        x[owner, arrays["x_indices"]] = arrays["x_data"]
        arrays["x"] = x
    if name.startswith(WORD_COUNTS):
        arrays["x"] = np.minimum(arrays["x"], 1)
    return arrays


def load_graph(folder: Path, name: str) -> Graph:
    """Load one data set as a graph."""
    arrays = load_arrays(folder, name)
    names = arrays.get("feature_names")
    return from_arrays(
        arrays["x"], arrays["edge_index"], feature_names=None if names is None else names.tolist()
    )
