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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from recourse_audit.groups.population import (
    FAVOURABLE,
    INFEASIBLE,
    NOWHERE,
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


class Pair(NamedTuple):
    """Two groups that are compared: their names, and some people of each."""

    group: str
    reference: str
    people: Ints
    reference_people: Ints

    @property
    def fewer(self) -> int:
        return min(self.people.size, self.reference_people.size)


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """Everybody sorted into the groups of one attribute, or of two attributes crossed.

    `values` and `kinds` have, for each group, its name and kind by each attribute. `pooled` groups
    are in the pool of a single attribute. `outcomes` says whether what the audit found is shown.
    Others are compared with the `reference`, or `not_compared` says why not.
    """

    attributes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    kinds: tuple[tuple[GroupKind, ...], ...]
    cell: Ints
    pooled: int = 0
    outcomes: bool = False
    reference: int | None = None
    not_compared: WhyNotCompared | None = None

    @property
    def name(self) -> str:
        return " x ".join(self.attributes)

    @property
    def crossed(self) -> bool:
        return len(self.attributes) > 1

    @cached_property
    def labels(self) -> list[str]:
        return [", ".join(values) for values in self.values]

    @cached_property
    def comparable(self) -> list[int]:
        """The groups that can be compared: their people have a value, and nobody was added."""
        return [cell for cell, kinds in enumerate(self.kinds) if {*kinds} == {"known"}]

    def pairs(self, among: Mask) -> Iterator[Pair]:
        """Each group that is compared with the reference, and who of both is among some people."""
        if self.reference is not None:
            names, members = self.labels, [people[among[people]] for people in self.members]
            for cell in self.comparable:
                if cell != self.reference:
                    sides = members[cell], members[self.reference]
                    yield Pair(names[cell], names[self.reference], *sides)

    @cached_property
    def members(self) -> list[Ints]:
        return self.split(np.arange(self.cell.size))

    def split(self, people: Ints) -> list[Ints]:
        """By group, the places of its people among those given, in order."""
        ends = np.cumsum(self.counts(people))
        return np.split(np.argsort(self.cell[people], kind="stable"), ends[:-1])

    def counts(self, people: Ints) -> Ints:
        return np.bincount(self.cell[people], minlength=len(self.values))


@dataclass(slots=True, kw_only=True)
class Design:
    """The tables of a report and what they go without; what is shown of everybody at all."""

    smallest: int
    people: bool
    outcomes: bool
    left_out: list[LeftOut] = field(default_factory=list)
    groupings: tuple[Grouping, ...] = ()

    @property
    def single(self) -> tuple[Grouping, ...]:
        return tuple(grouping for grouping in self.groupings if not grouping.crossed)

    def passes(self, grouping: Grouping | None, *divisions: Ints) -> bool:
        """Whether a table, or everybody, can be divided by each of some labels of people."""
        counts = (self.count(grouping, labels) for labels in divisions)
        return all(is_divisible(count, self.smallest) for count in counts)

    def allows(self, grouping: Grouping | None, part: Part, *divisions: Ints) -> bool:
        """The same; what fails is added to what is left out."""
        passes = self.passes(grouping, *divisions)
        if not passes:
            self.leave_out(grouping, part)
        return passes

    def leave_out(
        self, table: Grouping | str | None, part: Part, why: WhyLeftOut = "few_people"
    ) -> None:
        """Note that a table, or everybody, goes without something; once."""
        name = table.name if isinstance(table, Grouping) else table or OVERALL
        entry = LeftOut(table=name, part=part, why=why)
        if entry not in self.left_out:
            self.left_out.append(entry)

    def count(self, grouping: Grouping | None, labels: Ints, kinds: int = 0) -> Ints:
        """How many people of each group (row) have each label (of at least so many columns)."""
        if grouping is None:
            return count_cells(np.zeros(labels.size, np.int64), 1, labels, kinds)
        return count_cells(grouping.cell, len(grouping.values), labels, kinds)


def has_few(counts: Ints, smallest: int) -> Mask:
    """The cells with a few people: somebody, and fewer than `smallest`."""
    return np.asarray((counts > 0) & (counts < smallest))


def is_divisible(counts: Ints, smallest: int) -> bool:
    """Whether all groups (rows) with anybody have enough people of all labels that anybody has."""
    somebody = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    return bool((somebody >= smallest).all())


def tells_few(refused: Ints, favoured: Ints, smallest: int) -> Mask:
    """At which cut-offs it is known of a few people that they are decided on otherwise.

    These are the refused above one and those favoured below it, by group and cut-off; they are
    known in sum where there is nobody of the other kind.
    """
    told: Mask = np.zeros(refused.shape[1], dtype=bool)
    for each, other in ((refused, favoured), (favoured, refused)):
        told |= has_few(each, smallest).any(axis=0) & ~other.any(axis=0)
    return told


def count_cells(places: Ints, groups: int, labels: Ints, kinds: int = 0) -> Ints:
    """Count people by group and label; those with a negative label are in no cell."""
    counted, kinds = labels >= 0, max(kinds, int(labels.max(initial=0)) + 1)
    flat = places[counted] * kinds + labels[counted]
    return np.bincount(flat, minlength=groups * kinds).reshape(groups, kinds)


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
    smallest, options = settings.smallest, option_labels(population)
    people = population.people >= smallest
    outcomes = people and int((options >= 0).sum()) >= smallest
    audited = np.minimum(options, 0)
    design = Design(smallest=smallest, people=people, outcomes=outcomes)
    attributes: list[Attribute] = []
    for attribute in population.attributes:
        pooled = _pool(attribute, settings, audited if outcomes else None)
        if pooled is None or not people:
            design.leave_out(attribute.name, "table")
        else:
            attributes.append(pooled)
    groupings = [group_by(attribute) for attribute in attributes]
    for pair in combinations(attributes, 2) if settings.crossed else ():
        size, name = prod(len(each.groups) for each in pair), " x ".join(each.name for each in pair)
        if size > MOST_CELLS:
            design.leave_out(name, "table", "too_many_groups")
            continue
        both = group_by(*pair)
        if len(both.values) == size and design.passes(both, population.decided):
            groupings.append(both)
        else:
            design.leave_out(name, "table")
    if not outcomes:
        design.leave_out(None, "outcomes")
    for grouping in groupings:
        published = outcomes
        if outcomes and grouping.crossed:
            published = design.allows(grouping, "outcomes", options)
        elif outcomes and has_few(design.count(grouping, audited), smallest).any():
            published = False
            design.leave_out(grouping, "outcomes")
        reference, why = _find_reference(design, grouping, settings)
        complete = replace(grouping, outcomes=published, reference=reference, not_compared=why)
        design.groupings = (*design.groupings, complete)
    return design


def group_by(*attributes: Attribute) -> Grouping:
    """Everybody by some attributes; only the combinations that occur are groups."""
    shape = [len(attribute.groups) for attribute in attributes]
    flat = np.ravel_multi_index([attribute.places for attribute in attributes], shape)
    there, cell = np.unique(flat, return_inverse=True)
    places = np.transpose(np.unravel_index(there, shape)).tolist()
    groups = [list(zip(attributes, row, strict=True)) for row in places]
    return Grouping(
        attributes=tuple(attribute.name for attribute in attributes),
        values=tuple(tuple(each.groups[place] for each, place in group) for group in groups),
        kinds=tuple(tuple(each.kind(place) for each, place in group) for group in groups),
        cell=cell,
        pooled=attributes[0].pooled if len(attributes) == 1 else 0,
    )


def _find_reference(
    design: Design, grouping: Grouping, settings: GroupSettings
) -> tuple[int | None, WhyNotCompared | None]:
    """The group that the others of a table are compared with, or why there is none.

    It is the group that the settings name, or else the largest known group; in a crossed table the
    group of both references, or else the largest.
    """
    known = grouping.comparable
    if len(known) < 2:
        return None, "few_groups"
    wanted: tuple[str | None, ...] = (settings.reference.get(grouping.name),)
    if grouping.crossed:
        wanted = tuple(
            single.labels[single.reference]
            for single in design.single
            if single.name in grouping.attributes and single.reference is not None
        )
    elif wanted[0] is not None and wanted not in [grouping.values[cell] for cell in known]:
        return None, "reference_pooled"
    if wanted in grouping.values:
        return grouping.values.index(wanted), None
    counts = np.bincount(grouping.cell)
    return max(known, key=lambda cell: (counts[cell], -cell)), None


def choose_steps(counts: Ints, candidates: Sequence[int], smallest: int) -> list[int]:
    """The steps up to which it may be said how many people of each group are within them.

    `counts` has people by group (row) and step (column). All groups must have enough people since
    the step before and, unless there is nobody, beyond it; the last possible step is preferred.
    """
    within = np.cumsum(counts[counts.any(axis=1)], axis=1)
    kept: list[int] = []

    def follows(step: int) -> bool:
        since = within[:, step] - (within[:, kept[-1]] if kept else 0)
        return bool((since >= smallest).all())

    beyond = {step: within[:, -1] - within[:, step] for step in candidates}
    ends = [
        step for step in candidates if not beyond[step].any() or (beyond[step] >= smallest).all()
    ]
    for step in ends:
        if follows(step):
            kept.append(step)
    if ends and (not kept or (beyond[ends[-1]] != beyond[kept[-1]]).any()):
        while kept and not follows(ends[-1]):
            kept.pop()
        kept += ends[-1:] if follows(ends[-1]) else []
    return kept


def _pool(attribute: Attribute, settings: GroupSettings, audited: Ints | None) -> Attribute | None:
    """The attribute with small groups pooled, and with those that have few audited people.

    The latter are left as they are where pooling them would leave fewer than two groups to compare,
    or pool the reference group; then the table has no outcomes. None if only one group is left.
    """
    wanted = settings.reference.get(attribute.name)
    if audited is not None:
        pooled = pool_groups(attribute, audited, settings.smallest)
        known = () if pooled is None else pooled.groups[: pooled.known]
        if len(known) > 1 and (wanted is None or wanted in known):
            return pooled
    return pool_groups(attribute, None, settings.smallest)


def pool_groups(attribute: Attribute, labels: Ints | None, smallest: int) -> Attribute | None:
    """Pool the groups of an attribute with few people in all or of a label; None if one is left."""
    size = len(attribute.groups)
    people = np.bincount(attribute.places, minlength=size)
    counts = people[:, None]
    if labels is not None:
        counts = np.hstack([counts, count_cells(attribute.places, size, labels)])
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
    place = np.full(size, kept.size)
    place[kept] = np.arange(kept.size)
    pool = (POOLED if OTHER in attribute.groups else OTHER,) if pooled.any() else ()
    return replace(
        attribute,
        groups=(*(attribute.groups[at] for at in kept.tolist()), *pool),
        places=place[attribute.places],
        known=int((kept < attribute.known).sum()),
        pooled=int(pooled.sum()),
    )


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
