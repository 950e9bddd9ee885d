"""A pack says where in a bundle each thing is that a framework asks for, and promises nothing."""

import csv
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from recourse_audit.bundle.verification import verify_bundle
from recourse_audit.errors import InputError, TemplateError
from recourse_audit.records.codec import DERIVED_MANIFEST
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.i18n import LANGUAGES, Words
from recourse_audit.render.index import IndexSource, Links
from recourse_audit.render.packs import EVIDENCE, PackPage, load_pack
from recourse_audit.render.templates import Templates, template_folder
from recourse_audit.settings import GroupSettings, Settings
from recourse_audit.settings.letters import AuditSettings
from tests.command import command, leave_out_pdfs
from tests.groups.stores import Person, report_on, settings
from tests.render.group_pages import ReadGroups
from tests.render.group_reports import gap_report, pooled_report, tiny_report
from tests.render.letters import settings as letter_settings
from tests.render.stores import DIGEST, manifest_of, subject
from tests.render.test_i18n import ANY

NAMES = ("eu-ai-act", "ll144", "model-risk", "us-credit")
TEMPLATES = Templates()
SMALL = """
as_of = 2026-01-31
title.en = "A framework"
note.en = "A note."
covers.en = "A little."
leaves_out = [{ en = "Most." }]
[sources.law]
cite = "A law"
about = "Something"
[items.first]
source = "law"
question.en = "Is it there?"
question.de = "Ist es da?"
evidence = ["purpose"]
do.en = "Write it down."
"""


def page_of(
    name: str,
    groups: GroupReport | None,
    *,
    audit: Mapping[str, str] | None = None,
    templates: Templates = TEMPLATES,
    language: str = "en",
    links: Mapping[int, Links] | None = None,
    sent: int = 0,
    settings: Settings | None = None,
    **manifest: Any,
) -> PackPage:
    source = IndexSource(
        subjects=(),
        manifest=manifest_of([subject("P1")], **manifest),
        manifest_digest=DIGEST,
        links=links or {},
        groups=groups,
        settings=settings,
        day="2026-11-17",
    )
    words = Words(language, templates)
    told = AuditSettings(**(audit or {}))
    return PackPage(name, load_pack(name, templates), source, told, words, sent=sent)


def states(page: PackPage) -> dict[str, str]:
    """The state of every piece of evidence that a pack asks for."""
    return {one.code: one.state for answer in page.answers for one in answer.evidence}


def templates_with(folder: Path, text: str, name: str = "own") -> Templates:
    (folder / "packs").mkdir(exist_ok=True)
    (folder / "packs" / f"{name}.toml").write_text(text, encoding="utf-8")
    return Templates(folder)


def rows_of(text: str) -> list[dict[str, str]]:
    return [*csv.DictReader(StringIO(text))]


# ---------------------------------------------------------------- the files


@pytest.mark.parametrize("name", NAMES)
def test_a_pack_is_dated_says_what_it_leaves_out_and_promises_nothing(name: str) -> None:
    pack = load_pack(name, TEMPLATES)
    assert isinstance(pack.as_of, date)
    assert "Not legal advice" in pack.note["en"]
    assert "to be confirmed" in pack.note["en"]
    assert len(pack.leaves_out) > 1
    assert {item.source for item in pack.items.values()} == set(pack.sources)
    text = (template_folder() / "packs" / f"{name}.toml").read_text(encoding="utf-8")
    assert not ANY.search(text)
    assert not re.search(r"\b(un)?fair(?! Housing| lending)\b|\bpass(es|ed)?\b", text)
    assert not re.search(r"\bcompl(y|ies|iant|iance)\b", text)


def test_all_packs_are_named_here_and_in_the_help() -> None:
    files = sorted(path.stem for path in (template_folder() / "packs").iterdir())
    assert files == sorted(NAMES)
    helped = re.sub(r"[│\s]+", "", command("report", "--help").out)
    assert all(name in helped for name in NAMES)


def test_every_piece_of_evidence_is_asked_for_and_has_words_and_a_place() -> None:
    asked = {
        code
        for name in NAMES
        for i in load_pack(name, TEMPLATES).items.values()
        for code in i.evidence
    }
    assert asked | {"scoring_rate"} == set(EVIDENCE)  # which output_rate stands for
    for language in LANGUAGES:
        assert all(f"pack.evidence.{code}" in Words(language, TEMPLATES).keys for code in EVIDENCE)
    html = "".join(ReadGroups(gap_report()).html.values())
    index = (template_folder() / "pages" / "index.html").read_text(encoding="utf-8")
    # `gap_report` has no answers, outcomes or reasons, so their sections are not on its pages.
    for place in {place for look in EVIDENCE.values() for place in look[:1] if "#" in place}:
        file, name = place.split("#")
        if name not in ("errors", "reasons", "actions", "sweep", "stand"):
            assert f'id="{name}"' in (index if file == "index.html" else html), place


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            '["purpose"]',
            '["purpos"]',
            "items.first.evidence[0]: there is no evidence 'purpos'; did",
        ),
        ("do.en", "doo.en", "items.first.doo: is not a known key; did you mean do?"),
        ('cite = "A law"', "", "sources.law.cite: is missing"),
        (
            'source = "law"',
            'source = "lore"',
            "items.first.source: 'lore' is no source; choose from",
        ),
        ('question.en = "Is it there?"', "", "items.first.question: needs the English text, en"),
        ('evidence = ["purpose"]', "evidence = []", "items.first.evidence: must name at least 1"),
        ("as_of = 2026-01-31", "", "as_of: is missing"),
        ("as_of =", "as_of", "is not valid TOML"),
    ],
)
def test_a_broken_pack_is_one_sentence(old: str, new: str, words: str, tmp_path: Path) -> None:
    assert old in SMALL
    with pytest.raises(TemplateError, match=re.escape(f"packs/own.toml: {words}")):
        load_pack("own", templates_with(tmp_path, SMALL.replace(old, new)))


def test_a_name_that_is_unknown_suggests_the_nearest() -> None:
    with pytest.raises(
        InputError, match="--pack ll114: there is no such pack; did you mean 'll144"
    ):
        load_pack("ll114", TEMPLATES)


# ---------------------------------------------------------------- present, withheld, missing


def test_what_is_there_is_present_with_a_link_and_what_is_not_says_what_to_do(
    tmp_path: Path,
) -> None:
    templates = templates_with(tmp_path, SMALL)
    html = {}
    for purpose in ("", "decides on loans"):
        page = page_of("own", None, audit={"purpose": purpose}, templates=templates)
        html[purpose] = templates.render("pages/pack.html", view=page)
    assert "Of 1 items: 0 present in this bundle, 0 withheld, 1 not in this bundle." in html[""]
    assert "To do: Write it down." in html[""]
    link = '<a href="index.html">What the model does</a>'
    assert link in html["decides on loans"]
    assert link not in html[""]
    assert "Write it down." not in html["decides on loans"]


def test_a_text_is_in_the_language_of_the_page_or_marked_as_english(tmp_path: Path) -> None:
    templates = templates_with(tmp_path, SMALL)
    page = page_of("own", None, templates=templates, language="de")
    html = templates.render("pages/pack.html", view=page)
    assert "<td>Ist es da?</td>" in html
    assert '<span lang="en">Write it down.</span>' in html


def test_an_item_is_as_good_as_the_worst_of_its_evidence(tmp_path: Path) -> None:
    both = SMALL.replace('["purpose"]', '["audit_date", "impact_ratio", "purpose"]')
    templates = templates_with(tmp_path, both)
    for purpose, groups, state in (
        ("lends", gap_report(), "present"),
        ("lends", tiny_report(), "withheld"),
        ("", tiny_report(), "missing"),
    ):
        page = page_of("own", groups, audit={"purpose": purpose}, templates=templates)
        assert [answer.state for answer in page.answers] == [state]


def test_evidence_about_groups_is_present_withheld_or_missing_as_the_report_has_it() -> None:
    shown = states(page_of("us-credit", gap_report()))
    assert shown["impact_ratio"] == shown["crossed"] == "present"
    assert shown["outcome_rates"] == "missing"  # no column of outcomes
    few = page_of("us-credit", tiny_report())
    assert states(few)["impact_ratio"] == "withheld"
    [one] = [e for a in few.answers for e in a.evidence if e.code == "impact_ratio"]
    assert {(gone.table, gone.part) for gone in one.left_out} == {("gender", "table")}
    html = TEMPLATES.render("pages/pack.html", view=few)
    assert "Left out: gender: the whole table. A figure would be about fewer than 11" in html
    assert states(page_of("us-credit", None))["impact_ratio"] == "missing"


def test_what_is_left_out_of_one_table_is_withheld_although_others_have_it() -> None:
    report = gap_report()
    gone = [one for one in report.left_out if " x " not in one.table]
    assert "own_data" not in {one.part for one in gone}
    parts = tuple(replace(report.left_out[0], table="origin", part="own_data") for _ in "x")
    page = page_of("us-credit", replace(report, left_out=parts))
    assert states(page)["own_data"] == "withheld"
    assert states(page)["impact_ratio"] == "present"


def test_letters_signatures_and_the_register_are_seen() -> None:
    names = ("letters", "letters_signed", "register", "manifest_signature")
    nothing = states(page_of("us-credit", gap_report()))
    assert {nothing[name] for name in names} == {"missing"}
    links = {1: Links(file="1", letter=True, signed=True)}
    all_there = states(page_of("us-credit", None, links=links, sent=1, signed_by="ab"))
    assert {all_there[name] for name in names} == {"present"}


# ---------------------------------------------------------------- Local Law 144


def applicants(*counts: tuple[str, int, int]) -> GroupReport:
    """People by category: how many, and how many of them are selected."""
    people = [
        Person(groups={"race": name}, favourable=number < chosen, status=None)
        for name, count, chosen in counts
        for number in range(count)
    ]
    return report_on(people, settings("race"), ties=False)


def test_the_table_of_local_law_144_equals_counts_by_hand() -> None:
    # 1,000 people: blue has 1.9 % and the largest rate, so it is left out and compares with nobody.
    report = applicants(("red", 500, 250), ("green", 400, 160), ("blue", 19, 19), ("", 81, 27))
    page = page_of("ll144", report, audit={"data_as_of": "2026-09-30"})
    rows = {row["category"]: row for row in rows_of(page.files()["pack_ll144_ratios.csv"])}
    assert {(row["audit_date"], row["data_date"]) for row in rows.values()} == {
        ("2026-11-17", "2026-09-30")
    }
    figures = ("applicants", "count", "share_of_data", "rate", "impact_ratio", "ratio_left_out")
    assert {name: [row[figure] for figure in figures] for name, row in rows.items()} == {
        "red": ["500", "250", "0.5", "0.5", "1", ""],
        "green": ["400", "160", "0.4", "0.4", "0.8", ""],
        "blue": ["19", "19", "0.019", "1", "", "small"],
        "unknown": ["81", "27", "0.081", "0.333333", "", "unknown"],
    }
    html = TEMPLATES.render("pages/pack.html", view=page)
    assert "left out: under 2% of all" in html
    assert "value is known: " not in html
    assert states(page)["unknown"] == states(page)["all_categories"] == "present"


@pytest.mark.parametrize(
    ("people", "words"),
    [
        (1000, "so each is below the limit of 2%"),
        (200, "this setting and the framework clash. Lower groups.smallest"),
    ],
)
def test_small_categories_that_are_pooled_are_told_with_the_limit(people: int, words: str) -> None:
    half = people // 2
    report = applicants(("red", half, 50), ("green", half, 40), ("blue", 9, 3), ("grey", 8, 3))
    page = page_of("ll144", report)
    assert states(page)["all_categories"] == "withheld"
    assert states(page)["unknown"] == "withheld"  # who has no value may be in the pool
    html = TEMPLATES.render("pages/pack.html", view=page)
    assert "Race: 2 categories are pooled, since no figure may be about fewer than 11" in html
    assert words in html
    assert pooled_report().pooled  # the same in a report of other tests
    assert states(page_of("ll144", pooled_report()))["all_categories"] == "withheld"


def test_sex_and_race_are_present_only_if_it_is_said_which_columns_they_are() -> None:
    wanted = ("sex", "race_or_ethnicity")
    page = page_of("ll144", gap_report())
    assert [states(page)[code] for code in wanted] == ["missing", "missing"]
    named = GroupSettings(attributes=("gender", "origin"), roles={"sex": "gender"})
    given = letter_settings().model_copy(update={"groups": named})
    page = page_of("ll144", gap_report(), settings=given)
    assert [states(page)[code] for code in wanted] == ["present", "missing"]
    assert {answer.name: answer.state for answer in page.answers}["crossed"] == "missing"
    with pytest.raises(ValueError, match="roles names 'sexx', which is not in groups"):
        GroupSettings(attributes=("sex",), roles={"sex": "sexx"})


def test_a_model_that_gives_scores_has_scoring_rates() -> None:
    people = [
        Person(groups={"race": name}, favourable=False, score=float(score), status=None)
        for name, scores in {"red": range(60), "green": range(20, 80)}.items()
        for score in scores
    ]
    report = report_on(people, settings("race"), ties=False)
    score = letter_settings().model.model_copy(update={"output": "score"})
    given = letter_settings().model_copy(update={"model": score})
    page = page_of("ll144", report, settings=given)
    rows = {row["category"]: row for row in rows_of(page.files()["pack_ll144_ratios.csv"])}
    # The median of all is 39.5: 20 of red and 40 of green are above it.
    assert [rows["red"][key] for key in ("measure", "count", "rate", "impact_ratio")] == [
        *("scoring_rate", "20", "0.333333", "0.5")
    ]
    assert [rows["green"][key] for key in ("count", "rate", "impact_ratio")] == [
        *("40", "0.666667", "1")
    ]
    assert states(page)["output_rate"] == "present"
    assert "Of them above the median" in TEMPLATES.render("pages/pack.html", view=page)


def test_a_pack_needs_no_groups() -> None:
    page = page_of("ll144", None)
    assert page.files()["pack_ll144_ratios.csv"].count("\n") == 1
    assert "name protected attributes in groups.attributes" in TEMPLATES.render(
        "pages/pack.html", view=page
    )


def test_texts_of_users_do_nothing() -> None:
    hostile = "<script>alert(1)</script>"
    report = applicants((hostile, 40, 20), ("=1+1", 40, 20))
    page = page_of("ll144", report)
    assert hostile not in TEMPLATES.render("pages/pack.html", view=page)
    assert ",'=1+1," in page.files()["pack_ll144_ratios.csv"]


# ---------------------------------------------------------------- the command


def test_packs_are_among_the_pages_sealed_and_led_to(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--workers", "1", "--pack", "ll144", "--pack", "model-risk")
    finished = command("report", bundle, *words)
    assert finished.code == 0, finished.err
    pages = bundle / "pages"
    names = {path.name for path in pages.glob("pack_*")}
    kinds = {f"pack_{name}{end}" for name in ("ll144", "model-risk") for end in (".html", ".csv")}
    assert kinds | {"pack_ll144_ratios.csv", "pack_ll144.pdf", "pack_model-risk.pdf"} == names
    sealed = DERIVED_MANIFEST.read((pages / "manifest.json").read_bytes())
    assert names <= sealed.files.keys()
    assert sealed.made_with.packs == ("ll144", "model-risk")
    assert verify_bundle(bundle).problems == ()
    index = (pages / "index.html").read_text(encoding="utf-8")
    for name in ("ll144", "model-risk"):
        html = (pages / f"pack_{name}.html").read_text(encoding="utf-8")
        assert f'<a href="pack_{name}.html"' in index
        for link in re.findall(r'href="([^"#]+)(#[^"]+)?"', html):
            assert (pages / link[0]).resolve().is_file(), link
            if link[1] and link[0].endswith(".html"):
                text = (pages / link[0]).read_text(encoding="utf-8")
                assert f'id="{link[1][1:]}"' in text, link
    assert "! model-risk: challenge (missing): Sign the bundle" in finished.err
    leave_out_pdfs(monkeypatch)
    assert command("report", bundle, "--workers", "1").code == 0
    assert not [*pages.glob("pack_*")]


def test_strict_ends_with_2_if_anything_is_missing_and_the_list_comes_in_any_case(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_pdfs(monkeypatch)
    ask = ("report", bundle, "--workers", "1", "--pack", "own", "--templates", tmp_path, "--strict")
    templates_with(tmp_path, SMALL.replace('["purpose"]', '["register"]'))
    failed = command(*ask)
    assert failed.code == 2
    assert "pack_own.html: 1 not present:\n! own: first (missing): Write it down." in failed.err
    assert "error: " in failed.err
    assert "--strict: not everything is present for --pack own" in failed.err
    assert (bundle / "pages" / "pack_own.html").is_file()
    templates_with(tmp_path, SMALL)
    finished = command(*ask)
    assert finished.code == 0, finished.err
    assert "pack_own.html: all items are present" in finished.err
    assert command(*ask[:-1]).code == 0
    nothing = command("report", bundle, "--strict")
    assert nothing.code == 2
    assert "--strict: needs --pack" in nothing.err


def test_packs_are_for_the_auditor(bundle: Path) -> None:
    refused = command("report", bundle, "--pack", "ll144", "--level", "reviewer")
    assert refused.code == 2
    assert "--pack: is for the auditor" in refused.err
    assert not (bundle / "pages").exists()
    assert "did you mean 'us-credit'?" in command("report", bundle, "--pack", "us_credit").err
