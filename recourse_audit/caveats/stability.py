"""How far explanations and options move when the graph or the model is perturbed.

Section V-C of the paper: an explanation must change when the mechanism behind a decision changes,
and stay when it does not. Distances are Jaccard distances: of the people in the winning
explanations, and of what the offered options touch. Subjects whose decision changed are kept apart
from those whose decision did not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recourse_audit.graph.arrays import Floats, Graph, Ties, build_graph
from recourse_audit.records.caveats import StabilityPoint, StabilityRow
from recourse_audit.records.recourse import Action, Recourse, SetAction
from recourse_audit.records.search import SearchResult
from recourse_audit.recourse.variants import new_ties

POINTS = 5
# Statuses that say which options there are, or that there are none.
KNOWN = ("verified", "certified_infeasible")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a subject stands: probabilities, who explains the decision, what the options touch.

    A field is None where there is nothing to compare: there is no explanation or it moves nothing,
    no option was searched for (the decision is favourable), or the budget ended before one was
    found. A subject certified to have no option has an empty set of options.
    """

    decision: str
    probabilities: Floats
    explained_by: frozenset[str] | None
    options: frozenset[str] | None


def standing(
    decision: str, probabilities: Floats, search: SearchResult | None, recourse: Recourse | None
) -> Standing:
    """Take from a subject's results what is compared."""
    found = search.counterfactuals if search is not None and not search.moves_nothing else ()
    return Standing(
        decision=decision,
        probabilities=probabilities,
        explained_by=frozenset(found[0].explanation.nodes) if found else None,
        options=frozenset(_touched(recourse)) if recourse and recourse.status in KNOWN else None,
    )


def _touched(recourse: Recourse) -> list[str]:
    return [_touches(action) for option in recourse.options for action in option.actions]


def _touches(action: Action) -> str:
    """What a change touches, whatever it does with it."""
    if isinstance(action, SetAction):
        return repr(action.attribute)
    return repr((action.do, *sorted(action.tie), action.kind))


def moved(subject: str, perturbation: str, before: Standing, after: Standing) -> StabilityRow:
    """Compare two standings of one subject; the strength is how far the answer itself moved.

    It is the total variation distance of the two answers: half the sum of absolute differences.
    """
    strength = 0.5 * float(np.abs(before.probabilities - after.probabilities).sum())
    return StabilityRow(
        subject=subject,
        perturbation=perturbation,
        strength=round(strength, 6),
        changed=before.decision != after.decision,
        explanation=jaccard(before.explained_by, after.explained_by),
        options=jaccard(before.options, after.options),
    )


def jaccard(one: frozenset[str] | None, other: frozenset[str] | None) -> float | None:
    """The Jaccard distance of two sets: 0 for two empty ones, None if one is not known."""
    if one is None or other is None:
        return None
    either = one | other
    return round(1 - len(one & other) / len(either), 6) if either else 0.0


def curve(rows: Sequence[StabilityRow], *, changed: bool) -> tuple[StabilityPoint, ...]:
    """Mean distances over rows of growing strength, in at most five runs of about equal length."""
    some = sorted(
        (row for row in rows if row.changed == changed and row.explanation is not None),
        key=lambda row: row.strength,
    )
    points = []
    for run in np.array_split(np.arange(len(some)), min(POINTS, len(some)) or 1):
        part = [some[place] for place in run]
        if part:
            options = [row.options for row in part if row.options is not None]
            points.append(
                StabilityPoint(
                    strength=round(float(np.mean([row.strength for row in part])), 6),
                    explanation=round(float(np.mean([row.explanation or 0.0 for row in part])), 6),
                    options=round(float(np.mean(options)), 6) if options else None,
                    rows=len(part),
                )
            )
    return tuple(points)


def linked(graph: Graph, subject: int, other: int) -> Graph:
    """The graph with one more tie from the subject, of the kind that they have most of.

    Its weight and attributes are the usual ones for ties of that kind.
    """
    ties = graph.ties
    own = ties.kind[(ties.source == subject) | (ties.target == subject)]
    kind = int(np.bincount(own if len(own) else ties.kind, minlength=1).argmax())
    usual = new_ties(graph)
    changed = build_graph(
        ids=graph.ids,
        features=graph.features,
        feature_names=graph.feature_names,
        attributes=graph.attributes,
        directed=graph.directed,
        ties=Ties(
            source=np.append(ties.source, np.int32(subject)),
            target=np.append(ties.target, np.int32(other)),
            kind=np.append(ties.kind, ties.kind.dtype.type(kind)),
            kinds=ties.kinds,
            weight=_with_row(ties.weight, usual.weight, kind),
            attributes=_with_row(ties.attributes, usual.attributes, kind),
        ),
    )
    return replace(changed, more=graph.more)


def _with_row(
    column: NDArray[np.float32] | None, usual: NDArray[np.float32] | None, kind: int
) -> NDArray[np.float32] | None:
    """A column of the table of ties, with the usual value for a kind appended."""
    if column is None or usual is None:
        return None
    return np.concatenate((column, usual[kind : kind + 1]))
