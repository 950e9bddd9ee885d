"""`init`: a first audit.toml, written from the user's files."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from recourse_audit.cli.printing import doing, say, write
from recourse_audit.errors import InputError


def init(
    model: Annotated[Path, Argument(help="The ONNX file to audit.")],
    nodes: Annotated[
        list[str] | None,
        Option(help="CSV or Parquet, one row per node; KIND=FILE for each of several kinds."),
    ] = None,
    edges: Annotated[
        list[str] | None,
        Option(help="CSV or Parquet, one row per tie; RELATION=FILE for each, if several."),
    ] = None,
    npz: Annotated[Path | None, Option(help="An npz file with x and edge_index.")] = None,
    graphml: Annotated[Path | None, Option(help="A GraphML file, for a small graph.")] = None,
    cut_off: Annotated[
        float | None, Option(help="Favourable from this probability, or this score, on.")
    ] = None,
    preprocessing: Annotated[
        Path | None, Option(help="An ONNX file that makes the model's features from raw columns.")
    ] = None,
    recorded: Annotated[
        str | None, Option(help="The column of nodes with the decisions that were actually taken.")
    ] = None,
    outcome: Annotated[
        str | None, Option(help="The column of nodes with what happened later.")
    ] = None,
    out: Annotated[Path, Option(help="The file to write.")] = Path("audit.toml"),
    force: Annotated[bool, Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a commented audit.toml from a model and a graph."""
    from recourse_audit.audit.init import name_files, starting_settings
    from recourse_audit.settings.section import exists, is_folder

    if is_folder(out):
        raise InputError(f"{out}: is a folder; name the file to write: --out {out / 'audit.toml'}")
    if exists(out) and not force:
        raise InputError(f"{out}: already exists; choose another --out, or replace it with --force")
    with doing("Reading the files and probing the model"):
        start = starting_settings(
            model,
            {**name_files(nodes or (), edges or ()), "npz": npz, "graphml": graphml},
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
