"""One entry point for all formats: settings or arrays come in, a checked `Graph` goes out."""

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.assembly import from_arrays
from recourse_audit.graph.graphml import from_networkx, read_graphml
from recourse_audit.graph.npz import read_npz
from recourse_audit.graph.tables import read_tables
from recourse_audit.settings import GraphSettings

__all__ = ["from_arrays", "from_networkx", "read_graph"]


def read_graph(settings: GraphSettings) -> Graph:
    """Read the graph that the settings name, or raise a `GraphError` that says what to fix."""
    for position, name in enumerate(settings.features):
        if name in settings.features[:position]:
            raise SettingsError(f"graph.features: names {name!r} twice; remove one of them")
    if settings.npz is not None:
        return read_npz(settings)
    if settings.graphml is not None:
        return read_graphml(settings)
    return read_tables(settings)
