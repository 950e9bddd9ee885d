"""One run of this script trains, exports, checks and describes all sample models.

Input: `lending/` and `lending_twin/` from make_lending.py. Output: the ONNX files and, in `cards/`,
one card per model. Needs torch and torch_geometric, which the audit itself never needs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import networks
import torch
from cards import Card, Quality, write_card
from export import Inputs, compare, export
from lending_data import read_lending
from torch import Tensor, nn

SEED = 7
EPOCHS = 300
TRAIN_SHARE = 0.6

TWO_COLUMNS = "two logits per person, in the order denied, approved; column 1 is favourable."
ONE_COLUMN = "one probability per person, that of approved; the threshold is 0.5."
DIRECT = "`torch.onnx.export(dynamo=True)`."
STRICT = "`torch.export.export(strict=True)`, then `torch.onnx.export(dynamo=True)`."
TIES_TWICE = "`edge_index` holds every undirected tie in both directions, without self-loops."


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one sample model is built: its network, the form of its ties, and its export."""

    name: str
    network: Callable[[Tensor], nn.Module]
    about: str
    ties: Callable[[int, Tensor], Inputs]
    output_name: str = "logits"
    output: str = TWO_COLUMNS
    dynamic: bool = True
    strict: bool = False


def as_arcs(people: int, edge_index: Tensor) -> Inputs:
    """Ties as they are: in both directions, without self-loops."""
    return {"edge_index": edge_index}


def as_matrix(people: int, edge_index: Tensor) -> Inputs:
    """Ties as a dense matrix that counts the ties between two people."""
    adj = torch.zeros(people, people)
    adj.index_put_((edge_index[0], edge_index[1]), torch.ones(edge_index.size(1)), accumulate=True)
    return {"adj": adj}


def as_normalised_arcs(people: int, edge_index: Tensor) -> Inputs:
    """Arcs with self-loops appended, weighted by D^-1/2 (A + I) D^-1/2."""
    loops = torch.arange(people).repeat(2, 1)
    arcs = torch.cat([edge_index, loops], dim=1)
    scale = torch.bincount(arcs[1], minlength=people).float().pow(-0.5)
    return {"edge_index": arcs, "edge_weight": scale[arcs[0]] * scale[arcs[1]]}


RECIPES = (
    Recipe(
        name="gcn",
        network=networks.gcn,
        about=f"A graph convolution network with dynamic sizes. {TIES_TWICE}",
        ties=as_arcs,
    ),
    Recipe(
        name="sage",
        network=networks.sage,
        about=f"GraphSAGE with mean aggregation and dynamic sizes. {TIES_TWICE}",
        ties=as_arcs,
    ),
    Recipe(
        name="gat",
        network=networks.gat,
        about=f"A graph attention network (softmax over a person's ties). {TIES_TWICE}",
        ties=as_arcs,
        strict=True,
    ),
    Recipe(
        name="gin",
        network=networks.gin,
        about=f"A graph isomorphism network: it sums over ties, so degrees matter. {TIES_TWICE}",
        ties=as_arcs,
    ),
    Recipe(
        name="dense",
        network=networks.Dense,
        about="A graph convolution over a dense matrix: `adj[i, j]` is the number of ties between "
        "i and j, and the diagonal is zero; self-loops and normalisation are added inside the "
        "model.",
        ties=as_matrix,
    ),
    Recipe(
        name="fixed",
        network=networks.gcn,
        about="The graph convolution network of `gcn.onnx`, with the same weights but without "
        f"dynamic sizes: it takes exactly this many people and arcs. {TIES_TWICE}",
        ties=as_arcs,
        dynamic=False,
    ),
    Recipe(
        name="outside_normalised",
        network=networks.OutsideNormalised,
        about="A graph convolution that only computes weighted sums. The caller must append one "
        "self-loop per person to `edge_index` and pass D^-1/2 (A + I) D^-1/2 as `edge_weight`, "
        "where A counts ties (the `weight` column of `edges.csv` is not used). In training, the "
        "self-loops came last.",
        ties=as_normalised_arcs,
    ),
    Recipe(
        name="sigmoid",
        network=networks.Sigmoid,
        about=f"A graph convolution network with one column of probabilities. {TIES_TWICE}",
        ties=as_arcs,
        output_name="probability",
        output=ONE_COLUMN,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The people of one network, split once for all models."""

    name: str
    features: Tensor
    edge_index: Tensor
    approved: Tensor
    train: Tensor

    @property
    def train_people(self) -> Tensor:
        """Features of the training people, the only ones that standardisation may see."""
        return self.features[self.train]

    def inputs(self, recipe: Recipe) -> Inputs:
        """The whole network in the form that a recipe's model takes."""
        return {"x": self.features, **recipe.ties(self.features.size(0), self.edge_index)}


def read_material(folder: Path) -> Material:
    """Read a network and split its people at random with this script's seed."""
    lending = read_lending(folder)
    chance = torch.rand(lending.people, generator=torch.Generator().manual_seed(SEED))
    return Material(
        name=folder.name,
        features=torch.from_numpy(lending.features),
        edge_index=torch.from_numpy(lending.edge_index),
        approved=torch.from_numpy(lending.approved),
        train=chance < TRAIN_SHARE,
    )


def loss(answer: Tensor, approved: Tensor) -> Tensor:
    """Cross-entropy, of two logits or of one probability."""
    if answer.size(1) == 1:
        return nn.functional.binary_cross_entropy(answer[:, 0], approved.float())
    return nn.functional.cross_entropy(answer, approved)


def decide(answer: Tensor) -> Tensor:
    """1 for approved, 0 for denied."""
    return (answer[:, 0] > 0.5).long() if answer.size(1) == 1 else answer.argmax(dim=1)


def fit(
    build: Callable[[Tensor], nn.Module], material: Material, arguments: tuple[Tensor, ...]
) -> nn.Module:
    """Train one network from the seed, on the whole graph, and leave it in evaluation mode."""
    torch.manual_seed(SEED)
    network = build(material.train_people)
    return descend(network, arguments, material.approved, material.train)


def descend(
    network: nn.Module,
    arguments: tuple[Tensor, ...],
    approved: Tensor,
    train: Tensor,
    *,
    epochs: int = EPOCHS,
) -> nn.Module:
    """Train a network on the people in `train`, who are the first rows of its answers."""
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
    network.train()
    for _ in range(epochs):
        optimiser.zero_grad()
        answer = network(*arguments)[: len(train)][train]
        loss(answer, approved[train]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return network.eval()


def shares_right(
    network: nn.Module, material: Material, arguments: tuple[Tensor, ...]
) -> tuple[float, float, float]:
    """Accuracy on the training people and on the others, and the share of people denied."""
    with torch.no_grad():
        decided = decide(network(*arguments)[: len(material.approved)])
    right = (decided == material.approved).float()
    return (
        float(right[material.train].mean()),
        float(right[~material.train].mean()),
        float((decided == 0).float().mean()),
    )


def check_cases(recipe: Recipe, material: Material) -> dict[str, Inputs]:
    """The whole graph and, for models with dynamic sizes, graphs unlike the training graph."""
    cases = {"the whole graph": material.inputs(recipe)}
    if not recipe.dynamic:
        return cases
    random = torch.Generator().manual_seed(SEED)
    for people, ties in ((1, 0), (5, 0), (2, 1), (4, 3), (37, 60), (400, 900), (3000, 9000)):
        title = f"{people} {'person' if people == 1 else 'people'}, "
        title += f"{ties} random {'tie' if ties == 1 else 'ties'}"
        chosen = torch.randint(0, material.features.size(0), (people,), generator=random)
        ends = torch.randint(0, people, (2, ties), generator=random)
        if people > 1:
            # A step of at least one, so that nobody is tied to themselves.
            step = torch.randint(1, people, (ties,), generator=random)
            ends[1] = (ends[0] + step) % people
        arcs = torch.cat([ends, ends.flip(0)], dim=1)
        cases[title] = {"x": material.features[chosen], **recipe.ties(people, arcs)}
    half = torch.arange(10)
    path = torch.stack([half[:-1], half[1:]])
    arcs = torch.cat([path, path.flip(0)], dim=1)
    title = "a path of 10 people, and 10 people without ties"
    cases[title] = {"x": material.features[:20], **recipe.ties(20, arcs)}
    return cases


def build(recipe: Recipe, material: Material, folder: Path) -> None:
    """Train, export, check and describe one model."""
    example = material.inputs(recipe)
    arguments = tuple(example.values())
    network = fit(recipe.network, material, arguments)
    train, test, denied = shares_right(network, material, arguments)
    alone = (material.features,)
    baseline = fit(networks.WithoutTies, material, alone)
    baseline_train, baseline_test, _ = shares_right(baseline, material, alone)
    path = folder / f"{recipe.name}.onnx"
    export(
        network,
        path,
        example,
        output=recipe.output_name,
        dynamic=recipe.dynamic,
        strict=recipe.strict,
    )
    quality = Quality(
        train=train,
        test=test,
        denied=denied,
        baseline_train=baseline_train,
        baseline_test=baseline_test,
    )
    card = Card(
        title=f"{material.name}/{recipe.name}.onnx",
        about=recipe.about,
        route=STRICT if recipe.strict else DIRECT,
        output=recipe.output,
        data=material.name,
        seed=SEED,
        quality=quality,
        exported=compare(network, path, check_cases(recipe, material)),
    )
    write_card(card, folder / "cards" / f"{recipe.name}.md")
    print(f"{card.title:<34} train {train:.3f} test {test:.3f} denied {denied:.3f} ", end="")
    print(f"without ties {baseline_test:.3f}, {path.stat().st_size} bytes", flush=True)


def main() -> None:
    """Build every model on `lending`, and the graph convolution network on its twin."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--within", type=Path, default=Path(__file__).parent)
    parser.add_argument("--only", nargs="*", default=[recipe.name for recipe in RECIPES])
    options = parser.parse_args()
    torch.set_num_threads(1)
    lending = read_material(options.within / "lending")
    twin = read_material(options.within / "lending_twin")
    for recipe in RECIPES:
        if recipe.name in options.only:
            build(recipe, lending, options.within / "lending")
    if "gcn" in options.only:
        build(RECIPES[0], twin, options.within / "lending_twin")


if __name__ == "__main__":
    main()
