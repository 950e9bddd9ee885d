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
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.columns import (
    Column,
    Nodes,
    Place,
    as_strings,
    check_known,
    to_strings,
)
from recourse_audit.graph.graph import (
    Graph,
    Kinds,
    Relation,
    Ties,
    build_graph,
    without_mirrors,
)
from recourse_audit.settings import GraphSettings, Subject, SubjectColumn
from recourse_audit.settings.inputs import TieTable
from recourse_audit.settings.section import near_matches

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
class KindTables:
    """The nodes of each kind, people first, and all relations; `place` is where the people are."""

    nodes: Mapping[str, Nodes]
    relations: Sequence[RelationTies]
    place: Place
    origin: str

    @property
    def people(self) -> Graph:
        return without_ties(next(iter(self.nodes.values())), self.origin)


def find_subject(kinds: Iterable[str], subject: Subject | None) -> str:
    """The kind that is decided on; with a single kind, nobody need say so."""
    known = [*kinds]
    if isinstance(subject, str) and subject in known:
        return subject
    if subject is None and len(known) == 1:
        return known[0]
    named = (
        f"the column {subject.column!r}" if isinstance(subject, SubjectColumn) else repr(subject)
    )
    problem = "is missing" if subject is None else f"names {named}, which is no kind of nodes"
    raise SettingsError(
        f"decision.subject: {problem}; name the kind that is decided on: {', '.join(known)}"
    )


def people_settings(settings: GraphSettings, subject: Subject | None) -> GraphSettings:
    """The settings of the people's own table, as if there were no other kinds."""
    if not settings.node_tables:
        return settings
    return settings.of_kind(find_subject(settings.node_tables, subject))


def without_ties(nodes: Nodes, origin: str) -> Graph:
    """A graph of one kind of nodes, to which others are joined later."""
    nothing = np.empty(0, np.int32)
    ties = Ties(source=nothing, target=nothing, kind=np.empty(0, np.int16), kinds=())
    return build_graph(**nodes, ties=ties, directed=False, origin=origin)


def join_kinds(people: Graph, tables: KindTables) -> Graph:
    """Number people and the nodes of other kinds, and index all relations.

    Notes
    -----
    O(N F + T log T) time and memory for N nodes, F features of all kinds together and T ties.
    """
    _check_names(people, tables)
    names = (*tables.nodes,)
    starts = np.cumsum([0, *(len(nodes["ids"]) for nodes in tables.nodes.values())])
    first, count = starts.tolist(), int(starts[-1])
    blocks = [(people.features, people.feature_names)]
    attributes = {name: _spread(values, 0, count) for name, values in people.attributes.items()}
    for place, kind in enumerate(names[1:], 1):
        nodes = tables.nodes[kind]
        blocks.append((nodes["features"], tuple(f"{kind}.{n}" for n in nodes["feature_names"])))
        for name, values in nodes["attributes"].items():
            attributes[f"{kind}.{name}"] = _spread(values, first[place], count)
    ends = np.cumsum([0, *(block.shape[1] for block, _ in blocks)]).tolist()
    ranges = (*pairwise(ends),)
    types = [block.dtype for block, _ in blocks if block.shape[1]]
    features = np.zeros((count, ends[-1]), np.result_type(*types) if types else float)
    for place, (low, high) in enumerate(ranges):
        features[first[place] : first[place + 1], low:high] = blocks[place][0]
    relations, ties = _join_relations(tables, dict(zip(names, first, strict=False)))
    # With a single kind, ids stay as they are.
    ids = [
        as_strings(np.array([f"{kind}:" if len(names) > 1 else ""], object)) + nodes["ids"]
        for kind, nodes in tables.nodes.items()
    ]
    graph = build_graph(
        ids=np.concatenate(ids),
        features=features,
        feature_names=tuple(name for _, names in blocks for name in names),
        attributes=attributes,
        ties=ties,
        directed=False,
        kinds=Kinds(names=names, starts=starts, blocks=ranges, relations=relations),
        origin=tables.origin,
    )
    return replace(graph, more={n: _spread(values, 0, count) for n, values in people.more.items()})


def _check_names(people: Graph, tables: KindTables) -> None:
    """Refuse names with two meanings, once ids are written `kind:id` and columns `kind.column`."""
    [subject, *others] = tables.nodes
    for name in (subject, *others, *(relation.name for relation in tables.relations)):
        if not name.strip() or ":" in name or "." in name:
            raise GraphError(
                f"{tables.origin}: {name!r} cannot name a kind or a relation; choose a name "
                "without : and ."
            )
    for name in people.columns:
        if name.partition(".")[0] in others:
            raise GraphError(
                f"{tables.origin}: the column {name!r} of {subject!r} is called as if it were of "
                "another kind; rename it"
            )
    colons = [name for name in people.ids.tolist() if ":" in name]
    known = {k: {*nodes["ids"].tolist()} for k, nodes in tables.nodes.items()} if colons else {}
    for name in colons:
        kind, _, rest = name.partition(":")
        if rest in known.get(kind, ()):
            raise GraphError(
                f"{tables.origin}: {name!r} is the id of {subject} {name!r}, and also that of "
                f"{kind} {rest!r}, because ids are written kind:id; rename one of them"
            )


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
    tables: KindTables, starts: Mapping[str, int]
) -> tuple[tuple[Relation, ...], Ties]:
    """All relations with their ties in one table, whose ends are nodes of the whole graph.

    Ties of relations without weights weigh 1; attributes that a relation lacks are 0.
    """
    relations: list[Relation] = []
    every: list[Ties] = []
    for each in tables.relations:
        ties = each.ties
        if not each.directed:
            ties = without_mirrors(ties, f"{tables.origin}, relation {each.name!r}")
        relation = Relation(
            name=each.name,
            source=[*starts].index(each.source),
            target=[*starts].index(each.target),
            directed=each.directed,
            weighted=ties.weight is not None,
            attributes=0 if ties.attributes is None else ties.attributes.shape[1],
        )
        relations.append(relation)
        every.append(ties)
    kind = np.repeat(np.arange(len(every), dtype=np.int16), [len(ties) for ties in every])
    source, target = (np.empty(len(kind), np.int32) for _ in range(2))
    weight = np.ones(len(kind), np.float32)
    width = max((relation.attributes for relation in relations), default=0)
    attributes = np.zeros((len(kind), width), np.float32)
    for number, (each, ties) in enumerate(zip(tables.relations, every, strict=True)):
        rows = kind == number
        source[rows] = ties.source + starts[each.source]
        target[rows] = ties.target + starts[each.target]
        if ties.weight is not None:
            weight[rows] = ties.weight
        if ties.attributes is not None:
            attributes[rows, : ties.attributes.shape[1]] = ties.attributes
    return tuple(relations), Ties(
        source=source,
        target=target,
        kind=kind,
        kinds=tuple(relation.name for relation in relations),
        weight=weight if any(relation.weighted for relation in relations) else None,
        attributes=attributes if width else None,
    )


def name_relations(
    ties: Mapping[Triple, Ties], tables: Mapping[str, TieTable], origin: str
) -> list[RelationTies]:
    """Relations by the kinds that they lead between; a reversed one is checked, and left out.

    `rev_works_at` is the reversed relation of `works_at`. Relations between different kinds that
    share a name are told apart as `person__works_at__employer`.
    """
    back = {(to, REVERSED + name, start): (start, name, to) for start, name, to in ties}
    back = {triple: own for triple, own in back.items() if triple in ties}
    for triple, own in back.items():
        if not is_mirror(ties[own], ties[triple]):
            raise GraphError(
                f"{origin}: the relation {triple[1]!r} is not {own[1]!r} with its ends exchanged; "
                f"make it so, or leave it out: {own[1]!r} is read both ways"
            )
    shared = Counter(triple[1] for triple in ties if triple not in back)
    relations = []
    for triple, own_ties in ties.items():
        source, name, target = triple
        if triple in back:
            continue
        alone = len(own_ties) and source == target and triple not in back.values()
        directed = not (alone and is_mirror(own_ties, own_ties))
        relations.append(
            RelationTies(
                name="__".join(triple) if shared[name] > 1 else name,
                source=source,
                target=target,
                ties=own_ties,
                directed=tables[name].directed if name in tables else directed,
            )
        )
    return relations


def is_mirror(ties: Ties, others: Ties) -> bool:
    """Whether ties are others with their ends exchanged, in any order.

    Weights and attributes count where both have them.
    """
    same_sums = ties.source.sum(dtype=np.int64) == others.target.sum(dtype=np.int64)
    if len(ties) != len(others) or not same_sums:  # before anything is sorted
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
    count, width = graph.person_count, kinds.blocks[0][1] + graph.head_only
    own = {
        name: v[:count] for name, v in graph.attributes.items() if not graph.kind_of_column(name)
    }
    nodes = Nodes(
        ids=graph.ids[:count],
        features=graph.features[:count, :width],
        feature_names=graph.feature_names[:width],
        attributes=own,
    )
    more = {name: values[:count] for name, values in graph.more.items()}
    people = replace(without_ties(nodes, "the graph"), more=more, head_only=graph.head_only)
    people = change(people)
    wide = np.zeros((graph.node_count, people.features.shape[1]), people.features.dtype)
    wide[:count] = people.features
    shift = wide.shape[1] - width
    blocks = ((0, wide.shape[1] - people.head_only),)
    theirs = {name: values for name, values in graph.attributes.items() if name not in own}

    def spread(columns: Mapping[str, Column]) -> dict[str, Column]:
        return {n: _spread(values, 0, graph.node_count) for n, values in columns.items()}

    return replace(
        graph,
        features=np.concatenate((wide, graph.features[:, width:]), axis=1),
        feature_names=(*people.feature_names, *graph.feature_names[width:]),
        attributes={**spread(people.attributes), **theirs},
        more=spread(people.more),
        kinds=replace(
            kinds, blocks=blocks + tuple((a + shift, b + shift) for a, b in kinds.blocks[1:])
        ),
        head_only=people.head_only,
    )


def with_subject(graph: Graph, subject: SubjectColumn, node_types: Sequence[str] = ()) -> Graph:
    """A homogenised graph with those first who have a value in a column; others keep their order.

    The model's code of a kind is the number in the column, or else the position of its name in
    `node_types`; without these, kinds are sorted.
    """
    check_known("decision.subject", subject.column, graph.columns)
    values = graph.columns[subject.column]
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values == values.round()).all():
        values = values.astype(np.int64)
    distinct, place = np.unique(to_strings(values.tolist()), return_inverse=True)
    names, people = [str(name) for name in distinct], str(subject.value)
    listed = node_types or names
    for key, name, known in (
        ("decision.subject", people, names),
        *(("model.node_types", name, listed) for name in names),
    ):
        if name not in known:
            raise SettingsError(
                f"{key}: {name!r} does not stand in the column {subject.column!r}, or in "
                f"model.node_types; {near_matches(name, known)}"
            )
    whole = values.dtype.kind in "iu" and not node_types
    code = {name: int(name) if whole else listed.index(name) for name in names}
    ordered = sorted(names, key=lambda name: (name != people, code[name]))
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
