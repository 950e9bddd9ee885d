"""A policy that does not fit the graph, or contradicts itself, is one sentence with its key."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.loaded import load_audit
from recourse_audit.errors import SettingsError
from recourse_audit.recourse.deny_list import is_denied
from recourse_audit.recourse.policy import INCOMING, OTHERS, OUTGOING
from tests.audits import small_audit
from tests.recourse.worlds import KINDS, policy_of, star, town

SAVINGS = {"name": "savings", "step": 500}

NEVER_MATCHES = (
    "recourse.ties[1]: can never match, because recourse.ties[0] matches everything that it does; "
    "put the narrower rule first, or leave one out"
)


def tie(kind: str = "*", allow: tuple[str, ...] = ("drop",), **more: Any) -> dict[str, Any]:
    return {"kind": kind, "allow": list(allow), **more}


@pytest.mark.parametrize(
    ("recourse", "words"),
    [
        (
            {"ties": [tie("guaranter")]},
            "recourse.ties[0].kind: there is no kind of tie 'guaranter'; did you mean 'guarantor'?",
        ),
        (
            {"ties": [tie("family", ())], "never": ["adress"]},
            "recourse.never[0]: there is no kind of tie 'adress'; did you mean 'address'?",
        ),
        (
            {"ties": [tie("payment"), tie("family")]},
            "recourse.ties[1]: allows changes of 'family', a kind that is never suggested",
        ),
        (
            {"ties": [tie("payment")], "never": ["payment"]},
            "recourse.ties[0]: allows changes of 'payment', a kind that is never suggested",
        ),
        (
            {"ties": [tie("*"), tie("payment")]},
            NEVER_MATCHES,
        ),
        (
            {"ties": [tie("payment"), tie("payment", ())]},
            NEVER_MATCHES,
        ),
        (
            {"ties": [tie("payment", whose="any"), tie("payment", whose="others")]},
            NEVER_MATCHES,
        ),
        (
            {"ties": [tie("payment", whose="outgoing"), tie("payment", whose="own")]},
            NEVER_MATCHES,
        ),
        (
            {"attributes": [{**SAVINGS, "name": "saving"}]},
            "recourse.attributes[0].name: there is no feature 'saving'; did you mean 'savings'?",
        ),
        (
            {"attributes": [{**SAVINGS, "name": "gender"}]},
            "recourse.attributes[0].name: 'gender' is a protected attribute",
        ),
        (
            {"attributes": [{**SAVINGS, "implies": [{"name": "dept", "by": 1}]}]},
            "recourse.attributes[0].implies[0].name: there is no feature 'dept'; did you mean",
        ),
        (
            {"attributes": [{**SAVINGS, "implies": [{"name": "gender", "by": 1}]}]},
            "recourse.attributes[0].implies[0].name: 'gender' is a protected attribute",
        ),
        (
            {"attributes": [{**SAVINGS, "step": 0.1}]},
            "recourse.attributes[0].step: 0.1 makes more than 10,000 levels between 1000 and 9000",
        ),
    ],
)
def test_a_policy_that_does_not_fit_is_named_by_its_key(
    recourse: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        policy_of(star(), **recourse)
    assert str(raised.value).startswith(words)
    assert "\n" not in str(raised.value)


def test_a_column_that_is_no_feature_cannot_be_changed() -> None:
    with pytest.raises(
        SettingsError, match=r"'gender' is a column of the nodes but not a feature: the"
    ):
        policy_of(star(), groups=(), attributes=[{**SAVINGS, "name": "gender"}])


def test_a_protected_feature_cannot_be_changed() -> None:
    with pytest.raises(SettingsError, match="'late' is a protected attribute"):
        policy_of(star(), groups=("late",), attributes=[{"name": "late", "step": 1}])


def test_a_wrong_policy_stops_an_audit_before_it_starts(tmp_path: Path) -> None:
    text = "[search]\nmax_nodes = 4"
    more = f'[[recourse.ties]]\nkind = "paiment"\nallow = ["drop"]\n{text}'
    path = small_audit(tmp_path, old=text, new=more)
    with pytest.raises(SettingsError) as raised:
        load_audit(path)
    assert str(raised.value).startswith(f"{path}: recourse.ties[0].kind: there is no kind of tie")


@pytest.mark.parametrize(
    "kind",
    [
        *(
            "family",
            "Family",
            "family_member",
            "FAMILIES",
            "same-household",
            "churches",
            "siblings",
        ),
        *("tradeUnion", "political party", "children", "Doctor of", "health insurance"),
    ],
)
def test_kinds_that_are_never_suggested_are_known_by_their_words(kind: str) -> None:
    assert is_denied(kind)


@pytest.mark.parametrize(
    "kind",
    ["guarantor", "co-borrower", "employer", "address", "payment", "0", "", "reunion", "kind"],
)
def test_other_kinds_are_not(kind: str) -> None:
    assert not is_denied(kind)


def test_without_rules_own_ties_may_be_dropped_at_cost_1() -> None:
    policy = policy_of(star())
    assert policy.drop[:, [OUTGOING, INCOMING]].all()
    assert not policy.drop[:, OTHERS].any()
    assert not policy.add.any()
    assert (policy.cost[:, OUTGOING] == 1).all()
    assert [kind for kind, denied in zip(KINDS, policy.denied, strict=True) if denied] == ["family"]


def test_the_first_rule_that_matches_decides_and_the_rest_is_not_permitted() -> None:
    rules = [tie("payment", ()), tie("address", ("add",), cost=3), tie("*", whose="others")]
    policy = policy_of(star(), ties=rules)
    address, _, guarantor, payment = range(4)
    assert not policy.drop[:, OUTGOING].any()
    assert policy.add[address, OUTGOING]
    assert policy.cost[address, OUTGOING] == 3
    assert policy.drop[[address, guarantor, payment], OTHERS].all()
    assert not policy.add[[guarantor, payment]].any()
    assert policy.rule_for("guarantor", OUTGOING) is None


def test_new_ties_of_a_denied_kind_are_never_permitted_by_a_rule_for_all() -> None:
    policy = policy_of(star(), ties=[tie("*", ("drop", "add"))], never=["payment"])
    assert policy.add[:, OUTGOING].tolist() == [True, False, True, False]


def test_where_ties_have_no_direction_outgoing_means_own() -> None:
    rules = [tie("payment", whose="outgoing")]
    assert policy_of(star(), ties=rules).drop[3, OUTGOING]
    directed = policy_of(town(directed=True), ties=rules)
    assert directed.drop[3, OUTGOING]
    assert not directed.drop[3, INCOMING]
    both = [tie("payment", whose="outgoing"), tie("payment", (), whose="own")]
    assert policy_of(town(directed=True), ties=both).drop[3].tolist() == [True, False, False]


def test_candidates_are_found_from_both_ends(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("source,target,kind\na,f,payment\nb,f,guarantor\n")
    policy = policy_of(star(), tmp_path, candidates="new.csv")
    assert policy.candidates is not None
    assert policy.candidates.of(5).tolist() == [0, 1]
    assert policy.candidates.of(0).tolist() == [0]
    assert policy.candidates.of(3).tolist() == []
    assert policy.candidates.kind is not None
    assert policy.candidates.kind.tolist() == [3, 2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("source,target\na,z\n", "line 2: 'z' in column 'target' is not the id of a node"),
        ("source,target\na,a\n", "line 2: is a tie from a node to itself"),
        ("source,to\na,b\n", "new.csv: there is no column 'target'; choose from 'source', 'to'"),
        (
            "source,target,kind\na,f,payment\na,f,payments\n",
            "line 3: 'payments' is not a kind of tie in the graph; did you mean 'payment'?",
        ),
    ],
)
def test_candidates_that_are_not_in_the_graph_are_named_by_their_row(
    content: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text(content)
    with pytest.raises(SettingsError) as raised:
        policy_of(star(), tmp_path, candidates="new.csv")
    assert str(raised.value).startswith("recourse.candidates: ")
    assert words in str(raised.value)


def test_a_missing_file_of_candidates_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"recourse\.candidates: .*gone\.csv: there is no such"):
        policy_of(star(), tmp_path, candidates="gone.csv")


def test_an_empty_file_of_candidates_permits_no_new_tie(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("source,target\n")
    policy = policy_of(star(), tmp_path, candidates="new.csv")
    assert policy.candidates is not None
    assert all(not len(policy.candidates.of(node)) for node in range(6))
    assert np.array_equal(policy.candidates.starts, np.zeros(7))
