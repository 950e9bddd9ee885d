"""CF-GNNExplainer (Lucic and others, 2022), written for our GCN; needs torch.

A mask over the ties around a subject is lowered until the thresholded mask changes the decision:
loss 1[same decision] log p(decision) + β |removed|. As in its authors' code the distance does not
reach the mask's gradient, since it is taken from the thresholded mask; so, once the decision
changes, nothing moves any more, and we stop there instead of going on to the last step. Settings
are theirs: 500 steps, rate 0.1, the mask starts at one. Degrees follow the mask. Only the ties are
held, not a dense matrix, which makes it faster than theirs and changes nothing else.
"""

from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.paper.explanations import pairs_around
from benchmarks.paper.network import Network
from recourse_audit.graph.neighbourhoods import reach

STEPS, RATE, DEPTH = 500, 0.1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was removed, if the decision changed by the network's own account, and the passes."""

    removed: tuple[int, ...] | None
    passes: int


class CounterfactualMask:
    """A mask over the ties around one subject, and the network's answer under it."""

    def __init__(self, network: Network, subject: int) -> None:
        graph = network.graph
        self.pairs = pairs_around(graph, subject, DEPTH)
        nodes = reach(graph, np.array([subject]), DEPTH)
        low = np.searchsorted(nodes, graph.pair_low[self.pairs])
        high = np.searchsorted(nodes, graph.pair_high[self.pairs])
        count = len(self.pairs)
        self._pair = torch.from_numpy(np.concatenate((np.arange(count), np.arange(count))))
        self._source = torch.from_numpy(np.concatenate((low, high)))
        self._target = torch.from_numpy(np.concatenate((high, low)))
        inside = np.bincount(np.concatenate((low, high)), minlength=len(nodes))
        self._outside = torch.from_numpy(network.degree[nodes] - inside).float()
        self._x = network.projected[nodes]
        self._state = network.state
        self._place = int(np.searchsorted(nodes, subject))

    def log_probabilities(self, mask: torch.Tensor) -> torch.Tensor:
        held = mask[self._pair]
        degree = self._outside.index_add(0, self._target, held)
        root = degree.rsqrt()
        weight = held * root[self._source] * root[self._target]
        own = root * root

        def spread(x: torch.Tensor) -> torch.Tensor:
            messages = weight[:, None] * x[self._source]
            return torch.zeros_like(x).index_add(0, self._target, messages) + own[:, None] * x

        hidden = (spread(self._x) + self._state["first.bias"]).relu()
        out = spread(hidden @ self._state["second.lin.weight"].T) + self._state["second.bias"]
        return out[self._place].log_softmax(0)


def counterfactual(network: Network, subject: int) -> Found:
    """Lower the mask until the decision changes, 500 steps at most."""
    mask = CounterfactualMask(network, subject)
    logits = torch.ones(len(mask.pairs), requires_grad=True)
    optimiser = torch.optim.SGD([logits], lr=RATE)
    with torch.no_grad():
        decided = int(mask.log_probabilities(torch.ones(len(mask.pairs))).argmax())
    for step in range(STEPS):
        with torch.no_grad():
            hard = (logits.sigmoid() >= 0.5).float()
            changed = int(mask.log_probabilities(hard).argmax()) != decided
        if changed:
            removed = mask.pairs[hard.numpy() == 0]
            return Found(removed=tuple(removed.tolist()), passes=2 * step + 2)
        optimiser.zero_grad()
        mask.log_probabilities(logits.sigmoid())[decided].backward()
        optimiser.step()
    return Found(removed=None, passes=2 * STEPS + 1)
