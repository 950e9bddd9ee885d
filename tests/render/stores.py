"""Summary rows and manifests of any subjects, made without an audit, to make an index from."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from recourse_audit.bundle.layout import FILES
from recourse_audit.records.bundle import (
    Command,
    Counts,
    InputFile,
    Inputs,
    Manifest,
    ModelDigest,
    SummaryRow,
)
from recourse_audit.records.model import NO_REPEATS
from recourse_audit.records.recourse import STATUSES, Compared
from tests.render.subject_reports import PROBES

DIGEST = "0123456789abcdef" * 4


def subject(name: str, **figures: Any) -> SummaryRow:
    """A subject who was refused and has one option, unless told otherwise."""
    made = SummaryRow(
        id=name,
        decision="denied",
        favourable=False,
        status="verified",
        error="",
        note="",
        margin=-0.25,
        coverage="exhaustive",
        subgraphs=45,
        pairs=148,
        queries=100,
        calls_repeated=0,
        calls_differed=0,
        largest_difference=0.0,
        answers_compared=0,
        largest_deviation=0.0,
        explanation_nodes=3,
        removed_ties=1,
        simulatability=-0.01,
        relevance=0.5,
        signed_relevance=-0.5,
        caveat_grade="holds",
        options=1,
        cheapest_cost=1.0,
        cheapest_changes=1,
        cheapest_kinds="drop payment",
        cheapest_held=45,
        most_held=45,
        tests=50,
        tried=27,
        possible=80,
        exhaustive=False,
        evaluations=28,
        favourable_alone=False,
        effect_in_explanation=-0.25,
        effect_on_whole_graph=-0.25,
        flips_on_whole_graph=True,
        reasons=2,
        fixed_reasons=1,
    )
    return replace(made, **figures)


def manifest_of(subjects: Sequence[SummaryRow], **changes: Any) -> Manifest:
    """A manifest of an audit of these subjects."""
    found = Counter(row.status for row in subjects)
    made = Manifest(
        versions={"recourse-audit": "0.1.0", "python": "3.11.2"},
        command=Command(subjects="unfavourable", sample=None, stratify=None),
        fingerprint=DIGEST,
        inputs=Inputs(
            model=ModelDigest(sha256=DIGEST, files={"model.onnx": DIGEST}),
            preprocessing=None,
            graph={
                "nodes": InputFile(file="nodes.csv", sha256=DIGEST),
                "edges": InputFile(file="edges.csv", sha256=DIGEST),
            },
            candidates=None,
        ),
        seed=0,
        probes=PROBES,
        counts=Counts(
            people=len(subjects) + 100,
            subjects=len(subjects),
            statuses={status: found[status] for status in STATUSES},
            chunks=1,
            queries=0,
            repeats=NO_REPEATS,
            evaluations=0,
            compared=Compared(answers=7, largest=0.0),
        ),
        hashed_ids=None,
        files=dict.fromkeys(FILES, DIGEST),
        signed_by=None,
        chunks=(),
    )
    return replace(made, **changes)
