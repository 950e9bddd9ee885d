"""Letters are signed off by name; what speaks against one must be accepted by its own word."""

import csv
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import recourse_audit as ra
from recourse_audit.bundle.reader import open_finished_audit
from recourse_audit.bundle.verification import verify_bundle
from recourse_audit.errors import InputError
from recourse_audit.records.bundle import CAUSES, Review, SignOff, StatedReason
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.batch import RenderOptions
from recourse_audit.render.letter_facts import Letter
from recourse_audit.render.letter_inputs import read_ids, read_reviews
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.write_letters import (
    Entry,
    LetterOptions,
    Signing,
    decide,
    write_letters,
)
from tests.bundles import contents
from tests.command import command, one_line
from tests.render.conftest import SUBJECTS
from tests.render.letters import OWN, SIGNED, drop, move, option, report, writer, written

CLERK = ("--sign-off", "A. Clerk", "--date", "2026-03-31", "--workers", "1")
EVERY_CAUSE = ("fragile", "no-reason", "unreviewed")
ACCEPT = tuple(word for cause in CAUSES for word in ("--accept", cause))
REVIEWED = Review(reviewer="B. Reader", day="2026-03-30", draft="")


@pytest.fixture(autouse=True)
def _without_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recourse_audit.render.write_letters.open_printer", lambda _: (None, ""))
    monkeypatch.setattr("recourse_audit.render.batch.SUBJECTS_TOGETHER", 1)


@pytest.fixture
def ids(bundle: Path) -> list[str]:
    with open_finished_audit(bundle) as stored:
        return list(stored.names().values())


def table_of(bundle: Path) -> dict[str, dict[str, str]]:
    with (bundle / "letters" / "signing.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def letters_to(bundle: Path, own: str) -> dict[str, bytes]:
    """The files of one person's letter."""
    files = contents(bundle / "letters")
    return {name: files[name] for name in files if name.partition("-")[2].startswith(f"{own}.")}


def file_of(folder: Path, text: str, name: str = "given.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def decided(
    found: SubjectReport, *, reasons: tuple[str | StatedReason, ...] = (), **asked: Any
) -> Entry:
    """What becomes of a letter with some reasons, in words of staff's own or as they are."""
    by = writer()
    stated = tuple(
        StatedReason(text=reason, note="x", checked_by="C. Check")
        if isinstance(reason, str)
        else reason
        for reason in reasons
    )
    by.reasons.state = lambda *_: stated  # type: ignore[method-assign]
    letter = written(found, by)
    reviews = {
        own: replace(review, draft=review.draft.replace("THIS", by.fingerprint(letter)))
        for own, review in asked.pop("reviews", {}).items()
    }
    given: dict[str, Any] = {"by": SIGNED, "ids": (OWN,)} | asked
    return decide(by, found, letter, "f", Signing(**given), reviews)


FINE = report(option(move("savings", 1.0, 2.0)))
# The option with the least effort holds; a later one does not.
FRAGILE = report(
    option(move("savings", 1.0, 2.0)), option(drop("P1000"), holds=0.5), ties={"guarantor": 4}
)
# Reasons that say nothing of the ties that every option ends contradict the options.
TIES = report(option(drop("P1000")), ties={"guarantor": 4})
HIDDEN = report(option(move("savings", 1.0, 2.0)), option(drop("P1000", "hobby"), holds=0.1))


@pytest.mark.parametrize(
    ("found", "reasons", "reviews", "against"),
    [
        (FINE, ("a reason",), {OWN: REVIEWED}, ()),
        (FRAGILE, ("a reason",), {OWN: REVIEWED}, ("fragile",)),
        (HIDDEN, ("a reason",), {OWN: REVIEWED}, ()),
        (TIES, ("a reason",), {OWN: REVIEWED}, ("ties-only",)),
        (TIES, ("Debts of your guarantors",), {OWN: REVIEWED}, ()),
        (FINE, (), {OWN: REVIEWED}, ("no-reason",)),
        (FINE, ("a reason",), {}, ("unreviewed",)),
        (FINE, ("a reason",), {OWN: replace(REVIEWED, draft="THIS")}, ()),
        (FINE, ("a reason",), {OWN: replace(REVIEWED, draft="abd")}, ("unreviewed",)),
        (FRAGILE, (), {}, EVERY_CAUSE),
    ],
)
def test_each_cause_keeps_a_letter_a_draft_until_it_is_accepted(
    found: SubjectReport, reasons: Any, reviews: Any, against: tuple[str, ...]
) -> None:
    refused = decided(found, reasons=reasons, reviews=reviews)
    assert refused.against == against
    assert (refused.status, refused.signed is None) == (
        ("refused", True) if against else ("signed", False)
    )
    for cause in against:
        others = frozenset(against) - {cause}
        assert decided(found, reasons=reasons, reviews=reviews, accept=others).status == "refused"
    signed = decided(found, reasons=reasons, reviews=reviews, accept=frozenset(against)).signed
    assert signed is not None
    assert signed.accepted == against


def test_what_is_accepted_is_recorded_only_where_it_applied() -> None:
    signed = decided(FINE, accept=frozenset(EVERY_CAUSE)).signed
    assert signed is not None
    assert signed.accepted == ("no-reason", "unreviewed")


def test_a_letter_that_is_not_named_stays_a_draft() -> None:
    assert decided(FINE, ids=("P0008",), accept=frozenset(EVERY_CAUSE)).status == "draft"
    assert decided(FINE, ids=None, by=None).status == "draft"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"by": SIGNED}, r"--sign-off needs to know which letters: name them with --ids .* --all"),
        ({"reopen": True}, "--reopen needs to know which letters"),
        ({"ids": ("P1",)}, "letters are named for --sign-off NAME or --reopen"),
        ({"by": SIGNED, "ids": ()}, "no letter is named"),
        ({"by": SIGNED, "ids": ("P1",), "reopen": True}, "reopen them first, review the drafts"),
        ({"by": SIGNED, "ids": "all", "accept": {"fragile"}}, "not with --all"),
        ({"accept": frozenset({"fragile"})}, "--accept is for letters that are signed off by name"),
        (
            {"by": SIGNED, "ids": ("P1",), "accept": {"haste"}},
            r"no cause 'haste'; choose from 'fragile'",
        ),
    ],
)
def test_words_that_do_not_go_together_are_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Signing(**asked)


@pytest.mark.parametrize(
    "more", [(), ("--all", "--ids", "x"), ("--ids", ""), ("--all", "--accept", "fragile")]
)
def test_the_command_never_signs_everything_by_default(bundle: Path, more: tuple[str, ...]) -> None:
    finished = command("letters", bundle, *CLERK, *more)
    assert finished.code == 2
    assert one_line(finished).startswith("error: ")
    assert not (bundle / "letters").exists()


def test_an_id_of_nobody_is_refused_before_anything_is_written(
    bundle: Path, ids: list[str]
) -> None:
    finished = command("letters", bundle, *CLERK, "--ids", f"{ids[0]},Nobody", *ACCEPT)
    assert finished.code == 2
    assert "there is no subject 'Nobody' in this audit" in one_line(finished)
    assert not (bundle / "letters").exists()


def test_what_is_refused_is_listed_with_its_causes_and_stays_a_draft(
    bundle: Path, ids: list[str]
) -> None:
    finished = command("letters", bundle, *CLERK, "--ids", ids[0], "--accept", "fragile")
    assert finished.code == 2
    assert f"! not signed off: {ids[0]} (no-reason, unreviewed)\n" in finished.err
    last = finished.err.splitlines()[-1]
    assert "1 letter was not signed off and stays a draft" in last
    assert "--accept no-reason --accept unreviewed" in last
    table = table_of(bundle)
    assert [table[own]["status"] for own in ids] == ["refused", "draft"]
    assert {row["against"] for row in table.values()} == {"no-reason; unreviewed"}
    assert b"DRAFT" in b"".join(letters_to(bundle, ids[0]).values())
    assert verify_bundle(bundle).problems == ()


def test_all_signs_only_what_nothing_speaks_against(
    bundle: Path, ids: list[str], tmp_path: Path
) -> None:
    reasons = file_of(
        tmp_path,
        "id,confirm,note,reason,checked_by\n"
        f"{ids[0]},yes,x,Short time at this address,C. Check\n{ids[1]},yes,x,Too late,\n",
        "r.csv",
    )
    reviews = file_of(tmp_path, f"id,reviewer,reviewed\n{ids[1]},B. Reader,2026-03-30\n")
    given = ("--reasons", reasons, "--reviewed", reviews)
    finished = command("letters", bundle, *CLERK, "--all", *given)
    assert finished.code == 2
    assert f"! not signed off: {ids[0]} (unreviewed)\n" in finished.err
    table = table_of(bundle)
    assert [table[own]["status"] for own in ids] == ["refused", "signed"]
    row = table[ids[1]]
    assert (row["signed_by"], row["date"], row["reviewer"]) == (
        "A. Clerk",
        "2026-03-31",
        "B. Reader",
    )
    # What one reader wrote into the table is another's review.
    path = bundle / "letters" / "signing.csv"
    filled = path.read_text(encoding="utf-8").replace(",unreviewed,,,,", ",,,B. Reader,2026-04-01,")
    command("letters", bundle, *CLERK, "--all", *given[:2], "--reviewed", file_of(tmp_path, filled))
    assert table_of(bundle)[ids[0]]["status"] == "signed"


def sign(bundle: Path, *names: str, by: str = "A. Clerk", day: int = 1, **more: Any) -> Any:
    return ra.open_bundle(bundle).write_letters(
        sign_off=by, day=date(2026, 3, day), ids=names, accept=CAUSES, workers=1, **more
    )


def test_signing_some_later_keeps_what_was_signed_before(bundle: Path, ids: list[str]) -> None:
    first, second = ids
    assert sign(bundle, first).signed == (first,)
    before = letters_to(bundle, first)
    assert b"Signed off by A. Clerk" in b"".join(before.values())
    made = sign(bundle, first, second, by="C. Other", day=2)
    assert (made.signed, made.signed_before, made.refused) == ((second,), 1, {})
    assert letters_to(bundle, first) == before
    assert {own: row["signed_by"] for own, row in table_of(bundle).items()} == {
        first: "A. Clerk",
        second: "C. Other",
    }
    after = contents(bundle / "letters")
    write_letters(bundle)
    drafts_again = contents(bundle / "letters")
    seals = {"manifest.json", "checksums.txt"}
    assert {name for name in after if drafts_again[name] != after[name]} <= seals
    assert verify_bundle(bundle).problems == ()


def test_signing_one_letter_does_not_make_the_other_drafts_again(
    bundle: Path, ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    shutil.copytree(bundle, other)
    sign(other, ids[0])
    write_letters(bundle)
    made: list[str] = []
    real = LetterWriter.html

    def noted(self: LetterWriter, letter: Letter) -> str:
        made.append(letter.reference)
        return real(self, letter)

    monkeypatch.setattr(LetterWriter, "html", noted)
    sign(bundle, ids[0])
    assert made == [ids[0]]
    assert contents(bundle) == contents(other)
    # One that was edited by hand is made again, and so are all if anything else has changed.
    draft = next(path for path in (bundle / "letters").glob("0*.html") if ids[1] in path.name)
    draft.write_text("edited", encoding="utf-8")
    sign(bundle, ids[0])
    assert letters_to(bundle, ids[1]) == letters_to(other, ids[1])
    made.clear()
    address = file_of(tmp_path, f"id,line1\n{ids[1]},1 Long Lane\n")
    sign(bundle, ids[0], addresses=address)
    assert made == [ids[0], ids[1]]
    assert b"1 Long Lane" in b"".join(letters_to(bundle, ids[1]).values())


def test_what_staff_gave_for_a_signed_letter_need_not_be_given_again(
    bundle: Path, ids: list[str], tmp_path: Path
) -> None:
    first, second = ids
    sign(
        bundle,
        first,
        reasons=file_of(tmp_path, f"id,confirm,note,reason\n{first},yes,x,Income is low\n"),
    )
    before = letters_to(bundle, first)
    sign(
        bundle,
        second,
        reasons=file_of(tmp_path, f"id,confirm,note,reason\n{second},yes,x,Too late\n"),
    )
    assert letters_to(bundle, first) == before
    changed = file_of(tmp_path, f"id,confirm,note,reason\n{first},yes,x,Something else\n")
    with pytest.raises(InputError, match=f"would now read differently: {first};"):
        write_letters(bundle, LetterOptions(reasons=changed))
    assert letters_to(bundle, first) == before


def test_a_signed_letter_that_would_change_is_not_touched_until_it_is_reopened(
    bundle: Path, ids: list[str]
) -> None:
    first, second = ids
    sign(bundle, first)
    before = contents(bundle)
    finished = command("letters", bundle, "--language", "de", "--workers", "1")
    assert finished.code == 2
    assert f"would now read differently: {first}; give the settings" in one_line(finished)
    assert contents(bundle) == before
    german = ("letters", bundle, "--language", "de", "--workers", "1")
    assert command(*german, "--reopen", "--ids", first).code == 0
    assert {row["status"] for row in table_of(bundle).values()} == {"draft"}
    assert not list((bundle / "letters").glob("*.signed.json"))
    assert b"ENTWURF" in b"".join(letters_to(bundle, first).values())
    assert b"ENTWURF" in b"".join(letters_to(bundle, second).values())


def test_a_new_style_does_not_change_what_was_signed(
    bundle: Path, ids: list[str], tmp_path: Path
) -> None:
    sign(bundle, ids[0])
    before = letters_to(bundle, ids[0])
    (tmp_path / "styles").mkdir()
    (tmp_path / "styles" / "letter.css").write_text("body { color: black }", encoding="utf-8")
    write_letters(bundle, LetterOptions(templates=tmp_path))
    assert letters_to(bundle, ids[0]) == before
    assert b"color: black }" in b"".join(letters_to(bundle, ids[1]).values())


def _other_bundle(bundle: Path) -> None:
    path = bundle / "letters" / "manifest.json"
    path.write_text(path.read_text("utf-8").replace('"of": "', '"of": "0', 1), encoding="utf-8")


def _other_bundle_unrecorded(bundle: Path) -> None:
    _unrecorded(bundle)
    _other_bundle(bundle)


def _unrecorded(bundle: Path) -> None:
    for path in (bundle / "letters").glob("*.signed.json"):
        path.unlink()


def _edited(bundle: Path) -> None:
    path = next((bundle / "letters").glob("*.signed.json")).with_suffix("").with_suffix(".html")
    path.write_bytes(path.read_bytes() + b" ")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_other_bundle, "move the folder elsewhere to keep them"),
        (_unrecorded, "move the folder elsewhere to keep them"),
        (_other_bundle_unrecorded, "move the folder elsewhere to keep them"),
        (
            _edited,
            "belongs to a letter that is signed off, and was changed, added or removed since",
        ),
    ],
)
def test_signed_letters_that_are_not_as_they_were_are_never_replaced(
    spoil: Callable[[Path], None], words: str, bundle: Path, ids: list[str]
) -> None:
    sign(bundle, ids[0])
    spoil(bundle)
    before = contents(bundle)
    with pytest.raises(InputError, match=words):
        write_letters(bundle)
    assert contents(bundle) == before


def test_workers_and_interruptions_make_no_difference_to_what_is_signed(
    bundle: Path, ids: list[str], tmp_path: Path
) -> None:
    class StoppedError(Exception):
        pass

    def stop(_: int) -> None:
        raise StoppedError

    by = SignOff(name="A. Clerk", day="2026-03-02")
    later = LetterOptions(signing=Signing(by=by, ids=(ids[1],), accept=frozenset(EVERY_CAUSE)))
    sign(bundle, ids[0])
    other = tmp_path / "other"
    shutil.copytree(bundle, other)
    write_letters(bundle, later, RenderOptions(workers=2))
    with pytest.raises(StoppedError):
        write_letters(other, later, RenderOptions(done=stop))
    assert not (other / "letters.new").exists()
    assert [row["status"] for row in table_of(other).values()] == ["signed", "draft"]
    write_letters(other, later)
    assert contents(other) == contents(bundle)


def test_a_run_says_that_letters_are_kept_whoever_signed_them(bundle: Path, ids: list[str]) -> None:
    sign(bundle, *ids)
    made = ra.open_bundle(bundle).write_letters(again=False, workers=1)
    assert (made.kept, made.letters) == (True, SUBJECTS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("P1\nP2\n\nP1\n", ("P1", "P2")),
        ("id,confirm,note,reason\nP1,yes,x,a\nP2,b\n", ("P1", "P2")),
        ("\ufeffid\nP1\n", ("P1",)),
        ("a b\n'=x\n", ("a b", "=x")),
        ("", ()),
    ],
)
def test_ids_come_one_per_line_or_in_a_column(
    text: str, found: tuple[str, ...], tmp_path: Path
) -> None:
    assert read_ids(file_of(tmp_path, text)) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,reviewer\nP1,B\n", "has no column 'reviewed', and needs id, reviewer, reviewed"),
        ("id,reviewer,reviewed\nP1,B,\n", "line 2: needs the day of the review of P1"),
        ("id,reviewer,reviewed\nP1,B,1.1.\n", r"such as 2026-03-31 \(got '1.1.'\)"),
        ("id,reviewer,reviewed\nP1,B,2026-01-01\nP1,C,2026-01-01\n", "a second review of P1"),
    ],
)
def test_a_file_of_reviews_that_cannot_be_used_is_refused(
    text: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        read_reviews(file_of(tmp_path, text))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for read in (read_ids, read_reviews):
        with pytest.raises(InputError, match="cannot be read"):
            read(tmp_path / "absent.csv")


def test_a_person_without_a_letter_cannot_be_signed_for(
    bundle: Path, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LetterWriter.facts

    def facts(self: LetterWriter, found: SubjectReport, *more: Any) -> Letter | None:
        return None if found.subject.id == ids[0] else real(self, found, *more)

    monkeypatch.setattr(LetterWriter, "facts", facts)
    with pytest.raises(InputError, match=f"there is no letter to {ids[0]}"):
        sign(bundle, ids[0])
