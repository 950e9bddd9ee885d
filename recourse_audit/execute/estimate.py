"""What an audit of everybody will take: some of its own chunks are worked on, and timed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recourse_audit.audit.load import LoadedAudit, Selection, select_subjects
from recourse_audit.audit.report import Reporter, ask_twice
from recourse_audit.execute.worker import chunks_of

SALT = 31
# How long to measure, in seconds; what has begun is finished.
PATIENCE = 20.0
# Further chunks may differ from those measured by this share, at least.
LEAST_DOUBT = 0.25
# What a further worker adds, compared with the first: workers share memory and caches.
SHARE_OF_WORKER = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """How long each person takes one worker, in seconds: at best and at worst.

    `begin` is how long everybody takes together before anybody is audited.
    """

    people: int
    measured: int
    begin: float
    low: float
    high: float

    def total(self, workers: int, further: float) -> tuple[float, float]:
        """Seconds for everybody with so many workers; `further` are per person, for pages."""
        alike = (self.low + further) * self.people / workers
        shared = (self.high + further) * self.people / (1 + SHARE_OF_WORKER * (workers - 1))
        return self.begin + alike, self.begin + shared


def measure_cost(audit: LoadedAudit, clock: Callable[[], float]) -> Cost:
    """Audit people as `run` does, in drawn chunks, until it is known how long they take.

    The first person warms up the runtime, and counts only if there is time for nobody else.
    """
    start = clock()
    audit.model.reseed(audit.scope.seed)
    audit, answers = ask_twice(audit, np.arange(audit.graph.person_count))
    subjects = select_subjects(audit, answers, Selection())
    reporter, begin = Reporter(audit, answers), clock() - start
    parts = list(chunks_of(audit, subjects))
    order = np.random.default_rng((audit.scope.seed, SALT)).permutation(len(parts))
    paces: list[tuple[float, int]] = []
    start = clock()
    for place in [*order[:1], *order]:
        part, pace = parts[place], paces[-1][0] if paces else PATIENCE
        affordable = max(1, int(PATIENCE / 4 / max(pace, 1e-9)))
        part = part.only(part.subjects[:affordable])
        begun = clock()
        count = sum(1 for _ in reporter.on_block(part.block))
        paces.append(((clock() - begun) / count, count))
        if clock() - start > PATIENCE:
            break
    times, counts = np.array(paces[1:] or paces).T
    mean = float(np.average(times, weights=counts))
    doubt = max(2 * float(times.std()) / max(len(times) - 1, 1) ** 0.5, LEAST_DOUBT * mean)
    measured = int(counts.sum())
    low, high = max(mean - doubt, 0.5 * mean), mean + doubt * (1 if len(times) > 1 else 4)
    return Cost(people=len(subjects), measured=measured, begin=begin, low=low, high=high)
