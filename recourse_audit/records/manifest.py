"""The evidence about a bundle: its manifest, its log, and what a verification finds."""

from dataclasses import dataclass
from typing import Literal

from recourse_audit.records.base import Record
from recourse_audit.records.model import ProbeReport, Repeats
from recourse_audit.records.recourse import Compared, RecourseStatus

# 1: the first. 2: chunks, probes with their notes, the decision rule's inputs by name.
# 3: preprocessing among the inputs. 4: repeated calls of the model. 5: answers about changes that
# were compared with the whole graph's; `probes.sender_degree`.
FORMAT = 5
DERIVED_FORMAT = 3


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Fingerprint(Record):
    """What an audit is of: digests of everything that its results depend on, or the facts."""

    versions: dict[str, str]
    model: str
    preprocessing: str
    graph: dict[str, str]
    candidates: str
    settings: str
    seed: int
    subjects: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Command(Record):
    """Whom the audit was asked to be about."""

    name: Literal["run"] = "run"
    subjects: str
    sample: int | None
    stratify: str | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelDigest(Record):
    """The digest of a model, and of each of its files by name."""

    sha256: str
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class InputFile(Record):
    """A file that was read: its name without folders, and its digest."""

    file: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Inputs(Record):
    """Everything that was read; `preprocessing` is a second sealed file, if there is one."""

    model: ModelDigest
    preprocessing: ModelDigest | None
    graph: dict[str, InputFile]
    candidates: str | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OutputFile(Record):
    """A file of the bundle: its size and its digest."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Started(Record):
    """The audit was begun, with this fingerprint."""

    event: Literal["started"] = "started"
    fingerprint: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChunkDone(Record):
    """A chunk was finished: how many subjects it has, and a digest of their documents."""

    event: Literal["chunk"] = "chunk"
    chunk: int
    subjects: int
    content: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sealed(Record):
    """The manifest was sealed: a digest of all of it but the events."""

    event: Literal["sealed"] = "sealed"
    content: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Manifest(Record):
    """What a bundle holds and what it was made from; it depends on the audit alone.

    `events` are chained: each has a hash of itself and of all before it.
    """

    format: int
    versions: dict[str, str]
    command: Command
    fingerprint: str
    inputs: Inputs
    seed: int
    probes: ProbeReport
    counts: Counts
    hashed_ids: tuple[str, ...] | None
    files: dict[str, OutputFile]
    signed_by: str | None
    events: tuple[Started | ChunkDone | Sealed, ...]

    @property
    def chunks(self) -> tuple[ChunkDone, ...]:
        return tuple(event for event in self.events if isinstance(event, ChunkDone))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SignOff(Record):
    """Who answers for letters, and on which day (as 2026-03-31)."""

    name: str
    day: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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
    reasons: str | None = None
    addresses: str | None = None
    sign_off: SignOff | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DerivedManifest(Record):
    """What a folder of pages or letters holds.

    `of` is the digest of the manifest of the bundle it was made from; `content` one of everything
    else in this record.
    """

    format: int
    of: str
    made_with: MadeWith
    signed_by: str | None
    files: dict[str, str]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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


VERIFICATION_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verification(Record):
    """What is wrong with a bundle, one line per problem.

    `subjects` and `signed_by` are what the manifest says, if it could be read.
    """

    format: int
    problems: tuple[str, ...]
    subjects: int | None = None
    signed_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GraphTable(Record):
    """What a graph that workers share holds besides its arrays; `texts` are arrays of text."""

    arrays: tuple[str, ...]
    texts: tuple[str, ...]
    attributes: tuple[str, ...]
    more: tuple[str, ...]
    feature_names: tuple[str, ...]
    directed: bool
    kinds: tuple[str, ...]
