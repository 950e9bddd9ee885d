"""Probes measure, from outside, what may be relied on before anything else is asked.

Each probe asks two questions that an honest graph model must answer alike (or, for `ties_matter`
and `depth`, differently). They are about small graphs whose features are drawn from the user's
nodes. Without a graph, or where all nodes have the same features, features are made up on several
scales, because a model that standardises its inputs is blind to noise of the wrong size.

A model that answers at random (exported with active dropout) is asked many times, and means are
compared by their standard errors, so that one defect does not look like five.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import LimitError, ModelError
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.batching import QueryBatcher, guess_kind
from recourse_audit.model.form_probe import form_of, takes_shared_fields
from recourse_audit.model.outputs import choose_output
from recourse_audit.model.probe_graphs import (
    ProbeGraph,
    is_constant,
    joined,
    made_up_pools,
    path,
    relabelled,
    ring,
    room_for,
    varied_pools,
    with_arcs,
    with_other_features,
)
from recourse_audit.model.queries import Pool, Union
from recourse_audit.model.roles import OutputPort
from recourse_audit.model.session import OnnxModel
from recourse_audit.records.model import NO_ROOM, NOTES, ProbeReport
from recourse_audit.settings import ModelSettings

TRIALS = 8
TIMES_ASKED = 4
FARTHEST = 9
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
    pools = [pool] if pool is not None else made_up_pools(model, generator)
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
        union = joined(graphs)
        asked.append((pool, batcher.ask_raw(union, np.arange(len(union.nodes)))))
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
    found: OutputPort = replace(
        model.signature.output, kind=kind, why=why, columns=columns, classes=max(columns, 2)
    )
    model.with_output(found)
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
        notes = {name: NOTES[name] for name in report.failed}
        if report.depth is None:
            notes["depth"] = NOTES["depth"] if self._farthest == FARTHEST else NO_ROOM
        return replace(report, notes=notes)

    def deterministic(self) -> bool:
        """Whether the same question gets the same answer, bit by bit.

        Each graph is asked about several times. A model that answers differently in a share p of
        queries passes with a probability of about (1 - p)^32, so one that does in fewer than about
        one query in ten may go unseen.
        """
        for batcher, graphs in self._trials():
            union = joined(graphs)
            rows = np.arange(len(union.nodes))
            first, *others = (batcher.ask_raw(union, rows) for _ in range(TIMES_ASKED))
            if any(not np.array_equal(first, other, equal_nan=True) for other in others):
                return False
        return True

    def packing(self) -> bool:
        """Whether a graph's answer does not depend on what is packed beside it."""
        for alone, pool in zip(self._alone, self._pools, strict=True):
            sizes = self._generator.integers(1, room_for(self._model, 7) + 1, size=self._rounds + 1)
            graphs = [ring(self._generator, pool, int(size)) for size in sizes]
            union = joined(graphs)
            rows = np.arange(len(union.nodes))
            together = QueryBatcher(self._model, pool, graphs_per_query=len(union))
            if self._differ(self._ask(alone, union, rows), self._ask(together, union, rows)):
                return False
        return True

    def node_order(self) -> bool:
        """Whether relabelled nodes keep their answers; ties stay in the same order."""
        for batcher, graphs in self._trials():
            orders = [self._generator.permutation(len(graph.nodes)) for graph in graphs]
            union = joined(graphs)
            rows = np.arange(len(union.nodes))
            shuffled = joined(
                relabelled(graph, order) for graph, order in zip(graphs, orders, strict=True)
            )
            back = np.concatenate(
                [start + order for start, order in zip(union.node_starts, orders, strict=False)]
            )
            after = self._ask(batcher, shuffled, rows)
            after = Answers(mean=after.mean[back], error=after.error[back])
            if self._differ(self._ask(batcher, union, rows), after):
                return False
        return True

    def tie_order(self) -> bool:
        """Whether the order of arcs makes no difference."""
        for batcher, graphs in self._trials():
            union = joined(graphs)
            rows = np.arange(len(union.nodes))
            shuffled = joined(
                with_arcs(graph, self._generator.permutation(len(graph.sources)))
                for graph in graphs
            )
            if self._differ(self._ask(batcher, union, rows), self._ask(batcher, shuffled, rows)):
                return False
        return True

    def ties_matter(self) -> bool:
        """Whether any answer moves when all ties are taken away."""
        for batcher, graphs in self._trials(self._exact):
            union = joined(graphs)
            rows = np.arange(len(union.nodes))
            bare = joined(with_arcs(graph, np.arange(0)) for graph in graphs)
            if self._differs(self._ask(batcher, union, rows), self._ask(batcher, bare, rows)).any():
                return True
        return False

    def depth(self) -> int | None:
        """How many hops away a node's features still move the subject's answer.

        On a path with the subject at its end, one node after the other gets other features. None
        if the farthest node tried still moves the answer, or a node that no tie leads to does.
        """
        farthest, reach = self._farthest, 0
        for batcher, pool in zip(self._exact, self._pools, strict=True):
            if is_constant(pool):
                reach = max(reach, *self._reaches_made_up(pool))
            else:
                reach = max(reach, *self._reaches(batcher, pool))
        return reach if reach < farthest else None

    def sender_degree(self, found: ProbeReport) -> bool | None:
        """Whether a sender's own number of ties weighs its message; see `form_probe`.

        None if shared receptive fields cannot be used, because of this or any other probe.
        """
        sound = found.deterministic and found.node_order and found.tie_order and found.packing
        if not sound or found.depth is None or not takes_shared_fields(self._alone[0]):
            return None
        form = form_of(self._model, self._pools, found.depth, self._generator, self._tolerance)
        return None if form is None else form == "degree"

    def _reaches(self, batcher: QueryBatcher, pool: Pool) -> Iterator[int]:
        """The farthest node that moves the subject's answer, on one path after the other."""
        farthest = self._farthest
        for _ in range(self._rounds):
            base = path(self._generator, pool, farthest)
            changed = (
                with_other_features(self._generator, pool, base, position)
                for position in range(1, farthest + 2)
            )
            union = joined([base, *changed])
            answers = self._ask(batcher, union, union.node_starts[:-1])
            first = Answers(mean=answers.mean[:1], error=answers.error[:1])
            rest = Answers(mean=answers.mean[1:], error=answers.error[1:])
            moved = np.flatnonzero(self._differs(first, rest)) + 1
            yield int(moved.max()) if len(moved) else 0

    def _reaches_made_up(self, constant: Pool) -> Iterator[int]:
        """The same with made-up features, since no node of this pool differs from another."""
        yield 0
        for pool in varied_pools(self._generator, constant):
            batcher = QueryBatcher(self._model, pool, graphs_per_query=1)
            try:
                yield from self._reaches(batcher, pool)
            except LimitError:
                raise
            except ModelError:
                continue  # the model refuses features of this scale

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
    ) -> Iterable[tuple[QueryBatcher, list[ProbeGraph]]]:
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

    def _differ(self, one: Answers, other: Answers) -> bool:
        """Whether two answers that ought to be equal are further apart than rounding and noise.

        More than one row in twenty must differ: where large scores nearly tie, a softmax blows up
        the last bits of a few rows, while a defect shows in most rows.
        """
        scale = max(1.0, float(np.nanmax(np.abs(one.mean), initial=0.0)))
        noise = STANDARD_ERRORS * np.hypot(one.error, other.error)
        apart = np.abs(one.mean - other.mean) > self._tolerance * scale + noise
        return int(apart.any(axis=1).sum()) > len(apart) // 20

    def _differs(self, one: Answers, other: Answers) -> NDArray[np.bool_]:
        """Mark the rows that differ at all: an answer that nothing reached keeps every bit."""
        noise = STANDARD_ERRORS * np.hypot(one.error, other.error)
        with np.errstate(invalid="ignore"):  # two infinite answers: neither moved
            moved: NDArray[np.bool_] = np.any(np.abs(one.mean - other.mean) > noise, axis=1)
        return moved


def with_declared_depth(report: ProbeReport, declared: int) -> ProbeReport:
    """Rely on a declared depth, unless the probe saw nodes farther away reach a decision."""
    notes = {key: text for key, text in report.notes.items() if key != "depth"}
    measured = report.depth
    if measured is None:
        notes["depth"] = (
            f"The settings declare a depth of {declared} hops; the probe measured no limit."
        )
    elif measured > declared:
        notes["depth"] = (
            f"The settings declare a depth of {declared} hops, but the probe saw nodes {measured} "
            f"hops away reach a decision, so {measured} is used."
        )
    elif measured < declared:
        notes["depth"] = (
            f"The settings declare a depth of {declared} hops; the probe measured {measured}."
        )
    return replace(report, depth=max(declared, measured or 0), notes=notes)
