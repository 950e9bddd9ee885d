"""One entry point for all formats: settings or arrays come in, a checked `Graph` goes out."""

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import from_arrays, read_npz
from recourse_audit.graph.columns import TakeColumns, find_repeated, with_raw_columns
from recourse_audit.graph.computed import with_computed
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.graphml import from_networkx, read_graphml
from recourse_audit.graph.tables import read_tables
from recourse_audit.settings import GraphSettings
from recourse_audit.settings.inputs import ONE_SOURCE

__all__ = ["from_arrays", "from_networkx", "read_graph"]


def read_graph(settings: GraphSettings, raw: TakeColumns | None = None) -> Graph:
    """Read the graph that the settings name, or raise a `GraphError` that says what to fix.

    Parameters
    ----------
    settings
        The section `graph` of the settings.
    raw
        Whoever takes raw columns gets a graph without features, in which all columns are
        attributes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from recourse_audit import load_settings
    >>> read_graph(load_settings(Path("sample_models/lending/audit.toml")).graph)
    Graph(nodes=1800, ties=4211, features=7)
    """
    if (name := find_repeated(settings.features)) is not None:
        raise SettingsError(f"graph.features: names {name!r} twice; remove one of them")
    if not settings.files:
        raise SettingsError(f"graph: {ONE_SOURCE}, or a graph in memory")
    if raw is None and not settings.features and settings.npz is None:
        raise SettingsError("graph: needs features: the columns that the model takes, in order")
    if settings.npz is not None:
        graph, place = read_npz(settings.npz, settings, raw=raw is not None)
    elif settings.graphml is not None:
        graph, place = read_graphml(settings.graphml, settings, raw=raw is not None)
    else:
        graph, place = read_tables(settings, raw)
    if raw is not None:
        graph = with_raw_columns(graph, raw, place)
    return with_computed(graph, settings, place)
