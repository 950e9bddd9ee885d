"""The first sentence on a subject: what was decided, and what own data alone would give."""

from recourse_audit.records.subject import NO_TIES, SubjectReport
from recourse_audit.render.terminal.lines import cut
from recourse_audit.render.text import plain

LONGEST_NAME = 60
LONGEST_CLASS = 24
# What a model does that decides so; other classes are decided by their names.
VERBS = {
    "accepted": "accept",
    "admitted": "admit",
    "approved": "approve",
    "declined": "decline",
    "denied": "deny",
    "granted": "grant",
    "refused": "refuse",
    "rejected": "reject",
}


def subject_name(report: SubjectReport) -> str:
    """The subject's id, cut if it is very long."""
    return cut(plain(report.subject.id), LONGEST_NAME)


def class_name(name: str) -> str:
    """A class, cut if its name is very long."""
    return cut(plain(name), LONGEST_CLASS)


def would(decision: str, *, also: bool = False) -> str:
    """What the model would do, to follow "would": approve, also deny, decide low_risk."""
    verb = VERBS.get(decision.lower(), f"decide {class_name(decision)}")
    return f"also {verb}" if also else verb


def headline(report: SubjectReport) -> str:
    """P0570: denied. On own data alone the model would approve."""
    decided = report.subject.decision
    name = subject_name(report)
    begin = f"{name}: {class_name(decided)}." if decided else f"{name}: no decision."
    return f"{begin} {_alone(report)}".rstrip()


def no_ties(report: SubjectReport) -> str:
    """That somebody has no ties; empty for all others."""
    if report.note != NO_TIES:
        return ""
    return f"{subject_name(report)} has no ties; the decision rests on own data alone."


def _alone(report: SubjectReport) -> str:
    found = None if report.own_data is None else report.own_data.alone
    decided = report.subject.decision
    if found is None or not decided or report.note == NO_TIES:
        return ""
    if not found.decision:
        return "On own data alone the model gives no usable answer."
    also = found.decision == decided
    return f"On own data alone the model would {would(found.decision, also=also)}."
