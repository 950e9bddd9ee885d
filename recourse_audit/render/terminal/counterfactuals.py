"""Terminal view of the counterfactuals that are shown: a table, or a list where it is too wide."""

from collections.abc import Iterable

from rich.table import Table

from recourse_audit.records.search import Counterfactual, SearchExtent, Tie
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.answers import effect, held_back
from recourse_audit.render.terminal.figures import minus, tidy
from recourse_audit.render.text import HELD_BACK, beaten_baselines, columns, plain
from recourse_audit.render.whole_graph import NOT_ASKED, then_decided, whole_effect

CHOICES = "Diverse counterfactuals"


def choice_table(report: SubjectReport, search: SearchExtent) -> Table:
    """Each counterfactual with its figures, one per row."""
    table = columns(
        "",
        "explanation",
        "removed",
        "simulatability ν",
        "relevance |μ|",
        "on the whole graph",
        f"{_affected(report)} in the explanation",
        "ranks",
        "layer",
        "dominates",
        title=CHOICES,
    )
    for place, found in enumerate(report.counterfactuals, start=1):
        beaten = plain(beaten_baselines(found))
        table.add_row(
            str(place),
            "\n".join(_ties(found.explanation.edges)),
            "\n".join(_ties(found.removed)),
            minus(f"{found.simulatability:.6f}"),
            f"{found.relevance:.6f}",
            _on_whole_graph(found, report, "\n"),
            _effect(found, report, "\n"),
            f"{found.ranks.simulatability} + {found.ranks.relevance}",
            str(found.layer),
            f"{found.dominates:,} of {search.pairs:,}" + (f"\n{beaten}" if beaten else ""),
        )
    return table


def choice_list(report: SubjectReport, search: SearchExtent) -> Table:
    """The same choices for a narrow terminal, one paragraph each."""
    table = columns("", "", show_header=False, title=CHOICES)
    for place, found in enumerate(report.counterfactuals, start=1):
        beaten = plain(beaten_baselines(found))
        lines = [
            f"explanation: {', '.join(_ties(found.explanation.edges))}",
            f"removed: {', '.join(_ties(found.removed))}",
            f"simulatability ν {minus(f'{found.simulatability:.6f}')}",
            f"relevance |μ| {found.relevance:.6f}",
            f"on the whole graph: {_on_whole_graph(found, report, ', ')}",
            f"in the explanation: {_affected(report)} {_effect(found, report, ', ')}",
            f"ranks {found.ranks.simulatability} + {found.ranks.relevance}, layer {found.layer}",
            f"dominates {found.dominates:,} of {search.pairs:,} {beaten}".rstrip(),
        ]
        table.add_row(str(place), "\n".join(lines))
    return table


def _affected(report: SubjectReport) -> str:
    return "the score" if report.decision.scored else plain(report.subject.decision)


def _effect(found: Counterfactual, report: SubjectReport, between: str) -> str:
    """The effect of a removal, with a remark where it speaks for the decision even more."""
    against = found.relevance and held_back(found, report)
    return tidy(effect(found, report)) + (f"{between}({HELD_BACK})" if against else "")


def _on_whole_graph(found: Counterfactual, report: SubjectReport, between: str) -> str:
    """What removing the same ties does on the whole graph."""
    there = found.whole_graph
    if there is None:
        return NOT_ASKED
    return f"{tidy(whole_effect(report, there))}{between}{then_decided(there)}"


def _ties(ties: Iterable[Tie]) -> list[str]:
    return [f"{plain(a)} - {plain(b)}" for a, b in ties]
