"""Combinations of one subject's actions, as edits of the graph."""

import numpy as np

from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.edits import Edits, edits_of
from recourse_audit.recourse.actions import ADD, DROP, NONE, SET, ActionTable
from recourse_audit.recourse.encoded_rows import EncodedRows

LARGEST_KEY = 2**62


class ActionEdits:
    """Writes the edits that combinations of actions (padded with `NONE`) make."""

    def __init__(self, table: ActionTable, own: Floats) -> None:
        """`own` is the subject's row of features, as the model takes it."""
        self._table = table
        self._own = own
        self._encoded = EncodedRows(table) if table.encoder is not None else None

    def of(self, combinations: Ints, asked: Ints | None = None, *, checked: bool = False) -> Edits:
        """One edit for each combination; `asked` are edits and nodes, by default the subject.

        If `checked`, two more edits that change nothing come last: the graph as it is, and a copy
        of the subject with the features that it has.
        """
        table, count = self._table, len(combinations) + 2 * checked
        do = np.where(combinations == NONE, NONE, table.do[combinations])
        if asked is None:
            asked = np.stack((np.arange(count), np.full(count, table.subject)))
        changed, row, features = self._replaced(combinations, do)
        if checked:
            changed, row = np.append(changed, count - 1), np.append(row, len(features))
            features = np.concatenate((features, self._own[None]))
        return edits_of(
            count,
            asked,
            dropped=self._dropped(combinations, do),
            added=self._added(combinations, do),
            replaced=np.stack((changed, np.full(len(changed), table.subject), row)),
            features=features,
        )

    def _dropped(self, combinations: Ints, do: Ints) -> Ints:
        edit, column = np.nonzero(do == DROP)
        return self._both_ways(edit, self._table.arc[combinations[edit, column]])

    def _both_ways(self, edit: Ints, arc: Ints) -> Ints:
        """The arcs of ties: two next to each other, unless ties have a direction."""
        if self._table.graph.directed:
            return np.stack((edit, arc))
        return np.stack((np.repeat(edit, 2), np.column_stack((arc, arc + 1)).ravel()))

    def _added(self, combinations: Ints, do: Ints) -> Ints:
        table = self._table
        edit, column = np.nonzero(do == ADD)
        action = combinations[edit, column]
        source, target = table.source[action], table.target[action]
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

    def _replaced(self, combinations: Ints, do: Ints) -> tuple[Ints, Ints, Floats]:
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
                features[:] = self._encoded.rows(chosen)[1]
            else:
                place, column = np.nonzero(chosen != NONE)
                entry, owner = spans(table.changes, chosen[place, column])
                features[place[owner], table.column[entry]] = table.number[entry]
        return changed, row, features


def _distinct(rows: Ints, actions: int) -> tuple[Ints, Ints]:
    """The first place of each distinct row, and for each row which of these it is."""
    width = rows.shape[1]
    if (actions + 1) ** width < LARGEST_KEY:
        key = (rows + 1) @ (actions + 1) ** np.arange(width)
        _, first, row = np.unique(key, return_index=True, return_inverse=True)
    else:
        _, first, row = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, row.ravel()
