"""Probes measure, from outside, what may be relied on before anything else is asked.

Each probe asks two questions that an honest graph model must answer alike (or, for `ties_matter`
and `depth`, differently). They are about small graphs whose features are drawn from the user's
nodes. Without a graph, or where all nodes have the same features, features are made up on several
scales, because a model that standardises its inputs is blind to noise of the wrong size.

A model that answers at random (exported with active dropout) is asked many times, and means are
compared by their standard errors, so that one defect does not look like five.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import ModelError
from recourse_audit.graph.arrays import from_arrays
from recourse_audit.graph.columns import to_strings
from recourse_audit.graph.graph import Floats, Graph, Ints, Ties, build_graph
from recourse_audit.model.batching import SMALLEST_PROBABILITY, QueryBatcher, Sharing, guess_kind
from recourse_audit.model.edited_graph import StateSharing, ask_copies, new_ties
from recourse_audit.model.edits import Edits, edits_of, whole_field
from recourse_audit.model.outputs import choose_output
from recourse_audit.model.probe_graphs import (
    FARTHEST,
    ask_varied,
    draw_kinds,
    invent_pools,
    is_constant,
    relabel,
    ring,
    room_for,
    vary_path,
    with_arcs,
)
from recourse_audit.model.queries import (
    Pool,
    Union,
    join_graphs,
    list_once,
    pool_of,
    whole,
    with_pairs,
)
from recourse_audit.model.roles import OutputPort
from recourse_audit.model.session import OnnxModel
from recourse_audit.model.state_sharing import Form
from recourse_audit.records.model import NoteCode, ProbeReport
from recourse_audit.settings import ModelSettings

TRIALS = 8
TIMES_ASKED = 4
REPEATS = 60
STANDARD_ERRORS = 6.0
TOLERANCE = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-8}
SEEN = (
    "Determinism was checked on {graphs} small graphs, each asked about {times} times. A",
    "model that answers differently in fewer than about one query in ten may pass; so",
    "an audit asks a share of its queries twice (model.repeat).",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Answers to one question: their mean, and its standard error where they vary."""

    mean: Floats
    error: Floats

    def at(self, rows: Ints | slice) -> "Answers":
        return Answers(mean=self.mean[rows], error=self.error[rows])


def probe(
    model: OnnxModel,
    settings: ModelSettings,
    pool: Pool | None = None,
    *,
    seed: int = 0,
    classes: int | None = None,
) -> ProbeReport:
    """Choose the model's output and identify it, then run every probe.

    The output's kind and classes are written into the model's signature, since nothing can be
    asked without them. `classes` is how many the settings declare, if they do.
    """
    generator = np.random.default_rng(seed)
    pools = [pool] if pool is not None else invent_pools(model, generator)
    choose_output(model, settings, pools, classes=classes, seed=seed)
    pools = identify_output(model, settings, pools, generator)
    report = Prober(model, pools, generator).report()
    if settings.depth is None:
        return report
    return with_declared_depth(report, settings.depth)


def identify_output(
    model: OnnxModel, settings: ModelSettings, pools: list[Pool], generator: np.random.Generator
) -> list[Pool]:
    """Find out what the output contains, and which pools get answers that are numbers.

    Where no pool gets only numbers, pools that get some will do; answers that are not numbers are
    then reported subject by subject.
    """
    asked = []
    for pool in pools:
        batcher = QueryBatcher(model, pool, graphs_per_query=1)
        graphs = [ring(generator, pool, room_for(model, 6)) for _ in range(TRIALS)]
        union = join_graphs(graphs)
        asked.append((pool, batcher.ask_raw(union, pool.people(union.nodes))))
    usable = [(pool, raw) for pool, raw in asked if np.isfinite(raw).all()]
    usable = usable or [(pool, raw) for pool, raw in asked if np.isfinite(raw).all(axis=1).any()]
    if not usable:
        raise ModelError(
            f"{model.path}: every answer to a small graph is NaN or infinite, so the model cannot "
            "be audited as exported; check that the features are in the units it was trained on"
        )
    rows_seen = np.concatenate([raw for _, raw in usable])
    rows_seen = rows_seen[np.isfinite(rows_seen).all(axis=1)]
    kind, why = guess_kind(rows_seen)
    if settings.output is not None:
        if settings.output not in ("logits", "score", kind):
            raise ModelError(
                f"{model.path}: model.output says {settings.output}, but the model's answers are "
                f"not ({why}); change model.output to {kind!r}, or leave it out"
            )
        kind, why = settings.output, "declared in the settings"
    columns = rows_seen.shape[1]
    if kind == "score" and columns != 1:
        raise ModelError(
            f"{model.path}: model.output says score, but the output has {columns} columns; a score "
            "is one number per node"
        )
    output: OutputPort = replace(
        model.signature.output, kind=kind, why=why, columns=columns, classes=max(columns, 2)
    )
    model.with_output(output)
    return [pool for pool, _ in usable]


class Prober:
    """Asks the paired questions, one method per probe."""

    def __init__(self, model: OnnxModel, pools: list[Pool], generator: np.random.Generator) -> None:
        self._model = model
        self._pools = pools
        self._generator = generator
        self._alone = [QueryBatcher(model, pool, graphs_per_query=1) for pool in pools]
        self._batchers = self._alone
        self._repeats = 1
        self._tolerance = TOLERANCE.get(model.signature.output.dtype, 1e-4)

    def report(self) -> ProbeReport:
        """Run every probe; the first one tells the others whether the model answers at random."""
        deterministic = self.deterministic()
        self._repeats = 1 if deterministic else REPEATS
        packing = self.packing()
        if packing:
            self._batchers = [QueryBatcher(self._model, pool) for pool in self._pools]
        report = ProbeReport(
            deterministic=deterministic,
            node_order=self.node_order(),
            tie_order=self.tie_order(),
            ties_matter=self.ties_matter(),
            packing=packing,
            depth=self.depth(),
        )
        report = replace(report, sender_degree=self.sender_degree(report))
        codes = [*report.failed]
        if report.depth is None:
            codes.append("depth" if self._farthest == FARTHEST else "no_room")
        for code in reversed(codes):
            report = report.with_note(cast(NoteCode, code))
        return report

    def deterministic(self) -> bool:
        """Whether the same question gets the same answer, bit by bit.

        Each graph is asked about several times. A model that answers differently in a share p of
        queries passes with a probability of about (1 - p)^32, so one that does in fewer than about
        one query in ten may go unseen.
        """
        for batcher, graphs in self._trials():
            union = join_graphs(graphs)
            rows = batcher.people(union.nodes)
            first, *others = (batcher.ask_raw(union, rows) for _ in range(TIMES_ASKED))
            if any(not np.array_equal(first, other, equal_nan=True) for other in others):
                return False
        return True

    def packing(self) -> bool:
        """Whether a graph's answer does not depend on what is packed beside it."""
        for alone, pool in zip(self._alone, self._pools, strict=True):
            sizes = self._generator.integers(1, room_for(self._model, 7) + 1, size=self._rounds + 1)
            graphs = [ring(self._generator, pool, int(size)) for size in sizes]
            union = join_graphs(graphs)
            rows = pool.people(union.nodes)
            together = QueryBatcher(self._model, pool, graphs_per_query=len(union))
            if self._differ(self._ask(alone, union, rows), self._ask(together, union, rows)):
                return False
        return True

    def node_order(self) -> bool:
        """Whether relabelled nodes keep their answers; ties stay in the same order."""
        for batcher, graphs in self._trials():
            orders = [self._generator.permutation(len(graph.nodes)) for graph in graphs]
            union = join_graphs(graphs)
            rows = batcher.people(union.nodes)
            shuffled = join_graphs(list(map(relabel, graphs, orders)))
            to = np.concatenate(orders) + np.repeat(union.node_starts[:-1], list(map(len, orders)))
            again, back = list_once(to[rows], len(to))
            after = self._ask(batcher, shuffled, again).at(back)
            if self._differ(self._ask(batcher, union, rows), after):
                return False
        return True

    def tie_order(self) -> bool:
        """Whether the order of arcs makes no difference."""

        def shuffle(graph: Union) -> Union:
            return with_arcs(graph, self._generator.permutation(len(graph.sources)))

        return not any(self._differ(*both) for both in self._before_and_after(shuffle))

    def ties_matter(self) -> bool:
        """Whether any answer moves when all ties are taken away."""
        both = self._before_and_after(lambda graph: with_arcs(graph, np.arange(0)), self._exact)
        return any(self._differs(before, after).any() for before, after in both)

    def _before_and_after(
        self, change: Callable[[Union], Union], batchers: list[QueryBatcher] | None = None
    ) -> Iterator[tuple[Answers, Answers]]:
        """Answers about graphs as they are, and about the same graphs after a change."""
        for batcher, graphs in self._trials(batchers):
            union, other = join_graphs(graphs), join_graphs([change(graph) for graph in graphs])
            rows = batcher.people(union.nodes)
            yield self._ask(batcher, union, rows), self._ask(batcher, other, rows)

    def depth(self) -> int | None:
        """How many hops away a node's features still move the subject's answer.

        On a path with the subject at its end, one node after the other gets other features. None
        if the farthest node tried still moves the answer, or a node that no tie leads to does.
        """
        reach = 0
        for batcher, pool in zip(self._exact, self._pools, strict=True):
            if is_constant(pool):  # no node of this pool differs from another
                hops = ask_varied(self._generator, pool, self._reaches)
            else:
                hops = self._reaches(pool, batcher)
            reach = max(reach, *hops, 0)
        return reach if reach < self._farthest else None

    def sender_degree(self, report: ProbeReport) -> bool | None:
        """Whether a sender's own number of ties weighs its message.

        None if shared receptive fields cannot be used, because of this or any other probe.
        """
        sound = report.deterministic and report.node_order and report.tie_order and report.packing
        if not sound or report.depth is None or not takes_shared_fields(self._alone[0]):
            return None
        form = form_of(self._model, self._pools, report.depth, self._generator, self._tolerance)
        return None if form is None else form == "degree"

    def _reaches(self, pool: Pool, batcher: QueryBatcher | None = None) -> Iterator[int]:
        """The farthest node that moves the subject's answer, on one path after the other."""
        batcher = batcher or QueryBatcher(self._model, pool, graphs_per_query=1)
        for _ in range(self._rounds):
            union = vary_path(self._generator, pool, self._farthest, first=1)
            answers = self._ask(batcher, union, union.node_starts[:-1])
            first, rest = answers.at(slice(1)), answers.at(slice(1, None))
            yield int((np.flatnonzero(self._differs(first, rest)) + 1).max(initial=0))

    @property
    def _exact(self) -> list[QueryBatcher]:
        """Batchers for questions about single bits, which ask about one graph at a time.

        The place of a row in a large product may move its last bit. Where means are compared,
        noise is larger than that.
        """
        return self._alone if self._repeats == 1 else self._batchers

    @property
    def _farthest(self) -> int:
        """The longest path for which a model of fixed size has room, with one node to spare."""
        return min(FARTHEST, room_for(self._model, FARTHEST + 2) - 2)

    def _trials(
        self, batchers: list[QueryBatcher] | None = None
    ) -> Iterable[tuple[QueryBatcher, list[Union]]]:
        for batcher, pool in zip(batchers or self._batchers, self._pools, strict=True):
            size = room_for(self._model, 7)
            yield batcher, [ring(self._generator, pool, size) for _ in range(self._rounds)]

    @property
    def _rounds(self) -> int:
        """How many graphs to ask about; fewer where each is asked about many times."""
        return TRIALS if self._repeats == 1 else TRIALS // 4

    def _ask(self, batcher: QueryBatcher, union: Union, rows: Ints) -> Answers:
        if self._repeats == 1:
            mean = batcher.ask_raw(union, rows).astype(np.float64)
            return Answers(mean=mean, error=np.zeros_like(mean))
        asked = []
        for _ in range(self._repeats):
            # onnxruntime's consecutive seeds give nearly equal first numbers, so seeds are drawn.
            self._model.reseed(int(self._generator.integers(2**31)))
            asked.append(batcher.ask_raw(union, rows).astype(np.float64))
        mean = np.mean(asked, axis=0)
        return Answers(mean=mean, error=np.std(asked, axis=0, ddof=1) / self._repeats**0.5)

    def _differ(self, first: Answers, other: Answers) -> bool:
        """Whether two answers that ought to be equal are further apart than rounding and noise.

        More than one row in twenty must differ: where large scores nearly tie, a softmax blows up
        the last bits of a few rows, while a defect shows in most rows.
        """
        scale = max(1.0, float(np.nanmax(np.abs(first.mean), initial=0.0)))
        noise = STANDARD_ERRORS * np.hypot(first.error, other.error)
        apart = np.abs(first.mean - other.mean) > self._tolerance * scale + noise
        return int(apart.any(axis=1).sum()) > len(apart) // 20

    def _differs(self, first: Answers, other: Answers) -> NDArray[np.bool_]:
        """Mark the rows that differ at all: an answer that nothing reached keeps every bit."""
        noise = STANDARD_ERRORS * np.hypot(first.error, other.error)
        with np.errstate(invalid="ignore"):  # two infinite answers: neither moved
            moved: NDArray[np.bool_] = np.any(np.abs(first.mean - other.mean) > noise, axis=1)
        return moved


def with_declared_depth(report: ProbeReport, declared: int) -> ProbeReport:
    """Rely on a declared depth, unless the probe saw nodes farther away reach a decision."""
    notes = {key: note for key, note in report.notes.items() if key not in ("depth", "no_room")}
    measured, used = report.depth, max(declared, report.depth or 0)
    report = replace(report, depth=used, notes=notes)
    if measured == declared:
        return report
    figures = {} if measured is None else {"measured": measured}
    return report.with_note("declared", declared=declared, used=used, **figures)


# ---------------------------------------------------------------- state sharing
#
# Whether state sharing gives a model's answers, and in which form. Small graphs are edited in every
# way that an audit edits a graph, and the model is asked about each edited graph in full. A form
# may be used if it gives these answers. The plain form, which is leaner, gives them unless a
# sender's own number of ties weighs its message. Neither form does where a message is weighed by
# how many others its sender has (by its leaving arcs), or where an answer depends on the whole
# query.
#
# The degree form is right wherever the plain form is. So the plain form must show that it is as
# near to the model's answers as the other, in logarithms, where answers near 0 and 1 still differ.
# And enough answers must tell: those that no edit moves, and probabilities of exactly 0 and 1, say
# nothing of any form.


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
    shared: dict[Form, Floats]

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
    return Trial(
        right=np.concatenate((ask_copies(batcher, [(whole_field(graph), edits)]), alone)),
        before=np.concatenate((before[edits.asked[1]], alone)),
        shared={
            form: np.concatenate(
                (
                    StateSharing(graph, batcher, depth, form).answers(edits),
                    QueryBatcher(
                        batcher.model,
                        pool_of(graph),
                        sharing=Sharing(depth=depth, form=form) if depth else None,
                    ).ask(trees, rows),
                )
            )
            for form in FORMS
        },
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
    """A graph with these ties, people and what is known of ties drawn from the pool.

    Of several kinds, only ties between kinds that a relation leads between.
    """
    if pool.relations:
        return _graph_of_kinds(pool, pairs, generator)
    people = generator.integers(0, len(pool.features), NODES)
    columns = (pool.kind, pool.weight, pool.attributes)
    rows = min((len(column) for column in columns if column is not None), default=0)
    row = generator.integers(0, max(rows, 1), pairs.shape[1])
    kind, weight, attributes = (
        column[row] if column is not None and rows else None for column in columns
    )
    return from_arrays(
        pool.features[people], pairs, kind=kind, weight=weight, edge_attributes=attributes
    )


def _graph_of_kinds(pool: Pool, pairs: Ints, generator: np.random.Generator) -> Graph:
    kinds = pool.kinds
    assert kinds is not None
    assert pool.kind is not None
    people, (sources, targets, row) = draw_kinds(generator, pool, NODES, pairs.T.tolist())
    order = np.argsort(kinds.of(people), kind="stable")
    place = np.empty(NODES, np.int32)
    place[order] = np.arange(NODES)
    starts = kinds.of(people[order]).searchsorted(np.arange(len(kinds.names) + 1))
    return build_graph(
        ids=to_strings(range(NODES)),
        features=pool.features[people[order]],
        feature_names=tuple(map(str, range(pool.features.shape[1]))),
        attributes={},
        ties=Ties(
            source=place[sources],
            target=place[targets],
            kind=pool.kind[row] // np.int16(2),
            kinds=tuple(relation.name for relation in kinds.relations),
            weight=None if pool.weight is None else pool.weight[row],
            attributes=None if pool.attributes is None else pool.attributes[row],
        ),
        directed=False,
        kinds=replace(kinds, starts=starts),
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
        if graph.kinds is not None:  # a second tie of a relation, from the same end or another
            near, far = int(graph.ties.source[row]), int(graph.ties.target[row])
            far = int(
                generator.choice(graph.kinds.members(int(graph.kinds.of(np.array([far]))[0])))
            )
        if edit % 4 > 1 and near != far:
            rows = graph.new_rows(graph.ties.kind[[row]]) if graph.relations else ([row], [row])
            added += [(edit, near, far, int(rows[0][0])), (edit, far, near, int(rows[1][0]))]
        if edit % 4 == 1:
            to = int(graph.arc_target[2 * own[0]])
            replaced.append((edit, to, edit))
            if graph.kinds is not None:
                alike = graph.kinds.members(int(graph.kinds.of(np.array([to]))[0]))
                other[edit] = generator.choice(alike)
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
    apart: Floats = (np.abs(away) / size).max(axis=1, initial=0.0)
    return apart
