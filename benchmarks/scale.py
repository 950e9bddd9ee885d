"""How the cost per subject grows from a graph of ten thousand nodes to one of a million.

    python -m benchmarks.scale [--subjects N] [--nodes N --ties N] [--near N] [--apart] [--groups]

Audits two graphs of the same mean degree, with people drawn from the lending sample, each in a
whole run with two workers, small explanations and single changes. Ties lead anywhere, or with
`--near` to one of the N people on either side in a circle, whose order the ids do not show.
With `--apart` hardly anybody has the features of somebody else. With `--groups` men and women are
compared at the end.

Prints the ratio of the seconds per subject, from the first subject to the last; the ratio of the
processor time per subject, which other programs on the machine affect much less, from the first
chunk to the last; and the peak memory of all processes together, with shared memory counted once:
over the whole run, while the graph is read, until the model has answered for everyone, while
subjects are worked on, and while groups are compared.
"""

import argparse
import multiprocessing
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.search_speed import SAMPLE, report
from recourse_audit.audit.load import Selection, load_audit
from recourse_audit.execute.pipeline import Request, run_audit
from recourse_audit.execute.worker import executor_for
from recourse_audit.settings import load_settings

TIMEOUT = 3600.0
PHASES = ("making", "read", "answer", "work", "groups")
SMALL = 100  # how many times smaller the small graph is, unless told
SETTINGS = """
[model]
path = "{model}"
[graph]
nodes = "nodes.parquet"
edges = "edges.parquet"
features = {features}
[decision]
classes = ["denied", "approved"]
favourable = ["approved"]
{groups}[search]
max_nodes = 3
[recourse]
max_changes = 1
draws = 10
"""


class Recorder:
    """Times an audit from its first subject to its last, and records the peak memory."""

    def __init__(self) -> None:
        self.peaks = dict.fromkeys(PHASES, 0)
        self.busy = dict.fromkeys(PHASES, 0.0)
        self.seconds = 0.0
        self._phase = PHASES[0]
        self._first: tuple[int, float] | None = None
        self._subjects = 0
        self._busy = 0.0
        self._start = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "Recorder":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def enter(self, phase: str) -> None:
        """Count memory and processor time of this process as those of another phase."""
        self.busy[self._phase] += time.process_time()
        self._phase = phase
        self.busy[phase] -= time.process_time()

    @property
    def peak(self) -> int:
        return max(self.peaks.values())

    def begin(self, total: int, done: int) -> None:
        self.enter("work")
        self._start = time.perf_counter()

    def advance(self, subjects: int, queries: int) -> None:
        self.seconds = time.perf_counter() - self._start
        self._subjects += subjects
        self._busy = sum(_busy(worker) for worker in psutil.Process().children())
        self._first = self._first or (self._subjects, self._busy)

    def stage(self, doing: str, done: int = 0, total: int | None = None) -> None:
        del done, total
        if doing == "Comparing groups" and self._phase != "groups":
            self.enter("groups")

    def say(self, text: str) -> None:
        print(f"# {text}")

    @property
    def processor_time(self) -> float:
        """The processor seconds of the workers per subject, after the first chunk."""
        assert self._first is not None
        subjects, busy = self._first
        return (self._busy - busy) / max(self._subjects - subjects, 1)

    def _look(self) -> None:
        parent = psutil.Process()
        while not self._over.wait(0.5):
            held = 0
            for process in (parent, *parent.children(recursive=True)):
                try:
                    held += process.memory_full_info().pss
                except psutil.Error:
                    continue
            if self._phase != "making":
                self.peaks[self._phase] = max(self.peaks[self._phase], held)


def _busy(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def make_files(
    folder: Path,
    nodes: int,
    ties: int,
    seed: int,
    *,
    near: int = 0,
    apart: bool = False,
    groups: bool = False,
) -> Path:
    """Write a graph of people drawn from the lending sample, and its settings."""
    generator = np.random.default_rng(seed)
    people = pyarrow.csv.read_csv(SAMPLE / "nodes.csv")
    drawn = people.take(pa.array(generator.integers(0, len(people), nodes)))
    drawn = drawn.set_column(0, "id", pa.array(np.arange(nodes)))
    if apart:
        place = drawn.schema.get_field_index("income")
        income = drawn.column(place).to_numpy() * (1 + np.arange(nodes) / nodes)
        drawn = drawn.set_column(place, "income", pa.array(income))
    pq.write_table(drawn, folder / "nodes.parquet")
    source, target = generator.integers(0, nodes, (2, ties))
    if near:
        order = generator.permutation(nodes)
        target = order[(source + generator.integers(1, near + 1, ties)) % nodes]
        source = order[source]
    kinds = pa.array(["payment", "employer"]).take(pa.array(generator.integers(0, 2, ties)))
    table = pa.table({"source": source, "target": target, "kind": kinds})
    pq.write_table(table, folder / "edges.parquet")
    sample = load_settings(SAMPLE / "audit.toml")
    text = SETTINGS.format(
        model=sample.model.path.resolve().as_posix(),
        features=list(sample.graph.features),
        groups='[groups]\nattributes = ["gender"]\n' if groups else "",
    )
    path = folder / "audit.toml"
    path.write_text(text, encoding="utf-8")
    return path


def measured(given: argparse.Namespace, smaller: int) -> tuple[float, Recorder]:
    """Run one audit; return its seconds per subject and what was recorded about it."""
    nodes, ties = given.nodes // smaller, given.ties // smaller
    with tempfile.TemporaryDirectory() as name, Recorder() as recorder:
        making = multiprocessing.get_context("spawn").Process(
            target=make_files,
            args=(Path(name), nodes, ties, 0),
            kwargs={"near": given.near, "apart": given.apart, "groups": given.groups},
        )
        making.start()
        making.join()
        settings = Path(name) / "audit.toml"
        recorder.enter("read")
        audit = load_audit(settings)
        recorder.enter("answer")
        request = Request(
            audit=audit,
            origin=settings,
            out=Path(name) / "bundle",
            selection=Selection(sample=given.subjects),
        )
        executor = executor_for(workers=2, scheduler=None, timeout=TIMEOUT)
        summary = run_audit(request, executor, now=lambda: "", progress=recorder)
        recorder.enter(PHASES[0])
    print(f"# {nodes} nodes: {summary.subjects} subjects, {summary.statuses}")
    for phase in PHASES[1:]:
        print(
            f"# {phase}: {recorder.peaks[phase] / 2**20:,.0f} MB, {recorder.busy[phase]:,.0f} "
            "seconds of processor time of the first process",
            flush=True,
        )
    return recorder.seconds / summary.subjects, recorder


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=2000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--ties", type=int, default=10_000_000)
    parser.add_argument("--near", type=int, default=0)
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--groups", action="store_true")
    parser.add_argument("--smaller", type=int, default=SMALL)
    given = parser.parse_args(argv)
    small, small_run = measured(given, given.smaller)
    large, large_run = measured(given, 1)
    report("scale_cost_per_subject", large / small)
    report("scale_processor_time_per_subject", large_run.processor_time / small_run.processor_time)
    report("scale_peak_mb", large_run.peak / 2**20)
    report("scale_peak_at_work_mb", large_run.peaks["work"] / 2**20)
    print(
        f"# {1000 * small:.1f} ms per subject on the small graph, "
        f"{1000 * large:.1f} ms on the large one"
    )


if __name__ == "__main__":
    main()
