"""Whether state sharing gives a model's answers, and in which form.

Small graphs are edited in every way that an audit edits a graph, and the model is asked about each
edited graph in full. A form may be used if it gives these answers. The plain form, which is leaner,
gives them unless a sender's own number of ties weighs its message. Neither form does where a
message is weighed by how many others its sender has (by its leaving arcs), or where an answer
depends on the whole query.

The degree form is right wherever the plain form is. So the plain form must show that it is as near
to the model's answers as the other, in logarithms, where answers near 0 and 1 still differ. And
enough answers must tell: those that no edit moves, and probabilities of exactly 0 and 1, say
nothing of any form.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recourse_audit.graph.columns import to_strings
from recourse_audit.graph.graph import Floats, Graph, Ints, Ties, build_graph
from recourse_audit.model.batching import SMALLEST_PROBABILITY, QueryBatcher, Sharing
from recourse_audit.model.edited_graph import StateSharing, ask_copies, new_ties
from recourse_audit.model.edits import Edits, edits_of, whole_field
from recourse_audit.model.probe_graphs import ask_varied, draw_kinds, is_constant
from recourse_audit.model.queries import Pool, Union, join_graphs, pool_of, whole, with_pairs
from recourse_audit.model.session import OnnxModel
from recourse_audit.model.state_sharing import Form

GRAPHS = 3
MOST_GRAPHS = 12
NODES = 14
CHORDS = 9
EDITS = 10
TREES = 20
ASKED = 0.4
FEWEST_TELLING = 10
AS_NEAR = 16
ENDS = (0.0, float(np.log(SMALLEST_PROBABILITY)))
FORMS: tuple[Form, Form] = ("plain", "degree")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Answers on edited graphs, on the graph before, and in each form; those no edit moves last."""

    right: Floats
    before: Floats
    shared: dict[Form, Floats]
    ask: Callable[[Form], Floats]

    def telling(self, depth: int, rounding: float) -> int:
        """How many answers tell forms apart; where no tie matters, none has to move."""
        between = ~np.isin(self.right, ENDS).all(axis=1)
        moved = _apart(self.before, self.right) > AS_NEAR * rounding
        return int(np.count_nonzero(between & (moved | (depth == 0))))


def form_of(
    model: OnnxModel,
    pools: Sequence[Pool],
    depth: int,
    generator: np.random.Generator,
    tolerance: float,
) -> Form | None:
    """The leaner form that gives the model's answers, by relation if need be; None if none does."""
    dtype = model.signature.output.dtype  # whole numbers come from single precision
    rounding = float(np.finfo(dtype if dtype.startswith("float") else "float32").eps)
    trials: list[Trial] = []

    def ask(pool: Pool) -> list[Trial]:
        return _trials(model, pool, depth, generator, rounding)

    for pool in pools:
        trials += ask(pool)
        if is_constant(pool):  # a mean of equal features hides how they are weighed
            trials += ask_varied(generator, pool, ask)
    forms = [
        form
        for form in FORMS
        if all(_same(trial.shared[form], trial.right, tolerance) for trial in trials)
    ]
    if sum(trial.telling(depth, rounding) for trial in trials) < FEWEST_TELLING or not forms:
        return None
    plain, degree = (
        max(float(_apart(trial.shared[form], trial.right).max(initial=0.0)) for trial in trials)
        for form in FORMS
    )
    near = AS_NEAR * max(degree, rounding)
    relations = len(pools[0].relations)
    if forms == ["plain"] or ("plain" in forms and plain <= near):
        return "plain"
    if not relations:
        return "degree"
    # One relation after the other is taken as plain, as long as answers stay as near.
    weighed = [*range(relations)]
    for number in range(relations):
        fewer = tuple(other for other in weighed if other != number)
        pairs = [(trial.ask(fewer), trial.right) for trial in trials]
        if all(_same(*pair, tolerance) for pair in pairs) and all(
            float(_apart(*pair).max(initial=0.0)) <= near for pair in pairs
        ):
            weighed.remove(number)
    return tuple(weighed)


def takes_shared_fields(batcher: QueryBatcher) -> bool:
    """Whether a model has room for any number of nodes and arcs, and answers for all of them."""
    model = batcher.model
    free = model.feeder.node_room is None and model.feeder.arc_room is None
    return free and not batcher.one_row_per_query and model.signature.port("adjacency") is None


def _trials(
    model: OnnxModel, pool: Pool, depth: int, generator: np.random.Generator, rounding: float
) -> list[Trial]:
    """Some graphs for each relation, if there are several; more as long as few answers tell."""
    trials: list[Trial] = []
    telling, fewest = 0, GRAPHS * (1 + len(pool.relations))
    while len(trials) < fewest or (telling < FEWEST_TELLING and len(trials) < MOST_GRAPHS):
        graph = _graph(pool, _pairs(generator), generator)
        batcher = QueryBatcher(model, pool_of(graph))
        if graph.relations:
            batcher = batcher.with_more_ties(new_ties(graph))
        trials.append(_trial(graph, batcher, depth, generator))
        telling += trials[-1].telling(depth, rounding)
    return trials


def _trial(
    graph: Graph, batcher: QueryBatcher, depth: int, generator: np.random.Generator
) -> Trial:
    trees = _trees(graph, generator)
    rows = np.flatnonzero(generator.random(len(trees.nodes)) < ASKED)
    rows = rows[trees.nodes[rows] < graph.person_count]
    alone = batcher.ask(trees, rows)
    edits = _edits(graph, batcher, generator)
    before = batcher.ask(whole(graph), np.arange(graph.person_count))

    def ask(form: Form) -> Floats:
        sharing = Sharing(depth=depth, form=form) if depth else None
        packed = QueryBatcher(batcher.model, pool_of(graph), sharing=sharing)
        answers = StateSharing(graph, batcher, depth, form).answers(edits)
        return np.concatenate((answers, packed.ask(trees, rows)))

    return Trial(
        right=np.concatenate((ask_copies(batcher, [(whole_field(graph), edits)]), alone)),
        before=np.concatenate((before[edits.asked[1]], alone)),
        shared={form: ask(form) for form in FORMS},
        ask=ask,
    )


def _trees(graph: Graph, generator: np.random.Generator) -> Union:
    """Small parts of a graph side by side: some of its pairs each, with their nodes."""
    parts = []
    for _ in range(TREES):
        pairs = np.unique(generator.integers(0, graph.pair_count, 3))
        nodes = np.unique(np.concatenate((graph.pair_low[pairs], graph.pair_high[pairs])))
        parts.append(with_pairs(graph, nodes, pairs))
    return join_graphs(parts)


def _pairs(generator: np.random.Generator) -> Ints:
    """The ties of a random tree with some chords."""
    child = np.arange(1, NODES)
    parent = (generator.random(NODES - 1) * child).astype(np.int64)
    chords = np.sort(generator.integers(0, NODES, (2, CHORDS)), axis=0)
    pairs = np.concatenate((np.stack((parent, child)), chords), axis=1)
    return np.unique(pairs[:, pairs[0] != pairs[1]], axis=1)


def _graph(pool: Pool, pairs: Ints, generator: np.random.Generator) -> Graph:
    """A graph with these ties (of several kinds, those that fit), all else drawn from the pool."""
    kinds, columns = pool.kinds, (pool.kind, pool.weight, pool.attributes)
    rows = min((len(column) for column in columns if column is not None), default=0)
    if kinds is not None and kinds.relations:
        people, (sources, targets, row) = draw_kinds(generator, pool, NODES, pairs.T.tolist())
        order = np.argsort(kinds.of(people), kind="stable")
        place = np.empty(NODES, np.int64)
        place[order] = np.arange(NODES)
        people, sources, targets = people[order], place[sources], place[targets]
    else:
        people, (sources, targets) = generator.integers(0, len(pool.features), NODES), pairs
        if kinds is not None:  # at least one person, and kind by kind
            people = np.sort(np.append(people[1:], generator.integers(0, kinds.starts[1])))
        row = generator.integers(0, max(rows, 1), pairs.shape[1])
    kind, weight, attributes = (
        column[row] if column is not None and rows else None for column in columns
    )
    kind = np.zeros(len(row), np.int16) if kind is None else kind // (2 if pool.relations else 1)
    if kinds is not None:
        kinds = replace(
            kinds, starts=kinds.of(people).searchsorted(np.arange(len(kinds.names) + 1))
        )
    return build_graph(
        ids=to_strings(range(NODES)),
        features=pool.features[people],
        feature_names=tuple(map(str, range(pool.features.shape[1]))),
        attributes={},
        ties=Ties(
            source=sources.astype(np.int32),
            target=targets.astype(np.int32),
            kind=kind,
            kinds=tuple(map(str, range(len(pool.relations) or int(kind.max(initial=0)) + 1))),
            weight=weight,
            attributes=attributes,
        ),
        directed=False,
        kinds=kinds,
    )


def _edits(graph: Graph, batcher: QueryBatcher, generator: np.random.Generator) -> Edits:
    """Dropped and added ties and replaced features, of the node asked about and of others."""
    dropped, added, replaced, other = [], [], [], generator.integers(0, NODES, EDITS)
    tied = np.flatnonzero(np.diff(graph.starts)[: graph.person_count])
    asked = tied[generator.integers(0, len(tied), EDITS)]
    ties = len(graph.ties)
    for edit, node in enumerate(asked.tolist()):
        own = np.flatnonzero(graph.arc_source == node) // 2
        gone = {int(own[0]), *generator.integers(0, ties, edit % 3).tolist()}
        dropped += [(edit, 2 * tie + way) for tie in sorted(gone) for way in (0, 1)]
        near, far = node if edit % 2 else int(generator.integers(NODES)), (node + 5) % NODES
        row = int(generator.integers(ties))
        if graph.kinds is not None:  # a second tie of a relation, to the same end or another
            near = int(graph.ties.source[row])
            far = int(graph.kinds.draw_alike(graph.ties.target[[row]], generator)[0])
        if edit % 4 > 1 and near != far:
            kind = graph.ties.kind[[row]].astype(np.int64)
            rows = graph.new_rows(kind) if graph.relations else ([row], [row])
            added += [(edit, near, far, int(rows[0][0])), (edit, far, near, int(rows[1][0]))]
        if edit % 4 == 1:
            to = int(graph.arc_target[2 * own[0]])
            replaced.append((edit, to, edit))
            if graph.kinds is not None:
                other[edit] = graph.kinds.draw_alike(np.array([to]), generator)[0]
    features = batcher.features_of(other)
    return edits_of(
        EDITS,
        np.stack((np.arange(EDITS), asked)),
        dropped=np.array(dropped).T,
        added=np.array(added).T,
        replaced=np.array(replaced).T,
        features=features,
    )


def _same(answers: Floats, right: Floats, tolerance: float) -> bool:
    """Whether answers differ by no more than rounding; one that is no number must be none in both.

    Probabilities are compared, because the logarithm of one near 0 moves a lot with its last bit.
    """
    usable = np.isfinite(right).all(axis=1)
    if not np.array_equal(usable, np.isfinite(answers).all(axis=1)):
        return False
    answers, right = answers[usable], right[usable]
    if right.shape[1] > 1:
        answers, right = np.exp(answers), np.exp(right)
    scale = max(1.0, float(np.abs(right).max(initial=0.0)))
    return bool((np.abs(answers - right) <= tolerance * scale).all())


def _apart(answers: Floats, right: Floats) -> Floats:
    """The largest difference of each answer compared with its size; numbers only."""
    usable = np.isfinite(right) & np.isfinite(answers)
    away = np.subtract(answers, right, out=np.zeros_like(right), where=usable)
    size = np.maximum(1.0, np.abs(right, out=np.ones_like(right), where=usable))
    return np.asarray((np.abs(away) / size).max(axis=1, initial=0.0))
