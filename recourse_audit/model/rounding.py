"""How far apart two answers to one question may be, and still be the same but for rounding."""

import numpy as np

from recourse_audit.graph.arrays import Floats
from recourse_audit.model.batching import QueryBatcher

NOISE = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-9}
# Answers within so many times the noise of a line are close to it.
CLOSE = 10


def noise_of(batcher: QueryBatcher) -> float:
    """How far two answers to one question may be apart, by the precision of the output."""
    return NOISE.get(batcher.model.signature.output.dtype, NOISE["float32"])


def same_answer(near: Floats, whole: Floats, noise: float, *, scores: bool = False) -> bool:
    """Whether two rows of log-probabilities, or two scores, are the same but for rounding."""
    alike = np.abs(near - whole) <= noise * (1 + np.abs(whole).max())
    if scores:
        return bool(alike.all())
    # The last bit of a probability near 1 moves the logarithm of the other one, near 0, a lot.
    alike |= np.abs(np.exp(near) - np.exp(whole)) <= noise / 10
    return bool(alike.all())
