"""Everybody in the graph, subject or not: what was decided on them, and what they belong to."""

from collections.abc import Iterator

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph
from recourse_audit.run.communities import Communities
from recourse_audit.run.findings import Member, Person
from recourse_audit.run.grouping import groups_by
from recourse_audit.settings import DecisionSettings, GroupSettings


def people_of(
    graph: Graph, answers: Floats, decision: DecisionSettings, communities: Communities
) -> Iterator[Person]:
    """Everybody with the decision on the whole graph; `answers` are those of `whole_answers`."""
    usable = np.asarray(np.isfinite(answers).all(axis=1)).tolist()
    chosen: list[int] = answers.argmax(axis=1).tolist()
    numbers = communities.numbers
    own = [None] * len(usable) if numbers is None else numbers.tolist()
    rows = zip(graph.ids.tolist(), usable, chosen, own, strict=True)
    for number, (name, known, place, community) in enumerate(rows):
        decided = decision.classes[place] if known else ""
        yield Person(
            number=number,
            id=name,
            decision=decided,
            favourable=decided in decision.favourable if known else None,
            community=community,
        )


def members_of(graph: Graph, settings: GroupSettings) -> Iterator[Member]:
    """Everybody's groups, by the name of the attribute."""
    names = sorted(settings.attributes)
    columns = [groups_by(graph, settings, name) for name in names]
    for number, values in enumerate(zip(*columns, strict=True)):
        yield from ((number, name, value) for name, value in zip(names, values, strict=True))
