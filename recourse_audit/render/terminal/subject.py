"""Terminal view of the report on one subject in full.

Ids, names and classes are the user's: they are shown as text, whatever they contain. In a narrow
terminal tables become lists, so that no figure is cut off.
"""

from collections.abc import Collection, Sequence
from typing import Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from recourse_audit.records.search import Counterfactual, SearchExtent
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.answers import (
    decided_words,
    direction,
    rule_sentence,
    value_of,
)
from recourse_audit.render.own_data import HEADING, own_data_sentences
from recourse_audit.render.terminal.axis import axis_of
from recourse_audit.render.terminal.carriers import show_carriers
from recourse_audit.render.terminal.counterfactuals import choice_list, choice_table
from recourse_audit.render.terminal.figures import amount, probability, tidy
from recourse_audit.render.terminal.headline import headline
from recourse_audit.render.terminal.ladder import ladder_of
from recourse_audit.render.terminal.lines import width_of
from recourse_audit.render.terminal.recourse import show_recourse, show_what_if
from recourse_audit.render.text import (
    columns,
    coverage_words,
    number,
    plain,
)
from recourse_audit.render.whole_graph import (
    disagreement,
)

BAR = 24
SHORTEST_BAR = 4
CLASSES_SHOWN = 8
WIDTH_OF_TABLE = 140


def show_subject(
    console: Console,
    report: SubjectReport,
    warnings: Sequence[str] = (),
    *,
    prefer: Literal["paper", "whole_graph"] = "paper",
    favourable: Collection[str] = (),
) -> None:
    """One subject: decision, ladder, explanation, counterfactuals, what could change it, caveats.

    `favourable` are the favourable classes, where they are known. `prefer` says what comes first:
    the paper's counterfactuals, or the ties that carry the decision on the whole graph.
    """
    for warning in warnings:
        console.print(Text(f"! {plain(warning)}", style="yellow"))
    console.print(Text(headline(report), style="bold"))
    if decided := decided_words(report):
        words = f"Decided {plain(report.subject.decision)}{tidy(decided)}."
        console.print(Padding(Text(words), (0, 2)))
    if rule := rule_sentence(report.decision):
        console.print(Padding(Text(tidy(rule)), (0, 2)))
    if report.decision.recorded:
        record = f"Decision on record: {plain(report.decision.recorded)}."
        console.print(Padding(Text(record), (0, 2)))
    if report.error:
        console.print(Padding(Text(plain(report.error), style="red"), (0, 2)))
    if report.note:
        console.print(Padding(Text(plain(report.note)), (0, 2)))
    ladder = ladder_of(axis_of(report, favourable), full=True)
    if ladder is not None:
        width = width_of(console)
        console.print()
        for line in ladder.lines(width):
            console.print(line, soft_wrap=True)
    if prefer == "whole_graph":
        show_carriers(console, report)
    if report.search is not None and report.counterfactuals:
        _show_search(console, report, report.search)
    if prefer == "paper":
        show_carriers(console, report)
    if sentences := own_data_sentences(report):
        console.print(Padding(Text(tidy(f"{HEADING}. {' '.join(sentences)}")), (1, 2, 0, 2)))
    if report.recourse is not None:
        show_recourse(console, report, report.recourse)
    if report.what_if is not None:
        show_what_if(console, report.what_if, report.subject)
    for caveat in report.caveats:
        about = "Caution" if caveat.kind == "general" else caveat.about.capitalize()
        caution = Text(f"{about}. {tidy(plain(caveat.text))}", style="italic")
        console.print(Padding(caution, (1, 2, 0, 2)))
    console.print()


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
        console.print(Padding(Text(tidy(plain(against)), style="yellow"), (0, 2, 1, 2)))
    if apart := disagreement(winner, report, "the ties marked ✂"):
        console.print(Padding(Text(tidy(plain(apart)), style="yellow"), (0, 2, 1, 2)))
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
    # Three bars, each after up to seven characters and a space, two spaces between columns.
    free = width - max(len(plain(name)) for name in shown) - 3 * 10
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
    return Text.assemble(f"{probability(part)} ", *bar)


def _extent(report: SubjectReport, search: SearchExtent) -> Text:
    return Text(
        f"{coverage_words(search)} of up to {search.max_nodes} people within "
        f"{number(search.max_hops, 'hop')}; "
        f"{number(search.pairs, 'pair')}, {report.front_size:,} of them on the front; "
        f"{report.queries:,} queries{f'; {report.repeats}' if report.repeats.calls else ''}.",
        style="dim",
    )
