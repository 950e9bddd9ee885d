"""The policy: what a person may be advised to change."""

from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from recourse_audit.settings.expressions import parse_condition
from recourse_audit.settings.section import FilePath, Section, Share, first_repeated

# How many combinations of changes are tried for a subject, unless the settings say.
BUDGET = 40_000
BUDGET_ONE_BY_ONE = 5_000


class TieRule(Section):
    """What may become of ties of a kind, and at what cost; the first match applies."""

    kind: str
    """Kind of tie (relation) that the rule covers; '*' for any, which need not be written beside a
    to_kind."""
    to_kind: str | None = None
    """Kind of node at the far end of the person's ties that the rule covers, such as 'employer';
    any if absent."""
    whose: Literal["own", "outgoing", "others", "any"] = "own"
    """'own': ties with the person at one end; 'outgoing': ties that start from the person (the same
    as 'own' if ties have no direction); 'others': ties between other people within the model's
    reach; 'any': all of these."""
    allow: tuple[Literal["drop", "add", "move"], ...]
    """What may be suggested; [] for nothing. 'move': leave one far end and take another, as one
    change at one cost."""
    together: bool = False
    """Whether all of the person's ties of the kind that the rule covers end together, as one change
    at one cost: whoever moves leaves everybody at the old address."""
    cost: float = Field(default=1.0, ge=0)
    """Cost of one such change."""
    to: Literal["near", "anyone"] = "near"
    """Who may be at the other end of a new or moved tie if no candidates are given: people two ties
    away (nodes of other kinds two or three), or anyone. Always a node of a kind that such ties lead
    to."""
    reason: str = ""
    """Why the rule exists, for people who read it."""

    @model_validator(mode="before")
    @classmethod
    def _any_kind(cls, data: object) -> object:
        return {"kind": "*", **data} if isinstance(data, dict) and "to_kind" in data else data

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.whose == "others" and {"add", "move"} & {*self.allow}:
            raise ValueError(
                "a person cannot add or move a tie between two other people; allow only 'drop', or "
                "change whose"
            )
        if self.to_kind is not None and self.whose not in ("own", "outgoing"):
            raise ValueError(
                "to_kind is about the far end of a person's own ties; set whose to 'own' or "
                "'outgoing', or leave one out"
            )
        if self.together and "move" in self.allow:
            raise ValueError(
                "together ends all ties of a kind as one change, and 'move' takes one of them "
                "elsewhere; leave out one of the two"
            )
        if self.together and "drop" not in self.allow:
            raise ValueError("together is about ending ties; allow 'drop', or leave it out")
        if self.together and self.whose not in ("own", "outgoing"):
            raise ValueError(
                "together is about a person's own ties; set whose to 'own' or 'outgoing', or leave "
                "one out"
            )
        return self


class Implication(Section):
    """How a change of one attribute moves another."""

    name: str
    """The attribute that moves as well."""
    by: float | None = None
    """For a number: how far it moves per step up, in its own units; a step down moves it the other
    way. If a category changes: how far it moves with that change."""
    to: str | None = None
    """For a category: the category that it changes to."""

    @model_validator(mode="after")
    def _by_or_to(self) -> Self:
        if (self.by is None) == (self.to is None):
            raise ValueError("needs either by (of a number) or to (of a category)")
        return self


class CategoryMove(Section):
    """One way in which a category may change; [from, to] is short for it."""

    model_config = ConfigDict(populate_by_name=True)

    before: str = Field(alias="from")
    """The category that a person has."""
    to: str
    """The category that may be suggested to them."""
    cost: float | None = Field(default=None, ge=0)
    """Cost of this change; the rule's cost if absent."""

    @model_validator(mode="before")
    @classmethod
    def _pair(cls, data: object) -> object:
        if not isinstance(data, list | tuple):
            return data
        if len(data) != 2:
            raise ValueError("must be [from, to], or { from = …, to = …, cost = … }")
        return {"from": data[0], "to": data[1]}

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if self.before == self.to:
            raise ValueError(f"must lead to another category (got {self.to!r} twice)")
        return self


def _or_pairs(schema: dict[str, Any]) -> None:
    """A move may also be written as a list of two."""
    pair = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
    schema["items"] = {"anyOf": [schema["items"], pair]}


class AttributeRule(Section):
    """How an attribute may change, in the user's units: a number by steps, a category by moves."""

    name: str
    """A feature of the model, or a column that features depend on."""
    direction: Literal["up", "down", "any"] = "any"
    """The direction in which a person can change it."""
    step: float | None = Field(default=None, gt=0)
    """For a number: the smallest change worth suggesting."""
    min: float | None = None
    """Lowest value to suggest; the lowest in the graph if absent."""
    max: float | None = None
    """Highest value to suggest; the highest in the graph if absent."""
    values: tuple[str, ...] = ()
    """For a category: the categories that may be suggested."""
    moves: tuple[CategoryMove, ...] = Field(default=(), json_schema_extra=_or_pairs)
    """For a category: the only changes that may be suggested, [["rent", "own"]] or [{ from =
    "rent", to = "own", cost = 3 }]; any change to one of the values if absent."""
    cost: float = Field(default=1.0, ge=0)
    """Cost of one step, one percentile point, or one move."""
    cost_in: Literal["step", "percentile"] = "step"
    """For a number: what the cost is counted in. 'percentile': the percentage of all nodes that the
    change passes; nodes with an equal value count half."""
    integer: bool = False
    """Whether only whole numbers make sense."""
    unit: str = ""
    """Name of its unit."""
    scale: float = 1.0
    """User's value = inverse transform of (value in the table * scale + shift)."""
    shift: float = 0.0
    """See scale."""
    transform: Literal["linear", "log", "log1p"] = "linear"
    """What was applied to the user's value before it was scaled into the table."""
    implies: tuple[Implication, ...] = ()
    """What else a change moves: [{ name = "…", by = … }], or to = "…" for a category."""

    @property
    def of_category(self) -> bool:
        return bool(self.values or self.moves)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.of_category:
            self._check_category()
        elif self.step is None:
            raise ValueError(
                "needs a step, if it is a number, or values (or moves), if it is a category"
            )
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min must not be more than max (got {self.min:g} and {self.max:g})")
        if self.integer and self.step is not None and self.step != int(self.step):
            raise ValueError(f"integer needs a step that is a whole number (got {self.step:g})")
        if self.scale == 0:
            raise ValueError("scale must not be 0, which would make all values equal")
        named = [implied.name for implied in self.implies]
        if self.name in named:
            raise ValueError(
                f"implies must not name {self.name!r} itself; its own move is set by step"
            )
        if repeated := first_repeated(named):
            raise ValueError(f"implies names {repeated!r} twice; remove one of them")
        return self

    def _check_category(self) -> None:
        numeric = ("step", "direction", "min", "max", "integer", "scale", "shift", "transform")
        for key in (*numeric, "cost_in"):
            if getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(
                    f"{key} is about a number, but values and moves are about a category; leave "
                    "one out"
                )
        pairs = [(move.before, move.to) for move in self.moves]
        for what, listed in (("values", self.values), ("moves", pairs)):
            if len(set(listed)) < len(listed):
                raise ValueError(f"{what} must not repeat one")
        strangers = [move.to for move in self.moves if self.values and move.to not in self.values]
        if strangers:
            raise ValueError(f"moves lead to {strangers[0]!r}, which is not among values")


class ConditionSettings(Section):
    """What must hold after a change: an option that breaks it is not offered."""

    model_config = ConfigDict(populate_by_name=True)

    when: str | None = Field(default=None, alias="if")
    """When the condition applies, such as job = "none"; always if absent. Columns are compared (=,
    !=, <, <=, >, >=) with a number, a text in quotes or another column; comparisons are joined by
    and, or, not. Numbers are in the units of the column's rule."""
    then: str
    """What must hold then, written in the same way."""

    @field_validator("when", "then")
    @classmethod
    def _readable(cls, condition: str | None) -> str | None:
        if condition is not None:
            parse_condition(condition)
        return condition

    @property
    def text(self) -> str:
        return self.then if self.when is None else f"if {self.when} then {self.then}"


class RecourseSettings(Section):
    """What a person may be advised to change, and how long to search for options that work."""

    max_changes: int = Field(default=3, ge=1, le=6)
    """Maximum number of changes in one option."""
    options: int = Field(default=3, ge=1, le=10)
    """Maximum number of options offered."""
    budget: int | None = Field(default=None, ge=1)
    """Maximum number of combinations of changes tried per subject. If absent: 40,000, which covers
    every set of up to three of 60 changes; or 5,000 for a model that can be asked about only one
    combination at a time."""
    compare: Share = 0.0005
    """Share of the answers about changes that are asked again on the whole graph: at least one per
    subject, and every option, if the graph has at most 200,000 arcs. 0 for options only."""
    never: tuple[str, ...] = ()
    """Kinds of ties, or of nodes at their ends, that are never suggested, in addition to the
    built-in ones."""
    node_kind: str | None = None
    """Column of the nodes that says what kind of node each is, such as 'church': ties to nodes of a
    kind that is never suggested are never suggested either. If absent, a column called kind, type,
    node_kind or node_type, if there is one."""
    not_protected: tuple[str, ...] = ()
    """Features that look as if they encoded a protected attribute but, as a person has checked, do
    not; rules for them are accepted."""
    candidates: FilePath | None = None
    """CSV or Parquet file with source,target[,kind]: the only new ties that may be suggested, by
    adding or by moving one."""
    draws: int = Field(default=50, ge=0, le=10_000)
    """Number of random draws that test how robust an option is; they do not count towards the
    budget."""
    jitter: Share = 0.05
    """Share of other people's ties that change in a draw; for attributes, the size of the shift in
    standard deviations."""
    common_actions: int = Field(default=24, ge=0, le=100)
    """Maximum number of common changes: single changes taken from the rules, the same for
    everybody, that are tried for each refused person so that groups can be compared. They do not
    count towards the budget. 0 for none."""
    ties: tuple[TieRule, ...] = ()
    """Rules for ties; without any, a person's own ties may be dropped at cost 1."""
    attributes: tuple[AttributeRule, ...] = ()
    """Rules for attributes; an attribute without a rule may not change."""
    conditions: tuple[ConditionSettings, ...] = ()
    """What must hold after a change of a column that they name."""

    @field_validator("attributes")
    @classmethod
    def _one_rule_each(cls, rules: tuple[AttributeRule, ...]) -> tuple[AttributeRule, ...]:
        if repeated := first_repeated([rule.name for rule in rules]):
            raise ValueError(f"has two rules for {repeated!r}; remove one of them")
        return rules
