"""The conditions of a policy as trees, and the columns that they depend on."""

from collections.abc import Mapping, Sequence

from recourse_audit.graph.computed import Computation
from recourse_audit.graph.steps import DerivedStep
from recourse_audit.recourse.attributes import Attribute
from recourse_audit.settings import ConditionSettings
from recourse_audit.settings.expressions import parse_condition


class Conditions:
    """The conditions of a policy, read once; `units` are the attributes that have a rule."""

    def __init__(
        self,
        settings: Sequence[ConditionSettings],
        computation: Computation,
        seen: Sequence[str],
        units: Mapping[str, Attribute],
    ) -> None:
        """`seen` are the features; formulas that none of them needs may lack a value."""
        self.texts = tuple(one.text for one in settings)
        self.computation = computation
        self.units = units
        self.trees = tuple(
            (None if one.when is None else parse_condition(one.when), parse_condition(one.then))
            for one in settings
        )
        self.named = tuple(
            tuple(dict.fromkeys((*(() if when is None else when.names), *then.names)))
            for when, then in self.trees
        )
        self.base = tuple(frozenset(computation.base(names)) for names in self.named)
        wanted = {*seen, *(name for names in self.named for name in names)}
        needed = {one for name in wanted for one in (name, *computation.sources(name))}
        self.derived = tuple(
            step.settings.name
            for step in computation.steps
            if isinstance(step, DerivedStep) and step.settings.name in needed
        )
        self.columns = computation.base(
            (*(n for names in self.named for n in names), *self.derived)
        )

    def __bool__(self) -> bool:
        return bool(self.trees or self.derived)
