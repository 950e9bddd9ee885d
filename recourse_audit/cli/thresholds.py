"""What makes a command end with exit code 3, if the user asks for that with `--fail-on`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recourse_audit.errors import FindingError, InputError

if TYPE_CHECKING:
    from recourse_audit.records.groups import GroupReport
    from recourse_audit.records.recourse import RecourseStatus

GAP = "gap"
STATUS: "dict[str, RecourseStatus]" = {
    "errors": "error",
    "infeasible": "certified_infeasible",
    "not-found": "not_found_within_budget",
}


def read_thresholds(texts: Sequence[str]) -> dict[str, float]:
    """Shares by status: `errors` alone is any at all, `infeasible=0.2` more than that share."""
    limits = {}
    for text in texts:
        name, given, share = text.partition("=")
        try:
            limit = float(share) if given else 0.0
        except ValueError:
            limit = -1.0
        if name not in STATUS or not 0 <= limit <= 1:
            raise InputError(
                f"--fail-on {text}: must be {', '.join(STATUS)}, alone or with a share from 0 to "
                "1, as in infeasible=0.2; or gap, which takes no share"
            )
        limits[name] = limit
    return limits


def find_exceeded(statuses: "dict[RecourseStatus, int]", limits: dict[str, float]) -> Iterator[str]:
    """One sentence for each threshold that is exceeded.

    Shares are of the subjects who need options: those decided on favourably do not count.
    """
    from recourse_audit.render.i18n import status_name

    needy = sum(statuses.values()) - statuses["already_favourable"]
    for name, limit in limits.items():
        count = statuses[STATUS[name]]
        if count > limit * needy:
            words = status_name(STATUS[name])
            yield (
                f"{name} ({words}): {count:,} of {needy:,} subjects, more than a share of {limit:g}"
            )


def check_gaps(bundle: Path, report: "GroupReport") -> None:
    """Fail on gaps that are shown; refuse to call clean what is unfinished or was not tested."""
    if report.flags:
        raise FindingError(f"{bundle}: {flags_sentence(report)}")
    if not report.finished:
        raise InputError(
            f"{bundle}: --fail-on {GAP}: no gap is shown so far, but only {report.done:,} of "
            f"{report.total:,} subjects are done; rerun the same `run` command to finish the "
            "audit, then ask again"
        )
    if not report.tests:
        raise InputError(f"{bundle}: --fail-on {GAP}: nothing was tested: {_why_untested(report)}")


def _why_untested(report: "GroupReport") -> str:
    from recourse_audit.render.i18n import Words

    for table in report.tables:
        for comparison in table.comparisons:
            if comparison.untested is not None:
                return Words().say(f"report.untested.{comparison.untested}")
    return f"no two groups have {report.smallest} people or more (groups.smallest)"


def flags_sentence(report: "GroupReport") -> str:
    """How many gaps are shown, and the one to lead with; "" if none is."""
    from recourse_audit.render.groups import GroupPage
    from recourse_audit.render.text import number

    if not report.flags:
        return ""
    more = len(report.flags) - 1
    others = f" (and {more} more)" if more else ""
    gaps = number(len(report.flags), "gap")
    return f"{gaps} shown: {GroupPage(report).say('headline')}{others}"
