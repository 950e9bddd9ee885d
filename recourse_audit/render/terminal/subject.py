"""What a person sees in a terminal: the model's ports and probes, and one subject's explanation.

Ids, names and classes are the user's: they are shown as text, whatever they hold. In a narrow
terminal tables become lists, so that no figure is cut off.
"""

from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from recourse_audit.model.signature import Signature
from recourse_audit.records.probes import ProbeReport
from recourse_audit.records.report import Decision, SubjectReport
from recourse_audit.records.search import Counterfactual, Coverage, SearchResult, Tie
from recourse_audit.render.effects import HELD_BACK, direction, effect, held_back
from recourse_audit.render.text import columns, number, plain, share
from recourse_audit.render.terminal.recourse import show_recourse, show_what_if

BAR = 24
SHORTEST_BAR = 4
CLASSES_SHOWN = 8
WIDTH_OF_TABLE = 100
CHOICES = "Diverse counterfactuals"
PROBE_MEANINGS = {
    "deterministic": "the same question gets the same answer",
    "node_order": "the order of nodes does not matter",
    "tie_order": "the order of ties does not matter",
    "ties_matter": "answers move when ties do",
    "packing": "a graph's answer is untouched by what is asked beside it",
}


def show_model(
    console: Console, name: str, signature: Signature, probes: ProbeReport | None, sha256: str
) -> None:
    """Inputs with their roles, the output, and what the probes found."""
    console.print(Text.assemble((plain(name), "bold"), f"  sha256 {sha256[:16]}…"))
    table = columns("input", "type", "shape", "role", "why")
    for port in signature.inputs:
        role = Text(port.role, style="green") if port.role else Text("?", style="red")
        table.add_row(plain(port.name), port.dtype, _shape(port.shape), role, port.why)
    output = signature.output
    table.add_row(
        f"→ {plain(output.name)}",
        output.dtype,
        _shape(output.shape),
        Text(output.kind or "?", style="green"),
        f"{output.why}; {output.classes} classes" if output.classes else "",
    )
    console.print(Padding(table, (1, 2)))
    if probes is not None:
        console.print(Padding(_probes(probes), (0, 2)))


def _probes(probes: ProbeReport) -> RenderableType:
    table = columns("", "", "", show_header=False)
    for name, meaning in PROBE_MEANINGS.items():
        good = getattr(probes, name)
        mark = Text("yes", style="green") if good else Text("NO", style="bold red")
        table.add_row(mark, name, meaning)
    reach = "without limit" if probes.depth is None else str(probes.depth)
    table.add_row(Text(reach, style="cyan"), "depth", "hops from which a node reaches a decision")
    parts: list[RenderableType] = [table]
    parts += [Text(f"\n{sentence}", style="yellow") for sentence in probes.notes.values()]
    return Group(*parts)


def show_subject(console: Console, report: SubjectReport, warnings: Sequence[str]) -> None:
    """One subject: decision, explanation, counterfactuals, what could change it, the caution."""
    for warning in warnings:
        console.print(Text(f"! {warning}", style="yellow"))
    console.print(_headline(report.decision))
    if report.error:
        console.print(Padding(Text(plain(report.error), style="red"), (0, 2)))
    if report.note:
        console.print(Padding(report.note, (0, 2)))
    if report.search is not None and report.search.counterfactuals:
        _show_search(console, report.decision, report.search)
    if report.recourse is not None:
        show_recourse(console, report.decision, report.recourse)
    if report.what_if is not None:
        show_what_if(console, report.decision, report.what_if)
    for caveat in report.caveats:
        about = "Caution" if caveat.kind == "general" else caveat.about.capitalize()
        words = Text(f"{about}. {plain(caveat.text)}", style="italic")
        console.print(Padding(words, (1, 2, 0, 2)))
    console.print()


def _headline(decision: Decision) -> Text:
    style = "bold green" if decision.favourable else "bold red"
    chance = decision.probabilities.get(decision.decision)
    return Text.assemble(
        (plain(decision.id), "bold"),
        "  decided ",
        (plain(decision.decision) or "nothing", style),
        f" with probability {share(chance)}" if chance is not None else "",
    )


def _show_search(console: Console, decision: Decision, search: SearchResult) -> None:
    if search.moves_nothing:
        console.print(Padding(_extent(search), (1, 2, 0, 2)))
        return
    winner = search.counterfactuals[0]
    title = "What carried it" if winner.relevance else "Shown first"
    carried = (
        f"{title}: {len(winner.explanation.nodes)} people, "
        f"{number(len(winner.explanation.edges), 'tie')}; "
        f"✂ marks what the counterfactual removes"
    )
    console.print(Padding(carried, (1, 2, 0, 2)))
    console.print(Padding(_tree(decision.id, winner), (0, 4)))
    console.print(Padding(_histograms(decision, winner, console.width - 8), (1, 4)))
    choices = _choices if console.width >= WIDTH_OF_TABLE else _listed_choices
    if against := direction(winner, decision.decision, "the ties marked ✂"):
        console.print(Padding(Text(plain(against), style="yellow"), (0, 2, 1, 2)))
    console.print(Padding(choices(search, decision.decision), (0, 2)))
    console.print(Padding(_extent(search), (1, 2, 0, 2)))


def _tree(subject: str, found: Counterfactual) -> Tree:
    """The explanation as a tree that hangs on the subject."""
    removed = set(found.removed)
    root = Tree(Text(plain(subject), style="bold"))
    branches = {subject: root}
    waiting = list(found.explanation.edges)
    while waiting:
        tie = next(tie for tie in waiting if tie[0] in branches or tie[1] in branches)
        waiting.remove(tie)
        near, far = tie if tie[0] in branches else (tie[1], tie[0])
        label = Text(plain(far))
        if tie in removed:
            label = Text.assemble(("✂ ", "red"), (plain(far), "strike"))
        branches[far] = branches[near].add(label)
    return root


def _histograms(decision: Decision, found: Counterfactual, width: int) -> Table:
    """Class probabilities on the whole graph, the explanation and the counterfactual."""
    ordered = sorted(decision.probabilities, key=lambda name: -decision.probabilities[name])
    shown = ordered[:CLASSES_SHOWN]
    # Three bars, each behind five digits and a space, and two spaces between columns.
    free = width - max(len(plain(name)) for name in shown) - 3 * 8
    bar = min(BAR, max(SHORTEST_BAR, free // 3))
    table = columns("class", "whole graph", "explanation", "counterfactual")
    for name in shown:
        table.add_row(
            plain(name),
            _bar(decision.probabilities[name], bar),
            _bar(found.explanation.probabilities[name], bar),
            _bar(found.probabilities[name], bar),
        )
    if len(ordered) > CLASSES_SHOWN:
        table.add_row(Text(f"… {len(ordered) - CLASSES_SHOWN} more classes", style="dim"))
    return table


def _bar(part: float, size: int) -> Text:
    filled = round(part * size)
    bar = (("█" * filled, "cyan"), ("░" * (size - filled), "dim"))
    return Text.assemble(f"{share(part)} ", *bar)


def _choices(search: SearchResult, decision: str) -> Table:
    table = columns(
        "",
        "explanation",
        "removed",
        "simulatability ν",
        "relevance |μ|",
        f"effect on {plain(decision)}",
        "ranks",
        "layer",
        "dominates",
        title=CHOICES,
    )
    for place, found in enumerate(search.counterfactuals, start=1):
        beaten = _beaten(found)
        table.add_row(
            str(place),
            "\n".join(_ties(found.explanation.edges)),
            "\n".join(_ties(found.removed)),
            f"{found.simulatability:.6f}",
            f"{found.relevance:.6f}",
            _effect(found, decision, "\n"),
            f"{found.ranks.simulatability} + {found.ranks.relevance}",
            str(found.layer),
            f"{found.dominates:,} of {search.pairs:,}" + (f"\n{beaten}" if beaten else ""),
        )
    return table


def _listed_choices(search: SearchResult, decision: str) -> Table:
    """The same choices for a narrow terminal: a paragraph each."""
    table = columns("", "", show_header=False, title=CHOICES)
    for place, found in enumerate(search.counterfactuals, start=1):
        lines = [
            f"explanation: {', '.join(_ties(found.explanation.edges))}",
            f"removed: {', '.join(_ties(found.removed))}",
            f"simulatability ν {found.simulatability:.6f}",
            f"relevance |μ| {found.relevance:.6f}",
            f"effect on {plain(decision)}: {_effect(found, decision, ', ')}",
            f"ranks {found.ranks.simulatability} + {found.ranks.relevance}, layer {found.layer}",
            f"dominates {found.dominates:,} of {search.pairs:,} {_beaten(found)}".rstrip(),
        ]
        table.add_row(str(place), "\n".join(lines))
    return table


def _effect(found: Counterfactual, decision: str, between: str) -> str:
    """The effect of a removal; with a word where it raises the decision's probability."""
    against = found.relevance and held_back(found, decision)
    return effect(found, decision) + (f"{between}({HELD_BACK})" if against else "")


def _beaten(found: Counterfactual) -> str:
    names = [name for name, beats in found.dominates_picks.items() if beats]
    return f"and the picks by {', '.join(names)}" if names else ""


def _extent(search: SearchResult) -> Text:
    reach = looked(search.coverage)
    return Text(
        f"{reach} of at most {search.max_nodes} people within "
        f"{number(search.max_hops, 'hop')}; "
        f"{search.pairs:,} pairs, {search.front_size:,} of them on the front; "
        f"{search.queries:,} queries.",
        style="dim",
    )


def looked(coverage: Coverage) -> str:
    """How far a search looked, as the beginning of a sentence."""
    if coverage.kind == "exhaustive":
        return f"All {coverage.total:,} subgraphs"
    about = "about " if coverage.total_is_estimate else ""
    return (
        f"A uniform sample of {coverage.drawn:,} of {about}{coverage.total:,} subgraphs (with "
        f"{coverage.confidence:.0%} confidence the first choice is dominated through at most "
        f"{coverage.bound:.2%} of them)"
    )


def _ties(ties: Iterable[Tie]) -> list[str]:
    return [f"{plain(a)} - {plain(b)}" for a, b in ties]


def _shape(shape: tuple[int | str | None, ...]) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"
