"""The lending sample, copied to where a newcomer can look at it, and whom to look at first."""

import shutil
from pathlib import Path

import numpy as np

from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit
from recourse_audit.errors import InputError
from recourse_audit.settings.section import exists, is_file, is_folder

PACKAGE = Path(__file__).parents[1]
FEWEST_TIES = 3
MARK = "DEMO.txt"
MARK_TEXT = (
    "`recourse-audit demo` made this folder, and replaces its files when it runs again. Copy what "
    "you want to keep.\n"
)


def sample_folder() -> Path:
    """Where the samples are: inside an installed package, or beside it in a checkout."""
    for folder in (PACKAGE / "_data" / "sample_models", PACKAGE.parent / "sample_models"):
        if (folder / "lending" / "audit.toml").is_file():
            return folder
    raise InputError("the sample models are not part of this installation; install it again")


def prepare_demo(out: Path) -> Path:
    """Copy the lending sample to `out`, replacing what an earlier demo left there."""
    if exists(out) and not is_file(out / MARK) and (not is_folder(out) or any(out.iterdir())):
        raise InputError(f"{out}: already exists and is not an earlier demo; choose another --out")
    try:
        shutil.copytree(sample_folder() / "lending", out, dirs_exist_ok=True)
        (out / MARK).write_text(MARK_TEXT, encoding="utf-8")
    except OSError as error:  # that of several files has a list where others have a reason
        reason = error.strerror or "its files are protected"
        raise InputError(f"{out}: cannot be written ({reason}); choose another --out") from None
    return out


def demo_subjects(audit: LoadedAudit, count: int) -> list[str]:
    """The first people the model refused who have a few ties."""
    answers = whole_answers(audit, np.arange(audit.graph.node_count))
    decisions = audit.rule.over(answers)
    refused = decisions.usable(answers) & ~decisions.favourable(answers, np.arange(len(answers)))
    tied = np.diff(audit.graph.starts) >= FEWEST_TIES
    return [str(audit.graph.ids[node]) for node in np.flatnonzero(refused & tied)[:count]]
