"""The attacker, who also wants to know how the decisions on withheld groups turned out.

Unknown are the people of each combination of groups by kind, outcome and bin of scores, and by kind
and whether own data alone would decide otherwise; both agree in the number of each kind. Shares no
code with the stage that withholds figures.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from tests.groups.attacker import FIGURES, Row, Secret, System, hidden_counts
from tests.groups.published import ALL, Cell, Published
from tests.groups.published_outcomes import Bin, Turned, TurnedOut

OUTCOMES = ("good", "bad", "unknown")
NO_SCORE: Bin = (np.inf, np.inf)
MOST_UNKNOWNS = 3000
DECIDED = FIGURES["refused"] | FIGURES["favourable"]


def name_of(turned: Turned) -> str:
    base, outcome, ends = turned
    return f"{base} {outcome}" + ("" if ends is None else f" from {ends[0]:g} to {ends[1]:g}")


class OutcomeSystem(System):
    """All that is published, with outcomes.

    `line`: who has a score of at least this much has a favourable decision, and nobody else, which
    the attacker may know as well.
    """

    def __init__(self, known: Published, turned: TurnedOut, line: float | None = None) -> None:
        super().__init__(known)
        self.turned = turned
        published = {ends for _, _, ends in turned.counts if ends is not None}
        edges = sorted({edge for ends in published for edge in ends})
        self.bins: list[Bin] = [*pairwise(edges), NO_SCORE]
        split = FIGURES["favourable"] | (FIGURES["refused"] if turned.refused else frozenset())
        by_kind = {
            kind: self._parts(kind, line) if kind in split else {kind: ("", None)}
            for kind in self.kinds
        }
        changes = {
            kind: [f"{kind} {word}" for word in ("changed", "same")]
            for kind in self.kinds
            if kind in DECIDED and known.own_data
        }
        self.links = [(set(by_kind[kind]), set(more)) for kind, more in changes.items()]
        self.figures = {
            name: frozenset(part for kind in kinds & set(by_kind) for part in by_kind[kind])
            for name, kinds in FIGURES.items()
        }
        parts = {
            part: (kind, *what)
            for kind, several in by_kind.items()
            for part, what in several.items()
        }
        for base, kinds in {**FIGURES, "calibrated": split}.items():
            for one in self._divisions(base):
                self.figures[name_of(one)] = frozenset(
                    part for part, whose in parts.items() if whose[0] in kinds and _fits(whose, one)
                )
        for name, part_of in known.own_data:
            for word, figure in (("changed", name), ("same", f"not {name}")):
                kinds = FIGURES[part_of] & set(changes)
                self.figures[figure] = frozenset(f"{kind} {word}" for kind in kinds)
        self.kinds = [*parts, *(one for several in changes.values() for one in several)]

    def _parts(self, kind: str, line: float | None) -> dict[str, tuple[str, Bin | None]]:
        """What a kind divides into: outcomes, and those that are known into bins."""
        found: dict[str, tuple[str, Bin | None]] = {f"{kind} unknown": ("unknown", None)}
        favourable = kind == "favourable"
        for low, high in self.bins:
            out = line is not None and low < np.inf
            if line is not None and out and (high <= line if favourable else low >= line):
                continue
            for outcome in ("good", "bad"):
                found[f"{kind} {outcome} {low} {high}"] = (outcome, (low, high))
        return found

    def _divisions(self, base: str) -> Iterator[Turned]:
        bins = {ends for name, _, ends in self.turned.counts if name == base}
        fine = set(self.bins[:-1]) if base == "calibrated" else set()
        for ends in {None, *bins, *fine}:
            yield from ((base, outcome, ends) for outcome in ("good", "bad", "known", "not good"))

    def _constraints(self) -> Iterator[tuple[Row, float, float]]:
        yield from super()._constraints()
        for turned, found in self.turned.counts.items():
            for cell, count in found.items():
                yield self.row(cell, name_of(turned)), count, count
        for (name, _), changed in self.known.own_data.items():
            for cell, count in changed.items():
                yield self.row(cell, name), count, count
        for place in range(len(self.joint)):
            here = np.arange(len(self.joint)) == place
            for some, others in self.links:
                signs = [float(kind in some) - float(kind in others) for kind in self.kinds]
                yield np.outer(here, signs).ravel(), 0, 0

    def _none(self, shown: Cell, figure: str) -> bool:
        """The same with outcomes, and with answers on own data alone."""
        kinds = self.figures[figure] & set(self.kinds)
        known = {name: of for (one, name), of in self.known.exact.items() if one == shown}
        if {"usable", "verified"} <= set(known):
            known["without"] = known["usable"] - known["verified"]
        for turned, found in self.turned.counts.items():
            if shown in found:
                known[name_of(turned)] = found[shown]
        nobody = [name for name, count in known.items() if count == 0]
        empty = {part for name in nobody for part in self.figures[name]}
        for (name, part_of), found in self.known.own_data.items():
            if shown in found and found[shown] == 0:
                empty |= self.figures[name]
            if shown in found and known.get(part_of) == found[shown]:
                empty |= self.figures[f"not {name}"]
        for some, others in self.links:
            empty |= others if some <= empty else set()
        return kinds <= empty

    def hidden(self) -> list[tuple[Cell, str]]:
        """Every withheld count of every listed group."""
        found = hidden_counts(self.known)
        cells = [cell for several in self.known.listed.values() for cell in several]
        for (name, _), shown in self.known.own_data.items():
            for cell in cells:
                if cell not in shown:
                    found += [(cell, name), (cell, f"not {name}")]
        bases = ["favourable", *(["refused"] if self.turned.refused else [])]
        wanted: list[Turned] = [(base, one, None) for base in bases for one in ("good", "bad")]
        if self.turned.refused:
            for base in ("verified", "without", "infeasible", "not_found"):
                wanted += [(base, "good", None), (base, "not good", None)]
        wanted += [("calibrated", one, ends) for ends in self.bins[:-1] for one in ("good", "bad")]
        for turned in wanted:
            shown = self.turned.counts.get(turned, {})
            found += [(cell, name_of(turned)) for cell in (ALL, *cells) if cell not in shown]
        return found


def _fits(whose: tuple[str, str, Bin | None], turned: Turned) -> bool:
    _, outcome, ends = whose
    _, wanted, bins = turned
    if wanted == "known":
        right = outcome in ("good", "bad")
    else:
        right = outcome != "good" if wanted == "not good" else outcome == wanted
    inside = bins is None or (ends is not None and bins[0] <= ends[0] and ends[1] <= bins[1])
    return right and inside


def attack_outcomes(known: Published, turned: TurnedOut, line: float | None = None) -> list[Secret]:
    """Whatever is known of groups that are not shown, with everything that is published.

    Where that is too much for a solver, once without bins, and once without own data.
    """
    if not turned.counts:
        return []
    system = OutcomeSystem(known, turned, line)
    if system.width <= MOST_UNKNOWNS:
        return system.pinned(system.hidden())
    without_bins = {one: found for one, found in turned.counts.items() if one[2] is None}
    coarse = OutcomeSystem(known, replace(turned, counts=without_bins))
    alone = OutcomeSystem(replace(known, own_data={}), turned, line)
    return [*coarse.pinned(coarse.hidden()), *alone.pinned(alone.hidden())]
