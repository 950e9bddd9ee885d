"""What could be published of how decisions turned out, and of which groups it would say too much.

Outcomes divide the people of each kind into good, bad and not known, and scores divide those
further into bins. Five parts are published or withheld by whole tables:

approvals    of the people with a favourable decision, how many turned out good and bad
refusals     the same of the refused
options      of the audited who turned out good, how many have no option
details      how many of these are certified infeasible, how many not found within the budget
calibration  in each bin of scores, how many turned out good and bad (tables of one attribute)

A group with fewer people of either outcome than the threshold is a handful: its figures would say
of a few people, or nearly of all, how the decision on them turned out.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.calibration import FEWEST_BINS, bins_of, edges_of, merged
from recourse_audit.groups.knowledge import (
    EVERYBODY,
    FAVOURABLE,
    FOUND,
    INFEASIBLE,
    NOT_FOUND,
    REFUSED,
    USABLE,
    WITHOUT,
    Kinds,
    State,
)
from recourse_audit.groups.notes import Part
from recourse_audit.groups.people import BAD, GOOD, NOT_KNOWN

PARTS: tuple[Part, ...] = ("approvals", "refusals", "options", "details", "calibration")
OF_REFUSED: tuple[Part, ...] = ("refusals", "options", "details")
OF_AUDIT: tuple[Part, ...] = ("options", "details")
# False refusals are only computed where the outcomes of this share of the refused are known.
LEAST_KNOWN = 0.95
# The kinds of people that a part divides by outcome.
BASES: dict[Part, tuple[Kinds, ...]] = {
    "approvals": ((FAVOURABLE,),),
    "refusals": (REFUSED,),
    "options": ((FOUND,), WITHOUT),
    "details": ((INFEASIBLE,), (NOT_FOUND,)),
    "calibration": (EVERYBODY,),
}


def enough_known(known: int, of: int) -> bool:
    """Whether the outcomes of enough refused people are known to compute false refusals."""
    return known > 0 and known >= LEAST_KNOWN * of


def _columns(
    kind_of_person: Ints, outcome: Ints, bins: Ints, scope: Kinds
) -> list[tuple[int, int, int]]:
    """All that people might be: a kind, an outcome and a bin.

    Everybody knows which decision goes with which scores, and no more: a bin that nobody has on
    whom the same was decided is left out, and any outcome is possible in the others.
    """
    columns = []
    for kind in np.unique(kind_of_person).tolist():
        columns.append((kind, NOT_KNOWN, -1))
        if kind in scope:
            decided = (FAVOURABLE,) if kind == FAVOURABLE else REFUSED
            there = np.isin(kind_of_person, decided) & (outcome != NOT_KNOWN)
            for one in np.unique(bins[there]).tolist():
                columns += [(kind, GOOD, one), (kind, BAD, one)]
    return columns


class Divided:
    """Everybody by joint cell and column: a kind, an outcome, and a bin of scores.

    Outcomes of the refused are left out unless enough of them are known. A bin is -1 where there
    is no score, or the outcome is not known. Unless they are `calibrated`, all are in one bin.
    """

    def __init__(
        self,
        state: State,
        kind_of_person: Ints,
        outcome: Ints,
        score: Floats,
        *,
        calibrated: bool = True,
    ) -> None:
        self.state = state
        refused = np.isin(kind_of_person, REFUSED)
        known = int((refused & (outcome != NOT_KNOWN)).sum())
        self.refused_known = enough_known(known, int(refused.sum()))
        scope: Kinds = (FAVOURABLE, *(REFUSED if self.refused_known else ()))
        outcome = np.where(np.isin(kind_of_person, scope), outcome, NOT_KNOWN)
        self.edges = self._edges(outcome, score) if calibrated else np.zeros(2)
        bins = np.where(outcome == NOT_KNOWN, -1, bins_of(score, self.edges))
        columns = _columns(kind_of_person, outcome, bins, scope)
        self.kind, self.outcome, self.bin = np.array(columns).T
        place = {one: number for number, one in enumerate(columns)}
        everybody = zip(kind_of_person.tolist(), outcome.tolist(), bins.tolist(), strict=True)
        self.counts = np.zeros((state.joint.size, len(columns)), dtype=np.int64)
        np.add.at(self.counts, (state.joint.of_person, np.array([place[p] for p in everybody])), 1)
        self.inside = state.joint.inside.astype(np.int64)
        self.everybody = np.ones((1, state.joint.size), np.int64)
        self.bins = self._bins()

    def _edges(self, outcome: Ints, score: Floats) -> Floats:
        """The ends of everybody's bins; of nobody, those of a single one."""
        known = (outcome != NOT_KNOWN) & ~np.isnan(score)
        if not known.any():
            return np.zeros(2)
        edges = edges_of(score[known])
        place, size = bins_of(score[known], edges), edges.size - 1
        good, bad = (
            np.bincount(place[outcome[known] == one], minlength=size)[np.newaxis]
            for one in (GOOD, BAD)
        )
        return edges[merged(good, bad, self.state.smallest)]

    def _bins(self) -> dict[int | None, list[int]]:
        """Where the bins start by table, and the end of the last; None has those of everybody."""
        state, size = self.state, self.edges.size - 1
        found: dict[int | None, list[int]] = {None: list(range(size + 1))}
        for place, table in enumerate(state.tables):
            if len(table.attributes) == 1:
                good, bad = (
                    np.stack([self.number(self.of(EVERYBODY, outcome, (one, one + 1)))
                              for one in range(size)], axis=1)[state.table_of == place]
                    for outcome in (GOOD, BAD)
                )  # fmt: skip
                found[place] = merged(good, bad, state.smallest)
        return found

    def of(self, kinds: Kinds, outcome: int, bins: tuple[int, int] | None = None) -> Mask:
        """The columns of some kinds with an outcome, in any bin or from one bin to another."""
        counted = np.isin(self.kind, kinds) & (self.outcome == outcome)
        if bins is not None:
            counted &= (self.bin >= bins[0]) & (self.bin < bins[1])
        return np.asarray(counted)

    def not_good(self, kinds: Kinds) -> Mask:
        """The columns of some kinds whose outcome is bad, or not known."""
        return np.asarray(np.isin(self.kind, kinds) & (self.outcome != GOOD))

    def number(self, counted: Mask, inside: Ints | None = None) -> Ints:
        """How many people of these columns each cell has, or each of other sums of joint cells."""
        rows = self.inside if inside is None else inside
        number: Ints = rows @ self.counts[:, counted].sum(axis=1)
        return number

    def figures(self, part: Part, place: int | None) -> Iterator[Mask]:
        """What a part publishes of each group of a table, or of everybody."""
        match part:
            case "approvals" | "refusals":
                [kinds] = BASES[part]
                yield from (self.of(kinds, one) for one in (GOOD, BAD))
            case "options":
                yield from (self.of(kinds, GOOD) for kinds in (USABLE, WITHOUT))
            case "details":
                yield from (self.of(kinds, GOOD) for kinds in BASES[part])
            case "calibration":
                starts = self.bins.get(place, [])
                for ends in pairwise(starts):
                    yield from (self.of(EVERYBODY, one, ends) for one in (GOOD, BAD))

    def few(self, part: Part, inside: Ints | None = None) -> Mask:
        """The groups of which a part would say how a handful turned out, or all of them.

        Bins are merged until none of them does.
        """
        few = np.zeros(len(self.inside if inside is None else inside), dtype=bool)
        if part in ("approvals", "refusals", "options"):
            kinds = USABLE if part == "options" else BASES[part][0]
            few |= self.few_of(kinds, None, inside)
        if part in OF_AUDIT:
            for kinds in BASES[part]:
                few |= self._alike(kinds, inside)
        return few

    def few_of(
        self, kinds: Kinds, bins: tuple[int, int] | None = None, inside: Ints | None = None
    ) -> Mask:
        """The groups with fewer people of either outcome than the threshold."""
        good, bad = (self.number(self.of(kinds, one, bins), inside) for one in (GOOD, BAD))
        return np.asarray((good + bad > 0) & (np.minimum(good, bad) < self.state.smallest))

    def _alike(self, kinds: Kinds, inside: Ints | None) -> Mask:
        """Groups with a handful of these kinds, or in which none of them, or all, turned out good.

        Those who turned out good are no handful together; what the audit found divides them.
        """
        good, other = (
            self.number(one, inside) for one in (self.of(kinds, GOOD), self.not_good(kinds))
        )
        handful = good + other < self.state.smallest
        return np.asarray((good + other > 0) & (handful | (good == 0) | (other == 0)))

    def hidden(self, part: Part) -> Mask:
        """The groups of which nothing is shown that the part is about."""
        return self.state.outcomes if part in OF_AUDIT else self.state.people

    def known(self, part: Part, *, audit: bool) -> bool:
        """Whether enough is known for a part at all; `audit` as in `possible`."""
        if part in OF_AUDIT and not audit:
            return False
        return self.refused_known or part not in OF_REFUSED

    def possible(self, part: Part, place: int | None, *, audit: bool) -> bool:
        """Whether a table, or everybody, could show a part if nothing else were published.

        Without `audit`, nothing that the audit found is shown.
        """
        state = self.state
        if not self.known(part, audit=audit):
            return False
        if part == "calibration" and len(self.bins.get(place, [])) <= FEWEST_BINS:
            return False
        if place is None:
            known = any(self.number(one, self.everybody)[0] for one in self.figures(part, None))
            return known and not self.few(part, self.everybody)[0]
        if part == "details" and state.undetailed[place]:
            return False
        return not (self.few(part) | self.hidden(part) | state.people)[
            state.table_of == place
        ].any()
