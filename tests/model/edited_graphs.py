"""Random graphs and random edits of them, and a slow, obvious reference for the answers.

The reference writes every edited graph out in full, as lists, and asks the model about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from recourse_audit.graph.columns import as_strings
from recourse_audit.graph.graph import Floats, Graph, Ties, build_graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.edits import Edits, edits_of
from recourse_audit.model.queries import Pool, Union, pool_of
from recourse_audit.model.session import OnnxModel
from tests.onnx_networks import ATTRIBUTES, KINDS

FURTHER_TIES = 4
NEW_ROWS = 12
Arc = tuple[int, int, int]


@dataclass(kw_only=True)
class Edit:
    """One edit in words of Python: arcs by number, new arcs, rows of features by node."""

    asked: list[int]
    dropped: list[int] = field(default_factory=list)
    added: list[Arc] = field(default_factory=list)
    replaced: dict[int, int] = field(default_factory=dict)


def random_graph(random: np.random.Generator, *, features: int, largest: int = 18) -> Graph:
    """A graph with loops, parallel ties, nodes without ties and, sometimes, a hub."""
    nodes = int(random.integers(2, largest + 1))
    ties = int(random.integers(0, 2 * nodes + 1))
    ends = random.integers(0, nodes, (2, ties))
    if random.random() < 0.3:
        spokes = random.integers(0, nodes, 2 * nodes)
        ends = np.concatenate((ends, [np.full(len(spokes), ends.sum() % nodes), spokes]), axis=1)
    twice = random.integers(0, max(ends.shape[1], 1), min(ends.shape[1], 3))
    ends = np.concatenate((ends, ends[::-1, twice]), axis=1)
    directed = bool(random.random() < 0.5)
    if not directed:  # listed once, whichever way round
        ends = np.sort(ends, axis=0)
    count = ends.shape[1]
    told = _told(random, count)
    assert told.kind is not None
    return build_graph(
        ids=as_strings(np.arange(nodes).astype(str)),
        features=random.normal(size=(nodes, features)),
        feature_names=tuple(f"f{place}" for place in range(features)),
        attributes={},
        ties=Ties(
            source=ends[0].astype(np.int32),
            target=ends[1].astype(np.int32),
            kind=told.kind,
            kinds=tuple("abc"[:KINDS]),
            weight=told.weight,
            attributes=told.attributes,
        ),
        directed=directed,
    )


def _told(random: np.random.Generator, count: int) -> Pool:
    return Pool(
        features=np.empty((0, 0)),
        weight=random.uniform(0.2, 2.0, count).astype(np.float32),
        attributes=random.normal(size=(count, ATTRIBUTES)).astype(np.float32),
        kind=random.integers(0, KINDS, count).astype(np.int16),
    )


class World:
    """A graph, a model that is asked about it, and features that edits may give to a node."""

    def __init__(self, graph: Graph, model: OnnxModel, random: np.random.Generator) -> None:
        self.graph = graph
        self.batcher = QueryBatcher(model, pool_of(graph)).with_more_ties(
            _told(random, FURTHER_TIES)
        )
        self.rows = random.normal(size=(NEW_ROWS, graph.features.shape[1])).astype(np.float32)
        undirected = 1 if graph.directed else 2
        loops = len(graph.arc_source) + np.arange(len(graph.loop_node))
        ties = [arcs.tolist() for arcs in np.arange(len(graph.arc_source)).reshape(-1, undirected)]
        self.ties: list[list[int]] = ties + [[loop] for loop in loops.tolist()]
        ends = (graph.arc_source, graph.arc_target, graph.arc_tie)
        own = (graph.loop_node, graph.loop_node, graph.loop_row)
        listed = np.concatenate((np.stack(ends), np.stack(own)), axis=1).T.tolist()
        self.arcs: list[Arc] = [(source, target, tie) for source, target, tie in listed]

    def packed(self, edits: Sequence[Edit]) -> Edits:
        """Edits in the arrays that the program takes."""
        listed = list(enumerate(edits))
        replaced = [(number, *item) for number, edit in listed for item in edit.replaced.items()]
        return edits_of(
            len(edits),
            np.array([(number, node) for number, edit in listed for node in edit.asked]).T,
            dropped=np.array([(number, arc) for number, edit in listed for arc in edit.dropped]).T,
            added=np.array([(number, *arc) for number, edit in listed for arc in edit.added]).T,
            replaced=np.array(replaced).T,
            features=self.rows,
        )

    def answers(self, edits: Sequence[Edit]) -> Floats:
        """The model's answers about each edited graph in full."""
        count = self.graph.node_count
        features = np.tile(self.batcher.features_of(np.arange(count)), (len(edits), 1))
        sources, targets, ties, starts, rows = [], [], [], [0], []
        for number, edit in enumerate(edits):
            for source, target, tie in self._edited(edit):
                sources.append(number * count + source)
                targets.append(number * count + target)
                ties.append(tie)
            starts.append(len(sources))
            rows += [number * count + node for node in edit.asked]
            for node, row in edit.replaced.items():
                features[number * count + node] = self.rows[row]
        union = Union(
            nodes=np.tile(np.arange(count), len(edits)),
            node_starts=np.arange(len(edits) + 1) * count,
            sources=np.array(sources, np.int64),
            targets=np.array(targets, np.int64),
            ties=np.array(ties, np.int64),
            arc_starts=np.array(starts),
        )
        once, back = np.unique(rows, return_inverse=True)
        return self.batcher.ask(union, once.astype(np.int64), features=features)[back]

    def _edited(self, edit: Edit) -> list[Arc]:
        """The arcs of an edited graph in canonical order: by their two ends, loops last."""
        gone = set(edit.dropped)
        arcs = [arc for number, arc in enumerate(self.arcs) if number not in gone]
        return sorted(arcs + edit.added, key=lambda arc: (arc[0] == arc[1], sorted(arc[:2])))

    def random_edit(self, random: np.random.Generator) -> Edit:
        """Some ties dropped, added, put in another's place; some features replaced; or nothing."""
        nodes = self.graph.node_count
        subject = int(random.integers(nodes))
        edit = Edit(asked=[subject, *random.integers(0, nodes, random.choice([0, 0, 0, 2]))])
        own = [tie for tie in self.ties if subject in self.arcs[tie[0]][:2]]
        for ties, most in ((own, 4), (self.ties, 3)):
            if ties and random.random() < 0.5:
                for place in random.integers(0, len(ties), random.integers(1, most)).tolist():
                    self._drop(edit, ties[place], random)
        while random.random() < 0.4:
            near = subject if random.random() < 0.5 else int(random.integers(nodes))
            self._add(edit, near, int(random.integers(nodes)), random)
        while random.random() < 0.4:
            edit.replaced[int(random.integers(nodes))] = int(random.integers(NEW_ROWS))
        return edit

    def _drop(self, edit: Edit, tie: list[int], random: np.random.Generator) -> None:
        if tie[0] in edit.dropped:
            return
        edit.dropped += tie if random.random() < 0.9 else tie[:1]
        if random.random() < 0.3:
            self._add(edit, *self.arcs[tie[0]][:2], random)

    def _add(self, edit: Edit, source: int, target: int, random: np.random.Generator) -> None:
        row = int(random.integers(len(self.graph.ties) + FURTHER_TIES))
        edit.added.append((source, target, row))
        if not self.graph.directed and source != target:
            edit.added.append((target, source, row))
