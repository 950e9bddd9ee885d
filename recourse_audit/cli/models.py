"""`inspect` and `init`: a model and its files, before an audit."""

from pathlib import Path
from typing import Annotated

import typer

from recourse_audit.cli.printing import AsJson, messages, print_json, view
from recourse_audit.errors import InputError
from recourse_audit.render.documents import model_document
from recourse_audit.render.terminal.progress import progress
from recourse_audit.render.terminal.subject import show_model
from recourse_audit.audit.inspection import inspect_model
from recourse_audit.audit.init_settings import starting_settings
from recourse_audit.settings import settings_schema


def inspect(
    model: Annotated[Path, typer.Argument(help="An ONNX file, or an audit.toml that names one.")],
    graph: Annotated[
        Path | None,
        typer.Option(help="An npz file or audit.toml: probe with the features of its nodes."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a model's inputs, the roles guessed for them, and what the probes found."""
    with progress(messages) as steps:
        steps.begin("Probing the model")
        found = inspect_model(model, graph)
    if as_json:
        print_json(model_document(found.signature, found.probes, found.sha256, found.problem))
    else:
        show_model(view(), found.name, found.signature, found.probes, found.sha256)
        for line in found.advice:
            messages.print(line)
    if found.problem:
        raise InputError(found.problem)


def init(
    model: Annotated[Path | None, typer.Argument(help="The ONNX file to audit.")] = None,
    nodes: Annotated[Path | None, typer.Option(help="CSV or Parquet, a row a node.")] = None,
    edges: Annotated[Path | None, typer.Option(help="CSV or Parquet, a row a tie.")] = None,
    npz: Annotated[Path | None, typer.Option(help="An npz file with x and edge_index.")] = None,
    graphml: Annotated[Path | None, typer.Option(help="A GraphML file, for a small graph.")] = None,
    out: Annotated[Path, typer.Option(help="Where to write.")] = Path("audit.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of audit.toml instead.")
    ] = False,
) -> None:
    """Write a commented audit.toml from a model and the files of a graph."""
    if schema:
        typer.echo(settings_schema())
        return
    if model is None:
        raise InputError(
            "init needs the model file: recourse-audit init model.onnx --nodes FILE --edges FILE"
        )
    if out.is_dir():
        raise InputError(f"{out}: is a folder; name the file to write: --out {out / 'audit.toml'}")
    if out.exists() and not force:
        raise InputError(f"{out}: is there already; choose another --out, or replace it: --force")
    with progress(messages) as steps:
        steps.begin("Reading the files and probing the model")
        text = starting_settings(
            model, nodes=nodes, edges=edges, npz=npz, graphml=graphml, folder=out.parent
        )
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{out}: cannot be written ({error.strerror}); choose another --out"
        ) from None
    messages.print(f"Wrote {out}. Check the lines marked CHECK, then: recourse-audit inspect {out}")
