"""The model and the graph of an audit, and columns that the model does not take as they are."""

from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from recourse_audit.settings.expressions import Expression, parse_formula
from recourse_audit.settings.section import FilePath, Section

EncodingKind = Literal["one_hot", "ordinal", "thermometer", "binned"]


class EncodingSettings(Section):
    """A category encoded in columns of numbers; rules, pages and letters speak of the category."""

    name: str = Field(min_length=1, description="The name of the category, wherever it appears.")
    kind: EncodingKind = Field(
        description="'one_hot': one column per label, 1 in the column of the label and 0 in the"
        " others; 'ordinal': one column with the number of the label; "
        "'thermometer': 1 in the columns up to that of the label, 0 in the others; "
        "'binned': the interval that a number falls into, as one_hot or ordinal "
        "columns."
    )
    columns: tuple[str, ...] = Field(
        min_length=1,
        description="The columns of `nodes` that encode it, in the order of the labels.",
    )
    labels: tuple[str, ...] = Field(
        default=(),
        description="The names of the categories, in order; without labels, bins are named by "
        "their edges.",
    )
    values: tuple[float, ...] = Field(
        default=(), description="For 'ordinal': the code of each label; 0, 1, 2, … if absent."
    )
    edges: tuple[float, ...] = Field(
        default=(),
        description="For 'binned': the boundaries between the bins, in ascending order; a "
        "boundary belongs to the bin above it.",
    )
    of: str | None = Field(
        default=None,
        description="For 'binned': the column with the number itself, if `nodes` has it. The "
        "number is then what can change, and its bin follows.",
    )

    @model_validator(mode="after")
    def _check_shape(self) -> Self:
        if self.kind != "binned" and (self.edges or self.of is not None):
            raise ValueError("edges and of belong to kind 'binned'; leave them out")
        if self.kind != "ordinal" and self.values:
            raise ValueError("values belong to kind 'ordinal'; leave them out")
        if self.kind == "binned":
            self._check_bins()
        elif len(self.labels) < 2:
            raise ValueError(f"needs at least two labels (got {len(self.labels)})")
        self._check_widths()
        for what in ("labels", "columns", "values"):
            given = getattr(self, what)
            if len(set(given)) < len(given):
                raise ValueError(f"{what} must not repeat one ({', '.join(map(str, given))})")
        if any(not label.strip() for label in self.labels):
            raise ValueError("labels must not be empty")
        if self.name in self.columns:
            raise ValueError(
                f"name must differ from its columns (got {self.name!r}); the numbers keep the "
                "column's name, and the category needs one of its own"
            )
        return self

    def _check_bins(self) -> None:
        if not self.edges:
            raise ValueError("needs edges: the numbers between the bins")
        if any(low >= high for low, high in pairwise(self.edges)):
            raise ValueError("edges must be ascending")
        if self.labels and len(self.labels) != len(self.edges) + 1:
            raise ValueError(
                f"needs {len(self.edges) + 1} labels, one more than edges (got {len(self.labels)})"
            )

    def _check_widths(self) -> None:
        count, width = len(self.all_labels), len(self.columns)
        wanted = {
            "one_hot": (count,),
            "ordinal": (1,),
            "thermometer": (count - 1, count),
            "binned": (1, count),
        }[self.kind]
        if width not in wanted:
            several = " or ".join(map(str, wanted))
            raise ValueError(f"needs {several} columns for {count} labels (got {width})")
        if self.values and len(self.values) != count:
            raise ValueError(f"needs as many values as labels (got {len(self.values)} and {count})")

    @property
    def all_labels(self) -> tuple[str, ...]:
        """The labels as given; those of bins without any say the interval."""
        if self.labels:
            return self.labels
        edges = [f"{edge:.12g}" for edge in self.edges]
        inner = (f"{low} to under {high}" for low, high in pairwise(edges))
        return (f"under {edges[0]}", *inner, f"{edges[-1]} and over")

    @property
    def codes(self) -> tuple[tuple[float, ...], ...]:
        """What the columns hold for each label."""
        count, width = len(self.all_labels), len(self.columns)
        if self.kind == "thermometer":
            first = width - count + 1
            return tuple(
                tuple(float(place < label + first) for place in range(width))
                for label in range(count)
            )
        if width == 1 and self.kind != "one_hot":
            return tuple((code,) for code in self.values or map(float, range(count)))
        return tuple(
            tuple(float(place == label) for place in range(width)) for label in range(count)
        )


class DerivedSettings(Section):
    """A column computed from others, and recomputed whenever one of them changes."""

    name: str = Field(min_length=1, description="The name of the column.")
    formula: str = Field(
        description="Arithmetic on the columns of the table: + - * / **, parentheses, numbers "
        "and names; a name that is not a plain word goes in backquotes. Never run "
        "as code."
    )

    @field_validator("formula")
    @classmethod
    def _check_formula(cls, formula: str) -> str:
        parse_formula(formula)
        return formula

    @cached_property
    def tree(self) -> Expression:
        """The formula as it was read."""
        return parse_formula(self.formula)


def name_conflict(
    encodings: tuple[EncodingSettings, ...], derived: tuple[DerivedSettings, ...]
) -> str:
    """What is wrong with the names of encodings and derived columns together; empty if nothing."""
    codes: dict[str, str] = {}
    for place, encoding in enumerate(encodings):
        for name in encoding.columns:
            if name in codes:
                return f"encodings[{place}].columns: {name!r} is already {codes[name]}"
            codes[name] = f"a column of encodings[{place}]"
    names: dict[str, str] = {}
    keys = [(f"encodings[{place}]", encoding.name) for place, encoding in enumerate(encodings)]
    keys += [(f"derived[{place}]", column.name) for place, column in enumerate(derived)]
    for key, name in keys:
        known = names.get(name) or codes.get(name)
        if known is not None:
            return f"{key}.name: {name!r} is already {known}"
        names[name] = f"the name of {key}"
    return ""


Role = Literal[
    "features",
    "edges",
    "sources",
    "targets",
    "adjacency",
    "edge_weight",
    "edge_attributes",
    "edge_type",
    "node_ids",
    "batch",
    "node_count",
    "target",
    "edge_labels",
]
OutputKind = Literal["logits", "probabilities", "log_probabilities", "score"]
# In seconds, up to a week: more is as good as no limit, and no clock can wait for ever.
SHORTEST_TIMEOUT, LONGEST_TIMEOUT = 0.1, 604_800
# In megabytes, up to 16 TB; no model can be asked with less.
SMALLEST_MEMORY, LARGEST_MEMORY = 64, 2**24
LONGEST_NUMBER = 8  # of digits
MEGABYTES = {"MB": 1, "GB": 1024}


ONE_SOURCE = "needs exactly one of nodes (with edges), npz or graphml"


class ModelSettings(Section):
    """Where the sealed model is, and what is declared about its inputs and its output."""

    path: FilePath = Field(description="The ONNX file.")
    roles: dict[str, Role] = Field(
        default_factory=dict, description="The role of each input; inferred where absent."
    )
    output: OutputKind | None = Field(
        default=None,
        description="What the output contains; inferred if absent. 'score', a single column of "
        "arbitrary real numbers, is never inferred.",
    )
    output_name: str | None = Field(
        default=None,
        description="Which output to read; if absent, the only one that qualifies.",
    )
    preprocessing: FilePath | None = Field(
        default=None,
        description="A second ONNX file, which turns raw columns of `nodes` into the model's "
        "features.",
    )
    preprocessing_output: str | None = Field(
        default=None, description="Which of its outputs contains the features, if several could."
    )
    depth: int | None = Field(
        default=None,
        ge=0,
        le=16,
        description="From how many hops away a node can still affect a decision; probed if "
        "absent. A value below the probed one is ignored.",
    )
    self_loops: Literal["none", "add"] = Field(
        default="none", description="'add': the model expects self-loops among its ties."
    )
    normalisation: Literal["none", "symmetric", "row"] = Field(
        default="none",
        description="Degree normalisation applied outside the model and passed in as tie weights.",
    )
    tie_weights: Literal["column", "ones"] | None = Field(
        default=None,
        description="Where tie weights come from. If absent: the weight column if the model takes "
        "weights and normalises them itself, otherwise ones.",
    )
    adjacency_rows: Literal["targets", "sources"] = Field(
        default="targets", description="What the rows of a dense adjacency matrix represent."
    )
    timeout: float = Field(
        default=300,
        ge=SHORTEST_TIMEOUT,
        le=LONGEST_TIMEOUT,
        description="Timeout in seconds for opening the model, and for each query.",
    )
    memory: int | None = Field(
        default=None,
        ge=SMALLEST_MEMORY,
        le=LARGEST_MEMORY,
        description="Memory limit for the model in each process, as '4 GB' or in megabytes; "
        "three quarters of the machine's memory if absent. Enforced on Linux only.",
        json_schema_extra={
            "anyOf": [
                {"type": "integer", "minimum": SMALLEST_MEMORY, "maximum": LARGEST_MEMORY},
                {"type": "string", "pattern": "^[0-9]+ (MB|GB)$"},
                {"type": "null"},
            ]
        },
    )
    repeat: float = Field(
        default=0.02,
        ge=0,
        le=1,
        description="Share of a subject's queries that are asked twice, to check that the model"
        " gives the same answer; 0 for none.",
    )

    @field_validator("memory", mode="before")
    @classmethod
    def _in_megabytes(cls, memory: object) -> object:
        if not isinstance(memory, str):
            return memory
        number, _, unit = memory.strip().partition(" ")
        if not number.isdecimal() or len(number) > LONGEST_NUMBER or unit not in MEGABYTES:
            raise ValueError(
                f"must be like '4 GB' or '4000 MB', or a number of MB (got {memory!r})"
            )
        return int(number) * MEGABYTES[unit]

    @model_validator(mode="after")
    def _check_preprocessing(self) -> Self:
        if self.preprocessing_output is not None and self.preprocessing is None:
            raise ValueError("has preprocessing_output, but no preprocessing whose output it is")
        return self


class GraphSettings(Section):
    """Where the nodes and ties are, and what their columns mean.

    Settings without any file are for a graph in memory, which is given to `Audit`.
    """

    nodes: FilePath | None = Field(default=None, description="CSV or Parquet, one row per node.")
    edges: FilePath | None = Field(default=None, description="CSV or Parquet, one row per tie.")
    npz: FilePath | None = Field(
        default=None, description="An .npz file with x, edge_index and optionally further arrays."
    )
    graphml: FilePath | None = Field(default=None, description="A GraphML file, for small graphs.")
    id: str = Field(default="id", description="The column of `nodes` with each node's id.")
    source: str = Field(
        default="source", description="The column of `edges` with the node that a tie starts from."
    )
    target: str = Field(
        default="target", description="The column of `edges` with the node that a tie leads to."
    )
    kind: str = Field(
        default="kind", description="The column of `edges` with the kind of each tie."
    )
    weight: str = Field(
        default="weight", description="The column of `edges` with the weight of each tie."
    )
    features: tuple[str, ...] = Field(
        default=(),
        description="Columns of `nodes` that the model takes, in the order it was trained on. "
        "With preprocessing: the columns of its block input, in order.",
    )
    edge_attributes: tuple[str, ...] = Field(
        default=(), description="Columns of `edges` that the model takes, in order."
    )
    kinds: tuple[str, ...] = Field(
        default=(), description="Kinds of ties in the order of the model's codes; sorted if absent."
    )
    directed: bool = Field(default=False, description="Whether ties have a direction.")
    encodings: tuple[EncodingSettings, ...] = Field(
        default=(), description="Categories that are encoded in columns of numbers."
    )
    derived: tuple[DerivedSettings, ...] = Field(
        default=(),
        description="Columns computed from others; such a column can be a feature without being"
        " in the table.",
    )

    @property
    def files(self) -> dict[str, Path]:
        """The files of the graph by their keys; none if the graph is in memory."""
        paths = {"nodes": self.nodes, "edges": self.edges, "npz": self.npz, "graphml": self.graphml}
        return {key: path for key, path in paths.items() if path is not None}

    @property
    def origin(self) -> str:
        """Where the nodes come from, for messages."""
        return str(next(iter(self.files.values()), "the graph in memory"))

    @model_validator(mode="after")
    def _check_files(self) -> Self:
        given = [name for name in self.files if name != "edges"]
        if len(given) > 1:
            raise ValueError(f"{ONE_SOURCE} (got {' and '.join(given)})")
        if (self.nodes is None) != (self.edges is None):
            missing, other = ("nodes", "edges") if self.nodes is None else ("edges", "nodes")
            raise ValueError(f"needs {missing} as well as {other}")
        wrong = name_conflict(self.encodings, self.derived)
        if wrong:
            raise ValueError(f"{wrong}; give every column one meaning and one name")
        return self
