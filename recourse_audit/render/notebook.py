"""What a notebook shows of a record: the view of the terminal, as HTML."""

from collections.abc import Callable
from html import escape
from io import StringIO
from typing import TYPE_CHECKING

from recourse_audit.records import Record
from recourse_audit.records.groups import GroupReport
from recourse_audit.records.model import ModelReport
from recourse_audit.records.recourse import WhatIf
from recourse_audit.records.subject import StabilityReport, SubjectReport
from recourse_audit.render.text import plain

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
MORE = "to_dict()"  # where the rest is
FRAME = '<pre style="font-family:monospace;line-height:1.3;white-space:pre">{code}</pre>'


def html_of(record: Record) -> str:
    """The record as HTML; a record that the terminal has no view of is shown by its repr.

    Whatever the record contains is text in the HTML, never markup.
    """
    show = _view_of(record)
    if show is None:
        return f"<pre>{escape(repr(record))}</pre>"
    from rich.console import Console

    console = Console(
        record=True, file=StringIO(), width=WIDTH, markup=False, highlight=False, emoji=False
    )
    show(console)
    return console.export_html(inline_styles=True, code_format=FRAME)


def _view_of(record: Record) -> "Callable[[Console], None] | None":
    """The terminal view of a record, if it has one; imported here, since few records are shown."""
    match record:
        case SubjectReport():
            from recourse_audit.render.terminal.subject import show_subject

            warnings = tuple(record.probes.notes.values())
            return lambda console: show_subject(console, record, warnings, more=MORE)
        case WhatIf():
            from recourse_audit.render.terminal.subject import show_what_if

            return lambda console: show_what_if(console, record)
        case StabilityReport():
            from recourse_audit.render.terminal.model import show_stability

            return lambda console: show_stability(console, record)
        case GroupReport():
            from recourse_audit.render.terminal.groups import show_groups

            return lambda console: show_groups(console, record, more=MORE)
        case ModelReport():
            return lambda console: _show_model(console, record)
        case _:
            return None


def _show_model(console: "Console", record: ModelReport) -> None:
    from recourse_audit.render.terminal.model import show_model

    show_model(console, "Model", record, more=MORE)
    if record.problem:
        console.print(plain(record.problem))
