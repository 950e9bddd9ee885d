"""Made-up audits of every shape, some of whose groups are tiny, for an attacker to work on."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from recourse_audit.records.codec import GROUPS
from recourse_audit.records.group_figures import GRADES
from recourse_audit.settings import DecisionSettings
from tests.groups.attacker import Learnt, attack
from tests.groups.stores import (
    ACTIONS,
    ERROR,
    FOUND,
    INFEASIBLE,
    NOT_FOUND,
    Person,
    Step,
    report_on,
    settings,
)


def drawn_population(seed: int) -> tuple[list[Person], tuple[str, ...]]:
    """One to three attributes whose groups are of very different sizes.

    In some groups nearly everybody is refused, or has an option; some audits are samples, some
    have errors, and some people have no decision.
    """
    random = np.random.default_rng(seed)
    count = int(random.integers(30, 400))
    names = tuple("abc"[: int(random.integers(1, 4))])
    places = {}
    refused = np.full(count, random.uniform(0.2, 0.8))
    found = np.full(count, random.uniform(0.2, 0.8))
    for name in names:
        sizes = random.dirichlet(np.full(int(random.integers(2, 6)), 0.6))
        places[name] = random.choice(sizes.size, size=count, p=sizes)
        places[name][:2] = 0, sizes.size - 1
        refused += random.choice([0, 0.4, -0.4], sizes.size)[places[name]]
        found += random.choice([0, 0.5, -0.5], sizes.size)[places[name]]
    is_refused = random.random(count) < refused
    has_option = random.random(count) < found
    undecided = random.random(count) < random.choice([0, 0, 0.03])
    audited = random.random(count) < random.choice([1, 1, 0.9, 0.5])
    failed = random.random(count) < random.choice([0, 0, 0.05])
    unknown = random.random(count) < random.choice([0, 0, 0.05])
    people = []
    for number in range(count):
        groups = {name: f"{name}{places[name][number]}" for name in names}
        if unknown[number]:
            groups[names[0]] = ""
        status = ERROR if failed[number] else FOUND if has_option[number] else INFEASIBLE
        if status == INFEASIBLE and random.random() < 0.15:
            status = NOT_FOUND
        is_subject = audited[number] and is_refused[number] and not undecided[number]
        people.append(
            Person(
                groups=groups,
                favourable=None if undecided[number] else not is_refused[number],
                community=number % 12,
                status=status if is_subject else None,
                error="no answer" if status == ERROR else "",
                cost=float(random.integers(1, 5)),
                grade=str(random.choice(GRADES[:-1])),
                options=_options(random, number, count),
            )
        )
    return people, names


def _options(random: np.random.Generator, number: int, count: int) -> list[list[Step]]:
    ties = [(number, int(end)) for end in random.integers(count, size=2) if end != number]
    drop: list[list[Step]] = [[("drop", "payment", tie)] for tie in ties]
    return drop or [[("set", "savings", None)]]


def _add_values(seed: int, people: list[Person]) -> None:
    """Some have no explanation, and so no grade; some have more options than others."""
    random = np.random.default_rng([seed, 1])
    explained = random.random(len(people)) < random.choice([1, 1, 0.9, 0.7])
    for place, one in enumerate(people):
        one.simulatability, one.relevance = np.round(random.random(2), 2).tolist()
        if not explained[place]:
            one.simulatability = one.relevance = one.grade = None
        more = random.choice(["savings", "income", "rent"], size=int(random.integers(3)))
        one.options = [*one.options, *([("set", str(what), None)] for what in more)]


def add_own_data(seed: int, people: list[Person]) -> None:
    """Without ties, decisions change for few or for many, and in some groups for everybody."""
    random = np.random.default_rng([seed, 2])
    name = next(iter(people[0].groups))
    groups = sorted({one.groups[name] for one in people})
    chance = {group: random.choice([0.02, 0.2, 0.5, 1.0]) for group in groups}
    for one in people:
        changes = random.random() < chance[one.groups[name]]
        one.favourable_alone = bool(one.favourable) != bool(changes)


def add_actions(seed: int, people: list[Person]) -> None:
    """Actions serve few or many of those with an option, and in some groups all or none."""
    random = np.random.default_rng([seed, 3])
    name = list(people[0].groups)[-1]
    groups = sorted({one.groups[name] for one in people})
    chances = [0.0, 0.05, 0.3, 0.6, 1.0]
    serves = {group: random.choice(chances, size=len(ACTIONS)) for group in groups}
    applies = random.choice([0.1, 0.5, 0.95, 1.0], size=len(ACTIONS))
    for one in people:
        drawn = random.random((3, len(ACTIONS)))
        one.common = {}
        for action in range(len(ACTIONS)) if one.status is not None else ():
            if one.status == FOUND and drawn[0, action] < serves[one.groups[name]][action]:
                one.common[action] = "serves"
            elif drawn[1, action] < applies[action]:
                rare = one.status != INFEASIBLE and drawn[2, action] < 0.05
                one.common[action] = "not_settled" if rare else "does_not_serve"


PARTS = (("column", "savings"), ("column", "late_payments"), ("ties", "payment"))


def add_parts(seed: int, people: list[Person]) -> None:
    """Parts are reasons of few or of many, and may be changed by nobody, few, or everybody."""
    random = np.random.default_rng([seed, 5])
    name = list(people[0].groups)[-1]
    groups = sorted({one.groups[name] for one in people})
    chances = [0.0, 0.05, 0.4, 0.95, 1.0]
    often = {group: random.choice(chances, size=(4, len(PARTS))) for group in groups}
    asked = random.random(len(people)) < random.choice([1, 1, 0.9])
    for place, one in enumerate(people):
        may, flips, reason, fixed = random.random((4, len(PARTS))) < often[one.groups[name]]
        one.parts = {
            part: (
                "no" if not may[n] else "flips" if flips[n] else "in vain",
                # What is not fixed may be changed, and what flips the decision is not fixed.
                "no"
                if not reason[n]
                else "fixed"
                if not may[n] or (fixed[n] and not flips[n])
                else "moves",
            )
            for n, part in enumerate(PARTS)
        }
        if not asked[place]:
            one.parts = None


def add_outcomes(seed: int, people: list[Person], name: str) -> None:
    """In some groups nearly everybody turns out good, or bad; some outcomes are not known."""
    random = np.random.default_rng([seed, 4])
    groups = sorted({one.groups[name] for one in people})
    chances = [0.3, 0.5, 0.7] if random.random() < 0.6 else [0.05, 0.3, 0.5, 0.7, 0.95, 1.0]
    chance = {
        (group, decided): random.choice(chances)
        for group in groups
        for decided in (True, False, None)
    }
    unknown = {True: random.choice([0, 0, 0.05, 0.4]), False: random.choice([0, 0, 0.03, 0.5])}
    for one in people:
        good = random.random() < chance[one.groups[name], one.favourable]
        one.outcome = None if random.random() < unknown[bool(one.favourable)] else bool(good)


RULES: tuple[dict[str, Any], ...] = (
    {"cut_off": 0.5},
    {"cut_off_by": {"column": "site", "values": {"here": 0.35, "there": 0.65}}},
    {},
)


def add_scores(seed: int, people: list[Person], name: str) -> DecisionSettings:
    """Answers that a rule with one or with two cut-offs decides on, alike in some groups."""
    random = np.random.default_rng([seed, 6])
    rule = RULES[seed // 3 % 3]
    low, high = (0.35, 0.65) if "cut_off_by" in rule else (0.5, 0.5)
    groups = sorted({one.groups[name] for one in people})
    shape = {group: random.choice([0.3, 1.0, 3.0], size=2) for group in groups}
    for one in people:
        start, end = (low, 1.0) if one.favourable else (0.0, high - 1e-9)
        answer = start + (end - start) * random.beta(*shape[one.groups[name]])
        one.score = None if one.favourable is None else min(max(round(answer, 3), start), end)
    return DecisionSettings(classes=("no", "yes"), favourable=("yes",), **rule)


def by_cut_off(seed: int) -> bool:
    """Whether decisions on a population go by its answers and one cut-off."""
    return has_scores(seed) and "cut_off_by" not in RULES[seed // 3 % 3]


def has_scores(seed: int) -> bool:
    return seed % 7 == 5 or seed % 2 > 0


def report_on_population(seed: int) -> tuple[dict[str, Any], dict[str, Counter[str]]]:
    """The report on a population, once or several times over, and the sizes of its groups."""
    people, names = drawn_population(seed)
    people = [replace(one) for _ in range((1, 4, 8)[seed % 3]) for one in people]
    _add_values(seed, people)
    add_own_data(seed, people)
    add_actions(seed, people)
    add_parts(seed, people)
    if seed % 2:
        add_outcomes(seed, people, names[-1])
    for one in people:
        # What is dropped can be dropped.
        one.droppable = [tie for steps in one.options for _, _, tie in steps if tie is not None]
    # Curves by cut-off take the attacker long, so every seventh population has some.
    decision = add_scores(seed, people, names[0]) if has_scores(seed) else None
    smallest = (5, 11)[seed // 2 % 2]
    chosen = settings(*names, smallest=smallest, redraws=100, crossed=seed % 5 > 0)
    report = report_on(people, chosen, ties=False, decision=decision if seed % 7 == 5 else None)
    document: dict[str, Any] = GROUPS.read(GROUPS.write(report)).to_dict()
    sizes = {name: Counter(one.groups[name] or "unknown" for one in people) for name in names}
    return document, sizes


def attack_population(seed: int) -> tuple[int, list[Learnt]]:
    """How many counts of a population were attacked, and what was learnt of a few people."""
    return attack(*report_on_population(seed), by_cut_off=by_cut_off(seed))
