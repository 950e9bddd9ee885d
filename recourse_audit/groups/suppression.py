"""Which figures are withheld, so that nothing can be inferred about a handful of people.

A cell of a table with fewer people than the threshold has no figures, and one with fewer audited
people has none of what the audit found (primary suppression). More is withheld (complementary
suppression) until no withheld count can be worked out from everything that is published, as
`disclosure` finds: how many people there are, how many of them were refused and how many were not,
how many have an option and how many have none, and how the latter divide into certified infeasible
and not found. A reader knows whether a cell is withheld for being small, so that is a constraint.

What is withheld next is the smallest cell near a count that is revealed: of the same row or column
first, then its wholes or parts, then of the same table, then any. What divides people with an
option or without one further (costs, caveats, common options) is shown only in tables of which no
outcome is withheld, and only as far as it reveals nothing of the same kind (`details`).

A count may still follow from a group that is shown and has nobody of a kind (nobody of the south
was refused): this is said of everybody in that group, with or without smaller ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import vstack

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.cells import Cells
from recourse_audit.groups.details import Detail, protect_details
from recourse_audit.groups.disclosure import Moves
from recourse_audit.groups.knowledge import (
    EVERYBODY,
    PUBLISHED,
    SECRETS,
    USABLE,
    Stage,
    State,
    columns_of,
    published,
    sums_of,
)
from recourse_audit.groups.marks import Mark, Without, marks_withheld
from recourse_audit.groups.outcome_suppression import ShownErrorRates, error_rates_shown
from recourse_audit.groups.own_data_suppression import own_data_withheld


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """By table and cell, whether it is under the threshold, and whether it is withheld."""

    primary: tuple[Mask, ...]
    all: tuple[Mask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """What is withheld: all figures of cells, their outcomes, and the details of whole tables.

    Without quartiles, a table also has no quartiles of costs and of options. `everything`: not
    even the figures of everybody can be shown, and `all_outcomes`: none of what the audit found.
    `without_own_data`: tables without answers on own data alone; None if nobody's are shown.
    `error_rates`: what is shown of how decisions turned out; None without outcomes.
    `marks`: the same for each mark.
    """

    people: Withheld
    outcomes: Withheld
    undetailed: tuple[bool, ...]
    without_quartiles: tuple[bool, ...]
    everything: bool = False
    all_outcomes: bool = False
    without_own_data: tuple[bool, ...] | None = None
    error_rates: ShownErrorRates | None = None
    marks: tuple[Without, ...] = ()


def withhold(
    tables: Sequence[Cells],
    kind_of_person: Ints,
    smallest: int,
    *,
    details: Sequence[Detail] = (),
    outcomes: bool = True,
    changed: Mask | None = None,
    came_true: tuple[Ints, Floats] | None = None,
    marks: Sequence[Mark] = (),
) -> Suppression:
    """Find what must not be shown; without `outcomes`, none of what the audit found is shown.

    `kind_of_person` has everybody's place in `KINDS`; `changed` says whose decision would be
    another one on their own data alone, if that is known; `came_true` has what came true later
    (`outcome_parts`) and the scores, if there are outcomes.
    """
    state = State(tables, kind_of_person, smallest)
    found = _withheld(state, kind_of_person, details, outcomes=outcomes)
    if found.all_outcomes:
        found = replace(found, marks=(None,) * len(marks))
    else:
        found = replace(found, marks=marks_withheld(state, kind_of_person, marks))
    if found.everything:
        return found
    audit = not found.all_outcomes
    own = None
    if changed is not None:
        own = own_data_withheld(state, kind_of_person, changed, outcomes=audit)
    if own is not None:
        found = replace(found, without_own_data=tuple(own.withheld.tolist()))
    if came_true is not None:
        shown = error_rates_shown(state, kind_of_person, *came_true, own, audit=audit)
        found = replace(found, error_rates=shown)
    return found


def _withheld(
    state: State, kind_of_person: Ints, details: Sequence[Detail], *, outcomes: bool
) -> Suppression:
    tables = state.tables
    if not _protect(state, 0):
        return _suppression(state, everything=True)
    state.outcomes |= state.people
    if not outcomes or not _protect(state, 1):
        return _suppression(state, all_outcomes=True)
    state.undetailed = np.array(
        [state.outcomes[state.table_of == place].any() for place in range(len(tables))]
    )
    # Without details, people of whom only the sum is known can be told apart in any way.
    if not state.undetailed.all() and not _protect(state, 2):
        return _suppression(state, all_outcomes=True)
    if not protect_details(state, kind_of_person, details):
        return _suppression(state, all_outcomes=True)
    return _suppression(state)


def _suppression(
    state: State, *, everything: bool = False, all_outcomes: bool = False
) -> Suppression:
    ends = np.cumsum([len(table) for table in state.tables])[:-1]
    all_outcomes |= everything
    people, outcomes = state.people | everything, state.outcomes | all_outcomes

    def by_table(mask: Mask) -> tuple[Mask, ...]:
        return tuple(np.split(mask, ends))

    return Suppression(
        people=Withheld(primary=by_table(state.small), all=by_table(people)),
        outcomes=Withheld(primary=by_table(state.few_audited | people), all=by_table(outcomes)),
        undetailed=tuple(bool(one) or all_outcomes for one in state.undetailed),
        without_quartiles=tuple(bool(one) or all_outcomes for one in state.without_quartiles),
        everything=everything,
        all_outcomes=all_outcomes,
    )


def nothing_shown(tables: Sequence[Cells]) -> Suppression:
    """Everything is withheld, for one reason: another would tell groups with few people apart."""
    hidden = Withheld(
        primary=tuple(np.zeros(len(table), dtype=bool) for table in tables),
        all=tuple(np.ones(len(table), dtype=bool) for table in tables),
    )
    return Suppression(
        people=hidden,
        outcomes=hidden,
        undetailed=(True,) * len(tables),
        without_quartiles=(True,) * len(tables),
        everything=True,
        all_outcomes=True,
    )


def _protect(state: State, stage: Stage) -> bool:
    """Withhold more until no secret of this stage or an earlier one is revealed.

    False if nothing is left to withhold, and something is still revealed.
    """
    columns = [kinds for kinds in columns_of(stage) if state.counts[:, list(kinds)].sum()]
    secrets = [(at, kinds) for at, _ in PUBLISHED[: stage + 1] for kinds in SECRETS[at]]
    cells = len(state.by_cell)
    moves = Moves(
        counts=np.column_stack([state.counts[:, list(kinds)].sum(axis=1) for kinds in columns]),
        targets=vstack(
            [sums_of(state, columns, kinds) for kinds in (*(one for _, one in secrets), USABLE)]
        ).tocsr(),
    )
    nobody = np.zeros(cells * len(secrets), dtype=bool)

    def open_secrets() -> Ints:
        masks = [state.hidden(at) & ~state.known(kinds, stage) for at, kinds in secrets]
        return np.flatnonzero(np.concatenate(masks) & ~nobody & ~moves.moved[: nobody.size])

    moves.publish(published(state, stage, columns))
    moves.search(open_secrets())
    while (left := open_secrets()).size:
        secret = int(left[0])
        if moves.can_move(secret):
            continue
        _, kinds = secrets[secret // cells]
        audited = len(secrets) * cells + secret % cells
        outcome = set(kinds) <= set(USABLE)
        if outcome and not state.number(USABLE)[secret % cells] and not moves.can_move(audited):
            nobody[secret] = True  # nobody was audited, so there is no outcome to reveal
            continue
        if not _withhold_more(state, stage, moves, secret):
            return False
        moves.publish(published(state, stage, columns))
        moves.search(open_secrets(), rounds=1)
    return True


def _withhold_more(state: State, stage: Stage, moves: Moves, secret: int) -> bool:
    """Withhold more cells, or the details of one more table; False if nothing is left."""
    if stage == 2:
        shown = np.flatnonzero(~state.undetailed)
        if shown.size:
            state.undetailed[shown[-1]] = True
        return bool(shown.size)
    number = state.number(EVERYBODY if stage == 0 else USABLE)
    cells = moves.cheapest_way(secret, np.log2(1.0 + number))
    if not cells:
        cell = secret % len(state.by_cell)
        places = np.flatnonzero(state.shown(stage) & (number > 0)).tolist()
        near = sorted(places, key=lambda one: (_distance(state, cell, one), int(number[one]), one))
        cells = near[:1]
    state.hidden(stage)[cells] = True
    return bool(cells)


def _distance(state: State, cell: int, other: int) -> int:
    """0 for cells that add up with this one, 1 for its parts and wholes, 2 for the same table."""
    mine, others = state.groups[cell], state.groups[other]
    if state.table_of[cell] == state.table_of[other]:
        return 0 if len(mine) == 1 or mine & others else 2
    return 1 if mine < others or others < mine else 3
