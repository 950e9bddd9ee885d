"""Probes measure, from outside, what may be relied on before anything else is asked.

Each probe asks two questions that an honest graph model must answer alike (or, for `ties_matter`
and `depth`, differently). They are about small graphs whose features are drawn from the user's
nodes. Without a graph, or where all nodes have the same features, features are made up on several
scales, because a model that standardises its inputs is blind to noise of the wrong size.

A model that answers at random (exported with active dropout) is asked many times, and means are
compared by their standard errors, so that one defect does not look like five.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import LimitError, ModelError
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.batching import QueryBatcher, guess_kind
from recourse_audit.model.form_probe import form_of, takes_shared_fields
from recourse_audit.model.head import probe_head
from recourse_audit.model.outputs import choose_output
from recourse_audit.model.probe_graphs import (
    FARTHEST,
    ask_varied,
    farthest_for,
    invent_pools,
    is_constant,
    relabel,
    ring,
    room_for,
    vary_path,
    with_arcs,
)
from recourse_audit.model.queries import Pool, Union, join_graphs, list_once, single_graph
from recourse_audit.model.session import OnnxModel
from recourse_audit.model.split_queries import SplitFeeder
from recourse_audit.records.model import KindProbe, NoteCode, ProbeReport, RelationProbe
from recourse_audit.settings import ModelSettings

TRIALS = 8
TIMES_ASKED = 4
# How many times as many graphs are asked about where the answer may move in steps.
TIMES_STEPS = 8
REPEATS = 60
MOST_COLUMNS = 2000
STANDARD_ERRORS = 6.0
TOLERANCE = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-8}


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
    columns: Sequence[str] = (),
) -> ProbeReport:
    """Choose the model's output and identify it, then run every probe.

    The output's kind and classes are written into the model's signature, since nothing can be
    asked without them. `classes` is how many the settings declare, if they do; `columns` are the
    names of the features.
    """
    generator = np.random.default_rng(seed)
    pools = [pool] if pool is not None else invent_pools(model, generator)
    padded = model.feeder.splits and needs_padding(model.body, pools, generator)
    model.feeder.pads = padded
    probe_head(model, pools[0])
    choose_output(model, settings, pools, classes=classes, seed=seed)
    pools = identify_output(model, settings, pools, generator)
    if model.body is not model:
        plain = settings.model_copy(update={"output": None})
        pools = identify_output(model.body, plain, pools, generator)
    report = replace(Prober(model, pools, generator, columns).report(), padded=padded)
    return report if settings.depth is None else with_declared_depth(report, settings.depth)


def needs_padding(model: OnnxModel, pools: Sequence[Pool], generator: np.random.Generator) -> bool:
    """Whether an export fails, or gives other answers, where a kind or a relation has nobody.

    Answers that change with padding everywhere depend on the rest of a query, which another probe
    tells.
    """
    changed = []
    for pool in pools:
        asked = [
            single_graph(np.zeros(1, np.int64), *(np.zeros(0, np.int64) for _ in range(3))),
            join_graphs([ring(generator, pool, 7) for _ in range(TRIALS)]),
        ]
        batcher, answers = QueryBatcher(model, pool, graphs_per_query=1), []
        for pads in (False, True):
            model.feeder.pads = pads
            try:
                answers += [ask_every(model, batcher, union) for union in asked]
            except LimitError:
                raise
            except ModelError:
                if pads:
                    raise
                return True
        changed.append([not _alike(answers[k], answers[k + 2]) for k in (0, 1)])
    return any(alone and not together for alone, together in changed)


def ask_every(model: OnnxModel, batcher: QueryBatcher, union: Union) -> list[Floats]:
    """The rows about people in every output of numbers that has one for each of them."""
    answers = []
    for query in batcher.queries(union, batcher.people(union.nodes)):
        places, count = model.feeder.locate(query)
        tables = map(model.rows_of, model.ask_every(query).values())
        answers += [table[places] for table in tables if len(table) == count]
    return answers


def _alike(first: Sequence[Floats], second: Sequence[Floats]) -> bool:
    return len(first) == len(second) and all(
        np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
        for a, b in zip(first, second, strict=True)
    )


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
            f"{model.origin}: every answer to a small graph is NaN or infinite, so the model "
            "cannot be audited as exported; check that features are in the units it was trained on"
        )
    rows_seen = np.concatenate([raw for _, raw in usable])
    rows_seen = rows_seen[np.isfinite(rows_seen).all(axis=1)]
    kind, why = guess_kind(rows_seen)
    if settings.output is not None:
        if settings.output not in ("logits", "score", kind):
            raise ModelError(
                f"{model.origin}: model.output says {settings.output}, but the model's answers are "
                f"not ({why}); change model.output to {kind!r}, or leave it out"
            )
        kind, why = settings.output, "declared in the settings"
    columns = rows_seen.shape[1]
    if kind == "score" and columns != 1:
        raise ModelError(
            f"{model.origin}: model.output says score, but the output has {columns} columns; a "
            "score is one number per node"
        )
    classes = max(columns, 2)
    output = replace(model.signature.output, kind=kind, why=why, columns=columns, classes=classes)
    model.with_output(output)
    return [pool for pool, _ in usable]


class Prober:
    """Asks the paired questions, one method per probe; `columns` are the names of features.

    Of a model with a head, they are about the embeddings that its head takes: the answer of a head
    made of steps may stay the same where they move. Whether ties matter is asked of the answer.
    """

    def __init__(
        self,
        model: OnnxModel,
        pools: list[Pool],
        generator: np.random.Generator,
        columns: Sequence[str] = (),
    ) -> None:
        self._column_names = columns
        self._whole, self._model = model, model.body
        model = model.body
        self._pools = pools
        self._generator = generator
        self._farthest = farthest_for(model)
        self._alone = [QueryBatcher(model, pool, graphs_per_query=1) for pool in pools]
        self._batchers = self._alone
        self._repeats = 1
        self._tolerance = TOLERANCE.get(model.signature.output.dtype, 1e-4)
        # How far away a node of each kind moved an answer, as the probe for depth finds out.
        self._hops: dict[int, int] = {}
        # The relations that need the degree form, if some of several do.
        self._weighed: tuple[int, ...] | None = None

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
        feeder = self._model.feeder
        if isinstance(feeder, SplitFeeder):
            report = replace(report, kinds=self.kinds(), relations=self.relations(report, feeder))
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
        for batcher, _, union, rows in self._trials():
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
        for batcher, graphs, union, rows in self._trials():
            orders = [self._generator.permutation(len(graph.nodes)) for graph in graphs]
            shuffled = join_graphs(list(map(relabel, graphs, orders)))
            to = np.concatenate(orders) + np.repeat(union.node_starts[:-1], list(map(len, orders)))
            again, back = list_once(to[rows], len(to))
            after = self._ask(batcher, shuffled, again).at(back)
            if self._differ(self._ask(batcher, union, rows), after):
                return False
        return True

    def tie_order(self) -> bool:
        """Whether the order of arcs makes no difference; some models need them in pairs."""
        pair = np.arange(2 if self._model.pairs_arcs else 1)

        def shuffle(graph: Union) -> Union:
            order = self._generator.permutation(len(graph.sources) // len(pair))
            return with_arcs(graph, (len(pair) * order[:, None] + pair).ravel())

        return not any(self._differ(*both) for both in self._before_and_after(shuffle))

    def ties_matter(self) -> bool:
        """Whether any answer moves when all ties are taken away."""
        batchers, times = self._exact, 1
        if self._whole is not self._model:
            times = TIMES_STEPS
            batchers = [QueryBatcher(self._whole, pool, graphs_per_query=1) for pool in self._pools]
        return any(
            self._differs(*both).any()
            for _ in range(times)
            for both in self._before_and_after(lambda g: with_arcs(g, np.arange(0)), batchers)
        )

    def _before_and_after(
        self, change: Callable[[Union], Union], batchers: list[QueryBatcher] | None = None
    ) -> Iterator[tuple[Answers, Answers]]:
        """Answers about graphs as they are, and about the same graphs after a change."""
        for batcher, graphs, union, rows in self._trials(batchers):
            other = join_graphs([change(graph) for graph in graphs])
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
        """Whether a sender's number of ties weighs its message; None if no fields can be shared."""
        sound = report.deterministic and report.node_order and report.tie_order and report.packing
        sound = sound and not self._model.pairs_arcs
        if not sound or report.depth is None or not takes_shared_fields(self._alone[0]):
            return None
        form = form_of(self._model, self._pools, report.depth, self._generator, self._tolerance)
        self._weighed = form if isinstance(form, tuple) else None
        return None if form is None else form != "plain"

    def kinds(self) -> tuple[KindProbe, ...]:
        """What the nodes of each kind do to decisions on people, after the probe for depth."""
        kinds = self._pools[0].kinds
        assert kinds is not None
        probes = []
        for number, (name, block) in enumerate(zip(kinds.names, kinds.blocks, strict=True)):
            silent = [k for k in range(*block)[:MOST_COLUMNS] if not self._column_moves(number, k)]
            names = self._column_names[block[0] :] if self._column_names else range(block[1])
            probes.append(
                KindProbe(
                    kind=name,
                    hops=self._hops.get(number, 0 if number == 0 else None),
                    silent=tuple(str(names[k - block[0]]) for k in silent),
                )
            )
        return tuple(probes)

    def _column_moves(self, kind: int, column: int) -> bool:
        """Whether any answer moves when the nodes of a kind get other values in a column."""
        kinds = self._pools[0].kinds
        assert kinds is not None
        for batcher, _, union, rows in self._trials():
            features = batcher.features_of(union.nodes)
            other, own = features.copy(), kinds.of(union.nodes) == kind
            drawn = kinds.draw_alike(union.nodes[own], self._generator)
            other[own, column] = batcher.features_of(drawn)[:, column] + np.finfo(np.float16).eps
            before, after = (
                batcher.ask_raw(union, rows, features=table) for table in (features, other)
            )
            if self._repeats > 1 or not np.array_equal(before, after, equal_nan=True):
                return True
        return False

    def relations(self, report: ProbeReport, feeder: SplitFeeder) -> tuple[RelationProbe, ...]:
        """What the ties of each relation do to decisions on people."""
        probes = []
        for number, relation in enumerate(self._pools[0].relations):

            def take_away(graph: Union, number: int = number) -> Union:
                kind = self._pools[0].kind
                assert kind is not None
                return with_arcs(graph, np.flatnonzero(kind[graph.ties] // 2 != number))

            both = self._before_and_after(take_away, self._exact)
            probes.append(
                RelationProbe(
                    relation=relation.name,
                    inputs=feeder.directions_of(number),
                    matters=any(self._differs(*answers).any() for answers in both),
                    degree=report.sender_degree
                    if self._weighed is None
                    else number in self._weighed,
                )
            )
        return tuple(probes)

    def _reaches(self, pool: Pool, batcher: QueryBatcher | None = None) -> Iterator[int]:
        """The farthest node that moves the subject's answer, on one path after the other."""
        batcher = batcher or QueryBatcher(self._model, pool, graphs_per_query=1)
        for _ in range(self._rounds):
            union = vary_path(self._generator, pool, self._farthest, first=1)
            answers = self._ask(batcher, union, union.node_starts[:-1])
            first, rest = answers.at(slice(1)), answers.at(slice(1, None))
            moving = np.flatnonzero(self._differs(first, rest)) + 1
            if pool.kinds is not None:
                near = moving[moving <= self._farthest]
                for hop, kind in zip(near, pool.kinds.of(union.nodes[near]).tolist(), strict=True):
                    self._hops[kind] = max(self._hops.get(kind, 0), int(hop))
            yield int(moving.max(initial=0))

    @property
    def _exact(self) -> list[QueryBatcher]:
        """Batchers for questions about single bits, which ask about one graph at a time.

        The place of a row in a large product may move its last bit. Where means are compared,
        noise is larger than that.
        """
        return self._alone if self._repeats == 1 else self._batchers

    def _trials(
        self, batchers: list[QueryBatcher] | None = None
    ) -> Iterator[tuple[QueryBatcher, list[Union], Union, Ints]]:
        """For each pool, small graphs, the same side by side, and where the people are."""
        for batcher, pool in zip(batchers or self._batchers, self._pools, strict=True):
            size = room_for(self._model, 7)
            graphs = [ring(self._generator, pool, size) for _ in range(self._rounds)]
            union = join_graphs(graphs)
            yield batcher, graphs, union, batcher.people(union.nodes)

    @property
    def _rounds(self) -> int:
        """How many graphs to ask about: fewer if asked often, more to meet every relation."""
        times = 1 if not self._model.feeder.splits else len(self._pools[0].relations) + 1
        return times * (TRIALS if self._repeats == 1 else TRIALS // 4)

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
            return np.asarray(np.any(np.abs(first.mean - other.mean) > noise, axis=1))


def with_declared_depth(report: ProbeReport, declared: int) -> ProbeReport:
    """Rely on a declared depth, unless the probe saw nodes farther away reach a decision."""
    notes = {key: note for key, note in report.notes.items() if key not in ("depth", "no_room")}
    measured, used = report.depth, max(declared, report.depth or 0)
    report = replace(report, depth=used, notes=notes)
    if measured == declared:
        return report
    figures = {} if measured is None else {"measured": measured}
    return report.with_note("declared", declared=declared, used=used, **figures)
