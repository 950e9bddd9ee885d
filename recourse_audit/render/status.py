"""The words for each status of a subject, and for how far the search for options looked."""

from collections.abc import Sequence
from dataclasses import dataclass

from recourse_audit.records.recourse import (
    AskedOn,
    Certificate,
    LeftOut,
    Option,
    Recourse,
    RecourseStatus,
)
from recourse_audit.render.text import number, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusWords:
    """A status in a table, as the start of a paragraph, and explained in a sentence."""

    name: str
    heading: str
    meaning: str


STATUS_WORDS: dict[RecourseStatus, StatusWords] = {
    "already_favourable": StatusWords(
        name="already favourable",
        heading="Already favourable",
        meaning="The decision is favourable; there is nothing to change.",
    ),
    "verified": StatusWords(
        name="has an option",
        heading="Has an option",
        meaning="At least one option, each confirmed by the model.",
    ),
    "certified_infeasible": StatusWords(
        name="none exists within the limits",
        heading="None exists within the limits",
        meaning="Every permitted combination was tried or covered; none works.",
    ),
    "not_found_within_budget": StatusWords(
        name="not decided: the search stopped early",
        heading="Not decided: the search stopped early",
        meaning="The budget was used up first; there may be an option.",
    ),
    "model_disagrees": StatusWords(
        name="the model disagrees with the record",
        heading="The model disagrees with the record",
        meaning="The model's decision is not the one on record, so no option was looked for.",
    ),
    "error": StatusWords(
        name="failed",
        heading="Failed",
        meaning="The options could not be determined.",
    ),
}
# The statuses of subjects for whom options were searched for.
SEARCHED: tuple[RecourseStatus, ...] = (
    "verified",
    "certified_infeasible",
    "not_found_within_budget",
)
_PLACES: dict[AskedOn, str] = {
    "whole graph": "on the whole graph",
    "neighbourhood": "on the neighbourhood",
}


def status_sentence(recourse: Recourse) -> str:
    """Whether something could change the decision, and how sure that is."""
    match recourse.status:
        case "already_favourable":
            return "The decision is already favourable: there is nothing to change."
        case "verified":
            count = number(len(recourse.options), "option")
            return f"{count} that the model confirms {_confirmed_on(recourse.options)}."
        case "certified_infeasible":
            limit = number(recourse.certificate.max_changes, "permitted change")
            none = f"No combination of up to {limit} changes the decision."
            return plain(recourse.reason) or none
        case "not_found_within_budget":
            return "No option was found within the budget; there may be one."
        case "model_disagrees":
            return plain(recourse.reason)
        case "error":
            return f"The options could not be determined: {plain(recourse.reason)}"


def _confirmed_on(options: Sequence[Option]) -> str:
    asked = {option.verified_on for option in options}
    return " or ".join(words for place, words in _PLACES.items() if place in asked)


def certificate_sentence(recourse: Recourse) -> str:
    """How far the search for options looked."""
    found = recourse.certificate
    if not found.possible:
        return f"There was nothing to try. {_permitted(found)}".rstrip()
    sets = f"{number(found.possible, 'combination')} (up to {number(found.max_changes, 'change')})"
    left_out = found.left_out.total
    if left_out and found.tried + left_out == found.possible:
        looked = f"{found.tried:,} of {sets} were tried and the others left out"
    elif found.tried == found.possible:
        looked = f"All {sets} were tried"
    elif found.exhaustive:
        apart = ", apart from those left out," if left_out != 0 else ""
        looked = (
            f"{found.tried:,} of {sets} were tried; the others{apart} contain one that already "
            "works"
        )
    else:
        looked = f"{found.tried:,} of {sets} were tried"
        if found.complete_up_to:
            looked += f", including all of up to {number(found.complete_up_to, 'change')}"
    parts = (f"{looked}.", _permitted(found), _left_out(found.left_out), plain(found.reason))
    return " ".join(part for part in parts if part)


def _left_out(found: LeftOut) -> str:
    """What was left out of the permitted combinations, how many, and why."""
    counted = (
        ("because something that moves along would go too far", found.implications),
        ("by the policy's conditions", found.conditions),
        ("because a derived column would have no value", found.formulas),
    )
    parts = [
        f"{'an unknown number' if count is None else f'{count:,}'} {why}"
        for why, count in counted
        if count != 0
    ]
    if not parts:
        return ""
    which = f" ({'; '.join(map(plain, found.why))})" if found.why else ""
    return f"Left out: {', '.join(parts)}{which}."


def _permitted(found: Certificate) -> str:
    permitted = found.permitted
    parts = [
        f"{number(permitted.drop, 'tie')} to drop" if permitted.drop else "",
        f"{number(permitted.add, 'tie')} to add" if permitted.add else "",
        *(f"{plain(name)} ({number(n, 'level')})" for name, n in permitted.set.items()),
    ]
    named = ", ".join(part for part in parts if part)
    never = f" Never suggested: {number(found.denied, 'tie')}." if found.denied else ""
    return (f"Permitted: {named}." if named else "") + never
