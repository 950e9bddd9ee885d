"""One subject's features after changes of columns: whole rows, each encoded once.

Changes are made in the columns that people know. The encoder turns all new rows of a batch into
features in one call, and what it said about a row is kept for the subject.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.graph.columns import as_labels, as_strings
from recourse_audit.model.decisions import Mask
from recourse_audit.recourse.actions import NONE, SET, ActionTable
from recourse_audit.recourse.attributes import Value, column_of

Column = NDArray[np.generic]


class EncodedRows:
    """Features of one subject for combinations of actions, as an encoder gives them."""

    def __init__(self, table: ActionTable) -> None:
        assert table.encoder is not None
        self._table = table
        self._encoder = table.encoder
        self._known: dict[tuple[int, ...], Floats] = {}

    def rows(self, combinations: Ints) -> tuple[Mask, Floats]:
        """Which combinations change columns, and the subject's features for each of those."""
        there = combinations != NONE
        sets = there & (self._table.do[np.where(there, combinations, 0)] == SET)
        changed: Mask = sets.any(axis=1)
        keys = [
            tuple(row[mask].tolist())
            for row, mask in zip(combinations[changed], sets[changed], strict=True)
        ]
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            features = self._encoder.encode(changed_columns(self._table, new))
            self._known |= zip(new, features, strict=True)
        return changed, np.array([self._known[key] for key in keys])


def changed_columns(table: ActionTable, changes: Sequence[Sequence[int]]) -> dict[str, Column]:
    """The subject's columns, one entry for each set of actions, with what these set."""
    assert table.encoder is not None
    own = {name: column_of(table.graph, name)[table.subject] for name in table.encoder.columns}
    assigned = {action: table.assigned(action) for actions in changes for action in actions}
    rows: dict[str, list[Value]] = {
        name: [_plain(value)] * len(changes) for name, value in own.items()
    }
    for place, actions in enumerate(changes):
        for action in actions:
            for name, (stored, _) in assigned[action].items():
                if name in rows:
                    rows[name][place] = stored
    return {name: column_from(values) for name, values in rows.items()}


def columns_of(graph: Graph, names: Sequence[str], nodes: Ints) -> dict[str, Column]:
    """Some columns of some nodes, numbers as float64."""
    found: Mapping[str, Column] = {name: column_of(graph, name)[nodes] for name in names}
    return {
        name: values.astype(np.float64) if values.dtype.kind in "biuf" else values
        for name, values in found.items()
    }


def column_from(values: Sequence[Value]) -> Column:
    """Values as an array of numbers or of text."""
    if values and isinstance(values[0], str):
        return as_labels(as_strings(np.array(values, object)))
    return np.array(values, np.float64)


def _plain(value: object) -> Value:
    return value if isinstance(value, str) else float(value)  # type: ignore[arg-type]
