"""Everybody in the graph, subject or not: the decision on them, and their groups."""

from collections.abc import Iterator

from recourse_audit.audit.communities import Communities
from recourse_audit.audit.grouping import groups_by
from recourse_audit.graph.arrays import Floats, Graph
from recourse_audit.model.decisions import Decisions
from recourse_audit.records.people import Member, Person
from recourse_audit.settings import GroupSettings


def people_of(
    graph: Graph, answers: Floats, decisions: Decisions, communities: Communities
) -> Iterator[Person]:
    """Everybody with the decision on the whole graph; `answers` are those of `whole_answers`."""
    names = decisions.names_of(answers)
    favourable: list[bool] = decisions.favourable(answers).tolist()
    numbers = communities.numbers
    own = [None] * len(names) if numbers is None else numbers.tolist()
    rows = zip(graph.ids.tolist(), names, favourable, own, strict=True)
    for number, (name, decision, good, community) in enumerate(rows):
        yield Person(
            number=number,
            id=name,
            decision=decision,
            favourable=good if decision else None,
            community=community,
        )


def members_of(graph: Graph, settings: GroupSettings) -> Iterator[Member]:
    """Everybody's groups, by the name of the attribute."""
    names = sorted(settings.attributes)
    columns = [groups_by(graph, settings, name) for name in names]
    for number, values in enumerate(zip(*columns, strict=True)):
        yield from ((number, name, value) for name, value in zip(names, values, strict=True))
