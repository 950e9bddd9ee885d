"""`demo`: everything, on the lending sample, copied to where a newcomer can look at it."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from recourse_audit.cli.printing import english, resumable, say, view
from recourse_audit.cli.run import make_pages, say_results
from recourse_audit.errors import InputError, PaperError

if TYPE_CHECKING:
    from recourse_audit.audit.load import LoadedAudit

DEMO_SUBJECTS = 2
# How many of the people refused are audited: all of them.
DEMO_AUDIT: int | None = None
PACKAGE = Path(__file__).parents[1]
FEWEST_TIES = 3
MARK = "DEMO.txt"
MARK_TEXT = (
    "`recourse-audit demo` made this folder, and replaces its files when it runs again. Copy what "
    "you want to keep.\n"
)


def demo(
    out: Annotated[Path, Option(help="Where to put the sample.")] = Path("recourse-audit-demo"),
) -> None:
    """Try everything on a made-up lending network."""
    from recourse_audit.api import Audit
    from recourse_audit.render.terminal import show_model, show_subject

    _copy_sample(out)
    settings, folder = out / "audit.toml", out / "bundle"
    audit = Audit.from_toml(settings, progress=True)
    inspection = audit.inspect()
    show_model(view(), inspection.name, inspection.report)
    say("")
    given = audit.loaded.settings
    words = english(given)
    for report in audit.explain_many(_pick_subjects(audit.loaded, DEMO_SUBJECTS)):
        show_subject(view(), report, favourable=given.decision.favourable, words=words)
    with resumable(folder):
        bundle = audit.run(folder, sample=DEMO_AUDIT, fresh=True, progress=True, pages_follow=True)
    say_results(bundle)
    trouble = make_pages(bundle, settings, None, None)
    say(
        f"Open {folder / 'pages' / 'index.html'} in a browser. It leads to a report on each "
        "subject, the group report and the draft letters.\n"
        f"The sample is in {out}: nodes.csv, edges.csv, the models, audit.toml.\n"
        f"Next: recourse-audit explain {settings} ID [--json]\n"
        f"      recourse-audit run {settings} --out DIR\n"
        f"      recourse-audit verify {folder}\n"
        f"      recourse-audit inspect {out / 'gat.onnx'}",
    )
    if trouble:
        raise PaperError(trouble)


def _copy_sample(out: Path) -> None:
    """Copy the lending sample to `out`, replacing what an earlier demo left there."""
    from recourse_audit.settings.section import exists, is_file, is_folder

    # Inside an installed package, or beside it in a checkout.
    folders = (PACKAGE / "_data" / "sample_models", PACKAGE.parent / "sample_models")
    samples = [folder for folder in folders if (folder / "lending" / "audit.toml").is_file()]
    if not samples:
        raise InputError("the sample models are not part of this installation; install it again")
    if exists(out) and not is_file(out / MARK) and (not is_folder(out) or any(out.iterdir())):
        raise InputError(f"{out}: already exists and is not an earlier demo; choose another --out")
    try:
        shutil.copytree(samples[0] / "lending", out, dirs_exist_ok=True)
        (out / MARK).write_text(MARK_TEXT, encoding="utf-8")
    except OSError as error:  # that of several files has a list where others have a reason
        reason = error.strerror or "its files are protected"
        raise InputError(f"{out}: cannot be written ({reason}); choose another --out") from None


def _pick_subjects(audit: "LoadedAudit", count: int) -> list[str]:
    """The first people the model refused who have a few ties."""
    import numpy as np

    from recourse_audit.audit.large_graphs import whole_answers

    everyone = np.arange(audit.graph.node_count)
    answers = whole_answers(audit, everyone)
    decisions = audit.rule.over(answers)
    refused = decisions.usable(answers) & ~decisions.favourable(answers, everyone)
    tied = np.diff(audit.graph.starts) >= FEWEST_TIES
    return [str(audit.graph.ids[node]) for node in np.flatnonzero(refused & tied)[:count]]
