"""A graph without ties is read, but never without a word, as ties can then explain nothing."""

from dataclasses import replace

from recourse_audit.graph.arrays import Graph
from recourse_audit.records.probes import ProbeReport


def with_ties_counted(probes: ProbeReport, graph: Graph) -> ProbeReport:
    """The same report, with a sentence more where no two people of the graph have a tie."""
    if graph.pair_count:
        return probes
    if len(graph.ties):
        found = f"only ties from a person to themselves ({len(graph.ties):,})"
    else:
        found = "no ties at all"
    sentence = (
        f"THE GRAPH HAS NO TIES: the file of ties was read and holds {found}. No decision can be "
        "explained by ties, no tie can be dropped, and every figure about ties is empty. Check "
        "that the right file is named in the settings (graph)."
    )
    return replace(probes, sentences={"no_ties": sentence, **probes.sentences})
