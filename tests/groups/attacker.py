"""Somebody who has a group report, a solver and patience, and wants to know about a few people.

Unknown are the people of each combination of groups by what became of them; groups that are pooled
are told apart. Every published count is a linear equation on these unknowns, and every quartile a
pair of inequalities. Whatever a report divides people by further is added one division at a time.
A count is learnt if it is the same in every table of numbers that agrees with all of this, is of a
few people (at least one, and fewer than the threshold), and is not printed as such: not even of a
larger group of which the rest has nobody. Shares no code with the stage that designs the tables.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

Cell = frozenset[tuple[str, str]]
Row = NDArray[np.float64]
EVERYBODY: Cell = frozenset()
REFUSED = frozenset({"not audited", "left out", "found", "infeasible", "not found"})
USABLE = frozenset({"found", "infeasible", "not found"})
KINDS = (*sorted(REFUSED), "favourable", "undecided")
# What is counted of groups, and the kinds of people that it counts.
FIGURES: dict[str, frozenset[str]] = {
    "people": frozenset(KINDS),
    "decided": REFUSED | {"favourable"},
    "refused": REFUSED,
    "favourable": frozenset({"favourable"}),
    "usable": USABLE,
    "verified": frozenset({"found"}),
    "without": USABLE - {"found"},
    "infeasible": frozenset({"infeasible"}),
    "not_found": frozenset({"not found"}),
    "audited": REFUSED - {"not audited"},
    "left_out": frozenset({"left out"}),
    "undecided": frozenset({"undecided"}),
    "not_audited": frozenset({"not audited"}),
}
# How many have figures, and how many have none, is no secret.
TECHNICAL = ("undecided", "not_audited", "audited", "left_out", "usable")
SECRETS = tuple(name for name in FIGURES if name not in TECHNICAL)
QUARTERS = {"first": 0.25, "median": 0.5, "third": 0.75}
ROUNDS = 6
MOST = 1e6


@dataclass(frozen=True, slots=True)
class Learnt:
    """A count of a few people that is known."""

    cell: Cell
    figure: str
    value: int


@dataclass(slots=True)
class Division:
    """People of a figure divided by labels, of which not all need to be counted.

    `counts` has how many of a group have one of some labels, at least and at most, and `inside` how
    many of another figure have one of them.
    """

    part_of: str
    labels: tuple[str, ...]
    counts: dict[tuple[Cell, tuple[str, ...]], tuple[float, float]] = field(default_factory=dict)
    inside: dict[tuple[Cell, str, str], int] = field(default_factory=dict)

    def know(self, cell: Cell, labels: Sequence[str], low: float, high: float) -> None:
        before = self.counts.get((cell, tuple(labels)), (0.0, math.inf))
        self.counts[cell, tuple(labels)] = max(before[0], low), min(before[1], high)


@dataclass(slots=True)
class Published:
    """What a report says: groups by attribute, counts by cell and figure, and divisions."""

    smallest: int
    groups: dict[str, list[str]] = field(default_factory=dict)
    pools: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    counts: dict[tuple[Cell, str], int] = field(default_factory=dict)
    divisions: dict[str, Division] = field(default_factory=dict)

    def divide(self, name: str, part_of: str, *labels: str) -> Division:
        return self.divisions.setdefault(name, Division(part_of, labels))


def read(
    report: Mapping[str, Any],
    sizes: Mapping[str, Mapping[str, int]],
    *,
    by_cut_off: bool = False,
) -> Published:
    """What a report says; `sizes` of all groups give the attacker the ends of pooled ones.

    Where decisions are known to go `by_cut_off`, all above the median are let in, or all who are
    let in are above it.
    """
    known = Published(report["smallest"])
    names: dict[tuple[str, str], Cell] = {("overall", "everybody"): EVERYBODY}
    rows = [(EVERYBODY, report["overall"])] if report["overall"]["decisions"] else []
    for table in report["tables"]:
        for group in table["by_group"]:
            cell = frozenset(zip(table["attributes"], group["values"], strict=True))
            names[table["name"], group["name"]] = cell
            known.cells.append(cell)
            rows.append((cell, group))
        if len(table["attributes"]) == 1:
            own = [group["name"] for group in table["by_group"]]
            known.groups[table["name"]] = own
            if any(group["pooled"] for group in table["by_group"]):
                known.pools[table["name"]] = _pool(known.smallest, own, sizes[table["name"]])
    for cell, group in rows:
        _read_group(known, cell, group)
        decided = group["decisions"]
        known.counts[cell, "decided"] = decided["refused"] + decided["favourable"]
    for cell, group in rows:
        _read_quartiles(known, cell, group["outcomes"])
    nothing: dict[str, Any] = {"tables": (), "overall": None}
    own_data, errors = report["own_data"], report["error_rates"] or nothing
    for cell, rates in _rates(own_data, names):
        for name, figure in (("to_favourable", "refused"), ("to_refused", "favourable")):
            known.divide(name, figure, name).know(cell, [name], rates[name], rates[name])
        if rates["no_option"] is not None:
            alone = known.divisions["to_favourable"]
            alone.inside[cell, "infeasible", "to_favourable"] = rates["no_option"]["count"]
    for cell, rates in _rates(report["rates"], names):
        _read_rates(known, cell, rates, by_cut_off=by_cut_off)
    for cell, rates in _rates(errors, names):
        _read_errors(known, cell, rates)
    for step, option in enumerate(report["common_options"]):
        found = known.divide(f"step {step}", "verified", "served")
        found.know(EVERYBODY, ["served"], *2 * [option["served_so_far"]])
        for table, shares in option["shares_by_group"].items():
            for group, share in shares.items():
                cell = names[table, group]
                found.know(cell, ["served"], *2 * [round(share * known.counts[cell, "usable"])])
    _read_actions(known, names, report["common_actions"])
    _read_reasons(known, names, report)
    _read_sweeps(known, names, report)
    return known


def _pool(
    smallest: int, shown: Sequence[str], sizes: Mapping[str, int]
) -> list[tuple[float, float]]:
    """The ends of the sizes of pooled groups: a reader knows which of them are small."""
    least = min(sizes[group] for group in shown if group in sizes)
    pooled = [size for group, size in sizes.items() if group not in shown]
    return [
        (1, smallest - 1) if size < smallest else (smallest, least if size <= least else math.inf)
        for size in pooled
    ]


def _rates(
    found: Mapping[str, Any], names: Mapping[tuple[str, str], Cell]
) -> Iterator[tuple[Cell, Mapping[str, Any]]]:
    if found["overall"] is not None:
        yield EVERYBODY, found["overall"]
    for table in found["tables"]:
        for group, rates in table["by_group"].items():
            yield names[table["table"], group], rates


def _read_group(known: Published, cell: Cell, group: Mapping[str, Any]) -> None:
    decisions, outcomes = group["decisions"], group["outcomes"]
    for figure in ("people", "refused", "favourable", "undecided", "not_audited", "audited"):
        known.counts[cell, figure] = decisions[figure]
    if outcomes is None:
        return
    known.counts[cell, "usable"] = usable = outcomes["feasibility"]["of"]
    known.counts[cell, "verified"] = outcomes["verified"]
    known.counts[cell, "left_out"] = decisions["audited"] - usable
    for name, figure in (
        ("certified_infeasible", "infeasible"),
        ("not_found_within_budget", "not_found"),
    ):
        if outcomes[name] is not None:
            known.counts[cell, figure] = outcomes[name]
    for point in outcomes["cost_curve"] or ():
        within = known.divide(f"cost {point['cost']:g}", "verified", "within")
        within.know(cell, ["within"], point["count"], point["count"])
    grades = outcomes["grades"] or {}
    for grade, count in grades.items():
        known.divide("grades", "usable", *grades).know(cell, [grade], count, count)
    for measure in ("simulatability", "relevance"):
        if outcomes[measure] is not None:
            of = outcomes[measure]["of"]
            known.divide(measure, "usable", "valued").know(cell, ["valued"], of, of)


def _read_quartiles(known: Published, cell: Cell, outcomes: Mapping[str, Any] | None) -> None:
    """A quartile says that so many people are at or below its value, or above it."""
    if outcomes is None or outcomes["cost"] is None or not outcomes["cost"]["of"]:
        return
    quartiles = outcomes["cost"]
    for name in quartiles_of(known):
        low, high = 0, quartiles["of"]
        for quarter, share in QUARTERS.items():
            place, value = max(1, math.ceil(share * quartiles["of"])), quartiles[quarter]
            if value is not None and value <= float(name.split()[1]) + 1e-9:
                low = max(low, place)
            else:
                high = min(high, place - 1)
        known.divisions[name].know(cell, ["within"], low, high)


def quartiles_of(known: Published) -> list[str]:
    return [name for name in known.divisions if name.startswith("cost ")]


def _read_rates(
    known: Published, cell: Cell, rates: Mapping[str, Any], *, by_cut_off: bool
) -> None:
    """All that is said of outcomes is one division; who is above the median is another."""
    for name, figure, counted in (
        ("selection_rate", "decided", "favourable"),
        ("false_discovery_rate", "favourable", "bad"),
        ("positive_predictive_value", "favourable", "good"),
        ("false_omission_rate", "refused", "good"),
        ("negative_predictive_value", "refused", "bad"),
    ):
        if (rate := rates.get(name)) is None:
            continue
        if name == "selection_rate":
            assert (rate["count"], rate["of"]) == (
                known.counts[cell, counted],
                known.counts[cell, figure],
            )
            continue
        outcomes = known.divide("outcomes", "decided", "good", "bad")
        outcomes.inside[cell, figure, counted] = rate["count"]
        outcomes.inside[cell, figure, ""] = known.counts[cell, figure] - rate["of"]
    for name, counted, label in (
        ("true_positive_rate", "favourable", "good"),
        ("false_positive_rate", "favourable", "bad"),
        ("false_negative_rate", "refused", "good"),
        ("true_negative_rate", "refused", "bad"),
    ):
        if (rate := rates.get(name)) is not None:
            outcomes = known.divide("outcomes", "decided", "good", "bad")
            outcomes.know(cell, [label], rate["of"], rate["of"])
            outcomes.inside[cell, counted, label] = rate["count"]
    if (rate := rates.get("scoring_rate")) is not None:
        scores = known.divide("scores", "decided", "above", "below")
        scores.know(cell, ["above"], *2 * [rate["count"]])
        scores.know(cell, ["below"], *2 * [rate["of"] - rate["count"]])
        scores.know(cell, [""], *2 * [known.counts[cell, "decided"] - rate["of"]])
        if by_cut_off:
            let_in = min(rate["count"], rates["selection_rate"]["count"])
            scores.inside[cell, "favourable", "above"] = let_in
            scores.inside[cell, "favourable", "below"] = rates["selection_rate"]["count"] - let_in
            scores.inside[cell, "refused", "above"] = rate["count"] - let_in


def _read_errors(known: Published, cell: Cell, rates: Mapping[str, Any]) -> None:
    good = rates["good_refused"]
    if good is not None:
        outcomes = known.divide("outcomes", "decided", "good", "bad")
        outcomes.inside[cell, "usable", "good"] = good["without_option"]["of"]
        for name, figure in (
            ("without_option", "without"),
            ("certified_infeasible", "infeasible"),
            ("not_found_within_budget", "not_found"),
        ):
            if good[name] is not None:
                outcomes.inside[cell, figure, "good"] = good[name]["count"]


def _read_actions(
    known: Published, names: Mapping[tuple[str, str], Cell], found: Mapping[str, Any]
) -> None:
    served = [(f"serves {number}", one["served"]) for number, one in enumerate(found["actions"])]
    served += [(f"serves {one['actions']}", one["served"]) for one in found["sets"]]
    for name, one in served:
        rates = [(EVERYBODY, one["everybody"])] if one["everybody"] else []
        for table, groups in one["by_group"].items():
            rates += [(names[table, group], rate) for group, rate in groups.items()]
        for cell, rate in rates:
            known.divide(name, "verified", "yes").know(cell, ["yes"], *2 * [rate["count"]])
    for number, one in enumerate(found["actions"]):
        counts = [] if one["applies"] is None else [(EVERYBODY, one["applies"])]
        for table, groups in one["applies_by_group"].items():
            counts += [(names[table, group], count) for group, count in groups.items()]
        for cell, count in counts:
            known.divide(f"applies {number}", "usable", "yes").know(cell, ["yes"], count, count)


# How people stand to all of their reasons, and to one part: how far it may be changed, and whether
# it is a reason. What is not fixed may be changed, and what flips a decision is not fixed.
LEVELS = ("none", "flips", "in vain", "fixed")
STATES = ("no no", "no fixed", "vain no", "vain moves", "vain fixed", "flips no", "flips moves")
MEANING: dict[str, tuple[str, ...]] = {
    "reasons": LEVELS[1:],
    "none_flips": LEVELS[2:],
    "all_fixed": LEVELS[3:],
    "permitted": tuple(state for state in STATES if not state.startswith("no ")),
    "flips": tuple(state for state in STATES if state.startswith("flips ")),
    "reason": tuple(state for state in STATES if not state.endswith(" no")),
    "fixed": tuple(state for state in STATES if state.endswith(" fixed")),
}


def _read_reasons(
    known: Published, names: Mapping[tuple[str, str], Cell], report: Mapping[str, Any]
) -> None:
    if report["reasons"] is None:
        return
    every: list[tuple[str, tuple[str, ...], Any]] = [("reasons", LEVELS, report["reasons"])]
    for one in report["reason_parts"]:
        name = f"part {one['part']['what']} {one['part']['name']}"
        every += [(name, STATES, one["changes"]), (name, STATES, one["reasons"])]
    for name, labels, figures in every:
        rows = [(EVERYBODY, figures["overall"])]
        for table, groups in figures["by_group"].items():
            rows += [(names[table, group], rates) for group, rates in groups.items()]
        for cell, rates in rows:
            found = known.divide(name, "usable", *labels)
            for measure, rate in rates.items():
                others = [label for label in labels if label not in MEANING[measure]]
                found.know(cell, MEANING[measure], rate["count"], rate["count"])
                found.know(cell, others, *2 * [rate["of"] - rate["count"]])
            for rate in rates.values():  # who was not asked is no secret
                unasked = known.counts[cell, "usable"] - rate["of"]
                found.know(cell, [""], unasked, unasked)


def _read_sweeps(
    known: Published, names: Mapping[tuple[str, str], Cell], report: Mapping[str, Any]
) -> None:
    """Who is below, between and above two neighbouring cut-offs, or ends of calibration bins.

    Below all cut-offs in force everybody is refused, and from the highest on nobody; where several
    are, this is not known in between.
    """
    if not report["sweeps"]:
        return
    rule = report["sweeps"][0]["rule"]
    in_force = [*rule["cut_off_by"].values(), *([rule["cut_off"]] if rule["cut_off"] else [])]
    low, high = min(in_force, default=-math.inf), max(in_force, default=math.inf)
    below = _read_curves(names, report)
    outcomes = _read_bins(known, names, report["error_rates"], low, high)
    ends = sorted({end for counts in (below, outcomes) for _, end in counts})
    for first, second in pairwise(ends):
        figure = "refused" if second <= low else "favourable" if first >= high else "decided"
        found = known.divide(f"{first} to {second}", figure, "below", "between", "above")
        for (cell, end), (count, of) in below.items():
            if figure == "favourable" and end >= high:
                _bound(found, cell, end, (second, first), ("above", "between"), of - count)
            elif figure == "decided" or (figure == "refused" and end <= low):
                _bound(found, cell, -end, (-first, -second), ("below", "between"), count)
        for (cell, end), (side, least, most) in outcomes.items():
            if figure == side == "refused":
                _bound(found, cell, -end, (-first, -second), ("below", "between"), least, most)
            elif figure == side == "favourable":
                _bound(found, cell, end, (second, first), ("above", "between"), least, most)
        for cell in (EVERYBODY, *known.cells):
            found.know(cell, [""], 0, 0)  # everybody decided on has an answer


def _bound(
    found: Division,
    cell: Cell,
    end: float,
    ends: tuple[float, float],
    labels: tuple[str, str],
    least: float,
    most: float | None = None,
) -> None:
    """Beyond this end are so many: beyond one that is less far, at least; farther, at most."""
    for place, other in enumerate(ends):
        if end >= other:
            found.know(cell, labels[: place + 1], least, math.inf)
        if end <= other:
            found.know(cell, labels[: place + 1], 0, least if most is None else most)


def _read_curves(
    names: Mapping[tuple[str, str], Cell], report: Mapping[str, Any]
) -> dict[tuple[Cell, float], tuple[int, int]]:
    """How many of a group are below a cut-off, and of how many."""
    below: dict[tuple[Cell, float], tuple[int, int]] = {}
    for table in report["sweeps"]:
        for place, cut_off in enumerate(table["cut_offs"]):
            counts = [
                (names[table["table"], group], curve["refused"][place], curve["of"])
                for group, curve in table["by_group"].items()
            ]
            below |= {(cell, cut_off): (count, of) for cell, count, of in counts}
            below[EVERYBODY, cut_off] = (sum(c for _, c, _ in counts), sum(o for *_, o in counts))
    return below


def _read_bins(
    known: Published,
    names: Mapping[tuple[str, str], Cell],
    errors: Mapping[str, Any] | None,
    low: float,
    high: float,
) -> dict[tuple[Cell, float], tuple[str, float, float]]:
    """Of the refused below, or of the favoured above, an end of a bin: at least, and at most.

    People whose outcome is not known are in no bin.
    """
    told: dict[tuple[Cell, float], tuple[str, float, float]] = {}
    for cell, rates in _rates(errors or {"tables": (), "overall": None}, names):
        for each in (bins := rates["calibration"] or ())[1:]:
            end = each["low"]
            if end <= low:
                figure, inside = "refused", [one for one in bins if one["high"] <= end]
            elif end >= high:
                figure, inside = "favourable", [one for one in bins if one["low"] >= end]
            else:
                continue
            count = sum(one["good"]["of"] for one in inside)
            unknown = known.counts[cell, figure] - (rates[f"{figure}_known"] or 0)
            told[cell, end] = (figure, count, count + unknown)
    return told


class System:
    """Everything that is published as linear constraints, with one division of people or none."""

    def __init__(self, known: Published, division: Division | None = None) -> None:
        self.known = known
        self.division = division
        self.base = frozenset() if division is None else FIGURES[division.part_of]
        labels = () if division is None else (*division.labels, "")
        self.kinds = [
            (kind, label) for kind in KINDS for label in (labels if kind in self.base else ("",))
        ]
        parts = [[*self._parts(name)] for name in known.groups]
        self.joint: list[Cell] = [frozenset().union(*one) for one in product(*parts)]
        rows = [*self._constraints(), (np.ones(self.width), 0.0, MOST)]
        matrix = np.array([row for row, _, _ in rows])
        low, high = (np.array([row[place] for row in rows]) for place in (1, 2))
        same, above = low == high, (low != high) & np.isfinite(high)
        self.limits: dict[str, Any] = {
            "A_eq": csr_array(matrix[same]),
            "b_eq": low[same],
            "A_ub": csr_array(np.vstack([matrix[above], -matrix[~same]])),
            "b_ub": np.concatenate([high[above], -low[~same]]),
        }

    @property
    def width(self) -> int:
        return len(self.joint) * len(self.kinds)

    def _parts(self, name: str) -> Iterator[Cell]:
        """The groups of an attribute, and those inside a pool."""
        pool = self.known.pools.get(name, [])
        for group in self.known.groups[name]:
            if pool and group == self.known.groups[name][-1]:
                yield from (
                    frozenset({(name, group), (f"pool of {name}", str(number))})
                    for number in range(len(pool))
                )
            else:
                yield frozenset({(name, group)})

    def row(self, cell: Cell, figure: str, labels: Sequence[str] | None = None) -> Row:
        inside = np.array([cell <= one for one in self.joint], dtype=float)
        counted = [
            kind in FIGURES[figure] and (labels is None or (kind in self.base and label in labels))
            for kind, label in self.kinds
        ]
        return np.outer(inside, np.array(counted, dtype=float)).ravel()

    def _constraints(self) -> Iterator[tuple[Row, float, float]]:
        for (cell, figure), count in self.known.counts.items():
            yield self.row(cell, figure), count, count
        for name, ends in self.known.pools.items():
            for number, (low, high) in enumerate(ends):
                yield self.row(frozenset({(f"pool of {name}", str(number))}), "people"), low, high
        if self.division is not None:
            for (cell, labels), (low, high) in self.division.counts.items():
                yield self.row(cell, self.division.part_of, labels), low, high
            for (cell, figure, label), count in self.division.inside.items():
                yield self.row(cell, figure, [label]), count, count

    def secrets(self) -> Iterator[tuple[Cell, str, Row]]:
        """What the attacker is after: of all groups, pooled ones, and crossings left out."""
        known = self.known
        cells = dict.fromkeys(known.cells)
        for one, other in combinations(known.groups, 2):
            pairs = product(known.groups[one], known.groups[other])
            cells |= dict.fromkeys(frozenset({(one, a), (other, b)}) for a, b in pairs)
        for name, ends in known.pools.items():
            cells |= dict.fromkeys(
                frozenset({(f"pool of {name}", str(number))}) for number in range(len(ends))
            )
        for cell in cells:
            if self.division is None:
                yield from ((cell, name, self.row(cell, name)) for name in SECRETS)
            else:
                inside = dict.fromkeys(figure for _, figure, _ in self.division.inside)
                for figure in (self.division.part_of, *inside):
                    for label in self._labels():
                        yield cell, f"{figure}, {label}", self.row(cell, figure, [label])

    def _labels(self) -> Iterator[str]:
        """The labels that are a secret of anybody, and the people without one.

        What everybody or nobody has is no secret, and neither is whose outcome is not known.
        """
        assert self.division is not None
        of = self.known.counts.get((EVERYBODY, self.division.part_of))
        everybody = [
            self.division.counts.get((EVERYBODY, (label,)), (-1, -1))[0]
            for label in self.division.labels
        ]
        if len(everybody) == 1 and everybody[0] in (0, of):
            return
        yield from self.division.labels
        if len(everybody) == 1:
            yield ""

    def learn(self) -> list[Learnt]:
        """The counts of a few people that have one value in all tables that agree."""
        wanted = list(self.secrets())
        if not wanted:
            return []
        targets = csr_array(np.array([row for _, _, row in wanted]))
        least, most = np.full(len(wanted), np.inf), np.full(len(wanted), -np.inf)
        random = np.random.default_rng(0)

        def fixed() -> list[int]:
            return np.flatnonzero(most - least < 1 - 1e-6).tolist()

        def move(some: list[int]) -> None:
            weights = targets[some].T @ random.uniform(1, 2, len(some))
            for sign in (1, -1):
                sums = targets @ self._solve(sign * weights)
                np.minimum(least, sums, out=least)
                np.maximum(most, sums, out=most)

        # Many at once first; then those of a few people that have not moved, one by one.
        move(list(range(len(wanted))))
        for _ in range(ROUNDS):
            if left := fixed():
                move(left)
        tried: set[int] = set()
        while left := [
            place
            for place in fixed()
            if 0 < round(most[place]) < self.known.smallest and place not in tried
        ]:
            tried.add(left[0])  # what it moves beside may have to be moved in turn
            move(left[:1])
        return [
            Learnt(cell, figure, round(most[place]))
            for place, (cell, figure, row) in enumerate(wanted)
            if place in fixed()
            and 0 < round(most[place]) < self.known.smallest
            and self._open(row) not in self.printed
        ]

    @cached_property
    def nobody(self) -> NDArray[np.bool_]:
        """The unknowns of which a single published figure says that there is nobody."""
        none = [row for row, count in self._published() if count == 0]
        found: NDArray[np.bool_] = np.sum([*none, np.zeros(self.width)], axis=0) > 0
        return found

    @cached_property
    def printed(self) -> set[bytes]:
        """What published figures add up, without those of whom there is nobody."""
        return {self._open(row) for row, _ in self._published()}

    def _open(self, row: Row) -> bytes:
        return ((row > 0) & ~self.nobody).tobytes()

    def _published(self) -> Iterator[tuple[Row, float]]:
        counts = self.known.counts
        for (cell, figure), count in counts.items():
            yield self.row(cell, figure), count
            if figure == "verified":
                yield self.row(cell, "without"), counts[cell, "usable"] - count
        if self.division is not None:
            for (cell, labels), (low, high) in self.division.counts.items():
                if low == high:
                    yield self.row(cell, self.division.part_of, labels), low
                    of = counts.get((cell, self.division.part_of))
                    if of is not None and len(self.division.labels) == 1:
                        yield self.row(cell, self.division.part_of, [""]), of - low
            for (cell, figure, label), count in self.division.inside.items():
                yield self.row(cell, figure, [label]), count
                if len(self.division.labels) == 1:
                    yield self.row(cell, figure, [""]), counts[cell, figure] - count

    def _solve(self, cost: Row) -> Row:
        found = linprog(cost, **self.limits, bounds=(0, None), method="highs")
        assert found.x is not None, f"the report contradicts itself: {found.message}"
        return np.asarray(found.x)


def printed_handfuls(known: Published) -> Iterator[Learnt]:
    """The counts of a few people that a report prints: of small groups, and of divisions."""
    for (cell, figure), count in known.counts.items():
        told = figure in ("people", "usable") or (len(cell) > 1 and figure not in TECHNICAL)
        if cell and told and 0 < count < known.smallest:
            yield Learnt(cell, figure, count)
    for name, division in known.divisions.items():
        for (cell, labels), (low, high) in division.counts.items():
            if cell and any(labels) and low == high and 0 < low < known.smallest:
                yield Learnt(cell, f"{name}, {labels[0]}", round(low))
        for (cell, figure, label), count in division.inside.items():
            # Who has no option and would be let in alone is said of a whole group, as options are.
            told = name != "to_favourable" or len(cell) > 1
            if cell and label and told and 0 < count < known.smallest:
                yield Learnt(cell, f"{name}, {figure}, {label}", count)


def attack(
    report: Mapping[str, Any],
    sizes: Mapping[str, Mapping[str, int]],
    *,
    by_cut_off: bool = False,
) -> tuple[int, list[Learnt]]:
    """How many counts were attacked, and the counts of a few people that were learnt."""
    known = read(report, sizes, by_cut_off=by_cut_off)
    attacked, learnt = 0, list(printed_handfuls(known))
    for division in (None, *known.divisions.values()):
        system = System(known, division)
        attacked += sum(1 for _ in system.secrets())
        learnt += system.learn()
    return attacked, learnt
