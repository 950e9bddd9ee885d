"""Writes a synthetic hiring world of three kinds of nodes, with a gap that travels through one.

Input: only the seed below. Output: `hiring/` with `people.csv`, `employers.csv` and `schools.csv`
(one row per node, real units), `works_at.csv`, `studied_at.csv` and `recommends.csv` (one row per
tie, from `source` to `target`), and `vacancies.csv` (whom each person could work for instead).

Vocabulary
----------
merit       what a person's own columns are worth; region is dealt evenly over it.
type        of an employer: *steady* (staff stay and are trained) or *volatile* (they leave).
region      the protected attribute: city or valley. Valley people mostly work at volatile
            employers, and so are the vacancies near them. Their own columns, schools and
            recommendations are drawn as everybody's.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from make_lending import Floats, Ints, Mask, age_bands, write_rows
from numpy.typing import NDArray

PEOPLE = 1200
EMPLOYERS = 120
SCHOOLS = 24
SEED = 20261

FEATURES = {
    "person": ("test_score", "certificates", "years_experience", "languages"),
    "employer": ("staff", "age", "turnover", "training_days"),
    "school": ("students", "completion_rate"),
}
RELATIONS = {
    "works_at": ("person", "employer"),
    "studied_at": ("person", "school"),
    "recommends": ("person", "person"),
}
TABLES = {"person": "people.csv", "employer": "employers.csv", "school": "schools.csv"}
LETTERS = {"person": "P", "employer": "E", "school": "S"}
PROTECTED = ("region", "gender", "age_band")
SECTORS = ("retail", "care", "logistics", "engineering", "public service")

VALLEY_IN_TEN = 4
# The probability of working at a volatile employer, in the city and in the valley.
VOLATILE_SHARES = (0.12, 0.72)
VOLATILE_EMPLOYERS = 0.4
WITHOUT_JOB = 0.03
SECOND_JOB = 0.08
VACANCIES = 2
# How likely each sector is for a steady and for a volatile employer, in the order of SECTORS.
SECTORS_OF_STEADY = (0.15, 0.20, 0.10, 0.30, 0.25)
SECTORS_OF_VOLATILE = (0.35, 0.20, 0.30, 0.10, 0.05)
Columns = dict[str, Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """The ties of one relation, as row numbers of its two kinds."""

    source: Ints
    target: Ints
    since: Ints


def draw_people(random: np.random.Generator, age: Ints) -> Columns:
    """People's own columns, which depend on nothing but chance and, for experience, on age."""
    experience = np.minimum(random.gamma(2.2, 4.0, PEOPLE), age - 18)
    return {
        "test_score": np.clip(np.round(random.normal(62, 13, PEOPLE)), 5, 100),
        "certificates": np.asarray(np.minimum(random.poisson(1.4, PEOPLE), 6), float),
        "years_experience": np.round(experience, 1),
        "languages": np.asarray(1 + random.binomial(3, 0.35, PEOPLE), float),
    }


def merit(person: Columns) -> Floats:
    """What a person's own columns are worth to the outcome, in log-odds."""
    return np.asarray(
        0.055 * (person["test_score"] - 62)
        + 0.42 * (person["certificates"] - 1.4)
        + 0.03 * (person["years_experience"] - 8)
        + 0.25 * (person["languages"] - 2)
    )


def deal_region(random: np.random.Generator, worth: Floats) -> Mask:
    """Mark four of every ten people of nearly equal merit, so that merit says nothing of region."""
    valley = np.zeros(PEOPLE, dtype=bool)
    for block in np.argsort(worth, kind="stable").reshape(-1, 10):
        valley[random.permutation(block)[:VALLEY_IN_TEN]] = True
    return valley


def draw_employers(random: np.random.Generator) -> tuple[Columns, Mask, NDArray[np.str_]]:
    """Employers' columns, whether each is volatile, and their sectors."""
    volatile = random.permutation(EMPLOYERS) < round(VOLATILE_EMPLOYERS * EMPLOYERS)
    turnover = np.where(volatile, random.beta(9, 14, EMPLOYERS), random.beta(4, 26, EMPLOYERS))
    training = np.where(volatile, random.gamma(3, 0.7, EMPLOYERS), random.gamma(9, 0.8, EMPLOYERS))
    age = np.where(volatile, random.gamma(2, 6, EMPLOYERS), random.gamma(3, 9, EMPLOYERS))
    columns = {
        "staff": np.round(np.clip(random.lognormal(4.6, 1.0, EMPLOYERS), 5, 5000)),
        "age": np.round(1 + age),
        "turnover": np.round(turnover, 2),
        "training_days": np.round(training, 1),
    }
    shares = np.cumsum([SECTORS_OF_STEADY, SECTORS_OF_VOLATILE], axis=1)
    places = (random.random(EMPLOYERS)[:, None] > shares[volatile.astype(int)]).sum(axis=1)
    return columns, volatile, np.array(SECTORS)[places]


def draw_schools(random: np.random.Generator) -> Columns:
    """Schools' columns."""
    return {
        "students": np.round(np.clip(random.lognormal(6.6, 0.6, SCHOOLS), 80, 5000), -1),
        "completion_rate": np.round(random.beta(14, 5, SCHOOLS), 2),
    }


def draw_jobs(random: np.random.Generator, valley: Mask, volatile: Mask) -> Ties:
    """Jobs: the only place where region has an effect. A few people have none, or two."""
    jobs = []
    for person in range(PEOPLE):
        if random.random() < WITHOUT_JOB:
            continue
        count = 1 + int(random.random() < SECOND_JOB)
        wanted = random.random(count) < VOLATILE_SHARES[int(valley[person])]
        chosen = {int(random.choice(np.flatnonzero(volatile == kind))) for kind in wanted}
        jobs += [(person, employer) for employer in sorted(chosen)]
    return as_ties(random, jobs)


def draw_vacancies(
    random: np.random.Generator, valley: Mask, volatile: Mask, jobs: Ties
) -> list[tuple[str, str]]:
    """Employers with a vacancy near each person, of the types that people there work at."""
    pairs = []
    for person in range(PEOPLE):
        own = jobs.target[jobs.source == person]
        chosen: set[int] = set()
        while len(chosen) < VACANCIES:
            wanted = random.random() < VOLATILE_SHARES[int(valley[person])]
            chosen.add(int(random.choice(np.setdiff1d(np.flatnonzero(volatile == wanted), own))))
        name = f"person:{node_name('person', person)}"
        pairs += [(name, f"employer:{node_name('employer', place)}") for place in sorted(chosen)]
    return pairs


def draw_recommendations(random: np.random.Generator, school: Ints) -> Ties:
    """Recommendations, most of them between people of the same school, whatever their region."""
    given = set()
    for person in range(PEOPLE):
        mates = np.flatnonzero(school == school[person])
        for _ in range(int(random.integers(0, 5))):
            pool = mates if random.random() < 0.8 else np.arange(PEOPLE)
            other = int(random.choice(pool))
            if other != person:
                given.add((other, person))
    return as_ties(random, sorted(given))


def as_ties(random: np.random.Generator, pairs: list[tuple[int, int]]) -> Ties:
    """Pairs of row numbers as ties, each with the year in which it began."""
    ends = np.array(pairs, dtype=np.int64)
    since = 2024 - np.minimum(random.geometric(0.2, len(pairs)), 18)
    return Ties(source=ends[:, 0], target=ends[:, 1], since=since)


def mean_over(ties: Ties, values: Floats, *, sent_to_source: bool, otherwise: float) -> Floats:
    """For each person the mean of `values` over a relation's other ends."""
    here, there = (ties.source, ties.target) if sent_to_source else (ties.target, ties.source)
    count = np.bincount(here, minlength=PEOPLE)
    total = np.bincount(here, weights=values[there], minlength=PEOPLE)
    return np.where(count > 0, total / np.maximum(count, 1), otherwise)


def draw_outcome(
    random: np.random.Generator,
    worth: Floats,
    employer: Columns,
    school: Columns,
    ties: dict[str, Ties],
    test_score: Floats,
) -> NDArray[np.str_]:
    """Draw who stays, from own merit, the employer, the school and the recommenders."""
    good_place = -9.0 * (employer["turnover"] - 0.22) + 0.16 * (employer["training_days"] - 5)
    at_work = mean_over(ties["works_at"], good_place, sent_to_source=True, otherwise=-0.3)
    at_school = mean_over(
        ties["studied_at"], school["completion_rate"], sent_to_source=True, otherwise=0.74
    )
    backing = mean_over(ties["recommends"], test_score, sent_to_source=False, otherwise=55.0)
    score = 1.5 * worth + 1.5 * at_work + 3.0 * (at_school - 0.74) + 0.05 * (backing - 60)
    stays = random.random(PEOPLE) < 1 / (1 + np.exp(-2.0 * (score + 0.85)))
    return np.where(stays, "stayed", "left")


def deal_gender(random: np.random.Generator, valley: Mask, left: Mask) -> NDArray[np.str_]:
    """Half women among people of the same region and outcome, so that gender has no effect."""
    woman = np.zeros(PEOPLE, dtype=bool)
    for members in (valley & left, valley & ~left, ~valley & left, ~valley & ~left):
        chosen = random.permutation(np.flatnonzero(members))
        woman[chosen[: chosen.size // 2]] = True
    return np.where(woman, "woman", "man")


def node_name(kind: str, row: int) -> str:
    """The id of a node: P0001 for the first person, E001 for the first employer."""
    return f"{LETTERS[kind]}{row + 1:0{4 if kind == 'person' else 3}d}"


def write_nodes(
    folder: Path, kind: str, columns: Columns, more: dict[str, NDArray[np.str_]]
) -> None:
    """Write the table of one kind: ids, features, then columns that no model sees."""
    rows = len(next(iter(columns.values())))
    cells: list[Iterable[str]] = [[node_name(kind, row) for row in range(rows)]]
    cells += [[f"{value:g}" for value in columns[name]] for name in FEATURES[kind]]
    header = ("id", *FEATURES[kind], *more)
    write_rows(folder / TABLES[kind], header, zip(*cells, *more.values(), strict=True))


def write_ties(folder: Path, relation: str, ties: Ties) -> None:
    """Write the table of one relation."""
    source, target = RELATIONS[relation]
    rows = (
        (node_name(source, first), node_name(target, second), str(since))
        for first, second, since in zip(ties.source, ties.target, ties.since, strict=True)
    )
    write_rows(folder / f"{relation}.csv", ("source", "target", "since"), rows)


def make_world(folder: Path) -> None:
    """Write all tables; the same seed gives the same bytes."""
    random = np.random.default_rng(SEED)
    age = np.asarray(np.clip(random.normal(36, 11, PEOPLE), 20, 64), dtype=np.int64)
    person = draw_people(random, age)
    employer, volatile, sector = draw_employers(random)
    school = draw_schools(random)
    worth = merit(person)
    valley = deal_region(random, worth)
    attended = random.integers(0, SCHOOLS, PEOPLE)
    ties = {
        "works_at": draw_jobs(random, valley, volatile),
        "studied_at": as_ties(random, list(enumerate(attended.tolist()))),
        "recommends": draw_recommendations(random, attended),
    }
    outcome = draw_outcome(random, worth, employer, school, ties, person["test_score"])
    gender = deal_gender(random, valley, outcome == "left")
    region = np.where(valley, "valley", "city")
    folder.mkdir(parents=True, exist_ok=True)
    protected = dict(zip(PROTECTED, (region, gender, age_bands(age)), strict=True))
    write_nodes(folder, "person", person, protected | {"outcome": outcome})
    write_nodes(folder, "employer", employer, {"sector": sector})
    write_nodes(folder, "school", school, {})
    for relation, members in ties.items():
        write_ties(folder, relation, members)
    vacancies = draw_vacancies(random, valley, volatile, ties["works_at"])
    write_rows(folder / "vacancies.csv", ("source", "target"), vacancies)


def main() -> None:
    """Write the world into the chosen folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=Path(__file__).parent)
    make_world(parser.parse_args().into / "hiring")


if __name__ == "__main__":
    main()
