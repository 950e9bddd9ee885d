"""How much memory every process holds while one run audits 50,000 subjects.

    python -m benchmarks.load [--subjects N] [--minutes M] [--out FOLDER] [--looks FILE] [--docs]

Draws as many networks of the lending sample's generator as it takes to have N people whom the
sample's model refuses, each network with a seed of its own, and puts them side by side into one
graph. Audits N of these people in one `recourse-audit run` with two workers, explanations of three
nodes and single changes, and looks at the memory of every process twice a second. Prints how much
was held when each eighth of the subjects was finished; `--docs` also writes the table and the curve
into benchmarks/speed.md. After M minutes the run is interrupted; what was finished is shown.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.search_speed import SAMPLE, report
from recourse_audit.bundle.layout import LOG
from recourse_audit.render.drawing import Drawing, Scale, points
from recourse_audit.settings import load_settings

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "benchmarks" / "speed.md"
PICTURE = ROOT / "benchmarks" / "pictures" / "load_memory.svg"
BEGIN, END = "<!-- load: begin -->\n", "<!-- load: end -->"
REFUSED = 450  # fewer than any network of the generator has
SEED = 1_000
EIGHTHS = 8
MEGABYTE = 2**20
EVERY = 0.5  # seconds
INTERRUPTED = 130
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
[groups]
attributes = ["origin", "gender", "age_band"]
[search]
max_nodes = 3
[recourse]
max_changes = 1
draws = 10
{rules}
[caveats]
draws = 60
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the processes held at one moment, in bytes: the run itself, and each worker.

    `mapped` is the part of each worker that belongs to files it has mapped into memory.
    """

    seconds: float
    finished: int
    run: int
    workers: tuple[int, ...]
    mapped: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class Followed:
    """A run that is followed from outside: its log tells how far it is."""

    log: Path
    finished: int = 0
    looks: list[Look] = field(default_factory=list)
    _read: int = 0

    def follow(self, process: psutil.Process, started: float) -> None:
        """Look once at every process."""
        self._read_log()
        try:
            held = process.memory_info().rss
            workers = [
                child.memory_info()
                for child in process.children()
                if any("spawn_main" in word for word in child.cmdline())
            ]
        except psutil.Error:
            return  # a process ended while it was looked at
        self.looks.append(
            Look(
                seconds=time.perf_counter() - started,
                finished=self.finished,
                run=held,
                workers=tuple(one.rss for one in workers),
                mapped=tuple(one.shared for one in workers),
            )
        )

    def _read_log(self) -> None:
        if not self.log.is_file():
            return
        with self.log.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                found = json.loads(line)
                self.finished += found["subjects"] if found["event"] == "chunk" else 0


def make_files(folder: Path, subjects: int) -> Path:
    """Write enough lending networks side by side as one graph, and the settings of its audit."""
    nodes, edges = [], []
    with tempfile.TemporaryDirectory() as name:
        for number in range(-(-subjects // REFUSED)):
            people, ties = _network(Path(name), number)
            nodes.append(people)
            edges.append(ties)
    pq.write_table(pa.concat_tables(nodes), folder / "nodes.parquet")
    pq.write_table(pa.concat_tables(edges), folder / "edges.parquet")
    sample = load_settings(SAMPLE / "audit.toml")
    text = (SAMPLE / "audit.toml").read_text(encoding="utf-8")
    rules = text[text.index("[[recourse.ties]]") : text.index("[letters]")]
    path = folder / "audit.toml"
    path.write_text(
        SETTINGS.format(
            model=sample.model.path.resolve().as_posix(),
            features=list(sample.graph.features),
            rules=rules,
        ),
        encoding="utf-8",
    )
    return path


def _network(folder: Path, number: int) -> tuple[pa.Table, pa.Table]:
    """One network of the generator; its people's ids begin with its number."""
    sys.path.insert(0, str(ROOT / "sample_models"))
    from make_lending import make_network

    sys.path.pop(0)
    make_network(folder, seed=SEED + number, gap=True)
    people = pyarrow.csv.read_csv(folder / "nodes.csv")
    ties = pyarrow.csv.read_csv(folder / "edges.csv")
    people = _prefixed(people, "id", number)
    return people, _prefixed(_prefixed(ties, "source", number), "target", number)


def _prefixed(table: pa.Table, column: str, number: int) -> pa.Table:
    names = pc.binary_join_element_wise(f"N{number:03d}", table[column], "-")
    return table.set_column(table.schema.get_field_index(column), column, names)


def followed_run(settings: Path, out: Path, subjects: int, minutes: float) -> Followed:
    """Run the audit, and look at its processes until it ends or its time is up."""
    words = ("run", settings, "--out", out, "--sample", subjects, "--workers", 2, "--no-pages")
    started = time.perf_counter()
    command = [sys.executable, "-m", "recourse_audit", *map(str, words)]
    run = Followed(log=out / LOG)
    with subprocess.Popen(command) as process:
        outside = psutil.Process(process.pid)
        while process.poll() is None and time.perf_counter() - started < 60 * minutes:
            run.follow(outside, started)
            time.sleep(EVERY)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    if process.returncode not in (0, INTERRUPTED):
        raise SystemExit(f"the run ended with exit code {process.returncode}")
    return run


def at_eighths(looks: list[Look], subjects: int) -> Iterator[tuple[str, Look]]:
    """The first look at which each eighth of the subjects was finished; then the last of all."""
    shown: list[Look] = []
    for eighth in range(EIGHTHS + 1):
        wanted = eighth * subjects // EIGHTHS
        found = next((look for look in at_work(looks) if look.finished >= wanted), None)
        if found is not None and found not in shown:
            shown.append(found)
            yield f"{found.finished:,}", found
    if not looks[-1].workers:
        yield "all files written", looks[-1]


def at_work(looks: list[Look]) -> list[Look]:
    """The looks at which both workers were busy with subjects."""
    return [look for look in looks if len(look.workers) == 2 and look.finished]


def table(rows: Iterable[tuple[str, Look]]) -> str:
    """The looks as a table for the page."""
    lines = [
        "| subjects finished | minutes | the run | worker 1 | worker 2 |",
        "|---|---|---|---|---|",
    ]
    for name, look in rows:
        workers = [f"{held / MEGABYTE:,.0f} MB" for held in look.workers] or ["", ""]
        cells = (name, f"{look.seconds / 60:.1f}", f"{look.run / MEGABYTE:,.0f} MB", *workers)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def growth(looks: list[Look], subjects: int) -> float:
    """What all processes held in the last quarter of the work, compared with the second."""
    working = at_work(looks)

    def mean(first: float, last: float) -> float:
        held = [
            look.run + sum(look.workers)
            for look in working
            if first * subjects <= look.finished < last * subjects
        ]
        return sum(held) / max(len(held), 1)

    return mean(0.75, 1.0) / max(mean(0.25, 0.5), 1)


def picture(looks: list[Look], subjects: int) -> str:
    """The memory of each process by subjects finished, as an SVG file."""
    working = at_work(looks)
    curves = {
        "the run": ("class-1", [(look.finished, look.run) for look in working]),
        "worker 1": ("class-0", [(look.finished, look.workers[0]) for look in working]),
        "worker 2": ("class-2", [(look.finished, look.workers[1]) for look in working]),
    }
    most = max(held for _, curve in curves.values() for _, held in curve) / MEGABYTE
    most = 100 * (int(most) // 100 + 1)
    alt = f"Memory of each process while {subjects:,} subjects are audited: at most {most} MB."
    drawing = Drawing(640, 360, alt)
    drawing.add("rect", width=640, height=360, fill="paper")
    across = Scale(low=0, high=subjects, start=70, end=610)
    up = Scale(low=0, high=most, start=300, end=40)
    for step in range(6):
        done, held = step * subjects / 5, step * most / 5
        drawing.line(70, up(held), 610, up(held), "lines")
        drawing.text(62, up(held) + 4, f"{held:,.0f}", text_anchor="end", fill="muted")
        drawing.text(across(done), 318, f"{done:,.0f}", text_anchor="middle", fill="muted")
    drawing.text(340, 344, "subjects finished", text_anchor="middle", fill="muted")
    drawing.text(20, 26, "MB held (resident set size)", fill="muted")
    for place, (name, (colour, curve)) in enumerate(curves.items()):
        thinned = [one for one, other in pairwise(curve) if one[0] // 250 != other[0] // 250]
        places = [(across(done), up(held / MEGABYTE)) for done, held in (*thinned, curve[-1])]
        drawing.add("polyline", points=points(places), fill="none", stroke=colour, stroke_width=2.0)
        x = 300 + 110 * place
        drawing.line(x, 22, x + 24, 22, colour, stroke_width=2.5)
        drawing.text(x + 30, 26, name)
    return drawing.file()


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=50_000)
    parser.add_argument("--minutes", type=float, default=1e6, help="Interrupt the run after these.")
    parser.add_argument("--out", type=Path, help="Keep the bundle in this folder.")
    parser.add_argument("--looks", type=Path, help="Write every look into this file, as JSON.")
    parser.add_argument("--from-looks", type=Path, help="Show the looks in this file; run nothing.")
    parser.add_argument(
        "--docs", action="store_true", help="Write speed.md beside this file, and its picture."
    )
    given = parser.parse_args(argv)
    if given.from_looks:
        looks = [Look(**look) for look in json.loads(given.from_looks.read_text("utf-8"))]
    else:
        with tempfile.TemporaryDirectory() as name:
            settings = make_files(Path(name), given.subjects)
            out = given.out or Path(name) / "bundle"
            looks = followed_run(settings, out, given.subjects, given.minutes).looks
    if given.looks:
        given.looks.write_text(json.dumps([asdict(look) for look in looks]), encoding="utf-8")
    finished, working = looks[-1].finished, at_work(looks)
    rows = table(at_eighths(looks, finished))
    print(rows)
    seconds = working[-1].seconds - working[0].seconds
    report("load_growth", growth(looks, finished))
    report("load_subjects_per_second", (finished - working[0].finished) / seconds)
    if given.docs:
        PICTURE.write_text(picture(looks, finished), encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        _, _, after = rest.partition(END)
        shown = f"![memory of each process]({PICTURE.relative_to(PAGE.parent).as_posix()})"
        PAGE.write_text(f"{before}{BEGIN}\n{rows}\n{shown}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
