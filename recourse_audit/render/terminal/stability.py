"""Terminal view of stability: how far findings moved, by whether the decision changed."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recourse_audit.records.subject import StabilityPoint, StabilityReport
from recourse_audit.render.text import columns, number, plain

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
