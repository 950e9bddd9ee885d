"""Where a worker works: the audit opened again from shared files, without a probe, ready for parts.

A worker on another machine finds the same files under the same paths.
"""

from dataclasses import dataclass
from pathlib import Path

from recourse_audit.records.codec import subject_document
from recourse_audit.errors import AuditError, InputError
from recourse_audit.graph.arrays import Floats
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.signature import OutputPort
from recourse_audit.records.probes import ProbeReport
from recourse_audit.recourse.policy import open_policy
from recourse_audit.audit.loaded import LoadedAudit, assemble
from recourse_audit.audit.reporter import Reporter
from recourse_audit.records.codec import compact
from recourse_audit.execute.chunks import Part
from recourse_audit.execute.shared_graph import open_array, save_array, share_graph, shared_graph
from recourse_audit.bundle.digests import versions
from recourse_audit.settings import Settings

ANSWERS = "answers.npy"
NO_MEMORY = "there was not enough memory for this subject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """All that a worker is told; the rest lies in the folder."""

    folder: Path
    settings: Settings
    probes: ProbeReport
    output: OutputPort
    model: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Why a part could not be done."""

    reason: str


def set_up(folder: Path, audit: LoadedAudit, answers: Floats) -> Workplace:
    """Write what workers share into a folder."""
    share_graph(folder, audit.graph)
    save_array(folder / ANSWERS, answers)
    return Workplace(
        folder=folder.resolve(),
        settings=_absolute(audit.settings),
        probes=audit.probes,
        output=audit.model.signature.output,
        model=audit.model.digest(),
        versions=versions(),
    )


class Worker:
    """Works on parts, one after the other."""

    def __init__(self, place: Workplace) -> None:
        self._check(place)
        model = OnnxModel(place.settings.model)
        if model.digest() != place.model:
            raise InputError(f"{model.path}: has changed since the audit began; restore it")
        model.with_output(place.output)
        graph = shared_graph(place.folder)
        policy = open_policy(place.settings, graph)
        self._audit = assemble(place.settings, graph, model, place.probes, policy)
        self._reporter = Reporter(self._audit, open_array(place.folder / ANSWERS))

    def work(self, part: Part) -> dict[int, str] | Failed:
        """The documents of the part's subjects; or why there is none for any of them."""
        self._audit.model.reseed(self._audit.scope.seed)
        try:
            return {
                subject: compact(subject_document(report, self._audit.probes))
                for subject, report in self._reporter.on_block(part.block)
            }
        except MemoryError:
            return Failed(reason=NO_MEMORY)
        except AuditError as error:
            return Failed(reason=str(error))
        except Exception as error:  # whatever it is, it must cost nobody else anything
            return Failed(reason=f"{type(error).__name__}: {error}")

    def _check(self, place: Workplace) -> None:
        if versions() != place.versions:
            raise InputError(
                "a worker has other versions of the program or its packages than the machine that "
                "gives it work; install the same on both"
            )
        if not place.folder.is_dir():
            raise InputError(
                f"{place.folder}: a worker does not see this folder; choose an --out that all "
                "machines see under one path"
            )


def _absolute(settings: Settings) -> Settings:
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
