"""Everything that a group report says in words of its own, so that pages can say it in others.

Records hold these English texts; `render` finds out which one it has before it and takes the words
of its own catalogue. A text with a part that varies ends with that part.
"""

from typing import Literal

UNKNOWN = "unknown"  # the group of people without a value
NO_VALUE = f"{UNKNOWN} (no value)"  # the same where a group of the user has that name
FEWEST_TIED = 100
FEWEST_EFFECTIVE = 10
# Nobody could read a larger table, and its small cells would force most others to be withheld.
MOST_CELLS = 400

Part = Literal["approvals", "refusals", "options", "details", "calibration"]

# Why a gap was not tested.
NO_TIES = f"fewer than {FEWEST_TIED} people have ties, and the test was never tried on so few"
UNLIKE = "the labels of these groups clump as no redrawn labels do"
FEW_CASES = "too few cases: by chance, less than one would be expected in one of the groups"
ALIKE = "everybody is alike"
FEW_EFFECTIVE = (
    "because people who are tied are alike, the smaller group counts for fewer than "
    f"{FEWEST_EFFECTIVE} people, and no gap could be shown"
)

# Why nothing is compared in a table.
FEW_GROUPS = "Fewer than two known groups are shown, so none are compared."
REFERENCE_WITHHELD = "The reference group is withheld, so nothing is compared with it."
TOO_LARGE = f" is left out: it would have more than {MOST_CELLS} groups"

# Refusals on own data alone.
OWN_NOT_KNOWN = (
    "It is not known for everybody what the model would decide on their own data alone: it was not "
    "asked, or its answer is not a number."
)
OWN_NOT_SHOWN = (
    "Refusals on own data alone are withheld, so that nothing follows about a few people."
)
OWN_SOME_NOT_SHOWN = (
    "In some tables, refusals on own data alone are withheld, so that nothing follows about a few "
    "people."
)

# Common actions.
ACTIONS_NOT_ASKED = "No common actions were tried in this audit (recourse.common_actions)."
ACTIONS_NOT_SHOWN = (
    "What common actions do is withheld, because too few people were audited to show it."
)

# Whom options cut off.
NO_TIE_DROPPED = "no option drops a tie"

# How decisions turned out.
PART_NAMES: dict[Part, str] = {
    "approvals": "false approvals",
    "refusals": "false refusals",
    "options": "who was refused, had a good outcome and has no option",
    "details": "how those without an option divide into certified infeasible and not found",
    "calibration": "the calibration of the score",
}
ERRORS_NOT_SHOWN = "Error rates are withheld, so that nothing follows about a few people."
FEW_OUTCOMES = (
    "False refusals are not computed: that takes the outcomes of 95 % of the refused, and those of "
    "people who were refused are rarely seen."
)
PARTS_WITHHELD = "Withheld, so that nothing follows about a few people: "
PARTS_WITHHELD_IN_TABLES = "In some tables these are withheld for the same reason: "
FEW_OUTCOMES_IN = (
    "No false refusals are computed where the outcomes of fewer than 95 % of the refused "
    "are known: "
)
BETWEEN_PARTS = "; "


def parts_of(listed: str) -> tuple[Part, ...]:
    """The parts of error rates that a note lists after its beginning."""
    named = {name: part for part, name in PART_NAMES.items()}
    return tuple(named[one] for one in listed.removesuffix(".").split(BETWEEN_PARTS))
