"""Real graphs for the benchmarks: `.npz` files in a folder that the user names."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import from_arrays
from recourse_audit.groups.redraws import Network

# These hold word counts. As in PyG, only whether a word occurs is used.
WORD_COUNTS = ("amazon_", "coauthor_")
LABELLED = ("cora", "german", "nba", "tolokers")


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


def labelled_graphs(folder: Path) -> dict[str, Callable[[], tuple[Network, np.ndarray]]]:
    """The sets of the folder with a class for each node, as who is tied to whom and yes or no.

    Yes is the most frequent class of several.
    """
    there = [name for name in LABELLED if (folder / f"{name}.npz").is_file()]
    return {name: partial(_labelled, folder, name) for name in there}


def _labelled(folder: Path, name: str) -> tuple[Network, np.ndarray]:
    graph, label = load_graph(folder, name), load_arrays(folder, name)["y"]
    values, counts = np.unique(label, return_counts=True)
    yes = (label == values[counts.argmax()]).astype(float)
    network = Network(people=graph.node_count, low=graph.pair_low, high=graph.pair_high)
    return network, yes
