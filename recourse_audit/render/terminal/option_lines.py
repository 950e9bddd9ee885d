"""Options in one line each: what to change, the answer before and after, how often it held."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from recourse_audit.records.recourse import (
    FRAGILE,
    Action,
    Option,
    Recourse,
    Robustness,
    SetAction,
    TieAction,
)
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.terminal.axis import Axis
from recourse_audit.render.terminal.lines import cell, cut
from recourse_audit.render.text import number, plain

# An option is fragile if it fails in at least half of its tests.
FRAGILE_WORD = "fragile"
LONGEST_PART = 40
INDENT = 3
NARROWEST = 8
FEW = 3


def is_fragile(found: Robustness | None) -> bool:
    """Whether an option failed in at least half of the tests of one kind."""
    return found is not None and found.held_share <= FRAGILE


def option_lines(axis: Axis, recourse: Recourse, width: int) -> tuple[Text, ...]:
    """One line per option, the cheapest first; two where a few options need them."""
    found = recourse.options
    moves = [_move(axis, option) for option in found]
    held = [_held(option.robustness) for option in found]
    move, hold = (max(map(cell_len, words), default=0) for words in (moves, held))
    room = max(NARROWEST, width - INDENT - move - hold - 4)
    lines: list[Text] = []
    for place, option in enumerate(found, start=1):
        style = "bold yellow" if is_fragile(option.robustness) else ""
        first, *rest = _changes(axis.report, option.actions, room, few=len(found) <= FEW)
        begin = f"{place:<{INDENT}}{cell(first, room)}  {cell(moves[place - 1], move)}  "
        lines.append(Text.assemble(begin, (held[place - 1], style)))
        lines += [Text(f"{'':{INDENT}}{line}") for line in rest]
    return tuple(lines)


def others_sentence(recourse: Recourse) -> str:
    """Which options change a favourable decision on somebody else; empty if none does."""
    worse = [
        (place, len(option.side_effects.to_unfavourable))
        for place, option in enumerate(recourse.options, start=1)
        if option.side_effects.to_unfavourable
    ]
    if not worse:
        return ""
    named = ", ".join(
        f"option {place} ({number(count, 'person').replace('persons', 'people')})"
        for place, count in worse
    )
    return f"Worse for others: {named}."


def _move(axis: Axis, option: Option) -> str:
    after, now = axis.value(option), axis.now
    if after is None or now is None:
        return plain(cut(option.decision, LONGEST_PART // 2))
    return f"{axis.words(now)}→{axis.words(after)}"


def _held(found: Robustness | None) -> str:
    if found is None:
        return "not tested"
    return f"{FRAGILE_WORD if is_fragile(found) else 'holds'} {found.held}/{found.draws}"


def _changes(
    report: SubjectReport, actions: Sequence[Action], room: int, *, few: bool
) -> tuple[str, ...]:
    """All changes of an option, as fully as there is room for."""
    ties = _ties(report, actions)
    parts: list[str] = []
    for full in (True, False):
        parts = [*ties, *(_set(one, full=full) for one in actions if isinstance(one, SetAction))]
        if cell_len(" + ".join(parts)) <= room:
            return (" + ".join(parts),)
    if not few:
        return (cut(" + ".join(parts), room),)
    first = ""
    for place, part in enumerate(parts):
        longer = f"{first} + {part}" if first else part
        if cell_len(longer) > room - 2 and first:
            return f"{first} +", cut(" + ".join(parts[place:]), room)
        first = longer
    return (cut(first, room),)


def _ties(report: SubjectReport, actions: Sequence[Action]) -> list[str]:
    """Ties to drop or add, those of one kind together: drop co-borrower P0229, P1108."""
    named: dict[tuple[str, str], list[str]] = {}
    for one in actions:
        if isinstance(one, TieAction):
            named.setdefault((one.do, one.kind), []).append(_other_end(report, one))
    return [
        f"{do} {cut(plain(kind), LONGEST_PART // 2)} {', '.join(names)}"
        for (do, kind), names in named.items()
    ]


def _other_end(report: SubjectReport, action: TieAction) -> str:
    one, other = action.tie
    subject = report.subject.id
    if subject in action.tie:
        return cut(plain(other if one == subject else one), LONGEST_PART // 2)
    return cut(f"{plain(one)} - {plain(other)}", LONGEST_PART // 2)


def _set(action: SetAction, *, full: bool) -> str:
    name = cut(plain(action.attribute), LONGEST_PART // 2)
    after = value_words(action.after)
    return f"{name} {value_words(action.before)}→{after}" if full else f"{name} to {after}"


def value_words(value: float | str) -> str:
    """A value of a column: text as it is, a number with its thousands apart."""
    if isinstance(value, str):
        return cut(plain(value), LONGEST_PART // 2)
    text = f"{value:,.12g}" if abs(value) < 1e15 else f"{value:.6g}"
    return text.replace("-", "\N{MINUS SIGN}")
