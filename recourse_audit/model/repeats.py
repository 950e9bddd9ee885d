"""A share of queries is asked a second time, and the two answers are compared bit by bit.

The probe for determinism asks about a few small graphs, so it cannot see a model that now and then
answers differently. This looks at the queries on which an audit's own figures rest: the one about
the whole graph, always, or a share of those about blocks of a graph that is too large for one; and
a share of those made for one subject (options, robustness, side
effects, effects of confounders). Queries that several subjects share, those of the search, belong
to nobody's report and are not repeated.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import numpy as np

from recourse_audit.graph.arrays import Floats
from recourse_audit.model.output import as_answers
from recourse_audit.records.model import Repeats
from recourse_audit.settings import OutputKind

SALT = 47
DIGITS = 6


def _never() -> bool:
    return False


class Repeater:
    """Draws the queries that are asked twice, and counts the answers that differ.

    The draw depends on the seed, the subject, and how many queries were made for that subject
    before: never on who else is audited, or by how many workers.
    """

    def __init__(self, share: float = 0.0, seed: int = 0) -> None:
        self._share = share
        self._seed = seed
        # Whether the query that was just answered is to be asked again.
        self.wants: Callable[[], bool] = _never
        self._calls = self._differed = 0
        self._largest = 0.0

    @property
    def asks_twice(self) -> bool:
        """Whether anything is repeated at all."""
        return self._share > 0

    @contextmanager
    def working_on(self, subject: int) -> Generator[None, None, None]:
        """Queries made within are for this subject; a share of them is repeated."""
        draw = np.random.default_rng((SALT, self._seed, subject)) if self._share else None
        yield from self._repeating(lambda: draw is not None and draw.random() < self._share)

    @contextmanager
    def always(self) -> Generator[None, None, None]:
        """Every query made within is repeated."""
        yield from self._repeating(lambda: self.asks_twice)

    @contextmanager
    def now_and_then(self) -> Generator[None, None, None]:
        """Of queries that would all be repeated, only a share is: the first, and those drawn."""
        everything = self.wants
        draw = np.random.default_rng((SALT, self._seed))
        first = self._calls
        self.wants = lambda: everything() and (self._calls == first or draw.random() < self._share)
        try:
            yield
        finally:
            self.wants = everything

    def _repeating(self, wants: Callable[[], bool]) -> Generator[None, None, None]:
        self._calls = self._differed = 0
        self._largest = 0.0
        self.wants = wants
        try:
            yield
        finally:
            self.wants = _never

    @property
    def found(self) -> Repeats:
        """What has been found for the last subject."""
        return Repeats(calls=self._calls, differed=self._differed, largest=self._largest)

    def compare(self, first: Floats, second: Floats, kind: OutputKind) -> None:
        """Count the two answers to one query, and how far apart they are."""
        self._calls += 1
        if np.array_equal(first, second, equal_nan=True):
            return
        self._differed += 1
        self._largest = max(self._largest, _distance(first, second, kind))


def _distance(first: Floats, second: Floats, kind: OutputKind) -> float:
    """The largest difference of a probability or score; 1 where only one of two is a number."""
    one, other = (as_answers(answer, kind) for answer in (first, second))
    if kind != "score":
        one, other = np.exp(one), np.exp(other)
    apart = np.abs(one - other)
    apart[np.isnan(one) != np.isnan(other)] = 1.0
    return float(f"{np.nanmax(apart, initial=0.0):.{DIGITS}g}")
