"""The search for combinations that work, for one subject: what was tried, and how completely.

A combination is a row of ascending places in the table of actions, of different groups; rows of
several sizes are padded with `NONE`. Sizes are taken one after the other. A size whose combinations
fit into the budget is tried in full, apart from what is covered by something that works. Of a
larger size, the combinations with the largest sums of effects are tried (of single actions, the
subject's own first), and later sizes keep a share of the budget. Only sizes tried in full count in
a certificate.

Combinations are edits of the graph (`actions`), and `model/edited_graph.py` decides how they are
asked about. Where an answer is so close to the line that rounding might decide, the whole graph is
asked about as well, if it is small enough; so is a drawn share of all answers. What a shared query
costs hardly depends on how many small combinations it holds. So those that will probably be asked
about soon go along with those that are, and wait here until they are. Only what is asked for counts
as tried.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations as choose
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import AnswerError
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.graph.neighbourhoods import as_rows
from recourse_audit.model.batching import CLOSE
from recourse_audit.model.decisions import Mask
from recourse_audit.model.edited_graph import SubjectAnswers
from recourse_audit.records.recourse import AskedOn
from recourse_audit.recourse.actions import NONE, ActionEdits, ActionTable, action_text
from recourse_audit.recourse.conditions import SubjectConditions, counts, every, repeats
from recourse_audit.recourse.side_effects import OtherPeople

# The runtime may take a kilobyte per arc, in every worker at once.
MOST_ARCS_AGAIN = 1_000_000
# Answers are compared with those of the whole graph where it has at most so many arcs.
MOST_ARCS_COMPARED = 200_000
# Of a larger field, a query holds few combinations anyway, and none of them is cheap.
MOST_ARCS_AHEAD = 4096
WIDEST = 6  # actions in a combination
SALT = 29
AT_ONCE = 512
# How many combinations a query may hold before their turn: of the same size, of the next ones.
AHEAD = 2048
SIZES_AHEAD = 512
MOST_LISTED = 200_000
RESERVE = 100
EAGERNESS = np.array([0, 2, 1, 2])  # of single actions: drop, then set, then add and move
MOST_DRAFTS = 2_000_000
MOST_IN_MATRIX = 3_000

Combination = tuple[int, ...]


def best(effect: Floats, group: Ints, size: int, count: int, new: Ints | None = None) -> Ints:
    """Combinations of one size with the largest sums of effects, at most `count`, best first.

    Notes
    -----
    With actions ranked by effect, a combination of ranks r1 < … < rs has r1+1 times r2-r1 times …
    others that are at least as good, itself included. So the best `count` are among those whose
    product of gaps is at most `count`: about count * log(count)^(s-1) / (s-1)! drafts. Drafts of
    actions that exclude each other are discarded, and more are made until enough remain; in that
    case a few of the best may be missed.
    """
    order = np.argsort(-effect, kind="stable")
    wanted, limit = count, count
    while True:
        drafts = _drafts(len(order), size, limit)
        rows = np.sort(order[drafts], axis=1)
        rows = rows[~(repeats(rows, group) | repeats(rows, new))]
        limit *= 4
        if len(rows) >= wanted or len(drafts) * 4 > MOST_DRAFTS or limit > len(order) ** size:
            break
    total = effect[rows].sum(axis=1)
    ranked = np.lexsort((*rows.T[::-1], -total))
    return np.asarray(rows[ranked[:count]])


def _drafts(actions: int, size: int, limit: int) -> Ints:
    """Ascending ranks whose gaps have a product of at most `limit`."""
    rows, room, last = np.empty((1, 0), np.int64), np.array([limit]), np.array([-1])
    for place in range(size):
        most = np.minimum(room, actions - 1 - last - (size - 1 - place)).clip(0)
        owner = np.repeat(np.arange(len(rows)), most)
        gap = np.arange(len(owner)) - np.repeat(np.cumsum(most) - most, most) + 1
        last = last[owner] + gap
        room = room[owner] // gap
        rows = np.column_stack((rows[owner], last))
    return rows


def parts(table: ActionTable, combination: Sequence[int]) -> Iterator[Combination]:
    """Everything less than a combination: fewer of its actions, lower levels of its attributes."""
    choices = []
    for action in combination:
        lower: list[int | None] = [None, action]
        if table.steps[action]:
            same = np.flatnonzero(table.move == table.move[action])
            steps, own = table.steps[same], int(table.steps[action])
            inside = (np.sign(steps) == np.sign(own)) & (np.abs(steps) < abs(own))
            lower += same[inside].tolist()
        choices.append(lower)
    smaller = (tuple(a for a in chosen if a is not None) for chosen in product(*choices))
    return (part for part in smaller if part and part != tuple(combination))


class Cover:
    """Tells which combinations contain, or go further than, one that works: no need to try them."""

    def __init__(self, table: ActionTable) -> None:
        self._table = table
        self._single = np.zeros(len(table), bool)
        self._pairs: Mask | None = None
        self._larger: list[list[Mask]] = []

    @property
    def alive(self) -> Ints:
        """The actions that neither work alone nor go further than one that does."""
        return np.flatnonzero(~self._single)

    def add(self, combination: Sequence[int]) -> None:
        masks = [self._table.at_least(action) for action in combination]
        if len(masks) == 1:
            self._single |= masks[0]
        elif len(masks) == 2 and len(self._table) <= MOST_IN_MATRIX:
            if self._pairs is None:
                self._pairs = np.zeros((len(self._table), len(self._table)), bool)
            self._pairs[np.ix_(*masks)] = True
            self._pairs[np.ix_(*masks[::-1])] = True
        else:
            self._larger.append(masks)

    def holds(self, combinations: Ints) -> Mask:
        """Which of some combinations of one size are covered."""
        inside: Mask = np.any(self._single[combinations], axis=1)
        if self._pairs is not None:
            for first, other in choose(range(combinations.shape[1]), 2):
                inside |= self._pairs[combinations[:, first], combinations[:, other]]
        for masks in self._larger:
            if len(masks) <= combinations.shape[1]:
                every_one: Mask = np.ones(len(combinations), bool)
                for mask in masks:
                    every_one &= mask[combinations].any(axis=1)
                inside |= every_one
        return inside


def diverse(touched: Mask, cost: Floats, count: int) -> list[int]:
    """Choose rows that differ in what they touch: the cheapest, then those farthest from it.

    The distance of two rows is the Jaccard distance of what they touch; the distance of a row from
    several others is the smallest. Ties are broken by cost, then by order. Rows are sorted by cost.
    """
    if not len(touched):
        return []
    sets = touched.astype(np.float64)
    size = sets.sum(axis=1)
    chosen = [int(np.argmin(cost))]
    distance = np.full(len(sets), np.inf)
    while len(chosen) < min(count, len(sets)):
        shared = sets @ sets[chosen[-1]]
        distance = np.minimum(distance, 1 - shared / (size + size[chosen[-1]] - shared))
        distance[chosen] = -1
        chosen.append(int(np.lexsort((cost, -np.round(distance, 9)))[0]))
    return chosen


class Verifier:
    """Asks about combinations of one subject's actions (rows of them, padded with `NONE`).

    A share of answers, `compare`, is asked again on the whole graph; the seed draws them.
    """

    def __init__(
        self, asked: SubjectAnswers, table: ActionTable, *, compare: float = 0.0, seed: int = 0
    ) -> None:
        self.asked = asked
        [own] = asked.edited.batcher.features_of(np.array([asked.subject]))
        self.edits = ActionEdits(table, own)
        self.others = OtherPeople(asked, table, self.edits)
        # The check of the unchanged graph is one of the evaluations.
        self.evaluations = int(asked.way != "whole")
        self.table = table
        self._compare = compare
        self._fresh = True
        self._draw = np.random.default_rng((SALT, seed, table.subject))
        self._ahead: list[Ints] = []
        self._keys: NDArray[np.generic] = np.empty(0, np.int64)
        self._answers: Floats = np.empty((0, asked.edited.batcher.answer_width))

    @property
    def scope(self) -> AskedOn:
        return "whole graph" if self.asked.way == "whole" else "neighbourhood"

    def answers(self, combinations: Ints) -> Floats:
        """One row per combination; NaN where an export of fixed size has no room for it."""
        self.evaluations += len(combinations)
        answers, fits = self._ask(combinations)
        if self.asked.way != "whole":
            decisions, within = self.asked.edited.decisions, CLOSE * self.asked.edited.noise
            close = np.flatnonzero(decisions.close(answers, self.table.subject, within))
            if len(close):
                answers[close], _ = self.confirm(
                    combinations[close], answers[close], most_arcs=MOST_ARCS_AGAIN
                )
            self._compare_share(combinations, answers, fits)
        self._refuse_no_numbers(answers[fits], combinations[fits])
        return answers

    def foresee(self, combinations: Ints) -> None:
        """Say what will probably be asked about soon: the next query may hold it too."""
        sharing = self.asked.edited.sharing
        if self.asked.way != "shared" or sharing is None:
            return
        if len(sharing.field_around(self.table.subject).arcs) <= MOST_ARCS_AHEAD:
            self._ahead.append(combinations)

    def confirm(self, combinations: Ints, known: Floats, *, most_arcs: int) -> tuple[Floats, Mask]:
        """Ask on the whole graph what is known otherwise; see `SubjectAnswers.confirm`."""
        edits = self.edits.of(combinations)
        answers, fits = self.asked.confirm(edits, known, most_arcs=most_arcs)
        self._refuse_no_numbers(answers[fits], combinations[fits])
        return answers, fits

    def on_whole_graph(self, combinations: Ints) -> Floats:
        """The answers of the whole graph, if there is room for it (see `EditedGraph`)."""
        answers = self.asked.edited.on_whole_graph(self.edits.of(combinations))
        self._refuse_no_numbers(answers, combinations)
        return answers

    def reaches(self, combinations: Ints, answers: Floats) -> Mask:
        """Which combinations get a favourable decision with these answers for the subject.

        Where a quota decides, everybody whom the changes reach is asked about again, unless the
        subject is in or out whatever becomes of them.
        """
        decisions, subject = self.asked.edited.decisions, self.table.subject
        if not decisions.depends_on_others:
            return decisions.favourable(answers, subject)
        favourable = np.zeros(len(answers), bool)
        unsettled: list[int] = []
        chosen = [row[row != NONE] for row in combinations]
        for place, actions in enumerate(chosen):
            own = answers[[place]]
            inside, outside = decisions.certain_either_way(own, subject, self.others.count(actions))
            favourable[place] = inside[0]
            if not (inside | outside)[0]:
                unsettled.append(place)
        after = self.others.decisions_after([chosen[place] for place in unsettled])
        for place, decided in zip(unsettled, after, strict=True):
            favourable[place] = decided.favourable(answers[[place]], subject)[0]
        return favourable

    def _ask(self, combinations: Ints) -> tuple[Floats, Mask]:
        """The answers, from the last query if all of them were foreseen."""
        if len(self._keys):
            wanted = self.table.keys(combinations, WIDEST)
            place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            if bool((self._keys[place] == wanted).all()):
                self._ahead.clear()  # what comes next is foreseen again when it is near
                return self._answers[place], np.ones(len(place), bool)
        count, rows = len(combinations), combinations
        ahead, self._ahead = self._ahead, []
        keys: NDArray[np.generic] = np.empty(0, np.int64)
        if ahead:
            width = max(rows.shape[1] for rows in (combinations, *ahead))
            rows = np.concatenate([_pad(rows, width) for rows in (combinations, *ahead)])
            keys = self.table.keys(rows, WIDEST)
            _, first = np.unique(keys, return_index=True)
            asked = np.append(np.arange(count), np.sort(first[first >= count]))
            rows, keys = rows[asked], keys[asked]
        answers, fits = self.asked.answers(self.edits.of(rows), needed=count)
        self._keys, place = np.unique(keys[: len(answers)], return_index=True)
        self._answers = answers[place]
        return answers[:count], fits[:count]

    def _compare_share(self, combinations: Ints, answers: Floats, fits: Mask) -> None:
        """Ask some again on the whole graph: a drawn share, and one of the first that are asked."""
        drawn: Mask = self._draw.random(len(answers)) < self._compare
        drawn[:1] |= self._fresh and self._compare > 0
        self._fresh = False
        places = np.flatnonzero(drawn & fits & np.isfinite(answers).all(axis=1))
        if len(places):
            self.confirm(combinations[places], answers[places], most_arcs=MOST_ARCS_COMPARED)

    def _refuse_no_numbers(self, answers: Floats, combinations: Ints) -> None:
        """Refuse an answer that is not a number, and name the changes."""
        broken = np.flatnonzero(~np.isfinite(answers).all(axis=1))
        if len(broken):
            actions = combinations[broken[0]]
            records = self.table.records(actions[actions != NONE])
            named = ", ".join(map(action_text, records)) or "no change"
            raise AnswerError(f"the model's answer is not a number after {named}")


def _pad(rows: Ints, width: int) -> Ints:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """A combination that works: the answer it got, and how it was found."""

    combination: Combination
    answer: Floats
    source: str


class Trials:
    """Tries combinations of one subject's actions, never more than the budget allows."""

    def __init__(
        self, verifier: Verifier, conditions: SubjectConditions, budget: Callable[[], int]
    ) -> None:
        """`budget` is how many evaluations the verifier may make, which depends on how it asks."""
        edited, table = verifier.asked.edited, verifier.table
        self.complete_up_to = 0
        self.has_enough = False
        self.successes: dict[Combination, Success] = {}
        self._verifier = verifier
        self._decisions = edited.decisions
        self._table = table
        self._budget = budget
        now = edited.everybody[[table.subject]]
        self._now = float(self._decisions.lead(now, table.subject)[0])
        self._tried: set[Combination] = set()
        self._unasked: set[Combination] = set()
        self._cover = Cover(table)
        self._effect = np.full(len(table), np.nan)
        self._conditions = conditions
        # What is not allowed alone has no effect that was measured, and may go with others.
        self._effect[~conditions.allows(np.arange(len(table))[:, None])] = 0.0
        # The answers about single actions, as far as they were tried.
        self.alone = np.full((len(table), now.shape[1]), np.nan)

    @property
    def count(self) -> int:
        return len(self._tried)

    @property
    def without_room(self) -> int:
        """How many combinations a model of fixed size has no room for."""
        return len(self._unasked)

    @property
    def _room(self) -> int:
        return self._budget() - self._verifier.evaluations

    def follow(self, combinations: Iterable[Combination], max_changes: int) -> None:
        """Try what the search for explanations would remove, in its order.

        Nothing was tried before. Sizes up to `max_changes` are to be tried later; the smallest go
        into the same query, as far as they are few.
        """
        every_action, group = np.arange(len(self._table)), self._table.group
        room = min(SIZES_AHEAD, self._room)
        for size in range(1, max_changes + 1):
            room -= counts(group, size)[size]
            if room < 0:
                break
            self._verifier.foresee(self._open(every_action[every(group, size, self._table.new)]))
        self._try(as_rows([*dict.fromkeys(combinations)]), "counterfactual")

    def run(self, max_changes: int, enough: int) -> None:
        """Go through the sizes until all are done, or no better option can be found."""
        for size in range(1, max_changes + 1):
            if self._can_stop(size, enough):
                self.has_enough = self.complete_up_to == size - 1
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
            chosen, before = self._choose(self._minimal(), count), len(self.successes)
            proven = [self._has_no_working_part(success.combination) for success in chosen]
            if len(self.successes) == before:
                return list(zip(chosen, proven, strict=True))

    def _size(self, size: int, sizes_left: int) -> bool:
        """Try the combinations of one size; true if all of them were tried or covered."""
        alive, new = self._cover.alive, self._table.new
        group = self._table.group[alive]
        if counts(group, size)[size] <= max(MOST_LISTED, self._room):
            rows = self._open(alive[every(group, size, None if new is None else new[alive])])
            if len(rows) <= self._room:
                # Cheap ones can cover expensive ones, never the other way round.
                by_cost = np.argsort(self._table.cost[rows].sum(axis=1), kind="stable")
                self._try(rows[by_cost], "exhaustive")
                return all(len(chosen) != size for chosen in self._unasked)
        # What this size may use, so that larger sizes get their turn.
        share = -(-max(self._room - min(RESERVE, self._room // 4), 0) // sizes_left)
        if size == 1:
            # The subject's own ties and attributes move its answer most.
            order = np.lexsort((EAGERNESS[self._table.do[alive]], ~self._table.own[alive]))
            room = share if sizes_left > 1 else self._room
            self._try(self._open(alive[order, None])[:room], "effect")
            return False
        alive = alive[np.isfinite(self._effect[alive])]
        made = None if new is None else new[alive]
        rows = best(self._effect[alive], self._table.group[alive], size, 2 * share, made)
        self._try(self._open(alive[rows])[:share], "effect")
        return False

    def _open(self, rows: Ints) -> Ints:
        """Those of some combinations that were neither tried nor covered."""
        rows = self._conditions.keep(rows[~self._cover.holds(rows)])
        tried = [done for done in self._tried | self._unasked if len(done) == rows.shape[1]]
        if not tried or not len(rows):
            return rows
        fresh: Mask = ~np.isin(self._table.keys(rows), self._table.keys(np.array(tried)))
        return rows[fresh]

    def _try(self, rows: Ints, source: str) -> bool:
        """Ask about combinations in order, within the budget; False if some had no room."""
        unasked = self.without_room
        while len(rows) and self._room > 0:
            if len(rows) > AT_ONCE and not self.successes:
                self._verifier.foresee(rows[: min(AHEAD, self._room)])
            batch, rows = np.split(rows, [min(AT_ONCE, self._room)])
            answers = self._verifier.answers(batch)
            asked = ~np.isnan(answers).all(axis=1)
            self._unasked.update(combinations_in(batch[~asked]))
            cover = self._record(batch[asked], answers[asked], source)
            if len(rows) and (rows != NONE).all():
                rows = rows[~cover.holds(rows)]
        return self.without_room == unasked

    def _record(self, rows: Ints, answers: Floats, source: str) -> Cover:
        """Note what works and the effects of single actions; return what is newly covered."""
        cover = Cover(self._table)
        chosen = combinations_in(rows)
        self._tried.update(chosen)
        odds = self._decisions.lead(answers, self._table.subject) - self._now
        alone = (rows != NONE).sum(axis=1) == 1
        actions = rows[alone].max(axis=1, initial=NONE)
        self._effect[actions], self.alone[actions] = odds[alone], answers[alone]
        for place in np.flatnonzero(self._verifier.reaches(rows, answers)).tolist():
            self.successes[chosen[place]] = Success(
                combination=chosen[place], answer=answers[place], source=source
            )
            self._cover.add(chosen[place])
            cover.add(chosen[place])
        return cover

    def _can_stop(self, size: int, enough: int) -> bool:
        """Whether enough options are found, and nothing of this size or larger could be cheaper."""
        costs = [self._cost(success.combination) for success in self._minimal()]
        if len(costs) < enough:
            return False
        alive, group = self._cover.alive, self._table.group
        cheapest = np.full(int(group.max(initial=-1)) + 1, np.inf)
        np.minimum.at(cheapest, group[alive], self._table.cost[alive])
        return bool(np.sort(cheapest)[:size].sum() >= costs[enough - 1])

    def _cost(self, combination: Combination) -> float:
        return float(self._table.cost[list(combination)].sum())

    def _minimal(self) -> list[Success]:
        """Successes that contain no other one: the cheapest first, then those of fewer changes."""
        kept: list[Combination] = []
        smaller = Cover(self._table)
        for size in sorted({len(combination) for combination in self.successes}):
            rows = np.array([chosen for chosen in self.successes if len(chosen) == size])
            new = self._lowest(rows[~smaller.holds(rows)])
            for combination in new:
                smaller.add(combination)
            kept += new
        kept.sort(key=lambda chosen: (self._cost(chosen), len(chosen), chosen))
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
        most = max(self._room + self.count, 0)
        every_part = [*islice(parts(self._table, combination), most + 1)]
        if len(every_part) <= most:
            permitted = self._keep_permitted(every_part)
            if not self._unasked.isdisjoint(permitted):
                return False
            open_parts = [part for part in permitted if part not in self._tried]
            if len(open_parts) <= self._room:
                return self._try(as_rows(open_parts), "exhaustive")
        # Where not all parts can be tried, try those that lack a single action.
        smaller = [tuple(a for a in combination if a != gone) for gone in combination]
        permitted = self._keep_permitted([part for part in smaller if part])
        self._try(as_rows([part for part in permitted if part not in self._tried]), "effect")
        return False

    def _keep_permitted(self, combinations: Sequence[Combination]) -> list[Combination]:
        allowed = self._conditions.allows(as_rows(combinations)).tolist()
        return [part for part, good in zip(combinations, allowed, strict=True) if good]


def combinations_in(rows: Ints) -> list[Combination]:
    """Rows without their padding."""
    if bool((rows != NONE).all()):
        return list(map(tuple, rows.tolist()))
    return [tuple(a for a in row if a != NONE) for row in rows.tolist()]
