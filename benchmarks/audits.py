"""Starts whole audits for the benchmarks, and makes pages and letters from them.

The only benchmark module that knows how an audit is started: the others name settings, a folder
and the number of workers.
"""

import time
from pathlib import Path

from recourse_audit.audit.selection import Selection
from recourse_audit.execute.pipeline import SILENCE, Request, Summary, Watcher, run_audit
from recourse_audit.execute.process_pool import Workers
from recourse_audit.render.batch import Work
from recourse_audit.render.letters.write_letters import Mailing, mail
from recourse_audit.render.pages.write_pages import Edition, publish

TIMEOUT = 3600.0


def audit(
    settings: Path, out: Path, *, sample: int, workers: int, progress: Watcher = SILENCE
) -> Summary:
    """Audit a random sample of those who were refused, and write a bundle into `out`."""
    request = Request(settings=settings, out=out, selection=Selection(sample=sample))
    pool = Workers(workers, timeout=TIMEOUT, clock=time.monotonic)
    return run_audit(request, pool, now=lambda: "", watcher=progress)


def write_pages(bundle: Path, *, workers: int) -> None:
    """Write the pages of a bundle."""
    publish(bundle, Edition(), Work(workers=workers))


def write_letters(bundle: Path, *, workers: int) -> None:
    """Write the letters of a bundle, as HTML and PDF."""
    mail(bundle, Mailing(), Work(workers=workers))
