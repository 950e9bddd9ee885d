"""How much is measured: everything, or enough in ten minutes to see that all of it works."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.paper.cache import setting_of
from benchmarks.paper.published import GRAPHS

# Nodes of each graph; on German credit a question is one about nearly everybody.
PEERS = {"cora": 100, "citeseer": 100, "german": 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """C and D of the paper, and how many subgraphs of a subject are asked about at most."""

    max_nodes: int
    max_hops: int
    budget: int

    def setting(self, fingerprint: str) -> str:
        """All that a search's result depends on."""
        return setting_of(C=self.max_nodes, D=self.max_hops, budget=self.budget, model=fingerprint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run covers; `nodes` are test nodes a graph, drawn at random.

    `flags` are what the command needs to make this plan's figures again.
    """

    flags: str = ""
    graphs: tuple[str, ...] = tuple(GRAPHS)
    nodes: int = 200
    budget: int = 200_000
    max_nodes: int = 4
    max_hops: int = 2
    # Fig. 6 and 7 of the paper: explanation sizes and search distances.
    varied: tuple[str, ...] = ("citeseer", "cora")
    varied_nodes: int = 100
    sizes: tuple[int, ...] = (2, 3, 4, 5)
    distances: tuple[int, ...] = (1, 2, 3)
    # Ours and the slow ones in turn.
    timed: tuple[str, ...] = ("cora",)
    timed_nodes: int = 30
    # The folder of the CF-GNNExplainer repository, if its own code is to be timed as well.
    cf_code: Path | None = None
    # Fig. 8.
    perturbed: str = "cora"
    linked_nodes: int = 40
    links: int = 10
    copied_nodes: int = 150
    moves: tuple[float, ...] = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0)
    # Counterfactual peers.
    peers: Mapping[str, int] = field(default_factory=lambda: dict(PEERS))
    peer_budget: int = 1000
    draws: int = 20

    @property
    def size(self) -> Size:
        """What the table is made with."""
        return Size(max_nodes=self.max_nodes, max_hops=self.max_hops, budget=self.budget)

    @property
    def sizes_varied(self) -> tuple[Size, ...]:
        """Other C at the usual D, and other D at the usual C."""
        by_size = [(C, self.max_hops) for C in self.sizes]
        by_distance = [
            (self.max_nodes, D) for D in self.distances if (self.max_nodes, D) not in by_size
        ]
        return tuple(
            Size(max_nodes=C, max_hops=D, budget=self.budget) for C, D in by_size + by_distance
        )

    def peer_setting(self, fingerprint: str) -> str:
        """All that a result of the peers depends on."""
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
