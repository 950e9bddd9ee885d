"""Answers after edits of the graph, many in one question, by shared receptive fields."""

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.base_fields import BaseField, base_field
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.edits import Edits
from recourse_audit.model.shared_fields import Form, SharedFields


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
        """One answer for each node that an edit asks about."""
        shared = SharedFields(
            self._field(edits), self._form, ties_alike=not self._batcher.needs_ties
        )
        question = shared.question(edits)
        features = None
        if question.replaced.shape[1]:
            with np.errstate(over="ignore"):
                kind = self._batcher.model.feature_type
                features = self._graph.features[question.union.nodes].astype(kind)
                features[question.replaced[0]] = edits.features[question.replaced[1]]
        rows, back = np.unique(question.rows, return_inverse=True)
        answers = self._batcher.ask(
            question.union, rows, features=features, stands_for=edits.count
        )
        return answers[back]

    def _field(self, edits: Edits) -> BaseField:
        asked = np.unique(edits.asked[1])
        if edits.added.shape[1]:
            return self._around(asked, edits.added[1:3])
        if self._kept is None or not np.array_equal(asked, self._asked):
            self._asked, self._kept = asked, self._around(asked, None)
        return self._kept

    def _around(self, asked: Ints, added: Ints | None) -> BaseField:
        degrees = self._form == "degree"
        return base_field(self._graph, asked, self._depth, degrees=degrees, added=added)
