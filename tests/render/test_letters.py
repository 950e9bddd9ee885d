"""A letter says what was found in the person's own terms, and nothing that it may not."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from recourse_audit.errors import InputError, SettingsError
from recourse_audit.records.subject import EgoTie, Grade, SubjectReport
from recourse_audit.render.i18n import Words
from recourse_audit.render.letter_facts import Letter
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.templates import Templates
from tests.render.letters import (
    LANGUAGES,
    OWN,
    SIGNED,
    Caveats,
    add,
    drop,
    move,
    option,
    reasons_file,
    report,
    settings,
    with_subject,
    with_ties,
    writer,
    written,
)

MANY = {"guarantor": 4}


def text_of(found: SubjectReport, **letters: Any) -> str:
    by = writer(**letters)
    return by.html(written(found, by))


def test_an_option_is_told_by_kinds_and_own_attributes() -> None:
    found = report(option(drop("P1000"), move("savings", 2000.0, 17000.0)), ties=MANY)
    text = text_of(found)
    assert "Guarantors: end one of your connections of this kind" in text
    assert "<strong>And</strong> raise your savings from €2,000 to €17,000." in text
    assert "P1000" not in text


def test_a_letter_in_german_uses_the_words_and_numbers_of_german() -> None:
    found = report(option(drop("P1000"), move("loan_amount", 9500.5, 7000.0)), ties=MANY)
    text = text_of(found, language="de")
    assert "Bürgen: eine Ihrer Verbindungen dieser Art beenden" in text
    assert "Kreditbetrag senken: 7.000\N{NO-BREAK SPACE}€ statt 9.500,50\N{NO-BREAK SPACE}€" in text
    assert '<html lang="de">' in text


def test_what_moves_along_is_said() -> None:
    found = report(option(move("savings", 2000.0, 2500.0, debt_ratio=(0.42, 0.4))))
    assert "We assumed that this also changes: debt ratio from 0.42 to 0.4." in text_of(found)


def test_a_phrase_of_the_user_takes_the_place_of_ours() -> None:
    found = report(option(drop("P1000"), drop("P1001")), ties=MANY)
    end = ["release a guarantor", "release {count} guarantors"]
    words = {"en": {"ties": {"guarantor": {"end": end}}}}
    assert "Release 2 guarantors" in text_of(found, words=words)
    single = report(option(drop("P1000")), ties=MANY)
    assert "Release a guarantor" in text_of(single, words=words)


@pytest.mark.parametrize(
    ("have", "dropped", "told"), [(3, 1, True), (2, 1, False), (3, 2, True), (3, 3, False)]
)
def test_a_kind_is_named_only_if_it_hides_who_is_meant(have: int, dropped: int, told: bool) -> None:
    actions = [drop(f"P1{place:03}") for place in range(dropped)]
    letter = written(report(option(*actions), ties={"guarantor": have}), writer(k=3))
    assert (letter.outcome, letter.withheld) == (("options", 0) if told else ("staff", 1))


def test_several_ties_with_one_person_count_once() -> None:
    ties = [EgoTie(ends=(OWN, "P1000"), kind="guarantor", count=2)] * 5
    found = with_ties(report(option(drop("P1000"))), *ties)
    assert written(found, writer()).outcome == "staff"


def test_ties_of_others_do_not_count_towards_k() -> None:
    own = EgoTie(ends=(OWN, "P1000"), kind="guarantor")
    strangers = [EgoTie(ends=("P1000", f"P2{n:03}"), kind="guarantor") for n in range(9)]
    found = with_ties(report(option(drop("P1000"))), own, *strangers)
    assert written(found, writer()).outcome == "staff"


def test_a_kind_that_people_know_of_is_named_whatever_its_number() -> None:
    found = report(option(drop("P1000")), ties={"guarantor": 1})
    text = text_of(found, known_kinds=["guarantor"])
    assert "Guarantor: end this connection" in text


@pytest.mark.parametrize("kind", ["family", "Church_members", "union", "hobby"])
def test_a_denied_or_unknown_kind_is_never_named(kind: str) -> None:
    found = report(option(drop("P1000", kind)), ties={kind: 9})
    known = [] if kind == "hobby" else [kind]
    letter = written(found, writer(known_kinds=known))
    assert (letter.outcome, letter.options, letter.withheld) == ("staff", (), 1)


def test_what_is_between_others_or_protected_is_left_to_staff() -> None:
    between = option(drop("P1000", "payment", own="P2000"))
    protected = option(move("origin", 1.0, 2.0))
    implied = option(move("savings", 1.0, 2.0, origin=(1.0, 2.0)))
    fine = option(move("loan_amount", 9000.0, 8000.0))
    found = report(between, protected, implied, fine, ties={"payment": 9})
    letter = written(found, writer(known_kinds=["payment"]))
    assert (len(letter.options), letter.withheld) == (1, 3)
    text = text_of(found)
    assert "We cannot describe 3 more options here, to protect other people" in text
    assert "origin" not in text


def test_options_that_read_alike_are_one() -> None:
    steady, upset = option(drop("P1000")), option(drop("P1001"), holds=0.3)
    letter = written(report(steady, upset, ties=MANY), writer())
    assert [one.strength for one in letter.options] == ["fragile"]
    assert not letter.withheld


def test_at_most_three_options_are_told() -> None:
    options = [option(move("savings", 0.0, 500.0 * n)) for n in range(1, 6)]
    assert len(written(report(*options), writer()).options) == 3


def test_units_come_from_the_policy_and_not_from_the_report() -> None:
    assert "from the report" not in text_of(report(option(move("savings", 1.0, 2.0))))


def test_nobody_gets_a_letter_about_a_favourable_decision_or_none() -> None:
    approved = with_subject(report(), decision="approved", favourable=True)
    assert writer().letter(approved) is None
    nothing = with_subject(report(status="error"), decision="", probabilities={})
    assert writer().letter(nothing) is None


def test_that_none_exists_and_that_none_was_found_are_different_letters() -> None:
    exists = text_of(report(status="certified_infeasible", ties=MANY))
    found = text_of(report(status="not_found_within_budget"))
    assert "and within our limits there are none. We tried every combination of up to 3" in exists
    assert "to: some of your agreements and connections with other people, savings and" in exists
    assert "We tested nothing else." in exists
    assert "We have not finished checking what could change the result." in found
    assert "So far we have tried changes to: savings and loan amount." in found
    assert "some of your agreements" not in found


def test_a_policy_that_permits_nothing_is_said_to() -> None:
    text = text_of(report(status="certified_infeasible", permitted={}))
    assert "Our rules do not allow us to suggest any change to you." in text
    assert "We tried" not in text


@pytest.mark.parametrize("how", ["status", "error", "absent"])
def test_where_the_options_went_wrong_a_person_is_named(how: str) -> None:
    found = report(status="error" if how == "status" else "verified")
    if how == "error":
        found = replace(found, error="the worker died at P1234")
    if how == "absent":
        found = replace(found, recourse=None)
    assert written(found, writer()).outcome == "not_worked_out"
    text = text_of(found)
    assert "a member of our staff will look at your case" in text
    assert "P1234" not in text


UNCONFIRMED = "We could not confirm that it works in the same way with other data"


@pytest.mark.parametrize(
    ("caveats", "told"),
    [
        ((("general", None), ("confounders", "holds")), False),
        ((("confounders", "holds"), ("confounders", None)), True),
        *(((("confounders", grade),), grade != "holds") for grade in get_args(Grade)),
        ((("unknown_reach", None),), True),
    ],
)
def test_an_effect_that_was_not_confirmed_is_said_beside_options_about_ties(
    caveats: Caveats, told: bool
) -> None:
    text = text_of(report(option(drop("P1000")), ties=MANY, caveats=caveats))
    assert (UNCONFIRMED in text) == told
    own = text_of(report(option(move("savings", 1.0, 2.0)), caveats=caveats))
    assert UNCONFIRMED not in own
    assert "What would change the result may not be what led to it." in own


REVERSES: Caveats = (("general", None), ("confounders", "reverses"))


@pytest.mark.parametrize(
    ("removed", "told"),
    [
        (("P1000",), True),
        (("P1000", "P1001"), True),
        (("P1002",), False),
        (("P1000", "P1002"), False),
    ],
)
def test_a_caution_rests_only_on_ties_that_an_option_of_the_letter_ends(
    removed: tuple[str, ...], told: bool
) -> None:
    both = option(drop("P1000"), drop("P1001"))
    text = text_of(report(both, ties=MANY, caveats=REVERSES, removed=(removed,)))
    assert (UNCONFIRMED in text) == told
    new = text_of(report(option(add("P1000")), ties=MANY, caveats=REVERSES, removed=(removed,)))
    assert UNCONFIRMED not in new
    hidden, fine = option(drop("P1000", "hobby")), option(move("savings", 1.0, 2.0))
    assert UNCONFIRMED not in text_of(report(hidden, fine, ties={"hobby": 9}, caveats=REVERSES))


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_ends_something_talks_to_us_first_and_knows_what_it_takes(language: str) -> None:
    ties = {"guarantor": {"name": ["x", "y"], "end": ["a y", "{count} y"], "caution": "Beware."}}
    given = {"language": language, "words": {language: {"ties": ties}}}
    text = text_of(report(option(drop("P1000")), ties=MANY), **given)
    first = Words(language, Templates()).say("options.first")
    section = text.split('<section class="options">')[1]
    assert f'<p class="caution"><strong>{first}</strong> ' in section.split("</p>")[0]
    assert '<li>A y. <span class="duty">Beware.</span></li>' in section
    assert first not in text_of(report(option(move("savings", 1.0, 2.0))), **given)


def test_a_draft_says_so_in_its_text_and_title_and_has_no_date() -> None:
    text = text_of(report())
    assert "<strong>DRAFT.</strong> This is a draft. It has not been signed off" in text
    assert "<title>DRAFT: " in text
    assert 'data-draft="DRAFT"' in text
    assert "to be set at sign-off" in text


def test_a_letter_that_is_signed_off_says_by_whom_and_until_when() -> None:
    by = writer(sign_off=SIGNED, data_as_of="2026-10-31", valid_days=30)
    text = by.html(written(report(option(move("savings", 1.0, 2.0))), by))
    assert '<th scope="row">Date</th><td>16 November 2026</td>' in text
    # The day is the letter's own, and nobody says that it was signed off on that day.
    assert "<br>Signed off by A. Example</p>" in text
    assert "We used the program and the data as of 31 October 2026." in text
    assert "Please do not rely on this letter after 16 December 2026." in text
    assert "DRAFT" not in text
    assert "draft" not in text.split("</style>")[1]


def test_what_is_not_filled_in_keeps_letters_drafts() -> None:
    with pytest.raises(SettingsError, match=r"cannot be signed off without letters\.contact, lett"):
        writer(sign_off=SIGNED, contact=[], sender="")
    by = writer(contact=[])
    assert by.open_slots == ("letters.contact",)
    assert "[to be filled in: letters.contact]" in by.html(written(report(), by))


def test_a_letter_may_hold_one_part_only() -> None:
    found = report(option(move("savings", 1.0, 2.0)))
    notice, options = text_of(found, parts=["notice"]), text_of(found, parts=["options"])
    decided, changes = "We have declined your application.", "What could change the result"
    assert (decided in notice, changes in notice) == (True, False)
    assert (decided in options, changes in options) == (False, True)
    assert ("not a promise" in notice, "not a promise" in options) == (False, True)
    assert "What you can do" in notice
    assert "What you can do" in options


def test_names_without_a_word_are_listed_for_the_user() -> None:
    assert writer(language="de").unworded == ()
    missing = writer(language="fr").unworded
    assert set(missing) == {"guarantor", "payment", "savings", "debt_ratio", "loan_amount"}


@pytest.mark.parametrize(
    ("classes", "decided", "listed"),
    [
        (["denied", "approved"], {}, False),
        (["denied", "later", "approved"], {}, True),
        (["denied", "later", "approved"], {"fr": {"denied": "Non.", "later": "Plus tard."}}, False),
    ],
)
def test_a_class_without_a_word_is_listed_only_where_a_letter_names_it(
    classes: list[str], decided: dict[str, dict[str, str]], listed: bool
) -> None:
    given = settings(language="fr", words={"fr": {"decided": decided.get("fr", {})}})
    decision = given.decision.model_copy(update={"classes": tuple(classes)})
    missing = LetterWriter(given.model_copy(update={"decision": decision}), Templates()).unworded
    assert ("denied" in missing) == listed


def file_of(folder: Path, text: str, name: str = "given.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_confirmed_reasons_take_the_place_of_the_right_to_ask(tmp_path: Path) -> None:
    by = writer(reasons=reasons_file(tmp_path, "Income is low", "Short time in the job"))
    page = by.html(written(report(), by))
    assert "<li>Income is low</li>\n<li>Short time in the job</li>" in page
    assert "You can ask us for the main reasons" not in page


def test_without_reasons_nothing_is_given_as_one() -> None:
    text = text_of(report(option(drop("P1000")), ties=MANY))
    grounds = text.split('<section class="grounds">')[1].split("</section>")[0]
    assert "You can ask us for the main reasons;" in grounds
    assert "Guarantor" not in grounds


def test_an_address_that_a_comma_would_cut_short_is_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, f"id,name,street\n{OWN},Maria Muster,Long Lane 5,10115 Berlin\n")
    with pytest.raises(InputError, match="line 2: has more fields than the header"):
        writer(addresses=path)


def test_a_missing_file_of_reasons_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        writer(reasons=tmp_path / "absent.csv")


def test_a_reason_that_names_a_neighbour_is_refused(tmp_path: Path) -> None:
    by = writer(reasons=reasons_file(tmp_path, "Stands surety for P1000"))
    with pytest.raises(InputError, match="a reason given for P0007 names another person, P1000"):
        by.letter(report(ties=MANY))


def test_an_address_stands_in_the_window(tmp_path: Path) -> None:
    path = file_of(tmp_path, f"id,name,street\n{OWN},Maria Muster,Long Lane 5\n")
    by = writer(addresses=path)
    assert "Maria Muster<br>Long Lane 5" in by.html(written(report(), by))


def test_what_the_decision_was_about_may_differ_and_an_email_is_not_printed(tmp_path: Path) -> None:
    head = "id,name,postcode,town,about,email,application\n"
    about = "Your application for a loan of €13,100"
    row = f'{OWN},Maria Muster,10115,Berlin,"{about}",maria@mail.example,A-17\n'
    by = writer(addresses=file_of(tmp_path, head + row), known_kinds=["guarantor"])
    letter = written(report(), by)
    text = by.html(letter)
    assert "Maria Muster<br>10115<br>Berlin</p>" in text
    assert f"<h1>{about}</h1>" in text
    assert '<th scope="row">Application</th><td>A-17</td>' in text
    assert "mail.example" not in text
    assert by.addresses[OWN].email == "maria@mail.example"
    assert "incomplete" not in by.causes(report(), letter, ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,name,salary\nP1,a,9\n", "the column 'salary' is none of an address .* by mistake"),
        ("id,nmae\nP1,a\n", r"'nmae' is none of an address .* did you mean 'name'\?"),
        ("id,name\nP1,a\nP1,b\n", "line 3: has a second address for P1; keep one of them"),
        ("name\nP1\n", "has no column 'id'"),
    ],
)
def test_a_file_of_addresses_that_cannot_be_used_is_refused(
    text: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        writer(addresses=file_of(tmp_path, text))


def test_a_change_of_an_attribute_may_carry_a_caution() -> None:
    words = {"en": {"cautions": {"savings": "Money in a pension does not count."}}}
    text = text_of(report(option(move("savings", 1.0, 2.0))), words=words)
    assert 'to €2. <span class="duty">Money in a pension does not count.</span></li>' in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_outcome_is_worded_in_every_language(language: str) -> None:
    by = writer(language=language)
    outcomes = set()
    for found in (
        report(option(drop("P1000")), option(move("savings", 1.0, 2.0)), ties=MANY),
        report(option(drop("P1000"))),
        report(status="certified_infeasible"),
        report(status="not_found_within_budget"),
        report(status="error"),
    ):
        letter = written(found, by)
        outcomes.add(letter.outcome)
        assert by.html(letter)
    assert len(outcomes) == 5


TRICKS = "<script>alert(1)</script>{{ 7 * 7 }}\"'><svg onload=x>"


def test_tricks_in_ids_words_and_reasons_are_text(tmp_path: Path) -> None:
    found = with_subject(report(option(move("savings", 1.0, 2.0))), id=TRICKS)
    by = writer(sender=TRICKS, words={"en": {"savings": TRICKS, "denied": TRICKS}})
    text = by.html(written(found, by))
    assert "<script>" not in text
    assert "<svg" not in text
    assert "{{ 7 * 7 }}" in text
    assert "49" not in text.split("</style>")[1].replace("+49", "")


def test_a_reference_that_would_turn_the_text_around_is_written_out() -> None:
    found = with_subject(report(option(move("savings", 1.0, 2.0))), id="P\u202e7\x00")
    text = text_of(found)
    assert "\u202e" not in text
    assert "\x00" not in text
    assert r"P\u202e7\x00" in text


def test_the_settings_of_a_letter_are_checked() -> None:
    for key, value, words in (
        ("language", "../x", "must be a language"),
        ("profile", "../x", "must be the name of a file"),
        ("data_as_of", "31.3.2026", "must be a date such as"),
        ("currencies", {"euros": "€"}, "currencies.euros: must be a currency code"),
        ("words", {"en": {"x": ["a", "b", "c"]}}, "needs one text, or a singular"),
        ("words", {"xxxx": {}}, "words.xxxx: must be a language"),
        ("k", 1, "must be at least 2"),
    ):
        with pytest.raises(SettingsError, match=words):
            settings(**{key: value})  # type: ignore[arg-type]


def test_a_letter_is_made_from_the_report_alone_each_time() -> None:
    found = report(option(drop("P1000")), ties=MANY)
    by = writer()
    first: Letter = written(found, by)
    assert first == written(found, writer())
    assert by.html(first) == text_of(found)


ABOUT = {"en": "Your application for a loan", "de": "Ihr Kreditantrag"}


@pytest.mark.parametrize(
    ("about", "language", "heading"),
    [
        (ABOUT, "en", "Your application for a loan"),
        (ABOUT, "de", "Ihr Kreditantrag"),
        (ABOUT, "de_AT", "Ihr Kreditantrag"),
        (ABOUT | {"de_AT": "Ihr Ansuchen"}, "de_AT", "Ihr Ansuchen"),
        ("One for all", "fr", "One for all"),
        ({}, "fr", "Notre décision"),
        ("", "es", "Nuestra decisión"),
    ],
)
def test_what_the_decision_was_about_is_said_in_the_letters_language(
    about: Any, language: str, heading: str
) -> None:
    found = report(option(drop("P1000")), ties=MANY)
    assert f"<h1>{heading}</h1>" in text_of(found, about=about, language=language)


@pytest.mark.parametrize("language", ["fr", "es", "fr_CA"])
def test_a_language_without_a_text_is_refused_before_any_letter(language: str) -> None:
    base = language[:2]
    words = f"letters.about: has no text in '{base}', the language of the letters, only in en, de; "
    with pytest.raises(SettingsError, match=re.escape(words)) as raised:
        writer(about=ABOUT, language=language)
    assert f'add a line such as {base} = "…" to [letters.about]' in str(raised.value)
