"""A group report has the same bytes however many threads the libraries may compute with."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
from recourse_audit.records.codec import GROUPS
from tests.groups.stores import drawn_people, report_on, settings
report = report_on(drawn_people(1, people=900, gap=0.2), settings("origin"))
assert report.tests
print(GROUPS.write(report))
"""


def report_with(threads: int) -> str:
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"OPENBLAS_NUM_THREADS": str(threads), "PYTHONHASHSEED": str(threads)},
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return finished.stdout


def test_one_thread_and_two_give_the_same_bytes() -> None:
    assert report_with(1) == report_with(2)
