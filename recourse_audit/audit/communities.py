"""Everybody in the graph: the decision on them, their groups, communities and ties.

Communities are those of a column of the nodes, if the settings name one. Of the ties it is kept who
is tied to whom, whatever their kinds, weights and directions: groups are compared on that graph.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from recourse_audit.audit.grouping import group_values, groups_by
from recourse_audit.audit.outcomes import GOOD, NOT_KNOWN
from recourse_audit.graph.arrays import Graph, Ints
from recourse_audit.model.decisions import NO_DECISION, Decisions
from recourse_audit.records.groups import Communities as CommunityRecord
from recourse_audit.records.summary import Member, Person, TieBlock
from recourse_audit.settings import GroupSettings

PAIRS_PER_BLOCK = 2**18


@dataclass(frozen=True, slots=True, kw_only=True)
class Communities:
    """Everybody's community, numbered in the order of their first members; None without a column.

    `seed` is that of the audit, by which labels of groups are redrawn.
    """

    seed: int
    numbers: Ints | None = None
    column: str | None = None

    @property
    def record(self) -> CommunityRecord:
        """What the store says about them."""
        count = 0 if self.numbers is None else int(self.numbers.max()) + 1
        return CommunityRecord(column=self.column, count=count, seed=self.seed)


def communities_of(graph: Graph, settings: GroupSettings, seed: int) -> Communities:
    """Everybody's community by the column that the settings name, if groups are compared at all."""
    column = settings.communities
    if not settings.attributes or column is None:
        return Communities(seed=seed)
    _, label = np.unique(np.array(group_values(graph, column)), return_inverse=True)
    return Communities(seed=seed, column=column, numbers=_numbered(label))


def ties_of(graph: Graph, settings: GroupSettings) -> Iterator[TieBlock]:
    """Who is tied to whom, in blocks, if groups are compared at all."""
    if not settings.attributes:
        return
    for block, first in enumerate(range(0, graph.pair_count, PAIRS_PER_BLOCK)):
        some = slice(first, first + PAIRS_PER_BLOCK)
        pairs = np.stack([graph.pair_low[some], graph.pair_high[some]], axis=1)
        yield block, pairs.astype("<i4").tobytes()


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
    outcomes: Ints | None,
) -> Iterator[Person]:
    """Everybody with the decision on them: the one on record if there are any, else the model's.

    `favourable_alone` are the model's decisions on everybody's own data alone, and `outcomes` what
    came true later, if a column says so.
    """
    every = np.arange(graph.node_count)
    decided = decisions.classes_of(decisions.everybody, every) if recorded is None else recorded
    classes = (*decisions.classes, NO_DECISION)
    names = [classes[number] for number in decided.tolist()]
    favourable: list[bool] = decisions.rule.favourable_classes[decided].tolist()
    numbers = communities.numbers
    own = [None] * len(names) if numbers is None else numbers.tolist()
    came_true = [None] * len(names) if outcomes is None else _truths(outcomes)
    scores = _scores(decisions)
    rows = zip(
        *(graph.ids.tolist(), names, favourable, own, favourable_alone, came_true, scores),
        strict=True,
    )
    for number, (name, decision, good, community, alone, outcome, score) in enumerate(rows):
        yield Person(
            number=number,
            id=name,
            decision=decision,
            favourable=good if decision else None,
            community=community,
            favourable_alone=alone,
            outcome=outcome,
            score=score,
        )


def _truths(outcomes: Ints) -> list[bool | None]:
    return [None if one == NOT_KNOWN else one == GOOD for one in outcomes.tolist()]


def _scores(decisions: Decisions) -> list[float | None]:
    """What the rule goes by, in full; None where the model's answer is not a number."""
    values = decisions.rule.values(decisions.everybody).tolist()
    usable = decisions.usable(decisions.everybody).tolist()
    return [value if ok else None for value, ok in zip(values, usable, strict=True)]


def members_of(graph: Graph, settings: GroupSettings) -> Iterator[Member]:
    """Everybody's groups, by the name of the attribute."""
    names = sorted(settings.attributes)
    columns = [groups_by(graph, settings, name) for name in names]
    for number, values in enumerate(zip(*columns, strict=True)):
        yield from ((number, name, value) for name, value in zip(names, values, strict=True))
