"""What published files say about how decisions turned out, as an attacker reads it.

Every figure is a number of people: of a base (those with a favourable decision, the refused, the
audited with or without an option), with an outcome, and perhaps with a score in a bin.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.groups.published import ALL, Cell, Names, Published, document_of
from tests.groups.published_page import number, table_of

Bin = tuple[float, float]
Turned = tuple[str, str, Bin | None]
# The figure of the attacker that each rate is a part of.
BASES = {
    "without_option": "without",
    "certified_infeasible": "infeasible",
    "not_found_within_budget": "not_found",
}


@dataclass(slots=True)
class TurnedOut:
    """Numbers of people by what they are of, and by cell; and whose scores are in bins."""

    counts: dict[Turned, dict[Cell, int]] = field(default_factory=dict)
    calibrated: str = ""
    refused: bool = False

    def know(self, cell: Cell, turned: Turned, value: int) -> None:
        """Write down a figure; files that contradict each other would be a bug of their own."""
        found = self.counts.setdefault(turned, {})
        assert found.setdefault(cell, value) == value, (cell, turned)

    def rate(self, cell: Cell, base: str, outcome: str, rate: Mapping[str, Any]) -> None:
        other = "bad" if outcome == "good" else "good"
        self.know(cell, (base, outcome, None), rate["count"])
        self.know(cell, (base, other, None), rate["of"] - rate["count"])


def read_turned_out(folder: Path, known: Published) -> TurnedOut:
    """Read what groups.json, groups.csv and groups.html say."""
    found, document = TurnedOut(), document_of(folder)
    report = document["error_rates"]
    if report is None:
        return found
    names: Names = {("overall", "everybody"): ALL}
    for table in document["tables"]:
        for group in table["by_group"]:
            values = tuple(zip(table["attributes"], group["values"], strict=True))
            names[table["name"], group["name"]] = Cell(values)
    found.calibrated = report["calibrated"]
    for base in ("favourable", "refused"):
        if report[base] is not None:
            known.know(ALL, base, report[base])
    # Outcomes of the refused are only used where enough of them are known.
    found.refused = report["calibrated"] == "everybody"
    for base in ("favourable", *(["refused"] if found.refused else [])):
        if report[f"{base}_known"] is not None:
            found.know(ALL, (base, "known", None), report[f"{base}_known"])
    groups = [(ALL, report["overall"])] if report["overall"] else []
    for table in report["tables"]:
        groups += [(names[table["table"], name], one) for name, one in table["by_group"].items()]
    for cell, rates in groups:
        _read_rates(found, cell, rates)
    _read_csv(found, names, (folder / "groups.csv").read_text(encoding="utf-8"))
    _read_page(found, names, (folder / "groups.html").read_text(encoding="utf-8"))
    return found


def _read_rates(found: TurnedOut, cell: Cell, rates: Mapping[str, Any]) -> None:
    for base, name, outcome in (
        ("favourable", "false_approvals", "bad"),
        ("refused", "false_refusals", "good"),
    ):
        if rates[f"{base}_known"] is not None:
            found.know(cell, (base, "known", None), rates[f"{base}_known"])
        if rates[name] is not None:
            found.rate(cell, base, outcome, rates[name])
    good = rates["good_refused"]
    if good is not None:
        found.know(cell, ("usable", "good", None), good["without_option"]["of"])
        for name, base in BASES.items():
            if good[name] is not None:
                found.know(cell, (base, "good", None), good[name]["count"])
    for one in rates["calibration"] or ():
        ends = (one["low"], one["high"])
        found.know(cell, ("calibrated", "good", ends), one["good"]["count"])
        found.know(cell, ("calibrated", "bad", ends), one["good"]["of"] - one["good"]["count"])


def _read_csv(found: TurnedOut, names: Names, text: str) -> None:
    bases = {"false_approvals": ("favourable", "bad"), "false_refusals": ("refused", "good")}
    for row in csv.DictReader(text.splitlines()):
        cell, measure = names[row["table"], row["group"]], row["measure"]
        if measure in bases:
            base, outcome = bases[measure]
            found.rate(cell, base, outcome, {"count": int(row["count"]), "of": int(row["of"])})
        if measure.startswith("good_refused "):
            found.know(cell, ("usable", "good", None), int(row["of"]))
            base = BASES[measure.removeprefix("good_refused ")]
            found.know(cell, (base, "good", None), int(row["count"]))


def _read_page(found: TurnedOut, names: Names, page: str) -> None:
    """The tables of the page say nothing else."""
    written = {table: table.replace("_", " ").replace(" x ", ", ") for table, _ in names}
    written["overall"] = "everybody"
    measures = (("approvals", "favourable", "bad"), ("refusals", "refused", "good"))
    for table, words in written.items():
        for measure, base, outcome in measures:
            for name, known, count, *_ in table_of(page, f"False {measure}: {words}"):
                cell = names[table, name]
                if is_count(known):
                    found.know(cell, (base, "known", None), number(known))
                if is_count(count):
                    found.know(cell, (base, outcome, None), number(count))
        where = f"Refused with a good outcome, and without an option: {words}"
        for name, of, without, _, *details in table_of(page, where):
            found.know(names[table, name], ("usable", "good", None), number(of))
            counts = (without, *details)
            for base, count in zip(BASES.values(), counts, strict=True):
                if is_count(count):
                    found.know(names[table, name], (base, "good", None), number(count))


def is_count(text: str) -> bool:
    """Whether a cell holds a count; what is withheld says so."""
    return text.replace(",", "").isdigit()
