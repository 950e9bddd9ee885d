"""The group report in brief: the headline, then one line per comparison.

Single attributes come first, as findings rank; comparisons of attributes crossed are counted. Plus
is worse for the group everywhere.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from recourse_audit.records.group_figures import DecisionCounts, Outcomes
from recourse_audit.records.groups import Finding, GroupReport
from recourse_audit.records.recourse import RecourseStatus
from recourse_audit.render.agreement import agreement_sentences
from recourse_audit.render.gaps import Gaps
from recourse_audit.render.i18n import status_name
from recourse_audit.render.terminal.comparison_rows import (
    LONGEST_NAME,
    MARKS,
    comparison_rows,
    heading,
)
from recourse_audit.render.terminal.figures import percent, tidy
from recourse_audit.render.terminal.group_words import NOT_COMPARED
from recourse_audit.render.terminal.lines import (
    MORE,
    Block,
    cut,
    first_rows,
    print_blocks,
    width_of,
    wrapped,
)
from recourse_audit.render.text import number, plain

FIRST_COMPARISONS = 12


def unfinished(report: GroupReport) -> str:
    """The warning for an audit that is not finished."""
    return (
        f"THIS AUDIT IS NOT FINISHED: {report.done:,} of {report.total:,} subjects are done, and "
        "the figures cover these only; rerun the same `run` command to resume"
    )


def show_groups_briefly(console: Console, report: GroupReport, *, more: str = MORE) -> None:
    """Print the headline and the comparisons; `more` says where the rest is."""
    view = _BriefGroups(console, report, more)
    print_blocks(console, view.blocks())


class _BriefGroups:
    """The blocks of the view, each from the report alone."""

    def __init__(self, console: Console, report: GroupReport, more: str) -> None:
        self._console = console
        self._report = report
        self._more = more
        self._width = width_of(console)

    def blocks(self) -> Iterator[Block]:
        """What is unfinished, the headline, who was counted, comparisons, and what is left out."""
        report = self._report
        if not report.finished:
            yield self._said(unfinished(report), "bold yellow")
        yield self._said(headline_of(self._report), "bold")
        if report.agreement is not None:
            style = "yellow" if report.agreement.disagreeing else ""
            yield self._said(tidy(agreement_sentences(report.agreement)[0]), style)
        people = [line for one in self._people() for line in self._wrapped(one)]
        yield Block(lines=tuple(people), apart=True)
        yield from self._comparisons()
        for sentence in self._left_out():
            yield self._said(sentence)
        yield self._said(
            f"{self._more}: every group, tests, whom the advice cuts off, common options", "dim"
        )

    def _people(self) -> Iterator[str]:
        decisions, outcomes = self._report.overall.decisions, self._report.overall.outcomes
        if decisions is None:
            yield "Too few people to show anything."
            return
        yield _decided(decisions)
        if outcomes is not None:
            yield found_words(outcomes)
        elif decisions.audited:
            yield "Too few of them were audited to show the results."
        alone = self._report.own_data.overall
        if alone is not None and alone.refused_alone.share is not None:
            yield (
                f"On own data alone: {percent(alone.refused_alone.share)} refused (counted, not "
                "tested)."
            )

    def _comparisons(self) -> Iterator[Block]:
        """The comparisons of single attributes in columns; the others are counted."""
        single = [one for one in self._report.findings if one.family == "single"]
        crossed = [one for one in self._report.findings if one.family == "crossed"]
        if single:
            title = self._wrapped(f"{heading(self._report.alpha)}:")
            yield Block(lines=title, apart=True)
            lines = comparison_rows(single, self._width)
            rows = first_rows(lines, self._more, most=FIRST_COMPARISONS, prefix="  ")
            yield Block(lines=rows)
        if crossed:
            counted = counted_verdicts(crossed)
            words = f"Attributes crossed, {number(len(crossed), 'comparison')}: {counted}."
            yield self._said(words)

    def _left_out(self) -> Iterator[str]:
        """Tables that were not compared or are left out, groups pooled, and gaps not tested."""
        report = self._report
        for table in report.tables:
            if table.not_compared is not None and len(table.attributes) == 1:
                said = NOT_COMPARED[table.not_compared]
                yield f"{cut(plain(table.name), LONGEST_NAME)}: {said}"
        gone = [one.table for one in report.left_out if one.part in ("table", "outcomes")]
        few = f"a figure would be about fewer than {report.smallest} people"
        if report.pooled:
            yield f"{report.pooled:,} groups are pooled as 'other': {few}."
        if gone:
            names = ", ".join(cut(plain(name), LONGEST_NAME) for name in dict.fromkeys(gone))
            yield f"Tables or their options left out ({few}): {names}."
        if report.untested:
            yield f"{number(report.untested, 'comparison')} could not be tested ({self._more})."

    def _said(self, text: str, style: str = "") -> Block:
        return Block(lines=self._wrapped(text, style))

    def _wrapped(self, text: str, style: str = "") -> tuple[Text, ...]:
        return wrapped(self._console, text, self._width, style=style)


def headline_of(report: GroupReport) -> str:
    """What to lead with, or why there is nothing to compare."""
    decisions = report.overall.decisions
    if decisions is not None and decisions.favourable == decisions.people > 0:
        return f"All {decisions.people:,} decisions were favourable; there is nothing to audit."
    return tidy(Gaps(report).say("summary"))


def _decided(found: DecisionCounts) -> str:
    """Who was decided on: 1,800 people: 521 refused (28.9%), all audited."""
    people = number(found.people, "person").replace("persons", "people")
    words = f"{people}: {found.refused:,} refused ({percent(found.adverse_rate.share)})"
    if found.refused:
        audited = "all audited" if not found.not_audited else f"{found.audited:,} of them audited"
        words = f"{words}, {audited}"
    return f"{words}; {found.undecided:,} without a decision." if found.undecided else f"{words}."


def found_words(found: Outcomes) -> str:
    """What the audit found for them, in the words for statuses."""
    of = found.feasibility.of
    counts: dict[RecourseStatus, int | None] = {
        "verified": found.verified,
        "certified_infeasible": found.certified_infeasible,
        "not_found_within_budget": found.not_found_within_budget,
    }
    parts = [
        f"{status_name(name)} {count:,}" + (f" ({percent(count / of)})" if of else "")
        for name, count in counts.items()
        if count is not None
    ]
    if found.errors:
        parts.append(f"failed {found.errors:,}")
    if found.disagreeing:
        parts.append(f"record and model disagree on {found.disagreeing:,}")
    return f"Of the audited: {'; '.join(parts)}."


def counted_verdicts(findings: Sequence[Finding]) -> str:
    """How many findings have each verdict: 8 gap shown, 11 not settled."""
    counts = Counter(one.verdict for one in findings)
    return ", ".join(f"{counts[name]:,} {name}" for name in MARKS if counts[name])
