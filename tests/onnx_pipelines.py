"""Real ONNX pipelines for tests, written operator by operator: sound ones, and one for each trap.

They do what exports of scikit-learn do: one input per raw column, text turned into one-hot columns
and numbers scaled by ai.onnx.ml operators, all joined into one table of features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"
ELEMENT = {
    "string": TensorProto.STRING,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}
HOUSING = ("rent", "own", "free")


@dataclass
class Draft:
    """A growing pipeline: each call adds an operator and returns the name of its result."""

    def __post_init__(self) -> None:
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.constants: list[Any] = []

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def input(self, name: str, dtype: str, *shape: int | None) -> str:
        info = helper.make_tensor_value_info(name, ELEMENT[dtype], [None, *shape])
        self.inputs.append(info)
        return name

    def constant(self, values: Any, dtype: str) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def scaled(self, column: str, offset: Sequence[float], scale: Sequence[float]) -> str:
        return self.op(
            "Scaler", column, domain=ML, offset=[*map(float, offset)], scale=[*map(float, scale)]
        )

    def one_hot(self, column: str, labels: Sequence[str], *, zeros: int = 1) -> str:
        hot = self.op("OneHotEncoder", column, domain=ML, cats_strings=[*labels], zeros=zeros)
        return self.op("Flatten", hot)

    def ordinal(self, column: str, labels: Sequence[str]) -> str:
        codes = [float(place) for place in range(len(labels))]
        return self.op(
            "LabelEncoder",
            column,
            domain=ML,
            keys_strings=[*labels],
            values_floats=codes,
            default_float=-1.0,
        )

    def turned(self, values: str, turns: int) -> str:
        """The values with their signs changed so many times."""
        going, still = (helper.make_tensor_value_info(n, 9, []) for n in ("going", "still"))
        turn = helper.make_tensor_value_info("turn", TensorProto.INT64, [])
        before, after = (helper.make_tensor_value_info(n, 1, None) for n in ("before", "after"))
        steps = [
            helper.make_node("Identity", ["going"], ["still"]),
            helper.make_node("Neg", ["before"], ["after"]),
        ]
        body = helper.make_graph(steps, "body", [turn, going, before], [still, after])
        trips, true = self.constant(turns, "int64"), self.constant(True, "bool")
        return self.op("Loop", trips, true, values, body=body)

    def output(self, name: str, result: str, *shape: int | None, dtype: str = "float32") -> None:
        self.nodes.append(helper.make_node("Identity", [result], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, ELEMENT[dtype], [None, *shape]))

    def save(self, path: Path, **keep: Any) -> Path:
        graph = helper.make_graph(self.nodes, "pipe", self.inputs, self.outputs, self.constants)
        versions = [helper.make_opsetid("", 18), helper.make_opsetid(ML, 3)]
        model = helper.make_model(graph, opset_imports=versions)
        model.ir_version = 9
        onnx.save(model, path, **keep)
        return path


def by_name(path: Path, trap: str | None = None, **keep: Any) -> Path:
    """Takes income, debt, housing and job by name; gives 6 features.

    Income and debt are scaled, housing is one-hot, job is a code. Traps: "mean" subtracts that of
    the batch, "order" numbers the rows, "random" adds noise, "rows" drops the last row, "text"
    refuses unknown words, "missing" fills an empty income with the mean of the others, "endless"
    takes for ever.
    """
    draft = Draft()
    income, debt = draft.input("income", "float32", 1), draft.input("debt", "float32", 1)
    housing, job = draft.input("housing", "string", 1), draft.input("job", "string", 1)
    if trap == "missing":
        empty = draft.op("IsNaN", income)
        full = draft.op("Where", empty, draft.constant(0, "float32"), income)
        mean = draft.op("ReduceMean", full, draft.constant([0], "int64"), keepdims=1)
        income = draft.op("Where", empty, mean, income)
    numbers = draft.op("Concat", income, debt, axis=1)
    numbers = draft.op(
        "Imputer",
        numbers,
        domain=ML,
        imputed_value_floats=[2000.0, 500.0],
        replaced_value_float=float("nan"),
    )
    scaled = draft.scaled(numbers, (2000, 500), (1 / 1000, 1 / 500))
    if trap == "mean":
        mean = draft.op("ReduceMean", scaled, draft.constant([0], "int64"), keepdims=1)
        scaled = draft.op("Sub", scaled, mean)
    if trap == "order":
        ones = draft.op("Sub", scaled, scaled)
        ones = draft.op("Add", ones, draft.constant(0.1, "float32"))
        scaled = draft.op("Add", scaled, draft.op("CumSum", ones, draft.constant(0, "int64")))
    if trap == "random":
        scaled = draft.op("Add", scaled, draft.op("RandomNormalLike", scaled, scale=0.1))
    if trap == "endless":
        scaled = draft.turned(scaled, 2**62)
    hot = draft.one_hot(housing, HOUSING, zeros=0 if trap == "text" else 1)
    features = draft.op("Concat", scaled, hot, draft.ordinal(job, ("none", "some", "full")), axis=1)
    if trap == "rows":
        less = draft.constant([-1], "int64")
        features = draft.op("Slice", features, draft.constant([0], "int64"), less)
    draft.output("variable", features, 6)
    return draft.save(path, **keep)


def as_block(path: Path, *, width: int | None = 3, dtype: str = "float32") -> Path:
    """Takes three columns as one block, and scales them."""
    draft = Draft()
    block = draft.input("X", dtype, width)
    draft.output("variable", draft.scaled(block, (1, 2, 3), (2, 4, 8)), 3)
    return draft.save(path)
