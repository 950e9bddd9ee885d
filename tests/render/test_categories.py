"""Categories in words: on the terminal, in letters of every language, in the store."""
# ruff: noqa: RUF001  # names without a word are quoted as the language does

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recourse_audit.groups.changes import options_by_subject
from recourse_audit.records.codec import SUBJECT
from recourse_audit.records.recourse import Certificate, LeftOut, Move, SetAction
from recourse_audit.render.i18n import Words
from recourse_audit.render.letters import LetterWriter, find_unworded
from recourse_audit.render.templates import Templates
from recourse_audit.render.terminal import what_if_lines
from recourse_audit.settings import parse_settings
from tests.command import command
from tests.recourse.random_worlds import toml
from tests.recourse.raw_worlds import CONDITIONS, RawWorld, raw_world
from tests.render.letters import LETTERS, TABLES, option, report, written
from tests.render.subject_pages import read
from tests.render.subject_reports import made_report, with_recourse

SPACE = "\N{NO-BREAK SPACE}"
HOUSING = {"name": "housing", "moves": [["rent", "own_flat"]]}
TO_OWN = SetAction(
    attribute="housing",
    before="rent",
    after="own_flat",
    cost=3.0,
    implied=(Move(attribute="street", before="1", after="2"),),
)


def letter(language: str, **words: Any) -> str:
    rule = {**HOUSING, "implies": [{"name": "street", "to": "2"}]}
    given = TABLES | {
        "recourse": {"attributes": [rule]},
        "letters": LETTERS | {"language": language},
        "words": {language: words},
    }
    by = LetterWriter(parse_settings(given, folder=Path(), origin="audit.toml"), Templates())
    found = report(option(TO_OWN), permitted={"housing": 1})
    return by.html(written(found, by)).split("</style>")[1].replace(SPACE, " ")


@pytest.mark.parametrize(
    ("language", "change", "along"),
    [
        ("en", "Change your housing from 'rent' to 'own_flat'.", "street from '1' to '2'"),
        ("de", "Housing ändern: „own_flat“ statt „rent“.", "street: „2“ statt „1“"),
        ("fr", "Housing : passer de « rent » à « own_flat ».", "street de « 1 » à « 2 »"),
        ("es", "Housing: cambiar de «rent» a «own_flat».", "street de «1» a «2»"),
    ],
)
def test_a_letter_names_the_category_before_and_after(
    language: str, change: str, along: str
) -> None:
    quote = "\N{RIGHT SINGLE QUOTATION MARK}"
    text = letter(language).replace("\N{LEFT SINGLE QUOTATION MARK}", "'").replace(quote, "'")
    assert change in text
    assert along in text


def test_a_letter_uses_the_users_words_for_categories() -> None:
    words = {"housing": "Wohnung", "rent": "Miete", "own_flat": "Eigentum"}
    assert "Wohnung ändern: Eigentum statt Miete" in letter("de", **words)
    levels = {"housing": {"own_flat": "Eine eigene Wohnung beziehen"}}
    assert "Eine eigene Wohnung beziehen" in letter("de", levels=levels)


def test_categories_without_a_word_are_listed() -> None:
    given = TABLES | {"recourse": {"attributes": [HOUSING]}, "letters": LETTERS}
    settings = parse_settings(given, folder=Path(), origin="audit.toml")
    assert {"housing", "rent", "own_flat"} <= set(
        find_unworded(settings, Words(), names_class=True)
    )


def test_the_terminal_names_categories() -> None:
    said = "housing ‘rent’ → ‘own_flat’, street ‘1’ → ‘2’"
    assert what_if_lines("change", TO_OWN, Words()) == [said]


def test_a_category_that_looks_like_a_number_stays_text() -> None:
    made = report(option(TO_OWN), permitted={"housing": 1})
    again = SUBJECT.read(SUBJECT.write(made))
    assert again == made
    assert again.recourse is not None
    [action] = again.recourse.options[0].actions
    assert isinstance(action, SetAction)
    assert action.implied[0].after == "2"


def test_a_kind_of_change_is_a_category_with_its_value() -> None:
    store = sqlite3.connect(":memory:")
    store.execute("CREATE TABLE actions (subject, option, do, kind, attribute, before, after)")
    rows: Sequence[tuple[Any, ...]] = [
        (1, 0, "set", None, "housing", "rent", "own"),
        (1, 0, "drop", "loan", None, None, None),
        (2, 0, "set", None, "savings", 1.0, 2.0),
        (3, 0, "set", None, "housing", "own", "1"),
    ]
    store.executemany("INSERT INTO actions VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    assert options_by_subject(store) == {
        1: frozenset({frozenset({("set", "housing = own"), ("drop", "loan")})}),
        2: frozenset({frozenset({("set", "savings")})}),
        3: frozenset({frozenset({("set", "housing = 1")})}),
    }


@pytest.mark.parametrize(
    ("left_out", "tried", "words"),
    [
        (LeftOut(), 10, "all 10 combinations of up to 2 permitted changes were tried."),
        (
            LeftOut(implications=1, conditions=3, by_condition={"income <= 3": 3}),
            6,
            "combinations of up to 2 permitted changes 6 were tried, the other 4 are ruled out",
        ),
        (LeftOut(implications=1), 9, "1 combination was left out because something that moves"),
        (LeftOut(conditions=4, by_condition={"x <= 3": 4}), 6, "x <= 3 would not hold after 4 c"),
        (LeftOut(conditions=None, formulas=None), 6, "conditions; there are too many to count."),
        (LeftOut(formulas=2), 8, "left out because a derived column would have no value."),
    ],
)
def test_a_certificate_says_what_was_left_out(left_out: LeftOut, tried: int, words: str) -> None:
    certificate = Certificate(
        max_changes=2,
        tried=tried,
        possible=10,
        exhaustive=True,
        complete_up_to=2,
        left_out=left_out,
    )
    report = with_recourse(
        made_report(), status="certified_infeasible", certificate=certificate, options=()
    )
    assert words in read(report).section("What could change the decision")


RULES = (
    {"name": "job", "values": ["clerk", "boss"], "cost": 0.2},
    {"name": "income", "step": 1.0, "direction": "up", "cost": 0.01, "cost_in": "percentile"},
)


def audit_in(folder: Path) -> Path:
    """A whole audit whose options are categories, as files."""
    world: RawWorld = raw_world(8)
    tables = RawWorld(
        people=world.people,
        ties=world.ties,
        rules=RULES,
        conditions=CONDITIONS[:1],
        max_changes=2,
        seed=8,
    ).write(folder, ties=[{"kind": "loan", "allow": []}], draws=2)
    tables["groups"] = {"attributes": ["region"], "crossed": False, "redraws": 100}
    path = folder / "audit.toml"
    path.write_text(toml(tables), encoding="utf-8")
    return path


def test_a_whole_audit_speaks_of_categories(tmp_path: Path) -> None:
    settings = audit_in(tmp_path)
    people = [f"P{number}" for number in range(9)]
    documents = command("explain", settings, *people, "--what-if", "job=boss", "--json").document
    options = [one for d in documents for one in d["recourse"]["options"]]
    actions = [action for one in options for action in one["actions"]]
    moved = [action for action in actions if action["attribute"] == "job"]
    assert moved
    assert all(action["to"] in ("clerk", "boss") for action in moved)
    assert all(document["what_if"]["actions"][0]["to"] == "boss" for document in documents)
    words = ("run", "--no-pages", settings, "--out", tmp_path / "bundle", "--subjects", "all")
    ran = command(*words, "--workers", "2")
    assert ran.code == 0
    lines = (tmp_path / "bundle" / "data" / "subjects.jsonl").read_text(encoding="utf-8")
    stored = [json.loads(line) for line in lines.splitlines()]
    found = {one["subject"]["id"]: one["recourse"] for one in stored}
    assert found == {d["subject"]["id"]: d["recourse"] for d in documents}, "workers agree"
    with sqlite3.connect(tmp_path / "bundle" / "store.sqlite") as store:
        values = {row[0] for row in store.execute("SELECT value FROM members")}
        after = {row[0] for row in store.execute("SELECT after FROM actions")}
    store.close()
    assert values <= {"near", "middle", "far"}
    assert {"clerk", "boss"} & after


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"clerk", "boss"], cost', '"clerk", "chief"], cost', "'chief' is not a value of 'job'"),
        ("income - 2 * debt", "income - 2 * debts", "the nodes have no column 'debts'"),
        (
            "income - 2 * debt",
            "max(income, debt)",
            "formula: cannot be read; a formula has columns",
        ),
        ("income - 2 * debt", "income.real", "columns have no attributes"),
        ("income - 2 * debt", "gap + 1", "is computed from itself"),
        ("income - 2 * debt", "income * team", "'team' is text, but numbers are needed"),
        ("income <= 3", "income <= 'x'", "compared with something else"),
    ],
)
def test_bad_input_is_an_error_with_its_key_and_nothing_is_written(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    settings = audit_in(tmp_path)
    text = settings.read_text(encoding="utf-8")
    assert old in text
    settings.write_text(text.replace(old, new), encoding="utf-8")
    found = command("run", settings, "--out", tmp_path / "bundle")
    assert found.code == 2
    assert words in " ".join(found.err.split())
    assert not (tmp_path / "bundle").exists()


def test_an_unknown_category_in_the_data_is_an_error_with_its_line(tmp_path: Path) -> None:
    settings = audit_in(tmp_path)
    nodes = tmp_path / "nodes.csv"
    header, first, *rest = nodes.read_text(encoding="utf-8").splitlines()
    cells = first.split(",")
    cells[header.split(",").index("school_code")] = "9.0"
    nodes.write_text("\n".join([header, ",".join(cells), *rest]) + "\n", encoding="utf-8")
    found = command("run", settings, "--out", tmp_path / "bundle")
    assert found.code == 2
    assert "nodes.csv, line 2: column 'school_code' is 9, which is no code of 'school'" in " ".join(
        found.err.split()
    )
    assert not (tmp_path / "bundle").exists()
