"""Table III: every method on every graph, the same subjects, the same ONNX file to judge by."""

import time

from benchmarks.paper.explanations import grown, pairs_around
from benchmarks.paper.cache import Kept, Key
from benchmarks.paper.moexp import search_all
from benchmarks.paper.paper_datasets import Place
from benchmarks.paper.plans import Plan
from benchmarks.paper.scoring import Scorer
from benchmarks.paper.tie_weights import OPENERS

PART = "table"


def fill_table(kept: Kept, place: Place, plan: Plan) -> None:
    """Make what is missing of a graph's row."""
    subjects = place.test_nodes(plan.nodes)
    search_all(kept, PART, place, plan.size, subjects)
    settled = plan.size.setting(place.fingerprint)
    for method in OPENERS:
        keys = [
            Key(part=PART, graph=place.name, method=method, subject=subject, setting=settled)
            for subject in subjects
        ]
        missing = [key for key in keys if not kept.holds(key)]
        if missing:
            explain_all(kept, place, plan, method, missing)


def explain_all(kept: Kept, place: Place, plan: Plan, method: str, missing: list[Key]) -> None:
    """Weigh, build, score and keep, subject by subject; time is that of the weighing alone."""
    graph = place.graph
    scorer = Scorer(graph, place.bench.batcher, place.bench.whole)
    weighing = OPENERS[method](place)
    for key in missing:
        pairs = pairs_around(graph, key.subject, plan.max_hops)
        start = time.perf_counter()
        weights = weighing.weights(key.subject, pairs)
        seconds = time.perf_counter() - start
        tree = grown(graph, key.subject, pairs, weights, plan.max_nodes)
        scored = scorer.score(key.subject, tree)
        kept.put(
            key,
            {
                "simulatability": scored.simulatability,
                "relevance": scored.relevance,
                "ties": len(scored.tree),
                "removed": len(scored.removed),
                "seconds": seconds,
                "preparation": weighing.preparation,
            },
        )
