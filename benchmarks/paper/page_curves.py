"""The curves on the page: quality and time by C and D, and perturbations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from benchmarks.paper.cache import Result
from benchmarks.paper.comparison import LEVEL
from benchmarks.paper.page_times import short_time
from benchmarks.paper.pictures import lines
from benchmarks.paper.published import OURS, TITLES
from benchmarks.paper.reading import Reading
from recourse_audit.audit.stability import curve
from recourse_audit.records.subject import StabilityPoint, StabilityRow

Pictures = dict[str, str]
PAPERS_SECONDS = 3
CHANGED = {True: "decision changed", False: "decision unchanged"}
STRENGTHS = {
    "links": "negative cosine between the new message and the weights of the class",
    "models": "distance between the weights of the last layers",
}
TITLE = {
    "links": "Explanations when a tie is added",
    "models": "Explanations when the model is changed",
}


class Varied:
    """The means over nodes for each C and D, on one graph."""

    def __init__(self, reading: Reading, graph: str) -> None:
        self._means: dict[tuple[int, int], dict[str, float]] = {}
        for size in reading.plan.sizes_varied:
            found = reading.of_searches("varied", graph, size).get(OURS, {})
            if found:
                self._means[size.max_nodes, size.max_hops] = {
                    what: float(np.mean([document[what] for document in found.values()]))
                    for what in ("simulatability", "relevance", "seconds", "subgraphs")
                } | {"nodes": len(found)}
        self._plan = reading.plan

    def __len__(self) -> int:
        return len(self._means)

    def by_size(self, what: str) -> list[tuple[float, float]]:
        """A figure over C at the usual D."""
        hops = self._plan.max_hops
        return [(C, mean[what]) for (C, D), mean in sorted(self._means.items()) if hops == D]

    def by_distance(self, what: str) -> list[tuple[float, float]]:
        """A figure over D at the usual C."""
        most = self._plan.max_nodes
        return [(D, mean[what]) for (C, D), mean in sorted(self._means.items()) if most == C]

    def all_seconds(self) -> list[float]:
        """The mean times per node."""
        return [mean["seconds"] for mean in self._means.values()]

    def rows(self, title: str) -> Iterator[str]:
        for (C, D), mean in sorted(self._means.items()):
            yield (
                f"| {title} | {C} | {D} | {mean['nodes']} | {mean['simulatability']:.4f} | "
                f"{mean['relevance']:.3f} | {mean['subgraphs']:,.0f} | "
                f"{1000 * mean['seconds']:.0f} ms |"
            )


def varied_section(reading: Reading, pictures: Pictures) -> Iterator[str]:
    """Figs. 6 and 7: a table and six charts."""
    found = {graph: Varied(reading, graph) for graph in reading.plan.varied}
    found = {graph: varied for graph, varied in found.items() if len(varied)}
    yield "| graph | C | D | nodes | ν | \\|μ\\| | subgraphs | time per node |"
    yield "|---|---|---|---|---|---|---|---|"
    for graph, varied in found.items():
        yield from varied.rows(TITLES[graph])
    yield ""
    for what, words in (
        ("simulatability", "mean simulatability ν"),
        ("relevance", "mean relevance |μ|"),
        ("seconds", "seconds per node"),
    ):
        for axis, name in (("C", "by_size"), ("D", "by_distance")):
            series = {
                TITLES[graph]: (varied.by_size if axis == "C" else varied.by_distance)(what)
                for graph, varied in found.items()
            }
            limit = "nodes per explanation" if axis == "C" else "hops from the subject"
            file = f"paper_{what}_{name}.svg"
            title = f"{words[0].upper()}{words[1:]} by {axis}"
            pictures[file] = lines(title, f"{axis}: maximum number of {limit}", words, series)
            yield f"![{title}](pictures/{file})"
    yield ""
    yield from _trends(found)


def _trends(found: Mapping[str, Varied]) -> Iterator[str]:
    """Say whether the paper's two observations hold: ν rises with C and D, and |μ| falls."""
    for graph, varied in found.items():
        for axis, by in (("C", varied.by_size), ("D", varied.by_distance)):
            up, down = _goes(by("simulatability")), _goes(by("relevance"))
            yield (
                f"- {TITLES[graph]}, as {axis} grows: simulatability {up}, relevance {down}; in "
                "the paper, the first rises and the second falls."
            )
    slowest = max((seconds for one in found.values() for seconds in one.all_seconds()), default=0.0)
    verdict = "no more than" if slowest <= PAPERS_SECONDS else "**more** than"
    yield (
        f"- The slowest mean is {short_time(slowest)} per node: {verdict} the {PAPERS_SECONDS} s "
        "that the paper reports for Cora and Citeseer on its machine."
    )
    yield ""


def _goes(points: Sequence[tuple[float, float]]) -> str:
    steps = np.diff([y for _, y in points])
    if len(steps) == 0:
        return "was measured only once"
    if (steps >= -1e-9).all():
        return "rises"
    return "falls" if (steps <= 1e-9).all() else "rises and falls"


def perturbed_section(reading: Reading, pictures: Pictures) -> Iterator[str]:
    """Fig. 8: mean Jaccard distance over strength, for changed and unchanged decisions."""
    graph = reading.plan.perturbed
    for part, strength in STRENGTHS.items():
        found = reading.of_graph(part, graph, reading.plan.size)
        rows = [stability_row(result) for result in found]
        if not rows:
            yield f"{TITLE[part]}: not measured yet."
            continue
        points_of = curve if part == "links" else by_strength
        curves = {changed: points_of(rows, changed=changed) for changed in CHANGED}
        series = {
            CHANGED[changed]: [(point.strength, point.explanation) for point in points]
            for changed, points in curves.items()
        }
        title = f"{TITLE[part]}, {TITLES[graph]}"
        file = f"paper_{part}.svg"
        pictures[file] = lines(title, strength, "mean Jaccard distance of explanations", series)
        yield f"![{title}](pictures/{file})"
        yield ""
        changes = sum(row.changed for row in rows)
        yield f"{len(rows)} comparisons, {changes} of them with a changed decision."
        yield ""
        yield from (f"- {CHANGED[changed]}: {_told(points)}" for changed, points in curves.items())
        yield f"- {_sanity(rows)}"
        yield ""


def by_strength(rows: Sequence[StabilityRow], *, changed: bool) -> tuple[StabilityPoint, ...]:
    """The mean distance at each strength, for perturbations of a few fixed strengths."""
    some = [row for row in rows if row.changed == changed and row.explanation is not None]
    points = []
    for strength in sorted({row.strength for row in some}):
        values = [row.explanation or 0.0 for row in some if row.strength == strength]
        mean = round(float(np.mean(values)), 6)
        points.append(
            StabilityPoint(strength=strength, explanation=mean, options=None, rows=len(values))
        )
    return tuple(points)


def stability_row(result: Result) -> StabilityRow:
    """A cached comparison, with the strength as the paper measures it."""
    document = result.document
    blank = StabilityRow(
        subject=str(result.key.subject),
        perturbation=result.key.method,
        strength=0.0,
        changed=bool(document["changed"]),
        explanation=document["explanation"],
        options=None,
    )
    return replace(blank, strength=round(float(document["strength"]), 6))


def _sanity(rows: Sequence[StabilityRow]) -> str:
    """Say whether explanations move more where the decision changed, as in the paper."""
    moved, stayed = (
        [row.explanation or 0.0 for row in rows if row.changed == changed] for changed in CHANGED
    )
    if not moved or not stayed:
        return "There is nothing to compare: either all decisions changed, or none did."
    p = float(stats.mannwhitneyu(moved, stayed).pvalue)
    verdict = "as in the paper" if np.mean(moved) > np.mean(stayed) else "**not** as in the paper"
    if p >= LEVEL:
        verdict += f", but this may be chance (Mann-Whitney p = {p:.2f})"
    return (
        f"Over all strengths, explanations move by {np.mean(moved):.2f} where the decision changed "
        f"and by {np.mean(stayed):.2f} where it did not: {verdict}."
    )


def _told(found: Sequence[StabilityPoint]) -> str:
    if not found:
        return "none."
    values = ", ".join(
        f"{point.explanation:.2f} at {point.strength:.2g} ({point.rows})" for point in found
    )
    return f"mean distance {values}; the number of comparisons is in brackets."
