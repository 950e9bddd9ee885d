"""A model from outside: what the probes found, what `inspect --json` prints, and how far its
decisions agree with those on record.
"""

from dataclasses import field, replace
from typing import Literal, get_args

from recourse_audit.records import Record, Sparse


class DecidedAs(Record):
    """How many people have this decision on record and that one from the model."""

    recorded: str
    decided: str
    people: int


class GroupAgreement(Record):
    """The agreement in one group of people; groups too small to be shown are left out."""

    attribute: str
    group: str
    compared: int
    agreeing: int


class Disagreement(Record):
    """One person on whom the record and the model differ; `margin` is the model's."""

    id: str
    recorded: str
    decided: str
    margin: float


class BetterRule(Record):
    """Another rule, under which the model agrees with the record on more people.

    Either a `cut_off`, or another order of the `classes`.
    """

    kind: Literal["cut_off", "class_order"]
    cut_off: float | None
    classes: tuple[str, ...]
    agreeing: int


class Agreement(Record):
    """The decisions in a column of the nodes, compared with the model's.

    `compared` people have both; `unrecorded` have none on record, and the model gives `undecided`
    no answer. `outside` counts those who disagree and have a feature beyond anything that people
    who agree have; `outside_features` names those features, the most frequent first.
    """

    column: str
    compared: int
    agreeing: int
    unrecorded: int
    undecided: int
    by_class: tuple[DecidedAs, ...]
    by_group: tuple[GroupAgreement, ...]
    examples: tuple[Disagreement, ...]
    better: BetterRule | None
    outside: int
    outside_features: tuple[str, ...]

    @property
    def disagreeing(self) -> int:
        return self.compared - self.agreeing

    def without_people(self) -> "Agreement":
        """The same without ids and groups, for readers who may not see them."""
        return replace(self, examples=(), by_group=())

    @property
    def share(self) -> float:
        """The share of people on whom both agree; 1 if there is nobody to compare."""
        return self.agreeing / self.compared if self.compared else 1.0


RuleName = Literal["argmax", "cut_off", "cut_off_by", "quota"]

# What a reader must know: which probe failed; that the depth is without limit, or could not be
# measured, or is not the declared one; that the graph has no ties, or only loops; that the model
# gave two answers to a call, or when it was asked about everybody.
FailedProbe = Literal["deterministic", "node_order", "tie_order", "ties_matter", "packing"]
DepthNote = Literal["depth", "no_room", "declared"]
NoteCode = Literal[FailedProbe, DepthNote, "no_ties", "only_loops", "repeats", "whole_graph"]


class Repeats(Record):
    """How many calls of the model were made twice, and how many of them got two answers.

    `largest` is the largest difference of a probability (or score) between two answers to one call.
    """

    calls: int = 0
    differed: int = 0
    largest: float = 0.0


NO_REPEATS = Repeats()


Direction = Literal["forward", "reversed"]


class KindProbe(Record):
    """What nodes of one kind do to decisions on people.

    `hops` is how far away such a node can be and still move an answer: None if none ever did.
    `silent` are the columns of the kind that moved no answer.
    """

    kind: str
    hops: int | None
    silent: tuple[str, ...]


class RelationProbe(Record):
    """What the ties of one relation do to decisions on people.

    `inputs` are the directions that the model takes: from end to end, reversed, or both. `matters`:
    whether taking all of its ties away moves an answer. `degree`: whether a sender's own number of
    such ties weighs its messages; None where that was not measured.
    """

    relation: str
    inputs: tuple[Direction, ...]
    matters: bool
    degree: bool | None = None


class ProbeReport(Record):
    """What may be relied on when asking a model; true is good.

    `sender_degree` says whether a sender's own number of ties weighs its message, and is neither
    good nor bad: it tells in which form one question can hold many what-ifs; None where no form
    can. `notes` has the codes of what a reader must know first, with their figures. The rest is
    about models of several kinds of nodes: whether every query gets isolated nodes of every kind,
    because the export fails without, and what each kind and relation does.
    """

    deterministic: bool
    node_order: bool
    tie_order: bool
    ties_matter: bool
    packing: bool
    depth: int | None
    sender_degree: bool | None = None
    notes: dict[NoteCode, dict[str, float]] = field(default_factory=dict)
    padded: Sparse[bool] = False
    kinds: Sparse[tuple[KindProbe, ...]] = ()
    relations: Sparse[tuple[RelationProbe, ...]] = ()

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(name for name in get_args(FailedProbe) if not getattr(self, name))

    def with_note(self, code: NoteCode, **figures: float) -> "ProbeReport":
        """The same, with one more note, which comes first."""
        floats = {name: float(value) for name, value in figures.items()}
        return replace(self, notes={code: floats, **self.notes})

    def with_repeats(
        self, repeats: Repeats, code: Literal["repeats", "whole_graph"] = "repeats"
    ) -> "ProbeReport":
        """The same, with a first note if the model gave two answers to one call."""
        if not repeats.differed:
            return self
        figures = {"calls": repeats.calls, "differed": repeats.differed}
        return self.with_note(code, largest=repeats.largest, **figures)


Size = int | str | None


class Port(Record):
    """An input or output as the file declares it.

    `shape` has a number or a name for each axis, None where the file gives neither.
    """

    name: str
    dtype: str
    shape: tuple[Size, ...]


class ModelInput(Port):
    """One input, the role it plays, if one could be guessed, why, and how sure that is."""

    role: str | None
    why: str
    sure: str


class ModelOutput(Port):
    """The output that decisions are read from, what its numbers are, and why we think so."""

    kind: str | None
    classes: int | None
    why: str


class RuleReport(Record):
    """The rule that decides, and how many people of the graph it lets in and refuses.

    `cut_offs` are the line of a cut-off, or the lines by value of a column; empty for other rules.
    """

    rule: RuleName
    cut_offs: dict[str, float]
    better: Literal["higher", "lower"] | None
    places: int | None
    favourable: int
    refused: int
    undecided: int


class ListedOutput(Port):
    """Any output of a model: what one of its rows is about, and what the rows look like.

    `rows` is "node", "graph", "tie" or "other"; None where it was not measured or is not read.
    `hops` is measured where several outputs have one row per node; None where there is no limit.
    `taken` says why decisions are read from this output; it is empty for the others.
    """

    rows: str | None
    columns: int | None
    looks: str
    hops: int | None
    taken: str


class PreprocessingProbes(Record):
    """What may be relied on when asking a pipeline or a head; true is good.

    `row_by_row`: what it says of a person does not depend on who else is asked about, nor in which
    order; None where it answers at random. `notes` has a sentence for every false.
    """

    deterministic: bool
    row_by_row: bool | None
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> tuple[str, ...]:
        names = ("deterministic", "row_by_row")
        return tuple(name for name in names if getattr(self, name) is False)


class PreprocessingInput(Port):
    """One input of a pipeline or head, and the columns that it takes, in order."""

    columns: tuple[str, ...]


class PreprocessingReport(Record):
    """A sealed pipeline: raw columns in, `features` numbers per person out, through `output`."""

    file: str
    sha256: str
    inputs: tuple[PreprocessingInput, ...]
    output: str
    features: int
    probes: PreprocessingProbes


class HeadReport(Record):
    """A sealed head: what it takes of the model's `embedding_output`, and of columns."""

    file: str
    sha256: str
    embedding_output: str
    embeddings: int
    inputs: tuple[PreprocessingInput, ...]
    probes: PreprocessingProbes


class ModelReport(Record):
    """A model's inputs and outputs, and what the probes found.

    Where the model cannot be asked at all, `problem` says why and there are no probes. `output` is
    None where several outputs could hold the decision and none is beyond doubt. The rule that
    decides, and its agreement with decisions on record, are known from an `audit.toml` only. With
    a head, the outputs are its outputs, and `sha256` covers both files.
    """

    format: Literal[6] = 6
    sha256: str
    inputs: tuple[ModelInput, ...]
    output: ModelOutput | None
    outputs: tuple[ListedOutput, ...]
    probes: ProbeReport | None = None
    decision: RuleReport | None = None
    agreement: Agreement | None = None
    problem: str = ""
    preprocessing: PreprocessingReport | None = None
    head: Sparse[HeadReport | None] = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of nodes that a model of several kinds takes, as far as its inputs tell."""
        if self.probes is not None and self.probes.kinds:
            return tuple(probe.kind for probe in self.probes.kinds)
        about = ("features:", "node_count:")
        roles = [port.role for port in self.inputs if port.role and port.role.startswith(about)]
        return tuple(dict.fromkeys(role.split(":")[1] for role in roles))
