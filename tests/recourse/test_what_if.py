"""A change tried by hand is read as it is meant, and answered on the whole graph."""

from pathlib import Path

import numpy as np
import pytest

from recourse_audit.errors import InputError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Graph
from recourse_audit.records.recourse import SetAction, TieAction
from recourse_audit.recourse.what_if import TieChange, ValueChange, read_changes, try_changes
from recourse_audit.render.i18n import Words
from recourse_audit.render.terminal import what_if_lines
from recourse_audit.search.moexp import Naming
from tests.onnx_models import sum_network
from tests.recourse.reference import asked, changed
from tests.recourse.worlds import edited_graph, policy_of, town
from tests.search.engine import open_batcher

RULES = [
    {"kind": "payment", "allow": ["drop"], "cost": 2},
    {"kind": "guarantor", "allow": ["drop", "add"]},
]


def named(*ids: str, directed: bool = False) -> Graph:
    count = len(ids)
    ties = np.array([np.arange(count - 1), np.arange(1, count)])
    kinds = ["pay", "x:y"] * count
    return from_arrays(
        np.zeros((count, 2)),
        ties,
        ids=ids,
        kind=kinds[: count - 1],
        directed=directed,
        feature_names=("a=b", "age"),
    )


def read(graph: Graph, text: str) -> TieChange:
    [change] = read_changes([text], graph)
    assert isinstance(change, TieChange)
    return change


def test_ids_with_hyphens_and_colons_are_found() -> None:
    graph = named("a-b", "c", "d:x", "e")
    change = read(graph, "drop a-b-c")
    assert (change.ends, change.kind) == ((0, 1), None)
    change = read(graph, "drop c-d:x")
    assert (change.ends, change.kind) == ((1, 2), None)
    change = read(graph, "drop c-d:x:x:y")
    assert (change.ends, change.kind) == ((1, 2), "x:y")
    change = read(graph, "add a-b - e:pay")
    assert (change.do, change.ends, change.kind) == ("add", (0, 3), "pay")


def test_what_can_be_read_in_two_ways_is_refused() -> None:
    with pytest.raises(InputError, match="can be read in 2 ways, as about 'a' and 'b-c' or 'a-b'"):
        read(named("a", "b-c", "a-b", "c"), "drop a-b-c")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("drop a-q", "does not name two people"),
        ("drop a-b:pal", "does not name two people"),
        ("add a-b", "does not say which kind of tie; write add a-b:KIND"),
        ("drop a-a", "never changed"),
        ("drop a-c", "there is no tie between the two"),
        ("drop a-b:x:y", "there is no tie of the kind 'x:y' between the two"),
        ("age=", "'' is not a finite number"),
        ("age=nan", "'nan' is not a finite number"),
        ("wage=3", "there is no feature 'wage'; did you mean 'age'"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as raised:
        read_changes([text], named("a", "b", "c"))
    assert str(raised.value).startswith(f"--what-if {text!r}: ")


def test_an_attribute_is_read_by_its_name_also_with_an_equals_sign() -> None:
    graph = named("a", "b")
    assert read_changes(["a=b=-2.5", "age = 7"], graph) == (
        ValueChange(text="a=b=-2.5", name="a=b", value=-2.5),
        ValueChange(text="age = 7", name="age", value=7),
    )
    with pytest.raises(InputError, match="sets 'age' twice"):
        read_changes(["age=1", "age=2"], graph)


def test_a_directed_tie_is_dropped_the_way_it_leads() -> None:
    graph = named("a", "b", directed=True)
    assert read(graph, "drop a-b").ends == (0, 1)
    with pytest.raises(InputError, match="there is no tie from the one to the other"):
        read(graph, "drop b-a")


@pytest.mark.parametrize("directed", [False, True])
def test_changes_get_the_answer_of_the_rebuilt_graph(directed: bool, tmp_path: Path) -> None:
    graph = town(2, directed=directed)
    path = sum_network(tmp_path / "m.onnx", form="weight", scale=0.4)
    batcher = open_batcher(path, graph, output="logits")
    context = edited_graph(graph, batcher)
    attributes = [{"name": "income", "step": 0.5, "implies": [{"name": "debt", "by": -0.1}]}]
    policy = policy_of(graph, ties=RULES, attributes=attributes)
    naming = Naming(graph=graph, rule=context.decisions.rule, kind="logits")
    ties = graph.ties
    row = int(np.flatnonzero(ties.source != ties.target)[0])
    ends = f"{graph.ids[ties.source[row]]}-{graph.ids[ties.target[row]]}"
    for subject in (0, 6):
        texts = [f"drop {ends}", "add P01-P09:payment", "income=2.25", "savings=-1"]
        found = try_changes(
            context.about(subject, "whole"), policy, naming, read_changes(texts, graph)
        )
        rebuilt = changed(policy, subject, found.actions)
        answer = asked(batcher, rebuilt, subject)
        assert [*found.probabilities.values()] == pytest.approx(np.exp(answer), abs=1e-5)
        assert found.decision == naming.rule.classes[int(answer.argmax())]
        assert found.favourable == (found.decision == "yes")
        own = asked(batcher, graph, subject)
        again = context.decisions.margin(own[None], subject)[0]
        assert found.margin_before == pytest.approx(again, abs=1e-5)
        moved = [action for action in found.actions if isinstance(action, SetAction)]
        income = next(action for action in moved if action.attribute == "income")
        steps = (2.25 - float(income.before)) / 0.5
        [debt] = income.implied
        assert debt.after == pytest.approx(float(debt.before) - 0.1 * steps)
    before = context.everybody[6]
    assert asked(batcher, graph, 6) == pytest.approx(before, abs=1e-5), "nothing is left changed"


def test_parallel_ties_are_dropped_together_or_by_kind(tmp_path: Path) -> None:
    graph = from_arrays(
        np.zeros((3, 5)),
        np.array([[0, 1, 0, 1], [1, 0, 1, 2]]),
        ids=list("abc"),
        kind=["pay", "address", "pay", "pay"],
    )
    batcher = open_batcher(sum_network(tmp_path / "m.onnx"), graph, output="logits")
    policy, context = policy_of(graph, groups=()), edited_graph(graph, batcher)
    naming = Naming(graph=graph, rule=context.decisions.rule, kind="logits")
    for text, kinds in (
        ("drop a-b", ["address", "pay", "pay"]),
        ("drop b-a:pay", ["pay", "pay"]),
        ("drop a-b:address", ["address"]),
    ):
        found = try_changes(context.about(0, "whole"), policy, naming, read_changes([text], graph))
        dropped = [action for action in found.actions if isinstance(action, TieAction)]
        assert sorted(action.kind for action in dropped) == kinds
        assert len(dropped) == len(found.actions)


def test_a_number_that_nobody_has_is_said_to_be_one(tmp_path: Path) -> None:
    graph = town(1)
    context = edited_graph(
        graph, open_batcher(sum_network(tmp_path / "m.onnx"), graph, output="logits")
    )
    rules = [{"name": "income", "step": 10, "scale": 100, "unit": "EUR", "max": 999}]
    rules[0]["implies"] = [{"name": "debt", "by": 1}]
    policy = policy_of(graph, attributes=rules)
    naming = Naming(graph=graph, rule=context.decisions.rule, kind="logits")

    def outside(*texts: str) -> list[tuple[str, str, str]]:
        found = try_changes(context.about(0, "whole"), policy, naming, read_changes(texts, graph))
        return [(one.attribute, one.side, one.unit) for one in found.outside]

    income, debt = (graph.features[:, place] for place in (0, 1))
    inside = float(np.median(income)) * 100
    assert outside(f"income={inside}", f"debt={float(debt[0])}") == []
    assert outside("income=-5000", f"debt={float(debt[0])}") == [("income", "below", "EUR")]
    assert outside("savings=99", "late=-99") == [("savings", "above", ""), ("late", "below", "")]
    assert outside("income=99000")[1:] == [("debt", "above", "")], "what is implied counts as well"
    found = try_changes(
        context.about(0, "whole"), policy, naming, read_changes(["income=-5000"], graph)
    )
    [number, _] = found.outside
    assert number.value == -5000
    assert number.lowest == pytest.approx(100 * income.min())
    [below] = [text for text in what_if_lines("objections", found, Words()) if "income = " in text]
    assert "Nobody in the graph has a value like income = \N{MINUS SIGN}5,000" in below
    assert ": the lowest is " in below
    assert "answer there is an extrapolation." in below


def forbidden(graph: Graph, model_path: Path, subject: str, *texts: str) -> list[str]:
    batcher = open_batcher(sum_network(model_path / "m.onnx"), graph, output="logits")
    policy = policy_of(
        graph,
        max_changes=2,
        ties=[*RULES, {"kind": "*", "allow": [], "reason": "nobody can"}],
        attributes=[
            {"name": "savings", "step": 0.5, "direction": "up", "max": 9},
            {
                "name": "late",
                "step": 1,
                "direction": "up",
                "implies": [{"name": "savings", "by": 0.01}],
            },
        ],
    )
    context = edited_graph(graph, batcher)
    naming = Naming(graph=graph, rule=context.decisions.rule, kind="logits")
    changes = read_changes(texts, graph)
    found = try_changes(context.about(graph.find(subject), "whole"), policy, naming, changes)
    against = (what_if_lines("forbidden", reason, Words()) for reason in found.forbidden)
    return [text for texts in against for text in texts]


def test_what_the_policy_would_not_suggest_is_said(tmp_path: Path) -> None:
    graph = from_arrays(
        np.array([[0, 0, 1.0, 0, 0], [0, 0, 2, 3, 0], [1, 1, 9, 9, 1]]),
        np.array([[0, 0, 1, 0], [1, 2, 2, 1]]),
        ids=list("abc"),
        attributes={"gender": list("fmf")},
        kind=["payment", "family", "payment", "address"],
        feature_names=("income", "debt", "savings", "late", "loan"),
    )
    graph = from_arrays(
        graph.features,
        np.array([[0, 0, 1, 0, 0], [1, 2, 2, 1, 1]]),
        ids=list("abc"),
        attributes={"gender": list("fmf")},
        kind=["payment", "family", "payment", "address", "guarantor"],
        feature_names=graph.feature_names,
    )

    def said(*texts: str) -> list[str]:
        return forbidden(graph, tmp_path, "a", *texts)

    assert said("drop a-b:payment", "savings=1.5") == []
    assert said("drop a-c") == ["drop a-c:family: ties of the kind 'family' are never suggested"]
    assert said("drop a-b:address") == [
        "drop a-b:address: no rule allows ending own ties of the kind 'address' (nobody can)"
    ]
    [other] = said("drop b-c")
    assert other.startswith("drop b-c:payment: no rule allows ending other people's ties")
    assert said("add a-b:guarantor") == ["add a-b:guarantor: this tie already exists"]
    assert said("savings=0.5") == ["savings=0.5: 'savings' may only go up (from 1)"]
    assert said("savings=1.7") == ["savings=1.7: is not a whole number of steps of 0.5 from 1"]
    assert said("savings=99") == ["savings=99: is outside 1 to 9"]
    assert said("income=1") == ["income=1: no rule allows 'income' to change"]
    assert said("savings=1") == ["savings=1: is the value it has already"]
    three = said("drop a-b:payment", "drop a-b:guarantor", "savings=2")
    assert three == ["these are 3 changes; at most 2 are suggested together"]
    both = said("savings=2", "late=1")
    assert "attributes that move along with each other are not suggested together" in both
