"""A subject in brief: the decision, the first of the ties, the options, one caution."""

from collections.abc import Collection, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from recourse_audit.records.recourse import Certificate, Recourse
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.answers import rule_sentence
from recourse_audit.render.status import STATUS_WORDS, status_sentence
from recourse_audit.render.terminal.axis import Axis, axis_of
from recourse_audit.render.terminal.figures import tidy
from recourse_audit.render.terminal.headline import class_name, headline, no_ties
from recourse_audit.render.terminal.ladder import Ladder, ladder_of
from recourse_audit.render.terminal.lines import (
    MORE,
    Block,
    first_rows,
    print_blocks,
    width_of,
    wrapped,
)
from recourse_audit.render.terminal.option_lines import option_lines, others_sentence
from recourse_audit.render.terminal.recourse import what_if_notes, what_if_sentence
from recourse_audit.render.text import number, plain

CAUTION = (
    "Caution: each row puts one changed question to the model. Effects do not add up, and what "
    "moves the answer need not have caused it."
)


def show_subject_briefly(
    console: Console,
    report: SubjectReport,
    warnings: Sequence[str] = (),
    *,
    favourable: Collection[str] = (),
    more: str = MORE,
) -> None:
    """Print what matters most about a subject; `more` says where the rest is."""
    view = _BriefSubject(console, report, axis_of(report, favourable), more)
    print_blocks(console, [*view.warnings(warnings), *view.blocks()])
    console.print()


class _BriefSubject:
    """The blocks of the view, each from the report alone."""

    def __init__(self, console: Console, report: SubjectReport, axis: Axis, more: str) -> None:
        self._console = console
        self._report = report
        self._axis = axis
        self._more = more
        self._width = width_of(console)

    def warnings(self, warnings: Sequence[str]) -> Iterator[Block]:
        """What must be known before any figure."""
        lines = [
            line for warning in warnings for line in self._wrapped(f"! {plain(warning)}", "yellow")
        ]
        yield Block(lines=tuple(lines))

    def blocks(self) -> Iterator[Block]:
        """Everything else, in the order in which it is read."""
        report = self._report
        style = "bold green" if report.subject.favourable else "bold"
        yield Block(lines=self._wrapped(headline(report), style))
        yield Block(lines=self._wrapped(self._status()))
        if rule := rule_sentence(report.decision):
            yield Block(lines=self._wrapped(tidy(rule)))
        if report.error:
            yield Block(lines=self._wrapped(plain(report.error), "red"))
        if note := no_ties(report) or plain(report.note):
            yield Block(lines=self._wrapped(note))
        ladder = ladder_of(self._axis)
        if ladder is not None:
            yield from self._ladder(ladder)
        if report.what_if is not None:
            words = tidy(what_if_sentence(report.what_if, report.subject))
            lines = self._wrapped(words)
            for sentence in what_if_notes(report.what_if):
                lines += self._wrapped(sentence, "yellow")
            yield Block(lines=lines, apart=True)
        if report.recourse is not None and not report.error:
            yield from self._options(report.recourse)
        if ladder is not None and len(ladder.first) + len(ladder.ties) > 1:
            yield Block(lines=self._wrapped(CAUTION, "italic"), apart=True)
        if report.search is not None or report.own_data is not None:
            rest = f"{self._more}: explanations, counterfactuals, caveats, how far was searched"
            yield Block(lines=self._wrapped(rest, "dim"))

    def _status(self) -> str:
        """The status in its own words, and the decision on record if there is one."""
        words = f"Status: {STATUS_WORDS[self._report.status].name}."
        recorded = self._report.decision.recorded
        return f"{words} Decision on record: {class_name(recorded)}." if recorded else words

    def _ladder(self, ladder: Ladder) -> Iterator[Block]:
        head = (ladder.heading(self._width), *ladder.rows(ladder.first, self._width))
        yield Block(lines=head, apart=True)
        ties = ladder.rows(ladder.ties, self._width)
        yield Block(lines=first_rows(ties, self._more, prefix="  "))
        if ladder.missing and self._report.carriers is not None:
            own = self._report.carriers.own_ties
            words = f"  Recorded for {own - ladder.missing:,} of {number(own, 'own tie')}."
            yield Block(lines=self._wrapped(words, "dim"))

    def _options(self, recourse: Recourse) -> Iterator[Block]:
        heading, *rest = _options_sentences(recourse)
        style = "red" if recourse.status == "error" else ""
        lines = self._wrapped(heading, style)
        lines += tuple(line for one in rest for line in self._wrapped(one))
        yield Block(lines=lines, apart=True)
        rows = option_lines(self._axis, recourse, self._width)
        yield Block(lines=first_rows(rows, self._more))
        if others := others_sentence(recourse):
            yield Block(lines=self._wrapped(others, "yellow"))

    def _wrapped(self, text: str, style: str = "") -> tuple[Text, ...]:
        return wrapped(self._console, text, self._width, style=style)


def _options_sentences(recourse: Recourse) -> Iterator[str]:
    """What was found, or how far was looked for it."""
    certificate = recourse.certificate
    match recourse.status:
        case "verified":
            found = number(len(recourse.options), "option")
            yield f"{found}, cheapest first (holds: in how many tests on changed graphs):"
        case "certified_infeasible":
            yield none_exists(certificate) or tidy(plain(recourse.reason))
        case "not_found_within_budget":
            yield (
                f"No option found yet: {certificate.tried:,} of {certificate.possible:,} "
                "combinations tried."
            )
            if certificate.reason:
                yield plain(certificate.reason)
        case "already_favourable":
            yield "The decision is already favourable: there is nothing to change."
        case _:
            yield tidy(status_sentence(recourse))


def none_exists(found: Certificate) -> str:
    """That no option exists, and how many combinations were tried; empty with none to try."""
    if not found.possible:
        return ""
    changes = number(found.max_changes, "permitted change")
    begin = "No option exists within the limits:"
    if found.tried == found.possible:
        return f"{begin} all {found.possible:,} combinations of up to {changes} were tried."
    return (
        f"{begin} {found.tried:,} of {found.possible:,} combinations of up to {changes} were "
        "tried, and the others were left out."
    )
