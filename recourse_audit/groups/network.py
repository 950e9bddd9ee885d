"""Who is tied to whom, as the test between groups sees it: walks, distances and equal parts.

Kinds, weights and directions of ties play no part here, nor do loops: two people are tied or not.

Notes
-----
Two walks lead along the ties. The *plain* one goes to oneself or to any neighbour alike; the
*damped* one stays as often, and shuns neighbours with many ties. Sparse products with many columns
at once are the only work, so a step costs the number of ties, however many people there are.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from recourse_audit.groups.arrays import Floats, Ints

AT_ONCE = 256
UNREACHED = 255
# Above this, a field smoothed by so many steps stands in for the slowest change over the graph.
MOST_SOLVED = 50_000
SMOOTHING_STEPS = 1_000
SALT_PARTS = 3


@dataclass(frozen=True, slots=False, kw_only=True)
class Network:
    """The pairs of people who are tied, each once: `low` and `high` are their numbers."""

    people: int
    low: Ints
    high: Ints
    _parts: dict[int, Ints] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def ties(self) -> csr_array:
        """1 where two people are tied."""
        rows = np.concatenate([self.low, self.high])
        columns = np.concatenate([self.high, self.low])
        ones = np.ones(rows.size, dtype=np.float32)
        return csr_array(coo_array((ones, (rows, columns)), shape=(self.people, self.people)))

    @cached_property
    def degree(self) -> Floats:
        """How many people each is tied to."""
        return np.diff(self.ties.indptr).astype(np.float64)

    @property
    def tied(self) -> int:
        """How many people have ties."""
        return int((self.degree > 0).sum())

    @cached_property
    def walks(self) -> tuple[csr_array, csr_array]:
        """The plain and the damped walk: where somebody is after one step, by rows."""
        stay = 1 / (self.degree + 1)
        plain = diags_array(stay) @ (self.ties + eye_array(self.people))
        shunned = np.divide(1, self.degree, out=np.zeros(self.people), where=self.degree > 0)
        drawn = self.ties @ diags_array(shunned)
        total = drawn @ np.ones(self.people)
        leave = np.divide(1 - stay, total, out=np.zeros(self.people), where=total > 0)
        damped = diags_array(stay) + diags_array(leave) @ drawn
        return csr_array(plain, dtype=np.float32), csr_array(damped, dtype=np.float32)

    def distances(self, people: Ints) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
        """The number of steps between any two of some people; `UNREACHED` where no way leads."""
        found = np.full((people.size, people.size), UNREACHED, dtype=np.uint8)
        for first in range(0, people.size, AT_ONCE):
            sources = people[first : first + AT_ONCE]
            columns = np.arange(sources.size)
            reached = np.zeros((self.people, sources.size), dtype=bool)
            reached[sources, columns] = True
            front = reached.astype(np.float32)
            found[first + columns, first + columns] = 0
            for steps in range(1, UNREACHED):
                new = (self.ties @ front > 0) & ~reached
                if not new.any():
                    break
                reached |= new
                here = found[first : first + AT_ONCE]
                here[new[people].T] = steps
                front = new.astype(np.float32)
        return found

    def parts(self, count: int) -> Ints:
        """Everybody's part: `count` parts of equal size, a power of two, with few ties between."""
        if count not in self._parts:
            part = np.zeros(self.people, dtype=np.int64)
            for level in range(count.bit_length() - 1):
                for number in range(2**level):
                    inside = np.flatnonzero(part == number)
                    part[_upper_half(self.ties[inside][:, inside], inside)] += 2**level
            self._parts[count] = part
        return self._parts[count]


def _upper_half(ties: csr_array, people: Ints) -> Ints:
    """One half of some people: whole components, largest first, and one that is cut in two.

    That one is cut at the median of the slowest change over it (spectral bisection).
    """
    count, component = connected_components(ties, directed=False)
    size = np.bincount(component, minlength=count)
    rank = np.empty(count, dtype=np.int64)
    rank[np.lexsort((np.arange(count), -size))] = np.arange(count)
    place = rank[component]
    before = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=count))])
    cut = int(np.searchsorted(before, people.size // 2, side="right")) - 1
    inside = np.flatnonzero(place == cut)
    along = np.zeros(people.size)
    if inside.size > 2:
        along[inside] = _slowest_change(ties[inside][:, inside])
    return people[np.lexsort((along, place))[people.size // 2 :]]


def _slowest_change(ties: csr_array) -> Floats:
    """A value per person that changes as little as possible along the ties of a component."""
    people = ties.shape[0]
    root = np.sqrt(np.diff(ties.indptr) + 1.0)
    scale = diags_array(1 / root)
    step = csr_array(scale @ (ties + eye_array(people)) @ scale)
    field = np.random.default_rng(SALT_PARTS).standard_normal(people)
    level = root / np.linalg.norm(root)
    if people <= MOST_SOLVED:
        try:
            _, vectors = eigsh(step, k=min(2, people - 1), which="LA", v0=field, tol=1e-6)
        except ArpackNoConvergence:
            pass
        else:
            field = vectors[:, 0]
            return _signed(field / root)
    for _ in range(SMOOTHING_STEPS):
        field = step @ field
        field -= level * (level @ field)
        field /= np.linalg.norm(field)
    return _signed(field / root)


def _signed(field: Floats) -> Floats:
    """Either end of a field may be its upper one: the larger in size is."""
    turned: Floats = field * np.sign(field[np.argmax(np.abs(field))])
    return turned
