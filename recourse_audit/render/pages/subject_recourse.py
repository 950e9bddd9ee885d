"""What could change a decision, on a page: the status, the options, how far the search looked."""

from collections.abc import Sequence
from dataclasses import dataclass

from recourse_audit.records.recourse import Action, Option, Recourse
from recourse_audit.records.report import Decision
from recourse_audit.render.text import share
from recourse_audit.render.terminal.recourse import (
    certificate_sentence,
    holding_lines,
    others_lines,
    status_sentence,
    worded,
)
from recourse_audit.render.pages.redaction import Names
from recourse_audit.render.pages.tables import Column, Table, cells

STATUSES = {
    "already_favourable": "Favourable already",
    "verified": "Verified options",
    "certified_infeasible": "No option within the stated limits",
    "not_found_within_budget": "No option found within the budget",
    "error": "Not worked out",
}
SOURCES = {
    "counterfactual": "a counterfactual",
    "effect": "order of effect",
    "exhaustive": "trying all",
}
LEFT_TO_THE_AUDITOR = "Something went wrong for this subject; the auditor's copy says what."


@dataclass(frozen=True, slots=True, kw_only=True)
class RecourseView:
    """Whether something could change the decision, what, and how sure that is."""

    status: str
    favourable: bool
    sentence: str
    options: Table | None
    certificate: str
    checked: str


def recourse_view(decision: Decision, recourse: Recourse, names: Names) -> RecourseView:
    """The status in a sentence, the options cheapest first, and the certificate."""
    looked = recourse.status in ("verified", "certified_infeasible", "not_found_within_budget")
    sentence = status_sentence(recourse)
    if recourse.status == "error" and not names.full:
        sentence = LEFT_TO_THE_AUDITOR
    return RecourseView(
        status=STATUSES[recourse.status],
        favourable=recourse.status in ("already_favourable", "verified"),
        sentence=sentence if sentence.endswith(".") else f"{sentence}.",
        options=_options(decision, recourse.options, names) if recourse.options else None,
        certificate=certificate_sentence(recourse) if looked else "",
        checked=_checked(recourse) if looked else "",
    )


def _checked(recourse: Recourse) -> str:
    where = {
        "neighbourhood": "on each subject's neighbourhood, after a check that this gives the "
        "answer of the whole graph",
        "whole graph": "on the whole graph",
    }
    place = where.get(recourse.checked_by)
    asked = f"{recourse.evaluations:,} evaluations"
    return f"{asked} by the deployed model, {place}." if place else f"{asked}."


def _options(decision: Decision, options: Sequence[Option], names: Names) -> Table:
    headings = [
        Column(heading="No."),
        Column(heading="Change"),
        Column(heading="Cost", kind="figures"),
        Column(heading="Decision"),
        Column(heading="Margin", kind="figures"),
        Column(heading="Still works if the surroundings change (draws, 95 % interval)"),
        Column(heading="Checked"),
        Column(heading="Found by"),
    ]
    if names.tells_people_apart:
        headings.append(Column(heading="Other decisions it changes"))
    decimals = max(_decimals(option.cost) for option in options)
    rows = []
    for place, option in enumerate(options, start=1):
        before = decision.probabilities.get(option.decision, 0.0)
        after = share(option.probabilities[option.decision])
        row = cells(
            str(place),
            tuple(_change(action, names) for action in option.actions),
            f"{option.cost:.{decimals}f}",
            (option.decision, f"{share(before)} → {after}"),
            f"{option.margin:+.3f}",
            holding_lines(option.holds),
            _verified(option),
            SOURCES.get(option.source, option.source),
        )
        rows.append(row + cells(others_lines(option.others)) if names.tells_people_apart else row)
    return Table(caption="Options, the cheapest first", columns=tuple(headings), rows=tuple(rows))


def _change(action: Action, names: Names) -> str:
    """One change; to the subject a tie is told by its kind only."""
    if action.do == "set" or names.tells_people_apart:
        return worded(action)
    assert action.tie is not None
    kind = f"{action.kind} tie" if action.kind else "tie"
    if names.subject not in action.tie:
        return f"{action.do} a {kind} between two other people"
    return f"{action.do} one of your {kind}s" if action.do == "drop" else f"add a {kind}"


def _verified(option: Option) -> tuple[str, ...]:
    verified = "verified on the whole graph" if option.verified else "NOT verified"
    return (verified, "no part of it suffices" if option.minimal else "a part may suffice")


def _decimals(value: float) -> int:
    words = f"{value:g}"
    return len(words.partition(".")[2]) if "e" not in words else 6
