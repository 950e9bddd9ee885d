"""Which groups are compared, and what counts as a gap between them."""

from itertools import pairwise
from typing import Self

from pydantic import Field, field_validator, model_validator

from recourse_audit.settings.section import Section


class GroupSettings(Section):
    """Which columns of `nodes` are protected attributes, and how their groups are compared."""

    attributes: tuple[str, ...] = Field(
        default=(), description="Columns of `nodes` with protected attributes."
    )
    bins: dict[str, tuple[float, ...]] = Field(
        default_factory=dict,
        description="For a numeric attribute, the boundaries between its groups, in ascending "
        'order: { age = [30, 50] } gives "under 30", "30 to under 50" and "50 and over".',
    )
    communities: str | None = Field(
        default=None,
        description="The column of `nodes` with each person's community, if there is one. Gaps "
        "are then also tested across communities.",
    )
    crossed: bool = Field(
        default=True, description="Whether combinations of two attributes are compared too."
    )
    reference: dict[str, str] = Field(
        default_factory=dict,
        description="For each attribute, the group that the others are compared with. If absent, "
        "the largest group whose value is known.",
    )
    smallest: int = Field(
        default=11, ge=2, description="No figures are shown for groups with fewer people than this."
    )
    alpha: float = Field(
        default=0.05,
        gt=0,
        le=0.5,
        description="Accepted probability of showing any gap by mistake, in each of the two "
        "families of tests: single attributes, and crossed attributes.",
    )
    concern: float = Field(
        default=0.1,
        gt=0,
        le=1,
        description="The smallest difference in shares that matters; 0.1 is 10 percentage points.",
    )
    four_fifths: float = Field(
        default=0.8, gt=0, le=1, description="Ratios of favourable rates below this are reported."
    )
    redraws: int = Field(
        default=2_000,
        ge=100,
        le=10_000,
        description="How many times the labels of groups are redrawn along ties, for each "
        "comparison.",
    )
    sample: int = Field(
        default=20_000,
        ge=1_000,
        description="How many people the test of a gap rests on at most; where more are compared, "
        "a drawn sample of this size. Shares and gaps are always those of everybody.",
    )

    @field_validator("attributes")
    @classmethod
    def _check_distinct(cls, attributes: tuple[str, ...]) -> tuple[str, ...]:
        repeated = [name for place, name in enumerate(attributes) if name in attributes[:place]]
        if repeated:
            raise ValueError(f"names {repeated[0]!r} twice; remove one of them")
        return attributes

    @field_validator("bins")
    @classmethod
    def _check_order(cls, bins: dict[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
        for name, edges in bins.items():
            if not edges:
                raise ValueError(f"must give at least one boundary for {name!r} (got [])")
            if any(low >= high for low, high in pairwise(edges)):
                given = ", ".join(f"{edge:g}" for edge in edges)
                raise ValueError(
                    f"the boundaries for {name!r} must be in ascending order (got {given})"
                )
        return bins

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        for key, table in (("bins", self.bins), ("reference", self.reference)):
            strangers = [name for name in table if name not in self.attributes]
            if strangers:
                known = ", ".join(self.attributes) or "it is empty"
                raise ValueError(
                    f"{key} names {strangers[0]!r}, which is not in groups.attributes ({known})"
                )
        return self
