"""Probes measure, from outside, what may be relied on before anything else is asked.

Each probe puts two questions that an honest graph model must answer alike (or, for `ties_matter`
and `depth`, differently), on small graphs whose features are drawn from the user's nodes or, with
no graph at hand, from several scales, because a model that standardises its inputs is blind to
noise of the wrong size.

A model that answers at random (exported with its dropout on) is asked many times over, and means
are compared by their standard errors, so that one defect does not look like five.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import ModelError
from recourse_audit.graph.arrays import Floats, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.output import guess_kind
from recourse_audit.model.protocol import SealedModel
from recourse_audit.model.queries import Pool, Union
from recourse_audit.model.signature import OutputPort
from recourse_audit.model.probe_graphs import (
    Sketch,
    joined,
    path,
    relabelled,
    ring,
    size_of,
    with_arcs,
)
from recourse_audit.records.probes import ProbeReport
from recourse_audit.settings import ModelSettings

TRIALS = 8
FARTHEST = 9
REPEATS = 60
STANDARD_ERRORS = 6.0
TOLERANCE = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-8}

SENTENCES = {
    "deterministic": "The same question gets different answers: the model was probably exported "
    "with its dropout on. Figures in this audit cannot be repeated; ask for an export in "
    "evaluation mode.",
    "node_order": "Answers depend on the order in which nodes are listed. Nodes are always listed "
    "in ascending order here, but another order would give other decisions.",
    "tie_order": "Answers depend on the order in which ties are listed: messages are lost when "
    "several arrive at one node (a known fault of exports below opset 16), so the model's numbers "
    "are probably not those its makers measured.",
    "ties_matter": "Answers do not change when ties do: the training graph was probably baked "
    "into the export. No explanation by ties is possible.",
    "packing": "A graph's answer changes with what is asked beside it, so every graph is asked "
    "alone, which is slower.",
    "depth": "Every node of a query reaches every other, however far apart, so no number of hops "
    "bounds what carried a decision.",
}
NO_ROOM = (
    "The model was exported for a size too small to measure how many hops reach a node; declare "
    "model.depth."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Answers to one question: their mean, and its standard error where they vary."""

    mean: Floats
    error: Floats


def probe(
    model: OnnxModel, settings: ModelSettings, pool: Pool | None = None, *, seed: int = 0
) -> ProbeReport:
    """Identify the model's output, then run every probe.

    The output's kind and classes are written into the model's signature, since nothing can be
    asked without them.
    """
    generator = np.random.default_rng(seed)
    pools = [pool] if pool is not None else made_up_pools(model, generator)
    pools = identify_output(model, settings, pools, generator)
    report = Prober(model, pools, generator).report()
    if settings.depth is None:
        return report
    return _with_declared(report, settings.depth)


def _with_declared(report: ProbeReport, declared: int) -> ProbeReport:
    """Rely on a declared depth, unless nodes farther away were seen to reach a decision."""
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


def made_up_pools(model: OnnxModel, generator: np.random.Generator) -> list[Pool]:
    """Features for a model that comes without a graph, on the scales that features come in."""
    width = model.signature.feature_count
    if width is None:
        raise ModelError(
            f"{model.path}: the model does not say how many features it takes; give it a graph "
            "with --graph"
        )
    rows = 64
    marks = (generator.random((rows, width)) < 0.3).astype(float)
    scales = (
        generator.normal(size=(rows, width)),
        generator.lognormal(1.0, 1.5, size=(rows, width)),
        generator.lognormal(7.0, 2.0, size=(rows, width)),
        marks,
        marks / np.maximum(marks.sum(axis=1, keepdims=True), 1.0),
    )
    port = model.signature.port("edge_attributes")
    columns = port.inner[1] if port is not None else 1
    attributes = generator.normal(size=(rows, columns if isinstance(columns, int) else 1))
    return [
        Pool(
            features=features,
            attributes=attributes.astype(np.float32),
            kind=np.zeros(rows, np.int16),
        )
        for features in scales
    ]


def identify_output(
    model: OnnxModel, settings: ModelSettings, pools: list[Pool], generator: np.random.Generator
) -> list[Pool]:
    """Find out what the output holds, and which pools get answers that are numbers.

    Where none gets only numbers, pools that get some will do: the rest is for the subjects' pages.
    """
    asked = []
    for pool in pools:
        batcher = QueryBatcher(model, pool, graphs_per_query=1)
        sketches = [ring(generator, pool, _room(model, 6)) for _ in range(TRIALS)]
        union = joined(sketches)
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
        if settings.output not in ("logits", kind):
            raise ModelError(
                f"{model.path}: model.output says {settings.output}, but the model's answers are "
                f"none ({why}); correct model.output to {kind!r}, or leave it out"
            )
        kind, why = settings.output, "declared in the settings"
    columns = rows_seen.shape[1]
    found: OutputPort = replace(
        model.signature.output, kind=kind, why=why, columns=columns, classes=max(columns, 2)
    )
    model.with_output(found)
    return [pool for pool, _ in usable]


class Prober:
    """Puts the paired questions, one probe a method."""

    def __init__(
        self, model: SealedModel, pools: list[Pool], generator: np.random.Generator
    ) -> None:
        self._model = model
        self._pools = pools
        self._generator = generator
        self._alone = [QueryBatcher(model, pool, graphs_per_query=1) for pool in pools]
        self._batchers = self._alone
        self._repeats = 1
        self._tolerance = TOLERANCE.get(model.signature.output.dtype, 1e-4)

    def report(self) -> ProbeReport:
        """Run every probe; from the second on they know whether the model answers at random."""
        deterministic = self.deterministic()
        self._repeats = 1 if deterministic else REPEATS
        packing = self.packing()
        if packing:
            self._batchers = [QueryBatcher(self._model, pool) for pool in self._pools]
        node_order, tie_order = self.node_order(), self.tie_order()
        ties_matter, depth = self.ties_matter(), self.depth()
        found = {
            "deterministic": deterministic,
            "node_order": node_order,
            "tie_order": tie_order,
            "ties_matter": ties_matter,
            "packing": packing,
        }
        failed = [name for name, good in found.items() if not good]
        notes = {name: SENTENCES[name] for name in failed}
        if depth is None:
            notes["depth"] = SENTENCES["depth"] if self._farthest == FARTHEST else NO_ROOM
        return ProbeReport(
            deterministic=deterministic,
            node_order=node_order,
            tie_order=tie_order,
            ties_matter=ties_matter,
            packing=packing,
            depth=depth,
            notes=notes,
        )

    def deterministic(self) -> bool:
        """Whether the same question gets the same bits."""
        for batcher, sketches in self._trials():
            union = joined(sketches)
            first, *others = (batcher.ask_raw(union, np.arange(len(union.nodes))) for _ in range(4))
            if any(not np.array_equal(first, other, equal_nan=True) for other in others):
                return False
        return True

    def packing(self) -> bool:
        """Whether a graph's answer is untouched by what is packed beside it."""
        for alone, pool in zip(self._alone, self._pools, strict=True):
            sizes = self._generator.integers(1, _room(self._model, 7) + 1, size=self._rounds + 1)
            sketches = [ring(self._generator, pool, int(size)) for size in sizes]
            union = joined(sketches)
            rows = np.arange(len(union.nodes))
            together = QueryBatcher(self._model, pool, graphs_per_query=len(union))
            if self._differ(self._ask(alone, union, rows), self._ask(together, union, rows)):
                return False
        return True

    def node_order(self) -> bool:
        """Whether relabelled nodes keep their answers; ties stay in the same order."""
        for batcher, sketches in self._trials():
            orders = [self._generator.permutation(len(sketch.nodes)) for sketch in sketches]
            union = joined(sketches)
            rows = np.arange(len(union.nodes))
            shuffled = joined(
                relabelled(sketch, order) for sketch, order in zip(sketches, orders, strict=True)
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
        """Whether the order of arcs is of no consequence."""
        for batcher, sketches in self._trials():
            union = joined(sketches)
            rows = np.arange(len(union.nodes))
            shuffled = joined(
                with_arcs(sketch, self._generator.permutation(len(sketch.sources)))
                for sketch in sketches
            )
            if self._differ(self._ask(batcher, union, rows), self._ask(batcher, shuffled, rows)):
                return False
        return True

    def ties_matter(self) -> bool:
        """Whether any answer moves when all ties are taken away."""
        for batcher, sketches in self._trials(self._exact):
            union = joined(sketches)
            rows = np.arange(len(union.nodes))
            bare = joined(with_arcs(sketch, np.arange(0)) for sketch in sketches)
            if self._moved(self._ask(batcher, union, rows), self._ask(batcher, bare, rows)).any():
                return True
        return False

    def depth(self) -> int | None:
        """How many hops away a node's features still move the subject's answer.

        On a path with the subject at its end, one node after the other gets another's features.
        None if the farthest node tried still reaches it, or a node that no tie leads to does.
        """
        farthest, reach = self._farthest, 0
        for batcher, pool in zip(self._exact, self._pools, strict=True):
            for _ in range(self._rounds):
                base = path(self._generator, pool, farthest)
                variants = [base, *(self._changed(base, pool, k + 1) for k in range(farthest + 1))]
                union = joined(variants)
                rows = union.node_starts[:-1]
                answers = self._ask(batcher, union, rows)
                first = Answers(mean=answers.mean[:1], error=answers.error[:1])
                rest = Answers(mean=answers.mean[1:], error=answers.error[1:])
                moved = np.flatnonzero(self._moved(first, rest)) + 1
                reach = max(reach, int(moved.max()) if len(moved) else 0)
        return reach if reach < farthest else None

    @property
    def _exact(self) -> list[QueryBatcher]:
        """Desks for questions about bits: the place of a row in a large product may move its last.

        Where means are compared, noise swamps that.
        """
        return self._alone if self._repeats == 1 else self._batchers

    @property
    def _farthest(self) -> int:
        """The longest path for which a model of fixed size has room, with one node to spare."""
        return min(FARTHEST, _room(self._model, FARTHEST + 2) - 2)

    def _changed(self, sketch: Sketch, pool: Pool, position: int) -> Sketch:
        nodes = sketch.nodes.copy()
        other = self._generator.integers(1, max(size_of(pool), 2))
        nodes[position] = (nodes[position] + other) % size_of(pool)
        return replace(sketch, nodes=nodes)

    def _trials(
        self, batchers: list[QueryBatcher] | None = None
    ) -> Iterable[tuple[QueryBatcher, list[Sketch]]]:
        for batcher, pool in zip(batchers or self._batchers, self._pools, strict=True):
            size = _room(self._model, 7)
            yield batcher, [ring(self._generator, pool, size) for _ in range(self._rounds)]

    @property
    def _rounds(self) -> int:
        """Fewer graphs where each is asked many times."""
        return TRIALS if self._repeats == 1 else TRIALS // 4

    def _ask(self, batcher: QueryBatcher, union: Union, rows: Ints) -> Answers:
        if self._repeats == 1:
            mean = batcher.ask_raw(union, rows).astype(np.float64)
            return Answers(mean=mean, error=np.zeros_like(mean))
        asked = []
        for _ in range(self._repeats):
            # onnxruntime's consecutive seeds give nearly equal first numbers, so none is reused.
            self._model.reseed(int(self._generator.integers(2**31)))
            asked.append(batcher.ask_raw(union, rows).astype(np.float64))
        mean = np.mean(asked, axis=0)
        return Answers(mean=mean, error=np.std(asked, axis=0, ddof=1) / self._repeats**0.5)

    def _differ(self, one: Answers, other: Answers) -> bool:
        """Whether two answers that ought to be equal are further apart than rounding and noise.

        More than one row in twenty must be: where large scores nearly tie, a softmax turns the
        last bits of a few rows into figures, while a defect shows in most rows.
        """
        scale = max(1.0, float(np.nanmax(np.abs(one.mean), initial=0.0)))
        noise = STANDARD_ERRORS * np.hypot(one.error, other.error)
        apart = np.abs(one.mean - other.mean) > self._tolerance * scale + noise
        return int(apart.any(axis=1).sum()) > len(apart) // 20

    def _moved(self, one: Answers, other: Answers) -> NDArray[np.bool_]:
        """Mark the rows that differ at all: what nothing reached keeps its very bits."""
        noise = STANDARD_ERRORS * np.hypot(one.error, other.error)
        moved: NDArray[np.bool_] = np.any(np.abs(one.mean - other.mean) > noise, axis=1)
        return moved


def _room(model: SealedModel, wanted: int) -> int:
    """How large a probe's graph, of at most one tie more than nodes, may be in a fixed size."""
    nodes = wanted if model.node_room is None else model.node_room
    ties = wanted if model.arc_room is None else model.arc_room // 2 - 1
    return max(1, min(wanted, nodes, ties))
