"""No letter can contain anything about another person, and no letter of a real audit does."""

import ast
import csv
import dataclasses
import datetime
import re
import shutil
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import Selection, load_audit, select_subjects
from recourse_audit.audit.report import reports_on
from recourse_audit.records.codec import plain_data
from recourse_audit.records.recourse import RecourseStatus, SetAction
from recourse_audit.records.subject import SubjectReport
from recourse_audit.records.texts import csv_lines
from recourse_audit.render import letter_facts as facts
from recourse_audit.render import letter_inputs as inputs
from recourse_audit.render.letter_facts import Letter
from recourse_audit.render.letter_reasons import COLUMNS
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.pdf import Printer
from recourse_audit.render.templates import Templates
from recourse_audit.settings import Settings
from tests.render.letters import LANGUAGES, OWN, drop, option, report, settings
from tests.render.reading import read_pdf

SAMPLE = Path(__file__).parents[2] / "sample_models" / "lending"
PEOPLE = 12
# Texts have a type of their own, and each type one module that makes it.
TEXTS = {
    facts.Reference,
    facts.Kind,
    facts.Attribute,
    facts.Unit,
    facts.OwnCategory,
    facts.SharedEnd,
    facts.NodeKind,
    facts.Column,
    facts.DecisionClass,
    inputs.Reason,
    inputs.AddressLine,
    inputs.Signer,
}
PLAIN = {int, float, bool, datetime.date, type(None)}


def leaves(kind: Any, inside: tuple[Any, ...] = ()) -> set[Any]:
    """All types that a record is made of in the end."""
    if kind in inside:
        return set()
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        parts = [hints[field.name] for field in dataclasses.fields(kind)]
        return set().union(*(leaves(part, (*inside, kind)) for part in parts))
    if typing.get_origin(kind) is Literal:
        return set()
    inner = [one for one in typing.get_args(kind) if one is not ...]
    return set().union(*(leaves(one, inside) for one in inner)) if inner else {kind}


def test_a_letter_is_made_of_numbers_dates_and_texts_with_a_type_of_their_own() -> None:
    assert leaves(Letter) <= TEXTS | PLAIN
    assert str not in leaves(Letter)


def test_the_walk_over_types_finds_a_bare_text() -> None:
    @dataclasses.dataclass
    class Loose:
        names: tuple[tuple[str, int], ...]

    assert str in leaves(Loose)


def made_in(path: Path) -> set[str]:
    """Which of the types of text a module makes."""
    names = {kind.__name__ for kind in TEXTS}
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {
        node.func.id
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    }


def test_each_text_is_made_in_one_place() -> None:
    folder = Path(facts.__file__).parent
    made = {path.name: made_in(path) for path in folder.rglob("*.py")}
    assert {name: kinds for name, kinds in made.items() if kinds} == {
        "letter_inputs.py": {"AddressLine", "Signer"},
        "letter_facts.py": {
            *("Kind", "Attribute", "Unit", "OwnCategory", "DecisionClass", "SharedEnd"),
            *("NodeKind", "Column"),
        },
        "letters.py": {"Reference", "Reason"},
    }


def test_of_a_report_only_the_own_reference_passes_the_boundary() -> None:
    found = report(option(drop("P1000")), ties={"guarantor": 5})
    by = LetterWriter(settings(), Templates())
    written = repr(by.letter(dataclasses.replace(found, error="P1000")))
    assert OWN in written
    assert not re.search(r"P1\d\d\d", written)
    assert "0.918" not in written


@dataclasses.dataclass(frozen=True)
class MarkedAudit:
    """Reports of an audit in which every id, group and value of a person is a marker of its own.

    `markers` are those of each person, by id: the id, the groups, and the values as letters write
    them, without separators.
    """

    settings: Settings
    reports: list[SubjectReport]
    markers: dict[str, set[str]]
    groups: dict[str, set[str]]


FEATURES = ("income", "savings", "loan_amount", "debt_ratio", "late_payments", "open_accounts")
PROTECTED = ("origin", "gender", "age_band")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> MarkedAudit:
    """A real audit of some people of the sample, with letters that may name every kind."""
    folder = tmp_path_factory.mktemp("letters")
    shutil.copy(SAMPLE / "gcn.onnx", folder)
    with (SAMPLE / "nodes.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = {row["id"]: f"id{place:04}q" for place, row in enumerate(rows)}
    markers: dict[str, set[str]] = {}
    groups: dict[str, set[str]] = {}
    for place, row in enumerate(rows):
        own = row["id"] = names[row["id"]]
        for name in PROTECTED:
            row[name] = f"{row[name]}{place:04}group"
        for name in FEATURES[:3]:  # amounts: cents that nobody else has
            row[name] = f"{float(row[name]):.0f}.{place % 90 + 10}"
        for name in FEATURES[3:]:
            row[name] = f"{float(row[name]):.2f}{place:04}"
        groups[own] = {row[name] for name in PROTECTED}
        markers[own] = {own, *(re.sub(r"\D", "", row[name]) for name in FEATURES)}
    with (folder / "nodes.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    edges = (SAMPLE / "edges.csv").read_text(encoding="utf-8")
    renamed = re.sub(r"\bP\d{4}\b", lambda found: names[found[0]], edges)
    (folder / "edges.csv").write_text(renamed, encoding="utf-8")
    text = (SAMPLE / "audit.toml").read_text(encoding="utf-8")
    free = 'not_protected = ["savings", "loan_amount"]'  # every value gives a group of one away
    text = text.replace("[recourse]\n", f"[recourse]\nbudget = 4000\ndraws = 4\n{free}\n")
    kinds = '"guarantor", "co-borrower", "payment", "employer"'
    text = text.replace('"guarantor", "co-borrower", "payment"', kinds)
    (folder / "audit.toml").write_text(text, encoding="utf-8")
    audit = load_audit(folder / "audit.toml")
    answers = whole_answers(audit, np.arange(audit.graph.node_count))
    subjects = select_subjects(audit, answers, Selection(sample=PEOPLE))
    reports = [found for _, found in reports_on(audit, subjects.tolist())]
    return MarkedAudit(audit.settings, reports, markers, groups)


def numbers_in(value: Any) -> set[str]:
    """All shares and margins of a report, as they are written."""
    if isinstance(value, dict):
        return set().union(*map(numbers_in, value.values())) if value else set()
    if isinstance(value, list):
        return set().union(*map(numbers_in, value)) if value else set()
    return {str(abs(value))} if isinstance(value, float) and 0 < abs(value) < 1 else set()


def confirm_everything(audit: MarkedAudit, path: Path, by: LetterWriter) -> None:
    """A file with every candidate confirmed that a letter may name, in the words proposed."""
    tables = [
        dict(zip(COLUMNS, row, strict=True)) | {"note": "x"}
        for found in audit.reports
        for row in by.reasons.table_rows(found, ())
    ]
    hidden = by._words.say("concern.hidden")
    for table in tables:
        table["confirm"] = "" if hidden in str(table["concerns"]) else "yes"
    lines = csv_lines([COLUMNS, *(table.values() for table in tables)])
    path.write_text("".join(lines), encoding="utf-8")


def letters_about(found: SubjectReport, by: LetterWriter) -> Iterator[Letter]:
    """What the letter says, and would say if the search had ended otherwise."""
    assert found.recourse is not None
    statuses: tuple[RecourseStatus, ...] = ("certified_infeasible", "not_found_within_budget")
    others = [dataclasses.replace(found.recourse, status=status, options=()) for status in statuses]
    failed = dataclasses.replace(found.recourse, status="error", error="at some neighbour")
    for recourse in (found.recourse, *others, failed):
        letter = by.letter(dataclasses.replace(found, recourse=recourse))
        assert isinstance(letter, Letter)
        yield letter


@pytest.mark.parametrize("language", LANGUAGES)
def test_letters_of_a_real_audit_contain_nobody_else(
    language: str, audited: MarkedAudit, tmp_path: Path
) -> None:
    pages, path = Templates(), tmp_path / "reasons.csv"
    letters = audited.settings.letters.model_copy(update={"language": language})
    given = audited.settings.model_copy(update={"letters": letters})
    confirm_everything(audited, path, LetterWriter(given, pages))
    closed = given.letters.model_copy(update={"known_kinds": (), "k": 99})
    withheld = given.model_copy(update={"letters": closed})
    outcomes: set[str] = set()
    stated = 0
    everybody = set().union(*audited.markers.values())
    paper = Printer(pages)
    for place, found in enumerate(audited.reports):
        own = audited.markers[found.subject.id]
        # Amounts that the policy lets the person reach are their own.
        own |= {
            re.sub(r"\D", "", f"{action.after:.2f}")
            for option in (found.recourse.options if found.recourse else ())
            for action in option.actions
            if isinstance(action, SetAction) and isinstance(action.after, float)
        }
        for settings_ in (given, withheld):
            by = LetterWriter(settings_, pages, reasons=path)
            for letter in letters_about(found, by):
                outcomes.add(letter.outcome)
                stated += len(letter.reasons)
                html = by.html(letter)
                texts = [html.split("</style>")[1]]
                texts += [read_pdf(paper.pdf(html)).text] if place == 0 else []
                for text in texts:
                    words = set(re.findall(r"[\w.-]+", text))
                    amounts = re.findall(r"\d[\d.,\s\u202f\xa0]*\d", text)
                    digits = {re.sub(r"\D", "", amount) for amount in amounts}
                    assert (words | digits) & everybody <= own
                    assert not words & set().union(*audited.groups.values())
                    assert not re.search(r"\d{4}group|0[.,]5\b", text)
                    assert not words & numbers_in(plain_data(found))
                    assert "family" not in text.casefold()
    assert outcomes == {"options", "none_exists", "none_found", "not_worked_out", "staff"}
    assert stated > PEOPLE
