"""Common actions in the terminal: whom each serves, the smallest sets, and gaps between groups."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recourse_audit.records.group_figures import ActionGap, ActionSet, CommonActions
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.terminal.figures import points, points_with_interval, tidy
from recourse_audit.render.terminal.group_words import (
    TITLE,
    UNTESTED,
    any_of,
    introduction,
    round_points,
    set_sentences,
)
from recourse_audit.render.text import columns, common_action_words, plain


def show_common_actions(console: Console, report: GroupReport) -> None:
    """Print what everybody's actions do, then the gaps in the widest set by attribute."""
    found = report.common_actions
    console.print(Padding(Text(TITLE, style="bold"), (1, 0, 0, 0)))
    console.print(Padding(introduction(found, report.smallest), (0, 2)))
    if not found.actions:
        return
    console.print(Padding(_actions(found), (0, 2)))
    for sentence in set_sentences(found):
        console.print(Padding(Text(tidy(plain(sentence))), (0, 2)))
    for one in _shown_sets(found):
        _show_groups(console, found, one, report.concern)


def _actions(found: CommonActions) -> Table:
    made = columns("action", "applies to", "serves", "of all audited", "effort")
    for one in found.actions:
        rate = one.served.everybody
        made.add_row(
            plain(common_action_words(one.action)),
            "" if one.applies is None else f"{one.applies:,}",
            "left out" if rate is None else f"{rate.count:,}",
            "" if rate is None or rate.share is None else f"{rate.share:.1%}",
            "" if one.effort is None else f"{one.effort:.6g}",
        )
    return made


def _shown_sets(found: CommonActions) -> list[ActionSet]:
    """The set that serves everybody whom any action serves; the others are in the JSON."""
    every = [one for one in found.sets if one.of == "of the served" and one.served.by_group]
    return every[-1:]


def _show_groups(console: Console, found: CommonActions, one: ActionSet, concern: float) -> None:
    console.print(Padding(f"Served by {plain(any_of(found, one.actions))}:", (1, 2, 0, 2)))
    gaps: dict[tuple[str, str], ActionGap] = {
        (gap.table, gap.group): gap for gap in one.served.gaps
    }
    for name, groups in one.served.by_group.items():
        made = columns(plain(name), "served", "against the reference")
        for group, rate in groups.items():
            gap = gaps.get((name, group))
            share = "" if rate.share is None else f"{rate.share:.1%} "
            made.add_row(
                plain(group),
                f"{share}({rate.count:,} of {rate.of:,})",
                "" if gap is None else gap_words(gap, concern),
            )
        console.print(Padding(made, (0, 2)))


def gap_words(gap: ActionGap, concern: float) -> str:
    """A gap, its interval, and its verdict with what would have been found."""
    words = points_with_interval(gap.gap, gap.interval)
    if gap.untested is not None:
        return f"{words}; not tested: {UNTESTED[gap.untested]}"
    if gap.verdict == "no gap":
        return f"{words}; no gap of {round_points(concern)}"
    if gap.verdict == "not settled" and gap.smallest_gap is not None:
        smallest = points(gap.smallest_gap).lstrip("+")
        return f"{words}; not settled ({smallest} points would have been found)"
    return f"{words}; {gap.verdict}"
