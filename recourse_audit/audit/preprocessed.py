"""A graph whose features a sealed pipeline makes: read, asked about once, probed."""

from dataclasses import dataclass, replace

from recourse_audit.errors import ModelError
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.columns import IN_MEMORY, ColumnKind, with_raw_columns
from recourse_audit.graph.computed import Computation, with_computed
from recourse_audit.graph.readers import read_graph
from recourse_audit.model.preprocessing import Pipeline, PipelineEncoder, probe_rows
from recourse_audit.records.model import (
    PreprocessingInput,
    PreprocessingProbes,
    PreprocessingReport,
)
from recourse_audit.settings import GraphSettings, ModelSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocessing:
    """A pipeline with the columns that it takes, and what the probes found."""

    encoder: PipelineEncoder
    probes: PreprocessingProbes
    features: int

    @property
    def report(self) -> PreprocessingReport:
        """What `inspect` says about it."""
        pipeline = self.encoder.pipeline
        return PreprocessingReport(
            file=pipeline.path.name,
            sha256=pipeline.digest(),
            inputs=tuple(
                PreprocessingInput(
                    name=one.port.name,
                    dtype=one.port.dtype,
                    shape=one.port.shape,
                    columns=one.columns,
                )
                for one in self.encoder.intakes
            ),
            output=pipeline.output.name,
            features=self.features,
            probes=self.probes,
        )

    @property
    def problem(self) -> str:
        """Why nobody can be audited with this pipeline; empty if everybody can."""
        notes = " ".join(self.probes.notes.values())
        return f"{self.encoder.pipeline.path}: {notes}" if self.probes.failed else ""

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of every file of the pipeline, by name."""
        return self.encoder.pipeline.digests

    def digest(self) -> str:
        """One SHA-256 for all of the pipeline."""
        return self.encoder.pipeline.digest()

    def check(self) -> None:
        """Refuse a pipeline whose features could not be relied on."""
        if self.problem:
            raise ModelError(self.problem)


def preprocessed(
    model: ModelSettings,
    settings: GraphSettings,
    *,
    graph: Graph | None = None,
    timeout: float | None = None,
) -> tuple[Graph, Preprocessing]:
    """Read the graph, or take the one in memory, and have the pipeline make its features."""
    computation = Computation(settings)
    made: dict[str, ColumnKind] = dict.fromkeys(computation.maker, "numbers")
    made |= dict.fromkeys(computation.categories, "text")
    pipeline = Pipeline(model, settings.features, made=made, timeout=timeout)
    if graph is None:
        graph = read_graph(settings, pipeline)
        origin = settings.origin
    else:
        place = IN_MEMORY
        graph = with_computed(with_raw_columns(graph, pipeline, place), settings, place)
        origin = IN_MEMORY.name
    intakes = pipeline.intakes([*graph.attributes], origin)
    encoder = PipelineEncoder(pipeline, intakes, computation)
    columns = {name: graph.columns[name] for name in encoder.columns}
    features = encoder.encode_nodes(columns, graph.ids, origin)
    names = encoder.feature_names(features.shape[1])
    probes = probe_rows(encoder.encode, columns, features, names)
    preprocessing = Preprocessing(encoder=encoder, probes=probes, features=features.shape[1])
    return replace(graph, features=features, feature_names=names), preprocessing
