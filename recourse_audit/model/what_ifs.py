"""Answers after edits of the graph, many in one question, by shared receptive fields."""

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.base_fields import BaseField, base_field
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.edits import Edits
from recourse_audit.model.shared_fields import Form, SharedFields
from recourse_audit.records.model import ProbeReport

MOST_EDITS = 512
MOST_ARCS = 2**17
MUCH_LESS = 8


class WhatIfs:
    """Asks about edits of one graph; the field of the last nodes asked about is kept."""

    def __init__(self, graph: Graph, batcher: QueryBatcher, *, depth: int, form: Form) -> None:
        self._graph = graph
        self._batcher = batcher
        self._depth = depth
        self._form: Form = form
        self._asked: Ints = np.empty(0, np.int64)
        self._kept: BaseField | None = None

    def ask(self, edits: Edits) -> Floats:
        """One answer for each node that an edit asks about, edit after edit."""
        answers: list[Floats] = [np.empty((0, self._batcher.answer_width))]
        first, size = 0, MOST_EDITS
        while first < edits.count:
            part = edits.part(first, min(first + size, edits.count))
            field = self._field(part)
            if first == 0:
                # No edit copies more than the field for every layer, and nearly all copy far less.
                size = _fitting(field, len(field.arcs) * self._depth / MUCH_LESS)
                part = edits.part(first, min(first + size, edits.count))
            answer, arcs = self._asked_at_once(field, part)
            answers.append(answer)
            first += part.count
            size = _fitting(field, arcs / part.count)
        return np.concatenate(answers)

    def size(self, edits: Edits) -> int:
        """How many arcs matter to the nodes that edits ask about."""
        return len(self._field(edits).arcs)

    def _asked_at_once(self, field: BaseField, edits: Edits) -> tuple[Floats, int]:
        """The answers to one question, and how many arcs it has besides those of the field."""
        shared = SharedFields(field, self._form, ties_alike=not self._batcher.needs_ties)
        question = shared.question(edits)
        union, features = question.union, None
        if question.replaced.shape[1]:
            with np.errstate(over="ignore"):
                replaced: Floats = edits.features.astype(self._batcher.model.feature_type)
            features = self._batcher.features_of(union.nodes)
            features[question.replaced[0]] = replaced[question.replaced[1]]
        place = np.zeros(len(union.nodes), np.int64)
        place[question.rows] = 1
        rows = np.flatnonzero(place)
        place[rows] = np.arange(len(rows))
        answers = self._batcher.ask(union, rows, features=features, stands_for=edits.count)
        return answers[place[question.rows]], len(union.sources) - len(field.arcs)

    def _field(self, edits: Edits) -> BaseField:
        asked = edits.asked[1, :1]
        if not bool((edits.asked[1] == asked).all()):
            asked = np.unique(edits.asked[1])
        if edits.added.shape[1]:
            return self._around(asked, edits.added[1:3])
        if self._kept is None or not np.array_equal(asked, self._asked):
            self._asked, self._kept = asked, self._around(asked, None)
        return self._kept

    def _around(self, asked: Ints, added: Ints | None) -> BaseField:
        degrees = self._form == "degree"
        return base_field(self._graph, asked, self._depth, degrees=degrees, added=added)


def what_ifs_of(graph: Graph, batcher: QueryBatcher, probes: ProbeReport) -> WhatIfs | None:
    """What asks about edits, if a probe found a form that gives the model's answers."""
    if probes.sender_degree is None or probes.depth is None:
        return None
    form: Form = "degree" if probes.sender_degree else "plain"
    return WhatIfs(graph, batcher, depth=probes.depth, form=form)


def _fitting(field: BaseField, arcs_per_edit: float) -> int:
    """How many edits go into one question: the base is worth asking about, and memory suffices."""
    room = max(MOST_ARCS, len(field.arcs))
    return max(1, min(MOST_EDITS, int(room / max(arcs_per_edit, 1.0))))
