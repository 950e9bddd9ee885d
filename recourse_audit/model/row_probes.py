"""What may be relied on when asking a pipeline, measured on the graph's own rows.

An audit changes one person's row and asks again, for many versions of the row at once. That is
right only if a pipeline gives the same features twice, and if a row's features do not depend on
which other rows are asked about with it, nor on their order. Means, ranks and maxima over whoever
happens to be in the batch belong to training, not to the file.
"""

from collections.abc import Callable, Iterator

import numpy as np

from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.graph.columns import Columns
from recourse_audit.records.model import PreprocessingProbes

Encode = Callable[[Columns], Floats]

# Rows that are asked about alone, and rows that are asked about in small random company.
ALONE, MISSING, COMPANY, MOST_IN_COMPANY = 64, 32, 64, 2**16
# Matrix products round differently for other numbers of rows; relative to a feature's size.
ROUNDING = 1e-5


def probe_rows(
    encode: Encode, columns: Columns, features: Floats, feature_names: tuple[str, ...]
) -> PreprocessingProbes:
    """Ask a pipeline again about the rows that gave `features`: all, some, one, in another order.

    Notes
    -----
    Everybody is asked about four times, a random part of 65,536 of them in companies of 64, and
    up to 96 rows alone, those with missing values first.
    """
    different = np.flatnonzero((encode(columns) != features).any(axis=0))
    if len(different):
        name = feature_names[int(different[0])]
        note = (
            f"THE PIPELINE IS RANDOM: asked twice about the same rows, it gives other features "
            f"({name} is one of them). No figure could be repeated. Ask for an export in "
            "evaluation mode."
        )
        return PreprocessingProbes(
            deterministic=False, row_by_row=None, notes={"deterministic": note}
        )
    allowed = ROUNDING * np.abs(features).max(axis=0, initial=0)
    for rows in _companies(columns, len(features)):
        again = encode({name: values[rows] for name, values in columns.items()})
        moved = (np.abs(again - features[rows]) > allowed).any(axis=0)
        if moved.any():
            name = feature_names[int(np.flatnonzero(moved)[0])]
            note = (
                "THE PIPELINE IS NOT ROW BY ROW: a person's features depend on who else is asked "
                f"about with them, or in which order ({name} is one of them). What is verified "
                "about one person would not be what is decided. Ask for an export with the means "
                "and ranks of training in it."
            )
            return PreprocessingProbes(
                deterministic=True, row_by_row=False, notes={"row_by_row": note}
            )
    return PreprocessingProbes(deterministic=True, row_by_row=True)


def _companies(columns: Columns, count: int) -> Iterator[Ints]:
    """Everybody in another order, each half, small random companies, and single rows."""
    order: Ints = np.random.default_rng(0).permutation(count)
    yield np.arange(count)[::-1]
    yield order
    yield np.arange(count // 2, count)
    yield np.arange((count + 1) // 2)
    missing = np.zeros(count, bool)
    for values in columns.values():
        missing |= np.isnan(values) if values.dtype.kind == "f" else values == ""
    incomplete = np.flatnonzero(missing)[:MISSING]
    for row in np.unique(np.concatenate((incomplete, order[:ALONE]))):
        yield np.array([row])
    for first in range(0, min(count, MOST_IN_COMPANY), COMPANY):
        yield order[first : first + COMPANY]
