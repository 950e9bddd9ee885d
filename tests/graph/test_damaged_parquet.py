"""A damaged Parquet file is read, or refused with a message, whichever byte is damaged."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from recourse_audit.errors import GraphError
from recourse_audit.graph.readers import read_graph
from recourse_audit.settings import GraphSettings


def test_no_single_damaged_byte_of_a_tie_table_crashes_the_reader(tmp_path: Path) -> None:
    nodes, edges = tmp_path / "nodes.parquet", tmp_path / "edges.parquet"
    pq.write_table(pa.table({"id": ["a", "b", "c"], "f": [1.0, 2.0, 3.0]}), nodes)
    ties = {"source": ["a", "b"], "target": ["b", "c"], "kind": ["x", "x"]}
    pq.write_table(pa.table(ties), edges)
    sound = edges.read_bytes()
    settings = GraphSettings(nodes=nodes, edges=edges, features=("f",))
    refused = []
    for position in range(len(sound)):
        edges.write_bytes(sound[:position] + b"\x01" + sound[position + 1 :])
        try:
            read_graph(settings)
        except GraphError as error:
            refused.append(str(error))
    assert len(refused) > len(sound) // 4
    assert all(str(edges) in message for message in refused)
