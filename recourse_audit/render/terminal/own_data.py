"""Terminal view of own data and surroundings: one paragraph, and a table of the answers."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from recourse_audit.records.own_data import OwnData
from recourse_audit.records.report import SubjectReport
from recourse_audit.render.own_data import (
    HEADING,
    answer_rows,
    own_data_sentences,
    watched_value,
)
from recourse_audit.render.terminal.figures import tidy
from recourse_audit.render.text import columns


def show_own_data(console: Console, report: SubjectReport, found: OwnData) -> None:
    """The answers without ties and with data and places exchanged, and what they say."""
    sentences = own_data_sentences(report)
    if not sentences:
        return
    console.print(Padding(Text(tidy(f"{HEADING}. {' '.join(sentences)}")), (1, 2, 0, 2)))
    if found.cells is not None:
        table = columns("", watched_value(report), "favourable")
        for row in answer_rows(report, found):
            table.add_row(row.name, tidy(row.words), tidy(row.favourable))
        console.print(Padding(table, (0, 4)))
