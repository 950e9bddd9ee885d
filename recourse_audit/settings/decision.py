"""The decision that an audit is about: its names, and the rule that takes it."""

from typing import Literal, Self

from pydantic import Field, StrictFloat, StrictInt, ValidationInfo, field_validator, model_validator

from recourse_audit.settings.inputs import ModelSettings, Subject
from recourse_audit.settings.section import Distinct, Section, Share, near_matches


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
