"""Measures every output of a model, and chooses the one that holds the decision, if one does.

Nothing is read from the file. Small graphs of several sizes are asked about, and the numbers of
rows that come back tell rows per node, per graph and per tie apart. How far an output sees is
measured on a path: a later layer is moved by nodes that are farther away.

An audit of the wrong output is false from its first line, so one is taken only if it is the only
one with one row per node, or if every other one demonstrably comes before it: its rows see farther
than theirs, and it has as many columns as the settings declare classes. Outputs that hold the same
decision in two forms (scores and their softmax) count as one.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import ModelError
from recourse_audit.graph.graph import Floats, Ints, Kinds
from recourse_audit.model.batching import QueryBatcher, as_answers, guess_kind
from recourse_audit.model.probe_graphs import (
    farthest_for,
    is_constant,
    ring,
    room_for,
    vary_path,
    vary_pool,
)
from recourse_audit.model.queries import Pool, Query, Union, join_graphs
from recourse_audit.model.roles import OutputPort, Rows
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import ModelSettings, OutputKind

# With these sizes no two of the numbers of nodes, ties, arcs and graphs are ever equal twice.
SIZES = ((5, 6), (4, 5, 7))
PATHS = 8
# How far features are moved to compare outputs, and how many times.
STEP = 0.01
STEPS = 96
# The share of changes that must move an answer for its reach to count as measured: an answer that
# is saturated, and moves only now and then, may reach farther than was seen.
STEADY = 0.5
UNLIMITED = 1_000
# The unexplained share up to which one output counts as computed from another.
LITTLE = 0.02
# Of the forms of one decision, the one that loses least to rounding.
_PREFERRED: tuple[OutputKind, ...] = ("logits", "log_probabilities", "probabilities")

Tables = dict[str, NDArray[Any]]


def choose_output(
    model: OnnxModel,
    settings: ModelSettings,
    pools: list[Pool],
    *,
    classes: int | None = None,
    seed: int = 0,
) -> None:
    """Measure all outputs; read decisions from the one beyond doubt, or refuse the model."""
    survey = OutputSurvey(model, pools, np.random.default_rng([seed, 1]))
    model.with_outputs(tuple(survey.describe(port) for port in model.signature.outputs))
    model.with_output(_Choice(model, settings, survey, classes).choose())


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One query as the model saw it, and the table that every output gave."""

    nodes: int
    arcs: int
    graphs: int
    query: Query
    tables: Tables


class OutputSurvey:
    """What small graphs show about every output of one model."""

    def __init__(self, model: OnnxModel, pools: list[Pool], generator: np.random.Generator) -> None:
        self._model = model
        self._pools = pools
        self._generator = generator
        self._heard: list[Asked] = []
        for pool in pools:
            for sizes in SIZES:
                union = join_graphs([self._ring(pool, size) for size in sizes])
                self._heard += self._ask(QueryBatcher(model, pool), union)

    def _ask(
        self,
        batcher: QueryBatcher,
        union: Union,
        rows: Ints | None = None,
        features: Floats | None = None,
    ) -> list[Asked]:
        """What all outputs say to each query about some nodes of a union, or about all."""
        heard = []
        rows = batcher.people(union.nodes) if rows is None else rows
        for query in batcher.queries(union, rows, features=features):
            nodes, arcs = self._model.feeder.sizes(query)
            graphs = len(query.node_starts) - 1 + (nodes > len(query.nodes))
            tables = {
                name: self._model.rows_of(raw) for name, raw in self._model.ask_every(query).items()
            }
            heard.append(Asked(nodes=nodes, arcs=arcs, graphs=graphs, query=query, tables=tables))
        return heard

    def _ring(self, pool: Pool, size: int) -> Union:
        return ring(self._generator, pool, room_for(self._model, size))

    def answers(self, name: str) -> Floats:
        """What an output with one row per node said, without the rows of padding."""
        tables = ((asked.query, asked.tables[name]) for asked in self._heard)
        return np.concatenate(
            [t if len(t) == len(q.rows) else t[self._model.feeder.locate(q)[0]] for q, t in tables]
        )

    def is_random(self) -> bool:
        for pool in self._pools:
            batcher, graph = QueryBatcher(self._model, pool), self._ring(pool, 6)
            first, *others = (self._ask(batcher, graph) for _ in range(4))
            pairs = (pair for other in others for pair in zip(first, other, strict=True))
            for asked, again in pairs:
                for name, table in asked.tables.items():
                    if not np.array_equal(table, again.tables[name], equal_nan=True):
                        return True
        return False

    def reaches(self, names: list[str]) -> dict[str, tuple[int | None, bool]]:
        """How far each of some outputs with one row per node sees, and whether steadily so.

        On a path with the subject at its end, one node after the other gets other features; the
        last node has no tie, so an output that it moves has no limit: None.
        """
        farthest = max(farthest_for(self._model), 0)
        best = {name: np.zeros(farthest + 2) for name in names}
        for pool in self._pools_that_vary():
            batcher = QueryBatcher(self._model, pool, graphs_per_query=1)
            counts = {name: np.zeros_like(shares) for name, shares in best.items()}
            for _ in range(PATHS):
                union = vary_path(self._generator, pool, farthest, first=0)
                heard = self._ask(batcher, union, union.node_starts[:-1])
                for name in names:
                    base, *rest = (np.asarray(asked.tables[name][0]) for asked in heard)
                    counts[name] += [not np.array_equal(base, row, equal_nan=True) for row in rest]
            best = {name: np.maximum(best[name], counts[name] / PATHS) for name in names}
        hops = {name: int(np.flatnonzero(shares).max(initial=0)) for name, shares in best.items()}
        return {
            name: (None if far >= max(farthest, 1) else far, bool(best[name][far] >= STEADY))
            for name, far in hops.items()
        }

    def responses(self, names: list[str]) -> dict[str, Floats]:
        """How one node's row of each output answers to small random changes of all features."""
        pool = self._pools_that_vary()[0]
        union = self._ring(pool, 7)
        features = np.asarray(pool.features, np.float64)
        own, scale = features[union.nodes], STEP * np.maximum(features.std(axis=0), 1e-6)
        batcher, heard = QueryBatcher(self._model, pool), []
        for step in range(STEPS + 1):
            noise = self._generator.normal(size=own.shape) * scale * (step > 0)
            changed = (own + noise).astype(self._model.feature_type)
            heard += self._ask(batcher, union, np.arange(1), changed)
        rows = {n: np.array([asked.tables[n][0] for asked in heard], np.float64) for n in names}
        return {name: table[1:] - table[0] for name, table in rows.items()}

    def _pools_that_vary(self) -> list[Pool]:
        """Pools in which nodes differ, since exchanging equal nodes shows nothing."""
        pools = []
        for pool in self._pools:
            pools += list(vary_pool(self._generator, pool)) if is_constant(pool) else [pool]
        return pools

    def describe(self, port: OutputPort) -> OutputPort:
        """What asking showed about an output's rows and numbers."""
        if not port.numeric:
            kind = "text" if port.dtype == "string" else "a sequence, a map or another container"
            return replace(port, looks=f"{kind}, which is not read")
        tables = [asked.tables[port.name] for asked in self._heard]
        widths = {table.shape[1] for table in tables}
        columns = widths.pop() if len(widths) == 1 else None
        # Without one width it is such as a matrix of pairs of nodes.
        rows = self._rows([len(table) for table in tables]) if columns is not None else "other"
        if not port.floating:
            looks = "whole numbers, not scores"
        elif rows == "other":
            shape, asked = " by ".join(map(str, tables[0].shape)), self._heard[0]
            looks = f"a table of {shape} for {asked.nodes} nodes and {asked.arcs} arcs"
        else:
            table = np.concatenate(tables)
            finite = table[np.isfinite(table).all(axis=1)]
            looks = guess_kind(finite)[1] if len(finite) else "no answer is a number"
        return replace(port, rows=rows, columns=columns, looks=looks)

    def _rows(self, sizes: list[int]) -> Rows:
        """What the rows of tables with these sizes are about."""
        heard = self._heard
        targets = self._model.signature.port("target") is not None
        if targets and sizes == [len(asked.query.rows) for asked in heard]:
            return "node"
        if sizes == [asked.nodes for asked in heard]:
            return "node"
        if sizes in ([asked.graphs for asked in heard], [1] * len(heard)):
            return "graph"
        ties = ([a.arcs, a.arcs + a.nodes, a.arcs // 2] for a in heard)
        return "tie" if sizes in [list(column) for column in zip(*ties, strict=True)] else "other"


def unexplained_share(moves: Floats, by: Floats) -> float:
    """The share of one output's changes that is no linear function of another's.

    Near 0 where the first is computed from the second, row by row; a head that is smooth is
    linear for changes as small as these.
    """
    total = float(np.square(moves).sum())
    if total == 0.0 or not np.isfinite(moves).all() or not np.isfinite(by).all():
        return float("nan")
    fitted = by @ np.linalg.lstsq(by, moves, rcond=1e-4)[0]
    return float(np.square(moves - fitted).sum()) / total


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A decision that one output or several hold, and the form in which it is best read."""

    port: OutputPort
    kind: OutputKind
    answers: Floats
    others: tuple[str, ...] = ()

    @property
    def distance(self) -> int:
        return UNLIMITED if self.port.hops is None else self.port.hops

    @property
    def certain(self) -> bool:
        """Whether its rows look like probabilities, as those of a hidden layer hardly do."""
        return self.kind != "logits"


@dataclass(frozen=True, slots=True)
class _Choice:
    """One model's outputs, and what can be said about them."""

    model: OnnxModel
    settings: ModelSettings
    survey: OutputSurvey
    classes: int | None

    def choose(self) -> OutputPort:
        """The output that the settings name, or the only one that can hold the decision."""
        name, outputs = self.settings.output_name, self.model.signature.outputs
        scores = [port for port in outputs if name in (None, port.name) and port.floating]
        by_node = [port for port in scores if port.rows == "node"]
        if not by_node:
            kinds = self.model.kinds if self.model.feeder.splits else None
            raise ModelError(f"{self.model.origin}: {_not_nodes(scores, kinds)}")
        if name is not None:
            return replace(by_node[0], taken="named in the settings")
        candidates = self._candidates(by_node)
        self._check_other_subjects(scores, candidates)
        why = "the only output with one row of scores per node"
        chosen, why = (candidates[0], why) if len(candidates) == 1 else self._deepest(candidates)
        if chosen.others:
            names = " and ".join(_quote(name) for name in chosen.others)
            why = f"{why}; {names} {'has' if len(chosen.others) == 1 else 'have'} the same decision"
        return replace(chosen.port, taken=why)

    def _fits(self, candidate: _Candidate) -> bool:
        """Whether it has the declared number of classes; a single column is that of two."""
        columns = candidate.port.columns or 0
        if self.settings.output == "score":
            return columns == 1
        return self.classes in (None, max(columns, 2))

    def _candidates(self, ports: list[OutputPort]) -> list[_Candidate]:
        """Outputs with one row per node; those that hold the same decision become one."""
        order = [self.settings.output, *_PREFERRED]
        candidates: list[_Candidate] = []
        for port in ports:
            answers = self.survey.answers(port.name)
            finite = answers[np.isfinite(answers).all(axis=1)]
            kind = guess_kind(finite)[0] if len(finite) else "logits"
            new = _Candidate(port=port, kind=kind, answers=answers)
            same = next((n for n, old in enumerate(candidates) if _same_decision(old, new)), None)
            if same is None:
                candidates.append(new)
                continue
            old = candidates[same]
            first, second = sorted((old, new), key=lambda form: order.index(form.kind))
            candidates[same] = replace(first, others=(*old.others, second.port.name))
        return candidates

    def _check_other_subjects(self, scores: list[OutputPort], nodes: list[_Candidate]) -> None:
        """Refuse where the decision may be about graphs or ties, with node rows on the way to it.

        Weights of ties are no rival, unless the model is asked about pairs.
        """
        asked_about_pairs = self.model.signature.port("edge_labels") is not None
        rivals = [
            port
            for port in scores
            if (port.rows == "graph" or (port.rows == "tie" and asked_about_pairs))
            and (self.classes is None or max(port.columns or 0, 2) == self.classes)
        ]
        if rivals:
            about = {"graph": "whole graphs", "tie": "ties"}[str(rivals[0].rows)]
            raise ModelError(
                f"{self.model.origin}: the output {_quote(rivals[0].name)} has one row per "
                f"{rivals[0].rows}, so the model may decide on {about}, and what it says about "
                f"nodes may be a hidden layer; {_list_choices(nodes)}"
            )

    def _deepest(self, candidates: list[_Candidate]) -> tuple[_Candidate, str]:
        """The candidate that comes after all others, and how that was seen."""
        if self.survey.is_random():
            raise self._doubt(
                candidates,
                "the model answers at random, so that what comes last cannot be measured",
            )
        reaches = self.survey.reaches([candidate.port.name for candidate in candidates])
        hops = {name: reach for name, (reach, _) in reaches.items()}
        outputs = self.model.signature.outputs
        self.model.with_outputs(tuple(replace(port, hops=hops.get(port.name)) for port in outputs))
        candidates = [
            replace(candidate, port=replace(candidate.port, hops=hops[candidate.port.name]))
            for candidate in candidates
        ]
        farthest = max(candidate.distance for candidate in candidates)
        last = [c for c in candidates if self._fits(c) and c.distance == farthest]
        if len(last) != 1:
            raise self._doubt(candidates, "none comes demonstrably after all others")
        [chosen] = last
        for candidate in (other for other in candidates if other is not chosen):
            if candidate.distance < farthest:
                later = not reaches[candidate.port.name][1]  # it may see farther than was seen
            else:
                later = self._may_follow(chosen, candidate)
            likelier = self._fits(candidate) and candidate.certain and not chosen.certain
            if later or likelier:
                raise self._doubt(
                    candidates,
                    f"{_quote(candidate.port.name)} may come after {_quote(chosen.port.name)}",
                )
        near = "every node" if chosen.port.hops is None else f"nodes {_hops(chosen.port.hops)} away"
        others = "output" if self.classes is None else f"output for {self.classes} classes"
        return chosen, f"{near} can move it, and no other {others} sees as far"

    def _may_follow(self, chosen: _Candidate, other: _Candidate) -> bool:
        """Whether an output that sees just as far may be computed from the chosen one.

        Answers to small changes tell: what is computed from an output changes as that does, and
        where columns were lost on the way, not the other way round. Where either could come first,
        the wider one is taken to be the last.
        """
        moves = self.survey.responses([chosen.port.name, other.port.name])
        mine, its = moves[chosen.port.name], moves[other.port.name]
        if unexplained_share(its, mine) > LITTLE:
            return False
        wider = (other.port.columns or 0) > (chosen.port.columns or 0)
        return wider or not unexplained_share(mine, its) <= LITTLE

    def _doubt(self, candidates: list[_Candidate], why: str) -> ModelError:
        return ModelError(
            f"{self.model.origin}: several outputs have one row per node, and which of them holds "
            f"the decision is not beyond doubt ({why}); {_list_choices(candidates)}"
        )


def _list_choices(candidates: list[_Candidate]) -> str:
    known = ", ".join(_describe(candidate.port) for candidate in candidates)
    lines = " or ".join(f"output_name = {_quote(candidate.port.name)}" for candidate in candidates)
    return (
        f"ask whoever exported the model which output the decision is read from ({known}), "
        f"and write into [model]: {lines}"
    )


def _not_nodes(ports: list[OutputPort], kinds: Kinds | None) -> str:
    """Call a model that does not decide on nodes, or on those of the first kind, what it is."""
    if kinds is not None:
        tables = "; ".join(f"{_quote(port.name)}: {port.looks}" for port in ports)
        return (
            f"no output has one row of scores per {kinds.names[0]} ({tables}); name the kind that "
            f"the model decides on in decision.subject (there are {', '.join(kinds.names)}), or "
            "ask for an export with its scores"
        )
    names = " and ".join(_quote(port.name) for port in ports)
    what = f"the output {names} has" if len(ports) == 1 else f"the outputs {names} have"
    rest = (
        "Decisions on nodes can be audited, and nothing else: `inspect` lists the inputs and "
        "outputs of this model, and `explain` and `run` need one that scores nodes. If it "
        "does so on the way, export those scores as an output"
    )
    for kind, about in (("graph", "whole graphs"), ("tie", "ties")):
        if {port.rows for port in ports} == {kind}:
            return f"{what} one row per {kind}: the model decides on {about}, not on nodes. {rest}"
    rows = {
        port.name: port.looks if port.rows == "other" else f"one row per {port.rows}"
        for port in ports
    }
    tables = "; ".join(f"{_quote(name)}: {looks}" for name, looks in rows.items())
    return f"no output has one row of scores per node ({tables}). {rest}"


def _same_decision(candidate: _Candidate, other: _Candidate) -> bool:
    """Whether two outputs give the same probabilities, in enough rows that are not all 0 or 1."""
    first, second = (as_answers(form.answers, form.kind) for form in (candidate, other))
    if first.shape != second.shape:
        return False
    usable = np.isfinite(first).all(axis=1) & np.isfinite(second).all(axis=1)
    first, second = np.exp(first[usable]), np.exp(second[usable])
    half = "float16" in (candidate.port.dtype, other.port.dtype)
    between = (first > 1e-3).sum(axis=1) > 1
    close = np.abs(first - second) <= (5e-3 if half else 1e-4)
    return bool(between.sum() >= max(3, 0.1 * len(first)) and close.all())


def _describe(port: OutputPort) -> str:
    columns = f"{port.columns} column{'' if port.columns == 1 else 's'}"
    hops = "" if port.hops is None else f", {_hops(port.hops)}"
    return f"{_quote(port.name)}: {columns}{hops}"


def _hops(count: int) -> str:
    return f"{count} hop{'' if count == 1 else 's'}"


def _quote(name: str) -> str:
    """A name as TOML writes it, so that the line can be copied."""
    return json.dumps(name, ensure_ascii=False)
