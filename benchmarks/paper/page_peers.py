"""The page's counterfactual peers: flips on the whole graph, size, time and queries."""

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
)


def peers_section(reading: Reading) -> Iterator[str]:
    """A table for all graphs, then what it says."""
    yield "| graph | nodes | method | flipped | said to | ties changed | time a node | queries |"
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
            yield f"| {TITLES[graph]} | {len(subjects)} | {method} | {' | '.join(cells)} |"
        sentences += _verdicts(TITLES[graph], found, subjects)
    yield ""
    yield from (f"- {sentence}" for sentence in sentences)
    yield ""


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
    """Who loses to random edits, and how our time compares with CF-GNNExplainer's."""
    flips = {method: _mean(found[method], subjects, "flipped") for method in METHODS}
    for method, rival in (
        (OWN, RANDOM), (ANY, RANDOM), (CF, RANDOM), (GREEDY, RANDOM), (NEW, RANDOM_NEW),
        (ANY, RANDOM_TRIES), (CF, RANDOM_TRIES),
    ):  # fmt: skip
        if flips[method] < flips[rival]:
            yield (
                f"{title}: {method} flips **fewer** ({flips[method]:.0%}) than {rival} "
                f"({flips[rival]:.0%})."
            )
    seconds = {method: _mean(found[method], subjects, "seconds") for method in (OWN, ANY, CF)}
    for method in (OWN, ANY):
        share = seconds[CF] / seconds[method]
        taken = f"1/{share:.3g} of" if share >= 1 else f"{1 / share:.3g} times"
        yield f"{title}: {method} takes {taken} the time of {CF} as written here."
    if flips[ANY] < flips[OWN]:
        yield (
            f"{title}: {ANY} flips fewer ({flips[ANY]:.0%}) than {OWN} ({flips[OWN]:.0%}): there "
            "are more ties near than evaluations in the budget, and much of it goes to ties that "
            "do not matter."
        )
    if flips[ANY] < flips[CF]:
        yield (
            f"{title}: {CF} flips more ({flips[CF]:.0%}) than {ANY} ({flips[ANY]:.0%}): it may "
            "remove any number of ties, ours three at most."
        )
