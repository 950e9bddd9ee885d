"""The graph as the test between groups sees it, and labels redrawn on it.

Two people are tied or not: kinds, weights and directions of ties play no part here, nor do loops.
A label is 1 for a person of the group and 0 for one of the reference. Redrawn labels have as many
ones and clump as the observed ones do, but have nothing to do with what became of people; so a gap
between them shows how large gaps are by chance, where people who are tied are alike both in their
group and in what becomes of them.

Notes
-----
Two walks lead along the ties. The *plain* one goes to oneself or to any neighbour alike; the
*damped* one stays as often, and shuns neighbours with many ties. Random normals, smoothed by some
steps of a walk and mixed with noise, are cut where they have as many ones as the observed labels.
Two walks, six numbers of steps and four shares of noise, and labels dealt at random, make 49
settings. How labels clump is measured by ten numbers: how alike the labels of two people are who
are 1, 2, 4, 8 or 16 steps of either walk apart. A setting weighs as much as its redraws have the
numbers of the observed labels (after Viladomat et al. 2014, who redraw one of two maps in the same
spirit). Parts of the graph that exchange their shares of ones are two further ways of redrawing,
for labels that go with places rather than ties.

Sparse products with many columns at once are nearly all of the work, so a step costs the number of
ties, however many people there are. Measuring one label takes 32 steps, so a few redraws of every
setting tell which ones matter, and only those get more. In a very large graph, how alike labels are
is measured over drawn walks instead, and labels that judge gaps are redrawn for a sample of people.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array, eye_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

# Arrays have one entry per person, community or cell.
Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
Mask = NDArray[np.bool_]
STEPS = (1, 2, 4, 8, 16, 32)
SIGNALS = (0.25, 0.5, 0.75, 0.95)
APART = (1, 2, 4, 8, 16)
PARTS = (8, 16)
SHARPNESS = 0.3
# Settings that weigh less are given up after the pilot, and at last.
LEAST_IN_PILOT, LEAST_WEIGHT = 0.002, 0.005
SHARED, NEAREST = 4_000, 3
# Smoothed fields have up to this many numbers.
MOST_CACHED, FEWEST_ROWS = 60_000_000, 40
COLUMNS = 128
UNREACHED = 255
SOURCES = 256
# Above this, a field smoothed by so many steps stands in for the slowest change over the graph.
MOST_SOLVED, SMOOTHING_STEPS, FEWEST_STEPS, MOST_WORK = 50_000, 1_000, 100, 2_000_000_000
SALT_WEIGHED, SALT_JUDGED, SALT_PERMUTED, SALT_SAMPLED, SALT_WALKED = range(1, 6)
# In a very large graph so many walks measure how labels clump, each number to within 0.007.
WALKS, BLOCK_NUMBERS = 20_000, 20_000_000
# Redraws of different settings begin at different rows of the normals that they share.
SHIFT_FIELD, SHIFT_NOISE = 97, 211
NOISE = 2  # in place of a walk

Labels = np.ndarray[tuple[int, int], np.dtype[np.bool_]]
Packed = NDArray[np.uint8]
Setting = tuple[int, int, float] | None  # walk, steps, signal; None deals labels at random
SETTINGS: tuple[Setting, ...] = (*product((0, 1), STEPS, SIGNALS), None)
FIELDS = 2 * len(STEPS) + 1


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
        return np.diff(self.ties.indptr).astype(np.float64)

    @property
    def tied(self) -> int:
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

    def walk(self, number: int, here: Ints, chance: Floats) -> Ints:
        """Where people are after one step of a walk, by a chance from 0 to 1 for each."""
        walk = self.walks[number]
        first, last = walk.indptr[here], walk.indptr[here + 1] - 1
        if number == 0:  # all ways are alike
            at: Ints = first + (chance * (last - first + 1)).astype(np.int64)
        else:
            total = self._total_damped
            before = np.where(first > 0, total[first - 1], 0.0)
            at = np.searchsorted(total, before + chance * (total[last] - before), side="right")
        return np.asarray(walk.indices[np.clip(at, first, last)])

    @cached_property
    def _total_damped(self) -> Floats:
        """The chances of all steps of the damped walk, added up."""
        return np.cumsum(self.walks[1].data, dtype=np.float64)

    def distances(self, people: Ints) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
        """The number of steps between any two of some people; `UNREACHED` where no way leads."""
        apart = np.full((people.size, people.size), UNREACHED, dtype=np.uint8)
        for first in range(0, people.size, SOURCES):
            sources = people[first : first + SOURCES]
            columns = np.arange(sources.size)
            reached = np.zeros((self.people, sources.size), dtype=bool)
            reached[sources, columns] = True
            front = reached.astype(np.float32)
            apart[first + columns, first + columns] = 0
            for steps in range(1, UNREACHED):
                new = (self.ties @ front > 0) & ~reached
                if not new.any():
                    break
                reached |= new
                here = apart[first : first + SOURCES]
                here[new[people].T] = steps
                front = new.astype(np.float32)
        return apart

    def parts(self, count: int) -> Ints:
        """Everybody's part: `count` parts of equal size, a power of two, with few ties between."""
        if count not in self._parts:
            half = count // 2
            part = np.array(self.parts(half) if half else np.zeros(self.people, dtype=np.int64))
            for number in range(half):
                inside = np.flatnonzero(part == number)
                part[_upper_half(self.ties[inside][:, inside], inside)] += half
            self._parts[count] = part
        return self._parts[count]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many labels are redrawn: to weigh settings, and to judge gaps.

    Every setting has `pilot` redraws to weigh it, and those that are left have up to `more`.
    `redraws` to judge gaps are shared by weight, up to `rows` each. `tolerance` is added to the
    deviation of each number of clumping: among very many people these numbers hardly vary, and no
    setting of a few dozen would match the observed ones exactly.
    """

    pilot: int = 8
    more: int = 70
    redraws: int = 2_000
    rows: int = 1_500
    permutations: int = 200
    tolerance: float = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Redraws:
    """Redrawn labels of one comparison: by setting with its weight, and by parts of the graph.

    Labels have a row per redraw and a column per person, packed along the people: `counts` of each
    setting, then those by parts of the graph. `settings` are places in `SETTINGS`. `fit` says how
    far the observed labels clump unlike those of the setting that is most like them.
    """

    people: int
    settings: tuple[int, ...]
    weights: Floats
    counts: tuple[int, ...]
    labels: Packed
    fit: float

    def unpack(self, rows: slice) -> Labels:
        return np.unpackbits(self.labels[rows], axis=1, count=self.people).view(bool)

    @property
    def along_walks(self) -> int:
        return sum(self.counts[: len(self.settings)])


class Redrawing:
    """Redraws labels on one graph; the same seed gives the same labels.

    Normals, and fields that are smoothed from them, serve all comparisons; each takes the people
    that it is about. With a `focus` the graph is very large: labels that judge gaps are those of
    the people in the focus, or else of a uniform sample of everybody.
    """

    def __init__(
        self, network: Network, seed: int, effort: Effort, focus: Ints | None = None
    ) -> None:
        self._network = network
        self._seed = seed
        self._effort = effort
        self._focus: Ints | None = None
        self._fitting = MOST_CACHED // (FIELDS * FEWEST_ROWS)  # people of a very large graph
        if focus is not None:  # and of a uniform sample, as many of both as fields can hold
            few = focus[np.argsort(self._order[focus])[: self._fitting]]
            self._focus = np.union1d(few, np.flatnonzero(self._order < self._fitting))
        self._fields: dict[tuple[int, int, int], Floats] = {}
        self._pilot = lru_cache(64)(self._measure_all)
        self._walks = lru_cache(2)(self._draw_walks)

    @cached_property
    def _order(self) -> Ints:
        """Everybody in a drawn order, by which samples are taken."""
        return np.random.default_rng((self._seed, SALT_SAMPLED)).permutation(self._network.people)

    def choose(self, people: Ints, most: int) -> Ints:
        """The places of a uniform sample of at most so many people, ascending."""
        places = np.arange(people.size)
        if self._focus is not None and not np.isin(people, self._focus).all():
            places = np.flatnonzero(self._order[people] < self._fitting)
        if places.size <= most:
            return places
        return np.sort(places[np.argsort(self._order[people[places]])[:most]])

    def redraw(self, member: Mask, people: Ints, most: int) -> Redraws:
        """Labels that clump as those of the members do among these people, of a sample of them."""
        kept, weights, fit = self._weigh(member, people, int(member.sum()))
        places = self.choose(people, most)
        member, people = member[places], people[places]
        ones = int(member.sum())
        most = self._count(SALT_JUDGED)
        counts = np.clip(np.round(weights * self._effort.redraws), 1, most).astype(np.int64)
        labels = [
            np.packbits(self._labels(SALT_JUDGED, people, ones, place, np.arange(count)), axis=1)
            for place, count in zip(kept.tolist(), counts.tolist(), strict=True)
        ]
        labels += [np.packbits(rows, axis=1) for rows in self._by_parts(member, people)]
        return Redraws(
            people=people.size,
            settings=tuple(kept.tolist()),
            weights=weights,
            counts=tuple(len(rows) for rows in labels),
            labels=np.concatenate(labels),
            fit=fit,
        )

    def _weigh(self, member: Mask, people: Ints, ones: int) -> tuple[Ints, Floats, float]:
        """The settings that matter, their weights, and how unlike all of them the labels are."""
        observed = self._measure(member[None], people)
        numbers, kept = self._pilot(people.tobytes(), ones), np.arange(len(SETTINGS))
        if self._effort.more:
            # So few redraws may vary too little by chance: Student's t gives up fewer settings.
            squares, spread = self._distances(observed, numbers)
            count = self._effort.pilot
            unlike = count / 2 * np.log1p(squares / (count + 1))
            likely = np.flatnonzero(_weights(unlike, spread) > LEAST_IN_PILOT)
            kept = np.union1d(likely, squares.mean(axis=1).argsort()[:NEAREST])
            # The fewer settings share the weight, the more it matters how it is shared.
            more = min(self._effort.more, SHARED // kept.size**2)
            rows = np.arange(count, count + more)
            numbers = np.concatenate(
                [numbers[kept], self._numbers(people, ones, kept, rows)], axis=1
            )
        squares, spread = self._distances(observed, numbers)
        weights = _weights(squares / 2, spread)
        heavy = weights > LEAST_WEIGHT
        fit = float(squares.mean(axis=1).min())
        return kept[heavy], weights[heavy] / weights[heavy].sum(), fit

    def _distances(self, observed: Floats, numbers: Floats) -> tuple[Floats, Floats]:
        """How far redraws are from the observed numbers, in squared deviations, and these."""
        spread = numbers.std(axis=1) + self._effort.tolerance
        return (observed - numbers.mean(axis=1)) ** 2 / spread**2, spread

    def _measure_all(self, people: bytes, ones: int) -> Floats:
        places, rows = np.arange(len(SETTINGS)), np.arange(self._effort.pilot)
        return self._numbers(np.frombuffer(people, np.int64), ones, places, rows)

    def _numbers(self, people: Ints, ones: int, places: Ints, rows: Ints) -> Floats:
        """The ten numbers of some redraws, by setting and redraw."""
        labels = [
            self._labels(SALT_WEIGHED, people, ones, place, rows) for place in places.tolist()
        ]
        return self._measure(np.concatenate(labels), people).reshape(places.size, rows.size, -1)

    def _labels(self, salt: int, people: Ints, ones: int, place: int, rows: Ints) -> Labels:
        """Labels of one setting, a row each."""
        setting, count = SETTINGS[place], self._count(salt)
        shift = place if salt == SALT_JUDGED else 0  # settings are weighed by the same normals
        if salt == SALT_JUDGED and self._focus is not None:
            people = np.searchsorted(self._focus, people)
        values = self._field(salt, NOISE, 0)[np.ix_((rows + SHIFT_NOISE * shift) % count, people)]
        if setting is not None:
            walk, steps, signal = setting
            start = (rows + SHIFT_FIELD * shift) % count
            field = self._field(salt, walk, steps)[np.ix_(start, people)]
            field -= field.mean(axis=1, keepdims=True)
            variance = np.einsum("ij,ij->i", field, field)[:, None] / field.shape[1]
            field *= np.sqrt(np.float32(signal) / np.where(variance > 0, variance, 1))
            values *= np.float32(1 - signal) ** 0.5
            values += field
        # Sorting is faster than finding the one value that is wanted, unless there are very many.
        place = values.shape[1] - ones
        find = np.sort if self._focus is None else partial(np.partition, kth=place)
        least = find(values, axis=1)[:, place, None]
        return np.asarray(values >= least)

    def _count(self, salt: int) -> int:
        """How many rows of normals there are to weigh settings, or to judge gaps."""
        effort = self._effort
        if salt == SALT_WEIGHED:
            return effort.pilot + effort.more
        fitting = MOST_CACHED // (FIELDS * self._network.people)
        return min(effort.rows, effort.redraws, max(fitting, FEWEST_ROWS))

    def _field(self, salt: int, walk: int, steps: int) -> Floats:
        """Normals for everybody, smoothed by some steps of a walk, a row each.

        Both walks smooth the same normals; `NOISE` has its own. With a focus, fields that judge
        gaps are of its people only.
        """
        if (salt, walk, steps) not in self._fields:
            self._smooth(salt, walk)
        return self._fields[salt, walk, steps]

    def _smooth(self, salt: int, walk: int) -> None:
        """Smooth normals by all steps of one walk, some rows at a time."""
        generator = np.random.default_rng((self._seed, salt, int(walk == NOISE)))
        people, count = self._network.people, self._count(salt)
        inside = self._focus if salt == SALT_JUDGED else None
        blocks: dict[int, list[Floats]] = {step: [] for step in STEPS if walk != NOISE} or {0: []}
        height = max(1, BLOCK_NUMBERS // people)
        for first in range(0, count, height):
            shape = (min(height, count - first), people)
            smooth = generator.standard_normal(shape, np.float32).T
            for step in range(max(blocks) + 1):
                smooth = self._network.walks[walk] @ smooth if step else smooth
                if step in blocks:
                    rows = smooth if inside is None else smooth[inside]
                    blocks[step].append(np.ascontiguousarray(rows.T))
        self._fields |= {(salt, walk, step): np.concatenate(rows) for step, rows in blocks.items()}

    def _measure(self, labels: Labels, people: Ints) -> Floats:
        """How alike labels are some steps apart: a row per label, ten columns."""
        if self._focus is not None:
            return self._measure_roughly(labels, people)
        numbers = []
        for first in range(0, len(labels), COLUMNS):
            block = labels[first : first + COLUMNS]
            centred = np.zeros((self._network.people, len(block)), dtype=np.float32)
            centred[people] = block.T - block.mean(axis=1)
            size = (centred**2).sum(axis=0, dtype=np.float64)
            size[size == 0] = 1
            alike = []
            for walk in self._network.walks:
                walked = centred
                for step in range(1, APART[-1] + 1):
                    walked = walk @ walked
                    if step in APART:
                        alike.append((centred * walked).sum(axis=0) / size)
            numbers.append(np.stack(alike, axis=1))
        return np.concatenate(numbers)

    def _measure_roughly(self, labels: Labels, people: Ints) -> Floats:
        """The same over drawn walks of people who are chosen evenly."""
        starts, ends = self._walks(people.tobytes())
        place = np.full(self._network.people, people.size)
        place[people] = np.arange(people.size)
        numbers = []
        for row in labels:
            centred = np.append(row - row.mean(dtype=np.float64), 0)  # nobody else has a label
            size = float(centred @ centred) / people.size
            alike = centred[starts] * centred[place[ends]]
            numbers.append(alike.mean(axis=1) / (size or 1.0))
        return np.array(numbers)

    def _draw_walks(self, people: bytes) -> tuple[Ints, Ints]:
        """Where walks begin (places of people), and where they are after some steps, by rows."""
        generator = np.random.default_rng((self._seed, SALT_WALKED))
        numbers = np.frombuffer(people, np.int64)
        starts, ends = np.resize(np.argsort(self._order[numbers]), WALKS), []
        for walk in range(len(self._network.walks)):
            here: Ints = numbers[starts]
            for step in range(1, APART[-1] + 1):
                here = self._network.walk(walk, here, generator.random(here.size))
                if step in APART:
                    ends.append(here)
        return starts, np.stack(ends)

    def _by_parts(self, member: Mask, people: Ints) -> Iterator[Labels]:
        """Labels dealt by shares that parts of the graph have exchanged, both kinds in each row."""
        for count in PARTS:
            _, part = np.unique(self._network.parts(count)[people], return_inverse=True)
            share = np.bincount(part, weights=member) / np.bincount(part)
            generator = np.random.default_rng((self._seed, SALT_PERMUTED, count))
            draws = range(self._effort.permutations)
            shares = np.stack([generator.permutation(share) for _ in draws], axis=1)
            labels = (generator.random((people.size, len(draws))) < shares[part]).T
            yield labels[labels.any(axis=1) & ~labels.all(axis=1)]


def _weights(unlike: Floats, spread: Floats) -> Floats:
    """What settings weigh, by how unlike the observed labels their redraws are."""
    logs = -SHARPNESS * (unlike + np.log(spread)).sum(axis=1)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


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
    field = np.random.default_rng(SALT_PERMUTED).standard_normal(people)
    level = root / np.linalg.norm(root)
    if people <= MOST_SOLVED:
        with suppress(ArpackNoConvergence):
            _, vectors = eigsh(step, k=min(2, people - 1), which="LA", v0=field, tol=1e-6)
            return _turn_up(vectors[:, 0] / root)
    for _ in range(min(SMOOTHING_STEPS, max(FEWEST_STEPS, MOST_WORK // ties.nnz))):
        field = step @ field
        field -= level * (level @ field)
        field /= np.linalg.norm(field)
    return _turn_up(field / root)


def _turn_up(field: Floats) -> Floats:
    """Either end of a field may be its upper one: the larger in size is."""
    return np.asarray(field * np.sign(field[np.argmax(np.abs(field))]))
