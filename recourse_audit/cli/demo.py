"""`demo`: everything, on the lending sample."""

from pathlib import Path
from typing import Annotated

import typer

from recourse_audit.cli.printing import resumable, say, view
from recourse_audit.cli.run import make_pages, say_results
from recourse_audit.errors import PaperError

DEMO_SUBJECTS = 2
# How many of the people refused are audited: all of them.
DEMO_AUDIT: int | None = None


def demo(
    out: Annotated[Path, typer.Option(help="Where to put the sample.")] = Path(
        "recourse-audit-demo"
    ),
) -> None:
    """Try everything on a made-up lending network."""
    from recourse_audit.api import Audit
    from recourse_audit.cli.demo_files import demo_subjects, prepare_demo
    from recourse_audit.render.i18n import words_of
    from recourse_audit.render.templates import Templates
    from recourse_audit.render.terminal.model import show_model
    from recourse_audit.render.terminal.subject import show_subject

    folder = prepare_demo(out)
    settings = folder / "audit.toml"
    audit = Audit.from_toml(settings, progress=True)
    found = audit.inspect()
    show_model(view(), found.name, found.report)
    say("")
    given = audit.loaded.settings
    words = words_of(given, "en", Templates())
    for report in audit.explain_many(demo_subjects(audit.loaded, DEMO_SUBJECTS)):
        show_subject(view(), report, favourable=given.decision.favourable, words=words)
    with resumable(folder / "bundle"):
        bundle = audit.run(
            folder / "bundle", sample=DEMO_AUDIT, fresh=True, progress=True, pages_follow=True
        )
    say_results(bundle)
    trouble = make_pages(bundle, settings, None, None)
    say(
        f"Open {bundle.folder / 'pages' / 'index.html'} in a browser. It leads to a report on each "
        "subject, the group report and the draft letters.\n"
        f"The sample is in {folder}: nodes.csv, edges.csv, the models, audit.toml.\n"
        f"Next: recourse-audit explain {settings} ID [--json]\n"
        f"      recourse-audit run {settings} --out DIR\n"
        f"      recourse-audit verify {bundle.folder}\n"
        f"      recourse-audit inspect {folder / 'gat.onnx'}",
    )
    if trouble:
        raise PaperError(trouble)
