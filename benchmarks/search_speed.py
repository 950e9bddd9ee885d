"""How close the search comes to the speed of the bare runtime, and what sharing queries adds.

Each line is `name: value`; the speeds are ratios of two things measured in the same run.
"""

import argparse
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import psutil

from benchmarks.datasets import load_graph
from benchmarks.engines import Bench, alone, open_bench, plain_search, search_against_runtime
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.readers import read_graph
from recourse_audit.search.evaluation import Scope
from recourse_audit.search.moexp import Block, subtree_bounds
from recourse_audit.settings import load_settings

SAMPLE = Path(__file__).parents[1] / "sample_models" / "lending"
ONE_BY_ONE = 60_000
PLAIN_SUBTREES = 400

_bench: Bench | None = None


def report(name: str, value: float) -> None:
    print(f"{name}: {value:.3g}", flush=True)


def open_sample(folder: Path) -> Bench:
    """The sample network with its GCN."""
    settings = load_settings(folder / "audit.toml")
    return open_bench(read_graph(settings.graph), settings.model.path, Scope())


def some_subjects(bench: Bench, count: int, least: float, most: float, seed: int) -> np.ndarray:
    """Draw subjects uniformly among those with a manageable number of subtrees."""
    bounds = subtree_bounds(bench.graph, bench.scope.max_nodes)
    bounds = bounds[: bench.graph.person_count]
    able = np.flatnonzero((bounds >= least) & (bounds <= most))
    return np.random.default_rng(seed).permutation(able)[:count]


def one_subject_at_a_time(bench: Bench, name: str, count: int, most: float) -> float:
    """Print our rate divided by the runtime's; return the runtime's answers per second."""
    subjects = some_subjects(bench, count, 2, most, seed=1)
    search_against_runtime(bench, subjects[:2])
    engine, runtime, answers = search_against_runtime(bench, subjects)
    report(f"search_vs_limit_{name}", runtime / engine)
    print(
        f"# {name}: {len(subjects)} subjects, {answers} answers, {answers / engine:.0f} per second"
    )
    return answers / runtime


def everyone_together(bench: Bench, name: str, limit: float) -> float:
    """Print our rate for a whole population divided by the runtime's; return our rate."""
    bounds = subtree_bounds(bench.graph, bench.scope.max_nodes)
    subjects = np.flatnonzero(bounds[: bench.graph.person_count] <= bench.scope.budget)
    before = bench.batcher.graphs
    start = time.perf_counter()
    answers = sum(outcome.extent.queries - 1 for outcome in bench.search.run(subjects))
    rate = answers / (time.perf_counter() - start)
    report(f"population_vs_limit_{name}", rate / limit)
    report(f"sharing_{name}", answers / (bench.batcher.graphs - before))
    print(f"# {name}: {len(subjects)} of {bench.graph.person_count} subjects, {answers} answers")
    return rate


def against_the_plain_way(bench: Bench, name: str, population: float) -> float:
    """Print both rates divided by that of the paper's plain algorithm; return the plain rate."""
    subjects = some_subjects(bench, 40, 20, 5_000, seed=2)
    engine = plain = 0.0
    done = 0
    for subject in subjects.tolist():
        start = time.perf_counter()
        found = plain_search(bench, subject)
        middle = time.perf_counter()
        [result] = bench.search.run_block(alone(subject))
        engine += time.perf_counter() - middle
        plain += middle - start
        assert result.extent.subgraphs == found, "the two searches count different subgraphs"
        done += found
    report(f"search_vs_naive_{name}", plain / engine)
    report(f"population_one_core_vs_naive_{name}", population * plain / done)
    return done / plain


def _start_worker(graph: Graph, model: Path, scope: Scope) -> None:
    global _bench  # noqa: PLW0603
    _bench = open_bench(graph, model, scope)


def _work(block: Block) -> int:
    assert _bench is not None
    return sum(outcome.extent.queries - 1 for outcome in _bench.search.run_block(block))


def on_two_cores(bench: Bench, model: Path, name: str, plain: float, one_core: float) -> None:
    """Search the population again with two processes, starting with the largest blocks."""
    bounds = subtree_bounds(bench.graph, bench.scope.max_nodes)
    blocks = list(bench.search.blocks(np.flatnonzero(bounds <= bench.scope.budget)))
    blocks.sort(key=lambda block: -float(block.bounds.sum()))
    arguments = (bench.graph, model, bench.scope)
    with ProcessPoolExecutor(2, initializer=_start_worker, initargs=arguments) as pool:
        list(pool.map(_work, [alone(0)] * 4))
        start = time.perf_counter()
        answers = sum(pool.map(_work, blocks))
        rate = answers / (time.perf_counter() - start)
    report(f"population_two_cores_vs_naive_{name}", rate / plain)
    report(f"two_cores_vs_one_{name}", rate / one_core)


class MemoryWatch:
    """Measures how far memory use rises above its level at the start."""

    def __enter__(self) -> "MemoryWatch":
        self._process = psutil.Process()
        self._before = self._highest = self._process.memory_info().rss
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.extra = self._highest - self._before

    def _look(self) -> None:
        while not self._over.wait(0.01):
            self._highest = max(self._highest, self._process.memory_info().rss)


def a_hub(bench: Bench, name: str) -> None:
    """Search for the subject with the most ties, within the budget."""
    hub = int(np.argmax(np.diff(bench.graph.starts)))
    with MemoryWatch() as memory:
        start = time.perf_counter()
        [result] = bench.search.run(np.array([hub]))
        seconds = time.perf_counter() - start
    extent = result.extent
    about = extent.coverage
    if extent.sample is not None:
        drawn = extent.sample
        about += f", {drawn.drawn} of {drawn.of} subgraphs drawn, bound {drawn.bound:.2g}"
    print(f"# {name}: subject with {bench.graph.degree(hub)} ties: {about}, {seconds:.1f} s")
    report(f"hub_queries_over_budget_{name}", (extent.queries - 1) / bench.scope.budget)
    report(f"hub_extra_memory_mb_{name}", memory.extra / 2**20)


def quality(bench: Bench, name: str, test: np.ndarray) -> None:
    """Print the mean objectives of the winners over test nodes, for comparison with Table III."""
    found = [r.counterfactuals[0] for r in bench.search.run(test) if r.counterfactuals]
    report(f"mean_simulatability_{name}", float(np.mean([c.simulatability for c in found])))
    report(f"mean_relevance_{name}", float(np.mean([c.relevance for c in found])))
    print(f"# {name}: {len(found)} test nodes")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the npz data sets")
    parser.add_argument("--models", type=Path, help="folder with the models (see benchmarks.train)")
    options = parser.parse_args(argv)
    bench = open_sample(SAMPLE)
    limit = one_subject_at_a_time(bench, "lending", 60, ONE_BY_ONE)
    everyone_together(bench, "lending", limit)
    if options.data is None or options.models is None:
        print("# for real graphs, pass --data DIR and --models DIR")
        return
    german = open_bench(load_graph(options.data, "german"), options.models / "german.onnx", Scope())
    one_subject_at_a_time(german, "german", 12, 400_000)
    cora_graph = load_graph(options.data, "cora")
    cora = open_bench(cora_graph, options.models / "cora.onnx", Scope())
    limit = one_subject_at_a_time(cora, "cora", 150, 30_000)
    rate = everyone_together(cora, "cora", limit)
    plain = against_the_plain_way(cora, "cora", rate)
    on_two_cores(cora, options.models / "cora.onnx", "cora", plain, rate)
    a_hub(cora, "cora")
    quality(cora, "cora", np.load(options.models / "cora.test.npy")[:300])
    if (options.models / "musae_github.onnx").is_file():
        github = load_graph(options.data, "musae_github")
        a_hub(open_bench(github, options.models / "musae_github.onnx", Scope()), "musae_github")


if __name__ == "__main__":
    main()
