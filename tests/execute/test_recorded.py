"""Audits of decisions on record: said first, stopped where they are not the model's, left alone."""

import shutil
from pathlib import Path

import pytest

import recourse_audit as ra
from recourse_audit.render.i18n import agreement_sentences
from tests.command import command

SAMPLE = Path(__file__).parents[2] / "sample_models" / "lending_deployed"
# A clerk overruled the model on the first; the second was refused by both.
OVERRULED, REFUSED = "A0006", "A0047"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bank's files, with settings that take less time, and two people to audit."""
    folder = tmp_path_factory.mktemp("bank") / "files"
    shutil.copytree(SAMPLE, folder)
    text = (folder / "audit.toml").read_text(encoding="utf-8")
    text = text.replace("max_nodes = 4", "max_nodes = 3").replace(
        "max_changes = 3", "max_changes = 1"
    )
    groups = 'attributes = ["gender", "age_band"]'
    assert groups in text
    text = text.replace(groups, 'attributes = ["gender"]\nredraws = 100')
    (folder / "audit.toml").write_text(text, encoding="utf-8")
    (folder / "ids.txt").write_text(f"{OVERRULED}\n{REFUSED}\n", encoding="utf-8")
    strict = text.replace(
        'recorded = "decision"', 'recorded = "decision"\nmost_disagreement = 0.01'
    )
    (folder / "strict.toml").write_text(strict, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def bundle(folder: Path) -> ra.Bundle:
    finished = command(
        *("run", folder / "audit.toml", "--out", folder / "out", "--no-pages", "--workers", "1"),
        *("--subjects", folder / "ids.txt"),
    )
    assert finished.code == 0, finished.err
    first, *_ = [line for line in finished.err.splitlines() if "agree" in line]
    assert "agree for 888 of 900" in first
    return ra.open_bundle(folder / "out")


def test_too_much_disagreement_stops_a_run_before_anything_is_written(folder: Path) -> None:
    out = folder / "refused"
    words = ("run", folder / "strict.toml", "--out", out, "--no-pages", "--workers", "1")
    finished = command(*words)
    assert finished.code == 2
    assert "on 12 of 900 people the model does not decide what column 'decision'" in finished.err
    assert "more than the 1.0% that decision.most_disagreement allows" in finished.err
    assert not out.exists()
    told = command(*words, "--subjects", folder / "ids.txt", "--despite-disagreement")
    assert told.code == 0, told.err


def test_whoever_was_refused_on_record_is_selected(folder: Path) -> None:
    """4 of 251 + 4 - 8: those whom a clerk overruled are in, those who got an exception are not."""
    from recourse_audit.audit.large_graphs import whole_answers
    from recourse_audit.audit.load import Selection, load_audit, select_subjects

    audit = load_audit(folder / "audit.toml")
    assert audit.recorded is not None
    answers = whole_answers(audit, audit.recorded)
    subjects = select_subjects(audit, answers, Selection())
    chosen = {*audit.graph.ids[subjects].tolist()}
    assert OVERRULED in chosen
    assert "A0063" not in chosen
    assert len(chosen) == 251 + 4 - 8


def test_no_option_is_promised_where_the_model_disagrees(bundle: ra.Bundle) -> None:
    overruled, refused = bundle[OVERRULED], bundle[REFUSED]
    assert overruled.status == "model_disagrees"
    assert overruled.subject.favourable
    assert overruled.decision.recorded == "denied"
    assert overruled.recourse is not None
    assert not overruled.recourse.options
    assert refused.decision.recorded == "denied" == refused.subject.decision
    assert refused.status in ("verified", "certified_infeasible")


def test_groups_leave_them_out_and_say_so(bundle: ra.Bundle) -> None:
    """Two people are too few for figures, so the store is asked what it would leave out."""
    from recourse_audit.bundle.reader import open_stored_audit
    from recourse_audit.groups.population import DISAGREES, read_population

    with open_stored_audit(bundle.folder) as stored:
        groups = stored.settings.groups
        population = read_population(stored.connection, groups, stored.communities)
    assert population.audited.errors == ()
    assert population.audited.status.tolist()[0] == DISAGREES
    assert population.audited.usable.tolist() == [False, True]
    report = bundle.groups()
    assert report.agreement is not None
    assert (report.agreement.compared, report.agreement.agreeing) == (900, 888)
    assert not report.agreement.examples
    assert not report.agreement.by_group


def test_the_letter_tells_the_decision_on_record_and_offers_nothing(bundle: ra.Bundle) -> None:
    bundle.write_letters(workers=1)
    [letter] = (bundle.folder / "letters").glob(f"*{OVERRULED}.html")
    text = letter.read_text(encoding="utf-8")
    assert "declined" in text
    assert "Option 1" not in text
    assert "0.65" not in text
    assert "We could not complete our check of what could change the result." in " ".join(
        text.split()
    )


def test_the_index_begins_with_the_agreement_and_names_people_to_the_auditor_only(
    bundle: ra.Bundle,
) -> None:
    assert bundle.agreement is not None
    first, *_ = agreement_sentences(bundle.agreement)
    for level, named in (("auditor", True), ("reviewer", False)):
        bundle.write_pages(level=level, workers=1)  # type: ignore[arg-type]
        index = (bundle.folder / "pages" / "index.html").read_text(encoding="utf-8")
        assert first.split("(")[0].strip().replace("'", "&#39;") in index
        assert ("A0070" in index) is named
        assert ("Agreement by gender" in index) is named
