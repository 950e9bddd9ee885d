"""Whether shared receptive fields give a model's answers, and in which form.

Small graphs are edited in every way that an audit edits a graph, and the model is asked about each
edited graph by itself. A form may be used if it gives these answers. The plain form, which is
leaner, gives them unless a sender's own number of ties weighs its message. Neither form does where
a message is weighed by how many others its sender has (by its leaving arcs), or where an answer
depends on the whole query.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Ints, Ties, build_graph
from recourse_audit.graph.columns import as_strings
from recourse_audit.model.batching import QueryBatcher, SealedModel, Sharing
from recourse_audit.model.edits import Edits, edits_of
from recourse_audit.model.queries import Pool, Union, pool_of, side_by_side, whole, with_pairs
from recourse_audit.model.shared_fields import Form
from recourse_audit.model.what_ifs import WhatIfs

GRAPHS = 3
NODES = 14
CHORDS = 9
EDITS = 10
TREES = 20
ASKED = 0.4


def form_of(
    model: SealedModel,
    pools: Sequence[Pool],
    depth: int,
    generator: np.random.Generator,
    tolerance: float,
) -> Form | None:
    """The leaner form that gives the model's answers; None if none does."""
    forms: list[Form] = ["plain", "degree"]
    for graph in _graphs(pools, generator):
        batcher = QueryBatcher(model, pool_of(graph))
        trees = _trees(graph, generator)
        rows = np.flatnonzero(generator.random(len(trees.nodes)) < ASKED)
        alone = batcher.ask(trees, rows)
        edits = _edits(graph, batcher, generator)
        right = np.concatenate([_edited(graph, batcher, edits, one) for one in range(edits.count)])
        forms = [
            form
            for form in forms
            if _same(WhatIfs(graph, batcher, depth=depth, form=form).ask(edits), right, tolerance)
            and _same(_sharing(graph, batcher, depth, form).ask(trees, rows), alone, tolerance)
        ]
    return forms[0] if forms else None


def _sharing(graph: Graph, batcher: QueryBatcher, depth: int, form: Form) -> QueryBatcher:
    """A batcher whose small graphs share states."""
    sharing = Sharing(depth=depth, form=form) if depth else None
    return QueryBatcher(batcher.model, pool_of(graph), sharing=sharing)


def _trees(graph: Graph, generator: np.random.Generator) -> Union:
    """Small parts of a graph side by side: some of its pairs each, with their nodes."""
    parts = []
    for _ in range(TREES):
        pairs = np.unique(generator.integers(0, graph.pair_count, 3))
        nodes = np.unique(np.concatenate((graph.pair_low[pairs], graph.pair_high[pairs])))
        parts.append(with_pairs(graph, nodes, pairs))
    return side_by_side(parts, [np.empty(0, np.int64)] * len(parts))[0]


def takes_shared_fields(batcher: QueryBatcher) -> bool:
    """Whether a model has room for any number of nodes and arcs, and answers for all of them."""
    model = batcher.model
    free = model.node_room is None and model.arc_room is None
    return free and not batcher.one_row_per_query and model.signature.port("adjacency") is None


def _graphs(pools: Sequence[Pool], generator: np.random.Generator) -> Iterator[Graph]:
    """Random trees with some chords, people and ties drawn from the pools."""
    for pool in pools:
        for _ in range(GRAPHS):
            child = np.arange(1, NODES)
            parent = (generator.random(NODES - 1) * child).astype(np.int64)
            chords = np.sort(generator.integers(0, NODES, (2, CHORDS)), axis=0)
            pairs = np.concatenate((np.stack((parent, child)), chords), axis=1)
            pairs = np.unique(pairs[:, pairs[0] != pairs[1]], axis=1)
            yield _graph(pool, pairs, generator)


def _graph(pool: Pool, pairs: Ints, generator: np.random.Generator) -> Graph:
    people = generator.integers(0, len(pool.features), NODES)
    columns = [one for one in (pool.weight, pool.attributes, pool.kind) if one is not None]
    some = min((len(one) for one in columns), default=0)
    row = generator.integers(0, max(some, 1), pairs.shape[1])
    kind = np.zeros(pairs.shape[1], np.int16)
    return build_graph(
        ids=as_strings(np.arange(NODES).astype(str)),
        features=pool.features[people],
        feature_names=tuple(str(place) for place in range(pool.features.shape[1])),
        attributes={},
        ties=Ties(
            source=pairs[0].astype(np.int32),
            target=pairs[1].astype(np.int32),
            kind=pool.kind[row] if pool.kind is not None and some else kind,
            kinds=("",),
            weight=pool.weight[row] if pool.weight is not None and some else None,
            attributes=pool.attributes[row] if pool.attributes is not None and some else None,
        ),
        directed=False,
    )


def _edits(graph: Graph, batcher: QueryBatcher, generator: np.random.Generator) -> Edits:
    """Dropped and added ties and replaced features, of the node asked about and of others."""
    dropped, added, replaced = [], [], []
    asked = generator.integers(0, NODES, EDITS)
    ties = len(graph.ties)
    for edit, node in enumerate(asked.tolist()):
        own = np.flatnonzero(graph.arc_source == node) // 2
        gone = {int(own[0]), *generator.integers(0, ties, edit % 3).tolist()}
        dropped += [(edit, 2 * tie + way) for tie in sorted(gone) for way in (0, 1)]
        near, far = node if edit % 2 else int(generator.integers(NODES)), (node + 5) % NODES
        if edit % 4 > 1 and near != far:
            row = int(generator.integers(ties))
            added += [(edit, near, far, row), (edit, far, near, row)]
        if edit % 4 == 1:
            replaced.append((edit, int(graph.arc_target[2 * own[0]]), edit))
    features = batcher.features_of(generator.integers(0, NODES, EDITS))
    return edits_of(
        EDITS,
        np.stack((np.arange(EDITS), asked)),
        dropped=np.array(dropped).T,
        added=np.array(added).T,
        replaced=np.array(replaced).T,
        features=features,
    )


def _edited(graph: Graph, batcher: QueryBatcher, edits: Edits, edit: int) -> Floats:
    """The answer for the node that an edit asks about, on the edited graph by itself."""
    union = whole(graph)
    keep = np.ones(len(union.sources), bool)
    keep[edits.dropped[1, edits.dropped[0] == edit]] = False
    _, source, target, tie = edits.added[:, edits.added[0] == edit]
    features = batcher.features_of(union.nodes)
    _, node, row = edits.replaced[:, edits.replaced[0] == edit]
    features[node] = edits.features[row]
    sources = np.concatenate((union.sources[keep], source))
    return batcher.ask(
        Union(
            nodes=union.nodes,
            node_starts=union.node_starts,
            sources=sources,
            targets=np.concatenate((union.targets[keep], target)),
            ties=np.concatenate((union.ties[keep], tie)),
            arc_starts=np.array([0, len(sources)]),
        ),
        edits.asked[1, edits.asked[0] == edit],
        features=features,
    )


def _same(found: Floats, right: Floats, tolerance: float) -> bool:
    """Whether answers differ by no more than rounding; one that is no number must be none in both.

    Probabilities are compared, because the logarithm of one near 0 moves a lot with its last bit.
    """
    usable = np.isfinite(right).all(axis=1)
    if not np.array_equal(usable, np.isfinite(found).all(axis=1)):
        return False
    found, right = found[usable], right[usable]
    if right.shape[1] > 1:
        found, right = np.exp(found), np.exp(right)
    scale = max(1.0, float(np.abs(right).max(initial=0.0)))
    return bool((np.abs(found - right) <= tolerance * scale).all())
