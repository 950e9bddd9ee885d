"""An attacker with every published file and an integer solver learns no count that is withheld.

`python -m benchmarks.withheld 500` attacks as many populations as it is told.
"""

import re
import shutil
from pathlib import Path

import pytest

from tests.groups.attacker import attack, attack_details, attack_ties, hidden_counts
from tests.groups.populations import publish, publish_people
from tests.groups.published import ALL, Cell, Published, Ties, read
from tests.groups.stores import FOUND, INFEASIBLE, Person, settings

# `python -m benchmarks.withheld` attacks as many more as one likes.
# In the last one nothing at all can be shown, and even reasons would tell.
SEEDS = (*range(10), 234)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_is_withheld_can_be_worked_out(seed: int, tmp_path: Path) -> None:
    known = read(publish(seed, (5, 11)[seed % 2], tmp_path))
    assert attack(known) == []


@pytest.mark.parametrize("seed", [1, 8, 10, 14])
def test_nor_can_costs_options_caveats_and_who_is_served(seed: int, tmp_path: Path) -> None:
    """Quartiles of the groups that are shown, and all costs of everybody, were enough for two."""
    known = read(publish(seed, 5, tmp_path))
    assert hidden_counts(known)
    assert {name.split()[0] for name, _ in known.details} >= {
        "cost", "grade", "served", "with", "simulatability", "relevance"
    }  # fmt: skip
    assert attack_details(known) == []


@pytest.mark.parametrize("seed", [3, 4, 10])
def test_nor_can_ties_to_a_group(seed: int, tmp_path: Path) -> None:
    known = read(publish(seed, 11, tmp_path))
    assert any(ties.withheld for ties in known.ties.values())
    assert attack_ties(known) == []


def test_where_all_figures_are_withheld_no_file_says_how_many_people_there_are(
    tmp_path: Path,
) -> None:
    """Of two groups of at most 10, each would have 10 if there were 20 people in all."""
    people = [
        Person(groups={"a": "xy"[number % 2]}, favourable=number % 4 > 1, status=status)
        for number in range(20)
        for status in [None if number % 4 > 1 else (FOUND, INFEASIBLE)[number % 3 % 2]]
    ]
    known = read(publish_people(people, settings("a", smallest=11, redraws=100), tmp_path))
    assert {cell.values for cell, _ in hidden_counts(known)} >= {(("a", "x"),), (("a", "y"),)}
    assert known.exact == {}
    assert attack(known) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r"([\d,]+) (people|person) decided on", r"9\1 \2 decided on"),
        (r"([\d,]+) refused \(", r"9\1 refused ("),
        (r"(</strong>) ([\d,]+ of [\d,]+</td>)", r"\1 9\2"),
        (r"([\d,]+) audited</td>", r"9\1 audited</td>"),
        (r"\), ([\d,]+ of )", r"), 9\1"),
        (r"(</strong> [\d,]+) audited</th>", r"\g<1>9 audited</th>"),
        (r'(<path d="M[\d. ]+H[\d.]+V)[\d.]+', r"\g<1>8"),
        (r"(<title>[^<]*: share with an option by effort: )[\d.]+%", r"\g<1>99.9%"),
        (r'(<caption>Whom.*?<circle cx=")', r"\g<1>1"),
        (r"(<caption>Impact ratios.*?<td class=.figures.>\s*)(\d)", r"\g<1>9\2"),
        (r"(<caption>Refused on own data.*?<td class=.figures.>\s*)(\d)", r"\g<1>9\2"),
        (r"(<caption>Served by one action, of.*?<td class=.figures.>\s*)(\d)", r"\g<1>9\2"),
        (r"(<caption>Served by one action, by.*?<td class=.figures.>\s*)(\d)", r"\g<1>9\2"),
        (r"(<caption>Common options.*?)(\d+)(\s*</td>\s*<td[^>]*>\s*[\d.]+%)", r"\g<1>9\2\3"),
    ],
)
def test_the_attacker_reads_every_figure_of_the_page(
    before: str, after: str, everything: Path, tmp_path: Path
) -> None:
    """A figure of the page that differs from the other files is noticed, so it is read."""
    shutil.copytree(everything, tmp_path, dirs_exist_ok=True)
    read(tmp_path)
    page = (tmp_path / "groups.html").read_text(encoding="utf-8")
    changed, count = re.subn(before, after, page, count=1, flags=re.DOTALL)
    assert count == 1
    (tmp_path / "groups.html").write_text(changed, encoding="utf-8")
    with pytest.raises((AssertionError, KeyError)):
        read(tmp_path)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of an audit in which nothing is withheld, with every kind of figure."""
    people = []
    for number in range(400):
        favourable = number % 3 > 0
        found = number % 5 > 1
        status = None if favourable else FOUND if found else INFEASIBLE
        one = Person(
            groups={"origin": "north" if number % 2 else "south"},
            favourable=favourable,
            favourable_alone=favourable != (number % 7 == 0),
            status=status,
            cost=1.0 + number % 2,
        )
        if status == FOUND:
            tie = (number, (number * 7 + 1) % 400)
            one.options = [[("drop", "payment", tie)]]
            one.droppable = [tie, (number, (number * 11 + 3) % 400)]
            one.common = {0: "serves" if number % 4 else "does_not_serve"}
        people.append(one)
    return publish_people(people, settings("origin"), tmp_path_factory.mktemp("everything"))


def published_by_hand(outcomes: dict[str, tuple[int, int] | None]) -> Published:
    """One attribute, by group the numbers with and without an option; everybody was audited.

    The decisions on all groups are shown, each group has 20 people, and 40 in all have an option.
    """
    known = Published(smallest=30)
    known.groups["a"] = list(outcomes)
    known.listed[("a",)] = [Cell((("a", name),)) for name in outcomes]
    for cell in (ALL, *known.listed[("a",)]):
        people = 20 * len(outcomes) if cell == ALL else 20
        for figure in ("people", "refused", "audited", "usable"):
            known.know(cell, figure, people)
        for figure in ("favourable", "undecided", "not_audited", "errors", "not_found"):
            known.know(cell, figure, 0)
    for cell, found in zip(known.listed[("a",)], outcomes.values(), strict=True):
        if found is not None:
            known.know(cell, "verified", found[0])
    known.know(ALL, "verified", 40)
    return known


def test_the_attack_uses_bounds_and_not_only_sums() -> None:
    """40 with an option in three groups of 20 of which one has none: the other two are all."""
    known = published_by_hand({"x": (0, 20), "y": None, "z": None})
    learnt = {(one.cell.values[0][1], one.figure, one.value) for one in attack(known)}
    assert learnt >= {("y", "verified", 20), ("z", "verified", 20), ("y", "without", 0)}
    known = published_by_hand({"x": (1, 19), "y": None, "z": None})
    assert attack(known) == []


def test_the_attack_uses_quartiles() -> None:
    """5 have an option of cost 1, and a quartile says that so many are in the group shown."""
    known = published_by_hand({"x": (20, 0), "y": None, "z": None})
    x, y, _ = known.listed[("a",)]
    known.detail("cost 1", "verified", ALL, 5, 5)
    known.detail("cost 1", "verified", x, 4, 9)
    assert attack_details(known) == []
    known.detail("cost 1", "verified", x, 5, 9)
    assert ("cost 1", 0) in {
        (one.figure, one.value) for one in attack_details(known) if one.cell == y
    }


def test_the_attack_on_ties_uses_bounds() -> None:
    ties = Ties(["x", "y", "z"], withheld={"y", "z"})
    ties.totals = {"droppable": 30, "dropped all": 20, "dropped first": 15}
    ties.counts = {("x", "droppable"): 15, ("x", "dropped all"): 5, ("x", "dropped first"): 5}
    known = Published(ties={"a": ties})
    assert {(one.figure, one.value) for one in attack_ties(known)} == {("kept", 0)}
    ties.counts["x", "dropped all"] = 8
    assert attack_ties(known) == []
