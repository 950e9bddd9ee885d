"""One entry point for all formats: settings or arrays come in, a checked `Graph` goes out."""

from recourse_audit.errors import SettingsError
from recourse_audit.graph.archives import read_npz
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.columns import Place, TakeColumns, with_raw_columns
from recourse_audit.graph.computed import with_computed
from recourse_audit.graph.graph import Graph
from recourse_audit.graph.graphml import from_networkx, read_graphml
from recourse_audit.graph.kinds import KindTables, find_subject, join_kinds, people_settings
from recourse_audit.graph.tables import read_kinds, read_tables
from recourse_audit.settings import GraphSettings, Subject
from recourse_audit.settings.inputs import ONE_SOURCE
from recourse_audit.settings.section import first_repeated

__all__ = ["from_arrays", "from_networkx", "read_graph"]


def read_graph(
    settings: GraphSettings, raw: TakeColumns | None = None, *, subject: Subject | None = None
) -> Graph:
    """Read the graph that the settings name, or raise a `GraphError` that says what to fix.

    Parameters
    ----------
    settings
        The section `graph` of the settings.
    raw
        Whoever takes raw columns gets a graph in which people have no features, and all their
        columns are attributes.
    subject
        Who is decided on, in a graph of several kinds of nodes: `decision.subject`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from recourse_audit import load_settings
    >>> read_graph(load_settings(Path("sample_models/lending/audit.toml")).graph)
    Graph(nodes=1800, ties=4211, features=7)
    """
    tables, settings = settings, people_settings(settings, subject)
    if (name := first_repeated(settings.features)) is not None:
        raise SettingsError(f"graph.features: names {name!r} twice; remove one of them")
    if not tables.files:
        raise SettingsError(f"graph: {ONE_SOURCE}, or a graph in memory")
    listed = raw is None and not settings.features and not tables.node_tables
    if listed and tables.npz is None:
        raise SettingsError("graph: needs features: the columns that the model takes, in order")
    read: tuple[Graph, Place] | KindTables
    if tables.npz is not None:
        read = read_npz(tables.npz, tables, subject, raw=raw is not None)
    elif tables.graphml is not None:
        read = read_graphml(tables.graphml, settings, raw=raw is not None)
    elif tables.node_tables:
        read = read_kinds(tables, find_subject(tables.node_tables, subject), raw)
    else:
        read = read_tables(settings, raw)
    if isinstance(read, KindTables):
        return join_kinds(with_columns(read.people, settings, raw, read.place), read)
    return with_columns(read[0], settings, raw, read[1])


def with_columns(
    graph: Graph, settings: GraphSettings, raw: TakeColumns | None, place: Place
) -> Graph:
    """The graph with columns as whoever takes them wants them, and with what follows from them."""
    if raw is not None:
        graph = with_raw_columns(graph, raw, place)
    return with_computed(graph, settings, place)
