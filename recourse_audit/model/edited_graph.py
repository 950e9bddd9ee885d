"""What the model answers after edits of the graph: whatever asks about a change asks here.

Options, what-ifs, side effects, robustness, counterfactuals on the whole graph, the ties that carry
a decision and own data alone are all edits of one graph, and all of them are asked about here.
There are three ways to ask, the cheapest first:

shared  many edits in one query, by sharing states (`state_sharing`)
field   each edit on a copy of the receptive field of whoever is asked about, side by side
whole   each edit on the whole graph, one query each

A way is taken only if the probes allow it. For a subject it is relied on only if it gives the whole
graph's answer for the unchanged graph (`SubjectAnswers`), and as long as every answer that is asked
again on the whole graph agrees; otherwise the next way is taken. Answers are the whole graph's
either way.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import LimitError, ModelError, RoomError
from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import OUTSIDE, places_in, spans
from recourse_audit.model.batching import QueryBatcher, form_in, noise_of, same_answer
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.model.edits import (
    NO_ARCS,
    ArrivingField,
    Edits,
    Field,
    arriving_field,
    edits_of,
    exceeds,
    join_edits,
    loops_on,
    receptive_field,
)
from recourse_audit.model.queries import Pool, Union, list_once, side_by_side
from recourse_audit.model.state_sharing import Form, share_states
from recourse_audit.records.model import ProbeReport
from recourse_audit.records.recourse import Compared

Way = Literal["shared", "field", "whole"]
WAYS: tuple[Way, ...] = ("shared", "field", "whole")

MOST_EDITS = 2048
# A query of 2**18 nodes and arcs would get a session of its own.
MOST_ARCS = 3 * 2**16
# An edit copies at most the field for every layer; nearly all copy far less.
MUCH_LESS = 8
# Copies of fields are written for a few queries at once, in bounded memory.
QUERIES_WRITTEN = 4
BYTES_WRITTEN = 2**23
# Edits that add arcs share a field unless that is so many times as large as without them.
MUCH_LARGER = 2
DIGITS = 6


class StateSharing:
    """Asks about edits of one graph by sharing states, for a model of a known depth and form."""

    def __init__(self, graph: Graph, batcher: QueryBatcher, depth: int, form: Form) -> None:
        self._graph = graph
        self._batcher = batcher
        self._depth = depth
        self._counted = batcher.count_ties(form)
        self._kept: tuple[int, ArrivingField] | None = None

    def answers(self, edits: Edits) -> Floats:
        """One answer for each node that an edit asks about, edit after edit."""
        answers: list[Floats] = [np.empty((0, self._batcher.answer_width))]
        first, size = 0, MOST_EDITS
        while first < edits.count:
            part = edits.part(first, min(first + size, edits.count))
            field = self.field(part)
            if first == 0:
                replaced = edits.replaced.shape[1] / edits.count / max(len(field.nodes), 1)
                share = min(max(replaced, 1 / MUCH_LESS), 1.0)
                size = _fitting(field, len(field.arcs) * self._depth * share)
                part = edits.part(first, min(first + size, edits.count))
            answer, arcs = self._ask(field, part)
            answers.append(answer)
            first += part.count
            size = _fitting(field, arcs / part.count)
        return np.concatenate(answers)

    def field(self, edits: Edits) -> ArrivingField:
        asked = np.unique(edits.asked[1])
        if len(asked) == 1 and not edits.added.shape[1]:
            return self.field_around(int(asked[0]))
        return self._field(asked, edits.added[1:3])

    def field_around(self, subject: int) -> ArrivingField:
        """What matters to one subject; the last such field is kept."""
        if self._kept is None or self._kept[0] != subject:
            self._kept = subject, self._field(np.array([subject]), NO_ARCS)
        return self._kept[1]

    def exceeds(self, edits: Edits, most: int) -> bool:
        """Whether more arcs than `most` matter to the nodes that edits ask about."""
        hops = self._depth + int(self._counted is True)
        return exceeds(self._graph, edits.asked[1], hops, most)

    def _field(self, asked: Ints, added: Ints) -> ArrivingField:
        field = arriving_field(self._graph, asked, self._depth, counted=self._counted, added=added)
        return replace(field, ties=self._batcher.merge_rows(field.ties))

    def _ask(self, field: ArrivingField, edits: Edits) -> tuple[Floats, int]:
        """The answers to one query, and how many arcs it has besides those of the field."""
        ties_alike = not self._batcher.needs_ties
        rows = self._batcher.merge_rows(edits.added[3])
        edits = replace(edits, added=np.concatenate((edits.added[:3], rows[None])))
        query = share_states(field, edits, self._counted, ties_alike=ties_alike)
        union, features = query.union, None
        if query.replaced.shape[1]:
            features = self._batcher.features_of(union.nodes)
            features[query.replaced[0]] = _replacing(edits, features)[query.replaced[1]]
        rows, back = list_once(query.rows, len(union.nodes))
        answers = self._batcher.ask(union, rows, features=features, graphs=edits.count)
        return answers[back], len(union.sources) - len(field.arcs)


class EditedGraph:
    """One graph and one model, which is asked about edits; its batcher also knows new ties."""

    def __init__(
        self, graph: Graph, batcher: QueryBatcher, probes: ProbeReport, decisions: Decisions
    ) -> None:
        """`decisions` are those on everybody in the whole graph."""
        self.graph = graph
        self.batcher = batcher.with_more_ties(new_ties(graph)) if batcher.needs_ties else batcher
        self.decisions = decisions
        self.everybody = decisions.everybody
        self.noise = noise_of(batcher)
        self.reach = probes.depth
        self.depth = probes.depth if neighbourhoods_suffice(probes) else None
        self.sharing: StateSharing | None = None
        if probes.sender_degree is not None and probes.depth is not None:
            self.sharing = StateSharing(graph, self.batcher, probes.depth, form_in(probes))
        self._kept: tuple[tuple[Way, bytes], Field] | None = None
        # Whether people without ties can be asked about as graphs of one node.
        self.can_stand_alone = probes.packing and neighbourhoods_suffice(probes)

    def about(self, subject: int, first: Way = "shared") -> "SubjectAnswers":
        """Asks about one subject; whoever shares it shares what is found out about how to ask."""
        return SubjectAnswers(self, subject, first)

    def allows(self, way: Way) -> bool:
        return {"shared": self.sharing, "field": self.depth, "whole": 0}[way] is not None

    def answers(self, edits: Edits, way: Way) -> tuple[Floats, Mask]:
        """One answer for each node asked about, edit after edit; and which of them had room."""
        if way == "shared":
            assert self.sharing is not None
            return self.sharing.answers(edits), np.ones(edits.asked.shape[1], bool)
        answers = np.full((edits.asked.shape[1], self.batcher.answer_width), np.nan)
        fits = np.ones(len(answers), bool)
        together = self._together(edits, way)
        waiting = [(first, together) for first in range(0, edits.count, together)]
        while waiting:
            first, count = waiting.pop()
            part = edits.part(first, min(first + count, edits.count))
            low, high = edits.asked[0].searchsorted((first, first + part.count))
            try:
                answers[low:high] = self._ask(part, way)
            except RoomError:
                fits[low:high] = part.count > 1
                waiting += [(first + edit, 1) for edit in range(part.count) if part.count > 1]
        return answers, fits

    def on_whole_graph(self, edits: Edits) -> Floats:
        """The answers of the whole graph, whatever other way there is.

        Raises
        ------
        RoomError
            An export of fixed size has no room for the graph with an edit.
        """
        parts = [edits.part(edit, edit + 1) for edit in range(edits.count)]
        nothing = np.empty((0, self.batcher.answer_width))
        return np.concatenate([nothing, *(self._ask(part, "whole") for part in parts)])

    def without_ties(self, people: Ints) -> Floats:
        """The answers about people, in ascending order, each without any tie; loops stay.

        Then nothing reaches a person, so a graph of one node stands for the whole graph, if a
        graph's answer does not depend on what is asked beside it.
        """
        if self.can_stand_alone:
            loops, owner = loops_on(self.graph, people)
            starts = np.arange(len(people) + 1)
            singles = Union(
                nodes=people,
                node_starts=starts,
                sources=owner,
                targets=owner,
                ties=self.graph.loop_row[loops],
                arc_starts=np.searchsorted(owner, starts),
            )
            return self.batcher.ask(singles, starts[:-1])
        positions, owner = spans(self.graph.starts, people)
        arcs, pair = spans(self.graph.pair_starts, self.graph.neighbour_pair[positions])
        asked = np.stack((np.arange(len(people)), people))
        dropped = np.stack((owner[pair], arcs))
        return self.on_whole_graph(edits_of(len(people), asked, dropped=dropped))

    def size(self, edits: Edits, way: Way, most: int | None = None) -> int:
        """How many arcs matter to the nodes that edits ask about; just above `most`, if more do."""
        if way == "shared" and self.sharing is not None:
            if most is not None and self.sharing.exceeds(edits, most):
                return most + 1
            return len(self.sharing.field(edits).arcs)
        if way == "whole":
            return len(self.graph.arc_source)
        return len(self._field(edits.asked[1], way).arcs)

    def _together(self, edits: Edits, way: Way) -> int:
        """How many edits about one node to write at once: a few queries, in bounded memory."""
        if way == "whole" or not bool((edits.asked[1] == edits.asked[1, :1]).all()):
            return 1
        room = self.batcher.node_room
        width = int(self.batcher.features[:1].nbytes)
        room *= min(max(BYTES_WRITTEN // max(room * width, 1), 1), QUERIES_WRITTEN)
        return max(1, room // len(self._field(edits.asked[1, :1], way).nodes))

    def _ask(self, edits: Edits, way: Way) -> Floats:
        """Ask about copies of fields side by side, each with one edit made."""
        # Edits are about one node (see `_together`), and share a field unless arcs far away join.
        asked = edits.asked[1, :1] if edits.count > 1 else edits.asked[1]
        field = self._field(asked, way, edits.added[1:3])
        parts = [(field, edits)]
        joined = edits.count > 1 and edits.added.shape[1] > 0
        if joined and len(field.nodes) > MUCH_LARGER * len(self._field(asked, way).nodes):
            single = [edits.part(edit, edit + 1) for edit in range(edits.count)]
            parts = [(self._field(asked, way, part.added[1:3]), part) for part in single]
        return ask_copies(self.batcher, parts)

    def _field(self, asked: Ints, way: Way, added: Ints = NO_ARCS) -> Field:
        """The receptive field of whoever is asked about; the last one without new arcs is kept."""
        depth = self.depth if way == "field" else None
        if added.shape[1]:
            return receptive_field(self.graph, asked, depth, added)
        key = way, asked.tobytes()
        if self._kept is None or self._kept[0] != key:
            self._kept = key, receptive_field(self.graph, asked, depth)
        return self._kept[1]


class SubjectAnswers:
    """Asks about one subject after edits, in the first way that gives the answer that is known.

    `compared` are the answers that were asked again on the whole graph. If one of them was another,
    this way of asking is `contradicted`, and nothing that was found in it may be relied on.
    """

    def __init__(self, edited: EditedGraph, subject: int, first: Way) -> None:
        self.edited = edited
        self.subject = subject
        self.compared = Compared()
        self.contradicted = False
        self._checked = False
        self.way = next(way for way in WAYS[WAYS.index(first) :] if edited.allows(way))

    def answers(self, edits: Edits, needed: int | None = None) -> tuple[Floats, Mask]:
        """The answers to edits, as those of `EditedGraph.answers`.

        The first query also holds the unchanged graph, once as it is and once through a copy of
        the subject; if one of the two gets another answer than the known one, another way is taken.
        Then only the first edits are asked about, as many as are `needed`.
        """
        while not self._checked and self.way != "whole":
            answers, fits = self.edited.answers(join_edits((edits, self._no_change)), self.way)
            known = self.edited.everybody[self.subject]
            if all(self._is_same(answer, known) for answer in answers[-2:]):
                self._checked = True
                return answers[:-2], fits[:-2]
            self.fall_back()
            edits = edits.part(0, edits.count if needed is None else needed)
        return self.edited.answers(edits, self.way)

    def fall_back(self) -> bool:
        """Take the next way from now on; false if there is none."""
        rest = [way for way in WAYS[WAYS.index(self.way) + 1 :] if self.edited.allows(way)]
        if not rest:
            return False
        self.way, self._checked, self.contradicted = rest[0], False, False
        return True

    def confirm(self, edits: Edits, known: Floats, *, most_arcs: int) -> tuple[Floats, Mask]:
        """Ask on the whole graph what is known by another way; mark what was asked there.

        What is known stands where the whole graph has too many arcs to be asked about by every
        worker, or where an export of fixed size has no room for it with these edits.
        """
        nothing = np.zeros(len(known), bool)
        if len(self.edited.graph.arc_source) > most_arcs:
            return known, nothing
        try:
            answers, fits = self.edited.answers(edits, "whole")
        except LimitError:
            raise  # what is found must not depend on how fast a machine is, or how large
        except ModelError:
            return known, nothing
        usable = fits & np.isfinite(answers).all(axis=1)
        ours, theirs = known[usable], answers[usable]
        self.contradicted |= not all(map(self._is_same, ours, theirs))
        if not self.edited.decisions.rule.scores:
            ours, theirs = np.exp(ours), np.exp(theirs)
        largest = float(np.abs(ours - theirs).max(initial=0.0))
        self.compared = self.compared.with_more(
            Compared(answers=len(ours), largest=float(f"{largest:.{DIGITS}g}"))
        )
        answers[~fits] = known[~fits]
        return answers, fits

    def _is_same(self, answer: Floats, whole: Floats) -> bool:
        scores = self.edited.decisions.rule.scores
        return same_answer(answer, whole, self.edited.noise, scores=scores)

    @property
    def _no_change(self) -> Edits:
        """Two edits that change nothing: the second gives the subject the features that it has."""
        subject = np.array([self.subject])
        return edits_of(
            2,
            np.array([[0, 1], [self.subject, self.subject]]),
            replaced=np.array([[1], [self.subject], [0]]),
            features=self.edited.batcher.features_of(subject),
        )


def ask_copies(batcher: QueryBatcher, parts: Sequence[tuple[Field, Edits]]) -> Floats:
    """The answers to edits, each made in a copy of its field; all copies side by side."""
    copies = [write_copies(field, edits) for field, edits in parts]
    rows = [e.asked[0] * len(field.nodes) + field.place(e.asked[1]) for field, e in parts]
    union, places = side_by_side(copies, rows)
    features, first = None, 0
    replaced = any(edits.replaced.shape[1] for _, edits in parts)
    # Side by side, graphs without features of their own would share states.
    if len(union) > 1 or replaced:
        features = batcher.features_of(union.nodes)
        for field, edits in parts if replaced else ():
            place = field.place(edits.replaced[1])
            there = place != OUTSIDE
            at = first + edits.replaced[0, there] * len(field.nodes) + place[there]
            features[at] = _replacing(edits, features)[edits.replaced[2, there]]
            first += edits.count * len(field.nodes)
    order, back = list_once(places, len(union.nodes))
    return batcher.ask(union, order, features=features)[back]


def write_copies(field: Field, edits: Edits) -> Union:
    """Copies of a field side by side, one for each edit; added arcs come last in each."""
    size, width = len(field.nodes), len(field.arcs)
    place = places_in(field.arcs, edits.dropped[1])
    there = place != OUTSIDE
    keep = np.ones(edits.count * width, bool)
    keep[edits.dropped[0, there] * width + place[there]] = False
    kept = np.flatnonzero(keep)
    edit, arc = np.divmod(kept, max(width, 1))
    columns = [edit, field.sources[arc], field.targets[arc], field.ties[arc]]
    if edits.added.shape[1]:
        ends = field.place(edits.added[1:3])
        near = (ends != OUTSIDE).all(axis=0)
        new = (edits.added[0], *ends, edits.added[3])
        columns = [
            np.concatenate((column, more[near])) for column, more in zip(columns, new, strict=True)
        ]
        if edits.count > 1:
            order = np.argsort(columns[0], kind="stable")
            columns = [column[order] for column in columns]
    edit, sources, targets, ties = columns
    return Union(
        nodes=field.nodes if edits.count == 1 else np.tile(field.nodes, edits.count),
        node_starts=np.arange(edits.count + 1) * size,
        sources=sources + edit * size if edits.count > 1 else sources,
        targets=targets + edit * size if edits.count > 1 else targets,
        ties=ties,
        arc_starts=edit.searchsorted(np.arange(edits.count + 1)),
    )


def _replacing(edits: Edits, features: Floats) -> Floats:
    """The features that edits put in place of others, in the number type of these."""
    with np.errstate(over="ignore"):
        return edits.features.astype(features.dtype)


def neighbourhoods_suffice(probes: ProbeReport) -> bool:
    """Whether a part of the graph, with its nodes and ties renumbered, may stand for the whole."""
    return probes.deterministic and probes.node_order and probes.tie_order


def new_ties(graph: Graph) -> Pool:
    """Medians over kinds, or over all ties: a row per kind, or two per relation, by direction."""
    ties, times = graph.ties, 2 if graph.relations else 1
    chosen = [ties.kind == code for code in range(len(ties.kinds))]
    chosen = [mask if mask.any() else np.ones(len(ties), bool) for mask in chosen]

    def medians(values: Floats | None) -> NDArray[np.float32] | None:
        if values is None or not len(ties):
            shape = () if values is None else (times * len(chosen), *values.shape[1:])
            return None if values is None else np.ones(shape, np.float32)
        each = np.array([np.median(values[mask], axis=0) for mask in chosen], np.float32)
        return np.repeat(each, times, axis=0)

    return Pool(
        features=graph.features[:0],
        weight=medians(ties.weight),
        attributes=medians(ties.attributes),
        kind=np.arange(times * len(ties.kinds), dtype=np.int16),
    )


def _fitting(field: Field, arcs_per_edit: float) -> int:
    """How many edits go into one query: the base is worth asking about, and memory suffices."""
    room = max(MOST_ARCS, len(field.arcs))
    return max(1, min(MOST_EDITS, int(room / max(arcs_per_edit, 1.0))))
