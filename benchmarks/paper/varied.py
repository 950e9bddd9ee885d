"""Quality and time per node by C and D (Figs. 6 and 7)."""

from benchmarks.paper.cache import ResultCache
from benchmarks.paper.datasets import Dataset
from benchmarks.paper.moexp import search_all
from benchmarks.paper.plans import Plan

VARIED = "varied"


def vary(cache: ResultCache, dataset: Dataset, plan: Plan) -> None:
    """Search again with other values of C and D."""
    subjects = dataset.test_nodes(plan.varied_nodes)
    for size in plan.sizes_varied:
        search_all(cache, VARIED, dataset, size, subjects)
