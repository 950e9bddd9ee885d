"""Attributes in the user's units: what a number or a category of a person is, and its range.

The graph holds the numbers that the model takes. A user's value is such a number scaled, shifted
and transformed back. Steps, ranges and costs are about the user's value; the model gets the number
that the table would hold for it. A category is text, and the same on both sides.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import Floats, Graph
from recourse_audit.settings import AttributeRule

DIGITS = 12
# How far two numbers of a column may be apart and still be the same value, by its precision.
SAME = {"float16": 1e-3, "float32": 1e-6}

Value = float | str


def rounded(value: float) -> float:
    """Round to twelve significant digits, so that 0.1 + 0.2 is 0.3; no negative zero."""
    return float(f"{value:.{DIGITS}g}") + 0.0


def column_of(graph: Graph, name: str) -> NDArray[np.generic]:
    """Everybody's values of a column: a category or a derived number, a feature, an attribute."""
    if name in graph.more:
        return graph.more[name]
    if name in graph.feature_names:
        values: NDArray[np.generic] = graph.features[:, graph.feature_names.index(name)]
        return values
    return graph.attributes[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A number that features depend on, in the user's units, and the range of its values.

    `column` is its place among the features, if it is one.
    """

    name: str
    column: int
    unit: str
    scale: float
    shift: float
    transform: str
    low: float
    high: float

    def of(self, graph: Graph, subject: int) -> float:
        """A person's value."""
        return self.shown(column_of(graph, self.name)[subject])

    def shown(self, number: float | np.generic) -> float:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A category that features depend on, and the values that the data or the settings know."""

    name: str
    labels: tuple[str, ...]
    unit: str = ""

    def of(self, graph: Graph, subject: int) -> str:
        """A person's value."""
        return str(column_of(graph, self.name)[subject])


def is_category(graph: Graph, name: str) -> bool:
    """Whether a column holds text."""
    return column_of(graph, name).dtype.kind not in "biuf"


def category_of(graph: Graph, name: str, labels: Iterable[str] | None) -> Category:
    """A category with its known values: those of its encoding, or else those in the graph."""
    if labels is None:
        labels = np.unique(column_of(graph, name)).tolist()
    return Category(name=name, labels=tuple(map(str, labels)))


def attribute_of(graph: Graph, name: str, rule: AttributeRule | None) -> Attribute:
    """Take units and bounds from the rule, and bounds that it leaves open from the graph."""
    scale, shift, transform, unit = (
        (1.0, 0.0, "linear", "")
        if rule is None
        else (rule.scale, rule.shift, rule.transform, rule.unit)
    )
    numbers = column_of(graph, name)
    known = numbers[np.isfinite(numbers)]  # preprocessing may take a column with empty cells
    if not len(known):
        raise SettingsError(
            f"recourse.attributes: nobody has a value of {name!r}; leave it out, or fill it in"
        )
    ends = sorted(_shown(scale, shift, transform, end) for end in (known.min(), known.max()))
    low = ends[0] if rule is None or rule.min is None else rule.min
    high = ends[1] if rule is None or rule.max is None else rule.max
    return Attribute(
        name=name,
        column=graph.feature_names.index(name) if name in graph.feature_names else -1,
        unit=unit,
        scale=scale,
        shift=shift,
        transform=transform,
        low=low,
        high=high,
    )


def _shown(scale: float, shift: float, transform: str, number: float | np.generic) -> float:
    value = float(str(number)) * scale + shift
    with np.errstate(over="ignore"):
        if transform == "log":
            value = float(np.exp(value))
        elif transform == "log1p":
            value = float(np.expm1(value))
    return rounded(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Everybody's values of a number, sorted, to say how many percent lie below a value."""

    numbers: Floats
    same: float

    def percentiles(self, numbers: Floats) -> Floats:
        """For numbers as the table holds them: percent below, and half of those with an equal one.

        Notes
        -----
        Two binary searches per number, in a column that was sorted once.
        """
        apart = self.same * np.maximum(np.abs(numbers), 1e-300)
        below = np.searchsorted(self.numbers, numbers - apart, side="left")
        up_to = np.searchsorted(self.numbers, numbers + apart, side="right")
        share: Floats = (below + up_to) * (50.0 / len(self.numbers))
        return share


def population_of(graph: Graph, name: str) -> Population:
    """The population of one column of the graph: everybody who has a value."""
    column = column_of(graph, name)
    same = SAME.get(column.dtype.name, 1e-9)
    numbers = column.astype(np.float64)
    return Population(numbers=np.sort(numbers[np.isfinite(numbers)]), same=same)


def is_missing(value: Value) -> bool:
    """Whether there is no value: an empty cell of a column that a pipeline takes."""
    return not value.strip() if isinstance(value, str) else not np.isfinite(value)
