"""The two objectives of the paper: simulatability ν, eq. (4), and relevance μ, eq. (5).

Both in float64 with natural logarithms. They are compared as whole multiples of 1e-6, the
resolution of a float32 model, so that noise below it breaks no tie.
"""

import numpy as np

from recourse_audit.graph.arrays import Floats

RESOLUTION = 1e-6


def simulatability(whole: Floats, subgraph: Floats) -> Floats:
    """Minus the symmetric Kullback-Leibler divergence between answers, row by row.

    Both are log-probabilities; `whole` may be one row for all. Zero is the best, and reached only
    where the subgraph gives exactly the answer of the whole graph.
    """
    total = np.zeros(len(subgraph))
    for one, other in zip(whole.T, subgraph.T, strict=True):
        total += (np.exp(one) - np.exp(other)) * (other - one)
    return total


def comparable(values: Floats) -> Floats:
    """Count in steps of the resolution; equal results are equal for every comparison."""
    steps: Floats = values * (1.0 / RESOLUTION)
    return np.rint(steps, out=steps)
