"""Questions with data and places exchanged: whose features are at whose place in the graph.

A person's data are their features, as a whole row, so that nothing has to be encoded again; a
place is a node of the graph with its ties. Everybody else keeps their own features and ties. The
pairs of other people are drawn once per audit, the same for every subject: the first of a pair
lends their data, the second their place.
"""

from dataclasses import dataclass

import numpy as np

from recourse_audit.graph.arrays import Floats, Graph, Ints
from recourse_audit.model.base_fields import KeptFields
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.edits import Edits, edits_of
from recourse_audit.model.queries import Union, whole
from recourse_audit.model.rounding import noise_of, same_answer
from recourse_audit.model.what_ifs import what_ifs_of
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.own_data import DEPENDS_ON_OTHERS, ONE_BY_ONE, RANDOM_ANSWERS
from recourse_audit.recourse.context import neighbourhoods_suffice

SALT = 71
# A question about the whole graph for every exchange takes seconds per subject in a larger one.
MOST_ARCS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs of two different people: one lends their data, the other their place."""

    data: Ints
    place: Ints

    def __len__(self) -> int:
        return len(self.data)


def drawn_pairs(people: int, draws: int, seed: int) -> Pairs:
    """Pairs of two different people, drawn uniformly and with replacement."""
    generator = np.random.default_rng((seed, SALT))
    count = draws if people > 1 else 0
    data = generator.integers(people, size=count)
    step = generator.integers(1, max(people, 2), size=count)
    return Pairs(data=data, place=(data + step) % people)


class WholeGraphEdits:
    """Asks about replaced features on the whole graph, one edit after the other."""

    def __init__(self, graph: Graph, batcher: QueryBatcher) -> None:
        self._everything = whole(graph)
        self._batcher = batcher

    def ask(self, edits: Edits) -> Floats:
        """One answer for each edit, which asks about one node."""
        answers = np.empty((edits.count, self._batcher.answer_width))
        for edit in range(edits.count):
            one = edits.part(edit, edit + 1)
            features = self._batcher.features_of(self._everything.nodes)
            features[one.replaced[1]] = one.features[one.replaced[2]]
            asked = one.asked[1]
            answers[edit] = self._batcher.ask(self._everything, asked, features=features)[0]
        return answers


class Exchanges:
    """Asks with data and places exchanged, for one graph and one model.

    `reason` says why nothing can be asked; empty if it can.
    """

    def __init__(
        self,
        graph: Graph,
        batcher: QueryBatcher,
        probes: ProbeReport,
        pairs: Pairs,
        fields: KeptFields | None = None,
    ) -> None:
        self.pairs = pairs
        self._graph = graph
        self._batcher = batcher
        self._noise = noise_of(batcher)
        # One for the subjects' own places, and one that keeps the field of the drawn places.
        self._here = what_ifs_of(graph, batcher, probes, fields) or WholeGraphEdits(graph, batcher)
        self._elsewhere = what_ifs_of(graph, batcher, probes) or WholeGraphEdits(graph, batcher)
        self.reason = ""
        if probes.sender_degree is None and _size(graph, batcher) > MOST_ARCS:
            self.reason = ONE_BY_ONE

    def neither(self) -> Floats:
        """The answers with another person's data at yet another's place."""
        return self._elsewhere.ask(
            self._exchanged(self.pairs.place, self.pairs.data, np.arange(len(self.pairs)))
        )

    def own_data_elsewhere(self, subjects: Ints) -> Floats:
        """The answers with each subject's data at every drawn place: subjects x draws x classes."""
        places = np.tile(self.pairs.place, len(subjects))
        whose = np.repeat(np.arange(len(subjects)), len(self.pairs))
        answers = self._elsewhere.ask(self._exchanged(places, subjects, whose))
        return answers.reshape(len(subjects), len(self.pairs), self._batcher.answer_width)

    def others_data_here(self, subject: int, known: Floats) -> Floats | None:
        """The answers with every drawn person's data at the subject's place.

        None if the same question, with nothing exchanged, gives another answer than the `known`
        one on the whole graph.
        """
        whose = np.arange(len(self.pairs) + 1)
        people = np.append(self.pairs.data, subject)
        answers = self._here.ask(self._exchanged(np.full(len(whose), subject), people, whose))
        scores = self._batcher.output_kind == "score"
        alike = same_answer(answers[-1], known, self._noise, scores=scores)
        return answers[:-1] if alike else None

    def _exchanged(self, places: Ints, people: Ints, whose: Ints) -> Edits:
        """For each place, an edit that puts the features of people[whose] there."""
        number = np.arange(len(places))
        return edits_of(
            len(places),
            np.stack((number, places)),
            replaced=np.stack((number, places, whose)),
            features=self._batcher.features_of(people),
        )


class Isolation:
    """Asks about people whose own ties are all removed; loops stay.

    Without ties nothing reaches a person, so a graph of one node stands for the whole graph, if a
    graph's answer does not depend on what is asked beside it.
    """

    def __init__(self, graph: Graph, batcher: QueryBatcher, probes: ProbeReport) -> None:
        self._graph = graph
        self._batcher = batcher
        self._alone = probes.packing and neighbourhoods_suffice(probes)
        self.reason = ""
        if not probes.deterministic:
            self.reason = RANDOM_ANSWERS
        elif not self._alone and _size(graph, batcher) > MOST_ARCS:
            self.reason = DEPENDS_ON_OTHERS

    @property
    def cheap(self) -> bool:
        """Whether everybody can be asked about without a whole graph for each."""
        return self._alone and not self.reason

    def answers(self, people: Ints) -> Floats:
        """One row for each of some people, who are in ascending order."""
        if self._alone:
            return self._batcher.ask(isolated(self._graph, people), np.arange(len(people)))
        answers = [self._on_whole_graph(person) for person in people.tolist()]
        return np.array(answers).reshape(len(people), self._batcher.answer_width)

    def _on_whole_graph(self, person: int) -> Floats:
        graph = self._graph
        kept = (graph.arc_source != person) & (graph.arc_target != person)
        sources = np.concatenate((graph.arc_source[kept], graph.loop_node))
        union = Union(
            nodes=np.arange(graph.node_count),
            node_starts=np.array([0, graph.node_count]),
            sources=sources,
            targets=np.concatenate((graph.arc_target[kept], graph.loop_node)),
            ties=np.concatenate((graph.arc_tie[kept], graph.loop_tie)),
            arc_starts=np.array([0, len(sources)]),
        )
        answer: Floats = self._batcher.ask(union, np.array([person]))[0]
        return answer


def isolated(graph: Graph, people: Ints) -> Union:
    """People, in ascending order, as graphs of one node each, with their loops."""
    first, last = (np.searchsorted(graph.loop_node, people, side) for side in ("left", "right"))
    arcs = np.concatenate(([0], np.cumsum(last - first)))
    owner = np.repeat(np.arange(len(people)), last - first)
    loops = (first - arcs[:-1])[owner] + np.arange(len(owner))
    return Union(
        nodes=people,
        node_starts=np.arange(len(people) + 1),
        sources=owner,
        targets=owner,
        ties=graph.loop_tie[loops],
        arc_starts=arcs,
    )


def _size(graph: Graph, batcher: QueryBatcher) -> int:
    """How large a question about the whole graph is: its arcs and nodes, or a matrix of nodes."""
    if batcher.model.signature.port("adjacency") is not None:
        return graph.node_count**2
    return len(graph.arc_source) + len(graph.loop_node) + graph.node_count
