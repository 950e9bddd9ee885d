"""The demo shows everything in a folder of its own, and touches nobody else's."""

from pathlib import Path

import pytest

from recourse_audit.cli.demo import MARK_TEXT
from tests.audits import small_package
from tests.command import command, leave_out_pdfs, one_line


def check_demo(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo runs in an empty folder, and again over itself."""
    folder.mkdir()
    first = command("demo", "--out", folder)
    assert first.code == 0, first.err
    assert (folder / "audit.toml").is_file()
    assert f"recourse-audit explain {folder / 'audit.toml'} ID" in first.err
    assert list((folder / "bundle" / "letters").glob("*.pdf"))
    (folder / "nodes.csv").write_text("spoilt", encoding="utf-8")
    leave_out_pdfs(monkeypatch)
    again = command("demo", "--out", folder)
    assert again.code == 0, again.err
    assert again.out == first.out
    assert command("verify", folder / "bundle").code == 0
    assert "Model checks: 5 of 5 passed." in first.out
    assert first.out.count(": refused. On their own data alone, ") == 2
    assert first.out.count("did not necessarily cause it.") == 2
    index = folder / "bundle" / "pages" / "index.html"
    assert f"Open {index} in a browser" in first.err
    assert index.is_file()


@pytest.fixture(autouse=True)
def _two_people_and_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recourse_audit.cli.demo.DEMO_AUDIT", 2)
    monkeypatch.setattr("os.cpu_count", lambda: 1)


def test_the_demo_runs_in_an_empty_folder_and_again_over_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recourse_audit.testing.PACKAGE", small_package(tmp_path))
    check_demo(tmp_path / "demo", monkeypatch)


@pytest.mark.long
def test_the_demo_runs_on_the_sample_that_is_delivered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_demo(tmp_path / "demo", monkeypatch)


def test_the_demo_of_several_kinds_audits_people_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_pdfs(monkeypatch)
    monkeypatch.chdir(tmp_path)
    finished = command("demo", "--sample", "hiring")
    assert finished.code == 0, finished.err
    folder = tmp_path / "recourse-audit-demo-hiring"
    assert (folder / "audit.toml").is_file()
    assert "a model of 3 kinds of nodes (person, employer, school)" in " ".join(
        finished.out.split()
    )
    assert "Work for another employer" in finished.out
    assert "recourse-audit inspect recourse-audit-demo-hiring/rgcn.toml" in finished.err
    assert command("verify", folder / "bundle").code == 0
    pages = [path.name for path in (folder / "bundle" / "letters").glob("0*.html")]
    assert len(pages) == 2
    assert all("employer" not in name and "school" not in name for name in pages)


def test_a_foreign_folder_is_left_alone_also_one_with_an_audit_in_it(tmp_path: Path) -> None:
    (tmp_path / "audit.toml").write_text("mine", encoding="utf-8")
    refused = command("demo", "--out", tmp_path)
    assert refused.code == 2
    assert one_line(refused).startswith(
        f"error: {tmp_path}: already exists and is not an earlier demo"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["audit.toml"]
    assert (tmp_path / "audit.toml").read_text(encoding="utf-8") == "mine"


def test_the_demo_of_one_sample_does_not_replace_that_of_another(tmp_path: Path) -> None:
    (tmp_path / "DEMO.txt").write_text(MARK_TEXT.format(""), encoding="utf-8")
    refused = command("demo", "--sample", "hiring", "--out", tmp_path)
    assert refused.code == 2
    assert "is not an earlier demo of hiring; choose another --out" in one_line(refused)
    assert [path.name for path in tmp_path.iterdir()] == ["DEMO.txt"]


def test_a_sample_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    refused = command("demo", "--sample", "housing", "--out", tmp_path / "out")
    assert refused.code == 2
    assert "'housing' is not one of 'lending', 'hiring'" in refused.err
    assert not (tmp_path / "out").exists()


def test_a_file_is_no_place_for_a_demo(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    for out in (file, file / "below"):
        assert command("demo", "--out", out).code == 2
    assert file.read_text(encoding="utf-8") == "mine"
