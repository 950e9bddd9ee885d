"""`demo`: everything, on the lending sample."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from recourse_audit.cli.bundles import SECONDS_FOR_PIECE, make_pages, tell_end
from recourse_audit.cli.printing import messages, now, view
from recourse_audit.errors import PaperError
from recourse_audit.render.terminal.pace import pace
from recourse_audit.render.terminal.subject import show_model, show_subject
from recourse_audit.audit.reporter import explain as explain_subjects
from recourse_audit.audit.loaded import load_audit
from recourse_audit.cli.demo_files import demo_subjects, prepare_demo
from recourse_audit.execute.pipeline import Request, run_audit
from recourse_audit.audit.inspection import inspect_model
from recourse_audit.audit.selection import Selection
from recourse_audit.execute.process_pool import Workers

DEMO_SUBJECTS = 2
DEMO_AUDIT = 24


def demo(
    out: Annotated[Path, typer.Option(help="Where to put the sample.")] = Path(
        "recourse-audit-demo"
    ),
) -> None:
    """Try everything on a made-up lending network."""
    folder = prepare_demo(out)
    found = inspect_model(folder / "audit.toml", None)
    show_model(view(), found.name, found.signature, found.probes, found.sha256)
    audit = load_audit(folder / "audit.toml")
    for report in explain_subjects(audit, demo_subjects(audit, DEMO_SUBJECTS)):
        show_subject(view(), report, ())
    request = Request(
        settings=folder / "audit.toml",
        out=folder / "bundle",
        selection=Selection(sample=DEMO_AUDIT, stratify="origin"),
        fresh=True,
    )
    with pace(messages, time.monotonic) as watcher:
        crew = Workers(os.cpu_count() or 1, timeout=SECONDS_FOR_PIECE, clock=time.monotonic)
        tell_end(request.out, run_audit(request, crew, now=now, watcher=watcher))
    trouble = make_pages(request.out, request.settings, None, None)
    messages.print(
        f"Open {folder / 'bundle' / 'pages' / 'index.html'} in a browser: from there to a report "
        "on each subject, the group summary and the draft letters.\n"
        f"The sample is in {folder}: nodes.csv, edges.csv, the models, audit.toml.\n"
        f"Next: recourse-audit explain {folder / 'audit.toml'} ID [--json]\n"
        f"      recourse-audit run {folder / 'audit.toml'} --out DIR\n"
        f"      recourse-audit verify {folder / 'bundle'}\n"
        f"      recourse-audit inspect {folder / 'gat.onnx'}",
    )
    if trouble:
        raise PaperError(trouble)
