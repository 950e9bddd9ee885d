"""`groups`: gaps between groups, with their uncertainty, from a bundle alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from recourse_audit.cli.printing import (
    AsJson,
    BundleArgument,
    Full,
    Sarif,
    doing,
    english,
    print_json,
    say,
    view,
    write,
)
from recourse_audit.errors import FindingError, InputError

if TYPE_CHECKING:
    from recourse_audit.records.groups import GroupReport
    from recourse_audit.render.i18n import Words

GAP = "gap"


def groups(
    bundle: BundleArgument,
    full: Full = False,
    as_json: AsJson = False,
    csv: Annotated[
        Path | None, Option(metavar="FILE", help="Write the figures as a table.")
    ] = None,
    fail_on: Annotated[
        str | None,
        Option(metavar="gap", help="Exit 3 if a gap is shown, 2 if nothing could be tested."),
    ] = None,
    sarif: Sarif = None,
) -> None:
    """Compare the groups of an audit: gaps, with uncertainty."""
    from recourse_audit.api import Bundle
    from recourse_audit.bundle.layout import GROUP_REPORT
    from recourse_audit.render.groups_csv import groups_csv
    from recourse_audit.render.sarif import find_gaps, sarif_log
    from recourse_audit.render.terminal import show_groups, unfinished

    if fail_on not in (None, GAP):
        raise InputError(f"--fail-on {fail_on}: must be {GAP}")
    check_sarif(sarif, fail_on)
    with doing("Comparing groups"):
        report = Bundle(bundle).groups()
    words = english(Bundle(bundle).settings)
    if not report.finished:
        say(f"! {bundle}: {unfinished(report)}")
    if csv is not None:
        write(csv, groups_csv(report, words))
    if as_json:
        print_json(report.to_dict())
    else:
        show_groups(view(), report, words=words, full=full)
    if fail_on == GAP:
        problem = find_problem(bundle, report)
        if sarif is not None:
            write(sarif, sarif_log([*find_gaps(report, words)], bundle / GROUP_REPORT, problem))
        if report.flags:
            raise FindingError(f"{bundle}: {flags_sentence(report, words)}")
        if problem:
            raise InputError(problem)


def check_sarif(sarif: Path | None, fail_on: object) -> None:
    """Refuse to write findings when nothing counts as one."""
    if sarif is not None and not fail_on:
        raise InputError("--sarif: needs --fail-on, which says what counts as a finding")


def find_problem(bundle: Path, report: "GroupReport") -> str:
    """Why a report without a gap that is shown is not clean: unfinished, or nothing tested."""
    if report.flags:
        return ""
    if not report.finished:
        return (
            f"{bundle}: --fail-on {GAP}: no gap is shown so far, but only {report.done:,} of "
            f"{report.total:,} subjects are done; rerun the same `run` command to finish the "
            "audit, then ask again"
        )
    if not report.tests:
        return f"{bundle}: --fail-on {GAP}: nothing was tested: {_why_untested(report)}"
    return ""


def _why_untested(report: "GroupReport") -> str:
    from recourse_audit.render.i18n import Words

    for table in report.tables:
        for comparison in table.comparisons:
            if comparison.untested is not None:
                return Words().say(f"report.untested.{comparison.untested}")
    return f"no two groups have {report.smallest} people or more (groups.smallest)"


def flags_sentence(report: "GroupReport", words: "Words") -> str:
    """How many gaps are shown, and the one to lead with; "" if none is."""
    from recourse_audit.render.groups import GroupPage
    from recourse_audit.render.text import number

    if not report.flags:
        return ""
    more = len(report.flags) - 1
    others = f" (and {more} more)" if more else ""
    gaps = number(len(report.flags), "gap")
    return f"{gaps} shown: {GroupPage(report, words).say('headline')}{others}"
