"""The whole graph's side of what a decision rests on, as a page shows it.

Where counterfactuals do something else there, and the ties that carry the decision there.
"""

from dataclasses import dataclass

from recourse_audit.records.report import SubjectReport
from recourse_audit.render.answers import watched
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.subject_search import shown_ties, ties_between
from recourse_audit.render.pages.tables import Column, Table, cells
from recourse_audit.render.whole_graph import (
    carriers_coverage,
    carriers_sentence,
    disagreement,
    per_tie,
    whole_effect,
)


def disagreements(shown: SubjectReport) -> tuple[str, ...]:
    """Where an explanation and the whole graph disagree: a sentence for each counterfactual."""
    found = enumerate(shown.counterfactuals, start=1)
    sentences = [(place, disagreement(one, shown)) for place, one in found]
    return tuple(f"Counterfactual {place}: {words}" for place, words in sentences if words)


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriersView:
    """The ties that carry the decision on the whole graph; no table where there are none."""

    sentence: str
    table: Table | None
    coverage: str


def carriers_view(report: SubjectReport, shown: SubjectReport, level: Level) -> CarriersView | None:
    """The front of size against effect, and how far the search for it went.

    `report` still has all names, as for `tie_words`.
    """
    if report.carriers is None or shown.carriers is None:
        return None
    between = ties_between(report)
    pairs = zip(report.carriers.front, shown.carriers.front, strict=True)
    rows = tuple(
        cells(
            str(other.size),
            shown_ties(one.removed, other.removed, between, level),
            whole_effect(shown, other),
            per_tie(shown, other),
            (other.decision, *(("changed",) if other.flips else ())),
        )
        for one, other in pairs
    )
    table = Table(
        caption=f"The best set of each size; effects are on {watched(shown)}",
        columns=(
            Column(heading="Ties"),
            Column(heading="Removed"),
            Column(heading="Effect on the whole graph", kind="figures"),
            Column(heading="Per tie", kind="figures"),
            Column(heading="Decision"),
        ),
        rows=rows,
    )
    return CarriersView(
        sentence=carriers_sentence(shown, shown.carriers),
        table=table if rows else None,
        coverage=carriers_coverage(shown.carriers),
    )
