"""What it costs to ask a share of queries twice: processor time with it, divided by that without.

    python -m benchmarks.repeats [--subjects N --share S --turns T]

The same subjects of the lending sample, with its own settings, take turns with and without repeats
in one process; the fastest turn of each counts.
"""

import argparse
import time

import numpy as np

from benchmarks.search_speed import SAMPLE, report
from recourse_audit.audit.large_graphs import whole_answers
from recourse_audit.audit.load import LoadedAudit, open_audit
from recourse_audit.audit.report import reports_on
from recourse_audit.settings import load_settings


def opened(share: float) -> LoadedAudit:
    """The lending sample's audit with this share of repeats."""
    settings = load_settings(SAMPLE / "audit.toml")
    model = settings.model.model_copy(update={"repeat": share})
    return open_audit(settings.model_copy(update={"model": model}))


def seconds(audit: LoadedAudit, subjects: list[int]) -> tuple[float, int, int]:
    """The processor time of reports on the subjects, their queries, and the repeated calls."""
    start = time.process_time()
    reports = [one for _, one in reports_on(audit, subjects)]
    spent = time.process_time() - start
    return spent, sum(one.queries for one in reports), sum(one.repeats.calls for one in reports)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=64)
    parser.add_argument("--share", type=float, default=0.02)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args(argv)
    without, repeated = opened(0.0), opened(given.share)
    everybody = np.arange(without.graph.node_count)
    answers = whole_answers(without, everybody)
    favourable = without.rule.over(answers).favourable(answers, everybody)
    refused = np.flatnonzero(~favourable)[: given.subjects].tolist()
    turns = [(seconds(without, refused), seconds(repeated, refused)) for _ in range(given.turns)]
    once, twice = (min(turn[side][0] for turn in turns) for side in (0, 1))
    report("repeat_cost_lending", twice / once)
    report("repeat_queries_lending", turns[0][1][1] / turns[0][0][1])
    print(f"# {len(refused)} subjects, {turns[0][1][2]} calls repeated, {once:.1f} s without")


if __name__ == "__main__":
    main()
