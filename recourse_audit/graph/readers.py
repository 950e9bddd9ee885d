"""One entry point for all formats: settings or arrays come in, a checked `Graph` goes out.

The table of candidate ties, who could be tied to whom, is read here too.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.arrays import from_arrays, read_npz
from recourse_audit.graph.columns import RawColumns, near_matches, with_raw_columns
from recourse_audit.graph.computed import with_computed
from recourse_audit.graph.graph import Graph, Indices, Ints
from recourse_audit.graph.graphml import from_networkx, read_graphml
from recourse_audit.graph.tables import arrow_errors, find_ends, keys_of, open_table, read_tables
from recourse_audit.settings import GraphSettings
from recourse_audit.settings.inputs import ONE_SOURCE
from recourse_audit.settings.section import is_file

__all__ = ["from_arrays", "from_networkx", "read_graph"]


def read_graph(settings: GraphSettings, raw: RawColumns | None = None) -> Graph:
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
    >>> from recourse_audit import load_settings
    >>> read_graph(load_settings(Path("sample_models/lending/audit.toml")).graph)
    Graph(nodes=1800, ties=4211, features=7)
    """
    for position, name in enumerate(settings.features):
        if name in settings.features[:position]:
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


# ---------------------------------------------------------------- candidate ties


KEY = "recourse.candidates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Possible new ties, with node numbers as ends; without `kind`, each may be of any kind."""

    source: Indices
    target: Indices
    kind: NDArray[np.int16] | None
    starts: Ints
    rows: Ints

    def of(self, node: int) -> Ints:
        """The rows with this node at one end."""
        return self.rows[self.starts[node] : self.starts[node + 1]]


def read_candidates(path: Path, graph: Graph, settings: GraphSettings) -> Candidates:
    """Read a CSV or Parquet file whose columns have the same names as in the table of ties."""
    try:
        return _read_candidates(path, graph, settings)
    except GraphError as error:
        raise SettingsError(f"{KEY}: {error}") from None


def _read_candidates(path: Path, graph: Graph, settings: GraphSettings) -> Candidates:
    if not is_file(path):
        raise GraphError(f"{path}: there is no such file; correct the path")
    ends = (settings.source, settings.target)
    kind = None
    with arrow_errors(str(path)):
        table = open_table(path, few={settings.kind}, row_of="new tie")
        for name in ends:
            if name not in table.names:
                hint = near_matches(name, table.names)
                raise GraphError(f"{path}: there is no column {name!r}; {hint}")
        further = [name for name in table.names if name not in {*ends, settings.kind}]
        if further:
            raise GraphError(
                f"{path}: the column {further[0]!r} has no meaning here; keep only {ends[0]!r}, "
                f"{ends[1]!r} and, if ties have kinds, {settings.kind!r}"
            )
        table.load(table.names, as_text=table.names)
        source, target = (find_ends(table, e, keys_of(graph.ids), "the graph") for e in ends)
        if settings.kind in table.names:
            codes, names = table.codes(settings.kind)
            known = graph.ties.kinds
            for code, name in enumerate(names):
                if name not in known:
                    row = table.place.row(int(np.flatnonzero(codes == code)[0]))
                    hint = near_matches(name, known)
                    raise GraphError(f"{row}: {name!r} is not a kind of tie in the graph; {hint}")
            kind = np.array([known.index(name) for name in names], np.int16)[codes]
    loops = np.flatnonzero(source == target)
    if len(loops):
        raise GraphError(
            f"{table.place.row(int(loops[0]))}: is a tie from a node to itself; give it two "
            "different ends, or remove the row"
        )
    both = np.concatenate((source, target))
    order = np.argsort(both, kind="stable")
    return Candidates(
        source=source,
        target=target,
        kind=kind,
        starts=np.searchsorted(both[order], np.arange(graph.node_count + 1)),
        rows=order % max(len(source), 1),
    )
