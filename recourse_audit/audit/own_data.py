"""Own data alone: what the model answers about somebody all of whose ties are removed.

Loops stay. Without ties nothing reaches a person, so a graph of one node stands for the whole
graph, if a graph's answer does not depend on what is asked beside it.
"""

from collections.abc import Iterator
from itertools import repeat

import numpy as np

from recourse_audit.audit.load import LoadedAudit
from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.queries import Union
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.own_data import (
    DEPENDS_ON_OTHERS,
    RANDOM_ANSWERS,
    AnswerAlone,
    OwnData,
)
from recourse_audit.recourse.context import neighbourhoods_suffice
from recourse_audit.search.results import Naming, shown

# A question about the whole graph for every person takes seconds per subject in a larger one.
MOST_ARCS = 50_000
PEOPLE_TOGETHER = 2**16


class Isolation:
    """Asks about people whose own ties are all removed; `reason` says why it cannot, if so."""

    def __init__(self, graph: Graph, batcher: QueryBatcher, probes: ProbeReport) -> None:
        self._graph = graph
        self._batcher = batcher
        self._alone = probes.packing and neighbourhoods_suffice(probes)
        self.reason = ""
        if not probes.deterministic:
            self.reason = RANDOM_ANSWERS
        elif not self._alone and _size(graph, batcher) > MOST_ARCS:
            self.reason = DEPENDS_ON_OTHERS

    @property
    def cheap(self) -> bool:
        """Whether everybody can be asked about without a whole graph for each."""
        return self._alone and not self.reason

    def answers(self, people: Ints) -> Floats:
        """One row for each of some people, who are in ascending order."""
        if self._alone:
            return self._batcher.ask(isolated(self._graph, people), np.arange(len(people)))
        answers = [self._on_whole_graph(person) for person in people.tolist()]
        return np.array(answers).reshape(len(people), self._batcher.answer_width)

    def _on_whole_graph(self, person: int) -> Floats:
        graph = self._graph
        kept = (graph.arc_source != person) & (graph.arc_target != person)
        sources = np.concatenate((graph.arc_source[kept], graph.loop_node))
        union = Union(
            nodes=np.arange(graph.node_count),
            node_starts=np.array([0, graph.node_count]),
            sources=sources,
            targets=np.concatenate((graph.arc_target[kept], graph.loop_node)),
            ties=np.concatenate((graph.arc_tie[kept], graph.loop_tie)),
            arc_starts=np.array([0, len(sources)]),
        )
        answer: Floats = self._batcher.ask(union, np.array([person]))[0]
        return answer


class OwnDataReports:
    """Finds, for each subject, what the model decides on own data alone."""

    def __init__(self, audit: LoadedAudit, decisions: Decisions) -> None:
        self._decisions = decisions
        self._naming = Naming(graph=audit.graph, rule=audit.rule, kind=audit.batcher.output_kind)
        self._isolation = Isolation(audit.graph, audit.batcher, audit.probes)

    @property
    def queries(self) -> int:
        """How many questions that several subjects share count for each of them."""
        return int(not self._isolation.reason)

    def reports_on(self, subjects: Ints) -> dict[int, OwnData]:
        """The records of several subjects, who are asked about together."""
        order = np.sort(subjects)
        if self._isolation.reason:
            return dict.fromkeys(order.tolist(), OwnData(reason=self._isolation.reason))
        answers = self._isolation.answers(order)
        return {
            subject: OwnData(alone=self._alone(subject, answers[[place]]))
            for place, subject in enumerate(order.tolist())
        }

    def _alone(self, subject: int, answer: Floats) -> AnswerAlone:
        [decision] = self._decisions.names_of(answer, subject)
        usable = bool(decision)
        value = self._decisions.rule.values(answer).astype(np.float64)
        return AnswerAlone(
            decision=decision,
            favourable=bool(self._decisions.favourable(answer, subject)[0]),
            probabilities=self._naming.probabilities(answer)[0] if usable else {},
            value=shown(float(value[0])) if usable else None,
        )


def alone_decisions(audit: LoadedAudit, decisions: Decisions) -> Iterator[bool | None]:
    """Whether the decision on everybody would be favourable on their own data alone, in order.

    None for everybody where it would take a question about the whole graph for each, and for
    people for whom the answer is not a number. Asked block by block, so that memory is bounded.
    """
    people = audit.graph.node_count
    isolation = Isolation(audit.graph, audit.batcher, audit.probes)
    if not isolation.cheap:
        yield from repeat(None, people)
        return
    for first in range(0, people, PEOPLE_TOGETHER):
        block = np.arange(first, min(first + PEOPLE_TOGETHER, people))
        answers = isolation.answers(block)
        favourable = decisions.favourable(answers, block).tolist()
        usable = decisions.usable(answers).tolist()
        yield from (good if there else None for good, there in zip(favourable, usable, strict=True))


def isolated(graph: Graph, people: Ints) -> Union:
    """People, in ascending order, as graphs of one node each, with their loops."""
    first, last = (np.searchsorted(graph.loop_node, people, side) for side in ("left", "right"))
    arcs = np.concatenate(([0], np.cumsum(last - first)))
    owner = np.repeat(np.arange(len(people)), last - first)
    loops = (first - arcs[:-1])[owner] + np.arange(len(owner))
    return Union(
        nodes=people,
        node_starts=np.arange(len(people) + 1),
        sources=owner,
        targets=owner,
        ties=graph.loop_tie[loops],
        arc_starts=arcs,
    )


def _size(graph: Graph, batcher: QueryBatcher) -> int:
    """How large a question about the whole graph is: its arcs and nodes, or a matrix of nodes."""
    if batcher.model.signature.port("adjacency") is not None:
        return graph.node_count**2
    return len(graph.arc_source) + len(graph.loop_node) + graph.node_count
