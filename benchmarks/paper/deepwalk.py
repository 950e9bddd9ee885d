"""EMB: how similar the two ends of a tie are in a DeepWalk embedding; needs torch.

Random walks from every node train a skip-gram model (Perozzi et al., 2014, with negative sampling,
which has since become standard). The weight of a tie is the cosine similarity of its ends.
"""

import numpy as np
import torch

from recourse_audit.graph.graph import Graph

WALKS, LENGTH, WINDOW, DIMENSIONS, NEGATIVES = 5, 20, 5, 64, 3
BATCH = 20_000
RATE = 0.01


def similarities(graph: Graph) -> np.ndarray:
    """The cosine similarity of the ends of every pair."""
    found = embedding(graph, seed=0)
    found /= np.linalg.norm(found, axis=1, keepdims=True) + 1e-12
    chunks = np.array_split(np.arange(graph.pair_count), graph.pair_count // 100_000 + 1)
    return np.concatenate(
        [(found[graph.pair_low[p]] * found[graph.pair_high[p]]).sum(axis=1) for p in chunks]
    )


def walks(graph: Graph, random: np.random.Generator) -> np.ndarray:
    """Draw one walk from every node that has a tie; one row per walk."""
    degree = np.diff(graph.starts)
    node = random.permutation(np.flatnonzero(degree > 0))
    steps = [node]
    for _ in range(LENGTH - 1):
        node = graph.neighbour[
            graph.starts[node] + (random.random(len(node)) * degree[node]).astype(int)
        ]
        steps.append(node)
    return np.stack(steps, axis=1)


def embedding(graph: Graph, seed: int) -> np.ndarray:
    """Embed the nodes so that nodes close to each other on walks are similar."""
    random = np.random.default_rng(seed)
    torch.manual_seed(seed)
    inner = torch.nn.Embedding(graph.node_count, DIMENSIONS, sparse=True)
    outer = torch.nn.Embedding(graph.node_count, DIMENSIONS, sparse=True)
    torch.nn.init.uniform_(inner.weight, -0.5 / DIMENSIONS, 0.5 / DIMENSIONS)
    torch.nn.init.zeros_(outer.weight)
    optimiser = torch.optim.SparseAdam([inner.weight, outer.weight], lr=RATE)
    frequency = np.diff(graph.starts) ** 0.75
    drawn_from = np.cumsum(frequency / frequency.sum())
    for _ in range(WALKS):
        centre, context = _met(walks(graph, random))
        order = random.permutation(len(centre))
        for batch in np.array_split(order, len(order) // BATCH + 1):
            others = drawn_from.searchsorted(random.random((len(batch), NEGATIVES)))
            others = np.minimum(others, graph.node_count - 1)
            optimiser.zero_grad()
            own = inner(torch.from_numpy(centre[batch].astype(np.int64)))
            near = outer(torch.from_numpy(context[batch].astype(np.int64)))
            far = outer(torch.from_numpy(others.astype(np.int64)))
            close = torch.nn.functional.logsigmoid((own * near).sum(1)).mean()
            apart = torch.nn.functional.logsigmoid(-(far @ own[:, :, None]).squeeze(2)).sum(1)
            (-close - apart.mean()).backward()
            optimiser.step()
    return inner.weight.detach().numpy().copy()


def _met(walk: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of nodes within a window of each other on a walk, in both orders."""
    ahead = [(walk[:, :-gap].ravel(), walk[:, gap:].ravel()) for gap in range(1, WINDOW + 1)]
    first = np.concatenate([one for one, _ in ahead])
    second = np.concatenate([other for _, other in ahead])
    return np.concatenate((first, second)), np.concatenate((second, first))
