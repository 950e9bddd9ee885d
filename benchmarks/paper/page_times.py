"""The times on the page: every method in the table, then ours and the slow ones in turn."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.paper.comparison import common
from benchmarks.paper.published import METHODS, TITLES
from benchmarks.paper.reading import GraphTable, Reading
from benchmarks.paper.timed import (
    CF_AUTHORS,
    CF_DENSE,
    CF_LEAN,
    EXPLAINER_NEAR,
    EXPLAINER_WHOLE,
    OURS_ALONE,
    OURS_TOGETHER,
    TIMED,
)

Column = list[dict[str, Any]]
# The goals: how many times faster ours should be.
GOALS = {
    EXPLAINER_WHOLE: 10,
    EXPLAINER_NEAR: 10,
    CF_LEAN: 100,
    CF_DENSE: 100,
    CF_AUTHORS: 100,
}


def time_table(tables: Mapping[str, GraphTable]) -> Iterator[str]:
    """Show the mean time per node of every method; training is listed separately."""
    others = [method for method in METHODS if method not in ("Shapley", "MOEB")]
    yield f"| graph | {' | '.join(others)} | training beforehand: EMB, GAT, PGExp |"
    yield f"|---|{'---|' * len(others)}---|"
    for graph, table in tables.items():
        cells = [
            short_time(float(table.column(method, "seconds").mean()))
            if method in table.methods
            else "not measured yet"
            for method in others
        ]
        before = [
            short_time(float(table.column(method, "preparation").max()))
            if method in table.methods
            else "not measured yet"
            for method in ("EMB", "GAT", "PGExp")
        ]
        yield f"| {TITLES[graph]} | {' | '.join(cells)} | {', '.join(before)} |"
    yield ""


def short_time(seconds: float) -> str:
    """Seconds, or milliseconds where that reads better."""
    if seconds >= 10:
        return f"{seconds:.0f} s"
    if seconds >= 0.1:
        return f"{seconds:.2f} s"
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "<1 ms"


def timed_section(reading: Reading) -> Iterator[str]:
    """Compare ours and the slow methods, run in turn on the same nodes, with the goals."""
    for graph in reading.plan.timed:
        found = reading.of_searches("timed", graph, reading.plan.size)
        if not set(TIMED) <= set(found):
            yield f"{TITLES[graph]}, in turn: not measured yet."
            yield ""
            continue
        # The authors' code may have been available for only some of the nodes.
        subjects = common(found.values())
        columns = {
            method: [found[method][subject] for subject in subjects]
            for method in (*TIMED, CF_AUTHORS)
            if method in found
        }
        yield from _in_turn(TITLES[graph], columns)
        yield from _time_verdicts(columns)
        yield ""


def _in_turn(title: str, columns: Mapping[str, Column]) -> Iterator[str]:
    """Yield a table of means and medians on the same nodes."""
    yield f"{title}, {len(columns[OURS_ALONE])} test nodes, each explained by all methods in turn:"
    yield ""
    yield "| method | mean | median | mean relative to GNN-MOExp alone |"
    yield "|---|---|---|---|"
    ours = _seconds(columns[OURS_ALONE]).mean()
    for method, column in columns.items():
        seconds = _seconds(column)
        middle = "" if method == OURS_TOGETHER else short_time(float(np.median(seconds)))
        yield (
            f"| {method} | {short_time(float(seconds.mean()))} | {middle} | "
            f"{seconds.mean() / ours:.3g} |"
        )
    yield ""


def _time_verdicts(columns: Mapping[str, Column]) -> Iterator[str]:
    mean = {method: float(_seconds(column).mean()) for method, column in columns.items()}
    for method in (method for method in GOALS if method in columns):
        alone, together = mean[method] / mean[OURS_ALONE], mean[method] / mean[OURS_TOGETHER]
        verdict = "met" if alone >= GOALS[method] else "**not** met"
        yield (
            f"- {method}: GNN-MOExp takes 1/{alone:.3g} of its time (goal: 1/{GOALS[method]}, "
            f"{verdict}), or 1/{together:.3g} if all test nodes of the table are searched together."
        )
    versions = [columns[method] for method in (CF_LEAN, CF_DENSE, CF_AUTHORS) if method in columns]
    same = [len({str(one["removed"]) for one in row}) == 1 for row in zip(*versions, strict=True)]
    yield (
        f"- The {len(versions)} versions of CF-GNNExplainer remove the same ties on {sum(same)} of "
        f"{len(same)} nodes."
    )
    if CF_AUTHORS not in columns:
        yield f"- {CF_AUTHORS}: not measured; pass `--cf-code DIR` with a copy of its repository."


def _seconds(column: Column) -> np.ndarray:
    return np.array([float(document["seconds"]) for document in column])
