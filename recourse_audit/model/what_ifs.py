"""Answers after edits of the graph, many in one question, by shared receptive fields."""

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph
from recourse_audit.model.base_fields import BaseField, KeptFields, base_field
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.edits import Edits
from recourse_audit.model.queries import listed
from recourse_audit.model.shared_fields import Form, SharedFields
from recourse_audit.records.model import ProbeReport

MOST_EDITS = 2048
# A question of 2**18 nodes and arcs would get a session of its own.
MOST_ARCS = 3 * 2**16
MUCH_LESS = 8


class WhatIfs:
    """Asks about edits of one graph; `fields` are kept, and may be shared with others."""

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        *,
        depth: int,
        form: Form,
        fields: KeptFields | None = None,
    ) -> None:
        self._graph = graph
        self._batcher = batcher
        self._depth = depth
        self._form: Form = form
        self._fields = fields or KeptFields()

    def ask(self, edits: Edits) -> Floats:
        """One answer for each node that an edit asks about, edit after edit."""
        answers: list[Floats] = [np.empty((0, self._batcher.answer_width))]
        first, size = 0, MOST_EDITS
        while first < edits.count:
            part = edits.part(first, min(first + size, edits.count))
            field = self._field(part)
            if first == 0:
                # No edit copies more than the field for every layer, and nearly all copy far less,
                # unless they replace the features of most people in it.
                replaced = edits.replaced.shape[1] / edits.count / max(len(field.nodes), 1)
                share = min(max(replaced, 1 / MUCH_LESS), 1.0)
                size = _fitting(field, len(field.arcs) * self._depth * share)
                part = edits.part(first, min(first + size, edits.count))
            answer, arcs = self._asked_at_once(field, part, alone=edits.count == 1)
            answers.append(answer)
            first += part.count
            size = _fitting(field, arcs / part.count)
        return np.concatenate(answers)

    def size(self, edits: Edits) -> int:
        """How many arcs matter to the nodes that edits ask about."""
        return len(self._field(edits).arcs)

    def _asked_at_once(self, field: BaseField, edits: Edits, *, alone: bool) -> tuple[Floats, int]:
        """The answers to one question, and how many arcs it has besides those of the field."""
        shared = SharedFields(field, self._form, ties_alike=not self._batcher.needs_ties)
        # An edit by itself needs no base beside it. One that is left over from many does, because
        # how many arcs it takes says how many edits the next question may hold.
        single = alone and not edits.added.shape[1]
        question = shared.single(edits) if single else shared.question(edits)
        union, features = question.union, None
        if question.replaced.shape[1]:
            with np.errstate(over="ignore"):
                replaced: Floats = edits.features.astype(self._batcher.model.feature_type)
            features = self._batcher.features_of(union.nodes)
            features[question.replaced[0]] = replaced[question.replaced[1]]
        rows, back = listed(question.rows, len(union.nodes))
        answers = self._batcher.ask(union, rows, features=features, stands_for=edits.count)
        return answers[back], len(union.sources) - len(field.arcs)

    def _field(self, edits: Edits) -> BaseField:
        asked = edits.asked[1, :1]
        if not bool((edits.asked[1] == asked).all()):
            asked = np.unique(edits.asked[1])
        degrees = self._form == "degree"
        if edits.added.shape[1]:
            added = edits.added[1:3]
            return base_field(self._graph, asked, self._depth, degrees=degrees, added=added)
        return self._fields.around(self._graph, asked, self._depth, degrees=degrees)


def what_ifs_of(
    graph: Graph, batcher: QueryBatcher, probes: ProbeReport, fields: KeptFields | None = None
) -> WhatIfs | None:
    """What asks about edits, if a probe found a form that gives the model's answers."""
    if probes.sender_degree is None or probes.depth is None:
        return None
    form: Form = "degree" if probes.sender_degree else "plain"
    return WhatIfs(graph, batcher, depth=probes.depth, form=form, fields=fields)


def _fitting(field: BaseField, arcs_per_edit: float) -> int:
    """How many edits go into one question: the base is worth asking about, and memory suffices."""
    room = max(MOST_ARCS, len(field.arcs))
    return max(1, min(MOST_EDITS, int(room / max(arcs_per_edit, 1.0))))
