"""`demo`: everything, on a sample, copied to where a newcomer can look at it."""

import shutil
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from recourse_audit.cli.printing import english, resumable, say, view
from recourse_audit.cli.run import make_pages, say_results
from recourse_audit.errors import InputError, PaperError

DEMO_SUBJECTS = 2
# How many of the people refused are audited: all of them.
DEMO_AUDIT: int | None = None
# The samples, and for each what else there is to look at.
SAMPLES = {"lending": "gat.onnx", "hiring": "rgcn.toml"}
FOLDER = "recourse-audit-demo"
MARK = "DEMO.txt"
MARK_TEXT = (
    "`recourse-audit demo{}` made this folder, and replaces its files when it runs again. Copy "
    "what you want to keep.\n"
)


def demo(
    sample: Annotated[
        Literal["lending", "hiring"], Option(help="hiring has people, employers and schools.")
    ] = "lending",
    out: Annotated[
        Path | None, Option(help=f"Where to put the sample; {FOLDER} or {FOLDER}-hiring if absent.")
    ] = None,
) -> None:
    """Try everything on a made-up network: of lending, or of people, employers and schools."""
    from recourse_audit.api import Audit
    from recourse_audit.render.decision_axis import facts_of
    from recourse_audit.render.terminal import show_model, show_subject

    out = out or Path(FOLDER if sample == "lending" else f"{FOLDER}-{sample}")
    _copy_sample(sample, out)
    settings, folder = out / "audit.toml", out / "bundle"
    audit = Audit.from_toml(settings, progress=True)
    inspection = audit.inspect()
    show_model(view(), inspection.name, inspection.report)
    say("")
    given = audit.loaded.settings
    words, facts = english(given), facts_of(given)
    for report in audit.explain_many(inspection.refused[:DEMO_SUBJECTS]):
        show_subject(view(), report, facts=facts, words=words)
    with resumable(folder):
        bundle = audit.run(folder, sample=DEMO_AUDIT, fresh=True, progress=True, pages_follow=True)
    say_results(bundle)
    trouble = make_pages(bundle, settings, None, None)
    say(
        f"Open {folder / 'pages' / 'index.html'} in a browser. It leads to a report on each "
        "subject, the group report and the draft letters.\n"
        f"The sample is in {out}: its tables, the models, audit.toml.\n"
        f"Next: recourse-audit explain {settings} ID [--json]\n"
        f"      recourse-audit run {settings} --out DIR\n"
        f"      recourse-audit verify {folder}\n"
        f"      recourse-audit inspect {out / SAMPLES[sample]}"
    )
    if trouble:
        raise PaperError(trouble)


def _copy_sample(sample: str, out: Path) -> None:
    """Copy a sample to `out`, replacing what an earlier demo of it left there."""
    from recourse_audit.settings.section import exists, is_file, is_folder
    from recourse_audit.testing import find_sample

    folder = find_sample(sample)
    mark = MARK_TEXT.format("" if sample == "lending" else f" --sample {sample}")
    if is_file(out / MARK):
        earlier = (out / MARK).read_text(encoding="utf-8", errors="replace") == mark
    else:
        earlier = not exists(out) or (is_folder(out) and not any(out.iterdir()))
    if not earlier:
        raise InputError(
            f"{out}: already exists and is not an earlier demo of {sample}; choose another --out"
        )
    try:
        shutil.copytree(folder, out, dirs_exist_ok=True)
        (out / MARK).write_text(mark, encoding="utf-8")
    except OSError as error:  # that of several files has a list where others have a reason
        reason = error.strerror or "its files are protected"
        raise InputError(f"{out}: cannot be written ({reason}); choose another --out") from None
