"""A function in place of a model file gives what a file with the same answers gives."""

from pathlib import Path

import numpy as np
import pytest

from recourse_audit import Audit, from_arrays
from recourse_audit.errors import InputError, ModelError
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.testing import FunctionModel, find_sample
from tests.audit.arithmetic_model import arithmetic_model

SIZE, PEOPLE = 0.01, 30
RANDOM = np.random.default_rng(5)
GRAPH = from_arrays(RANDOM.normal(size=(PEOPLE, 1)).round(2), RANDOM.integers(PEOPLE, size=(2, 60)))


def heard_from_neighbours(features: Floats, arcs: Ints) -> Floats:
    total = features[:, :1].copy()
    np.add.at(total, arcs[1], features[arcs[0], :1])
    return np.asarray(total @ np.array([[-SIZE, SIZE]]) + 0.5)


def audit_of(path: Path, model: FunctionModel | None = None) -> Audit:
    decision = {"classes": ["no", "yes"], "favourable": ["yes"]}
    table = {"model": {"path": str(path), "output": "probabilities"}, "decision": decision}
    return Audit(settings=table, graph=GRAPH, model=model)


def test_it_explains_as_a_file_does(tmp_path: Path) -> None:
    path = arithmetic_model(tmp_path / "model.onnx", layers=1, size=SIZE)
    real, fake = audit_of(path), audit_of(path, FunctionModel(heard_from_neighbours, features=1))
    for subject in range(6):
        assert fake.explain(subject).to_dict() == real.explain(subject).to_dict()


def test_a_function_that_depends_on_the_order_of_ties_is_noticed() -> None:
    def last_writer_wins(features: Floats, arcs: Ints) -> Floats:
        heard = np.zeros(len(features))
        heard[arcs[1]] = features[arcs[0], 0]
        return np.stack([-heard, heard], axis=1)

    audit = Audit(
        settings={
            "model": {"path": "function"},
            "decision": {"classes": ["no", "yes"], "favourable": ["yes"]},
        },
        graph=GRAPH,
        model=FunctionModel(last_writer_wins, features=1),
    )
    probes = audit.inspect().probes
    assert probes is not None
    assert probes.tie_order is False


def test_a_run_needs_a_file(tmp_path: Path) -> None:
    audit = audit_of(tmp_path / "none.onnx", FunctionModel(heard_from_neighbours, features=1))
    with pytest.raises(InputError, match=r"needs a model file.* use explain"):
        audit.run(tmp_path / "bundle", workers=1, pages_follow=False)
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("columns", [1, 3])
def test_a_function_must_return_a_column_per_class(columns: int) -> None:
    with pytest.raises(
        ModelError, match=rf"columns?: must return .*, 2\).* per class.*, {columns}\)"
    ):
        audit_of(
            Path("none"),
            FunctionModel(lambda x, _: x[:, [0] * columns], features=1, name="columns"),
        )


def test_a_sample_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="'borrowing'"):
        find_sample("borrowing")
