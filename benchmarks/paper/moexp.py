"""Our side: one search per subject, which sees nothing but the ONNX file.

The choices of GNN-MOExp, Shapley and MOEB are made from the same pairs. MOEB takes the most
balanced pair of the Pareto front; that is how we read the paper, which says that MOEB suffers
where the front is dented.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.paper.cache import Key, ResultCache
from benchmarks.paper.datasets import SEED, Dataset
from benchmarks.paper.plans import Size
from benchmarks.paper.published import OURS
from recourse_audit.records.search import FrontPair, SearchResult
from recourse_audit.search.evaluation import Scope
from recourse_audit.search.moexp import Block, Search

BALANCED = "MOEB"
# Our names for the baselines of a search's result. Only the first is in the paper's table.
BASELINES = {
    "Shapley": "shapley",
    "balanced of all": "balanced",
    "any pair": "random",
    "best ν": "simulatability",
    "best μ": "relevance",
}


def search_all(
    cache: ResultCache, part: str, dataset: Dataset, size: Size, subjects: list[int]
) -> None:
    """Search for each subject without a result, one at a time; cache what each method chooses."""
    setting = size.setting(dataset.fingerprint)
    missing = [
        subject
        for subject in subjects
        if not all(
            cache.has(_key(part, dataset, method, subject, setting)) for method in (BALANCED, OURS)
        )
    ]
    if not missing:
        return
    search = search_of(dataset, size)
    # A warm-up: the first search in a process also pays for one-time costs.
    searched(search, dataset, size, missing[0])
    for subject in missing:
        start = time.perf_counter()
        result = searched(search, dataset, size, subject)
        seconds = time.perf_counter() - start
        for method, document in _documents(result, seconds):
            cache.put(_key(part, dataset, method, subject, setting), document)


def _key(part: str, dataset: Dataset, method: str, subject: int, setting: str) -> Key:
    return Key(part=part, graph=dataset.name, method=method, subject=subject, setting=setting)


def search_of(dataset: Dataset, size: Size) -> Search:
    """A search of the given size over a data set."""
    bench = dataset.bench
    scope = Scope(max_nodes=size.max_nodes, max_hops=size.max_hops, budget=size.budget, seed=SEED)
    return Search(bench.graph, bench.batcher, bench.decisions, scope)


def searched(search: Search, dataset: Dataset, size: Size, subject: int) -> SearchResult:
    """Search for one subject alone."""
    # A bound on the subtrees of C = 4 nodes also holds for smaller C; for larger C there is none.
    bound = dataset.bounds[[subject]] if size.max_nodes <= 4 else np.array([np.inf])
    block = Block(subjects=np.array([subject]), bounds=bound)
    [result] = search.run_block(block)
    assert isinstance(result, SearchResult), result
    return result


def _documents(result: SearchResult, seconds: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """One document per method; ours comes last and, when resuming, shows that a subject is done."""
    about = {
        "seconds": seconds,
        "subgraphs": result.extent.subgraphs,
        "queries": result.extent.queries,
        "coverage": result.extent.coverage,
    }
    for method, name in BASELINES.items():
        yield method, _figures(result.baselines[name]) | about
    figures = _figures(most_balanced(result.front))
    yield BALANCED, figures | about | {"front": result.front_size, "listed": len(result.front)}
    best = result.counterfactuals[0]
    chosen = FrontPair(
        edges=best.explanation.edges,
        removed=best.removed,
        simulatability=best.simulatability,
        relevance=best.relevance,
    )
    yield OURS, _figures(chosen) | about


def most_balanced(front: Sequence[FrontPair]) -> FrontPair:
    """Return the pair whose two ranks among the pairs of the front are closest.

    If several are equally close, the best rank sum wins, then the highest simulatability. Pairs of
    the front that a result does not list are not considered.
    """
    first = np.array([pair.simulatability for pair in front])
    second = np.array([pair.relevance for pair in front])
    ranks = [len(x) - np.sort(x).searchsorted(x, side="right") for x in (first, second)]
    apart, total = np.abs(ranks[0] - ranks[1]), ranks[0] + ranks[1]
    return front[int(np.lexsort((-first, total, apart))[0])]


def _figures(pair: FrontPair) -> dict[str, Any]:
    return {
        "simulatability": pair.simulatability,
        "relevance": pair.relevance,
        "ties": len(pair.edges),
        "removed": len(pair.removed),
    }
