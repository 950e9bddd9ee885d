"""Reasons that name somebody else by id or given name are refused; a person may allow one.

What counts as a name is tried on reasons for P0, whose neighbours have the ids of each case.
"""

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from recourse_audit.bundle.reader import open_stored_audit
from recourse_audit.bundle.verification import verify_bundle
from recourse_audit.errors import InputError
from recourse_audit.records.bundle import StatedReason
from recourse_audit.records.recourse import DroppableTie
from recourse_audit.records.subject import EgoNode, EgoTie, SubjectReport
from recourse_audit.records.texts import words_of
from recourse_audit.render.letter_reasons import Mentions, others_in
from recourse_audit.render.write_letters import LetterOptions, write_letters
from tests.render.letters import drop, option, report, with_subject, writer, written

OWN = "P0"


def near(*names: str, own: str = OWN) -> SubjectReport:
    """A report on somebody with these neighbours."""
    found = with_subject(report(), id=own)
    assert found.ego_network is not None
    people = [
        EgoNode(id=name, hops=hops, decision="denied", favourable=False)
        for name, hops in [(own, 0), *((name, 1) for name in names)]
    ]
    ties = [EgoTie(ends=(own, name), kind="guarantor") for name in names]
    count = len(people)
    network = replace(
        found.ego_network, nodes=tuple(people), ties=tuple(ties), shown=count, total=count
    )
    return replace(found, ego_network=network)


def csv_of(folder: Path, text: str, name: str = "reasons.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


NAMED = [
    ("Shares a loan with P1.", "P1"),
    ("Tie P0-P1 is overdue", "P1"),
    ("Stands surety for p1", "P1"),
    ("Stands surety for (P1)", "P1"),
    ("Debts together with ANNA  SMITH", "Anna Smith"),
    ("Guarantee K-17 was called", "K/17"),
    ("Lives with José", "jose"),
    ("Guarantees for customer 17", "17"),
    ("mail to anna.smith@bank.example", "anna.smith@bank.example"),
]
NOT_NAMED = [
    ("Two late payments in 2025", "25"),
    ("Your own reference P0 is new", "P01"),
    ("Reference P12", "P1"),
    ("Up 2 months", "P2"),
    ("Debts of Ms Smith", "Anna Smith"),
    ("The market is small", "Mark"),
    ("Income is low", "P1"),
]


@pytest.mark.parametrize(("reason", "neighbour"), NAMED)
def test_a_reason_that_names_a_neighbour_is_refused(
    reason: str, neighbour: str, tmp_path: Path
) -> None:
    by = writer(reasons=csv_of(tmp_path, f'id,confirm,note,reason\n{OWN},yes,x,"{reason}"\n'))
    with pytest.raises(InputError, match="a reason given for P0 names another person"):
        by.letter(near("Q-1", neighbour))


@pytest.mark.parametrize(("reason", "neighbour"), NOT_NAMED)
def test_other_words_and_numbers_are_no_names(reason: str, neighbour: str, tmp_path: Path) -> None:
    by = writer(reasons=csv_of(tmp_path, f'id,confirm,note,reason\n{OWN},yes,x,"{reason}"\n'))
    letter = written(near(neighbour), by)
    assert letter.reasons == (reason,)
    page = by.html(letter).split("</style>")[1]
    assert "Q-1" not in page


def test_names_that_the_reader_shares_do_not_give_anybody_away(tmp_path: Path) -> None:
    names = csv_of(tmp_path, "id,first,last\nP0,Anna,Smith\nP1,Bob,SMITH\n", "names.csv")
    looking = Mentions({}, names, (), tuple)

    def found(reason: str, report: SubjectReport) -> set[str]:
        return {text for _, text in looking.find(report, [StatedReason(text=reason)])}

    assert found("Ms Smith, your income is low", near("P1")) == set()
    assert found("Bob Smith has debts", near("P1")) == {"Bob"}
    other = near("customer-17", own="customer-3")
    assert found("customer 17 has debts", other) == {"customer-17"}


def test_names_come_from_a_file_of_everybodys_names(tmp_path: Path) -> None:
    reasons = csv_of(
        tmp_path, f"id,confirm,note,reason\n{OWN},yes,x,Shares a loan with Émile Zola\n"
    )
    people = "id,first,last,note\nP0,Anna,Smith,x\nP1,Emile,ZOLA,shares\n"
    names = csv_of(tmp_path, people, "people.csv")
    assert written(near("P1"), writer(reasons=reasons)).reasons
    by = writer(reasons=reasons, names=names, name_columns=["first", "last"])
    with pytest.raises(InputError, match="names another person, P1: it contains 'Emile'"):
        by.letter(near("P1"))
    with pytest.raises(InputError, match=r"has no column 'lsat', and needs id, lsat .* did you"):
        writer(reasons=reasons, names=names, name_columns=["lsat"])
    # Of people whom the report does not show, names are not looked for.
    assert written(near("P2"), by).reasons


@pytest.mark.parametrize("allow", ["P1", "p1; Plan", "Plan;P1;"])
def test_a_person_may_allow_a_false_alarm(allow: str, tmp_path: Path) -> None:
    text = f"id,confirm,note,reason,allow\nP0,yes,x,Plan P1 was refused,{allow}\n"
    by = writer(reasons=csv_of(tmp_path, text))
    assert written(near("P1"), by).reasons == ("Plan P1 was refused",)


@pytest.mark.parametrize("allow", ["P", "1", "P11", "Plan", "P1 was refused"])
def test_only_the_very_word_is_allowed(allow: str, tmp_path: Path) -> None:
    text = f"id,confirm,note,reason,allow\nP0,yes,x,Plan P1 was refused,{allow}\nP9,yes,x,Late,P1\n"
    with pytest.raises(InputError, match="put 'P1' into the column allow"):
        writer(reasons=csv_of(tmp_path, text)).letter(near("P1"))


def test_one_name_that_is_allowed_does_not_hide_another(tmp_path: Path) -> None:
    text = "id,confirm,note,reason,allow\nP0,yes,x,Anna and Smith are plans,anna\n"
    by = writer(reasons=csv_of(tmp_path, text))
    with pytest.raises(InputError, match="it contains 'Smith'"):
        by.letter(near("Anna", "Smith"))


def test_everybody_in_the_report_counts() -> None:
    found = report(option(drop("P7000")), ties={"guarantor": 2}, removed=(("P6000",),))
    assert found.recourse is not None
    tie = DroppableTie(tie=("P0007", "P8000"), kind="payment")
    found = replace(found, recourse=replace(found.recourse, droppable=(tie,)))
    assert others_in(found) == ("P0999", "P1000", "P1001", "P6000", "P7000", "P8000")


def test_where_a_report_does_not_show_all_neighbours_all_ids_are_looked_up(tmp_path: Path) -> None:
    reasons = csv_of(tmp_path, f"id,confirm,note,reason\n{OWN},yes,x,Tied to q-77\n")
    by = writer(reasons=reasons, everybody=("P0", "P1", "Q/77", "tied", "77"))
    assert written(near("P1"), by).reasons
    hub = near("P1")
    assert hub.ego_network is not None
    hub = replace(hub, ego_network=replace(hub.ego_network, total=99))
    with pytest.raises(InputError, match="names another person, Q/77"):
        by.letter(hub)
    plain = Mentions({}, None, (), lambda: ["tied", "77", "P0"])
    assert plain.find(hub, [StatedReason(text="Tied to P0 and 77")]) == ()


def test_a_finished_letter_names_nobody_and_what_was_allowed_is_sealed(
    audited: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(audited / "bundle", folder)
    with open_stored_audit(folder) as stored:
        number, own = next(iter(stored.names().items()))
        neighbours = others_in(stored.report(number))
    other = neighbours[0]
    reasons = csv_of(
        tmp_path, f"id,confirm,note,reason\n{own},yes,x,A loan shared with {other.lower()}.\n"
    )
    with pytest.raises(InputError, match=f"names another person, {other}"):
        write_letters(folder, LetterOptions(reasons=reasons))
    assert not (folder / "letters").exists()
    csv_of(tmp_path, f"id,confirm,note,reason\n{own},yes,x,Income is low\n")
    made = write_letters(folder, LetterOptions(reasons=reasons))
    assert made.ids_only
    for path in (folder / "letters").glob(f"*{own}.html"):
        words = set(words_of(path.read_text(encoding="utf-8").split("</style>")[1]))
        assert "income" in words
        assert not words & {word for name in neighbours for word in words_of(name)}
    csv_of(tmp_path, f"id,confirm,note,reason,allow\n{own},yes,x,Form {other} is missing,{other}\n")
    names = csv_of(tmp_path, f"id,name\n{other},Zoë\n", "names.csv")
    made = write_letters(folder, LetterOptions(reasons=reasons, names=names))
    assert not made.ids_only
    table = folder / "letters" / "reasons.csv"
    [row] = [row for row in csv.DictReader(table.read_text("utf-8").splitlines()) if row["confirm"]]
    assert (row["id"], row["allow"]) == (own, other)
    assert verify_bundle(folder).problems == ()
    table.write_text("", encoding="utf-8")
    assert verify_bundle(folder).problems == ("letters/reasons.csv: was changed",)
