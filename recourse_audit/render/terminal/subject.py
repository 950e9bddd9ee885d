"""Terminal views of a model, of the report on one subject, and of stability.

Ids, names and classes are the user's: they are shown as text, whatever they contain. In a narrow
terminal tables become lists, so that no figure is cut off.
"""

from collections.abc import Sequence
from typing import Literal

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from recourse_audit.records.caveats import StabilityPoint, StabilityReport
from recourse_audit.records.model import ListedOutput, ModelReport, ProbeReport
from recourse_audit.records.report import SubjectReport
from recourse_audit.records.search import Counterfactual, SearchExtent
from recourse_audit.render.agreement import agreement_sentences
from recourse_audit.render.answers import (
    amount,
    decided_words,
    decision_sentence,
    direction,
    rule_sentence,
    value_of,
)
from recourse_audit.render.terminal.carriers import show_carriers
from recourse_audit.render.terminal.counterfactuals import choice_list, choice_table
from recourse_audit.render.terminal.own_data import show_own_data
from recourse_audit.render.terminal.preprocessing import show_preprocessing
from recourse_audit.render.terminal.recourse import show_recourse, show_what_if
from recourse_audit.render.text import (
    PROBE_MEANINGS,
    columns,
    coverage_words,
    number,
    plain,
    sender_degree_words,
    share,
)
from recourse_audit.render.whole_graph import (
    disagreement,
)

BAR = 24
SHORTEST_BAR = 4
CLASSES_SHOWN = 8
WIDTH_OF_TABLE = 140


def show_model(console: Console, name: str, report: ModelReport) -> None:
    """Inputs with their roles, the output, and what the probes found."""
    console.print(Text.assemble((plain(name), "bold"), f"  sha256 {report.sha256[:16]}…"))
    if report.agreement is not None:
        words = " ".join(agreement_sentences(report.agreement))
        style = "yellow" if report.agreement.disagreeing else ""
        console.print(Padding(Text(words, style=style), (1, 2, 0, 2)))
    if report.decision is not None:
        console.print(Padding(Text(decision_sentence(report.decision)), (1, 2, 0, 2)))
    table = columns("input", "type", "shape", "role", "why")
    for port in report.inputs:
        role = Text(port.role, style="green") if port.role else Text("?", style="red")
        table.add_row(plain(port.name), port.dtype, _shape(port.shape), role, plain(port.why))
    output = report.output
    if output is not None:
        table.add_row(
            f"→ {plain(output.name)}",
            output.dtype,
            _shape(output.shape),
            Text(output.kind or "?", style="green"),
            f"{plain(output.why)}; {output.classes} classes" if output.classes else "",
        )
    console.print(Padding(table, (1, 2)))
    if len(report.outputs) > 1 or (report.problem and report.outputs):
        console.print(Padding(_outputs(report.outputs), (0, 2, 1, 2)))
    if report.probes is not None:
        console.print(Padding(_probes(report.probes), (0, 2)))
    if report.preprocessing is not None:
        show_preprocessing(console, report.preprocessing)


def _outputs(outputs: Sequence[ListedOutput]) -> RenderableType:
    """Every output with what its rows are, and the one that is taken with the reason."""
    table = columns("output", "type", "shape", "rows", "columns", "hops", "what the rows hold")
    for port in outputs:
        mark = Text("→ ", style="green") if port.taken else Text("  ")
        words = "; ".join(
            text for text in (port.looks, port.taken and f"taken: {port.taken}") if text
        )
        table.add_row(
            mark + Text(plain(port.name)),
            port.dtype,
            _shape(port.shape),
            "" if port.rows is None else f"per {port.rows}" if port.rows != "other" else "other",
            "" if port.columns is None else str(port.columns),
            "" if port.hops is None else str(port.hops),
            plain(words),
        )
    return table


def _weighs(probes: ProbeReport) -> str:
    """Whether a sender's own number of ties weighs its message."""
    if probes.sender_degree is None:
        return "unknown"
    return "yes" if probes.sender_degree else "no"


def _probes(probes: ProbeReport) -> RenderableType:
    table = columns("", "", "", show_header=False)
    for name, meaning in PROBE_MEANINGS.items():
        failed = name in probes.failed
        mark = Text("NO", style="bold red") if failed else Text("yes", style="green")
        table.add_row(mark, name, meaning)
    reach = "unlimited" if probes.depth is None else str(probes.depth)
    table.add_row(Text(reach, style="cyan"), "depth", "hops within which a node can matter")
    table.add_row(Text(_weighs(probes), style="cyan"), "sender_degree", sender_degree_words(probes))
    parts: list[RenderableType] = [table]
    parts += [Text(f"\n{plain(sentence)}", style="yellow") for sentence in probes.notes.values()]
    return Group(*parts)


def show_subject(
    console: Console,
    report: SubjectReport,
    warnings: Sequence[str] = (),
    *,
    prefer: Literal["paper", "whole_graph"] = "paper",
) -> None:
    """One subject: decision, explanation, counterfactuals, what could change it, caveats.

    `prefer` says what comes first: the paper's counterfactuals, or the ties that carry the decision
    on the whole graph.
    """
    for warning in warnings:
        console.print(Text(f"! {plain(warning)}", style="yellow"))
    console.print(_headline(report))
    if rule := rule_sentence(report.decision):
        console.print(Padding(Text(rule), (0, 2)))
    if report.decision.recorded:
        record = f"Decision on record: {plain(report.decision.recorded)}."
        console.print(Padding(Text(record), (0, 2)))
    if report.error:
        console.print(Padding(Text(plain(report.error), style="red"), (0, 2)))
    if report.note:
        console.print(Padding(Text(plain(report.note)), (0, 2)))
    if prefer == "whole_graph":
        show_carriers(console, report)
    if report.search is not None and report.counterfactuals:
        _show_search(console, report, report.search)
    if prefer == "paper":
        show_carriers(console, report)
    if report.own_data is not None:
        show_own_data(console, report, report.own_data)
    if report.recourse is not None:
        show_recourse(console, report, report.recourse)
    if report.what_if is not None:
        show_what_if(console, report.what_if, report.subject)
    for caveat in report.caveats:
        about = "Caution" if caveat.kind == "general" else caveat.about.capitalize()
        words = Text(f"{about}. {plain(caveat.text)}", style="italic")
        console.print(Padding(words, (1, 2, 0, 2)))
    console.print()


def _headline(report: SubjectReport) -> Text:
    decision = report.subject
    style = "bold green" if decision.favourable else "bold red"
    return Text.assemble(
        (plain(decision.id), "bold"),
        "  decided ",
        (plain(decision.decision) or "nothing", style),
        decided_words(report),
    )


def _show_search(console: Console, report: SubjectReport, search: SearchExtent) -> None:
    extent = Padding(_extent(report, search), (1, 2, 0, 2))
    if report.moves_nothing:
        console.print(extent)
        return
    decision, winner = report.subject, report.counterfactuals[0]
    title = "What the decision rests on" if winner.relevance else "Shown first"
    opening = (
        f"{title}: {len(winner.explanation.nodes)} people, "
        f"{number(len(winner.explanation.edges), 'tie')}; "
        f"✂ marks what the counterfactual removes"
    )
    console.print(Padding(opening, (1, 2, 0, 2)))
    console.print(Padding(_tree(decision.id, winner), (0, 4)))
    bars = _scores if report.decision.scored else _histograms
    console.print(Padding(bars(report, winner, console.width - 8), (1, 4)))
    choices = choice_table if console.width >= WIDTH_OF_TABLE else choice_list
    if against := direction(winner, report, "the ties marked ✂"):
        console.print(Padding(Text(plain(against), style="yellow"), (0, 2, 1, 2)))
    if apart := disagreement(winner, report, "the ties marked ✂"):
        console.print(Padding(Text(plain(apart), style="yellow"), (0, 2, 1, 2)))
    console.print(Padding(choices(report, search), (0, 2)))
    console.print(extent)


def _tree(subject: str, found: Counterfactual) -> Tree:
    """The explanation as a tree, with the subject at its root."""
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


def _scores(report: SubjectReport, found: Counterfactual, _: int) -> Table:
    """The score on the whole graph, the explanation and the counterfactual, and the line."""
    table = columns("", "whole graph", "explanation", "counterfactual", "line")
    values = (value_of(report), value_of(report, found.explanation), value_of(report, found))
    line = report.decision.cut_off
    cells = (*(amount(value) for value in values), "" if line is None else amount(line))
    table.add_row("score", *cells)
    return table


def _histograms(report: SubjectReport, found: Counterfactual, width: int) -> Table:
    """Class probabilities on the whole graph, the explanation and the counterfactual."""
    decision = report.subject
    ordered = sorted(decision.probabilities, key=lambda name: -decision.probabilities[name])
    shown = ordered[:CLASSES_SHOWN]
    # Three bars, each after five digits and a space, with two spaces between columns.
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


def _extent(report: SubjectReport, search: SearchExtent) -> Text:
    return Text(
        f"{coverage_words(search)} of up to {search.max_nodes} people within "
        f"{number(search.max_hops, 'hop')}; "
        f"{number(search.pairs, 'pair')}, {report.front_size:,} of them on the front; "
        f"{report.queries:,} queries{f'; {report.repeats}' if report.repeats.calls else ''}.",
        style="dim",
    )


def _shape(shape: tuple[int | str | None, ...]) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


WHAT = {"links": "new ties to other people", "models": "perturbed copies of the model"}


def show_stability(console: Console, report: StabilityReport) -> None:
    """How far explanations and options moved, for changed and unchanged decisions separately."""
    changed = sum(row.changed for row in report.rows)
    console.print(
        f"{number(report.subjects, 'subject')}, {WHAT[report.kind]}: "
        f"{number(len(report.rows), 'comparison')}, {changed:,} with a different decision."
    )
    if report.unanswered:
        console.print(Text(f"No answer for {plain(', '.join(report.unanswered))}."))
    for title, points in (
        ("Decision changed: explanations should move", report.changed),
        ("Decision unchanged: explanations should stay", report.unchanged),
    ):
        console.print(Padding(title, (1, 2, 0, 2)))
        console.print(Padding(_table(points) if points else "none", (0, 4)))


def _table(points: Sequence[StabilityPoint]) -> Table:
    table = columns("move of the answer", "explanations", "options", "comparisons")
    for point in points:
        options = "none" if point.options is None else f"{point.options:.3f}"
        table.add_row(f"{point.strength:.3f}", f"{point.explanation:.3f}", options, str(point.rows))
    return table
