"""Some subjects of a bundle worked out again: a second auditor's check of the evidence."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from recourse_audit.audit.load import LoadedAudit
from recourse_audit.audit.reporter import Reporter, repeated_answers
from recourse_audit.bundle.reader import open_stored_audit
from recourse_audit.execute.chunks import Part, chunks_of
from recourse_audit.execute.fingerprint import changes, fingerprint_of
from recourse_audit.graph.arrays import Ints
from recourse_audit.records.codec import SUBJECT

SALT = 31


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
    different = changes(fingerprint_of(audit, settings.parent, subjects), before)
    yield from (f"{settings}: {words} is not what was audited" for words in different)
    if different:
        return
    drawn = np.random.default_rng((seed, SALT)).permutation(subjects)[:count]
    for subject, document in _again(audit, subjects, set(drawn.tolist())):
        if document != documents[subject]:
            yield f"store.sqlite: {audit.graph.ids[subject]}: a replay finds something else"


def _again(audit: LoadedAudit, subjects: Ints, drawn: set[int]) -> Iterator[tuple[int, str]]:
    """The documents of some subjects, as a worker makes them."""
    audit.model.reseed(audit.scope.seed)
    reporter = Reporter(*repeated_answers(audit, np.arange(audit.graph.node_count)))
    for chunk in chunks_of(audit, subjects):
        wanted = drawn.intersection(chunk.subjects)
        if not wanted:
            continue
        # Answers of a random model depend on all that was asked since the seed was set.
        part = _only(chunk, wanted) if audit.probes.deterministic else chunk
        audit.model.reseed(audit.scope.seed)
        for subject, report in reporter.on_block(part.block):
            if subject in wanted:
                yield subject, SUBJECT.write(report)


def _only(chunk: Part, wanted: set[int]) -> Part:
    kept = [place for place, subject in enumerate(chunk.subjects) if subject in wanted]
    return replace(
        chunk,
        subjects=tuple(chunk.subjects[place] for place in kept),
        bounds=tuple(chunk.bounds[place] for place in kept),
    )
