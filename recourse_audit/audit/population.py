"""Everybody in the graph: their groups, communities, ties and outcomes, and the decision on them.

Groups are the values of protected attributes, with numbers cut into bins. Communities are those of
a column of the nodes, if the settings name one. Of the ties it is kept who is tied to whom,
whatever their kinds, weights and directions: groups are compared on that graph.

Outcomes are what came true later, by a column of the nodes: good, bad, or not known. Error rates by
group rest on it, so nothing is guessed: a value that says neither yes nor no is refused, unless the
settings say what it means, and an empty cell stays unknown.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.columns import near_matches
from recourse_audit.graph.graph import Graph, Ints
from recourse_audit.model.decisions import NO_DECISION, Decisions
from recourse_audit.records.bundle import Member, Person, TieBlock
from recourse_audit.records.groups import Communities as CommunityRecord
from recourse_audit.settings import DecisionSettings, GroupSettings, Settings

MOST_NUMBERS = 20
# Comparing groups takes memory for every person in every group of an attribute or a crossing.
MOST_GROUPS, MOST_CROSSED = 250, 1000


def group_values(graph: Graph, attribute: str) -> list[str]:
    """Everybody's value of an attribute as text; "" where it is unknown."""
    values = graph.columns[attribute]
    if values.dtype.kind != "f":
        return [str(value) for value in values.tolist()]
    return [_figure(value) for value in values]


def check_column(graph: Graph, key: str, name: str) -> None:
    """Refuse a setting that names a column which the nodes do not have."""
    if name not in graph.column_names:
        raise SettingsError(
            f"{key}: the nodes have no column {name!r}; {near_matches(name, graph.column_names)}"
        )


def groups_by(graph: Graph, settings: GroupSettings, attribute: str) -> list[str]:
    """Everybody's group: the value of an attribute, or the label of the bin it falls into."""
    edges = settings.bins.get(attribute)
    if edges is None:
        return group_values(graph, attribute)
    values = graph.columns[attribute]
    # An edge is as exact as the column: 0.7 in single precision is less than 0.7 in double.
    inner = np.array(edges, values.dtype if values.dtype.kind == "f" else float)
    places: list[int] = np.searchsorted(inner, values, side="right").tolist()
    known: list[bool] = np.isfinite(values.astype(float)).tolist()
    labels = bin_labels(edges)
    return [labels[place] if ok else "" for place, ok in zip(places, known, strict=True)]


def bin_labels(edges: Sequence[float]) -> list[str]:
    """What the bins between some edges are called; an edge belongs to the bin above it."""
    names = [_figure(np.float64(edge)) for edge in edges]
    inner = [f"{low} to under {high}" for low, high in pairwise(names)]
    return [f"under {names[0]}", *inner, f"{names[-1]} and over"]


def check_groups(graph: Graph, settings: GroupSettings) -> None:
    """Refuse groups that could not be compared, before any work is done."""
    column = settings.communities
    if settings.attributes and column is not None:
        check_column(graph, "groups.communities", column)
        if len({*group_values(graph, column)}) < 2:
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
        if len(groups) > MOST_GROUPS:
            first = ", ".join(repr(group) for group in groups[:2])
            raise SettingsError(
                f"groups.attributes: {attribute!r} has {len(groups):,} different values ({first}, "
                f"…), and at most {MOST_GROUPS} groups are compared; name a column with wider "
                "groups, or leave it out"
            )
        wanted = settings.reference.get(attribute)
        if wanted is not None and wanted not in groups:
            raise SettingsError(
                f"groups.reference: there is nobody whose {attribute!r} is {wanted!r}; "
                f"{near_matches(wanted, groups)}"
            )
    for first, second in combinations(everybody, 2) if settings.crossed else ():
        crossed = {*zip(everybody[first], everybody[second], strict=True)}
        if len(crossed) > MOST_CROSSED:
            raise SettingsError(
                f"groups.attributes: {first!r} and {second!r} have {len(crossed):,} combinations, "
                f"and at most {MOST_CROSSED:,} are compared; set crossed = false, or name columns "
                "with wider groups"
            )


def _check_numbers(graph: Graph, settings: GroupSettings, attribute: str) -> None:
    values = graph.columns[attribute]
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


def _figure(value: np.generic) -> str:
    number = value.item()
    if not np.isfinite(number):
        return ""
    return str(int(number)) if number == int(number) else str(value)


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
    check_column(graph, "decision.outcome", name)
    _refuse_other_uses(settings, name, {*graph.feature_names, *seen})
    values = group_values(graph, name)
    outcomes = (
        _by_settings(decision, values)
        if decision.good_outcome
        else _by_words(settings, graph, values)
    )
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
        "it is in recourse.attributes": any(r.name == name for r in settings.recourse.attributes),
        "decision.cut_off_by decides by it": by is not None and by.column == name,
    }
    for use, true in uses.items():
        if true:
            raise SettingsError(
                f"decision.outcome: {name!r} says what came true after the decision, but {use}; "
                "take it out there, or name another column"
            )


def _by_words(settings: Settings, graph: Graph, values: Sequence[str]) -> Ints:
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


def _by_settings(decision: DecisionSettings, values: Sequence[str]) -> Ints:
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
        first = ", ".join(repr(value) for value in others[:3])
        raise SettingsError(
            f"decision.good_outcome: leaves {len(others)} values of {decision.outcome!r} ({first}"
            f"{', …' if len(others) > 3 else ''}); name those that are bad in "
            "decision.bad_outcome, and the others will count as not known"
        )
    meaning = dict.fromkeys(decision.bad_outcome or others, BAD)
    meaning |= dict.fromkeys(decision.good_outcome, GOOD)
    return np.array([meaning.get(value, NOT_KNOWN) for value in values], np.int64)


PAIRS_PER_BLOCK = 2**18


@dataclass(frozen=True, slots=True, kw_only=True)
class Communities:
    """Everybody's community, numbered in the order of their first members; None without a column.

    `seed` is that of the audit, by which labels of groups are redrawn.
    """

    seed: int
    numbers: Ints | None = None
    column: str | None = None

    @property
    def record(self) -> CommunityRecord:
        """What the store says about them."""
        count = 0 if self.numbers is None else int(self.numbers.max()) + 1
        return CommunityRecord(column=self.column, count=count, seed=self.seed)


def communities_of(graph: Graph, settings: GroupSettings, seed: int) -> Communities:
    """Everybody's community by the column that the settings name, if groups are compared at all."""
    column = settings.communities
    if not settings.attributes or column is None:
        return Communities(seed=seed)
    values = np.array(group_values(graph, column))
    _, first, place = np.unique(values, return_index=True, return_inverse=True)
    numbers: Ints = np.argsort(np.argsort(first))[place]
    return Communities(seed=seed, column=column, numbers=numbers)


def ties_of(graph: Graph, settings: GroupSettings) -> Iterator[TieBlock]:
    """Who is tied to whom, in blocks, if groups are compared at all."""
    if not settings.attributes:
        return
    for block, first in enumerate(range(0, graph.pair_count, PAIRS_PER_BLOCK)):
        part = slice(first, first + PAIRS_PER_BLOCK)
        pairs = np.stack([graph.pair_low[part], graph.pair_high[part]], axis=1)
        yield block, pairs.astype("<i4").tobytes()


def people_of(
    graph: Graph,
    decisions: Decisions,
    recorded: Ints | None,
    communities: Communities,
    favourable_alone: Iterable[bool | None],
    outcomes: Ints | None,
) -> Iterator[Person]:
    """Everybody with the decision on them: the one on record if there are any, else the model's.

    `favourable_alone` are the model's decisions on everybody's own data alone, and `outcomes` what
    came true later, if a column says so.
    """
    every = np.arange(graph.node_count)
    decided = decisions.classes_of(decisions.everybody, every) if recorded is None else recorded
    classes = (*decisions.classes, NO_DECISION)
    names = [classes[number] for number in decided.tolist()]
    favourable: list[bool] = decisions.rule.favourable_classes[decided].tolist()
    numbers = communities.numbers
    own = [None] * len(names) if numbers is None else numbers.tolist()
    meaning = {NOT_KNOWN: None, GOOD: True, BAD: False}
    codes = [NOT_KNOWN] * len(names) if outcomes is None else outcomes.tolist()
    came_true = [meaning[code] for code in codes]
    scores = _scores(decisions)
    rows = zip(
        *(graph.ids.tolist(), names, favourable, own, favourable_alone, came_true, scores),
        strict=True,
    )
    for number, (name, decision, good, community, alone, outcome, score) in enumerate(rows):
        yield Person(
            number=number,
            id=name,
            decision=decision,
            favourable=good if decision else None,
            community=community,
            favourable_alone=alone,
            outcome=outcome,
            score=score,
        )


def _scores(decisions: Decisions) -> list[float | None]:
    """What the rule goes by, in full; None where the model's answer is not a number."""
    values = decisions.rule.values(decisions.everybody).tolist()
    usable = decisions.usable(decisions.everybody).tolist()
    return [value if ok else None for value, ok in zip(values, usable, strict=True)]


def members_of(graph: Graph, settings: GroupSettings) -> Iterator[Member]:
    """Everybody's groups, by the name of the attribute."""
    names = sorted(settings.attributes)
    columns = [groups_by(graph, settings, name) for name in names]
    for number, values in enumerate(zip(*columns, strict=True)):
        yield from ((number, name, value) for name, value in zip(names, values, strict=True))
