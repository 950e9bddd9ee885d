"""Somebody who has the published files, a solver and patience, and wants to know what is withheld.

The attacker knows what `published` reads, and shares no code with the stage that withholds figures.
Unknown are the people of each combination of groups, by what became of them. Every figure that is
published, exact or rounded, is a linear constraint on these unknowns, and so is each reason that is
given for withholding one. A withheld count is known if it is the same in every table of whole
numbers that satisfies all constraints; that everybody, or nobody, in a group was refused is such a
count, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, vstack

from tests.groups.published import ALL, Cell, Detail, Published, Ties

Kinds = frozenset[str]
Row = NDArray[np.float64]
MOST = 10_000.0
CLOSE = 1e-6

REFUSED = frozenset({"not audited", "error", "found", "infeasible", "not found"})
AUDITED = REFUSED - {"not audited"}
USABLE = AUDITED - {"error"}
EVERYBODY = REFUSED | {"favourable", "undecided"}
FIGURES: dict[str, Kinds] = {
    "people": EVERYBODY,
    "refused": REFUSED,
    "favourable": frozenset({"favourable"}),
    "undecided": frozenset({"undecided"}),
    "decided": EVERYBODY - {"undecided"},
    "audited": AUDITED,
    "not_audited": frozenset({"not audited"}),
    "usable": USABLE,
    "errors": frozenset({"error"}),
    "verified": frozenset({"found"}),
    "without": USABLE - {"found"},
    "infeasible": frozenset({"infeasible"}),
    "not_found": frozenset({"not found"}),
}
# What the attacker is after: how many there are, what was decided on them, what they can do.
SECRETS_OF_PEOPLE = ("people", "refused", "favourable", "undecided", "audited", "not_audited")
SECRETS_OF_AUDITED = ("errors", "verified", "without", "infeasible", "not_found")


@dataclass(frozen=True, slots=True)
class Secret:
    """A withheld count that the attacker knows."""

    cell: Cell
    figure: str
    value: int


@dataclass(frozen=True, slots=True)
class Solver:
    """Tables of whole numbers, none below zero, that satisfy linear constraints."""

    matrix: csr_array
    low: Row
    high: Row

    def fixed(self, targets: csr_array) -> tuple[NDArray[np.bool_], Row]:
        """Which sums have the same value in every table, and the values in one of them.

        A sum that is the same for fractions is the same for whole numbers, and a random
        combination of sums that cannot be more or less shows it for all of them at once. For the
        others, a table with another value is sought: among those that fractions led to, or, if
        none of them has whole numbers, one by one.
        """
        first = self.solve(np.zeros(self.matrix.shape[1]), whole=True)
        assert first is not None, "the published files contradict each other"
        start = targets @ first
        rigid = np.ones(targets.shape[0], dtype=bool)
        still = rigid.copy()
        random = np.random.default_rng(0)
        while rigid.any():
            weights = targets.T @ np.where(rigid, random.uniform(1, 2, rigid.size), 0.0)
            weights *= random.choice([-1, 1])
            least, most = self.solve(weights), self.solve(-weights)
            assert least is not None
            assert most is not None
            for end in (least, most):
                whole = np.round(end).astype(np.float64)
                rigid &= np.abs(targets @ end - start) < CLOSE
                if self.agrees(whole):
                    still &= np.abs(targets @ whole - start) < CLOSE
            if weights @ (most - least) < CLOSE:
                break
        for place in np.flatnonzero(still & ~rigid):
            for sign in (1, -1):
                if still[place]:
                    beyond = self.more(targets[[place]], sign, start[place])
                    found = beyond.solve(np.zeros(self.matrix.shape[1]), whole=True)
                    if found is not None:
                        still &= np.abs(targets @ found - start) < CLOSE
        return still, start

    def more(self, row: csr_array, sign: int, than: float) -> "Solver":
        """The same with a sum that is larger, or smaller."""
        return Solver(
            vstack([self.matrix, sign * row], format="csr"),
            np.append(self.low, sign * than + 1),
            np.append(self.high, np.inf),
        )

    def agrees(self, table: Row) -> bool:
        sums = self.matrix @ table
        return bool(
            (sums >= self.low - CLOSE).all()
            and (sums <= self.high + CLOSE).all()
            and (table >= 0).all()
        )

    def solve(self, cost: Row, *, whole: bool = False) -> Row | None:
        found = milp(
            cost,
            constraints=LinearConstraint(self.matrix, self.low, self.high),
            integrality=np.full(cost.size, int(whole)),
            bounds=Bounds(0, MOST),
            options={"time_limit": 120},
        )
        assert found.x is not None or found.status == 2, found.message
        if found.x is None:
            return None
        return np.round(found.x) if whole else np.asarray(found.x)


class System:
    """All that is published, as linear constraints on the unknowns.

    `split` adds a kind of people to tell apart: those of a figure who also are of a detail. With
    `own_data`, people are told apart by whether the decision on them changes without their ties.
    """

    def __init__(
        self, known: Published, split: Detail | None = None, *, own_data: bool = False
    ) -> None:
        self.known = known
        self.splits = {} if split is None else {split: known.details[split]}
        if own_data:
            self.splits = {
                one: {cell: (count, count) for cell, count in found.items()}
                for one, found in known.own_data.items()
            }
        self.figures = dict(FIGURES)
        # Of whom there is nobody at all, there is nobody anywhere.
        nobody = [
            FIGURES[name]
            for (cell, name), count in known.exact.items()
            if cell == ALL and count == 0
        ]
        self.kinds = sorted(EVERYBODY.difference(*nobody))
        for one in self.splits:
            self._split(*one)
        joint = product(*([(name, group) for group in known.groups[name]] for name in known.groups))
        crossings = {
            attributes: {cell.values for cell in cells}
            for attributes, cells in known.listed.items()
            if len(attributes) > 1
        }
        # A combination that is not listed has nobody.
        self.joint = [
            frozenset(one)
            for one in joint
            if all(
                tuple((name, dict(one)[name]) for name in attributes) in listed
                for attributes, listed in crossings.items()
            )
        ]
        self._inside: dict[Cell, NDArray[np.bool_]] = {}

    def _split(self, name: str, part_of: str) -> None:
        """Each kind of people in a figure becomes two."""
        old = FIGURES[part_of]
        more = [f"{kind}+" for kind in self.kinds if kind in old]
        self.kinds += more
        for figure, kinds in self.figures.items():
            self.figures[figure] = kinds | {f"{kind}+" for kind in kinds & old}
        self.figures[name] = frozenset(f"{kind}+" for kind in old)
        self.figures[f"not {name}"] = old

    def inside(self, cell: Cell) -> NDArray[np.bool_]:
        """The combinations of groups that a cell has."""
        if cell not in self._inside:
            wanted = frozenset(cell.values)
            self._inside[cell] = np.array([wanted <= one for one in self.joint])
        return self._inside[cell]

    def row(self, cell: Cell, figure: str) -> Row:
        counted = np.array([kind in self.figures[figure] for kind in self.kinds])
        return np.outer(self.inside(cell), counted).astype(np.float64).ravel()

    @cached_property
    def solver(self) -> Solver:
        rows = list(self._constraints())
        return Solver(
            # Where nothing at all is published there is nothing to go by.
            csr_array(np.array([row for row, _, _ in rows] or [np.zeros(self.width)])),
            np.array([low for _, low, _ in rows] or [0], float),
            np.array([high for _, _, high in rows] or [0], float),
        )

    @property
    def width(self) -> int:
        return len(self.joint) * len(self.kinds)

    def _constraints(self) -> Iterator[tuple[Row, float, float]]:
        known = self.known
        for (cell, figure), value in known.exact.items():
            yield self.row(cell, figure), value, value
        for cell, part, whole, low, high in known.shares:
            if (cell, part) not in known.exact or (cell, whole) not in known.exact:
                yield self.row(cell, part) - low * self.row(cell, whole), 0, np.inf
                yield self.row(cell, part) - high * self.row(cell, whole), -np.inf, 0
        outcomes = (ALL, "usable") in known.exact
        for cell, (what, why) in known.reasons.items():
            people = what == "all figures"
            if not people and not outcomes:
                continue  # nothing about the audit is shown, so this says nothing about a group
            few = why in ("few_people", "few_audited")
            if not few and (ALL, "people") not in known.exact:
                continue  # all groups are withheld, and this one may have nobody
            ends = (1, known.smallest - 1) if few else (known.smallest, np.inf)
            yield self.row(cell, "people" if people else "usable"), *ends
        for (name, _), found in self.splits.items():
            for cell, (low, high) in found.items():
                yield self.row(cell, name), low, high

    def around(self, cell: Cell) -> list[Cell]:
        """The groups, figures of which are shown, that certainly have everybody of a cell."""
        mine = self.inside(cell)
        shown = dict.fromkeys(one for one, _ in self.known.exact)
        return [one for one in shown if not (mine & ~self.inside(one)).any()]

    def told(self, cell: Cell, figure: str) -> bool:
        """Whether a group that is shown has none of a figure, and so has every part of it.

        This is not about the withheld group: it is said of everybody in the group that is shown.
        """
        return any(self._none(one, figure) for one in self.around(cell))

    def _none(self, shown: Cell, figure: str) -> bool:
        """Whether the figures of one group that is shown say that it has nobody of a kind."""
        kinds = self.figures[figure] & set(self.kinds)
        known = {name: of for (one, name), of in self.known.exact.items() if one == shown}
        for (name, part_of), found in self.splits.items():
            if shown in found:
                low, high = found[shown]
                known |= {name: int(high)} if high == 0 else {}
                known |= {f"not {name}": 0} if known.get(part_of) == low else {}
        if {"usable", "verified"} <= set(known):
            known["without"] = known["usable"] - known["verified"]
        none = [self.figures[name] for name, count in known.items() if count == 0]
        return kinds <= frozenset().union(*none)

    def told_of_all(self, cell: Cell, figure: str) -> bool:
        """Whether a group that is shown says that everybody audited is of a figure."""
        usable, kinds = self.figures["usable"], self.figures[figure]
        if (cell, "audited") not in self.known.exact or not kinds <= usable:
            return False
        self.figures["others"] = usable - kinds
        return self.told(cell, "errors") and self.told(cell, "others")

    def pinned(self, secrets: Sequence[tuple[Cell, str]]) -> list[Secret]:
        """The secrets that have the same value in every table that agrees with what is published.

        Where nobody was audited for certain, no outcome is hidden.
        """
        wanted = [
            (cell, figure)
            for cell, figure in secrets
            if not self.told(cell, figure) and not self.told_of_all(cell, figure)
        ]
        if not wanted:
            return []
        audited = [self.row(cell, "usable") for cell, _ in wanted]
        rows = [self.row(cell, figure) for cell, figure in wanted] + audited
        fixed, values = self.solver.fixed(csr_array(np.array(rows)))
        nobody = fixed[len(wanted) :] & (values[len(wanted) :] == 0)
        outcome = [self.figures[figure] <= self.figures["usable"] for _, figure in wanted]
        return [
            Secret(cell, figure, int(values[place]))
            for place, (cell, figure) in enumerate(wanted)
            if fixed[place] and not (outcome[place] and nobody[place])
        ]


def hidden_counts(known: Published) -> list[tuple[Cell, str]]:
    """Every withheld count of every listed group."""
    outcomes = (ALL, "usable") in known.exact
    found = []
    for cells in known.listed.values():
        for cell in cells:
            if (cell, "people") not in known.exact:
                found += [(cell, figure) for figure in SECRETS_OF_PEOPLE]
            if (cell, "verified") not in known.exact and outcomes:
                found += [(cell, figure) for figure in SECRETS_OF_AUDITED]
    return found


def attack(known: Published) -> list[Secret]:
    """Every withheld count of people, refusals, options and the lack of them that is known."""
    hidden = hidden_counts(known)
    return System(known).pinned(hidden) if hidden else []


def attack_details(known: Published) -> list[Secret]:
    """The same for costs, numbers of options, caveats, explanations and common options.

    If everybody, or nobody, is told to be of a detail, it only counts the people it is a part of:
    the audited, who are no secret by themselves, or those with an option, whom `attack` is after.
    """
    found: list[Secret] = []
    hidden = [cell for cell, figure in hidden_counts(known) if figure == "verified"]
    for split in known.details:
        if hidden:
            system = System(known, split)
            parts = (split[0], f"not {split[0]}")
            told = {cell for cell in hidden for part in parts if system.told(cell, part)}
            found += system.pinned(
                [(cell, part) for cell in hidden if cell not in told for part in parts]
            )
    return found


def attack_own_data(known: Published) -> list[Secret]:
    """Whatever is known of groups whose figures without ties are not shown, or of other secrets."""
    if not known.own_data:
        return []
    system = System(known, own_data=True)
    hidden = hidden_counts(known)
    for (name, _), found in known.own_data.items():
        cells = [cell for several in known.listed.values() for cell in several if cell not in found]
        hidden += [(cell, figure) for cell in cells for figure in (name, f"not {name}")]
    return system.pinned(hidden)


def attack_actions(known: Published) -> list[Secret]:
    """Whatever is known of groups of which it is not shown whom an action serves, or of others.

    As with other details, it is nothing new if everybody, or nobody, is told to be served.
    """
    found: list[Secret] = []
    everybody = [cell for several in known.listed.values() for cell in several]
    for split, shown in known.details.items():
        if split[0].startswith(("serves ", "applies ")):
            system, parts = System(known, split), (split[0], f"not {split[0]}")
            hidden = [
                (cell, part)
                for cell in everybody
                if cell not in shown and not any(system.told(cell, one) for one in parts)
                for part in parts
            ]
            found += system.pinned([*hidden_counts(known), *hidden])
    return found


def attack_ties(known: Published) -> list[Secret]:
    """Every withheld count of ties that is known, and whether all or none of them are dropped."""
    return [
        Secret(Cell(((attribute, group),)), figure, value)
        for attribute, ties in known.ties.items()
        if ties.withheld
        for group, figure, value in _known_ties(ties)
    ]


def _known_ties(ties: Ties) -> Iterator[tuple[str, str, int]]:
    """Of each group: ties that first options drop, that others do, and that none does."""
    parts = {"dropped first": [0], "dropped all": [0, 1], "droppable": [0, 1, 2], "kept": [2]}
    names = ["dropped first", "dropped all", "droppable"]

    def row(group: str | None, figure: str) -> Row:
        places = np.zeros((len(ties.groups), 3))
        places[slice(None) if group is None else ties.groups.index(group), parts[figure]] = 1
        return places.ravel()

    exact = [(row(None, name), ties.totals[name]) for name in names]
    exact += [(row(group, name), count) for (group, name), count in ties.counts.items()]
    values = np.array([value for _, value in exact], float)
    solver = Solver(csr_array(np.array([one for one, _ in exact])), values, values)
    wanted = [(group, figure) for group in sorted(ties.withheld) for figure in parts]
    fixed, found = solver.fixed(csr_array(np.array([row(*one) for one in wanted])))
    for place, (group, figure) in enumerate(wanted):
        # What the total says of all ties it says of these.
        total = ties.totals["droppable"] - ties.totals["dropped all"] if figure == "kept" else None
        if fixed[place] and (total if figure == "kept" else ties.totals[figure]):
            yield group, figure, int(found[place])
