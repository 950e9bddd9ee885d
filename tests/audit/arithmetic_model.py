"""Models whose effects are known by arithmetic, as real ONNX files with two classes."""

from pathlib import Path

from tests.onnx_models import Parts, Sheet, aggregate, ends, node_count


def arithmetic_model(
    path: Path,
    *,
    times_own: bool = False,
    layers: int = 2,
    size: float = 0.01,
    scores: bool = False,
) -> Path:
    """The second class has 1/2 + size · s: s sums one feature over the hops a node hears from.

    With `times_own`, s is multiplied by the node's own feature, so that the sign of what any other
    node contributes depends on it. With `scores`, the output is size · s alone.
    """
    sheet = Sheet()
    features = sheet.input("x", "float32", ["nodes", 1])
    source, target = ends(sheet, sheet.input("edge_index", "int64", [2, "arcs"]))
    parts = Parts(source=source, target=target, count=node_count(sheet, features))
    values = features
    for _ in range(layers):
        values = aggregate(sheet, parts, values, 1)
    if times_own:
        values = sheet.op("Mul", values, features)
    if scores:
        return sheet.save(path, sheet.op("Mul", values, sheet.constant([[size]], "float32")))
    share = sheet.op("Mul", values, sheet.constant([[-size, size]], "float32"))
    output = sheet.op("Add", share, sheet.constant([[0.5, 0.5]], "float32"))
    return sheet.save(path, output)
