"""What workers do: the work cut into chunks, the files they share, and who works on them.

A chunk is a few neighbours, done by one worker and kept when done. Chunks depend on the graph, the
subjects and the settings, and never on who works on them: this process, others, or a Dask cluster.
A chunk that fails is tried again and then halved, down to the one subject who makes it fail.

A worker opens the audit again from shared files, without probing; one on another machine finds the
same files under the same paths. Arrays are mapped into memory, so that no worker needs a copy of
the graph, and neither does the process that read it; texts cannot be mapped and are copied.
"""

import hashlib
import heapq
import json
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import count, pairwise
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from recourse_audit.audit.load import LoadedAudit, assemble
from recourse_audit.audit.report import Reporter
from recourse_audit.bundle.manifest import versions
from recourse_audit.errors import AuditError, InputError
from recourse_audit.execute.process_pool import Failed, ProcessPool, Say, settle
from recourse_audit.graph.graph import Floats, Graph, Ints, Strings, Ties
from recourse_audit.graph.kinds import people_settings
from recourse_audit.model.head import with_head
from recourse_audit.model.preprocessing import Intake, Pipeline
from recourse_audit.model.roles import OutputPort
from recourse_audit.model.sealed_files import SealedFile
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.model import ProbeReport
from recourse_audit.recourse.policy import Policy
from recourse_audit.search.moexp import Block, blocks
from recourse_audit.settings import Settings

ANSWERS, ALONE = "answers.npy", "alone.npy"
NO_MEMORY = "there was not enough memory for this subject"
SMALL = 65_536
TEXTS_AT_ONCE = 2**16
# A graph whose arrays have more bytes is not held twice.
HELD_ONCE = 2**28
# An array, or the name of the file with it.
ARRAY = np.ndarray | str
SUBJECTS_IN_CHUNK = 16
# A small audit is cut finer, so that one that is interrupted loses a small share of its work.
FEWEST_CHUNKS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some subjects of a chunk, with bounds on their subtrees; at first, all of them."""

    chunk: int
    subjects: tuple[int, ...]
    bounds: tuple[float, ...]
    whole: bool = True
    deaths: int = 0

    @property
    def block(self) -> Block:
        return Block(subjects=np.array(self.subjects, np.int64), bounds=np.array(self.bounds))

    @property
    def patient(self) -> bool:
        """Whether one sudden death of a worker is not yet held against it.

        Somebody may have killed the worker; so a chunk gets a second chance before it is halved,
        and a subject before it is given up.
        """
        return self.deaths == 0 and (self.whole or len(self.subjects) == 1)

    def only(self, wanted: Collection[int]) -> "Part":
        kept = [pair for pair in zip(self.subjects, self.bounds, strict=True) if pair[0] in wanted]
        subjects, bounds = zip(*kept, strict=True)
        return Part(chunk=self.chunk, subjects=subjects, bounds=bounds, whole=False)

    def halves(self) -> tuple["Part", "Part"]:
        middle = len(self.subjects) // 2
        return self.only(self.subjects[:middle]), self.only(self.subjects[middle:])

    def __str__(self) -> str:
        return "1 subject" if len(self.subjects) == 1 else f"{len(self.subjects)} subjects"


# The document of each subject, and how many queries it took.
Answers = dict[int, tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedChunk:
    """What a chunk gave: documents of subjects, and reasons where there is none."""

    chunk: int
    answers: Answers = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)


def chunks_of(audit: LoadedAudit, subjects: Ints) -> Iterator[Part]:
    """Cut the blocks of the search into chunks, numbered in order."""
    size = min(SUBJECTS_IN_CHUNK, max(len(subjects) // FEWEST_CHUNKS, 1))
    scope, number = audit.scope, count()
    for block in blocks(audit.graph, subjects, scope.max_nodes, budget=scope.budget):
        own, bounds = block.subjects.tolist(), block.bounds.tolist()
        for first in range(0, len(own), size):
            cut = slice(first, first + size)
            yield Part(chunk=next(number), subjects=tuple(own[cut]), bounds=tuple(bounds[cut]))


class ChunkQueue:
    """Parts that wait for a worker, the largest first, and what has come back so far."""

    def __init__(self, chunks: Iterable[Part]) -> None:
        self._waiting: list[tuple[float, int, tuple[int, ...], Part]] = []
        self._sizes: dict[int, int] = {}
        self._chunks: dict[int, FinishedChunk] = {}
        for chunk in chunks:
            self._sizes[chunk.chunk] = len(chunk.subjects)
            self._chunks[chunk.chunk] = FinishedChunk(chunk=chunk.chunk)
            self.put(chunk)

    def __len__(self) -> int:
        """How many chunks are not finished."""
        return len(self._chunks)

    def put(self, part: Part) -> None:
        heapq.heappush(self._waiting, (-sum(part.bounds), part.chunk, part.subjects, part))

    def take(self) -> Part | None:
        return heapq.heappop(self._waiting)[-1] if self._waiting else None

    def accept(self, part: Part, answers: Answers) -> FinishedChunk | None:
        """Keep the answers of a part; the chunk, if this was the last of it."""
        self._chunks[part.chunk].answers.update(answers)
        return self._complete(part.chunk)

    def fail(self, part: Part, reason: str, *, sudden: bool = False) -> FinishedChunk | None:
        """Try again, in halves, or give up on the one subject; the chunk, if that ends it.

        `sudden` is the death of a worker, which may have had another cause.
        """
        if sudden and part.patient:
            self.put(replace(part, deaths=part.deaths + 1))
        elif len(part.subjects) > 1:
            for half in part.halves():
                self.put(half)
        else:
            self._chunks[part.chunk].failures[part.subjects[0]] = reason
        return self._complete(part.chunk)

    def _complete(self, chunk: int) -> FinishedChunk | None:
        so_far = self._chunks[chunk]
        complete = len(so_far.answers) + len(so_far.failures) == self._sizes[chunk]
        return self._chunks.pop(chunk) if complete else None


def share_graph(folder: Path, graph: Graph) -> Graph:
    """Write every array into the folder; the graph with names of files in place of its arrays.

    Files that others have open stay as they were.
    """

    def save(name: str, values: NDArray[Any]) -> str:
        if values.dtype.kind == "T":
            _save_texts(folder, name, values)
        else:
            save_array(folder / f"{name}.npy", values)
        return name

    return _with_arrays(graph, save)


def open_shared_graph(folder: Path, shared: Graph) -> Graph:
    """Open what `share_graph` wrote."""

    def load(_: str, name: str) -> NDArray[Any]:
        are_texts = (folder / f"{name}.ends.npy").exists()
        return _texts(folder, name) if are_texts else open_array(folder / f"{name}.npy")

    return _with_arrays(shared, load)


def let_go(folder: Path, graph: Graph) -> None:
    """Replace the arrays of a large graph by the ones that `share_graph` wrote, which are equal.

    Whoever has the graph keeps it, also after the files are deleted; but what workers map into
    memory is not held a second time by the process that read it.
    """
    arrays: dict[str, NDArray[Any]] = {}
    _with_arrays(graph, arrays.setdefault)
    plain = {name: value for name, value in arrays.items() if value.dtype.kind != "T"}
    if sum(value.nbytes for value in plain.values()) <= HELD_ONCE:
        return
    for name in plain:
        kind, _, own = name.rpartition(".")
        if kind in ("", "ties"):
            owner = graph.ties if kind else graph
            object.__setattr__(owner, own, open_array(folder / f"{name}.npy"))


def graph_digest(graph: Graph) -> str:
    """SHA-256 of a graph's content, for one that was never in a file."""
    whole = hashlib.sha256()

    def add(name: str, values: NDArray[Any]) -> str:
        content = values.tolist() if values.dtype.kind == "T" else values.tobytes().hex()
        whole.update(json.dumps([name, str(values.dtype), values.shape, content]).encode())
        return name

    named = _with_arrays(graph, add)
    names = (named.attributes, named.more, named.feature_names, named.ties.kinds, named.directed)
    whole.update(json.dumps(names).encode())
    if graph.kinds is not None:
        whole.update(repr(replace(graph.kinds, starts=graph.kinds.starts.tolist())).encode())
    return whole.hexdigest()


def _with_arrays(graph: Graph, change: Callable[[str, Any], Any]) -> Graph:
    """The graph with what a function makes of the name and the value of each of its arrays."""

    def change_all(owner: Graph | Ties, before: str = "") -> dict[str, Any]:
        values = {field.name: getattr(owner, field.name) for field in fields(owner)}
        arrays = {name: value for name, value in values.items() if isinstance(value, ARRAY)}
        return {name: change(f"{before}{name}", value) for name, value in arrays.items()}

    own: dict[str, Any] = change_all(graph)
    for kind in ("attributes", "more"):
        columns = enumerate(getattr(graph, kind).items())
        own[kind] = {name: change(f"{kind}.{place}", value) for place, (name, value) in columns}
    ties = replace(graph.ties, **change_all(graph.ties, "ties."))
    return replace(graph, ties=ties, _order=[], **own)


def save_array(path: Path, values: NDArray[Any]) -> None:
    """Write an array under another name, then put it in its place."""
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        np.save(file, values, allow_pickle=False)
    new.replace(path)


def open_array(path: Path) -> NDArray[Any]:
    """Map an array into memory; a small one is read, because an empty file cannot be mapped."""
    mode: Literal["r"] | None = "r" if path.stat().st_size >= SMALL else None
    return np.asarray(np.load(path, mmap_mode=mode, allow_pickle=False))


def _save_texts(folder: Path, name: str, texts: Strings) -> None:
    """Write texts as bytes, and where each ends; some at a time, as objects need much memory."""
    content: list[bytes] = []
    lengths = np.empty(len(texts), np.int64)
    for first in range(0, len(texts), TEXTS_AT_ONCE):
        encoded = [text.encode() for text in texts[first : first + TEXTS_AT_ONCE].tolist()]
        lengths[first : first + len(encoded)] = [*map(len, encoded)]
        content.append(b"".join(encoded))
    save_array(folder / f"{name}.npy", np.frombuffer(b"".join(content), np.uint8))
    save_array(folder / f"{name}.ends.npy", np.concatenate(([0], np.cumsum(lengths))))


def _texts(folder: Path, name: str) -> Strings:
    content = open_array(folder / f"{name}.npy")
    ends = open_array(folder / f"{name}.ends.npy")
    texts = np.empty(len(ends) - 1, dtype=np.dtypes.StringDType())
    for low in range(0, len(texts), TEXTS_AT_ONCE):
        limits = ends[low : low + TEXTS_AT_ONCE + 1].tolist()
        part = content[limits[0] : limits[-1]].tobytes()
        texts[low : low + TEXTS_AT_ONCE] = [
            part[first - limits[0] : last - limits[0]].decode() for first, last in pairwise(limits)
        ]
    return texts


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditJob:
    """All that a worker is told; the arrays are in the folder.

    `model`, `head` and `preprocessing` are digests, and `intakes` the columns that the last takes.
    """

    folder: Path
    graph: Graph
    settings: Settings
    probes: ProbeReport
    output: OutputPort
    model: str
    head: str
    preprocessing: str
    intakes: tuple[Intake, ...]
    versions: dict[str, str]

    def open(self) -> Callable[[Part], Answers | Failed]:
        return Worker(self).work


def prepare_job(
    folder: Path, audit: LoadedAudit, answers: Floats, alone: Floats | None = None
) -> AuditJob:
    """Write what workers share into a folder; `alone` are answers on own data, if known."""
    shared = share_graph(folder, audit.graph)
    let_go(folder, audit.graph)
    save_array(folder / ANSWERS, answers)
    if alone is not None:
        save_array(folder / ALONE, alone)
    pipeline = audit.preprocessing
    return AuditJob(
        folder=folder.resolve(),
        graph=shared,
        settings=_with_absolute_paths(audit.settings),
        probes=audit.probes,
        output=audit.model.signature.output,
        model=audit.model.body.digest(),
        head="" if audit.model.head is None else audit.model.head.digest(),
        preprocessing="" if pipeline is None else pipeline.encoder.digest(),
        intakes=() if pipeline is None else pipeline.encoder.intakes,
        versions=versions(),
    )


class Worker:
    """Works on parts, one after the other."""

    def __init__(self, job: AuditJob) -> None:
        _check(job)
        settings, in_worker = job.settings, parent_process() is not None
        graph = open_shared_graph(job.folder, job.graph)
        model = OnnxModel(settings.model, kinds=graph.kinds, in_worker=in_worker)
        _refuse_changed(model, job.model)
        model = with_head(model, settings.model, graph, in_worker=in_worker)
        if model.head is not None:
            _refuse_changed(model.head, job.head)
        model.with_output(job.output)
        encoder = None  # that of the settings
        if job.preprocessing:
            people = people_settings(settings.graph, settings.decision.subject)
            encoder = Pipeline(settings.model, people, in_worker=in_worker)
            _refuse_changed(encoder, job.preprocessing)
            encoder.take(job.intakes)
        policy = Policy(settings, graph, encoder)
        self._audit = assemble(settings, graph, model, job.probes, policy)
        alone = open_array(job.folder / ALONE) if (job.folder / ALONE).exists() else None
        self._reporter = Reporter(self._audit, open_array(job.folder / ANSWERS), alone)
        model.begin_work()

    def work(self, part: Part) -> Answers | Failed:
        """The documents of the part's subjects; or why there is none for any of them."""
        self._audit.model.reseed(self._audit.scope.seed)
        try:
            return {
                subject: (SUBJECT.write(report), report.queries)
                for subject, report in self._reporter.on_block(part.block)
            }
        except MemoryError:
            return Failed(reason=NO_MEMORY)
        except AuditError as error:
            return Failed(reason=str(error))
        except Exception as error:  # whatever it is, it must not cost anybody else anything
            return Failed(reason=f"{type(error).__name__}: {error}")


def _refuse_changed(sealed: SealedFile, digest: str) -> None:
    if sealed.digest() != digest:
        raise InputError(f"{sealed.path}: has changed since the audit began; restore it")


def _check(job: AuditJob) -> None:
    if versions() != job.versions:
        raise InputError(
            "a worker has other versions of the program or its packages than the machine that "
            "gives it work; install the same on both"
        )
    if not job.folder.is_dir():
        raise InputError(
            f"{job.folder}: a worker does not see this folder; choose an --out that all machines "
            "see under one path"
        )


def _with_absolute_paths(settings: Settings) -> Settings:
    """The same settings for a process that was started elsewhere."""
    document = settings.model_dump(by_alias=True)
    return Settings.model_validate(document, context={"folder": Path().resolve()})


class Executor(Protocol):
    """Whoever works on the chunks."""

    def run(
        self, job: AuditJob, queue: ChunkQueue, say: Say
    ) -> Generator[FinishedChunk, None, None]:
        """Hand out parts until every chunk is finished; chunks come in any order."""


class InProcess:
    """Works on the chunks in this process: nothing to start, and nothing that survives a crash."""

    def run(
        self, job: AuditJob, queue: ChunkQueue, say: Say
    ) -> Generator[FinishedChunk, None, None]:
        work = job.open()
        while (part := queue.take()) is not None:
            finished = settle(queue, part, work(part), say)
            if finished is not None:
                yield finished


def executor_for(*, workers: int, scheduler: str | None, timeout: float) -> Executor:
    """The executor that a user asked for; 0 workers is this process itself."""
    if scheduler is not None:
        from recourse_audit.execute.dask_pool import DaskPool

        return DaskPool(scheduler, timeout=timeout)
    if workers == 0:
        return InProcess()
    return ProcessPool[Part, Answers, FinishedChunk](workers, timeout=timeout)


class Progress(Protocol):
    """Whoever wants to know how far the audit has come."""

    def begin(self, total: int, done: int) -> None:
        """There are `total` subjects, and `done` of them were finished before."""

    def advance(self, subjects: int, queries: int) -> None:
        """Some more subjects are done, with this many queries."""

    def stage(self, doing: str, done: int = 0, total: int | None = None) -> None:
        """Something other than subjects takes time; so many steps of it are done, if they count."""

    def say(self, text: str) -> None:
        """Something happened that a person may want to read."""
