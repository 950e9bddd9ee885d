"""What a worker does: open the audit again from shared files, without probing, and answer parts.

A worker on another machine finds the same files under the same paths. Arrays are mapped into
memory, so that no worker needs a copy of the graph, and neither does the process that read it;
texts cannot be mapped and are copied.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, fields
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
from recourse_audit.model.preprocessing import Intake, Pipeline, encoder_of
from recourse_audit.model.roles import OutputPort
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.bundle import GraphTable
from recourse_audit.records.codec import GRAPH_TABLE, SUBJECT
from recourse_audit.records.model import ProbeReport
from recourse_audit.recourse.policy import open_policy
from recourse_audit.settings import Settings

TABLE = "graph.json"
ANSWERS = "answers.npy"
NO_MEMORY = "there was not enough memory for this subject"
SMALL = 65_536
TEXTS_AT_ONCE = 2**16
# A graph whose arrays have more bytes is not held twice.
HELD_ONCE = 2**28
_GRAPH = [field.name for field in fields(Graph)]
_TIES = [field.name for field in fields(Ties)]


def share_graph(folder: Path, graph: Graph) -> None:
    """Write every array into the folder; files that others have open stay as they were."""
    arrays = _arrays(graph)
    for name, value in arrays.items():
        if value.dtype.kind == "T":
            _save_texts(folder, name, cast(Strings, value))
        else:
            save_array(folder / f"{name}.npy", value)
    (folder / TABLE).write_text(GRAPH_TABLE.write(_table(graph, arrays)), encoding="utf-8")


def open_shared_graph(folder: Path) -> Graph:
    """Open what `share_graph` wrote."""
    table = GRAPH_TABLE.read((folder / TABLE).read_bytes())
    # Whatever types the arrays were written with, they are read back with.
    arrays: dict[str, Any] = {
        name: _texts(folder, name) if name in table.texts else open_array(folder / f"{name}.npy")
        for name in table.arrays
    }
    own: dict[str, Any] = {name: arrays.get(f"ties.{name}") for name in _TIES if name != "kinds"}
    return Graph(
        ties=Ties(kinds=table.kinds, **own),
        feature_names=table.feature_names,
        directed=table.directed,
        attributes={
            name: arrays[f"attribute.{place}"] for place, name in enumerate(table.attributes)
        },
        more={name: arrays[f"more.{place}"] for place, name in enumerate(table.more)},
        **{name: arrays[name] for name in _GRAPH if name in arrays},
    )


def let_go(folder: Path, graph: Graph) -> None:
    """Replace the arrays of a large graph by the ones that `share_graph` wrote, which are equal.

    Whoever has the graph keeps it, also after the files are deleted; but what workers map into
    memory is not held a second time by the process that read it.
    """
    arrays = {name: value for name, value in _arrays(graph).items() if value.dtype.kind != "T"}
    if sum(value.nbytes for value in arrays.values()) <= HELD_ONCE:
        return
    for name in arrays:
        kind, _, own = name.rpartition(".")
        if kind in ("", "ties"):
            owner = graph.ties if kind else graph
            object.__setattr__(owner, own, open_array(folder / f"{name}.npy"))


def graph_digest(graph: Graph) -> str:
    """SHA-256 of a graph's content, for one that was never in a file."""
    arrays = _arrays(graph)
    whole = hashlib.sha256(GRAPH_TABLE.write(_table(graph, arrays)).encode())
    for name, value in arrays.items():
        content = value.tolist() if value.dtype.kind == "T" else value.tobytes().hex()
        whole.update(json.dumps([name, str(value.dtype), value.shape, content]).encode())
    return whole.hexdigest()


def _arrays(graph: Graph) -> dict[str, NDArray[Any]]:
    plain = {name: getattr(graph, name) for name in _GRAPH}
    plain |= {f"ties.{name}": getattr(graph.ties, name) for name in _TIES}
    named = {f"attribute.{place}": values for place, values in enumerate(graph.attributes.values())}
    named |= {f"more.{place}": values for place, values in enumerate(graph.more.values())}
    return {name: value for name, value in plain.items() if isinstance(value, np.ndarray)} | named


def _table(graph: Graph, arrays: dict[str, NDArray[Any]]) -> GraphTable:
    """What a graph holds besides arrays, and which of them are texts."""
    return GraphTable(
        arrays=tuple(arrays),
        texts=tuple(name for name, value in arrays.items() if value.dtype.kind == "T"),
        attributes=tuple(graph.attributes),
        more=tuple(graph.more),
        feature_names=tuple(graph.feature_names),
        directed=graph.directed,
        kinds=tuple(graph.ties.kinds),
    )


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
class PipelineJob:
    """The pipeline that makes features: its digest, and the columns that its inputs take."""

    sha256: str
    intakes: tuple[Intake, ...]

    def open(self, settings: Settings, *, in_worker: bool) -> Pipeline:
        """Called in each worker; a pipeline that has changed is refused."""
        pipeline = Pipeline(settings.model, settings.graph, in_worker=in_worker)
        if pipeline.digest() != self.sha256:
            raise InputError(f"{pipeline.path}: has changed since the audit began; restore it")
        pipeline.take(self.intakes)
        return pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditJob:
    """All that a worker is told; the rest is in the folder."""

    folder: Path
    settings: Settings
    probes: ProbeReport
    output: OutputPort
    model: str
    pipeline: "PipelineJob | None"
    versions: dict[str, str]

    def open(self) -> Callable[[Part], Answers | Failed]:
        """Called in each worker."""
        return Worker(self).work


def prepare_job(folder: Path, audit: LoadedAudit, answers: Floats) -> AuditJob:
    """Write what workers share into a folder."""
    share_graph(folder, audit.graph)
    let_go(folder, audit.graph)
    save_array(folder / ANSWERS, answers)
    preprocessing = audit.preprocessing
    return AuditJob(
        folder=folder.resolve(),
        settings=_with_absolute_paths(audit.settings),
        probes=audit.probes,
        output=audit.model.signature.output,
        model=audit.model.digest(),
        pipeline=None
        if preprocessing is None
        else PipelineJob(sha256=preprocessing.digest(), intakes=preprocessing.encoder.intakes),
        versions=versions(),
    )


class Worker:
    """Works on parts, one after the other."""

    def __init__(self, job: AuditJob) -> None:
        _check(job)
        in_worker = parent_process() is not None
        model = OnnxModel(job.settings.model, in_worker=in_worker)
        if model.digest() != job.model:
            raise InputError(f"{model.path}: has changed since the audit began; restore it")
        model.with_output(job.output)
        graph = open_shared_graph(job.folder)
        encoder = (
            encoder_of(job.settings.graph, graph)
            if job.pipeline is None
            else job.pipeline.open(job.settings, in_worker=in_worker)
        )
        policy = open_policy(job.settings, graph, encoder)
        self._audit = assemble(job.settings, graph, model, job.probes, policy)
        answers = open_array(job.folder / ANSWERS)
        self._reporter = Reporter(self._audit, answers)
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
