"""Labels of groups redrawn on the same graph, so that they clump as the observed ones do.

A label is 1 for a person of the group and 0 for one of the reference. Redrawn labels have as many
ones, but nothing to do with what became of people; so a gap between them shows how large gaps are
by chance, where people who are tied are alike both in their group and in what becomes of them.

Notes
-----
Random normals, smoothed by some steps of a walk and mixed with noise, are cut where they have as
many ones as the observed labels. Two walks, six numbers of steps and four shares of noise, and
labels dealt at random, make 49 settings. How labels clump is measured by ten numbers: how alike the
labels of two people are who are 1, 2, 4, 8 or 16 steps of either walk apart. A setting weighs as
much as its redraws have the numbers of the observed labels (after Viladomat et al. 2014, who redraw
one of two maps in the same spirit). Parts of the graph that exchange their shares of ones are two
further ways of redrawing, for labels that go with places rather than ties.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.network import Network
from recourse_audit.groups.recent import Recent, digest

STEPS = (1, 2, 4, 8, 16, 32)
SIGNALS = (0.25, 0.5, 0.75, 0.95)
APART = (1, 2, 4, 8, 16)
PARTS = (8, 16)
SHARPNESS = 0.3
LEAST_WEIGHT = 0.005
# What is cached of a graph: smoothed fields up to this many numbers.
MOST_CACHED = 60_000_000
COLUMNS = 500
SALT_FIELDS, SALT_NOISE, SALT_PERMUTED, SALT_SHARED = 1, 2, 3, 4

COMPARISONS_KEPT = 32

Labels = np.ndarray[tuple[int, int], np.dtype[np.bool_]]
Packed = NDArray[np.uint8]
Setting = tuple[int, int, float] | None  # walk, steps, signal; None deals labels at random
SETTINGS: tuple[Setting, ...] = (*product((0, 1), STEPS, SIGNALS), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many redraws there are of each setting: to find its weight, and to find gaps.

    `tolerance` is added to the deviation of each number of clumping: among very many people these
    numbers hardly vary, and no setting of a few dozen would match the observed ones exactly.
    """

    weighed: int
    redraws: int
    permutations: int
    tolerance: float = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Redraws:
    """Redrawn labels of one comparison: by setting with its weight, and by parts of the graph.

    Labels have a row per person and a column per redraw, packed along the people. `settings` are
    places in `SETTINGS`. `fit` says how far the observed labels clump unlike those of the setting
    that is most like them.
    """

    people: int
    settings: tuple[int, ...]
    weights: tuple[float, ...]
    labels: tuple[Packed, ...]
    by_parts: tuple[Packed, ...]
    fit: float

    def unpacked(self, packed: Packed) -> Labels:
        return np.unpackbits(packed, axis=0, count=self.people).astype(bool)

    @property
    def count(self) -> int:
        """How many labels were redrawn along walks."""
        return sum(one.shape[1] for one in self.labels)


class Redrawing:
    """Redraws labels on one graph; the same seed gives the same labels.

    Labels that are redrawn along walks depend on who is compared and how many of them are in the
    group, but not on who they are; so they are kept, and serve again.
    """

    def __init__(self, network: Network, seed: int, effort: Effort) -> None:
        self._network = network
        self._seed = seed
        self._effort = effort
        self._fields: dict[tuple[int, ...], Floats] = {}
        self._clumps: Recent[tuple[Floats, Floats]] = Recent(COMPARISONS_KEPT)
        self._redrawn: Recent[Packed] = Recent(COMPARISONS_KEPT * 8)

    def of(self, member: Mask, people: Ints) -> Redraws:
        """Labels that clump as those of the members do among these people."""
        ones = int(member.sum())
        key = (digest(people), ones)
        means, deviations = self._clumps.get(key, lambda: self._clumps_of(people, ones))
        observed = self._clumping(member[:, None], people)[:, 0]
        spread = deviations + self._effort.tolerance
        weights = _weights(observed, means, spread)
        kept = np.flatnonzero(weights > LEAST_WEIGHT).tolist()
        distance = ((observed - means) ** 2 / spread**2).mean(axis=1)
        return Redraws(
            people=people.size,
            settings=tuple(kept),
            weights=tuple((weights[kept] / weights[kept].sum()).tolist()),
            labels=tuple(self._packed(key, people, place) for place in kept),
            by_parts=tuple(np.packbits(some, axis=0) for some in self._by_parts(member, people)),
            fit=float(distance.min()),
        )

    def _clumps_of(self, people: Ints, ones: int) -> tuple[Floats, Floats]:
        """The mean and the deviation of every number of every setting's labels."""
        means, deviations = np.empty((2, len(SETTINGS), 2 * len(APART)))
        for place in range(len(SETTINGS)):
            found = self._clumping(self._labels(people, ones, place, self._effort.weighed), people)
            means[place], deviations[place] = found.mean(axis=1), found.std(axis=1)
        return means, deviations

    def _packed(self, key: tuple[bytes, int], people: Ints, place: int) -> Packed:
        """The labels of one setting by which gaps are judged."""

        def draw() -> Packed:
            labels = self._labels(people, key[1], place, self._effort.redraws)
            return np.packbits(labels, axis=0)

        return self._redrawn.get((*key, place), draw)

    def _labels(self, people: Ints, ones: int, place: int, count: int) -> Labels:
        """Labels of one setting."""
        setting = SETTINGS[place]
        noise = _normals((self._seed, SALT_NOISE, place), people.size, count)
        if setting is None:
            return _top(noise, ones)
        field = self._field(place, count)[people]
        field = field - field.mean(axis=0)
        spread = field.std(axis=0)
        field /= np.where(spread > 0, spread, 1)
        signal = np.float32(setting[2])
        return _top(np.sqrt(signal) * field + np.sqrt(1 - signal) * noise, ones)

    def _field(self, place: int, count: int) -> Floats:
        """Smooth fields over everybody, one per column.

        Those by which settings are weighed serve all settings of as many steps, and all
        comparisons; those by which gaps are judged are each setting's own.
        """
        setting = SETTINGS[place]
        assert setting is not None
        walk, steps, _ = setting
        shared = count == self._effort.weighed
        key = (SALT_SHARED, walk, steps) if shared else (SALT_FIELDS, place)
        if key in self._fields:
            return self._fields[key]
        field = _normals((self._seed, *key), self._network.people, count)
        for _ in range(steps):
            field = self._network.walks[walk] @ field
        if sum(one.size for one in self._fields.values()) + field.size <= MOST_CACHED:
            self._fields[key] = field
        return field

    def _clumping(self, labels: Labels, people: Ints) -> Floats:
        """How alike labels are some steps apart: rows by walk and distance, a column per label."""
        found = np.empty((2 * len(APART), labels.shape[1]))
        for first in range(0, labels.shape[1], COLUMNS):
            some = labels[:, first : first + COLUMNS]
            centred = np.zeros((self._network.people, some.shape[1]), dtype=np.float32)
            centred[people] = some - some.mean(axis=0)
            size = (centred**2).sum(axis=0, dtype=np.float64)
            size[size == 0] = 1
            rows = []
            for walk in self._network.walks:
                walked = centred
                for step in range(1, APART[-1] + 1):
                    walked = walk @ walked
                    if step in APART:
                        rows.append((centred * walked).sum(axis=0) / size)
            found[:, first : first + COLUMNS] = rows
        return found

    def _by_parts(self, member: Mask, people: Ints) -> Iterator[Labels]:
        for count in PARTS:
            _, part = np.unique(self._network.parts(count)[people], return_inverse=True)
            size = np.bincount(part)
            share = np.bincount(part, weights=member) / size
            generator = np.random.default_rng((self._seed, SALT_PERMUTED, count))
            draws = self._effort.permutations
            shares = np.stack([generator.permutation(share) for _ in range(draws)], axis=1)
            yield generator.random((people.size, draws)) < shares[part]


def _normals(seed: tuple[int, ...], people: int, count: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((people, count), dtype=np.float32)


def _top(values: Floats, ones: int) -> Labels:
    """Ones for the largest values of each column."""
    labels = np.zeros((values.shape[0], values.shape[1]), dtype=bool)
    places = np.argpartition(-values, ones - 1, axis=0)[:ones]
    np.put_along_axis(labels, places, True, axis=0)
    return labels


def _weights(observed: Floats, means: Floats, spread: Floats) -> Floats:
    parts = (observed - means) ** 2 / (2 * spread**2) + np.log(spread)
    logs = -SHARPNESS * parts.sum(axis=1)
    weights = np.exp(logs - logs.max())
    total: Floats = weights / weights.sum()
    return total
