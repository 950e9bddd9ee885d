"""Some subjects of a bundle worked out again with the model, and compared with what is stored."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from recourse_audit.records.codec import subject_document
from recourse_audit.audit.loaded import LoadedAudit, load_audit
from recourse_audit.audit.reporter import Reporter, whole_answers
from recourse_audit.bundle.layout import Bundle
from recourse_audit.records.codec import compact
from recourse_audit.execute.fingerprint import changed, parts_of
from recourse_audit.execute.chunks import Part, pieces_of
from recourse_audit.bundle.store import meta_of, open_store, stored_results
from recourse_audit.bundle.verification import read_manifest

SALT = 31


def replay(folder: Path, settings: Path, count: int, seed: int) -> Iterator[str]:
    """Draw subjects, work them out again, and name what is not the same, a line each."""
    seed_of_audit = read_manifest(folder)["seed"]
    audit = load_audit(settings, seed=seed_of_audit)
    with open_store(Bundle(folder=folder).store) as store:
        stored = {result.subject: result.document for result in stored_results(store)}
        before = meta_of(store)
    subjects = np.array(list(stored), np.int64)
    different = list(changed(parts_of(audit, settings.parent, subjects), before))
    yield from (f"{settings}: {words} is not what was audited" for words in different)
    if different:
        return
    drawn = np.random.default_rng((seed, SALT)).permutation(subjects)[:count]
    for subject, document in _again(audit, subjects, set(drawn.tolist())):
        if document != stored[subject]:
            yield f"store.sqlite: {audit.graph.ids[subject]}: a replay finds something else"


def _again(audit: LoadedAudit, subjects: np.ndarray, drawn: set[int]) -> Iterator[tuple[int, str]]:
    """The documents of some subjects, as a worker makes them."""
    audit.model.reseed(audit.scope.seed)
    reporter = Reporter(audit, whole_answers(audit, np.arange(audit.graph.node_count)))
    for piece in pieces_of(audit, subjects):
        wanted = drawn.intersection(piece.subjects)
        if not wanted:
            continue
        # Answers of a random model depend on all that was asked since the seed was set.
        part = _only(piece, wanted) if audit.probes.deterministic else piece
        audit.model.reseed(audit.scope.seed)
        for subject, report in reporter.on_block(part.block):
            if subject in wanted:
                yield subject, compact(subject_document(report, audit.probes))


def _only(piece: Part, wanted: set[int]) -> Part:
    kept = [place for place, subject in enumerate(piece.subjects) if subject in wanted]
    return replace(
        piece,
        subjects=tuple(piece.subjects[place] for place in kept),
        bounds=tuple(piece.bounds[place] for place in kept),
    )
