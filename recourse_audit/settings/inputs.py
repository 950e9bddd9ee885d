"""The model and the graph that an audit is about."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from recourse_audit.settings.columns import DerivedSettings, EncodingSettings, repeated_column
from recourse_audit.settings.section import FilePath, Section

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
        default_factory=dict, description="What each input takes; inferred where absent."
    )
    output: OutputKind | None = Field(
        default=None,
        description="What the output holds; inferred if absent. 'score', one column of any real "
        "numbers, is never inferred.",
    )
    output_name: str | None = Field(
        default=None,
        description="Which output to read; if absent, the one that is beyond doubt.",
    )
    preprocessing: FilePath | None = Field(
        default=None,
        description="A second ONNX file: takes raw columns of `nodes`, returns the features.",
    )
    preprocessing_output: str | None = Field(
        default=None, description="Which of its outputs holds the features, if several could."
    )
    depth: int | None = Field(
        default=None,
        ge=0,
        le=16,
        description="How many hops away a node can still affect a decision; probed if absent. A "
        "value below the probed one is not used.",
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
        default="targets", description="What the rows of a dense adjacency matrix stand for."
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
        description="Memory that the model may take in each process, as '4 GB' or in megabytes; "
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
        description="Share of a subject's queries that are asked twice, to see whether the model "
        "answers alike; 0 for none.",
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
    def _output_of_something(self) -> Self:
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
        default=None, description="An .npz file with x, edge_index and optional further arrays."
    )
    graphml: FilePath | None = Field(default=None, description="A GraphML file, for small graphs.")
    id: str = Field(default="id", description="The column of `nodes` with the id of the node.")
    source: str = Field(
        default="source", description="The column of `edges` with the node where a tie starts."
    )
    target: str = Field(
        default="target", description="The column of `edges` with the node where a tie ends."
    )
    kind: str = Field(default="kind", description="The column of `edges` with the kind of tie.")
    weight: str = Field(default="weight", description="The column of `edges` with the weight.")
    features: tuple[str, ...] = Field(
        default=(),
        description="Columns of `nodes` that the model takes, in the order it was trained on. With "
        "preprocessing: those of a block that it takes, in its order.",
    )
    edge_attributes: tuple[str, ...] = Field(
        default=(), description="Columns of `edges` that the model takes, in order."
    )
    kinds: tuple[str, ...] = Field(
        default=(), description="Kinds of ties in the order of the model's codes; sorted if absent."
    )
    directed: bool = Field(default=False, description="Whether ties have a direction.")
    encodings: tuple[EncodingSettings, ...] = Field(
        default=(), description="Categories that columns of numbers stand for."
    )
    derived: tuple[DerivedSettings, ...] = Field(
        default=(),
        description="Columns computed from others; one may be a feature without being in the "
        "table.",
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
    def _one_source(self) -> Self:
        given = [name for name in self.files if name != "edges"]
        if len(given) > 1:
            raise ValueError(f"{ONE_SOURCE} (got {' and '.join(given)})")
        if (self.nodes is None) != (self.edges is None):
            missing, other = ("nodes", "edges") if self.nodes is None else ("edges", "nodes")
            raise ValueError(f"needs {missing} as well as {other}")
        wrong = repeated_column(self.encodings, self.derived)
        if wrong:
            raise ValueError(f"{wrong}; give every column one meaning and one name")
        return self
