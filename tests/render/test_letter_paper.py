"""A letter on paper is read in order by a machine, fits one page, and needs no colour."""

import io
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pikepdf
import pytest

from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.pdf import Printer
from recourse_audit.render.templates import Templates
from tests.render.letters import (
    LANGUAGES,
    OWN,
    SIGNED,
    add,
    drop,
    move,
    option,
    reasons_file,
    report,
    with_subject,
    writer,
    written,
)
from tests.render.reading import Reading, read_pdf

THREE_OPTIONS = report(
    option(drop("P1000"), drop("P1004", "payment"), holds=0.2),
    option(drop("P1000"), move("savings", 2000.0, 17000.0), move("loan_amount", 9e4, 8e4)),
    option(drop("P1004", "payment"), move("savings", 2000.0, 9000.0, debt_ratio=(0.4, 0.2))),
    option(drop("P1000", "hobby")),
    ties={"guarantor": 4, "payment": 4},
    caveats=(("general", None), ("confounders", "reverses")),
)
US = {
    "slots": {
        "agency": "Bureau of Consumer Financial Protection, 1700 G Street NW, Washington, DC",
        "reasons_office": "Customer Care, 12 Market Street, Springfield, (555) 123-4567",
        "reporting_agency": "Example Reports Inc., PO Box 1, Springfield, (800) 555-0100",
    },
    "facts": {"consumer_report": True, "other_information": True},
}
EU: dict[str, dict[str, Any]] = {
    "slots": {
        "procedure": "The program compares what you told us with earlier applications. " * 2,
        "supervisory_authority": "Data Protection Authority, 1 Long Street, 10555 Berlin",
        "officer": "officer@bank.example",
        "sources": "contracts and payments",
        "complaint_body": "Ombudsman for Banks, 2 Long Street, 10555 Berlin",
        "debt_advice": "Debt Advice Berlin, +49 30 8765 4321",
        "database": "Credit Register, 3 Long Street, 10555 Berlin",
    },
    "facts": {"solely_automated": True, "consumer_credit": True, "database_consulted": True},
}


UK_SLOTS = ("procedure", "officer", "sources", "credit_agency")
NEW_TIES = report(
    option(add("P2000"), holds=0.2),
    option(add("P2000"), add("P2001"), holds=0.2),
    option(add("P2000"), drop("P1000"), move("savings", 2000.0, 9000.0)),
    option(add("P2001"), drop("P1000"), move("savings", 2000.0, 9000.0)),
    option(drop("P1000", "hobby")),
    ties={"guarantor": 4},
)
# As in the sample: three options of up to two changes, one of them fragile, with a caution.
ORDINARY = report(
    option(drop("P1000"), holds=0.2),
    option(drop("P1000"), move("savings", 2000.0, 17000.0)),
    option(move("loan_amount", 9e4, 8e4), move("savings", 2000.0, 9000.0), holds=0.7),
    ties={"guarantor": 4},
    caveats=(("general", None), ("confounders", "weakens")),
)
# Letters that the fonts and styles bundled with the program must cope with.
ADDRESS = {"address": ["12 Market Street", "Łódź žluťoučký"]}
LETTERS: dict[str, tuple[SubjectReport, bool, dict[str, Any]]] = {
    "draft": (THREE_OPTIONS, False, ADDRESS),
    "signed": (THREE_OPTIONS, True, {}),
    "eu": (THREE_OPTIONS, True, {"profile": "eu", **EU}),
    "us-credit": (THREE_OPTIONS, True, {"profile": "us-credit", **US}),
    "new ties": (NEW_TIES, False, {}),
    "ordinary draft": (ORDINARY, False, {}),
    "ordinary": (ORDINARY, True, {}),
    "none exists": (report(status="certified_infeasible", ties={"payment": 4}), True, {}),
    "none found": (report(status="not_found_within_budget"), True, {}),
}
Read = Callable[..., Reading]


@pytest.fixture(scope="module")
def paper() -> Printer:
    return Printer(Templates())


@pytest.fixture(scope="module")
def content(paper: Printer) -> Callable[..., bytes]:
    """The PDF of one of the letters above in one language, made once."""

    @cache
    def made(name: str, language: str = "en") -> bytes:
        found, signed, letters = LETTERS[name]
        by = writer(sign_off=SIGNED if signed else None, language=language, **letters)
        return paper.pdf(by.html(written(found, by)))

    return made


@pytest.fixture(scope="module")
def read(content: Callable[..., bytes]) -> Read:
    """One of the letters above, read back from its PDF."""

    @cache
    def reading(name: str, language: str = "en") -> Reading:
        return read_pdf(content(name, language))

    return reading


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_letter_says_what_it_is_and_in_which_language(read: Read, language: str) -> None:
    reading = read("eu", language)
    assert reading.language == language
    assert OWN in reading.title
    assert reading.displays_title
    assert reading.marked
    assert reading.part == "1"


def test_a_letter_is_headings_paragraphs_lists_and_a_table(read: Read) -> None:
    reading = read("draft")
    assert reading.roles() >= {"Document", "Part", "Sect", "H1", "H2", "H3", "P", "L", "LI"}
    assert reading.roles() >= {"Lbl", "LBody", "Table", "TR", "TH", "TD"}
    assert "Figure" not in reading.roles()
    for one in reading.elements:
        if one.role in {"/LI", "/TR"}:
            assert one.path[-1] in {"/L", "/TBody"}
        if one.role in {"/Lbl", "/LBody"}:
            assert one.path[-1] == "/LI"


def test_headings_go_down_one_level_at_a_time(read: Read) -> None:
    levels = [int(role[1]) for role, _ in read("draft").blocks if role.startswith("H")]
    assert levels == [1, 2, 2, 3, 3, 3, 2]


@pytest.mark.parametrize("signed", [True, False])
def test_the_structure_reads_in_the_order_of_the_page(read: Read, signed: bool) -> None:
    text = read("signed" if signed else "draft").text.replace("\N{NO-BREAK SPACE}", " ")
    expected = [
        "Example Savings Bank",
        f"Reference {OWN}",
        *([] if signed else ["DRAFT. This is a draft."]),
        "Your application for a loan",
        "Dear Sir or Madam,",
        "We have declined your application.",
        "You can ask us for the main reasons;",
        "What could change the result",
        "Talk to us before you end anything.",
        "We tested particular guarantors and payment ties.",
        "This is not a promise.",
        "We found 4 options.",
        "Option 1",
        "raise your savings from €2,000 to €17,000",
        "Option 2",
        "Worked in most of our tests",
        "Option 3",
        "Not reliable: failed in many of our tests. Please talk to us first.",
        "We could not confirm",
        "Guarantors: end one of your connections of this kind",
        "We cannot describe one more option here",
        "What you can do",
        "Contact: Customer Care, +49 30 1234 5678",
        "Review by a person.",
        "Correction.",
        "Complaint.",
        "What would change the result may not be what led to it.",
        "Yours faithfully,",
        "Signed off by A. Example" if signed else "Not signed off yet",
    ]
    place = 0
    for words in expected:
        found = text.find(words, place)
        assert found >= place, words
        place = found + len(words)


def test_all_text_is_in_the_tree_except_in_the_margins(read: Read) -> None:
    reading = read("draft")
    assert reading.untagged == ()
    count = reading.pages
    margins = [text for page in range(count) for text in ("DRAFT", OWN, f"{page + 1} / {count}")]
    assert sorted(reading.outside) == sorted(margins)


def test_draft_is_on_every_page_until_the_letter_is_signed_off(read: Read) -> None:
    draft, signed = read("draft", "de"), read("signed")
    assert draft.outside.count("ENTWURF") == draft.pages
    assert "ENTWURF. Dies ist ein Entwurf." in draft.text
    assert draft.title.startswith("ENTWURF: ")
    assert not any("DRAFT" in text.upper() for text in (*signed.outside, signed.text, signed.title))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["ordinary draft", "ordinary", "none exists", "none found"])
def test_an_ordinary_letter_fits_one_page(read: Read, name: str, language: str) -> None:
    assert read(name, language).pages == 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["draft", "eu", "new ties"])
def test_the_longest_letters_fit_two_pages(read: Read, name: str, language: str) -> None:
    assert read(name, language).pages <= 2


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_longest_notice_fits_two_pages_as_well(read: Read, language: str) -> None:
    reading = read("us-credit", language)
    assert reading.pages == 2
    assert "Bureau of Consumer Financial Protection" in reading.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_only_the_bundled_font_is_used(read: Read, language: str) -> None:
    reading = read("draft", language)
    assert all(font.startswith("Source-Sans-3") for font in reading.fonts)
    assert "Łódź žluťoučký" in reading.text.replace("\N{NO-BREAK SPACE}", " ")


def test_characters_that_no_font_has_are_found(paper: Printer) -> None:
    # No font has a glyph for a code point that Unicode keeps free of characters.
    nobody = chr(0x10FFFF)
    assert paper.unprintable("Łódź žluťoučký €ß “x” <&>" + nobody) == {nobody}
    assert paper.unprintable("") == frozenset()


def test_the_date_of_a_letter_is_that_of_its_sign_off(
    paper: Printer, content: Callable[..., bytes]
) -> None:
    with pikepdf.open(io.BytesIO(content("signed"))) as pdf:
        assert pdf.open_metadata()["xmp:CreateDate"] == "2026-11-16"
    by = writer(sign_off=SIGNED)
    assert content("signed") == paper.pdf(by.html(written(THREE_OPTIONS, by)))


def test_tricks_in_an_id_are_text_on_paper_too(paper: Printer) -> None:
    by = writer()
    tricks = "<b>h</b>\x1b[31m\n{{ 7 * 7 }}</title>"
    reading = read_pdf(paper.pdf(by.html(written(with_subject(report(), id=tricks), by))))
    assert "<b>h</b>" in reading.title
    assert "{{ 7 * 7 }}</title>" in reading.text


# The longest reasons that a letter may state, and a long notice, push the options down.
REASONS = tuple(f"{letter} {'reason ' * 28}" for letter in "ABCD")
DECIDED = {"decided": {"denied": "We have declined it. " + "This is how we decide. " * 30}}
UK = {
    "slots": {name: EU["slots"].get(name, "Example Reports Ltd") for name in UK_SLOTS},
    "facts": dict.fromkeys(("solely_automated", "financial_service", "credit_agency_used"), True),
}
PROFILES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "generic": ({}, LANGUAGES),
    "us-credit": (US, ("en", "es")),
    "eu": (EU, LANGUAGES),
    "uk": (UK, ("en",)),
}


@pytest.mark.parametrize("reasons", [(), REASONS[:1], REASONS[:2], REASONS])
@pytest.mark.parametrize(
    ("profile", "language"),
    [(profile, language) for profile, (_, names) in PROFILES.items() for language in names],
)
def test_what_must_be_read_first_stands_on_the_sheet_of_the_options(
    profile: str, language: str, reasons: tuple[str, ...], paper: Printer, tmp_path: Path
) -> None:
    given = reasons_file(tmp_path, *reasons) if reasons else None
    by = writer(
        profile=profile,
        language=language,
        sign_off=SIGNED,
        reasons=given,
        words={language: DECIDED},
        **PROFILES[profile][0],
    )
    path = tmp_path / "letter.pdf"
    path.write_bytes(paper.pdf(by.html(written(THREE_OPTIONS, by))))
    done = subprocess.run(["pdftotext", path, "-"], capture_output=True, check=True, text=True)
    sheets = [" ".join(sheet.split()) for sheet in done.stdout.split("\f")]
    options = [by.words.say("option.heading", number=number) for number in "123"]
    fragile = by.words.say("option.fragile").partition(":")[0]
    places = {
        text: [number for number, sheet in enumerate(sheets) if text in sheet]
        for text in (by.words.say("options.first"), *options, fragile.rstrip("\xa0"))
    }
    assert len({tuple(numbers) for numbers in places.values()}) == 1, places
    assert all(len(numbers) == 1 for numbers in places.values())
