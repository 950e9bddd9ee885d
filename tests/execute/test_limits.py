"""A query that takes too long or too much in a worker costs its own subject, and nobody else."""

import csv
from pathlib import Path

import pytest

from recourse_audit.audit.load import Selection
from recourse_audit.bundle.reader import open_stored_audit
from tests.audits import quick_audit
from tests.bundles import Remembered, processes, request_for, run_here
from tests.onnx_models import sprung_network

MARK = 77.0
# Two people of whom neither is near the other, and the one who is marked.
MARKED, OTHERS = "P0903", ("P0002", "P0003")
REASONS = {
    "endless": "within 2 seconds; if it is only slow, allow more with model.timeout",
    "deaf": "a query took longer than model.timeout, and the model could not be stopped",
    "hungry": "than 1,024 MB (model.memory); if it is only large, allow more",
}


def trapped_audit(folder: Path, trap: str) -> Path:
    """The lending sample with a model that is sound for everybody but one."""
    settings = quick_audit(folder, whole=True)
    with (folder / "nodes.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    place = header.index("open_accounts")
    for row in rows:
        row[place] = str(MARK) if row[0] == MARKED else row[place]
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    sprung_network(folder / "gcn.onnx", trap, mark=MARK, people=len(rows))
    limits = 'path = "gcn.onnx"\ntimeout = 2\nmemory = "1 GB"'
    text = settings.read_text(encoding="utf-8").replace('path = "gcn.onnx"', limits)
    text = text.replace('attributes = ["origin"]', "attributes = []")
    settings.write_text(text, encoding="utf-8")
    return settings


@pytest.mark.parametrize("trap", REASONS)
def test_a_query_past_its_limit_in_a_worker_is_the_error_of_its_subject(
    trap: str, tmp_path: Path
) -> None:
    settings = trapped_audit(tmp_path, trap)
    listed = tmp_path / "ids.txt"
    listed.write_text("\n".join((MARKED, *OTHERS)), encoding="utf-8")
    asked = request_for(settings, tmp_path / "bundle", Selection(subjects=str(listed)))
    assert asked.audit.probes.failed == ()
    progress = Remembered()
    summary = run_here(asked, progress, processes(1))
    assert summary.statuses["error"] == 1
    with open_stored_audit(tmp_path / "bundle") as stored:
        problems = {one.report.subject.id: one.report.problem for one in stored.results()}
    assert REASONS[trap] in problems.pop(MARKED)
    assert problems == dict.fromkeys(OTHERS, "")
