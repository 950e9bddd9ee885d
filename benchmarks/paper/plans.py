"""How much is measured: everything, or just enough to check in ten minutes that it all works."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.paper.cache import setting_of
from benchmarks.paper.published import GRAPHS

# Nodes per graph; on German credit, each query covers nearly the whole graph.
PEERS = {"cora": 100, "citeseer": 100, "german": 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """C and D of the paper, and the maximum number of subgraphs per subject."""

    max_nodes: int
    max_hops: int
    budget: int

    def setting(self, fingerprint: str) -> str:
        """Everything that the result of a search depends on."""
        return setting_of(C=self.max_nodes, D=self.max_hops, budget=self.budget, model=fingerprint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run covers; `nodes` is the number of random test nodes per graph.

    `flags` are the command-line flags that select this plan.
    """

    flags: str = ""
    graphs: tuple[str, ...] = tuple(GRAPHS)
    nodes: int = 200
    budget: int = 200_000
    max_nodes: int = 4
    max_hops: int = 2
    # Figs. 6 and 7 of the paper: explanation sizes and search distances.
    varied: tuple[str, ...] = ("citeseer", "cora")
    varied_nodes: int = 100
    sizes: tuple[int, ...] = (2, 3, 4, 5)
    distances: tuple[int, ...] = (1, 2, 3)
    # Our method and the slow ones, run in turn.
    timed: tuple[str, ...] = ("cora",)
    timed_nodes: int = 30
    # A copy of the CF-GNNExplainer repository, if its code is to be timed as well.
    cf_code: Path | None = None
    # Fig. 8.
    perturbed: str = "cora"
    linked_nodes: int = 40
    links: int = 10
    copied_nodes: int = 150
    moves: tuple[float, ...] = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0)
    # Other counterfactual methods.
    peers: Mapping[str, int] = field(default_factory=lambda: dict(PEERS))
    peer_budget: int = 1000
    draws: int = 20

    @property
    def size(self) -> Size:
        """The size of the searches in the table."""
        return Size(max_nodes=self.max_nodes, max_hops=self.max_hops, budget=self.budget)

    @property
    def sizes_varied(self) -> tuple[Size, ...]:
        """Every C at the default D, and every other D at the default C."""
        by_size = [(C, self.max_hops) for C in self.sizes]
        by_distance = [
            (self.max_nodes, D) for D in self.distances if (self.max_nodes, D) not in by_size
        ]
        return tuple(
            Size(max_nodes=C, max_hops=D, budget=self.budget) for C, D in by_size + by_distance
        )

    def peer_setting(self, fingerprint: str) -> str:
        """Everything that a comparison of counterfactual methods depends on."""
        return setting_of(budget=self.peer_budget, draws=self.draws, model=fingerprint)


FULL = Plan()
QUICK = Plan(
    flags=" --quick",
    graphs=("cora", "citeseer"),
    nodes=20,
    budget=20_000,
    varied_nodes=10,
    sizes=(2, 3, 4),
    distances=(1, 2),
    timed_nodes=4,
    linked_nodes=6,
    links=5,
    copied_nodes=20,
    moves=(0.3, 2.0, 8.0),
    peers={"cora": 8, "citeseer": 8, "german": 3},
    peer_budget=200,
    draws=5,
)
