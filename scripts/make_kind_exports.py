"""Makes the ONNX files of several kinds of nodes that the tests ask, as PyG's users make theirs.

Input: only seeds; `kind_worlds.py` has the graphs and `kind_networks.py` the networks. Output:
`tests/files/kinds/`: one ONNX file per way of exporting, one `.npz` beside each with two graphs of
different sizes as the file takes them and torch's answers to them, the two graphs themselves, and
`files.json` with the roles of all inputs. Run it with torch 2.13.0, torch_geometric 2.8.1, onnx,
onnxscript and onnxruntime; the tests need none of them.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from kind_networks import (
    HIDDEN,
    CountedDevices,
    EveryKind,
    Flat,
    PersonOf,
    Rgcn,
    Transformer,
    TwoLayers,
    WithAttributes,
    WithConstants,
    WithWeights,
    attention,
    build_to_hetero,
    convolution_of_equals,
)
from kind_worlds import (
    EDGE_CASES,
    EMPLOYS,
    GRAPHS,
    RECOMMENDS,
    THREE,
    WIDTHS,
    WORKS_AT,
    Graph,
    Named,
    constants,
    counted_devices,
    dictionaries,
    draw_graph,
    employs_only,
    homogenised,
    job_attributes,
    recommendation_weights,
    renamed,
    three_relations,
    works_at_only,
)
from torch import Tensor, nn
from torch_geometric.nn import HGTConv

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "sample_models"))
from export import OPSET, forget_sources, number_names  # noqa: E402

SEED = 11
TOLERANCE = 1e-5

FLAT_ROLES = {
    "x_person": "features:person",
    "x_employer": "features:employer",
    "edge_index_works_at": "edges:works_at",
    "edge_index_works_at_rev": "edges:works_at:reversed",
    "edge_index_recommends": "edges:recommends",
}
HOMOGENISED_ROLES = {
    "x": "features",
    "edge_index": "edges",
    "edge_type": "edge_type",
    "node_type": "node_type",
}
RELATIONS = {"works_at": ("person", "employer"), "recommends": ("person", "person")}
MANGLED = ("_x_0.1", "_x_1.1", "edge_index.1", "edge_index.3", "edge_index")
MISNAMED = ("x_dict", "edge_index_dict", "edge_index.1", "edge_index.3", "edge_index")


def roles_of(*names: str) -> dict[str, str]:
    """The five roles of a flat wrapper under other names."""
    return dict(zip(names, FLAT_ROLES.values(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One file: its network, its inputs, how it is exported and what the tests must know."""

    name: str
    about: str
    network: Callable[[], nn.Module]
    inputs: Callable[[Graph], Named] = three_relations
    roles: dict[str, str] = field(default_factory=lambda: FLAT_ROLES)
    outputs: dict[str, str] = field(default_factory=lambda: {"logits": "person"})
    relations: dict[str, tuple[str, str]] = field(default_factory=lambda: RELATIONS)
    route: str = "torchscript"
    traced: Graph = GRAPHS["large"]
    more: dict[str, object] = field(default_factory=dict)


HOMOGENISED = {
    "inputs": homogenised,
    "roles": HOMOGENISED_ROLES,
    "outputs": {"logits": "*"},
    "more": {
        "node_types": ["person", "employer"],
        "edge_types": ["works_at", "works_at:reversed", "recommends"],
    },
}
TRACED_SMALL = draw_graph(8, people=5, employers=1, devices=1, jobs=3, recommendations=0)

RECIPES = (
    Recipe(
        name="flat",
        about="A flat wrapper round two HeteroConv layers of SAGEConv.",
        network=lambda: Flat(TwoLayers()),
    ),
    Recipe(
        name="flat_dynamo",
        about="The same by the newer exporter.",
        network=lambda: Flat(TwoLayers()),
        route="dynamo",
    ),
    Recipe(
        name="to_hetero",
        about="A one-kind GraphSAGE made heterogeneous by `to_hetero`, in a flat wrapper.",
        network=build_to_hetero,
    ),
    Recipe(
        name="to_hetero_dynamo",
        about="The same by the newer exporter.",
        network=build_to_hetero,
        route="dynamo",
    ),
    Recipe(
        name="rgcn",
        about="RGCNConv over a homogenised graph, answering for all nodes of all kinds.",
        network=Rgcn,
        **HOMOGENISED,  # type: ignore[arg-type]
    ),
    Recipe(
        name="hgt",
        about="Attention by kind and relation (HGT) over a homogenised graph.",
        network=Transformer,
        **HOMOGENISED,  # type: ignore[arg-type]
    ),
    Recipe(
        name="mangled",
        about="HeteroConv given dictionaries and no names: the exporter makes the names up.",
        network=lambda: PersonOf(TwoLayers()),
        inputs=renamed(*MANGLED),
        roles=roles_of(*MANGLED),
        route="dictionaries",
    ),
    Recipe(
        name="misnamed",
        about="The same given one name per dictionary: they go to the first two tensors, so that "
        "`edge_index_dict` is the employers' features.",
        network=lambda: PersonOf(TwoLayers()),
        inputs=renamed(*MISNAMED),
        roles=roles_of(*MISNAMED),
        route="dictionaries",
    ),
    Recipe(
        name="no_reverse",
        about="Jobs from employer to person only, under the relation's other name: employers "
        "reach people, and nothing reaches an employer.",
        network=lambda: Flat(TwoLayers((EMPLOYS, RECOMMENDS)), relations=(EMPLOYS, RECOMMENDS)),
        inputs=employs_only,
        roles={
            "x_person": "features:person",
            "x_employer": "features:employer",
            "edge_index_employs": "edges:employs",
            "edge_index_recommends": "edges:recommends",
        },
        relations={"employs": ("employer", "person"), "recommends": ("person", "person")},
    ),
    Recipe(
        name="dead_end",
        about="Jobs from person to employer only, with one output per kind: nothing about an "
        "employer ever reaches a person.",
        network=lambda: EveryKind(
            TwoLayers((WORKS_AT, RECOMMENDS)), relations=(WORKS_AT, RECOMMENDS)
        ),
        inputs=works_at_only,
        roles={
            name: role for name, role in FLAT_ROLES.items() if name != "edge_index_works_at_rev"
        },
        outputs={"out_person": "person", "out_employer": "employer"},
    ),
    Recipe(
        name="every_kind",
        about="One output per kind.",
        network=lambda: EveryKind(TwoLayers()),
        outputs={"out_person": "person", "out_employer": "employer"},
    ),
    Recipe(
        name="counted",
        about="Devices have no features; the only input of their kind is their number.",
        network=CountedDevices,
        inputs=counted_devices,
        roles=FLAT_ROLES
        | {
            "num_device": "node_count:device",
            "edge_index_uses": "edges:uses",
            "edge_index_uses_rev": "edges:uses:reversed",
        },
        relations=RELATIONS | {"uses": ("person", "device")},
    ),
    Recipe(
        name="constants",
        about="Two inputs that are no part of the graph.",
        network=WithConstants,
        inputs=constants,
        roles=FLAT_ROLES | {"temperature": "constant", "use_graph": "constant"},
        more={"constants": {"temperature": 1.5, "use_graph": True}},
    ),
    Recipe(
        name="attributes",
        about="Attention over two attributes per job; one input serves both directions.",
        network=WithAttributes,
        inputs=job_attributes,
        roles=FLAT_ROLES | {"edge_attr_works_at": "edge_attributes:works_at"},
    ),
    Recipe(
        name="weights",
        about="Plain sums, with one weight per recommendation.",
        network=WithWeights,
        inputs=recommendation_weights,
        roles=FLAT_ROLES | {"edge_weight_recommends": "edge_weight:recommends"},
    ),
    Recipe(
        name="gat",
        about="GATConv for every relation.",
        network=lambda: Flat(TwoLayers(layer=attention)),
    ),
    Recipe(
        name="gcn",
        about="GCNConv over recommendations, which weighs a message by the degrees of both ends; "
        "SAGEConv over jobs.",
        network=lambda: Flat(TwoLayers(layer=convolution_of_equals)),
    ),
    Recipe(
        name="traced_small",
        about="`flat`, traced with one employer and no recommendation; it came out well.",
        network=lambda: Flat(TwoLayers()),
        traced=TRACED_SMALL,
    ),
    Recipe(
        name="traced_wrong",
        about="`gat`, traced with one employer and no recommendation: GATConv leaves early where "
        "there is no tie, so the file never normalises the attention over recommendations.",
        network=lambda: Flat(TwoLayers(layer=attention)),
        traced=TRACED_SMALL,
    ),
)
# Other routes, tried and printed: what works is in `RECIPES` by another route already.
OTHER_ROUTES = (
    Recipe(
        name="HGTConv in a flat wrapper",
        about="",
        network=lambda: Flat(HGTConv(WIDTHS, HIDDEN, (list(WIDTHS), list(THREE)), heads=2)),
    ),
    Recipe(
        name="HGTConv in a flat wrapper",
        about="",
        network=lambda: Flat(HGTConv(WIDTHS, HIDDEN, (list(WIDTHS), list(THREE)), heads=2)),
        route="dynamo",
    ),
    Recipe(
        name="HeteroConv given dictionaries",
        about="",
        network=lambda: PersonOf(TwoLayers()),
        route="dictionaries, dynamo",
    ),
    Recipe(
        name="counted", about="", network=CountedDevices, inputs=counted_devices, route="dynamo"
    ),
    Recipe(
        name="RGCNConv, homogenised", about="", network=Rgcn, inputs=homogenised, route="dynamo"
    ),
    Recipe(
        name="GATConv in a flat wrapper",
        about="",
        network=lambda: Flat(TwoLayers(layer=attention)),
        route="dynamo",
    ),
)


# ---------------------------------------------------------------- export


def free_axis(name: str, value: Tensor) -> dict[int, str]:
    """The axis of an input that grows with the graph: ties are [2, E], all else has rows."""
    if value.dim() == 0:
        return {}
    axis = 1 if value.dim() == 2 and value.dtype == torch.int64 else 0
    return {axis: f"n_{name}"}


def export(recipe: Recipe, network: nn.Module, path: Path) -> None:
    """Write one file by the recipe's route."""
    given = recipe.inputs(recipe.traced)
    shared = {
        "f": path,
        "output_names": list(recipe.outputs),
        "opset_version": OPSET,
        "dynamo": recipe.route.endswith("dynamo"),
    }
    axes = {name: free_axis(name, value) for name, value in given.items()}
    if recipe.route == "dictionaries":
        # An empty dictionary last: without it the exporter takes the second for keyword arguments.
        # The names are what the exporter makes up if given none (`MANGLED`) or two (`MISNAMED`);
        # they are spelt out because it frees the sizes of inputs only if it is told their names.
        arguments = (*dictionaries(recipe.traced), {})
        check_names(recipe, network, arguments, path)
        torch.onnx.export(network, arguments, input_names=list(axes), dynamic_axes=axes, **shared)
    elif recipe.route == "dictionaries, dynamo":
        torch.onnx.export(network, dictionaries(recipe.traced), **shared)
    elif recipe.route == "torchscript":
        torch.onnx.export(
            network, tuple(given.values()), input_names=list(given), dynamic_axes=axes, **shared
        )
    else:
        auto = torch.export.Dim.AUTO
        shapes = [dict.fromkeys(axis, auto) for axis in axes.values()]
        torch.onnx.export(
            network,
            tuple(given.values()),
            input_names=list(given),
            dynamic_shapes=group_rest(recipe, shapes),
            external_data=False,
            verbose=False,
            **shared,
        )
    forget_sources(path)
    number_names(path)


def check_names(
    recipe: Recipe, network: nn.Module, arguments: tuple[object, ...], path: Path
) -> None:
    """Stop if the exporter does not make up the names that the recipe has."""
    names = [] if recipe.roles.keys() == set(MANGLED) else list(MISNAMED[:2])
    torch.onnx.export(
        network, arguments, path, input_names=names, opset_version=OPSET, dynamo=False
    )
    made = [port.name for port in onnx.load(path).graph.input]
    if made != list(recipe.roles):
        raise SystemExit(f"{recipe.name}: the exporter calls the inputs {made}")


def group_rest(recipe: Recipe, shapes: list[dict[int, object]]) -> tuple[object, ...]:
    """Shapes in the structure of the arguments: those of `*ties` are one tuple."""
    network = recipe.network
    if recipe.inputs is homogenised:
        return tuple(shapes)
    features_given = 3 if network is CountedDevices else 2
    return (*shapes[:features_given], tuple(shapes[features_given:]))


def answers_of(network: nn.Module, recipe: Recipe, graph: Graph) -> list[Tensor]:
    """Torch's answers, one tensor per output."""
    given = recipe.inputs(graph)
    with torch.no_grad():
        if recipe.route == "dictionaries":
            answers = network(*dictionaries(graph))
        else:
            answers = network(*given.values())
    return list(answers) if isinstance(answers, tuple) else [answers]


def differs(
    session: onnxruntime.InferenceSession, network: nn.Module, recipe: Recipe, graph: Graph
) -> str:
    """What is wrong with a file's answer to a graph, or an empty text."""
    feed = {name: value.numpy() for name, value in recipe.inputs(graph).items()}
    try:
        got = session.run(list(recipe.outputs), feed)
    except Exception as error:
        return short(error)
    for answer, wanted in zip(got, answers_of(network, recipe, graph), strict=True):
        if answer.shape != tuple(wanted.shape):
            return f"shape {answer.shape} where torch has {tuple(wanted.shape)}"
        if answer.size and float(np.abs(answer - wanted.numpy()).max()) > TOLERANCE:
            return f"differs by {float(np.abs(answer - wanted.numpy()).max()):.2g}"
    return ""


def short(error: BaseException) -> str:
    """The innermost message of an error, on one line without codes for colour."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}"


def write_graphs(folder: Path) -> None:
    """The two graphs with keys per kind and relation, whatever form the files take them in."""
    for name, graph in GRAPHS.items():
        arrays = {
            "x_person": graph.x_person,
            "x_employer": graph.x_employer,
            "x_device": torch.zeros(graph.devices, 0),
            "edge_index_works_at": graph.works_at,
            "edge_index_recommends": graph.recommends,
            "edge_index_uses": graph.uses,
            "edge_attr_works_at": graph.works_at_attributes,
            "edge_weight_recommends": graph.recommends_weight,
        }
        arrays = {key: value.numpy() for key, value in arrays.items()}
        np.savez(folder / f"graph_{name}.npz", **arrays)


def make(recipe: Recipe, folder: Path) -> dict[str, object]:
    """Export one file, keep torch's answers beside it, and measure what it does with odd sizes."""
    torch.manual_seed(SEED)
    network = recipe.network().eval()
    path = folder / f"{recipe.name}.onnx"
    export(recipe, network, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]
    if names != list(recipe.inputs(recipe.traced)):
        raise SystemExit(f"{recipe.name}: the inputs are called {names}")
    arrays = {}
    for title, graph in GRAPHS.items():
        arrays |= {f"{title}/in/{k}": v.numpy() for k, v in recipe.inputs(graph).items()}
        answers = answers_of(network, recipe, graph)
        for name, answer in zip(recipe.outputs, answers, strict=True):
            arrays[f"{title}/out/{name}"] = answer.numpy()
    np.savez(folder / f"{recipe.name}.npz", **arrays)
    trouble = {
        title: problem
        for title, graph in (GRAPHS | EDGE_CASES).items()
        if (problem := differs(session, network, recipe, graph))
    }
    if trouble.keys() & GRAPHS.keys() and recipe.name != "traced_wrong":
        raise SystemExit(f"{recipe.name}: {trouble}")
    shapes = {port.name: f"{port.type} {port.shape}" for port in session.get_inputs()}
    print(f"{recipe.name:<20} {path.stat().st_size:>6} bytes", trouble or "")
    return {
        "about": recipe.about,
        "route": recipe.route,
        "inputs": shapes,
        "roles": recipe.roles,
        "outputs": recipe.outputs,
        "relations": recipe.relations,
        **recipe.more,
        "trouble": trouble,
    }


def try_route(recipe: Recipe, folder: Path) -> str:
    """What the exporter says on this route, or that it works."""
    torch.manual_seed(SEED)
    path = folder / "route.onnx"
    try:
        export(recipe, recipe.network().eval(), path)
    except Exception as error:
        return short(error)
    finally:
        path.unlink(missing_ok=True)
    return "works"


def main() -> None:
    """Make every file, and print how the other routes fare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=ROOT / "tests" / "files" / "kinds")
    parser.add_argument("--only", nargs="*", default=[recipe.name for recipe in RECIPES])
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    options.into.mkdir(parents=True, exist_ok=True)
    write_graphs(options.into)
    files = {r.name: make(r, options.into) for r in RECIPES if r.name in options.only}
    text = json.dumps(files, indent=2, ensure_ascii=False)
    (options.into / "files.json").write_text(text + "\n", encoding="utf-8")
    for recipe in OTHER_ROUTES:
        print(f"{recipe.name}, {recipe.route}: {try_route(recipe, options.into)}")


if __name__ == "__main__":
    main()
