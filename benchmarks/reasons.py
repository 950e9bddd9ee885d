"""What ladders, responsiveness and candidates for reasons cost, in processor time per subject.

    python -m benchmarks.reasons [--subjects N --turns T]

The same refused people of three samples take turns with and without them in one process; the
fastest turn of each counts.
"""

import argparse
from unittest.mock import patch

import numpy as np

from benchmarks.repeats import seconds
from benchmarks.search_speed import SAMPLE, report
from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit, load_audit
from recourse_audit.audit.own_data import OwnDataReports

SAMPLES = ("lending", "lending_deployed", "hiring")


def seconds_without(audit: LoadedAudit, subjects: list[int]) -> float:
    """The processor time of reports that say nothing of columns, kinds and single changes."""
    with (
        patch.object(OwnDataReports, "with_ladder", lambda self, own_data, asked: own_data),
        patch("recourse_audit.recourse.search.measure_responsiveness", lambda *_: ()),
    ):
        return seconds(audit, subjects)[0]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=64)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args(argv)
    for name in SAMPLES:
        audit = load_audit(SAMPLE.parent / name / "audit.toml")
        people = np.arange(audit.graph.person_count)
        answers = whole_answers(audit, people)
        favourable = audit.rule.over(answers).favourable(answers[people], people)
        refused = np.flatnonzero(~favourable)[: given.subjects].tolist()
        turns = [
            (seconds(audit, refused)[0], seconds_without(audit, refused))
            for _ in range(given.turns)
        ]
        spent, without = (min(turn[side] for turn in turns) for side in (0, 1))
        report(f"reasons_cost_{name}", spent / without)


if __name__ == "__main__":
    main()
