"""Which tables a group report publishes, and in which groups.

A *cell* is a number of people that a table tells apart. In the table of one attribute these are
its groups, and those of each group whom the audit has a result for: what was decided on them and
found for them is then said of a whole group. Whatever divides people further (two attributes
crossed, whether a search is unfinished, how decisions turned out, whom a change serves, own data)
has a cell for every group and every answer. A table is published only if each of its cells has at
least `groups.smallest` people. Groups that would fail are pooled as *other*, with the next smallest
group until the pool passes. Whatever still fails is left out as a whole: the finer division first,
then the table. Nothing is withheld inside a published table, so nothing follows from its margins.

Notes
-----
Of two tables of one attribute each, what is known of a crossing that is left out is either open, or
a margin that is printed anyway: the people of one kind can be arranged in any way that keeps the
margins, unless all or none of them are in one group. In crossed tables and in finer divisions an
empty cell does not pass either, because then this would no longer hold. Sums of cells that pass
pass, so a division that one table leaves out cannot be added up from a crossed one. Pools are the
same in all tables, so what is inside them is in none. How many people have no figures at all (no
decision, not in the sample, a failed audit, no known outcome) is no cell: it says nothing of what
was decided or found, and is always counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from recourse_audit.groups.population import (
    FAVOURABLE,
    INFEASIBLE,
    NOWHERE,
    REFUSED,
    VERIFIED,
    Attribute,
    Population,
)
from recourse_audit.groups.redraws import Ints, Mask
from recourse_audit.records.group_figures import GroupKind
from recourse_audit.records.groups import LeftOut, Part, WhyLeftOut, WhyNotCompared
from recourse_audit.settings import GroupSettings

# Nobody could read a larger table.
MOST_CELLS = 400
OTHER = "other"  # the groups that are pooled
POOLED = f"{OTHER} (pooled)"  # the same where a group of the user has that name
OVERALL = "overall"  # the table of everybody
ALONE_NO_OPTION = 3  # let in on own data alone, and no option exists


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """Everybody sorted into the groups of one attribute, or of two attributes crossed.

    `values` has, for each group, its places in the attributes; of two attributes only the
    combinations that occur are groups. `outcomes` says whether what the audit found is shown.
    `reference` is the group that others are compared with, or `not_compared` says why there is
    none.
    """

    attributes: tuple[Attribute, ...]
    values: tuple[tuple[int, ...], ...]
    cell: Ints
    outcomes: bool = False
    reference: int | None = None
    not_compared: WhyNotCompared | None = None

    @property
    def name(self) -> str:
        return " x ".join(attribute.name for attribute in self.attributes)

    @property
    def crossed(self) -> bool:
        return len(self.attributes) > 1

    def __len__(self) -> int:
        return len(self.values)

    def words(self, cell: int) -> tuple[str, ...]:
        """The name of a group by each attribute."""
        pairs = zip(self.attributes, self.values[cell], strict=True)
        return tuple(attribute.groups[place] for attribute, place in pairs)

    def label(self, cell: int) -> str:
        """The name of a group."""
        return ", ".join(self.words(cell))

    def kinds(self, cell: int) -> tuple[GroupKind, ...]:
        """The kind of a group by each attribute."""
        pairs = zip(self.attributes, self.values[cell], strict=True)
        return tuple(attribute.kind(place) for attribute, place in pairs)

    def known(self, cell: int) -> bool:
        """Whether the group can be compared: its people have a value, and nobody was added."""
        return all(kind == "known" for kind in self.kinds(cell))

    def pooled(self, cell: int) -> int:
        """How many groups of a single attribute a group stands for; 0 if it is none of them."""
        return self.attributes[0].pooled if self.kinds(cell) == ("pooled",) else 0

    @property
    def compared(self) -> list[int]:
        """The groups that are compared with the reference."""
        cells = [] if self.reference is None else range(len(self))
        return [cell for cell in cells if cell != self.reference and self.known(cell)]

    @cached_property
    def members(self) -> list[Ints]:
        """The people of each group."""
        return self.split(np.arange(self.cell.size))

    def split(self, people: Ints) -> list[Ints]:
        """By group, the places of its people among those given, in order."""
        cell = self.cell[people]
        ends = np.cumsum(np.bincount(cell, minlength=len(self)))
        return np.split(np.argsort(cell, kind="stable"), ends[:-1])

    def counts(self, people: Ints | None = None) -> Ints:
        """How many people are in each group: everybody, or those given."""
        cells = self.cell if people is None else self.cell[people]
        return np.bincount(cells, minlength=len(self))


@dataclass(slots=True, kw_only=True)
class Design:
    """The tables of a report, and everything that they go without, as it is found out.

    `people` and `outcomes` say whether the figures of everybody are shown at all.
    """

    smallest: int
    people: bool
    outcomes: bool
    left_out: list[LeftOut]
    groupings: tuple[Grouping, ...] = ()

    @property
    def single(self) -> tuple[Grouping, ...]:
        """The tables of one attribute."""
        return tuple(grouping for grouping in self.groupings if not grouping.crossed)

    def passes(self, grouping: Grouping | None, *divisions: Ints) -> bool:
        """Whether a table, or everybody, can be divided by each of some labels of people."""
        return all(is_divisible(self.count(grouping, one), self.smallest) for one in divisions)

    def allows(self, grouping: Grouping | None, part: Part, *divisions: Ints) -> bool:
        """The same; what fails is added to what is left out."""
        passes = self.passes(grouping, *divisions)
        if not passes:
            self.leave_out(grouping, part)
        return passes

    def leave_out(self, grouping: Grouping | None, part: Part) -> None:
        """Note that a table, or everybody, goes without something; once."""
        name = OVERALL if grouping is None else grouping.name
        found = LeftOut(table=name, part=part, why="few_people")
        if found not in self.left_out:
            self.left_out.append(found)

    def count(self, grouping: Grouping | None, labels: Ints) -> Ints:
        """How many people of each group (row) have each label (column)."""
        if grouping is None:
            return count_cells(np.zeros(labels.size, np.int64), 1, labels)
        return count_cells(grouping.cell, len(grouping), labels)


def has_few(counts: Ints, smallest: int) -> Mask:
    """The cells with a few people: somebody, and fewer than `smallest`."""
    return np.asarray((counts > 0) & (counts < smallest))


def is_divisible(counts: Ints, smallest: int) -> bool:
    """Whether all groups (rows) with anybody have enough people of all labels that anybody has."""
    somebody = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    return bool((somebody >= smallest).all())


def count_cells(places: Ints, groups: int, labels: Ints) -> Ints:
    """Count people by group and label; those with a negative label are in no cell."""
    counted, kinds = labels >= 0, int(labels.max(initial=0)) + 1
    flat = places[counted] * kinds + labels[counted]
    return np.bincount(flat, minlength=groups * kinds).reshape(groups, kinds)


def decision_labels(population: Population) -> Ints:
    """Refused, or not."""
    found = np.full(population.people, NOWHERE)
    found[population.decided == REFUSED] = 0
    found[population.decided == FAVOURABLE] = 1
    return found


def option_labels(population: Population) -> Ints:
    """Of the audited: with an option, or without one."""
    return population.label_audited((population.audited.status != VERIFIED).astype(np.int64))


def detail_labels(population: Population) -> Ints:
    """Of the audited without an option: certified infeasible, or not found within the budget."""
    status = population.audited.status
    return population.label_audited(np.where(status == VERIFIED, NOWHERE, status))


def own_data_labels(population: Population) -> Ints:
    """Of the audited: whether they would be let in on own data alone, and whether no option exists.

    `ALONE_NO_OPTION` is the label of people for whom both hold.
    """
    audited = population.audited
    alone = population.decided_alone[audited.person] == FAVOURABLE
    return population.label_audited(2 * alone + (audited.status == INFEASIBLE))


def design_tables(population: Population, settings: GroupSettings) -> Design:
    """Pool the groups of each attribute, and find which tables and crossings are published."""
    smallest = settings.smallest
    decisions, options = decision_labels(population), option_labels(population)
    people = population.people >= smallest
    outcomes = people and int((options >= 0).sum()) >= smallest
    audited = np.minimum(options, 0) if outcomes else None
    left_out: list[LeftOut] = []
    single: list[Grouping] = []
    for attribute in population.attributes:
        pooled = _pooled(attribute, settings, audited)
        if pooled is None or not people:
            left_out.append(_left_out(attribute.name, "few_people"))
        else:
            single.append(_by_one(pooled))
    crossed: list[Grouping] = []
    for one, other in combinations(single, 2) if settings.crossed else ():
        [first], [second] = one.attributes, other.attributes
        if len(first.groups) * len(second.groups) > MOST_CELLS:
            left_out.append(_left_out(f"{first.name} x {second.name}", "too_many_groups"))
            continue
        both = _by_two(first, second)
        full = len(both) == len(first.groups) * len(second.groups)
        if full and is_divisible(count_cells(both.cell, len(both), decisions), smallest):
            crossed.append(both)
        else:
            left_out.append(_left_out(both.name, "few_people"))
    if not outcomes:
        left_out.append(LeftOut(table=OVERALL, part="outcomes", why="few_people"))
    design = Design(smallest=smallest, people=people, outcomes=outcomes, left_out=left_out)
    design.groupings = tuple(
        replace(grouping, outcomes=outcomes and _shows_outcomes(design, grouping, options))
        for grouping in (*single, *crossed)
    )
    references = [_find_reference(design, grouping, settings) for grouping in design.groupings]
    design.groupings = tuple(
        replace(grouping, reference=reference, not_compared=why)
        for grouping, (reference, why) in zip(design.groupings, references, strict=True)
    )
    return design


def _shows_outcomes(design: Design, grouping: Grouping, options: Ints) -> bool:
    if grouping.crossed:
        return design.allows(grouping, "outcomes", options)
    few = has_few(design.count(grouping, np.minimum(options, 0)), design.smallest).any()
    if few:
        design.leave_out(grouping, "outcomes")
    return not few


def choose_steps(counts: Ints, candidates: Sequence[int], smallest: int) -> list[int]:
    """The steps up to which it may be said how many people of each group are within them.

    `counts` has people by group (row) and step (column). All groups must have enough people since
    the step before and, unless there is nobody, beyond it; the last step that can be shown is
    preferred to earlier ones.
    """
    within, total = np.cumsum(counts, axis=1), counts.sum(axis=1)
    within, total = within[total > 0], total[total > 0]

    def passes(number: Ints) -> bool:
        return bool((number >= smallest).all())

    def follows(step: int) -> bool:
        return passes(within[:, step] - (within[:, kept[-1]] if kept else 0))

    beyond = {step: total - within[:, step] for step in candidates}
    ends = [step for step in candidates if not beyond[step].any() or passes(beyond[step])]
    kept: list[int] = []
    for step in ends:
        if follows(step):
            kept.append(step)
    if (
        ends
        and kept[-1:] != ends[-1:]
        and (not kept or (within[:, ends[-1]] != within[:, kept[-1]]).any())
    ):
        while kept and not follows(ends[-1]):
            kept.pop()
        kept += ends[-1:] if follows(ends[-1]) else []
    return kept


def _left_out(table: str, why: WhyLeftOut) -> LeftOut:
    return LeftOut(table=table, part="table", why=why)


def _by_one(attribute: Attribute) -> Grouping:
    values = tuple((place,) for place in range(len(attribute.groups)))
    return Grouping(attributes=(attribute,), values=values, cell=attribute.places)


def _by_two(first: Attribute, second: Attribute) -> Grouping:
    width = len(second.groups)
    there, cell = np.unique(first.places * width + second.places, return_inverse=True)
    values = tuple((int(place) // width, int(place) % width) for place in there)
    return Grouping(attributes=(first, second), values=values, cell=cell)


def _pooled(
    attribute: Attribute, settings: GroupSettings, audited: Ints | None
) -> Attribute | None:
    """The attribute with small groups pooled, and with those that have few audited people.

    The latter are left as they are where pooling them would leave fewer than two groups to compare,
    or pool the reference group; then the table has no outcomes. None if only one group is left.
    """
    wanted = settings.reference.get(attribute.name)
    if audited is not None:
        found = pool_groups(attribute, [audited], settings.smallest)
        kept = () if found is None else found.groups[: found.known]
        if found is not None and len(kept) > 1 and (wanted is None or wanted in kept):
            return found
    return pool_groups(attribute, [], settings.smallest)


def pool_groups(attribute: Attribute, divisions: Sequence[Ints], smallest: int) -> Attribute | None:
    """Pool the groups of an attribute with few people in all or of a label; None if one is left."""
    size = len(attribute.groups)
    people = np.bincount(attribute.places, minlength=size)
    counts = np.column_stack(
        [people, *(count_cells(attribute.places, size, labels) for labels in divisions)]
    )
    there = people > 0
    pooled = there & has_few(counts, smallest).any(axis=1)
    while pooled.any() and (
        has_few(counts[pooled].sum(axis=0), smallest).any()
        or not _hides(people[pooled], people[there & ~pooled], smallest)
    ):
        rest = np.flatnonzero(there & ~pooled)
        if not rest.size:
            return None
        pooled[rest[np.argmin(people[rest])]] = True
    kept = np.flatnonzero(there & ~pooled)
    if kept.size + int(pooled.any()) < 2:
        return None
    return _with_pool(attribute, kept, int(pooled.sum()))


def _hides(pooled: Ints, kept: Ints, smallest: int) -> bool:
    """Whether the size of no pooled group follows from the size of the pool.

    A reader knows which groups are pooled for being small, and that the others of the pool are no
    larger than those that are shown: of two groups of at most 10 people and 20 in all, each has 10.
    """
    if not kept.size:
        return False
    small = pooled < smallest
    gives = np.where(small, pooled > 1, pooled > smallest)
    takes = np.where(small, pooled < smallest - 1, pooled < kept.min())
    gives_to = takes.sum() - takes
    takes_from = gives.sum() - gives
    return bool(((gives & (gives_to > 0)) | (takes & (takes_from > 0))).all())


def _with_pool(attribute: Attribute, kept: Ints, pooled: int) -> Attribute:
    """The attribute with its kept groups, in their order, and the pool after them."""
    groups = tuple(attribute.groups[place] for place in kept.tolist())
    place = np.full(len(attribute.groups), kept.size)
    place[kept] = np.arange(kept.size)
    if pooled:
        groups = (*groups, POOLED if OTHER in attribute.groups else OTHER)
    return Attribute(
        name=attribute.name,
        groups=groups,
        places=place[attribute.places],
        known=int((kept < attribute.known).sum()),
        pooled=pooled,
    )


def _find_reference(
    design: Design, grouping: Grouping, settings: GroupSettings
) -> tuple[int | None, WhyNotCompared | None]:
    """The group that the others of a table are compared with, or why there is none.

    It is the group that the settings name, or else the largest known group; in a crossed table the
    group of both references, or else the largest.
    """
    counts = grouping.counts()
    known = [cell for cell in range(len(grouping)) if grouping.known(cell)]
    if len(known) < 2:
        return None, "few_groups"
    wanted: tuple[int, ...] | None = None
    if grouping.crossed:
        names = [attribute.name for attribute in grouping.attributes]
        single = [table for table in design.single if table.name in names]
        both = [_find_reference(design, table, settings)[0] for table in single]
        wanted = tuple(cell for cell in both if cell is not None)
    elif (name := settings.reference.get(grouping.name)) is not None:
        [attribute] = grouping.attributes
        if name not in attribute.groups[: attribute.known]:
            return None, "reference_pooled"
        wanted = (attribute.groups.index(name),)
    if wanted in grouping.values:
        return grouping.values.index(wanted), None
    return max(known, key=lambda cell: (counts[cell], -cell)), None
