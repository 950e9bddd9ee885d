"""`groups`: gaps between groups, with their uncertainty, from a bundle alone."""

from pathlib import Path
from typing import Annotated

import typer

from recourse_audit.cli.printing import AsJson, BundleArgument, Full, print_json, say, view, write
from recourse_audit.cli.thresholds import GAP, check_gaps
from recourse_audit.errors import InputError


def groups(
    bundle: BundleArgument,
    full: Full = False,
    as_json: AsJson = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the figures as a table.")
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="gap",
            help="Exit 3 if a gap is shown, 2 if nothing could be tested.",
        ),
    ] = None,
) -> None:
    """Compare the groups of an audit: gaps, their uncertainty, and whose ties would be ended."""
    from recourse_audit.api import Bundle
    from recourse_audit.render.groups_csv import groups_csv
    from recourse_audit.render.i18n import words_of
    from recourse_audit.render.templates import Templates
    from recourse_audit.render.terminal.groups import show_groups, unfinished
    from recourse_audit.render.terminal.progress import steps_on_stderr

    if fail_on not in (None, GAP):
        raise InputError(f"--fail-on {fail_on}: must be {GAP}")
    with steps_on_stderr(shown=True) as steps:
        steps.begin("Comparing groups")
        report = Bundle(bundle).groups()
    words = words_of(Bundle(bundle).settings, "en", Templates())
    if not report.finished:
        say(f"! {bundle}: {unfinished(report)}")
    if csv is not None:
        write(csv, groups_csv(report, words))
    if as_json:
        print_json(report.to_dict())
    else:
        show_groups(view(), report, words=words, full=full)
    if fail_on == GAP:
        check_gaps(bundle, report)
