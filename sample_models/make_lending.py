"""Writes two synthetic lending networks: one with a planted gap, and its twin without a gap.

Input: only the seeds below. Output: `lending/` and `lending_twin/`, each with `nodes.csv` (one row
per person, real units) and `edges.csv` (one row per undirected tie).

Vocabulary
----------
record      a person's own payment history; about one person in seventeen has a bad record.
circle      whom a person is tied to, whatever their own attributes:
            *plain*      only people with good records;
            *thin*       few people, one or two with bad records, by ties that are easy to drop;
            *entangled*  many people with bad records, so that several remain after three drops.
exposed     a hidden trait that determines how likely each circle is.
origin      the protected attribute. With the gap, it follows *exposed*. Without the gap, it is
            assigned at random among people with the same trait, circle and record, so that it is
            unrelated to ties and risk.

Everything else (attributes, circles, ties, outcomes) is drawn in the same way in both networks.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

PEOPLE = 1800
COMMUNITIES = 36
SEEDS = {"lending": 20240, "lending_twin": 20241}

FEATURES = (
    "income",
    "debt_ratio",
    "savings",
    "years_employed",
    "late_payments",
    "loan_amount",
    "open_accounts",
)
PROTECTED = ("gender", "origin", "age_band")
KINDS = ("guarantor", "co-borrower", "employer", "address", "payment", "family")

BAD_RECORD_SHARE = 0.06
ISOLATED_PEOPLE = 16
PARALLEL_SHARE = 0.05
NEXT_DOOR = 2
SOUTH_FOLLOWS_EXPOSED = 0.96

PLAIN, THIN, ENTANGLED = 0, 1, 2
# Rows: not exposed, exposed. Columns: plain, thin, entangled.
CIRCLE_SHARES = np.array([[0.825, 0.17, 0.005], [0.62, 0.03, 0.35]])

# The probability of each kind of tie, in the order of KINDS.
KINDS_OF_GOOD_TIES = np.array([0.12, 0.12, 0.20, 0.16, 0.18, 0.22])
KINDS_OF_THIN_TIES = np.array([0.38, 0.24, 0.03, 0.03, 0.30, 0.02])
KINDS_OF_ENTANGLED_TIES = np.array([0.04, 0.04, 0.08, 0.38, 0.42, 0.04])


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """What is true of people before any tie exists; arrays have one entry per person."""

    community: Ints
    exposed: Mask
    bad_record: Mask
    circle: Ints
    isolated: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """One undirected tie; `source` and `target` are row numbers of people."""

    source: int
    target: int
    kind: str
    weight: float
    since: int


def draw_people(random: np.random.Generator) -> Person:
    """Draw communities, the hidden trait, records and circles; none depends on origin."""
    community = random.permutation(np.arange(PEOPLE) % COMMUNITIES)
    exposed_share = np.where(random.permutation(COMMUNITIES) < COMMUNITIES // 2, 0.70, 0.10)
    exposed = random.random(PEOPLE) < exposed_share[community]
    bad_record = random.random(PEOPLE) < BAD_RECORD_SHARE
    draw = random.random(PEOPLE)[:, None]
    circle = (draw > np.cumsum(CIRCLE_SHARES[exposed.astype(int)], axis=1)).sum(axis=1)
    isolated = np.zeros(PEOPLE, dtype=bool)
    loners = np.flatnonzero(~bad_record & (circle == PLAIN))
    isolated[random.choice(loners, ISOLATED_PEOPLE, replace=False)] = True
    return Person(
        community=community,
        exposed=exposed,
        bad_record=bad_record,
        circle=circle.astype(np.int64),
        isolated=isolated,
    )


def draw_ages(random: np.random.Generator) -> Ints:
    """Ages in years, from 20 to 74; they limit the years in the present job and nothing else."""
    return np.asarray(np.clip(random.normal(42, 13, PEOPLE), 20, 74), dtype=np.int64)


def draw_attributes(random: np.random.Generator, person: Person, age: Ints) -> dict[str, Floats]:
    """Attributes in real units; they depend on the record, never on exposure or origin."""
    bad = person.bad_record
    income = np.round(random.lognormal(10.45, 0.38, PEOPLE) * np.where(bad, 0.86, 1.0), -2)
    debt_ratio = np.round(np.where(bad, random.beta(6, 5, PEOPLE), random.beta(3, 7, PEOPLE)), 3)
    savings = np.round(random.gamma(1.8, 4200, PEOPLE) * np.where(bad, 0.35, 1.0), -1)
    years_employed = np.round(np.minimum(random.gamma(1.6, 3.5, PEOPLE), age - 18), 1)
    late_payments = np.where(bad, 5 + random.poisson(2.5, PEOPLE), random.poisson(0.45, PEOPLE))
    loan_amount = np.round(np.clip(random.gamma(2.4, 5200, PEOPLE), 1000, 60000), -2)
    open_accounts = 1 + random.poisson(2.2, PEOPLE)
    columns = (
        income,
        debt_ratio,
        savings,
        years_employed,
        late_payments,
        loan_amount,
        open_accounts,
    )
    return {name: np.asarray(c, float) for name, c in zip(FEATURES, columns, strict=True)}


def draw_origin(random: np.random.Generator, person: Person, *, gap: bool) -> NDArray[np.str_]:
    """Origin follows the hidden trait with the gap, and is assigned at random without it.

    Random assignment takes place within blocks of equal trait, circle and record, as in a
    stratified trial, and keeps the overall share of southerners that the trait would give.
    """
    follows = random.random(PEOPLE) < SOUTH_FOLLOWS_EXPOSED
    south = np.where(follows, person.exposed, ~person.exposed)
    if not gap:
        south = deal_in_blocks(random, person, share=float(south.mean()))
    return np.where(south, "south", "north")


def deal_in_blocks(random: np.random.Generator, person: Person, *, share: float) -> Mask:
    """Mark a random `share` of every block of similar people."""
    block = person.exposed * 6 + person.bad_record * 3 + person.circle
    marked = np.zeros(PEOPLE, dtype=bool)
    for number in np.unique(block):
        members = random.permutation(np.flatnonzero(block == number))
        marked[members[: int(np.floor(share * members.size + random.random()))]] = True
    return marked


class TieBook:
    """Collects ties, and refuses a second tie of the same kind between the same two people."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.ties: list[Tie] = []
        self.taken: set[tuple[int, int, str]] = set()
        self.partners: set[tuple[int, int]] = set()

    def add(self, first: int, second: int, kind: str, *, parallel: bool = False) -> bool:
        """Add a tie, unless both ends are one person or (without `parallel`) already tied."""
        low, high = min(first, second), max(first, second)
        if low == high or (low, high, kind) in self.taken:
            return False
        if (low, high) in self.partners and not parallel:
            return False
        self.taken.add((low, high, kind))
        self.partners.add((low, high))
        weight = round(float(self.random.uniform(0.2, 1.0)), 1)
        since = int(self.random.integers(2005, 2024))
        self.ties.append(Tie(source=low, target=high, kind=kind, weight=weight, since=since))
        return True

    def draw_kind(self, shares: Floats) -> str:
        """Draw one kind of tie with the given shares."""
        return KINDS[int(self.random.choice(len(KINDS), p=shares))]


def draw_ties(random: np.random.Generator, person: Person) -> list[Tie]:
    """Draw ties from communities and circles; origin is not an input, so it has no effect."""
    book = TieBook(random)
    good = np.flatnonzero(~person.bad_record & ~person.isolated)
    bad = np.flatnonzero(person.bad_record)
    for member in good:
        circle = int(person.circle[member])
        tie_to_good(book, person, int(member), good, count=good_tie_count(random, circle))
        tie_to_bad(book, person, int(member), bad, circle)
    for member in bad:
        # People with bad records know each other, which keeps their neighbourhoods bad.
        count = 3 + int(random.integers(0, 3))
        for partner in near(random, person, int(member), bad, count, inside=0.3):
            book.add(int(member), partner, book.draw_kind(KINDS_OF_GOOD_TIES))
    add_parallel_ties(book)
    return sorted(book.ties, key=lambda tie: (tie.source, tie.target, KINDS.index(tie.kind)))


def good_tie_count(random: np.random.Generator, circle: int) -> int:
    """The number of ties to good records that a person starts; others may add more."""
    if circle == PLAIN:
        return 1 + int(random.random() < 0.8)
    return int(random.integers(0, 2))


def tie_to_good(book: TieBook, person: Person, member: int, good: Ints, *, count: int) -> None:
    """Add `count` ties to people with good records, most of them within the community."""
    # Only partners with plain circles, so that a thin circle stays thin.
    candidates = good[person.circle[good] == PLAIN]
    for partner in near(book.random, person, member, candidates, count, inside=0.85):
        book.add(member, partner, book.draw_kind(KINDS_OF_GOOD_TIES))


def tie_to_bad(book: TieBook, person: Person, member: int, bad: Ints, circle: int) -> None:
    """Add the ties to bad records that make a circle thin or entangled."""
    if circle == THIN:
        count, shares = int(book.random.integers(1, 3)), KINDS_OF_THIN_TIES
    elif circle == ENTANGLED:
        count, shares = int(book.random.integers(5, 8)), KINDS_OF_ENTANGLED_TIES
    else:
        return
    for partner in near(book.random, person, member, bad, count, inside=0.35):
        book.add(member, partner, book.draw_kind(shares))


def near(
    random: np.random.Generator,
    person: Person,
    member: int,
    candidates: Ints,
    count: int,
    *,
    inside: float,
) -> list[int]:
    """Draw partners from the member's own community with probability `inside`, else from nearby.

    Communities form a ring, and nearby means at most two places away, so that three hops reach
    one part of the network and not all of it.
    """
    apart = np.abs(person.community[candidates] - person.community[member])
    apart = np.minimum(apart, COMMUNITIES - apart)
    own, close = candidates[apart == 0], candidates[apart <= NEXT_DOOR]
    partners = []
    for _ in range(count):
        pool = own if own.size and random.random() < inside else close
        partners.append(int(random.choice(pool)))
    return partners


def add_parallel_ties(book: TieBook) -> None:
    """Give some pairs of people a second tie of another kind."""
    for tie in list(book.ties):
        if book.random.random() < PARALLEL_SHARE:
            kind = book.draw_kind(KINDS_OF_GOOD_TIES)
            book.add(tie.source, tie.target, kind, parallel=True)


def draw_outcome(
    random: np.random.Generator, attributes: dict[str, Floats], ties: Sequence[Tie]
) -> NDArray[np.str_]:
    """Draw repaid or defaulted from a person's attributes and their partners' late payments."""
    late = np.minimum(attributes["late_payments"], 8)
    total, degree = np.zeros(PEOPLE), np.zeros(PEOPLE)
    for tie in ties:
        for person, partner in ((tie.source, tie.target), (tie.target, tie.source)):
            total[person] += late[partner]
            degree[person] += 1
    partners_late = total / np.maximum(degree, 1)
    own = (
        0.45 * late
        + 2.6 * (attributes["debt_ratio"] - 0.3)
        - 0.18 * (attributes["savings"] - 7000) / 1000
        - 0.4 * (attributes["income"] - 36000) / 15000
        + 0.25 * (attributes["loan_amount"] - 12500) / 8000
        - 0.03 * (attributes["years_employed"] - 5)
    )
    score = 1.9 * own + 1.3 * partners_late - 4.4
    defaulted = random.random(PEOPLE) < 1 / (1 + np.exp(-1.6 * score))
    return np.where(defaulted, "defaulted", "repaid")


def age_bands(age: Ints) -> NDArray[np.str_]:
    """Ages as three bands."""
    return np.where(age < 35, "20-34", np.where(age < 55, "35-54", "55-74"))


def person_name(row: int) -> str:
    """The id of the person in a row: P0001 for row 0."""
    return f"P{row + 1:04d}"


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file with line feeds on every system, so that its bytes are reproducible."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def make_network(folder: Path, *, seed: int, gap: bool) -> None:
    """Write the two files of one network; the same seed and gap give the same bytes."""
    random = np.random.default_rng(seed)
    person = draw_people(random)
    age = draw_ages(random)
    attributes = draw_attributes(random, person, age)
    ties = draw_ties(random, person)
    outcome = draw_outcome(random, attributes, ties)
    gender = np.where(random.random(PEOPLE) < 0.5, "woman", "man")
    origin = draw_origin(random, person, gap=gap)
    folder.mkdir(parents=True, exist_ok=True)
    columns: list[Iterable[str]] = [(person_name(row) for row in range(PEOPLE))]
    columns += [(f"{value:g}" for value in attributes[name]) for name in FEATURES]
    columns += [gender, origin, age_bands(age)]
    columns += [(f"C{number + 1:02d}" for number in person.community), outcome]
    header = ("id", *FEATURES, *PROTECTED, "community", "outcome")
    write_rows(folder / "nodes.csv", header, zip(*columns, strict=True))
    write_rows(
        folder / "edges.csv",
        ("source", "target", "kind", "weight", "since"),
        (
            (person_name(t.source), person_name(t.target), t.kind, f"{t.weight:g}", str(t.since))
            for t in ties
        ),
    )


def main() -> None:
    """Write both networks into the chosen folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=Path(__file__).parent)
    into: Path = parser.parse_args().into
    make_network(into / "lending", seed=SEEDS["lending"], gap=True)
    make_network(into / "lending_twin", seed=SEEDS["lending_twin"], gap=False)


if __name__ == "__main__":
    main()
