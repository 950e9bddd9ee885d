"""Everything that published files say about groups, as somebody reads it who wants to know more.

Reads `groups.json`, `groups.csv`, `groups.html` and `index.html`: tables, sentences, the words of
pictures, and the places of their marks, because a bar is as long as its figure. Shares no code with
the stages that compute, withhold or draw these figures.
"""

import csv
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.groups.published_page import know_text, read_page

NEEDS = {  # what the index counts subjects by
    "fragile": "verified",
    "other": "verified",
    "none": "infeasible",
    "open": "not_found",
    "failed": "errors",
}
FROM_CSV = {
    "people": "people",
    "favourable": "favourable",
    "refused": "refused",
    "undecided": "undecided",
    "audited": "audited",
    "not_audited": "not_audited",
    "errors": "errors",
    "feasibility": "verified",
    "infeasible": "infeasible",
    "not_found": "not_found",
}
# The measures whose values not everybody audited has.
EXPLAINED = ("simulatability", "relevance")
QUARTERS = {"first": 0.25, "median": 0.5, "third": 0.75}


@dataclass(frozen=True, slots=True)
class Cell:
    """A group of a table, or everybody: a value for each of some attributes."""

    values: tuple[tuple[str, str], ...]


ALL = Cell(())
Names = dict[tuple[str, str], Cell]
Detail = tuple[str, str]


@dataclass(slots=True)
class Ties:
    """What is said of the ties to the groups of one attribute: counts by group and figure."""

    groups: list[str]
    totals: dict[str, int] = field(default_factory=dict)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    withheld: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Published:
    """Everything that the files say: figures by cell, shares, reasons, and which cells there are.

    `details` are numbers of people of one kind, such as those with an option up to some cost, at
    least and at most, by what they are about: its name, and the figure that it is a part of.
    `own_data` has the numbers of people on whom the decision would change without their ties.
    """

    groups: dict[str, list[str]] = field(default_factory=dict)
    listed: dict[tuple[str, ...], list[Cell]] = field(default_factory=dict)
    exact: dict[tuple[Cell, str], int] = field(default_factory=dict)
    shares: list[tuple[Cell, str, str, float, float]] = field(default_factory=list)
    reasons: dict[Cell, tuple[str, str]] = field(default_factory=dict)
    details: dict[Detail, dict[Cell, tuple[float, float]]] = field(default_factory=dict)
    ties: dict[str, Ties] = field(default_factory=dict)
    own_data: dict[Detail, dict[Cell, int]] = field(default_factory=dict)
    smallest: int = 0

    def know(self, cell: Cell, figure: str, value: int) -> None:
        """Write down a figure; files that contradict each other would be a bug of their own."""
        assert self.exact.setdefault((cell, figure), value) == value, (cell, figure)

    def change(self, cell: Cell, figure: str, value: int) -> None:
        """Write down how many of a figure would be decided on otherwise without their ties."""
        found = self.own_data.setdefault((f"{figure} changed", figure), {})
        assert found.setdefault(cell, value) == value, (cell, figure)

    def refused_alone(self, cell: Cell) -> int:
        """How many would be refused without their ties."""
        changed = {figure: found[cell] for (_, figure), found in self.own_data.items()}
        return self.exact[cell, "refused"] - changed["refused"] + changed["favourable"]

    def detail(self, name: str, part_of: str, cell: Cell, low: float, high: float) -> None:
        """Narrow down the number of people of a detail."""
        known = self.details.setdefault((name, part_of), {})
        before = known.get(cell, (0.0, math.inf))
        known[cell] = max(before[0], low), min(before[1], high)
        assert known[cell][0] <= known[cell][1], (name, cell)


def document_of(folder: Path) -> dict[str, Any]:
    """The group report of a folder as plain data."""
    document: dict[str, Any] = json.loads((folder / "groups.json").read_text(encoding="utf-8"))
    return document


def read(folder: Path) -> Published:
    """Read every published file of a folder; outcomes are read by `published_outcomes`."""
    known = Published()
    document = document_of(folder)
    known.smallest = document["smallest"]
    names = _read_json(known, document)
    _read_csv(known, names, (folder / "groups.csv").read_text(encoding="utf-8"))
    read_page(known, names, (folder / "groups.html").read_text(encoding="utf-8"))
    if (folder / "index.html").exists():
        _read_index(known, (folder / "index.html").read_text(encoding="utf-8"))
    return known


def _read_json(known: Published, document: Mapping[str, Any]) -> Names:
    names: Names = {("overall", "everybody"): ALL}
    quartiles: list[tuple[Cell, Mapping[str, Any]]] = []
    _read_group(known, ALL, document["overall"], quartiles)
    if document["total"]:
        known.know(ALL, "audited", document["total"])
    for table in document["tables"]:
        attributes = tuple(table["attributes"])
        cells = []
        for group in table["by_group"]:
            cell = Cell(tuple(zip(attributes, group["values"], strict=True)))
            names[table["name"], group["name"]] = cell
            cells.append(cell)
            _read_group(known, cell, group, quartiles)
            if len(attributes) == 1:
                known.groups.setdefault(attributes[0], []).append(group["values"][0])
        known.listed[attributes] = cells
        for one in table["comparisons"]:
            for who, count in ((one["group"], "people"), (one["reference"], "reference_people")):
                _read_compared(known, names[table["name"], who], one["measure"], one[count])
    for one in document["suppressed"]:
        known.reasons[names[one["table"], one["group"]]] = (one["what"], one["why"])
    _read_quartiles(known, quartiles)
    for step, option in enumerate(document["common_options"]):
        served = option["served_so_far"]
        known.detail(f"served {step}", "verified", ALL, served, served)
        for attribute, shares in option["shares_by_group"].items():
            for group, share in shares.items():
                cell = names[attribute, group]
                served = round(share * known.exact[cell, "usable"])
                known.detail(f"served {step}", "verified", cell, served, served)
    _read_actions(known, names, document["common_actions"])
    _read_ties(known, document["cut_off"])
    own_data = document["own_data"]
    groups = [(ALL, own_data["overall"])] if own_data["overall"] else []
    for table in own_data["tables"]:
        groups += [(names[table["table"], name], one) for name, one in table["by_group"].items()]
    for cell, rates in groups:
        _read_own_data(known, cell, rates)
    return names


def _read_actions(known: Published, names: Names, found: Mapping[str, Any]) -> None:
    """Whom actions and sets of them serve, and to whom they apply."""
    for number, one in enumerate(found["actions"]):
        _read_served(known, names, f"serves {number}", one["served"])
        applies = f"applies {number}"
        if one["applies"] is not None:
            known.detail(applies, "usable", ALL, one["applies"], one["applies"])
        for table, groups in one["applies_by_group"].items():
            for group, count in groups.items():
                known.detail(applies, "usable", names[table, group], count, count)
    for one in found["sets"]:
        _read_served(known, names, f"serves {','.join(map(str, one['actions']))}", one["served"])


def _read_served(known: Published, names: Names, figure: str, found: Mapping[str, Any]) -> None:
    rates = [(ALL, found["everybody"])] if found["everybody"] else []
    for table, groups in found["by_group"].items():
        rates += [(names[table, group], rate) for group, rate in groups.items()]
    for cell, rate in rates:
        known.know(cell, "usable", rate["of"])
        known.detail(figure, "verified", cell, rate["count"], rate["count"])


def _read_own_data(known: Published, cell: Cell, rates: Mapping[str, Any]) -> None:
    known.change(cell, "refused", rates["to_favourable"])
    known.change(cell, "favourable", rates["to_refused"])
    known.know(cell, "refused", rates["refused"]["count"])
    known.know(cell, "decided", rates["refused"]["of"])
    assert known.refused_alone(cell) == rates["refused_alone"]["count"]


def _read_compared(known: Published, cell: Cell, measure: str, count: int) -> None:
    """How many people a comparison is about."""
    if measure == "adverse_rate":
        known.know(cell, "decided", count)
    elif measure in ("feasibility", "cost", "options"):
        known.know(cell, "usable", count)
    elif measure == "caveats":
        rest = known.exact[cell, "usable"] - count
        known.detail("grade none or not_settled", "usable", cell, rest, rest)
    else:
        known.detail(f"with {measure}", "usable", cell, count, count)


def _read_group(
    known: Published,
    cell: Cell,
    group: Mapping[str, Any],
    quartiles: list[tuple[Cell, Mapping[str, Any]]],
) -> None:
    decisions, outcomes = group["decisions"], group["outcomes"]
    if decisions is not None:
        for figure in ("people", "refused", "favourable", "undecided", "audited", "not_audited"):
            known.know(cell, figure, decisions[figure])
        known.know(cell, "decided", decisions["adverse_rate"]["of"])
    if outcomes is None:
        return
    known.know(cell, "verified", outcomes["verified"])
    known.know(cell, "errors", outcomes["errors"])
    known.know(cell, "usable", outcomes["feasibility"]["of"])
    for name, figure in (
        ("certified_infeasible", "infeasible"),
        ("not_found_within_budget", "not_found"),
    ):
        if outcomes[name] is not None:
            known.know(cell, figure, outcomes[name])
    for point in outcomes["cost_curve"] or ():
        known.detail(f"cost {point['cost']:g}", "verified", cell, point["count"], point["count"])
    for grade, count in (outcomes["grades"] or {}).items():
        known.detail(f"grade {grade}", "usable", cell, count, count)
    if outcomes["grades"]:
        rest = outcomes["grades"]["none"] + outcomes["grades"]["not_settled"]
        known.detail("grade none or not_settled", "usable", cell, rest, rest)
    for measure in EXPLAINED:
        if outcomes[measure] is not None:
            count = outcomes[measure]["of"]
            known.detail(f"with {measure}", "usable", cell, count, count)
    quartiles.append((cell, outcomes))


def _read_quartiles(known: Published, shown: list[tuple[Cell, Mapping[str, Any]]]) -> None:
    """A quartile at or below a value says that so many people are at or below it, or above it."""
    costs = [name.split()[1] for name, _ in list(known.details) if name.startswith("cost ")]
    options = {
        outcomes["options"][one] for _, outcomes in shown for one in QUARTERS if outcomes["options"]
    }
    for cell, outcomes in shown:
        for cost in costs if outcomes["cost"] else ():
            low, high = _up_to(outcomes["cost"], float(cost) * (1 + 1e-5))
            known.detail(f"cost {cost}", "verified", cell, low, high)
        for most in sorted(one for one in options if one):
            if outcomes["options"]:
                low, high = _up_to(outcomes["options"], most)
                of = outcomes["options"]["of"]
                known.detail(f"more options than {most:g}", "verified", cell, of - high, of - low)
    everybody = {measure: shown[0][1][measure] for measure in EXPLAINED} if shown else {}
    for measure, totals in everybody.items():
        for quarter in QUARTERS:
            for cell, outcomes in shown:
                if totals and outcomes[measure]:
                    low, high = _up_to(outcomes[measure], totals[quarter])
                    name = f"{measure} up to its quartile {quarter}"
                    known.detail(name, "usable", cell, low, high)


def _up_to(quartiles: Mapping[str, Any], value: float) -> tuple[int, int]:
    """How many people have this value or less, at least and at most."""
    low, high = 0, quartiles["of"]
    for name, share in QUARTERS.items():
        place = max(1, math.ceil(share * quartiles["of"]))
        found = quartiles[name]
        if quartiles["of"] and found is not None and found <= value:
            low = max(low, place)
        elif quartiles["of"]:
            high = min(high, place - 1)
    return low, high


def _read_ties(known: Published, tables: list[Mapping[str, Any]]) -> None:
    for table in tables:
        ties = known.ties.setdefault(table["attribute"], Ties(known.groups[table["attribute"]]))
        if table["note"]:
            continue
        ties.withheld |= set(table["withheld"])
        for figure in ("dropped", "droppable"):
            name = figure if figure == "droppable" else f"dropped {table['options']}"
            assert ties.totals.setdefault(name, table[figure]) == table[figure]
            for row in table["by_group"]:
                assert ties.counts.setdefault((row["group"], name), row[figure]) == row[figure]


def _read_csv(known: Published, names: Names, text: str) -> None:
    for row in csv.DictReader(text.splitlines()):
        figure = FROM_CSV.get(row["measure"])
        cell = names[row["table"], row["group"]]
        if figure and row["count"]:
            known.know(cell, figure, int(row["count"]))
        if row["measure"] == "adverse_rate alone":
            assert known.refused_alone(cell) == int(row["count"])
        if row["measure"].startswith("caveats ") and row["count"]:
            grade, count = row["measure"].removeprefix("caveats "), int(row["count"])
            known.detail(f"grade {grade}", "usable", cell, count, count)
        if row["measure"] in EXPLAINED and row["of"]:
            count = int(row["of"])
            known.detail(f"with {row['measure']}", "usable", cell, count, count)


def _read_index(known: Published, page: str) -> None:
    lead = re.search(
        r'<p class="(?:lead|aside)">([\d,]+) subjects? of ([\d,]+) (?:people|person)', page
    )
    if lead:
        know_text(known, ALL, "audited", lead[1])
        know_text(known, ALL, "people", lead[2])
    counts = dict.fromkeys(NEEDS.values(), 0) if "data-need" in page else {}
    for need, count in re.findall(r'<li data-need="(\w+)">.*?<strong>([\d,]+)</strong>', page):
        if need in NEEDS:
            counts[NEEDS[need]] += int(count.replace(",", ""))
    for status, count in counts.items():
        know_text(known, ALL, status, str(count))
