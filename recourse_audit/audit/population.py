"""Everybody in the graph: their groups, communities, ties and outcomes, and the decision on them.

Groups are the values of protected attributes, with numbers cut into bins, or the values that nodes
at the far end of people's ties have (`works_at.sector`). Communities are those of
a column of the nodes, if the settings name one. Of the ties it is kept who is tied to whom,
whatever their kinds, weights and directions: groups are compared on that graph. Where there are
nodes of other kinds, it has people alone, tied if they share such a node.

Outcomes are what came true later, by a column of the nodes: good, bad, or not known. Error rates by
group rest on it, so nothing is guessed: a value that says neither yes nor no is refused, unless the
settings say what it means, and an empty cell stays unknown.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np

from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.columns import (
    Column,
    as_strings,
    check_known,
    write_number,
    write_values,
)
from recourse_audit.graph.graph import Floats, Graph, Indices, Ints
from recourse_audit.model.decisions import NO_DECISION, Decisions
from recourse_audit.records.bundle import Member, Person, TieBlock
from recourse_audit.records.groups import Communities
from recourse_audit.settings import GroupSettings, Settings
from recourse_audit.settings.section import near_matches

MOST_NUMBERS = 20
# Comparing groups takes memory for every person in every group of an attribute or a crossing.
MOST_GROUPS, MOST_CROSSED = 250, 1000
GOOD, BAD, NOT_KNOWN = 1, 0, -1
SAYS_GOOD, SAYS_BAD = frozenset({"yes", "true", "1"}), frozenset({"no", "false", "0"})
PAIRS_PER_BLOCK = 2**18
# The groups of people whose ties of a relation lead to different values, and of those with none.
SEVERAL, NONE_OF = "several", "no {}"


def people_column(graph: Graph, name: str) -> Column:
    """Everybody's value in a column, in the order of the people."""
    return graph.columns[name][: graph.person_count]


def group_values(graph: Graph, attribute: str) -> list[str]:
    """Everybody's value of an attribute as text; "" where it is unknown."""
    return _labels(people_column(graph, attribute), None)


def with_neighbour_columns(graph: Graph, settings: GroupSettings) -> Graph:
    """The graph with a column of people for every attribute that is one of their neighbours'.

    `works_at.sector` is the sector of the node at the far end of a person's works_at tie, whichever
    way it leads; people without such a tie are the group `no works_at`, and those whose ties lead
    to several different groups are `several`. Empty cells do not count.

    Raises
    ------
    SettingsError
        There is no such relation, or the nodes that it leads to have no such column.
    """
    more = {
        name: _neighbour_groups(graph, settings, name)
        for name in settings.attributes
        if name not in graph.column_names and "." in name
    }
    return replace(graph, more={**graph.more, **more}) if more else graph


def of_neighbours(graph: Graph, name: str) -> bool:
    """Whether a column of people was made from one of their neighbours'."""
    return name in graph.more and any(name.startswith(f"{kind}.") for kind in graph.ties.kinds)


def _neighbour_groups(graph: Graph, settings: GroupSettings, name: str) -> Column:
    """Everybody's group by a property of their neighbours, as text; "" for other nodes."""
    kind, column = _read_neighbour(graph, name)
    ties, people = graph.ties, graph.person_count
    rows = np.flatnonzero((ties.kind == kind) & (ties.source != ties.target))
    own = np.concatenate((ties.source[rows], ties.target[rows]))
    far = np.concatenate((ties.target[rows], ties.source[rows]))[own < people]
    own = own[own < people]
    ends, place = np.unique(far, return_inverse=True)
    values = graph.columns[column][ends]
    edges = settings.bins.get(name)
    if edges is not None and values.dtype.kind not in "iuf":
        raise SettingsError(
            f"groups.bins: {name!r} does not hold numbers, so it has no bins; leave it out"
        )
    labels, codes = np.unique(
        as_strings(np.array(_labels(values, edges), object)), return_inverse=True
    )
    known = labels[codes[place]] != ""
    pairs = np.unique(np.stack((own[known], codes[place][known])), axis=1)
    groups = np.full(graph.node_count, "", object)
    groups[:people] = NONE_OF.format(ties.kinds[kind])
    groups[own] = ""
    groups[pairs[0]] = labels[pairs[1]]
    groups[np.flatnonzero(np.bincount(pairs[0], minlength=1) > 1)] = SEVERAL
    return as_strings(groups)


def _read_neighbour(graph: Graph, name: str) -> tuple[int, str]:
    """The kind of tie and the column of the far ends that `relation.column` means."""
    kinds = graph.ties.kinds
    fitting = [kind for kind in kinds if name.startswith(f"{kind}.")]
    if not fitting:
        known = [*graph.column_names, *(f"{kind}.{name.partition('.')[2]}" for kind in kinds)]
        raise SettingsError(
            f"groups.attributes: there is neither a column nor a relation with a column {name!r}; "
            f"{near_matches(name, known)}"
        )
    kind = kinds.index(max(fitting, key=len))
    column, prefix = name[len(kinds[kind]) + 1 :], ""
    if graph.relations and graph.kinds is not None:
        relation = graph.relations[kind]
        far = relation.target if relation.source == 0 else relation.source
        if 0 not in (relation.source, relation.target):
            raise SettingsError(
                f"groups.attributes: {name!r} is about {kinds[kind]!r}, which leads to no "
                f"{graph.kinds.names[0]!r}; name a relation that does"
            )
        prefix = f"{graph.kinds.names[far]}." if far else ""
    names = [known.removeprefix(prefix) for known in graph.columns if known.startswith(prefix)]
    if column not in names:
        raise SettingsError(
            f"groups.attributes: the nodes at the far end of {kinds[kind]!r} have no column "
            f"{column!r}; {near_matches(column, names)}"
        )
    return kind, f"{prefix}{column}"


def groups_by(graph: Graph, settings: GroupSettings, attribute: str) -> list[str]:
    """Everybody's group: the value of an attribute, or the label of the bin it falls into."""
    values, edges = people_column(graph, attribute), settings.bins.get(attribute)
    # Bins of neighbours' numbers were made with their column.
    return _labels(values, None if of_neighbours(graph, attribute) else edges)


def _labels(values: Column, edges: Sequence[float] | None) -> list[str]:
    """The values of a column as text, or the labels of the bins that its numbers fall into."""
    if edges is None:
        return write_values(values)
    # An edge is as exact as the column: 0.7 in single precision is less than 0.7 in double.
    inner = np.array(edges, values.dtype if values.dtype.kind == "f" else float)
    places = np.searchsorted(inner, values, side="right")
    places[~np.isfinite(values.astype(float))] = len(edges) + 1
    labels = [*bin_labels(edges), ""]
    return [labels[place] for place in places.tolist()]


def bin_labels(edges: Sequence[float]) -> list[str]:
    """What the bins between some edges are called; an edge belongs to the bin above it."""
    names = [write_number(np.float64(edge)) for edge in edges]
    inner = [f"{low} to under {high}" for low, high in pairwise(names)]
    return [f"under {names[0]}", *inner, f"{names[-1]} and over"]


def check_groups(graph: Graph, settings: GroupSettings) -> None:
    """Refuse groups that could not be compared, before any work is done."""
    column = settings.communities
    if settings.attributes and column is not None:
        check_known("groups.communities", column, graph.column_names)
        if len({*group_values(graph, column)}) < 2:
            raise SettingsError(
                f"groups.communities: everybody has the same value in {column!r}, so it divides "
                "nobody; name another column, or leave it out"
            )
    everybody = {name: _check_attribute(graph, settings, name) for name in settings.attributes}
    for name in settings.given:
        _check_attribute(graph, settings, name, "groups.given")
    for first, second in combinations(everybody, 2) if settings.crossed else ():
        crossed = {*zip(everybody[first], everybody[second], strict=True)}
        if len(crossed) > MOST_CROSSED:
            raise SettingsError(
                f"groups.attributes: {first!r} and {second!r} have {len(crossed):,} combinations, "
                f"and at most {MOST_CROSSED:,} are compared; set crossed = false, or name columns "
                "with wider groups"
            )


def _check_attribute(
    graph: Graph, settings: GroupSettings, attribute: str, key: str = "groups.attributes"
) -> list[str]:
    """Everybody's group by an attribute whose groups can be compared."""
    values = people_column(graph, attribute)
    numeric, binned = values.dtype.kind in "iuf", attribute in settings.bins
    if binned and not numeric and not of_neighbours(graph, attribute):
        raise SettingsError(
            f"groups.bins: {attribute!r} does not hold numbers, so it has no bins; leave it out"
        )
    if numeric and not binned:
        finite = values[np.isfinite(values.astype(float))]
        different = len(np.unique(finite))
        if different > MOST_NUMBERS:
            middle = write_number(np.float64(f"{float(np.median(finite)):.3g}"))
            raise SettingsError(
                f"{key}: {attribute!r} has {different:,} different numbers, too many "
                "for groups; give the edges between groups, as in bins = "
                f"{{ {attribute} = [{middle}] }}"
            )
    everybody = groups_by(graph, settings, attribute)
    groups = sorted({*everybody} - {""})
    if len(groups) < 2:
        what = f"nobody's {attribute!r} is known"
        if groups:
            what = f"everybody's {attribute!r} is {groups[0]!r} or unknown"
        remedy = ", or change its bins" if binned else ""
        raise SettingsError(
            f"{key}: {what}, so there are no groups to compare; leave it out{remedy}"
        )
    if len(groups) > MOST_GROUPS:
        first = ", ".join(repr(group) for group in groups[:2])
        raise SettingsError(
            f"{key}: {attribute!r} has {len(groups):,} different values ({first}, "
            f"…), and at most {MOST_GROUPS} groups are compared; leave it out, or name a column "
            "with wider groups instead, such as ages or years made from it, with groups.bins"
        )
    wanted = settings.reference.get(attribute)
    if wanted is not None and wanted not in groups:
        raise SettingsError(
            f"groups.reference: there is nobody whose {attribute!r} is {wanted!r}; "
            f"{near_matches(wanted, groups)}"
        )
    return everybody


def read_outcomes(settings: Settings, graph: Graph, seen: Iterable[str] = ()) -> Ints | None:
    """Everybody's outcome: `GOOD`, `BAD` or `NOT_KNOWN`; None without such a column.

    `seen` are the columns that the model's features depend on, besides the features themselves. An
    outcome that the model sees, or that makes groups, would give itself away.
    """
    decision, name = settings.decision, settings.decision.outcome
    if name is None:
        return None
    check_known("decision.outcome", name, graph.column_names)
    by = decision.cut_off_by
    uses = {
        "the model's features depend on it": name in {*graph.feature_names, *seen},
        "it is in groups.attributes": name in settings.groups.attributes,
        "it is in recourse.attributes": any(r.name == name for r in settings.recourse.attributes),
        "decision.cut_off_by decides by it": by is not None and by.column == name,
    }
    used = [use for use, true in uses.items() if true]
    if used:
        raise SettingsError(
            f"decision.outcome: {name!r} says what came true after the decision, but {used[0]}; "
            "take it out there, or name another column"
        )
    values = group_values(graph, name)
    distinct = [value for value in dict.fromkeys(values) if value]
    if decision.good_outcome:
        meaning = _read_named(settings, distinct)
    else:
        meaning = {value: _read_word(value) for value in distinct}
        unclear = [value for value, code in meaning.items() if code is None]
        if unclear:
            raise GraphError(
                f"{settings.graph.origin}: the outcome of {graph.ids[values.index(unclear[0])]} is "
                f"{unclear[0]!r} (column {name!r}), which is neither yes nor no, true nor false, 1 "
                "nor 0; correct it, leave it empty if it is not known, or say which values are "
                "good in decision.good_outcome"
            )
    outcomes = np.array([meaning.get(value, NOT_KNOWN) for value in values], np.int64)
    if (outcomes == NOT_KNOWN).all():
        raise SettingsError(
            f"decision.outcome: column {name!r} has nobody's outcome; fill it in, or leave out the "
            "setting"
        )
    return outcomes


def _read_word(value: str) -> int | None:
    """The outcome that a value says by itself; None if it says neither yes nor no."""
    text = value.strip().casefold()
    return GOOD if text in SAYS_GOOD else BAD if text in SAYS_BAD else None if text else NOT_KNOWN


def _read_named(settings: Settings, there: Sequence[str]) -> dict[str, int | None]:
    decision = settings.decision
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
    bad = decision.bad_outcome or others
    return {**dict.fromkeys(bad, BAD), **dict.fromkeys(decision.good_outcome, GOOD)}


def communities_of(
    graph: Graph, settings: GroupSettings, seed: int
) -> tuple[Communities, Ints | None]:
    """What the store says about communities, and everybody's, in the order of first members.

    They are those of the column that the settings name, if groups are compared at all. `seed` is
    that of the audit, by which labels of groups are redrawn.
    """
    column = settings.communities
    if not settings.attributes or column is None:
        return Communities(column=None, count=0, seed=seed), None
    values = np.array(group_values(graph, column))
    _, first, place = np.unique(values, return_index=True, return_inverse=True)
    numbers: Ints = np.argsort(np.argsort(first))[place]
    return Communities(column=column, count=len(first), seed=seed), numbers


def ties_of(graph: Graph, settings: GroupSettings) -> Iterator[TieBlock]:
    """Who is tied to whom, in blocks, if groups are compared at all."""
    low, high = _pairs_of_people(graph) if settings.attributes else (graph.pair_low[:0],) * 2
    for block, first in enumerate(range(0, len(low), PAIRS_PER_BLOCK)):
        part = slice(first, first + PAIRS_PER_BLOCK)
        ends = np.stack([low[part], high[part]], axis=1)
        yield block, ends.astype("<i4").tobytes()


def _pairs_of_people(graph: Graph) -> tuple[Indices, Indices]:
    """The pairs of people who have a tie, or share a node of another kind.

    People who share a node are a chain in the order of their numbers, and not a pair each: a node
    that n people share adds n - 1 pairs, so that the graph stays sparse, and all of them are near
    one another.
    """
    low, high, people = graph.pair_low, graph.pair_high, graph.person_count
    if people == graph.node_count:
        return low, high
    direct = high < people  # the lower end of a pair is a person's wherever one is
    shared = (low < people) & ~direct
    person, node = low[shared], high[shared]
    order = np.lexsort((person, node))
    person, node = person[order], node[order]
    next_to = node[1:] == node[:-1]
    ends = (
        np.concatenate((low[direct], person[:-1][next_to])).astype(np.int64),
        np.concatenate((high[direct], person[1:][next_to])),
    )
    first, second = np.divmod(np.unique(ends[0] * people + ends[1]), people)
    return first.astype(np.int32), second.astype(np.int32)


def people_of(
    graph: Graph,
    decisions: Decisions,
    recorded: Ints | None,
    communities: Ints | None,
    alone: Floats | None,
    outcomes: Ints | None,
) -> Iterator[Person]:
    """Everybody with the decision on them: the one on record if there are any, else the model's.

    `alone` are the model's answers on everybody's own data alone, and `outcomes` what came true
    later, if a column says so. Scores are what the rule goes by, in full.
    """
    every = np.arange(graph.person_count)
    answers = decisions.everybody[every]
    decided = decisions.classes_of(answers, every) if recorded is None else recorded
    classes = (*decisions.classes, NO_DECISION)
    nothing = [None] * len(every)
    meaning = {NOT_KNOWN: None, GOOD: True, BAD: False}
    columns = (
        graph.ids[every].tolist(),
        [classes[number] for number in decided.tolist()],
        decisions.rule.favourable_classes[decided].tolist(),
        nothing if communities is None else communities.tolist(),
        nothing if outcomes is None else [meaning[code] for code in outcomes.tolist()],
        _scores(decisions, answers),
        nothing if alone is None else decisions.favourable(alone, every).tolist(),
        nothing if alone is None else _scores(decisions, alone),
    )
    for number, row in enumerate(zip(*columns, strict=True)):
        name, decision, favourable, community, outcome, score, favourable_alone, score_alone = row
        yield Person(
            number=number,
            id=name,
            decision=decision,
            favourable=favourable if decision else None,
            community=community,
            favourable_alone=None if score_alone is None else favourable_alone,
            outcome=outcome,
            score=score,
            score_alone=score_alone,
        )


def _scores(decisions: Decisions, answers: Floats) -> list[float | None]:
    """What the rule goes by, for each row; None where the answer is not a number."""
    rows = zip(decisions.rule.values(answers).tolist(), decisions.usable(answers), strict=True)
    return [score if usable else None for score, usable in rows]


def members_of(graph: Graph, settings: GroupSettings) -> Iterator[Member]:
    """Everybody's groups, by the name of the attribute, and values in columns that are given."""
    names = sorted(settings.columns)
    columns = [groups_by(graph, settings, name) for name in names]
    for number, values in enumerate(zip(*columns, strict=True)):
        yield from ((number, name, value) for name, value in zip(names, values, strict=True))
