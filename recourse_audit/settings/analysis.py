"""The decision that an audit is about, how far explanations are searched, how effects are adjusted,
and how groups are compared.
"""

from itertools import pairwise
from typing import Literal, Self

from pydantic import Field, StrictFloat, StrictInt, ValidationInfo, field_validator, model_validator

from recourse_audit.settings.inputs import ModelSettings, Subject
from recourse_audit.settings.section import Distinct, Section, Share, near_matches

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
    roles: dict[Literal["sex", "race_or_ethnicity"], str] = Field(default_factory=dict)
    """Which attributes are those that a framework asks for by name: { sex = "gender" }."""
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
            ("roles", self.roles.values(), self.attributes),
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


class CutOffBy(Section):
    """A cut-off for each value of a column."""

    column: str
    """The column of `nodes` that says which cut-off applies."""
    values: dict[str, float] = Field(min_length=1)
    """The cut-off for each value of the column."""


class DecisionSettings(Section):
    """What the decisions are called, and the rule that turns the model's answers into them."""

    classes: Distinct = Field(min_length=2)
    """Names of the classes, in the order of the model's output; for a score model, the two
    decisions."""
    favourable: tuple[str, ...] = Field(min_length=1)
    """The classes that a person hopes for."""
    subject: Subject | None = None
    """Who is decided on, among nodes of several kinds: the kind, or { column, value } if one table
    has all nodes."""
    cut_off: float | None = None
    """The value from which a decision is favourable: the summed probability of the favourable
    classes, or the score of a score model. Without any rule, the most probable class wins."""
    better: Literal["higher", "lower"] = "higher"
    """For a score model: which scores are better."""
    cut_off_by: CutOffBy | None = None
    """A cut-off that depends on a column: { column, values }."""
    quota: StrictInt | StrictFloat | None = None
    """How many people get a favourable decision, best answers first: a whole number, or a share
    between 0 and 1."""
    recorded: str | None = None
    """The column of `nodes` with the decisions that were actually taken; they are compared with the
    model's, and the people they refuse are audited."""
    outcome: str | None = None
    """The column of `nodes` with what happened later: yes or no, true or false, 1 or 0; empty if
    unknown. Error rates are based on it."""
    good_outcome: tuple[str, ...] = ()
    """Values of the outcome column that count as good, if they are not yes and no; any other value
    then counts as bad, and there may be only one."""
    bad_outcome: tuple[str, ...] = ()
    """Values that count as bad, if there are several; values in neither list count as unknown."""
    most_disagreement: Share = 0.05
    """Share of people for whom the recorded decision and the model's may differ before `run`
    stops."""

    @field_validator("favourable")
    @classmethod
    def _check_favourable(
        cls, favourable: tuple[str, ...], info: ValidationInfo
    ) -> tuple[str, ...]:
        classes: tuple[str, ...] = info.data.get("classes", ())
        strangers = [name for name in favourable if name not in classes]
        if classes and strangers:
            raise ValueError(
                f"names {strangers[0]!r}, which is not in decision.classes; "
                f"{near_matches(strangers[0], classes)}"
            )
        if set(favourable) == set(classes):
            raise ValueError(
                "names every class, so nobody could be refused; leave out the unfavourable ones"
            )
        return favourable

    @field_validator("quota")
    @classmethod
    def _check_quota(cls, quota: int | float | None) -> int | float | None:
        if quota is not None and not (0 < quota < 1 if isinstance(quota, float) else quota >= 1):
            raise ValueError(
                f"must be a whole number of people, or a share between 0 and 1 (got {quota})"
            )
        return quota

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if self.good_outcome and self.outcome is None:
            raise ValueError("good_outcome names values of no column; set outcome as well")
        if self.bad_outcome and not self.good_outcome:
            raise ValueError("bad_outcome needs good_outcome: name the values that are good, too")
        both = [value for value in self.good_outcome if value in self.bad_outcome]
        if both:
            raise ValueError(f"good_outcome and bad_outcome both name {both[0]!r}")
        if self.outcome is not None and self.outcome == self.recorded:
            raise ValueError(
                f"outcome and recorded both name {self.outcome!r}; a decision is taken before it "
                "is known how it turns out"
            )
        rules = ("cut_off", "cut_off_by", "quota")
        given = [name for name in rules if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(
                f"{' and '.join(given)} are different rules; keep the one that decides"
            )
        return self


def check_rule(model: ModelSettings, decision: DecisionSettings) -> None:
    """Refuse a rule that does not fit what the model's output holds."""
    lines = {} if decision.cut_off is None else {"cut_off": decision.cut_off}
    if decision.cut_off_by is not None:
        values = decision.cut_off_by.values
        lines |= {f"cut_off_by.values.{name}": line for name, line in values.items()}
    for key, line in lines.items():
        if model.output != "score" and not 0 < line < 1:
            raise ValueError(
                f"decision.{key}: a cut-off for probabilities lies between 0 and 1 (got "
                f'{line:g}); for a model that gives scores, declare model.output = "score"'
            )
    if model.output != "score":
        if decision.better == "lower":
            raise ValueError(
                "decision.better: only scores can be better when they are lower; declare "
                'model.output = "score", or name the other classes favourable'
            )
        return
    if len(decision.classes) != 2:
        raise ValueError(
            "decision.classes: a score model takes one of two decisions, so name two classes (got "
            f"{len(decision.classes)})"
        )
    if not lines and decision.quota is None:
        raise ValueError(
            "decision: a score decides nothing by itself; set cut_off, cut_off_by or quota"
        )
