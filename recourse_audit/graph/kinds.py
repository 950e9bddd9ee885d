"""Several kinds of nodes become one graph: every format ends here.

Each kind is read like a graph of one kind without ties, and each relation like its ties, with ends
that are positions within the two kinds. `join_kinds` numbers all nodes, those that are decided on
first. Their columns keep their names, and those of other kinds are called `kind.column`; features
are zero, and other columns NaN or "", for nodes of another kind.

A homogenised graph is one table, in which a column says what a node is: `with_subject` puts those
who are decided on first.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.columns import (
    Column,
    Nodes,
    as_strings,
    near_matches,
    to_strings,
)
from recourse_audit.graph.graph import (
    Floats,
    Graph,
    Ints,
    Kinds,
    Relation,
    Strings,
    Ties,
    build_graph,
    without_mirrors,
)
from recourse_audit.settings import GraphSettings, Subject, SubjectColumn
from recourse_audit.settings.inputs import TieTable

REVERSED = "rev_"
Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationTies:
    """The ties of a relation; their ends are positions within the two kinds."""

    name: str
    source: str
    target: str
    ties: Ties
    directed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherKinds:
    """What joins the people: the name of their kind, the nodes of other kinds, all relations."""

    subject: str
    nodes: Mapping[str, Nodes] = field(default_factory=dict)
    relations: Sequence[RelationTies] = ()
    origin: str = "the graph"


def find_subject(kinds: Iterable[str], subject: Subject | None) -> str:
    """The kind that is decided on; with a single kind, nobody need say so."""
    known = [*kinds]
    if subject is None and len(known) == 1:
        return known[0]
    if isinstance(subject, SubjectColumn):
        raise SettingsError(
            "decision.subject: names a column, but the graph has tables of several kinds; name the "
            f"kind that is decided on: {', '.join(known)}"
        )
    if subject is None:
        raise SettingsError(
            "decision.subject: is missing; the graph has several kinds of nodes, so name the one "
            f"that is decided on: {', '.join(known)}"
        )
    if subject not in known:
        raise SettingsError(
            f"decision.subject: there are no nodes of the kind {subject!r}; "
            f"{near_matches(subject, known)}"
        )
    return subject


def people_settings(settings: GraphSettings, subject: Subject | None) -> GraphSettings:
    """The settings of the people's own table, as if there were no other kinds."""
    if not settings.node_tables:
        return settings
    return settings.of_kind(find_subject(settings.node_tables, subject))


def people_alone(nodes: Nodes, origin: str) -> Graph:
    """A graph of one kind of nodes without ties, to which others are joined later."""
    nothing = np.empty(0, np.int32)
    ties = Ties(source=nothing, target=nothing, kind=np.empty(0, np.int16), kinds=())
    return build_graph(**nodes, ties=ties, directed=False, origin=origin)


def join_kinds(people: Graph, others: OtherKinds) -> Graph:
    """Number people and the nodes of other kinds, and index all relations.

    Notes
    -----
    O(N F + T log T) time and memory for N nodes, F features of all kinds together and T ties.
    """
    names = (others.subject, *others.nodes)
    counts = [people.node_count, *(len(nodes["ids"]) for nodes in others.nodes.values())]
    starts = np.concatenate(([0], np.cumsum(counts)))
    blocks: list[tuple[Floats, tuple[str, ...]]] = [(people.features, people.feature_names)]
    attributes = {name: (0, values) for name, values in people.attributes.items()}
    for place, (kind, nodes) in enumerate(others.nodes.items(), 1):
        blocks.append((nodes["features"], tuple(f"{kind}.{n}" for n in nodes["feature_names"])))
        own = nodes["attributes"].items()
        attributes |= {f"{kind}.{name}": (place, values) for name, values in own}
    features, feature_names, ranges = _stack(blocks, starts)
    _check_names(people, others)
    relations, ties = _join_relations(others, dict(zip(names, starts.tolist(), strict=False)))
    graph = build_graph(
        ids=_global_ids([people.ids, *(n["ids"] for n in others.nodes.values())], names),
        features=features,
        feature_names=feature_names,
        attributes={
            name: _spread(values, int(starts[place]), int(starts[-1]))
            for name, (place, values) in attributes.items()
        },
        ties=ties,
        directed=False,
        kinds=Kinds(names=names, starts=starts, blocks=ranges, relations=relations),
        origin=others.origin,
    )
    more = {name: _spread(values, 0, int(starts[-1])) for name, values in people.more.items()}
    return replace(graph, more=more)


def _check_names(people: Graph, others: OtherKinds) -> None:
    """Refuse names with two meanings, once ids are written `kind:id` and columns `kind.column`."""
    for name in (others.subject, *others.nodes, *(r.name for r in others.relations)):
        if not name.strip() or ":" in name or "." in name:
            raise GraphError(
                f"{others.origin}: {name!r} cannot name a kind or a relation; choose a name "
                "without : and ."
            )
    for name in people.columns:
        if name.partition(".")[0] in others.nodes:
            raise GraphError(
                f"{others.origin}: the column {name!r} of {others.subject!r} is called as if it "
                "were of another kind; rename it"
            )
    names = people.ids.tolist()
    known = {kind: {*nodes["ids"].tolist()} for kind, nodes in others.nodes.items()}
    known[others.subject] = {*names}
    for name in names:
        kind, colon, rest = name.partition(":")
        if colon and rest in known.get(kind, ()):
            raise GraphError(
                f"{others.origin}: {name!r} is the id of {others.subject} {name!r}, and also that "
                f"of {kind} {rest!r}, because ids are written kind:id; rename one of them"
            )


def _global_ids(ids: Sequence[Strings], kinds: Sequence[str]) -> Strings:
    """Ids as `kind:id`; with a single kind as they are."""
    if len(kinds) == 1:
        return ids[0]
    prefixes = (as_strings(np.array([f"{kind}:"], object)) for kind in kinds)
    return np.concatenate([prefix + own for prefix, own in zip(prefixes, ids, strict=True)])


def _stack(
    blocks: Sequence[tuple[Floats, tuple[str, ...]]], starts: Ints
) -> tuple[Floats, tuple[str, ...], tuple[tuple[int, int], ...]]:
    """One matrix with a block of columns per kind, their names, and where each block is."""
    ends = np.cumsum([block.shape[1] for block, _ in blocks]).tolist()
    ranges = tuple(zip([0, *ends[:-1]], ends, strict=True))
    types = [block.dtype for block, _ in blocks if block.shape[1]]
    features = np.zeros((int(starts[-1]), ends[-1]), np.result_type(*types) if types else float)
    for (block, _), (low, high), first in zip(blocks, ranges, starts.tolist(), strict=False):
        features[first : first + len(block), low:high] = block
    return features, tuple(name for _, names in blocks for name in names), ranges


def _spread(values: Column, first: int, count: int) -> Column:
    """A column of all nodes, which is NaN or "" but for those from `first` on that have it."""
    if len(values) == count:
        return values
    if values.dtype.kind in "iuf":
        kind = values.dtype if values.dtype.kind == "f" else np.dtype(float)
        whole: Column = np.full(count, np.nan, kind)
    else:  # what is true or false is written out, because nothing else is neither
        whole = as_strings(np.full(count, "", object))
        values = values if values.dtype.kind == "T" else to_strings(values.tolist())
    whole[first : first + len(values)] = values
    return whole


def _join_relations(
    others: OtherKinds, starts: Mapping[str, int]
) -> tuple[tuple[Relation, ...], Ties]:
    """All relations with their ties in one table, whose ends are nodes of the whole graph."""
    place = {kind: number for number, kind in enumerate(starts)}
    relations: list[Relation] = []
    tables: list[Ties] = []
    for number, relation in enumerate(others.relations):
        ties = relation.ties
        if not relation.directed:
            ties = without_mirrors(ties, f"{others.origin}, relation {relation.name!r}")
        width = 0 if ties.attributes is None else ties.attributes.shape[1]
        relations.append(
            Relation(
                name=relation.name,
                source=place[relation.source],
                target=place[relation.target],
                directed=relation.directed,
                weighted=ties.weight is not None,
                attributes=width,
            )
        )
        tables.append(
            replace(
                ties,
                source=ties.source + np.int32(starts[relation.source]),
                target=ties.target + np.int32(starts[relation.target]),
                kind=np.full(len(ties), number, np.int16),
            )
        )
    weighted = any(relation.weighted for relation in relations)
    width = max((relation.attributes for relation in relations), default=0)
    return tuple(relations), Ties(
        source=np.concatenate([t.source for t in tables] or [np.empty(0, np.int32)]),
        target=np.concatenate([t.target for t in tables] or [np.empty(0, np.int32)]),
        kind=np.concatenate([t.kind for t in tables] or [np.empty(0, np.int16)]),
        kinds=tuple(relation.name for relation in relations),
        weight=np.concatenate([_weights(t) for t in tables]) if weighted else None,
        attributes=np.concatenate([_widened(t, width) for t in tables]) if width else None,
    )


def _weights(ties: Ties) -> Floats:
    return np.ones(len(ties), np.float32) if ties.weight is None else ties.weight


def _widened(ties: Ties, width: int) -> Floats:
    wide = np.zeros((len(ties), width), np.float32)
    if ties.attributes is not None:
        wide[:, : ties.attributes.shape[1]] = ties.attributes
    return wide


def name_relations(
    ties: Mapping[Triple, Ties], tables: Mapping[str, TieTable], origin: str
) -> list[RelationTies]:
    """Relations by the kinds that they lead between; a reversed one is checked, and left out.

    `rev_works_at` is the reversed relation of `works_at`. Relations between different kinds that
    share a name are told apart as `person__works_at__employer`.
    """
    back = {
        triple: (triple[2], triple[1].removeprefix(REVERSED), triple[0])
        for triple in ties
        if triple[1].startswith(REVERSED)
    }
    back = {triple: own for triple, own in back.items() if own in ties}
    for triple, own in back.items():
        if not is_mirror(ties[own], ties[triple]):
            raise GraphError(
                f"{origin}: the relation {triple[1]!r} is not {own[1]!r} with its ends exchanged; "
                f"make it so, or leave it out: {own[1]!r} is read both ways"
            )
    kept = [triple for triple in ties if triple not in back]
    shared = Counter(triple[1] for triple in kept)
    relations = []
    for triple in kept:
        source, name, target = triple
        alone = len(ties[triple]) and source == target and triple not in back.values()
        directed = not (alone and is_mirror(ties[triple], ties[triple]))
        directed = tables[name].directed if name in tables else directed
        relations.append(
            RelationTies(
                name="__".join(triple) if shared[name] > 1 else name,
                source=source,
                target=target,
                ties=ties[triple],
                directed=directed,
            )
        )
    return relations


def is_mirror(ties: Ties, others: Ties) -> bool:
    """Whether ties are others with their ends exchanged, in any order.

    Weights and attributes count where both have them.
    """
    if len(ties) != len(others):
        return False
    columns = [(ties.source, others.target), (ties.target, others.source)]
    for own, other in ((ties.weight, others.weight), (ties.attributes, others.attributes)):
        if own is not None and other is not None and own.shape[1:] == other.shape[1:]:
            wide = (values.reshape(len(ties), -1).T for values in (own, other))
            columns += zip(*wide, strict=True)
    first, second = (np.array(rows, np.float64) for rows in zip(*columns, strict=True))
    return bool(np.array_equal(first[:, np.lexsort(first)], second[:, np.lexsort(second)]))


def on_people(graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """The graph with what a change makes of the people's features and columns.

    The change gets a graph of people alone, without ties, if there are tables of several kinds.
    """
    kinds = graph.kinds
    if kinds is None or not kinds.relations:
        return change(graph)
    count, (low, high) = graph.person_count, kinds.blocks[0]
    high += graph.head_only
    own = {n: v for n, v in graph.attributes.items() if n.partition(".")[0] not in kinds.names[1:]}
    people = people_alone(
        Nodes(
            ids=graph.ids[:count],
            features=graph.features[:count, low:high],
            feature_names=graph.feature_names[low:high],
            attributes={name: values[:count] for name, values in own.items()},
        ),
        "the graph",
    )
    more = {name: values[:count] for name, values in graph.more.items()}
    people = change(replace(people, more=more, head_only=graph.head_only))
    blocks = [(people.features, people.feature_names)]
    for kind, (low, high) in enumerate(kinds.blocks[1:], 1):
        rows = graph.features[kinds.starts[kind] : kinds.starts[kind + 1], low:high]
        blocks.append((rows, graph.feature_names[low:high]))
    features, feature_names, ranges = _stack(blocks, kinds.starts)
    ranges = ((ranges[0][0], ranges[0][1] - people.head_only), *ranges[1:])
    theirs = {name: values for name, values in graph.attributes.items() if name not in own}
    spread = {n: _spread(values, 0, graph.node_count) for n, values in people.attributes.items()}
    return replace(
        graph,
        features=features,
        feature_names=feature_names,
        attributes={**spread, **theirs},
        more={n: _spread(values, 0, graph.node_count) for n, values in people.more.items()},
        kinds=replace(kinds, blocks=ranges),
        head_only=people.head_only,
    )


def with_subject(graph: Graph, subject: SubjectColumn, node_types: Sequence[str] = ()) -> Graph:
    """A homogenised graph with those first who have a value in a column; others keep their order.

    The model's code of a kind is the number in the column, or else the position of its name in
    `node_types`; without these, kinds are sorted.
    """
    columns = graph.columns
    if subject.column not in columns:
        raise SettingsError(
            f"decision.subject: the nodes have no column {subject.column!r}; "
            f"{near_matches(subject.column, columns)}"
        )
    values = columns[subject.column]
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values == values.round()).all():
        values = values.astype(np.int64)
    texts = to_strings(values.tolist())
    people = str(subject.value)
    distinct, place = np.unique(texts, return_inverse=True)
    names = [str(name) for name in distinct]
    if people not in names:
        raise SettingsError(
            f"decision.subject: nobody has {people!r} in the column {subject.column!r}; "
            f"{near_matches(people, names)}"
        )
    listed = node_types or names
    for name in names:
        if name not in listed:
            raise SettingsError(
                f"model.node_types: does not list {name!r}, which is in the column "
                f"{subject.column!r}; {near_matches(name, listed)}"
            )
    whole = values.dtype.kind in "iu" and not node_types
    code = {name: int(name) if whole else listed.index(name) for name in names}
    ordered = [people, *sorted((n for n in names if n != people), key=lambda name: code[name])]
    rank = np.array([ordered.index(name) for name in names])[place]
    order = np.argsort(rank, kind="stable")
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    ties = replace(graph.ties, source=number[graph.ties.source], target=number[graph.ties.target])
    kinds = Kinds(
        names=tuple(ordered),
        starts=np.concatenate(([0], np.cumsum(np.bincount(rank)))),
        blocks=((0, graph.features.shape[1]),) * len(ordered),
        codes=tuple(code[name] for name in ordered),
    )
    moved = build_graph(
        ids=graph.ids[order],
        features=graph.features[order],
        feature_names=graph.feature_names,
        attributes={name: values[order] for name, values in graph.attributes.items()},
        ties=ties,
        directed=graph.directed,
        kinds=kinds,
    )
    return replace(moved, more={name: values[order] for name, values in graph.more.items()})
