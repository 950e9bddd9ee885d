"""Graph neural networks of the usual architectures as real ONNX files, of any depth and width.

They sum messages in the order of arcs (ScatterElements), as exporters write it. Weights are seeded.
"""

from pathlib import Path

from tests.onnx_models import ELEMENT, Sheet, ends, node_count

KINDS = 3
ATTRIBUTES = 2


class Network:
    """A model in the making: ends of arcs, one current value per node, and its width."""

    def __init__(
        self, *, features: int, seed: int = 0, dtype: str = "float32", loops: str = "as_given"
    ) -> None:
        self.sheet = Sheet(seed=seed, dtype=dtype)
        self.features = self.values = self.sheet.input("x", dtype, ["N", features])
        edges = self.sheet.input("edge_index", "int64", [2, "E"])
        self.source, self.target = ends(self.sheet, edges)
        self.count = node_count(self.sheet, self.values)
        self.width = features
        self.kept: str | None = None
        if loops == "replaced":  # as PyG does before it adds one loop to every node
            loop = self.sheet.op("Equal", self.source, self.target)
            self.kept = self.sheet.op("Cast", self.sheet.op("Not", loop), to=ELEMENT[dtype])

    def save(self, path: Path, *, head: str = "logits") -> Path:
        values = self.values
        if head == "softmax":
            values = self.sheet.op("Softmax", values, axis=1)
        return self.sheet.save(path, values, [None, self.width])

    def number(self, value: float) -> str:
        return self.sheet.constant(value, self.sheet.dtype)

    def column(self, values: str) -> str:
        return self.sheet.op("Unsqueeze", values, self.sheet.constant([1], "int64"))

    def linear(self, values: str, wide: int) -> str:
        return self.sheet.op("MatMul", values, self.sheet.weight(self.width, wide))

    def sent(self, values: str) -> str:
        """What the sources of arcs have; nothing along loops that are replaced."""
        sent = self.sheet.op("Gather", values, self.source, axis=0)
        return sent if self.kept is None else self.sheet.op("Mul", sent, self.column(self.kept))

    def received(
        self,
        messages: str,
        width: int,
        *,
        at: str | None = None,
        how: str = "add",
        empty: float = 0,
    ) -> str:
        """Messages added up (or the largest of them) where arcs end."""
        sheet = self.sheet
        size = sheet.op("Concat", self.count, sheet.constant([width], "int64"), axis=0)
        zero = sheet.op("Expand", self.number(empty), size)
        index = sheet.op("Expand", self.column(at or self.target), sheet.op("Shape", messages))
        return sheet.op("ScatterElements", zero, index, messages, axis=0, reduction=how)

    def ones(self) -> str:
        ones = self.sheet.op("Expand", self.number(1), self.sheet.op("Shape", self.source))
        return self.column(ones if self.kept is None else self.kept)

    def degree(self, *, at: str | None = None) -> str:
        """How many arcs lead to each node (or, at the sources, leave it)."""
        return self.received(self.ones(), 1, at=at)

    def activate(self) -> None:
        self.values = self.sheet.op("LeakyRelu", self.values, alpha=0.2)

    def bias(self) -> None:
        self.values = self.sheet.op("Add", self.values, self.sheet.weight(self.width))


def network(
    path: Path,
    kind: str,
    *,
    features: int = 5,
    classes: int = 3,
    layers: int = 2,
    hidden: int = 8,
    seed: int = 0,
    dtype: str = "float32",
    head: str = "logits",
) -> Path:
    """Write one network.

    kind: gcn, weighted_gcn (the degree is a sum of weights), gat, sage, gin, max, rgcn (a matrix
        for each kind of tie), attributes (messages read the tie's), out_degree (messages weighed by
        how many arcs leave their sender), sender_degree (by how many arrive there), bare_mean (a
        node to which no arc leads gets NaN), own_degree and degrees (how many arcs arrive is one
        more feature, of the first layer and of every layer), second_degree (how many arcs arrive at
        the nodes from which arcs arrive is), both_ways (arcs carry messages back as well),
        weighed_mean (a mean weighed by the senders' degrees), degree_of_some (the sender's degree
        weighs a message only where its first feature is positive)
    """
    loops = "replaced" if kind in ("gcn", "gat") else "as_given"
    net = Network(features=features, seed=seed, dtype=dtype, loops=loops)
    if kind == "own_degree":
        _append_degree(net)
    if kind == "second_degree":
        _append(net, net.received(net.sent(net.degree()), 1))
    if kind == "both_ways":
        there, back = net.source, net.target
        net.source = net.sheet.op("Concat", there, back, axis=0)
        net.target = net.sheet.op("Concat", back, there, axis=0)
    extra = _inputs_of_ties(net, kind)
    for layer in range(layers):
        wide = classes if layer == layers - 1 else hidden
        if kind == "degrees":
            _append_degree(net)
        _LAYERS[kind](net, wide, extra)
        net.width = wide
        net.bias()
        if layer < layers - 1:
            net.activate()
    return net.save(path, head=head)


def _inputs_of_ties(net: Network, kind: str) -> str:
    sheet = net.sheet
    match kind:
        case "weighted_gcn":
            return net.column(sheet.input("edge_weight", sheet.dtype, ["E"]))
        case "rgcn":
            return sheet.input("edge_type", "int64", ["E"])
        case "attributes":
            return sheet.input("edge_attr", sheet.dtype, ["E", ATTRIBUTES])
        case _:
            return ""


def _append_degree(net: Network) -> None:
    _append(net, net.degree())


def _append(net: Network, column: str) -> None:
    net.values = net.sheet.op("Concat", net.values, column, axis=1)
    net.width += 1


def _gcn(net: Network, wide: int, weight: str) -> None:
    sheet = net.sheet
    arriving = net.received(weight, 1) if weight else net.degree()
    scale = sheet.op("Sqrt", sheet.op("Reciprocal", sheet.op("Add", arriving, net.number(1))))
    scaled = sheet.op("Mul", net.linear(net.values, wide), scale)
    messages = net.sent(scaled)
    messages = sheet.op("Mul", messages, weight) if weight else messages
    total = sheet.op("Add", net.received(messages, wide), scaled)
    net.values = sheet.op("Mul", total, scale)


def _gat(net: Network, wide: int, _: str) -> None:
    """One head; the largest score of a node is taken off before the exponential."""
    sheet = net.sheet
    values = net.linear(net.values, wide)
    sender, receiver = (sheet.op("MatMul", values, sheet.weight(wide, 1)) for _ in range(2))
    own = sheet.op("LeakyRelu", sheet.op("Add", sender, receiver), alpha=0.2)
    score = sheet.op(
        "Add",
        sheet.op("Gather", sender, net.source, axis=0),
        sheet.op("Gather", receiver, net.target, axis=0),
    )
    score = sheet.op("LeakyRelu", score, alpha=0.2)
    top = sheet.op("Max", net.received(score, 1, how="max", empty=-1e9), own)
    away = sheet.op("Sub", score, sheet.op("Gather", top, net.target, axis=0))
    share = sheet.op("Mul", sheet.op("Exp", away), net.ones())
    own = sheet.op("Exp", sheet.op("Sub", own, top))
    messages = sheet.op("Mul", sheet.op("Gather", values, net.source, axis=0), share)
    total = sheet.op("Add", net.received(messages, wide), sheet.op("Mul", values, own))
    net.values = sheet.op("Div", total, sheet.op("Add", net.received(share, 1), own))


def _combined(net: Network, received: str, wide: int) -> None:
    own = net.linear(net.values, wide)
    net.values = net.sheet.op("Add", own, net.linear(received, wide))


def _sage(net: Network, wide: int, _: str) -> None:
    total = net.received(net.sent(net.values), net.width)
    number = net.sheet.op("Max", net.degree(), net.number(1))
    _combined(net, net.sheet.op("Div", total, number), wide)


def _bare_mean(net: Network, wide: int, _: str) -> None:
    total = net.received(net.sent(net.values), net.width)
    _combined(net, net.sheet.op("Div", total, net.degree()), wide)


def _gin(net: Network, wide: int, _: str) -> None:
    sheet = net.sheet
    own = sheet.op("Mul", net.values, net.number(1.3))
    net.values = sheet.op("Add", own, net.received(net.sent(net.values), net.width))
    net.values, net.width = net.linear(net.values, 2 * wide), 2 * wide
    net.activate()
    net.values = net.linear(sheet.op("Mul", net.values, net.number(0.3)), wide)


def _max(net: Network, wide: int, _: str) -> None:
    _combined(net, net.received(net.sent(net.values), net.width, how="max", empty=-2), wide)


def _rgcn(net: Network, wide: int, kind: str) -> None:
    """A matrix for each kind of tie, and the mean over the ties of that kind."""
    sheet, total = net.sheet, net.linear(net.values, wide)
    for one in range(KINDS):
        same = sheet.op("Equal", kind, sheet.constant(one, "int64"))
        same = net.column(sheet.op("Cast", same, to=ELEMENT[sheet.dtype]))
        messages = sheet.op("Mul", net.sent(net.linear(net.values, wide)), same)
        number = sheet.op("Max", net.received(same, 1), net.number(1))
        mean = sheet.op("Div", net.received(messages, wide), number)
        total = sheet.op("Add", total, mean)
    net.values = total


def _attributes(net: Network, wide: int, given: str) -> None:
    sheet = net.sheet
    told = sheet.op("MatMul", given, sheet.weight(ATTRIBUTES, net.width))
    messages = sheet.op("LeakyRelu", sheet.op("Add", net.sent(net.values), told), alpha=0.2)
    _combined(net, net.received(messages, net.width), wide)


def _weighed(net: Network, wide: int, arcs: str) -> None:
    """Messages divided by how many arcs the sender has."""
    sheet = net.sheet
    number = sheet.op("Sqrt", sheet.op("Add", arcs, net.number(1)))
    messages = net.sent(sheet.op("Div", net.values, number))
    _combined(net, net.received(messages, net.width), wide)


def _by_out_degree(net: Network, wide: int, _: str) -> None:
    _weighed(net, wide, net.degree(at=net.source))


def _by_sender_degree(net: Network, wide: int, _: str) -> None:
    _weighed(net, wide, net.degree())


def _weighed_mean(net: Network, wide: int, _: str) -> None:
    sheet, number = net.sheet, net.degree()
    total = net.received(net.sent(sheet.op("Mul", net.values, number)), net.width)
    weight = sheet.op("Max", net.received(net.sent(number), 1), net.number(1))
    _combined(net, sheet.op("Div", total, weight), wide)


def _degree_of_some(net: Network, wide: int, _: str) -> None:
    sheet = net.sheet
    first = sheet.op("Gather", net.features, sheet.constant([0], "int64"), axis=1)
    positive = sheet.op("Greater", first, net.number(0))
    number = sheet.op("Where", positive, net.degree(), net.number(1))
    _weighed(net, wide, number)


_LAYERS = {
    "gcn": _gcn,
    "weighted_gcn": _gcn,
    "gat": _gat,
    "sage": _sage,
    "gin": _gin,
    "max": _max,
    "rgcn": _rgcn,
    "attributes": _attributes,
    "out_degree": _by_out_degree,
    "sender_degree": _by_sender_degree,
    "bare_mean": _bare_mean,
    "own_degree": _gin,
    "second_degree": _gin,
    "both_ways": _gin,
    "weighed_mean": _weighed_mean,
    "degree_of_some": _degree_of_some,
    "degrees": _gin,
}
