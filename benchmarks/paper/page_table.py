"""Table III on the page: our figures beside the paper's, what holds, and who dominates."""

from collections.abc import Iterator, Mapping

from benchmarks.paper.comparison import (
    Dominance,
    Marked,
    agreement,
    beats,
    dominance,
    marked,
    p_value,
)
from benchmarks.paper.published import (
    BEATEN,
    GRAPHS,
    METHODS,
    OURS,
    RELEVANCE,
    SIMULATABILITY,
    TITLES,
)
from benchmarks.paper.reading import GraphTable

MARKS = {"certain": " ●", "best": " •", "runner-up": " ○", "worst": " ▼", "second-worst": " ▽"}
OBJECTIVES = {
    "simulatability": ("Simulatability ν", SIMULATABILITY),
    "relevance": ("Relevance |μ|", RELEVANCE),
}
LEGEND = (
    "Each cell shows our mean, with the paper's in brackets. ● best, and a paired t-test at 5 % "
    "tells it apart from every other method; • best, but not told apart from some other method; "
    "○ second best; ▼ worst; ▽ second worst. The marks refer to our figures."
)
MOST_SIMULATABLE = "best ν"
# Methods that choose among the pairs of one search.
SEARCHED = ("Shapley", "MOEB", OURS)
OTHER_CHOICES = ("any pair", MOST_SIMULATABLE, "best μ", "balanced of all")
Tables = Mapping[str, GraphTable]


def objective_table(tables: Tables, what: str) -> Iterator[str]:
    """Yield one half of Table III as Markdown."""
    title, published = OBJECTIVES[what]
    yield f"### {title} (higher is better)"
    yield ""
    yield f"| graph | nodes | {' | '.join(METHODS)} |"
    yield f"|---|---|{'---|' * len(METHODS)}"
    for graph in GRAPHS:
        table = tables.get(graph)
        found = marked(table.objective(what)) if table else {}
        cells = [
            _cell(found.get(method), paper)
            for method, paper in zip(METHODS, published[graph], strict=True)
        ]
        yield f"| {TITLES[graph]} | {len(table) if table else 0} | {' | '.join(cells)} |"
    yield ""


def _cell(own: Marked | None, paper: float) -> str:
    if own is None:
        return f"({paper:.3f})"
    figure = f"{own.mean:.3f}{MARKS.get(own.mark, '')}"
    bold = own.mark in ("certain", "best")
    return f"**{figure}** ({paper:.3f})" if bold else f"{figure} ({paper:.3f})"


def simulatability_verdicts(tables: Tables) -> Iterator[str]:
    """Say where our simulatability is best and, where it is not, by how much and why."""
    good, sentences = [], []
    for graph, table in tables.items():
        columns = table.objective("simulatability")
        found = marked(columns)
        best = max(found, key=lambda name: float(columns[name].mean()))
        if found[OURS].mark in ("certain", "best"):
            good.append(
                TITLES[graph] + ("" if found[OURS].mark == "certain" else " (not significant)")
            )
            continue
        why = ""
        if table.has(MOST_SIMULATABLE):
            seen = float(table.column(MOST_SIMULATABLE, "simulatability").mean())
            why = f" The most simulatable explanations that the search saw reach {seen:.3f}, so it "
            why += "is the choice by rank sum, not the search, that trades it for relevance."
        sentences.append(
            f"GNN-MOExp is **not** best on {TITLES[graph]}: {best} has {found[best].mean:.3f}, "
            f"GNN-MOExp {found[OURS].mean:.3f} "
            f"(p = {p_value(columns[best], columns[OURS]):.2g}).{why}"
        )
    yield f"- GNN-MOExp has the best simulatability on: {', '.join(good) or 'no graph'}."
    yield from (f"- {sentence}" for sentence in sentences)


def beaten_verdicts(tables: Tables) -> Iterator[str]:
    """Say where RND, EMB, GAT, GNNExp and PGExp are beaten in both objectives."""
    names = ", ".join(BEATEN[:-1]) + f" and {BEATEN[-1]}"
    yield f"- In the paper, GNN-MOExp beats {names} in both objectives. Here it beats:"
    for graph, table in tables.items():
        failures = list(_not_beaten(table))
        verdict = f"**not** all of them: {'; '.join(failures)}" if failures else "all of them"
        yield f"  - {TITLES[graph]}, {len(table)} nodes: {verdict}."


def _not_beaten(table: GraphTable) -> Iterator[str]:
    for method in BEATEN:
        if method not in table.methods:
            yield f"{method} was not measured"
            continue
        for what in OBJECTIVES:
            own, other = table.column(OURS, what), table.column(method, what)
            verdict = beats(own, other)
            figures = f"{what}, {own.mean():.3f} against {other.mean():.3f}"
            if verdict == "worse":
                yield f"{method} is better in {figures}"
            elif verdict == "inconclusive":
                yield f"{method} is too close to call in {figures} (p = {p_value(own, other):.2g})"


def agreement_lines(tables: Tables) -> Iterator[str]:
    """Say how closely our order of the methods matches the paper's, and who is best in each."""
    for graph, table in tables.items():
        if len(table.methods) < 3:
            continue
        words = []
        for what, (_, published) in OBJECTIVES.items():
            own = {name: float(column.mean()) for name, column in table.objective(what).items()}
            paper = dict(zip(METHODS, published[graph], strict=True))
            first, theirs = max(own, key=own.__getitem__), max(paper, key=paper.__getitem__)
            best = f"{first} is best in both tables"
            if first != theirs:
                best = f"{first} is best here, {theirs} in the paper"
            words.append(f"{what} {agreement(own, paper):.2f}, {best}")
        yield f"  - {TITLES[graph]}: {'; '.join(words)}."


def baselines_table(tables: Tables) -> Iterator[str]:
    """Show what other choices among the pairs of the search would have given."""
    yield f"| graph | {OURS} | {' | '.join(OTHER_CHOICES)} |"
    yield f"|---|---|{'---|' * len(OTHER_CHOICES)}"
    for graph, table in tables.items():
        cells = [
            f"{table.column(name, 'simulatability').mean():.3f}, "
            f"{table.column(name, 'relevance').mean():.3f}"
            if table.has(name)
            else "not measured yet"
            for name in (OURS, *OTHER_CHOICES)
        ]
        yield f"| {TITLES[graph]} | {' | '.join(cells)} |"
    yield ""


def dominance_table(tables: Tables) -> Iterator[str]:
    """Show on what share of nodes GNN-MOExp dominates a method, or is dominated by it."""
    others = [method for method in METHODS if method != OURS]
    yield f"| graph | {' | '.join(others)} |"
    yield f"|---|{'---|' * len(others)}"
    for graph, table in tables.items():
        cells = []
        for method in others:
            if method not in table.methods:
                cells.append("not measured yet")
                continue
            found = _dominance(table, method)
            cells.append(f"{found.dominates:.0%}, {found.dominated:.0%}, {found.equal:.0%}")
        yield f"| {TITLES[graph]} | {' | '.join(cells)} |"
    yield ""


def _dominance(table: GraphTable, method: str) -> Dominance:
    own, other = (
        (table.column(name, "simulatability"), table.column(name, "relevance"))
        for name in (OURS, method)
    )
    return dominance(own, other, scored_twice=method not in SEARCHED)


def dominance_verdict(tables: Tables) -> str:
    """Say whether any method ever dominates ours and, if so, how that can be."""
    somewhere = []
    for graph, table in tables.items():
        for method in table.methods:
            share = _dominance(table, method).dominated
            if share > 0:
                somewhere.append(f"{method} on {TITLES[graph]} ({share:.1%} of nodes)")
    if not somewhere:
        return "No method dominates GNN-MOExp on any node."
    return (
        f"GNN-MOExp is dominated by {'; '.join(somewhere)}. This cannot happen where every "
        "explanation was tried, since the choice lies on the front; it happens where a node has "
        "more explanations than the budget allows and only a sample is searched."
    )


def coverage_line(tables: Tables) -> str:
    """Say on what share of each graph's nodes every explanation was tried."""
    shares = [f"{TITLES[graph]} {table.share_exhaustive():.0%}" for graph, table in tables.items()]
    return ", ".join(shares)
