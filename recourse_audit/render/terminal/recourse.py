"""What a person could change, in a terminal: the status in a sentence, the options, the proof."""

from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from recourse_audit.records.recourse import (
    Action,
    Move,
    Option,
    Recourse,
    Robustness,
    SetAction,
    SideEffects,
    WhatIf,
)
from recourse_audit.records.subject import Decision, SubjectReport
from recourse_audit.render.answers import margin_words, outcome_words
from recourse_audit.render.status import (
    SEARCHED,
    STATUS_WORDS,
    certificate_sentence,
    status_sentence,
)
from recourse_audit.render.terminal.figures import (
    amount,
    minus,
    percent,
    probability,
    signed,
    signed_amount,
    tidy,
)
from recourse_audit.render.terminal.option_lines import FRAGILE_WORD, is_fragile
from recourse_audit.render.text import columns, plain

NAMES_SHOWN = 4
WIDTH_OF_TABLE = 110
HEADINGS = ("change", "effort", "decision", "margin", "still works", "side effects")


def show_recourse(console: Console, report: SubjectReport, recourse: Recourse) -> None:
    """The status, the options cheapest first, and how far the search for them looked."""
    console.print(Padding(_status(recourse), (1, 2, 0, 2)))
    if recourse.options:
        wide = console.width >= WIDTH_OF_TABLE
        table = columns("", *HEADINGS) if wide else columns("", "", show_header=False)
        for place, option in enumerate(recourse.options, start=1):
            cells = list(_cells(report, option))
            if wide:
                table.add_row(str(place), *cells)
            else:
                named = zip(HEADINGS, cells, strict=True)
                lines = (f"{name}: {cell}" for name, cell in named if cell)
                table.add_row(str(place), "\n".join(lines))
        console.print(Padding(table, (0, 2)))
    if recourse.status in SEARCHED:
        proof = Text(certificate_sentence(recourse), style="dim")
        console.print(Padding(proof, (1, 2, 0, 2)))


def show_what_if(console: Console, found: WhatIf, now: Decision | None = None) -> None:
    """What the model decides after changes chosen by hand, and whether the policy permits them."""
    style = "bold green" if found.favourable else "bold"
    console.print(Padding(Text(what_if_sentence(found, now), style=style), (1, 2, 0, 2)))
    for sentence in what_if_notes(found):
        console.print(Padding(Text(sentence, style="yellow"), (0, 2)))


def what_if_sentence(found: WhatIf, now: Decision | None = None) -> str:
    """The changes, and what is decided with them."""
    changes = "; ".join(worded(action) for action in found.actions)
    return f"What if {changes}: decided {plain(found.decision)}{_answered(found, now)}"


def what_if_notes(found: WhatIf) -> Iterator[str]:
    """What the policy says against the changes, and which values nobody has."""
    for sentence in found.forbidden:
        yield f"The policy would not suggest this: {plain(sentence)}."
    for number in found.outside:
        end = ("lowest", number.lowest) if number.side == "below" else ("highest", number.highest)
        unit = f" {plain(number.unit)}" if number.unit else ""
        value = f"{plain(number.attribute)} = {amount(number.value)}"
        yield (
            f"Nobody in the graph has a value like {value}: "
            f"the {end[0]} is {amount(end[1])}{unit}. The model's answer there is an extrapolation."
        )


def _answered(found: WhatIf, now: Decision | None) -> str:
    """The answer after the changes and before them, and the margins."""
    if not found.probabilities and found.score is not None and found.score_before is not None:
        return (
            f" with a score of {amount(found.score)} (now {amount(found.score_before)}), margin "
            f"{signed_amount(found.margin)} (now {signed_amount(found.margin_before)})"
        )
    before = ""
    if now is not None:
        before = f" (now {probability(now.probabilities.get(found.decision, 0.0))})"
    return (
        f" with probability {probability(found.probabilities[found.decision])}{before}, margin "
        f"{signed(found.margin)} (now {signed(found.margin_before)})"
    )


def worded(action: Action) -> str:
    """One change in plain words."""
    if isinstance(action, SetAction):
        implied = ", ".join(_moved(one) for one in action.implied)
        return f"{_moved(action)}{f' (so {implied})' if implied else ''}"
    one, other = (plain(end) for end in action.tie)
    return f"{action.do} the {plain(action.kind)} tie {one} - {other}"


def _moved(move: SetAction | Move) -> str:
    unit = f" {plain(move.unit)}" if move.unit else ""
    before, after = (
        plain(value) if isinstance(value, str) else minus(f"{value:,.12g}")
        for value in (move.before, move.after)
    )
    return f"{plain(move.attribute)} {before} → {after}{unit}"


def _status(recourse: Recourse) -> Text:
    style = "red" if recourse.status == "error" else ""
    name = STATUS_WORDS[recourse.status].name
    return Text(f"Status: {name}. {tidy(status_sentence(recourse))}", style=style)


def _cells(report: SubjectReport, option: Option) -> Iterator[str]:
    yield "\n".join(worded(action) for action in option.actions)
    yield f"{option.cost:g}"
    yield f"{plain(option.decision)} {tidy(outcome_words(report, option))}"
    yield tidy(margin_words(report.decision, option.margin))
    yield "\n".join(_held(option.robustness))
    yield "\n".join(side_effect_lines(option.side_effects))


def _held(found: Robustness | None) -> Iterator[str]:
    """In how many tests an option still works, by kind of test."""
    if found is None:
        yield "not measured"
        return
    if is_fragile(found):
        yield FRAGILE_WORD
    for words, one in (("other ties", found.ties), ("other values", found.attributes)):
        yield f"{one.count} of {found.draws} with {words}"
        yield f"({percent(one.share)}, {100 * one.low:.0f} to {100 * one.high:.0f})"


def side_effect_lines(found: SideEffects) -> tuple[str, ...]:
    """Whose other decisions an option changes, one line per direction."""
    if not found.measured:
        return ("not measured",)
    parts = []
    for words, names in (
        ("better for", found.to_favourable),
        ("worse for", found.to_unfavourable),
        ("different for", found.other),
    ):
        if names:
            more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
            parts.append(f"{words} {', '.join(map(plain, names[:NAMES_SHOWN]))}{more}")
    return tuple(parts) or ("nobody",)
