"""How much is measured: everything, or enough in ten minutes to see that all of it works."""

from dataclasses import dataclass

from benchmarks.paper.published import GRAPHS

PEERS = ("cora", "citeseer", "german")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run covers; `nodes` are test nodes a graph, drawn at random."""

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
    # GNNExplainer on the whole graph, as its example has it.
    timed: tuple[str, ...] = ("cora",)
    timed_nodes: int = 20
    # Fig. 8.
    perturbed: str = "cora"
    linked_nodes: int = 40
    links: int = 10
    copied_nodes: int = 150
    moves: tuple[float, ...] = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0)
    # Counterfactual peers.
    peers: tuple[str, ...] = PEERS
    peer_nodes: int = 100
    peer_budget: int = 1000
    draws: int = 20


FULL = Plan()
QUICK = Plan(
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
    peer_nodes=8,
    peer_budget=200,
    draws=5,
)
