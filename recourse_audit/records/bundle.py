"""What a bundle holds: its manifest, log and verification, signed letters, rows of its store."""

from collections.abc import Sequence
from typing import Any, Literal, get_args, get_type_hints

from recourse_audit.records import Record
from recourse_audit.records.model import ProbeReport, Repeats
from recourse_audit.records.recourse import Action, Compared, Part, RecourseStatus, SetAction
from recourse_audit.records.search import Counterfactual
from recourse_audit.records.subject import SubjectReport


class Fingerprint(Record):
    """What an audit is of: digests of everything that its results depend on, or the facts."""

    versions: dict[str, str]
    model: str
    head: str
    preprocessing: str
    graph: dict[str, str]
    candidates: str
    settings: str
    seed: int
    subjects: str


class Command(Record):
    """Whom the audit was asked to be about."""

    name: Literal["run"] = "run"
    subjects: str
    sample: int | None
    stratify: str | None


class ModelDigest(Record):
    """The digest of a model with its head, and of each of its files by name."""

    sha256: str
    files: dict[str, str]


class InputFile(Record):
    """A file that was read: its name without folders, and its digest."""

    file: str
    sha256: str


class Inputs(Record):
    """Everything that was read; `preprocessing` is a second sealed file, if there is one."""

    model: ModelDigest
    preprocessing: ModelDigest | None
    graph: dict[str, InputFile]
    candidates: str | None


class Counts(Record):
    """How many there are of everything; the statuses add up to the subjects.

    `queries` counts graphs that the model was asked about, `evaluations` combinations of changes
    that the search for options put to it, and `compared` those that were asked again on the whole
    graph.
    """

    people: int
    subjects: int
    statuses: dict[RecourseStatus, int]
    chunks: int
    queries: int
    repeats: Repeats
    evaluations: int
    compared: Compared


class ChunkDigest(Record):
    """A finished chunk: how many subjects it has, and a digest of their documents."""

    chunk: int
    subjects: int
    content: str


class SealedManifest(Record):
    """What a folder holds: a digest of every file, by its name, and whose key signed it.

    `content` is a digest of everything else in the manifest.
    """

    files: dict[str, str]
    signed_by: str | None = None
    content: str = ""


class Manifest(SealedManifest):
    """What a bundle holds and what it was made from; it depends on the audit alone."""

    format: Literal[6] = 6
    versions: dict[str, str]
    command: Command
    fingerprint: str
    inputs: Inputs
    seed: int
    probes: ProbeReport
    counts: Counts
    hashed_ids: tuple[str, ...] | None
    chunks: tuple[ChunkDigest, ...]


class SignOff(Record):
    """Who answers for letters, and on which day (as 2026-03-31)."""

    name: str
    day: str


class MadeWith(Record):
    """What pages or letters were made with; made again with the same, they are the same.

    `paper` says whether PDFs could be made. `letters` is, for pages, a digest of the names of the
    letters they link to, and for letters one of their settings; `reasons` and `addresses` are
    digests of people's files.
    """

    what: Literal["pages", "letters"]
    version: str
    templates: str
    paper: bool
    letters: str
    level: str | None = None
    language: str | None = None
    auditor: str | None = None
    pdf: bool | None = None
    packs: tuple[str, ...] = ()
    reasons: str | None = None
    addresses: str | None = None
    sign_off: SignOff | None = None


class DerivedManifest(SealedManifest):
    """What a folder of pages or letters holds; `of` is the digest of the bundle's manifest."""

    format: Literal[5] = 5
    of: str
    made_with: MadeWith


class LogLine(Record):
    """One event: when it happened, what it was, and a hash of it and of all lines before it.

    `fingerprint` and `subjects` go with "started", `chunk` and `subjects` with "chunk", `text`
    with "trouble", `statuses` with "finished".
    """

    at: str = ""
    event: Literal["started", "chunk", "trouble", "finished"]
    fingerprint: str | None = None
    chunk: int | None = None
    subjects: int | None = None
    text: str | None = None
    statuses: dict[RecourseStatus, int] | None = None
    hash: str = ""


class Verification(Record):
    """What is wrong with a bundle, one line per problem; the rest is what its manifest says."""

    format: Literal[1] = 1
    problems: tuple[str, ...]
    subjects: int | None = None
    signed_by: str | None = None


class CodeFinding(Record):
    """A gap that is shown, or a status over its threshold: its kind, what it is about, in words."""

    rule: str
    title: str
    about: str
    text: str


class RunResult(Record):
    """What `run --json` prints; `problem` is why no findings would not mean that all is well."""

    format: Literal[1] = 1
    bundle: str
    finished_before: bool
    subjects: int
    statuses: dict[RecourseStatus, int]
    repeats: Repeats
    findings: tuple[CodeFinding, ...]
    warnings: tuple[str, ...]
    problem: str


# What speaks against signing a letter off, each to be accepted by its own word.
_Early = Literal["fragile", "incomplete", "no-reason", "profile"]
Cause = Literal[_Early, "ties-only", "unchecked", "unnamed", "unreviewed"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
# What a person should know before they sign a letter off, though nothing keeps them from it.
LetterNote = Literal["fixed", "review", "unfinished", "unmentioned"]
LETTER_NOTES: tuple[LetterNote, ...] = get_args(LetterNote)


class Review(Record):
    """Who read a draft, and when (as 2026-03-31); `draft` is the fingerprint of what they read.

    The fingerprint is "" if the reviewer's file gives none; then any draft counts as reviewed.
    """

    reviewer: str
    day: str
    draft: str


class StatedReason(Record):
    """A reason as a letter states it, what it rests on, and who has checked that.

    `part` is None for a reason in staff's own words; `code` is from the list of the profile. `note`
    says why it is a reason although the audit does not show that.
    """

    text: str
    part: Part | None = None
    code: str = ""
    note: str = ""
    checked_by: str = ""


class SignedLetter(Record):
    """Who signed a letter off, what they accepted, and what staff had given for it.

    `accepted` is what spoke against the letter and was accepted. With `reasons`, `recipient` and
    `details` (the name in the greeting, what the decision was about, then what the profile prints
    of the application) the letter can be made again, to see whether it would still read the same.
    """

    format: Literal[3] = 3
    id: str
    sign_off: SignOff
    accepted: tuple[Cause, ...]
    review: Review | None
    reasons: tuple[StatedReason, ...]
    recipient: tuple[str, ...]
    details: tuple[str | None, ...]


# (person's number, attribute, group); "" is unknown.
Member = tuple[int, str, str]
# (number of the block, some pairs of people who are tied: two 32-bit numbers each, low end first).
TieBlock = tuple[int, bytes]


class Person(Record):
    """Anybody in the graph: what the model decided on them, and their community.

    Where the model's answer is not a number, `decision` is "" and `favourable` is None;
    `community` is None where communities are not known. `favourable_alone` is the model's decision
    with all of their own ties removed; None where that is not known. `outcome` says whether what
    came true later is good, None where that is not known. `score` is what the rule goes by: the
    summed probability of the favourable classes, or the model's score; `score_alone` is the same
    without their ties.
    """

    number: int
    id: str
    decision: str
    favourable: bool | None
    community: int | None
    favourable_alone: bool | None
    outcome: bool | None
    score: float | None
    score_alone: float | None


Value = str | int | float | bool | None
ColumnType = type[str] | type[int] | type[float] | type[bool]


class SummaryRow(Record):
    """The figures of one subject's report that fit into a row; None where there is none."""

    id: str
    decision: str
    favourable: bool
    status: str
    error: str
    note: str
    margin: float | None
    coverage: str | None
    subgraphs: int | None
    pairs: int | None
    queries: int
    calls_repeated: int
    calls_differed: int
    largest_difference: float
    answers_compared: int
    largest_deviation: float
    explanation_nodes: int | None
    removed_ties: int | None
    simulatability: float | None
    relevance: float | None
    signed_relevance: float | None
    caveat_grade: str | None
    options: int
    cheapest_cost: float | None
    cheapest_changes: int | None
    cheapest_kinds: str | None
    cheapest_held: int | None
    most_held: int | None
    tests: int | None
    tried: int | None
    possible: int | None
    exhaustive: bool | None
    evaluations: int | None
    favourable_alone: bool | None
    effect_in_explanation: float | None
    effect_on_whole_graph: float | None
    flips_on_whole_graph: bool | None
    reasons: int | None
    fixed_reasons: int | None


_HINTS = get_type_hints(SummaryRow)
COLUMNS: dict[str, ColumnType] = {
    name: (get_args(_HINTS[name]) or (_HINTS[name],))[0] for name in SummaryRow.__dataclass_fields__
}


def summary_of(report: SubjectReport) -> SummaryRow:
    """The row of one subject."""
    recourse = report.recourse
    winner = report.counterfactuals[0] if report.counterfactuals else None
    options = recourse.options if recourse else ()
    cheapest = options[0] if options else None
    tests = [option.robustness for option in options if option.robustness]
    own = report.own_data
    alone = own.alone if own else None
    moves = [part.moves for part in own.parts.values()] if own else []
    # Without an answer for any column or kind of tie, nobody knows of reasons.
    reasons = report.reasons if any(move is not None for move in moves) else None
    whole = winner.whole_graph if winner else None
    return SummaryRow(
        **_values(report.subject, "id", "decision", "favourable"),
        **_values(report, "status", "note", "queries"),
        error=report.problem,
        **_values(recourse, "margin", "evaluations"),
        **_values(report.search, "coverage", "subgraphs", "pairs"),
        calls_repeated=report.repeats.calls,
        calls_differed=report.repeats.differed,
        largest_difference=report.repeats.largest,
        answers_compared=recourse.compared.answers if recourse else 0,
        largest_deviation=recourse.compared.largest if recourse else 0.0,
        explanation_nodes=len(winner.explanation.nodes) if winner else None,
        removed_ties=len(winner.removed) if winner else None,
        **_values(winner, "simulatability", "relevance", "signed_relevance"),
        caveat_grade=next((c.grade for c in report.caveats if c.counterfactual == 1), None),
        options=len(options),
        cheapest_cost=cheapest.cost if cheapest else None,
        cheapest_changes=len(cheapest.actions) if cheapest else None,
        cheapest_kinds=_kinds_of_change(cheapest.actions) if cheapest else None,
        cheapest_held=cheapest.robustness.successes if cheapest and cheapest.robustness else None,
        most_held=max((test.successes for test in tests), default=None),
        tests=tests[0].draws if tests else None,
        **_values(recourse and recourse.certificate, "tried", "possible", "exhaustive"),
        favourable_alone=alone.favourable if alone and alone.decision else None,
        effect_in_explanation=_effect_inside(report, winner) if winner else None,
        effect_on_whole_graph=whole.effect if whole else None,
        flips_on_whole_graph=whole.flips if whole else None,
        reasons=None if reasons is None else len(reasons),
        fixed_reasons=None if reasons is None else sum(reason.fixed for reason in reasons),
    )


def _values(record: Record | None, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name, None) for name in names}


def _kinds_of_change(actions: Sequence[Action]) -> str:
    """The kinds of change of an option, each once and sorted: "drop payment; set savings"."""
    kinds = {
        f"{action.do} {action.attribute if isinstance(action, SetAction) else action.kind}"
        for action in actions
    }
    return "; ".join(sorted(kinds))


def _effect_inside(report: SubjectReport, winner: Counterfactual) -> float | None:
    """How far removing the winner's ties moves the answer in its explanation."""
    decided, scored = report.subject.decision, report.decision.has_score
    before, after = (
        answer.score if scored else answer.probabilities.get(decided)
        for answer in (winner.explanation, winner)
    )
    return None if before is None or after is None else round(after - before, 6) + 0.0
