"""What the index says and lists, read from the page; and the columns that its script reads."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from recourse_audit.records.bundle import Command, InputFile, ModelDigest
from recourse_audit.records.recourse import STATUSES
from recourse_audit.render.i18n import LANGUAGES, Words
from recourse_audit.render.index import (
    NEEDS,
    Embedded,
    IndexPage,
    Links,
    change_of,
    decimals_of,
    natural,
    need_of,
    value_axis,
)
from recourse_audit.settings import Settings, load_settings
from recourse_audit.settings.letters import AuditSettings
from tests.audits import lending_audit
from tests.render.boards import text_of
from tests.render.indexes import HOSTILE, html_of, page_of, some_subjects
from tests.render.stores import DIGEST, manifest_of, subject
from tests.render.subject_reports import PROBES

ENGLISH = Words("en")
SPACE, MINUS = "\N{NO-BREAK SPACE}", "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return load_settings(lending_audit(tmp_path_factory.mktemp("lending")))


def with_decision(settings: Settings, output: str | None = None, **changes: Any) -> Settings:
    decision = settings.decision.model_copy(update=changes)
    model = settings.model.model_copy(update={"output": output})
    return settings.model_copy(update={"decision": decision, "model": model})


def data_of(page: IndexPage, html: str = "") -> Any:
    """What the script reads."""
    found = re.search(r'id="subjects-data"[^>]*>(.*?)</script>', html or html_of(page), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def rows_of(page: IndexPage) -> list[str]:
    """The rows of the overview: headings, people, and how many more there are."""
    [table] = re.findall(r'<table class="overview".*?</table>', html_of(page), re.DOTALL)
    return [text_of(row) for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)[1:]]


def said(page: IndexPage) -> str:
    return text_of(html_of(page))


def test_people_are_grouped_by_what_has_to_be_done_the_most_urgent_first() -> None:
    page = page_of(some_subjects())
    assert page.counts == {
        "failed": 1,
        "alone": 1,
        "fragile": 1,
        "other": 4,
        "none": 1,
        "open": 1,
        "favourable": 1,
    }
    rows = rows_of(page)
    assert rows[0].startswith("Audit failed: 1 Their pages say why.")
    assert rows[2] == "Approved without ties, no option: 1 Offer a review by a person."
    assert rows[3].startswith("P8 No option: all 80 combinations covered")
    assert [row.split()[0] for row in rows if re.match(r"P\d", row)] == [
        *("P4", "P8", "P9", "P1", "P6", "P7", "P10", "P2", "P5"),
    ]
    assert data_of(page)["id"] == ["P4", "P8", "P9", "P1", "P6", "P7", "P10", "P2", "P3", "P5"]


def test_unfinished_searches_are_one_line_with_the_remedy(settings: Settings) -> None:
    page = page_of(some_subjects(), source={"settings": settings})
    rows = rows_of(page)
    [place] = [n for n, row in enumerate(rows) if row.startswith("Search unfinished: 1")]
    assert rows[place].endswith("limit of 300 queries. Raise recourse.budget and run again.")
    assert rows[place + 1] == "1 more person"


def test_an_overview_has_five_people_of_each_kind_and_leads_to_the_others() -> None:
    page = page_of([subject(f"P{n}") for n in range(52)])
    rows = rows_of(page)
    assert rows[0] == "Has an option: 52"
    assert rows[-1] == "47 more people"
    assert len(rows) == 7
    assert 'href="#need=Has%20an%20option"' in html_of(page)


def test_every_status_is_something_to_do() -> None:
    for status in STATUSES:
        row = subject("A", status=status, cheapest_held=50, most_held=50)
        assert need_of(row) in NEEDS
        assert len(page_of([row]).needs) == 1
    assert len(NEEDS) == len(STATUSES) + 2
    for held, need in ((25, "fragile"), (26, "other"), (None, "other")):
        tests = None if held is None else 50
        assert need_of(subject("A", cheapest_held=held, most_held=held, tests=tests)) == need


def test_rows_say_what_could_change_the_result_or_how_far_the_search_went(
    settings: Settings,
) -> None:
    changes = {2: (("drop", "payment"), ("drop", "payment"), ("raise", "savings"))}
    page = page_of(some_subjects(), source={"cheapest": changes})
    text = " ".join(rows_of(page))
    assert "P1 End 2 payment ties + raise savings (1 of 3 options) 2.0 45 of 50" in text
    assert "P9 1 option 9.5 25 of 50 ▲ fragile" in text
    data = data_of(page)
    assert "Search unfinished: 27 of 80 combinations tried" in data["what"]["words"]
    nothing = subject("A", status="certified_infeasible", options=0, possible=0, tried=0)
    assert "No option: the policy permits no change" in said(page_of([nothing]))
    only = replace(nothing, possible=1)
    assert "No option: the only combination was tried" in said(page_of([only]))
    moved = {0: (("drop", "address"), ("lower", "loan_amount"))}
    own = page_of([subject("A")], source={"cheapest": moved, "settings": settings})
    assert own.changes(own.people[0]) == "move to another address + lower loan amount"


def test_a_row_of_the_store_becomes_a_kind_of_change() -> None:
    assert change_of("drop", "payment", None, None, None) == ("drop", "payment")
    assert change_of("add", "payment", None, None, None) == ("add", "payment")
    assert change_of("set", None, "savings", 1, 2.5) == ("raise", "savings")
    assert change_of("set", None, "savings", 3, 2.5) == ("lower", "savings")
    assert change_of("set", None, "housing", "rent", "own") == ("set", "housing")


def test_how_many_options_stand_tests_is_said_with_its_figures() -> None:
    rows = [
        subject("A", most_held=40, cheapest_held=40),
        subject("B", most_held=39, cheapest_held=20),
        subject("C", most_held=25, cheapest_held=25),
    ]
    assert (
        "Of the 3 people with an option, 1 have one that worked in at least 40 of 50 tests. For 1 "
        "person, every option failed at least half of its tests."
    ) in said(page_of(rows))
    failed = subject("A", status="error", options=0, most_held=None, tests=None)
    assert "For 1 person, the audit failed." in said(page_of([failed]))


def test_filters_are_by_group_kind_of_option_effort_and_answer_without_ties(
    settings: Settings,
) -> None:
    rows = [
        subject("A", cheapest_cost=0.5, favourable_alone=True),
        subject("B", cheapest_cost=3.0, favourable_alone=False),
        subject("C", status="certified_infeasible", options=0, cheapest_cost=None),
    ]
    rows[2] = replace(rows[2], favourable_alone=None)
    source = {
        "settings": settings,
        "cheapest": {0: (("raise", "savings"),), 1: (("drop", "payment"), ("raise", "savings"))},
        "members": {0: {"origin": "south"}, 1: {"origin": "north"}, 2: {"origin": "north"}},
    }
    facets = data_of(page_of(rows, source=source))["facets"]
    assert facets["group.origin"] == {"words": ["North", "South"], "codes": [1, 0, 0]}
    assert facets["group.gender"]["words"] == ["unknown"]
    assert facets["includes"]["words"] == ["raise savings", "stop a standing payment"]
    assert [facets["includes"]["combos"][code] for code in facets["includes"]["codes"]] == [
        *([0], [1, 0], []),
    ]
    assert facets["effort"]["words"] == ["up to 0.5", "up to 1", "up to 2"]
    assert [facets["effort"]["combos"][code] for code in facets["effort"]["codes"]] == [
        *([0, 1, 2], [], []),
    ]
    assert facets["alone"]["words"] == ["approved", "refused", "unknown"]


@pytest.mark.parametrize("level", ["reviewer", "subject"])
def test_only_the_auditors_index_has_ids_and_groups(level: str, settings: Settings) -> None:
    rows = [subject("secret-name"), subject("other-name")]
    links = {n: Links(file=f"{n:06d}", letter=True) for n in range(2)}
    source = {"settings": settings, "members": {0: {"origin": "atlantis"}}}
    options = {"level": level}
    html = html_of(page_of(rows, links, source=source, options=options))
    for hidden in ("-name", "subjects.csv", "atlantis", "group.origin"):
        assert hidden not in html
    if level == "reviewer":
        assert data_of(page_of(rows, links), html)["id"] == ["000000", "000001"]
    else:
        assert "subjects-data" not in html
    assert "atlantis" in html_of(page_of(rows, links, source=source))


def test_an_audit_of_nobody_says_so() -> None:
    text = said(page_of([]))
    assert "All 100 decisions were favourable; there is nothing to audit." in text
    assert "Nobody was audited." in text


def test_without_attributes_the_index_says_that_groups_were_not_compared() -> None:
    html = html_of(page_of(some_subjects()))
    assert "Groups were not compared: audit.toml names no attribute." in html
    assert "groups.html" not in html


def test_the_first_line_says_what_was_audited_for_whom_and_by_whom() -> None:
    audit = AuditSettings(
        title="Lending audit",
        organisation="Sampletown <Savings> Bank",
        purpose="decides on loans",
        data_as_of="2026-09-30",
        auditor="Model risk",
        notice="Sample data: invented people.",
    )
    html = html_of(page_of(some_subjects()), audit)
    assert "<title>Lending audit – Sampletown &lt;Savings&gt; Bank</title>" in html  # noqa: RUF001
    assert (
        "Sample data: invented people. Lending audit Sampletown <Savings> Bank The model decides "
        "on loans Data as of 30 September 2026 Auditor: Model risk At a glance"
    ) in text_of(html)
    assert "<title>Audit</title>" in html_of(page_of(some_subjects()))


@pytest.mark.parametrize(
    ("output", "rule", "wording", "axis"),
    [
        (
            None,
            {},
            "the more probable class wins",
            "Probability: \N{LEFT SINGLE QUOTATION MARK}approved",
        ),
        (
            None,
            {"cut_off": 0.655},
            "approved from a probability of 0.655",
            "Probability: \N{LEFT SINGLE QUOTATION MARK}approved",
        ),
        ("score", {"cut_off": 620.0, "better": "lower"}, "approved up to a score of 620", "Score"),
        (None, {"quota": 300}, "the best 300 by probability are approved", "Distance"),
        (None, {"quota": 0.25}, "the best 25.0% by probability are approved", "Distance"),
        (None, {"classes": ("a", "b", "approved")}, "the more probable class wins", "Distance"),
    ],
)
def test_the_rule_and_what_decisions_go_by_are_said(
    output: str | None, rule: dict[str, Any], wording: str, axis: str, settings: Settings
) -> None:
    ruled = with_decision(settings, output, **rule)
    assert wording in said(page_of([subject("A")], source={"settings": ruled}))
    assert value_axis(ruled, ENGLISH).title.startswith(axis)


def test_values_are_those_of_the_rule_and_margins_where_it_has_no_single_cut_off(
    settings: Settings,
) -> None:
    rows = [subject("A", margin=-0.25), subject("B", margin=-0.5)]
    scores = {0: 0.0001, 1: 0.25}
    page = page_of(rows, source={"settings": settings, "scores": scores})
    assert [page.value(person) for person in page.people] == [f"<{SPACE}0.001", "0.250"]
    ruled = with_decision(settings, quota=10)
    page = page_of(rows, source={"settings": ruled, "scores": scores})
    assert [page.value(person) for person in page.people] == [f"{MINUS}0.250", f"{MINUS}0.500"]


def test_people_are_in_the_order_in_which_a_person_counts() -> None:
    names = ["P10", "p9", "P1", "Q", "", "7", "P1b", "P" + 5000 * "9", "P01"]
    first, *rest = data_of(page_of([subject(name) for name in names]))["id"]
    assert (first, rest[:6]) == ("", ["7", "P1", "P01", "P1b", "p9", "P10"])
    assert natural("P2") < natural("P10") < natural("Q")
    assert [decimals_of(v) for v in ([], [1.0, None], [0.5, 2], [0.25], [0.1234])] == [
        *(0, 0, 1, 2, 3),
    ]


def test_links_are_those_of_the_files_that_there_are() -> None:
    links = {
        0: Links(file="000000-A", letter=True, signed=True, ending="html"),
        1: Links(file="000001-B", letter=True, ending="html"),
    }
    page = page_of([subject("A"), subject("B"), subject("C")], links)
    html = html_of(page)
    data = data_of(page, html)
    assert (data["page"], data["letter"], data["signed"]) == ("110", "110", "100")
    assert 'href="subjects/000000-A.html"' in html
    assert '<a href="../letters/000000-A.html">signed</a>' in html
    assert '<a href="../letters/000001-B.html">draft</a>' in html


def test_what_failed_probes_mean_is_said_first() -> None:
    probes = replace(PROBES, notes={"packing": {}}, packing=False)
    text = said(page_of([subject("A")], probes=probes))
    assert "answer changes with what else is in the query" in text
    assert "Model checks: 4 of 5 passed" in text
    assert "Model checks: 5 of 5 passed" in said(page_of([subject("A")]))


def test_tables_of_several_kinds_are_named_by_kind_and_relation() -> None:
    tables = {"nodes.bank_account": "accounts.csv", "ties.works_at": "jobs.csv"}
    graph = {part: InputFile(file=file, sha256=DIGEST) for part, file in tables.items()}
    inputs = replace(manifest_of([subject("A")]).inputs, graph=graph)
    text = said(page_of([subject("A")], inputs=inputs))
    assert f"Nodes: bank account accounts.csv {DIGEST}" in text
    assert f"Ties: works at ties jobs.csv {DIGEST}" in text


def test_digests_are_of_the_model_graph_settings_store_and_manifest() -> None:
    text = said(page_of([subject("A")], signed_by="c0ffee"))
    for what in ("Model model.onnx", "Ties edges.csv", "Store store.sqlite", "Manifest manifest."):
        assert re.search(rf"{re.escape(what)}\S* {DIGEST}", text), what
    assert "--key KEY.pub" in text
    assert "signed by the key c0ffee" in text
    assert "Preprocessing" not in text
    assert "--key" not in said(page_of([subject("A")]))
    files = {"pipeline.onnx": DIGEST[::-1]}
    pipeline = ModelDigest(sha256=DIGEST[::-1], files=files)
    inputs = replace(manifest_of([subject("A")]).inputs, preprocessing=pipeline)
    assert f"Preprocessing pipeline.onnx {DIGEST[::-1]}" in said(
        page_of([subject("A")], inputs=inputs)
    )


def test_whom_the_audit_was_about_is_said_in_words() -> None:
    command = Command(subjects="all", sample=1200, stratify="age")
    assert (": a random sample of 1,200 of everyone, in proportion to the values of age.") in said(
        page_of([subject("A")], command=command)
    )
    chosen = Command(subjects="city=Bonn", sample=None, stratify="age")
    assert ": those selected by city=Bonn." in said(page_of([subject("A")], command=chosen))
    assert "1 of 101 people in the graph: everyone refused." in said(page_of([subject("A")]))
    hidden = page_of([subject("A")], command=chosen, options={"level": "subject", "sizes": False})
    assert "Too few people to say how many were audited: a selection." in said(hidden)


def test_data_in_a_page_cannot_end_its_element_and_comes_back_whole() -> None:
    text = Embedded(value=list(HOSTILE)).__html__()
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == list(HOSTILE)


def test_twenty_thousand_people_stay_under_four_megabytes() -> None:
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
    links = {n: Links(file=f"{n:06d}-applicant-{n:05d}", letter=True) for n in range(20_000)}
    assert len(html_of(page_of(rows, links)).encode()) < 4_000_000


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_no_english_is_left_in_another_language(language: str, settings: Settings) -> None:
    links = {n: Links(file=f"{n:06d}", letter=True) for n in range(10)}
    source = {"settings": settings, "day": "2026-11-17"}
    page = page_of(some_subjects(), links, language=language, source=source)
    html = html_of(page)
    text = re.sub(r"<style>.*?</style>|<script>.*?</script>|<code>.*?</code>", "", html, flags=re.S)
    for key in ENGLISH.keys:
        for form in ENGLISH.forms(key):
            words = re.sub(r"\{.*?\}", "", form).strip()
            if len(words) > 12 and words not in " ".join(page.words.forms(key)):
                assert words not in text, key
    assert f'<html lang="{language}">' in html
