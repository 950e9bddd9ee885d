"""The tables of a group report: their cells, what is withheld, and the reference groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.cells import Cells, tables_of
from recourse_audit.groups.details import Detail
from recourse_audit.groups.knowledge import FOUND, KINDS, USABLE
from recourse_audit.groups.marks import Mark
from recourse_audit.groups.measures import cost_grid, quartiles_of
from recourse_audit.groups.notes import FEW_GROUPS, REFERENCE_WITHHELD
from recourse_audit.groups.people import FAVOURABLE, OUTCOMES, UNDECIDED, Population
from recourse_audit.groups.suppression import (
    Suppression,
    Withheld,
    nothing_shown,
    withhold,
)
from recourse_audit.records.group_figures import GRADES, WhyWithheld
from recourse_audit.records.groups import Suppressed
from recourse_audit.records.recourse import RecourseStatus
from recourse_audit.settings import GroupSettings

KIND_OF_STATUS: dict[RecourseStatus, str] = {
    "verified": "found",
    "certified_infeasible": "infeasible",
    "not_found_within_budget": "not found",
    "error": "error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSet:
    """All tables, and for each cell whether its figures, or only its outcomes, are withheld."""

    tables: tuple[Cells, ...]
    withheld: Suppression
    left_out: tuple[str, ...]

    @property
    def people(self) -> Withheld:
        return self.withheld.people

    @property
    def outcomes(self) -> Withheld:
        return self.withheld.outcomes

    def single(self) -> list[int]:
        """The places of the tables of one attribute, in the order of the attributes."""
        return [place for place, table in enumerate(self.tables) if len(table.attributes) == 1]

    def why(self, place: int, cell: int) -> WhyWithheld | Literal[""]:
        """Why something about a cell is withheld; empty if nothing is."""
        if self.people.all[place][cell]:
            return "few_people" if self.people.primary[place][cell] else "complementary"
        if self.outcomes.all[place][cell]:
            return "few_audited" if self.outcomes.primary[place][cell] else "complementary"
        return ""

    def suppressed(self) -> Iterator[Suppressed]:
        """The list of what is withheld."""
        for place, cells in enumerate(self.tables):
            for cell in range(len(cells)):
                why = self.why(place, cell)
                if why:
                    hidden = self.people.all[place][cell]
                    what: Literal["all figures", "figures of the audited"]
                    what = "all figures" if hidden else "figures of the audited"
                    yield Suppressed(table=cells.name, group=cells.label(cell), what=what, why=why)


def make_tables(
    population: Population,
    settings: GroupSettings,
    served: Sequence[Ints] = (),
    marks: Sequence[Mark] = (),
) -> TableSet:
    """Make the tables, and find what must be withheld in them.

    `served` has, step by step, the people whom the common options so far serve; `marks` are
    further divisions of the audited, such as by whom an action serves.
    """
    tables, left_out = tables_of(population, crossed=settings.crossed)
    smallest = settings.smallest
    withheld = None
    if population.people >= smallest:
        usable = int(population.audited.usable.sum())
        withheld = withhold(
            tables,
            _kinds(population),
            smallest,
            details=list(_details(population, served)),
            outcomes=usable >= smallest,
            changed=population.changed,
            came_true=population.turned_out,
            marks=marks,
        )
    if withheld is None or withheld.everything:
        # Which combinations occur, and why each is withheld, would say how many people have them.
        tables = tuple(table for table in tables if len(table.attributes) == 1)
        withheld = nothing_shown(tables)
    return TableSet(tables=tables, withheld=withheld, left_out=tuple(left_out))


def _kinds(population: Population) -> Ints:
    """What became of everybody, as places in `KINDS`."""
    kinds = np.full(population.people, KINDS.index("not audited"))
    kinds[population.decided == FAVOURABLE] = KINDS.index("favourable")
    kinds[population.decided == UNDECIDED] = KINDS.index("undecided")
    of_status = np.array([KINDS.index(KIND_OF_STATUS[status]) for status in OUTCOMES])
    kinds[population.audited.person] = of_status[population.audited.status]
    return kinds


def _details(population: Population, served: Sequence[Ints]) -> Iterator[Detail]:
    """What divides people with an option, or the audited, further."""
    audited = population.audited
    cost, options = (_of_people(population, values) for values in (audited.cost, audited.options))
    over = ~np.isnan(cost)
    for most in cost_grid(audited.cost):
        below = over & (cost <= most)
        yield Detail(
            part_of=(FOUND,), members=below, counted=True, below=below, over=over, everywhere=True
        )
    for most in np.unique(options[over & (options > 0)])[:-1]:
        below = over & (options <= most)
        yield Detail(
            part_of=(FOUND,), members=below, counted=False, below=below, over=over, everywhere=True
        )
    everybody = np.arange(population.people)
    for people in served:
        yield Detail(part_of=(FOUND,), members=np.isin(everybody, people), counted=True)
    grades = _of_people(population, audited.grade.astype(np.float64))
    for grade in range(len(GRADES)):
        yield Detail(part_of=USABLE, members=grades == grade, counted=True)
    for measured in (audited.simulatability, audited.relevance):
        values = _of_people(population, measured)
        there = ~np.isnan(values)
        yield Detail(part_of=USABLE, members=there, counted=True)
        quartiles = quartiles_of(values)
        for one in (quartiles.first, quartiles.median, quartiles.third):
            below = there & (values <= (np.inf if one is None else one))
            yield Detail(part_of=USABLE, members=below, counted=False, below=below, over=there)


def _of_people(population: Population, values: Floats) -> Floats:
    """The values of the audited as values of people; NaN for everybody else, and after an error."""
    audited = population.audited
    found = np.full(population.people, np.nan)
    usable: Mask = audited.usable
    found[audited.person[usable]] = values[usable]
    return found


def reference_cell(
    table_set: TableSet, place: int, settings: GroupSettings
) -> tuple[int | None, str]:
    """The cell that the others of a table are compared with, or why there is none.

    It is the group that the settings name, or else the largest known group that is shown; in a
    crossed table the cell of both references, or else the largest.
    """
    cells, hidden = table_set.tables[place], table_set.people.all[place]
    counts = cells.counts()
    shown = [
        cell
        for cell in range(len(cells))
        if cells.known(cell) and not hidden[cell] and counts[cell]
    ]
    if len(shown) < 2:
        return None, FEW_GROUPS
    wanted: tuple[int, ...] | None
    if len(cells.attributes) == 1:
        name = settings.reference.get(cells.name)
        wanted = None if name is None else (cells.attributes[0].groups.index(name),)
    else:
        wanted = _both(table_set, cells, settings)
    if wanted in cells.values and cells.values.index(wanted) in shown:
        return cells.values.index(wanted), ""
    if wanted is not None and len(cells.attributes) == 1:
        return None, REFERENCE_WITHHELD
    return max(shown, key=lambda cell: (counts[cell], -cell)), ""


def _both(table_set: TableSet, cells: Cells, settings: GroupSettings) -> tuple[int, ...] | None:
    names = [table_set.tables[place].name for place in table_set.single()]
    single = [
        reference_cell(table_set, names.index(one.name), settings)[0] for one in cells.attributes
    ]
    return None if None in single else tuple(cell for cell in single if cell is not None)
