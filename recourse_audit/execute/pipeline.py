"""The audit of everyone: subjects are chosen, cut into pieces, worked on, and kept in a bundle.

Killed at any moment, the same call continues: pieces that were finished are not done again, and the
files are written from them once all are there.
"""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from recourse_audit.records.codec import subject_document
from recourse_audit.errors import InputError, SettingsError
from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.audit.loaded import LoadedAudit, load_audit
from recourse_audit.audit.reporter import Reporter, whole_answers
from recourse_audit.bundle.layout import Bundle, writing
from recourse_audit.audit.communities import communities_of
from recourse_audit.records.summary_columns import facts_of
from recourse_audit.records.codec import compact
from recourse_audit.execute.fingerprint import changed, fingerprint, parts_of, settings_document
from recourse_audit.audit.grouping import check_groups
from recourse_audit.bundle.log import RunLog
from recourse_audit.bundle.manifest import Evidence, counts_of, hashed_ids, manifest_text, seal
from recourse_audit.execute.chunks import Finished, Queue, pieces_of
from recourse_audit.audit.population import members_of, people_of
from recourse_audit.audit.selection import Selection, selected
from recourse_audit.bundle.signature import Signer
from recourse_audit.bundle.store import meta_of, open_store, write_store
from recourse_audit.bundle.tables import write_csv, write_lines, write_parquet
from recourse_audit.bundle.verification import read_manifest
from recourse_audit.bundle.checkpoint import Work, check_idle
from recourse_audit.execute.process_pool import Crew
from recourse_audit.execute.worker import set_up


class Watcher(Protocol):
    """Whoever wants to know how far the audit has come."""

    def begin(self, total: int, done: int) -> None:
        """There are so many subjects, of whom some were done before."""
        ...

    def advance(self, subjects: int, queries: int) -> None:
        """Some more are done, with so many queries."""
        ...

    def say(self, text: str) -> None:
        """Something happened."""
        ...


class Silence:
    """Nobody wants to know."""

    def begin(self, total: int, done: int) -> None:
        """Say nothing."""

    def advance(self, subjects: int, queries: int) -> None:
        """Say nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""


SILENCE = Silence()
MANY_PAIRS = 50_000  # communities among more take some seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to audit, and where to put it."""

    settings: Path
    out: Path
    selection: Selection
    seed: int | None = None
    fresh: bool = False
    id_key: bytes | None = None
    signer: Signer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How an audit ended: subjects by status; whether it had been finished before."""

    subjects: int
    statuses: dict[str, int]
    finished_before: bool
    warnings: tuple[str, ...]

    @property
    def errors(self) -> int:
        return self.statuses["error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """One audit of some subjects, and what it depends on."""

    audit: LoadedAudit
    answers: Floats
    subjects: Ints
    parts: dict[str, str]
    settings: str
    evidence: Evidence


def run_audit(
    request: Request, crew: Crew, *, now: Callable[[], str], watcher: Watcher = SILENCE
) -> Summary:
    """LoadedAudit all subjects that the request selects, into a bundle; `now` tells the time as text."""
    bundle = Bundle(folder=request.out)
    bundle.state()  # a folder of somebody else is refused before any work is done
    plan = _planned(request)
    with writing(request.out):
        if request.fresh:
            check_idle(bundle.work_store)
            bundle.begin()
        if bundle.state() == "finished":
            return _finished_before(bundle, plan, request)
        if bundle.state() == "new":
            bundle.begin()
        work = Work(bundle.work_store)
        try:
            _begin_or_go_on(bundle, plan, work, watcher)
            log = RunLog(bundle.log, now)
            log.add("started", fingerprint=fingerprint(plan.parts), subjects=len(plan.subjects))
            _work(bundle, plan, work, crew, watcher, log)
            statuses = _seal(bundle, plan, work, request.signer)
            log.add("finished", statuses=statuses)
        finally:
            work.close()
        bundle.end()
    return Summary(
        subjects=len(plan.subjects),
        statuses=statuses,
        finished_before=False,
        warnings=plan.audit.warnings,
    )


def _planned(request: Request) -> _Plan:
    audit = load_audit(request.settings, seed=request.seed)
    try:
        check_groups(audit.graph, audit.settings.groups)
    except SettingsError as error:
        raise SettingsError(f"{request.settings}: {error}") from None
    audit.model.reseed(audit.scope.seed)
    answers = whole_answers(audit, np.arange(audit.graph.node_count))
    subjects = selected(audit, answers, request.selection)
    folder = request.settings.parent
    document = settings_document(audit.settings, folder)
    parts = parts_of(audit, folder, subjects)
    return _Plan(
        audit=audit,
        answers=answers,
        subjects=subjects,
        parts=parts,
        settings=f"{json.dumps(document, ensure_ascii=False, indent=2)}\n",
        evidence=Evidence(
            audit=audit,
            selection=request.selection,
            parts=parts,
            id_key=request.id_key,
            signed_by=None if request.signer is None else request.signer.public,
        ),
    )


def _begin_or_go_on(bundle: Bundle, plan: _Plan, work: Work, watcher: Watcher) -> None:
    """Keep what can be known before anybody works; refuse to go on with something else."""
    before = work.meta()
    if before:
        _refuse_changes(bundle, plan, before)
        return
    audit, settings = plan.audit, plan.audit.settings
    if settings.groups.attributes and audit.graph.pair_count >= MANY_PAIRS:
        watcher.say("communities are being sought in the ties; this may take a minute")
    communities = communities_of(audit.graph, settings.groups, audit.scope.seed)
    bundle.write("settings.json", plan.settings)  # whoever reads what is unfinished needs them
    work.begin(
        plan.parts | {"communities": communities.document},
        people_of(audit.graph, plan.answers, settings.decision, communities),
        members_of(audit.graph, settings.groups),
        plan.subjects.tolist(),
    )


def _refuse_changes(bundle: Bundle, plan: _Plan, meta: dict[str, str]) -> None:
    different = changed(plan.parts, meta)
    if different:
        *most, last = different
        named = f"{', '.join(most)} and {last}" if most else last
        raise InputError(
            f"{bundle.folder}: holds an audit with something else: {named} changed since; choose "
            "another --out, or start over with --fresh"
        )


def _work(
    bundle: Bundle, plan: _Plan, work: Work, crew: Crew, watcher: Watcher, log: RunLog
) -> None:
    """Have all pieces worked on that are not finished yet."""
    finished = work.pieces()
    pieces = list(pieces_of(plan.audit, plan.subjects))
    cut = {one.piece: {*one.subjects} for one in pieces}
    if any(cut.get(piece) != subjects for piece, subjects in finished.items()):
        raise InputError(
            f"{bundle.folder}: was begun by a program that cuts the work into other pieces; use "
            "that program, or start over with --fresh"
        )
    queue = Queue(piece for piece in pieces if piece.piece not in finished)
    total = len(plan.subjects)
    left = sum(len(piece.subjects) for piece in pieces if piece.piece not in finished)
    watcher.begin(total, total - left)
    if not len(queue):
        return
    place = set_up(bundle.work, plan.audit, plan.answers)
    reporter = Reporter(plan.audit, plan.answers)

    def say(text: str) -> None:
        log.add("trouble", text=text)
        watcher.say(text)

    with closing(crew.run(place, queue, say)) as done:
        for piece in done:
            documents = piece.documents | _failures(plan, reporter, piece)
            work.add(piece.piece, documents)
            log.add("piece", piece=piece.piece, subjects=len(documents))
            watcher.advance(len(documents), sum(map(_queries, documents.values())))


def _failures(plan: _Plan, reporter: Reporter, piece: Finished) -> dict[int, str]:
    return {
        subject: compact(subject_document(reporter.failed(subject, reason), plan.audit.probes))
        for subject, reason in piece.failures.items()
    }


def _queries(document: str) -> int:
    facts = facts_of(json.loads(document))
    return int(facts["queries"] or 0) + int(facts["evaluations"] or 0)


def _seal(bundle: Bundle, plan: _Plan, work: Work, signer: Signer | None) -> dict[str, int]:
    """Write every file of the bundle from the finished pieces; count subjects by status."""
    findings, settings = work.findings(), plan.audit.settings
    bundle.write("settings.json", plan.settings)
    new = bundle.work / "new"
    for name, write in (
        ("data/subjects.jsonl", write_lines),
        ("data/subjects.csv", partial(write_csv, settings=settings)),
        ("data/subjects.parquet", partial(write_parquet, settings=settings)),
        ("store.sqlite", write_store),
    ):
        write(new, findings)
        bundle.put(name, new)
    with open_store(bundle.store) as store:
        text = manifest_text(bundle, plan.evidence, store)
        statuses: dict[str, int] = counts_of(store)["statuses"]
    seal(bundle, text, None if signer is None else signer.sign(text))
    return statuses


def _finished_before(bundle: Bundle, plan: _Plan, request: Request) -> Summary:
    with open_store(bundle.store) as store:
        _refuse_changes(bundle, plan, meta_of(store))
        statuses: dict[str, int] = counts_of(store)["statuses"]
        ids = None if request.id_key is None else hashed_ids(store, request.id_key)
    manifest = read_manifest(bundle.folder)
    for wanted, there, option in (
        (plan.evidence.signed_by, manifest["signed_by"], "--sign"),
        (ids, manifest["hashed_ids"], "--id-key"),
    ):
        if wanted is not None and wanted != there:
            raise InputError(
                f"{bundle.folder}: was finished without this {option}; choose another --out, or "
                "start over with --fresh"
            )
    return Summary(
        subjects=len(plan.subjects),
        statuses=statuses,
        finished_before=True,
        warnings=plan.audit.warnings,
    )
