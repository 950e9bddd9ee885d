"""No text in a CSV file of ours is a formula, and every id in one still finds its person."""

import csv
import io
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recourse_audit.records.texts import FULL_WIDTH, csv_lines, guard, unguard
from recourse_audit.render.groups_csv import groups_csv
from recourse_audit.render.letter_inputs import read_addresses
from recourse_audit.render.letter_reasons import read_reasons
from tests import audits
from tests.audits import small_audit
from tests.command import command
from tests.groups.stores import drawn_people, report_on, settings

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", *FULL_WIDTH)
IDS = ["=1+1", "'=1+1", "-x", "+x", "@SUM(1)", "\tx", "\rx", "-5", "'quoted'", "plain"]


@pytest.mark.parametrize("first", FORMULAS)
def test_a_text_that_begins_like_a_formula_gets_an_apostrophe(first: str) -> None:
    assert guard(f"{first}x") == f"'{first}x"


@pytest.mark.parametrize("text", ["", "P0001", "a=b", "'quoted'", "-5", "+4.5", "-1e-05", "20-34"])
def test_other_texts_and_numbers_stay(text: str) -> None:
    assert guard(text) == text


@given(st.text() | st.text(alphabet="'=+-@\t\r\n1x"))
@example("'=x")
@example("''-1")
@example("-1")
def test_what_was_written_is_read_again(text: str) -> None:
    assert unguard(guard(text)) == text
    assert not guard(text).startswith(("=", "@", "\t", "\r", "\n"))


@given(st.lists(st.text(alphabet="'=-\t\r\n\v\x85,\";x", min_size=1), min_size=1))
def test_rows_are_as_many_as_were_written_whatever_is_in_them(texts: list[str]) -> None:
    file = io.StringIO("".join(csv_lines([texts, [1, -2.5, True, None]])), newline="")
    first, second = csv.reader(file)
    assert [unguard(cell) for cell in first] == texts
    assert second == ["1", "-2.5", "true", ""]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real audit of everybody, whose ids, classes and groups are made to be run."""
    folder = tmp_path_factory.mktemp("audit")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audits, "IDS", IDS)
        path = small_audit(folder)
    nodes = (folder / "nodes.csv").read_bytes().replace(b",f\r\n", b",=f\r\n")
    (folder / "nodes.csv").write_bytes(nodes)
    text = path.read_text(encoding="utf-8").replace('= ["yes"]', '= ["no"]')
    path.write_text(text.replace('"yes"', '"=yes"'), encoding="utf-8")
    done = command("run", path, "--out", folder / "out", "--subjects", "all", "--no-pages")
    assert done.code in {0, 4}, done.err
    return folder / "out"


def rows_of(bundle: Path) -> list[dict[str, str]]:
    with (bundle / "data" / "subjects.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_of_subjects_is_guarded_and_parquet_is_raw(bundle: Path) -> None:
    rows, raw = rows_of(bundle), pq.read_table(bundle / "data" / "subjects.parquet").to_pylist()
    assert [row["id"] for row in raw] == IDS
    assert [row["id"] for row in rows] == [
        "'=1+1",
        "''=1+1",
        "'-x",
        "'+x",
        "'@SUM(1)",
        "'\tx",
        "'\rx",
        "-5",
        "'quoted'",
        "plain",
    ]
    assert {row["group_gender"] for row in rows} == {"'=f", "m"}
    assert {row["group_gender"] for row in raw} == {"=f", "m"}
    assert {row["decision"] for row in rows} == {"'=yes"}
    # A figure below zero is a number, and stays one.
    assert any(float(row["margin"]) < 0 and row["margin"].startswith("-") for row in rows)


def test_a_table_of_subjects_names_the_same_subjects_again(bundle: Path) -> None:
    wanted = bundle.parent / "some.csv"
    lines = (bundle / "data" / "subjects.csv").read_bytes().split(b"\n")
    wanted.write_bytes(b"\n".join(lines[:8]) + b"\n")
    out = bundle.parent / "again"
    done = command(
        "run", bundle.parent / "audit.toml", "--out", out, "--subjects", wanted, "--no-pages"
    )
    assert done.code in {0, 4}, done.err
    found = pq.read_table(out / "data" / "subjects.parquet").to_pylist()
    assert [row["id"] for row in found] == IDS[:7]


def test_addresses_and_reasons_beside_ids_of_the_table_find_their_person(bundle: Path) -> None:
    path = bundle.parent / "people.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "line1"])
        writer.writerows([row["id"], f"about {place}"] for place, row in enumerate(rows_of(bundle)))
    expected = {name: (f"about {place}",) for place, name in enumerate(IDS)}
    assert {name: found.lines for name, found in read_addresses(path).items()} == expected
    path.write_bytes(path.read_bytes().replace(b"id,line1", b"id,reason,confirm"))
    found = read_reasons(path)
    assert {
        name: tuple(row.reason.text for row in rows) for name, rows in found.items()
    } == expected


def test_ids_that_somebody_wrote_raw_are_found_as_well(tmp_path: Path) -> None:
    path = tmp_path / "addresses.csv"
    path.write_text("id,line1\n=1+1,here\n-x,there\n", encoding="utf-8")
    found = {name: address.lines for name, address in read_addresses(path).items()}
    assert found == {"=1+1": ("here",), "-x": ("there",)}


def test_the_table_of_groups_is_guarded_and_its_figures_are_not() -> None:
    people = drawn_people(1, gap=0.35)
    for one in people:
        one.groups = {"origin": {"south": "=south", "north": "-1"}[one.groups["origin"]]}
    report = report_on(people, settings("origin", reference={"origin": "-1"}))
    rows = list(csv.DictReader(groups_csv(report).splitlines()))
    assert {row["group"] for row in rows} - {""} == {"everybody", "'=south", "-1"}
    [gap] = [row for row in rows if row["group"] == "'=south" and row["measure"] == "feasibility"]
    assert gap["reference"] == "-1"
    assert float(gap["difference"]) < 0
