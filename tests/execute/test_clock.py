"""A clock that runs backwards, within a command or between two, harms neither log nor evidence."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from recourse_audit.bundle.reader import open_stored_audit
from recourse_audit.bundle.verification import verify_bundle
from recourse_audit.execute.pipeline import run_audit
from recourse_audit.execute.worker import InProcess
from tests.audits import quick_audit
from tests.bundles import LOG, Remembered, contents, request, run_here
from tests.fuzz.worlds import Interrupted

SAMPLE = 4


def backwards(day: int) -> Callable[[], str]:
    """Each time it is asked, a day earlier than the time before."""
    days = count(day, -1)
    return lambda: f"2026-11-{next(days):02}T12:00:00.000+00:00"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("audit")
    quick_audit(place)
    run_here(request(place, place / "bundle", sample=SAMPLE))
    return place


def test_an_audit_resumed_on_an_earlier_day_ends_with_the_same_bytes(
    folder: Path, tmp_path: Path
) -> None:
    asked = request(folder, tmp_path / "bundle", sample=SAMPLE)
    with pytest.raises(KeyboardInterrupt):
        run_audit(asked, Interrupted(), now=backwards(30), progress=Remembered())
    run_audit(asked, InProcess(), now=backwards(20), progress=Remembered())
    assert contents(asked.out) == contents(folder / "bundle")
    assert verify_bundle(asked.out).problems == ()
    times = (asked.out / LOG).read_text(encoding="utf-8")
    assert times.index("2026-11-30") < times.index("2026-11-20") < times.index("2026-11-16")
    with open_stored_audit(asked.out) as stored:
        assert stored.days == ("2026-11-16", "2026-11-30"), "the first day is the earliest"
