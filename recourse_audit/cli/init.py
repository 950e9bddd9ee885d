"""`init`: a first audit.toml, written from the user's files."""

from pathlib import Path
from typing import Annotated

import typer

from recourse_audit.cli.printing import say, write
from recourse_audit.errors import InputError


def init(
    model: Annotated[Path, typer.Argument(help="The ONNX file to audit.")],
    nodes: Annotated[Path | None, typer.Option(help="CSV or Parquet, one row per node.")] = None,
    edges: Annotated[Path | None, typer.Option(help="CSV or Parquet, one row per tie.")] = None,
    npz: Annotated[Path | None, typer.Option(help="An npz file with x and edge_index.")] = None,
    graphml: Annotated[Path | None, typer.Option(help="A GraphML file, for a small graph.")] = None,
    cut_off: Annotated[
        float | None,
        typer.Option(help="Favourable from this probability, or this score, on."),
    ] = None,
    preprocessing: Annotated[
        Path | None,
        typer.Option(help="An ONNX file that makes the model's features from raw columns."),
    ] = None,
    recorded: Annotated[
        str | None, typer.Option(help="The column of nodes with the decisions really taken.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(help="The column of nodes with what came true later.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("audit.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a commented audit.toml from a model and the files of a graph."""
    from recourse_audit.audit.init import starting_settings
    from recourse_audit.render.terminal.progress import steps_on_stderr
    from recourse_audit.settings.section import exists, is_folder

    if is_folder(out):
        raise InputError(f"{out}: is a folder; name the file to write: --out {out / 'audit.toml'}")
    if exists(out) and not force:
        raise InputError(f"{out}: already exists; choose another --out, or replace it with --force")
    with steps_on_stderr(shown=True) as steps:
        steps.begin("Reading the files and probing the model")
        start = starting_settings(
            model,
            {"nodes": nodes, "edges": edges, "npz": npz, "graphml": graphml},
            folder=out.parent,
            cut_off=cut_off,
            preprocessing=preprocessing,
            recorded=recorded,
            outcome=outcome,
        )
    write(out, start.text)
    for guess in start.guesses:
        say(guess)
    if start.problem:
        raise InputError(f"wrote {out}, but nobody can be audited with it yet: {start.problem}")
    say(f"Wrote {out}. Check the lines marked CHECK, then run: recourse-audit inspect {out}")
