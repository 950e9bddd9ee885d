"""Combinations of one subject's actions, as edits of the graph.

Where features follow from columns, changes are made in the columns that people know: the encoder
turns all new rows of a batch into features in one call, and what it said about a row is kept.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.columns import as_labels, as_strings
from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.edits import Edits, edits_of
from recourse_audit.recourse.actions import ADD, DROP, NONE, SET, ActionTable
from recourse_audit.recourse.attributes import Value, column_of

LARGEST_KEY = 2**62


class ActionEdits:
    """Writes the edits that combinations of actions (padded with `NONE`) make."""

    def __init__(self, table: ActionTable, own: Floats) -> None:
        """`own` is the subject's row of features, as the model takes it."""
        self._table = table
        self._own = own
        self._encoded = EncodedRows(table) if table.encoder is not None else None

    def of(self, combinations: Ints, asked: Ints | None = None) -> Edits:
        """One edit for each combination; `asked` are edits and nodes, by default the subject."""
        table, count = self._table, len(combinations)
        do = np.where(combinations == NONE, NONE, table.do[combinations])
        if asked is None:
            asked = np.stack((np.arange(count), np.full(count, table.subject)))
        changed, row, features = self._replacements(combinations, do)
        return edits_of(
            count,
            asked,
            dropped=self._drops(combinations, do),
            added=self._adds(combinations, do),
            replaced=np.stack((changed, np.full(len(changed), table.subject), row)),
            features=features,
        )

    def _drops(self, combinations: Ints, do: Ints) -> Ints:
        edit, column = np.nonzero(do == DROP)
        ties, owner = spans(self._table.tie_starts, combinations[edit, column])
        return self._both_ways(edit[owner], self._table.drops.arc[ties])

    def _both_ways(self, edit: Ints, arc: Ints) -> Ints:
        """The arcs of ties: two next to each other, unless ties have a direction."""
        if self._table.graph.directed:
            return np.stack((edit, arc))
        return np.stack((np.repeat(edit, 2), np.column_stack((arc, arc + 1)).ravel()))

    def _adds(self, combinations: Ints, do: Ints) -> Ints:
        table = self._table
        edit, column = np.nonzero(do == ADD)
        action = combinations[edit, column]
        place = table.tie_starts[action]  # a change adds one tie
        source, target = table.source[place], table.target[place]
        tie = len(table.graph.ties) + table.kind[action]
        if table.graph.directed:
            return np.stack((edit, source, target, tie))
        return np.stack(
            (
                np.repeat(edit, 2),
                np.column_stack((source, target)).ravel(),
                np.column_stack((target, source)).ravel(),
                np.repeat(tie, 2),
            )
        )

    def _replacements(self, combinations: Ints, do: Ints) -> tuple[Ints, Ints, Floats]:
        """Which edits replace the subject's features, by which row; each row is written once."""
        table = self._table
        sets = np.sort(np.where(do == SET, combinations, NONE), axis=1)
        changed = np.flatnonzero(sets[:, -1] != NONE) if sets.shape[1] else np.empty(0, np.int64)
        if not len(changed):
            return changed, changed, np.empty((0, len(self._own)), self._own.dtype)
        first, row = _distinct(sets[changed], len(table))
        chosen = sets[changed[first]]
        features = np.repeat(self._own[None], len(chosen), axis=0)
        with np.errstate(over="ignore"):
            if self._encoded is not None:
                features[:] = self._encoded.rows(chosen)
            else:
                place, column = np.nonzero(chosen != NONE)
                entry, owner = spans(table.changes, chosen[place, column])
                features[place[owner], table.column[entry]] = table.number[entry]
        return changed, row, features


def as_rows(combinations: Sequence[Sequence[int]]) -> Ints:
    """Combinations of any sizes as rows, padded with `NONE`."""
    rows = np.full((len(combinations), max(map(len, combinations), default=1)), NONE)
    for row, combination in zip(rows, combinations, strict=True):
        row[: len(combination)] = combination
    return rows


def _distinct(rows: Ints, actions: int) -> tuple[Ints, Ints]:
    """The first place of each distinct row, and for each row which of these it is."""
    width = rows.shape[1]
    if (actions + 1) ** width < LARGEST_KEY:
        key = (rows + 1) @ (actions + 1) ** np.arange(width)
        _, first, row = np.unique(key, return_index=True, return_inverse=True)
    else:
        _, first, row = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, row.ravel()


Column = NDArray[np.generic]


class EncodedRows:
    """Features of one subject for combinations of actions, as an encoder gives them."""

    def __init__(self, table: ActionTable) -> None:
        assert table.encoder is not None
        self._table = table
        self._encoder = table.encoder
        self._known: dict[tuple[int, ...], Floats] = {}

    def rows(self, sets: Ints) -> Floats:
        """The subject's features for each row of actions that set columns, padded with `NONE`."""
        keys = [tuple(action for action in row if action != NONE) for row in sets.tolist()]
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            features = self._encoder.encode(changed_columns(self._table, new))
            self._known |= zip(new, features, strict=True)
        return np.array([self._known[key] for key in keys])


def changed_columns(table: ActionTable, changes: Sequence[Sequence[int]]) -> dict[str, Column]:
    """The subject's columns, one entry for each set of actions, with what these set."""
    assert table.encoder is not None
    own = {name: column_of(table.graph, name)[table.subject] for name in table.encoder.columns}
    assigned = {action: table.assignments(action) for actions in changes for action in actions}
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
