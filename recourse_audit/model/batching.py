"""The query batcher: every query reaches the model through here, and is counted.

It cuts a union of small graphs into queries that fit, counts them, and returns answers:
log-probabilities, or the scores of a score model. How the union is cut never shows in an answer.

A share of queries is asked a second time, and the two answers are compared bit by bit: the probe
for determinism cannot see a model that now and then answers differently. These are the queries on
which an audit's own figures rest: those about the whole graph (all of them, or a share of those
about blocks of a large one), and a share of those made for one subject. Queries of the search,
which several subjects share, belong to nobody's report and are not repeated.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from recourse_audit.errors import ModelError
from recourse_audit.graph.graph import Floats, Ints
from recourse_audit.model.queries import Pool, Query, Union, list_once
from recourse_audit.model.session import OnnxModel
from recourse_audit.model.shared_unions import share_union
from recourse_audit.model.state_sharing import Counted, Form
from recourse_audit.records.model import ProbeReport, Repeats
from recourse_audit.settings import OutputKind

SMALLEST_PROBABILITY = 1e-12


def guess_kind(rows: Floats) -> tuple[OutputKind, str]:
    """Tell probabilities, log-probabilities and logits apart by looking at many answers."""
    values = rows.astype(np.float64)
    slack = 5e-3 if rows.dtype == np.float16 else 1e-4
    if values.shape[1] == 1:
        if np.all((values >= 0) & (values <= 1)):
            return "probabilities", "one column, every answer between 0 and 1"
        return "logits", "one column, answers outside 0 to 1"
    if np.all(values >= 0) and np.all(np.abs(values.sum(axis=1) - 1) <= slack):
        return "probabilities", "every row is non-negative and sums to 1"
    if np.all(values <= slack) and np.all(np.abs(np.exp(values).sum(axis=1) - 1) <= slack):
        return "log_probabilities", "every row's exponentials sum to 1"
    return "logits", "rows do not sum to 1, nor do their exponentials"


def as_answers(rows: Floats, kind: OutputKind) -> Floats:
    """Raw rows as log-probabilities, one column per class, or as scores; a NaN stays a NaN."""
    values = rows.astype(np.float64)
    if kind == "score":
        return values
    if values.shape[1] == 1:
        score = values[:, 0]
        if kind == "logits":
            return np.asarray(np.stack((log_expit(-score), log_expit(score)), axis=1))
        second: Floats = np.exp(score) if kind == "log_probabilities" else score
        values, kind = np.stack((1.0 - second, second), axis=1), "probabilities"
    if kind == "probabilities":
        return np.log(np.maximum(values, SMALLEST_PROBABILITY))
    if kind == "log_probabilities":
        return values
    return _log_softmax(values)


def _log_softmax(values: Floats) -> Floats:
    """Work column by column, because there are few classes and many rows."""
    largest = values[:, 0].copy()
    for column in values.T[1:]:
        np.maximum(largest, column, out=largest)
    values -= largest[:, None]
    total = np.zeros_like(largest)
    for column in values.T:
        total += np.exp(column)
    values -= np.log(total)[:, None]
    return values


SALT = 47
DIGITS = 6


class Repeater:
    """Draws the queries that are asked twice, and counts the answers that differ.

    The draw depends on the seed, the subject, and how many queries were made for that subject
    before: never on who else is audited, or by how many workers. `wants` says whether the query
    that was just answered is to be asked again.
    """

    def __init__(self, share: float = 0.0, seed: int = 0) -> None:
        self._share = share
        self._seed = seed
        self.wants: Callable[[], bool] = bool
        self._calls = self._differed = 0
        self._largest = 0.0

    @property
    def asks_twice(self) -> bool:
        return self._share > 0

    @contextmanager
    def working_on(self, subject: int) -> Generator[None, None, None]:
        """Queries made within are for this subject; a share of them is repeated."""
        draw = np.random.default_rng((SALT, self._seed, subject))
        yield from self._repeat(lambda: draw.random() < self._share)

    @contextmanager
    def always(self) -> Generator[None, None, None]:
        """Every query made within is repeated."""
        yield from self._repeat(lambda: self.asks_twice)

    @contextmanager
    def now_and_then(self) -> Generator[None, None, None]:
        """Of queries that would all be repeated, only a share is: the first, and those drawn."""
        everything, first = self.wants, self._calls
        draw = np.random.default_rng((SALT, self._seed))
        self.wants = lambda: everything() and (self._calls == first or draw.random() < self._share)
        try:
            yield
        finally:
            self.wants = everything

    def _repeat(self, wants: Callable[[], bool]) -> Generator[None, None, None]:
        self._calls = self._differed = 0
        self._largest = 0.0
        self.wants = wants
        try:
            yield
        finally:
            self.wants = bool  # which is False

    @property
    def result(self) -> Repeats:
        return Repeats(calls=self._calls, differed=self._differed, largest=self._largest)

    def compare(self, first: Floats, second: Floats, kind: OutputKind) -> None:
        """Count two answers to one query, and how far apart they are: 1 if only one is a number."""
        self._calls += 1
        if np.array_equal(first, second, equal_nan=True):
            return
        self._differed += 1
        first, second = (as_answers(answer, kind) for answer in (first, second))
        if kind != "score":
            first, second = np.exp(first), np.exp(second)
        apart = np.abs(first - second)
        apart[np.isnan(first) != np.isnan(second)] = 1.0
        self._largest = max(self._largest, float(f"{np.nanmax(apart, initial=0.0):.{DIGITS}g}"))


NODES_PER_QUERY = 2048
NODES_SHARED = 2**15
BYTES_SHARED = 2**25
# Where more of the nodes are asked about, there is too little to share.
MOST_ASKED = 0.7
FEWEST_NODES = 512
NODES_IN_MATRIX = 128
BYTES_PER_QUERY = 2**20
LARGEST_SCRATCH = 2**25


class Sharing(NamedTuple):
    """For models whose small graphs may share states: the depth, and the form (`state_sharing`)."""

    depth: int
    form: Form


def sharing_of(probes: ProbeReport) -> Sharing | None:
    """What the probes found out about sharing states, if they allow it."""
    if probes.sender_degree is None or not probes.depth:
        return None
    return Sharing(depth=probes.depth, form=form_in(probes))


def form_in(probes: ProbeReport) -> Form:
    """The form in which states are shared, for each relation if there are several kinds."""
    if probes.relations:
        return tuple(number for number, probe in enumerate(probes.relations) if probe.degree)
    return "degree" if probes.sender_degree else "plain"


class QueryBatcher:
    """Asks a model about the nodes of one pool, in packed queries.

    Parameters
    ----------
    graphs_per_query
        1 for a model whose answer depends on what is packed beside it.
    sharing
        How small graphs share states; None if they must not.
    repeater
        Draws the queries that are asked twice.
    """

    def __init__(
        self,
        model: OnnxModel,
        pool: Pool,
        *,
        graphs_per_query: int | None = None,
        sharing: Sharing | None = None,
        repeater: Repeater | None = None,
    ) -> None:
        self.model = model
        self.people, self._kinds = pool.people, pool.kinds
        self.repeater = repeater or Repeater()
        self._count: Counter[str] = Counter()
        self._graphs_per_query = graphs_per_query
        self._sharing = sharing
        with np.errstate(over="ignore"):
            # Everybody's features, in the number type that the model takes.
            self.features: Floats = np.ascontiguousarray(pool.features, dtype=model.feature_type)
        signature = model.signature
        columns = self.features.shape[1]
        width = max(columns * self.features.itemsize, 1)
        # Large enough to be worth a call, yet within the processor's cache.
        best = min(NODES_PER_QUERY, max(FEWEST_NODES, BYTES_PER_QUERY // width))
        if signature.port("adjacency") is not None:
            best = min(NODES_PER_QUERY, NODES_IN_MATRIX)
        self._node_room = best if model.feeder.node_room is None else model.feeder.node_room
        self._nodes_shared = min(NODES_SHARED, max(NODES_PER_QUERY, BYTES_SHARED // width))
        self._scratch = np.empty((self._node_room, columns), self.features.dtype)
        self._weight = pool.weight if model.feeder.weighs_ties else None
        self._attributes = pool.attributes if signature.port("edge_attributes") else None
        typed = model.feeder.splits or signature.port("edge_type") is not None
        self._kind = pool.kind if typed else None
        self._alike = self._find_alike()
        target = signature.port("target")
        self.one_row_per_query = target is not None and target.shape in ((), (1,))
        given = columns - model.head_only
        if not model.feeder.splits and signature.feature_count not in (None, given):
            raise ModelError(
                f"the model takes {signature.feature_count} features and the graph gives "
                f"{given}; name the model's features, in its order, in graph.features"
            )

    def with_more_ties(self, more: Pool) -> "QueryBatcher":
        """A batcher that shares all with this one, its counts too, and knows more ties."""

        def append(values: NDArray[Any] | None, more: NDArray[Any] | None) -> NDArray[Any] | None:
            return values if values is None or more is None else np.concatenate((values, more))

        batcher = copy(self)
        batcher._weight = append(self._weight, more.weight)
        batcher._attributes = append(self._attributes, more.attributes)
        batcher._kind = append(self._kind, more.kind)
        batcher._alike = batcher._find_alike()
        return batcher

    def _find_alike(self) -> Ints | None:
        """For each row about ties, the first that says the same, if only relations are told."""
        told = self.model.feeder.channels_told
        if told is None or self._weight is not None or self._attributes is not None:
            return None
        _, first, place = np.unique(told[self._kind], return_index=True, return_inverse=True)
        return first[place]

    def count_ties(self, form: Form) -> Counted:
        """Which rows about ties are in the degree form."""
        if isinstance(form, str):
            return form == "degree"
        assert self._kind is not None
        return np.isin(self._kind // 2, form) if form else False

    def merge_rows(self, rows: NDArray[np.integer]) -> NDArray[np.integer]:
        """Rows about ties, each replaced by the first that says the same, so that states merge."""
        return rows if self._alike is None else self._alike[rows]

    @property
    def graphs(self) -> int:
        """How many graphs were answered about; once per node, if a query has one answer."""
        return self._count["graphs"]

    @property
    def runs(self) -> int:
        """How many queries these graphs were packed into."""
        return self._count["runs"]

    @property
    def node_room(self) -> int:
        """How many nodes go into one query; one graph may have more. 1 if graphs go alone."""
        return 1 if self._graphs_per_query == 1 or self.one_row_per_query else self._node_room

    @property
    def needs_ties(self) -> bool:
        """Whether the model is told more about a tie than its two ends."""
        return not (self._weight is None and self._attributes is None and self._kind is None)

    @property
    def output_kind(self) -> OutputKind:
        kind = self.model.signature.output.kind
        assert kind is not None, "the output has been identified before anything is asked"
        return kind

    @property
    def answer_width(self) -> int:
        """How many columns an answer has: one per class, or one score."""
        count = self.model.signature.output.classes
        assert count is not None, "the output has been identified before anything is asked"
        return 1 if self.output_kind == "score" else count

    def features_of(self, nodes: Ints) -> Floats:
        """The features of some nodes as the model takes them, in an array of their own."""
        return self.features[nodes]

    def ask(
        self, union: Union, rows: Ints, *, features: Floats | None = None, graphs: int | None = None
    ) -> Floats:
        """The answers for some nodes of the union, given by position in ascending order.

        `features` replaces those of the pool, with one row per node of the union. A union of one
        graph that stands for many `graphs` is counted as these.
        """
        raw = self.ask_raw(union, rows, features=features, graphs=graphs)
        return as_answers(raw, self.output_kind)

    def ask_raw(
        self, union: Union, rows: Ints, *, features: Floats | None = None, graphs: int | None = None
    ) -> Floats:
        """The model's own numbers for some nodes of the union, one row each."""
        few = len(union) > 1 and len(rows) <= MOST_ASKED * len(union.nodes)
        if self._sharing is not None and features is None and few:
            return self._ask_shared(union, rows, self._sharing)
        answers: Floats | None = None
        done = 0
        for query in self.queries(union, rows, features=features, graphs=graphs):
            answer = self._ask_model(query)
            if self.repeater.wants():
                self.repeater.compare(answer, self._ask_model(query), self.output_kind)
            if answers is None:
                answers = np.empty((len(rows), answer.shape[1]), answer.dtype)
            answers[done : done + len(answer)] = answer
            done += len(answer)
        return self.no_rows() if answers is None else answers

    def queries(
        self, union: Union, rows: Ints, *, features: Floats | None = None, graphs: int | None = None
    ) -> Iterator[Query]:
        """The queries that `ask_raw` makes, each to be asked before the next one is taken."""
        first, done = 0, 0
        while done < len(rows):
            if self.one_row_per_query:
                first = int(np.searchsorted(union.node_starts, rows[done], side="right")) - 1
                last, until = first + 1, done + 1
            else:
                last = self._last_that_fits(union, first)
                until = int(rows.searchsorted(union.node_starts[last]))
            if until > done:
                low, high = int(union.node_starts[first]), int(union.node_starts[last])
                arcs = slice(int(union.arc_starts[first]), int(union.arc_starts[last]))
                nodes = union.nodes[low:high]
                ends = np.empty((2, arcs.stop - arcs.start), np.int64)
                np.subtract(union.sources[arcs], low, out=ends[0])
                np.subtract(union.targets[arcs], low, out=ends[1])
                ties = union.ties[arcs] if self.needs_ties else None
                yield Query(
                    features=self._gather(nodes) if features is None else features[low:high],
                    nodes=nodes,
                    ends=ends,
                    weight=None if self._weight is None else self._weight[ties],
                    attributes=None if self._attributes is None else self._attributes[ties],
                    kind=None if self._kind is None else self._kind[ties],
                    node_starts=union.node_starts[first : last + 1],
                    rows=rows[done:until] - low,
                    graphs=last - first if graphs is None else graphs,
                    kinds=self._kinds,
                )
            first, done = last, until

    def _ask_shared(self, union: Union, rows: Ints, sharing: Sharing) -> Floats:
        answers = [self.no_rows()]
        first = 0
        while first < len(union):
            last = _last_within(union.node_starts, first, self._nodes_shared)
            low, high = rows.searchsorted(union.node_starts[[first, last]])
            part = union.part(first, last)
            part = replace(part, ties=self.merge_rows(part.ties))
            places = rows[low:high] - union.node_starts[first]
            shared, places = share_union(
                part,
                places,
                sharing.depth,
                self.count_ties(sharing.form),
                ties_alike=not self.needs_ties,
                kinds=self._kinds,
            )
            read, back = list_once(places, len(shared.nodes))
            answers.append(self.ask_raw(shared, read, graphs=len(part))[back])
            first = last
        return np.concatenate(answers)

    def no_rows(self) -> Floats:
        output = self.model.signature.output
        return np.empty((0, output.columns or 0), output.dtype)

    def _ask_model(self, query: Query) -> Floats:
        answer = self.model.ask(query)
        self._count["graphs"] += query.graphs
        self._count["runs"] += 1
        return answer

    def _gather(self, nodes: Ints) -> Floats:
        """The features of some nodes, written over those of the last query if they fit there.

        Features of all nodes in order are used as they are: they may be too many to hold twice.
        """
        if len(nodes) > len(self._scratch):
            if len(nodes) == len(self.features) and bool((np.diff(nodes) == 1).all()):
                return self.features
            if len(nodes) * self.features[:1].nbytes > LARGEST_SCRATCH:
                return self.features[nodes]
            # Memory that was written to before is much faster than new memory.
            self._scratch = np.empty((2 * len(nodes), self.features.shape[1]), self.features.dtype)
        # With "clip" numpy writes straight into the scratch space; positions are never outside.
        return np.take(self.features, nodes, axis=0, out=self._scratch[: len(nodes)], mode="clip")

    def _last_that_fits(self, union: Union, first: int) -> int:
        """The end of the longest run of graphs, at least one, that go into one query."""
        last = _last_within(union.node_starts, first, self._node_room)
        if self.model.feeder.arc_room is not None:
            last = min(last, _last_within(union.arc_starts, first, self.model.feeder.arc_room))
        if self._graphs_per_query is not None:
            last = min(last, first + self._graphs_per_query)
        return last


def _last_within(starts: Ints, first: int, room: int) -> int:
    """The end of the longest run of graphs, at least one, with at most so many nodes or arcs."""
    return max(int(starts.searchsorted(starts[first] + room, "right")) - 1, first + 1)


NOISE = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-9}
# Answers within so many times the noise of a cut-off are close to it.
CLOSE = 10


def noise_of(batcher: QueryBatcher) -> float:
    """How far two answers to one question may be apart, by the precision of the output."""
    return NOISE.get(batcher.model.signature.output.dtype, NOISE["float32"])


def same_answer(near: Floats, whole: Floats, noise: float, *, scores: bool = False) -> bool:
    """Whether two rows of log-probabilities, or two scores, are the same but for rounding."""
    alike = np.abs(near - whole) <= noise * (1 + np.abs(whole).max())
    if scores:
        return bool(alike.all())
    # The last bit of a probability near 1 moves the logarithm of the other one, near 0, a lot.
    alike |= np.abs(np.exp(near) - np.exp(whole)) <= noise / 10
    return bool(alike.all())
