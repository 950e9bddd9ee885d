"""The agreement of the record with the model in sentences: the first thing that an audit says."""

from collections.abc import Iterator
from itertools import groupby

from recourse_audit.records.agreement import Agreement, BetterRule
from recourse_audit.render.answers import amount
from recourse_audit.render.text import plain

NAMED = 3
MEANING = (
    "Where they differ, the file may not be the deployed model, or the data or the decision rule "
    "may not be the deployed ones."
)


def agreement_sentences(agreement: Agreement) -> tuple[str, ...]:
    """How many agree; then who does not, and what would explain it."""
    return tuple(_sentences(agreement))


def _sentences(found: Agreement) -> Iterator[str]:
    people = "person" if found.compared == 1 else "people"
    yield (
        f"The model's decisions and those on record (column {plain(found.column)}) agree for "
        f"{found.agreeing:,} of {found.compared:,} {people} ({percent(found.share)})."
    )
    if found.unrecorded or found.undecided:
        yield (
            f"Not compared: {found.unrecorded:,} without a decision on record, "
            f"{found.undecided:,} without an answer of the model."
        )
    if not found.disagreeing:
        return
    differing = [one for one in found.by_class if one.recorded != one.decided]
    pairs = (
        f"{one.people:,} {plain(one.recorded)} on record and {plain(one.decided)} by the model"
        for one in differing
    )
    yield f"Differences: {'; '.join(pairs)}. {MEANING}"
    if found.better is not None:
        yield _better(found.better, found)
    if found.outside:
        which = "has" if found.outside == 1 else "have"
        names = ", ".join(map(plain, found.outside_features))
        yield (
            f"{found.outside:,} of those on whom they differ {which} features outside the range of "
            f"everybody on whom they agree: {names}."
        )
    for attribute, groups in groupby(found.by_group, key=lambda one: one.attribute):
        shares = (
            f"{plain(one.group) or 'unknown'} {percent(one.agreeing / one.compared)}"
            for one in groups
        )
        yield f"Agreement by {plain(attribute)}: {', '.join(shares)}."
    if found.examples:
        some = (
            f"{plain(one.id)} ({plain(one.recorded)} on record, {plain(one.decided)} by the model)"
            for one in found.examples[:NAMED]
        )
        yield f"For example {', '.join(some)}."


def _better(rule: BetterRule, found: Agreement) -> str:
    would = f"{rule.agreeing:,} of {found.compared:,} would agree"
    if rule.kind == "cut_off" and rule.cut_off is not None:
        return f"With a cut-off of {_cut_off(rule.cut_off)}, {would}: check decision.cut_off."
    order = ", ".join(map(plain, rule.classes))
    return f"With the classes in the order {order}, {would}: check decision.classes."


def _cut_off(value: float) -> str:
    return f"{value:.6g}" if abs(value) < 1000 else amount(value)


def percent(share: float) -> str:
    """A share in per cent; what is just short of all or nothing is not rounded to it."""
    if 0.9995 <= share < 1:
        return "just under 100%"
    return "under 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"
