"""How long loading a million nodes and ten million ties from Parquet takes, and how much memory.

Loading runs in its own process, so that the peak memory is its own. It is compared with a bare
read of the same two files in another process.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recourse_audit.graph.readers import read_graph
from recourse_audit.settings import GraphSettings

FEATURES = tuple(f"feature_{number}" for number in range(10))


def make_files(folder: Path, nodes: int, ties: int, seed: int) -> None:
    """Write a random graph with unsorted ids that have gaps, and three kinds of ties."""
    generator = np.random.default_rng(seed)
    ids = generator.permutation(3 * nodes)[:nodes]
    columns = {name: generator.standard_normal(nodes, np.float32) for name in FEATURES}
    groups = pa.array(["north", "south"]).take(pa.array(generator.integers(0, 2, nodes)))
    pq.write_table(pa.table({"id": ids, **columns, "region": groups}), folder / "nodes.parquet")
    source, target = ids[generator.integers(0, nodes, (2, ties))]
    kinds = pa.array(["debt", "kin", "work"]).take(pa.array(generator.integers(0, 3, ties)))
    table = pa.table({"source": source, "target": target, "kind": kinds})
    pq.write_table(table, folder / "edges.parquet")


def load(folder: Path) -> None:
    graph = read_graph(
        GraphSettings(
            nodes=folder / "nodes.parquet", edges=folder / "edges.parquet", features=FEATURES
        )
    )
    assert graph.node_count
    assert len(graph.ties)


def read_bare(folder: Path) -> None:
    tables = [pq.read_table(folder / name) for name in ("nodes.parquet", "edges.parquet")]
    assert all(table.num_rows for table in tables)


def measure(task: str, folder: Path) -> tuple[float, float]:
    """Run one task in a fresh process; return its seconds, without imports, and its peak in MB."""
    command = [sys.executable, "-m", "benchmarks.load_graph", "--task", task, str(folder)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(answer[0]), float(answer[1])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--ties", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--task", choices=("load", "bare"), help="used internally by the measured processes"
    )
    parser.add_argument("folder", type=Path, nargs="?")
    given = parser.parse_args(argv)
    if given.task is not None:
        begin = time.perf_counter()
        (load if given.task == "load" else read_bare)(given.folder)
        seconds = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(seconds, int(peak) / (1024 if sys.platform == "linux" else 1024**2))
        return
    with tempfile.TemporaryDirectory() as name:
        make_files(Path(name), given.nodes, given.ties, given.seed)
        # The two take turns, so that a busy machine slows both; the fastest run of each counts.
        turns = [[measure(task, Path(name)) for task in ("bare", "load")] for _ in range(3)]
    bare = min(turn[0][0] for turn in turns)
    fastest, largest = min(turn[1][0] for turn in turns), max(turn[1][1] for turn in turns)
    print(f"load_million_seconds: {fastest:.2f}")
    print(f"load_million_peak_mb: {largest:.0f}")
    print(f"load_vs_parquet_read: {fastest / bare:.1f}")


if __name__ == "__main__":
    main()
