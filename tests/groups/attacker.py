"""Somebody who has the published files, a solver and patience, and wants to know what is withheld.

The attacker reads `groups.json`, `groups.csv`, `groups.html` (its tables, and the texts of its
pictures) and `index.html`, and shares no code with the stage that withholds figures. Unknown are
the people of each combination of groups, by what became of them. Every figure that is published,
exact or rounded, is a linear constraint on these unknowns, and so is each reason that is given for
withholding one. A withheld count is known if it is the same in every table of whole numbers that
satisfies all constraints; that everybody, or nobody, in a group was refused is such a count, too.
"""

import csv
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

Kinds = frozenset[str]
Row = NDArray[np.float64]
ROUNDS = 6

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
OTHERS = {
    "verified": ("without",),
    "without": ("verified",),
    "infeasible": ("verified", "not_found"),
    "not_found": ("verified", "infeasible"),
}
# What the attacker is after: how many there are, what was decided on them, what they can do.
SECRETS_OF_PEOPLE = ("people", "refused", "favourable")
SECRETS_OF_AUDITED = ("verified", "without", "infeasible", "not_found")
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
STATUSES = {
    "verified": "verified",
    "certified infeasible": "infeasible",
    "not found within budget": "not_found",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A group of a table, or everybody: a value for each of some attributes."""

    values: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Published:
    """Everything that the files say: figures by cell, shares, reasons, and which cells there are.

    `detailed` are figures of one kind of people, such as those with an option up to some cost, by
    what they are about: its name, and the figure that it is a part of.
    """

    groups: dict[str, list[str]] = field(default_factory=dict)
    listed: dict[tuple[str, ...], list[Cell]] = field(default_factory=dict)
    exact: dict[tuple[Cell, str], int] = field(default_factory=dict)
    shares: list[tuple[Cell, str, str, float, float]] = field(default_factory=list)
    reasons: dict[Cell, tuple[str, str]] = field(default_factory=dict)
    details: dict[tuple[str, str], dict[Cell, int]] = field(default_factory=dict)
    smallest: int = 0

    def know(self, cell: Cell, figure: str, value: int) -> None:
        """Write down a figure; files that contradict each other would be a bug of their own."""
        assert self.exact.setdefault((cell, figure), value) == value, (cell, figure)

    def detail(self, name: str, part_of: str, cell: Cell, value: int) -> None:
        known = self.details.setdefault((name, part_of), {})
        assert known.setdefault(cell, value) == value, (name, cell)


ALL = Cell(())


def read(folder: Path) -> Published:
    """Read every published file of a folder."""
    known = Published()
    document = json.loads((folder / "groups.json").read_text(encoding="utf-8"))
    known.smallest = document["smallest"]
    names = _read_json(known, document)
    _read_csv(known, names, (folder / "groups.csv").read_text(encoding="utf-8"))
    _read_page(known, names, (folder / "groups.html").read_text(encoding="utf-8"))
    if (folder / "index.html").exists():
        _read_index(known, (folder / "index.html").read_text(encoding="utf-8"))
    return known


Names = dict[tuple[str, str], Cell]


def _read_json(known: Published, document: Mapping[str, Any]) -> Names:
    names: Names = {("overall", "everybody"): ALL}
    _read_group(known, ALL, document["overall"])
    for table in document["tables"]:
        attributes = tuple(table["attributes"])
        cells = []
        for group in table["by_group"]:
            cell = Cell(tuple(zip(attributes, group["values"], strict=True)))
            names[table["name"], group["name"]] = cell
            cells.append(cell)
            _read_group(known, cell, group)
            if len(attributes) == 1:
                known.groups.setdefault(attributes[0], []).append(group["values"][0])
        known.listed[attributes] = cells
        for one in table["comparisons"]:
            for who, count in ((one["group"], "people"), (one["reference"], "reference_people")):
                cell = names[table["name"], who]
                if one["measure"] == "adverse_rate":
                    known.know(cell, "decided", one[count])
                elif one["measure"] in ("feasibility", "cost", "options"):
                    known.know(cell, "usable", one[count])
    for one in document["suppressed"]:
        known.reasons[names[one["table"], one["group"]]] = (one["what"], one["why"])
    for step, option in enumerate(document["common_options"]):
        known.detail(f"served {step}", "verified", ALL, option["served_so_far"])
        for attribute, shares in option["shares_by_group"].items():
            for group, share in shares.items():
                cell = names[attribute, group]
                served = round(share * known.exact[cell, "usable"])
                known.detail(f"served {step}", "verified", cell, served)
    return names


def _read_group(known: Published, cell: Cell, group: Mapping[str, Any]) -> None:
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
        known.detail(f"cost {point['cost']:g}", "verified", cell, point["count"])
    for grade, count in (outcomes["grades"] or {}).items():
        known.detail(f"grade {grade}", "usable", cell, count)


def _read_csv(known: Published, names: Names, text: str) -> None:
    for row in csv.DictReader(text.splitlines()):
        figure = FROM_CSV.get(row["measure"])
        cell = names[row["table"], row["group"]]
        if figure and row["count"]:
            known.know(cell, figure, int(row["count"]))
        if row["measure"].startswith("caveats ") and row["count"]:
            grade = row["measure"].removeprefix("caveats ")
            known.detail(f"grade {grade}", "usable", cell, int(row["count"]))


def _texts(part: str) -> list[str]:
    return [
        " ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split())
        for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", part, flags=re.DOTALL)
    ]


def _read_page(known: Published, names: Names, page: str) -> None:
    """The tables of the page, and what its pictures say in words."""
    tables = {table: table.replace(" x ", " and ") for table, _ in names}
    for table, caption in tables.items():
        where = f"<caption>Impact ratios by {html.escape(caption)}</caption>"
        if where in page:
            for name, people, favourable, *_ in _rows(page.split(where)[1]):
                cell = names[table, name]
                _know_text(known, cell, "people", people)
                _know_text(known, cell, "favourable", favourable)
    glance = page.rsplit('<table class="glance"', maxsplit=1)[-1].split("</table>", maxsplit=1)[0]
    for part in glance.split("<tbody")[1:]:
        [[attribute, *_], *rows] = [_texts(row) for row in part.split("<tr")[1:]]
        attribute = next(table for table in tables if attribute.startswith(table))
        for name, people, refused, option, *_ in rows:
            cell = names[attribute, name]
            _know_text(known, cell, "people", people)
            _know_share(known, cell, "refused", "decided", refused)
            _know_share(known, cell, "verified", "usable", option)
    for caption, words in _pictures(page):
        if caption.startswith("What the cheapest option costs, by "):
            _read_curves(known, names, caption.split(", by ")[1], words)


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


def _pictures(page: str) -> Iterator[tuple[str, str]]:
    for figure in page.split("<figure>")[1:]:
        caption = html.unescape(figure.split("<figcaption>")[1].split("</figcaption>")[0])
        label = re.search(r'aria-label="([^"]*)"|<title[^>]*>(.*?)</title>', figure)
        assert label is not None
        yield caption, html.unescape(label[1] or label[2])


def _read_curves(known: Published, names: Names, attribute: str, words: str) -> None:
    for name, count, without in re.findall(
        r"(\w+) \((\d[\d,]*) (?:people|person)\):.*?; ([\d.]+)\s?% without", words
    ):
        cell = names[attribute, name]
        _know_text(known, cell, "usable", count)
        share = float(without) / 100
        known.shares.append((cell, "without", "usable", share - 0.0051, share + 0.0051))


def _read_index(known: Published, page: str) -> None:
    for name, *cells in _rows(page.split('class="totals"')[1]):
        if name in STATUSES:
            _know_text(known, ALL, STATUSES[name], cells[1])


@dataclass(frozen=True, slots=True)
class Secret:
    """A withheld count that the attacker knows."""

    cell: Cell
    figure: str
    value: int


class System:
    """All that is published, as linear constraints on the unknowns.

    `split` adds a kind of people to tell apart: those of a figure who also are of a detail.
    """

    def __init__(self, known: Published, split: tuple[str, str] | None = None) -> None:
        self.known = known
        self.figures, self.kinds = dict(FIGURES), sorted(EVERYBODY)
        if split is not None:
            self._split(*split)
        joint = product(*([(name, group) for group in known.groups[name]] for name in known.groups))
        crossings = {
            attributes: {cell.values for cell in cells}
            for attributes, cells in known.listed.items()
            if len(attributes) > 1
        }
        # A combination that is not listed has nobody.
        self.joint = [
            one
            for one in joint
            if all(
                tuple((name, dict(one)[name]) for name in attributes) in listed
                for attributes, listed in crossings.items()
            )
        ]
        self.size = len(self.joint) * len(self.kinds)
        self._rows: list[tuple[Row, float, float]] = list(self._constraints(split))

    def _split(self, name: str, part_of: str) -> None:
        """Each kind of people in a figure becomes two."""
        old = FIGURES[part_of]
        self.kinds = [kind for kind in self.kinds if kind not in old]
        self.kinds += [f"{kind}{end}" for kind in sorted(old) for end in ("", "+")]
        for figure, kinds in self.figures.items():
            self.figures[figure] = kinds | {f"{kind}+" for kind in kinds & old}
        self.figures[name] = frozenset(f"{kind}+" for kind in old)
        self.figures[f"not {name}"] = old

    def row(self, cell: Cell, figure: str) -> Row:
        wanted, kinds = set(cell.values), self.figures[figure]
        inside = np.array([wanted <= set(one) for one in self.joint])
        counted = np.array([kind in kinds for kind in self.kinds])
        return np.outer(inside, counted).astype(np.float64).ravel()

    def _constraints(self, split: tuple[str, str] | None) -> Iterator[tuple[Row, float, float]]:
        known = self.known
        for (cell, figure), value in known.exact.items():
            yield self.row(cell, figure), value, value
        for cell, part, whole, low, high in known.shares:
            yield self.row(cell, part) - low * self.row(cell, whole), 0, np.inf
            yield self.row(cell, part) - high * self.row(cell, whole), -np.inf, 0
        outcomes = (ALL, "verified") in known.exact
        for cell, (what, why) in known.reasons.items():
            people = what == "all figures"
            if not people and not outcomes:
                continue  # nothing about the audit is shown, so this says nothing about a group
            if people and why == "few_people":
                yield self.row(cell, "people"), 1, known.smallest - 1
            elif people:
                yield self.row(cell, "people"), known.smallest, np.inf
            elif what == "figures of the audited" and why == "few_audited":
                yield self.row(cell, "usable"), 1, known.smallest - 1
            elif what == "figures of the audited":
                yield self.row(cell, "usable"), known.smallest, np.inf
        if split is not None:
            for cell, value in known.details[split].items():
                yield self.row(cell, split[0]), value, value

    def covers(self, cell: Cell, by: Cell) -> bool:
        """Whether everybody of a cell is certainly in the other one."""
        mine = [one for one in self.joint if set(cell.values) <= set(one)]
        return all(set(by.values) <= set(one) for one in mine)

    def told(self, cell: Cell, figure: str) -> bool:
        """Whether a group that is shown has none of a figure, and so has every part of it.

        This is not about the withheld group: it is said of everybody in the group that is shown.
        """
        kinds = self.figures[figure]
        larger = [name for name, of in self.figures.items() if kinds <= of]
        shown = {one for one, _ in self.known.exact}
        around = [one for one in shown if self.covers(cell, one)]
        zero = {(one, name) for (one, name), value in self.known.exact.items() if value == 0}
        zero |= {
            (one, name)
            for (name, _), values in self.known.details.items()
            for one, value in values.items()
            if value == 0
        }
        for (name, part_of), values in self.known.details.items():
            for one, value in values.items():
                if self.known.exact.get((one, part_of)) == value:
                    zero.add((one, f"not {name}"))
        for one in shown:
            if {(one, "usable"), (one, "verified")} <= set(self.known.exact) and (
                self.known.exact[one, "usable"] == self.known.exact[one, "verified"]
            ):
                zero.add((one, "without"))
        return any((one, name) in zero for one in around for name in larger)

    def _told_of_all(self, cell: Cell, figure: str) -> bool:
        """Whether the same follows for everybody audited, because there is nobody else."""
        others = OTHERS.get(figure, (figure.removeprefix("not "),))
        if figure not in OTHERS and not figure.startswith("not "):
            others = (f"not {figure}",)
        if (cell, "audited") not in self.known.exact or figure not in self.figures:
            return False
        if not self.figures[figure] <= self.figures["usable"]:
            return False
        return all(self.told(cell, one) for one in ("errors", *others))

    def tables(self, targets: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """Some tables of whole numbers that agree with everything published, as unlike as may be.

        The values of the targets in each; then, for targets that were always the same, one that
        is different, if there is any.
        """
        matrix = csr_array(np.array([row for row, _, _ in self._rows]))
        low = np.array([low for _, low, _ in self._rows])
        high = np.array([high for _, _, high in self._rows])
        rules = LinearConstraint(matrix, low, high)
        random = np.random.default_rng(0)
        first = self._solve(np.zeros(self.size), rules)
        assert first is not None, "the published files contradict each other"
        seen = [targets @ first]
        yield seen[0]
        for turn in range(ROUNDS):
            still = np.ptp(np.array(seen), axis=0) == 0
            if not still.any():
                return
            weights = random.choice([-1.0, 1.0], still.sum()) if turn % 2 else -np.ones(still.sum())
            found = self._solve(weights @ targets[still], rules, gap=0.2)
            if found is not None:
                seen.append(targets @ found)
                yield seen[-1]
        for place in range(len(targets)):
            for sign in (1, -1):
                if np.ptp(np.array(seen)[:, place]) > 0:
                    break
                beyond = LinearConstraint(
                    csr_array(sign * targets[[place]]), sign * seen[0][place] + 1, np.inf
                )
                found = self._solve(np.zeros(self.size), [rules, beyond])
                if found is not None:
                    seen.append(targets @ found)
                    yield seen[-1]

    def _solve(self, cost: Row, rules: Any, gap: float = 0.0) -> Row | None:
        found = milp(
            cost,
            constraints=rules,
            integrality=np.ones(self.size, dtype=np.int64),
            bounds=Bounds(0, self.known.exact.get((ALL, "people"), 10**6)),
            options={"mip_rel_gap": gap, "time_limit": 60},
        )
        assert found.x is not None or found.status == 2, found.message
        return None if found.x is None else np.round(found.x)

    def pinned(self, secrets: Sequence[tuple[Cell, str]]) -> list[Secret]:
        """The secrets that have the same value in every table that agrees with what is published.

        Where nobody was audited for certain, no outcome is hidden.
        """
        wanted = [
            (cell, figure)
            for cell, figure in secrets
            if not self.told(cell, figure) and not self._told_of_all(cell, figure)
        ]
        if not wanted:
            return []
        audited = [self.row(cell, "usable") for cell, _ in wanted]
        targets = np.array([self.row(cell, figure) for cell, figure in wanted] + audited)
        values = np.array(list(self.tables(targets)))
        fixed = np.ptp(values, axis=0) == 0
        nobody = fixed[len(wanted) :] & (values[0, len(wanted) :] == 0)
        outcome = [self.figures[figure] <= self.figures["usable"] for _, figure in wanted]
        return [
            Secret(cell, figure, int(values[0, place]))
            for place, (cell, figure) in enumerate(wanted)
            if fixed[place] and not (outcome[place] and nobody[place])
        ]


def hidden_counts(known: Published) -> list[tuple[Cell, str]]:
    """Every withheld count of every listed group."""
    outcomes = any(figure == "verified" for _, figure in known.exact)
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
    if (ALL, "people") not in known.exact:
        return []
    return System(known).pinned(hidden_counts(known))


def attack_details(known: Published) -> list[Secret]:
    """The same for costs, grades of caveats and common options, one after the other.

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
