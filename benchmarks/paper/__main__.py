"""Reproduces the paper's tables, with other tools on the same nodes; needs the `tables` extra.

    python -m benchmarks.paper --data DIR --work DIR [--quick] [--graphs NAME …] [--parts PART …]

Every result is saved in the working folder as soon as it is made, so that a stopped run can be
resumed; models are trained there once. At the end, or with `--parts page` alone, the page is
written from the results so far. Two runs may share a working folder if they work on different
graphs.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.paper.cache import Key, ResultCache
from benchmarks.paper.datasets import Dataset
from benchmarks.paper.page import write_page
from benchmarks.paper.peers import compare_peers
from benchmarks.paper.perturbed import perturb
from benchmarks.paper.plans import FULL, QUICK, Plan
from benchmarks.paper.reading import MODEL
from benchmarks.paper.table import fill_table
from benchmarks.paper.timed import time_all
from benchmarks.paper.varied import vary

RESULTS = Path(__file__).parents[1]
PARTS: dict[
    str, tuple[Callable[[ResultCache, Dataset, Plan], None], Callable[[Plan], tuple[str, ...]]]
] = {
    "table": (fill_table, lambda plan: plan.graphs),
    "varied": (vary, lambda plan: plan.varied),
    "timed": (time_all, lambda plan: plan.timed),
    "perturbed": (perturb, lambda plan: (plan.perturbed,)),
    "peers": (compare_peers, lambda plan: tuple(plan.peers)),
}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the npz data sets")
    parser.add_argument("--work", type=Path, required=True, help="folder for models and results")
    parser.add_argument("--quick", action="store_true", help="two graphs, few nodes")
    parser.add_argument("--graphs", nargs="+", help="only these graphs")
    parser.add_argument("--parts", nargs="+", choices=[*PARTS, "page"], help="only these parts")
    parser.add_argument("--nodes", type=int, help="number of test nodes per graph in the table")
    parser.add_argument(
        "--page",
        type=Path,
        help="the page to write (benchmarks/results.md, or WORK/results.md with --quick)",
    )
    parser.add_argument(
        "--cf-code",
        type=Path,
        help="copy of the CF-GNNExplainer repository, to time its code as well",
    )
    options = parser.parse_args(argv)
    plan = QUICK if options.quick else FULL
    plan = replace(plan, nodes=options.nodes or plan.nodes, cf_code=options.cf_code)
    if plan.cf_code and not (plan.cf_code / "src" / "cf_explanation").is_dir():
        parser.error(
            f"{plan.cf_code}: there is no src/cf_explanation; pass the CF-GNNExplainer repository"
        )
    parts = options.parts or [*PARTS, "page"]
    missing = [
        str(options.data / f"{name}.npz")
        for name in wanted_graphs(plan, parts, options.graphs)
        if not (options.data / f"{name}.npz").is_file()
    ]
    if missing:
        parser.error(f"{missing[0]} does not exist; pass the folder with the data sets as --data")
    page = options.page or (options.work if options.quick else RESULTS) / "results.md"
    with ResultCache(options.work / f"results{'_quick' if options.quick else ''}.sqlite") as cache:
        measure(cache, options.data, options.work, plan, parts, options.graphs)
        if "page" in parts:
            write_page(cache, plan, page)
            print(f"Wrote {page}", flush=True)


def wanted_graphs(plan: Plan, parts: list[str], graphs: list[str] | None) -> list[str]:
    """The graphs that the chosen parts need, in the order of the paper."""
    every = dict.fromkeys(
        name for part, (_, of) in PARTS.items() if part in parts for name in of(plan)
    )
    return [name for name in every if graphs is None or name in graphs]


def measure(
    cache: ResultCache,
    data: Path,
    work: Path,
    plan: Plan,
    parts: list[str],
    graphs: list[str] | None,
) -> None:
    """Compute the missing results, graph by graph, so that each graph is opened only once."""
    jobs = {name: (run, of(plan)) for name, (run, of) in PARTS.items() if name in parts}
    wanted = wanted_graphs(plan, parts, graphs)
    if wanted:
        try:
            import torch
        except ImportError:
            sys.exit("the methods that use the weights need torch: pip install -e '.[tables]'")
        torch.set_num_threads(1)
    for name in wanted:
        dataset = Dataset(data, work, name)
        about = {"fingerprint": dataset.fingerprint, "accuracy": dataset.accuracy}
        cache.put(Key(part=MODEL, graph=name, method="GCN"), about)
        for part, (run, names) in jobs.items():
            if name in names:
                start = time.perf_counter()
                run(cache, dataset, plan)
                print(f"# {name}, {part}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
