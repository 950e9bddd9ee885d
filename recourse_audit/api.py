"""The two objects to learn: `Audit` asks the model, and `Bundle` holds what was found.

Nothing here computes: each method calls the stage that does. The stages that ask the model are
imported by the methods that need them, so that a bundle is read without onnxruntime. The clock is
read here and nowhere below.
"""

import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from recourse_audit.bundle.manifest import count_results, read_id_key, read_manifest
from recourse_audit.bundle.reader import arrow_table, open_stored_audit
from recourse_audit.bundle.signature import read_public_key, read_signer
from recourse_audit.bundle.verification import leftovers, verify_bundle
from recourse_audit.errors import InputError, SettingsError, SubjectError
from recourse_audit.records import Record
from recourse_audit.records.bundle import SignOff, Verification
from recourse_audit.records.groups import GroupReport
from recourse_audit.records.model import Agreement, Repeats
from recourse_audit.records.recourse import RecourseStatus, WhatIf
from recourse_audit.records.subject import StabilityReport, SubjectReport
from recourse_audit.render.batch import RenderOptions
from recourse_audit.render.i18n import probe_notes
from recourse_audit.render.outbox import Outbox, open_outbox
from recourse_audit.render.progress import (
    SECONDS_ON_PAPER,
    audit_progress_on_stderr,
    steps_on_stderr,
)
from recourse_audit.render.redaction import Level
from recourse_audit.render.terminal import html_of
from recourse_audit.render.text import plain
from recourse_audit.render.write_letters import (
    DRAFTS,
    Ids,
    LetterOptions,
    Signing,
    WrittenLetters,
    write_letters,
)
from recourse_audit.render.write_pages import PageOptions, WrittenPages, write_pages
from recourse_audit.settings import Settings, parse_settings
from recourse_audit.settings.section import near_matches

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from recourse_audit.audit.inspect import Inspection
    from recourse_audit.audit.load import LoadedAudit
    from recourse_audit.graph.graph import Graph
    from recourse_audit.model.session import OnnxModel

AnyPath = Path | str
SubjectId = str | SupportsIndex  # a whole number stands for its digits, as in PyG

Record.html = staticmethod(html_of)


class Audit:
    """A sealed model, a graph and the settings of an audit, opened and probed once.

    Parameters
    ----------
    settings
        What `load_settings` returns, or a table with the keys of `audit.toml`. With `graph`, it
        needs no section `graph`.
    graph
        A graph made with `from_arrays` or `from_networkx`, or PyG's `HeteroData` as it is, in place
        of the files in the settings.
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
        settings: Settings | Mapping[str, object],
        graph: "Graph | Any | None" = None,
        model: "OnnxModel | None" = None,
        seed: int | None = None,
    ) -> None:
        from recourse_audit.audit.load import open_audit, with_seed

        if isinstance(settings, Mapping):
            settings = parse_settings(
                settings, folder=Path(), origin="settings", graph_in_memory=graph is not None
            )
        elif not isinstance(settings, Settings):
            raise SettingsError(
                f"settings: must be what load_settings returns, or a table (got {settings!r})"
            )
        self._open(open_audit(with_seed(settings, seed), graph=graph, model=model))

    @classmethod
    def from_toml(
        cls,
        path: AnyPath,
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
        return probe_notes(self.loaded.probes)

    def inspect(self) -> "Inspection":
        """The model's inputs and their roles, its output, and what the probes found."""
        from recourse_audit.audit.inspect import inspection_of

        return inspection_of(self.loaded, self._origin)

    def explain(self, subject: SubjectId) -> SubjectReport:
        """Explain the decision on one subject, and find options for them.

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
        subjects: Sequence[SubjectId],
        *,
        what_if: str | Sequence[str] = (),
        progress: bool = False,
    ) -> list[SubjectReport]:
        """Explain the decisions on several subjects, in the order given.

        `what_if` has changes to try together for each of them; `progress` shows a bar on stderr.
        """
        from recourse_audit.audit.report import explain

        ids = _list_ids(subjects)
        with steps_on_stderr(shown=progress) as steps:
            steps.begin("Explaining decisions", len(set(ids)))
            return explain(self.loaded, ids, what_if=_list_changes(what_if), done=steps.advance)

    def what_if(self, subject: SubjectId, changes: str | Sequence[str]) -> WhatIf:
        """Try changes together, and say what the model decides then.

        Parameters
        ----------
        changes
            One change or several: "drop A-B", "add A-B:kind", "move A-B:kind to C",
            "savings=4000", "housing=own".

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

        [identifier] = _list_ids([subject])
        return try_by_hand(self.loaded, identifier, _list_changes(changes))

    def stability(
        self,
        subjects: Sequence[SubjectId] = (),
        *,
        perturbed_models: Sequence[AnyPath] = (),
        new_ties: int = 10,
        sample: int = 20,
        options: bool = True,
        progress: bool = False,
    ) -> StabilityReport:
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

        audit, models = self.loaded, [Path(path) for path in perturbed_models]
        ids = _list_ids(subjects)
        chosen = find_subjects(audit, ids) if ids else draw_subjects(audit, sample)
        with steps_on_stderr(shown=progress) as steps:
            if models:
                steps.begin("Explaining with perturbed models", len(models))
                return by_models(audit, chosen, models, with_options=options, done=steps.advance)
            steps.begin("Explaining with new ties", new_ties * len(chosen))
            return by_links(audit, chosen, new_ties, with_options=options, done=steps.advance)

    def run(
        self,
        out: AnyPath,
        *,
        subjects: str = "unfavourable",
        sample: int | None = None,
        stratify: str | None = None,
        workers: int | None = None,
        scheduler: str | None = None,
        timeout: float = 3600.0,
        fresh: bool = False,
        despite_disagreement: bool = False,
        sign: AnyPath | None = None,
        id_key: AnyPath | None = None,
        progress: bool = False,
        pages_follow: bool = False,
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
        fresh
            Start over in a folder that holds another audit.
        despite_disagreement
            Go on even if the record and the model differ on more people than the settings allow.
        sign, id_key
            An Ed25519 private key to sign with; a secret file to hash ids with.
        progress, pages_follow
            Show how far it has come, with the time left; with time for letters and pages, too.
        """
        from recourse_audit.audit.load import Selection
        from recourse_audit.execute.pipeline import Request, run_audit
        from recourse_audit.execute.worker import executor_for

        if not self.loaded.model.path.is_file():
            raise InputError(
                f"{self.loaded.model.path}: run needs a model file, because every worker opens it; "
                "without one, use explain, explain_many, inspect or what_if"
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
            summary = run_audit(request, executor, now=_now, progress=shown)
        return Bundle(out, was_finished=summary.finished_before)


class Bundle:
    """A folder that `Audit.run` wrote: reports on subjects, groups, pages, letters, evidence.

    It asks no model. It iterates over reports in the order of the node table, and finds one by its
    id. `was_finished` says whether the `run` that returned it found everything done already.

    Examples
    --------
    `bundle["P0004"].recourse.status`, `bundle.statuses["verified"]`,
    `bundle.groups().difference["origin"]["south"]["feasibility"]`.
    """

    def __init__(self, folder: AnyPath, *, was_finished: bool = False) -> None:
        self.folder = Path(folder)
        self.was_finished = was_finished

    def __repr__(self) -> str:
        return f"Bundle({str(self.folder)!r}, {len(self):,} subjects)"

    def __len__(self) -> int:
        return sum(self.statuses.values())

    def __getitem__(self, subject: str) -> SubjectReport:
        with open_stored_audit(self.folder) as stored:
            number = stored.number_of(subject)
            if number is None:
                hint = near_matches(subject, stored.names().values())
                raise SubjectError(f"{self.folder}: there is no subject {subject!r}; {hint}")
            return stored.report(number)

    def __iter__(self) -> Iterator[SubjectReport]:
        with open_stored_audit(self.folder) as stored:
            for result in stored.results():
                yield result.report

    @property
    def statuses(self) -> dict[RecourseStatus, int]:
        """How many subjects have each status."""
        with open_stored_audit(self.folder) as stored:
            return count_results(stored.connection).statuses

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know about the model and the graph before any figure."""
        return probe_notes(read_manifest(self.folder).probes)

    @property
    def repeats(self) -> Repeats:
        """How many queries of the model were repeated, and how many with a different answer."""
        return read_manifest(self.folder).counts.repeats

    @property
    def agreement(self) -> Agreement | None:
        """How the decisions on record agree with the model's; None if none are on record."""
        with open_stored_audit(self.folder) as stored:
            return stored.agreement

    @property
    def settings(self) -> Settings:
        """The settings of the audit."""
        with open_stored_audit(self.folder) as stored:
            return stored.settings

    @property
    def leftovers(self) -> tuple[str, ...]:
        """Folders that `write_pages` or `write_letters` left when it was killed."""
        return leftovers(self.folder)

    def groups(self) -> GroupReport:
        """Gaps between groups, with their uncertainty."""
        with open_stored_audit(self.folder) as stored:
            if stored.finished:
                return stored.group_report()
            from recourse_audit.groups.report import groups_of

            return stored.with_days(groups_of(stored))

    def write_pages(
        self,
        *,
        level: Level = "auditor",
        language: str = "en",
        auditor: str = "",
        pdf: bool = False,
        packs: Iterable[str] = (),
        templates: AnyPath | None = None,
        workers: int | None = None,
        sign: AnyPath | None = None,
        again: bool = True,
        progress: bool = False,
    ) -> WrittenPages:
        """Write reports, group report, packs and index into `pages/`.

        Parameters
        ----------
        level
            For whom: how much a page may say about other people.
        auditor
            Who answers for the audit; named on the index.
        packs
            Frameworks whose checklists are added, such as "ll144".
        again
            If false, pages that were made from this bundle before are kept.
        """
        options = PageOptions(
            level=level,
            language=language,
            auditor=auditor,
            pdf=pdf,
            packs=tuple(dict.fromkeys(packs)),
            templates=_path(templates),
        )
        with _render_options(workers, sign, again, progress) as work:
            return write_pages(self.folder, options, work)

    def write_letters(
        self,
        *,
        language: str | None = None,
        sign_off: str | None = None,
        day: date | None = None,
        ids: Iterable[str] | Literal["all"] | None = None,
        accept: Iterable[str] = (),
        reopen: bool = False,
        reviewed: AnyPath | None = None,
        settings: AnyPath | None = None,
        reasons: AnyPath | None = None,
        addresses: AnyPath | None = None,
        names: AnyPath | None = None,
        templates: AnyPath | None = None,
        workers: int | None = None,
        sign: AnyPath | None = None,
        again: bool = True,
        progress: bool = False,
    ) -> WrittenLetters:
        """Write letters to the subjects into `letters/`: drafts, unless somebody signs them off.

        Letters that were signed off before stay as they are; if they would now read differently,
        nothing is written.

        Parameters
        ----------
        language
            In place of `letters.language` of the settings.
        sign_off, day
            Who answers for the letters in `ids`, and the day on them (today if not given).
        ids
            The subjects whose letters are signed off; "all" is every letter without a cause
            against it. What is refused is in `refused` of the result.
        accept
            Causes that do not keep the letters in `ids` from being signed off: "fragile",
            "incomplete", "no-reason", "ties-only", "unnamed", "unreviewed".
        reopen
            Make the letters in `ids` drafts again.
        reviewed
            CSV: who has read whose draft (`id`, `reviewer`, `reviewed`, and perhaps `draft`).
        settings
            An `audit.toml` whose [letters] replace those of the bundle.
        reasons, addresses
            CSV files: `letters/reasons.csv` with the reasons that a person has confirmed, and where
            letters go.
        names
            CSV with everybody's id and names: reasons that name somebody else are refused.
        """
        options = LetterOptions(
            templates=_path(templates),
            settings=_path(settings),
            language=language,
            reasons=_path(reasons),
            addresses=_path(addresses),
            names=_path(names),
            reviewed=_path(reviewed),
            signing=Signing(
                by=_sign_off(sign_off, day),
                ids=_letter_ids(ids),
                accept=frozenset(accept),
                reopen=reopen,
            ),
        )
        with _render_options(workers, sign, again, progress) as work:
            return write_letters(self.folder, options, work)

    def outbox(
        self, ids: Iterable[str] | None = None, options: LetterOptions = DRAFTS
    ) -> AbstractContextManager[Outbox]:
        """Signed letters in the order of `ids`, or all unsent: to print, to e-mail, to record.

        `with bundle.outbox(["P0570"]) as outbox: outbox.print_letters(file, duplex=True)`
        """
        return open_outbox(self.folder, _letter_ids(ids), options)

    def verify(self, *, key: AnyPath | None = None) -> Verification:
        """Check every file, the counts, the events and the signature, without the model.

        `problems` of what comes back is empty if nothing was changed. `key` is a public key.
        """
        return verify_bundle(self.folder, None if key is None else read_public_key(Path(key)))

    def replay(self, settings: AnyPath, count: int, *, seed: int = 0) -> tuple[str, ...]:
        """Work out `count` drawn subjects again by `settings`, and name what differs, by line."""
        from recourse_audit.audit.load import load_audit
        from recourse_audit.execute.pipeline import replay

        audit = load_audit(settings, seed=read_manifest(self.folder).seed)
        return tuple(replay(self.folder, audit, Path(settings), count, seed))

    def to_arrow(self) -> "pa.Table":
        """One row per subject: the summary, probabilities and groups."""
        with open_stored_audit(self.folder) as stored:
            return arrow_table(stored)

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a data frame; needs pandas, which this package does not install."""
        try:
            return self.to_arrow().to_pandas()
        except ImportError:
            raise InputError("to_pandas() needs pandas; install it, or use to_arrow()") from None


def open_bundle(folder: AnyPath) -> Bundle:
    """Open a folder that `Audit.run` or `recourse-audit run` wrote."""
    with open_stored_audit(Path(folder)):
        return Bundle(folder)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _path(given: AnyPath | None) -> Path | None:
    return None if given is None else Path(given)


@contextmanager
def _render_options(
    workers: int | None, sign: AnyPath | None, again: bool, progress: bool
) -> Iterator[RenderOptions]:
    with steps_on_stderr(shown=progress) as steps:
        yield RenderOptions(
            workers=os.cpu_count() or 1 if workers is None else workers,
            signer=None if sign is None else read_signer(Path(sign)),
            again=again,
            begin=steps.begin,
            done=steps.advance,
        )


def _sign_off(name: str | None, day: date | None) -> SignOff | None:
    if name is None:
        return None
    if not name.strip():
        raise InputError("--sign-off needs the name of a person")
    today = datetime.now().astimezone().date()  # where this machine is
    return SignOff(name=plain(name.strip()), day=(day or today).isoformat())


def _letter_ids(given: Iterable[str] | None) -> Ids:
    """The ids of letters; a text other than "all" is one id, and not a list of characters."""
    if given is None or given == "all":
        return given
    return (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))


def _list_ids(subjects: str | Sequence[SubjectId]) -> list[str]:
    """Ids as the graph has them: text; PyG and others number people, also with numpy's numbers."""
    ids = []
    for subject in [subjects] if isinstance(subjects, str) else subjects:
        try:
            ids.append(subject if isinstance(subject, str) else str(operator.index(subject)))
        except TypeError:
            raise SubjectError(
                f"an id is text or a whole number (got {subject!r}); give the id of a node"
            ) from None
    return ids


def _list_changes(changes: str | Sequence[str]) -> list[str]:
    texts = [changes] if isinstance(changes, str) else [*changes]
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"a change is text, such as 'savings=4000' (got {text!r})")
    return texts
