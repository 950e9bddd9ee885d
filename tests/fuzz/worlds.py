"""A small world on disk with every kind of file that comes in, and strangers' files around it."""

import shutil
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import networkx as nx
import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from recourse_audit.bundle.manifest import chunks_in, digest, manifest_text, read_manifest
from recourse_audit.errors import AuditError
from recourse_audit.execute.process_pool import Say
from recourse_audit.execute.worker import AuditJob, ChunkQueue, FinishedChunk, InProcess
from recourse_audit.records.codec import MANIFEST_DOCUMENT
from recourse_audit.render.templates import eject
from recourse_audit.render.write_letters import write_letters
from recourse_audit.render.write_pages import write_pages
from tests.audits import IDS as OLD_IDS
from tests.audits import SETTINGS, quick_audit, small_audit
from tests.bundles import request, run_here
from tests.fuzz import grammars, texts
from tests.fuzz.mutations import damaged
from tests.fuzz.quick import made_quick
from tests.fuzz.snapshots import differences, restore, snapshot

IDS = [f"p{number}" for number in range(10)]
CANARIES = ("work/a", "data/b", "pages/c", "letters/d", "audit.toml", "work.sqlite", ".hidden")
Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Format:
    """A file that comes in, how it is changed by its own grammar, and what then reads it."""

    name: str
    path: str
    grammar: Callable[[bytes, Random], bytes] | None
    commands: tuple[Words, ...]
    sealed: bool = False


OWN = ("--templates", "own", "--workers", "1")
REPORT: Words = ("report", "bundle", "--workers", "1")
LETTERS: Words = ("letters", "bundle", "--workers", "1")
STORED: tuple[Words, ...] = (REPORT, LETTERS, ("groups", "bundle"), ("verify", "bundle"))
RESUMED: tuple[Words, ...] = (
    (
        "run",
        "lending/audit.toml",
        "--out",
        "unfinished",
        "--no-pages",
        "--workers",
        "1",
        "--sample",
        "4",
    ),
    ("verify", "unfinished"),
    ("groups", "unfinished"),
    ("report", "unfinished", "--workers", "1"),
)
FORMATS = (
    Format(
        name="settings",
        path="audit.toml",
        grammar=grammars.toml,
        commands=(("inspect", "audit.toml"), ("explain", "audit.toml", "p0")),
    ),
    *(
        Format(name=name, path=path, grammar=grammar, commands=(("inspect", settings),))
        for name, path, grammar, settings in (
            ("csv", "nodes.csv", grammars.table, "audit.toml"),
            ("csv", "edges.csv", grammars.table, "audit.toml"),
            ("parquet", "nodes.parquet", grammars.table, "parquet.toml"),
            ("parquet", "edges.parquet", grammars.table, "parquet.toml"),
            ("graphml", "graph.graphml", texts.graphml, "graphml.toml"),
            ("npz", "graph.npz", grammars.npz, "npz.toml"),
            ("onnx", "model.onnx", grammars.model, "audit.toml"),
        )
    ),
    *(
        Format(
            name="template", path=f"own/{path}", grammar=texts.template, commands=((*words, *OWN),)
        )
        for path, words in (
            ("pages/subject.html", ("report", "bundle")),
            ("pages/index.html", ("report", "bundle")),
            ("pages/groups.html", ("report", "bundle")),
            ("letters/letter.html", ("letters", "bundle")),
        )
    ),
    Format(
        name="catalogue",
        path="own/wording/en/letters.po",
        grammar=texts.catalogue,
        commands=(("letters", "bundle", *OWN),),
    ),
    Format(
        name="profile",
        path="own/profiles/generic.toml",
        grammar=grammars.toml,
        commands=(("letters", "bundle", *OWN),),
    ),
    Format(name="store", path="bundle/store.sqlite", grammar=grammars.store, commands=STORED),
    Format(
        name="store",
        path="bundle/store.sqlite",
        grammar=grammars.store,
        commands=STORED,
        sealed=True,
    ),
    Format(name="manifest", path="bundle/manifest.json", grammar=grammars.as_json, commands=STORED),
    Format(
        name="manifest",
        path="bundle/pages/manifest.json",
        grammar=grammars.as_json,
        commands=STORED,
    ),
    Format(
        name="settings.json",
        path="bundle/settings.json",
        grammar=grammars.as_json,
        commands=STORED,
        sealed=True,
    ),
    Format(name="log", path="bundle/run.jsonl", grammar=grammars.as_json, commands=STORED),
    Format(name="log", path="unfinished/run.jsonl", grammar=grammars.as_json, commands=RESUMED),
    Format(
        name="checkpoint",
        path="unfinished/work/work.sqlite",
        grammar=grammars.store,
        commands=RESUMED,
    ),
    Format(
        name="reasons",
        path="reasons.csv",
        grammar=None,
        commands=((*LETTERS, "--reasons", "reasons.csv"),),
    ),
    Format(
        name="addresses",
        path="addresses.csv",
        grammar=None,
        commands=((*LETTERS, "--addresses", "addresses.csv"),),
    ),
)


class Interrupted(InProcess):
    """Stops after the first chunk, as Ctrl-C does."""

    def run(
        self, job: AuditJob, queue: ChunkQueue, say: Say
    ) -> Generator[FinishedChunk, None, None]:
        for number, finished in enumerate(super().run(job, queue, say)):
            if number == 1:
                raise KeyboardInterrupt
            yield finished


def make_world(root: Path) -> None:
    """Write the world into an empty folder: `case` with all files, and canaries beside it."""
    case = root / "case"
    case.mkdir(parents=True)
    for folder in (root, root / "others"):
        for name in CANARIES:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"do not touch {name}", encoding="utf-8")
    (root / "others" / "empty").mkdir()
    _write_graphs(case)
    lending = case / "lending"
    lending.mkdir()
    quick_audit(lending)
    run_here(request(lending, case / "bundle", sample=1))
    with made_quick():
        write_letters(case / "bundle")
        write_pages(case / "bundle")
    with suppress(KeyboardInterrupt):
        run_here(request(lending, case / "unfinished", sample=4), executor=Interrupted())
    eject(case / "own")
    changed = {case / format_.path for format_ in FORMATS}
    for path in (case / "own").rglob("*"):
        if path.is_file() and path not in changed:  # found among ours all the same
            path.unlink()
    with closing(sqlite3.connect(case / "bundle" / "store.sqlite")) as store:
        [[subject]] = store.execute("select id from subjects")
    (case / "reasons.csv").write_text(f"id,confirm,reason,note\n{subject},yes,Low income,Known\n")
    (case / "addresses.csv").write_text(f"id,line1,line2\n{subject},Ada,1 High Street\n")


def _write_graphs(case: Path) -> None:
    small_audit(case)
    for name in ("nodes", "edges"):
        options = pacsv.ParseOptions(newlines_in_values=True)
        table = pacsv.read_csv(case / f"{name}.csv", parse_options=options)
        for column in {"id", "source", "target"} & {*table.column_names}:
            at = table.column_names.index(column)
            new = [IDS[OLD_IDS.index(value)] for value in table.column(column).to_pylist()]
            table = table.set_column(at, column, [new])
        pacsv.write_csv(table, case / f"{name}.csv")
        pq.write_table(table, case / f"{name}.parquet")
    nodes, edges = (
        pq.read_table(case / f"{name}.parquet").to_pylist() for name in ("nodes", "edges")
    )
    drawing: nx.Graph[str] = nx.Graph()
    for row in nodes:
        drawing.add_node(row.pop("id"), **row)
    for row in edges:
        drawing.add_edge(row.pop("source"), row.pop("target"), **row)
    nx.write_graphml(drawing, case / "graph.graphml")
    features = [f"f{number}" for number in range(5)]
    np.savez(
        case / "graph.npz",
        x=np.array([[row[name] for name in features] for row in nodes]),
        feature_names=np.array(features),
        ids=np.array(IDS),
        gender=np.array([row["gender"] for row in nodes]),
        edge_index=np.array([[IDS.index(a), IDS.index(b)] for a, b in drawing.edges]).T,
    )
    tables = 'nodes = "nodes.csv"\nedges = "edges.csv"'
    for name, source in (
        ("parquet", 'nodes = "nodes.parquet"\nedges = "edges.parquet"'),
        ("graphml", 'graphml = "graph.graphml"'),
        ("npz", 'npz = "graph.npz"'),
    ):
        text = SETTINGS.replace(tables, source)
        (case / f"{name}.toml").write_text(text, encoding="utf-8")


def changed_file(case: Path, format_: Format, draw: Random) -> bytes:
    """What the file of a case holds: damaged, or well formed and different, or both."""
    content = (case / format_.path).read_bytes()
    spliced = case / draw.choice(FORMATS[:8]).path
    other = spliced.read_bytes() if draw.random() < 0.2 else content
    if format_.grammar is None or draw.random() < 0.4:
        return damaged(content, other, draw)
    content = format_.grammar(content, draw)
    return damaged(content, other, draw) if draw.random() < 0.1 else content


def seal_again(bundle: Path) -> None:
    """Make a bundle's manifest agree with its files again, as somebody who changes them can."""
    try:
        manifest = read_manifest(bundle)
        files = {name: digest(bundle / name) for name in manifest.files}
        with closing(sqlite3.connect(bundle / "store.sqlite")) as store:
            manifest = replace(manifest, files=files, chunks=tuple(chunks_in(store)))
    except (sqlite3.Error, AuditError, TypeError, ValueError):
        return
    text = manifest_text(MANIFEST_DOCUMENT, manifest)
    (bundle / "manifest.json").write_text(text, encoding="utf-8")


class World:
    """The world in a folder, and a copy of it, from which it is put right after every case."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.case = root / "case"
        self._kept = root.with_name(f"{root.name}.kept")
        shutil.rmtree(self._kept, ignore_errors=True)
        shutil.copytree(root, self._kept, symlinks=True)
        self._whole = snapshot(root)

    @contextmanager
    def with_file(self, format_: Format, content: bytes) -> Iterator[None]:
        """One file is different meanwhile."""
        (self.case / format_.path).write_bytes(content)
        if format_.sealed:
            seal_again(self.case / "bundle")
        try:
            yield
        finally:
            restore(
                self.root, self._kept, differences(self._whole, snapshot(self.root, self._whole))
            )
            self._whole = snapshot(self.root)
