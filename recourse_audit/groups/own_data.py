"""Refusals on own data alone, and whether ties stand in for a protected attribute.

Of everybody with a decision, d is 1 if they were refused and would not be on their own data alone,
-1 the other way round, and 0 otherwise. Its mean in a group is the share refused as decided minus
the share refused alone: the part of a gap that is there without ties, and the part that comes with
them, add up to the gap. People alike on own data are those in one tenth of the answers on own data
alone (and with the same values of `groups.given`): being refused, minus the share refused in one's
tenth, is compared like any other figure. All of this is said of the model's answers. It says
neither what the ties come from, nor how people without ties would fare.

Notes
-----
Within a tenth, answers still differ a little. Where a group has the lower ones and ties matter,
some of the gap on own data is left in the gap between people alike: measured, a twentieth.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from recourse_audit.groups.inference import FEWEST_TIED, GapTest, share_estimate
from recourse_audit.groups.measures import FEWEST_COMPARED, Inputs
from recourse_audit.groups.population import FAVOURABLE, NOWHERE, REFUSED, UNDECIDED, Population
from recourse_audit.groups.redraws import Floats, Ints, Mask
from recourse_audit.groups.tables import (
    ALONE_NO_OPTION,
    Grouping,
    Pair,
    detail_labels,
    has_few,
    own_data_labels,
)
from recourse_audit.groups.verdicts import judge_gaps, judged_fields
from recourse_audit.records.group_figures import (
    Carried,
    GroupTies,
    OwnDataGap,
    OwnDataMeasure,
    OwnDataRates,
)
from recourse_audit.records.groups import OwnDataGroups, OwnDataTable

TENTHS = 10
# Figures of ties leave out one of so many parts of the graph at a time.
PARTS = 16
# Without anything to test, there is no gap; where it was not tested for another reason, who knows.
CARRIED: dict[tuple[bool, bool], Carried] = {
    (True, True): "both",
    (True, False): "ties",
    (False, True): "own_data",
    (False, False): "neither",
}
Draft = tuple[OwnDataMeasure, Pair, GapTest]


def own_data_of(inputs: Inputs) -> OwnDataGroups:
    """The figures of everybody and of all tables that can show them; known if everybody's are."""
    population, design = inputs.population, inputs.design
    decided, alone = population.decided, population.decided_alone
    decided_on = decided != UNDECIDED
    known = bool(decided_on.any() and (alone[decided_on] != UNDECIDED).all())
    ties = {
        grouping.name: found
        for grouping in (design.single if population.network.tied >= FEWEST_TIED else ())
        if (found := ties_of(inputs, grouping)) is not None
    }
    divisions = [np.where(decided == each, alone, NOWHERE) for each in (FAVOURABLE, REFUSED)]
    if not known or not design.people or not design.allows(None, "own_data", *divisions):
        return OwnDataGroups(known=known, overall=None, tables=(), ties=ties)
    tables = [each for each in design.groupings if design.allows(each, "own_data", *divisions)]
    return OwnDataGroups(
        known=True,
        overall=_rates(inputs, np.flatnonzero(decided_on), no_option=design.outcomes),
        tables=tuple(_tables(inputs, tables, decided_on)),
        ties=ties,
    )


def _tables(
    inputs: Inputs, groupings: Sequence[Grouping], decided_on: Mask
) -> Iterator[OwnDataTable]:
    """All tables; the gaps of single attributes are one family."""
    drafts = {each.name: [*_drafts(inputs, each, decided_on)] for each in groupings}
    family = [
        (pair, tested)
        for each in groupings
        if not each.crossed
        for _, pair, tested in drafts[each.name]
    ]
    judged = judge_gaps(family, inputs.settings)
    for grouping in groupings:
        gaps = tuple(
            OwnDataGap(
                measure=measure,
                **(judged_fields(pair, tested) if grouping.crossed else next(judged)),
            )
            for measure, pair, tested in drafts[grouping.name]
        )
        # By one attribute it is said of a whole group who would be let in alone and has no option,
        # as having one is, wherever it is said for whom none exists. Crossed, every cell needs
        # enough.
        needed = [detail_labels(inputs.population)]
        if grouping.crossed:
            needed.append(own_data_labels(inputs.population))
        no_option = grouping.outcomes and inputs.design.allows(
            grouping, "own_data_no_option", *needed
        )
        people = [members[decided_on[members]] for members in grouping.members]
        yield OwnDataTable(
            table=grouping.name,
            by_group={
                label: _rates(inputs, members, no_option=no_option)
                for label, members in zip(grouping.labels, people, strict=True)
                if members.size
            },
            gaps=gaps,
            carried={} if grouping.crossed else dict(_find_carried(gaps)),
        )


def _find_carried(gaps: Sequence[OwnDataGap]) -> Iterator[tuple[str, Carried]]:
    by_group = {(gap.group, gap.measure): gap for gap in gaps}
    for group in dict.fromkeys(gap.group for gap in gaps):
        both = [by_group.get((group, measure)) for measure in ("given_alone", "alone")]
        shown = [
            gap.verdict == "gap shown" for gap in both if gap and gap.untested in (None, "alike")
        ]
        if len(shown) == len(both):
            yield group, CARRIED[shown[0], shown[1]]


def _rates(inputs: Inputs, people: Ints, *, no_option: bool) -> OwnDataRates:
    population = inputs.population
    decided, alone = population.decided[people], population.decided_alone[people]
    labels = own_data_labels(population)[people]
    refused, refused_alone = (inputs.rate(answers == REFUSED) for answers in (decided, alone))
    return OwnDataRates(
        refused=refused,
        refused_alone=refused_alone,
        to_favourable=int((decided < alone).sum()),
        to_refused=int((decided > alone).sum()),
        difference=(refused.count - refused_alone.count) / people.size if people.size else None,
        approved_alone=inputs.rate(decided[alone == FAVOURABLE] == REFUSED),
        no_option=inputs.rate(labels[labels != NOWHERE] == ALONE_NO_OPTION) if no_option else None,
    )


def _drafts(inputs: Inputs, grouping: Grouping, decided_on: Mask) -> Iterator[Draft]:
    """The gaps of a table, tested one by one; of a crossed one, those without and with ties."""
    population = inputs.population
    refused, alone = (
        (answers == REFUSED).astype(np.float64)
        for answers in (population.decided, population.decided_alone)
    )
    values: dict[OwnDataMeasure, Floats] = {"alone": alone, "ties": refused - alone}
    given_alone = None if grouping.crossed else refused_given_alone(population, decided_on)
    if given_alone is not None:
        values["given_alone"] = given_alone
    for pair in grouping.pairs(decided_on):
        if pair.fewer:
            for measure, figures in values.items():
                yield measure, pair, inputs.test(figures, pair)
    approved = decided_on & (population.decided_alone == FAVOURABLE)
    for pair in () if grouping.crossed else grouping.pairs(approved):
        if pair.fewer >= FEWEST_COMPARED:
            yield "approved_alone", pair, inputs.test(refused, pair)


def refused_given_alone(population: Population, among: Mask) -> Floats | None:
    """Being refused, minus the share refused among people alike; None if an answer is not known.

    People are alike if they are in one tenth of the answers on own data alone, and have the same
    values of given columns.
    """
    scores = population.score_alone[among]
    if np.isnan(scores).any():
        return None
    edges = np.quantile(scores, np.linspace(0, 1, TENTHS + 1)[1:-1])
    tenth = np.searchsorted(edges, scores, side="right")
    _, alike = np.unique(TENTHS * population.given[among] + tenth, return_inverse=True)
    refused = (population.decided[among] == REFUSED).astype(np.float64)
    shares = np.bincount(alike, weights=refused) / np.bincount(alike)
    values = np.zeros(population.people)
    values[among] = refused - shares[alike]
    return values


def ties_of(inputs: Inputs, grouping: Grouping) -> GroupTies | None:
    """How far ties keep to one's own group, and how well the groups of neighbours tell one's own.

    Among people of known groups; None if only a few ties keep to groups, or only a few do not.
    """
    network = inputs.population.network
    if len(grouping.comparable) < 2:
        return None
    known = np.isin(grouping.cell, grouping.comparable)
    neighbours = network.ties @ known.astype(np.float64)
    there = np.flatnonzero(known & (neighbours > 0))
    _, part = np.unique(network.parts(PARTS)[there], return_inverse=True)
    same = np.zeros(known.size)
    told = {}
    for cell in grouping.comparable:
        member = grouping.cell == cell
        of_group = network.ties @ member.astype(np.float64)
        same += member * of_group
        values = of_group[there] / neighbours[there]
        areas = areas_without(values, member[there], part)
        told[grouping.labels[cell]] = share_estimate(areas, inputs.settings.alpha)
    ends = np.array([same[there], neighbours[there]])
    pairs = np.array([same.sum(), ends[1].sum() - same.sum()]).astype(np.int64) // 2
    if has_few(pairs, inputs.settings.smallest).any():
        inputs.design.leave_out(grouping, "own_ties")
        return None
    by_part = np.array([np.bincount(part, weights=side) for side in ends])
    left = np.column_stack([ends.sum(axis=1), ends.sum(axis=1, keepdims=True) - by_part])
    shares = grouping.counts(np.flatnonzero(known)) / known.sum()
    return GroupTies(
        within=share_estimate(left[0] / left[1], inputs.settings.alpha),
        by_chance=float(shares @ shares),
        told=told,
    )


def areas_without(values: Floats, member: Mask, part: Ints) -> Floats:
    """The chance that a member has the larger value, or half of it if they are equal.

    Of all, and without each part. Not a number where no member, or only members, are left.
    """
    distinct, place = np.unique(values, return_inverse=True)
    shape = distinct.size, 2, int(part.max(initial=0)) + 1
    flat = np.ravel_multi_index((place, member.astype(np.int64), part), shape)
    counts = np.bincount(flat, minlength=np.prod(shape)).reshape(shape).astype(np.float64)
    all_ = counts.sum(axis=2, keepdims=True)
    others, members = np.concatenate([all_, all_ - counts], axis=2).swapaxes(0, 1)
    below = np.cumsum(others, axis=0) - others / 2
    with np.errstate(invalid="ignore"):
        areas: Floats = (members * below).sum(axis=0) / (members.sum(axis=0) * others.sum(axis=0))
    return areas
