"""A policy that cannot be meant is refused in one sentence that names the key."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from recourse_audit.audit.reporter import explain
from recourse_audit.errors import SettingsError
from recourse_audit.records.recourse import TieAction
from tests.command import command, one_line
from tests.recourse.brute_force import TieRow, World
from tests.recourse.random_worlds import (
    FEATURES,
    NETWORKS,
    PROTECTED,
    Case,
    opened,
    toml,
    write_csv,
)

KINDS = ("family", "loan", "payment")
ENDS = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (0, 4)]
DROP: dict[str, Any] = {"kind": "loan", "allow": ["drop"]}
ANY: dict[str, Any] = {"kind": "*", "allow": ["drop"]}
DEBT: dict[str, Any] = {"name": "debt", "step": 0.1}


def small_case(recourse: Mapping[str, Any], *, directed: bool = False) -> Case:
    """Six people, the last without ties, and a policy."""
    rows = [
        TieRow(source=a, target=b, kind=KINDS[place % 3], attributes=())
        for place, (a, b) in enumerate(ENDS)
    ]
    values = [[(3 * row + 5 * column) % 7 - 3.0 for row in range(6)] for column in range(6)]
    return Case(
        world=World(
            ids=("ann", "bob", "cem", "dee", "eve", "fay"),
            columns={name: tuple(values[place]) for place, name in enumerate(FEATURES)},
            rows=tuple(rows),
            kinds=KINDS,
            directed=directed,
        ),
        network=NETWORKS["sum"],
        seed=0,
        settings={
            "decision": {"classes": ["refused", "granted"], "favourable": ["granted"]},
            "groups": {"attributes": list(PROTECTED)},
            "recourse": recourse,
        },
    )


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
    (ties({**DROP, "allow": ["cut"]}), "recourse.ties[0].allow[0]", "'drop' or 'add'"),
    (ties({**DROP, "to": "all"}), "recourse.ties[0].to", "'near' or 'anyone'"),
    (ties({**DROP, "cost": -1}), "recourse.ties[0].cost", "at least 0"),
    (ties({**DROP, "kindd": "x"}), "recourse.ties[0].kindd", "did you mean kind?"),
    (ties({"kind": "loan"}), "recourse.ties[0].allow", "missing"),
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
UNKNOWN: list[tuple[dict[str, Any], str, str]] = [
    (ties({**DROP, "kind": "lone"}), "recourse.ties[0].kind", "did you mean 'loan'?"),
    (ties(DROP, {**DROP, "kind": "zzz"}), "recourse.ties[1].kind", "'payment'"),
    (ties({**DROP, "kind": ""}), "recourse.ties[0].kind", "'payment'"),
    ({"never": ["lone"]}, "recourse.never", "did you mean 'loan'?"),
    (attributes({**DEBT, "name": "debts"}), "recourse.attributes[0].name", "did you mean 'debt'?"),
    (attributes({**DEBT, "name": "note"}), "recourse.attributes[0].name", "does not see"),
    (attributes({**DEBT, "name": "gender"}), "recourse.attributes[0].name", "protected"),
    (attributes({**DEBT, "name": "age"}), "recourse.attributes[0].name", "protected"),
    (implying("card"), "recourse.attributes[0].implies[0]", "did you mean 'cards'?"),
    (implying("age"), "recourse.attributes[0].implies[0]", "protected"),
    (implying("gender"), "recourse.attributes[0].implies[0]", "protected"),
    (implying("note"), "recourse.attributes[0].implies[0]", "does not see"),
]
CONTRADICTIONS: list[tuple[dict[str, Any], str, str]] = [
    (ties({**DROP, "kind": "family"}), "recourse.ties[0]", "never"),
    (ties({**DROP, "kind": "family", "allow": ["add"]}), "recourse.ties[0]", "never"),
    (ties(DROP, never=["loan"]), "recourse.ties[0]", "never"),
    (ties(DROP, {**DROP, "allow": []}), "recourse.ties[1]", "recourse.ties[0]"),
    (ties(ANY, DROP), "recourse.ties[1]", "recourse.ties[0]"),
    (ties(DROP, ANY, {**ANY, "cost": 2}), "recourse.ties[2]", "recourse.ties[1]"),
    (ties({**DROP, "whose": "any"}, DROP), "recourse.ties[1]", "recourse.ties[0]"),
    (
        ties({**ANY, "whose": "any"}, {**DROP, "whose": "others"}),
        "recourse.ties[1]",
        "recourse.ties[0]",
    ),
    (ties(DROP, {**DROP, "whose": "outgoing"}), "recourse.ties[1]", "recourse.ties[0]"),
    (
        attributes(
            {**DEBT, "implies": [{"name": "cards", "by": 0.4}]},
            {"name": "cards", "step": 1, "integer": True},
        ),
        "recourse.attributes[0].implies[0]",
        "whole",
    ),
]


def refusal(folder: Path, case: Case, **recourse: Any) -> str:
    """The one sentence with which an audit is refused."""
    tables = with_a_note(folder, case.write(folder))
    with pytest.raises(SettingsError) as raised:
        opened(folder, tables, **recourse)
    message = str(raised.value)
    assert "\n" not in message
    assert raised.value.exit_code == 2
    return message


def with_a_note(folder: Path, tables: dict[str, Any]) -> dict[str, Any]:
    """Add a column to the nodes that is no feature."""
    lines = (folder / "nodes.csv").read_text(encoding="utf-8").splitlines()
    text = "\n".join(f"{line},{'1.5' if place else 'note'}" for place, line in enumerate(lines))
    (folder / "nodes.csv").write_text(text + "\n", encoding="utf-8")
    return tables


@pytest.mark.parametrize(("recourse", "key", "words"), [*OUT_OF_RANGE, *UNKNOWN, *CONTRADICTIONS])
def test_a_policy_that_cannot_be_meant_is_refused_with_its_key(
    recourse: dict[str, Any], key: str, words: str, tmp_path: Path
) -> None:
    message = refusal(tmp_path, small_case(recourse))
    assert key in message
    assert words in message


@pytest.mark.parametrize("more", [{"step": 1e-9}, {"transform": "log", "scale": 200.0}])
def test_a_step_that_makes_countless_levels_is_refused_in_a_sentence_of_a_sensible_length(
    more: dict[str, Any], tmp_path: Path
) -> None:
    message = refusal(tmp_path, small_case(attributes({**DEBT, **more})))
    assert "recourse.attributes[0].step" in message
    assert len(message) < 300


def test_in_a_graph_without_directions_outgoing_ties_are_the_own_ones(tmp_path: Path) -> None:
    recourse = ties({**DROP, "whose": "outgoing"}, {**DROP, "cost": 2.0})
    assert "recourse.ties[1]" in refusal(tmp_path, small_case(recourse))
    directed = small_case(recourse, directed=True)
    assert opened(tmp_path, directed.write(tmp_path)).settings.recourse.ties[1].cost == 2.0


@pytest.mark.parametrize(
    "recourse",
    [
        ties({**DROP, "kind": "family", "allow": []}),
        ties({**DROP, "allow": []}, never=["loan"]),
        ties(DROP, ANY, {**DROP, "whose": "others"}),
        ties({**DROP, "whose": "own"}, {**DROP, "whose": "any", "cost": 3}),
        ties(DROP, {**DROP, "kind": "payment"}, ANY),
        implying("cards", 0.5),
        {"never": ["family"]},
    ],
)
def test_a_policy_that_is_merely_strict_is_accepted(
    recourse: dict[str, Any], tmp_path: Path
) -> None:
    case = small_case(recourse)
    [report] = explain(case.open(tmp_path), ["ann"])
    assert report.recourse is not None
    assert report.recourse.status != "error"


@pytest.mark.parametrize(
    ("header", "row", "words"),
    [
        (["source", "target", "kind"], ["ann", "zoe", "loan"], "'zoe'"),
        (["source", "target", "kind"], ["ann", "cem", "lone"], "'lone'"),
        (["from", "target", "kind"], ["ann", "cem", "loan"], "'source'"),
        (["source", "to", "kind"], ["ann", "cem", "loan"], "'target'"),
        (["source", "target", "kind", "colour"], ["ann", "cem", "loan", "red"], "'colour'"),
    ],
)
def test_candidates_that_do_not_fit_the_graph_are_refused(
    header: Sequence[str], row: Sequence[str], words: str, tmp_path: Path
) -> None:
    write_csv(tmp_path / "new.csv", header, [row])
    case = small_case(ties({**ANY, "allow": ["drop", "add"]}))
    message = refusal(tmp_path, case, candidates="new.csv")
    assert "recourse.candidates" in message
    assert words in message


def test_candidates_that_are_not_there_are_refused(tmp_path: Path) -> None:
    case = small_case(ties({**ANY, "allow": ["add"]}))
    message = refusal(tmp_path, case, candidates="gone.csv")
    assert "gone.csv" in message
    assert "recourse.candidates" in message


@pytest.mark.parametrize(
    ("recourse", "words"),
    [
        (OUT_OF_RANGE[0][0], "recourse.max_changes: must be at least 1 (got 0)"),
        (UNKNOWN[0][0], "recourse.ties[0].kind"),
        (UNKNOWN[4][0], "there is no feature 'debts'; did you mean 'debt'?"),
        (UNKNOWN[7][0], "recourse.attributes[0].name"),
        (CONTRADICTIONS[0][0], "recourse.ties[0]"),
        (CONTRADICTIONS[4][0], "recourse.ties[1]"),
        ({"candidates": "gone.csv"}, "recourse.candidates"),
    ],
)
def test_the_command_ends_with_2_and_one_line(
    recourse: dict[str, Any], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(toml(small_case(recourse).write(tmp_path)), encoding="utf-8")
    lines = set()
    for words_of_command in (("explain", path, "ann", "--json"), ("inspect", path)):
        finished = command(*words_of_command)
        assert finished.code == 2
        lines.add(one_line(finished))
    [line] = lines
    assert line.startswith(f"error: {path}: ")
    assert words in line


@pytest.mark.parametrize(
    "recourse",
    [
        ties({**ANY, "allow": []}),
        ties({**DROP, "whose": "others", "allow": []}),
        {"never": list(KINDS[1:])},
    ],
)
def test_a_policy_that_permits_nothing_is_certified_infeasible_with_the_reason(
    recourse: dict[str, Any], tmp_path: Path
) -> None:
    case = small_case(recourse)
    refused = 0
    for report in explain(case.open(tmp_path), case.world.ids):
        assert report.recourse is not None
        if report.subject.favourable:
            assert report.recourse.status == "already_favourable"
            continue
        refused += 1
        certificate = report.recourse.certificate
        assert report.recourse.status == "certified_infeasible"
        assert report.recourse.reason or certificate.reason
        assert (certificate.tried, certificate.possible) == (0, 0)
        assert certificate.exhaustive
        assert report.recourse.evaluations == 0
    assert refused


@pytest.mark.parametrize(
    "kind",
    [
        "family",
        "Family",
        "FAMILY MEMBER",
        "co-parents",
        "household_2",
        "trade unions",
        "union/branch",
        "political party",
        "Doctor",
        "lawyers",
        "church",
    ],
)
def test_a_kind_with_a_word_of_the_deny_list_is_never_suggested(kind: str, tmp_path: Path) -> None:
    case = renamed(small_case(ties({**ANY, "whose": "any", "allow": ["drop", "add"]})), kind)
    for report in explain(case.open(tmp_path, options=10, max_changes=2), case.world.ids):
        assert report.recourse is not None
        actions = [action for option in report.recourse.options for action in option.actions]
        assert kind not in [action.kind for action in actions if isinstance(action, TieAction)]
    named = {**DROP, "kind": kind}
    assert "recourse.ties[0]" in refusal(tmp_path, case, ties=[named])


@pytest.mark.parametrize("kind", ["reunion", "familiar", "churchill", "kindly", "Patent"])
def test_a_kind_that_only_begins_like_a_word_of_the_deny_list_is_not_denied(
    kind: str, tmp_path: Path
) -> None:
    case = renamed(small_case(ties({**DROP, "kind": kind})), kind)
    assert case.open(tmp_path).settings.recourse.ties[0].kind == kind


def renamed(case: Case, kind: str) -> Case:
    """The same people with their family ties called something else."""
    rows = [
        TieRow(
            source=row.source, target=row.target, kind=kind if row.kind == "family" else row.kind
        )
        for row in case.world.rows
    ]
    world = World(
        ids=case.world.ids,
        columns=case.world.columns,
        rows=tuple(rows),
        kinds=(kind, *KINDS[1:]),
        directed=case.world.directed,
    )
    return Case(world=world, network=case.network, settings=case.settings, seed=case.seed)
