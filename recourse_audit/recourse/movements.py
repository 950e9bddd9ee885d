"""Where an attribute of one person can be moved to, at what cost, and what moves along with it.

A number moves by steps within its range, a category by the moves that its rule allows. A level
that its own rule allows may still be left out, because something that it implies would leave its
range or go against its own rule; those are counted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.recourse.attributes import (
    Attribute,
    Category,
    Population,
    Value,
    attribute_of,
    category_of,
    column_of,
    is_category,
    is_missing,
    population_of,
    rounded,
)
from recourse_audit.settings import AttributeRule

MOST_LEVELS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Where one attribute of one subject can be moved to.

    `steps` are signed; 0 for a category, whose levels have no order. Each row of `after` has the
    attribute's own value and the implied ones, in the user's units; `numbers` has the same values
    as the table would hold them, NaN for a category. `left_out` counts the levels that only an
    implied attribute forbids, by its name.
    """

    steps: Ints
    before: tuple[Value, ...]
    after: tuple[tuple[Value, ...], ...]
    numbers: Floats
    cost: Floats
    left_out: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Implied:
    """An attribute that moves along: a number `by` so much for each step, a category `to` a value.

    `allowed` are the values that a category may have before; None for any.
    """

    attribute: Attribute | Category
    by: float = 0.0
    to: str = ""
    allowed: frozenset[str] | None = None

    def after(self, before: Value, steps: float) -> Value:
        """The value after a signed number of steps."""
        if isinstance(self.attribute, Category):
            return self.to
        assert not isinstance(before, str)
        return rounded(before + steps * self.by)

    def holds(self, before: Value, after: Value) -> bool:
        """Whether the attribute's own range or rule allows what is implied."""
        if isinstance(self.attribute, Category):
            return before == after or self.allowed is None or before in self.allowed
        assert not isinstance(after, str)
        return self.attribute.holds(after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """A rule for an attribute; attributes of one `family` are never changed together."""

    rule: AttributeRule
    attribute: Attribute | Category
    implied: tuple[Implied, ...]
    family: int
    population: Population | None = None

    @property
    def moved(self) -> tuple[Attribute | Category, ...]:
        """The attribute itself, then those that move along with it."""
        return (self.attribute, *(one.attribute for one in self.implied))

    @property
    def step(self) -> float:
        """The step of a number."""
        assert self.rule.step is not None
        return self.rule.step

    def levels(self, graph: Graph, subject: int) -> Levels:
        """Every level that a person can reach: up, then down, nearest first; or by the rule."""
        before = tuple(one.of(graph, subject) for one in self.moved)
        kept: list[tuple[int, float, tuple[Value, ...]]] = []
        left_out: Counter[str] = Counter()
        for steps, own, cost in self._own_levels(before[0]):
            values = self.at(before, steps or 1, own)
            stopped = next(
                (
                    one.attribute.name
                    for one, old, new in zip(self.implied, before[1:], values[1:], strict=True)
                    if not one.holds(old, new)
                ),
                None,
            )
            if stopped is None:
                kept.append((steps, cost, values))
            else:
                left_out[stopped] += 1
        return self._levels(graph, subject, before, kept, left_out)

    def _levels(
        self,
        graph: Graph,
        subject: int,
        before: tuple[Value, ...],
        kept: Sequence[tuple[int, float, tuple[Value, ...]]],
        left_out: Counter[str],
    ) -> Levels:
        after = [values for _, _, values in kept]
        numbers = self.stored(after)
        real = np.array(
            [
                all(isinstance(value, str) or np.isfinite(number) for value, number in pairs)
                for pairs in (zip(*both, strict=True) for both in zip(after, numbers, strict=True))
            ],
            bool,
        )
        for place in np.flatnonzero(~real).tolist():
            own = numbers[place, 0]
            if isinstance(self.attribute, Category) or np.isfinite(own):
                broken = next(
                    one.name
                    for one, number in zip(self.moved[1:], numbers[place, 1:], strict=True)
                    if isinstance(one, Attribute) and not np.isfinite(number)
                )
                left_out[broken] += 1
        steps = np.array([step for step, _, _ in kept], np.int64)[real]
        numbers = numbers[real]
        cost = np.abs(steps) * self.rule.cost
        if isinstance(self.attribute, Category):
            cost = np.array([price for _, price, _ in kept], np.float64)[real]
        elif self.population is not None:
            start = float(column_of(graph, self.rule.name)[subject])
            cost = self.climbed(start, numbers[:, 0])
        return Levels(
            steps=steps,
            before=before,
            after=tuple(values for values, there in zip(after, real, strict=True) if there),
            numbers=numbers,
            cost=cost,
            left_out=left_out,
        )

    def missing(self, before: Sequence[Value]) -> str:
        """The first of the moved attributes that has no value; empty if all have one."""
        pairs = zip(self.moved, before, strict=True)
        return next((one.name for one, value in pairs if is_missing(value)), "")

    def stored(self, after: Sequence[tuple[Value, ...]]) -> Floats:
        """Values as the table would hold them; NaN for categories."""
        numbers = np.full((len(after), len(self.moved)), np.nan)
        for place, one in enumerate(self.moved):
            if isinstance(one, Attribute):
                numbers[:, place] = one.stored(float(values[place]) for values in after)
        return numbers

    def climbed(self, before: float, numbers: Floats) -> Floats:
        """What it costs to pass others, from one number of the table to some others."""
        assert self.population is not None
        there = self.population.percentiles(numbers)
        [here] = self.population.percentiles(np.array([before]))
        cost: Floats = np.abs(there - here) * self.rule.cost
        return cost

    def at(
        self, before: tuple[Value, ...], steps: float, own: Value | None = None
    ) -> tuple[Value, ...]:
        """The values after a signed number of steps: the attribute's own, then the implied ones."""
        if own is None:
            assert not isinstance(before[0], str)
            own = self._own(before[0], steps)
        others = (
            one.after(value, steps) for value, one in zip(before[1:], self.implied, strict=True)
        )
        return (own, *others)

    def targets(self, before: str) -> Iterator[tuple[str, float]]:
        """The categories that may be suggested to somebody who has this one, with their costs."""
        if self.rule.moves:
            for move in self.rule.moves:
                if move.before == before:
                    yield move.to, self.rule.cost if move.cost is None else move.cost
        else:
            yield from ((to, self.rule.cost) for to in self.rule.values if to != before)

    def steps_to(self, value: float, wanted: float) -> float:
        """How many signed steps lead from one value to another; may be a fraction."""
        sign = float(np.sign(wanted - value))
        if self.rule.integer and value != int(value) and sign:
            start = np.ceil(value) if sign > 0 else np.floor(value)
            return sign + (wanted - float(start)) / self.step
        return (wanted - value) / self.step

    def _own_levels(self, before: Value) -> Iterator[tuple[int, Value, float]]:
        """What the attribute's own rule allows: signed steps, the value, the cost of a move.

        A value that is missing is not changed: nobody knows from what.
        """
        if is_missing(before):
            return
        if isinstance(before, str):
            yield from ((0, to, cost) for to, cost in self.targets(before))
            return
        assert isinstance(self.attribute, Attribute)
        for sign in (1, -1):
            if self.rule.direction == ("down" if sign > 0 else "up"):
                continue
            for number in range(1, self._count(before, sign) + 1):
                value = self._own(before, sign * number)
                if self.attribute.holds(value):
                    yield sign * number, value, 0.0

    def _own(self, value: float, steps: float) -> float:
        """For whole numbers, the first step leads from a fraction to the next whole number."""
        if self.rule.integer and value != int(value) and steps:
            start = np.ceil(value) if steps > 0 else np.floor(value)
            return rounded(float(start) + (steps - np.sign(steps)) * self.step)
        return rounded(value + steps * self.step)

    def _count(self, value: float, sign: int) -> int:
        """How many steps lead to the end of the range, or just past it."""
        assert isinstance(self.attribute, Attribute)
        room = self.attribute.high - value if sign > 0 else value - self.attribute.low
        return max(0, int(min(room / self.step + 1e-6, MOST_LEVELS))) + (
            1 if self.rule.integer and room > 0 else 0
        )


def movements(
    graph: Graph, rules: Iterable[AttributeRule], labels: Mapping[str, Sequence[str]]
) -> tuple[Movement, ...]:
    """Prepare the rules for attributes; their names have been checked.

    `labels` are the known values of categories that have an encoding.
    """
    rules = tuple(rules)
    by_name = {rule.name: rule for rule in rules}
    families = _families(rules)
    found = []
    for place, rule in enumerate(rules):
        attribute = _moved(graph, rule.name, rule, labels)
        if isinstance(attribute, Attribute):
            _check_level_count(attribute, rule, place)
        found.append(
            Movement(
                rule=rule,
                attribute=attribute,
                implied=_implied(graph, rule, by_name, labels),
                family=families[rule.name],
                population=(
                    population_of(graph, rule.name) if rule.cost_in == "percentile" else None
                ),
            )
        )
    return tuple(found)


def _check_level_count(attribute: Attribute, rule: AttributeRule, place: int) -> None:
    step = rule.step or 1.0
    if (attribute.high - attribute.low) / step > MOST_LEVELS:
        raise SettingsError(
            f"recourse.attributes[{place}].step: {step:g} makes more than {MOST_LEVELS:,} levels "
            f"between {attribute.low:g} and {attribute.high:g}; set a larger step or a smaller "
            "range"
        )


def _moved(
    graph: Graph, name: str, rule: AttributeRule | None, labels: Mapping[str, Sequence[str]]
) -> Attribute | Category:
    if is_category(graph, name):
        return category_of(graph, name, labels.get(name))
    return attribute_of(graph, name, rule)


def _implied(
    graph: Graph,
    rule: AttributeRule,
    rules: Mapping[str, AttributeRule],
    labels: Mapping[str, Sequence[str]],
) -> tuple[Implied, ...]:
    found = []
    for one in rule.implies:
        own = rules.get(one.name)
        attribute = _moved(graph, one.name, own, labels)
        allowed = None
        if own is not None and own.moves:
            allowed = frozenset(move.before for move in own.moves if move.to == one.to)
        found.append(
            Implied(attribute=attribute, by=one.by or 0.0, to=one.to or "", allowed=allowed)
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
