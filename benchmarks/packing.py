"""How much faster small graphs are answered side by side than one by one (GCN sample)."""

import time

import numpy as np

from benchmarks.search_speed import SAMPLE, open_sample, report
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.queries import pool_of
from recourse_audit.search.evaluation import place_in, sort_rows, tree_union
from recourse_audit.search.subtrees import LocalGraph, subtrees

GRAPHS = 2_000
ROUNDS = 5


def main() -> None:
    bench = open_sample(SAMPLE)
    subject = int(np.argmax(np.diff(bench.graph.starts)))
    local = LocalGraph(bench.graph, np.array([subject]), 2)
    *_, level = subtrees(local, 4)
    some = np.random.default_rng(0).choice(len(level), GRAPHS, replace=False)
    nodes, ties = sort_rows(level.nodes[:, some]), sort_rows(level.ties[:, some])
    union = tree_union(bench.graph, local, nodes, ties, with_ties=False)
    rows = np.arange(GRAPHS) * 4 + place_in(nodes, level.nodes[0, some])
    alone = QueryBatcher(bench.model, pool_of(bench.graph), graphs_per_query=1)
    seconds = {"packed": 0.0, "single": 0.0}
    for _ in range(ROUNDS):
        start = time.perf_counter()
        packed = bench.batcher.ask(union, rows)
        middle = time.perf_counter()
        single = alone.ask(union, rows)
        seconds["single"] += time.perf_counter() - middle
        seconds["packed"] += middle - start
    report("packed_vs_single", seconds["single"] / seconds["packed"])
    report("packed_vs_single_largest_difference", float(np.abs(packed - single).max()))


if __name__ == "__main__":
    main()
