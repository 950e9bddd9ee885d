"""What-ifs about one graph, as flat arrays: what each changes, and whose answer is wanted.

An edit drops and adds arcs and replaces features, of anybody. A tie that changes its weight, its
attributes or its kind is dropped, and added with another row of the table of ties.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.graph.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """Edits side by side; the first row of each array, ascending, says whose a column is.

    `dropped` has numbers of arcs in the graph; `added` has source, target and row of the table of
    ties; `replaced` has a node and its row of `features`; `asked` has nodes.
    """

    count: int
    dropped: Ints
    added: Ints
    replaced: Ints
    features: Floats
    asked: Ints

    def part(self, first: int, last: int) -> "Edits":
        """Some edits in a row, numbered from 0."""
        if first == 0 and last == self.count:
            return self
        return Edits(
            count=last - first,
            dropped=_between(self.dropped, first, last),
            added=_between(self.added, first, last),
            replaced=_between(self.replaced, first, last),
            features=self.features,
            asked=_between(self.asked, first, last),
        )


def edits_of(
    count: int,
    asked: Sequence[Ints] | Ints,
    *,
    dropped: Sequence[Ints] | Ints = (),
    added: Sequence[Ints] | Ints = (),
    replaced: Sequence[Ints] | Ints = (),
    features: Floats | None = None,
) -> Edits:
    """Edits from lists of columns; what is left out is empty, and no edit drops an arc twice."""
    return Edits(
        count=count,
        dropped=_once(_table(dropped, 2)),
        added=_table(added, 4),
        replaced=_table(replaced, 3),
        features=np.empty((0, 0), np.float32) if features is None else features,
        asked=_table(asked, 2),
    )


def _table(rows: Sequence[Ints] | Ints, height: int) -> Ints:
    if not len(rows):
        return np.empty((height, 0), np.int64)
    table = np.asarray(rows, np.int64).reshape(height, -1)
    ordered = bool((table[0, 1:] >= table[0, :-1]).all())
    return table if ordered else table[:, np.argsort(table[0], kind="stable")]


def _once(table: Ints) -> Ints:
    """Columns in ascending order, without repetitions."""
    span = int(table[1].max(initial=0)) + 1
    keys = table[0] * span + table[1]
    if bool((keys[1:] > keys[:-1]).all()):
        return table
    return np.stack(np.divmod(np.unique(keys), span))


def _between(table: Ints, first: int, last: int) -> Ints:
    if not table.shape[1]:
        return table
    low, high = table[0].searchsorted((first, last))
    part = table[:, low:high].copy()
    part[0] -= first
    return part
