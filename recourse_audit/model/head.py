"""A head: a further sealed file, which makes the decision of what a graph network says of a node.

The network takes the graph; the head, often gradient boosting, takes the network's embeddings and
columns of the node table, row by row. These columns are features like all others, so that whatever
edits features knows nothing of a head; those that the network does not take come last. Which
columns go where is known here alone, and everything else sees one model that answers.

A head may be made of steps: an embedding moves a little, and the answer stays. So the probes ask
the network what its embeddings depend on, and `probe_head` asks the head whether it answers the
same twice, and about a row as it does about many.
"""

import os.path
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError, ModelError, SettingsError
from recourse_audit.graph.columns import Columns, check_known
from recourse_audit.graph.graph import Floats, Graph
from recourse_audit.model.batching import QueryBatcher
from recourse_audit.model.preprocessing import TEXT, WHOLE, Intake, check_port, probe_rows, width_of
from recourse_audit.model.probe_graphs import ring, room_for
from recourse_audit.model.queries import Feeder, Pool, Query, join_graphs
from recourse_audit.model.roles import InputPort, OutputPort
from recourse_audit.model.session import LARGE, OnnxModel, Session, first_guess
from recourse_audit.records.model import HeadReport
from recourse_audit.settings import ModelSettings

GRAPHS, NODES = 48, 7


def check_head_columns(columns: Columns, names: Sequence[str]) -> None:
    """Refuse a head's column that the nodes do not have, or have as text."""
    for name in names:
        check_known("model.head_columns", name, columns)
        if columns[name].dtype.kind not in "biuf":
            raise SettingsError(
                f"model.head_columns: {name!r} is text, and a head takes numbers; declare how it "
                "is encoded with graph.encodings, and name the columns of the encoding"
            )


def with_head_columns(graph: Graph, names: Sequence[str], origin: str) -> Graph:
    """The graph with those of a head's columns as further features that are not among them."""
    further = [name for name in names if name not in graph.feature_names]
    if not further:
        return graph
    columns, people = graph.columns, graph.person_count
    check_head_columns(columns, further)
    values = np.zeros((graph.node_count, len(further)))
    for place, name in enumerate(further):
        values[:people, place] = columns[name][:people]
    rows, places = np.nonzero(~np.isfinite(values))
    if len(rows):
        raise GraphError(
            f"{origin}: column {further[places[0]]!r} is empty or not finite for "
            f"{str(graph.ids[rows[0]])!r}, but model.head_columns names it; fill it in"
        )
    return replace(
        graph,
        features=np.concatenate((graph.features, values), axis=1),
        feature_names=(*graph.feature_names, *further),
        attributes={name: own for name, own in graph.attributes.items() if name not in further},
        head_only=len(further),
    )


class Head(Session):
    """A sealed head in onnxruntime, once `fit` has told it the columns of its rows."""

    what, setting, about = "the head", "model.head", "for "

    def __init__(self, settings: ModelSettings, *, timeout: float | None, in_worker: bool) -> None:
        assert settings.head is not None
        super().__init__(settings.head, settings, timeout=timeout, in_worker=in_worker)
        self.columns = settings.head_columns
        self.intakes: tuple[Intake, ...] = ()
        for port in self.inputs:
            check_port(self.path, port)
            if port.dtype == TEXT:
                raise ModelError(
                    f"{self.path}: its input {port.describe()} takes text, and a head numbers; "
                    "declare an encoding (graph.encodings), and ask for an export that takes that"
                )

    def fit(self, embedding: OutputPort, width: int) -> None:
        """Match inputs with an output of the graph network and the columns, by name and width.

        An input of one column that is named after it takes it. What is left goes into one input,
        the embedding first, or into two: the embedding, and the other columns as a block.
        """
        own = tuple(f"{embedding.name}[{place}]" for place in range(width))
        taken: dict[str, tuple[str, ...]] = {
            port.name: (port.name,)
            for port in self.inputs
            if port.name in self.columns and width_of(port) in (1, None)
        }
        left = tuple(name for name in self.columns if name not in taken)
        rest = [port for port in self.inputs if port.name not in taken]
        ways = []
        if len(rest) == 1 and _takes_embedding(rest[0], width + len(left)):
            ways = [{rest[0].name: own + left}]
        elif len(rest) == 2 and left:
            pairs = [
                pair
                for pair in permutations(rest)
                if _takes_embedding(pair[0], width) and width_of(pair[1]) in (None, len(left))
            ]
            named = [pair for pair in pairs if pair[0].name == embedding.name]
            ways = [{first.name: own, block.name: left} for first, block in named or pairs]
        if len(ways) != 1:
            inputs = " and ".join(port.describe() for port in self.inputs)
            raise ModelError(
                f"{self.path}: takes {inputs or 'nothing'}, which fits the output "
                f"{embedding.name!r} of the model ({width} columns) and model.head_columns "
                f"({', '.join(map(repr, self.columns)) or 'none'}) in {len(ways) or 'no'} ways; "
                "correct head_columns or embedding_output, or ask for inputs that are named after "
                "what they take"
            )
        taken |= ways[0]
        self.intakes = tuple(Intake(port=port, columns=taken[port.name]) for port in self.inputs)
        names = [*own, *self.columns]
        self._places = [[names.index(name) for name in i.columns] for i in self.intakes]

    def answers(self, names: Sequence[str], rows: Floats) -> list[NDArray[Any]]:
        """Outputs for rows of embeddings and columns, each as a table with as many rows."""
        feeds = {}
        for port, places in zip(self.inputs, self._places, strict=True):
            values = (rows if len(self.inputs) == 1 else rows[:, places]).astype(port.dtype)
            feeds[port.name] = values if len(port.shape) == 2 else values[:, 0]
        asked = f"{len(rows):,} rows"
        tables = self.run(names, feeds, asked, alone=len(rows) > LARGE)
        for name, table in zip(names, tables, strict=True):
            if not 1 <= table.ndim <= 2 or len(table) != len(rows):
                raise ModelError(
                    f"{self.path}: the output {name!r} has shape {[*table.shape]} for {asked}, and "
                    "a head answers once for each; ask for an export that keeps rows apart"
                )
        return [table if table.ndim == 2 else table[:, None] for table in tables]


def _takes_embedding(port: InputPort, width: int) -> bool:
    return port.floating and len(port.shape) == 2 and width_of(port) in (None, width)


class ChainedModel(OnnxModel):
    """A graph network with a head: the inputs of the one, the outputs of the other."""

    head: Head

    def __init__(self, body: OnnxModel, head: Head, settings: ModelSettings, graph: Graph) -> None:
        vars(self).update(vars(body))
        self._session = None  # the body keeps its own, and gives it back
        self._body, self.head, self.origin = body, head, head.path
        self.places = np.array([graph.feature_names.index(n) for n in head.columns], np.int64)
        self.head_only = body.head_only = graph.head_only
        if isinstance(self.feeder, Feeder):
            self.feeder.carried = graph.carried
        inside = Path(os.path.relpath(head.path.parent, self.path.parent))
        theirs = {(inside / name).as_posix(): digest for name, digest in head.digests.items()}
        self.digests = body.digests | theirs
        tables = [port.describe() for port in body.outputs if port.floating]
        if settings.embedding_output is None and len(tables) > 1:
            raise ModelError(
                f"{body.path}: more than one output could be what the head takes "
                f"({', '.join(tables)}); name it in model.embedding_output"
            )
        named = settings.embedding_output
        body.with_output(first_guess(body.path, body.outputs, named, "model.embedding_output"))
        output = first_guess(head.path, head.outputs, settings.output_name, "model.output_name")
        self.signature = replace(body.signature, output=output, outputs=head.outputs)

    @property
    def body(self) -> OnnxModel:
        return self._body

    @property
    def feature_type(self) -> type:
        """A type in which the features of both lose nothing."""
        taken = (np.dtype(port.dtype) for port in self.head.inputs)
        return np.result_type(super().feature_type, *taken).type

    def ask(self, query: Query) -> Floats:
        """The head's answer to what the network says about the nodes asked about."""
        return self._through_head(query, [self.signature.output.name])[0]

    def ask_every(self, query: Query) -> dict[str, NDArray[Any]]:
        """Every numeric output of the head, by name; rows not asked about are no numbers."""
        names = [port.name for port in self.head.outputs if port.numeric]
        tables = self._through_head(query, names)
        if self._target is None:
            places, count = self.feeder.locate(query)
            for number, answers in enumerate(tables):
                tables[number] = np.full((count, answers.shape[1]), np.nan)
                tables[number][places] = answers
        return dict(zip(names, tables, strict=True))

    def _through_head(self, query: Query, names: Sequence[str]) -> list[NDArray[Any]]:
        rows = self.join(self._body.ask(query), query.features[query.rows])
        return self.head.answers(names, rows)

    def join(self, embeddings: Floats, features: Floats) -> Floats:
        """Rows of embeddings, followed by the columns that the head takes."""
        if not self.head.intakes:
            self.head.fit(self._body.signature.output, embeddings.shape[1])
        return np.concatenate((embeddings, features[:, self.places]), axis=1)


def with_head(
    body: OnnxModel,
    settings: ModelSettings,
    graph: Graph,
    *,
    timeout: float | None = None,
    in_worker: bool = False,
) -> OnnxModel:
    """A model that is open, with its head if it has one, for a graph with the head's columns."""
    if settings.head is None or body.head is not None:
        return body
    head = Head(settings, timeout=timeout, in_worker=in_worker)
    return ChainedModel(body, head, settings, graph)


def probe_head(model: OnnxModel, pool: Pool) -> None:
    """Ask a head again about embeddings; refuse one that is random, or not row by row."""
    if not isinstance(model, ChainedModel):
        return
    head, body, generator = model.head, model.body, np.random.default_rng(GRAPHS)
    union = join_graphs([ring(generator, pool, room_for(model, NODES)) for _ in range(GRAPHS)])
    batcher = QueryBatcher(body, pool, graphs_per_query=1)
    people = pool.people(union.nodes)
    embeddings = batcher.ask_raw(union, people)
    rows = model.join(embeddings, pool.features[union.nodes[people]])
    rows = rows[np.isfinite(rows).all(axis=1)]
    for intake in head.intakes:
        if intake.port.dtype in WHOLE:  # from which nothing may be cut off
            everybody = zip(head.columns, pool.features[:, model.places].T, strict=True)
            intake.fill(dict(everybody), head.path)
    outputs = [port.name for port in head.outputs if port.floating]

    def answer(columns: Columns) -> Floats:
        tables = head.answers(outputs, np.stack([*columns.values()], axis=1))
        return np.nan_to_num(np.concatenate(tables, axis=1).astype(np.float64))

    columns = {str(place): values for place, values in enumerate(rows.T)}
    answers = answer(columns)
    names = (", ".join(outputs),) * answers.shape[1]
    model.head_report = HeadReport(
        file=head.path.name,
        sha256=head.digest(),
        embedding_output=body.signature.output.name,
        embeddings=embeddings.shape[1],
        inputs=tuple(intake.record for intake in head.intakes),
        probes=probe_rows(answer, columns, answers, names, what="head", gives="answers"),
    )
    if model.head_report.probes.failed:
        raise ModelError(f"{head.path}: {' '.join(model.head_report.probes.notes.values())}")
