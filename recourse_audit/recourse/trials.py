"""The search for combinations that work, for one subject: what was tried, and how completely.

Sizes are taken one after the other. A size whose combinations fit into the budget is tried in full,
apart from what is covered by something that works. Of a larger size, the combinations with the
largest sums of effects are tried (of single actions, the subject's own first), and later sizes keep
a share of the budget. Only sizes tried in full count in a certificate.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.recourse.actions import NONE, ActionTable, as_rows
from recourse_audit.recourse.combinations import (
    Cover,
    best,
    count_parts,
    counts,
    diverse,
    every,
    parts,
)
from recourse_audit.recourse.verification import Verifier

AT_ONCE = 512
# How many combinations a query may hold before their turn: of the same size, of the next ones.
AHEAD = 2048
SIZES_AHEAD = 512
MOST_LISTED = 200_000
RESERVE = 100
LARGEST_KEY = 2**62
EAGERNESS = np.array([0, 2, 1])  # which single actions come first: drop, then set, then add

Combination = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """A combination that works: the answer it got, and how it was found."""

    combination: Combination
    answer: Floats
    source: str


class Trials:
    """Tries combinations of one subject's actions, never more than the budget allows."""

    def __init__(
        self,
        verifier: Verifier,
        decisions: Decisions,
        table: ActionTable,
        now: Floats,
        budget: Callable[[], int],
        allowed: Callable[[Ints], Mask] | None = None,
    ) -> None:
        """`now` is the subject's answer before any change.

        `budget` is how many evaluations the verifier may make, which depends on how it asks.
        `allowed` says which combinations keep to the policy's conditions; all, if there is none.
        """
        self.complete_up_to = 0
        self.successes: dict[Combination, Success] = {}
        self._verifier = verifier
        self._decisions = decisions
        self._table = table
        self._budget = budget
        self._now = float(decisions.lead(now[None], table.subject)[0])
        self._tried: set[Combination] = set()
        self._unasked: set[Combination] = set()
        self._cover = Cover(table)
        self._effect = np.full(len(table), np.nan)
        self._allowed = allowed
        if allowed is not None:
            # What is not allowed alone has no effect that was measured, and may go with others.
            self._effect[~allowed(np.arange(len(table))[:, None])] = 0.0

    @property
    def tried(self) -> int:
        return len(self._tried)

    @property
    def unasked(self) -> int:
        """How many combinations a model of fixed size has no room for."""
        return len(self._unasked)

    @property
    def left(self) -> int:
        """How many evaluations the budget still has."""
        return self._budget() - self._verifier.evaluations

    def follow(self, combinations: Iterable[Combination], max_changes: int) -> None:
        """Try what the search for explanations would remove, in its order.

        Sizes up to `max_changes` are to be tried later, and may be part of the same query.
        """
        wanted = [chosen for chosen in dict.fromkeys(combinations) if chosen not in self._tried]
        self._foresee_sizes(max_changes)
        self._try(as_rows(wanted), "counterfactual")

    def run(self, max_changes: int, enough: int) -> None:
        """Go through the sizes until all are done, or no better option can be found."""
        for size in range(1, max_changes + 1):
            if self._can_stop(size, enough):
                return
            complete = self._size(size, max_changes - size + 1)
            if complete and self.complete_up_to == size - 1:
                self.complete_up_to = size

    def add(self, successes: Iterable[Success]) -> None:
        """Take over what was found to work outside of the budget; it does not count as tried."""
        for success in successes:
            self.successes[success.combination] = success
            self._cover.add(success.combination)

    def options(self, count: int) -> list[tuple[Success, bool]]:
        """The cheapest option, then those that differ most from it; and whether each is minimal.

        Parts that were not tried yet are tried now, as far as the budget allows.
        """
        while True:
            kept = self._minimal()
            chosen = self._choose(kept, count)
            found = len(self.successes)
            proven = [self._has_no_working_part(success.combination) for success in chosen]
            if len(self.successes) == found:
                return list(zip(chosen, proven, strict=True))

    def _size(self, size: int, sizes_left: int) -> bool:
        """Try the combinations of one size; true if all of them were tried or covered."""
        alive = self._cover.alive
        group = self._table.group[alive]
        if counts(group, size)[size] <= max(MOST_LISTED, self.left):
            rows = self._open(alive[every(group, size)])
            if len(rows) <= self.left:
                self._try(self._by_cost(rows), "exhaustive")
                return all(len(chosen) != size for chosen in self._unasked)
        share = self._share(sizes_left)
        if size == 1:
            # The subject's own ties and attributes move its answer most.
            order = np.lexsort((EAGERNESS[self._table.do[alive]], ~self._table.own[alive]))
            room = share if sizes_left > 1 else self.left
            self._try(self._open(alive[order, None])[:room], "effect")
            return False
        alive = alive[np.isfinite(self._effect[alive])]
        found = best(self._effect[alive], self._table.group[alive], size, 2 * share)
        self._try(self._open(alive[found])[:share], "effect")
        return False

    def _foresee_sizes(self, max_changes: int) -> None:
        """Put the smallest sizes into the first query, as far as they are few."""
        alive, group = self._cover.alive, self._table.group
        room = min(SIZES_AHEAD, self.left)
        for size in range(1, max_changes + 1):
            room -= int(counts(group[alive], size)[size])
            if room < 0:
                return
            self._verifier.foresee(self._open(alive[every(group[alive], size)]))

    def _share(self, sizes_left: int) -> int:
        """What a size that cannot be tried in full may use, so that larger sizes get their turn."""
        free = max(self.left - min(RESERVE, self.left // 4), 0)
        return -(-free // sizes_left)

    def _open(self, rows: Ints) -> Ints:
        """Those of some combinations that were neither tried nor covered."""
        size = rows.shape[1]
        rows = rows[~self._cover.holds(rows)]
        if self._allowed is not None:
            rows = rows[self._allowed(rows)]
        tried = [chosen for chosen in self._tried | self._unasked if len(chosen) == size]
        if not tried or not len(rows):
            return rows
        if len(self._table) ** size < LARGEST_KEY:
            digits = len(self._table) ** np.arange(size)
            fresh: Mask = ~np.isin(rows @ digits, np.array(tried) @ digits)
            return rows[fresh]
        known = set(tried)
        left = [place for place, row in enumerate(rows.tolist()) if tuple(row) not in known]
        return rows[left]

    def _by_cost(self, rows: Ints) -> Ints:
        """Cheap ones first: they can cover expensive ones, never the other way round."""
        ordered: Ints = rows[np.argsort(self._table.cost[rows].sum(axis=1), kind="stable")]
        return ordered

    def _try(self, rows: Ints, source: str) -> bool:
        """Put combinations to the model, in order, as far as the budget allows.

        False if the model had no room for some of them.
        """
        unasked = self.unasked
        while len(rows) and self.left > 0:
            if len(rows) > AT_ONCE and not self.successes:
                self._verifier.foresee(rows[: min(AHEAD, self.left)])
            batch, rows = np.split(rows, [min(AT_ONCE, self.left)])
            answers = self._verifier.answers(batch)
            asked = ~np.isnan(answers).all(axis=1)
            self._unasked.update(_combinations(batch[~asked]))
            cover = self._record(batch[asked], answers[asked], source)
            if len(rows) and (rows != NONE).all():
                rows = rows[~cover.holds(rows)]
        return self.unasked == unasked

    def _record(self, rows: Ints, answers: Floats, source: str) -> Cover:
        """Note what works and the effects of single actions; return what is newly covered."""
        cover = Cover(self._table)
        chosen = _combinations(rows)
        self._tried.update(chosen)
        odds = self._decisions.lead(answers, self._table.subject) - self._now
        alone = (rows != NONE).sum(axis=1) == 1
        self._effect[rows[alone].max(axis=1, initial=NONE)] = odds[alone]
        for place in np.flatnonzero(self._verifier.reaches(rows, answers)).tolist():
            self.successes[chosen[place]] = Success(
                combination=chosen[place], answer=answers[place], source=source
            )
            self._cover.add(chosen[place])
            cover.add(chosen[place])
        return cover

    def _can_stop(self, size: int, enough: int) -> bool:
        """Whether enough options are found, and nothing of this size or larger could be cheaper."""
        costs = sorted(self._cost(success.combination) for success in self._minimal())
        if len(costs) < enough:
            return False
        alive = self._cover.alive
        groups = self._table.group[alive]
        cheapest = np.full(int(self._table.group.max(initial=-1)) + 1, np.inf)
        np.minimum.at(cheapest, groups, self._table.cost[alive])
        least = np.sort(cheapest)[:size].sum()
        return bool(least >= costs[enough - 1])

    def _cost(self, combination: Combination) -> float:
        return float(self._table.cost[list(combination)].sum())

    def _minimal(self) -> list[Success]:
        """Successes that contain no other one, cheapest first."""
        kept: list[Combination] = []
        smaller = Cover(self._table)
        for size in sorted({len(combination) for combination in self.successes}):
            rows = np.array([chosen for chosen in self.successes if len(chosen) == size])
            rows = rows[~smaller.holds(rows)]
            new = self._lowest(rows)
            for combination in new:
                smaller.add(combination)
            kept += new
        kept.sort(key=lambda combination: (self._cost(combination), combination))
        return [self.successes[combination] for combination in kept]

    def _lowest(self, rows: Ints) -> list[Combination]:
        """Of combinations of one size, those of which no other is the same at lower levels."""
        if not self._table.moves:
            return [tuple(row) for row in rows.tolist()]
        rows = rows[np.argsort(np.abs(self._table.steps[rows]).sum(axis=1), kind="stable")]
        lowest = []
        while len(rows):
            lowest.append(tuple(rows[0].tolist()))
            cover = Cover(self._table)
            cover.add(lowest[-1])
            rows = rows[~cover.holds(rows)]
        return lowest

    def _choose(self, kept: Sequence[Success], count: int) -> list[Success]:
        touched = np.zeros((len(kept), int(self._table.touches.max(initial=0)) + 1), bool)
        for place, success in enumerate(kept):
            touched[place, self._table.touches[list(success.combination)]] = True
        cost = np.array([self._cost(success.combination) for success in kept])
        return [kept[place] for place in sorted(diverse(touched, cost, count))]

    def _has_no_working_part(self, combination: Combination) -> bool:
        """Whether every part was tried and fails; untried parts are tried if the budget allows."""
        if len(combination) <= self.complete_up_to:
            return True
        if count_parts(self._table, combination) > self.left + self.tried:
            self._leave_one_out(combination)
            return False
        every_part = self._permitted(parts(self._table, combination))
        if not self._unasked.isdisjoint(every_part):
            return False
        open_parts = [part for part in every_part if part not in self._tried]
        if len(open_parts) > self.left:
            self._leave_one_out(combination)
            return False
        return self._try(as_rows(open_parts), "exhaustive")

    def _leave_one_out(self, combination: Combination) -> None:
        """Where not all parts can be tried, try those that lack a single action."""
        smaller = self._permitted(
            [tuple(a for a in combination if a != gone) for gone in combination]
        )
        self._try(as_rows([part for part in smaller if part not in self._tried]), "effect")

    def _permitted(self, combinations: Sequence[Combination]) -> list[Combination]:
        """Those of some combinations that keep to the conditions; the empty one is none."""
        parts = [chosen for chosen in combinations if chosen]
        if self._allowed is None or not parts:
            return parts
        kept = self._allowed(as_rows(parts)).tolist()
        return [part for part, good in zip(parts, kept, strict=True) if good]


def _combinations(rows: Ints) -> list[Combination]:
    """Rows without their padding."""
    if bool((rows != NONE).all()):
        return list(map(tuple, rows.tolist()))
    return [tuple(a for a in row if a != NONE) for row in rows.tolist()]
