"""One action for all, as the group report shows it: whom each action serves, and group by group."""

from collections.abc import Iterator

from recourse_audit.records.group_figures import (
    ActionGap,
    ActionSet,
    CommonActions,
    ServedGroups,
)
from recourse_audit.records.groups import GroupReport
from recourse_audit.records.recourse import CommonAction
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_words import MARKS, attribute_name, name_in, size
from recourse_audit.render.pages.groups_tables import columns
from recourse_audit.render.pages.groups_words import (
    NOTHING,
    between,
    confidence,
    points,
    share,
    why_not_tested,
)
from recourse_audit.render.pages.tables import Table, cells
from recourse_audit.render.text import plain


def action_words(words: Words, action: CommonAction) -> str:
    """An action: raise savings by 5,000 euros; end one payment tie."""
    what = attribute_name(action.what)
    if action.ties == "all":
        return words.say("report.action.drop_all", what=what)
    if action.ties is not None:
        return words.say_count(f"report.action.{action.do}", action.ties, what=what)
    if action.by is None:
        return words.say("report.action.to", what=what, to=plain(action.to or ""))
    amount = f"{words.number(abs(action.by))} {plain(action.unit)}".rstrip()
    key = "raise" if action.by > 0 else "lower"
    return words.say(f"report.action.{key}", what=what, amount=amount)


def actions_note(report: GroupReport, words: Words) -> str:
    """What the figures are; or why there are none."""
    found = report.common_actions
    if found.nothing is not None:
        return words.say(f"report.actions.{found.nothing}")
    said = words.say("report.actions.text")
    hidden = sum(one.served.everybody is None for one in found.actions)
    if not hidden:
        return said
    few = words.say_count(
        "report.actions.hidden",
        hidden,
        all=words.number(len(found.actions)),
        smallest=words.number(report.smallest),
    )
    return f"{said} {few}"


def action_sets(report: GroupReport, words: Words) -> tuple[str, ...]:
    """The smallest sets in sentences, the widest first."""
    return tuple(_sets(report.common_actions, words))


def _sets(found: CommonActions, words: Words) -> Iterator[str]:
    every = [one for one in found.sets if one.of == "of the served"]
    for one in every[-1:]:
        served = one.served.everybody
        if served is not None:
            yield words.say(
                "report.set.served",
                count=words.out_of(served.count, served.of),
                share=share(words, served.share),
                actions=_any_of(found, one, words),
            )
    wider = [*every[:-1], *(one for one in found.sets if one.of == "of everybody")]
    for one in wider:
        served = one.served.everybody
        if served is not None:
            key = "served" if one.of == "of the served" else "everybody"
            yield words.say(
                f"report.set.share.{key}",
                goal=words.whole_percent(one.share),
                actions=_any_of(found, one, words),
                count=words.number(served.count),
                share=share(words, served.share),
            )
    if every and not any(one.of == "of everybody" for one in found.sets):
        yield words.say("report.set.no_half")
    if any(not one.exact for one in found.sets):
        yield words.say("report.set.not_exact")


def _any_of(found: CommonActions, one: ActionSet, words: Words) -> str:
    *first, last = [action_words(words, found.actions[number].action) for number in one.actions]
    return words.say("report.or", first=", ".join(first), last=last) if first else last


def overall_actions(report: GroupReport, words: Words) -> Table | None:
    """Every action, of everybody audited; None where none was tried or may be shown."""
    found = report.common_actions
    if not found.actions:
        return None
    return Table(
        caption=words.say("report.actions.everybody"),
        columns=(
            *columns(words, "action", kind="plain"),
            *columns(words, "applies", "not_settled", "served", "of_audited", "served_effort"),
        ),
        rows=tuple(
            cells(
                action_words(words, one.action),
                NOTHING if one.applies is None else words.number(one.applies),
                NOTHING if one.not_settled is None else words.number(one.not_settled),
                NOTHING
                if one.served.everybody is None
                else words.number(one.served.everybody.count),
                "" if one.served.everybody is None else share(words, one.served.everybody.share),
                "" if one.effort is None else words.number(one.effort),
            )
            for one in found.actions
        ),
    )


def action_tables(report: GroupReport, words: Words) -> tuple[Table, ...]:
    """One table per attribute of which anything can be shown: a row per action and group."""
    names = [table.name for table in report.tables if len(table.attributes) == 1]
    tables = (_table(report, name, words) for name in names)
    return tuple(one for one in tables if one.rows)


def _table(report: GroupReport, name: str, words: Words) -> Table:
    return Table(
        caption=words.say("report.actions.by", attribute=attribute_name(name)),
        columns=(
            *columns(words, "any_action", "group_alone", kind="plain"),
            *columns(
                words, "served", "share", "gap", "interval", confidence=confidence(words, report)
            ),
            *columns(words, "verdict", kind="plain"),
        ),
        rows=tuple(
            row
            for action, served in _served(report.common_actions, words)
            if name in served.by_group
            for row in _rows(report, action, served, name, words)
        ),
    )


def _served(found: CommonActions, words: Words) -> Iterator[tuple[str, ServedGroups]]:
    """Single actions, then sets of several; each set once."""
    seen: set[tuple[int, ...]] = set()
    for one in found.actions:
        yield action_words(words, one.action), one.served
    for several in found.sets:
        if len(several.actions) > 1 and several.actions not in seen:
            seen.add(several.actions)
            yield _any_of(found, several, words), several.served


def _rows(
    report: GroupReport, action: str, served: ServedGroups, name: str, words: Words
) -> Iterator[tuple[tuple[str, ...], ...]]:
    gaps = {one.group: one for one in served.gaps if one.table == name}
    for group, rate in served.by_group[name].items():
        gap = gaps.get(group)
        yield cells(
            action,
            name_in(words, report, name, group),
            words.out_of(rate.count, rate.of),
            share(words, rate.share),
            NOTHING if gap is None else points(words, gap.gap),
            NOTHING if gap is None else between(words, gap.interval),
            NOTHING if gap is None else _verdict(gap, report.concern, words),
        )


def _verdict(gap: ActionGap, concern: float, words: Words) -> str | tuple[str, ...]:
    """A verdict; beside *not settled* stands what would have been found, or why nothing could."""
    said = f"{MARKS[gap.verdict]} {words.verdict(gap.verdict, concern)}"
    if gap.p is None:
        return said, why_not_tested(words, gap.untested)
    if gap.verdict == "not settled" and gap.smallest_gap is not None:
        return said, words.say("board.card.would", smallest=size(words, gap.smallest_gap))
    return said
