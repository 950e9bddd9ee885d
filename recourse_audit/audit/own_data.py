"""Own data alone: what the model answers about somebody all of whose ties are removed."""

from collections.abc import Iterator
from itertools import repeat

import numpy as np

from recourse_audit.audit.load import LoadedAudit
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.decisions import Decisions
from recourse_audit.model.edited_graph import EditedGraph
from recourse_audit.records.subject import (
    DEPENDS_ON_OTHERS,
    RANDOM_ANSWERS,
    AnswerAlone,
    OwnData,
)
from recourse_audit.search.results import Naming, round_figure

# A query about the whole graph for every person takes seconds per subject in a larger one.
MOST_ARCS = 50_000
PEOPLE_TOGETHER = 2**16


class OwnDataReports:
    """Finds, for each subject, what the model decides on own data alone."""

    def __init__(self, audit: LoadedAudit, edited: EditedGraph) -> None:
        self._edited = edited
        self._decisions = edited.decisions
        self._naming = Naming(graph=audit.graph, rule=audit.rule, kind=audit.batcher.output_kind)
        self._reason = ""
        if not audit.probes.deterministic:
            self._reason = RANDOM_ANSWERS
        elif not edited.can_stand_alone and _size(edited) > MOST_ARCS:
            self._reason = DEPENDS_ON_OTHERS

    @property
    def queries(self) -> int:
        """How many queries that several subjects share count for each of them."""
        return int(not self._reason)

    def reports_on(self, subjects: Ints) -> dict[int, OwnData]:
        """The records of several subjects, who are asked about together."""
        order = np.sort(subjects)
        if self._reason:
            return dict.fromkeys(order.tolist(), OwnData(reason=self._reason))
        answers = self._edited.without_ties(order)
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
            value=round_figure(float(value[0])) if usable else None,
        )


def alone_decisions(audit: LoadedAudit, decisions: Decisions) -> Iterator[bool | None]:
    """Whether the decision on everybody would be favourable on their own data alone, in order.

    None for everybody where it would take a query about the whole graph for each, and for
    people for whom the answer is not a number. Asked block by block, so that memory is bounded.
    """
    people = audit.graph.node_count
    edited = EditedGraph(audit.graph, audit.batcher, audit.probes, decisions)
    if not edited.can_stand_alone:
        yield from repeat(None, people)
        return
    for first in range(0, people, PEOPLE_TOGETHER):
        block = np.arange(first, min(first + PEOPLE_TOGETHER, people))
        answers = edited.without_ties(block)
        favourable = decisions.favourable(answers, block).tolist()
        usable = decisions.usable(answers).tolist()
        yield from (good if there else None for good, there in zip(favourable, usable, strict=True))


def _size(edited: EditedGraph) -> int:
    """How large a query about the whole graph is: its arcs and nodes, or a matrix of nodes."""
    graph = edited.graph
    if edited.batcher.model.signature.port("adjacency") is not None:
        return graph.node_count**2
    return len(graph.arc_source) + len(graph.loop_node) + graph.node_count
