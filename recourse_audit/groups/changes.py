"""What options ask for: whom ended ties lead to, and the changes that serve most people.

*Cut off* counts pairs of people once per subject, however many parallel ties a pair has, of
whatever kind and direction: to end one tie or all three ties to somebody is to be advised against
the same person once.

*Common options* are kinds of change, chosen in turn, that at last serve everybody with an option.

*Common actions* were tried on everybody refused, so the share that each serves can be compared
between groups; shares are of everybody audited, as those of people with an option are. An action
that serves a few people has no figures and is in no set. Compared are the shares *not* served, so
that a plus is worse for the group; all gaps of all actions and sets are one family of their own,
corrected by Holm's method.

Notes
-----
People who are served by the same actions are alike, so a set is sought over their patterns. An
integer program finds the smallest set and, among sets of that size, one that serves most. Where
there are too many patterns, or no answer within the limit, actions are taken one by one, always the
one that serves most of those left. Such a set is at most 1 + ln(m) times as large as the smallest,
where m is the number of people whom the best single action serves (Wolsey 1982).
"""

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack, identity, vstack

from recourse_audit.groups.inference import FEWEST_COMMUNITIES, GapTest, jackknife_interval
from recourse_audit.groups.measures import Inputs, quartiles_of
from recourse_audit.groups.population import NOWHERE, VERIFIED, Population
from recourse_audit.groups.redraws import Floats, Ints, Mask
from recourse_audit.groups.tables import Grouping, Pair, choose_steps, has_few
from recourse_audit.groups.verdicts import judge_gaps
from recourse_audit.records.group_figures import (
    ActionFigures,
    ActionGap,
    ActionSet,
    CommonActions,
    ServedGroups,
)
from recourse_audit.records.groups import Change, CommonOption, CutOff, CutOffTable, Do
from recourse_audit.records.recourse import CommonAction

Which = Literal["first", "all"]
PAIR = "subject, min(source, target), max(source, target)"
# A tie that moves ends as well; its second row is the new end.
ENDED = "(do = 'drop' OR do = 'move' AND tie = 0) AND source + target IS NOT NULL"
DROPPED: dict[Which, str] = {
    "first": f"SELECT DISTINCT {PAIR} FROM actions WHERE {ENDED} AND option = 0",  # noqa: S608
    "all": f"SELECT DISTINCT {PAIR} FROM actions WHERE {ENDED}",  # noqa: S608
}
DROPPABLE = f"SELECT DISTINCT {PAIR} FROM droppable"  # noqa: S608
# Without a column of communities, the graph is cut into so many parts with few ties between them.
PARTS = 16
MOST_SHOWN = 50
MOST_PATTERNS = 2_000
# A number of nodes, not a time, so that the result is the same on every machine.
MOST_NODES = 2_000
Whom = Literal["of the served", "of everybody"]
SHARES: dict[Whom, tuple[float, ...]] = {
    "of the served": (0.5, 0.8, 0.9, 1.0),
    "of everybody": (0.5, 0.8, 0.9),
}
Kinds = frozenset[tuple[Do, str]]


# ---------------------------------------------------------------- whom ended ties lead to


def cut_off(inputs: Inputs, store: sqlite3.Connection) -> Iterator[CutOffTable]:
    """By attribute whom first options drop ties to, and whom any option does.

    A tie leads to the end that is not the subject, or to both ends if neither is. Droppable are
    the ties that the policy would let the same people drop: everybody with an option. Pairs of
    people count once among the dropped and once among the droppable, so that their shares can be
    compared. A table passes as those of people do, with ties in its cells.
    """
    audited, smallest = inputs.population.audited, inputs.settings.smallest
    advised = audited.person[audited.status == VERIFIED]
    droppable = _read_ends(store, DROPPABLE, advised)
    dropped = {which: _read_ends(store, query, advised) for which, query in DROPPED.items()}
    for grouping in inputs.design.single:
        ends = (dropped["first"], dropped["all"], droppable)
        first, every, could = (grouping.counts(people) for _, people in ends)
        options: list[Which] = ["first", "all"]
        if has_few(np.stack([first, could - first]), smallest).any():
            options = []
        elif has_few(np.stack([every, every - first, could - every]), smallest).any():
            options = ["first"]
        if len(options) < len(dropped):
            inputs.design.leave_out(grouping, "ties")
        for which in options:
            yield _cut_off_table(inputs, grouping, which, dropped[which], droppable, advised.size)


def _read_ends(store: sqlite3.Connection, query: str, advised: Ints) -> Ints:
    """The subjects whose ties these are (first row), and the people whom they lead to."""
    rows = np.array(list(store.execute(query)), np.int64).reshape(-1, 3)
    subject, low, high = rows[np.isin(rows[:, 0], advised)].T
    ends = np.stack([np.concatenate([subject, subject]), np.concatenate([low, high])])
    return np.asarray(ends[:, ends[0] != ends[1]])


def _cut_off_table(
    inputs: Inputs, grouping: Grouping, which: Which, dropped: Ints, droppable: Ints, people: int
) -> CutOffTable:
    few = people < inputs.settings.smallest
    any_dropped = not few and dropped.size > 0
    counts = [grouping.counts(ends[1]) for ends in (dropped, droppable)]
    shares = [count / max(1, count.sum()) for count in counts]
    without = (
        _ratios_without(inputs.population, grouping, dropped, droppable) if any_dropped else None
    )
    rows = []
    for place, name in enumerate(grouping.labels if any_dropped else ()):
        mine, could = (float(share[place]) for share in shares)
        ratio, interval = mine / could if could else None, None
        if ratio is not None and without is not None:
            interval = jackknife_interval(ratio, without[place], inputs.settings.alpha)
        rows.append(
            CutOff(
                group=name,
                dropped=int(counts[0][place]),
                dropped_share=mine,
                droppable=int(counts[1][place]),
                droppable_share=could,
                ratio=ratio,
                interval=interval,
            )
        )
    return CutOffTable(
        attribute=grouping.name,
        options=which,
        people=0 if few else people,
        dropped=0 if few else dropped.shape[1],
        droppable=0 if few else droppable.shape[1],
        by_group=tuple(rows),
        nothing="few_people" if few else None if any_dropped else "no_tie_dropped",
    )


def _ratios_without(
    population: Population, grouping: Grouping, dropped: Ints, droppable: Ints
) -> Floats | None:
    """By group, the ratio with each community of subjects left out; None if there are too few."""
    community = population.community
    if community is None:
        community = population.network.parts(PARTS)
    shape = len(grouping.values), int(community.max(initial=0)) + 1
    there = np.unique(community[droppable[0]])
    if there.size < FEWEST_COMMUNITIES:
        return None
    shares = []
    with np.errstate(all="ignore"):
        for subjects, people in (dropped, droppable):
            places = grouping.cell[people] * shape[1] + community[subjects]
            counts = np.bincount(places, minlength=math.prod(shape)).reshape(shape)[:, there]
            left = counts.sum(axis=1, keepdims=True) - counts
            shares.append(left / left.sum(axis=0))
        ratios: Floats = shares[0] / shares[1]
    return ratios


# ---------------------------------------------------------------- kinds of change


def common_options_of(inputs: Inputs, store: sqlite3.Connection) -> Iterator[CommonOption]:
    """Kinds of change, and the share of each group that they serve so far.

    The list ends where an option would serve a few more people. Shares of groups are given at the
    steps at which none of them has a few more.
    """
    design, audited = inputs.design, inputs.population.audited
    if not design.outcomes:
        return
    usable = audited.person[audited.usable]
    has_option = audited.person[audited.usable & np.isfinite(audited.cost)]
    options = options_by_subject(store)
    options = {who: options[who] for who in has_option.tolist() if who in options}
    subjects = np.array(list(options), dtype=np.int64)
    choices = [
        (changes, subjects[served])
        for changes, served in islice(choose_options(options), MOST_SHOWN)
    ]
    labels = np.full(inputs.population.people, NOWHERE)
    labels[has_option] = len(choices)
    for step, (_, reached) in reversed([*enumerate(choices)]):
        labels[reached] = step
    steps = choose_steps(design.count(None, labels), range(len(choices)), design.smallest)
    by_table = []
    for grouping in design.single:
        if grouping.outcomes:
            kept = choose_steps(design.count(grouping, labels), steps, design.smallest)
            by_table.append((grouping, kept))
            if steps and not kept:
                design.leave_out(grouping, "common_options")
    if choices and not steps:
        design.leave_out(None, "common_options")
    before = 0
    for step in steps:
        changes, reached = choices[step]
        yield CommonOption(
            changes=changes,
            serves=reached.size - before,
            served_so_far=reached.size,
            share_so_far=reached.size / usable.size,
            shares_by_group={
                grouping.name: _shares_of(grouping, reached, usable)
                for grouping, kept in by_table
                if step in kept
            },
        )
        before = reached.size


def _shares_of(grouping: Grouping, served: Ints, people: Ints) -> dict[str, float]:
    counts = zip(grouping.labels, grouping.counts(served), grouping.counts(people), strict=True)
    return {label: int(count) / int(of) for label, count, of in counts if of}


def options_by_subject(store: sqlite3.Connection) -> dict[int, frozenset[Kinds]]:
    """The kinds of change of each option, by subject; a category is a kind for each value."""
    rows = store.execute(
        """SELECT subject, option, do, coalesce(
             kind, CASE typeof(after) WHEN 'text' THEN attribute || ' = ' || after END, attribute,
             ''
           ) FROM actions ORDER BY subject, option"""
    )
    return {
        subject: frozenset(
            frozenset((do, what) for _, _, do, what in steps)
            for _, steps in groupby(actions, key=itemgetter(1))
        )
        for subject, actions in groupby(rows, key=itemgetter(0))
    }


def choose_options(
    options: Mapping[int, frozenset[Kinds]],
) -> Iterator[tuple[tuple[Change, ...], Mask]]:
    """Choose options until everybody with an option is served: each time what serves most more.

    Yields the kinds of change of each choice, and a mask of the subjects served so far, in order.
    """
    choices = sorted({kinds for several in options.values() for kinds in several}, key=sorted)
    kinds = sorted({kind for choice in choices for kind in choice})
    needs = np.array([[kind in choice for kind in kinds] for choice in choices], dtype=np.float64)
    patterns = Counter(options.values())
    has = np.array([[c in row for c in choices] for row in patterns], dtype=np.float64)
    pattern_of = {row: place for place, row in enumerate(patterns)}
    of_subject = np.array([pattern_of[several] for several in options.values()], dtype=np.int64)
    for place, served in choose_in_turn(has, needs, np.array([*patterns.values()])):
        changes = tuple(Change(do=do, what=what) for do, what in sorted(choices[place]))
        yield changes, served[of_subject]


def choose_in_turn(has: Floats, needs: Floats, people: Ints) -> Iterator[tuple[int, Mask]]:
    """Choose what serves most more until every pattern of people is served; of several, the first.

    `has` says which choices serve a pattern, and `needs` of which kinds a choice is made: with all
    of them chosen, it is chosen too. Yields each choice, and which patterns are served so far.
    """
    chosen = np.zeros(needs.shape[-1], dtype=bool)
    served = np.zeros(len(has), dtype=bool)
    while not served.all():
        missing = (~((needs > 0) | chosen)).astype(np.float64)
        reached = has @ (needs @ missing.T == 0).astype(np.float64) > 0
        place = int((people * ~served @ reached).argmax())
        chosen |= needs[place] > 0
        served = has @ (needs @ ~chosen == 0) > 0
        yield place, served


# ---------------------------------------------------------------- one action for all


class ChosenSet(NamedTuple):
    """Places of actions, ascending; `exact` if no smaller set serves as many as wanted."""

    actions: tuple[int, ...]
    exact: bool


def smallest_set(serves: Mask, wanted: int) -> ChosenSet | None:
    """The smallest set of columns with somebody in `wanted` rows; None if all are not enough."""
    if wanted <= 0 or int(serves.any(axis=1).sum()) < wanted:
        return None
    patterns, people = np.unique(serves[serves.any(axis=1)], axis=0, return_counts=True)
    chosen = _solve(patterns, people, wanted) if len(patterns) <= MOST_PATTERNS else None
    if chosen is not None:
        return ChosenSet(chosen, exact=True)
    return ChosenSet(greedy_set(patterns, people, wanted), exact=False)


def greedy_set(patterns: Mask, people: Ints, wanted: int) -> tuple[int, ...]:
    """Take the action that serves most of those left until as many as wanted are served."""
    chosen: list[int] = []
    for place, served in choose_in_turn(patterns.astype(float), np.eye(patterns.shape[1]), people):
        chosen.append(place)
        if people[served].sum() >= wanted:
            break
    return tuple(sorted(chosen))


def _solve(patterns: Mask, people: Ints, wanted: int) -> tuple[int, ...] | None:
    """The same exactly: fewest actions first, then most people; None if it takes too long.

    Unknown are whether each action is taken, and the share of each pattern that is served.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    count, actions = patterns.shape
    served = hstack([-csr_array(patterns.astype(float)), identity(count)])
    number = csr_array(np.concatenate([np.zeros(actions), people.astype(float)])[np.newaxis])
    cost = np.concatenate([np.full(actions, float(people.sum() + 1)), -people.astype(float)])
    solution = milp(
        cost,
        constraints=LinearConstraint(
            vstack([served, number], format="csr"),
            np.append(np.full(count, -np.inf), float(wanted)),
            np.append(np.zeros(count), np.inf),
        ),
        integrality=np.concatenate([np.ones(actions), np.zeros(count)]),
        bounds=Bounds(0, 1),
        options={"node_limit": MOST_NODES, "mip_rel_gap": 0.0},
    )
    if solution.status != 0:
        return None
    taken: list[int] = np.flatnonzero(solution.x[:actions] > 0.5).tolist()
    return tuple(taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What actions do for everybody audited without an error; whom one serves has an option."""

    actions: tuple[CommonAction, ...]
    person: Ints
    people: int
    has_option: Mask
    serves: Mask
    applies: Mask
    unsettled: Mask
    cost: Floats

    def by_set(self, actions: Sequence[int]) -> Mask:
        return np.asarray(self.serves[:, list(actions)].any(axis=1))

    def labels(self, among: Mask, mark: Mask) -> Ints:
        """Some of the audited by whether they have a mark; labels of everybody."""
        labels = np.full(self.people, NOWHERE)
        labels[self.person[among]] = mark[among]
        return labels

    def divisions(self, actions: Sequence[int]) -> list[Ints]:
        """What is said with whom some actions serve: of those with an option, and of each action.

        Beside a set stand the actions that it is made of, so that whom only the others serve
        follows, and of two actions whom both serve.
        """
        yes = self.by_set(actions)
        divisions = [self.labels(self.has_option, yes)]
        if len(actions) > 1:
            divisions += [self.labels(yes, self.serves[:, action]) for action in actions]
        if len(actions) == 2:
            divisions.append(
                self.labels(yes, np.asarray(self.serves[:, list(actions)].all(axis=1)))
            )
        return divisions

    def rows(self, grouping: Grouping) -> Iterator[tuple[str, Ints]]:
        for label, rows in zip(grouping.labels, grouping.split(self.person), strict=True):
            if rows.size:
                yield label, rows


def read_served(store: sqlite3.Connection, population: Population) -> Served:
    """Read what the actions do."""
    actions = tuple(
        CommonAction(do=do, what=what, ties=ties, by=by, to=to, unit=unit)
        for do, what, ties, by, to, unit in store.execute(
            "SELECT do, what, ties, moves, value, unit FROM common_actions ORDER BY number"
        )
    )
    audited = population.audited
    person = audited.person[audited.usable]
    place = np.full(population.people, -1)
    place[person] = np.arange(person.size)
    rows = store.execute(
        """SELECT subject, action, 1, outcome = 'serves', outcome = 'not_settled', cost
           FROM common_outcomes"""
    )
    figures = np.array(list(rows), np.float64).reshape(-1, 6)
    at, action = place[figures[:, 0].astype(np.int64)], figures[:, 1].astype(np.int64)
    table = np.zeros((4, person.size, len(actions)))
    table[3] = np.nan
    table[:, at[at >= 0], action[at >= 0]] = figures[at >= 0, 2:].T
    applies, serves, unsettled = table[:3] > 0
    has_option = audited.status[audited.usable] == VERIFIED
    return Served(
        actions=actions,
        person=person,
        people=population.people,
        has_option=has_option,
        serves=serves & has_option[:, np.newaxis],
        applies=applies,
        unsettled=unsettled,
        cost=table[3],
    )


def common_actions_of(inputs: Inputs, store: sqlite3.Connection) -> CommonActions:
    """The figures of all actions and sets that can be shown, with gaps between groups."""
    served = read_served(store, inputs.population)
    if not served.actions:
        return CommonActions(actions=(), sets=(), nothing="not_asked")
    if not inputs.design.outcomes:
        return CommonActions(actions=(), sets=(), nothing="few_people")
    sets = list(_choose_sets(inputs, served))
    single = [(number,) for number in range(len(served.actions))]
    groups = _count_served(inputs, served, [*single, *(chosen.actions for _, _, chosen in sets)])
    return CommonActions(
        actions=tuple(
            _action_figures(inputs, served, number, groups[number,]) for (number,) in single
        ),
        sets=tuple(
            ActionSet(share=share, of=of, actions=actions, exact=exact, served=groups[actions])
            for share, of, (actions, exact) in sets
            if groups[actions].everybody is not None
        ),
        nothing=None,
    )


def _choose_sets(inputs: Inputs, served: Served) -> Iterator[tuple[float, Whom, ChosenSet]]:
    """The smallest sets of those actions of which it can be shown whom they serve."""
    numbers = range(len(served.actions))
    able = [each for each in numbers if inputs.design.passes(None, *served.divisions([each]))]
    candidates = served.serves[:, able]
    anybody = int(candidates.any(axis=1).sum())
    people = {"of the served": anybody, "of everybody": len(candidates)}
    for of, shares in SHARES.items():
        for share in shares:
            chosen = smallest_set(candidates, math.ceil(share * people[of] - 1e-9))
            if chosen is not None:
                actions = tuple(able[place] for place in chosen.actions)
                yield share, of, ChosenSet(actions, chosen.exact)


def _action_figures(
    inputs: Inputs, served: Served, number: int, groups: ServedGroups
) -> ActionFigures:
    """One action, of which it is known whom it serves."""
    yes, applies = served.serves[:, number], served.applies[:, number]
    open_ = served.unsettled[:, number]
    whom = [served.labels(np.ones_like(applies), applies), served.labels(applies, yes)]
    design = inputs.design
    counted = groups.everybody is not None and design.allows(None, "common_actions", *whom)
    settled = counted and design.allows(
        None, "common_actions", served.labels(applies & ~yes, open_)
    )
    return ActionFigures(
        action=served.actions[number],
        served=groups,
        applies=int(applies.sum()) if counted else None,
        applies_by_group={
            grouping.name: {
                label: int(applies[rows].sum()) for label, rows in served.rows(grouping)
            }
            for grouping in design.single
            if counted
            and grouping.name in groups.by_group
            and design.allows(grouping, "common_actions", *whom)
        },
        not_settled=int(open_.sum()) if settled else None,
        effort=quartiles_of(served.cost[yes, number]).median if groups.everybody else None,
    )


def _count_served(
    inputs: Inputs, served: Served, sets: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], ServedGroups]:
    """Whom actions and sets of them serve, with gaps in the share that is not served."""
    groups = {actions: _groups_served(inputs, served, actions) for actions in sets}
    drafts: dict[tuple[int, ...], list[tuple[str, Pair, GapTest]]] = {name: [] for name in groups}
    everyone = np.ones(served.person.size, dtype=bool)
    among = served.labels(everyone, everyone) >= 0
    # Tests of the same people share most of their work, if they follow each other.
    for grouping in inputs.design.single:
        for pair in grouping.pairs(among):
            for actions, figures in groups.items():
                if grouping.name in figures.by_group and pair.fewer:
                    values = served.labels(everyone, ~served.by_set(actions))
                    tested = inputs.test(values.astype(np.float64), pair)
                    drafts[actions].append((grouping.name, pair, tested))
    every = [draft for own in drafts.values() for draft in own]
    judged = judge_gaps([draft[1:] for draft in every], inputs.settings)
    gaps = (ActionGap(table=name, **own) for (name, *_), own in zip(every, judged, strict=True))
    return {
        actions: replace(groups[actions], gaps=tuple(islice(gaps, len(own))))
        for actions, own in drafts.items()
    }


def _groups_served(inputs: Inputs, served: Served, actions: tuple[int, ...]) -> ServedGroups:
    yes, divisions = served.by_set(actions), served.divisions(actions)
    if not inputs.design.allows(None, "common_actions", *divisions):
        return ServedGroups(everybody=None, by_group={}, gaps=())
    by_group = {
        grouping.name: {label: inputs.rate(yes[rows]) for label, rows in served.rows(grouping)}
        for grouping in inputs.design.single
        if grouping.outcomes and inputs.design.allows(grouping, "common_actions", *divisions)
    }
    return ServedGroups(everybody=inputs.rate(yes), by_group=by_group, gaps=())
