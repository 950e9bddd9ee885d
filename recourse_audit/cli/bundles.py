"""`run` and `verify`: an audit of everyone, and whether it is still what it was."""

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from recourse_audit.cli.groups import GAP, check_gaps, flagged
from recourse_audit.cli.paper import publish_pages, write_letters
from recourse_audit.cli.printing import AsJson, messages, now, print_json
from recourse_audit.records.codec import FORMAT
from recourse_audit.errors import (
    AuditError,
    FindingError,
    InputError,
    PaperError,
    SettingsError,
    VerificationError,
)
from recourse_audit.groups.report import groups_of
from recourse_audit.render.letters.writer import LetterDesk
from recourse_audit.render.letters.write_letters import Mailing
from recourse_audit.render.terminal.pace import pace
from recourse_audit.render.templates import Pages
from recourse_audit.render.text import number, plain
from recourse_audit.render.terminal.progress import progress
from recourse_audit.render.pages.write_pages import Edition
from recourse_audit.execute.dask_pool import Cluster
from recourse_audit.execute.pipeline import Request, Summary, run_audit
from recourse_audit.bundle.manifest import read_id_key
from recourse_audit.execute.replay import replay as replay_subjects
from recourse_audit.audit.selection import Selection
from recourse_audit.bundle.signature import Signer, read_public_key, read_signer
from recourse_audit.cli.thresholds import exceeded, read_thresholds
from recourse_audit.bundle.verification import Verdict
from recourse_audit.bundle.verification import verify as verify_bundle
from recourse_audit.execute.process_pool import Crew, Workers
from recourse_audit.settings import load_settings

SECONDS_FOR_PIECE = 3600.0


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
            help="End with 3 if there are more errors, infeasible or not-found; or a gap.",
        ),
    ] = None,
    pages: Annotated[
        bool, typer.Option(help="Make pages and draft letters at the end, if not there already.")
    ] = True,
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
    limits = read_thresholds([text for text in fail_on or () if text != GAP])
    request = Request(
        settings=settings,
        out=out,
        selection=Selection(subjects=subjects, sample=sample, stratify=stratify),
        seed=seed,
        fresh=fresh,
        id_key=None if id_key is None else read_id_key(id_key),
        signer=None if sign is None else read_signer(sign),
    )
    _check(settings, pages=pages, gap=GAP in (fail_on or ()))
    crew: Crew = Workers(workers or os.cpu_count() or 1, timeout=timeout, clock=time.monotonic)
    if scheduler is not None:
        crew = Cluster(scheduler, timeout=timeout)
    try:
        with pace(messages, time.monotonic) as watcher:
            summary = run_audit(request, crew, now=now, watcher=watcher)
    except KeyboardInterrupt:
        messages.print(f"interrupted; the same command continues, from what is in {out}")
        raise typer.Exit(130) from None
    tell_end(out, summary)
    trouble = make_pages(out, settings, workers, request.signer) if pages else ""
    findings = list(exceeded(summary.statuses, limits))
    compared = groups_of(out) if GAP in (fail_on or ()) else None
    if compared is not None and (gaps := flagged(compared)):
        findings.append(gaps)
    if findings:
        raise FindingError(f"{out}: {'; '.join(findings)}")
    if compared is not None:
        check_gaps(out, compared)
    if trouble:
        raise PaperError(trouble)
    if summary.errors:
        raise typer.Exit(4)


def _check(settings: Path, *, pages: bool, gap: bool) -> None:
    """Refuse before the work what would be refused after it."""
    asked = load_settings(settings)
    if gap and not asked.groups.attributes:
        raise SettingsError(
            f"{settings}: groups.attributes: names no protected attribute, so --fail-on {GAP} has "
            "nothing to look at; name some, or leave it out"
        )
    if pages:
        try:
            LetterDesk(asked, Pages())
        except AuditError as error:
            raise SettingsError(
                f"{settings}: {error}; with --no-pages, letters are left for later"
            ) from None


def make_pages(out: Path, settings: Path, workers: int | None, signer: Signer | None) -> str:
    """Make draft letters and pages of an audit that has just ended; why there is no PDF, or ""."""
    write_letters(out, Mailing(settings=settings), workers, signer, again=False)
    return publish_pages(out, Edition(), workers, signer, again=False).trouble


def tell_end(out: Path, summary: Summary) -> None:
    """Say what came of an audit."""
    for warning in summary.warnings:
        messages.print(f"! {warning}")
    counts = [f"{count:,} {name}" for name, count in summary.statuses.items() if count]
    begin = f"{out}: was finished before, nothing is changed" if summary.finished_before else out
    messages.print(f"{begin}: {number(summary.subjects, 'subject')}: {', '.join(counts)}")


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
        print_json({"format": FORMAT, **asdict(verdict), "problems": problems})
    else:
        for line in problems or [_sound(bundle, verdict, replay)]:
            typer.echo(plain(line))
    if problems:
        raise typer.Exit(VerificationError.exit_code)


def _sound(bundle: Path, verdict: Verdict, replay: int | None) -> str:
    signed = f", signed by {verdict.signed_by[:16]}…" if verdict.signed_by else ", not signed"
    again = f"; {min(replay, verdict.subjects or 0)} found again" if replay else ""
    return f"{bundle}: unchanged, {number(verdict.subjects or 0, 'subject')}{signed}{again}"
