"""`doctor`: whether this machine and these settings are ready, and what an audit will cost."""

import os
import resource
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from recourse_audit.cli.letters import STAY_DRAFTS
from recourse_audit.cli.printing import ModelTimeout, Workers, doing, view
from recourse_audit.cli.run import check_settings
from recourse_audit.errors import AuditError

if TYPE_CHECKING:
    from recourse_audit.api import Audit

State = Literal["OK", "note", "FAILS"]
Check = tuple[State, str]
STYLES = {"OK": "green", "note": "yellow", "FAILS": "bold red"}
LITTLE_MEMORY = 1.0  # in GB
GIGABYTE = 2**30


def doctor(
    settings: Annotated[
        Path | None, Argument(help="An audit.toml; without one, only the machine is checked.")
    ] = None,
    workers: Workers = None,
    cost: Annotated[bool, Option(help="Measure on a few people what an audit will cost.")] = True,
    timeout: ModelTimeout = None,
) -> None:
    """Check this machine and an audit.toml, and what an audit of everyone will cost."""
    from rich.table import Table
    from rich.text import Text

    console, fails = view(), 0
    for state, text in _checks(settings, workers, cost=cost, timeout=timeout):
        row = Table.grid(padding=(0, 2, 0, 0))
        row.add_column(width=5)
        row.add_column(overflow="fold")
        row.add_row(Text(state, style=STYLES[state]), Text(text))
        console.print(row)
        fails += state == "FAILS"
    if fails:
        raise typer.Exit(2)


def _ok(text: str) -> Check:
    return "OK", text


def _note(text: str) -> Check:
    return "note", text


def _checks(
    settings: Path | None, workers: int | None, *, cost: bool, timeout: float | None
) -> Iterator[Check]:
    yield from _check_machine()
    if settings is None:
        yield _note("no settings were checked: recourse-audit doctor audit.toml")
        return
    from recourse_audit.api import Audit
    from recourse_audit.render.letters import LetterWriter
    from recourse_audit.render.templates import Templates

    try:
        given = check_settings(settings, pages=True, gap=False)
        slots = LetterWriter(given, Templates()).open_slots
        letters = "" if slots else ", and letters can be written"
        yield _ok(f"{settings}: every key is known{letters}")
        marks = settings.read_text(encoding="utf-8").count("CHECK")
        if marks:
            yield _note(f"{settings}: {marks} places are still marked CHECK; look at each")
        if not given.groups.attributes:
            yield _note("groups.attributes is empty, so no groups are compared; name columns")
        if slots:
            yield _note(f"{STAY_DRAFTS}: {', '.join(slots)}")
        audit = Audit.from_toml(settings, timeout=timeout, progress=True)
        yield from _check_audit(audit, settings)
        if cost:
            yield from _measure(audit, workers)
    except AuditError as error:
        yield "FAILS", str(error)


def _check_machine() -> Iterator[Check]:
    from recourse_audit.bundle.manifest import versions
    from recourse_audit.model.limits import MemoryLimit
    from recourse_audit.render.libraries import find_missing
    from recourse_audit.render.pdf import NO_PANGO

    try:
        own = versions()
        named = ", ".join(f"{n} {own[n]}" for n in ("recourse-audit", "onnxruntime", "python"))
        yield _ok(f"versions: {named}")
    except PackageNotFoundError as error:
        yield "FAILS", f"the package {error.name} is missing; install recourse-audit again"
    missing = {*find_missing()}
    if missing & {"pango", "font"}:
        what = NO_PANGO if "pango" in missing else "no PDF can be made: install a font"
        yield _note(f"{what} (everything else works)")
    elif missing:
        yield _note("PDFs are made slowly; install libharfbuzz-subset0, or harfbuzz elsewhere")
    else:
        yield _ok("PDFs: Pango, HarfBuzz's subsetter and fonts")
    free = MemoryLimit().free
    gigabytes = None if free is None else free / GIGABYTE
    short = gigabytes is not None and gigabytes < LITTLE_MEMORY
    memory = "" if gigabytes is None else f", {gigabytes:.1f} GB of memory for the model"
    more = "; end other programs, or audit elsewhere" if short else ""
    yield "note" if short else "OK", f"{_cores()} cores{memory}{more}"
    try:
        yield _ok(f"Dask {version('distributed')}, for --scheduler")
    except PackageNotFoundError:
        yield _ok("no Dask, which only --scheduler needs: pip install 'recourse-audit[cluster]'")


def _check_audit(audit: "Audit", origin: Path) -> Iterator[Check]:
    from recourse_audit.audit.load import find_unknown_words
    from recourse_audit.audit.population import check_groups
    from recourse_audit.render.i18n import agreement_sentences
    from recourse_audit.render.text import number, plain

    with doing("Asking the model about everybody"):
        inspection = audit.inspect()
    graph, settings, signature = audit.loaded.graph, audit.loaded.settings, inspection.signature
    yield _ok(f"{graph.person_count:,} people and {number(len(graph.ties), 'tie')} fit the model")
    yield from map(_note, audit.warnings)
    if signature.fixed_nodes is not None or signature.fixed_arcs is not None:
        yield _note(
            "the model was exported for one size, so an audit takes several times as long; "
            "`inspect` says how to export it again"
        )
    rule, agreement = inspection.decision, inspection.agreement
    if rule is not None:
        yield (
            "OK" if rule.refused and rule.favourable else "note",
            f"the model decides favourably on {rule.favourable:,} and refuses {rule.refused:,}",
        )
    for name in inspection.refused[:1]:
        yield _ok(
            f"to look at one person refused: recourse-audit explain {origin} {quote(plain(name))}"
        )
    if agreement is not None:
        if inspection.disagreement:
            yield "FAILS", f"`run` would stop: {inspection.disagreement}"
        else:
            yield _ok(agreement_sentences(agreement)[0])
    check_groups(graph, settings.groups)
    yield from map(_note, find_unknown_words(audit.loaded))
    suggested = [kind for kind, is_open in inspection.undecided.items() if is_open]
    if suggested:
        yield _note(
            f"no rule of recourse.ties names {', '.join(map(repr, suggested))}, so ending such "
            "ties may be advised; give each a rule, or list it in recourse.never"
        )


def _measure(audit: "Audit", workers: int | None) -> Iterator[Check]:
    from recourse_audit.execute.pipeline import measure_cost
    from recourse_audit.render.progress import SECONDS_ON_PAPER, duration
    from recourse_audit.render.text import number

    with doing("Auditing a few people"):
        cost = measure_cost(audit.loaded, time.monotonic)
    count = workers or os.cpu_count() or 1
    low, high = cost.total(min(count, _cores()), SECONDS_ON_PAPER)
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    yield _ok(
        f"an audit of {cost.people:,} people takes {duration(low)} to {duration(high)} with "
        f"{number(count, 'worker')} and at most {memory:,.0f} MB for each, "
        f"besides comparing groups; {cost.measured} people were measured, at {cost.low:.2g} to "
        f"{cost.high:.2g} seconds each. --sample N audits fewer"
    )


def _cores() -> int:
    """The cores that this process may use."""
    able = getattr(os, "sched_getaffinity", None)
    return len(able(0)) if able is not None else os.cpu_count() or 1
