"""The command line: parses, calls, prints. Data goes to stdout, everything else to stderr."""

import io
import json
import os
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from recourse_audit.documents import FORMAT, subject_document
from recourse_audit.errors import AuditError, FindingError, InputError, VerificationError
from recourse_audit.render.curves import stability_picture
from recourse_audit.render.documents import model_document, stability_document
from recourse_audit.render.pace import pace
from recourse_audit.render.pieces import number, plain
from recourse_audit.render.progress import progress
from recourse_audit.render.stability_view import show_stability
from recourse_audit.render.terminal import show_model, show_subject
from recourse_audit.run.audit import explain as explain_subjects
from recourse_audit.run.audit import find_subjects, load_audit
from recourse_audit.run.cluster import Cluster
from recourse_audit.run.demo import demo_subjects, prepare_demo
from recourse_audit.run.everyone import Request, Summary, run_audit
from recourse_audit.run.inspection import inspect_model
from recourse_audit.run.manifest import read_id_key
from recourse_audit.run.replay import replay as replay_subjects
from recourse_audit.run.selection import Selection
from recourse_audit.run.signing import read_public_key, read_signer
from recourse_audit.run.stability import by_links, by_models, some_subjects
from recourse_audit.run.starting import starting_settings
from recourse_audit.run.thresholds import exceeded, read_thresholds
from recourse_audit.run.verification import Verdict
from recourse_audit.run.verification import verify as verify_bundle
from recourse_audit.run.workers import Crew, Workers
from recourse_audit.settings import settings_schema

app = typer.Typer(
    name="recourse-audit",
    help="Audit a sealed ONNX graph neural network: what carried a decision, and what could "
    "change it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
messages = Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=True)
DEMO_SUBJECTS = 2
DEMO_AUDIT = 12
SECONDS_FOR_PIECE = 3600.0


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"recourse-audit {version('recourse-audit')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


AsJson = Annotated[bool, typer.Option("--json", help="Print data, not a view.")]


@app.command(short_help="Show a model's inputs, their roles, and what probes found.")
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
        _print_json(model_document(found.signature, found.probes, found.sha256, found.problem))
    else:
        show_model(_view(), found.name, found.signature, found.probes, found.sha256)
        for line in found.advice:
            messages.print(line)
    if found.problem:
        raise InputError(found.problem)


@app.command(short_help="Write a commented audit.toml from your files.")
def init(
    model: Annotated[Path | None, typer.Argument(help="The ONNX file to audit.")] = None,
    nodes: Annotated[Path | None, typer.Option(help="CSV or Parquet, a row a node.")] = None,
    edges: Annotated[Path | None, typer.Option(help="CSV or Parquet, a row a tie.")] = None,
    npz: Annotated[Path | None, typer.Option(help="An npz file with x and edge_index.")] = None,
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
        text = starting_settings(model, nodes=nodes, edges=edges, npz=npz, folder=out.parent)
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{out}: cannot be written ({error.strerror}); choose another --out"
        ) from None
    messages.print(f"Wrote {out}. Check the lines marked CHECK, then: recourse-audit inspect {out}")


@app.command(short_help="Explain decisions on people, and what could change them.")
def explain(
    settings: Annotated[Path, typer.Argument(help="The audit.toml.")],
    ids: Annotated[list[str], typer.Argument(help="Ids of decision subjects.")],
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="CHANGE",
            help="Try a change: 'drop A-B', 'add A-B:kind', 'savings=4000'. Several are tried "
            "together.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain decisions: what carried each, and what the person could change."""
    with progress(messages) as steps:
        steps.begin("Reading the graph and probing the model")
        audit = load_audit(settings)
        steps.begin("Explaining decisions", len(set(ids)))
        reports = explain_subjects(audit, ids, what_if=what_if or (), done=steps.advance)
    if as_json:
        documents = [subject_document(report, audit.probes) for report in reports]
        _print_json(documents[0] if len(documents) == 1 else documents)
        for warning in audit.warnings:
            messages.print(f"! {warning}")
    else:
        for place, report in enumerate(reports):
            show_subject(_view(), report, () if place else audit.warnings)
    failed = [report.decision.id for report in reports if report.error]
    if failed:
        messages.print(f"No result for {len(failed)} of {len(reports)}: {plain(', '.join(failed))}")
    stuck = [
        report.decision.id
        for report in reports
        if not report.error and report.recourse and report.recourse.status == "error"
    ]
    if stuck:
        names = plain(", ".join(stuck))
        messages.print(f"No options worked out for {len(stuck)} of {len(reports)}: {names}")
    if failed or stuck:
        raise typer.Exit(4)


@app.command(short_help="Audit everyone, into a bundle.")
def run(
    settings: Annotated[Path, typer.Argument(help="The audit.toml.")],
    out: Annotated[Path, typer.Option(help="The folder to write.")] = Path("audit-bundle"),
    subjects: Annotated[
        str,
        typer.Option(help="all, unfavourable, a file with an id a line, or ATTRIBUTE=VALUE."),
    ] = "unfavourable",
    sample: Annotated[int | None, typer.Option(min=1, help="Draw so many of them.")] = None,
    stratify: Annotated[
        str | None, typer.Option(help="Draw in proportion to the values of this attribute.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; one a core if not given.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Work on the Dask cluster of this scheduler."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for a piece of some subjects.")
    ] = SECONDS_FOR_PIECE,
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of search.seed.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over in the folder.")] = False,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT[=SHARE]",
            help="End with 3 if there are more errors, infeasible or not-found.",
        ),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(help="Sign with this Ed25519 private key (PEM).")
    ] = None,
    id_key: Annotated[
        Path | None, typer.Option(help="List ids in the manifest, hashed with this secret file.")
    ] = None,
) -> None:
    """Audit everyone, or some: explanations, options and caveats for all, into a bundle.

    Interrupted or killed, the same command continues where it stopped.
    """
    limits = read_thresholds(fail_on or ())
    request = Request(
        settings=settings,
        out=out,
        selection=Selection(subjects=subjects, sample=sample, stratify=stratify),
        seed=seed,
        fresh=fresh,
        id_key=None if id_key is None else read_id_key(id_key),
        signer=None if sign is None else read_signer(sign),
    )
    crew: Crew = Workers(workers or os.cpu_count() or 1, timeout=timeout, clock=time.monotonic)
    if scheduler is not None:
        crew = Cluster(scheduler, timeout=timeout)
    try:
        with pace(messages, time.monotonic) as watcher:
            summary = run_audit(request, crew, now=_now, watcher=watcher)
    except KeyboardInterrupt:
        messages.print(f"interrupted; the same command continues, from what is in {out}")
        raise typer.Exit(130) from None
    _tell_end(out, summary)
    findings = list(exceeded(summary.statuses, limits))
    if findings:
        raise FindingError(f"{out}: {'; '.join(findings)}")
    if summary.errors:
        raise typer.Exit(4)


def _tell_end(out: Path, summary: Summary) -> None:
    for warning in summary.warnings:
        messages.print(f"! {warning}")
    counts = [f"{count:,} {name}" for name, count in summary.statuses.items() if count]
    begin = f"{out}: was finished before, nothing is changed" if summary.finished_before else out
    messages.print(f"{begin}: {number(summary.subjects, 'subject')}: {', '.join(counts)}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@app.command(short_help="Check that a bundle is what it was.")
def verify(
    bundle: Annotated[Path, typer.Argument(help="The folder that `run` wrote.")],
    key: Annotated[
        Path | None, typer.Option(help="It must be signed with this Ed25519 key (public, PEM).")
    ] = None,
    replay: Annotated[
        int | None, typer.Option(min=1, help="Work out so many subjects again, and compare.")
    ] = None,
    settings: Annotated[Path | None, typer.Option(help="The audit.toml, for --replay.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw of --replay.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Check a bundle offline: files, counts, events, signature; a line a problem."""
    if replay is not None and settings is None:
        raise InputError("--replay needs --settings FILE: the audit.toml with its model and graph")
    verdict = verify_bundle(bundle, None if key is None else read_public_key(key))
    problems = list(verdict.problems)
    if replay is not None and settings is not None and not problems:
        with progress(messages) as steps:
            steps.begin("Working out subjects again")
            problems += replay_subjects(bundle, settings, replay, seed)
    if as_json:
        _print_json({"format": FORMAT, **asdict(verdict), "problems": problems})
    else:
        for line in problems or [_sound(bundle, verdict, replay)]:
            typer.echo(plain(line))
    if problems:
        raise typer.Exit(VerificationError.exit_code)


def _sound(bundle: Path, verdict: Verdict, replay: int | None) -> str:
    signed = f", signed by {verdict.signed_by[:16]}…" if verdict.signed_by else ", not signed"
    again = f"; {min(replay, verdict.subjects or 0)} found again" if replay else ""
    return f"{bundle}: unchanged, {number(verdict.subjects or 0, 'subject')}{signed}{again}"


@app.command(short_help="Measure how far explanations and options move under perturbation.")
def stability(
    settings: Annotated[Path, typer.Argument(help="The audit.toml.")],
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of decision subjects.")] = None,
    perturbed_model: Annotated[
        list[Path] | None,
        typer.Option(help="A perturbed copy of the model; may be given several times."),
    ] = None,
    links: Annotated[int, typer.Option(min=1, help="New ties tried for each subject.")] = 10,
    sample: Annotated[int, typer.Option(min=1, help="Subjects drawn if no id is given.")] = 20,
    options: Annotated[bool, typer.Option(help="Compare options for recourse too.")] = True,
    picture: Annotated[Path | None, typer.Option(help="Write the curves to this SVG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Perturb the graph by new ties, or the model by copies you supply, and compare findings."""
    with progress(messages) as steps:
        steps.begin("Reading the graph and probing the model")
        audit = load_audit(settings)
        subjects = find_subjects(audit, ids) if ids else some_subjects(audit, sample)
        if perturbed_model:
            steps.begin("Explaining with perturbed models", len(perturbed_model))
            report = by_models(
                audit, subjects, perturbed_model, with_options=options, done=steps.advance
            )
        else:
            steps.begin("Explaining with new ties", links * len(subjects))
            report = by_links(audit, subjects, links, with_options=options, done=steps.advance)
    if picture is not None:
        _write(picture, stability_picture(report))
    if as_json:
        _print_json(stability_document(report))
    else:
        show_stability(_view(), report)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where to put the sample.")] = Path(
        "recourse-audit-demo"
    ),
) -> None:
    """Try everything on a made-up lending network."""
    folder = prepare_demo(out)
    found = inspect_model(folder / "audit.toml", None)
    show_model(_view(), found.name, found.signature, found.probes, found.sha256)
    audit = load_audit(folder / "audit.toml")
    for report in explain_subjects(audit, demo_subjects(audit, DEMO_SUBJECTS)):
        show_subject(_view(), report, ())
    request = Request(
        settings=folder / "audit.toml",
        out=folder / "bundle",
        selection=Selection(sample=DEMO_AUDIT),
        fresh=True,
    )
    with pace(messages, time.monotonic) as watcher:
        crew = Workers(os.cpu_count() or 1, timeout=SECONDS_FOR_PIECE, clock=time.monotonic)
        _tell_end(request.out, run_audit(request, crew, now=_now, watcher=watcher))
    messages.print(
        f"The sample is in {folder}: nodes.csv, edges.csv, the models, audit.toml.\n"
        f"Next: recourse-audit explain {folder / 'audit.toml'} ID [--json]\n"
        f"      recourse-audit run {folder / 'audit.toml'} --out DIR\n"
        f"      recourse-audit verify {folder / 'bundle'}\n"
        f"      recourse-audit inspect {folder / 'gat.onnx'}",
    )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); choose another place"
        ) from None


def _view() -> Console:
    """A console for views; wide enough for tables where no terminal says how wide it is."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return Console(width=width, markup=False, highlight=False, emoji=False)


def _print_json(document: Any) -> None:
    readable = (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(document, indent=2, ensure_ascii=not readable))


def main() -> None:
    """Run a command; turn our errors into one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not know ✂ or ν
    try:
        app(prog_name="recourse-audit")
    except AuditError as error:
        messages.print(f"error: {error}")
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        messages.print("interrupted")
        raise SystemExit(130) from None
    except Exception as error:  # the last net: a traceback never reaches a user
        messages.print(
            f"internal error: {type(error).__name__}: {error}; please report it with the command "
            "and the versions in use",
        )
        raise SystemExit(1) from None
