"""What a reader must know when a probe fails, or when the declared depth is not the measured."""

from dataclasses import replace

from recourse_audit.records.model import ProbeReport

NOTES = {
    "deterministic": "The same question gets different answers: the model was probably exported "
    "with its dropout active. Figures in this audit cannot be reproduced; ask for an export in "
    "evaluation mode.",
    "node_order": "Answers depend on the order in which nodes are listed. This audit always lists "
    "nodes in ascending order, but another order would give other decisions.",
    "tie_order": "Answers depend on the order in which ties are listed: messages are lost when "
    "several arrive at one node (a known fault of exports below opset 16), so the model's numbers "
    "are probably not those its makers measured.",
    "ties_matter": "Answers do not change when ties do: the training graph was probably baked "
    "into the export. No explanation by ties is possible.",
    "packing": "A graph's answer changes with what is asked beside it, so every graph is asked "
    "alone, which is slower.",
    "depth": "Every node of a query reaches every other, however far apart, so no number of hops "
    "bounds what a decision rests on.",
}
SEEN = (
    "Determinism was checked on {graphs} small graphs, each asked about {times} times. A",
    "model that answers differently in fewer than about one query in ten may pass; so",
    "an audit asks a share of its queries twice (model.repeat).",
)
NO_ROOM = (
    "The model was exported for a size too small to measure how many hops reach a node; declare "
    "model.depth."
)


def with_declared_depth(report: ProbeReport, declared: int) -> ProbeReport:
    """Rely on a declared depth, unless the probe saw nodes farther away reach a decision."""
    notes = {key: text for key, text in report.notes.items() if key != "depth"}
    measured = report.depth
    if measured is None:
        notes["depth"] = (
            f"The settings declare a depth of {declared} hops; the probe measured no limit."
        )
    elif measured > declared:
        notes["depth"] = (
            f"The settings declare a depth of {declared} hops, but the probe saw nodes {measured} "
            f"hops away reach a decision, so {measured} is used."
        )
    elif measured < declared:
        notes["depth"] = (
            f"The settings declare a depth of {declared} hops; the probe measured {measured}."
        )
    return replace(report, depth=max(declared, measured or 0), notes=notes)
