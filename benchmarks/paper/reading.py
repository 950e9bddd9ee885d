"""Reads the cached results for the page, by graph and method, for the current models."""

from typing import Any

import numpy as np

from benchmarks.paper.cache import Result, ResultCache
from benchmarks.paper.comparison import common
from benchmarks.paper.plans import Plan, Size
from benchmarks.paper.published import METHODS, OURS

MODEL = "model"
Documents = dict[int, dict[str, Any]]


class Reading:
    """The results of a plan; results of other models or settings are ignored."""

    def __init__(self, cache: ResultCache, plan: Plan) -> None:
        self.plan = plan
        self._cache = cache
        self.models = {found.key.graph: found.document for found in cache.rows(MODEL)}

    def of_searches(self, part: str, graph: str, size: Size) -> dict[str, Documents]:
        """A part's results for searches of one size, by method and subject."""
        if graph not in self.models:
            return {}
        setting = size.setting(self.models[graph]["fingerprint"])
        return _by_method(list(self._cache.rows(part, graph=graph, setting=setting)))

    def of_peers(self, graph: str) -> dict[str, Documents]:
        """The results of the counterfactual methods, by method and subject."""
        if graph not in self.models:
            return {}
        setting = self.plan.peer_setting(self.models[graph]["fingerprint"])
        return _by_method(list(self._cache.rows("peers", graph=graph, setting=setting)))

    def of_graph(self, part: str, graph: str, size: Size | None = None) -> list[Result]:
        """All results of a part for the current model, optionally for searches of one size."""
        if graph not in self.models:
            return []
        own = self.models[graph]["fingerprint"]
        rows = [row for row in self._cache.rows(part, graph=graph) if own in row.key.setting]
        return [row for row in rows if size is None or row.key.setting == size.setting(own)]


def _by_method(rows: list[Result]) -> dict[str, Documents]:
    found: dict[str, Documents] = {}
    for row in rows:
        found.setdefault(row.key.method, {})[row.key.subject] = row.document
    return found


class GraphTable:
    """A row of Table III: both objectives of all methods, on the subjects they have in common.

    A method counts as measured once it has half of the subjects that the search has. Otherwise a
    run that was stopped early would leave hardly any subjects to compare.
    """

    def __init__(self, results: dict[str, Documents]) -> None:
        enough = len(results.get(OURS, ())) / 2
        self.methods = tuple(
            name for name in METHODS if results.get(name) and len(results[name]) >= enough
        )
        self.subjects = common([results[name] for name in self.methods])
        self._results = results

    def __len__(self) -> int:
        return len(self.subjects) if OURS in self.methods else 0

    def column(self, method: str, what: str) -> np.ndarray:
        """One figure of one method, for each subject."""
        documents = self._results[method]
        return np.array([float(documents[subject][what]) for subject in self.subjects])

    def objective(self, what: str) -> dict[str, np.ndarray]:
        """One objective, for each measured method."""
        return {method: self.column(method, what) for method in self.methods}

    def has(self, method: str) -> bool:
        """Whether there are results of another choice among the pairs for all these subjects."""
        return set(self.subjects) <= set(self._results.get(method, ()))

    def share_exhaustive(self) -> float:
        """The share of subjects for which every explanation was tried."""
        documents = self._results[OURS]
        return float(
            np.mean([documents[subject]["coverage"] == "exhaustive" for subject in self.subjects])
        )
