"""The policy: what a person may be told to change."""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from recourse_audit.settings.section import FilePath, Section


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
