"""Categories, conditions and formulas in a policy: what is refused, and what is checked again."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit
from recourse_audit.audit.report import recourse_search, try_by_hand
from recourse_audit.errors import InputError, SettingsError
from recourse_audit.graph.graph import Floats
from recourse_audit.records.recourse import SetAction, forbid
from recourse_audit.recourse.policy import Policy
from recourse_audit.settings import Settings, parse_settings
from tests.recourse.raw_worlds import CONDITIONS, RawWorld, Truth, raw_world
from tests.recourse.worlds import reasons

JOB = {"name": "job", "values": ["clerk", "boss"], "cost": 2.0}
INCOME = {"name": "income", "step": 1.0, "direction": "up"}


def with_rules(*rules: dict[str, Any], conditions: Sequence[Any] = (), seed: int = 3) -> RawWorld:
    return replace(raw_world(seed), rules=rules, conditions=tuple(conditions), max_changes=2)


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> LoadedAudit:
    return with_rules(JOB, INCOME).open(tmp_path_factory.mktemp("audit"))


def opened(audit: LoadedAudit, groups: Sequence[str] = ("team",), **recourse: Any) -> Policy:
    """The policy of the same graph with other rules and other protected attributes."""
    table = audit.settings.model_dump(by_alias=True)
    table |= {"groups": {"attributes": list(groups)}}
    keep = {"not_protected": audit.settings.recourse.not_protected, "max_changes": 2}
    table["recourse"] = {**keep, **recourse}
    settings: Settings = parse_settings(table, folder=Path(), origin="audit.toml")
    return Policy(settings, audit.graph)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": "job"}, "recourse.attributes[0]: needs a step, if it is a number, or values"),
    ({**JOB, "values": ["cleric"]}, "values[0]: 'cleric' is not a value of 'job'; did you mean"),
    ({"name": "job", "moves": [["none", "chief"]]}, "moves[0].to: 'chief' is not a value of"),
    ({"name": "job", "moves": [["idle", "boss"]]}, "moves[0].from: 'idle' is not a value of"),
    ({"name": "job", "moves": [["none"]]}, "moves[0]: must be [from, to]"),
    ({"name": "job", "moves": [["boss", "boss"]]}, "moves[0]: must lead to another category"),
    ({**JOB, "moves": [["boss", "none"]]}, "moves lead to 'none', which is not among values"),
    ({**JOB, "direction": "up"}, "direction is about a number"),
    ({**JOB, "cost_in": "percentile"}, "cost_in is about a number"),
    ({"name": "job", "step": 1}, "'job' is a category, so it needs values (or moves), not a step"),
    ({"name": "income", "values": ["1"]}, "'income' holds numbers, so it needs a step"),
    ({"name": "ratio", "step": 1}, "'ratio' is computed from 'debt' and 'income'"),
    ({"name": "job_boss", "step": 1}, "'job_boss' is computed from 'job' (graph.encodings[0])"),
    ({"name": "score_band", "values": ["under 2"]}, "'score_band' is computed from 'score'"),
    ({**INCOME, "implies": [{"name": "gap", "by": 1}]}, "'gap' is computed from 'income'"),
    ({**INCOME, "implies": [{"name": "job", "by": 1}]}, "implies[0].by: 'job' is a category"),
    ({**INCOME, "implies": [{"name": "debt", "to": "x"}]}, "implies[0].to: 'debt' holds numbers"),
    ({**INCOME, "implies": [{"name": "job", "to": "x"}]}, "implies[0].to: 'x' is not a value of"),
    ({**INCOME, "implies": [{"name": "job"}]}, "implies[0]: needs either by (of a number) or to"),
]


@pytest.mark.parametrize(("rule", "words"), REFUSED)
def test_a_rule_that_cannot_be_meant_is_refused_with_its_key(
    rule: dict[str, Any], words: str, audit: LoadedAudit
) -> None:
    with pytest.raises(SettingsError) as error:
        opened(audit, attributes=[rule])
    assert words in str(error.value)
    assert "recourse.attributes[0]" in str(error.value)


CONDITIONS_REFUSED = [
    ({"then": "wealth > 1"}, "conditions[0].then: the nodes have no column 'wealth'"),
    ({"then": 'job = "chief"'}, "'chief' is not a value of 'job'"),
    ({"then": "job > 1"}, "'job' is a category and is compared with something else"),
    ({"then": 'income = "much"'}, "'income' is a number and is compared with something else"),
    ({"then": 'job < "boss"'}, "'job' is a category, which is neither less nor more"),
    ({"if": "exec(1) = 1", "then": "income > 1"}, "conditions[0].if: cannot be read; a condition"),
    ({"then": "income"}, "conditions[0].then: has no comparison where one is needed"),
    ({"when": "income > 1", "then": "income > 1", "than": 1}, "than: is not a known key"),
]


@pytest.mark.parametrize(("condition", "words"), CONDITIONS_REFUSED)
def test_a_condition_that_cannot_be_meant_is_refused_with_its_key(
    condition: dict[str, str], words: str, audit: LoadedAudit
) -> None:
    with pytest.raises(SettingsError) as error:
        opened(audit, attributes=[JOB], conditions=[condition])
    assert words in str(error.value)


PROTECTED: list[tuple[str, dict[str, Any], str]] = [
    ("job", JOB, "'job' is a protected attribute"),
    ("job_boss", JOB, "the protected attribute 'job_boss' follows from 'job'"),
    ("job", {"name": "job_boss", "step": 1}, "'job_boss' follows from the protected .* 'job'"),
    ("score_band", {"name": "score", "step": 1}, "'score_band' follows from 'score'"),
    ("score", {"name": "score_band", "values": ["under 2"]}, "follows from the .* 'score'"),
    ("income", {"name": "ratio", "step": 1}, "'ratio' follows from the .* 'income'"),
    ("ratio", INCOME, "the protected attribute 'ratio' follows from 'income'"),
    ("job", {**INCOME, "implies": [{"name": "job", "to": "boss"}]}, r"implies\[0\].* 'job'"),
    ("debt", {**INCOME}, "'income' moves '(gap|ratio)', which follows from .* 'debt'"),
]


@pytest.mark.parametrize(("protected", "rule", "words"), PROTECTED)
def test_what_encodes_or_follows_from_a_protected_attribute_never_changes(
    protected: str, rule: dict[str, Any], words: str, audit: LoadedAudit
) -> None:
    with pytest.raises(SettingsError, match=words):
        opened(audit, [protected], attributes=[rule], not_protected=[])


def test_a_protected_attribute_is_found_through_a_chain_of_columns(tmp_path: Path) -> None:
    """Bins of a number, a formula of a bin, a formula of that: each follows from the first."""
    world = with_rules(JOB)
    tables = world.write(tmp_path)
    tables["graph"]["derived"] = [
        *tables["graph"]["derived"],
        {"name": "high_twice", "formula": "2 * score_high"},
        {"name": "boosted", "formula": "income + high_twice"},
    ]
    tables["graph"]["features"] = [*tables["graph"]["features"], "boosted"]
    tables["groups"] = {"attributes": ["score"]}
    tables["recourse"] = {"attributes": [{"name": "boosted", "step": 1}]}
    settings = parse_settings(tables, folder=tmp_path, origin="audit.toml")
    from recourse_audit.graph.readers import read_graph

    graph = read_graph(settings.graph)
    with pytest.raises(SettingsError, match=r"'boosted' follows from the protected .* 'score'"):
        Policy(settings, graph)
    tables["recourse"] = {"attributes": [INCOME]}
    settings = parse_settings(tables, folder=tmp_path, origin="audit.toml")
    with pytest.raises(SettingsError, match=r"'income' moves 'boosted', which follows .* 'score'"):
        Policy(settings, graph)


def test_a_condition_may_not_make_changes_depend_on_a_protected_attribute(
    audit: LoadedAudit,
) -> None:
    condition = {"if": 'team = "a"', "then": 'job != "boss"'}
    with pytest.raises(SettingsError, match=r"'job' may become depend on the protected .* 'team'"):
        opened(audit, attributes=[JOB], conditions=[condition], not_protected=["income"])
    policy = opened(audit, attributes=[JOB], conditions=[condition], not_protected=["job"])
    assert len(policy.settings.conditions) == 1, "a person has checked it"


def test_a_category_typed_by_hand_is_judged_by_its_moves(audit: LoadedAudit) -> None:
    moves = [["none", "clerk"], {"from": "clerk", "to": "boss", "cost": 3.0}]
    policy = opened(audit, attributes=[{"name": "job", "moves": moves}, INCOME])
    clerk = audit.graph.columns["job"].tolist().index("clerk")
    assert reasons(policy, clerk, "job=boss") == []
    assert reasons(policy, clerk, "job=none") == ["job=none: no move leads there from 'clerk'"]
    assert reasons(policy, clerk, "job=clerk") == ["job=clerk: is the value it has already"]
    assert reasons(policy, clerk, "tenure=old") == ["tenure=old: no rule allows 'tenure' to change"]
    free = opened(audit, attributes=[JOB])
    assert reasons(free, clerk, "job=none") == [
        "job=none: is not among the values that may be suggested"
    ]


def test_a_condition_is_kept_by_what_is_typed_together(audit: LoadedAudit) -> None:
    jobs = audit.graph.columns["job"].tolist()
    idle = next(p for p, job in enumerate(jobs) if job == "none")
    income = float(audit.graph.columns["income"][idle])
    assert reasons(opened(audit, attributes=[JOB, INCOME]), idle, f"income={income + 1}") == []
    bound = opened(
        audit,
        attributes=[JOB, INCOME],
        conditions=[{"if": 'job = "none"', "then": f"income <= {income}"}],
    )
    [reason] = reasons(bound, idle, f"income={income + 1}")
    assert reason == f"""the condition 'if job = "none" then income <= {income}' would not hold"""
    assert reasons(bound, idle, f"income={income + 1}", "job=boss") == []


def test_a_condition_is_about_what_changes(tmp_path: Path) -> None:
    """Whoever breaks it already is not kept from dropping a tie, nor told to repair it."""
    world = with_rules(JOB, conditions=[replace(CONDITIONS[0], then="income <= 0")], seed=5)
    audit = world.open(tmp_path)
    answers = whole_answers(audit, np.arange(9))
    for subject in range(9):
        found = recourse_search(audit, audit.rule.over(answers)).run(subject, None)
        if found.status == "already_favourable" or world.people[subject]["job"] != "none":
            continue
        ties = sum(subject in tie for tie in world.ties)
        assert found.certificate.left_out.conditions == 0
        assert found.certificate.permitted.drop == ties


def test_a_certificate_says_what_implied_attributes_forbade(tmp_path: Path) -> None:
    """Every step up in income would take the debt below 0, and nothing was said about that."""
    rule = {**INCOME, "max": 9, "implies": [{"name": "debt", "by": -5}]}
    world = with_rules(rule, {"name": "debt", "step": 0.5, "min": 0, "direction": "down"})
    audit = world.open(tmp_path, ties=[{"kind": "loan", "allow": []}])
    answers = whole_answers(audit, np.arange(9))
    refused = np.flatnonzero(~audit.rule.over(answers).favourable(answers, np.arange(9))).tolist()
    assert refused
    for subject in refused:
        found = recourse_search(audit, audit.rule.over(answers)).run(subject, None)
        steps = len([c for c in Truth(world, tmp_path, subject).changes if c.stopped])
        certificate = found.certificate
        assert certificate.left_out.implications == steps > 0
        assert "income" not in certificate.permitted.set
        [left_out] = certificate.left_out.levels
        assert (left_out.attribute, left_out.moves) == ("income", "debt")
        assert left_out.levels == steps
        if not found.options:
            assert certificate.tried + certificate.left_out.implications == certificate.possible


def test_a_change_after_which_a_formula_has_no_value_is_left_out(tmp_path: Path) -> None:
    world = with_rules({"name": "income", "step": 0.5, "min": -1, "direction": "down"})
    audit = world.open(tmp_path)
    answers = whole_answers(audit, np.arange(9))
    for subject in range(9):
        found = recourse_search(audit, audit.rule.over(answers)).run(subject, None)
        if found.status == "already_favourable":
            continue
        # ratio = debt / (income + 0.5) has no value at -0.5, whatever else changes.
        alone = 1 + sum(subject in tie for tie in world.ties)
        assert found.certificate.left_out.formulas == alone
        assert found.status in ("verified", "certified_infeasible")


def test_what_if_speaks_of_categories(audit: LoadedAudit, tmp_path: Path) -> None:
    world = with_rules(JOB, INCOME)
    audit = world.open(tmp_path)
    for subject in range(9):
        found = try_by_hand(audit, f"P{subject}", ["job=boss", "income=7.5", "region=far"])
        raw = {**world.people[subject], "job": "boss", "income": 7.5, "region": "far"}
        people = [*world.people]
        people[subject] = raw
        truth = Truth(replace(world, people=tuple(people)), tmp_path, subject)
        assert found.probabilities["yes"] == pytest.approx(truth.answer(()), abs=1e-5)
        assert [a.after for a in found.actions if isinstance(a, SetAction)] == ["boss", 7.5, "far"]
        assert forbid("no_rule", attribute="region") in [
            replace(reason, change="") for reason in found.forbidden
        ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("job=chief", "'chief' is not a value of 'job'; choose from 'none', 'clerk', 'boss'"),
        ("job_boss=1", "'job_boss' is computed from 'job'; set 'job' instead"),
        ("ratio=1", "'ratio' is computed from 'debt' and 'income'"),
        ("income=boss", "'boss' is not a finite number"),
        ("team=a", "the model does not see 'team'"),
        ("jobs=boss", "there is no feature 'jobs'; did you mean 'job'"),
    ],
)
def test_what_if_refuses_what_it_cannot_set(text: str, words: str, audit: LoadedAudit) -> None:
    with pytest.raises(InputError) as error:
        try_by_hand(audit, "P0", [text])
    assert words in str(error.value)


def test_draws_shift_numbers_and_never_a_category(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = with_rules(JOB, INCOME, {"name": "debt", "step": 0.5, "direction": "down"}, seed=7)
    audit = world.open(tmp_path, draws=4, jitter=0.5)
    search = recourse_search(audit, audit.rule.over(whole_answers(audit, np.arange(9))))
    seen: list[Floats] = []
    test = search._robustness
    honest = test._shift_columns

    def watched(*given: Any) -> Any:
        near, features = honest(*given)
        seen.append(features.copy())
        return near, features

    monkeypatch.setattr(test, "_shift_columns", watched)
    options = [option for s in range(9) for option in search.run(s, None).options]
    assert options
    rows = np.concatenate(seen)
    names = list(audit.graph.feature_names)

    def column(name: str) -> Floats:
        found: Floats = rows[:, names.index(name)]
        return found

    for name in names:
        if name.startswith(("job_", "tenure_", "score_")):
            assert set(column(name).tolist()) <= {0.0, 1.0}
    jobs = np.sum([column(f"job_{label}") for label in ("none", "clerk", "boss")], axis=0)
    assert (jobs == 1).all()
    assert set(column("school_code").tolist()) <= {0.5, 1.0, 2.5}
    assert set(column("region_code").tolist()) <= {0.0, 1.0, 2.0}
    assert len(set(column("income").tolist())) > 20, "numbers shift"
    debts = (column("income") - column("gap")) / 2
    assert column("ratio") == pytest.approx(debts / (column("income") + 0.5), rel=1e-3, abs=1e-3)
