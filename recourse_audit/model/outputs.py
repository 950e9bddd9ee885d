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
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import ModelError
from recourse_audit.graph.graph import Floats
from recourse_audit.model.batching import QueryBatcher, as_answers, guess_kind
from recourse_audit.model.probe_graphs import (
    is_constant,
    path,
    ring,
    room_for,
    vary_pool,
    with_other_features,
)
from recourse_audit.model.queries import Pool, Query, Union, join_graphs
from recourse_audit.model.roles import OutputPort, Rows
from recourse_audit.model.session import OnnxModel
from recourse_audit.settings import ModelSettings, OutputKind

# With these sizes no two of the numbers of nodes, ties, arcs and graphs are ever equal twice.
SIZES = ((5, 6), (4, 5, 7))
PATHS = 8
FARTHEST = 9
# How far features are moved to compare outputs, and how many times.
STEP = 0.01
STEPS = 96
# The share of changes that must move an answer for its reach to count as measured.
STEADY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One query as the model saw it, and the table that every output gave."""

    nodes: int
    arcs: int
    graphs: int
    rows: int
    own_nodes: int
    tables: dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How many hops away a node can be and still move an output; None if there is no limit.

    `steady` says whether nodes at that distance move it often: an answer that is saturated, and
    moves only now and then, may reach farther than was seen.
    """

    hops: int | None
    steady: bool


class _Listener(OnnxModel):
    """An open model that keeps what all of its outputs say to every query."""

    def __init__(self, model: OnnxModel) -> None:
        vars(self).update(vars(model))
        self._heard: list[Asked] = []

    def take(self) -> list[Asked]:
        """What was said since this was last called."""
        heard, self._heard = self._heard, []
        return heard

    def ask(self, query: Query) -> Floats:
        nodes, arcs = self.sizes(query)
        graphs = len(query.node_starts) - 1 + (nodes > len(query.nodes))
        answers = self.ask_every(query)
        self._heard.append(
            Asked(
                nodes=nodes,
                arcs=arcs,
                graphs=graphs,
                rows=len(query.rows),
                own_nodes=len(query.nodes),
                tables={name: self.rows_of(raw) for name, raw in answers.items()},
            )
        )
        return np.zeros((len(query.rows), 1))


class OutputSurvey:
    """What small graphs show about every output of one model."""

    def __init__(self, model: OnnxModel, pools: list[Pool], generator: np.random.Generator) -> None:
        self._model = model
        self._listener = _Listener(model)
        self._pools = pools
        self._generator = generator
        self._heard: list[Asked] = []
        for pool in pools:
            batcher = QueryBatcher(self._listener, pool)
            for sizes in SIZES:
                self._heard += self._hear(batcher, [self._ring(pool, size) for size in sizes])

    def _hear(self, batcher: QueryBatcher, graphs: list[Union]) -> list[Asked]:
        """What all outputs say about every node of some graphs."""
        union = join_graphs(graphs)
        batcher.ask_raw(union, np.arange(len(union.nodes)))
        return self._listener.take()

    def _ring(self, pool: Pool, size: int) -> Union:
        return ring(self._generator, pool, room_for(self._model, size))

    def list_outputs(self) -> tuple[OutputPort, ...]:
        """Every output, with what was found out about it."""
        return tuple(self._describe(port) for port in self._model.signature.outputs)

    def answers(self, name: str) -> Floats:
        """What an output with one row per node said, without the rows of padding."""
        tables = ((asked, asked.tables[name]) for asked in self._heard)
        own = [t if len(t) == asked.rows else t[: asked.own_nodes] for asked, t in tables]
        return np.concatenate(own)

    def is_random(self) -> bool:
        """Whether the same question gets different answers."""
        for pool in self._pools:
            batcher, graph = QueryBatcher(self._listener, pool), self._ring(pool, 6)
            first, *others = (self._hear(batcher, [graph]) for _ in range(4))
            for asked, again in chain.from_iterable(zip(first, r, strict=True) for r in others):
                for name, table in asked.tables.items():
                    if not np.array_equal(table, again.tables[name], equal_nan=True):
                        return True
        return False

    def reaches(self, names: list[str]) -> dict[str, Reach]:
        """How far each of some outputs with one row per node sees.

        On a path with the subject at its end, one node after the other gets other features; the
        last node has no tie, so an output that it moves has no limit.
        """
        farthest = min(FARTHEST, room_for(self._model, FARTHEST + 2) - 2)
        best = {name: np.zeros(max(farthest, 0) + 2) for name in names}
        for pool in self._pools_that_vary():
            shares = self._shares_that_move(pool, names, max(farthest, 0))
            best = {name: np.maximum(best[name], shares[name]) for name in names}
        return {name: _reach(shares, farthest) for name, shares in best.items()}

    def responses(self, names: list[str]) -> dict[str, Floats]:
        """How one node's row of each output answers to small random changes of all features."""
        pool = self._pools_that_vary()[0]
        union = self._ring(pool, 7)
        features = np.asarray(pool.features, np.float64)
        own, scale = features[union.nodes], STEP * np.maximum(features.std(axis=0), 1e-6)
        batcher = QueryBatcher(self._listener, pool)
        for step in range(STEPS + 1):
            noise = self._generator.normal(size=own.shape) * scale * (step > 0)
            changed = (own + noise).astype(self._model.feature_type)
            batcher.ask_raw(union, np.arange(1), features=changed)
        heard = self._listener.take()
        rows = {n: np.array([asked.tables[n][0] for asked in heard], np.float64) for n in names}
        return {name: table[1:] - table[0] for name, table in rows.items()}

    def _pools_that_vary(self) -> list[Pool]:
        """Pools in which nodes differ, since exchanging equal nodes shows nothing."""
        pools = []
        for pool in self._pools:
            pools += list(vary_pool(self._generator, pool)) if is_constant(pool) else [pool]
        return pools

    def _shares_that_move(self, pool: Pool, names: list[str], farthest: int) -> dict[str, Floats]:
        """The share of paths on which a node at each distance moves each output; 0 is its own."""
        shares = {name: np.zeros(farthest + 2) for name in names}
        batcher = QueryBatcher(self._listener, pool, graphs_per_query=1)
        for _ in range(PATHS):
            base = path(self._generator, pool, farthest)
            changed = [
                with_other_features(self._generator, pool, base, position)
                for position in range(farthest + 2)
            ]
            union = join_graphs([base, *changed])
            batcher.ask_raw(union, union.node_starts[:-1])
            heard = self._listener.take()
            for name in names:
                first, *rest = (np.asarray(asked.tables[name][0]) for asked in heard)
                shares[name] += [not np.array_equal(first, row, equal_nan=True) for row in rest]
        return {name: count / PATHS for name, count in shares.items()}

    def _describe(self, port: OutputPort) -> OutputPort:
        if not port.numeric:
            kind = "text" if port.dtype == "string" else "a sequence, a map or another container"
            return replace(port, looks=f"{kind}, which is not read")
        widths = {asked.tables[port.name].shape[1] for asked in self._heard}
        rows = self._rows(port.name)
        columns = widths.pop() if len(widths) == 1 else None
        return replace(port, rows=rows, columns=columns, looks=self._looks(port, rows, columns))

    def _rows(self, name: str) -> Rows:
        def each(wanted: list[int]) -> bool:
            return wanted == [len(asked.tables[name]) for asked in self._heard]

        if len({asked.tables[name].shape[1] for asked in self._heard}) > 1:
            return "other"  # such as a matrix of pairs of nodes
        targets = self._model.signature.port("target") is not None
        if targets and each([asked.rows for asked in self._heard]):
            return "node"
        if each([asked.nodes for asked in self._heard]):
            return "node"
        if each([asked.graphs for asked in self._heard]) or each([1] * len(self._heard)):
            return "graph"
        ties = ([a.arcs, a.arcs + a.nodes, a.arcs // 2] for a in self._heard)
        return "tie" if any(each(list(sizes)) for sizes in zip(*ties, strict=True)) else "other"

    def _looks(self, port: OutputPort, rows: Rows, columns: int | None) -> str:
        table = np.concatenate([a.tables[port.name].reshape(-1, columns or 1) for a in self._heard])
        if not port.floating:
            return "whole numbers, not scores"
        finite = table[np.isfinite(table).all(axis=1)]
        if rows == "other":
            asked = self._heard[0]
            shape = " by ".join(str(size) for size in asked.tables[port.name].shape)
            return f"a table of {shape} for {asked.nodes} nodes and {asked.arcs} arcs"
        return guess_kind(finite)[1] if len(finite) else "no answer is a number"


def _reach(shares: Floats, farthest: int) -> Reach:
    """The farthest distance that moves an answer; the last share is that of a node without ties."""
    hops = int(np.flatnonzero(shares).max(initial=0))
    limit = None if hops >= max(farthest, 1) else hops
    return Reach(hops=limit, steady=bool(shares[hops] >= STEADY))


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


UNLIMITED = 1_000
# The unexplained share up to which one output counts as computed from another.
LITTLE = 0.02
# Of the forms of one decision, the one that loses least to rounding.
_PREFERRED: tuple[OutputKind, ...] = ("logits", "log_probabilities", "probabilities")


def choose_output(
    model: OnnxModel,
    settings: ModelSettings,
    pools: list[Pool],
    *,
    classes: int | None = None,
    seed: int = 0,
) -> None:
    """Measure all outputs, and read decisions from the one that is beyond doubt.

    Raises
    ------
    ModelError
        No output has one row per node, or several could hold the decision.
    """
    survey = OutputSurvey(model, pools, np.random.default_rng([seed, 1]))
    model.with_outputs(survey.list_outputs())
    model.with_output(_Choice(model, settings, survey, classes).choose())


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


class _Choice:
    """One model's outputs, and what can be said about them."""

    def __init__(
        self,
        model: OnnxModel,
        settings: ModelSettings,
        survey: OutputSurvey,
        classes: int | None,
    ) -> None:
        self._model = model
        self._settings = settings
        self._survey = survey
        self._classes = classes
        self._outputs = model.signature.outputs

    def choose(self) -> OutputPort:
        """The output that the settings name, or the only one that can hold the decision."""
        name = self._settings.output_name
        scores = [port for port in self._outputs if name in (None, port.name) and port.floating]
        by_node = [port for port in scores if port.rows == "node"]
        if not by_node:
            raise ModelError(f"{self._model.path}: {self._not_nodes(scores)}")
        if name is not None:
            return replace(by_node[0], taken="named in the settings")
        candidates = self._candidates(by_node)
        self._check_other_subjects(scores, candidates)
        if len(candidates) == 1:
            return self._take(candidates[0], "the only output with one row of scores per node")
        return self._deepest(candidates)

    def _fits(self, candidate: _Candidate) -> bool:
        """Whether it has the declared number of classes; a single column is that of two."""
        columns = candidate.port.columns or 0
        if self._settings.output == "score":
            return columns == 1
        return self._classes in (None, max(columns, 2))

    def _candidates(self, ports: list[OutputPort]) -> list[_Candidate]:
        """Outputs with one row per node; those that hold the same decision become one."""
        candidates: list[_Candidate] = []
        for port in ports:
            answers = self._survey.answers(port.name)
            finite = answers[np.isfinite(answers).all(axis=1)]
            kind = guess_kind(finite)[0] if len(finite) else "logits"
            new = _Candidate(port=port, kind=kind, answers=answers)
            alike = (n for n, known in enumerate(candidates) if _same_decision(known, new))
            same = next(alike, None)
            if same is None:
                candidates.append(new)
            else:
                candidates[same] = self._merge(candidates[same], new)
        return candidates

    def _merge(self, candidate: _Candidate, other: _Candidate) -> _Candidate:
        order = [self._settings.output, *_PREFERRED]
        first, second = sorted((candidate, other), key=lambda form: order.index(form.kind))
        return replace(first, others=(*candidate.others, *other.others, second.port.name))

    def _check_other_subjects(self, scores: list[OutputPort], nodes: list[_Candidate]) -> None:
        """Refuse where the decision may be about graphs or ties, with node rows on the way to it.

        Weights of ties are no rival, unless the model is asked about pairs.
        """
        asked_about_pairs = self._model.signature.port("edge_labels") is not None
        rivals = [
            port
            for port in scores
            if (port.rows == "graph" or (port.rows == "tie" and asked_about_pairs))
            and (self._classes is None or max(port.columns or 0, 2) == self._classes)
        ]
        if rivals:
            about = {"graph": "whole graphs", "tie": "ties"}[str(rivals[0].rows)]
            raise ModelError(
                f"{self._model.path}: the output {_quote(rivals[0].name)} has one row per "
                f"{rivals[0].rows}, so the model may decide on {about}, and what it says about "
                f"nodes may be a hidden layer; {self._choices(nodes)}"
            )

    def _deepest(self, candidates: list[_Candidate]) -> OutputPort:
        if self._survey.is_random():
            raise self._doubt(
                candidates,
                "the model answers at random, so that what comes last cannot be measured",
            )
        reaches = self._survey.reaches([candidate.port.name for candidate in candidates])
        hops = {name: reach.hops for name, reach in reaches.items()}
        self._model.with_outputs(
            tuple(replace(port, hops=hops.get(port.name)) for port in self._outputs)
        )
        candidates = [
            replace(candidate, port=replace(candidate.port, hops=hops[candidate.port.name]))
            for candidate in candidates
        ]
        farthest = max(candidate.distance for candidate in candidates)
        last = [
            candidate
            for candidate in candidates
            if self._fits(candidate) and candidate.distance == farthest
        ]
        if len(last) != 1:
            raise self._doubt(candidates, "none comes demonstrably after all others")
        [chosen] = last
        for candidate in candidates:
            if candidate is chosen:
                continue
            if candidate.distance < farthest:
                later = not reaches[candidate.port.name].steady
            else:
                later = self._may_follow(chosen, candidate)
            likelier = self._fits(candidate) and candidate.certain and not chosen.certain
            if later or likelier:
                raise self._doubt(
                    candidates,
                    f"{_quote(candidate.port.name)} may come after {_quote(chosen.port.name)}",
                )
        near = "every node" if chosen.port.hops is None else f"nodes {_hops(chosen.port.hops)} away"
        others = "output" if self._classes is None else f"output for {self._classes} classes"
        return self._take(chosen, f"{near} can move it, and no other {others} sees as far")

    def _may_follow(self, chosen: _Candidate, other: _Candidate) -> bool:
        """Whether an output that sees just as far may be computed from the chosen one.

        Answers to small changes tell: what is computed from an output changes as that does, and
        where columns were lost on the way, not the other way round. Where either could come first,
        the wider one is taken to be the last.
        """
        moves = self._survey.responses([chosen.port.name, other.port.name])
        mine, its = moves[chosen.port.name], moves[other.port.name]
        from_chosen, from_other = unexplained_share(its, mine), unexplained_share(mine, its)
        if from_chosen > LITTLE:
            return False
        wider = (other.port.columns or 0) > (chosen.port.columns or 0)
        return wider or not from_other <= LITTLE

    def _take(self, chosen: _Candidate, why: str) -> OutputPort:
        if chosen.others:
            names = " and ".join(_quote(name) for name in chosen.others)
            why = f"{why}; {names} {'has' if len(chosen.others) == 1 else 'have'} the same decision"
        return replace(chosen.port, taken=why)

    def _doubt(self, candidates: list[_Candidate], why: str) -> ModelError:
        return ModelError(
            f"{self._model.path}: several outputs have one row per node, and which of them holds "
            f"the decision is not beyond doubt ({why}); {self._choices(candidates)}"
        )

    def _choices(self, candidates: list[_Candidate]) -> str:
        known = ", ".join(_describe(candidate.port) for candidate in candidates)
        lines = " or ".join(
            f"output_name = {_quote(candidate.port.name)}" for candidate in candidates
        )
        return (
            f"ask whoever exported the model which output the decision is read from ({known}), "
            f"and write into [model]: {lines}"
        )

    def _not_nodes(self, ports: list[OutputPort]) -> str:
        """Call a model that does not decide on nodes what it is."""
        names = " and ".join(_quote(port.name) for port in ports)
        single = len(ports) == 1
        what = f"the output {names} has" if single else f"the outputs {names} have"
        kinds = {port.rows for port in ports}
        rest = (
            "Decisions on nodes can be audited, and nothing else: `inspect` lists the inputs and "
            "outputs of this model, and `explain` and `run` need one that scores nodes. If it "
            "does so on the way, export those scores as an output"
        )
        if kinds == {"graph"}:
            return (
                f"{what} one row per graph: the model decides on whole graphs, not on nodes. {rest}"
            )
        if kinds == {"tie"}:
            return f"{what} one row per tie: the model decides on ties, not on nodes. {rest}"
        tables = "; ".join(f"{_quote(port.name)}: {_rows_in_words(port)}" for port in ports)
        return f"no output has one row of scores per node ({tables}). {rest}"


def _same_decision(candidate: _Candidate, other: _Candidate) -> bool:
    """Whether two outputs give the same probabilities, as scores and their softmax do.

    Rows in which every probability is 0 or 1 show nothing, so some rows must lie between.
    """
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


def _rows_in_words(port: OutputPort) -> str:
    return port.looks if port.rows == "other" else f"one row per {port.rows}"


def _quote(name: str) -> str:
    """A name as TOML writes it, so that the line can be copied."""
    return json.dumps(name, ensure_ascii=False)
