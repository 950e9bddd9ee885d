"""In which tables error rates are shown, so that nothing follows about how a few people turned out.

A table has a part of them (`outcome_parts`) only if none of its groups is withheld or a handful.
More goes without until neither the numbers of such groups, nor anything else that is withheld, can
be worked out from everything that is published (`disclosure`), answers on own data alone included.

Notes
-----
People are told apart by kind, outcome and bin, and once more by kind and whether own data alone
would decide otherwise. Nothing is published about both at once, so these are two sets of unknowns
that agree in the number of each kind: any two such sets can be those of the same people.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import csr_array, eye_array, kron, vstack

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.details import PRICES
from recourse_audit.groups.disclosure import Moves, Rules
from recourse_audit.groups.knowledge import (
    EVERYBODY,
    FAVOURABLE,
    REFUSED,
    USABLE,
    Kinds,
    Stage,
    State,
    earlier_secrets,
    published,
)
from recourse_audit.groups.notes import Part
from recourse_audit.groups.outcome_parts import BASES, OF_AUDIT, PARTS, Divided
from recourse_audit.groups.own_data_suppression import OwnDataSplit
from recourse_audit.groups.people import BAD, GOOD

# What withholding a part from a table costs, beside the price of the table, and from everybody.
WORTH: dict[Part, float] = {
    "approvals": 4.0,
    "refusals": 4.0,
    "options": 3.0,
    "details": 1.0,
    "calibration": 2.0,
}
OF_EVERYBODY = 1000.0
# With more joint cells and columns than this, scores are not divided into bins.
MOST_UNKNOWNS = 4000
# The kind of a column in which nobody is counted a second time.
NEVER: Kinds = (-1,)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Secret:
    """A sum of unknowns that must not follow, and whether a group that is shown says it by itself.

    If it is about outcomes: the cell, or None for everybody, and the columns that are counted.
    """

    row: csr_array
    told: Callable[[], bool]
    cell: int | None = None
    counted: Mask | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownErrorRates:
    """Which parts are shown of everybody, and by table.

    `refused_known`: the outcomes of enough refused people are known. `bins` has the ends of the
    bins of scores by table, and those of everybody under None.
    """

    refused_known: bool
    overall: frozenset[Part]
    tables: tuple[frozenset[Part], ...]
    bins: dict[int | None, Floats]


def error_rates_shown(
    state: State,
    kind_of_person: Ints,
    outcome: Ints,
    score: Floats,
    own_data: OwnDataSplit | None,
    *,
    audit: bool,
) -> ShownErrorRates:
    """Find out what can be shown; without `audit`, nothing is shown that the audit found."""
    divided = Divided(state, kind_of_person, outcome, score)
    if divided.counts.size > MOST_UNKNOWNS:
        divided = Divided(state, kind_of_person, outcome, score, calibrated=False)
    protection = _Protection(divided, own_data, 2 if audit else 0)
    protection.protect()
    return protection.result()


class _Protection:
    """What is shown so far, and what must not follow from it."""

    def __init__(self, divided: Divided, own_data: OwnDataSplit | None, stage: Stage) -> None:
        self.state, self.divided = divided.state, divided
        self.own_data, self.stage = own_data, stage
        # By part: which tables show it, and, last, whether it is shown of everybody.
        places: list[int | None] = [*range(len(self.state.tables)), None]
        self.shown: dict[Part, Mask] = {
            part: np.array([divided.possible(part, one, audit=stage > 0) for one in places])
            for part in PARTS
        }
        self._align()

    def _align(self) -> None:
        """Nothing is shown by group that is not shown of everybody, and no details alone."""
        self.shown["details"] &= self.shown["options"]
        for part in PARTS:
            self.shown[part] &= self.shown[part][-1]

    def protect(self) -> None:
        """Withhold more until nothing is revealed."""
        secrets = [
            *self._own_secrets(),
            *self._earlier_secrets(),
            *self._secrets_of_own_data(),
        ]
        if not secrets:
            return
        counts = self.divided.counts
        if self.own_data is not None:
            counts = np.hstack([counts, self.own_data.counts])
        moves = Moves(counts=counts, targets=vstack([one.row for one in secrets], format="csr"))
        tables = [PRICES[len(table.attributes)] for table in self.state.tables]
        price = np.outer([WORTH[part] for part in PARTS], [*tables, OF_EVERYBODY]).ravel()
        while any(shown.any() for shown in self.shown.values()):
            moves.publish(self._rules())
            wanted = np.array([place for place, one in enumerate(secrets) if not one.told()])
            self._swap(secrets, moves)
            moves.search(wanted.astype(np.int64), rounds=2)
            revealed = next((int(one) for one in wanted if not moves.can_move(int(one))), None)
            if revealed is None:
                return
            for owner in moves.cheapest_way(revealed, price) or [self._cheapest(price)]:
                part, place = divmod(owner, len(self.state.tables) + 1)
                self.shown[PARTS[part]][place] = False
            self._align()

    def _swap(self, secrets: list[_Secret], moves: Moves) -> None:
        """Note the secrets that change if two people of the same kind swap outcomes and bins.

        They are in the same group of every table that shows anything, one of them in the cell.
        """
        state, divided = self.state, self.divided
        shown = np.any([self.shown[part][:-1] for part in PARTS], axis=0)
        places = [
            state.joint.inside[state.table_of == one].argmax(axis=0)
            for one in np.flatnonzero(shown).tolist()
        ]
        alike = np.zeros(state.joint.size, np.int64)
        if places:
            alike = np.unique(np.stack(places), axis=1, return_inverse=True)[1].ravel()
        kinds = (divided.kind[:, np.newaxis] == np.unique(divided.kind)).astype(np.int64)
        groups = (alike == np.unique(alike)[:, np.newaxis]).astype(np.int64)
        for place, secret in enumerate(secrets):
            if secret.cell is None or secret.counted is None or moves.moved[place]:
                continue
            inside = state.joint.inside[secret.cell][:, np.newaxis]
            # By group of all tables and kind: those of the cell and others, counted and not.
            (ours, our_others), (theirs, their_others) = (
                [groups @ (where * divided.counts) @ (counted[:, np.newaxis] * kinds)
                 for counted in (secret.counted, ~secret.counted)]
                for where in (inside, ~inside)
            )  # fmt: skip
            found = ((ours > 0) & (their_others > 0)) | ((our_others > 0) & (theirs > 0))
            moves.moved[place] = bool(found.any())

    def _cheapest(self, price: Floats) -> int:
        """What costs least of all that is shown."""
        shown = np.concatenate([self.shown[part] for part in PARTS])
        return int(np.where(shown, price, np.inf).argmin())

    def _own_secrets(self) -> Iterator[_Secret]:
        """How people of groups that are a handful turned out, or are withheld.

        A part that is not shown has secrets as well: other parts may say it together.
        """
        state, divided = self.state, self.divided
        audited = state.number(USABLE) > 0
        for part, several in BASES.items():
            if part == "calibration" or not divided.known(part, audit=self.stage > 0):
                continue
            few = divided.few(part) | divided.hidden(part) | state.people
            if part in OF_AUDIT:
                few &= audited
            cells: list[int | None] = list(np.flatnonzero(few).tolist())
            if divided.few(part, divided.everybody)[0]:
                cells.append(None)
            for kinds in several:
                bad = divided.not_good(kinds) if part in OF_AUDIT else divided.of(kinds, BAD)
                for counted in (divided.of(kinds, GOOD), bad):
                    for cell in cells:
                        told = partial(self._told, part, cell, kinds, counted)
                        row = self._row(cell, counted)
                        yield _Secret(row=row, told=told, cell=cell, counted=counted)
        if self.shown["calibration"][-1]:
            yield from self._secrets_of_bins()

    def _secrets_of_bins(self) -> Iterator[_Secret]:
        divided = self.divided
        for one in range(divided.edges.size - 1):
            bins = (one, one + 1)
            few = divided.few_of(EVERYBODY, bins) | self.state.people
            for cell in np.flatnonzero(few).tolist():
                for outcome in (GOOD, BAD):
                    counted = divided.of(EVERYBODY, outcome, bins)
                    told = partial(self._told, "calibration", cell, EVERYBODY, counted)
                    row = self._row(cell, counted)
                    yield _Secret(row=row, told=told, cell=cell, counted=counted)

    def _told(self, part: Part, cell: int | None, kinds: Kinds, counted: Mask) -> bool:
        """Whether one group that is shown, and has everybody of this one, has none of these.

        That nobody of some of the kinds turned out so is another thing, which two groups say.
        """
        state, divided = self.state, self.divided
        if cell is None or not divided.counts[:, counted].any():
            return not divided.counts[:, counted].any()
        none = state.without(kinds, self.stage)
        for place in np.flatnonzero(self.shown[part][:-1]).tolist():
            mine = state.table_of == place
            for figure in divided.figures(part, place):
                if not (counted & ~figure).any():
                    none |= mine & (divided.number(figure) == 0)
        return bool(state.inside(none)[cell])

    def _earlier_secrets(self) -> Iterator[_Secret]:
        """What is withheld anyway: it must not follow from outcomes either."""
        for row in earlier_secrets(self.state, self._columns(), self.stage):
            yield _Secret(row=row, told=_never)

    def _secrets_of_own_data(self) -> Iterator[_Secret]:
        own = self.own_data
        if own is None:
            return
        for cell in np.flatnonzero(own.few).tolist():
            for figure, counted in enumerate(own.figures):
                row = self._row(cell, None, counted)
                yield _Secret(row=row, told=partial(own.told, cell, figure))

    def _columns(self) -> list[Kinds]:
        """The kind of each column; those of own data count nobody again."""
        more = 0 if self.own_data is None else len(self.own_data.columns)
        return [*((int(kind),) for kind in self.divided.kind), *[NEVER] * more]

    def _wide(self, counted: Mask | None, alone: Mask | None = None) -> csr_array:
        """A row over all columns: by outcome, then, if there are answers alone, by these."""
        parts = [np.zeros(self.divided.kind.size) if counted is None else counted]
        if self.own_data is not None:
            parts.append(np.zeros(len(self.own_data.columns)) if alone is None else alone)
        return csr_array(np.concatenate(parts)[np.newaxis].astype(float))

    def _row(self, cell: int | None, counted: Mask | None, alone: Mask | None = None) -> csr_array:
        """The sum of some columns over the joint cells of a cell, or over everybody."""
        inside = self.divided.everybody if cell is None else self.state.joint.inside[[cell]]
        return csr_array(kron(csr_array(inside.astype(float)), self._wide(counted, alone)))

    def _rules(self) -> list[Rules]:
        """Everything published; the owner of a rule is the part of a table that it belongs to."""
        state, divided = self.state, self.divided
        rules = [
            Rules(sums=one.sums, low=one.low, high=one.high, owner=np.full(one.low.size, -1))
            for one in published(state, self.stage, self._columns())
        ]
        everybody = csr_array(np.ones((1, state.joint.size)))
        # How many of the favourable and of the refused have a known outcome is said in any case.
        for kinds in ((FAVOURABLE,), REFUSED):
            known = divided.of(kinds, GOOD) | divided.of(kinds, BAD)
            rules.append(_fixed(everybody, self._wide(known), -1))
        width = len(state.tables) + 1
        for number, part in enumerate(PARTS):
            for place in np.flatnonzero(self.shown[part]).tolist():
                whole = place == width - 1
                mine = csr_array(state.joint.inside[state.table_of == place].astype(float))
                for counted in divided.figures(part, None if whole else place):
                    row = self._wide(counted)
                    rules.append(_fixed(everybody if whole else mine, row, number * width + place))
        return [*rules, *self._rules_of_own_data(everybody)]

    def _rules_of_own_data(self, everybody: csr_array) -> Iterator[Rules]:
        """The answers alone that are published; each kind has as many people in both sets."""
        own, state = self.own_data, self.state
        if own is None:
            return
        cells = csr_array(state.joint.inside[~own.withheld[state.table_of]].astype(float))
        for counted in (own.figures[0], own.figures[2]):
            for some in (cells, everybody):
                yield _fixed(some, self._wide(None, counted), -1)
        every = csr_array(eye_array(state.joint.size))
        for kind in np.unique(self.divided.kind).tolist():
            alone = self._wide(None, np.array([one == (kind,) for one in own.columns]))
            yield _fixed(every, csr_array(self._wide(self.divided.kind == kind) - alone), -1)

    def result(self) -> ShownErrorRates:
        """What is left."""

        def parts(place: int) -> frozenset[Part]:
            return frozenset(part for part in PARTS if self.shown[part][place])

        divided = self.divided
        return ShownErrorRates(
            refused_known=divided.refused_known,
            overall=parts(-1),
            tables=tuple(parts(place) for place in range(len(self.state.tables))),
            bins={place: divided.edges[starts] for place, starts in divided.bins.items()},
        )


def _fixed(cells: csr_array, counted: csr_array, owner: int) -> Rules:
    """Sums that are published, so that they cannot be other than they are."""
    sums = csr_array(kron(cells, counted))
    none = np.zeros(sums.shape[0])
    return Rules(sums=sums, low=none, high=none, owner=np.full(sums.shape[0], owner))


def _never() -> bool:
    """What is withheld anyway was checked for that when it was withheld."""
    return False
