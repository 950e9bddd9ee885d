"""Terminal view of the ties that carry a decision on the whole graph."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.answers import watched
from recourse_audit.render.terminal.figures import tidy
from recourse_audit.render.text import columns, plain
from recourse_audit.render.whole_graph import (
    CARRIERS,
    carriers_coverage,
    carriers_sentence,
    per_tie,
    then_decided,
    whole_effect,
)


def show_carriers(console: Console, report: SubjectReport) -> None:
    """The front of size against effect, and how far the search for it went; nothing without one."""
    found = report.carriers
    if found is None:
        return
    words = tidy(f"{CARRIERS}. {carriers_sentence(report, found)}")
    console.print(Padding(Text(words), (1, 2, 0, 2)))
    if found.front:
        table = columns("ties", "removed", f"effect on {watched(report)}", "per tie", "decision")
        for one in found.front:
            table.add_row(
                str(one.size),
                "\n".join(f"{plain(a)} - {plain(b)}" for a, b in one.removed),
                tidy(whole_effect(report, one)),
                tidy(per_tie(report, one)),
                then_decided(one),
            )
        console.print(Padding(table, (1, 4)))
    console.print(Padding(Text(carriers_coverage(found), style="dim"), (0, 2)))
