"""Writes the tables of `lending_deployed`: applicants as a bank knows them, and their ties.

Input: only the seed below. Output: `nodes.csv` (one row per applicant, raw columns: numbers in
people's units, and text) and `edges.csv` (one row per undirected tie). `train_deployed.py` adds the
column `decision` to the first, since decisions are taken by the model.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from make_lending import age_bands, write_rows
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Texts = NDArray[np.str_]
Mask = NDArray[np.bool_]

SEED = 20260
PEOPLE = 900
COMMUNITIES = 30
FOLDER = "lending_deployed"

NUMBERS = ("income", "debt", "savings", "months_employed", "late_payments", "loan_amount")
CATEGORIES = {
    "housing": ("rent", "own", "parents"),
    "job": ("none", "temporary", "permanent", "self-employed"),
    "purpose": ("car", "home", "education", "business"),
    "region": ("coast", "city", "valley", "hills"),
}
PROTECTED = ("gender", "age_band")
KINDS = ("guarantor", "co-borrower", "payment", "employer", "family")
KIND_SHARES = np.array([0.22, 0.16, 0.28, 0.16, 0.18])

BAD_RECORD_SHARE = 0.09
# Nobody without a job has a higher income; the policy knows this as a condition.
INCOME_WITHOUT_JOB = 1500
JOB_SHARES = np.array([0.08, 0.22, 0.55, 0.15])
JOB_RISK = {"none": 1.3, "temporary": 0.5, "permanent": -0.4, "self-employed": 0.3}
HOUSING_RISK = {"rent": 0.35, "own": -0.6, "parents": 0.0}
PURPOSE_RISK = {"car": 0.0, "home": -0.2, "education": 0.1, "business": 0.5}
REGION_RISK = {"coast": 0.0, "city": -0.1, "valley": 0.1, "hills": 0.3}


def draw_categories(random: np.random.Generator, bad: Mask) -> dict[str, Texts]:
    """Housing, job, purpose and region; a bad record makes a rented home and no job likelier."""
    job_shares = np.where(bad[:, None], [0.25, 0.35, 0.25, 0.15], JOB_SHARES)
    housing_shares = np.where(bad[:, None], [0.75, 0.10, 0.15], [0.50, 0.36, 0.14])
    even = np.full((PEOPLE, 4), 0.25)
    shares = {"housing": housing_shares, "job": job_shares, "purpose": even, "region": even}
    chosen = {}
    for name, labels in CATEGORIES.items():
        draw = random.random(PEOPLE)[:, None]
        chosen[name] = np.array(labels)[(draw > np.cumsum(shares[name], axis=1)).sum(axis=1)]
    return chosen


def draw_numbers(
    random: np.random.Generator, bad: Mask, job: Texts, age: Ints
) -> dict[str, Floats]:
    """Amounts in euros (income and debt a month), months in the job, payments missed."""
    income = random.lognormal(7.85, 0.36, PEOPLE) * np.where(bad, 0.85, 1.0)
    income = np.where(job == "none", random.uniform(700, INCOME_WITHOUT_JOB, PEOPLE), income)
    income = np.round(income, -1)
    share = np.where(bad, random.beta(5, 6, PEOPLE), random.beta(2.5, 7, PEOPLE))
    savings = random.gamma(1.6, 4000, PEOPLE) * np.where(bad, 0.35, 1.0)
    months = np.minimum(random.gamma(1.5, 45, PEOPLE), (age - 18) * 12)
    late = np.where(bad, 4 + random.poisson(2.0, PEOPLE), random.poisson(0.4, PEOPLE))
    loan = np.clip(random.gamma(2.4, 5200, PEOPLE), 1000, 60000)
    return {
        "income": income,
        "debt": np.round(share * income, -1),
        "savings": np.round(savings, -2),
        "months_employed": np.where(job == "none", 0, np.round(months)),
        "late_payments": late.astype(float),
        "loan_amount": np.round(loan, -2),
    }


def draw_ties(
    random: np.random.Generator, community: Ints, bad: Mask
) -> list[tuple[int, int, str]]:
    """Every tie once, lower row first; bad records know each other, and some others know them."""
    found: dict[tuple[int, int, str], None] = {}

    def tie(person: int, candidates: Ints) -> None:
        partner = int(random.choice(candidates))
        kind = KINDS[int(random.choice(len(KINDS), p=KIND_SHARES))]
        low, high = min(person, partner), max(person, partner)
        if low != high and not any((low, high, other) in found for other in KINDS):
            found[low, high, kind] = None

    for person in range(PEOPLE):
        apart = np.abs(community - community[person])
        near = np.minimum(apart, COMMUNITIES - apart) <= 1
        own = np.flatnonzero((community == community[person]) & ~bad)
        risky = np.flatnonzero(near & bad)
        for _ in range(int(random.integers(1, 3))):
            tie(person, risky if bad[person] and risky.size > 1 else own)
        drawn_in = random.random() < 0.22
        for _ in range(int(random.integers(1, 4)) if drawn_in and risky.size else 0):
            tie(person, risky)
    return sorted(found, key=lambda one: (one[0], one[1], KINDS.index(one[2])))


def draw_repaid(
    random: np.random.Generator,
    numbers: dict[str, Floats],
    categories: dict[str, Texts],
    ties: list[tuple[int, int, str]],
) -> Mask:
    """What would happen to each loan: from a person's own columns and their partners' record."""
    late = np.minimum(numbers["late_payments"], 7)
    total, degree = np.zeros(PEOPLE), np.zeros(PEOPLE)
    for first, second, _ in ties:
        for person, partner in ((first, second), (second, first)):
            total[person] += late[partner]
            degree[person] += 1
    risk = (
        0.5 * late
        + 4.0 * (numbers["debt"] / numbers["income"] - 0.27)
        - 0.11 * (numbers["savings"] - 6000) / 1000
        - 0.5 * (numbers["income"] - 2600) / 1000
        + 0.4 * (numbers["loan_amount"] - 12500) / 8000
        - 0.004 * (numbers["months_employed"] - 60)
        + 0.9 * total / np.maximum(degree, 1)
    )
    for name, weights in zip(
        ("job", "housing", "purpose", "region"),
        (JOB_RISK, HOUSING_RISK, PURPOSE_RISK, REGION_RISK),
        strict=True,
    ):
        risk += np.array([weights[label] for label in categories[name]])
    chance = 1 / (1 + np.exp(-1.5 * (risk - 2.6)))
    return np.asarray(random.random(PEOPLE) >= chance)


def make_tables(folder: Path) -> None:
    """Write both tables; the same seed gives the same bytes."""
    random = np.random.default_rng(SEED)
    community = random.permutation(np.arange(PEOPLE) % COMMUNITIES)
    bad = random.random(PEOPLE) < BAD_RECORD_SHARE
    age = np.clip(random.normal(42, 13, PEOPLE), 20, 74).astype(np.int64)
    gender = np.where(random.random(PEOPLE) < 0.5, "woman", "man")
    categories = draw_categories(random, bad)
    numbers = draw_numbers(random, bad, categories["job"], age)
    ties = draw_ties(random, community, bad)
    repaid = draw_repaid(random, numbers, categories, ties)
    names = [f"A{row + 1:04d}" for row in range(PEOPLE)]
    columns = [names, *([f"{value:g}" for value in numbers[name]] for name in NUMBERS)]
    columns += [list(categories[name]) for name in CATEGORIES]
    columns += [list(gender), list(age_bands(age)), list(np.where(repaid, "yes", "no"))]
    folder.mkdir(parents=True, exist_ok=True)
    header = ("id", *NUMBERS, *CATEGORIES, *PROTECTED, "repaid")
    write_rows(folder / "nodes.csv", header, zip(*columns, strict=True))
    write_rows(
        folder / "edges.csv",
        ("source", "target", "kind"),
        ((names[first], names[second], kind) for first, second, kind in ties),
    )


def main() -> None:
    """Write the tables into the chosen folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=Path(__file__).parent)
    make_tables(parser.parse_args().into / FOLDER)


if __name__ == "__main__":
    main()
