"""`Audit`: a sealed model, a graph and settings, ready to be asked."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recourse_audit.api.bundle import Bundle
from recourse_audit.api.clock import now

if TYPE_CHECKING:
    from recourse_audit.audit.inspection import Inspection
    from recourse_audit.audit.loaded import LoadedAudit
    from recourse_audit.graph.arrays import Graph
    from recourse_audit.model.onnx import OnnxModel
    from recourse_audit.records.caveats import StabilityReport
    from recourse_audit.records.recourse import WhatIf
    from recourse_audit.records.report import SubjectReport
    from recourse_audit.settings import Settings

SECONDS_PER_CHUNK = 3600.0


class Audit:
    """A sealed model, a graph and the settings of an audit, opened and probed once.

    Parameters
    ----------
    settings
        What `load_settings` returns.
    graph
        A graph made with `from_arrays` or `from_networkx`, in place of the files in the settings.
    model
        An opened model, in place of the file in the settings.
    seed
        Replaces `search.seed` of the settings.
    """

    def __init__(
        self,
        *,
        settings: "Settings",
        graph: "Graph | None" = None,
        model: "OnnxModel | None" = None,
        seed: int | None = None,
    ) -> None:
        from recourse_audit.audit.loaded import open_audit, with_seed

        self._open(open_audit(with_seed(settings, seed), graph=graph, model=model))

    @classmethod
    def from_toml(
        cls,
        path: Path | str,
        *,
        seed: int | None = None,
        timeout: float | None = None,
        progress: bool = False,
    ) -> "Audit":
        """Read an `audit.toml` and everything that it names; `timeout` replaces `model.timeout`."""
        from recourse_audit.audit.loaded import load_audit
        from recourse_audit.render.terminal.progress import steps_on_stderr

        audit = cls.__new__(cls)
        with steps_on_stderr(shown=progress) as steps:
            steps.begin("Reading the graph and probing the model")
            audit._open(load_audit(path, seed=seed, timeout=timeout), Path(path))
        return audit

    def _open(self, loaded: "LoadedAudit", origin: Path = Path("audit.toml")) -> None:
        self.loaded = loaded  # for what has no method yet; not part of the promise
        self._origin = origin

    def __repr__(self) -> str:
        graph, model = self.loaded.graph, self.loaded.model
        return f"Audit({str(model.path)!r}, {graph.node_count:,} nodes, {len(graph.ties):,} ties)"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know about the model and the graph before any figure."""
        return self.loaded.warnings

    def inspect(self) -> "Inspection":
        """The model's inputs and their roles, its output, and what the probes found."""
        from recourse_audit.audit.inspection import inspection_of

        return inspection_of(self.loaded, self._origin)

    def explain(self, subject: str) -> "SubjectReport":
        """Explain the decision on one subject, and find options for them."""
        [report] = self.explain_many([subject])
        return report

    def explain_many(
        self, subjects: Sequence[str], *, what_if: Sequence[str] = (), progress: bool = False
    ) -> "list[SubjectReport]":
        """Explain the decisions on several subjects, in the order given.

        With `what_if`, each report also says what the model decides after these changes.
        """
        from recourse_audit.audit.reporter import explain
        from recourse_audit.render.terminal.progress import steps_on_stderr

        with steps_on_stderr(shown=progress) as steps:
            steps.begin("Explaining decisions", len(set(subjects)))
            return explain(self.loaded, subjects, what_if=what_if, done=steps.advance)

    def what_if(self, subject: str, changes: Sequence[str]) -> "WhatIf":
        """Try changes together: "drop A-B", "add A-B:kind", "savings=4000"."""
        from recourse_audit.audit.reporter import try_by_hand

        return try_by_hand(self.loaded, subject, changes)

    def stability(
        self,
        subjects: Sequence[str] = (),
        *,
        perturbed_models: Sequence[Path | str] = (),
        links: int = 10,
        sample: int = 20,
        options: bool = True,
        progress: bool = False,
    ) -> "StabilityReport":
        """Perturb the graph by new ties, or the model by copies of it, and compare findings.

        Without `subjects`, a sample of those who were refused is drawn.
        """
        from recourse_audit.audit.loaded import find_subjects
        from recourse_audit.audit.stability import by_links, by_models, some_subjects
        from recourse_audit.render.terminal.progress import steps_on_stderr

        audit = self.loaded
        chosen = find_subjects(audit, subjects) if subjects else some_subjects(audit, sample)
        models = [Path(path) for path in perturbed_models]
        with steps_on_stderr(shown=progress) as steps:
            if models:
                steps.begin("Explaining with perturbed models", len(models))
                return by_models(audit, chosen, models, with_options=options, done=steps.advance)
            steps.begin("Explaining with new ties", links * len(chosen))
            return by_links(audit, chosen, links, with_options=options, done=steps.advance)

    def run(
        self,
        out: Path | str,
        *,
        subjects: str = "unfavourable",
        sample: int | None = None,
        stratify: str | None = None,
        workers: int | None = None,
        scheduler: str | None = None,
        timeout: float = SECONDS_PER_CHUNK,
        fresh: bool = False,
        despite_disagreement: bool = False,
        sign: Path | str | None = None,
        id_key: Path | str | None = None,
        progress: bool = False,
    ) -> Bundle:
        """Audit everyone who was refused, or others, into a bundle; rerun the same to resume.

        Parameters
        ----------
        subjects
            "all", "unfavourable", a file with one id per line, or ATTRIBUTE=VALUE.
        sample, stratify
            Audit a random sample of this size, in proportion to the values of an attribute.
        workers
            Processes, one per core if not given; 0 works in this process.
        scheduler
            The address of a Dask scheduler, whose workers do the work instead.
        timeout
            Seconds that a chunk may take.
        despite_disagreement
            Go on even if the record and the model differ on more people than the settings allow.
        sign, id_key
            An Ed25519 private key to sign with; a secret file to hash ids with.
        """
        from recourse_audit.audit.selection import Selection
        from recourse_audit.bundle.manifest import read_id_key
        from recourse_audit.bundle.signature import read_signer
        from recourse_audit.execute.executors import executor_for
        from recourse_audit.execute.pipeline import Request, run_audit
        from recourse_audit.render.terminal.progress import audit_progress_on_stderr

        request = Request(
            audit=self.loaded,
            origin=self._origin,
            out=Path(out),
            selection=Selection(subjects=subjects, sample=sample, stratify=stratify),
            fresh=fresh,
            despite_disagreement=despite_disagreement,
            id_key=None if id_key is None else read_id_key(Path(id_key)),
            signer=None if sign is None else read_signer(Path(sign)),
        )
        count = os.cpu_count() or 1 if workers is None else workers
        executor = executor_for(workers=count, scheduler=scheduler, timeout=timeout)
        with audit_progress_on_stderr(shown=progress) as shown:
            summary = run_audit(request, executor, now=now, progress=shown)
        return Bundle(Path(out), was_finished=summary.finished_before)
