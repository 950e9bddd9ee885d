"""Exports of several kinds of nodes as PyG makes them, and the graphs that go with them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.columns import to_strings
from recourse_audit.graph.graph import Graph, Kinds, Relation, Ties, build_graph
from recourse_audit.settings import ModelSettings

FOLDER = Path(__file__).parents[1] / "files" / "kinds"
FILES: dict[str, dict[str, Any]] = json.loads((FOLDER / "files.json").read_text())
Arrays = Mapping[str, NDArray[Any]]


def build(
    features: Arrays,
    ties: Mapping[str, NDArray[np.integer]],
    relations: Sequence[Relation],
    weight: Arrays | None = None,
    attributes: Arrays | None = None,
) -> Graph:
    """A graph of several kinds from arrays per kind and per relation, by plain concatenation."""
    weight, attributes = weight or {}, attributes or {}
    names = [*features]
    starts = np.cumsum([0, *(len(table) for table in features.values())])
    edges = np.cumsum([0, *(table.shape[1] for table in features.values())])
    blocks = tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    matrix = np.zeros((starts[-1], edges[-1]), np.float32)
    for place, table in enumerate(features.values()):
        matrix[starts[place] : starts[place + 1], slice(*blocks[place])] = table
    counts = [ties[relation.name].shape[1] for relation in relations]
    wide = max((relation.attributes for relation in relations), default=0)
    columns = [
        np.pad(
            attributes.get(relation.name, np.zeros((count, 0), np.float32)),
            ((0, 0), (0, wide - relation.attributes)),
        )
        for relation, count in zip(relations, counts, strict=True)
    ]
    weights = [
        weight.get(relation.name, np.ones(count, np.float32))
        for relation, count in zip(relations, counts, strict=True)
    ]
    return build_graph(
        ids=to_strings([f"{name}:{k}" for name in names for k in range(len(features[name]))]),
        features=matrix,
        feature_names=tuple(f"{n}.{k}" for n in names for k in range(features[n].shape[1])),
        attributes={},
        ties=Ties(
            source=np.concatenate([ties[r.name][0] + starts[r.source] for r in relations]).astype(
                np.int32
            ),
            target=np.concatenate([ties[r.name][1] + starts[r.target] for r in relations]).astype(
                np.int32
            ),
            kind=np.repeat(np.arange(len(relations), dtype=np.int16), counts),
            kinds=tuple(relation.name for relation in relations),
            weight=np.concatenate(weights) if weight else None,
            attributes=np.concatenate(columns) if wide else None,
        ),
        directed=False,
        kinds=Kinds(names=tuple(names), starts=starts, blocks=blocks, relations=tuple(relations)),
    )


def graph_for(name: str, size: str) -> Graph:
    """One of the two graphs, with what an export takes of it."""
    facts, roles = FILES[name], {*FILES[name]["roles"].values()}
    arrays = np.load(FOLDER / f"graph_{size}.npz")
    kinds = ["person", "employer", *(["device"] if "uses" in facts["relations"] else [])]
    ties, relations, weight, attributes = {}, [], {}, {}
    for relation, (source, target) in facts["relations"].items():
        key = "works_at" if relation == "employs" else relation
        ends = arrays[f"edge_index_{key}"]
        ties[relation] = ends[::-1] if relation == "employs" else ends
        if f"edge_weight:{relation}" in roles:
            weight[relation] = arrays[f"edge_weight_{key}"]
        if f"edge_attributes:{relation}" in roles:
            attributes[relation] = arrays[f"edge_attr_{key}"]
        relations.append(
            Relation(
                name=relation,
                source=kinds.index(source),
                target=kinds.index(target),
                weighted=relation in weight,
                attributes=attributes[relation].shape[1] if relation in attributes else 0,
            )
        )
    features = {kind: arrays[f"x_{kind}"] for kind in kinds}
    return build(features, ties, relations, weight, attributes)


def settings_for(name: str, **more: Any) -> ModelSettings:
    """The settings of an export, with what cannot be guessed."""
    known = ("constants", "node_types", "edge_types")
    facts = {key: FILES[name][key] for key in known if key in FILES[name]}
    return ModelSettings(path=FOLDER / f"{name}.onnx", **facts, **more)


def torch_answers(name: str, size: str) -> NDArray[Any]:
    """Torch's answers for the people of a graph."""
    (output,) = (out for out, kind in FILES[name]["outputs"].items() if kind in ("person", "*"))
    answers: NDArray[Any] = np.load(FOLDER / f"{name}.npz")[f"{size}/out/{output}"]
    return answers
