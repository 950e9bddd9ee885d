"""The index as a record: totals that add up, columns, digests, and words for everything."""

import json
from dataclasses import replace

from recourse_audit.records.manifest import Command, ModelDigest
from recourse_audit.records.recourse import STATUSES
from recourse_audit.render.pages.index import index_view
from recourse_audit.render.pages.index_rows import Embedded, Links, decimals_of, natural
from recourse_audit.render.status import STATUS_WORDS
from recourse_audit.render.templates import Templates
from tests.render.indexes import HOSTILE, some_subjects, view_of
from tests.render.stores import DIGEST, manifest_of, subject
from tests.render.subject_reports import PROBES


def test_totals_add_up_to_the_subjects() -> None:
    view = view_of(some_subjects())
    assert [total.count for total in view.totals] == ["1", "5", "2", "1", "1"]
    assert sum(int(total.count) for total in view.totals) == int(view.total) == 10
    assert view.total_share == "100.0 %"
    assert [total.share for total in view.totals] == ["10.0 %", "50.0 %", "20.0 %"] + 2 * ["10.0 %"]


def test_an_audit_of_nobody_has_an_index_without_shares() -> None:
    view = view_of([])
    assert view.lead.startswith("0 subjects of ")
    assert {total.share for total in view.totals} == {"\N{EN DASH}"}
    assert "This audit has no subjects." in Templates().text("scripts/index.js")


def test_subjects_are_in_the_order_in_which_a_person_counts() -> None:
    names = ["P10", "p9", "P1", "Q", "", "7", "P1b", "P" + 5000 * "9", "P01"]
    view = view_of([subject(name) for name in names])
    first, *rest = view.data.value["id"]
    assert (first, rest[:6]) == ("", ["7", "P1", "P01", "P1b", "p9", "P10"])
    assert natural("P2") < natural("P10") < natural("Q")


def test_a_word_is_kept_once_and_only_if_it_occurs() -> None:
    columns = view_of(some_subjects()).data.value
    assert columns["decision"]["words"] == ["approved", "denied", "no decision"]
    assert columns["grade"]["words"] == [
        *("holds", "weakens", "no effect to speak of", "reverses", "not settled", "no grade")
    ]
    statuses = [columns["status"]["words"][code] for code in columns["status"]["codes"]]
    named = dict(zip(columns["id"], statuses, strict=True))
    assert (named["P5"], named["P8"]) == ("already favourable", "certified infeasible")


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
        0: Links(file="000000-A", page=True, letter=True),
        1: Links(file="000001-B", page=True, letter=False),
    }
    view = view_of([subject("A"), subject("B"), subject("C")], links)
    assert (view.data.value["page"], view.data.value["letter"]) == ("110", "100")
    assert [row.page for row in view.plain_rows] == [
        "subjects/000000-A.html",
        "subjects/000001-B.html",
        "",
    ]
    assert [row.letter for row in view.plain_rows] == ["../letters/000000-A.pdf", "", ""]


def test_a_letter_without_a_pdf_is_linked_as_the_page_it_is() -> None:
    links = {0: Links(file="000000-A", page=True, letter=True, ending="html")}
    view = view_of([subject("A")], links)
    assert view.data.value["ending"] == "html"
    assert [(row.letter, row.ending) for row in view.plain_rows] == [
        ("../letters/000000-A.html", "HTML")
    ]


def test_every_status_has_its_words() -> None:
    assert tuple(STATUS_WORDS) == STATUSES
    differing = subject("P0", status="model_disagrees", options=0, cheapest_cost=None)
    totals = view_of([*some_subjects(), differing]).totals
    assert [(total.status, total.meaning) for total in totals] == [
        (words.name, words.meaning) for words in STATUS_WORDS.values()
    ]
    without = view_of(some_subjects()).totals
    assert "model disagrees" not in {total.status for total in without}


def test_what_failed_probes_mean_is_said_first() -> None:
    probes = replace(PROBES, notes={"packing": "Careful\x1b[2J."})
    assert view_of([subject("A")], probes=probes).warnings == ("Careful\\x1b[2J.",)
    assert view_of([subject("A")]).warnings == ()


def test_digests_are_of_the_model_graph_settings_store_and_manifest() -> None:
    rows = [subject("A")]
    manifest = manifest_of(rows, signed_by="c0ffee")
    view = index_view(
        enumerate(rows), manifest=manifest, manifest_digest=DIGEST[::-1], links={}, groups=None
    )
    found = {digest.what: (digest.file, digest.sha256) for digest in view.digests}
    assert found["Model"] == ("model.onnx", DIGEST)
    assert found["Graph, edges"] == ("edges.csv", DIGEST)
    assert found["Store"] == ("store.sqlite", DIGEST)
    assert found["Manifest"] == ("manifest.json", DIGEST[::-1])
    assert "Preprocessing" not in found
    assert "--key" in view.commands[1]
    assert "--key" not in view_of([subject("A")]).commands[1]


def test_the_digest_of_preprocessing_is_among_them() -> None:
    manifest = manifest_of([subject("A")])
    files = {"pipeline.onnx": DIGEST[::-1]}
    pipeline = ModelDigest(sha256=DIGEST[::-1], files=files)
    view = view_of([subject("A")], inputs=replace(manifest.inputs, preprocessing=pipeline))
    found = {digest.what: (digest.file, digest.sha256) for digest in view.digests}
    assert found["Preprocessing"] == ("pipeline.onnx", DIGEST[::-1])


def test_whom_the_audit_was_about_is_said_in_words() -> None:
    command = Command(subjects="all", sample=1200, stratify="age")
    assert view_of([subject("A")], command=command).lead.endswith(
        ": 1,200 drawn from everyone, in proportion to the values of age."
    )
    chosen = Command(subjects="city=Bonn", sample=None, stratify="age")
    assert view_of([subject("A")], command=chosen).lead.endswith(": those selected by city=Bonn.")
    refused = "1 subject of 101 people in the graph: everyone with an unfavourable decision."
    assert view_of([subject("A")]).lead == refused


def test_data_in_a_page_cannot_end_its_element_and_comes_back_whole() -> None:
    text = Embedded(list(HOSTILE)).__html__()
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == list(HOSTILE)


def test_a_list_for_browsers_without_scripts_is_only_made_of_a_few() -> None:
    assert len(view_of([subject(f"P{n}") for n in range(500)]).plain_rows) == 500
    assert view_of([subject(f"P{n}") for n in range(501)]).plain_rows == ()


def test_twenty_thousand_subjects_stay_under_two_megabytes() -> None:
    rows = [
        subject(f"applicant-{n:05d}", margin=-n / 1e6, cheapest_cost=n / 7) for n in range(20_000)
    ]
    links = {
        n: Links(file=f"{n:06d}-applicant-{n:05d}", page=True, letter=True) for n in range(20_000)
    }
    view = view_of(rows, links)
    page = Templates().render("pages/index.html", view=view)
    assert len(page.encode()) < 2_000_000
