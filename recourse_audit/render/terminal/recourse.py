"""What a person could change, in a terminal: the status in a sentence, the options, the proof."""

from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from recourse_audit.records.recourse import (
    Action,
    Certificate,
    Holding,
    Option,
    Recourse,
    SideEffects,
    WhatIf,
)
from recourse_audit.records.report import Decision
from recourse_audit.render.text import columns, number, plain, share

NAMES_SHOWN = 4
WIDTH_OF_TABLE = 110
ALREADY = "The decision is favourable already: there is nothing to change."
NOT_FOUND = "No option was found within the budget; there may be one."


def show_recourse(console: Console, decision: Decision, recourse: Recourse) -> None:
    """The status, the options cheapest first, and how far the search for them looked."""
    console.print(Padding(_status(recourse), (1, 2, 0, 2)))
    if recourse.options:
        wide = console.width >= WIDTH_OF_TABLE
        table = columns("", *HEADINGS) if wide else columns("", "", show_header=False)
        for place, option in enumerate(recourse.options, start=1):
            cells = list(_cells(decision, option))
            if wide:
                table.add_row(str(place), *cells)
            else:
                named = zip(HEADINGS, cells, strict=True)
                lines = (f"{name}: {cell}" for name, cell in named if cell)
                table.add_row(str(place), "\n".join(lines))
        console.print(Padding(table, (0, 2)))
    if recourse.status in ("verified", "certified_infeasible", "not_found_within_budget"):
        proof = Text(certificate_sentence(recourse), style="dim")
        console.print(Padding(proof, (1, 2, 0, 2)))


HEADINGS = ("change", "cost", "decision", "margin", "still works", "others")


def show_what_if(console: Console, decision: Decision, found: WhatIf) -> None:
    """What the model decides after changes chosen by hand, and what the policy says to them."""
    style = "bold green" if found.favourable else "bold red"
    before = decision.probabilities.get(found.decision, 0.0)
    line = Text.assemble(
        "What if ",
        "; ".join(worded(action) for action in found.actions),
        ": decided ",
        (plain(found.decision), style),
        f" with probability {share(found.probabilities[found.decision])} (now {share(before)}), "
        f"margin {found.margin:+.3f} (now {found.margin_before:+.3f})",
    )
    console.print(Padding(line, (1, 2, 0, 2)))
    for sentence in found.forbidden:
        words = Text(f"The policy would not suggest it: {plain(sentence)}.", style="yellow")
        console.print(Padding(words, (0, 2)))


def worded(action: Action) -> str:
    """One change in plain words."""
    if action.do == "set":
        along = "".join(f", {_moved(one)}" for one in action.implied)
        return f"{_moved(action)}{f' (so{along[1:]})' if along else ''}"
    assert action.tie is not None
    one, other = (plain(end) for end in action.tie)
    return f"{action.do} the {plain(action.kind or '')} tie {one} - {other}"


def _moved(action: Action) -> str:
    unit = f" {plain(action.unit)}" if action.unit else ""
    return f"{plain(action.attribute or '')} {action.before:.12g} → {action.after:.12g}{unit}"


def _status(recourse: Recourse) -> Text:
    style = "red" if recourse.status == "error" else ""
    opening = "What could change it: " if recourse.status == "verified" else ""
    return Text(opening + status_sentence(recourse), style=style)


def status_sentence(recourse: Recourse) -> str:
    """Whether something could change the decision, and how sure that is."""
    match recourse.status:
        case "already_favourable":
            return ALREADY
        case "verified":
            several = number(len(recourse.options), "option")
            where = "" if recourse.checked_by == "neighbourhood" else ", asked on the whole graph"
            return f"{several} that the model confirms{where}"
        case "certified_infeasible":
            upto = number(recourse.certificate.max_changes, "permitted change")
            none = f"No combination of at most {upto} changes the decision."
            return plain(recourse.reason) or none
        case "not_found_within_budget":
            return NOT_FOUND
        case _:
            return f"No options worked out: {plain(recourse.reason)}"


def _cells(decision: Decision, option: Option) -> Iterator[str]:
    yield "\n".join(worded(action) for action in option.actions)
    yield f"{option.cost:g}"
    before = decision.probabilities.get(option.decision, 0.0)
    after = share(option.probabilities[option.decision])
    yield f"{plain(option.decision)} {share(before)} → {after}"
    yield f"{option.margin:+.3f}"
    yield "\n".join(holding_lines(option.holds))
    yield "\n".join(others_lines(option.others))


def holding_lines(holds: Holding | None) -> tuple[str, ...]:
    """How often an option still works, and how far these shares may lie with other draws."""
    if holds is None:
        return ("not drawn",)
    return (
        f"{holds.ties:.0%} with other ties",
        _of_draws(holds.ties_count, holds.draws, holds.ties_interval),
        f"{holds.attributes:.0%} with other values",
        _of_draws(holds.attributes_count, holds.draws, holds.attributes_interval),
    )


def _of_draws(count: int, draws: int, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"({count} of {draws}: {100 * low:.0f} to {high:.0%})"


def others_lines(others: SideEffects) -> tuple[str, ...]:
    """Whose other decisions an option changes, a line for each way."""
    if not others.measured:
        return ("not measured",)
    parts = []
    for words, names in (
        ("better for", others.to_favourable),
        ("worse for", others.to_unfavourable),
        ("other for", others.other),
    ):
        if names:
            more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
            parts.append(f"{words} {', '.join(map(plain, names[:NAMES_SHOWN]))}{more}")
    return tuple(parts) or ("nobody",)


def certificate_sentence(recourse: Recourse) -> str:
    """How far the search looked, in plain words."""
    proof = recourse.certificate
    sets = number(proof.possible, "combination")
    upto = number(proof.max_changes, "permitted change")
    if not proof.possible:
        return f"There was nothing to try. {_permitted(proof)}".rstrip()
    if proof.tried == proof.possible:
        looked = f"All {sets} of at most {upto} were tried"
    elif proof.exhaustive:
        looked = (
            f"Of {sets} of at most {upto} {proof.tried:,} were tried; the rest hold one that works"
        )
    else:
        looked = f"Of {sets} of at most {upto} {proof.tried:,} were tried"
        if proof.complete_up_to:
            looked += f", all of those of at most {number(proof.complete_up_to, 'change')} included"
    return f"{looked}. {_permitted(proof)} {plain(proof.reason)}".rstrip()


def _permitted(proof: Certificate) -> str:
    permitted = proof.permitted
    parts = [
        f"{number(permitted.drop, 'tie')} to drop" if permitted.drop else "",
        f"{number(permitted.add, 'tie')} to add" if permitted.add else "",
        *(f"{plain(name)} ({number(n, 'level')})" for name, n in permitted.set.items()),
    ]
    named = ", ".join(part for part in parts if part)
    never = f" Never suggested: {number(proof.denied, 'tie')}." if proof.denied else ""
    return (f"Permitted: {named}." if named else "") + never
