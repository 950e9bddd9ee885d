"""The record against the model: how many agree, who does not, and what would explain it."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recourse_audit.audit.agreement import NOT_RECORDED, agreement_of, read_recorded
from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.records.model import Agreement, BetterRule
from recourse_audit.render.i18n import agreement_sentences
from recourse_audit.settings import Settings, parse_settings
from tests.decisions import decisions_over

CLASSES = ("denied", "approved")


def settings_of(classes: tuple[str, ...] = CLASSES, **groups: Any) -> Settings:
    tables = {
        "model": {"path": "model.onnx"},
        "graph": {"npz": "graph.npz"},
        "decision": {"classes": classes, "favourable": classes[-1:], "recorded": "decision"},
        "groups": groups,
    }
    return parse_settings(tables, folder=Path(), origin="a test")


def people(recorded: list[str], features: Floats | None = None, **columns: Any) -> Graph:
    x = np.zeros((len(recorded), 1)) if features is None else features
    attributes = {name: np.array(values) for name, values in columns.items()}
    no_ties = np.empty((2, 0), np.int64)
    return from_arrays(x, no_ties, attributes={"decision": np.array(recorded), **attributes})


def compared(
    recorded: list[str],
    chances: list[float],
    *,
    features: Floats | None = None,
    settings: Settings | None = None,
    columns: dict[str, list[str]] | None = None,
    **rule: Any,
) -> Agreement:
    """The record against a model that gives these probabilities of approval."""
    graph = people(recorded, features, **(columns or {}))
    settings = settings or settings_of()
    with np.errstate(divide="ignore"):
        answers = np.log(np.column_stack((1 - np.array(chances), chances)))
    decisions = decisions_over(answers, CLASSES[-1:], CLASSES, graph=graph, **rule)
    found = read_recorded(settings, graph)
    assert found is not None
    return agreement_of(settings, graph, found, decisions)


def test_people_are_counted_by_what_is_on_record_and_what_the_model_decides() -> None:
    found = compared(
        ["denied", "approved", "approved", "denied", "", "approved"],
        [0.2, 0.9, 0.3, 0.1, 0.8, np.nan],
    )
    assert (found.compared, found.agreeing, found.disagreeing) == (4, 3, 1)
    assert (found.unrecorded, found.undecided) == (1, 1)
    assert [(one.recorded, one.decided, one.people) for one in found.by_class] == [
        ("denied", "denied", 2),
        ("approved", "denied", 1),
        ("approved", "approved", 1),
    ]
    [one] = found.examples
    assert (one.id, one.recorded, one.decided) == ("2", "approved", "denied")
    assert one.margin == pytest.approx(-0.4)


def test_an_empty_column_decides_nothing_and_a_strange_value_is_refused() -> None:
    recorded = read_recorded(settings_of(), people(["", "approved", "denied"]))
    assert recorded is not None
    assert recorded.tolist() == [NOT_RECORDED, 1, 0]
    with pytest.raises(GraphError, match=r"on record for 1 is 'aproved'.*not in decision.classes"):
        read_recorded(settings_of(), people(["denied", "aproved"]))
    with pytest.raises(SettingsError, match=r"decision.recorded: the nodes have no column"):
        read_recorded(settings_of(), from_arrays(np.zeros((2, 1)), np.empty((2, 0), int)))


def best_cut_off(recorded: list[str], chances: list[float]) -> int:
    """The most people that any cut-off can agree on, by trying one between all values."""
    edges = sorted({*chances})
    tries = [(low + high) / 2 for low, high in pairwise(edges)]
    return max(
        sum(
            (chance >= line) == (said == "approved")
            for said, chance in zip(recorded, chances, strict=True)
        )
        for line in tries
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_cut_off_that_fits_better_is_found_and_named_with_few_digits(seed: int) -> None:
    draw = np.random.default_rng(seed)
    chances = draw.uniform(0.3, 0.95, 40).round(4).tolist()
    recorded = ["approved" if chance >= 0.65 else "denied" for chance in chances]
    for mistake in draw.integers(0, 40, 2).tolist():
        recorded[mistake] = "denied" if recorded[mistake] == "approved" else "approved"
    found = compared(recorded, chances)
    assert isinstance(found.better, BetterRule)
    assert found.better.kind == "cut_off"
    assert found.better.cut_off is not None
    assert found.better.agreeing == best_cut_off(recorded, chances)
    with_it = compared(recorded, chances, cut_off=found.better.cut_off)
    assert with_it.agreeing == found.better.agreeing
    assert with_it.better is None, "nothing better is left"
    assert len(f"{found.better.cut_off:.12g}") <= 6
    assert "check decision.cut_off" in " ".join(agreement_sentences(found))


def test_classes_in_the_wrong_order_are_found_out() -> None:
    found = compared(["approved"] * 5 + ["denied"] * 5, [0.1] * 5 + [0.9] * 5)
    assert found.agreeing == 0
    assert found.better is not None
    assert (found.better.kind, found.better.classes) == ("class_order", ("approved", "denied"))
    assert found.better.agreeing == 10
    assert "With the classes in the order approved, denied, 10 of 10 would agree" in " ".join(
        agreement_sentences(found)
    )


def test_nothing_better_is_claimed_where_it_would_explain_less_than_half() -> None:
    recorded = ["approved", "denied"] * 10
    chances = [0.9, 0.1] * 8 + [0.1, 0.9] * 2
    assert compared(recorded, chances).better is None


def test_rows_outside_what_the_others_have_are_named() -> None:
    features = np.array([[1.0, 5], [2, 5], [3, 6], [9, 5], [2, 5.5]])
    found = compared(
        ["denied", "denied", "approved", "approved", "approved"],
        [0.1, 0.2, 0.9, 0.3, 0.2],
        features=features,
    )
    assert found.disagreeing == 2
    assert (found.outside, found.outside_features) == (1, ("x0",))
    assert "1 of those on whom they differ has features outside" in " ".join(
        agreement_sentences(found)
    )


def test_groups_are_told_only_where_each_is_large_enough() -> None:
    recorded, chances = ["denied"] * 24, [0.1] * 20 + [0.9] * 4
    places = ["north"] * 12 + ["south"] * 12
    rare = ["a"] * 20 + ["b"] * 4
    settings = settings_of(attributes=["place", "rare"], smallest=11)
    found = compared(recorded, chances, settings=settings, columns={"place": places, "rare": rare})
    assert [(g.attribute, g.group, g.compared, g.agreeing) for g in found.by_group] == [
        ("place", "north", 12, 12),
        ("place", "south", 12, 8),
    ]
    said = " ".join(agreement_sentences(found))
    assert "Agreement by place: north 100.0%, south 66.7%." in said
    assert "For example" in said
    quiet = " ".join(agreement_sentences(found.without_people()))
    assert "north" not in quiet
    assert "For example" not in quiet


def test_full_agreement_is_said_in_one_sentence() -> None:
    found = compared(["denied", "approved"], [0.2, 0.9])
    [only] = agreement_sentences(found)
    assert only.endswith("(column decision) agree for 2 of 2 people (100.0%).")


def test_bins_are_told_in_the_order_of_their_edges() -> None:
    settings = settings_of(attributes=["age"], bins={"age": [30, 100]}, smallest=3)
    graph = people(["denied"] * 12, age=np.repeat([20, 50, 200, np.nan], 3))
    decisions = decisions_over(np.log(np.full((12, 2), 0.5)), CLASSES[-1:], CLASSES, graph=graph)
    found = agreement_of(settings, graph, np.zeros(12, np.int64), decisions)
    assert [g.group for g in found.by_group] == ["", "under 30", "30 to under 100", "100 and over"]
