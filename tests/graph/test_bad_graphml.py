"""A GraphML file or a networkx graph that cannot be used is refused in one sentence."""

from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from recourse_audit.errors import GraphError
from recourse_audit.graph import graphml
from recourse_audit.graph.readers import from_networkx, read_graph
from recourse_audit.settings import GraphSettings
from tests.graph.graphs import message_of

DAMAGED = ["is damaged or not a GraphML file (", "); write it again with the program"]

GRAPHML = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="k0" for="node" attr.name="v" attr.type="double"/>
<key id="k1" for="edge" attr.name="kind" attr.type="string"/>
<graph edgedefault="undirected">
<node id="a"><data key="k0">1</data></node>
<node id="b"><data key="k0">2</data></node>
<edge source="a" target="b"><data key="k1">kin</data></edge>
</graph></graphml>
"""


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ('target="b"', 'target="zz"', ["tie 'a'-'zz'", "'zz' is not the id", "add the node"]),
        ('<node id="b">', '<node id="a">', ["the node 'a' is declared again", "remove one"]),
        ('<edge source="a"', '<node id=" "/><edge source="a"', ["node ' '", "id is empty"]),
        ('<data key="k0">2</data>', "", ["node 'b'", "'v' is empty"]),
        (">2<", ">NaN<", ["node 'b'", "'v'", "'nan'"]),
        (">2<", ">two<", ["'two'", *DAMAGED]),
        (">2<", ">1_0<", ["'1_0'", *DAMAGED]),
        (">2<", f">{'9' * 5000}<", ["node 'b'", "'v'", "'inf'"]),
        ('"double"', '"string"', ["node 'a'", "'v'", "'1'"]),
        ('attr.name="v"', 'attr.name="V"', ["no column 'v'", "did you mean 'V'?"]),
        ("</graph></graphml>", "", DAMAGED),
        ('key="k0">1', 'key="k9">1', ["'k9'", *DAMAGED]),
        (GRAPHML, "id,v\n", DAMAGED),
        (GRAPHML, "<html></html>", DAMAGED),
        (GRAPHML[GRAPHML.index("<node") : GRAPHML.index("</graph>")], "", ["no nodes"]),
    ],
)
def test_a_bad_graphml_file_is_refused(
    old: str, new: str, parts: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "graph.graphml"
    assert old in GRAPHML
    path.write_text(GRAPHML.replace(old, new))
    message = message_of(lambda: read_graph(GraphSettings(graphml=path, features=("v",))))
    assert message.startswith(str(path))
    for part in parts:
        assert part in message


ON_ONE_LINE = GRAPHML.replace("\n", "")
NODE_B = '<node id="b"><data key="k0">2</data></node>'
TIE = '<edge source="a" target="b"><data key="k1">kin</data></edge>'


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        (NODE_B, NODE_B * 2, ["the node 'b' is declared again"]),
        (NODE_B, NODE_B.replace("b", "a"), ["the node 'a' is declared again"]),
        (
            ">2</data>",
            '>2</data><data key="k0">9</data>',
            ["'v' has two values", *DAMAGED],
        ),
        ('"k1" for="edge"', '"k0" for="edge"', ["the key 'k0' is declared again"]),
        ('attr.name="kind"', 'attr.name="v"', None),
        (
            '<key id="k1" for="edge" attr.name="kind"',
            '<key id="k1" for="node" attr.name="v"',
            None,
        ),
        (TIE, TIE.replace("<edge", '<edge id="1"') * 2, ["the tie '1' is declared again"]),
        ('<node id="b">', "<node>", ["'id'", *DAMAGED]),
        (' target="b"', "", ["'target'", *DAMAGED]),
        ("</graph>", '</graph><graph edgedefault="directed"></graph>', DAMAGED),
        ('"undirected"', '"Directed"', ["edgedefault", *DAMAGED]),
        ("<edge ", '<edge directed="true" ', ["directed=true edge", *DAMAGED]),
        (NODE_B, NODE_B + "<hyperedge></hyperedge>", ["hyperedges", *DAMAGED]),
        ("</node>", '<graph><node id="z"/></graph></node>', ["flat", *DAMAGED]),
        (
            "</node>",
            '<locator href="http://127.0.0.1/"/></node>',
            ["<locator>", "another file", *DAMAGED],
        ),
        ("</node>", '<node id="z"/></node>', ["a node where none can be", *DAMAGED]),
        (">2<", "><b/>2<", ["'v' has two values", *DAMAGED]),
        (">2<", "><b>2</b><", ["node 'b'", "'v' is empty"]),
        ('id="b"', 'id="b" id="b"', ["duplicate attribute", *DAMAGED]),
        ("<graphml", "<!DOCTYPE graphml><graphml", ["document type declaration", *DAMAGED]),
        (
            "<graphml",
            '<!DOCTYPE graphml [<!ENTITY x SYSTEM "file:///etc/hostname">]><graphml',
            ["document type declaration", *DAMAGED],
        ),
        (">2<", ">&x;<", ["undefined entity", *DAMAGED]),
        ('encoding="utf-8"', 'encoding="shift_jis"', DAMAGED),
        ('encoding="utf-8"', 'encoding="nothing"', ["unknown encoding", *DAMAGED]),
        ('attr.type="double"', 'attr.type="complex"', ["complex", *DAMAGED]),
        ('attr.name="v"', "", ["k0", *DAMAGED]),
    ],
)
def test_what_graphml_allows_once_is_refused_the_second_time_wherever_it_stands(
    old: str, new: str, parts: list[str] | None, tmp_path: Path
) -> None:
    path = tmp_path / "graph.graphml"
    assert old in ON_ONE_LINE
    path.write_text(ON_ONE_LINE.replace(old, new))
    settings = GraphSettings(graphml=path, features=("v",))
    if parts is None:
        assert read_graph(settings).features.tolist() == [[1.0], [2.0]]
        return
    message = message_of(lambda: read_graph(settings))
    assert message.startswith(str(path))
    for part in parts:
        assert part in message


def test_two_keys_of_one_name_may_not_both_have_a_value_in_one_node(tmp_path: Path) -> None:
    path = tmp_path / "graph.graphml"
    text = ON_ONE_LINE.replace('"k1" for="edge" attr.name="kind"', '"k1" for="node" attr.name="v"')
    path.write_text(text.replace(">2</data>", '>2</data><data key="k1">9</data>'))
    message = message_of(lambda: read_graph(GraphSettings(graphml=path, features=("v",))))
    assert "'v' has two values where one can be" in message


def test_a_million_laughs_are_not_expanded(tmp_path: Path) -> None:
    path = tmp_path / "graph.graphml"
    laughs = '<!ENTITY l0 "lol">' + "".join(
        f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 20)
    )
    path.write_text(
        ON_ONE_LINE.replace("<graphml", f"<!DOCTYPE g [{laughs}]><graphml").replace(
            ">2<", ">&l19;<"
        )
    )
    message = message_of(lambda: read_graph(GraphSettings(graphml=path, features=("v",))))
    assert "document type declaration" in message


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"directed": True}, "declares its ties undirected"),
        ({"weight": "weight"}, "no column 'weight'"),
        ({"id": "code"}, "no column 'code'"),
        ({"kinds": ("work",)}, "tie 'a'-'b': the kind 'kin' is not listed"),
        ({"edge_attributes": ("since",)}, "no column 'since'"),
    ],
)
def test_settings_that_do_not_fit_a_graphml_file_are_refused(
    settings: dict[str, Any], part: str, tmp_path: Path
) -> None:
    path = tmp_path / "graph.graphml"
    path.write_text(GRAPHML)
    given = GraphSettings(graphml=path, features=("v",), **settings)
    assert part in message_of(lambda: read_graph(given))


def test_a_graphml_file_that_is_too_large_is_refused_in_favour_of_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.graphml"
    path.write_text(GRAPHML)
    monkeypatch.setattr(graphml, "MOST_TIES", 0)
    message = message_of(lambda: read_graph(GraphSettings(graphml=path, features=("v",))))
    assert "more than 0 ties" in message
    assert "Parquet" in message


def test_networkx_nodes_that_become_the_same_text_are_refused() -> None:
    drawing: nx.Graph[Any] = nx.Graph()
    drawing.add_node(7, v=1)
    drawing.add_node("7", v=1)
    with pytest.raises(GraphError, match="'7' is used again"):
        from_networkx(drawing, features=["v"])
