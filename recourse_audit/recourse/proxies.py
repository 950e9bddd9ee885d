"""Columns that say the same as a protected attribute, by their names or by their values.

Nobody may be advised to change a protected attribute, nor a column that encodes it: the same column
under another spelling (`Gender`), a part of its one-hot code (`gender_f`, or `woman`, which is 1
where the gender is "f"), its bins (`age` beside `age_band`), or its values renamed.

By name, a column is taken for a protected one if its words are the same, or if the words of one
begin with those of the other. By values, it is taken for one if, for everybody whose values are
known,

- the protected value determines it, or it has few values and determines the protected value;
- or either of the two divides the order of the other into intervals.

A column of chance values may fit such a pattern in a small table, and an id fits it always. So a
pattern counts only if values dealt at random would fit it with a probability below `CHANCE`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import lgamma, log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.columns import to_strings
from recourse_audit.graph.graph import Graph, Ints
from recourse_audit.records.texts import same_name, split_words_of, words_of
from recourse_audit.recourse.attributes import population_column

FEW = 20
CHANCE = 0.01
# Rows that do not fit, as a share of those that would not fit if all had the commonest value.
SLIPS = 0.01

Relation = Literal["is the same column", "is named like", "is determined by", "determines", "bins"]
SAME: Relation = "is the same column"
SAYS: dict[Relation, str] = {
    "is the same column": "is the protected attribute {} under another spelling",
    "is named like": "is named like the protected attribute {}, and may be a part of it",
    "is determined by": "has the same value wherever the protected attribute {} is the same",
    "determines": "gives away the protected attribute {}: equal values, equal groups",
    "bins": "follows the protected attribute {}: one divides the other into intervals",
}


class ProxySearch:
    """Looks for features that encode one of some protected attributes of a graph."""

    def __init__(self, graph: Graph, protected: Sequence[str]) -> None:
        self._graph = graph
        self._protected = protected
        self._values = cache(lambda name: values_of(population_column(graph, name)))

    def of(self, feature: str) -> tuple[Relation, str] | None:
        """How a feature encodes a protected attribute, and which; O(N log N) for N nodes each."""
        for name in self._protected:
            relation = relation_by_name(feature, name)
            if relation is None and name in self._graph.column_names:
                relation = relation_between(self._values(feature), self._values(name))
            if relation is not None:
                return relation, name
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """A column as numbers from 0 in the order of its values, -1 where the value is not known.

    `ordered` if that order means anything: that of numbers does, that of texts does not.
    """

    codes: Ints
    ordered: bool


def values_of(column: NDArray[np.generic]) -> Values:
    """Read a column of numbers or texts; blank texts and NaN are not known."""
    ordered = column.dtype.kind in "biuf"
    distinct, codes = np.unique(
        column if ordered else to_strings(column.tolist()), return_inverse=True
    )
    blank = [not str(value).strip() or str(value) == "nan" for value in distinct.tolist()]
    codes = np.where(np.array(blank, bool)[codes], -1, codes)
    return Values(codes=codes.astype(np.int64), ordered=ordered)


def relation_by_name(feature: str, protected: str) -> Relation | None:
    """What the names alone say about a feature and a protected attribute."""
    if same_name(feature, protected):
        return "is the same column"
    for read in (words_of, split_words_of):
        words, other = read(feature), read(protected)
        shorter = min(len(words), len(other))
        if shorter and words[:shorter] == other[:shorter]:
            return "is named like"
    return None


def relation_between(feature: Values, protected: Values) -> Relation | None:
    """What the values say about a feature and a protected attribute."""
    known = (feature.codes >= 0) & (protected.codes >= 0)
    codes = np.unique(feature.codes[known], return_inverse=True)[1]
    other = np.unique(protected.codes[known], return_inverse=True)[1]
    if not len(codes) or codes.max() == 0 or other.max() == 0:
        return None
    if _determines(other, codes):
        return "is determined by"
    if codes.max() < FEW and _determines(codes, other):
        return "determines"
    both = feature.ordered and protected.ordered
    if (feature.ordered and _divides(other, codes, ordered=both)) or (
        protected.ordered and _divides(codes, other, ordered=both)
    ):
        return "bins"
    return None


def _determines(cause: Ints, effect: Ints) -> bool:
    """Whether equal values of one column go with equal values of another, and not by chance."""
    causes, effects = int(cause.max()) + 1, int(effect.max()) + 1
    pairs, sizes = np.unique(cause * effects + effect, return_counts=True)
    commonest = np.zeros(causes, np.int64)
    np.maximum.at(commonest, pairs // effects, sizes)
    slips = len(effect) - int(commonest.sum())
    if slips > SLIPS * (len(effect) - int(np.bincount(effect).max())):
        return False
    # In how many ways the values of one could be mapped to those of the other.
    ways = lgamma(causes + 1) if causes == effects else causes * log(effects)
    return ways - _log_arrangements(effect) < log(CHANCE)


def _divides(groups: Ints, order: Ints, *, ordered: bool) -> bool:
    """Whether groups are intervals of an order, in their own if `ordered`, and not by chance."""
    count = int(groups.max()) + 1
    low, high = np.full(count, len(order)), np.zeros(count, np.int64)
    np.minimum.at(low, groups, order)
    np.maximum.at(high, groups, order)
    by_start = np.argsort(low)
    if (high[by_start][:-1] >= low[by_start][1:]).any():
        return False
    if ordered and len(np.unique(np.sign(np.diff(by_start)))) > 1:
        return False
    ways = log(2) if ordered else lgamma(count + 1)
    return ways - _log_arrangements(groups) < log(CHANCE)


def _log_arrangements(values: Ints) -> float:
    """The logarithm of the number of different orders in which values could stand."""
    counts = np.bincount(values)
    return lgamma(len(values) + 1) - sum(lgamma(count + 1) for count in counts.tolist())
