"""Whom an audit is about, as the user says it."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit, Selection, load_audit, select_subjects
from recourse_audit.audit.population import group_values
from recourse_audit.errors import InputError
from recourse_audit.graph.graph import Floats
from recourse_audit.settings import GroupSettings
from tests.audits import quick_audit


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> LoadedAudit:
    return load_audit(quick_audit(tmp_path_factory.mktemp("audit")))


@pytest.fixture(scope="module")
def answers(audit: LoadedAudit) -> Floats:
    return whole_answers(audit, np.arange(audit.graph.node_count))


def ids(audit: LoadedAudit, answers: Floats, selection: Selection) -> list[str]:
    return [str(audit.graph.ids[number]) for number in select_subjects(audit, answers, selection)]


def test_everybody_or_those_refused(audit: LoadedAudit, answers: Floats) -> None:
    assert len(select_subjects(audit, answers, Selection(subjects="all"))) == audit.graph.node_count
    refused = select_subjects(audit, answers, Selection())
    assert refused.tolist() == np.flatnonzero(answers.argmax(axis=1) == 0).tolist()


def test_whoever_got_no_number_is_among_those_refused(audit: LoadedAudit, answers: Floats) -> None:
    broken = answers.copy()
    favoured = int(np.flatnonzero(answers.argmax(axis=1) == 1)[0])
    broken[favoured] = np.nan
    assert favoured in select_subjects(audit, broken, Selection())


def test_a_group_by_attribute_and_value(audit: LoadedAudit, answers: Floats) -> None:
    chosen = select_subjects(audit, answers, Selection(subjects="gender=woman"))
    values = np.array(group_values(audit.graph, "gender"))
    assert chosen.tolist() == np.flatnonzero(values == "woman").tolist()
    assert len(chosen)


def test_a_bin_is_a_group_to_select(audit: LoadedAudit, answers: Floats) -> None:
    groups = GroupSettings(attributes=("income",), bins={"income": (40_000.0,)})
    binned = replace(audit, settings=audit.settings.model_copy(update={"groups": groups}))
    chosen = select_subjects(binned, answers, Selection(subjects="income=40000 and over"))
    income = audit.graph.features[:, audit.graph.feature_names.index("income")]
    assert chosen.tolist() == np.flatnonzero(income >= 40_000).tolist()
    assert 0 < len(chosen) < audit.graph.node_count


@pytest.mark.parametrize("name", ["ids.txt", "ids.csv"])
def test_a_file_of_ids_in_any_order_also_twice(
    name: str, audit: LoadedAudit, answers: Floats, tmp_path: Path
) -> None:
    path = tmp_path / name
    head = "id,other\n" if name.endswith("csv") else "\n"
    tail = ",x\n" if name.endswith("csv") else "\n"
    path.write_text(head + tail.join(["P0004", "P0001", "P0004", ""]), encoding="utf-8")
    assert ids(audit, answers, Selection(subjects=str(path))) == ["P0001", "P0004"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("P0001\nnobody\nnone\n", r"no node with the ids 'nobody', 'none'; correct them"),
        ("\n".join(f"x{n}" for n in range(9)), r"'x0', 'x1', 'x2', 'x3', 'x4' \(and 4 more\)"),
        ("", "there is nobody to audit"),
    ],
)
def test_unknown_ids_in_a_file_are_named(
    content: str, words: str, audit: LoadedAudit, answers: Floats, tmp_path: Path
) -> None:
    path = tmp_path / "ids.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        select_subjects(audit, answers, Selection(subjects=str(path)))


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (Selection(subjects="gone.txt"), "gone.txt: there is no such file; --subjects takes all"),
        (Selection(subjects="gendr=woman"), "no column 'gendr'; did you mean 'gender'"),
        (
            Selection(subjects="gender=womann"),
            "nobody's 'gender' is 'womann'; did you mean 'woman'",
        ),
        (Selection(stratify="gender"), "--stratify needs --sample N"),
        (Selection(sample=5, stratify="gendr"), "--stratify: the nodes have no column 'gendr'"),
    ],
)
def test_what_selects_nobody_is_refused(
    selection: Selection, words: str, audit: LoadedAudit, answers: Floats
) -> None:
    with pytest.raises(InputError, match=words):
        select_subjects(audit, answers, selection)


def test_a_sample_is_seeded_and_in_proportion(audit: LoadedAudit, answers: Floats) -> None:
    drawn = select_subjects(audit, answers, Selection(sample=50))
    assert len(set(drawn.tolist())) == 50
    assert drawn.tolist() == select_subjects(audit, answers, Selection(sample=50)).tolist()
    everybody = select_subjects(audit, answers, Selection())
    assert select_subjects(audit, answers, Selection(sample=10_000)).tolist() == everybody.tolist()
    values = group_values(audit.graph, "age_band")
    strata = select_subjects(audit, answers, Selection(sample=60, stratify="age_band"))
    assert len(strata) == 60
    found = Counter(values[number] for number in strata)
    whole = Counter(values[number] for number in everybody)
    assert set(found) == set(whole)
    for name, count in whole.items():
        assert abs(found[name] - 60 * count / len(everybody)) <= 1.5
