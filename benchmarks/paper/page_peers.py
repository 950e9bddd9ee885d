"""Counterfactual methods on the page: flips on the whole graph, size, time and queries."""

from collections.abc import Iterator

import numpy as np

from benchmarks.paper.comparison import common
from benchmarks.paper.page_times import short_time
from benchmarks.paper.published import TITLES
from benchmarks.paper.reading import Documents, Reading
from benchmarks.paper.rivals import (
    ANY,
    CF,
    GREEDY,
    METHODS,
    NEW,
    OWN,
    RANDOM,
    RANDOM_NEW,
    RANDOM_TRIES,
    SHOWN,
)


def peers_section(reading: Reading) -> Iterator[str]:
    """Yield one table for all graphs, then what it shows."""
    yield "| graph | nodes | method | flipped | claimed | ties changed | time per node | queries |"
    yield "|---|---|---|---|---|---|---|---|"
    sentences: list[str] = []
    for graph in reading.plan.peers:
        found = reading.of_peers(graph)
        if set(found) != set(METHODS):
            yield f"| {TITLES[graph]} | 0 | not measured yet | | | | | |"
            continue
        subjects = common(found.values())
        for method in METHODS:
            cells = _cells(found[method], subjects)
            yield f"| {TITLES[graph]} | {len(subjects)} | {SHOWN[method]} | {' | '.join(cells)} |"
        sentences += _verdicts(TITLES[graph], found, subjects)
    yield ""
    yield from (f"- {sentence}" for sentence in sentences)
    yield ""


def _flips(method: str) -> str:
    """The verb for a method's name; our options are plural."""
    return "flips" if method in (CF, GREEDY) else "flip"


def _mean(documents: Documents, subjects: list[int], what: str) -> float:
    return float(np.mean([float(documents[subject][what]) for subject in subjects]))


def _cells(documents: Documents, subjects: list[int]) -> list[str]:
    sizes = [documents[subject]["size"] for subject in subjects if documents[subject]["flipped"]]
    return [
        f"{_mean(documents, subjects, 'flipped'):.0%}",
        f"{_mean(documents, subjects, 'claimed'):.0%}",
        f"{np.mean(sizes):.2f}" if sizes else "none",
        short_time(_mean(documents, subjects, "seconds")),
        f"{_mean(documents, subjects, 'queries'):.0f}",
    ]


def _verdicts(title: str, found: dict[str, Documents], subjects: list[int]) -> Iterator[str]:
    """Say who loses to random edits, and how our time compares with CF-GNNExplainer's."""
    flips = {method: _mean(found[method], subjects, "flipped") for method in METHODS}
    for method, rival in (
        (OWN, RANDOM), (ANY, RANDOM), (CF, RANDOM), (GREEDY, RANDOM), (NEW, RANDOM_NEW),
        (ANY, RANDOM_TRIES), (CF, RANDOM_TRIES),
    ):  # fmt: skip
        if flips[method] < flips[rival]:
            yield (
                f"{title}: {SHOWN[method]} {_flips(method)} **fewer** nodes ({flips[method]:.0%}) "
                f"than {SHOWN[rival]} ({flips[rival]:.0%})."
            )
    seconds = {method: _mean(found[method], subjects, "seconds") for method in (OWN, ANY, CF)}
    for method in (OWN, ANY):
        share = seconds[CF] / seconds[method]
        taken = f"1/{share:.3g} of" if share >= 1 else f"{1 / share:.3g} times"
        yield f"{title}: {SHOWN[method]} take {taken} the time of {CF} as implemented here."
    if flips[ANY] < flips[OWN]:
        yield (
            f"{title}: {SHOWN[ANY]} flip fewer nodes ({flips[ANY]:.0%}) than {SHOWN[OWN]} "
            f"({flips[OWN]:.0%}): there are more nearby ties than evaluations in the budget, and "
            "much of the budget goes to ties that do not matter."
        )
    if flips[ANY] < flips[CF]:
        yield (
            f"{title}: {CF} flips more nodes ({flips[CF]:.0%}) than {SHOWN[ANY]} "
            f"({flips[ANY]:.0%}): it may remove any number of ties; ours are limited to three."
        )
