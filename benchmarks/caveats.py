"""How much time adjusted effects add to a search, one subject at a time."""

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.datasets import load_graph
from benchmarks.engines import Bench, alone, open_bench
from benchmarks.search_speed import SAMPLE, open_sample, report, some_subjects
from recourse_audit.caveats.effects import Caveats
from recourse_audit.search.results import Scope
from recourse_audit.settings import CaveatSettings

DEPTH = 2
WARM_UP = 2


def added_by_caveats(bench: Bench, name: str, count: int, most: float) -> None:
    """Print the time of all caveats divided by the time of the searches they belong to."""
    caveats = Caveats(
        bench.graph, bench.batcher, bench.decisions, DEPTH, CaveatSettings(), bench.scope.seed
    )
    everybody = np.arange(bench.graph.node_count)
    decided = bench.decisions.classes_of(bench.whole, everybody).tolist()
    searching = adjusting = 0.0
    subjects = some_subjects(bench, count, 2, most, seed=3)
    for number, subject in enumerate([*subjects[:WARM_UP].tolist(), *subjects.tolist()]):
        start = time.perf_counter()
        [result] = bench.search.run_block(alone(subject))
        middle = time.perf_counter()
        found = caveats.on(result, bench.decisions.classes, decided[subject])
        end = time.perf_counter()
        if number >= WARM_UP:
            searching += middle - start
            adjusting += end - middle
            assert found
    report(f"caveats_added_{name}", adjusting / searching)
    print(f"# {name}: {len(subjects)} subjects, {CaveatSettings().draws} draws")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the npz data sets")
    parser.add_argument("--models", type=Path, help="folder with the models (see benchmarks.train)")
    options = parser.parse_args(argv)
    added_by_caveats(open_sample(SAMPLE), "lending", 100, 60_000)
    if options.data is None or options.models is None:
        return
    for name, count, most in (("cora", 100, 30_000), ("german", 8, 400_000)):
        graph = load_graph(options.data, name)
        bench = open_bench(graph, options.models / f"{name}.onnx", Scope())
        added_by_caveats(bench, name, count, most)


if __name__ == "__main__":
    main()
