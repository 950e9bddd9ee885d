"""Attributes in the user's units: what a person has, and where a rule lets them move it.

The graph holds the numbers that the model takes. A user's value is such a number scaled, shifted
and transformed back. Steps, ranges and costs are about the user's value; the model gets the number
that the table would hold for it. A category is text, and the same on both sides.

A number moves by steps within its range, a category by the moves that its rule allows. A level
that its own rule allows may still be left out, because something that it implies would leave its
range or go against its own rule; those are counted.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import SettingsError
from recourse_audit.graph.columns import Column, as_strings, check_known
from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.records.recourse import Forbidden, forbid
from recourse_audit.settings import AttributeRule, Settings
from recourse_audit.settings.section import near_matches

DIGITS = 12
MOST_LEVELS = 10_000
# How far two numbers of a column may be apart and still be the same value, by its precision.
SAME = {"float16": 1e-3, "float32": 1e-6}
# From a user's value to the table's, and back.
TRANSFORMS = {
    "linear": (np.positive, np.positive),
    "log": (np.log, np.exp),
    "log1p": (np.log1p, np.expm1),
}
# The directions in which a number may move.
SIGNS = {"up": (1,), "down": (-1,), "any": (1, -1)}

Value = float | str
Labels = Mapping[str, Sequence[str]]


def round_value(value: float) -> float:
    """Round to twelve significant digits, so that 0.1 + 0.2 is 0.3; no negative zero."""
    return float(f"{value:.{DIGITS}g}") + 0.0


def column_of(graph: Graph, name: str) -> NDArray[np.generic]:
    """Every node's value of a column: a category or a derived number, a feature, an attribute."""
    if name in graph.more:
        return graph.more[name]
    if name in graph.feature_names:
        return np.asarray(graph.features[:, graph.feature_names.index(name)])
    return graph.attributes[name]


def population_column(graph: Graph, name: str) -> NDArray[np.generic]:
    """The values of a column for the nodes that have it: people, or those of another kind."""
    return column_of(graph, name)[graph.rows_of_column(name)]


def columns_of(graph: Graph, names: Sequence[str], nodes: Ints) -> dict[str, Column]:
    """Some columns of some nodes, numbers as float64."""
    columns = {name: column_of(graph, name)[nodes] for name in names}
    return {
        name: values.astype(np.float64) if values.dtype.kind in "biuf" else values
        for name, values in columns.items()
    }


def column_from(values: Sequence[Value]) -> Column:
    """Values as an array of numbers or of text."""
    if values and isinstance(values[0], str):
        return as_strings(np.array(values, object))
    return np.array(values, np.float64)


def is_category(graph: Graph, name: str) -> bool:
    """Whether a column holds text."""
    return column_of(graph, name).dtype.kind not in "biuf"


def is_missing(value: Value) -> bool:
    """Whether there is no value: an empty cell of a column that a pipeline takes."""
    return not value.strip() if isinstance(value, str) else not math.isfinite(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """What features depend on, in the user's units: a number with a range, or a category.

    `column` is its place among the features, or -1. A category has the `labels` that the data or
    the settings know; a number has none.
    """

    name: str
    labels: tuple[str, ...] | None = None
    column: int = -1
    unit: str = ""
    scale: float = 1.0
    shift: float = 0.0
    transform: str = "linear"
    low: float = -math.inf
    high: float = math.inf

    @property
    def is_number(self) -> bool:
        return self.labels is None

    def of(self, graph: Graph, subject: int) -> Value:
        value = column_of(graph, self.name)[subject]
        return self.user_value(value) if self.is_number else str(value)

    def user_value(self, number: float | np.generic) -> float:
        """The user's value for a number in the table, without digits that a float32 lacks."""
        value = float(str(number)) * self.scale + self.shift
        with np.errstate(over="ignore"):
            return round_value(float(TRANSFORMS[self.transform][1](value)))

    def user_values(self, numbers: NDArray[np.generic]) -> Floats:
        """The same for many numbers, as exact as the table's; NaN where there is none."""
        with np.errstate(over="ignore"):
            values = TRANSFORMS[self.transform][1](numbers.astype(float) * self.scale + self.shift)
        return np.asarray(np.where(np.isfinite(values), values, np.nan))

    def table_numbers(self, values: Iterable[Value]) -> Floats:
        """The numbers in the table for some of the user's values; NaN where there is none."""
        user = np.array([*values], np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray((TRANSFORMS[self.transform][0](user) - self.shift) / self.scale)

    def observed_range(self, graph: Graph) -> tuple[float, float]:
        numbers = population_column(graph, self.name)
        known = numbers[np.isfinite(numbers)]  # preprocessing may take a column with empty cells
        if not len(known):
            raise SettingsError(
                f"recourse.attributes: nobody has a value of {self.name!r}; leave it out, or fill "
                "it in"
            )
        low, high = sorted(self.user_value(end) for end in (known.min(), known.max()))
        return low, high

    def holds(self, value: Value) -> bool:
        """Whether a user's value lies in the range, and the table can hold a number for it."""
        assert not isinstance(value, str)
        if not self.low <= value <= self.high:
            return False
        if self.transform == "linear":  # the common case, without an array for one number
            return math.isfinite((value - self.shift) / self.scale)
        return bool(np.isfinite(self.table_numbers([value])[0]))


def read_attribute(
    graph: Graph, name: str, rule: AttributeRule | None, labels: Iterable[str] | None = None
) -> Attribute:
    """A column in its rule's units; bounds and labels that are left open are the graph's."""
    if is_category(graph, name):
        known = np.unique(population_column(graph, name)).tolist() if labels is None else labels
        return Attribute(name=name, labels=tuple(map(str, known)))
    rule = rule or AttributeRule(name=name, step=1)
    units = Attribute(
        name=name,
        column=graph.feature_names.index(name) if name in graph.feature_names else -1,
        unit=rule.unit,
        scale=rule.scale,
        shift=rule.shift,
        transform=rule.transform,
    )
    low, high = units.observed_range(graph)
    return replace(
        units,
        low=low if rule.min is None else rule.min,
        high=high if rule.max is None else rule.max,
    )


def check_references(settings: Settings, graph: Graph, columns: Sequence[str]) -> None:
    """Refuse a reference of `reasons` that is no value of these columns, and units of others."""
    given = settings.reasons.reference
    rules = {rule.name: rule for rule in settings.recourse.attributes}
    for name in settings.graph.units:
        check_known("graph.units", name, columns)
    for name, value in given.items() if isinstance(given, dict) else ():
        key = f"reasons.reference.{name}"
        check_known(key, name, columns)
        known = read_attribute(graph, name, rules.get(name))
        if known.labels is not None:
            if value not in known.labels:
                raise SettingsError(
                    f"{key}: nobody has {value!r} there; {near_matches(str(value), known.labels)}"
                )
            continue
        low, high = known.observed_range(graph)
        if isinstance(value, str) or not low <= value <= high:
            raise SettingsError(
                f"{key}: must be a number from {low:g} to {high:g}, as people have there (got "
                f"{value!r})"
            )


def check_comparators(settings: Settings, graph: Graph) -> None:
    """Refuse columns of `comparators` that people are not compared by, and their calipers."""
    decision, protected = settings.decision, settings.groups.attributes
    apart = {*protected, decision.outcome, decision.recorded}
    allowed = [name for name in graph.column_names if name not in apart]
    for name, rule in settings.comparators.columns.items():
        key = f"comparators.columns.{name}"
        if name in apart:
            what = "a protected attribute" if name in protected else "what was or should be decided"
            raise SettingsError(
                f"{key}: is {what}, and nobody is compared by it; {near_matches(name, allowed)}"
            )
        check_known(key, name, allowed)
        is_text = is_category(graph, name)
        if is_text and (rule.caliper or rule.direction):
            raise SettingsError(
                f"{key}: holds text, which has neither direction nor caliper; write {{}}, which "
                "says that values must be equal"
            )
        if not is_text and not rule.caliper:
            raise SettingsError(
                f"{key}.caliper: must be more than 0, because {name!r} holds numbers; give the "
                "largest difference at which two people are alike, in your units"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Everybody's values of a number, sorted, to say how many percent lie below a value."""

    numbers: Floats
    same: float

    @classmethod
    def of(cls, column: Column) -> "Population":
        numbers = column.astype(np.float64)
        known = np.sort(numbers[np.isfinite(numbers)])
        return cls(numbers=known, same=SAME.get(column.dtype.name, 1e-9))

    def percentiles(self, numbers: Floats) -> Floats:
        """Percent below numbers of the table, and half of those equal: two binary searches."""
        apart = self.same * np.maximum(np.abs(numbers), 1e-300)
        below = np.searchsorted(self.numbers, numbers - apart, side="left")
        up_to = np.searchsorted(self.numbers, numbers + apart, side="right")
        return np.asarray((below + up_to) * (50.0 / len(self.numbers)))


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

    attribute: Attribute
    by: float = 0.0
    to: str = ""
    allowed: frozenset[str] | None = None

    def reason_against(self, before: Value, after: Value) -> Forbidden | None:
        """Why the attribute's own range or rule does not allow what is implied; None if it does."""
        own = self.attribute
        if own.is_number and not own.holds(after):
            return forbid(
                "implied_range", attribute=own.name, value=after, low=own.low, high=own.high
            )
        if own.is_number or before == after or self.allowed is None or before in self.allowed:
            return None
        return forbid("implied_move", attribute=own.name, before=before, after=after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """A rule for an attribute; attributes of one `family` are never changed together."""

    rule: AttributeRule
    attribute: Attribute
    implied: tuple[Implied, ...] = ()
    family: int = -1
    population: Population | None = None

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attribute itself, then those that move along with it."""
        return (self.attribute, *(implied.attribute for implied in self.implied))

    @property
    def step(self) -> float:
        assert self.rule.step is not None
        return self.rule.step

    def values_of(self, graph: Graph, subject: int) -> tuple[Value, ...]:
        return tuple(attribute.of(graph, subject) for attribute in self.attributes)

    def levels(self, graph: Graph, subject: int) -> Levels:
        """Every level that a person can reach: up, then down, nearest first; or by the rule."""
        before = self.values_of(graph, subject)
        kept: list[tuple[int, float, tuple[Value, ...]]] = []
        left_out: Counter[str] = Counter()
        for count, own, price in self.own_levels(before[0]):
            after = self.at(before, count or 1, own)
            reason = self.reason_against_implied(before, after)
            if reason is None:
                kept.append((count, price, after))
            else:
                left_out[str(reason.details["attribute"])] += 1
        every = [after for _, _, after in kept]
        numbers = self.table_numbers(every)
        steps = np.array([count for count, _, _ in kept], np.int64)
        cost: Floats = np.array([price for _, price, _ in kept], np.float64)
        if self.attribute.is_number:
            cost = self.cost(graph, subject, steps, numbers[:, 0])
        return Levels(
            steps=steps,
            before=before,
            after=tuple(every),
            numbers=numbers,
            cost=cost,
            left_out=left_out,
        )

    def own_levels(self, before: Value) -> Iterator[tuple[int, Value, float]]:
        """What the rule allows: signed steps, value, cost; nothing from a missing value."""
        if is_missing(before):
            return
        if isinstance(before, str):
            yield from ((0, to, cost) for to, cost in self.targets(before))
            return
        for sign in SIGNS[self.rule.direction]:
            start, first = self._start(before, sign)
            for number in range(1, self._count(before, sign) + 1):
                value = round_value(start + (sign * number - first) * self.step)
                if self.attribute.holds(value):
                    yield sign * number, value, 0.0

    def reason_against(self, before: Value, after: Value) -> Forbidden:
        """Why a value is none of the levels that the attribute's own rule allows."""
        rule = self.rule
        if isinstance(after, str) or isinstance(before, str):
            return forbid("no_move", before=before) if rule.moves else forbid("not_a_value")
        if rule.direction == ("down" if after > before else "up"):
            return forbid(
                "wrong_direction", attribute=rule.name, direction=rule.direction, before=before
            )
        if not self.attribute.holds(after):
            return forbid("out_of_range", low=self.attribute.low, high=self.attribute.high)
        return forbid("not_a_step", step=self.step, before=before)

    def reason_against_implied(
        self, before: Sequence[Value], after: Sequence[Value]
    ) -> Forbidden | None:
        """Why the first implied attribute does not allow a level; None if all of them do."""
        for implied, old, new in zip(self.implied, before[1:], after[1:], strict=True):
            reason = implied.reason_against(old, new)
            if reason is not None:
                return reason
        return None

    def table_numbers(self, after: Sequence[tuple[Value, ...]]) -> Floats:
        """Values as the table would hold them; NaN for categories."""
        numbers = np.full((len(after), len(self.attributes)), np.nan)
        for place, attribute in enumerate(self.attributes):
            if attribute.is_number:
                numbers[:, place] = attribute.table_numbers(values[place] for values in after)
        return numbers

    def cost(self, graph: Graph, subject: int, steps: Ints, numbers: Floats) -> Floats:
        """What it costs to move a number by some steps, to these numbers of the table."""
        far = np.abs(steps.astype(np.float64))
        if self.population is not None:
            start = np.array([float(column_of(graph, self.rule.name)[subject])])
            there, here = map(self.population.percentiles, (numbers, start))
            far = np.abs(there - here)
        return np.asarray(far * self.rule.cost)

    def at(self, before: tuple[Value, ...], steps: float, own: Value) -> tuple[Value, ...]:
        """The attribute's own value after some signed steps, then the implied ones."""
        more = (
            implied.to if isinstance(old, str) else round_value(old + steps * implied.by)
            for old, implied in zip(before[1:], self.implied, strict=True)
        )
        return own, *more

    def targets(self, before: str) -> Iterator[tuple[str, float]]:
        """The categories that may be suggested to somebody who has this one, with their costs."""
        if not self.rule.moves:
            yield from ((to, self.rule.cost) for to in self.rule.values if to != before)
        for move in self.rule.moves:
            if move.before == before:
                yield move.to, self.rule.cost if move.cost is None else move.cost

    def steps_to(self, value: float, wanted: float) -> float:
        """How many signed steps lead from one value to another; may be a fraction."""
        sign = float(np.sign(wanted - value))
        start, first = self._start(value, sign)
        return first + (wanted - start) / self.step

    def _start(self, value: float, sign: float) -> tuple[float, float]:
        """Where whole steps are counted from, and how many steps lead there.

        For whole numbers, the first step leads from a fraction to the next whole number.
        """
        if self.rule.integer and value != int(value) and sign:
            return float(np.ceil(value) if sign > 0 else np.floor(value)), float(np.sign(sign))
        return value, 0.0

    def _count(self, value: float, sign: int) -> int:
        """How many steps lead to the end of the range, or just past it."""
        room = self.attribute.high - value if sign > 0 else value - self.attribute.low
        steps = max(0, int(min(room / self.step + 1e-6, MOST_LEVELS)))
        return steps + (1 if self.rule.integer and room > 0 else 0)


def movements_of(
    graph: Graph, rules: Sequence[AttributeRule], labels: Labels
) -> tuple[Movement, ...]:
    """Prepare rules that have been checked; `labels` are the known values of encoded categories."""
    by_name, families = {rule.name: rule for rule in rules}, _families(rules)

    def prepare(name: str) -> Attribute:
        return read_attribute(graph, name, by_name.get(name), labels.get(name))

    movements = []
    for place, rule in enumerate(rules):
        attribute, step = prepare(rule.name), rule.step or 1.0
        if attribute.is_number and (attribute.high - attribute.low) / step > MOST_LEVELS:
            raise SettingsError(
                f"recourse.attributes[{place}].step: {step:g} makes more than {MOST_LEVELS:,} "
                f"levels between {attribute.low:g} and {attribute.high:g}; set a larger step or a "
                "smaller range"
            )
        implied = []
        for implication in rule.implies:
            own = by_name.get(implication.name)
            moves = () if own is None else own.moves
            starts = frozenset(move.before for move in moves if move.to == implication.to)
            implied.append(
                Implied(
                    attribute=prepare(implication.name),
                    by=implication.by or 0.0,
                    to=implication.to or "",
                    allowed=starts if moves else None,
                )
            )
        population = None
        if rule.cost_in == "percentile":
            population = Population.of(population_column(graph, rule.name))
        movements.append(
            Movement(
                rule=rule,
                attribute=attribute,
                implied=tuple(implied),
                family=families[rule.name],
                population=population,
            )
        )
    return tuple(movements)


def _families(rules: Sequence[AttributeRule]) -> dict[str, int]:
    """Number the sets of attributes that are linked because one implies another."""
    family: dict[str, int] = {}
    for number, rule in enumerate(rules):
        names = (rule.name, *(implied.name for implied in rule.implies))
        linked = {family[name] for name in names if name in family}
        family |= dict.fromkeys(names, number)
        family |= {name: number for name, old in family.items() if old in linked}
    return family
