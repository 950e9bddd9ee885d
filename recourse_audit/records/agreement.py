"""How far the decisions on record and the model's agree, and what may explain the rest."""

from dataclasses import dataclass, replace
from typing import Literal

from recourse_audit.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DecidedAs(Record):
    """How many people have this decision on record and that one from the model."""

    recorded: str
    decided: str
    people: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupAgreement(Record):
    """The agreement in one group of people; groups too small to be shown are left out."""

    attribute: str
    group: str
    compared: int
    agreeing: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Disagreement(Record):
    """One person on whom the record and the model differ; `margin` is the model's."""

    id: str
    recorded: str
    decided: str
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BetterRule(Record):
    """Another rule, under which the model agrees with the record on more people.

    Either a `cut_off`, or another order of the `classes`.
    """

    kind: Literal["cut_off", "class_order"]
    cut_off: float | None
    classes: tuple[str, ...]
    agreeing: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Agreement(Record):
    """The decisions in a column of the nodes, compared with the model's.

    `compared` people have both; `unrecorded` have none on record, and the model gives `undecided`
    no answer. `outside` counts those who disagree and have a feature below or above anything that
    people who agree have; `outside_features` names those features, the most frequent first.
    """

    column: str
    compared: int
    agreeing: int
    unrecorded: int
    undecided: int
    by_class: tuple[DecidedAs, ...]
    by_group: tuple[GroupAgreement, ...]
    examples: tuple[Disagreement, ...]
    better: BetterRule | None
    outside: int
    outside_features: tuple[str, ...]

    @property
    def disagreeing(self) -> int:
        return self.compared - self.agreeing

    def without_people(self) -> "Agreement":
        """The same without ids and groups, for readers who may not see them."""
        return replace(self, examples=(), by_group=())

    @property
    def share(self) -> float:
        """The share of people on whom both agree; 1 if there is nobody to compare."""
        return self.agreeing / self.compared if self.compared else 1.0
