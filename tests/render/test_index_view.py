"""The index as a record: totals that add up, columns, digests, and words for everything."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from recourse_audit.records.bundle import Command, ModelDigest
from recourse_audit.records.recourse import STATUSES
from recourse_audit.render.i18n import LANGUAGES, Words
from recourse_audit.render.pages.index_rows import (
    NEEDS,
    Embedded,
    Links,
    decimals_of,
    natural,
)
from recourse_audit.render.pages.index_words import Change, change_of, rule_words, value_axis
from recourse_audit.render.templates import Templates
from recourse_audit.settings import LanguageWords, Settings, load_settings
from tests.audits import lending_audit
from tests.render.indexes import HOSTILE, some_subjects, view_of
from tests.render.stores import DIGEST, manifest_of, subject
from tests.render.subject_reports import PROBES

ENGLISH = Words("en", Templates())


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return load_settings(lending_audit(tmp_path_factory.mktemp("lending")))


def with_decision(settings: Settings, output: str | None = None, **changes: Any) -> Settings:
    decision = settings.decision.model_copy(update=changes)
    model = settings.model.model_copy(update={"output": output})
    return settings.model_copy(update={"decision": decision, "model": model})


def test_totals_add_up_to_the_subjects() -> None:
    view = view_of(some_subjects())
    counts = {total.need: int(total.count) for total in view.totals}
    assert counts == {"failed": 1, "open": 1, "fragile": 1, "other": 4, "none": 2, "favourable": 1}
    assert sum(counts.values()) == int(view.total) == 10
    assert [total.share for total in view.totals][:4] == ["10.0%", "10.0%", "10.0%", "40.0%"]


def test_those_who_need_a_person_come_first_and_each_kind_in_order_of_ids() -> None:
    columns = view_of(some_subjects()).data.value
    assert columns["id"] == ["P4", "P3", "P9", "P1", "P6", "P7", "P10", "P2", "P8", "P5"]
    assert columns["needs"] == ["failed", "open", "fragile", "other", "none", "favourable"]
    assert len(columns["need"]["words"]) == len(columns["needs"])


def test_every_status_is_a_need_of_its_own_or_an_option() -> None:
    for status in STATUSES:
        view = view_of([subject("A", status=status, cheapest_held=50, most_held=50)])
        assert len(view.totals) == 1
    assert len(NEEDS) == len(STATUSES) + 1


def test_an_option_that_fails_half_of_its_tests_is_fragile() -> None:
    for held, need in ((25, "fragile"), (26, "other"), (None, "other")):
        tests = None if held is None else 50
        row = subject("A", cheapest_held=held, most_held=held, tests=tests)
        assert [total.need for total in view_of([row]).totals] == [need]


def test_rows_say_what_could_change_the_result_or_how_far_the_search_went() -> None:
    changes = {2: (Change("drop", "payment"), Change("raise", "savings"))}
    view = view_of(some_subjects(), source={"cheapest": changes})
    said = {row.id: f"{row.lead} {row.detail}" for row in view.rows}
    assert said["P1"] == "3 options. Least effort: end a payment tie + raise savings"
    assert said["P2"] == "None exists. All 80 permitted combinations tried"
    assert said["P3"] == "Not decided. Search stopped after 27 of 80 combinations"
    assert said["P5"] == "Already favourable. "
    nothing = subject("A", status="certified_infeasible", options=0, possible=0, tried=0)
    assert view_of([nothing]).rows[0].detail == "The policy permits no change"


def test_changes_of_one_kind_are_counted_and_the_users_words_are_used(settings: Settings) -> None:
    twice = {0: (Change("drop", "payment"), Change("drop", "payment"))}
    [row] = view_of([subject("A")], source={"cheapest": twice}).rows
    assert row.detail == "Least effort: end 2 payment ties"
    lower = {0: (Change("lower", "loan_amount"),)}
    own = {"de": LanguageWords.model_validate({"loan_amount": "Kreditbetrag"})}
    worded = settings.model_copy(update={"words": own})
    [row] = view_of(
        [subject("A")], language="de", source={"cheapest": lower, "settings": worded}
    ).rows
    assert row.detail == "Geringster Aufwand: Kreditbetrag senken"


def test_a_row_of_the_store_becomes_a_kind_of_change() -> None:
    assert change_of("drop", "payment", None, None, None) == Change("drop", "payment")
    assert change_of("add", "payment", None, None, None) == Change("add", "payment")
    assert change_of("set", None, "savings", 1, 2.5) == Change("raise", "savings")
    assert change_of("set", None, "savings", 3, 2.5) == Change("lower", "savings")
    assert change_of("set", None, "housing", "rent", "own") == Change("set", "housing")


def test_how_many_options_hold_is_said_with_its_figures() -> None:
    rows = [
        subject("A", most_held=40, cheapest_held=40),
        subject("B", most_held=39, cheapest_held=20),
        subject("C", most_held=25, cheapest_held=25),
    ]
    assert dict(view_of(rows).notes) == {
        "Of the 3 people with an option,": "1 have one that held in at least 40 of 50 tests with "
        "changed surroundings. For 1, none held in more than half."
    }
    open_ = subject("A", status="not_found_within_budget", options=0, most_held=None, tests=None)
    assert dict(view_of([open_, replace(open_, id="B", status="error")]).notes) == {
        "Open for decision.": "Whether to extend 1 search that stopped early. What to do about 1 "
        "subject that failed."
    }


def test_an_audit_of_nobody_says_so() -> None:
    view = view_of([])
    assert view.headline == "All 100 decisions were favourable; there is nothing to audit."
    assert view.totals == ()
    assert "This audit has no subjects." in Templates().render("pages/index.html", view=view)


def test_without_attributes_the_index_says_that_groups_were_not_compared() -> None:
    view = view_of(some_subjects())
    assert view.board is None
    page = Templates().render("pages/index.html", view=view)
    assert "Groups were not compared: audit.toml names no attribute." in page
    assert "groups.html" not in page


def test_what_was_audited_is_in_one_line(settings: Settings) -> None:
    source = {"settings": settings, "auditor": "A. Auditor", "day": "2026-11-17"}
    assert view_of(some_subjects(), source=source).about == (
        f"Model model.onnx ({DIGEST[:8]}…)",
        "the likeliest class is decided",
        "Model checks: 5 of 5 passed",
        "audited 17 November 2026",
        "by A. Auditor",
    )


@pytest.mark.parametrize(
    ("output", "rule", "said", "axis"),
    [
        (None, {}, "the likeliest class is decided", "Probability of approved (line: 0.5)"),
        (
            None,
            {"cut_off": 0.655},
            "favourable from a probability of 0.655",
            "Probability of approved (line: 0.655)",
        ),
        (
            "score",
            {"cut_off": 620.0, "better": "lower"},
            "favourable up to a score of 620",
            "Score (line: 620)",
        ),
        (None, {"quota": 300}, "the best 300 by probability are decided favourably", "Margin"),
        (None, {"quota": 0.25}, "the best 25.0% by probability are decided favourably", "Margin"),
        (
            None,
            {"classes": ("a", "b", "approved")},
            "the likeliest class is decided",
            "Margin (line: 0)",
        ),
    ],
)
def test_the_rule_and_what_decisions_go_by_are_said(
    output: str | None, rule: dict[str, Any], said: str, axis: str, settings: Settings
) -> None:
    ruled = with_decision(settings, output, **rule)
    assert rule_words(ruled.decision, ENGLISH, scored=output == "score") == said
    assert value_axis(ruled, ENGLISH).title.startswith(axis)


def test_values_are_those_of_the_rule_and_margins_where_it_has_no_single_line(
    settings: Settings,
) -> None:
    rows = [subject("A", margin=-0.25), subject("B", margin=-0.5)]
    scores = {0: 0.0001, 1: 0.25}
    view = view_of(rows, source={"settings": settings, "scores": scores})
    assert [row.value for row in view.rows] == ["<\N{NO-BREAK SPACE}0.001", "0.250"]
    assert view.labels.value["whole"]
    ruled = with_decision(settings, quota=10)
    view = view_of(rows, source={"settings": ruled, "scores": scores})
    assert [row.value for row in view.rows] == ["\N{MINUS SIGN}0.250", "\N{MINUS SIGN}0.500"]


def test_subjects_are_in_the_order_in_which_a_person_counts() -> None:
    names = ["P10", "p9", "P1", "Q", "", "7", "P1b", "P" + 5000 * "9", "P01"]
    view = view_of([subject(name) for name in names])
    first, *rest = view.data.value["id"]
    assert (first, rest[:6]) == ("", ["7", "P1", "P01", "P1b", "p9", "P10"])
    assert natural("P2") < natural("P10") < natural("Q")


def test_figures_of_a_column_have_the_same_number_of_decimals() -> None:
    assert [decimals_of(v) for v in ([], [1.0, None], [0.5, 2], [0.25], [0.1234])] == [
        0,
        0,
        1,
        2,
        3,
    ]


def test_links_are_those_of_the_files_that_there_are() -> None:
    links = {
        0: Links(file="000000-A", page=True, letter=True, signed=True),
        1: Links(file="000001-B", page=True, letter=True, ending="html"),
    }
    view = view_of([subject("A"), subject("B"), subject("C")], links)
    data = view.data.value
    assert (data["page"], data["letter"], data["signed"]) == ("110", "110", "100")
    assert [row.page for row in view.rows] == [
        "subjects/000000-A.html",
        "subjects/000001-B.html",
        "",
    ]
    assert [(row.letter, row.letter_words) for row in view.rows][:2] == [
        ("../letters/000000-A.pdf", "signed"),
        ("../letters/000001-B.html", "draft"),
    ]


def test_what_failed_probes_mean_is_said_first() -> None:
    probes = replace(PROBES, notes={"packing": "Careful\x1b[2J."}, packing=False)
    view = view_of([subject("A")], probes=probes)
    assert view.warnings == ("Careful\\x1b[2J.",)
    assert "Model checks: 4 of 5 passed" in view.about
    assert view_of([subject("A")]).warnings == ()


def test_digests_are_of_the_model_graph_settings_store_and_manifest() -> None:
    view = view_of([subject("A")], signed_by="c0ffee")
    found = {digest.what: (digest.file, digest.sha256) for digest in view.evidence.digests}
    assert found["Model"] == ("model.onnx", DIGEST)
    assert found["Ties"] == ("edges.csv", DIGEST)
    assert found["Store"] == ("store.sqlite", DIGEST)
    assert found["Manifest"] == ("manifest.json", DIGEST)
    assert "Preprocessing" not in found
    assert "--key" in view.evidence.commands[1]
    assert "c0ffee" in view.evidence.seal
    assert "--key" not in view_of([subject("A")]).evidence.commands[1]


def test_the_digest_of_preprocessing_is_among_them() -> None:
    manifest = manifest_of([subject("A")])
    files = {"pipeline.onnx": DIGEST[::-1]}
    pipeline = ModelDigest(sha256=DIGEST[::-1], files=files)
    view = view_of([subject("A")], inputs=replace(manifest.inputs, preprocessing=pipeline))
    found = {digest.what: (digest.file, digest.sha256) for digest in view.evidence.digests}
    assert found["Preprocessing"] == ("pipeline.onnx", DIGEST[::-1])


def test_whom_the_audit_was_about_is_said_in_words() -> None:
    command = Command(subjects="all", sample=1200, stratify="age")
    assert view_of([subject("A")], command=command).lead.endswith(
        ": a random sample of 1,200 of everyone, in proportion to the values of age."
    )
    chosen = Command(subjects="city=Bonn", sample=None, stratify="age")
    assert view_of([subject("A")], command=chosen).lead.endswith(": those selected by city=Bonn.")
    refused = "1 subject of 101 people in the graph: everyone with an unfavourable decision."
    assert view_of([subject("A")]).lead == refused
    hidden = view_of([subject("A")], command=chosen, options={"level": "subject", "sizes": False})
    assert hidden.lead == "Too few people to say how many were audited: a selection."


def test_data_in_a_page_cannot_end_its_element_and_comes_back_whole() -> None:
    text = Embedded(list(HOSTILE)).__html__()
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == list(HOSTILE)


def test_a_list_for_paper_and_browsers_without_scripts_has_fifty_rows() -> None:
    assert len(view_of([subject(f"P{n}") for n in range(50)]).rows) == 50
    view = view_of([subject(f"P{n}") for n in range(51)])
    assert len(view.rows) == 50
    assert view.more == "50 of 51 rows are listed here."


def test_twenty_thousand_subjects_stay_under_four_megabytes() -> None:
    rows = [
        subject(
            f"applicant-{n:05d}",
            margin=-n / 1e6,
            cheapest_cost=n / 7,
            status="verified" if n % 2 else "certified_infeasible",
            options=n % 2,
            possible=n,
        )
        for n in range(20_000)
    ]
    links = {
        n: Links(file=f"{n:06d}-applicant-{n:05d}", page=True, letter=True) for n in range(20_000)
    }
    page = Templates().render("pages/index.html", view=view_of(rows, links))
    assert len(page.encode()) < 4_000_000


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_no_english_is_left_in_another_language(language: str, settings: Settings) -> None:
    links = {n: Links(file=f"{n:06d}", page=True, letter=True) for n in range(10)}
    source = {"settings": settings, "day": "2026-11-17", "auditor": "NN"}
    view = view_of(some_subjects(), links, language=language, source=source)
    page = Templates().render("pages/index.html", view=view)
    said = re.sub(r"<style>.*?</style>|<script>.*?</script>|<code>.*?</code>", "", page, flags=re.S)
    for key in ENGLISH.keys:
        for form in ENGLISH.forms(key):
            words = re.sub(r"\{.*?\}", "", form).strip()
            if len(words) > 12 and words not in " ".join(view.words.forms(key)):
                assert words not in said, key
    assert f'<html lang="{language}">' in page


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_has_the_same_messages_and_placeholders(language: str) -> None:
    other = Words(language, Templates())
    english = Words("en", Templates())
    assert set(other.keys) == set(english.keys)
    for key in english.keys:
        wanted = set(re.findall(r"\{(\w+)\}", " ".join(english.forms(key))))
        found = set(re.findall(r"\{(\w+)\}", " ".join(other.forms(key))))
        assert found == wanted, key


def test_only_the_auditors_index_has_ids() -> None:
    rows = [subject("secret-name"), subject("other-name")]
    links = {n: Links(file=f"{n:06d}", page=True, letter=True) for n in range(2)}
    for level, wanted in (("reviewer", ["000000", "000001"]), ("subject", [])):
        view = view_of(rows, links, options={"level": level})
        assert view.data.value["id"] == wanted
        page = Templates().render("pages/index.html", view=view)
        assert "-name" not in page
        assert "subjects.csv" not in page
