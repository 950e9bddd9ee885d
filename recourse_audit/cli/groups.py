"""`groups`: how one group fares against another, from a bundle alone."""

from pathlib import Path
from typing import Annotated

import typer

from recourse_audit.cli.printing import AsJson, messages, print_json, view, write
from recourse_audit.errors import FindingError, InputError
from recourse_audit.groups.report import groups_of
from recourse_audit.groups.csv_table import groups_csv
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.terminal.groups import show_groups, unfinished
from recourse_audit.render.text import number, plain
from recourse_audit.render.terminal.progress import progress

GAP = "gap"


def groups(
    bundle: Annotated[Path, typer.Argument(help="The folder that `run` wrote.")],
    as_json: AsJson = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the figures as a table.")
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="gap",
            help="End with 3 if any gap is flagged, with 2 if that cannot be told.",
        ),
    ] = None,
) -> None:
    """Compare the groups of an audit: gaps, how sure they are, and whom the advice cuts off."""
    if fail_on not in (None, GAP):
        raise InputError(f"--fail-on {fail_on}: is not {GAP}, the only word known here")
    with progress(messages) as steps:
        steps.begin("Comparing groups")
        report = groups_of(bundle)
    if not report.finished:
        messages.print(f"! {bundle}: {unfinished(report)}")
    if csv is not None:
        write(csv, groups_csv(report))
    if as_json:
        print_json(report.to_dict())
    else:
        show_groups(view(), report)
    if fail_on == GAP:
        check_gaps(bundle, report)


def check_gaps(bundle: Path, report: GroupReport) -> None:
    """Refuse flagged gaps, and to call clean what is not finished or was not tested."""
    if report.flags:
        raise FindingError(f"{bundle}: {flagged(report)}")
    if not report.finished:
        raise InputError(
            f"{bundle}: --fail-on {GAP}: no gap is flagged so far, but only {report.done:,} of "
            f"{report.total:,} subjects are done; finish the audit with the same `run` command, "
            "then ask again"
        )
    if not report.family:
        raise InputError(f"{bundle}: --fail-on {GAP}: nothing was tested: {_why_untested(report)}")


def _why_untested(report: GroupReport) -> str:
    if report.communities.method == "none":
        return (
            f"communities are not known ({plain(report.communities.reason)}); name a column in "
            "groups.communities"
        )
    return f"no two groups have {report.smallest} people or more (groups.smallest)"


def flagged(report: GroupReport) -> str:
    """How many gaps are flagged, and the first of them; "" if none is."""
    if not report.flags:
        return ""
    first = report.flags[0]
    more = len(report.flags) - 1
    others = f" (and {more} more)" if more else ""
    gaps = number(len(report.flags), "gap")
    return f"{gaps} flagged: {plain(first.table)}: {plain(first.reason)}{others}"
