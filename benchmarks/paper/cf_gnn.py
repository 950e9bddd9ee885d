"""CF-GNNExplainer (Lucic et al., 2022), implemented for our GCN; needs torch.

A mask over the ties around a subject is lowered until the thresholded mask changes the decision.
The loss is 1[same decision] log p(decision) + β |removed|. As in the authors' code, the distance
term does not contribute to the gradient, since it is computed from the thresholded mask. Nothing
moves once the decision has changed, so we stop there instead of taking the remaining steps. The
settings are theirs: 500 steps, learning rate 0.1, a mask that starts at one, gradients clipped to
a norm of 2. Degrees follow the mask, but no gradient flows through them. Only the ties are stored,
not a dense matrix, which makes this faster than their code and changes nothing else. `DenseMask`
works as theirs does, for comparing times.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from benchmarks.paper.explanations import pairs_around
from benchmarks.paper.network import Network
from recourse_audit.graph.neighbourhoods import reach

STEPS, RATE, LONGEST, DEPTH = 500, 0.1, 2.0, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The removed pairs, or None if the decision never changed, and the number of passes."""

    removed: tuple[int, ...] | None
    passes: int


class Mask(Protocol):
    """A mask around one subject: its number of weights, and the network's answer under it."""

    count: int

    def log_probabilities(self, mask: torch.Tensor) -> torch.Tensor: ...

    def removed(self, hard: torch.Tensor) -> tuple[int, ...]: ...


class TieMask:
    """One weight per tie around a subject."""

    def __init__(self, network: Network, subject: int) -> None:
        graph = network.graph
        self.pairs = pairs_around(graph, subject, DEPTH)
        nodes = reach(graph, np.array([subject]), DEPTH)
        low = np.searchsorted(nodes, graph.pair_low[self.pairs])
        high = np.searchsorted(nodes, graph.pair_high[self.pairs])
        self.count = len(self.pairs)
        self._pair = torch.arange(self.count).repeat(2)
        self._source = torch.from_numpy(np.concatenate((low, high)))
        self._target = torch.from_numpy(np.concatenate((high, low)))
        inside = np.bincount(np.concatenate((low, high)), minlength=len(nodes))
        self._outside = torch.from_numpy(network.degree[nodes] - inside).float()
        self._x = network.projected[nodes]
        self._state = network.state
        self._place = int(np.searchsorted(nodes, subject))

    def log_probabilities(self, mask: torch.Tensor) -> torch.Tensor:
        held = mask[self._pair]
        root = self._outside.index_add(0, self._target, held.detach()).rsqrt()
        weight = held * root[self._source] * root[self._target]
        own = root * root

        def spread(x: torch.Tensor) -> torch.Tensor:
            messages = weight[:, None] * x[self._source]
            return torch.zeros_like(x).index_add(0, self._target, messages) + own[:, None] * x

        hidden = (spread(self._x) + self._state["first.bias"]).relu()
        out = spread(hidden @ self._state["second.lin.weight"].T) + self._state["second.bias"]
        return out[self._place].log_softmax(0)

    def removed(self, hard: torch.Tensor) -> tuple[int, ...]:
        return tuple(self.pairs[hard.numpy() == 0].tolist())


class DenseMask:
    """One weight per pair of nodes, up to one hop beyond the depth of the network."""

    def __init__(self, network: Network, subject: int) -> None:
        graph = network.graph
        self._graph, self._nodes = graph, reach(graph, np.array([subject]), DEPTH + 1)
        size = len(self._nodes)
        self._rows, self._columns = torch.tril_indices(size, size)
        self.count = len(self._rows)
        self._pairs = pairs_around(graph, subject, DEPTH + 1)
        self._low = np.searchsorted(self._nodes, graph.pair_low[self._pairs])
        self._high = np.searchsorted(self._nodes, graph.pair_high[self._pairs])
        self._ties = torch.zeros(size, size)
        self._ties[self._low, self._high] = self._ties[self._high, self._low] = 1.0
        self._loops = torch.eye(size)
        state = self._state = network.state
        raw = torch.from_numpy(np.asarray(graph.features[self._nodes], np.float32))
        self._x = (raw - state["shift"]) / state["scale"]
        self._place = int(np.searchsorted(self._nodes, subject))

    def _square(self, mask: torch.Tensor) -> torch.Tensor:
        half = torch.zeros_like(self._ties).index_put((self._rows, self._columns), mask)
        return half + half.tril(-1).T

    def log_probabilities(self, mask: torch.Tensor) -> torch.Tensor:
        held = self._square(mask) * self._ties + self._loops
        scale = torch.diag(held.detach().sum(0) ** -0.5)
        spread = scale @ held @ scale
        state = self._state
        hidden = (spread @ (self._x @ state["first.lin.weight"].T) + state["first.bias"]).relu()
        out = spread @ (hidden @ state["second.lin.weight"].T) + state["second.bias"]
        return out[self._place].log_softmax(0)

    def removed(self, hard: torch.Tensor) -> tuple[int, ...]:
        gone = self._square(hard)[self._low, self._high].numpy() == 0
        return tuple(self._pairs[gone].tolist())


def counterfactual(
    network: Network,
    subject: int,
    masked: Callable[[Network, int], Mask] = TieMask,
    *,
    to_the_end: bool = False,
) -> Found:
    """Lower the mask until the decision changes, in at most 500 steps.

    `to_the_end` takes all steps, as the authors do, although nothing moves after the change.
    """
    mask = masked(network, subject)
    logits = torch.ones(mask.count, requires_grad=True)
    optimiser = torch.optim.SGD([logits], lr=RATE)
    with torch.no_grad():
        decided = int(mask.log_probabilities(torch.ones(mask.count)).argmax())
    found: Found | None = None
    for step in range(STEPS):
        optimiser.zero_grad()
        answer = mask.log_probabilities(logits.sigmoid())
        with torch.no_grad():
            hard = (logits.sigmoid() >= 0.5).float()
            changed = int(mask.log_probabilities(hard).argmax()) != decided
        if changed and found is None:
            found = Found(removed=mask.removed(hard), passes=2 * step + 3)
        if changed and not to_the_end:
            break
        (answer[decided] * (not changed)).backward()
        torch.nn.utils.clip_grad_norm_([logits], LONGEST)
        optimiser.step()
    return found or Found(removed=None, passes=2 * STEPS + 1)
