"""What a worker does: open the audit again from shared files, without probing, and answer parts.

A worker on another machine finds the same files under the same paths.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from recourse_audit.audit.loaded import LoadedAudit, assemble
from recourse_audit.audit.reporter import Reporter
from recourse_audit.bundle.digests import versions
from recourse_audit.errors import AuditError, InputError
from recourse_audit.execute.chunks import Answered, Answers, Part
from recourse_audit.execute.process_pool import Failed
from recourse_audit.execute.shared_graph import open_array, save_array, share_graph, shared_graph
from recourse_audit.graph.arrays import Floats
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.signature import OutputPort
from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.probes import ProbeReport
from recourse_audit.recourse.policy import open_policy
from recourse_audit.settings import Settings

ANSWERS = "answers.npy"
NO_MEMORY = "there was not enough memory for this subject"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditJob:
    """All that a worker is told; the rest is in the folder."""

    folder: Path
    settings: Settings
    probes: ProbeReport
    output: OutputPort
    model: str
    versions: dict[str, str]

    def open(self) -> Callable[[Part], Answers | Failed]:
        """Called in each worker."""
        return Worker(self).work


def prepare_job(folder: Path, audit: LoadedAudit, answers: Floats) -> AuditJob:
    """Write what workers share into a folder."""
    share_graph(folder, audit.graph)
    save_array(folder / ANSWERS, answers)
    return AuditJob(
        folder=folder.resolve(),
        settings=_with_absolute_paths(audit.settings),
        probes=audit.probes,
        output=audit.model.signature.output,
        model=audit.model.digest(),
        versions=versions(),
    )


class Worker:
    """Works on parts, one after the other."""

    def __init__(self, job: AuditJob) -> None:
        _check(job)
        model = OnnxModel(job.settings.model)
        if model.digest() != job.model:
            raise InputError(f"{model.path}: has changed since the audit began; restore it")
        model.with_output(job.output)
        graph = shared_graph(job.folder)
        policy = open_policy(job.settings, graph)
        self._audit = assemble(job.settings, graph, model, job.probes, policy)
        answers = open_array(job.folder / ANSWERS)
        self._reporter = Reporter(self._audit, answers)

    def work(self, part: Part) -> Answers | Failed:
        """The documents of the part's subjects; or why there is none for any of them."""
        self._audit.model.reseed(self._audit.scope.seed)
        try:
            return {
                subject: Answered(document=SUBJECT.write(report), queries=report.queries)
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
    graph = {
        key: path.resolve()
        for key in ("nodes", "edges", "npz", "graphml")
        if (path := getattr(settings.graph, key)) is not None
    }
    candidates = settings.recourse.candidates
    recourse = {} if candidates is None else {"candidates": candidates.resolve()}
    return settings.model_copy(
        update={
            "model": settings.model.model_copy(update={"path": settings.model.path.resolve()}),
            "graph": settings.graph.model_copy(update=graph),
            "recourse": settings.recourse.model_copy(update=recourse),
        }
    )
