"""Of the refused people of each group, who has an approved comparator, and who in their own group.

The second figure is the control: comparators can be found for almost anybody, and more of them
where a group has many approved people. Both are counted, not tested; whether people alike on own
data are decided differently is another question, with a test of its own.
"""

import sqlite3

import numpy as np

from recourse_audit.groups.measures import Inputs
from recourse_audit.groups.population import NOWHERE
from recourse_audit.records.groups import ComparatorRates

HAS_COMPARATORS = """SELECT number, json_array_length(value, '$.others') > 0,
  json_array_length(value, '$.own') > 0
  FROM subjects, json_each(document, '$.comparators.sets')
  WHERE json_extract(value, '$.attribute') = ? AND json_extract(value, '$.group') != ''"""


def comparators_of(
    inputs: Inputs, store: sqlite3.Connection
) -> dict[str, dict[str, ComparatorRates]]:
    """By attribute and group, where both can be shown: a table needs enough of each answer."""
    figures = {}
    for grouping in inputs.design.single:
        rows = np.array(store.execute(HAS_COMPARATORS, (grouping.name,)).fetchall(), np.int64)
        if not rows.size or not grouping.outcomes:
            continue
        labels = np.full((2, inputs.population.people), NOWHERE)
        labels[:, rows[:, 0]] = rows[:, 1:].T
        if inputs.design.allows(grouping, "comparators", *labels):
            people = [members[labels[0, members] >= 0] for members in grouping.members]
            figures[grouping.name] = {
                name: ComparatorRates(
                    others=inputs.rate(labels[0, own] > 0), own=inputs.rate(labels[1, own] > 0)
                )
                for name, own in zip(grouping.labels, people, strict=True)
                if own.size
            }
    return figures
