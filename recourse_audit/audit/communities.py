"""Everybody in the graph: the decision on them, their groups, and their communities.

Communities are the clusters within which people are not independent of each other.

Either a column of the nodes names them, or they are sought in the ties: Louvain's method, as
networkx has it, on who is tied to whom, whatever the kinds, weights and directions of the ties.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import networkx as nx
import numpy as np

from recourse_audit.audit.grouping import group_values, groups_by
from recourse_audit.graph.arrays import Graph, Ints
from recourse_audit.model.decisions import NO_DECISION, Decisions
from recourse_audit.records.groups import Communities as CommunityRecord
from recourse_audit.records.summary import Member, Person
from recourse_audit.settings import GroupSettings

# For this many pairs, in a graph without any communities, networkx needs 45 seconds and 230 MB;
# for 50 % more, several minutes.
MOST_PAIRS = 200_000
NO_ATTRIBUTES = "no protected attributes are named in groups.attributes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Communities:
    """Everybody's community, numbered in the order of their first members; or why there are none.

    `numbers` is None if and only if `method` is "none", and then `reason` says why.
    """

    method: Literal["louvain", "column", "none"]
    seed: int
    numbers: Ints | None = None
    column: str | None = None
    reason: str = ""

    @property
    def count(self) -> int:
        return 0 if self.numbers is None else int(self.numbers.max()) + 1

    @property
    def alone(self) -> int:
        """How many communities are a single person."""
        return 0 if self.numbers is None else int((np.bincount(self.numbers) == 1).sum())

    @property
    def record(self) -> CommunityRecord:
        """What the store says about them."""
        return CommunityRecord(
            method=self.method,
            column=self.column,
            seed=self.seed,
            count=self.count,
            reason=self.reason,
            alone=self.alone,
        )


def communities_of(graph: Graph, settings: GroupSettings, seed: int) -> Communities:
    """Find everybody's community, if groups are to be compared at all."""
    if not settings.attributes:
        return Communities(method="none", seed=seed, reason=NO_ATTRIBUTES)
    column = settings.communities
    if column is not None:
        names = np.array(group_values(graph, column))
        _, label = np.unique(names, return_inverse=True)
        return Communities(method="column", seed=seed, column=column, numbers=_numbered(label))
    if graph.pair_count > MOST_PAIRS:
        reason = (
            f"{graph.pair_count:,} pairs of people are tied, and communities are only searched for "
            f"in graphs with at most {MOST_PAIRS:,}; name a column of communities in "
            "groups.communities"
        )
        return Communities(method="none", seed=seed, reason=reason)
    return Communities(method="louvain", seed=seed, numbers=_numbered(_louvain(graph, seed)))


def _louvain(graph: Graph, seed: int) -> Ints:
    """A label for everybody; people without ties are communities of their own."""
    tied: nx.Graph[int] = nx.Graph()
    pairs = zip(graph.pair_low.tolist(), graph.pair_high.tolist(), strict=True)
    tied.add_nodes_from(np.flatnonzero(np.diff(graph.starts)).tolist())
    tied.add_edges_from(pairs)
    label = np.arange(graph.node_count)
    if tied.number_of_edges():
        for members in nx.community.louvain_communities(tied, weight=None, seed=seed):
            label[list(members)] = min(members)
    return label


def _numbered(label: Ints) -> Ints:
    """Number labels from 0, in the order in which they first occur."""
    _, first, place = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbers: Ints = rank[place]
    return numbers


def people_of(
    graph: Graph,
    decisions: Decisions,
    recorded: Ints | None,
    communities: Communities,
    favourable_alone: Iterable[bool | None],
) -> Iterator[Person]:
    """Everybody with the decision on them: the one on record if there are any, else the model's.

    `favourable_alone` are the model's decisions on everybody's own data alone.
    """
    every = np.arange(graph.node_count)
    decided = decisions.classes_of(decisions.everybody, every) if recorded is None else recorded
    classes = (*decisions.classes, NO_DECISION)
    names = [classes[number] for number in decided.tolist()]
    favourable: list[bool] = decisions.rule.favourable_classes[decided].tolist()
    numbers = communities.numbers
    own = [None] * len(names) if numbers is None else numbers.tolist()
    rows = zip(graph.ids.tolist(), names, favourable, own, favourable_alone, strict=True)
    for number, (name, decision, good, community, alone) in enumerate(rows):
        yield Person(
            number=number,
            id=name,
            decision=decision,
            favourable=good if decision else None,
            community=community,
            favourable_alone=alone,
        )


def members_of(graph: Graph, settings: GroupSettings) -> Iterator[Member]:
    """Everybody's groups, by the name of the attribute."""
    names = sorted(settings.attributes)
    columns = [groups_by(graph, settings, name) for name in names]
    for number, values in enumerate(zip(*columns, strict=True)):
        yield from ((number, name, value) for name, value in zip(names, values, strict=True))
