"""A graph network without torch: weights in numpy, and a file written with `onnx.helper`.

For weights that came out of something that exports nothing. The same layer as in
`by_hand_torch.py`: the mean of a person's neighbours, and the person.
"""

from pathlib import Path

import numpy as np
import onnx
from check import Feed, compare, differ, draw_graphs, probe, show, start
from onnx import TensorProto, helper, numpy_helper

FEATURES, HIDDEN, CLASSES = 4, 8, 2
GRAPHS = draw_graphs(FEATURES)
Weights = dict[str, np.ndarray]


def draw_weights() -> Weights:
    """Made-up weights, as a training of yours would leave them."""
    random = np.random.default_rng(0)
    shapes = {"own_1": (FEATURES, HIDDEN), "near_1": (FEATURES, HIDDEN), "bias_1": (HIDDEN,)}
    shapes |= {"own_2": (HIDDEN, CLASSES), "near_2": (HIDDEN, CLASSES), "bias_2": (CLASSES,)}
    return {name: random.normal(size=size).astype(np.float32) for name, size in shapes.items()}


def answer(weights: Weights, feed: Feed) -> np.ndarray:
    """What the file must answer, in numpy."""
    x, (source, target) = feed["x"], feed["edge_index"]
    for layer in ("1", "2"):
        total, count = np.zeros_like(x), np.zeros((len(x), 1), np.float32)
        np.add.at(total, target, x[source])
        np.add.at(count, target, 1)
        near = total / np.maximum(count, 1)
        x = x @ weights["own_" + layer] + near @ weights["near_" + layer] + weights["bias_" + layer]
        x = np.maximum(x, 0) if layer == "1" else x
    return x


def write(weights: Weights, path: Path, *, reduction: str = "add") -> Path:
    """Write the file: ScatterND with reduction="add", which is new in opset 16, is the sum."""
    constants = weights | {
        "zero": np.array([0], np.int64),
        "first": np.array(0, np.int64),
        "second": np.array(1, np.int64),
        "last": np.array([1], np.int64),
        "one": np.ones(1, np.float32),
    }
    nodes = [
        helper.make_node("Gather", ["edge_index", "first"], ["source"], axis=0),
        helper.make_node("Gather", ["edge_index", "second"], ["target"], axis=0),
        helper.make_node("Unsqueeze", ["target", "last"], ["places"]),
    ]

    def add(kind: str, inputs: list[str], output: str, **more: str | int) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], **more))
        return output

    x = "x"
    for layer, width in (("1", FEATURES), ("2", HIDDEN)):
        constants["width_" + layer] = np.array([width], np.int64)
        # Shapes are asked of the input when the file runs, so that every size will do.
        people = add("Shape", [x], "people_" + layer, start=0, end=1)
        shape = add("Concat", [people, "width_" + layer], "shape_" + layer, axis=0)
        empty = add("ConstantOfShape", [shape], "empty_" + layer)
        none = add("ConstantOfShape", [people], "none_" + layer)
        sent = add("Gather", [x, "source"], "sent_" + layer, axis=0)
        summed = ["places", sent], "total_" + layer
        total = add("ScatterND", [empty, *summed[0]], summed[1], reduction=reduction)
        arcs = add("Shape", ["target"], "arcs_" + layer)
        ones = add("Expand", ["one", arcs], "ones_" + layer)
        count = add("ScatterND", [none, "places", ones], "count_" + layer, reduction=reduction)
        least = add("Max", [count, "one"], "least_" + layer)
        column = add("Unsqueeze", [least, "last"], "column_" + layer)
        mean = add("Div", [total, column], "mean_" + layer)
        near = add("MatMul", [mean, "near_" + layer], "from_near_" + layer)
        own = add("MatMul", [x, "own_" + layer], "from_own_" + layer)
        both = add("Add", [near, own], "both_" + layer)
        x = add("Add", [both, "bias_" + layer], "logits" if layer == "2" else "biased_1")
        x = add("Relu", [x], "hidden_1") if layer == "1" else x
    graph = helper.make_graph(
        nodes,
        "by_hand",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["people", FEATURES]),
            helper.make_tensor_value_info("edge_index", TensorProto.INT64, [2, "arcs"]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["people", CLASSES])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    # The newest IR that a runtime reads is older than the newest that onnx writes: name one.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


def trap_no_reduction(weights: Weights, folder: Path) -> str:
    """Left out, `reduction` is none, and the last of the messages that meet wins."""
    path = write(weights, folder / "trap_no_reduction.onnx", reduction="none")
    off = differ(path, GRAPHS["bigger"], answer(weights, GRAPHS["bigger"]))
    assert off > 0.1, off
    assert "tie_order" in probe(path).probes.failed
    return f"ScatterND without reduction: differs by {off:.2g}; inspect: the order of ties matters"


def main(folder: Path) -> None:
    weights = draw_weights()
    path = write(weights, folder / "by_hand_onnx.onnx")
    compare(path, GRAPHS, lambda feed: answer(weights, feed))
    print("trap:", trap_no_reduction(weights, folder))
    show(path)


if __name__ == "__main__":
    start(main)
