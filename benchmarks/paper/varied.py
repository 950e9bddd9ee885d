"""Quality and time a node by C and D (Fig. 6 and 7)."""

from benchmarks.paper.cache import Kept
from benchmarks.paper.moexp import search_all
from benchmarks.paper.paper_datasets import Place
from benchmarks.paper.plans import Plan

VARIED = "varied"


def vary(kept: Kept, place: Place, plan: Plan) -> None:
    """Search again with other C and D."""
    subjects = place.test_nodes(plan.varied_nodes)
    for size in plan.sizes_varied:
        search_all(kept, VARIED, place, size, subjects)
