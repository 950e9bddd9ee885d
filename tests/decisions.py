"""Decision rules over answers that a test makes up."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.model.decisions import DecisionRule, Decisions
from recourse_audit.settings import DecisionSettings


def decisions_over(
    answers: Floats,
    favourable: Sequence[str],
    classes: Sequence[str] = ("no", "maybe", "yes"),
    *,
    graph: Graph | None = None,
    kind: Any = "probabilities",
    precision: str = "float64",
    **rule: Any,
) -> Decisions:
    """The decisions on everybody, by whatever rule; people are called 0, 1, 2 and so on."""
    if graph is None:
        no_ties = np.empty((2, 0), np.int64)
        graph = from_arrays(np.zeros((max(len(answers), 1), 1)), no_ties)
    settings = DecisionSettings(classes=tuple(classes), favourable=tuple(favourable), **rule)
    return DecisionRule(settings, graph, kind=kind, precision=precision).over(answers)
