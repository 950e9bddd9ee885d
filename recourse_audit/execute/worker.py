"""What a worker does: open the audit again from shared files, without probing, and answer parts.

A worker on another machine finds the same files under the same paths. Arrays are mapped into
memory, so that no worker needs a copy of the graph, and neither does the process that read it;
texts cannot be mapped and are copied.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from recourse_audit.audit.load import LoadedAudit, assemble
from recourse_audit.audit.report import Reporter
from recourse_audit.bundle.manifest import versions
from recourse_audit.errors import AuditError, InputError
from recourse_audit.execute.chunks import Answers, Part
from recourse_audit.execute.process_pool import Failed
from recourse_audit.graph.graph import Floats, Graph, Strings, Ties
from recourse_audit.model.preprocessing import Intake, Pipeline
from recourse_audit.model.roles import OutputPort
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.model import ProbeReport
from recourse_audit.recourse.policy import open_policy
from recourse_audit.settings import Settings

ANSWERS = "answers.npy"
NO_MEMORY = "there was not enough memory for this subject"
SMALL = 65_536
TEXTS_AT_ONCE = 2**16
# A graph whose arrays have more bytes is not held twice.
HELD_ONCE = 2**28
# An array, or the name of the file with it.
ARRAY = np.ndarray | str


def share_graph(folder: Path, graph: Graph) -> Graph:
    """Write every array into the folder; the graph with names of files in place of its arrays.

    Files that others have open stay as they were.
    """

    def save(name: str, values: NDArray[Any]) -> str:
        if values.dtype.kind == "T":
            _save_texts(folder, name, cast(Strings, values))
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
    return whole.hexdigest()


def _with_arrays(graph: Graph, change: Callable[[str, Any], Any]) -> Graph:
    """The graph with what a function makes of the name and the value of each of its arrays."""

    def changed(owner: Graph | Ties, before: str = "") -> dict[str, Any]:
        values = {field.name: getattr(owner, field.name) for field in fields(owner)}
        arrays = {name: value for name, value in values.items() if isinstance(value, ARRAY)}
        return {name: change(f"{before}{name}", value) for name, value in arrays.items()}

    own: dict[str, Any] = changed(graph)
    for kind in ("attributes", "more"):
        columns = enumerate(getattr(graph, kind).items())
        own[kind] = {name: change(f"{kind}.{place}", value) for place, (name, value) in columns}
    ties = replace(graph.ties, **changed(graph.ties, "ties."))
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
    values: NDArray[Any] = np.asarray(np.load(path, mmap_mode=mode, allow_pickle=False))
    return values


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

    `model` and `preprocessing` are digests, and `intakes` the columns that the inputs of the latter
    take.
    """

    folder: Path
    graph: Graph
    settings: Settings
    probes: ProbeReport
    output: OutputPort
    model: str
    preprocessing: str
    intakes: tuple[Intake, ...]
    versions: dict[str, str]

    def open(self) -> Callable[[Part], Answers | Failed]:
        """Called in each worker."""
        return Worker(self).work


def prepare_job(folder: Path, audit: LoadedAudit, answers: Floats) -> AuditJob:
    """Write what workers share into a folder."""
    shared = share_graph(folder, audit.graph)
    let_go(folder, audit.graph)
    save_array(folder / ANSWERS, answers)
    pipeline = audit.preprocessing
    return AuditJob(
        folder=folder.resolve(),
        graph=shared,
        settings=_with_absolute_paths(audit.settings),
        probes=audit.probes,
        output=audit.model.signature.output,
        model=audit.model.digest(),
        preprocessing="" if pipeline is None else pipeline.digest(),
        intakes=() if pipeline is None else pipeline.encoder.intakes,
        versions=versions(),
    )


class Worker:
    """Works on parts, one after the other."""

    def __init__(self, job: AuditJob) -> None:
        _check(job)
        settings, in_worker = job.settings, parent_process() is not None
        model = OnnxModel(settings.model, in_worker=in_worker)
        _refuse_changed(model, job.model)
        model.with_output(job.output)
        graph = open_shared_graph(job.folder, job.graph)
        encoder = None  # that of the settings
        if job.preprocessing:
            encoder = Pipeline(settings.model, settings.graph, in_worker=in_worker)
            _refuse_changed(encoder, job.preprocessing)
            encoder.take(job.intakes)
        policy = open_policy(settings, graph, encoder)
        self._audit = assemble(settings, graph, model, job.probes, policy)
        self._reporter = Reporter(self._audit, open_array(job.folder / ANSWERS))
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


def _refuse_changed(sealed: OnnxModel | Pipeline, digest: str) -> None:
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
    graph = {key: path.resolve() for key, path in settings.graph.files.items()}
    candidates = settings.recourse.candidates
    recourse = {} if candidates is None else {"candidates": candidates.resolve()}
    model = {
        key: path.resolve()
        for key in ("path", "preprocessing")
        if (path := getattr(settings.model, key)) is not None
    }
    return settings.model_copy(
        update={
            "model": settings.model.model_copy(update=model),
            "graph": settings.graph.model_copy(update=graph),
            "recourse": settings.recourse.model_copy(update=recourse),
        }
    )
