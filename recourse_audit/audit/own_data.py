"""A subject's own data: the answer without any tie, and with one own column at a reference."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np

from recourse_audit.audit.load import LoadedAudit
from recourse_audit.errors import LimitError, ModelError
from recourse_audit.graph.computed import Computation
from recourse_audit.graph.graph import Floats, Graph, Ints
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.decisions import Decisions, Mask
from recourse_audit.model.edited_graph import EditedGraph, SubjectAnswers
from recourse_audit.model.edits import edits_of
from recourse_audit.records.subject import (
    AnswerAlone,
    NoColumnAnswer,
    NoColumns,
    NotAlone,
    OwnColumn,
    OwnData,
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
from recourse_audit.search.influential_ties import AnswerEffects
from recourse_audit.search.moexp import Naming
from recourse_audit.search.pareto import round_figure

# A query about the whole graph for every person takes seconds per subject in a larger one.
MOST_ARCS = 50_000
PEOPLE_TOGETHER = 2**16
# Of so many columns (the words of a text) none says much.
MOST_COLUMNS = 64
# Without shared states every column is a graph of its own; so many arcs in total are asked about.
MOST_ARCS_IN_COLUMNS = 2**20
# References and percentiles are those of at most so many people, evenly spaced in the node table.
MOST_PEOPLE = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReference:
    """A column of the node table, and what the people decided on favourably have in it.

    `stored` is the reference as the table holds it; None if nobody with a favourable decision has a
    value. A category has neither `units` nor a `population`.
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
        self._graph = audit.graph
        self._encoder = audit.encoder
        self._decisions = edited.decisions
        self._naming = Naming(graph=audit.graph, rule=audit.rule, kind=audit.batcher.output_kind)
        random = not audit.probes.deterministic
        self._reason: NotAlone = "random_answers" if random else ""
        if not random and not edited.can_stand_alone and _size(edited) > MOST_ARCS:
            self._reason = "depends_on_others"
        names = audit.graph.person_features
        names = names if self._encoder is None else self._encoder.columns
        self._columns_reason: NoColumns = "random_answers" if random else ""
        if len(names) > MOST_COLUMNS:
            self._columns_reason, names = "too_many_columns", ()
        elif not complete:
            self._columns_reason = "other_answers_not_known"
        self._columns = _references(audit, edited, names, complete=complete) if names else []
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
            probabilities=self._naming.probabilities(answer)[0] if usable else {},
            value=round_figure(float(value[0])) if usable else None,
        )

    def with_columns(self, own_data: OwnData, asked: SubjectAnswers) -> OwnData:
        """The record of one subject with the model's answer for one own column at its reference."""
        graph, subject = self._graph, asked.subject
        stored = [column.read(graph, subject) for column in self._columns]
        records = [
            OwnColumn(
                name=column.name,
                value=column.in_user_units(value, graph),
                unit="" if column.units is None else column.units.unit,
                reference=column.in_user_units(column.stored, graph),
                percentile=column.percentile(value),
                reason="" if self._columns_reason else self._reason_against(column),
            )
            for column, value in zip(self._columns, stored, strict=True)
        ]
        reason = self._columns_reason
        places = [place for place, record in enumerate(records) if not record.reason]
        if not reason:
            features = self._features(subject, places, asked.edited.batcher)
            finite: Mask = np.asarray(np.isfinite(features).all(axis=1))
            differs = [stored[place] != self._columns[place].stored for place in places]
            effects = AnswerEffects(asked, self._naming)
            answers = np.repeat(effects.own, len(places), axis=0)
            rows = np.flatnonzero(finite & np.array(differs, bool))
            known = _ask(asked, features[rows])
            if known is None:
                reason = "too_large"
            else:
                answers[rows] = known
                for place, usable, answer in zip(
                    places, finite, effects.records(answers), strict=True
                ):
                    why: NoColumnAnswer = "" if answer else "not_a_number"
                    records[place] = replace(
                        records[place],
                        answer=answer if usable else None,
                        reason=why if usable else "no_features",
                    )
        return replace(own_data, columns=tuple(records), columns_reason=reason)

    def _reason_against(self, column: ColumnReference) -> NoColumnAnswer:
        if column.stored is None:
            return "no_reference"
        return "moves_cut_off" if column.name in self._moves_cut_off else ""

    def _features(self, subject: int, places: list[int], batcher: QueryBatcher) -> Floats:
        """The subject's features, one row for each column, which is at its reference there.

        NaN if the pipeline refuses such a row.
        """
        people = np.full(len(places), subject)
        features = batcher.features_of(people)
        if self._encoder is None:
            # The columns are the features.
            features[np.arange(len(places)), places] = [self._columns[p].stored for p in places]
            return features
        columns = columns_of(self._graph, self._encoder.columns, people)
        for row, place in enumerate(places):
            column = self._columns[place]
            assert column.stored is not None
            columns[column.name][row] = column.stored
        try:
            with np.errstate(over="ignore"):
                if places:
                    encoded = self._encoder.encode(columns)
                    features[:, : encoded.shape[1]] = encoded
        except LimitError:
            raise
        except ModelError:
            features[:] = np.nan
        return features


def _ask(asked: SubjectAnswers, features: Floats) -> Floats | None:
    """The answers about a subject with one row of features or another; None if they cost too much.

    In another way of asking than the one that was tried first, a query may be far larger.
    """
    count, way = len(features), None
    own = np.full(count, asked.subject)
    edits = edits_of(
        count,
        np.stack((np.arange(count), own)),
        replaced=np.stack((np.arange(count), own, np.arange(count))),
        features=features,
    )
    answers: Floats = np.empty((0, asked.edited.batcher.answer_width))
    while count and way != asked.way:
        way = asked.way
        if way != "shared" and asked.edited.size(edits, way) * count > MOST_ARCS_IN_COLUMNS:
            return None
        answers, _ = asked.answers(edits, needed=0)
    return answers


def _references(
    audit: LoadedAudit, edited: EditedGraph, names: tuple[str, ...], *, complete: bool
) -> list[ColumnReference]:
    """What the people whom the model decides on favourably have in some columns.

    If not everybody's answer is known, nobody counts as decided on favourably.
    """
    graph, decisions = audit.graph, edited.decisions
    people = np.arange(0, graph.person_count, -(-graph.person_count // MOST_PEOPLE))
    answers = edited.everybody[people]
    decided = decisions.usable(answers) | (not complete)
    favourable = decisions.favourable(answers, people) & complete
    rules = {rule.name: rule for rule in audit.settings.recourse.attributes}
    references = []
    for name in names:
        values = column_of(graph, name)[people]
        if is_category(graph, name):
            counts = Counter(
                label for label in values[favourable].tolist() if not is_missing(label)
            )
            mode = min(counts, key=lambda label: (-counts[label], label), default=None)
            references.append(ColumnReference(name=name, stored=mode))
            continue
        there = np.isfinite(values)
        approved = np.sort(values[favourable & there])
        keys = ("unit", "scale", "shift", "transform") if name in rules else ()
        units = Attribute(name=name, **{key: getattr(rules[name], key) for key in keys})
        references.append(
            ColumnReference(
                name=name,
                stored=float(approved[(len(approved) - 1) // 2]) if len(approved) else None,
                units=units,
                population=Population(
                    numbers=np.sort(values[decided & there].astype(np.float64)),
                    same=SAME.get(values.dtype.name, 1e-9),
                ),
            )
        )
    return references


def alone_decisions(audit: LoadedAudit, decisions: Decisions) -> Iterator[bool | None]:
    """Whether the decision on everybody would be favourable on their own data alone, in order.

    None for everybody where it would take a query about the whole graph for each, and for
    people for whom the answer is not a number. Asked block by block, so that memory is bounded.
    """
    people = audit.graph.person_count
    edited = EditedGraph(audit.graph, audit.batcher, audit.probes, decisions)
    if not edited.can_stand_alone:
        yield from repeat(None, people)
        return
    for first in range(0, people, PEOPLE_TOGETHER):
        block = np.arange(first, min(first + PEOPLE_TOGETHER, people))
        answers = edited.without_ties(block)
        favourable = decisions.favourable(answers, block).tolist()
        usable = decisions.usable(answers).tolist()
        yield from (good if there else None for good, there in zip(favourable, usable, strict=True))


def _size(edited: EditedGraph) -> int:
    """How large a query about the whole graph is: its arcs and nodes, or a matrix of nodes."""
    graph = edited.graph
    if edited.batcher.model.signature.port("adjacency") is not None:
        return graph.node_count**2
    return len(graph.arc_source) + len(graph.loop_node) + graph.node_count
