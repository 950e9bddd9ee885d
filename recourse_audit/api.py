"""The two objects to learn: `Audit` asks the model, and `Bundle` holds what was found.

>>> import recourse_audit as ra
>>> audit = ra.Audit.from_toml("audit.toml")
>>> audit.explain("P0004")
>>> bundle = audit.run("out", sample=100, workers=2)
>>> bundle.groups().flags

Nothing here computes: each method calls the stage that does.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from recourse_audit.errors import InputError, SubjectError
from recourse_audit.records.base import Record

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from recourse_audit.audit.inspection import Inspection
    from recourse_audit.audit.loaded import LoadedAudit
    from recourse_audit.graph.arrays import Graph
    from recourse_audit.model.onnx import OnnxModel
    from recourse_audit.records.groups import GroupReport
    from recourse_audit.records.recourse import RecourseStatus, WhatIf
    from recourse_audit.records.report import SubjectReport
    from recourse_audit.records.stability import StabilityReport
    from recourse_audit.records.verification import Verification
    from recourse_audit.render.batch import RenderOptions
    from recourse_audit.render.letters.letter import SignOff
    from recourse_audit.render.letters.write_letters import WrittenLetters
    from recourse_audit.render.pages.write_pages import WrittenPages
    from recourse_audit.settings import Settings

Level = Literal["auditor", "reviewer", "subject"]
SECONDS_PER_CHUNK = 3600.0


def now() -> str:
    """The time as text. The clock is read here and nowhere below."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def today() -> date:
    """The day where this machine is."""
    return datetime.now().astimezone().date()


def _html(record: Record) -> str:
    from recourse_audit.render.notebook import html_of

    return html_of(record)


Record.html = staticmethod(_html)


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
        cls, path: Path | str, *, seed: int | None = None, progress: bool = False
    ) -> "Audit":
        """Read an `audit.toml` and everything that it names."""
        from recourse_audit.audit.loaded import load_audit
        from recourse_audit.render.terminal.consoles import steps_on_stderr

        audit = cls.__new__(cls)
        with steps_on_stderr(shown=progress) as steps:
            steps.begin("Reading the graph and probing the model")
            audit._open(load_audit(path, seed=seed), Path(path))
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
        from recourse_audit.render.terminal.consoles import steps_on_stderr

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
        from recourse_audit.render.terminal.consoles import steps_on_stderr

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
        sign: Path | str | None = None,
        id_key: Path | str | None = None,
        progress: bool = False,
    ) -> "Bundle":
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
        sign, id_key
            An Ed25519 private key to sign with; a secret file to hash ids with.
        """
        from recourse_audit.audit.selection import Selection
        from recourse_audit.bundle.manifest import read_id_key
        from recourse_audit.bundle.signature import read_signer
        from recourse_audit.execute.executors import executor_for
        from recourse_audit.execute.pipeline import Request, run_audit
        from recourse_audit.render.terminal.consoles import audit_progress_on_stderr

        request = Request(
            audit=self.loaded,
            origin=self._origin,
            out=Path(out),
            selection=Selection(subjects=subjects, sample=sample, stratify=stratify),
            fresh=fresh,
            id_key=None if id_key is None else read_id_key(Path(id_key)),
            signer=None if sign is None else read_signer(Path(sign)),
        )
        count = os.cpu_count() or 1 if workers is None else workers
        executor = executor_for(workers=count, scheduler=scheduler, timeout=timeout)
        with audit_progress_on_stderr(shown=progress) as shown:
            summary = run_audit(request, executor, now=now, progress=shown)
        return Bundle(Path(out), was_finished=summary.finished_before)


class Bundle:
    """A folder that `Audit.run` wrote: reports on subjects, groups, pages, letters, evidence.

    `was_finished` says whether the `run` that returned it found everything done already.
    """

    def __init__(self, folder: Path | str, *, was_finished: bool = False) -> None:
        self.folder = Path(folder)
        self.was_finished = was_finished

    def __repr__(self) -> str:
        return f"Bundle({str(self.folder)!r}, {len(self):,} subjects)"

    def __len__(self) -> int:
        return sum(self.statuses.values())

    @property
    def statuses(self) -> "dict[RecourseStatus, int]":
        """How many subjects have each status."""
        from recourse_audit.bundle.manifest import counts_of
        from recourse_audit.bundle.reader import open_stored_audit

        with open_stored_audit(self.folder) as stored:
            return counts_of(stored.connection).statuses

    def __getitem__(self, subject: str) -> "SubjectReport":
        from recourse_audit.bundle.reader import open_stored_audit

        with open_stored_audit(self.folder) as stored:
            number = stored.number_of(subject)
            if number is None:
                raise SubjectError(f"{self.folder}: there is no subject {subject!r} in this audit")
            return stored.report(number)

    def __iter__(self) -> "Iterator[SubjectReport]":
        from recourse_audit.bundle.reader import open_stored_audit

        with open_stored_audit(self.folder) as stored:
            for result in stored.results():
                yield result.report

    def groups(self) -> "GroupReport":
        """Gaps between groups, with their uncertainty."""
        from recourse_audit.groups.report import groups_of

        return groups_of(self.folder)

    def write_pages(
        self,
        *,
        level: Level = "auditor",
        pdf: bool = False,
        templates: Path | str | None = None,
        workers: int | None = None,
        sign: Path | str | None = None,
        again: bool = True,
        progress: bool = False,
    ) -> "WrittenPages":
        """Write reports, group report and index into `pages/`.

        Without `again`, pages that were made from this bundle before are kept.
        """
        from recourse_audit.render.pages.write_pages import PageOptions, write_pages

        options = PageOptions(level=level, pdf=pdf, templates=_path(templates))
        with _render_options("Making pages", workers, sign, again, progress) as work:
            return write_pages(self.folder, options, work)

    def write_letters(
        self,
        *,
        language: str | None = None,
        sign_off: str | None = None,
        day: date | None = None,
        settings: Path | str | None = None,
        reasons: Path | str | None = None,
        addresses: Path | str | None = None,
        templates: Path | str | None = None,
        workers: int | None = None,
        sign: Path | str | None = None,
        again: bool = True,
        progress: bool = False,
    ) -> "WrittenLetters":
        """Write letters to the subjects into `letters/`: drafts, unless somebody signs them off.

        Parameters
        ----------
        language
            In place of `letters.language` of the settings.
        sign_off, day
            Who answers for the letters, and the day on them (today if not given).
        settings
            An `audit.toml` whose [letters] replace those of the bundle.
        reasons, addresses
            CSV files: reasons that a person has confirmed, and where letters go.
        """
        from recourse_audit.render.letters.write_letters import LetterOptions, write_letters

        options = LetterOptions(
            templates=_path(templates),
            settings=_path(settings),
            language=language,
            reasons=_path(reasons),
            addresses=_path(addresses),
            sign_off=_sign_off(sign_off, day),
        )
        with _render_options("Writing letters", workers, sign, again, progress) as work:
            return write_letters(self.folder, options, work)

    def verify(self, *, key: Path | str | None = None) -> "Verification":
        """Check every file, the counts, the events and the signature, without the model."""
        from recourse_audit.bundle.signature import read_public_key
        from recourse_audit.bundle.verification import verify_bundle

        return verify_bundle(self.folder, None if key is None else read_public_key(Path(key)))

    def replay(self, settings: Path | str, count: int, *, seed: int = 0) -> tuple[str, ...]:
        """Work out a sample of subjects again, and name what differs, one line each."""
        from recourse_audit.audit.loaded import load_audit
        from recourse_audit.bundle.manifest import read_manifest
        from recourse_audit.execute.replay import replay

        audit = load_audit(settings, seed=read_manifest(self.folder).seed)
        return tuple(replay(self.folder, audit, Path(settings), count, seed))

    def to_arrow(self) -> "pa.Table":
        """One row per subject: the summary, probabilities and groups."""
        from recourse_audit.bundle.reader import open_stored_audit
        from recourse_audit.bundle.tables import arrow_table

        with open_stored_audit(self.folder) as stored:
            return arrow_table(stored)

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a data frame; needs pandas, which this package does not install."""
        try:
            return self.to_arrow().to_pandas()
        except ImportError:
            raise InputError("to_pandas() needs pandas; install it, or use to_arrow()") from None


@contextmanager
def _render_options(
    doing: str, workers: int | None, sign: Path | str | None, again: bool, progress: bool
) -> "Iterator[RenderOptions]":
    from recourse_audit.bundle.signature import read_signer
    from recourse_audit.render.batch import RenderOptions
    from recourse_audit.render.terminal.consoles import steps_on_stderr

    with steps_on_stderr(shown=progress) as steps:
        yield RenderOptions(
            workers=os.cpu_count() or 1 if workers is None else workers,
            signer=None if sign is None else read_signer(Path(sign)),
            again=again,
            begin=lambda total: steps.begin(doing, total),
            done=steps.advance,
        )


def _path(given: Path | str | None) -> Path | None:
    return None if given is None else Path(given)


def _sign_off(name: str | None, day: date | None) -> "SignOff | None":
    from recourse_audit.render.letters.letter import Signer, SignOff
    from recourse_audit.render.text import plain

    if name is None:
        return None
    if not name.strip():
        raise InputError("--sign-off needs the name of a person")
    return SignOff(name=Signer(plain(name.strip())), day=day or today())


def open_bundle(folder: Path | str) -> Bundle:
    """Open a folder that `Audit.run` or `recourse-audit run` wrote."""
    from recourse_audit.bundle.reader import open_stored_audit

    with open_stored_audit(Path(folder)):
        return Bundle(folder)
