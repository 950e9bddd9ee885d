"""The model, the graph, the decision: what an audit is about."""

from typing import Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

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
]
OutputKind = Literal["logits", "probabilities", "log_probabilities"]


class ModelSettings(Section):
    """Where the sealed model is, and what its makers declare about its inputs and output."""

    path: FilePath = Field(description="The ONNX file.")
    roles: dict[str, Role] = Field(
        default_factory=dict, description="What each input takes; guessed where absent."
    )
    output: OutputKind | None = Field(
        default=None, description="What the output holds; guessed if absent."
    )
    output_name: str | None = Field(
        default=None, description="Which output to read, if there are several."
    )
    depth: int | None = Field(
        default=None,
        ge=0,
        le=16,
        description="Hops that reach a node; probed if absent, and never less than probed.",
    )
    self_loops: Literal["none", "add"] = Field(
        default="none", description="'add': the model expects self-loops in its list of ties."
    )
    normalisation: Literal["none", "symmetric", "row"] = Field(
        default="none",
        description="Degree normalisation done outside the model, given as tie weights.",
    )
    tie_weights: Literal["column", "ones"] | None = Field(
        default=None,
        description="Where tie weights come from. If absent: the weight column for an input of "
        "weights that the model normalises itself, else ones.",
    )
    adjacency_rows: Literal["targets", "sources"] = Field(
        default="targets", description="What a row of a dense adjacency matrix stands for."
    )


class GraphSettings(Section):
    """Where the nodes and ties are, and what their columns mean."""

    nodes: FilePath | None = Field(default=None, description="CSV or Parquet, a row a node.")
    edges: FilePath | None = Field(default=None, description="CSV or Parquet, a row a tie.")
    npz: FilePath | None = Field(default=None, description="x, edge_index and arrays beside them.")
    graphml: FilePath | None = Field(default=None, description="A GraphML file, for small graphs.")
    id: str = Field(default="id", description="The column of `nodes` that names a node.")
    source: str = Field(default="source", description="The column of `edges` a tie starts from.")
    target: str = Field(default="target", description="The column of `edges` a tie leads to.")
    kind: str = Field(default="kind", description="The column of `edges` with the kind of tie.")
    weight: str = Field(default="weight", description="The column of `edges` with the weight.")
    features: tuple[str, ...] = Field(
        default=(), description="Columns of `nodes` in the order the model was trained on."
    )
    edge_attributes: tuple[str, ...] = Field(
        default=(), description="Columns of `edges` that the model takes, in order."
    )
    kinds: tuple[str, ...] = Field(
        default=(), description="Kinds of ties in the model's order of codes; sorted if absent."
    )
    directed: bool = Field(default=False, description="Whether a tie leads one way only.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in ("nodes", "npz", "graphml") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none of them"
            raise ValueError(
                f"needs exactly one of nodes (with edges), npz or graphml (got {found})"
            )
        if (self.nodes is None) != (self.edges is None):
            missing, other = ("nodes", "edges") if self.nodes is None else ("edges", "nodes")
            raise ValueError(f"needs {missing} beside {other}")
        if self.npz is None and not self.features:
            raise ValueError("needs features: the columns the model takes, in its order")
        return self


class DecisionSettings(Section):
    """What the model's classes are called, and which of them a person hopes for."""

    classes: tuple[str, ...] = Field(min_length=2, description="In the order of the output.")
    favourable: tuple[str, ...] = Field(min_length=1, description="The classes a person hopes for.")

    @field_validator("classes")
    @classmethod
    def _distinct(cls, classes: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(classes)) < len(classes):
            raise ValueError(f"must not repeat a class (got {', '.join(classes)})")
        return classes

    @field_validator("favourable")
    @classmethod
    def _some_favourable(cls, favourable: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        classes: tuple[str, ...] = info.data.get("classes", ())
        strangers = [name for name in favourable if name not in classes]
        if classes and strangers:
            raise ValueError(
                f"names {strangers[0]!r}, which is not in decision.classes ({', '.join(classes)})"
            )
        if set(favourable) == set(classes):
            raise ValueError("names every class, so nobody could be refused; name only some")
        return favourable
