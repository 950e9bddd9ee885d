"""Table III: every method on every graph, with the same subjects and the same ONNX file."""

import time

from benchmarks.paper.cache import Key, ResultCache
from benchmarks.paper.datasets import Dataset
from benchmarks.paper.explanations import grown, pairs_around
from benchmarks.paper.moexp import search_all
from benchmarks.paper.plans import Plan
from benchmarks.paper.scoring import Scorer
from benchmarks.paper.tie_weights import OPENERS

PART = "table"


def fill_table(cache: ResultCache, dataset: Dataset, plan: Plan) -> None:
    """Compute the missing results in a graph's row."""
    subjects = dataset.test_nodes(plan.nodes)
    search_all(cache, PART, dataset, plan.size, subjects)
    setting = plan.size.setting(dataset.fingerprint)
    for method in OPENERS:
        keys = [
            Key(part=PART, graph=dataset.name, method=method, subject=subject, setting=setting)
            for subject in subjects
        ]
        missing = [key for key in keys if not cache.has(key)]
        if missing:
            explain_all(cache, dataset, plan, method, missing)


def explain_all(
    cache: ResultCache, dataset: Dataset, plan: Plan, method: str, missing: list[Key]
) -> None:
    """Weigh ties, build, score and cache, subject by subject; only the weighing is timed."""
    graph = dataset.graph
    scorer = Scorer(graph, dataset.bench.batcher, dataset.bench.whole)
    weigher = OPENERS[method](dataset)
    for key in missing:
        pairs = pairs_around(graph, key.subject, plan.max_hops)
        start = time.perf_counter()
        weights = weigher.weights(key.subject, pairs)
        seconds = time.perf_counter() - start
        tree = grown(graph, key.subject, pairs, weights, plan.max_nodes)
        scored = scorer.score(key.subject, tree)
        cache.put(
            key,
            {
                "simulatability": scored.simulatability,
                "relevance": scored.relevance,
                "ties": len(scored.tree),
                "removed": len(scored.removed),
                "seconds": seconds,
                "preparation": weigher.preparation,
            },
        )
