"""Made-up audits of every shape, published as files: some of their groups are tiny."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from recourse_audit.groups.csv_table import groups_csv
from recourse_audit.records.codec import GROUPS
from recourse_audit.records.group_figures import GRADES
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.findings import with_sentences
from recourse_audit.render.pages.groups import groups_view
from recourse_audit.render.pages.index import IndexSource, index_view
from recourse_audit.render.pages.write_pages import for_others, shows_results, shows_sizes
from recourse_audit.render.templates import Templates
from recourse_audit.settings import GroupSettings
from tests.groups.attacker import Secret
from tests.groups.published import Cell, Published
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
from tests.render.stores import DIGEST, manifest_of, subject


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
                droppable=_droppable(random, number, count),
            )
        )
    return people, names


def _options(random: np.random.Generator, number: int, count: int) -> list[list[Step]]:
    ties = [(number, int(end)) for end in random.integers(count, size=2) if end != number]
    drop: list[list[Step]] = [[("drop", "payment", tie)] for tie in ties]
    return drop or [[("set", "savings", None)]]


def _droppable(random: np.random.Generator, number: int, count: int) -> list[tuple[int, int]]:
    return [(number, int(end)) for end in random.integers(count, size=3) if end != number]


def publish(seed: int, smallest: int, folder: Path) -> Path:
    """Audit a drawn population, and write the files about everybody as a subject gets them."""
    people, names = drawn_population(seed)
    _add_values(seed, people)
    add_own_data(seed, people)
    chosen = settings(*names, smallest=smallest, redraws=100, crossed=seed % 5 > 0)
    add_actions(seed, people)
    return publish_people(people, chosen, folder)


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


def with_outcomes(seed: int) -> tuple[list[Person], tuple[str, ...]]:
    """A drawn population, once or several times over, of whom it is known how decisions turned out.

    In some groups nearly everybody turns out good, or bad. Outcomes of the favourable, or of the
    refused, are known for all or for some. Under an even seed, who has a score of 0.5 has a
    favourable decision, and nobody else.
    """
    people, names = drawn_population(seed)
    people = [replace(one) for _ in range((1, 2, 4)[seed % 3]) for one in people]
    add_own_data(seed, people)
    random = np.random.default_rng([seed, 3])
    groups = sorted({one.groups[names[-1]] for one in people})
    chances = [0.3, 0.5, 0.7] if random.random() < 0.6 else [0.05, 0.3, 0.5, 0.7, 0.95, 1.0]
    chance = {
        (group, decided): random.choice(chances)
        for group in groups
        for decided in (True, False, None)
    }
    unknown = {True: random.choice([0, 0, 0.05, 0.4]), False: random.choice([0, 0, 0.03, 0.5])}
    for one in people:
        good = random.random() < chance[one.groups[names[-1]], one.favourable]
        one.outcome = bool(good)
        if random.random() < unknown.get(bool(one.favourable), 0):
            one.outcome = None
        score = random.random() if seed % 2 else random.random() / 2 + bool(one.favourable) / 2
        one.score = round(0.7 * score + 0.3 * good, 2) if seed % 2 else min(0.99, round(score, 2))
        if not seed % 2 and not one.favourable:
            one.score = min(one.score, 0.49)
    return people, names


def publish_outcomes(seed: int, smallest: int, folder: Path) -> tuple[Path, list[Person]]:
    """The same as `publish`, with outcomes."""
    people, names = with_outcomes(seed)
    _add_values(seed, people)
    chosen = settings(*names, smallest=smallest, redraws=100, crossed=seed % 5 > 0)
    return publish_people(people, chosen, folder), people


def harmful_outcomes(known: Published, people: list[Person], learnt: list[Secret]) -> list[Secret]:
    """What is learnt of withheld groups, or of groups in which few, or all, turned out alike."""
    found = []
    for one in learnt:
        there = [
            person
            for person in people
            if all((person.groups[name] or "unknown") == group for name, group in one.cell.values)
        ]
        hidden = (one.cell, "people") not in known.exact
        if "changed" in one.figure:
            decided = [person for person in there if person.favourable is not None]
            changed = sum(person.favourable != person.favourable_alone for person in decided)
            bad = hidden or 0 < changed < known.smallest or changed == len(decided) > 0
        elif one.figure.split()[-1] in ("good", "bad") or " from " in one.figure:
            bad = hidden or _handful(there, one.figure, known, one.cell)
        else:
            bad = True
        found += [one] if bad else []
    return found


def _handful(people: list[Person], figure: str, known: Published, cell: Cell) -> bool:
    """Whether a figure is about fewer people of either outcome than the threshold, or about all."""
    base = figure.split(maxsplit=1)[0]
    of = {
        "favourable": [one for one in people if one.favourable],
        "refused": [one for one in people if one.favourable is False],
        "verified": [one for one in people if one.status == FOUND],
        "without": [one for one in people if one.status in (INFEASIBLE, NOT_FOUND)],
        "infeasible": [one for one in people if one.status == INFEASIBLE],
        "not_found": [one for one in people if one.status == NOT_FOUND],
        "calibrated": [one for one in people if one.favourable is not None],
    }[base]
    if base == "calibrated":
        low, high = map(float, figure.split(" from ")[1].split(" to "))
        of = [one for one in of if one.score is not None and low <= one.score < high]
    good, bad = (sum(one.outcome is outcome for one in of) for outcome in (True, False))
    if base in ("favourable", "refused", "calibrated"):
        return good + bad > 0 and min(good, bad) < known.smallest
    audited = [one for one in people if one.status in (FOUND, INFEASIBLE, NOT_FOUND)]
    both = [sum(one.outcome is outcome for one in audited) for outcome in (True, False)]
    few = sum(both) > 0 and min(both) < known.smallest
    alike = len(of) > 0 and (len(of) < known.smallest or good in (0, len(of)))
    return few or alike or (cell, "verified") not in known.exact


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


def harmful_actions(known: Published, seed: int, learnt: list[Secret]) -> list[Secret]:
    """What is learnt of withheld outcomes, or of groups in which an action serves few, or all."""
    people, _ = drawn_population(seed)
    add_actions(seed, people)
    found = []
    for one in learnt:
        audited = [
            who
            for who in people
            if who.status not in (None, ERROR)
            and who.favourable is False
            and all((who.groups[name] or "unknown") == group for name, group in one.cell.values)
        ]
        what, _, numbers = one.figure.removeprefix("not ").partition(" ")
        shown = (one.cell, "verified") in known.exact
        if shown and what in ("serves", "applies"):
            actions = [int(number) for number in numbers.split(",")]
            wanted = (
                ("serves",) if what == "serves" else ("serves", "does_not_serve", "not_settled")
            )
            marked = sum(any(who.common.get(a) in wanted for a in actions) for who in audited)
            rest = len(audited) - marked
            few = 0 < marked < known.smallest
            if what == "serves":
                harm = few or (marked > 0 and rest == 0)
            else:
                harm = few or 0 < rest < known.smallest
            if not harm:
                continue
        found.append(one)
    return found


def harmful(known: Published, seed: int, learnt: list[Secret]) -> list[Secret]:
    """What is learnt of withheld groups, or of groups in which few or all decisions change."""
    people, _ = drawn_population(seed)
    add_own_data(seed, people)
    found = []
    for one in learnt:
        decided, changed = _changes(people, one.cell)
        few = 0 < changed < known.smallest or changed == decided > 0
        if few or "changed" not in one.figure or (one.cell, "people") not in known.exact:
            found.append(one)
    return found


def _changes(people: list[Person], cell: Cell) -> tuple[int, int]:
    """How many people of a group were decided on, and on how many it would change."""
    there = [
        one
        for one in people
        if one.favourable is not None
        and all((one.groups[name] or "unknown") == group for name, group in cell.values)
    ]
    return len(there), sum(one.favourable != one.favourable_alone for one in there)


def publish_people(people: list[Person], chosen: GroupSettings, folder: Path) -> Path:
    """Write the files about an audit of everybody as a subject gets them."""
    for number, one in enumerate(people):
        # What is dropped can be dropped.
        own = [tie for steps in one.options for _, _, tie in steps if tie is not None]
        people[number].droppable = [*one.droppable, *own]
    audited = sum(one.status is not None for one in people)
    made = report_on(people, chosen, ties=False)
    report = for_others(replace(made, done=audited, total=audited))
    (folder / "index.html").write_text(_index(report, people), encoding="utf-8")
    page = Templates().render("pages/groups.html", view=groups_view(report))
    (folder / "groups.json").write_text(GROUPS.write_indented(report), encoding="utf-8")
    (folder / "groups.csv").write_text(groups_csv(report), encoding="utf-8")
    (folder / "groups.html").write_text(page, encoding="utf-8")
    return folder


def _index(report: GroupReport, people: list[Person]) -> str:
    subjects = [subject(f"P{n}", status=one.status) for n, one in enumerate(people) if one.status]
    manifest = manifest_of(subjects)
    view = index_view(
        IndexSource(
            subjects=tuple(enumerate(subjects)),
            manifest=replace(manifest, counts=replace(manifest.counts, people=len(people))),
            manifest_digest=DIGEST,
            links={},
            groups=with_sentences(report),
        ),
        level="subject",
        results=shows_results(len(subjects), report.smallest, report),
        sizes=shows_sizes(report),
    )
    return Templates().render("pages/index.html", view=view)
