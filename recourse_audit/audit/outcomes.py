"""What came true later, by a column of the nodes: good, bad, or not known.

Error rates by group rest on it, so nothing is guessed: a value that says neither yes nor no is
refused, unless the settings say what it means, and an empty cell stays unknown.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from recourse_audit.audit.grouping import group_values
from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.arrays import Graph, Ints
from recourse_audit.graph.columns import near_matches
from recourse_audit.settings import DecisionSettings, Settings

GOOD, BAD, NOT_KNOWN = 1, 0, -1
SAYS_GOOD, SAYS_BAD = frozenset({"yes", "true", "1"}), frozenset({"no", "false", "0"})


def known_outcomes(settings: Settings, graph: Graph, seen: Iterable[str] = ()) -> Ints | None:
    """Everybody's outcome: `GOOD`, `BAD` or `NOT_KNOWN`; None without such a column.

    `seen` are the columns that the model's features depend on, besides the features themselves.
    """
    decision = settings.decision
    name = decision.outcome
    if name is None:
        return None
    if name not in graph.column_names:
        raise SettingsError(
            f"decision.outcome: the nodes have no column {name!r}; "
            f"{near_matches(name, graph.column_names)}"
        )
    _refuse_other_uses(settings, name, {*graph.feature_names, *seen})
    values = group_values(graph, name)
    outcomes = _named(decision, values) if decision.good_outcome else _said(settings, graph, values)
    if (outcomes == NOT_KNOWN).all():
        raise SettingsError(
            f"decision.outcome: column {name!r} has nobody's outcome; fill it in, or leave out the "
            "setting"
        )
    return outcomes


def _refuse_other_uses(settings: Settings, name: str, seen: set[str]) -> None:
    """An outcome that the model sees, or that makes groups, would give itself away."""
    by = settings.decision.cut_off_by
    uses = {
        "the model's features depend on it": name in seen,
        "it is in groups.attributes": name in settings.groups.attributes,
        "it is in recourse.attributes": any(
            one.name == name for one in settings.recourse.attributes
        ),
        "decision.cut_off_by decides by it": by is not None and by.column == name,
    }
    for use, true in uses.items():
        if true:
            raise SettingsError(
                f"decision.outcome: {name!r} says what came true after the decision, but {use}; "
                "take it out there, or name another column"
            )


def _said(settings: Settings, graph: Graph, values: Sequence[str]) -> Ints:
    """Outcomes by values that say yes or no."""
    meaning = {"": NOT_KNOWN}
    for value in dict.fromkeys(values):
        text = value.strip().casefold()
        if text in SAYS_GOOD or text in SAYS_BAD:
            meaning[value] = GOOD if text in SAYS_GOOD else BAD
        elif text:
            source, row = settings.graph, values.index(value)
            raise GraphError(
                f"{source.origin}: the outcome of {graph.ids[row]} "
                f"is {value!r} (column {settings.decision.outcome!r}), which is neither yes nor "
                "no, true nor false, 1 nor 0; correct it, leave it empty if it is not known, or "
                "say which values are good in decision.good_outcome"
            )
    return np.array([meaning.get(value, NOT_KNOWN) for value in values], np.int64)


def _named(decision: DecisionSettings, values: Sequence[str]) -> Ints:
    """Outcomes by the values that the settings name."""
    there = [value for value in dict.fromkeys(values) if value]
    for key in ("good_outcome", "bad_outcome"):
        for value in getattr(decision, key):
            if value not in there:
                raise SettingsError(
                    f"decision.{key}: nobody's {decision.outcome!r} is {value!r}; "
                    f"{near_matches(value, there)}"
                )
    others = [value for value in there if value not in decision.good_outcome]
    if not decision.bad_outcome and len(others) > 1:
        some = ", ".join(repr(value) for value in others[:3])
        raise SettingsError(
            f"decision.good_outcome: leaves {len(others)} values of {decision.outcome!r} ({some}"
            f"{', …' if len(others) > 3 else ''}); name those that are bad in "
            "decision.bad_outcome, and the others will count as not known"
        )
    meaning = dict.fromkeys(decision.bad_outcome or others, BAD)
    meaning |= dict.fromkeys(decision.good_outcome, GOOD)
    return np.array([meaning.get(value, NOT_KNOWN) for value in values], np.int64)
