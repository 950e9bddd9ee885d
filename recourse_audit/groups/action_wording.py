"""Words for common actions: what they are, and the smallest sets of them."""

from collections.abc import Iterator, Sequence

from recourse_audit.groups.wording import percent
from recourse_audit.records.group_actions import ActionSet, CommonActions

TITLE = "One action for all"
WHAT = (
    "The same changes, one at a time, were tried on everybody refused and audited. An action "
    "serves a person if the decision is favourable with this change alone. Shares are of everybody "
    "audited in a group, people to whom the action does not apply included. A plus means that the "
    "action serves a smaller share of the group than of the reference."
)
FEW_OR_ALL = "it serves fewer people than groups.smallest, or all"
SHARES = {0.5: "half of them", 0.8: "80 % of them", 0.9: "90 % of them"}


def introduction(found: CommonActions, smallest: int) -> str:
    """What the figures are; or why there are none."""
    if found.note:
        return found.note
    hidden = sum(one.served.everybody is None for one in found.actions)
    if not hidden:
        return WHAT
    which = "1 serves" if hidden == 1 else f"{hidden} serve"
    they = "it has no figures and is" if hidden == 1 else "they have no figures and are"
    return (
        f"{WHAT} Of {len(found.actions)} actions, {which} fewer than {smallest} people, or all; "
        f"{they} in no set."
    )


def any_of(found: CommonActions, numbers: Sequence[int]) -> str:
    """Actions of a set in one line: drop one payment tie or raise savings by 5,000 euros."""
    names = [str(found.actions[number].action) for number in numbers]
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def set_sentences(found: CommonActions) -> Iterator[str]:
    """The smallest sets in sentences, the widest first."""
    every = [one for one in found.sets if one.of == "of the served"]
    for one in every[-1:]:
        served = one.served.everybody
        if served is not None:
            yield (
                f"{served.count:,} of {served.of:,} audited people ({percent(served.share)}) are "
                f"served by at least one of the actions with figures. {_smallest(one)} that serves "
                f"all of them: {any_of(found, one.actions)}."
            )
    for one in every[:-1]:
        yield from _sentence(found, one, SHARES[one.share])
    for one in found.sets:
        if one.of == "of everybody":
            yield from _sentence(found, one, f"{one.share:.0%} of everybody audited")
    if every and not any(one.of == "of everybody" for one in found.sets):
        yield "No set of actions serves half of everybody audited."


def _sentence(found: CommonActions, one: ActionSet, whom: str) -> Iterator[str]:
    served = one.served.everybody
    if served is not None:
        yield (
            f"{_smallest(one)} that serves {whom}: {any_of(found, one.actions)} "
            f"({served.count:,} people, {percent(served.share)} of everybody audited)."
        )


def _smallest(one: ActionSet) -> str:
    size = len(one.actions)
    actions = "1 action" if size == 1 else f"{size} actions"
    return f"The smallest set ({actions})" if one.exact else f"A small set ({actions})"
