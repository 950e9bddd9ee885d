"""No letter can contain anything about another person, and no letter of a real audit does."""

import ast
import csv
import dataclasses
import datetime
import re
import shutil
import typing
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import Selection, load_audit, select_subjects
from recourse_audit.audit.report import reports_on
from recourse_audit.records.codec import plain_data
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render import letter_facts as facts
from recourse_audit.render import letter_inputs as inputs
from recourse_audit.render.letter_facts import Letter
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.pdf import Printer
from recourse_audit.render.templates import Templates
from recourse_audit.settings import Settings
from tests.render.letters import OWN, drop, option, report, settings
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
        "letter_reasons.py": {"Reason"},
        "letters.py": {"Reference"},
    }


def test_of_a_report_only_the_own_reference_passes_the_boundary() -> None:
    found = report(option(drop("P1000")), ties={"guarantor": 5})
    by = LetterWriter(settings(), Templates())
    written = repr(by.letter(dataclasses.replace(found, error="P1000")))
    assert OWN in written
    assert not re.search(r"P1\d\d\d", written)
    assert "0.918" not in written


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, list[SubjectReport]]:
    """A real audit of some people of the sample, with letters that may name every kind."""
    folder = tmp_path_factory.mktemp("letters")
    for name in ("gcn.onnx", "nodes.csv", "edges.csv"):
        shutil.copy(SAMPLE / name, folder)
    text = (SAMPLE / "audit.toml").read_text(encoding="utf-8").split("[letters]")[0]
    text = text.replace("[recourse]\n", "[recourse]\nbudget = 4000\ndraws = 4\n")
    text += '\n[letters]\nknown_kinds = ["guarantor", "co-borrower", "payment", "employer"]\n'
    (folder / "audit.toml").write_text(text, encoding="utf-8")
    audit = load_audit(folder / "audit.toml")
    answers = whole_answers(audit, np.arange(audit.graph.node_count))
    subjects = select_subjects(audit, answers, Selection(sample=PEOPLE))
    return audit.settings, [found for _, found in reports_on(audit, subjects.tolist())]


def numbers_in(value: Any) -> set[str]:
    """All shares and margins of a report, as they are written."""
    if isinstance(value, dict):
        return set().union(*map(numbers_in, value.values())) if value else set()
    if isinstance(value, list):
        return set().union(*map(numbers_in, value)) if value else set()
    return {str(abs(value))} if isinstance(value, float) and 0 < abs(value) < 1 else set()


def test_letters_of_a_real_audit_contain_nobody_else(
    audited: tuple[Settings, list[SubjectReport]],
) -> None:
    given, reports = audited
    with (SAMPLE / "nodes.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    protected = {row[name] for row in rows for name in given.groups.attributes}
    ids = {row["id"] for row in rows}
    pages = Templates()
    writer, paper = LetterWriter(given, pages), Printer(pages)
    assert len(reports) == PEOPLE
    outcomes: set[str] = set()
    for found in reports:
        letter = writer.letter(found)
        assert isinstance(letter, Letter)
        html = writer.html(letter)
        outcomes.add(letter.outcome)
        for text in (html.split("</style>")[1], read_pdf(paper.pdf(html)).text):
            words = set(re.findall(r"[\w.-]+", text))
            assert words & ids <= {found.subject.id}
            assert not words & numbers_in(plain_data(found))
            assert not words & (protected | {row["outcome"] for row in rows})
            assert "family" not in words
    assert outcomes >= {"options", "none_exists"}
