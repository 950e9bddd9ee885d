"""A policy that does not fit the graph, or contradicts itself, is one sentence with its key."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.inspect import inspect_model, kinds_to_decide
from recourse_audit.errors import SettingsError
from recourse_audit.recourse.policy import INCOMING, OTHERS, OUTGOING
from tests.audits import IDS, small_audit
from tests.command import command, one_line
from tests.recourse.worlds import KINDS, policy_of, settings_with, star, town

SAVINGS = {"name": "savings", "step": 500}
LATE = {"name": "late", "step": 1, "integer": True}

NEVER_MATCHES = (
    "recourse.ties[1]: can never match, because recourse.ties[0] matches everything that it does; "
    "put the narrower rule first, or leave one out"
)


DROP: dict[str, Any] = {"kind": "payment", "allow": ["drop"]}
DEBT: dict[str, Any] = {"name": "debt", "step": 0.1}


def ties(*rules: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"ties": list(rules), **more}


def attributes(*rules: Mapping[str, Any]) -> dict[str, Any]:
    return {"attributes": list(rules)}


def implying(name: str, by: float = 0.1) -> dict[str, Any]:
    return attributes({**DEBT, "implies": [{"name": name, "by": by}]})


OUT_OF_RANGE: list[tuple[dict[str, Any], str, str]] = [
    ({"max_changes": 0}, "recourse.max_changes", "at least 1"),
    ({"max_changes": 7}, "recourse.max_changes", "at most 6"),
    ({"options": 0}, "recourse.options", "at least 1"),
    ({"options": 11}, "recourse.options", "at most 10"),
    ({"budget": 0}, "recourse.budget", "at least 1"),
    ({"draws": -1}, "recourse.draws", "at least 0"),
    ({"draws": 10_001}, "recourse.draws", "at most 10000"),
    ({"jitter": -0.1}, "recourse.jitter", "at least 0"),
    ({"jitter": 1.5}, "recourse.jitter", "at most 1"),
    (ties({**DROP, "whose": "mine"}), "recourse.ties[0].whose", "'own', 'outgoing', 'others'"),
    (ties({**DROP, "allow": ["cut"]}), "recourse.ties[0].allow[0]", "'drop', 'add' or 'move'"),
    (ties({**DROP, "to": "all"}), "recourse.ties[0].to", "'near' or 'anyone'"),
    (ties({**DROP, "cost": -1}), "recourse.ties[0].cost", "at least 0"),
    (ties({**DROP, "kindd": "x"}), "recourse.ties[0].kindd", "did you mean kind?"),
    (ties({"kind": "payment"}), "recourse.ties[0].allow", "missing"),
    (ties({**DROP, "allow": ["add"], "together": True}), "recourse.ties[0]", "allow 'drop'"),
    (ties({**DROP, "whose": "any", "together": True}), "recourse.ties[0]", "own ties"),
    (attributes({"name": "debt"}), "recourse.attributes[0]: needs a step", "values (or moves)"),
    (attributes({**DEBT, "step": 0}), "recourse.attributes[0].step", "more than 0"),
    (attributes({**DEBT, "step": float("inf")}), "recourse.attributes[0].step", "finite"),
    (attributes({**DEBT, "cost": -0.5}), "recourse.attributes[0].cost", "at least 0"),
    (attributes({**DEBT, "scale": 0}), "recourse.attributes[0]", "scale"),
    (attributes({**DEBT, "transform": "sqrt"}), "recourse.attributes[0].transform", "'log1p'"),
    (attributes({**DEBT, "min": 2, "max": 1}), "recourse.attributes[0]", "min"),
    (attributes({**DEBT, "integer": True}), "recourse.attributes[0]", "whole number"),
    (attributes(DEBT, {**DEBT, "step": 1}), "recourse.attributes", "'debt'"),
    (attributes({**DEBT, "implies": [{"name": "cards"}]}), "implies[0]", "needs either by"),
    (implying("debt"), "recourse.attributes[0]", "'debt'"),
    (ties({**DROP, "whose": "others", "allow": ["add"]}), "recourse.ties[0]", "two other people"),
    (
        ties({**DROP, "whose": "others", "allow": ["drop", "add"]}),
        "recourse.ties[0]",
        "two other people",
    ),
]


@pytest.mark.parametrize(("recourse", "key", "words"), OUT_OF_RANGE)
def test_a_policy_that_cannot_be_meant_is_refused_with_its_key(
    recourse: dict[str, Any], key: str, words: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        settings_with(**recourse)
    message = str(raised.value)
    assert "\n" not in message
    assert raised.value.exit_code == 2
    assert key in message
    assert words in message


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
            {"attributes": [{**DEBT, "implies": [{"name": "late", "by": 0.4}]}, LATE]},
            "recourse.attributes[0].implies[0].by: moves 'late' by 0.4, but that attribute takes",
        ),
        (
            {"ties": [tie(""), tie("payment")]},
            "recourse.ties[0].kind: there is no kind of tie ''; ",
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
    assert len(str(raised.value)) < 300


def test_a_column_that_is_no_feature_cannot_be_changed() -> None:
    with pytest.raises(
        SettingsError, match=r"'gender' is a column of the nodes but not a feature: the"
    ):
        policy_of(star(), groups=(), attributes=[{**SAVINGS, "name": "gender"}])


def test_a_protected_feature_cannot_be_changed() -> None:
    with pytest.raises(SettingsError, match="'late' is a protected attribute"):
        policy_of(star(), groups=("late",), attributes=[{"name": "late", "step": 1}])


@pytest.mark.parametrize(
    "recourse",
    [
        ties(tie("family", ())),
        ties(tie("payment", ()), never=["payment"]),
        ties(tie("payment"), tie("*"), tie("payment", whose="others")),
        ties(tie("payment", whose="own"), tie("payment", whose="any", cost=3)),
        implying("savings", 0.5),
        {"never": ["family"]},
    ],
)
def test_a_policy_that_is_merely_strict_is_accepted(recourse: dict[str, Any]) -> None:
    assert len(policy_of(star(), **recourse).rules) == max(1, len(recourse.get("ties", ())))


@pytest.mark.parametrize(
    ("recourse", "words"),
    [
        ("max_changes = 0", "recourse.max_changes: must be at least 1 (got 0)"),
        ('candidates = "gone.csv"', "recourse.candidates: "),
        ('ties = [{ kind = "paiment", allow = ["drop"] }]', "recourse.ties[0].kind: there is no"),
        ('attributes = [{ name = "f9", step = 1 }]', "there is no feature 'f9'; choose"),
        ('attributes = [{ name = "gender", step = 1 }]', "'gender' is a protected attribute"),
    ],
)
def test_explain_and_inspect_end_with_2_and_the_same_line(
    recourse: str, words: str, tmp_path: Path
) -> None:
    path = small_audit(tmp_path, old="[search]", new=f"[recourse]\n{recourse}\n[search]")
    finished = [command("explain", path, IDS[0], "--json"), command("inspect", path)]
    assert [one.code for one in finished] == [2, 2]
    [line] = {one_line(one) for one in finished}
    assert line.startswith(f"error: {path}: ")
    assert words in line


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
        ("source,target,colour\na,f,red\n", "'colour'"),
        ("source,target\na,a\n", "line 2: is a tie from a node to itself"),
        (
            "source,to\na,b\n",
            "new.csv: there is no column 'target' (from graph.target); choose from 'source', 'to'",
        ),
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


SORTS = ("address", "bazaar", "grandson", "payment")

REST: dict[str, Any] = {"kind": "*", "allow": ["drop"]}


@pytest.mark.parametrize(
    ("recourse", "undecided"),
    [
        ({}, {"address": True, "bazaar": True, "payment": True}),
        ({"never": ["bazaar"]}, {"address": True, "payment": True}),
        ({"ties": [DROP]}, {"address": False, "bazaar": False}),
        ({"ties": [DROP, REST]}, {"address": True, "bazaar": True}),
        ({"ties": [DROP, {**REST, "allow": []}]}, {"address": False, "bazaar": False}),
        ({"ties": [DROP, {**DROP, "kind": "address"}], "never": ["bazaar"]}, {}),
    ],
)
def test_kinds_that_are_neither_denied_nor_named_are_undecided(
    recourse: dict[str, Any], undecided: dict[str, bool]
) -> None:
    assert kinds_to_decide(settings_with(**recourse), town(kinds=SORTS)) == undecided


def test_inspect_names_them(tmp_path: Path) -> None:
    path = small_audit(tmp_path)
    found = inspect_model(path, None)
    assert found.undecided
    printed = " ".join(command("inspect", path).err.split())
    assert "Kinds of ties that no rule names, which may be suggested now: " in printed
    assert all(repr(kind) in printed for kind in found.undecided)
    assert "or list it in recourse.never." in printed
    assert inspect_model(path.parent / found.name, None).undecided == {}
