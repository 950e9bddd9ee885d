"""What a letter must say about the ties that an option ends, by the caveats of the report."""

from collections.abc import Iterable
from typing import Literal

from recourse_audit.records.recourse import Action, SetAction
from recourse_audit.records.search import Tie
from recourse_audit.records.subject import Caveat, Grade, SubjectReport

Caution = Grade | Literal["holds_mostly", "unmeasured", "none"]
# The gravest first.
CAUTIONS: tuple[Caution, ...] = (
    "reverses",
    "no_effect",
    "weakens",
    "not_settled",
    "unmeasured",
    "holds_mostly",
    "holds",
)


def gravest(cautions: Iterable[Caution]) -> Caution:
    """The gravest of some cautions; "none" if there are none."""
    found = set(cautions)
    return next((caution for caution in CAUTIONS if caution in found), "none")


_Pairs = frozenset[frozenset[str]]


class Cautions:
    """What the caveats of a report say about the ties that an option ends.

    A caveat is about the ties that one counterfactual removes, so it bears on an option only if
    the option ends all of those ties.
    """

    def __init__(self, report: SubjectReport) -> None:
        removed = [_pairs(found.removed) for found in report.counterfactuals]
        self._found: list[tuple[_Pairs, Caution]] = [
            (removed[caveat.counterfactual - 1], _caution(caveat))
            for caveat in report.caveats
            if caveat.kind == "confounders"
            and caveat.counterfactual is not None
            and caveat.counterfactual <= len(removed)
        ]
        # If the model's reach is unknown, nothing could be measured about any tie.
        self._unmeasured = any(caveat.kind == "unknown_reach" for caveat in report.caveats)

    def about(self, actions: Iterable[Action]) -> Caution:
        """The gravest caution about the ties that these actions end."""
        drops = (a for a in actions if not isinstance(a, SetAction) and a.do == "drop")
        ended = _pairs(tie for action in drops for tie in action.ties)
        found = {caution for removed, caution in self._found if removed and removed <= ended}
        if self._unmeasured and ended:
            found.add("unmeasured")
        return gravest(found)


def _caution(caveat: Caveat) -> Caution:
    """What a caveat on confounders says: its grade, and whether one that holds always does."""
    effect = caveat.effect
    if caveat.grade is None:
        return "unmeasured"
    if caveat.grade == "holds" and effect is not None and effect.depends_on_whom:
        return "holds_mostly"
    return caveat.grade


def _pairs(ties: Iterable[Tie]) -> _Pairs:
    """Ties without direction: a counterfactual removes every tie between two people."""
    return frozenset(frozenset(tie) for tie in ties)
