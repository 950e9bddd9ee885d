"""A user's `audit.toml` becomes one frozen, checked `Settings`; no later stage reads the file.

Paths are resolved against the folder of the file, unknown keys are refused with the nearest known
one, and every message names the key.
"""

import difflib
import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from recourse_audit.errors import SettingsError

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

LARGEST_EXPLANATION = 8

_WHOLE, _NUMBER, _LIST = "must be a whole number", "must be a number", "must be a list: [ … ]"
WORDING = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be a table: {{ name = value }}",
    "finite_number": "must be a finite number",
    "float_parsing": _NUMBER,
    "float_type": _NUMBER,
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "int_from_float": _WHOLE,
    "int_parsing": _WHOLE,
    "int_type": _WHOLE,
    "less_than_equal": "must be at most {le:g}",
    "literal_error": "must be {expected}",
    "model_type": "must be a table, with its keys below a line in square brackets",
    "path_type": "must be a path, in quotes",
    "string_type": "must be text, in quotes",
    "too_short": "must name at least {min_length}",
    "tuple_type": _LIST,
}


def _resolve(path: Path, info: ValidationInfo) -> Path:
    folder: Path = (info.context or {}).get("folder", Path())
    return folder / path


FilePath = Annotated[Path, AfterValidator(_resolve)]


class Section(BaseModel):
    """One table of `audit.toml`: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


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
        default=None, ge=0, le=16, description="Hops that reach a node; probed if absent."
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


class GroupSettings(Section):
    """Which columns of the nodes are protected attributes."""

    attributes: tuple[str, ...] = ()


class SearchSettings(Section):
    """How large an explanation may be, and how far and how long to look for it."""

    max_nodes: int = Field(
        default=4, ge=2, le=LARGEST_EXPLANATION, description="C of the paper: nodes, at most."
    )
    max_hops: int | None = Field(
        default=None, ge=1, le=8, description="D of the paper; the model's depth if absent."
    )
    budget: int = Field(
        default=200_000, description="Subgraphs evaluated for one subject, at most."
    )
    counterfactuals: int = Field(
        default=3, ge=1, le=20, description="Diverse counterfactuals shown for a subject."
    )
    seed: int = Field(default=0, ge=0, description="Of every random draw of the search.")

    @field_validator("budget")
    @classmethod
    def _room_for_one(cls, budget: int, info: ValidationInfo) -> int:
        max_nodes: int = info.data.get("max_nodes", 2)
        least = 2**max_nodes
        if budget < least:
            raise ValueError(
                f"must be at least {least}, enough for one explanation of {max_nodes} nodes with "
                f"its counterfactuals (got {budget})"
            )
        return budget


class TieRule(Section):
    """Which ties of a kind may be dropped or added, at what cost; the first that matches wins."""

    kind: str = Field(description="The kind of tie it is about; '*' for any.")
    whose: Literal["own", "outgoing", "others", "any"] = Field(
        default="own",
        description="'own': the person is at an end; 'outgoing': it leads from the person (own, if "
        "ties have no direction); 'others': between other people in the model's reach; or 'any'.",
    )
    allow: tuple[Literal["drop", "add"], ...] = Field(
        description="What may be suggested; [] for nothing."
    )
    cost: float = Field(default=1.0, ge=0, description="Of one such change.")
    to: Literal["near", "anyone"] = Field(
        default="near",
        description="Whom a new tie may lead to, without a file of candidates: people two ties "
        "away, or anyone.",
    )
    reason: str = Field(default="", description="Why this is the rule, for whoever reads it.")

    @model_validator(mode="after")
    def _add_own_only(self) -> Self:
        if self.whose == "others" and "add" in self.allow:
            raise ValueError(
                "nobody can be told to add a tie between two others; allow 'drop' only, or change "
                "whose"
            )
        return self


class Implication(Section):
    """What a step of one attribute does to another."""

    name: str = Field(description="The attribute that moves along.")
    by: float = Field(
        description="By how much for a step up, in its own units; the opposite for one down."
    )


class AttributeRule(Section):
    """How an attribute may move, in the user's units."""

    name: str = Field(description="A feature of the model.")
    direction: Literal["up", "down", "any"] = Field(
        default="any", description="Which way a person can move it."
    )
    step: float = Field(gt=0, description="The smallest change that is worth suggesting.")
    min: float | None = Field(
        default=None, description="The lowest value to suggest; that of the graph if absent."
    )
    max: float | None = Field(
        default=None,
        description="The highest value to suggest; that of the graph if absent.",
    )
    cost: float = Field(default=1.0, ge=0, description="Of one step.")
    integer: bool = Field(default=False, description="Whether only whole numbers make sense.")
    unit: str = Field(default="", description="The word for its unit.")
    scale: float = Field(
        default=1.0, description="User's value = transform back (table's value * scale + shift)."
    )
    shift: float = Field(default=0.0, description="See scale.")
    transform: Literal["linear", "log", "log1p"] = Field(
        default="linear", description="What was done to the user's value before the table was made."
    )
    implies: tuple[Implication, ...] = Field(
        default=(), description='What else a step changes: [{ name = "…", by = … }].'
    )

    @model_validator(mode="after")
    def _some_range(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min must not be more than max (got {self.min:g} and {self.max:g})")
        if self.integer and self.step != int(self.step):
            raise ValueError(f"integer needs a step that is a whole number (got {self.step:g})")
        if self.scale == 0:
            raise ValueError("scale must not be 0, which would make all values alike")
        named = [implied.name for implied in self.implies]
        if self.name in named:
            raise ValueError(f"implies must not name {self.name!r} itself; step says how it moves")
        repeated = [name for place, name in enumerate(named) if name in named[:place]]
        if repeated:
            raise ValueError(f"implies names {repeated[0]!r} twice; keep one of the two")
        return self


class RecourseSettings(Section):
    """What a person may be told to change, and how long to look for what works."""

    max_changes: int = Field(default=3, ge=1, le=6, description="Changes in one option, at most.")
    options: int = Field(default=3, ge=1, le=10, description="Options offered, at most.")
    budget: int = Field(
        default=5000, ge=1, description="Evaluations on the whole graph a subject, at most."
    )
    never: tuple[str, ...] = Field(
        default=(), description="Kinds of ties never suggested, besides the built-in ones."
    )
    candidates: FilePath | None = Field(
        default=None,
        description="CSV or Parquet: source,target[,kind]; the only new ties to suggest.",
    )
    draws: int = Field(
        default=50,
        ge=0,
        le=10_000,
        description="Random draws that tell how well an option holds, on top of the budget.",
    )
    jitter: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Share of other people's ties that change in a draw; attributes shift by so "
        "many standard deviations.",
    )
    ties: tuple[TieRule, ...] = Field(
        default=(), description="Rules for ties; without any, own ties may be dropped at cost 1."
    )
    attributes: tuple[AttributeRule, ...] = Field(
        default=(), description="Attributes that may change; without any, none may."
    )

    @field_validator("attributes")
    @classmethod
    def _one_rule_each(cls, rules: tuple[AttributeRule, ...]) -> tuple[AttributeRule, ...]:
        names = [rule.name for rule in rules]
        repeated = [name for place, name in enumerate(names) if name in names[:place]]
        if repeated:
            raise ValueError(f"has two rules for {repeated[0]!r}; keep one of them")
        return rules


class Settings(Section):
    """Everything an audit is told, checked once."""

    model: ModelSettings
    graph: GraphSettings
    decision: DecisionSettings
    groups: GroupSettings = GroupSettings()
    search: SearchSettings = SearchSettings()
    recourse: RecourseSettings = RecourseSettings()


def load_settings(path: Path) -> Settings:
    """Read and check an `audit.toml`; its paths become relative to the folder it lies in."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(
            f"{path}: there is no such file; `recourse-audit init` writes one"
        ) from None
    except IsADirectoryError:
        raise SettingsError(f"{path}: is a folder; name the audit.toml inside it") from None
    except OSError as error:
        raise SettingsError(
            f"{path}: cannot be read ({error.strerror}); check the path and who may read it"
        ) from None
    except UnicodeDecodeError:
        raise SettingsError(
            f"{path}: is not text in UTF-8, so no audit.toml; `recourse-audit init` writes one"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"{path}: is not valid TOML ({error}); mend that line, or write a new file with "
            "`recourse-audit init`"
        ) from None
    return parse_settings(table, folder=path.parent, origin=str(path))


def parse_settings(table: dict[str, Any], *, folder: Path, origin: str) -> Settings:
    """Check a settings table that came from `origin`; report the first thing wrong with it."""
    try:
        return Settings.model_validate(table, context={"folder": folder})
    except ValidationError as error:
        raise SettingsError(f"{origin}: {_first_problem(error)}") from None


def settings_schema() -> str:
    """The JSON Schema of `audit.toml`, for editors and for other programs."""
    return json.dumps(Settings.model_json_schema(), indent=2)


def _first_problem(error: ValidationError) -> str:
    """Word the first problem; a mistyped key comes before the key it leaves missing."""
    problems = error.errors(include_url=False)
    first = min(problems, key=lambda problem: problem["type"] != "extra_forbidden")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{_key(first['loc'])}: {_worded(first)}{more}"


def _key(location: tuple[int | str, ...]) -> str:
    """A key as a user would look for it: `recourse.ties[0].kind`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def _worded(problem: ErrorDetails) -> str:
    """One problem in plain words; what pydantic says where there are none."""
    kind, limits = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        return f"is not a known key{_nearest(problem['loc'])}"
    if kind == "missing":
        return "is missing"
    if kind == "value_error":
        return str(limits["error"])
    wording = WORDING.get(kind)
    if wording is None:
        wording = problem["msg"][0].lower() + problem["msg"][1:].replace("{", "{{")
    return f"{wording.format(**limits)} (got {problem['input']!r})"


def _nearest(location: tuple[int | str, ...]) -> str:
    """Name the known key that a mistyped one most likely meant."""
    section: Any = Settings
    for part in location[:-1]:
        if isinstance(part, int):
            continue
        section = section.model_fields[part].annotation
        section = next(
            (inner for inner in getattr(section, "__args__", ()) if inner is not Ellipsis), section
        )
    known = list(getattr(section, "model_fields", {}))
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(known)}"
