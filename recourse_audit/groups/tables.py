"""The tables of a summary: which cells they have, what of them is withheld, and the references."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recourse_audit.groups.arrays import Ints
from recourse_audit.groups.cells import Cells, tables_of
from recourse_audit.groups.people import REFUSED, Population
from recourse_audit.groups.records import Suppressed
from recourse_audit.groups.suppression import Withheld, withhold_outcomes, withhold_people
from recourse_audit.settings import GroupSettings

Why = Literal["", "few_people", "few_audited", "complementary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """All tables, and for each cell whether its figures, or those of its audited, are withheld."""

    tables: tuple[Cells, ...]
    people: Withheld
    outcomes: Withheld
    left_out: tuple[str, ...]

    def single(self) -> list[int]:
        """The places of the tables of one attribute, in the order of the attributes."""
        return [place for place, table in enumerate(self.tables) if len(table.attributes) == 1]

    def why(self, place: int, cell: int) -> Why:
        """Why something of a cell is withheld."""
        if self.people.all[place][cell]:
            return "few_people" if self.people.primary[place][cell] else "complementary"
        if self.outcomes.all[place][cell]:
            return "few_audited" if self.outcomes.primary[place][cell] else "complementary"
        return ""

    def suppressed(self) -> Iterator[Suppressed]:
        """The log of what is withheld."""
        for place, cells in enumerate(self.tables):
            for cell in range(len(cells)):
                why = self.why(place, cell)
                if why:
                    hidden = self.people.all[place][cell]
                    what: Literal["all figures", "figures of the audited"]
                    what = "all figures" if hidden else "figures of the audited"
                    yield Suppressed(table=cells.name, group=cells.label(cell), what=what, why=why)


def lay_out(population: Population, settings: GroupSettings) -> Layout:
    """Make the tables, and find what to withhold of them."""
    tables, left_out = tables_of(population, crossed=settings.crossed)
    audited, smallest = population.audited, settings.smallest
    usable = audited.person[audited.usable]
    found = audited.person[audited.usable & np.isfinite(audited.cost)]
    people = [table.counts() for table in tables]
    if population.people < smallest:
        return Layout(
            tables=tables, people=_all(people), outcomes=_all(people), left_out=tuple(left_out)
        )
    refused = np.flatnonzero(population.decided == REFUSED)
    hidden = withhold_people(tables, people, [table.counts(refused) for table in tables], smallest)
    if usable.size < smallest:
        outcomes = _all(people)
    else:
        outcomes = withhold_outcomes(
            tables,
            [table.counts(usable) for table in tables],
            [table.counts(found) for table in tables],
            smallest,
            hidden,
        )
    return Layout(tables=tables, people=hidden, outcomes=outcomes, left_out=tuple(left_out))


def reference_cell(layout: Layout, place: int, settings: GroupSettings) -> tuple[int | None, str]:
    """The cell that the others of a table are compared with, or why there is none.

    The group that the settings name, or else the largest known one that is shown; of a crossed
    table the cell of both references, or else its largest.
    """
    cells, hidden = layout.tables[place], layout.people.all[place]
    counts = cells.counts()
    shown = [
        cell
        for cell in range(len(cells))
        if cells.known(cell) and not hidden[cell] and counts[cell]
    ]
    if len(shown) < 2:
        return None, "Fewer than two known groups are shown, so none are compared."
    wanted: tuple[int, ...] | None
    if len(cells.attributes) == 1:
        name = settings.reference.get(cells.name)
        wanted = None if name is None else (cells.attributes[0].groups.index(name),)
    else:
        wanted = _both(layout, cells, settings)
    if wanted in cells.values and cells.values.index(wanted) in shown:
        return cells.values.index(wanted), ""
    if wanted is not None and len(cells.attributes) == 1:
        return None, "The reference group is withheld, so nothing is compared with it."
    return max(shown, key=lambda cell: (counts[cell], -cell)), ""


def _both(layout: Layout, cells: Cells, settings: GroupSettings) -> tuple[int, ...] | None:
    names = [layout.tables[place].name for place in layout.single()]
    single = [
        reference_cell(layout, names.index(one.name), settings)[0] for one in cells.attributes
    ]
    return None if None in single else tuple(cell for cell in single if cell is not None)


def _all(counts: list[Ints]) -> Withheld:
    every = tuple(np.ones(len(one), dtype=bool) for one in counts)
    return Withheld(primary=every, all=every)
