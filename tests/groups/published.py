"""What a group report publishes, as equations on how many people there are of each combination.

Every published count is a linear equation on the people of each combination of groups by what
became of them, and every quartile a pair of inequalities. Whatever a report divides people by
further is a division of its own. Shares no code with the stage that designs the tables.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

Cell = frozenset[tuple[str, str]]
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
QUARTERS = {"first": 0.25, "median": 0.5, "third": 0.75}


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
    for cell, rates in rates_of(own_data, names):
        for name, figure in (("to_favourable", "refused"), ("to_refused", "favourable")):
            known.divide(name, figure, name).know(cell, [name], rates[name], rates[name])
        if rates["no_option"] is not None:
            alone = known.divisions["to_favourable"]
            alone.inside[cell, "infeasible", "to_favourable"] = rates["no_option"]["count"]
    for cell, rates in rates_of(report["rates"], names):
        _read_rates(known, cell, rates, by_cut_off=by_cut_off)
    for cell, rates in rates_of(errors, names):
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


def rates_of(
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
    for cell, rates in rates_of(errors or {"tables": (), "overall": None}, names):
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
