"""Attributes in the user's units: where a value can be moved to, and what moves along with it.

The graph holds the numbers that the model takes. A user's value is such a number scaled, shifted
and transformed back. Steps, ranges and costs are about the user's value; the model gets the number
that the table would hold for it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.settings import AttributeRule

MOST_LEVELS = 10_000
DIGITS = 12


def rounded(value: float) -> float:
    """Round to twelve significant digits, so that 0.1 + 0.2 is 0.3; no negative zero."""
    return float(f"{value:.{DIGITS}g}") + 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A feature of the model in the user's units, and the range of its values."""

    name: str
    column: int
    unit: str
    scale: float
    shift: float
    transform: str
    low: float
    high: float

    def shown(self, number: float | np.floating) -> float:
        """The user's value for a number in the table, without digits that a float32 lacks."""
        return _shown(self.scale, self.shift, self.transform, number)

    def stored(self, values: Iterable[float]) -> Floats:
        """The numbers in the table for some of the user's values; NaN where there is none."""
        user = np.array([*values], np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.transform == "log":
                user = np.log(user)
            elif self.transform == "log1p":
                user = np.log1p(user)
        stored: Floats = (user - self.shift) / self.scale
        return stored

    def holds(self, value: float) -> bool:
        """Whether a user's value lies in the range."""
        return self.low <= value <= self.high


def attribute_of(graph: Graph, name: str, rule: AttributeRule | None) -> Attribute:
    """Take units and bounds from the rule, and bounds that it leaves open from the graph."""
    column = graph.feature_names.index(name)
    scale, shift, transform, unit = (
        (1.0, 0.0, "linear", "")
        if rule is None
        else (rule.scale, rule.shift, rule.transform, rule.unit)
    )
    numbers = graph.features[:, column]
    ends = sorted(_shown(scale, shift, transform, end) for end in (numbers.min(), numbers.max()))
    low = ends[0] if rule is None or rule.min is None else rule.min
    high = ends[1] if rule is None or rule.max is None else rule.max
    return Attribute(
        name=name,
        column=column,
        unit=unit,
        scale=scale,
        shift=shift,
        transform=transform,
        low=low,
        high=high,
    )


def _shown(scale: float, shift: float, transform: str, number: float | np.floating) -> float:
    value = float(str(number)) * scale + shift
    with np.errstate(over="ignore"):
        if transform == "log":
            value = float(np.exp(value))
        elif transform == "log1p":
            value = float(np.expm1(value))
    return rounded(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Where one attribute of one subject can be moved to.

    `steps` are signed. Each row of `after` has the attribute's own value and the implied ones, in
    the user's units; `numbers` has the same values as the table would hold them.
    """

    steps: Ints
    before: tuple[float, ...]
    after: Floats
    numbers: Floats

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """A rule for an attribute; attributes of one `family` are never changed together."""

    rule: AttributeRule
    attribute: Attribute
    implied: tuple[tuple[Attribute, float], ...]
    family: int

    @property
    def moved(self) -> tuple[Attribute, ...]:
        """The attribute itself, then those that move along with it."""
        return (self.attribute, *(other for other, _ in self.implied))

    def levels(self, features: Floats) -> Levels:
        """Every level that a person with these features can reach: up, then down, nearest first."""
        before = tuple(one.shown(features[one.column]) for one in self.moved)
        steps, after = [], []
        for sign in (1, -1):
            if self.rule.direction == ("down" if sign > 0 else "up"):
                continue
            for number in range(1, self._count(before[0], sign) + 1):
                values = self.at(before, sign * number)
                if all(one.holds(value) for one, value in zip(self.moved, values, strict=True)):
                    steps.append(sign * number)
                    after.append(values)
        table = np.array(after, np.float64).reshape(-1, len(before))
        numbers = np.stack(
            [one.stored(table[:, place]) for place, one in enumerate(self.moved)], axis=1
        )
        real = np.isfinite(numbers).all(axis=1)
        return Levels(
            steps=np.array(steps, np.int64)[real],
            before=before,
            after=table[real],
            numbers=numbers[real],
        )

    def at(self, before: tuple[float, ...], steps: float) -> tuple[float, ...]:
        """The values after a signed number of steps: the attribute's own, then the implied ones."""
        others = (
            rounded(value + steps * by)
            for value, (_, by) in zip(before[1:], self.implied, strict=True)
        )
        return (self._own(before[0], steps), *others)

    def _own(self, value: float, steps: float) -> float:
        """For whole numbers, the first step leads from a fraction to the next whole number."""
        if self.rule.integer and value != int(value) and steps:
            start = np.ceil(value) if steps > 0 else np.floor(value)
            return rounded(float(start) + (steps - np.sign(steps)) * self.rule.step)
        return rounded(value + steps * self.rule.step)

    def steps_to(self, value: float, wanted: float) -> float:
        """How many signed steps lead from one value to another; may be a fraction."""
        sign = float(np.sign(wanted - value))
        if self.rule.integer and value != int(value) and sign:
            start = np.ceil(value) if sign > 0 else np.floor(value)
            return sign + (wanted - float(start)) / self.rule.step
        return (wanted - value) / self.rule.step

    def _count(self, value: float, sign: int) -> int:
        """How many steps lead to the end of the range, or just past it."""
        room = self.attribute.high - value if sign > 0 else value - self.attribute.low
        return max(0, int(min(room / self.rule.step + 1e-6, MOST_LEVELS))) + (
            1 if self.rule.integer and room > 0 else 0
        )


def movements(graph: Graph, rules: Iterable[AttributeRule]) -> tuple[Movement, ...]:
    """Prepare the rules for attributes; their names have been checked."""
    rules = tuple(rules)
    by_name = {rule.name: rule for rule in rules}
    families = _families(rules)
    found = []
    for place, rule in enumerate(rules):
        attribute = attribute_of(graph, rule.name, rule)
        levels = (attribute.high - attribute.low) / rule.step
        if levels > MOST_LEVELS:
            raise SettingsError(
                f"recourse.attributes[{place}].step: {rule.step:g} makes more than "
                f"{MOST_LEVELS:,} levels between {attribute.low:g} and {attribute.high:g}; set a "
                "larger step or a smaller range"
            )
        implied = tuple(
            (attribute_of(graph, one.name, by_name.get(one.name)), one.by) for one in rule.implies
        )
        found.append(
            Movement(rule=rule, attribute=attribute, implied=implied, family=families[rule.name])
        )
    return tuple(found)


def _families(rules: tuple[AttributeRule, ...]) -> dict[str, int]:
    """Number the sets of attributes that are linked because one implies another."""
    family: dict[str, int] = {}
    for number, rule in enumerate(rules):
        linked = {family[name] for name in _names(rule) if name in family}
        family |= dict.fromkeys(_names(rule), number)
        family |= {name: number for name, old in family.items() if old in linked}
    return family


def _names(rule: AttributeRule) -> tuple[str, ...]:
    return (rule.name, *(implied.name for implied in rule.implies))
