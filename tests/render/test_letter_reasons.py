"""Reasons are proposed with evidence, confirmed by a person, and checked on the way."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recourse_audit.bundle.reader import open_finished_audit
from recourse_audit.errors import InputError, SettingsError
from recourse_audit.records.bundle import StatedReason
from recourse_audit.records.codec import SIGNED_LETTER
from recourse_audit.records.recourse import Part
from recourse_audit.records.subject import SubjectReport
from recourse_audit.records.texts import csv_lines
from recourse_audit.render.letter_inputs import Profile
from recourse_audit.render.letter_reasons import COLUMNS, read_reasons
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.write_letters import COLUMNS as TABLE_COLUMNS
from recourse_audit.render.write_letters import LetterOptions, Signing, write_letters
from tests.command import command, one_line
from tests.render.letters import (
    LANGUAGES,
    OWN,
    SIGNED,
    drop,
    move,
    option,
    reasons_file,
    report,
    with_grounds,
    writer,
    written,
)
from tests.render.test_signing import REVIEWED, decided

MANY = {"guarantor": 4}
# Savings and guarantors count against the person, debts a little, and payments for them.
FOUND = with_grounds(
    report(option(move("savings", 1.0, 2.0)), ties=MANY),
    columns={"savings": 0.9, "debt_ratio": 0.1, "loan_amount": 0.4},
    ties={"guarantor": 1.2, "payment": -0.3},
    fixed=("loan_amount",),
)
# The policy permits no other loan amount.
FIXED = with_grounds(
    report(status="certified_infeasible", ties=MANY, permitted={"savings": 3, "loan_amount": 0}),
    columns={"savings": 0.9, "loan_amount": 0.4},
    ties={"guarantor": 1.2},
    fixed=("loan_amount",),
)
WORDS = {
    "en": {
        "savings": "savings",
        "reasons": {"savings": "the amount of your savings"},
        "ties": {"guarantor": {"name": ["guarantor", "guarantors"]}},
    },
    "de": {
        "savings": "Ersparnisse",
        "reasons": {"savings": "die Höhe Ihrer Ersparnisse"},
        "ties": {"guarantor": {"name": ["Bürge", "Bürgen"]}},
    },
}


def rows_of(by: LetterWriter, found: SubjectReport = FOUND) -> list[dict[str, Any]]:
    rows = by.reasons.table_rows(found, by.reasons.state(found))
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def given(folder: Path, *rows: dict[str, Any]) -> Path:
    """A file of reasons with these cells."""
    path = folder / "given.csv"
    cells = [[row.get(name, OWN if name == "id" else "") for name in COLUMNS] for row in rows]
    path.write_text("".join(csv_lines([COLUMNS, *cells])), encoding="utf-8")
    return path


def savings(**cells: Any) -> dict[str, Any]:
    return {"confirm": "yes", "what": "column", "name": "savings", **cells}


# ---------------------------------------------------------------- what is proposed


def test_candidates_are_proposed_with_their_evidence_and_none_is_confirmed() -> None:
    rows = rows_of(writer(words=WORDS))
    assert [(row["what"], row["name"], row["reason"]) for row in rows] == [
        ("ties", "guarantor", "Guarantors with other people"),
        ("column", "savings", "The amount of your savings"),
        ("column", "loan_amount", "Loan amount"),
    ]
    first, second, third = rows
    assert {row["confirm"] for row in rows} == {""}
    assert (second["answer_now"], second["answer_without"]) == (0.081727, 0.5)
    assert (second["share"], second["permitted"], second["flips"]) == (0.45, 3, 1)
    assert [row["fixed"] for row in rows] == ["", "", "yes"]
    assert (third["permitted"], third["flips"]) == (0, 0)
    assert "compliance check" in first["concerns"]
    assert second["concerns"] == ""


def test_what_cannot_be_told_and_what_is_protected_concerns_the_clerk() -> None:
    found = with_grounds(
        report(ties={"guarantor": 1}),
        columns={"postcode": 0.5, "origin_code": 0.4},
        ties={"guarantor": 1.2},
        proxies={"postcode": "origin"},
    )
    hidden, proxy, named = (row["concerns"] for row in rows_of(writer(), found))
    assert "a letter may not name" in hidden
    assert "(origin)" in proxy
    assert named == ""  # the audit looked, and it is none
    known = rows_of(writer(known_kinds=["guarantor"]), found)[0]["concerns"]
    assert "may not name" not in known


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_that_nobody_changed_is_said_in_the_language_of_the_letters(
    language: str, tmp_path: Path
) -> None:
    english = rows_of(writer(words=WORDS, codes={"loan_amount": "income_insufficient"}))
    path = given(tmp_path, *(row | {"confirm": "yes", "checked_by": "C"} for row in english))
    by = writer(
        words=WORDS, codes={"loan_amount": "income_insufficient"}, language=language, reasons=path
    )
    texts = written(FOUND, by).reasons
    assert texts[2] == by.profile.reasons["income_insufficient"][language]
    if language == "de":
        assert texts[:2] == ("Bürgen mit anderen Menschen", "Die Höhe Ihrer Ersparnisse")
    # What the clerk wrote stays as it is, in any language.
    own = given(tmp_path, savings(reason="What you have saved"))
    assert written(FOUND, writer(language=language, reasons=own)).reasons == (
        "What you have saved",
    )


def test_a_new_code_has_its_own_text_unless_the_clerk_wrote_one(tmp_path: Path) -> None:
    codes = {"savings": "income_insufficient"}
    [row] = [row for row in rows_of(writer(codes=codes)) if row["name"] == "savings"]
    row |= {"confirm": "yes", "code": "delinquent"}
    by = writer(codes=codes, reasons=given(tmp_path, row))
    assert written(FOUND, by).reasons == ("Late payments on past or present obligations",)
    row["reason"] = "You were late in May"
    by = writer(codes=codes, reasons=given(tmp_path, row))
    assert written(FOUND, by).reasons == ("You were late in May",)


def test_a_letter_states_confirmed_rows_only_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = given(
        tmp_path,
        savings(),
        {"what": "column", "name": "loan_amount", "reason": "Not confirmed"},
        {"confirm": "YES", "reason": "A word of our own", "note": "see the file"},
    )
    by = writer(words=WORDS, reasons=path)
    letter = written(FOUND, by)
    assert letter.reasons == ("The amount of your savings", "A word of our own")
    text = by.html(letter)
    assert text.index("<h1>") < text.index('<section class="grounds">') < text.index("Option 1")
    assert "Not confirmed" not in text
    # All of it is in the table again, with the candidates that the file lacks.
    rows = rows_of(by)
    assert [row["reason"] for row in rows] == [
        *("The amount of your savings", "Not confirmed", "A word of our own"),
        "Guarantors with other people",
    ]
    assert [row["confirm"] for row in rows] == ["yes", "", "yes", ""]


def test_texts_that_look_like_formulas_come_back_as_they_were(tmp_path: Path) -> None:
    path = reasons_file(tmp_path, "=1+1", "-x and more")
    assert "'=1+1" in path.read_text(encoding="utf-8")
    assert written(FOUND, writer(reasons=path)).reasons == ("=1+1", "-x and more")


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"reason": "Free words"}, "the reason 'Free words' .* names no column or kind of tie"),
        (savings(name="debt_ratio"), r"moves by 5\.0% of its distance .* by 10%"),
        (savings(what="ties", name="payment"), "a letter may not name this kind of tie"),
        (savings(name="shoe_size"), "does not know how far the answer moves without it"),
        (savings(name="height"), "it does not count against the person"),
    ],
)
def test_what_the_audit_does_not_bear_out_needs_a_note(
    row: dict[str, Any], words: str, tmp_path: Path
) -> None:
    found = FOUND
    if row.get("name") == "height":
        found = with_grounds(FOUND, columns={"height": -0.5})
    path = given(tmp_path, {"confirm": "yes"} | row)
    with pytest.raises(InputError, match=words) as raised:
        writer(reasons=path).letter(found)
    assert f"{path}, line 2: {OWN} cannot be given the reason" in str(raised.value)
    assert "say in the column note why" in str(raised.value)
    noted = given(tmp_path, {"confirm": "yes", "note": "The branch knows"} | row)
    assert len(written(found, writer(reasons=noted)).reasons) == 1
    assert writer(reasons=given(tmp_path, row | {"confirm": ""})).letter(found) is not None


def test_a_kind_that_may_be_told_needs_no_note(tmp_path: Path) -> None:
    path = given(tmp_path, savings(what="ties", name="guarantor"))
    assert len(written(FOUND, writer(reasons=path)).reasons) == 1


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([savings(confirm="ja")], r"line 2, for P0007: confirm must be yes or empty \(got 'ja'\)"),
        ([savings(what="tie")], r"what must be column or ties, .*\(got 'tie' and 'savings'\)"),
        ([savings(what="")], "or both empty for a reason in your own words"),
        ([savings(reason="a" * 201)], r"at most 200 characters \(got 201\); split it"),
        ([{"confirm": "yes"}], "needs a reason, a code or a name; fill in one, or remove the row"),
        ([savings(reason="a\x00b")], "has a control character"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_with_its_line(
    rows: list[dict[str, Any]], words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        read_reasons(given(tmp_path, *rows))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"id,reason_1\n{OWN},a\n", "has no column 'confirm', and needs id, confirm, reason"),
        ("id,confirm,reason\n,yes,a\n", "line 2: has no id"),
        (f"id,confirm,reason\n{OWN},yes,late, and often\n", "line 2: has more fields than"),
        (f"id,confirm,reason,reason\n{OWN},yes,a,b\n", "has two columns named 'reason'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        writer(reasons=path)
    with pytest.raises(InputError, match="cannot be read"):
        writer(reasons=tmp_path / "absent.csv")


def test_more_reasons_than_the_profile_allows_are_refused(tmp_path: Path) -> None:
    path = reasons_file(tmp_path, *"abcde")
    with pytest.raises(InputError, match=r"line 6: P0007 has 5 confirmed .* allows 4; keep the"):
        writer(reasons=path).letter(FOUND)
    assert len(written(FOUND, writer(reasons=reasons_file(tmp_path, *"abcd"))).reasons) == 4


def test_unknown_codes_are_refused_with_near_matches(tmp_path: Path) -> None:
    path = given(tmp_path, savings(code="delinqent"))
    with pytest.raises(InputError, match=r"line 2: the code 'delinqent' .* mean 'delinquent'\?"):
        writer(reasons=path).letter(FOUND)
    words = r"reasons\.codes\.savings: the profile generic has no reason 'savng'; choose from"
    with pytest.raises(SettingsError, match=words):
        writer(codes={"savings": "savng"})


def test_a_code_that_another_profile_proposed_stands_in_nobodys_way(tmp_path: Path) -> None:
    rows = rows_of(writer(profile="us-credit", codes={"savings": "no_credit_file"}))
    path = given(tmp_path, *rows)
    assert "no_credit_file" in path.read_text(encoding="utf-8")
    codes = {row["name"]: row["code"] for row in rows_of(writer(reasons=path))}
    assert codes == {"guarantor": "", "savings": "", "loan_amount": ""}


def test_reasons_for_nobody_are_refused_before_anything_is_written(
    bundle: Path, tmp_path: Path
) -> None:
    with open_finished_audit(bundle) as stored:
        [own, *_] = stored.names().values()
    path = reasons_file(tmp_path, "Late", own=f"{own}x")
    finished = command("letters", bundle, "--reasons", path, "--workers", "1")
    assert finished.code == 2
    assert f"line 2: there is no subject '{own}x' in this audit; did you" in one_line(finished)
    assert not (bundle / "letters").exists()


# ---------------------------------------------------------------- what is kept


def table_of(bundle: Path) -> list[dict[str, str]]:
    text = (bundle / "letters" / "reasons.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_the_table_of_the_folder_goes_to_the_clerk_and_back(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recourse_audit.render.write_letters.open_printer", lambda _: (None, ""))
    write_letters(bundle)
    table = table_of(bundle)
    own = table[0]["id"]
    mine = [row for row in table if row["id"] == own]
    for row in mine:
        row |= {"confirm": "yes", "checked_by": "C. Check", "note": "as discussed"}
    file = given(tmp_path, *mine)
    write_letters(bundle, LetterOptions(reasons=file))
    assert [row for row in table_of(bundle) if row["confirm"]] == mine
    # It may be edited where it is, and holds until something else is given for these people.
    place = bundle / "letters" / "reasons.csv"
    edited = place.read_text("utf-8").replace("as discussed", "as agreed")
    place.write_text(edited, encoding="utf-8")
    write_letters(bundle)
    assert {row["note"] for row in table_of(bundle) if row["confirm"]} == {"as agreed"}
    signing = Signing(by=SIGNED, ids=(own,), accept=frozenset({"unreviewed", "fragile"}))
    made = write_letters(bundle, LetterOptions(signing=signing))
    assert made.signed == (own,)
    [path] = (bundle / "letters").glob("*.signed.json")
    signed = SIGNED_LETTER.read(path.read_bytes())
    assert [reason.text for reason in signed.reasons] == [row["reason"] for row in mine]
    assert {(reason.note, reason.checked_by) for reason in signed.reasons} == {
        ("as agreed", "C. Check")
    }
    parts = [Part(what=row["what"], name=row["name"]) for row in mine]  # type: ignore[arg-type]
    assert [reason.part for reason in signed.reasons] == parts
    # Without the file, the letter can be made again, and its reasons stay in the table.
    (bundle / "letters" / "reasons.csv").unlink()
    before = path.with_suffix("").with_suffix(".html").read_bytes()
    write_letters(bundle)
    assert path.with_suffix("").with_suffix(".html").read_bytes() == before
    assert [row["reason"] for row in table_of(bundle) if row["confirm"]] == [
        row["reason"] for row in mine
    ]


# ---------------------------------------------------------------- causes and notes


GUARANTOR = StatedReason(text="Guarantors", part=Part(what="ties", name="guarantor"))
SAVINGS = StatedReason(text="Guarantors", part=Part(what="column", name="savings"))
TIES = with_grounds(
    report(option(drop("P1000")), ties=MANY),
    columns={"savings": 0.9, "Origin": 0.1},
    ties={"guarantor": 1.2},
    proxies={"savings": "origin"},
)


@pytest.mark.parametrize(
    ("reason", "against"),
    [
        (GUARANTOR, ("unchecked",)),
        (replace(GUARANTOR, checked_by="C. Check"), ()),
        # What a reason rests on counts, not what it says.
        (SAVINGS, ("ties-only", "unchecked")),
        (replace(SAVINGS, checked_by="C. Check"), ("ties-only",)),
        (StatedReason(text="Debts of your guarantors", note="x"), ("unchecked",)),
        (StatedReason(text="Debts", note="x"), ("ties-only",)),
        (replace(SAVINGS, part=Part(what="column", name="loan_amount")), ("ties-only",)),
        (replace(SAVINGS, part=Part(what="column", name="Origin")), ("ties-only", "unchecked")),
    ],
)
def test_reasons_on_ties_or_protected_attributes_must_be_checked(
    reason: StatedReason, against: tuple[str, ...]
) -> None:
    entry = decided(TIES, reasons=(reason,), reviews={OWN: REVIEWED})
    assert entry.against == against
    assert decided(
        TIES, reasons=(reason,), reviews={OWN: REVIEWED}, accept=frozenset(against)
    ).signed


def test_the_generic_profile_is_not_for_credit(tmp_path: Path) -> None:
    reasons = reasons_file(tmp_path, "Late")
    by = writer(facts={"credit": True}, reasons=reasons)
    stated = by.reasons.state(FOUND)
    assert "profile" in by.causes(FOUND, written(FOUND, by), stated)
    assert "letters.facts.credit" in writer(facts={}).open_slots
    other = writer(reasons=reasons)
    assert "profile" not in other.causes(FOUND, written(FOUND, other), stated)


@pytest.mark.parametrize(
    ("found", "reasons", "notes"),
    [
        (FOUND, (), ("fixed",)),  # before any is confirmed, of a candidate
        (FOUND, (SAVINGS,), ()),
        (FOUND, (replace(SAVINGS, part=Part(what="column", name="loan_amount")),), ("fixed",)),
        (FOUND, (StatedReason(text="Late", note="x"),), ()),
        (with_grounds(report(status="certified_infeasible"), alone=True), (), ("review",)),
        (with_grounds(report(status="certified_infeasible"), alone=False), (), ()),
        (with_grounds(report(option(move("savings", 1.0, 2.0))), alone=True), (), ()),
        (report(status="not_found_within_budget"), (), ("unfinished",)),
        (
            with_grounds(report(status="not_found_within_budget"), alone=True),
            (),
            ("review", "unfinished"),
        ),
        (TIES, (SAVINGS,), ("unmentioned",)),
        (TIES, (GUARANTOR,), ()),
        (TIES, (), ()),
        # The kind as a whole counts for the person, so it is no candidate, and an option ends one.
        (
            with_grounds(TIES, columns={"savings": 1.0}, ties={"guarantor": -1.0}),
            (),
            ("unmentioned",),
        ),
    ],
)
def test_what_a_signer_should_know_is_noted(
    found: SubjectReport, reasons: tuple[StatedReason, ...], notes: tuple[str, ...]
) -> None:
    entry = decided(found, reasons=reasons, reviews={OWN: REVIEWED})
    assert entry.notes == notes
    assert dict(zip(TABLE_COLUMNS, entry.row, strict=True))["notes"] == "; ".join(notes)


# ---------------------------------------------------------------- what is never a reason


def test_a_column_that_the_model_ignores_is_not_proposed_and_not_stated_without_a_note(
    tmp_path: Path,
) -> None:
    found = with_grounds(FOUND, columns={"ignored": 0.0, "savings": 0.9})
    assert [row["name"] for row in rows_of(writer(), found)] == ["savings"]
    path = given(tmp_path, savings(name="ignored"))
    with pytest.raises(InputError, match="does not count against the person"):
        writer(reasons=path).letter(found)
    by = writer()
    assert "gnored" not in by.html(written(found, by)).split("</style>")[1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_fixed_reason_is_stated_and_never_advised(language: str, tmp_path: Path) -> None:
    rows = [row | {"confirm": "yes", "checked_by": "C"} for row in rows_of(writer())]
    words = {language: {"loan_amount": "MARKER"}}
    by = writer(language=language, words=words, reasons=given(tmp_path, *rows))
    text = by.html(written(FIXED, by)).split("</style>")[1]
    stated, _, rest = text.partition('<section class="options">')
    assert stated.count("MARKER") == 1
    assert "MARKER" not in rest


@pytest.mark.parametrize("name", ["generic", "us-credit", "eu", "uk"])
def test_profiles_share_the_codes_of_the_sample_and_have_them_in_every_language(name: str) -> None:
    profile: Profile = writer(profile=name).profile
    used = {"income_insufficient", "obligations_excessive", "employment_length", "delinquent"}
    assert used <= set(profile.reasons)
    for texts in profile.reasons.values():
        assert set(texts) == set(profile.languages)
        assert all(text[:1].isupper() and not text.endswith(".") for text in texts.values())
    assert len(profile.reasons) == (23 if name == "us-credit" else 8)
