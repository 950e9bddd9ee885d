"""Which group everybody is in: the values of protected attributes, with numbers cut into bins."""

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import SettingsError
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.columns import near_matches
from recourse_audit.settings import GroupSettings

MOST_NUMBERS = 20
# Comparing groups takes memory for every person in every group of an attribute or a crossing.
MOST_GROUPS, MOST_CROSSED = 250, 1000


def group_values(graph: Graph, attribute: str) -> list[str]:
    """Everybody's value of an attribute as text; "" where it is unknown."""
    values = _column(graph, attribute)
    if values.dtype.kind != "f":
        return [str(value) for value in values.tolist()]
    return [_figure(value) for value in values]


def groups_by(graph: Graph, settings: GroupSettings, attribute: str) -> list[str]:
    """Everybody's group: the value of an attribute, or the label of the bin it falls into."""
    edges = settings.bins.get(attribute)
    if edges is None:
        return group_values(graph, attribute)
    values = _column(graph, attribute)
    # An edge is as exact as the column: 0.7 in single precision is less than 0.7 in double.
    inner = np.array(edges, values.dtype if values.dtype.kind == "f" else float)
    places: list[int] = np.searchsorted(inner, values, side="right").tolist()
    known: list[bool] = np.isfinite(values.astype(float)).tolist()
    labels = bin_labels(edges)
    return [labels[place] if ok else "" for place, ok in zip(places, known, strict=True)]


def bin_labels(edges: Sequence[float]) -> list[str]:
    """What the bins between some edges are called; an edge belongs to the bin above it."""
    shown = [_figure(np.float64(edge)) for edge in edges]
    inner = [f"{low} to under {high}" for low, high in pairwise(shown)]
    return [f"under {shown[0]}", *inner, f"{shown[-1]} and over"]


def check_groups(graph: Graph, settings: GroupSettings) -> None:
    """Refuse groups that could not be compared, before any work is done."""
    known = graph.column_names
    column = settings.communities
    if settings.attributes and column is not None and column not in known:
        raise SettingsError(
            f"groups.communities: the nodes have no column {column!r}; "
            f"{near_matches(column, known)}"
        )
    if settings.attributes and column is not None and len({*group_values(graph, column)}) < 2:
        raise SettingsError(
            f"groups.communities: everybody has the same value in {column!r}, so it divides "
            "nobody; name another column, or leave it out"
        )
    everybody = {}
    for attribute in settings.attributes:
        _check_numbers(graph, settings, attribute)
        everybody[attribute] = groups_by(graph, settings, attribute)
        groups = sorted({*everybody[attribute]} - {""})
        _check_differences(settings, attribute, groups)
        _check_count(attribute, groups)
        wanted = settings.reference.get(attribute)
        if wanted is not None and wanted not in groups:
            raise SettingsError(
                f"groups.reference: there is nobody whose {attribute!r} is {wanted!r}; "
                f"{near_matches(wanted, groups)}"
            )

    if settings.crossed:
        for one, other in combinations(everybody, 2):
            _check_crossed(one, other, {*zip(everybody[one], everybody[other], strict=True)})


def _check_count(attribute: str, groups: list[str]) -> None:
    if len(groups) > MOST_GROUPS:
        some = ", ".join(repr(group) for group in groups[:2])
        raise SettingsError(
            f"groups.attributes: {attribute!r} has {len(groups):,} different values ({some}, …), "
            f"and at most {MOST_GROUPS} groups are compared; name a column with wider groups, or "
            "leave it out"
        )


def _check_crossed(one: str, other: str, groups: set[tuple[str, str]]) -> None:
    if len(groups) > MOST_CROSSED:
        raise SettingsError(
            f"groups.attributes: {one!r} and {other!r} have {len(groups):,} combinations, and at "
            f"most {MOST_CROSSED:,} are compared; set crossed = false, or name columns with wider "
            "groups"
        )


def _check_numbers(graph: Graph, settings: GroupSettings, attribute: str) -> None:
    values = _column(graph, attribute)
    numeric, binned = values.dtype.kind in "iuf", attribute in settings.bins
    if binned and not numeric:
        raise SettingsError(
            f"groups.bins: {attribute!r} does not hold numbers, so it has no bins; leave it out"
        )
    if not numeric or binned:
        return
    finite = values[np.isfinite(values.astype(float))]
    different = len(np.unique(finite))
    if different > MOST_NUMBERS:
        middle = _figure(np.float64(f"{float(np.median(finite)):.3g}"))
        raise SettingsError(
            f"groups.attributes: {attribute!r} has {different:,} different numbers, too many for "
            f"groups; give the edges between groups, as in bins = {{ {attribute} = [{middle}] }}"
        )


def _check_differences(settings: GroupSettings, attribute: str, groups: list[str]) -> None:
    if len(groups) > 1:
        return
    if not groups:
        what = f"nobody's {attribute!r} is known"
    else:
        what = f"everybody's {attribute!r} is {groups[0]!r} or unknown"
    remedy = ", or change its bins" if attribute in settings.bins else ""
    raise SettingsError(
        f"groups.attributes: {what}, so there are no groups to compare; leave it out{remedy}"
    )


def _column(graph: Graph, attribute: str) -> NDArray[np.generic]:
    return graph.columns[attribute]


def _figure(value: np.generic) -> str:
    number = value.item()
    if not np.isfinite(number):
        return ""
    return str(int(number)) if number == int(number) else str(value)
