"""Models of several kinds of nodes, as PyG exports them, against torch and against themselves."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from recourse_audit.errors import ModelError
from recourse_audit.graph.graph import Graph, Kinds, build_graph
from recourse_audit.model.batching import QueryBatcher, form_in
from recourse_audit.model.edited_graph import StateSharing, ask_copies, new_ties
from recourse_audit.model.edits import edits_of, whole_field
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import pool_of, whole
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.model import ProbeReport
from recourse_audit.settings import ModelSettings
from tests.cases import long_after
from tests.model.kind_files import FILES, FOLDER, graph_for, settings_for, torch_answers

SEVERAL = [name for name in FILES if "edges" not in FILES[name]["roles"].values()]


def probed(name: str, graph: Graph, **declared: Any) -> tuple[OnnxModel, ProbeReport]:
    settings = settings_for(name, **declared)
    model = OnnxModel(settings, kinds=graph.kinds)
    names = graph.feature_names
    return model, probe(model, settings, pool_of(graph), classes=2, columns=names)


@pytest.mark.parametrize("name", FILES)
def test_every_input_gets_its_role(name: str) -> None:
    kinds = graph_for(name, "large").kinds
    model = OnnxModel(settings_for(name), kinds=kinds)
    roles = {port.name: port.full_role for port in model.signature.inputs}
    assert roles == FILES[name]["roles"]


def test_what_names_do_not_say_is_found_by_asking_or_called_unsure() -> None:
    """Names are mangled; both directions of a relation between people fit its input."""
    ports = OnnxModel(settings_for("mangled"), kinds=graph_for("mangled", "small").kinds).signature
    sure = {port.full_role: port.sure for port in ports.inputs}
    assert sure.pop("edges:recommends") == "unsure"
    assert set(sure.values()) == {"certain"}


@pytest.mark.parametrize("size", long_after(1, ["small", "large"]))
@pytest.mark.parametrize("name", [name for name in FILES if name != "traced_wrong"])
def test_the_whole_graph_gets_the_answers_of_torch(name: str, size: str) -> None:
    graph = graph_for(name, size)
    model, _ = probed(name, graph)
    answers = QueryBatcher(model, pool_of(graph)).ask_raw(
        whole(graph), np.arange(graph.person_count)
    )
    expected = torch_answers(name, size)[: graph.person_count]
    assert np.abs(answers - expected).max() < 2e-6


@pytest.mark.parametrize(
    ("name", "padded", "degree"),
    [
        ("flat", False, False),
        ("rgcn", False, False),
        ("gat", True, False),
        ("gcn", False, True),
        ("attributes", True, None),
    ],
)
def test_probes_find_what_an_export_needs(name: str, padded: bool, degree: bool | None) -> None:
    _, report = probed(name, graph_for(name, "large"))
    assert report.failed == ()
    assert report.depth == 2
    assert report.padded == padded
    assert report.sender_degree is degree


def test_a_kind_and_a_relation_that_reach_nobody_are_named() -> None:
    _, report = probed("dead_end", graph_for("dead_end", "large"))
    person, employer = report.kinds
    assert (person.kind, person.hops, person.silent) == ("person", 2, ())
    assert employer.hops is None
    assert employer.silent == ("employer.0", "employer.1", "employer.2")
    assert [(r.relation, r.inputs, r.matters) for r in report.relations] == [
        ("works_at", ("forward",), False),
        ("recommends", ("forward",), True),
    ]


def test_a_kind_without_features_is_seen_by_its_ties() -> None:
    _, report = probed("counted", graph_for("counted", "large"))
    assert [(kind.kind, kind.hops) for kind in report.kinds] == [
        ("person", 2),
        ("employer", 2),
        ("device", 2),
    ]


def random_edits(graph: Graph, generator: np.random.Generator, count: int) -> dict[str, Any]:
    """Ties ended and added, and own features changed, of anybody; asked about people."""
    dropped, added, replaced = [], [], []
    tie_of_arc = graph.arc_tie
    kinds = graph.kinds
    assert kinds is not None
    for edit in range(count):
        for tie in generator.choice(len(graph.ties), generator.integers(0, 4), replace=False):
            dropped += [(edit, arc) for arc in np.flatnonzero(tie_of_arc == tie)]
        for _ in range(generator.integers(0, 3)):
            number = int(generator.integers(len(kinds.relations)))
            relation = kinds.relations[number]
            near, far = (
                int(generator.choice(kinds.members(end)))
                for end in (relation.source, relation.target)
            )
            forward, backward = graph.new_rows(np.array([number]))
            if near != far:
                added += [(edit, near, far, forward[0]), (edit, far, near, backward[0])]
        if edit % 2:
            replaced.append((edit, int(generator.integers(graph.node_count)), edit))
    asked = np.stack((np.arange(count), generator.integers(0, graph.person_count, count)))
    features = graph.features[generator.integers(0, graph.node_count, count)].copy()
    for edit, node, _ in replaced:  # features of another node of the same kind
        kind = int(kinds.of(np.array([node]))[0])
        features[edit] = graph.features[int(generator.choice(kinds.members(kind)))]
    return {
        "count": count,
        "asked": asked,
        "dropped": np.array(dropped).reshape(-1, 2).T,
        "added": np.array(added).reshape(-1, 4).T,
        "replaced": np.array(replaced).reshape(-1, 3).T,
        "features": features,
    }


def feeds_of(name: str, graph: Graph, edit: int, edits: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The inputs of one edited whole graph, written out by a loop over its ties."""
    kinds = graph.kinds
    assert kinds is not None
    gone = {int(graph.arc_tie[arc]) for e, arc in edits["dropped"].T if e == edit}
    ties = [
        (int(graph.ties.kind[t]), int(graph.ties.source[t]), int(graph.ties.target[t]))
        for t in range(len(graph.ties))
        if t not in gone
    ]
    new = [column for column in edits["added"].T if column[0] == edit][::2]
    ties += [((int(row) - graph.row_count) // 2, int(a), int(b)) for _, a, b, row in new]
    features = graph.features.copy()
    for e, node, row in edits["replaced"].T:
        if e == edit:
            features[node] = edits["features"][row]
    feeds: dict[str, NDArray[Any]] = {}
    for port, role in FILES[name]["roles"].items():
        what, *about = role.split(":")
        if what == "features":
            kind = kinds.names.index(about[0])
            feeds[port] = features[kinds.members(kind), slice(*kinds.blocks[kind])]
        elif what == "node_count":
            feeds[port] = np.array(len(kinds.members(kinds.names.index(about[0]))))
        else:
            number = [relation.name for relation in kinds.relations].index(about[0])
            relation = kinds.relations[number]
            pairs = [
                (a - kinds.starts[relation.source], b - kinds.starts[relation.target])
                for kind, a, b in ties
                if kind == number
            ]
            ends = np.array(pairs, np.int64).reshape(-1, 2).T
            feeds[port] = np.ascontiguousarray(ends[::-1] if len(about) > 1 else ends)
    return feeds


@pytest.mark.parametrize("name", ["flat", "to_hetero", "gat", "gcn", "counted", "no_reverse"])
def test_shared_states_give_the_answers_of_edited_whole_graphs(name: str) -> None:
    import onnxruntime

    graph = graph_for(name, "large")
    model, report = probed(name, graph)
    batcher = QueryBatcher(model, pool_of(graph)).with_more_ties(new_ties(graph))
    edits = random_edits(graph, np.random.default_rng(3), 60)
    table = edits_of(
        edits["count"],
        edits["asked"],
        dropped=edits["dropped"],
        added=edits["added"],
        replaced=edits["replaced"],
        features=edits["features"],
    )
    session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx")
    right = [
        session.run(None, feeds_of(name, graph, edit, edits))[0][edits["asked"][1, edit]]
        for edit in range(60)
    ]
    probabilities = np.exp(right) / np.exp(right).sum(axis=1, keepdims=True)
    copies = np.exp(ask_copies(batcher, [(whole_field(graph), table)]))
    assert np.abs(copies - probabilities).max() < 1e-5
    assert report.sender_degree is not None
    assert report.depth == 2
    form = form_in(report)
    assert form == ((1,) if name == "gcn" else ()), "recommendations are number 1"
    shared = np.exp(StateSharing(graph, batcher, 2, form).answers(table))
    assert np.abs(shared - probabilities).max() < 1e-5
    lacking = np.exp(StateSharing(graph, batcher, 1, form).answers(table))
    assert np.abs(lacking - probabilities).max() > 1e-3, "one layer fewer is not enough"


@pytest.mark.parametrize("name", SEVERAL)
def test_a_model_without_a_graph_is_called_one_of_several_kinds(name: str) -> None:
    if name in ("constants", "misnamed"):
        pytest.skip("needs its constants declared, or has names that mean nothing")
    model = OnnxModel(ModelSettings(path=FOLDER / f"{name}.onnx"), complete=False)
    kinds = model.invent_kinds()
    assert kinds is not None
    if name != "mangled":
        assert kinds.names[:2] == ("person", "employer")
        relations = {
            r.name: (kinds.names[r.source], kinds.names[r.target]) for r in kinds.relations
        }
        assert relations == {k: tuple(v) for k, v in FILES[name]["relations"].items()}


def test_a_one_kind_model_is_not_taken_for_one_of_several() -> None:
    sample = Path(__file__).parents[2] / "sample_models" / "lending" / "gcn.onnx"
    assert OnnxModel(ModelSettings(path=sample)).invent_kinds() is None


def test_a_model_of_several_kinds_says_so_where_the_graph_has_one() -> None:
    with pytest.raises(ModelError, match=r"several kinds of nodes do \(heterogeneous graphs\)"):
        OnnxModel(ModelSettings(path=FOLDER / "flat.onnx"))


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"x_person": "features:people"}, "there is no 'people'; choose from 'person', 'employer'"),
        ({"x_employer": "features:person"}, "x_person and x_employer both have the role"),
        ({"x_nobody": "features:person"}, "names the input 'x_nobody', which the model does not"),
        ({"x_person": "constant"}, r"say its value in \[model.constants\]: x_person"),
    ],
)
def test_wrong_roles_are_refused(roles: dict[str, str], message: str) -> None:
    declared = {**FILES["flat"]["roles"], **roles}
    with pytest.raises(ModelError, match=message):
        OnnxModel(settings_for("flat", roles=declared), kinds=graph_for("flat", "small").kinds)


def test_a_declared_pairing_that_cannot_be_is_refused() -> None:
    """Jobs are given to the input for recommendations: an index is out of range."""
    roles = FILES["flat"]["roles"] | {
        "edge_index_works_at": "edges:recommends",
        "edge_index_recommends": "edges:works_at",
    }
    graph = graph_for("flat", "small")
    with pytest.raises(
        ModelError, match=r"gives 'edge_index_.* looks for nodes that are not there"
    ):
        OnnxModel(settings_for("flat", roles=roles), kinds=graph.kinds)


def test_a_subject_without_an_output_is_refused() -> None:
    """Employers are decided on, and the only output is about people."""
    graph = graph_for("flat", "large")
    kinds = graph.kinds
    assert kinds is not None
    people = len(kinds.members(0))
    order = np.r_[people : graph.node_count, 0:people]
    turned = Kinds(
        names=kinds.names[::-1],
        starts=np.array([0, graph.node_count - people, graph.node_count]),
        blocks=kinds.blocks[::-1],
        relations=tuple(
            type(r)(name=r.name, source=1 - r.source, target=1 - r.target) for r in kinds.relations
        ),
    )
    place = np.argsort(order).astype(np.int32)
    ties = graph.ties
    other = build_graph(
        ids=graph.ids[order],
        features=graph.features[order],
        feature_names=graph.feature_names,
        attributes={},
        ties=replace(ties, source=place[ties.source], target=place[ties.target]),
        directed=False,
        kinds=turned,
    )
    with pytest.raises(ModelError, match="no output has one row of scores per employer"):
        probed("flat", other)


def test_an_input_that_is_no_part_of_the_graph_needs_a_value() -> None:
    kinds = graph_for("constants", "small").kinds
    settings = ModelSettings(path=FOLDER / "constants.onnx")
    with pytest.raises(ModelError, match=r"'temperature' .* \[model.constants\]"):
        OnnxModel(settings, kinds=kinds)


def test_the_files_are_what_pyg_wrote() -> None:
    """Inputs as they are declared in the files; nothing was renamed for the tests."""
    for name, facts in FILES.items():
        model = onnx.load(FOLDER / f"{name}.onnx")
        assert [value.name for value in model.graph.input] == [*facts["inputs"]]
