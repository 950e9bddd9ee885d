"""Makes copies of a model whose last layer is moved by increasing distances.

    python sample_models/perturb.py MODEL.onnx OUT_FOLDER [DISTANCE …]

All floating-point constants of the last matrix product and of what follows it are moved in one
random direction, the same for all copies, by the given Euclidean distance. Needs the onnx package.
The copies are for `recourse-audit stability --perturbed-model`, and for the right-hand panel of the
paper's Fig. 8.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

DISTANCES = (0.1, 0.3, 1.0, 3.0, 10.0)
PRODUCTS = ("MatMul", "Gemm")


def last_weights(model: onnx.ModelProto) -> list[str]:
    """The constants that the last matrix product and the nodes after it take."""
    constants = {constant.name: constant for constant in model.graph.initializer}
    nodes = list(model.graph.node)
    last = max(
        place
        for place, node in enumerate(nodes)
        if node.op_type in PRODUCTS and any(name in constants for name in node.input)
    )
    named = [name for node in nodes[last:] for name in node.input if name in constants]
    real = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)
    return [
        name
        for name in dict.fromkeys(named)
        if constants[name].data_type in real and np.prod(constants[name].dims) > 1
    ]


def perturbed(model: onnx.ModelProto, distance: float, seed: int) -> onnx.ModelProto:
    """A copy of the model whose last layer is moved by `distance`."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    wanted = set(last_weights(model))
    moved = [constant for constant in copy.graph.initializer if constant.name in wanted]
    random = np.random.default_rng(seed)
    directions = [random.normal(size=tuple(constant.dims)) for constant in moved]
    length = float(np.sqrt(sum((direction**2).sum() for direction in directions)))
    for constant, direction in zip(moved, directions, strict=True):
        values = numpy_helper.to_array(constant)
        shifted = (values + direction * (distance / length)).astype(values.dtype)
        constant.CopyFrom(numpy_helper.from_array(shifted, constant.name))
    return copy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("distances", type=float, nargs="*", default=DISTANCES)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model = onnx.load(options.model)
    options.out.mkdir(parents=True, exist_ok=True)
    for distance in options.distances:
        path = options.out / f"{options.model.stem}_{distance:g}.onnx"
        onnx.save(perturbed(model, distance, options.seed), path)
        print(path)


if __name__ == "__main__":
    main()
