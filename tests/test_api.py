"""The two objects of the front door, used as the documentation shows them."""

import doctest
import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import recourse_audit as ra
from recourse_audit.graph.graph import Graph
from recourse_audit.records.groups import GroupReport
from recourse_audit.records.recourse import STATUSES, WhatIf
from recourse_audit.records.subject import SubjectReport
from tests.audits import quick_audit
from tests.command import command, leave_out_pdfs

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("audit")
    quick_audit(place)
    return place


@pytest.fixture(scope="module")
def audit(folder: Path) -> ra.Audit:
    return ra.Audit.from_toml(folder / "audit.toml")


@pytest.fixture(scope="module")
def bundle(audit: ra.Audit, folder: Path) -> ra.Bundle:
    return audit.run(folder / "out", sample=4, workers=0)


def test_the_lines_of_the_documentation_run_as_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "reference" / "library.md").read_text(encoding="utf-8")
    [block] = [part for part in text.split("```python\n")[1:] if "Audit.from_toml" in part]
    code = block.split("```")[0].replace("sample=100", 'subjects="ids.txt"')
    quick_audit(tmp_path)
    (tmp_path / "ids.txt").write_text("P0004\nP0002\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    leave_out_pdfs(monkeypatch)
    exec(code, {})
    assert (tmp_path / "out" / "pages" / "index.html").is_file()
    assert list((tmp_path / "out" / "letters").glob("0*.html"))


def test_an_audit_inspects_explains_and_tries_changes(audit: ra.Audit) -> None:
    found = audit.inspect()
    assert found.probes is not None
    assert found.probes.depth == 2
    assert repr(found).endswith("2 inputs, 2 classes, failed probes: none)")
    assert found.to_dict()["probes"]["depth"] == 2
    assert "edge_index" in (found._repr_html_() or "")
    report = audit.explain("P0004")
    assert isinstance(report, SubjectReport)
    assert report.subject.id == "P0004"
    assert audit.explain_many(["P0002", "P0004"])[1] == report
    tried = audit.what_if("P0004", ["savings=9000"])
    assert isinstance(tried, WhatIf)
    assert audit.explain_many(["P0004"], what_if=["savings=9000"])[0].what_if == tried


def test_a_bundle_gives_back_what_explain_returned(audit: ra.Audit, bundle: ra.Bundle) -> None:
    reports = list(bundle)
    assert len(reports) == len(bundle) == sum(bundle.statuses.values()) == 4
    assert set(bundle.statuses) == set(STATUSES)
    for report in reports:
        assert bundle[report.subject.id] == report == audit.explain(report.subject.id)
    with pytest.raises(ra.AuditError, match="there is no subject 'nobody'; choose from"):
        bundle["nobody"]
    assert ra.open_bundle(bundle.folder)[reports[0].subject.id] == reports[0]


def test_a_bundle_has_groups_pages_letters_tables_and_is_verified(bundle: ra.Bundle) -> None:
    assert isinstance(bundle.groups(), GroupReport)
    assert bundle.write_pages(level="reviewer", workers=1).subjects == 4
    letters = bundle.write_letters(language="de", workers=1)
    assert letters.letters == 4
    page = next((bundle.folder / "letters").glob("0*.html")).read_text(encoding="utf-8")
    assert '<html lang="de"' in page
    assert bundle.verify().problems == ()
    table = bundle.to_arrow()
    assert isinstance(table, pa.Table)
    assert table.num_rows == 4
    assert table.column("id").to_pylist() == [report.subject.id for report in bundle]
    (bundle.folder / "pages" / "index.html").write_text("x", encoding="utf-8")
    assert bundle.verify().problems == ("pages/index.html: was changed",)


def test_a_second_run_says_that_everything_was_done(audit: ra.Audit, bundle: ra.Bundle) -> None:
    assert not bundle.was_finished
    again = audit.run(bundle.folder, sample=4, workers=0)
    assert again.was_finished
    assert again.statuses == bundle.statuses


def test_a_graph_made_in_memory_is_audited_and_is_part_of_what_the_audit_is_of(
    folder: Path, tmp_path: Path
) -> None:
    settings = ra.load_settings(folder / "audit.toml")
    read = ra.read_graph(settings.graph)
    ties = read.ties

    def graph(scale: float) -> Graph:
        return ra.from_arrays(
            read.features * np.float32(scale),
            np.stack((ties.source, ties.target)),
            ids=read.ids.tolist(),
            feature_names=read.feature_names,
            attributes=dict(read.attributes),
            kind=[ties.kinds[kind] for kind in ties.kind.tolist()],
            directed=False,
        )

    same = ra.Audit(settings=settings, graph=graph(1.0))
    from_files = ra.Audit(settings=settings)
    assert same.explain("P0004").counterfactuals == from_files.explain("P0004").counterfactuals
    out = tmp_path / "out"
    same.run(out, sample=1, workers=0)
    assert same.run(out, sample=1, workers=0).was_finished
    other = ra.Audit(settings=settings, graph=graph(1.5))
    with pytest.raises(ra.AuditError, match="holds a different audit: the graph"):
        other.run(out, sample=1, workers=0)


def test_ids_may_be_whole_numbers_as_pyg_has_them(folder: Path) -> None:
    settings = ra.load_settings(folder / "audit.toml")
    read = ra.read_graph(settings.graph)
    ends = np.stack((read.ties.source, read.ties.target))
    table = {
        "model": {"path": settings.model.path},
        "decision": settings.decision.model_dump(include={"classes", "favourable"}),
    }
    graph = ra.from_arrays(read.features, ends)
    numbered = ra.Audit(settings=table, graph=graph)
    report = numbered.explain(26)
    assert report.subject.id == "26"
    assert numbered.explain_many([np.int64(26)]) == [report]
    change = f"{graph.feature_names[0]}=1"
    assert numbered.what_if(26, change) == numbered.what_if("26", [change])
    with pytest.raises(ra.AuditError, match="an id is text or a whole number"):
        numbered.explain(2.5)  # type: ignore[arg-type]
    with pytest.raises(ra.AuditError, match="graph in memory: there is no node with the id"):
        numbered.explain(-1)


def test_one_text_is_one_id_or_one_change(audit: ra.Audit) -> None:
    assert audit.explain_many("P0004") == [audit.explain("P0004")]
    assert audit.what_if("P0004", "savings=9000") == audit.what_if("P0004", ["savings=9000"])
    with pytest.raises(ra.AuditError, match="a change is text"):
        audit.what_if("P0004", [9000])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({}, "settings: model: is missing (and 1 more)"),
        (None, "settings: must be what load_settings returns, or a table"),
        ("audit.toml", "settings: must be what load_settings returns, or a table"),
    ],
)
def test_settings_that_are_none_are_an_audit_error(settings: Any, part: str) -> None:
    with pytest.raises(ra.AuditError) as caught:
        ra.Audit(settings=settings)
    assert part in str(caught.value)


def test_settings_without_files_are_for_a_graph_in_memory(folder: Path, tmp_path: Path) -> None:
    whole = ra.load_settings(folder / "audit.toml")
    graph = ra.read_graph(whole.graph)
    settings = ra.Settings(model=whole.model, decision=whole.decision)
    audit = ra.Audit(settings=settings, graph=graph)
    bundle = audit.run(tmp_path / "out", sample=1, workers=0)
    assert ra.open_bundle(bundle.folder).verify().problems == ()
    assert bundle.write_pages(workers=1).subjects == 1
    assert bundle.write_letters(workers=1).letters == 1
    with pytest.raises(ra.AuditError, match="needs exactly one of nodes"):
        ra.Audit(settings=settings)


def test_the_examples_of_the_documentation_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in (
        "",
        ".api",
        ".graph.graphml",
        ".graph.arrays",
        ".graph.readers",
        ".settings",
        ".testing",
    ):
        outcome = doctest.testmod(import_module(f"recourse_audit{name}"))
        assert outcome.attempted >= 2
        assert outcome.failed == 0


def test_records_show_themselves(audit: ra.Audit, bundle: ra.Bundle) -> None:
    report = audit.explain("P0004")
    assert repr(report).startswith("SubjectReport('P0004': denied")
    assert "P0004" in (report._repr_html_() or "")
    assert report.to_dict()["subject"]["id"] == "P0004"
    assert repr(bundle) == f"Bundle({str(bundle.folder)!r}, 4 subjects)"
    assert repr(audit).startswith("Audit(")
    html = bundle.groups()._repr_html_()
    assert html is not None
    assert "origin" in html


def test_only_a_dozen_names_are_public_and_each_has_a_docstring() -> None:
    assert len(ra.__all__) == 12
    assert dir(ra) == sorted(ra.__all__)
    for name in ra.__all__:
        assert inspect.getdoc(getattr(ra, name)), name
    with pytest.raises(AttributeError, match="no attribute 'run_audit'"):
        ra.run_audit  # noqa: B018


def test_what_the_command_prints_is_what_the_library_returns(folder: Path, audit: ra.Audit) -> None:
    shown = command("explain", folder / "audit.toml", "P0004", "--json").document
    assert shown == audit.explain("P0004").to_dict()
