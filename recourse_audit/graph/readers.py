"""One entry point for all formats: settings or arrays come in, a checked `Graph` goes out."""

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.assembly import from_arrays
from recourse_audit.graph.graphml import from_networkx, read_graphml
from recourse_audit.graph.npz import read_npz
from recourse_audit.graph.raw_columns import RawColumns
from recourse_audit.graph.tables import read_tables
from recourse_audit.settings import GraphSettings
from recourse_audit.settings.inputs import ONE_SOURCE

__all__ = ["from_arrays", "from_networkx", "read_graph"]


def read_graph(settings: GraphSettings, raw: RawColumns | None = None) -> Graph:
    """Read the graph that the settings name, or raise a `GraphError` that says what to fix.

    Whoever takes raw columns gets a graph without features, in which all columns are attributes.
    """
    for position, name in enumerate(settings.features):
        if name in settings.features[:position]:
            raise SettingsError(f"graph.features: names {name!r} twice; remove one of them")
    if not settings.files:
        raise SettingsError(f"graph: {ONE_SOURCE}, or a graph in memory")
    if settings.npz is not None:
        return read_npz(settings, raw)
    if raw is None and not settings.features:
        raise SettingsError("graph: needs features: the columns that the model takes, in order")
    if settings.graphml is not None:
        return read_graphml(settings, raw)
    return read_tables(settings, raw)
