"""Whether state sharing gives a model's answers, and in which form.

Small graphs are edited in every way that an audit edits a graph, and the model is asked about each
edited graph by itself. A form may be used if it gives these answers. The plain form, which is
leaner, gives them unless a sender's own number of ties weighs its message. Neither form does where
a message is weighed by how many others its sender has (by its leaving arcs), or where an answer
depends on the whole query.

The degree form is right wherever the plain form is. So the plain form must show that it is as near
to the model's answers as the other, in logarithms, where answers near 0 and 1 still differ. And
enough answers must tell: those that no edit moves, and probabilities of exactly 0 and 1, say
nothing of any form.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recourse_audit.errors import LimitError, ModelError
from recourse_audit.graph.columns import as_strings
from recourse_audit.graph.graph import Floats, Graph, Ints, Ties, build_graph
from recourse_audit.model.batching import SMALLEST_PROBABILITY, QueryBatcher, Sharing
from recourse_audit.model.edited_graph import StateSharing, write_copies
from recourse_audit.model.edits import Edits, edits_of, whole_field
from recourse_audit.model.probe_graphs import is_constant, varied_pools
from recourse_audit.model.queries import Pool, Union, pool_of, side_by_side, whole, with_pairs
from recourse_audit.model.session import OnnxModel
from recourse_audit.model.shared_states import Form

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
    """Answers on edited graphs, on the graph as it was, and in each form.

    After these come answers about small graphs, which no edit moves.
    """

    right: Floats
    before: Floats
    found: dict[Form, Floats]

    def fits(self, form: Form, tolerance: float) -> bool:
        return _same(self.found[form], self.right, tolerance)

    def apart(self, form: Form) -> float:
        """How far answers in a form are from the right ones."""
        return float(_apart(self.found[form], self.right).max(initial=0.0))

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
    """The leaner form that gives the model's answers; None if none does."""
    rounding = _rounding(model.signature.output.dtype)
    trials: list[Trial] = []
    for pool in pools:
        trials += _trials(model, pool, depth, generator, rounding)
        if is_constant(pool):
            trials += _made_up_trials(model, pool, depth, generator, rounding)
    forms = [form for form in FORMS if all(trial.fits(form, tolerance) for trial in trials)]
    if sum(trial.telling(depth, rounding) for trial in trials) < FEWEST_TELLING or not forms:
        return None
    plain, degree = (max(trial.apart(form) for trial in trials) for form in FORMS)
    alike = plain <= AS_NEAR * max(degree, rounding)
    return forms[0] if alike else forms[-1]


def takes_shared_fields(batcher: QueryBatcher) -> bool:
    """Whether a model has room for any number of nodes and arcs, and answers for all of them."""
    model = batcher.model
    free = model.node_room is None and model.arc_room is None
    return free and not batcher.one_row_per_query and model.signature.port("adjacency") is None


def _trials(
    model: OnnxModel, pool: Pool, depth: int, generator: np.random.Generator, rounding: float
) -> list[Trial]:
    """Some graphs; more of them as long as few answers tell."""
    trials: list[Trial] = []
    telling = 0
    while len(trials) < GRAPHS or (telling < FEWEST_TELLING and len(trials) < MOST_GRAPHS):
        graph = _graph(pool, _pairs(generator), generator)
        trials.append(_trial(graph, QueryBatcher(model, pool_of(graph)), depth, generator))
        telling += trials[-1].telling(depth, rounding)
    return trials


def _made_up_trials(
    model: OnnxModel, constant: Pool, depth: int, generator: np.random.Generator, rounding: float
) -> Iterator[Trial]:
    """The same with made-up features: a mean of equal features hides how they are weighed."""
    for pool in varied_pools(generator, constant):
        try:
            yield from _trials(model, pool, depth, generator, rounding)
        except LimitError:
            raise
        except ModelError:
            continue  # the model refuses features of this scale


def _trial(
    graph: Graph, batcher: QueryBatcher, depth: int, generator: np.random.Generator
) -> Trial:
    trees = _trees(graph, generator)
    rows = np.flatnonzero(generator.random(len(trees.nodes)) < ASKED)
    alone = batcher.ask(trees, rows)
    edits = _edits(graph, batcher, generator)
    before = batcher.ask(whole(graph), np.arange(NODES))
    edited = [_answer_after(graph, batcher, edits, edit) for edit in range(edits.count)]
    return Trial(
        right=np.concatenate((*edited, alone)),
        before=np.concatenate((before[edits.asked[1]], alone)),
        found={
            form: np.concatenate(
                (
                    StateSharing(graph, batcher, depth, form).answers(edits),
                    _sharing(graph, batcher, depth, form).ask(trees, rows),
                )
            )
            for form in FORMS
        },
    )


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


def _pairs(generator: np.random.Generator) -> Ints:
    """The ties of a random tree with some chords."""
    child = np.arange(1, NODES)
    parent = (generator.random(NODES - 1) * child).astype(np.int64)
    chords = np.sort(generator.integers(0, NODES, (2, CHORDS)), axis=0)
    pairs = np.concatenate((np.stack((parent, child)), chords), axis=1)
    return np.unique(pairs[:, pairs[0] != pairs[1]], axis=1)


def _graph(pool: Pool, pairs: Ints, generator: np.random.Generator) -> Graph:
    """A graph with these ties, people and what is known of ties drawn from the pool."""
    people = generator.integers(0, len(pool.features), NODES)
    columns = [column for column in (pool.weight, pool.attributes, pool.kind) if column is not None]
    rows = min(map(len, columns), default=0)
    row = generator.integers(0, max(rows, 1), pairs.shape[1])
    kind = np.zeros(pairs.shape[1], np.int16)
    return build_graph(
        ids=as_strings(np.arange(NODES).astype(str)),
        features=pool.features[people],
        feature_names=tuple(str(place) for place in range(pool.features.shape[1])),
        attributes={},
        ties=Ties(
            source=pairs[0].astype(np.int32),
            target=pairs[1].astype(np.int32),
            kind=pool.kind[row] if pool.kind is not None and rows else kind,
            kinds=("",),
            weight=pool.weight[row] if pool.weight is not None and rows else None,
            attributes=pool.attributes[row] if pool.attributes is not None and rows else None,
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


def _answer_after(graph: Graph, batcher: QueryBatcher, edits: Edits, edit: int) -> Floats:
    """The answer for the node that an edit asks about, on the edited graph by itself."""
    part = edits.part(edit, edit + 1)
    union = write_copies(whole_field(graph), part)
    features = batcher.features_of(union.nodes)
    features[part.replaced[1]] = part.features[part.replaced[2]]
    return batcher.ask(union, part.asked[1], features=features)


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


def _apart(found: Floats, right: Floats) -> Floats:
    """The largest difference of each answer compared with its size; numbers only."""
    usable = np.isfinite(right) & np.isfinite(found)
    away = np.subtract(found, right, out=np.zeros_like(right), where=usable)
    size = np.maximum(1.0, np.abs(right, out=np.ones_like(right), where=usable))
    apart: Floats = (np.abs(away) / size).max(axis=1, initial=0.0)
    return apart


def _rounding(dtype: str) -> float:
    """The precision of a model's answers; whole numbers come from single precision."""
    return float(np.finfo(dtype if dtype.startswith("float") else "float32").eps)
