"""The block that the index and the group report begin with: the finding, three cards, all gaps.

In: a group report. Out: what was audited, the headline by the rule of `groups/verdicts.py` with its
size and interval, the cards, the gap plots, and what all this does not say. Nothing is in it that
is not in the group report.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from recourse_audit.records.groups import Finding, GroupReport, GroupTable
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_card import Card, Shown
from recourse_audit.render.pages.board_cards import cards
from recourse_audit.render.pages.board_gaps import gap_panels, panels_note
from recourse_audit.render.pages.board_words import (
    along,
    compared_often,
    more_or_fewer,
    named,
    points,
    ratio_of,
    signed,
    singles,
    size,
)
from recourse_audit.render.pages.tables import ChartTable
from recourse_audit.render.text import plain

BETWEEN = " · "
# What the cards are about where every table is left out.
NO_TABLE = GroupTable(
    name="", attributes=(), reference=None, by_group=(), comparisons=(), not_compared="few_groups"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A part of a line; the finding's size is strong."""

    words: str
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardNote:
    """A note that begins with its own bold words."""

    title: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardView:
    """The block, in the order in which it is read; `unfinished` is "" after a finished audit."""

    unfinished: str
    about: str
    headline: str
    lead: tuple[Run, ...]
    cards: tuple[Card, ...]
    panels: tuple[ChartTable, ...]
    panels_note: str
    notes: tuple[BoardNote, ...]


def board_view(report: GroupReport, words: Words) -> BoardView:
    """Make the block; `words` must have the catalogue of groups."""
    panels = gap_panels(report, words)
    return BoardView(
        unfinished=_unfinished(report, words),
        about=BETWEEN.join(_about(report, words)),
        headline=_headline(report, words),
        lead=tuple(_lead(report, words)),
        cards=cards(_shown(report, words)),
        panels=panels,
        panels_note=panels_note(report, words) if panels else "",
        notes=(
            BoardNote(title=words.say("board.limits"), words=words.say("board.limits.text")),
            BoardNote(title=words.say("board.open"), words=" ".join(_open(report, words))),
        ),
    )


def _unfinished(report: GroupReport, words: Words) -> str:
    if report.finished:
        return ""
    if not report.total:
        return words.say("board.unfinished")
    done, total = words.number(report.done), words.number(report.total)
    return words.say("board.unfinished.of", done=done, total=total)


def _about(report: GroupReport, words: Words) -> Iterator[str]:
    """Whom the audit is about, who was left out, and whether any group is pooled."""
    decided = report.overall.decisions
    if decided is None:
        yield words.say("board.about.withheld", smallest=words.number(report.smallest))
    else:
        yield words.say_count("board.about.people", decided.refused + decided.favourable)
        if decided.undecided:
            yield words.say_count("board.about.undecided", decided.undecided)
        if decided.refused:
            share = decided.adverse_rate.share
            refused = {"share": "" if share is None else words.percent(share)}
            if decided.not_audited:
                key, refused["audited"] = "sample", words.number(decided.audited)
            else:
                key = "all"
            yield words.say_count(f"board.about.refused.{key}", decided.refused, **refused)
        else:
            yield words.say("board.about.nobody")
        if decided.refused and report.overall.outcomes is None:
            yield words.say("board.about.outcomes", smallest=words.number(report.smallest))
    yield from _left_out(report, words)


def _left_out(report: GroupReport, words: Words) -> Iterator[str]:
    """Who is in no figure and why; then groups that are pooled, and tables that are left out."""
    failed, found = sum(report.overall.excluded.values()), report.overall.outcomes
    disagreeing = 0 if found is None else found.disagreeing
    said = [words.say_count("board.about.left_out", failed)] if failed else []
    said += [words.say_count("board.about.disagreeing", disagreeing)] if disagreeing else []
    said = said or [words.say("board.about.nobody_left_out")]
    tables = len({one.table for one in report.left_out if one.part == "table"})
    if not report.pooled and not tables:
        yield from said[:-1]
        yield words.say("board.about.no_group", left_out=said[-1])
        return
    yield from said
    if report.pooled:
        yield words.say_count("board.about.pooled", report.pooled)
    if tables:
        yield words.say_count("board.about.tables", tables)


def _headline(report: GroupReport, words: Words) -> str:
    """The finding to lead with in one line; if none leads, how many comparisons are settled."""
    found = report.findings
    if not found:
        return words.say("board.nothing")
    first = found[0]
    if not first.headline:
        unsettled = sum(one.verdict == "not settled" for one in found)
        if unsettled:
            return words.say_count("board.none.shown", unsettled, all=words.number(len(found)))
        return words.say_count("board.none.of", len(found), concern=_concern(report, words))
    group = named(report, first.table, first.group)
    who = {"group": group, "reference": plain(first.reference)}
    if first.measure == "cost":
        return words.say("board.effort.more" if first.gap > 0 else "board.effort.less", **who)
    key = "board.refused" if first.measure == "adverse_rate" else "board.option"
    ratio = ratio_of(first.value, first.reference_value)
    difference = (first.value or 0.0) - (first.reference_value or 0.0)
    return compared_often(words, key, ratio, difference, **who)


def _lead(report: GroupReport, words: Words) -> Iterator[Run]:
    """The size of the finding and how sure it is; then what an option is."""
    found = report.findings
    if found and found[0].headline:
        yield from _sized(report, words, found[0])
    elif found:
        seen = [one.smallest_gap for one in found if one.verdict == "not settled"]
        said = would_be_found(words, seen)
        if said:
            yield Run(words=said)
    else:
        yield Run(words=words.say("board.nothing.why"))
    yield Run(words=words.say("board.option"))


def _sized(report: GroupReport, words: Words, found: Finding) -> Iterator[Run]:
    group = plain(found.group)
    if found.measure == "cost":
        key = "board.effort.lead.more" if found.gap > 0 else "board.effort.lead.less"
        yield Run(words=words.say(key, group=group))
    else:
        key = "board.refused.lead" if found.measure == "adverse_rate" else "board.option.lead"
        value, reference = (_whole(words, one) for one in (found.value, found.reference_value))
        yield Run(words=words.say(key, value=value, reference_value=reference))
    direction = more_or_fewer(found.measure, found.gap)
    said = points(words, f"board.points.{direction}", found.gap)
    if found.measure == "cost":
        said = points(words, "board.points", found.gap)
    interval = found.interval
    if interval is not None and found.verdict == "gap shown":
        ends = along(words, interval, found.gap)
        if interval.low * interval.high > 0 and found.measure != "cost":
            ends = words.say(f"board.range.{direction}", range=ends)
        confidence = words.whole_percent(1 - report.alpha)
        said = words.say("board.interval", size=said, confidence=confidence, range=ends)
    yield Run(words=f"{said}.", strong=True)
    if found.verdict == "gap shown":
        return
    if interval is None or found.adjusted is None:
        yield Run(words=words.say("finding.untested"))
        return
    yield Run(words=words.say("board.not_settled", range=signed(words, interval), group=group))


def _open(report: GroupReport, words: Words) -> Iterator[str]:
    """How many comparisons are not settled, what they would have found, which searches stopped."""
    unsettled = [one for one in report.findings if one.verdict == "not settled"]
    if unsettled:
        of = words.number(len(report.findings))
        yield words.say_count("board.open.comparisons", len(unsettled), all=of)
        said = would_be_found(words, [one.smallest_gap for one in unsettled])
        if said:
            yield said
    elif report.findings:
        yield words.say("board.open.settled")
    else:
        yield words.say("board.open.nothing")
    outcomes = report.overall.outcomes
    if outcomes is not None and outcomes.not_found_within_budget is not None:
        stopped = outcomes.not_found_within_budget
        if stopped:
            yield words.say_count("board.open.stopped", stopped)
        else:
            yield words.say("board.open.finished")


def would_be_found(words: Words, gaps: list[float | None]) -> str:
    """The gaps that would have been found four times in five; "" where none was tested."""
    seen = [gap for gap in gaps if gap is not None]
    if not seen:
        return ""
    least, most = size(words, min(seen)), size(words, max(seen))
    if least == most:
        return words.say("finding.would.one", smallest=least)
    return words.say("finding.would", smallest=least, largest=most)


def _shown(report: GroupReport, words: Words) -> Shown:
    """The table and the group of the headline; else those of the largest gap against a group."""
    ranked = sorted(report.findings, key=lambda one: (not one.headline, one.family != "single"))
    leading = ranked[0] if ranked else None
    if leading is not None and not leading.headline:
        shares = [one for one in ranked if one.family == leading.family and one.measure != "cost"]
        leading = max(shares or ranked, key=lambda one: one.gap)
    table = _table(report, leading)
    return Shown(
        report=report, words=words, table=table, group=None if leading is None else leading.group
    )


def _table(report: GroupReport, leading: Finding | None) -> GroupTable:
    if leading is not None:
        return next(one for one in report.tables if one.name == leading.table)
    return next(iter(singles(report)), NO_TABLE)


def _whole(words: Words, share: float | None) -> str:
    return "" if share is None else words.whole_percent(share)


def _concern(report: GroupReport, words: Words) -> str:
    return words.number(100 * report.concern)
