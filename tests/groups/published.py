"""Everything that published files say about groups, as somebody reads it who wants to know more.

Reads `groups.json`, `groups.csv`, `groups.html` and `index.html`: tables, sentences, the words of
pictures, and the places of their marks, because a bar is as long as its figure. Shares no code with
the stages that compute, withhold or draw these figures.
"""

import csv
import html
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    _read_page(known, names, (folder / "groups.html").read_text(encoding="utf-8"))
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


def _texts(part: str) -> list[str]:
    return [
        " ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split())
        for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", part, flags=re.DOTALL)
    ]


def _read_page(known: Published, names: Names, page: str) -> None:
    """The tables of the page, what its pictures say in words, and where their marks are."""
    tables = {table: table.replace(" x ", " and ") for table, _ in names}
    for table, caption in tables.items():
        where = f"<caption>Impact ratios by {html.escape(caption)}</caption>"
        if where in page:
            for name, people, favourable, *_ in _rows(page.split(where)[1]):
                cell = names[table, name]
                _know_text(known, cell, "people", people)
                _know_text(known, cell, "favourable", favourable)
        where = f"<caption>Refused on own data alone, by {html.escape(caption)}</caption>"
        if where in page:
            for name, decided, _, _, refused, favourable, *_ in _rows(page.split(where)[1]):
                _know_text(known, names[table, name], "decided", decided)
                known.change(names[table, name], "refused", int(refused.replace(",", "")))
                known.change(names[table, name], "favourable", int(favourable.replace(",", "")))
    glance = page.rsplit('<table class="glance"', maxsplit=1)[-1].split("</table>", maxsplit=1)[0]
    for part in glance.split("<tbody")[1:]:
        [[attribute, *_], *rows] = [_texts(row) for row in part.split("<tr")[1:]]
        attribute = next(table for table in tables if attribute.startswith(table))
        for name, people, refused, option, *_ in rows:
            cell = names[attribute, name]
            _know_text(known, cell, "people", people)
            _know_share(known, cell, "refused", "decided", refused)
            _know_share(known, cell, "verified", "usable", option)
    for figure in page.split("<figure>")[1:]:
        caption = html.unescape(figure.split("<figcaption>")[1].split("</figcaption>")[0])
        attribute = caption.rsplit(", by ", maxsplit=1)[-1]
        if caption.startswith("What the cheapest option costs, by "):
            _read_curves(known, names, attribute, figure)
        elif caption.startswith("Whom dropping the ties of the cheapest option"):
            _read_marks_of_ties(known, attribute, figure)


def _rows(table: str) -> Iterator[list[str]]:
    for row in table.split("</table>", maxsplit=1)[0].split("<tbody>")[1].split("<tr>")[1:]:
        yield _texts(row)


def _know_text(known: Published, cell: Cell, figure: str, text: str) -> None:
    if re.fullmatch(r"[\d,]+", text):
        known.know(cell, figure, int(text.replace(",", "")))


def _know_share(known: Published, cell: Cell, part: str, whole: str, text: str) -> None:
    """A share is rounded, so it is a pair of inequalities."""
    found = re.match(r"([\d.]+)\s?%", text)
    if found:
        share = float(found[1]) / 100
        known.shares.append((cell, part, whole, share - 0.00051, share + 0.00051))


def _read_curves(known: Published, names: Names, attribute: str, figure: str) -> None:
    """The people of each curve in words, and how many of them are below each step of its line."""
    label = re.search(r"<title[^>]*>(.*?)</title>", figure)
    assert label is not None
    for name, count, without in re.findall(
        r"(\w+) \((\d[\d,]*) (?:people|person)\):.*?; ([\d.]+)\s?% without", label[1]
    ):
        cell = names[attribute, name]
        _know_text(known, cell, "usable", count)
        share = float(without) / 100
        known.shares.append((cell, "without", "usable", share - 0.0051, share + 0.0051))
    across = _axis(figure, r'<text x="([\d.]+)"[^>]*text-anchor="middle"[^>]*>([\d.]+)</text>')
    up = _axis(figure, r'<text x="44" y="([\d.]+)"[^>]*>(\d+) %</text>', -4.0)
    drawn = re.findall(r'<text [^>]*font-weight="600"[^>]*>([^<]+)</text>', figure)
    paths = re.findall(r'<path d="M[\d. ]+((?:H[\d.]+V[\d.]+)*)H', figure)
    assert len(paths) == len(drawn)
    for name, path in zip(drawn, paths, strict=True):
        cell = names[attribute, html.unescape(name)]
        for x, y in re.findall(r"H([\d.]+)V([\d.]+)", path):
            served = round(_value(up, float(y)) / 100 * known.exact[cell, "usable"])
            cost = f"cost {round(_value(across, float(x)), 2):g}"
            if (cost, "verified") in known.details:
                known.detail(cost, "verified", cell, served, served)


def _read_marks_of_ties(known: Published, attribute: str, figure: str) -> None:
    """Both marks of a group are its shares of all ties that could be dropped, and are."""
    ties = known.ties[attribute]
    across = _axis(figure, r'<text x="([\d.]+)"[^>]*text-anchor="middle"[^>]*>(\d+) %</text>')
    marks = {
        "droppable": r'<circle cx="([\d.]+)" cy="([\d.]+)"',
        "dropped first": r'<polygon points="[\d.]+,[\d.]+ ([\d.]+),[\d.]+ [\d.]+,([\d.]+) ',
    }
    rows = re.findall(r'<text x="0" y="([\d.]+)"[^>]*>([^<]+)</text>', figure)
    for name, pattern in marks.items():
        for x, y in re.findall(pattern, figure):
            for row, group in rows:
                if abs(float(row) - 4 - float(y)) < 8:
                    centre = float(x) + (0 if name == "droppable" else 5.18)
                    count = round(_value(across, centre) / 100 * ties.totals[name])
                    known_as = ties.counts.setdefault((html.unescape(group), name), count)
                    assert known_as == count, (group, name)


def _axis(figure: str, pattern: str, shift: float = 0.0) -> tuple[float, float]:
    """Place and step of an axis, from two of its ticks."""
    ticks = [(float(place) + shift, float(value)) for place, value in re.findall(pattern, figure)]
    (start, low), (end, high) = ticks[0], ticks[-1]
    step = (high - low) / (end - start) if end != start else 0.0
    return low - step * start, step


def _value(axis: tuple[float, float], place: float) -> float:
    return axis[0] + axis[1] * place


def _read_index(known: Published, page: str) -> None:
    lead = re.search(
        r'<p class="(?:lead|aside)">([\d,]+) subjects? of ([\d,]+) (?:people|person)', page
    )
    if lead:
        _know_text(known, ALL, "audited", lead[1])
        _know_text(known, ALL, "people", lead[2])
    counts = dict.fromkeys(NEEDS.values(), 0) if "data-need" in page else {}
    for need, count in re.findall(r'<li data-need="(\w+)">.*?<strong>([\d,]+)</strong>', page):
        if need in NEEDS:
            counts[NEEDS[need]] += int(count.replace(",", ""))
    for status, count in counts.items():
        _know_text(known, ALL, status, str(count))
