"""All that an audit of many found, as the files of a bundle are written from it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph
from recourse_audit.run.audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was found about one subject, and in which piece of the work; the document is JSON."""

    subject: int
    piece: int
    document: str

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.document)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """An audit, the answers on the whole graph, and results in the order of subjects.

    Results are read anew each time, since those of a million subjects fill more than the memory.
    """

    audit: Audit
    answers: Floats
    meta: dict[str, str]
    results: Callable[[], Iterator[Result]]


def compact(data: Any) -> str:
    """JSON on one line, the same text for the same data."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def group_values(graph: Graph, attribute: str) -> list[str]:
    """Everybody's value of an attribute as text; "" where it is unknown."""
    if attribute in graph.attributes:
        values = graph.attributes[attribute]
    else:
        values = graph.features[:, graph.feature_names.index(attribute)]
    if values.dtype.kind != "f":
        return [str(value) for value in values.tolist()]
    return [_figure(value) for value in values]


def _figure(value: np.floating) -> str:
    if not np.isfinite(value):
        return ""
    return str(int(value)) if value == int(value) else str(value)


def numbers_by_id(graph: Graph) -> dict[str, int]:
    """The number of every node."""
    return {name: number for number, name in enumerate(graph.ids.tolist())}
