"""A legal profile is dated, names its sources, and is checked before a letter rests on it."""

import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from recourse_audit.bundle.reader import open_finished_audit
from recourse_audit.errors import SettingsError, TemplateError
from recourse_audit.records.bundle import CAUSES
from recourse_audit.render.letter_inputs import Profile, load_profile
from recourse_audit.render.letters import LetterWriter
from recourse_audit.render.templates import Templates, template_folder
from recourse_audit.settings import load_settings
from tests.command import command
from tests.render.letters import (
    LANGUAGES,
    OWN,
    SIGNED,
    move,
    option,
    reasons_file,
    report,
    settings,
    with_grounds,
    writer,
    written,
)

NAMES = {"generic": LANGUAGES, "us-credit": ("en", "es"), "eu": LANGUAGES, "uk": ("en",)}
GENERIC = (template_folder() / "profiles" / "generic.toml").read_text(encoding="utf-8")


def loaded(name: str, pages: Templates | None = None, **letters: Any) -> Profile:
    return load_profile(settings(profile=name, **letters).letters, pages or Templates())


def text_of(**letters: Any) -> str:
    by = writer(**letters)
    return by.html(written(report(), by)).split("</style>")[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_is_dated_and_says_that_it_is_no_advice(name: str) -> None:
    profile = loaded(name)
    assert isinstance(profile.as_of, date)
    assert "Not legal advice" in profile.note
    assert set(profile.languages) == set(NAMES[name])


def test_all_profiles_are_named_here() -> None:
    found = {path.stem for path in (template_folder() / "profiles").iterdir()}
    assert found == set(NAMES)


@pytest.mark.parametrize("name", ["us-credit", "eu", "uk"])
def test_what_a_law_asks_for_names_the_law(name: str) -> None:
    profile = loaded(name)
    assert all(block.source for block in profile.blocks if block.part != "remedies")
    assert {block.source for block in profile.blocks} - {""} == set(profile.sources)
    assert all(one.url.startswith("https://") for one in profile.sources.values())


def test_a_notice_on_credit_has_all_that_regulation_b_asks_for() -> None:
    text = text_of(
        profile="us-credit",
        slots={"agency": "Agency of Agencies", "reasons_office": "Room 5, (555) 123"},
        facts={"consumer_report": False, "other_information": False},
    )
    for words in (
        "We have declined your application.</strong> This is the decision of",
        "Example Savings Bank, 12 Market Street, 10115 Berlin.",
        "The Federal Equal Credit Opportunity Act prohibits creditors from discriminating",
        "Agency of Agencies",
        "within 60 days",
        "Room 5, (555) 123",
        "within 30 days of receiving your request",
    ):
        assert words in text
    assert "consumer reporting agency" not in text


def test_a_letter_about_credit_names_the_application_and_is_no_offer(tmp_path: Path) -> None:
    path = tmp_path / "addresses.csv"
    path.write_text(f"id,name,completed\n{OWN},Alex Example,2026-10-27\n", encoding="utf-8")
    by = writer(profile="us-credit", addresses=path)
    found = report(option(move("savings", 1.0, 2.0)))
    letter = written(found, by)
    assert "incomplete" in by.causes(found, letter, ())
    text = by.html(letter).split("</style>")[1]
    for words in (
        '<th scope="row">Complete on</th><td>October 27, 2026</td>',
        '<th scope="row">Application</th><td>[to be filled in: application]</td>',
        "<p>Dear Alex Example:</p>",
        "we used a computer program",
        "<strong>This is not an offer of credit.</strong>",
        "result was then favorable",
        "<h2>Your rights under federal law</h2>",
        "<p><strong>Equal Credit Opportunity Act.</strong> The Federal",
        "Sincerely,",
    ):
        assert words in text
    bare = writer(profile="generic").html(written(found, writer(profile="generic")))
    assert "Complete on<" not in bare


def test_no_letter_is_signed_off_before_a_profile_is_chosen() -> None:
    assert writer(profile="").open_slots == ("letters.profile",)
    with pytest.raises(
        SettingsError, match=r"signed off without letters\.profile \(us-credit, eu or uk, or gen"
    ):
        writer(profile="", sign_off=SIGNED)


@pytest.mark.parametrize("alone", [True, False])
def test_nobody_who_took_part_ends_the_rights_of_an_automated_decision(alone: bool) -> None:
    facts = {"solely_automated": alone, "consumer_credit": True, "database_consulted": False}
    text = text_of(profile="eu", facts=facts, slots={"officer": "dpo@bank.example"})
    for words in ("Review by a person.", "contest the decision", "dpo@bank.example", "go to court"):
        assert words in text
    assert "<strong>Credit.</strong> Your creditworthiness was assessed with automated" in text


def test_outside_information_is_told_only_where_it_was_used() -> None:
    report = text_of(profile="us-credit", facts={"consumer_report": True})
    assert "free copy of your report" in report
    assert "[to be filled in: letters.slots.reporting_agency]" in report
    other = text_of(profile="us-credit", facts={"other_information": True})
    assert "what kind of information it was" in other
    assert "free copy" not in other


def test_principal_reasons_end_the_right_to_ask_for_them(tmp_path: Path) -> None:
    text = text_of(profile="us-credit", reasons=reasons_file(tmp_path, "Income is low"))
    assert "<h2>The principal reasons for our decision</h2>\n<ol" in text
    assert "You have the right to a statement" not in text


@pytest.mark.parametrize(
    ("alone", "words", "others"),
    [
        (True, "no person took part in it", "a person decided with its help"),
        (False, "a person decided with its help", "no person took part in it"),
    ],
)
def test_a_european_letter_says_which_part_the_machine_played(
    alone: bool, words: str, others: str
) -> None:
    text = text_of(
        profile="eu", facts={"solely_automated": alone}, slots={"procedure": "It compares cases."}
    )
    assert words in text
    assert others not in text
    assert "This is how the decision is made: It compares cases." in text
    assert "you can contest the decision" in text


WHOLE = {"eu": LANGUAGES, "uk": ("en",)}


@pytest.mark.parametrize(
    ("name", "language"), [(name, language) for name in WHOLE for language in WHOLE[name]]
)
def test_without_reasons_europeans_hear_which_data_were_used_and_how(
    name: str, language: str, tmp_path: Path
) -> None:
    words = {language: {"savings": "SAVED", "late_payments": "LATE"}}
    given: dict[str, Any] = {"profile": name, "language": language, "words": words}
    given |= {"slots": {"procedure": "It compares cases."}}
    found = with_grounds(report(), columns={"savings": 0.1, "late_payments": 0.2})
    by = writer(**given)
    text = by.html(written(found, by))
    assert text.index("It compares cases.") < text.index("SAVED") < text.index("LATE")
    by = writer(**given, reasons=reasons_file(tmp_path, "Xx"))
    assert "SAVED" not in by.html(written(found, by))


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_says_what_it_covers_and_claims_no_compliance(name: str) -> None:
    profile = loaded(name)
    assert profile.covers.strip()
    assert profile.leaves_out.strip()
    texts = [profile.note, profile.covers, *(b.text["en"] for b in profile.blocks)]
    assert not re.search(r"\b(complies|compliant|in compliance)\b", " ".join(texts))


def test_signing_says_what_the_profile_covers(bundle: Path) -> None:
    finished = command("letters", bundle, "--workers", "1")
    assert "covers:" not in finished.err
    with open_finished_audit(bundle) as stored:
        own = next(iter(stored.names().values()))
    accept = [word for cause in CAUSES for word in ("--accept", cause)]
    sign = ("--sign-off", "A. Clerk", "--ids", own, "--workers", "1", *accept)
    finished = command("letters", bundle, *sign)
    assert finished.code == 0
    assert "profile Generic, as of 2026-11-18, covers: What a letter says where" in finished.err
    assert "! it leaves to you, and is not legal advice: Every law" in finished.err


def test_gaps_that_the_facts_leave_closed_need_not_be_filled() -> None:
    slots = {"agency": "x", "reasons_office": "y"}
    facts = {"consumer_report": False, "other_information": False}
    assert writer(profile="us-credit", slots=slots, facts=facts, sign_off=SIGNED).open_slots == ()
    facts["consumer_report"] = True
    with pytest.raises(SettingsError, match=r"without letters\.slots\.reporting_agency \(The"):
        writer(profile="us-credit", slots=slots, facts=facts, sign_off=SIGNED)


@pytest.mark.parametrize(
    ("name", "facts", "missing"),
    [
        ("eu", {}, "solely_automated"),
        ("us-credit", {}, "consumer_report"),
        ("us-credit", {"consumer_report": False}, "other_information"),
    ],
)
def test_no_letter_is_signed_off_before_every_fact_is_declared(
    name: str, facts: dict[str, bool], missing: str
) -> None:
    slots = dict.fromkeys(loaded(name).slots, "x")
    given: dict[str, Any] = {"profile": name, "slots": slots, "facts": facts}
    words = rf"off without letters\.facts\.{missing} \(.*\? true or false\).*; write it in audit"
    with pytest.raises(SettingsError, match=words):
        writer(sign_off=SIGNED, **given)
    assert f"letters.facts.{missing}" in writer(**given).open_slots
    declared = facts | dict.fromkeys(loaded(name).facts, False)
    assert writer(sign_off=SIGNED, **given | {"facts": declared}).open_slots == ()


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "[to be declared, true or false: letters.facts.solely_automated]"),
        ("de", "[noch anzugeben, true oder false: letters.facts.solely_automated]"),
        ("fr", "[à déclarer, true ou false : letters.facts.solely_automated]"),
        ("es", "[por declarar, true o false: letters.facts.solely_automated]"),
    ],
)
def test_a_draft_claims_nothing_of_a_fact_that_is_not_declared(language: str, words: str) -> None:
    text = text_of(profile="eu", language=language).replace("\N{NO-BREAK SPACE}", " ")
    assert text.count(words) == 1
    for block in loaded("eu").blocks:
        if block.fact is not None:
            assert block.text[language].removeprefix("{decided} ") not in text


def test_a_language_that_a_profile_lacks_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"us-credit has no text in 'de', only in en, es"):
        loaded("us-credit", language="de")


def test_a_profile_that_is_not_there_is_refused() -> None:
    known = r"there is no profile mars, only eu, generic, uk, us-credit; write profiles/mars.toml"
    with pytest.raises(SettingsError, match=known):
        loaded("mars")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("slots", {"agent": "x"}, r"letters\.slots\.agent: .* did you mean 'agency'"),
        ("facts", {"report": True}, r"letters\.facts\.report: .* choose from 'consumer_report'"),
    ],
)
def test_what_the_profile_does_not_know_is_refused(key: str, value: Any, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        loaded("us-credit", **{key: value})


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("as_of = 2026-11-18\n", "", "as_of: is missing"),
        ("as_of = 2026-11-18", "as_of = 'soon'", "as_of: "),
        ("max_reasons = 4", "max_reason = 4", "max_reason: is not a known key; did you mean max"),
        ('part = "notice"', 'part = "notices"', r"blocks\[0\]\.part: must be 'notice', 'reasons'"),
        ('when = "reasons"', 'when = "rain"', r"blocks\[1\]\.when: must be one of always, reas"),
        ('en = "{decided} The', 'en = "{decide} The', r"text\.en: {decide} is not among the sl"),
        ("{decided} Die Ent", "Die Ent", r"blocks\[0\]\.text\.de: has other slots than"),
        ('part = "notice"', 'part = "notice"\nsource = "x"', r"source: 'x' is not among the sour"),
        ('title = "Generic"', "title = Generic", "is not valid TOML"),
    ],
)
def test_a_mistake_in_a_profile_is_named(old: str, new: str, words: str, tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    assert old in GENERIC
    text = GENERIC.replace(old, new, 1)
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(TemplateError, match=r"profiles/mine\.toml: ") as raised:
        loaded("mine", Templates(tmp_path))
    assert raised.match(words)


def test_a_profile_of_the_user_is_used(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    text = GENERIC.replace('en = "{decided}', 'en = "Hear, hear: {decided}')
    (tmp_path / "profiles" / "mine.toml").write_text(text, encoding="utf-8")
    profile = loaded("mine", Templates(tmp_path))
    assert profile.blocks[0].text["en"].startswith("Hear, hear")


def test_nothing_legal_is_in_the_code() -> None:
    folder = Path(__file__).parents[2] / "recourse_audit"
    laws = ("GDPR", "ECOA", "1002.9", "FCRA", "Art. 22", "AI Act")
    for path in folder.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not [law for law in laws if law in text], path


PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "letters.md").read_text(encoding="utf-8")
LETTERS, PROFILE = (part.split("```")[0] for part in PAGE.split("```toml\n")[1:])


def test_the_examples_of_the_page_about_letters_work(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.toml").write_text(PROFILE, encoding="utf-8")
    profile = loaded("mine", Templates(tmp_path), slots={"agency": "x"})
    assert profile.languages == ("de", "en")
    table = tomllib.loads(LETTERS)
    given = settings(words=table["words"], **table["letters"])
    assert given.words["en"].ties["guarantor"].name == ("guarantor", "guarantors")


def test_the_sample_has_words_for_all_its_letters() -> None:
    sample = load_settings(Path(__file__).parents[2] / "sample_models" / "lending" / "audit.toml")
    for language in LANGUAGES:
        letters = sample.letters.model_copy(update={"language": language})
        by = LetterWriter(
            sample.model_copy(update={"letters": letters}), Templates(), sign_off=SIGNED
        )
        assert (by.unworded, by.open_slots) == ((), ())
        assert isinstance(letters.about, dict)
        assert set(letters.about) == set(LANGUAGES)


@pytest.mark.parametrize("more", ["a = " + "9" * 5000, "a = " + "[" * 2000, 'title = "again"'])
def test_a_profile_that_cannot_be_read_is_refused(tmp_path: Path, more: str) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "generic.toml").write_text(f"{more}\n{GENERIC}", encoding="utf-8")
    with pytest.raises(TemplateError, match=r"generic\.toml: is not valid TOML"):
        loaded("generic", Templates(tmp_path))
