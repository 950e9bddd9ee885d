"""The page's Table III: our figures beside the paper's, what holds and what does not, dominance."""

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
    "In each cell our mean, and the paper's in brackets. ● best, and a paired t-test at 5 % tells "
    "it from every other method; • best, but some other cannot be told from it; ○ runner-up; ▼ "
    "worst; ▽ second-worst. Marks are for our figures."
)
MOST_SIMULATABLE = "best ν"
# What is chosen among the pairs of one search.
SEARCHED = ("Shapley", "MOEB", OURS)
OTHER_PICKS = ("any pair", MOST_SIMULATABLE, "best μ", "balanced of all")
Tables = Mapping[str, GraphTable]


def objective_table(tables: Tables, what: str) -> Iterator[str]:
    """One half of Table III as Markdown."""
    title, published = OBJECTIVES[what]
    yield f"### {title}, the higher the better"
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
    """On which graphs our simulatability is the best, and where it is not, by how much and why."""
    good, sentences = [], []
    for graph, table in tables.items():
        columns = table.objective("simulatability")
        found = marked(columns)
        best = max(found, key=lambda name: float(columns[name].mean()))
        if found[OURS].mark in ("certain", "best"):
            good.append(TITLES[graph] + ("" if found[OURS].mark == "certain" else " (not certain)"))
            continue
        why = ""
        if table.has(MOST_SIMULATABLE):
            seen = float(table.column(MOST_SIMULATABLE, "simulatability").mean())
            why = f" The most simulatable that the search saw have {seen:.3f}: it is the choice by "
            why += "rank sum, not the search, that gives some of it up for relevance."
        sentences.append(
            f"GNN-MOExp is **not** best on {TITLES[graph]}: {best} has {found[best].mean:.3f}, "
            f"GNN-MOExp {found[OURS].mean:.3f} "
            f"(p = {p_value(columns[best], columns[OURS]):.2g}).{why}"
        )
    yield f"- Best simulatability: {', '.join(good) or 'nowhere'}."
    yield from (f"- {sentence}" for sentence in sentences)


def beaten_verdicts(tables: Tables) -> Iterator[str]:
    """Where RND, EMB, GAT, GNNExp and PGExp are beaten in both objectives, and where not."""
    names = ", ".join(BEATEN[:-1]) + f" and {BEATEN[-1]}"
    yield f"- {names} are to be beaten in both objectives:"
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
            elif verdict == "no telling":
                yield f"{method} in {figures}, is too close to tell (p = {p_value(own, other):.2g})"


def agreement_lines(tables: Tables) -> Iterator[str]:
    """How far our order of the methods is the paper's, and who is best in either."""
    for graph, table in tables.items():
        if len(table.methods) < 3:
            continue
        words = []
        for what, (_, published) in OBJECTIVES.items():
            own = {name: float(column.mean()) for name, column in table.objective(what).items()}
            paper = dict(zip(METHODS, published[graph], strict=True))
            first, theirs = max(own, key=own.__getitem__), max(paper, key=paper.__getitem__)
            best = f"{first} is best in both"
            if first != theirs:
                best = f"{first} is best here, {theirs} there"
            words.append(f"{what} {agreement(own, paper):.2f}, {best}")
        yield f"  - {TITLES[graph]}: {'; '.join(words)}."


def baselines_table(tables: Tables) -> Iterator[str]:
    """What other ways of choosing among the search's own pairs would have given."""
    yield f"| graph | {OURS} | {' | '.join(OTHER_PICKS)} |"
    yield f"|---|---|{'---|' * len(OTHER_PICKS)}"
    for graph, table in tables.items():
        cells = [
            f"{table.column(name, 'simulatability').mean():.3f}, "
            f"{table.column(name, 'relevance').mean():.3f}"
            if table.has(name)
            else "not yet"
            for name in (OURS, *OTHER_PICKS)
        ]
        yield f"| {TITLES[graph]} | {' | '.join(cells)} |"
    yield ""


def dominance_table(tables: Tables) -> Iterator[str]:
    """Shares of nodes on which GNN-MOExp dominates a method, and is dominated."""
    others = [method for method in METHODS if method != OURS]
    yield f"| graph | {' | '.join(others)} |"
    yield f"|---|{'---|' * len(others)}"
    for graph, table in tables.items():
        cells = []
        for method in others:
            if method not in table.methods:
                cells.append("not yet")
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
    """Whether anything ever dominates, and why it can where it does."""
    somewhere = []
    for graph, table in tables.items():
        for method in table.methods:
            share = _dominance(table, method).dominated
            if share > 0:
                somewhere.append(f"{method} on {TITLES[graph]} ({share:.1%} of nodes)")
    if not somewhere:
        return "No method dominates GNN-MOExp on any node."
    return (
        f"GNN-MOExp is dominated by {'; '.join(somewhere)}. Where every explanation was tried this "
        "cannot happen, since the choice lies on the front; it happens where a node has more of "
        "them than the budget and a sample stands for all."
    )


def coverage_line(tables: Tables) -> str:
    """For how many nodes of each graph every explanation was tried."""
    shares = [f"{TITLES[graph]} {table.share_exhaustive():.0%}" for graph, table in tables.items()]
    return ", ".join(shares)
