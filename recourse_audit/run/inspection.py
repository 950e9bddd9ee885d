"""A first look at a model: its ports, what they probably mean, and what may be relied on."""

from dataclasses import dataclass
from pathlib import Path

from recourse_audit.errors import InputError, ModelError
from recourse_audit.graph.readers import read_graph
from recourse_audit.model.onnx import OnnxModel
from recourse_audit.model.probes import probe
from recourse_audit.model.queries import Pool, pool_of
from recourse_audit.model.signature import Signature
from recourse_audit.records import ProbeReport
from recourse_audit.settings import GraphSettings, ModelSettings, load_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What can be said of a model from outside; `problem` where it cannot be asked at all."""

    name: str
    signature: Signature
    probes: ProbeReport | None
    sha256: str
    problem: str = ""

    @property
    def advice(self) -> tuple[str, ...]:
        """What to write into the settings where a guess is wrong."""
        roles = ", ".join(f'"{port.name}" = "{port.role or "…"}"' for port in self.signature.inputs)
        lines = ["If a guess is wrong, correct it in audit.toml:", "  [model]"]
        lines.append(f"  roles = {{ {roles} }}")
        if self.signature.output.kind:
            lines.append(f'  output = "{self.signature.output.kind}"')
        if self.probes is not None and self.probes.depth is not None:
            lines.append(f"  depth = {self.probes.depth}")
        if self.signature.port("edge_weight") or self.signature.port("adjacency"):
            lines.append('  self_loops = "none"       # "add" if the model expects them')
            lines.append('  normalisation = "none"    # "symmetric" or "row" if done outside')
            lines.append('  tie_weights = "ones"      # "column": the weight column of the ties')
        return tuple(lines)


def inspect_model(path: Path, graph: Path | None) -> Inspection:
    """Open a model, guess roles, probe it.

    Parameters
    ----------
    path
        An ONNX file, or an `audit.toml`, whose settings and graph are then used.
    graph
        An `audit.toml` or npz file whose nodes' features the probes draw from.
    """
    settings = ModelSettings(path=path)
    pool = None
    if path.suffix == ".toml":
        whole = load_settings(path)
        settings, pool = whole.model, pool_of(read_graph(whole.graph))
    if graph is not None:
        pool = _pool(graph)
    model = OnnxModel(settings, complete=False)
    facts = {"name": str(settings.path), "sha256": model.digest()}
    try:
        model = OnnxModel(settings)
        probes = probe(model, settings, pool)
    except ModelError as error:
        return Inspection(**facts, signature=model.signature, probes=None, problem=str(error))
    return Inspection(**facts, signature=model.signature, probes=probes)


def _pool(path: Path) -> Pool:
    match path.suffix:
        case ".toml":
            return pool_of(read_graph(load_settings(path).graph))
        case ".npz":
            return pool_of(read_graph(GraphSettings(npz=path)))
        case _:
            raise InputError(
                f"{path}: --graph takes an npz file, or an audit.toml that says which columns of "
                "your tables are features; `recourse-audit init` writes one"
            )
