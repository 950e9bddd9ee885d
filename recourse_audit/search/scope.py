"""How large explanations may be, how far and how long to look for them, how many to show."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The limits of a search: C and D of the paper, and our own."""

    max_nodes: int = 4
    max_hops: int = 2
    budget: int = 200_000
    counterfactuals: int = 3
    seed: int = 0
