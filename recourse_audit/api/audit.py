"""`Audit`: a sealed model, a graph and settings, ready to be asked."""

import operator
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, SupportsIndex

from recourse_audit.api.bundle import Bundle
from recourse_audit.api.clock import now
from recourse_audit.errors import InputError, SettingsError, SubjectError

if TYPE_CHECKING:
    from recourse_audit.audit.inspect import Inspection
    from recourse_audit.audit.load import LoadedAudit
    from recourse_audit.graph.graph import Graph
    from recourse_audit.model.session import OnnxModel
    from recourse_audit.records.recourse import WhatIf
    from recourse_audit.records.subject import StabilityReport, SubjectReport
    from recourse_audit.settings import Settings

SECONDS_PER_CHUNK = 3600.0


class Audit:
    """A sealed model, a graph and the settings of an audit, opened and probed once.

    Parameters
    ----------
    settings
        What `load_settings` returns, or a table with the keys of `audit.toml`. With `graph`, it
        needs no section `graph`.
    graph
        A graph made with `from_arrays` or `from_networkx`, in place of the files in the settings.
    model
        An opened model, in place of the file in the settings.
    seed
        Replaces `search.seed` of the settings.

    Examples
    --------
    >>> audit = Audit.from_toml("sample_models/lending/audit.toml")
    >>> graph = audit.loaded.graph
    >>> decision = {"classes": ["denied", "approved"], "favourable": ["approved"]}
    >>> model = {"path": "sample_models/lending/gcn.onnx"}
    >>> in_memory = Audit(settings={"model": model, "decision": decision}, graph=graph)
    >>> in_memory.explain("P0004").subject.decision
    'denied'
    """

    def __init__(
        self,
        *,
        settings: "Settings | Mapping[str, object]",
        graph: "Graph | None" = None,
        model: "OnnxModel | None" = None,
        seed: int | None = None,
    ) -> None:
        from recourse_audit.audit.load import open_audit, with_seed

        checked = _check_settings(settings, graph_in_memory=graph is not None)
        self._open(open_audit(with_seed(checked, seed), graph=graph, model=model))

    @classmethod
    def from_toml(
        cls,
        path: Path | str,
        *,
        seed: int | None = None,
        timeout: float | None = None,
        progress: bool = False,
    ) -> "Audit":
        """Read an `audit.toml` and everything that it names.

        Parameters
        ----------
        path
            The settings; every path in them is relative to this file.
        seed, timeout
            Replace `search.seed` and `model.timeout` of the settings.
        progress
            Whether to show what is being done, on stderr.
        """
        from recourse_audit.audit.load import load_audit
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
        from recourse_audit.audit.inspect import inspection_of

        return inspection_of(self.loaded, self._origin)

    def explain(self, subject: str | SupportsIndex) -> "SubjectReport":
        """Explain the decision on one subject, and find options for them.

        Parameters
        ----------
        subject
            The id of the subject; a whole number stands for its digits.

        Examples
        --------
        >>> audit = Audit.from_toml("sample_models/lending/audit.toml")
        >>> report = audit.explain("P0004")
        >>> report.subject.decision, report.recourse.status
        ('denied', 'verified')
        """
        [report] = self.explain_many([subject])
        return report

    def explain_many(
        self,
        subjects: Sequence[str | SupportsIndex],
        *,
        what_if: str | Sequence[str] = (),
        progress: bool = False,
    ) -> "list[SubjectReport]":
        """Explain the decisions on several subjects, in the order given.

        Parameters
        ----------
        subjects
            Ids of subjects.
        what_if
            Changes to try together for each of them, written as for `what_if`.
        progress
            Whether to show a bar on stderr.
        """
        from recourse_audit.audit.report import explain
        from recourse_audit.render.terminal.progress import steps_on_stderr

        ids = _ids(subjects)
        with steps_on_stderr(shown=progress) as steps:
            steps.begin("Explaining decisions", len(set(ids)))
            return explain(self.loaded, ids, what_if=_changes(what_if), done=steps.advance)

    def what_if(self, subject: str | SupportsIndex, changes: str | Sequence[str]) -> "WhatIf":
        """Try changes together, and say what the model decides then.

        Parameters
        ----------
        subject
            The id of the subject.
        changes
            One change or several: "drop A-B", "add A-B:kind", "savings=4000", "housing=own".

        Examples
        --------
        >>> audit = Audit.from_toml("sample_models/lending/audit.toml")
        >>> audit.what_if("P0004", "savings=17920").decision
        'denied'
        >>> changes = ["savings=17920", "drop P0002-P0004", "drop P0004-P0320"]
        >>> audit.what_if("P0004", changes).decision
        'approved'
        """
        from recourse_audit.audit.report import try_by_hand

        [identifier] = _ids([subject])
        return try_by_hand(self.loaded, identifier, _changes(changes))

    def stability(
        self,
        subjects: Sequence[str | SupportsIndex] = (),
        *,
        perturbed_models: Sequence[Path | str] = (),
        new_ties: int = 10,
        sample: int = 20,
        options: bool = True,
        progress: bool = False,
    ) -> "StabilityReport":
        """Perturb the graph by new ties, or the model by copies of it, and compare findings.

        Parameters
        ----------
        subjects
            Ids of subjects; if there are none, `sample` people who were refused are drawn.
        perturbed_models
            Perturbed copies of the model. Without any, the graph is perturbed.
        new_ties
            Number of new ties tried for each subject.
        options
            Whether options are compared as well as explanations.
        """
        from recourse_audit.audit.load import find_subjects
        from recourse_audit.audit.stability import by_links, by_models, draw_subjects
        from recourse_audit.render.terminal.progress import steps_on_stderr

        audit = self.loaded
        chosen = find_subjects(audit, _ids(subjects)) if subjects else draw_subjects(audit, sample)
        models = [Path(path) for path in perturbed_models]
        with steps_on_stderr(shown=progress) as steps:
            if models:
                steps.begin("Explaining with perturbed models", len(models))
                return by_models(audit, chosen, models, with_options=options, done=steps.advance)
            steps.begin("Explaining with new ties", new_ties * len(chosen))
            return by_links(audit, chosen, new_ties, with_options=options, done=steps.advance)

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
        pages_follow: bool = False,
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
        progress, pages_follow
            Show how far it has come, with the time left; with time for letters and pages, too.
        """
        from recourse_audit.audit.load import Selection
        from recourse_audit.bundle.manifest import read_id_key
        from recourse_audit.bundle.signature import read_signer
        from recourse_audit.execute.chunks import executor_for
        from recourse_audit.execute.pipeline import Request, run_audit
        from recourse_audit.render.terminal.progress import (
            SECONDS_ON_PAPER,
            audit_progress_on_stderr,
        )

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
        on_paper = SECONDS_ON_PAPER / max(count, 1) if pages_follow else 0.0
        with audit_progress_on_stderr(shown=progress, on_paper=on_paper) as shown:
            summary = run_audit(request, executor, now=now, progress=shown)
        return Bundle(Path(out), was_finished=summary.finished_before)


def _check_settings(
    settings: "Settings | Mapping[str, object]", *, graph_in_memory: bool
) -> "Settings":
    from recourse_audit.settings import Settings, parse_settings

    if isinstance(settings, Settings):
        return settings
    if not isinstance(settings, Mapping):
        raise SettingsError(
            f"settings: must be what load_settings returns, or a table (got {settings!r})"
        )
    return parse_settings(
        settings, folder=Path(), origin="settings", graph_in_memory=graph_in_memory
    )


def _ids(subjects: Sequence[str | SupportsIndex]) -> list[str]:
    """Ids as the graph has them: text; PyG and others number people, also with numpy's numbers."""
    return [_id(subject) for subject in ([subjects] if isinstance(subjects, str) else subjects)]


def _id(subject: str | SupportsIndex) -> str:
    try:
        return subject if isinstance(subject, str) else str(operator.index(subject))
    except TypeError:
        raise SubjectError(
            f"an id is text or a whole number (got {subject!r}); give the id of a node"
        ) from None


def _changes(changes: str | Sequence[str]) -> list[str]:
    texts = [changes] if isinstance(changes, str) else [*changes]
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"a change is text, such as 'savings=4000' (got {text!r})")
    return texts
