"""What some models expect of their ties: self-loops added, weights normalised by degree.

The settings declare it. It is never guessed: a wrong guess would change every answer a little.
"""

from typing import Literal

import numpy as np

from recourse_audit.graph.arrays import Floats, Ints

Normalisation = Literal["none", "symmetric", "row"]


def missing_loops(sources: Ints, targets: Ints, count: int) -> Ints:
    """List the nodes that have no self-loop yet."""
    present = np.zeros(count, bool)
    present[sources[sources == targets]] = True
    return np.flatnonzero(~present)


def normalise(
    weight: Floats, sources: Ints, targets: Ints, count: int, how: Normalisation
) -> Floats:
    """Scale the weights of arcs by the degrees of their ends, as GCN or a mean would.

    Symmetric: w / sqrt(d_source d_target); row: w / d_target. A degree is the sum of the weights
    that arrive at a node; a node at which nothing arrives keeps zeros.
    """
    if how == "none":
        return weight
    degree = np.bincount(targets, weights=weight, minlength=count)
    with np.errstate(divide="ignore"):
        scale = degree**-0.5 if how == "symmetric" else 1.0 / degree
    scale[~np.isfinite(scale)] = 0.0
    scaled = weight * scale[targets]
    return scaled * scale[sources] if how == "symmetric" else scaled


def adjacency(
    weight: Floats, sources: Ints, targets: Ints, count: int, *, rows_are_targets: bool
) -> Floats:
    """Write the arcs into a dense matrix; parallel arcs add up, as their messages would."""
    row, column = (targets, sources) if rows_are_targets else (sources, targets)
    cells = np.bincount(row * count + column, weights=weight, minlength=count * count)
    return cells.reshape(count, count).astype(np.float64, copy=False)
