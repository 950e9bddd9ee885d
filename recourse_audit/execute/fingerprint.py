"""What an audit is of: digests of everything that its results depend on."""

import hashlib
from pathlib import Path

from recourse_audit.audit.load import LoadedAudit, Selection
from recourse_audit.bundle.seal import digest, digest_of, versions
from recourse_audit.execute.worker import digest_of_graph
from recourse_audit.graph.arrays import Ints
from recourse_audit.records.bundle import Command, Fingerprint, InputFile, Inputs, ModelDigest
from recourse_audit.settings import fingerprint_text
from recourse_audit.settings.section import is_file

IN_MEMORY = "memory"
WORDS = {
    "versions": "the versions of the program or its packages",
    "model": "the model",
    "preprocessing": "the pipeline of preprocessing",
    "graph": "the graph",
    "candidates": "the file of candidates",
    "settings": "the settings",
    "seed": "the seed",
    "subjects": "the subjects",
}


def fingerprint_of(audit: LoadedAudit, folder: Path, subjects: Ints) -> Fingerprint:
    """Digests of what an audit of these subjects depends on; `folder` is that of the settings."""
    candidates = audit.settings.recourse.candidates
    return Fingerprint(
        versions=versions(),
        model=audit.model.digest(),
        preprocessing="" if audit.preprocessing is None else audit.preprocessing.digest(),
        graph=_graph_digests(audit),
        candidates="" if candidates is None else digest(candidates),
        settings=digest_of(fingerprint_text(audit.settings, folder)),
        seed=audit.scope.seed,
        subjects=hashlib.sha256(subjects.astype("<i8").tobytes()).hexdigest(),
    )


def changes(now: Fingerprint, before: Fingerprint) -> list[str]:
    """What is not as it was, in words."""
    return [words for name, words in WORDS.items() if getattr(now, name) != getattr(before, name)]


def inputs_of(audit: LoadedAudit) -> Inputs:
    """Every file that an audit reads, with its digest."""
    candidates = audit.settings.recourse.candidates
    files, preprocessing = audit.settings.graph.files, audit.preprocessing
    return Inputs(
        model=ModelDigest(
            sha256=audit.model.digest(),
            files=audit.model.digests,
        ),
        preprocessing=None
        if preprocessing is None
        else ModelDigest(sha256=preprocessing.digest(), files=preprocessing.digests),
        graph={
            key: InputFile(file=files[key].name if key in files else "", sha256=value)
            for key, value in _graph_digests(audit).items()
        },
        candidates=None if candidates is None else digest(candidates),
    )


def command_of(selection: Selection) -> Command:
    """Whom the audit was asked to be about; a file of ids by its name alone."""
    listed = is_file(Path(selection.subjects))
    return Command(
        subjects=Path(selection.subjects).name if listed else selection.subjects,
        sample=selection.sample,
        stratify=selection.stratify,
    )


def _graph_digests(audit: LoadedAudit) -> dict[str, str]:
    """Digests of the files of the graph; of its arrays, if it was never in a file."""
    if not audit.graph_from_files:
        return {IN_MEMORY: digest_of_graph(audit.graph)}
    return {name: digest(path) for name, path in audit.settings.graph.files.items()}
