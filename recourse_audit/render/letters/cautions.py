"""What the caveats of a document say about the changes of one option, and nothing else.

A caveat is about the ties that one counterfactual removes. It speaks of an option only if the
option ends all of those ties; what it found about ties that stay is no caution for this option.
"""

import re
from collections.abc import Iterable
from typing import Any, Literal

Caution = Literal["holds", "weakens", "reverses", "unmeasured", "none"]
# The gravest first.
GRADES: tuple[Caution, ...] = ("reverses", "weakens", "unmeasured", "holds")
_CAUTIONS: dict[str | None, Caution] = {
    "holds": "holds",
    "weakens": "weakens",
    "reverses": "reverses",
    None: "unmeasured",
}
_ABOUT = re.compile(r"counterfactual (\d+)")
Pairs = frozenset[frozenset[str]]


class Cautions:
    """The caveats of one document, by the ties that they are about."""

    def __init__(self, document: dict[str, Any]) -> None:
        removed = [_pairs(one["removed"]) for one in document["counterfactuals"]]
        self._about: list[tuple[Pairs, Caution]] = []
        self._unbounded = False
        for caveat in document["caveats"]:
            found = _ABOUT.fullmatch(caveat["about"])
            if caveat["kind"] == "confounders" and found and int(found[1]) <= len(removed):
                self._about.append((removed[int(found[1]) - 1], _CAUTIONS[caveat["grade"]]))
            # The model's reach is unknown, so that nothing could be measured about any tie.
            self._unbounded |= caveat["kind"] == "unknown_reach"

    def of(self, actions: Iterable[dict[str, Any]]) -> Caution:
        """The gravest of what was found about the ties that an option ends."""
        ended = _pairs(action["tie"] for action in actions if action["do"] == "drop")
        found = {caution for removed, caution in self._about if removed and removed <= ended}
        if self._unbounded and ended:
            found.add("unmeasured")
        return gravest(found)


def gravest(cautions: Iterable[Caution]) -> Caution:
    """The gravest of some cautions."""
    found = set(cautions)
    return next((caution for caution in GRADES if caution in found), "none")


def _pairs(ties: Iterable[Iterable[str]]) -> Pairs:
    """Ties without direction, since a counterfactual removes all that is between two people."""
    return frozenset(frozenset(tie) for tie in ties)
