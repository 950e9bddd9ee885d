"""`inspect`: what can be said of a model from outside, before an audit."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from recourse_audit.cli.printing import AsJson, Full, ModelTimeout, doing, print_json, say, view
from recourse_audit.errors import InputError


def inspect(
    model: Annotated[Path, Argument(help="An ONNX file, or an audit.toml that names one.")],
    graph: Annotated[
        Path | None, Option(help="An npz file or audit.toml: probe with the features of its nodes.")
    ] = None,
    timeout: ModelTimeout = None,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    """Show a model's inputs, their roles, and what probes found."""
    from recourse_audit.audit.inspect import inspect_model
    from recourse_audit.render.terminal import show_model

    with doing("Probing the model"):
        inspection = inspect_model(model, graph, timeout=timeout)
    if as_json:
        print_json(inspection.to_dict())
    else:
        show_model(view(), inspection.name, inspection.report, full=full)
        for line in inspection.advice:
            say(line)
    if inspection.problem:
        raise InputError(inspection.problem)
