"""What could change a decision, on a page: the status, the options, how far the search looked."""

from collections.abc import Sequence
from dataclasses import dataclass

from recourse_audit.records.recourse import Action, AskedOn, Option, Recourse, SetAction
from recourse_audit.records.report import Decision
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.tables import Column, Table, cells
from recourse_audit.render.status import (
    SEARCHED,
    STATUS_WORDS,
    certificate_sentence,
    status_sentence,
    verified_words,
)
from recourse_audit.render.terminal.recourse import (
    robustness_lines,
    side_effect_lines,
    worded,
)
from recourse_audit.render.text import number, share

SOURCES = {
    "counterfactual": "a counterfactual",
    "effect": "order of effect",
    "exhaustive": "exhaustive search",
}
ASKED_ON: dict[AskedOn, str] = {
    "neighbourhood": "on the subject's neighbourhood, after checking that it gives the same answer "
    "as the whole graph",
    "whole graph": "on the whole graph",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecourseView:
    """Whether something could change the decision, what, and how sure that is."""

    status: str
    favourable: bool
    sentence: str
    options: Table | None
    certificate: str
    checked: str


def recourse_view(decision: Decision, recourse: Recourse, level: Level) -> RecourseView:
    """The status in a sentence, the options by cost, and the certificate; names are redacted."""
    searched = recourse.status in SEARCHED
    sentence = status_sentence(recourse)
    return RecourseView(
        status=STATUS_WORDS[recourse.status].heading,
        favourable=recourse.status in ("already_favourable", "verified"),
        sentence=sentence if sentence.endswith(".") else f"{sentence}.",
        options=_options(decision, recourse.options, level) if recourse.options else None,
        certificate=certificate_sentence(recourse) if searched else "",
        checked=_checked(recourse) if searched else "",
    )


def _checked(recourse: Recourse) -> str:
    asked = number(recourse.evaluations, "evaluation")
    if recourse.evaluated_on is None:
        return f"{asked}."
    return f"{asked} by the deployed model, {ASKED_ON[recourse.evaluated_on]}."


def _options(decision: Decision, options: Sequence[Option], level: Level) -> Table:
    headings = [
        Column(heading="No."),
        Column(heading="Change"),
        Column(heading="Cost", kind="figures"),
        Column(heading="Decision"),
        Column(heading="Margin", kind="figures"),
        Column(heading="Still works if the neighbourhood changes (draws, 95 % interval)"),
        Column(heading="Checked"),
        Column(heading="Found by"),
    ]
    if level != "subject":
        headings.append(Column(heading="Other decisions it changes"))
    decimals = max(_decimals(option.cost) for option in options)
    rows = []
    for place, option in enumerate(options, start=1):
        before = decision.probabilities.get(option.decision, 0.0)
        after = share(option.probabilities[option.decision])
        row = cells(
            str(place),
            tuple(_change(action, decision.id, level) for action in option.actions),
            f"{option.cost:.{decimals}f}",
            (option.decision, f"{share(before)} → {after}"),
            f"{option.margin:+.3f}",
            robustness_lines(option.robustness),
            (verified_words(option), _minimal(option)),
            SOURCES.get(option.source, option.source),
        )
        others = cells(side_effect_lines(option.side_effects)) if level != "subject" else ()
        rows.append(row + others)
    return Table(caption="Options, cheapest first", columns=tuple(headings), rows=tuple(rows))


def _change(action: Action, subject: str, level: Level) -> str:
    """One change; in the subject's own copy a tie is described by its kind only."""
    if isinstance(action, SetAction) or level != "subject":
        return worded(action)
    kind = f"{action.kind} tie" if action.kind else "tie"
    if subject not in action.tie:
        return f"{action.do} a {kind} between two other people"
    return f"{action.do} one of your {kind}s" if action.do == "drop" else f"add a {kind}"


def _minimal(option: Option) -> str:
    return "no part of it suffices" if option.minimal else "a part of it may suffice"


def _decimals(value: float) -> int:
    words = f"{value:g}"
    return len(words.partition(".")[2]) if "e" not in words else 6
