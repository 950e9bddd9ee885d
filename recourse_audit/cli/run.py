"""`run`: an audit of everyone, into a bundle."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from recourse_audit.cli.groups import GAP, check_sarif, find_problem, flags_sentence
from recourse_audit.cli.printing import (
    AsJson,
    Sarif,
    SettingsArgument,
    Sign,
    Workers,
    check_seconds,
    english,
    print_json,
    resumable,
    say,
    warn,
    write,
)
from recourse_audit.errors import AuditError, FindingError, InputError, PaperError, SettingsError

if TYPE_CHECKING:
    from recourse_audit.api import Bundle
    from recourse_audit.records.bundle import CodeFinding
    from recourse_audit.records.recourse import RecourseStatus
    from recourse_audit.settings import Settings

STATUS: "dict[str, RecourseStatus]" = {
    "errors": "error",
    "infeasible": "certified_infeasible",
    "not-found": "not_found_within_budget",
}


def run(
    settings: SettingsArgument,
    out: Annotated[Path, Option(help="The folder to write.")] = Path("audit-bundle"),
    subjects: Annotated[
        str,
        Option(
            help="Whom to audit: all, unfavourable, a file with one id per line, or "
            "ATTRIBUTE=VALUE."
        ),
    ] = "unfavourable",
    sample: Annotated[
        int | None, Option(min=1, help="Audit a random sample of N subjects.")
    ] = None,
    stratify: Annotated[
        str | None, Option(help="Sample in proportion to the values of this attribute.")
    ] = None,
    workers: Workers = None,
    scheduler: Annotated[
        str | None, Option(metavar="ADDRESS", help="Work on the Dask cluster of this scheduler.")
    ] = None,
    timeout: Annotated[
        float,
        Option(
            callback=check_seconds,
            help="Timeout per chunk, and per model query if less than model.timeout, in seconds.",
        ),
    ] = 3600.0,
    seed: Annotated[int | None, Option(min=0, max=2**63 - 1, help="Replaces search.seed.")] = None,
    fresh: Annotated[bool, Option("--fresh", help="Start over in the folder.")] = False,
    despite_disagreement: Annotated[
        bool,
        Option(
            "--despite-disagreement",
            help="Continue even if recorded decisions and the model's differ on more people than "
            "decision.most_disagreement allows.",
        ),
    ] = False,
    fail_on: Annotated[
        list[str] | None,
        Option(
            metavar="WHAT[=SHARE]",
            help="Exit with code 3 on findings: errors, infeasible or not-found (more than this "
            "share of subjects), or gap.",
        ),
    ] = None,
    sarif: Sarif = None,
    as_json: AsJson = False,
    pages: Annotated[
        bool, Option(help="Make pages and draft letters at the end, if there are none yet.")
    ] = True,
    sign: Sign = None,
    id_key: Annotated[
        Path | None, Option(help="List ids in the manifest, hashed with this secret file.")
    ] = None,
) -> None:
    """Audit everyone who was refused, or others, into a bundle.

    Rerun the same command to resume after an interruption.
    """
    from recourse_audit.api import Audit
    from recourse_audit.records.bundle import RunResult
    from recourse_audit.render.sarif import find_gaps, sarif_log

    check_sarif(sarif, fail_on)
    limits = _read_thresholds([text for text in fail_on or () if text != GAP])
    gap = GAP in (fail_on or ())
    asked = check_settings(settings, pages=pages, gap=gap)
    audit = Audit.from_toml(
        settings, seed=seed, timeout=min(timeout, asked.model.timeout), progress=True
    )
    with resumable(out):
        bundle = audit.run(
            out,
            subjects=subjects,
            sample=sample,
            stratify=stratify,
            workers=workers,
            scheduler=scheduler,
            timeout=timeout,
            fresh=fresh,
            despite_disagreement=despite_disagreement,
            sign=sign,
            id_key=id_key,
            progress=True,
            pages_follow=pages,
        )
    say_results(bundle)
    trouble = make_pages(bundle, settings, workers, sign) if pages else ""
    statuses = bundle.statuses
    exceeded = [*_find_exceeded(statuses, limits)]
    groups = bundle.groups() if gap else None
    problem = "" if groups is None else find_problem(out, groups)
    words = english(bundle.settings)
    findings = exceeded if groups is None else [*exceeded, *find_gaps(groups, words)]
    if sarif is not None:
        write(sarif, sarif_log(findings, settings, problem))
    if as_json:
        result = RunResult(
            bundle=str(out),
            finished_before=bundle.was_finished,
            subjects=sum(statuses.values()),
            statuses=statuses,
            repeats=bundle.repeats,
            findings=tuple(findings),
            warnings=bundle.warnings,
            problem=problem or trouble,
        )
        print_json(result.to_dict())
    if findings:
        gaps = [flags_sentence(groups, words)] if groups is not None and groups.flags else []
        raise FindingError(f"{out}: {'; '.join([*(each.text for each in exceeded), *gaps])}")
    if problem:
        raise InputError(problem)
    if trouble:
        raise PaperError(trouble)
    if statuses["error"]:
        raise typer.Exit(4)


def _read_thresholds(texts: Sequence[str]) -> dict[str, float]:
    """Shares by status: `errors` alone is any at all, `infeasible=0.2` more than that share."""
    limits = {}
    for text in texts:
        name, given, share = text.partition("=")
        try:
            limit = float(share) if given else 0.0
        except ValueError:
            limit = -1.0
        if name not in STATUS or not 0 <= limit <= 1:
            raise InputError(
                f"--fail-on {text}: must be {', '.join(STATUS)}, alone or with a share from 0 to "
                "1, as in infeasible=0.2; or gap, which takes no share"
            )
        limits[name] = limit
    return limits


def _find_exceeded(
    statuses: "dict[RecourseStatus, int]", limits: dict[str, float]
) -> "Iterator[CodeFinding]":
    """Thresholds that are exceeded, as a share of those who need options."""
    from recourse_audit.records.bundle import CodeFinding
    from recourse_audit.render.i18n import status_name

    needy = sum(statuses.values()) - statuses["already_favourable"]
    for name, limit in limits.items():
        count = statuses[STATUS[name]]
        if count > limit * needy:
            words, above = status_name(STATUS[name]), f"more than a share of {limit:g}"
            text = f"{name} ({words}): {count:,} of {needy:,} subjects, {above}"
            yield CodeFinding(rule=f"status/{name}", title=words, about=name, text=text)


def check_settings(settings: Path, *, pages: bool, gap: bool) -> "Settings":
    """The settings; what would be refused after the work is refused before it."""
    from recourse_audit.settings import load_settings

    asked = load_settings(settings)
    if gap and not asked.groups.attributes:
        raise SettingsError(
            f"{settings}: groups.attributes: names no protected attribute, so --fail-on {GAP} has "
            "nothing to test; name some, or leave --fail-on out"
        )
    if pages:
        from recourse_audit.render.letters import LetterWriter
        from recourse_audit.render.templates import Templates

        try:
            LetterWriter(asked, Templates())
        except AuditError as error:
            raise SettingsError(
                f"{settings}: {error}; or write letters later, with --no-pages now"
            ) from None
    return asked


def make_pages(bundle: "Bundle", settings: Path, workers: int | None, sign: Path | None) -> str:
    """Make draft letters and pages of an audit that has just ended; why there is no PDF, or ""."""
    from recourse_audit.cli.letters import say_letters
    from recourse_audit.cli.report import say_pages

    with resumable(bundle.folder):
        letters = bundle.write_letters(
            settings=settings, workers=workers, sign=sign, again=False, progress=True
        )
        say_letters(bundle.folder, letters)
        pages = bundle.write_pages(workers=workers, sign=sign, again=False, progress=True)
    say_pages(bundle.folder, pages)
    return pages.trouble


def say_results(bundle: "Bundle") -> None:
    """Print how many subjects have which status, after what must be known before that."""
    from recourse_audit.render.i18n import agreement_sentences, status_name
    from recourse_audit.render.text import number

    agreement, repeats, statuses = bundle.agreement, bundle.repeats, bundle.statuses
    if agreement is not None:
        say(" ".join(agreement_sentences(agreement)))
    warn(bundle.warnings)
    begin = str(bundle.folder)
    if bundle.was_finished:
        begin = f"{begin}: was finished before, nothing was changed"
    repeated = f"; {number(repeats.calls, 'call')} of the model repeated, " if repeats.calls else ""
    if repeats.differed:
        repeated += (
            f"{repeats.differed:,} with a different answer (by up to {repeats.largest:.2g} in a "
            "probability or score)"
        )
    elif repeats.calls:
        repeated += "all with the same answer"
    say(f"{begin}: {number(sum(statuses.values()), 'subject')}{repeated}")
    counts = {name: f"{count:,}" for name, count in statuses.items() if count}
    wide = max(map(len, counts.values()), default=0)
    for name, count in counts.items():
        say(f"  {count:>{wide}}  {status_name(name)}")
