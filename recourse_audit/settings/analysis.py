"""How far explanations are searched, how effects are adjusted, and how groups are compared."""

from itertools import pairwise
from typing import Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from recourse_audit.settings.section import Distinct, Section, near_matches

LARGEST_EXPLANATION = 8
# What the runtime takes.
LARGEST_SEED = 2**63 - 1
# Of the features of confounders; with fewer, the interval of a mean is not to be relied on.
FIRST_DRAWS = 60


class SearchSettings(Section):
    """How large an explanation may be, and how far and how long to search for it."""

    max_nodes: int = Field(default=4, ge=2, le=LARGEST_EXPLANATION)
    """Maximum number of nodes in an explanation (C in the paper)."""
    max_hops: int | None = Field(default=None, ge=1, le=8)
    """Maximum distance from the subject in hops (D in the paper); the model's depth if absent."""
    budget: int = 200_000
    """Maximum number of subgraphs evaluated per subject."""
    counterfactuals: int = Field(default=3, ge=1, le=20)
    """Maximum number of diverse counterfactuals shown per subject."""
    carrier_budget: int = Field(default=128, ge=0, le=100_000)
    """Maximum number of sets of ties whose removal is tried on the whole graph for one subject, to
    find the ties that carry the decision there; up to four times as many, if all sets of one and
    two of the subject's own ties need it. 0 for none."""
    prefer: Literal["paper", "whole_graph"] = "paper"
    """What the terminal shows first: the paper's counterfactuals, or the ties that carry the
    decision on the whole graph. Pages begin with the whole graph in either case."""
    study: bool = False
    """Keep what `recourse-audit study` shows to people: for each subject an explanation of high and
    one of low simulatability, each with a counterfactual of high and one of low relevance."""
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED)
    """Seed of all random draws."""

    @field_validator("budget")
    @classmethod
    def _check_budget(cls, budget: int, info: ValidationInfo) -> int:
        max_nodes: int = info.data.get("max_nodes", 2)
        least = 2**max_nodes
        if budget < least:
            raise ValueError(
                f"must be at least {least}, enough for one explanation of {max_nodes} nodes with "
                f"its counterfactuals (got {budget})"
            )
        return budget


class CaveatSettings(Section):
    """How effects are adjusted for confounders, and which are too small to matter."""

    draws: int = Field(default=960, ge=0, le=10_000)
    """Maximum number of draws of the confounders' features per effect: 60 at first, then four times
    as many until the grade is settled. 0 for none."""
    smallest_effect: float = Field(default=0.01, gt=0, le=1)
    """Smallest change of a probability that counts as an effect; for a score, in standard
    deviations of everybody's scores."""
    stratum: str | None = None
    """Draw only from nodes with the subject's value in this column."""

    @field_validator("draws")
    @classmethod
    def _check_draws(cls, draws: int) -> int:
        if 0 < draws < FIRST_DRAWS:
            raise ValueError(f"must be 0, or at least {FIRST_DRAWS} (got {draws})")
        return draws


class ReasonSettings(Section):
    """With what a person's data are compared, and what may be a reason for a decision."""

    reference: Literal["approved_median", "population_median"] | dict[str, float | str] = (
        "approved_median"
    )
    """Where own columns are put to see what they do: at the median, or the most frequent category,
    of the people decided on favourably or of everybody; or { column = value } for columns of your
    choice, in your units, the others being at the median of the people decided on favourably."""
    smallest: float = Field(default=0.1, gt=0, le=1)
    """The least that a candidate for a reason moves the answer, as a share of its distance to the
    cut-off, in log-odds (of a score, in its own units)."""
    codes: dict[str, str] = Field(default_factory=dict)
    """For a column or a kind of tie, the code of the reason that a letter gives for it, from the
    list of the legal profile: { late_payments = "delinquent" }."""


class ComparatorColumn(Section):
    """A column on which whoever is compared with a person must be no better, and how far off."""

    direction: Literal["higher", "lower"] | None = None
    """Which values are better; if absent, neither."""
    caliper: float = Field(default=0.0, ge=0)
    """The largest difference of a number, in your units; of text, none: values must be equal."""


class ComparatorSettings(Section):
    """Which approved people stand beside a refused person, for the auditor."""

    columns: dict[str, ComparatorColumn] = Field(default_factory=dict)
    """Columns on which nobody listed is better or further off than this, besides the answer on own
    data: { income = { direction = "higher", caliper = 500 } }."""
    caliper: float | None = Field(default=None, gt=0)
    """How much worse the answer on own data may be. If absent: 0.1 of a probability, or a tenth of
    the standard deviation of everybody's scores on own data."""
    count: int = Field(default=3, ge=1, le=20)
    """Maximum number of people listed from other groups, and from the person's own."""


class GroupSettings(Section):
    """Which columns of `nodes` are protected attributes, and how their groups are compared."""

    attributes: Distinct = ()
    """Columns of `nodes` with protected attributes; `works_at.sector` is the column `sector` of the
    node at the far end of a person's works_at tie."""
    bins: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    """For a numeric attribute or `given` column, the boundaries between its groups, in ascending
    order: { age = [30, 50] } gives "under 30", "30 to under 50" and "50 and over"."""
    communities: str | None = None
    """The column of `nodes` with each person's community, if there is one. Gaps are then also
    tested across communities."""
    crossed: bool = True
    """Whether combinations of two attributes are compared too."""
    given: Distinct = ()
    """Further columns of `nodes` in which people alike on own data must agree, as well as in the
    tenth of the model's answer on own data alone: ["product"]. Numeric ones need `bins`."""
    reference: dict[str, str] = Field(default_factory=dict)
    """For each attribute, the group that the others are compared with. If absent, the largest group
    whose value is known."""
    smallest: int = Field(default=11, ge=2)
    """No figures are shown for groups with fewer people than this."""
    alpha: float = Field(default=0.05, gt=0, le=0.5)
    """Accepted probability of showing any gap by mistake, in each family of tests: single
    attributes, crossed attributes, own data alone, and common actions."""
    concern: float = Field(default=0.1, gt=0, le=1)
    """The smallest difference in shares that matters; 0.1 is 10 percentage points."""
    four_fifths: float = Field(default=0.8, gt=0, le=1)
    """Ratios of favourable rates below this are reported."""
    redraws: int = Field(default=2_000, ge=100, le=10_000)
    """How many times the labels of groups are redrawn along ties, for each comparison."""
    sample: int = Field(default=20_000, ge=1_000)
    """How many people the test of a gap rests on at most; where more are compared, a drawn sample
    of this size. Shares and gaps are always those of everybody."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of which the bundle keeps everybody's value."""
        return (*self.attributes, *self.given)

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
        for key, table, names in (
            ("bins", self.bins, self.columns),
            ("reference", self.reference, self.attributes),
        ):
            strangers = [name for name in table if name not in names]
            if strangers:
                hint = near_matches(strangers[0], names)
                raise ValueError(
                    f"{key} names {strangers[0]!r}, which is not in groups.attributes"
                    f"{' or groups.given' if len(names) > len(self.attributes) else ''}; {hint}"
                )
        protected = [name for name in self.given if name in self.attributes]
        if protected:
            raise ValueError(
                f"given names the protected attribute {protected[0]!r}; its groups are compared; "
                "name columns that are not in groups.attributes"
            )
        return self
