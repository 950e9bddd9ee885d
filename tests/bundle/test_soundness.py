"""Odd values in stores and checkpoints end in one sentence, whichever command reads them."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.audits import quick_audit
from tests.bundles import contents, request, run_here, words_for
from tests.command import command, one_line
from tests.fuzz.worlds import Interrupted, seal_again

SAMPLE = 4
# A statement, and the reason that is given.
EVERYWHERE = {
    "INSERT INTO meta VALUES (x'00', 'a')": "the table meta holds an impossible value",
    "UPDATE meta SET value = x'7b7d'": "the table meta holds an impossible value",
    "UPDATE people SET id = x'ff' WHERE number = 3": "table people holds an impossible value",
    "UPDATE people SET favourable = 2 WHERE number = 3": "table people holds an impossible value",
    "UPDATE people SET community = 1 << 62 WHERE number = 3": "is about people that are not there",
    "UPDATE people SET community = 'a' WHERE number = 3": "table people holds an impossible value",
    "DELETE FROM people WHERE number = 3": "people are missing",
    "UPDATE members SET person = -1 WHERE person = 3": "table members holds an impossible value",
    "UPDATE members SET person = 9999 WHERE person = 3": "is about people that are not there",
    "DELETE FROM members WHERE person = 3": "not everybody has a value of ",
    "INSERT INTO members SELECT number, 'x', '' FROM people": "'x' is no protected attribute",
    "UPDATE ties SET pairs = substr(pairs, 2)": "the table ties holds an impossible value",
    "UPDATE ties SET pairs = 'tied'": "the table ties holds an impossible value",
    "DROP TABLE members": "no such table: members",
    "DROP TABLE ties": "no such table: ties",
    "ALTER TABLE people DROP COLUMN decision": "the table people is another",
}
IN_STORES = {
    "UPDATE subjects SET status = 'granted'": "the table subjects holds an impossible value",
    "UPDATE subjects SET caveat_grade = 'x'": "the table subjects holds an impossible value",
    "UPDATE subjects SET margin = 9e999": "the table subjects holds an impossible value",
    "UPDATE subjects SET id = 'x'": "the table subjects is about people that are not there",
    "UPDATE subjects SET status = 'verified', cheapest_cost = NULL": "holds an impossible value",
    "UPDATE probabilities SET probability = 2": "the table probabilities holds an impossible value",
}
IN_CHECKPOINTS = {
    "UPDATE results SET document = x'00'": "the table results holds an impossible value",
    "UPDATE results SET document = '{}'": "it was changed since it was written",
    "UPDATE results SET chunk = 99": "the table results is about chunks that are not there",
    "DELETE FROM planned": "the table results is about planned that are not there",
    "UPDATE chunks SET content = 1.5": "it was changed since it was written",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("audit")
    quick_audit(place)
    settings = place / "audit.toml"
    text = settings.read_text(encoding="utf-8")
    named = text.replace("[groups]", '[groups]\ncommunities = "community"')
    assert named != text
    settings.write_text(named, encoding="utf-8")
    run_here(request(place, place / "bundle", sample=SAMPLE))
    with pytest.raises(KeyboardInterrupt):
        run_here(request(place, place / "unfinished", sample=SAMPLE), executor=Interrupted())
    return place


def changed(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()


@pytest.mark.parametrize(("statement", "reason"), (EVERYWHERE | IN_STORES).items())
def test_an_odd_store_is_refused_in_one_sentence(
    statement: str, reason: str, folder: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(folder / "bundle", tmp_path / "bundle")
    changed(out / "store.sqlite", statement)
    seal_again(out)
    before = contents(out)
    for words in (("groups", out), ("letters", out, "--workers", "1")):
        finished = command(*words)
        assert finished.code == 2, words
        assert f"{out}/store.sqlite: is damaged (" in one_line(finished)
        assert reason in one_line(finished)
    assert command("verify", out).code == 5
    assert contents(out) == before


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE ties SET pairs = x'05000000ffff0000'", "ties between people who are not there"),
        ("UPDATE ties SET pairs = x'05000000ffffffff'", "ties between people who are not there"),
        ("UPDATE ties SET pairs = x'0500000003000000'", "ties between people who are not there"),
        ("UPDATE people SET community = NULL", "nobody's community"),
        ("UPDATE people SET community = NULL WHERE number = 3", "nobody's community"),
    ],
)
def test_ties_and_communities_that_cannot_be_are_refused_in_one_sentence(
    statement: str, reason: str, folder: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(folder / "unfinished", tmp_path / "bundle")
    changed(out / "work" / "work.sqlite", statement)
    before = contents(out)
    finished = command("groups", out)
    assert finished.code == 2
    assert f"{out}: the store holds " in one_line(finished)
    assert reason in one_line(finished)
    assert contents(out) == before


@pytest.mark.parametrize(("statement", "reason"), (EVERYWHERE | IN_CHECKPOINTS).items())
def test_an_odd_checkpoint_is_refused_in_one_sentence(
    statement: str, reason: str, folder: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(folder / "unfinished", tmp_path / "bundle")
    changed(out / "work" / "work.sqlite", statement)
    before = contents(out)
    for words in (("groups", out), ("letters", out), words_for(folder, out, SAMPLE)):
        finished = command(*words)
        assert finished.code == 2, words
        assert f"{out}: the checkpoint of finished work " in one_line(finished)
        assert reason in one_line(finished)
    assert contents(out) == before


@pytest.mark.parametrize("database", ["bundle/store.sqlite", "unfinished/work/work.sqlite"])
def test_a_schema_that_is_no_text_is_refused_in_one_sentence(
    database: str, folder: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(folder / Path(database).parts[0], tmp_path / "bundle")
    file = out.joinpath(*Path(database).parts[1:])
    content = file.read_bytes()
    assert b"WITHOUT ROWID" in content
    file.write_bytes(content.replace(b"WITHOUT ROWID", b"WITHOUT\xa0ROWID"))
    if file.name == "store.sqlite":
        seal_again(out)
    before = contents(out)
    for words in (("groups", out), ("letters", out, "--workers", "1")):
        finished = command(*words)
        assert finished.code == 2, words
        assert "damaged" in one_line(finished) or "cannot be read" in one_line(finished)
    assert contents(out) == before
