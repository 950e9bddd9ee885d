"""The model and the graph of an audit, and columns that the model does not take as they are."""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from operator import eq, le
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from recourse_audit.settings.expressions import Expression, parse_formula
from recourse_audit.settings.section import (
    BY_FORM,
    PLAIN,
    TABLE,
    Distinct,
    FilePath,
    Section,
    Share,
    close_matches,
    near_matches,
)

EncodingKind = Literal["one_hot", "ordinal", "thermometer", "binned"]


class EncodingSettings(Section):
    """A category encoded in columns of numbers; rules, pages and letters speak of the category."""

    name: str = Field(min_length=1)
    """The name of the category, wherever it appears."""
    kind: EncodingKind
    """'one_hot': one column per label, 1 in the column of the label and 0 in the others; 'ordinal':
    one column with the number of the label; 'thermometer': 1 in the columns up to that of the
    label, 0 in the others; 'binned': the interval that a number falls into, as one_hot or ordinal
    columns."""
    columns: tuple[str, ...] = Field(min_length=1)
    """The columns of `nodes` that encode it, in the order of the labels."""
    labels: tuple[str, ...] = ()
    """The names of the categories, in order; without labels, bins are named by their edges."""
    values: tuple[float, ...] = ()
    """For 'ordinal': the code of each label; 0, 1, 2, … if absent."""
    edges: tuple[float, ...] = ()
    """For 'binned': the boundaries between the bins, in ascending order; a boundary belongs to the
    bin above it."""
    of: str | None = None
    """For 'binned': the column with the number itself, if `nodes` has it. The number is then what
    can change, and its bin follows."""

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
        count, width = len(self.all_labels), len(self.columns)
        if width == 1 and self.kind in ("ordinal", "binned"):
            return tuple((code,) for code in self.values or map(float, range(count)))
        is_one, shift = (le, width - count) if self.kind == "thermometer" else (eq, 0)
        return tuple(
            tuple(float(is_one(place, label + shift)) for place in range(width))
            for label in range(count)
        )


class DerivedSettings(Section):
    """A column computed from others, and recomputed whenever one of them changes."""

    name: str = Field(min_length=1)
    """The name of the column."""
    formula: str
    """Arithmetic on the columns of the table: + - * / **, parentheses, numbers and names; a name
    that is not a plain word goes in backquotes. Never run as code."""

    @field_validator("formula")
    @classmethod
    def _check_formula(cls, formula: str) -> str:
        parse_formula(formula)
        return formula

    @cached_property
    def tree(self) -> Expression:
        return parse_formula(self.formula)


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
    "node_type",
    "constant",
]
# Roles that are about one kind of node, and about one relation, where a graph has several.
NODE_ROLES: tuple[Role, ...] = ("features", "node_count")
TIE_ROLES: tuple[Role, ...] = ("edges", "edge_weight", "edge_attributes")
REVERSED = "reversed"
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

    path: FilePath
    """The ONNX file."""
    roles: dict[str, str] = Field(default_factory=dict)
    """The role of each input; inferred where absent. With several kinds of nodes:
    'features:KIND', 'edges:RELATION', 'edges:RELATION:reversed'."""
    constants: dict[str, float | tuple[float, ...]] = Field(default_factory=dict)
    """The values of inputs that are no part of the graph."""
    node_types: tuple[str, ...] = ()
    """For a model that takes the kinds of nodes as codes: the kinds in the order of the codes; if
    absent, in the order of `graph.nodes`, or sorted where a column says the kind."""
    edge_types: tuple[str, ...] = ()
    """For a model of several kinds that takes the types of ties as codes: RELATION and
    'RELATION:reversed' in the order of the codes; if absent, in the order of `graph.ties`, and
    then the reversed ones."""
    output: OutputKind | None = None
    """What the output contains; inferred if absent. 'score', a single column of arbitrary real
    numbers, is never inferred."""
    output_name: str | None = None
    """Which output to read; if absent, the only one that qualifies."""
    preprocessing: FilePath | None = None
    """A second ONNX file, which turns raw columns of `nodes` into the model's features."""
    preprocessing_output: str | None = None
    """Which of its outputs contains the features, if several could."""
    head: FilePath | None = None
    """A further ONNX file, which takes what the model says about a node (its embedding) and makes
    the decision of it, row by row. `output` and `output_name` are then about its outputs."""
    head_columns: Distinct = ()
    """Columns of `nodes`, numbers, that the head takes as well, in the order it was trained on."""
    embedding_output: str | None = None
    """Which of the model's outputs the head takes, if it has several."""
    depth: int | None = Field(default=None, ge=0, le=16)
    """From how many hops away a node can still affect a decision; probed if absent. A value below
    the probed one is ignored."""
    self_loops: Literal["none", "add"] = "none"
    """'add': the model expects self-loops among its ties."""
    normalisation: Literal["none", "symmetric", "row"] = "none"
    """Degree normalisation applied outside the model and passed in as tie weights."""
    tie_weights: Literal["column", "ones"] | None = None
    """Where tie weights come from. If absent: the weight column if the model takes weights and
    normalises them itself, otherwise ones."""
    adjacency_rows: Literal["targets", "sources"] = "targets"
    """What the rows of a dense adjacency matrix represent."""
    timeout: float = Field(default=300, ge=SHORTEST_TIMEOUT, le=LONGEST_TIMEOUT)
    """Timeout in seconds for opening the model, and for each query."""
    memory: int | None = Field(
        default=None,
        ge=SMALLEST_MEMORY,
        le=LARGEST_MEMORY,
        json_schema_extra={
            "anyOf": [
                {"type": "integer", "minimum": SMALLEST_MEMORY, "maximum": LARGEST_MEMORY},
                {"type": "string", "pattern": "^[0-9]+ (MB|GB)$"},
                {"type": "null"},
            ]
        },
    )
    """Memory limit for the model in each process, as '4 GB' or in megabytes; three quarters of the
    machine's memory if absent. Enforced on Linux only."""
    repeat: Share = 0.02
    """Share of a subject's queries that are asked twice, to check that the model gives the same
    answer; 0 for none."""

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

    @field_validator("roles")
    @classmethod
    def _check_roles(cls, roles: dict[str, str]) -> dict[str, str]:
        for name, declared in roles.items():
            role, *about = declared.split(":")
            able = {*NODE_ROLES, *TIE_ROLES} if about else {*get_args(Role)}
            reverses = role in TIE_ROLES and about[1:] == [REVERSED]
            if role not in able or not all(about) or not (len(about) < 2 or reverses):
                raise ValueError(
                    f"{name}: there is no role {declared!r}; a role is one of "
                    f"{', '.join(get_args(Role))}, and with several kinds of nodes such as "
                    "features:KIND, edges:RELATION or edges:RELATION:reversed; "
                    f"{close_matches(role, sorted(able))}"
                )
        return roles

    @model_validator(mode="after")
    def _check_chain(self) -> Self:
        if self.preprocessing_output is not None and self.preprocessing is None:
            raise ValueError("has preprocessing_output, but no preprocessing whose output it is")
        for key in ("head_columns", "embedding_output"):
            if getattr(self, key) and self.head is None:
                raise ValueError(f"has {key}, but no head that takes them; name its file in head")
        return self


class NodeTable(Section):
    """The nodes of one kind."""

    path: FilePath | None = None
    """CSV or Parquet, one row per node; absent if `npz` has the nodes."""
    id: str = "id"
    """The column with each node's id."""
    features: tuple[str, ...] = ()
    """Columns that the model takes for this kind, in the order it was trained on; none if it takes
    none."""


class TieTable(Section):
    """The ties of one relation."""

    path: FilePath | None = None
    """CSV or Parquet, one row per tie; absent if `npz` has the ties."""
    start: str = Field(alias="from")
    """The kind of node that a tie starts from."""
    to: str
    """The kind of node that a tie leads to."""
    source: str = "source"
    """The column with the id of the node that a tie starts from. Without a column `source`, one
    that is called like the kind."""
    target: str = "target"
    """The column with the id of the node that a tie leads to, likewise."""
    weight: str = "weight"
    """The column with the weight of each tie."""
    attributes: tuple[str, ...] = ()
    """Columns that the model takes, in order."""
    directed: bool = True
    """Whether a tie has a direction; false only between nodes of one kind."""

    @model_validator(mode="after")
    def _check_direction(self) -> Self:
        if not self.directed and self.start != self.to:
            raise ValueError(
                f"leads from {self.start!r} to {self.to!r}, so it has a direction; leave out "
                "directed"
            )
        return self


class SubjectColumn(Section):
    """Who is decided on, where one table has nodes of several kinds."""

    column: str
    """The column of `nodes` that says what kind of node each is."""
    value: str | int
    """Its value for those who are decided on."""


# A kind of node, or the value of a column.
Subject = Annotated[Annotated[str, PLAIN] | Annotated[SubjectColumn, TABLE], BY_FORM]


class GraphSettings(Section):
    """Where the nodes and ties are, and what their columns mean.

    Settings without any file are for a graph in memory, which is given to `Audit`.
    """

    nodes: Annotated[
        Annotated[FilePath | None, PLAIN] | Annotated[dict[str, NodeTable], TABLE], BY_FORM
    ] = None
    """CSV or Parquet, one row per node; or, for nodes of several kinds, a table for each kind."""
    ties: dict[str, TieTable] = Field(default_factory=dict)
    """For nodes of several kinds: a table for each relation between them."""
    edges: FilePath | None = None
    """CSV or Parquet, one row per tie."""
    npz: FilePath | None = None
    """An .npz file with x, edge_index and optionally further arrays."""
    graphml: FilePath | None = None
    """A GraphML file, for small graphs."""
    id: str = "id"
    """The column of `nodes` with each node's id."""
    source: str = "source"
    """The column of `edges` with the node that a tie starts from."""
    target: str = "target"
    """The column of `edges` with the node that a tie leads to."""
    kind: str = "kind"
    """The column of `edges` with the kind of each tie."""
    weight: str = "weight"
    """The column of `edges` with the weight of each tie."""
    features: tuple[str, ...] = ()
    """Columns of `nodes` that the model takes, in the order it was trained on. With preprocessing:
    the columns of its block input, in order."""
    edge_attributes: tuple[str, ...] = ()
    """Columns of `edges` that the model takes, in order."""
    units: dict[str, str] = Field(default_factory=dict)
    """Units of columns that no rule of the policy gives one: { income = "euros" }."""
    kinds: tuple[str, ...] = ()
    """Kinds of ties in the order of the model's codes; sorted if absent."""
    directed: bool = False
    """Whether ties have a direction."""
    encodings: tuple[EncodingSettings, ...] = ()
    """Categories that are encoded in columns of numbers."""
    derived: tuple[DerivedSettings, ...] = ()
    """Columns computed from others; such a column can be a feature without being in the table."""

    @property
    def files(self) -> dict[str, Path]:
        """The files of the graph by their keys; none if the graph is in memory."""
        own = None if isinstance(self.nodes, dict) else self.nodes
        single = {"edges": self.edges, "npz": self.npz, "graphml": self.graphml}
        paths = {"nodes": own, **self._table_paths, **single}
        return {key: path for key, path in paths.items() if path is not None}

    @property
    def _table_paths(self) -> dict[str, Path | None]:
        nodes = {f"nodes.{kind}": table.path for kind, table in self.node_tables.items()}
        return nodes | {f"ties.{name}": table.path for name, table in self.ties.items()}

    @property
    def node_tables(self) -> dict[str, NodeTable]:
        """The tables of nodes by their kinds; none where all nodes are of one kind."""
        return self.nodes if isinstance(self.nodes, dict) else {}

    @property
    def origin(self) -> str:
        return str(next(iter(self.files.values()), "the graph in memory"))

    def of_kind(self, kind: str, *, people: bool = True) -> "GraphSettings":
        """The settings for the nodes of one kind alone; encodings and formulas are of people."""
        table = self.node_tables.get(kind, NodeTable(features=self.features if people else ()))
        update: dict[str, object] = {} if people else {"encodings": (), "derived": ()}
        update |= {"nodes": table.path, "ties": {}, "id": table.id, "features": table.features}
        return self.model_copy(update=update)

    @model_validator(mode="after")
    def _check_files(self) -> Self:
        if self.node_tables or self.ties:
            self._check_tables()
        elif (self.nodes is None) != (self.edges is None):
            missing, other = ("nodes", "edges") if self.nodes is None else ("edges", "nodes")
            raise ValueError(f"needs {missing} as well as {other}")
        given = [name for name in self.files if name != "edges" and "." not in name]
        if len(given) > 1:
            raise ValueError(f"{ONE_SOURCE} (got {' and '.join(given)})")
        taken: dict[str, str] = {}
        for key, name, meaning in self._claims():
            if name in taken:
                raise ValueError(
                    f"{key}: {name!r} is already {taken[name]}; give every column one meaning and "
                    "one name"
                )
            taken[name] = meaning
        return self

    def _check_tables(self) -> None:
        if self.edges is not None or self.graphml is not None or isinstance(self.nodes, Path):
            raise ValueError(
                "edges, graphml and a path in nodes are for nodes of one kind; for several kinds, "
                "write nodes and ties as tables"
            )
        columns = ("id", "features", "source", "target", "weight", "edge_attributes", "directed")
        for name in columns if self.node_tables else columns[2:]:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} belongs to a table of nodes or ties; move it there")
        if not self.ties and self.npz is None:
            raise ValueError(
                "nodes of several kinds need ties: a table [graph.ties] with one entry per "
                'relation, such as works_at = { path = "…", from = "person", to = "employer" }'
            )
        for key, path in self._table_paths.items():
            if (path is None) != (self.npz is not None):
                remedy = "name the CSV or Parquet file" if path is None else "npz has it all"
                raise ValueError(
                    f"{key}.path: {'is missing' if path is None else 'leave it out'}; {remedy}"
                )
        for name, tie in self.ties.items():
            for key, kind in (("from", tie.start), ("to", tie.to)):
                if self.node_tables and kind not in self.node_tables:
                    raise ValueError(
                        f"ties.{name}.{key}: {kind!r} is not a kind of node in graph.nodes; "
                        f"add the kind, or {near_matches(kind, self.node_tables)}"
                    )

    def _claims(self) -> Iterator[tuple[str, str, str]]:
        """Names that encodings and derived columns take: the key, the name, what it means then."""
        for place, encoding in enumerate(self.encodings):
            for name in encoding.columns:
                yield f"encodings[{place}].columns", name, f"a column of encodings[{place}]"
        for place, encoding in enumerate(self.encodings):
            yield f"encodings[{place}].name", encoding.name, f"the name of encodings[{place}]"
        for place, derived in enumerate(self.derived):
            yield f"derived[{place}].name", derived.name, f"the name of derived[{place}]"
