"""Tables of cells: the groups of one attribute, or of two attributes crossed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recourse_audit.groups.arrays import Ints
from recourse_audit.groups.notes import MOST_CELLS, TOO_LARGE
from recourse_audit.groups.people import Attribute, Population


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """A table: for each cell the places of its groups in the attributes, and everybody's cell.

    A table of one attribute has a cell for each of its groups, with or without people, the unknown
    group last; a table of two attributes has the combinations that occur.
    """

    attributes: tuple[Attribute, ...]
    values: tuple[tuple[int, ...], ...]
    cell: Ints

    @property
    def name(self) -> str:
        return " x ".join(one.name for one in self.attributes)

    def __len__(self) -> int:
        return len(self.values)

    def words(self, cell: int) -> tuple[str, ...]:
        """The groups of a cell, one per attribute."""
        pairs = zip(self.attributes, self.values[cell], strict=True)
        return tuple(one.groups[place] for one, place in pairs)

    def label(self, cell: int) -> str:
        """The groups of a cell in one text."""
        return ", ".join(self.words(cell))

    def known(self, cell: int) -> bool:
        """Whether the group is known for every attribute."""
        pairs = zip(self.attributes, self.values[cell], strict=True)
        return all(place < len(one.groups) - 1 for one, place in pairs)

    def counts(self, people: Ints | None = None) -> Ints:
        """How many people are in each cell: everybody, or those given."""
        cells = self.cell if people is None else self.cell[people]
        return np.bincount(cells, minlength=len(self))


def tables_of(population: Population, *, crossed: bool) -> tuple[tuple[Cells, ...], list[str]]:
    """One table per attribute and, if `crossed`, per pair; and which pairs are too large."""
    single = [_single(one) for one in population.attributes]
    pairs = list(combinations(population.attributes, 2)) if crossed else []
    small = [(a, b) for a, b in pairs if len(a.groups) * len(b.groups) <= MOST_CELLS]
    large = [f"{a.name} x {b.name}{TOO_LARGE}" for a, b in pairs if (a, b) not in small]
    return (*single, *(_crossed(a, b) for a, b in small)), large


def _single(attribute: Attribute) -> Cells:
    values: Sequence[tuple[int, ...]] = [(place,) for place in range(len(attribute.groups))]
    return Cells(attributes=(attribute,), values=tuple(values), cell=attribute.places)


def _crossed(first: Attribute, second: Attribute) -> Cells:
    width = len(second.groups)
    both = first.places * width + second.places
    there, cell = np.unique(both, return_inverse=True)
    values = tuple((int(place) // width, int(place) % width) for place in there)
    return Cells(attributes=(first, second), values=values, cell=cell)
