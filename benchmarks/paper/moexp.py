"""Our side: one search a subject, which sees nothing but the ONNX file.

The choice of GNN-MOExp, and what Shapley and MOEB would have chosen, come from the same pairs.
MOEB takes the most balanced pair of the Pareto front: so we read the paper, which says that
it suffers from dents in the front.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.paper.cache import Kept, Key
from benchmarks.paper.paper_datasets import SEED, Place
from benchmarks.paper.plans import Size
from benchmarks.paper.published import OURS
from recourse_audit.records.search import FrontPair, SearchResult
from recourse_audit.search.blocks import Block
from recourse_audit.search.moexp import Search
from recourse_audit.search.results import Scope

BALANCED = "MOEB"
# The names that picks have in a search's result. All but the first are for the record.
PICKS = {
    "Shapley": "shapley",
    "balanced of all": "balanced",
    "any pair": "random",
    "best ν": "simulatability",
    "best μ": "relevance",
}


def search_all(kept: Kept, part: str, place: Place, size: Size, subjects: list[int]) -> None:
    """Search for every subject that has no result yet, one at a time, and keep all picks."""
    settled = size.setting(place.fingerprint)
    missing = [
        subject
        for subject in subjects
        if not all(
            kept.holds(_key(part, place, method, subject, settled)) for method in (BALANCED, OURS)
        )
    ]
    if not missing:
        return
    search = search_of(place, size)
    # The first search of a process pays for what all others find ready.
    searched(search, place, size, missing[0])
    for subject in missing:
        start = time.perf_counter()
        result = searched(search, place, size, subject)
        seconds = time.perf_counter() - start
        for method, document in _documents(result, seconds):
            kept.put(_key(part, place, method, subject, settled), document)


def _key(part: str, place: Place, method: str, subject: int, settled: str) -> Key:
    return Key(part=part, graph=place.name, method=method, subject=subject, setting=settled)


def search_of(place: Place, size: Size) -> Search:
    """A search of some size over a graph."""
    bench = place.bench
    classes = [str(number) for number in range(bench.whole.shape[1])]
    scope = Scope(max_nodes=size.max_nodes, max_hops=size.max_hops, budget=size.budget, seed=SEED)
    return Search(bench.graph, bench.batcher, bench.whole, classes, scope)


def searched(search: Search, place: Place, size: Size, subject: int) -> SearchResult:
    """What is found for one subject alone."""
    # What bounds the subtrees of C = 4 nodes bounds those of fewer; for more there is none.
    bound = place.bounds[[subject]] if size.max_nodes <= 4 else np.array([np.inf])
    block = Block(subjects=np.array([subject]), bounds=bound)
    [result] = search.run_block(block)
    assert isinstance(result, SearchResult), result
    return result


def _documents(result: SearchResult, seconds: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """A document for every way of choosing; ours last, which stands for all when resuming."""
    about = {
        "seconds": seconds,
        "subgraphs": result.subgraphs,
        "queries": result.queries,
        "coverage": result.coverage.kind,
    }
    for method, name in PICKS.items():
        pick = result.picks[name]
        yield (
            method,
            _figures(pick.simulatability, pick.relevance, pick.edges, pick.removed) | about,
        )
    pair = most_balanced(result.front)
    figures = _figures(pair.simulatability, pair.relevance, pair.edges, pair.removed)
    yield BALANCED, figures | about | {"front": result.front_size, "listed": len(result.front)}
    best = result.counterfactuals[0]
    figures = _figures(best.simulatability, best.relevance, best.explanation.edges, best.removed)
    yield OURS, figures | about


def most_balanced(front: Sequence[FrontPair]) -> FrontPair:
    """The pair whose ranks in the two objectives, among the pairs of the front, are closest.

    Of several the best rank sum, then the most simulatable. Pairs beyond those that a result lists
    are not known.
    """
    first = np.array([pair.simulatability for pair in front])
    second = np.array([pair.relevance for pair in front])
    ranks = [len(x) - np.sort(x).searchsorted(x, side="right") for x in (first, second)]
    apart, total = np.abs(ranks[0] - ranks[1]), ranks[0] + ranks[1]
    return front[int(np.lexsort((-first, total, apart))[0])]


def _figures(
    simulatability: float, relevance: float, edges: tuple[Any, ...], removed: tuple[Any, ...]
) -> dict[str, Any]:
    return {
        "simulatability": simulatability,
        "relevance": relevance,
        "ties": len(edges),
        "removed": len(removed),
    }
