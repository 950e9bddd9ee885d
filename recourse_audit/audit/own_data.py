"""What a decision rests on: own data alone, own columns at a reference, kinds of ties removed.

Candidates for the reasons of a refusal follow from it: a column or a kind of tie is one if the
model's answer moves noticeably towards a favourable decision without it, by at least
`reasons.smallest` of its distance to the cut-off. So what the model ignores, and a kind of tie that
counts *for* a person as a whole, can be none. A person confirms or rejects candidates; nothing here
says what caused a decision.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from recourse_audit.audit.load import LoadedAudit
from recourse_audit.errors import LimitError, ModelError
from recourse_audit.graph.computed import Computation
from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.graph.neighbourhoods import spans
from recourse_audit.model.batching import CLOSE, QueryBatcher, noise_of
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.model.edited_graph import EditedGraph, SubjectAnswers
from recourse_audit.model.edits import NO_ARCS, edits_of
from recourse_audit.records.recourse import Option, Part, SetAction
from recourse_audit.records.search import WholeGraph
from recourse_audit.records.subject import (
    AnswerAlone,
    NoColumnAnswer,
    NoColumns,
    NotAlone,
    OwnColumn,
    OwnData,
    OwnPair,
    OwnTies,
    ReasonCandidate,
    SubjectReport,
)
from recourse_audit.recourse.attributes import (
    SAME,
    Attribute,
    Population,
    Value,
    column_of,
    columns_of,
    is_category,
    is_missing,
)
from recourse_audit.recourse.proxies import SAME as SAME_COLUMN
from recourse_audit.recourse.proxies import ProxySearch
from recourse_audit.search.influential_ties import AnswerEffects
from recourse_audit.search.moexp import Naming
from recourse_audit.search.pareto import round_figure, round_figures
from recourse_audit.settings import Settings

# A query about the whole graph for every person takes seconds per subject in a larger one.
MOST_ARCS = 50_000
PEOPLE_TOGETHER = 2**16
# Of so many columns (the words of a text) none says much.
MOST_COLUMNS = 64
# Without shared states every part is a graph of its own; so many arcs in total are asked about.
MOST_ARCS_IN_LADDER = 2**20
# Of so many columns and kinds of ties, the strongest, all pairs are tried, and so many are listed.
MOST_PAIRED = 8
MOST_PAIRS = 3
# References and percentiles are those of at most so many people, evenly spaced in the node table.
MOST_PEOPLE = 2**20
MOST_REASONS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReference:
    """A column of the node table, and the reference that it is put at.

    `stored` is the reference as the table holds it; None if nobody among those whose median it is
    has a value. A category has neither `units` nor a `population`.
    """

    name: str
    stored: Value | None
    units: Attribute | None = None
    population: Population | None = None

    def read(self, graph: Graph, subject: int) -> Value | None:
        """The subject's value as the table holds it; None for an empty cell."""
        value = column_of(graph, self.name)[subject]
        plain = str(value) if self.units is None else float(value)
        return None if is_missing(plain) else plain

    def in_user_units(self, stored: Value | None, graph: Graph) -> Value | None:
        if stored is None or self.units is None:
            return stored
        return self.units.user_value(column_of(graph, self.name).dtype.type(stored))

    def percentile(self, stored: Value | None) -> float | None:
        """The percentage of people with a lower value, in the user's units."""
        if stored is None or self.population is None or not len(self.population.numbers):
            return None
        assert self.units is not None
        share = float(self.population.percentiles(np.array([stored], np.float64))[0])
        return round_figure(share if self.units.scale > 0 else 100 - share)


class OwnDataReports:
    """Finds, for each subject, what the model decides on own data alone, and column by column."""

    def __init__(self, audit: LoadedAudit, edited: EditedGraph, *, complete: bool = True) -> None:
        """`complete`: the answers that `edited` knows are about everybody."""
        self._edited = edited
        self.graph = audit.graph
        self._encoder = audit.encoder
        self._decisions = edited.decisions
        self.naming = Naming(graph=audit.graph, rule=audit.rule, kind=audit.batcher.output_kind)
        self._random = not audit.probes.deterministic
        self._reason: NotAlone = "random_answers" if self._random else ""
        if not self._random and not edited.can_stand_alone and _size(edited) > MOST_ARCS:
            self._reason = "depends_on_others"
        names = audit.graph.person_features
        names = names if self._encoder is None else self._encoder.columns
        self._columns_reason: NoColumns = "random_answers" if self._random else ""
        if len(names) > MOST_COLUMNS:
            self._columns_reason, names = "too_many_columns", ()
        elif not complete:
            self._columns_reason = "other_answers_not_known"
        self.columns = _references(audit, edited, names, complete=complete) if names else []
        by = audit.settings.decision.cut_off_by
        self._moves_cut_off = frozenset(
            () if by is None else Computation(audit.settings.graph).base((by.column,))
        )

    @property
    def queries(self) -> int:
        """How many queries that several subjects share count for each of them."""
        return int(not self._reason)

    def reports_on(self, subjects: Ints) -> dict[int, OwnData]:
        """The records of several subjects, who are asked about together; without columns."""
        order = np.sort(subjects)
        if self._reason:
            return dict.fromkeys(order.tolist(), OwnData(reason=self._reason))
        answers = self._edited.without_ties(order)
        return {
            subject: OwnData(alone=self._alone(subject, answers[[place]]))
            for place, subject in enumerate(order.tolist())
        }

    def _alone(self, subject: int, answer: Floats) -> AnswerAlone:
        [decision] = self._decisions.names_of(answer, subject)
        usable = bool(decision)
        value = self._decisions.rule.values(answer).astype(np.float64)
        return AnswerAlone(
            decision=decision,
            favourable=bool(self._decisions.favourable(answer, subject)[0]),
            probabilities=self.naming.probabilities(answer)[0] if usable else {},
            value=round_figure(float(value[0])) if usable else None,
        )

    def with_ladder(self, own_data: OwnData, asked: SubjectAnswers) -> OwnData:
        """The record of one subject with what the model answers for each part of the ladder.

        A part is a column at its reference or a kind of tie without any tie; where no single part
        makes an unfavourable decision favourable, the strongest are tried two by two.
        """
        ladder, columns_reason = _Ladder(self, asked), self._columns_reason
        rows: list[OwnColumn | OwnTies] = [*ladder.columns, *ladder.ties]
        parts = [
            part
            for part, row in enumerate(() if self._random else rows)
            if isinstance(row, OwnTies) or not (columns_reason or row.reason)
        ]
        steps = ladder.steps([(part,) for part in parts])
        if steps is None:
            parts, steps, columns_reason = [], [], columns_reason or "too_large"
        moves: dict[int, float] = {}
        for part, step in zip(parts, steps, strict=True):
            row = rows[part]
            if step is not None:
                moves[part] = step.moves
                rows[part] = replace(row, answer=step.answer, moves=step.moves)
            elif isinstance(row, OwnColumn):
                rows[part] = replace(row, reason=ladder.reason_against(part))
        decided = ladder.lead_now >= 0 or any(step and step.answer.favourable for step in steps)
        strongest = sorted(moves, key=lambda part: -moves[part])[:MOST_PAIRED]
        return replace(
            own_data,
            distance=round_figure(-ladder.lead_now),
            columns=tuple(row for row in rows if isinstance(row, OwnColumn)),
            columns_reason=columns_reason,
            ties=tuple(row for row in rows if isinstance(row, OwnTies)),
            pairs=() if decided else ladder.pairs(sorted(strongest)),
        )

    def reason_against(self, column: ColumnReference) -> NoColumnAnswer:
        if self._columns_reason:
            return ""
        if column.stored is None:
            return "no_reference"
        return "moves_cut_off" if column.name in self._moves_cut_off else ""

    def features(
        self, subject: int, sets: Sequence[Sequence[int]], batcher: QueryBatcher
    ) -> Floats:
        """The subject's features, one row for each set of columns, which are at their references.

        NaN if the pipeline refuses such a row.
        """
        people = np.full(len(sets), subject)
        features = batcher.features_of(people)
        cells = [(row, place) for row, places in enumerate(sets) for place in places]
        if self._encoder is None:
            # The columns are the features.
            for row, place in cells:
                features[row, place] = self.columns[place].stored
            return features
        columns = columns_of(self.graph, self._encoder.columns, people)
        for row, place in cells:
            stored = self.columns[place].stored
            assert stored is not None
            columns[self.columns[place].name][row] = stored
        try:
            with np.errstate(over="ignore"):
                if cells:
                    encoded = self._encoder.encode(columns)
                    features[:, : encoded.shape[1]] = encoded
        except LimitError:
            raise
        except ModelError:
            features[:] = np.nan
        return features


class _Step(NamedTuple):
    """The answer without some parts, and how far it is towards a favourable decision."""

    answer: WholeGraph
    moves: float


class _Ladder:
    """What one subject's own columns and kinds of ties do, by number: columns, then kinds."""

    def __init__(self, reports: OwnDataReports, asked: SubjectAnswers) -> None:
        self._reports, self._asked = reports, asked
        self._stored = [column.read(reports.graph, asked.subject) for column in reports.columns]
        self._effects = AnswerEffects(asked, reports.naming)
        self._refused: set[int] = set()
        arcs = arcs_by_kind(reports.graph, asked.subject)
        self._kinds, self._arcs = [*arcs], [*arcs.values()]

    @property
    def lead_now(self) -> float:
        return float(self._lead(self._effects.own)[0])

    def _lead(self, answers: Floats) -> Floats:
        return self._effects.decisions.lead(answers, self._asked.subject)

    @property
    def columns(self) -> Iterator[OwnColumn]:
        graph = self._reports.graph
        for column, value in zip(self._reports.columns, self._stored, strict=True):
            yield OwnColumn(
                name=column.name,
                value=column.in_user_units(value, graph),
                unit="" if column.units is None else column.units.unit,
                reference=column.in_user_units(column.stored, graph),
                percentile=column.percentile(value),
                reason=self._reports.reason_against(column),
            )

    @property
    def ties(self) -> Iterator[OwnTies]:
        for kind, arcs in zip(self._kinds, self._arcs, strict=True):
            yield OwnTies(kind=kind, count=count_ties(self._reports.graph, arcs))

    def reason_against(self, part: int) -> NoColumnAnswer:
        """Why a column that was asked about has no answer."""
        return "no_features" if part in self._refused else "not_a_number"

    def steps(self, sets: Sequence[tuple[int, ...]]) -> "list[_Step | None] | None":
        """What each set of parts does; None for no number, and for all if they cost too much."""
        asked, columns = self._asked, len(self._stored)
        places = [[part for part in parts if part < columns] for parts in sets]
        features = self._reports.features(asked.subject, places, asked.edited.batcher)
        finite: Mask = np.asarray(np.isfinite(features).all(axis=1))
        finite |= np.array([not part for part in places], bool)
        self._refused.update(sets[row][0] for row in np.flatnonzero(~finite).tolist())
        same = {
            part
            for part, column in enumerate(self._reports.columns)
            if column.stored == self._stored[part]
        }
        answers = np.repeat(self._effects.own, len(sets), axis=0)
        answers[~finite] = np.nan
        rows = np.flatnonzero(finite & np.array([not same.issuperset(p) for p in sets], bool))
        known = self._ask([sets[row] for row in rows.tolist()], features[rows])
        if known is None:
            return None
        answers[rows] = known
        usable = self._effects.decisions.usable(answers)
        numbers = np.where(usable[:, None], answers, self._effects.own)
        moves = round_figures(self._lead(numbers) - self.lead_now).tolist()
        return [
            None if answer is None else _Step(answer, move)
            for answer, move in zip(self._effects.records(answers), moves, strict=True)
        ]

    def _ask(self, sets: Sequence[tuple[int, ...]], features: Floats) -> Floats | None:
        asked, count, columns = self._asked, len(sets), len(self._stored)
        own = np.full(count, asked.subject)
        arcs = [
            np.concatenate([NO_ARCS[0], *(self._arcs[p - columns] for p in parts if p >= columns)])
            for parts in sets
        ]
        owner = np.repeat(np.arange(count), [len(part) for part in arcs])
        replaced = np.array([row for row, parts in enumerate(sets) if min(parts) < columns], int)
        edits = edits_of(
            count,
            np.stack((np.arange(count), own)),
            dropped=np.stack((owner, np.concatenate([NO_ARCS[0], *arcs]))),
            replaced=np.stack((replaced, own[replaced], replaced)),
            features=features,
        )
        way = None
        answers: Floats = np.empty((0, asked.edited.batcher.answer_width))
        while count and way != asked.way:
            way = asked.way
            if way != "shared" and asked.edited.size(edits, way) * count > MOST_ARCS_IN_LADDER:
                return None
            answers, _ = asked.answers(edits, needed=0)
        return answers

    def pairs(self, parts: Sequence[int]) -> tuple[OwnPair, ...]:
        """The pairs of some parts that move the answer farthest; of equals, the first."""
        sets = [*combinations(parts, 2)]
        named = [Part(what="column", name=column.name) for column in self._reports.columns]
        named += [Part(what="ties", name=tie.kind) for tie in self.ties]
        pairs = [
            OwnPair(parts=(named[first], named[other]), answer=step.answer, moves=step.moves)
            for (first, other), step in zip(sets, self.steps(sets) or (), strict=False)
            if step is not None
        ]
        return tuple(sorted(pairs, key=lambda pair: -pair.moves)[:MOST_PAIRS])


def arcs_by_kind(graph: Graph, node: int) -> dict[str, Ints]:
    """The arcs of a node's own ties without loops, by the kind of tie."""
    pairs = np.sort(graph.neighbour_pair[graph.starts[node] : graph.starts[node + 1]])
    arcs, _ = spans(graph.pair_starts, pairs)
    kinds = graph.ties.kind[graph.arc_tie[arcs]]
    return {graph.ties.kinds[kind]: arcs[kinds == kind] for kind in np.unique(kinds).tolist()}


def count_ties(graph: Graph, arcs: Ints) -> int:
    """How many ties some arcs belong to."""
    return len(arcs) if graph.directed else len(arcs) // 2


def units_of(settings: Settings, name: str) -> Attribute:
    """A number of the node table in the units of its rule, or of `graph.units`."""
    for rule in settings.recourse.attributes:
        if rule.name == name:
            known = {key: getattr(rule, key) for key in ("unit", "scale", "shift", "transform")}
            return Attribute(name=name, **known)
    return Attribute(name=name, unit=settings.graph.units.get(name, ""))


def _references(
    audit: LoadedAudit, edited: EditedGraph, names: tuple[str, ...], *, complete: bool
) -> list[ColumnReference]:
    """What columns are put at: as the settings say, or a median or most frequent category.

    If not everybody's answer is known, nobody counts as decided on favourably.
    """
    graph, decisions, wanted = audit.graph, edited.decisions, audit.settings.reasons.reference
    people = np.arange(0, graph.person_count, -(-graph.person_count // MOST_PEOPLE))
    answers = edited.everybody[people]
    decided = decisions.usable(answers) | (not complete)
    favourable = decisions.favourable(answers, people) & complete
    typical = decided if wanted == "population_median" else favourable
    given = wanted if isinstance(wanted, dict) else {}
    references = []
    for name in names:
        values = column_of(graph, name)[people]
        if is_category(graph, name):
            counts = Counter(label for label in values[typical].tolist() if not is_missing(label))
            mode = min(counts, key=lambda label: (-counts[label], label), default=None)
            references.append(ColumnReference(name=name, stored=given.get(name, mode)))
            continue
        there = np.isfinite(values)
        middle = np.sort(values[typical & there])
        units = units_of(audit.settings, name)
        stored = float(middle[(len(middle) - 1) // 2]) if len(middle) else None
        if name in given:
            # As exactly as the table holds numbers.
            stored = float(values.dtype.type(units.table_numbers([given[name]])[0]))
        references.append(
            ColumnReference(
                name=name,
                stored=stored,
                units=units,
                population=Population(
                    numbers=np.sort(values[decided & there].astype(np.float64)),
                    same=SAME.get(values.dtype.name, 1e-9),
                ),
            )
        )
    return references


def alone_answers(audit: LoadedAudit, decisions: Decisions) -> Floats | None:
    """The model's answers about everybody on their own data alone, one row per person.

    None where it would take a query about the whole graph for each. Asked block by block, so that
    the memory of queries is bounded.
    """
    people = audit.graph.person_count
    edited = EditedGraph(audit.graph, audit.batcher, audit.probes, decisions)
    if not edited.can_stand_alone:
        return None
    blocks = (
        np.arange(first, min(first + PEOPLE_TOGETHER, people))
        for first in range(0, people, PEOPLE_TOGETHER)
    )
    return np.concatenate([edited.without_ties(block) for block in blocks])


def _size(edited: EditedGraph) -> int:
    """How large a query about the whole graph is: its arcs and nodes, or a matrix of nodes."""
    graph = edited.graph
    if edited.batcher.model.signature.port("adjacency") is not None:
        return graph.node_count**2
    return len(graph.arc_source) + len(graph.loop_node) + graph.node_count


class ReasonFinder:
    """Chooses candidates from what a report knows of columns, kinds of ties and permitted moves."""

    def __init__(self, audit: LoadedAudit) -> None:
        settings = audit.settings
        self._smallest = settings.reasons.smallest
        # What rounding alone may move.
        self._noise = CLOSE * noise_of(audit.batcher)
        self._not_protected = settings.recourse.not_protected
        self._proxy = cache(ProxySearch(audit.graph, settings.groups.attributes).of)

    def find(self, report: SubjectReport) -> tuple[ReasonCandidate, ...]:
        """At most four candidates, the strongest first; none for a favourable decision."""
        own, recourse = report.own_data, report.recourse
        if own is None or recourse is None or own.distance is None or own.distance <= 0:
            return ()
        parts = [(part, effect.moves) for part, effect in own.parts.items()]
        least = max(self._smallest * own.distance, self._noise)
        strong = [(part, moves) for part, moves in parts if moves is not None and moves >= least]
        movable = {
            measured.part
            for measured in recourse.responsiveness
            if measured.best_move is not None and measured.best_move >= least
        }
        movable |= {part for option in recourse.options for part in _parts_of(option)}
        return tuple(
            ReasonCandidate(
                part=part,
                moves=moves,
                share=round_figure(moves / own.distance),
                fixed=part not in movable,
                proxy=self._find_proxy(part),
            )
            for part, moves in sorted(strong, key=lambda item: -item[1])[:MOST_REASONS]
        )

    def _find_proxy(self, part: Part) -> str:
        """The protected attribute that a column is or gives away; "" if there is none."""
        proxy = self._proxy(part.name) if part.what == "column" else None
        if proxy is None or (part.name in self._not_protected and proxy[0] != SAME_COLUMN):
            return ""
        return proxy[1]


def _parts_of(option: Option) -> set[Part]:
    """The columns and kinds of ties that an option changes."""
    return {
        Part(what="column", name=action.attribute)
        if isinstance(action, SetAction)
        else Part(what="ties", name=action.kind)
        for action in option.actions
    }
