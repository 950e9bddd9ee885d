"""The policy: what a person may be advised to change."""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from recourse_audit.settings.section import FilePath, Section


class TieRule(Section):
    """Which ties of a kind may be dropped or added, at what cost; the first match applies."""

    kind: str = Field(description="The kind of tie that the rule covers; '*' for any.")
    whose: Literal["own", "outgoing", "others", "any"] = Field(
        default="own",
        description="'own': ties with the person at one end; 'outgoing': ties that start from the "
        "person (the same as 'own' if ties have no direction); 'others': ties between other people "
        "within the model's reach; 'any': all of these.",
    )
    allow: tuple[Literal["drop", "add"], ...] = Field(
        description="What may be suggested; [] means nothing."
    )
    cost: float = Field(default=1.0, ge=0, description="Cost of one such change.")
    to: Literal["near", "anyone"] = Field(
        default="near",
        description="Whom a new tie may lead to if there is no file of candidates: people two ties "
        "away, or anyone.",
    )
    reason: str = Field(default="", description="Why the rule exists, for its readers.")

    @model_validator(mode="after")
    def _add_own_only(self) -> Self:
        if self.whose == "others" and "add" in self.allow:
            raise ValueError(
                "a person cannot add a tie between two other people; allow only 'drop', or change "
                "whose"
            )
        return self


class Implication(Section):
    """How a step of one attribute moves another."""

    name: str = Field(description="The attribute that moves as well.")
    by: float = Field(
        description="By how much it moves for one step up, in its own units; for one step down, "
        "the opposite."
    )


class AttributeRule(Section):
    """How an attribute may change, in the user's units."""

    name: str = Field(description="A feature of the model.")
    direction: Literal["up", "down", "any"] = Field(
        default="any", description="The direction in which a person can change it."
    )
    step: float = Field(gt=0, description="The smallest change worth suggesting.")
    min: float | None = Field(
        default=None, description="The lowest value to suggest; the lowest in the graph if absent."
    )
    max: float | None = Field(
        default=None,
        description="The highest value to suggest; the highest in the graph if absent.",
    )
    cost: float = Field(default=1.0, ge=0, description="Cost of one step.")
    integer: bool = Field(default=False, description="Whether only whole numbers make sense.")
    unit: str = Field(default="", description="The name of its unit.")
    scale: float = Field(
        default=1.0,
        description="User's value = inverse transform of (value in the table * scale + shift).",
    )
    shift: float = Field(default=0.0, description="See scale.")
    transform: Literal["linear", "log", "log1p"] = Field(
        default="linear",
        description="What was applied to the user's value before it was scaled into the table.",
    )
    implies: tuple[Implication, ...] = Field(
        default=(), description='What else one step changes: [{ name = "…", by = … }].'
    )

    @model_validator(mode="after")
    def _some_range(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min must not be more than max (got {self.min:g} and {self.max:g})")
        if self.integer and self.step != int(self.step):
            raise ValueError(f"integer needs a step that is a whole number (got {self.step:g})")
        if self.scale == 0:
            raise ValueError("scale must not be 0, which would make all values equal")
        named = [implied.name for implied in self.implies]
        if self.name in named:
            raise ValueError(
                f"implies must not name {self.name!r} itself; its own move is set by step"
            )
        repeated = [name for place, name in enumerate(named) if name in named[:place]]
        if repeated:
            raise ValueError(f"implies names {repeated[0]!r} twice; remove one of them")
        return self


class RecourseSettings(Section):
    """What a person may be advised to change, and how long to search for options that work."""

    max_changes: int = Field(
        default=3, ge=1, le=6, description="Maximum number of changes in one option."
    )
    options: int = Field(default=3, ge=1, le=10, description="Maximum number of options offered.")
    budget: int = Field(
        default=5000,
        ge=1,
        description="Maximum number of combinations of changes put to the model for one subject. "
        "Each is evaluated on the subject's neighbourhood where that is proven to give the same "
        "answer, otherwise on the whole graph.",
    )
    never: tuple[str, ...] = Field(
        default=(),
        description="Kinds of ties, or of nodes at their ends, that are never suggested, in "
        "addition to the built-in ones.",
    )
    node_kind: str | None = Field(
        default=None,
        description="The column of the nodes that says what kind of node each is, such as "
        "'church': ties to nodes of kinds that are never suggested are never suggested either. If "
        "absent, a column called kind, type, node_kind or node_type, if there is one.",
    )
    not_protected: tuple[str, ...] = Field(
        default=(),
        description="Features that look as if they encoded a protected attribute and, as a person "
        "has checked, do not: rules for them are accepted.",
    )
    candidates: FilePath | None = Field(
        default=None,
        description="CSV or Parquet with source,target[,kind]: the only new ties that may be "
        "suggested.",
    )
    draws: int = Field(
        default=50,
        ge=0,
        le=10_000,
        description="Random draws that measure how robust an option is; they do not count towards "
        "the budget.",
    )
    jitter: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Share of other people's ties that change in a draw; for attributes, the size "
        "of the shift in standard deviations.",
    )
    ties: tuple[TieRule, ...] = Field(
        default=(),
        description="Rules for ties; without any, a person's own ties may be dropped at cost 1.",
    )
    attributes: tuple[AttributeRule, ...] = Field(
        default=(), description="Rules for attributes; an attribute without a rule may not change."
    )

    @field_validator("attributes")
    @classmethod
    def _one_rule_each(cls, rules: tuple[AttributeRule, ...]) -> tuple[AttributeRule, ...]:
        names = [rule.name for rule in rules]
        repeated = [name for place, name in enumerate(names) if name in names[:place]]
        if repeated:
            raise ValueError(f"has two rules for {repeated[0]!r}; remove one of them")
        return rules
