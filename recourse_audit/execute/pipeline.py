"""The audit of many: subjects are chosen, cut into chunks, worked on, and kept in a bundle.

Killed at any moment, the same call resumes: chunks that were finished are not done again, and the
files are written from them once all are there. What an audit is of is known by digests of
everything that its results depend on, so that it is never resumed with something else. `replay`
works out some subjects of a bundle again: a second auditor's check of the evidence. `measure_cost`
works on some chunks of an audit and times them, to say what all of them will take.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np

from recourse_audit.audit.agreement import agreement_of, describe_disagreement
from recourse_audit.audit.large_graphs import is_large
from recourse_audit.audit.load import LoadedAudit, Selection, select_subjects
from recourse_audit.audit.own_data import alone_answers
from recourse_audit.audit.population import (
    check_groups,
    communities_of,
    members_of,
    people_of,
    ties_of,
)
from recourse_audit.audit.report import Reporter, ask_twice
from recourse_audit.bundle.layout import (
    GROUP_REPORT,
    SETTINGS,
    STORE,
    TABLES,
    BundleFolder,
    remove_if_empty,
    writing,
)
from recourse_audit.bundle.manifest import (
    Evidence,
    RunLog,
    count_results,
    digest,
    digest_of,
    hash_ids,
    read_manifest,
    seal_bundle,
    versions,
)
from recourse_audit.bundle.reader import StoredAudit, open_stored_audit, write_tables
from recourse_audit.bundle.register import read_register
from recourse_audit.bundle.signature import Signer
from recourse_audit.bundle.store import CheckpointWriter, check_attributes, open_store, read_meta
from recourse_audit.errors import DocumentError, InputError, SettingsError
from recourse_audit.execute.worker import (
    ChunkQueue,
    Executor,
    Progress,
    chunks_of,
    graph_digest,
    prepare_job,
)
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.groups.report import groups_of
from recourse_audit.model.decisions import Decisions
from recourse_audit.records.bundle import (
    Command,
    Fingerprint,
    InputFile,
    Inputs,
    LogLine,
    ModelDigest,
)
from recourse_audit.records.codec import AGREEMENT, COMMUNITIES, FINGERPRINT, GROUPS, SUBJECT
from recourse_audit.records.model import Agreement
from recourse_audit.records.recourse import RecourseStatus
from recourse_audit.settings import fingerprint_text, settings_text
from recourse_audit.settings.section import is_file

COMPARING = "Comparing groups"
WORDS = {
    "versions": "the versions of the program or its packages",
    "head": "the head of the model",
    "preprocessing": "the pipeline of preprocessing",
    "candidates": "the file of candidates",
}
SALT = 31
# How long to measure, in seconds; what has begun is finished.
PATIENCE = 20.0
# Further chunks may differ from those measured by this share, at least.
LEAST_DOUBT = 0.25
# What a further worker adds, compared with the first: workers share memory and caches.
SHARE_OF_WORKER = 0.7


def inputs_of(audit: LoadedAudit) -> Inputs:
    """Every file that an audit reads, with its digest; that of a graph's arrays, without files."""
    candidates, files = audit.settings.recourse.candidates, audit.settings.graph.files
    pipeline = None if audit.preprocessing is None else audit.preprocessing.encoder
    model, preprocessing = (
        None if sealed is None else ModelDigest(sha256=sealed.digest(), files=sealed.digests)
        for sealed in (audit.model, pipeline)
    )
    assert model is not None
    return Inputs(
        model=model,
        preprocessing=preprocessing,
        graph={key: InputFile(file=path.name, sha256=digest(path)) for key, path in files.items()}
        if audit.graph_from_files
        else {"memory": InputFile(file="", sha256=graph_digest(audit.graph))},
        candidates=None if candidates is None else digest(candidates),
    )


def make_fingerprint(
    audit: LoadedAudit, inputs: Inputs, folder: Path, subjects: Ints
) -> Fingerprint:
    """What an audit of these subjects depends on; `folder` is that of the settings."""
    return Fingerprint(
        versions=versions(),
        model=audit.model.body.digest(),
        head="" if audit.model.head is None else audit.model.head.digest(),
        preprocessing="" if inputs.preprocessing is None else inputs.preprocessing.sha256,
        graph={key: file.sha256 for key, file in inputs.graph.items()},
        candidates=inputs.candidates or "",
        settings=digest_of(fingerprint_text(audit.settings, folder)),
        seed=audit.scope.seed,
        subjects=hashlib.sha256(subjects.astype("<i8").tobytes()).hexdigest(),
    )


def find_changes(now: Fingerprint, before: Fingerprint) -> list[str]:
    """What is not as it was, in words."""
    names = [each.name for each in fields(now)]
    changed = [name for name in names if getattr(now, name) != getattr(before, name)]
    return [WORDS.get(name, f"the {name}") for name in changed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to audit, and where to put it; `origin` is the file that the settings came from."""

    audit: LoadedAudit
    origin: Path
    out: Path
    selection: Selection
    fresh: bool = False
    despite_disagreement: bool = False
    id_key: bytes | None = None
    signer: Signer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """How an audit ended: subjects by status; whether it had been finished before."""

    subjects: int
    statuses: dict[RecourseStatus, int]
    finished_before: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """One audit of some subjects, and what it depends on."""

    audit: LoadedAudit
    answers: Floats
    alone: Floats | None
    decisions: Decisions
    agreement: Agreement | None
    subjects: Ints
    settings: str
    evidence: Evidence


def run_audit(
    request: Request, executor: Executor, *, now: Callable[[], str], progress: Progress
) -> RunSummary:
    """Audit all subjects that the request selects, into a bundle; `now` tells the time as text."""
    bundle = BundleFolder(folder=request.out)
    bundle.state()  # a folder of somebody else is refused before any work is done
    if is_large(request.audit.graph):
        progress.say("asking the model about everybody; in a large graph this may take minutes")
    progress.stage("Asking the model about everybody")
    plan = _make_plan(request)
    with writing(request.out), bundle.hold() as state:
        finished = state == "finished" and not request.fresh
        if state == "damaged" and not request.fresh:
            raise InputError(
                f"{request.out}: holds an audit of which files are missing; restore them, or start "
                "over with --fresh"
            )
        if finished:
            statuses = _count_statuses(bundle, plan)
        else:
            if state != "unfinished" or request.fresh:
                if read_register(request.out / "letters"):
                    raise InputError(
                        f"{request.out}: has a register of letters that were sent, which must not "
                        "be lost; choose another --out, or move the folder letters elsewhere"
                    )
                bundle.begin()
            with closing(CheckpointWriter(bundle.checkpoint)) as checkpoint:
                _begin_or_resume(bundle, plan, checkpoint)
                log = RunLog(bundle.log, now)
                audited = digest_of(FINGERPRINT.write(plan.evidence.fingerprint))
                log.add(LogLine(event="started", fingerprint=audited, subjects=len(plan.subjects)))
                _work(bundle, plan, checkpoint, executor, progress, log)
                statuses = _seal(bundle, plan, checkpoint, progress)
                log.add(LogLine(event="finished", statuses=statuses))
            bundle.end()
    return RunSummary(subjects=len(plan.subjects), statuses=statuses, finished_before=finished)


def _make_plan(request: Request) -> _Plan:
    audit = request.audit
    try:
        check_groups(audit.graph, audit.settings.groups)
    except SettingsError as error:
        raise SettingsError(f"{request.origin}: {error}") from None
    audit.model.reseed(audit.scope.seed)
    audit, answers = ask_twice(audit, np.arange(audit.graph.person_count))
    decisions = audit.rule.over(answers)
    agreement = _agreement(request, decisions)
    subjects = select_subjects(audit, answers, request.selection)
    folder, inputs = request.origin.parent, inputs_of(audit)
    chosen, named = request.selection, Path(request.selection.subjects)
    whom = named.name if is_file(named) else chosen.subjects  # a file of ids by its name alone
    return _Plan(
        audit=audit,
        answers=answers,
        alone=alone_answers(audit, decisions),
        decisions=decisions,
        agreement=agreement,
        subjects=subjects,
        settings=settings_text(audit.settings, folder),
        evidence=Evidence(
            command=Command(subjects=whom, sample=chosen.sample, stratify=chosen.stratify),
            fingerprint=make_fingerprint(audit, inputs, folder, subjects),
            inputs=inputs,
            probes=audit.probes,
            id_key=request.id_key,
            signer=request.signer,
        ),
    )


def _agreement(request: Request, decisions: Decisions) -> Agreement | None:
    """Compare the record with the model; too little agreement stops an audit before any work."""
    audit = request.audit
    if audit.recorded is None:
        return None
    agreement = agreement_of(audit.settings, audit.graph, audit.recorded, decisions)
    problem = describe_disagreement(audit.settings, agreement)
    if problem and not request.despite_disagreement:
        raise SettingsError(
            f"{request.origin}: {problem}; `recourse-audit inspect {request.origin}` says who and "
            "what may explain it; or go on with --despite-disagreement"
        )
    return agreement


def _begin_or_resume(bundle: BundleFolder, plan: _Plan, checkpoint: CheckpointWriter) -> None:
    """Keep what is known before any work; refuse to resume with something else."""
    audit, settings = plan.audit, plan.audit.settings
    before = read_meta(checkpoint.connection)
    if before:
        checkpoint.check()
        _refuse_changes(bundle, plan, before)
        check_attributes(checkpoint.connection, settings.groups.columns)
        return
    communities, numbers = communities_of(audit.graph, settings.groups, audit.scope.seed)
    bundle.write(SETTINGS, plan.settings)  # whoever reads an unfinished audit needs them
    meta = {
        "fingerprint": FINGERPRINT.write(plan.evidence.fingerprint),
        "communities": COMMUNITIES.write(communities),
    }
    if plan.agreement is not None:
        meta["agreement"] = AGREEMENT.write(plan.agreement)
    checkpoint.begin(
        meta,
        people_of(audit.graph, plan.decisions, audit.recorded, numbers, plan.alone, audit.outcomes),
        members_of(audit.graph, settings.groups),
        ties_of(audit.graph, settings.groups),
        plan.subjects.tolist(),
    )


def _refuse_changes(bundle: BundleFolder, plan: _Plan, meta: dict[str, str]) -> None:
    try:
        before = FINGERPRINT.read(meta["fingerprint"])
    except (KeyError, DocumentError):
        raise InputError(
            f"{bundle.folder}: was begun by another version of the program; use that version, or "
            "start over with --fresh"
        ) from None
    different = find_changes(plan.evidence.fingerprint, before)
    if different:
        *most, last = different
        named = f"{', '.join(most)} and {last}" if most else last
        raise InputError(
            f"{bundle.folder}: holds a different audit: {named} changed since; choose another "
            "--out, or start over with --fresh"
        )


def _work(
    bundle: BundleFolder,
    plan: _Plan,
    checkpoint: CheckpointWriter,
    executor: Executor,
    progress: Progress,
    log: RunLog,
) -> None:
    finished = checkpoint.chunks()
    chunks = list(chunks_of(plan.audit, plan.subjects))
    cut = {chunk.chunk: {*chunk.subjects} for chunk in chunks}
    if any(cut.get(chunk) != subjects for chunk, subjects in finished.items()):
        raise InputError(
            f"{bundle.folder}: was begun by a version that cuts the work into other chunks; use "
            "that version, or start over with --fresh"
        )
    left = [chunk for chunk in chunks if chunk.chunk not in finished]
    queue, total = ChunkQueue(left), len(plan.subjects)
    progress.begin(total, total - sum(len(chunk.subjects) for chunk in left))
    if not left:
        return
    job = prepare_job(bundle.work, plan.audit, plan.answers, plan.alone)
    reporter = Reporter(plan.audit, plan.answers, plan.alone)

    def say(text: str) -> None:
        log.add(LogLine(event="trouble", text=text))
        progress.say(text)

    with closing(executor.run(job, queue, say)) as done:
        for chunk in done:
            documents = {subject: document for subject, (document, _) in chunk.answers.items()}
            for subject, reason in chunk.failures.items():
                documents[subject] = SUBJECT.write(reporter.report_failure(subject, reason))
            checkpoint.add(chunk.chunk, documents)
            log.add(LogLine(event="chunk", chunk=chunk.chunk, subjects=len(documents)))
            progress.advance(len(documents), sum(asked for _, asked in chunk.answers.values()))


def _seal(
    bundle: BundleFolder, plan: _Plan, checkpoint: CheckpointWriter, progress: Progress
) -> dict[RecourseStatus, int]:
    """Write every file of the bundle from the finished chunks; count subjects by status."""
    settings, count = plan.audit.settings, len(plan.subjects)
    progress.stage("Writing the tables")
    bundle.write(SETTINGS, plan.settings)
    names = {**TABLES, STORE: "sqlite"}
    files = {ending: bundle.work / f"new.{ending}" for ending in names.values()}
    write_tables(checkpoint, settings, files)
    for name, ending in names.items():
        bundle.put(name, files[ending])
    with open_store(bundle.store) as store:
        if settings.groups.attributes:
            stored = StoredAudit(
                bundle.folder, store, settings, finished=True, done=count, total=count
            )
            progress.stage(COMPARING)
            report = groups_of(stored, partial(progress.stage, COMPARING))
            bundle.write(GROUP_REPORT, GROUPS.write_indented(report))
        return seal_bundle(bundle, plan.evidence, store).counts.statuses


def _count_statuses(bundle: BundleFolder, plan: _Plan) -> dict[RecourseStatus, int]:
    """Count subjects by status in a bundle that may be passed off as what was asked for."""
    remove_if_empty(bundle.work)  # of a run that was killed in its last moment
    signer, key = plan.evidence.signer, plan.evidence.id_key
    with open_store(bundle.store) as store:
        _refuse_changes(bundle, plan, read_meta(store))
        statuses = count_results(store).statuses
        ids = None if key is None else hash_ids(store, key)
    manifest = read_manifest(bundle.folder)
    for missing, option in (
        (signer is not None and signer.public != manifest.signed_by, "--sign"),
        (ids is not None and ids != manifest.hashed_ids, "--id-key"),
    ):
        if missing:
            raise InputError(
                f"{bundle.folder}: was finished without this {option}; choose another --out, or "
                "start over with --fresh"
            )
    return statuses


def replay(
    folder: Path, audit: LoadedAudit, settings: Path, count: int, seed: int
) -> Iterator[str]:
    """Draw subjects, work them out again, and name what differs, one line each.

    `settings` is the file that the audit was loaded from, with the seed of the bundle's manifest.
    """
    with open_stored_audit(folder) as stored:
        documents = stored.documents()
        before = stored.fingerprint
    subjects = np.array(list(documents), np.int64)
    now = make_fingerprint(audit, inputs_of(audit), settings.parent, subjects)
    different = find_changes(now, before)
    yield from (f"{settings}: {words} is not what was audited" for words in different)
    if different:
        return
    drawn = {*np.random.default_rng((seed, SALT)).permutation(subjects)[:count].tolist()}
    audit.model.reseed(audit.scope.seed)
    audit, answers = ask_twice(audit, np.arange(audit.graph.person_count))
    reporter = Reporter(audit, answers, alone_answers(audit, audit.rule.over(answers)))
    for chunk in chunks_of(audit, subjects):
        wanted = drawn.intersection(chunk.subjects)
        if not wanted:
            continue
        # Answers of a random model depend on all that was asked since the seed was set.
        part = chunk.only(wanted) if audit.probes.deterministic else chunk
        audit.model.reseed(audit.scope.seed)
        for subject, report in reporter.on_block(part.block):
            if subject in wanted and SUBJECT.write(report) != documents[subject]:
                yield f"store.sqlite: {audit.graph.ids[subject]}: a replay finds something else"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """How long each person takes one worker, in seconds: at best and at worst.

    `begin` is how long everybody takes together before anybody is audited.
    """

    people: int
    measured: int
    begin: float
    low: float
    high: float

    def total(self, workers: int, further: float) -> tuple[float, float]:
        """Seconds for everybody with so many workers; `further` are per person, for pages."""
        alike = (self.low + further) * self.people / workers
        shared = (self.high + further) * self.people / (1 + SHARE_OF_WORKER * (workers - 1))
        return self.begin + alike, self.begin + shared


def measure_cost(audit: LoadedAudit, clock: Callable[[], float]) -> Cost:
    """Audit people as `run` does, in drawn chunks, until it is known how long they take.

    The first person warms up the runtime, and counts only if there is time for nobody else.
    """
    start = clock()
    audit.model.reseed(audit.scope.seed)
    audit, answers = ask_twice(audit, np.arange(audit.graph.person_count))
    subjects = select_subjects(audit, answers, Selection())
    reporter, begin = Reporter(audit, answers), clock() - start
    parts = list(chunks_of(audit, subjects))
    order = np.random.default_rng((audit.scope.seed, SALT)).permutation(len(parts))
    paces: list[tuple[float, int]] = []
    start = clock()
    for place in [*order[:1], *order]:
        part, pace = parts[place], paces[-1][0] if paces else PATIENCE
        affordable = max(1, int(PATIENCE / 4 / max(pace, 1e-9)))
        part = part.only(part.subjects[:affordable])
        begun = clock()
        count = sum(1 for _ in reporter.on_block(part.block))
        paces.append(((clock() - begun) / count, count))
        if clock() - start > PATIENCE:
            break
    times, counts = np.array(paces[1:] or paces).T
    mean = float(np.average(times, weights=counts))
    doubt = max(2 * float(times.std()) / max(len(times) - 1, 1) ** 0.5, LEAST_DOUBT * mean)
    measured = int(counts.sum())
    low, high = max(mean - doubt, 0.5 * mean), mean + doubt * (1 if len(times) > 1 else 4)
    return Cost(people=len(subjects), measured=measured, begin=begin, low=low, high=high)
