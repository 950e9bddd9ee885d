"""Trains the two hiring models, exports them by two routes, checks and describes them.

Input: `hiring/` from make_hiring.py. Output: `hetero.onnx`, `rgcn.onnx` and a card for each. Needs
torch and torch_geometric, which the audit itself never needs.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import networks
import numpy as np
import torch
from cards import Card, Quality, write_card
from export import Exported, Inputs, compare, export, export_traced
from hiring_data import EDGE_TYPES, Arrays, Hiring, read_hiring
from hiring_networks import Hetero, Rgcn
from make_hiring import FEATURES, RELATIONS
from torch import nn
from train import SEED, TRAIN_SHARE, Material, descend, fit, shares_right

# Fewer than for lending: after these, more only teach the training people by heart.
EPOCHS = 60
OUTPUT = "two logits per person, in the order rejected, invited; column 1 is favourable."
ABOUT = {
    "hetero": "Two HeteroConv layers of GraphSAGE. `edge_index_works_at` leads from people to "
    "employers, `edge_index_works_at_rev` has the same ties the other way round; so do the two of "
    "`studied_at`. `edge_index_recommends` leads from the person who recommends. Numbers of nodes "
    "are local to their kind.",
    "rgcn": "Two RGCN layers over one numbering of all nodes: people, then employers, then "
    "schools. `x` is as wide as the widest kind and filled with zeros; `node_type` is 0, 1 or 2 in "
    "this order; `edge_type` is "
    + ", ".join(
        f"{number} for {name}{' reversed' if way else ''}"
        for number, (name, way) in enumerate(EDGE_TYPES)
    )
    + ".",
}
ROUTE = {
    "hetero": "a wrapper with one argument per tensor, `torch.onnx.export(dynamo=True)`.",
    "rgcn": "`torch.onnx.export(dynamo=False)`; the newer exporter cannot take RGCNConv.",
}


def tensors(arrays: Arrays) -> Inputs:
    """Arrays as tensors, under the same names."""
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in arrays.items()}


def random_world(hiring: Hiring, people: int, employers: int, schools: int, ties: int) -> Hiring:
    """A world of other sizes, with rows drawn from this one and random ties."""
    random = np.random.default_rng(SEED + people)
    sizes = {"person": people, "employer": employers, "school": schools}
    features = {
        kind: table[random.integers(0, len(table), sizes[kind])]
        for kind, table in hiring.features.items()
    }
    drawn = {
        relation: np.array([random.integers(0, sizes[kind], ties) for kind in ends], np.int64)
        for relation, ends in RELATIONS.items()
    }
    return replace(hiring, features=features, ties=drawn)


def check_cases(hiring: Hiring, name: str) -> dict[str, Inputs]:
    """The whole graph and graphs of other sizes, down to one node of each kind without ties."""
    worlds = {"the whole graph": hiring}
    for sizes in ((1, 1, 1, 0), (4, 1, 1, 1), (40, 7, 3, 60), (2000, 300, 50, 4000)):
        people, employers, schools, ties = sizes
        title = f"people, employers, schools, ties per relation: {people}, {employers}, "
        title += f"{schools}, {ties}"
        worlds[title] = random_world(hiring, *sizes)
    return {title: inputs_of(world, name) for title, world in worlds.items()}


def inputs_of(hiring: Hiring, name: str) -> Inputs:
    """A world in the form that a model takes."""
    return tensors(hiring.by_kind() if name == "hetero" else hiring.homogenised())


def write_model(name: str, network: nn.Module, hiring: Hiring, folder: Path) -> Exported:
    """Export one model by its route, and compare it with torch."""
    path, example = folder / f"{name}.onnx", inputs_of(hiring, name)
    if name == "hetero":
        export(network, path, example, output="logits", dynamic=True, strict=False)
    else:
        export_traced(network, path, example, output="logits")
    return compare(network, path, check_cases(hiring, name))


def build(name: str, hiring: Hiring, material: Material, folder: Path) -> None:
    """Train, export, check and describe one model."""
    tables = {kind: torch.from_numpy(table) for kind, table in hiring.features.items()}
    seen = tables | {"person": material.train_people}
    arguments = tuple(inputs_of(hiring, name).values())
    torch.manual_seed(SEED)
    network = (Hetero if name == "hetero" else Rgcn)(seen)
    descend(network, arguments, material.approved, material.train, epochs=EPOCHS)
    train, test, denied = shares_right(network, material, arguments)
    alone = (material.features,)
    baseline = fit(networks.WithoutTies, material, alone)
    baseline_train, baseline_test, _ = shares_right(baseline, material, alone)
    card = Card(
        title=f"hiring/{name}.onnx",
        about=ABOUT[name],
        route=ROUTE[name],
        output=OUTPUT,
        data="hiring",
        seed=SEED,
        quality=Quality(
            train=train,
            test=test,
            denied=denied,
            baseline_train=baseline_train,
            baseline_test=baseline_test,
        ),
        exported=write_model(name, network, hiring, folder),
        script="train_hiring.py",
        generator="make_hiring.py",
        label="invited for people who stayed, rejected for people who left.",
        unseen=(
            "- The model does not see region, gender or age_band, nor an employer's sector or the",
            "  year of a tie.",
        ),
        features="; ".join(f"{kind}: {', '.join(names)}" for kind, names in FEATURES.items()),
    )
    write_card(card, folder / "cards" / f"{name}.md")
    print(f"{card.title:<20} train {train:.3f} test {test:.3f} refused {denied:.3f} ", end="")
    print(f"without ties {baseline_test:.3f}, {card.exported.path.stat().st_size} bytes")


def main() -> None:
    """Build both models."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--within", type=Path, default=Path(__file__).parent)
    folder: Path = parser.parse_args().within / "hiring"
    torch.set_num_threads(1)
    hiring = read_hiring(folder)
    chance = torch.rand(hiring.people, generator=torch.Generator().manual_seed(SEED))
    material = Material(
        name="hiring",
        features=torch.from_numpy(hiring.features["person"]),
        edge_index=torch.zeros(2, 0, dtype=torch.int64),
        approved=torch.from_numpy(hiring.invited),
        train=chance < TRAIN_SHARE,
    )
    for name in ABOUT:
        build(name, hiring, material, folder)


if __name__ == "__main__":
    main()
