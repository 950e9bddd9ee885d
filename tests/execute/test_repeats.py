"""A model that now and then answers differently passes the probe, and is found by its repeats."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import load_audit
from recourse_audit.audit.own_data import OwnDataReports
from recourse_audit.audit.report import ask_twice, explain
from recourse_audit.bundle.manifest import read_manifest
from recourse_audit.bundle.reader import open_stored_audit
from recourse_audit.model.batching import Repeater
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.records.model import Repeats
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.write_pages import PageOptions, write_pages
from tests.audits import quick_audit
from tests.bundles import contents, processes, request, run_here
from tests.command import command
from tests.onnx_models import sum_network

SEED = 41
LOUD = "THE MODEL IS NOT DETERMINISTIC: "


def audit_of(folder: Path, *, trap: str | None, share: float = 0.4) -> Path:
    """The lending sample with another model, sound but for the trap."""
    folder.mkdir(exist_ok=True)
    settings = quick_audit(folder)
    sum_network(folder / "gcn.onnx", features=7, classes=2, scale=1e-4, seed=2, trap=trap)
    text = settings.read_text(encoding="utf-8").replace("[model]", f"[model]\nrepeat = {share}")
    settings.write_text(text, encoding="utf-8")
    return settings


def reports_in(bundle: Path) -> list[SubjectReport]:
    with open_stored_audit(bundle) as stored:
        return [result.report for result in stored.results()]


@pytest.fixture(scope="module")
def flipping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished audit of a model that flips; the probe's random numbers are always the same."""
    folder = tmp_path_factory.mktemp("flipping")
    audit_of(folder, trap="flips")
    onnxruntime.set_seed(4)
    asked = request(folder, folder / "bundle", sample=8, seed=SEED)
    assert asked.audit.probes.deterministic, "the probe does not see it"
    run_here(asked)
    return folder


def test_repeats_find_a_model_that_flips_and_it_is_said_first(flipping: Path) -> None:
    manifest = read_manifest(flipping / "bundle")
    found, reports = manifest.counts.repeats, reports_in(flipping / "bundle")
    assert 0 < found.differed < found.calls
    assert 0 < found.largest <= 1
    assert found == Repeats(
        calls=sum(one.repeats.calls for one in reports),
        differed=sum(one.repeats.differed for one in reports),
        largest=max(one.repeats.largest for one in reports),
    )
    code, figures = next(iter(manifest.probes.notes.items()))
    assert (code, figures) == ("repeats", found.to_dict())
    for one in reports:
        assert ("repeats" in one.probes.notes) == bool(one.repeats.differed)


def test_pages_and_the_terminal_say_so(flipping: Path) -> None:
    write_pages(flipping / "bundle", PageOptions())
    index = (flipping / "bundle" / "pages" / "index.html").read_text(encoding="utf-8")
    assert LOUD in index.split("</header>")[0]
    onnxruntime.set_seed(4)
    words = ("--no-pages", "--sample", "8", "--seed", str(SEED), "--out", flipping / "bundle")
    done = command("run", flipping / "audit.toml", *words)
    assert done.code == 0
    assert f"! {LOUD}" in done.err
    assert "with a different answer" in " ".join(done.err.split())


def test_the_same_bytes_whoever_does_the_work(flipping: Path) -> None:
    onnxruntime.set_seed(4)
    asked = request(flipping, flipping / "again", sample=8, seed=SEED)
    run_here(asked, executor=processes(1))
    ours = contents(flipping / "again")
    assert ours == {name: contents(flipping / "bundle")[name] for name in ours}


def test_a_sound_model_is_asked_twice_and_nothing_is_said(tmp_path: Path) -> None:
    audit_of(tmp_path, trap=None)
    run_here(request(tmp_path, tmp_path / "bundle", sample=8, seed=SEED))
    manifest = read_manifest(tmp_path / "bundle")
    assert manifest.counts.repeats.calls > 0
    assert manifest.counts.repeats.differed == 0
    assert manifest.probes.notes == {}


def test_repeats_count_as_queries_and_change_nothing_else(tmp_path: Path) -> None:
    found = {}
    for share in (0.0, 1.0):
        settings = audit_of(tmp_path / str(share), trap=None, share=share)
        audit = load_audit(settings, seed=SEED)
        everybody = np.arange(audit.graph.node_count)
        answers = whole_answers(audit, everybody)
        refused = audit.graph.ids[~audit.rule.over(answers).favourable(answers, everybody)]
        found[share] = explain(audit, refused[:2].tolist())
        decisions = audit.rule.over(answers)
        edited = EditedGraph(audit.graph, audit.batcher, audit.probes, decisions)
        shared_by_all = OwnDataReports(audit, edited).queries
    for once, twice in zip(found[0.0], found[1.0], strict=True):
        assert once.repeats == Repeats()
        assert twice.repeats.calls > 0
        assert once.search is not None
        # Of what subjects share, only the whole graph was asked about twice.
        assert once.recourse is not None
        shared = once.search.queries + shared_by_all + len(once.recourse.options)
        assert twice.queries - shared == 2 * (once.queries - shared) + 1
        assert (once.recourse, once.caveats) == (twice.recourse, twice.caveats)


def test_a_whole_graph_that_gets_two_answers_is_noted_first(tmp_path: Path) -> None:
    onnxruntime.set_seed(4)
    audit = load_audit(audit_of(tmp_path, trap="flips"))
    everybody = np.arange(audit.graph.node_count)
    tries = [ask_twice(audit, everybody)[0].probes.notes for _ in range(200)]
    noted = [notes for notes in tries if notes != audit.probes.notes]
    assert 0 < len(noted) < len(tries)
    for notes in noted:
        first, *rest = notes
        assert first == "whole_graph"
        assert rest == [*audit.probes.notes]


def test_a_draw_depends_on_the_seed_and_the_subject_alone() -> None:
    def drawn(repeater: Repeater, subject: int) -> list[bool]:
        with repeater.working_on(subject):
            return [repeater.wants() for _ in range(4000)]

    first, other = Repeater(0.02, 7), Repeater(0.02, 7)
    assert drawn(other, 3) == drawn(first, 3)
    assert drawn(first, 4) != drawn(first, 3)
    assert drawn(Repeater(0.02, 8), 3) != drawn(first, 3)
    assert 40 < sum(drawn(first, 3)) < 130
    assert not first.wants(), "outside, a query is for several subjects"
    assert not any(drawn(Repeater(0.0, 7), 3))
