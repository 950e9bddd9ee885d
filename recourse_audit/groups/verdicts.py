"""What may be concluded from a gap: gap shown, no gap of so many points, or not settled.

*Gap shown*: after Holm's correction over its family, chance alone would rarely produce such a gap,
to the disadvantage of the group or of the reference.
*No gap*: a gap of `groups.concern` or more against the group is ruled out, by a one-sided test that
is corrected over the same family. *Not settled*: everything else, with the gap that would have been
found. The first two can both hold, of a small gap. There are two families, single attributes and
attributes crossed. No verdict says whether a decision was right, or what causes a gap.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from recourse_audit.groups.inference import detectable, holm
from recourse_audit.records.group_figures import Comparison, Family, Measure, Verdict, WorseOff
from recourse_audit.records.groups import Finding, GroupTable
from recourse_audit.settings import GroupSettings

# In the order in which findings are listed.
MEASURES: tuple[Measure, ...] = ("feasibility", "adverse_rate", "cost")
FAMILIES: tuple[Family, ...] = ("single", "crossed")
VERDICTS: tuple[Verdict, ...] = ("gap shown", "not settled", "no gap")
Named = tuple[str, Comparison]


class Corrected(NamedTuple):
    """What may be said of a gap after correction for its family.

    `adjusted` and `no_gap` are Holm's p values of the tests that there is a gap, and that there is
    none of `concern` or more; `smallest_gap` would have been found four times in five.
    """

    adjusted: float
    no_gap: float
    smallest_gap: float
    tests: int
    verdict: Verdict


def correct_family(
    tests: Sequence[tuple[float, float, float]], settings: GroupSettings
) -> list[Corrected]:
    """Correct the tests of a family: their p values, those of *no gap*, and standard errors."""
    count, alpha, corrected = len(tests), settings.alpha, []
    adjusted, no_gaps = (holm([test[place] for test in tests]) for place in (0, 1))
    for gap, no_gap, (_, _, error) in zip(adjusted, no_gaps, tests, strict=True):
        verdict: Verdict = "no gap" if no_gap <= alpha else "not settled"
        smallest = min(1.0, detectable(error, alpha / count))
        verdict = "gap shown" if gap <= alpha else verdict
        corrected.append(Corrected(gap, no_gap, smallest, count, verdict))
    return corrected


def give_verdicts(
    comparisons: Sequence[Comparison], settings: GroupSettings
) -> Iterator[Comparison]:
    """Correct the tests of each family, and give each comparison of a family its verdict."""
    corrected: dict[int, Corrected] = {}
    for family in FAMILIES:
        tests = {
            place: (comparison.tests.on_graph, comparison.tests.no_gap or 0.0, error.error)
            for place, comparison in enumerate(comparisons)
            if comparison.family == family
            and comparison.tests.on_graph is not None
            and (error := comparison.precision) is not None
        }
        corrected |= zip(tests, correct_family([*tests.values()], settings), strict=True)
    for place, comparison in enumerate(comparisons):
        own = corrected.get(place)
        if own is None:
            yield replace(comparison, verdict=None if comparison.family is None else "not settled")
            continue
        p_values = replace(
            comparison.tests,
            adjusted=own.adjusted,
            corrected_for=own.tests,
            no_gap_adjusted=own.no_gap,
        )
        yield replace(
            comparison,
            tests=p_values,
            smallest_gap_in_family=own.smallest_gap,
            verdict=own.verdict,
            worse=worse_off(own.verdict, comparison.gap),
            no_gap=own.no_gap <= settings.alpha,
        )


def worse_off(verdict: Verdict, gap: float) -> WorseOff | None:
    """Whom a gap that is shown is to the disadvantage of: the group if it is a plus."""
    if verdict != "gap shown" or not gap:
        return None
    return "group" if gap > 0 else "reference"


def findings_of(tables: Iterable[GroupTable], settings: GroupSettings) -> Iterator[Finding]:
    """One finding per comparison with a verdict, by rank.

    What may lead comes first; then by verdict, direction, family, measure and size.
    """

    def order(named: tuple[Verdict, Family, Named]) -> tuple[bool, int, bool, int, int, float]:
        verdict, family, (_, comparison) = named
        return (
            not _may_lead(comparison, settings),
            VERDICTS.index(verdict),
            comparison.gap <= 0,
            FAMILIES.index(family),
            MEASURES.index(comparison.measure) if verdict == "gap shown" else 0,
            -abs(comparison.gap),
        )

    named = [
        (comparison.verdict, comparison.family, (table.name, comparison))
        for table in tables
        for comparison in table.comparisons
        if comparison.verdict is not None and comparison.family is not None
    ]
    ordered = sorted(named, key=order)
    for rank, (verdict, family, (table, comparison)) in enumerate(ordered, start=1):
        yield Finding(
            rank=rank,
            headline=rank == 1 and _may_lead(comparison, settings),
            family=family,
            table=table,
            group=comparison.group,
            reference=comparison.reference,
            measure=comparison.measure,
            value=comparison.value,
            reference_value=comparison.reference_value,
            gap=comparison.gap,
            interval=comparison.gap_interval,
            ratio=comparison.ratio,
            adjusted=comparison.tests.adjusted,
            tests=comparison.tests.corrected_for or 0,
            smallest_gap=comparison.smallest_gap_in_family,
            verdict=verdict,
            worse=comparison.worse,
            no_gap=comparison.no_gap,
        )


def _may_lead(comparison: Comparison, settings: GroupSettings) -> bool:
    """Whether a finding may lead: a gap that is shown, or one that is not settled and large."""
    large = abs(comparison.gap) >= settings.concern or comparison.below_four_fifths
    return comparison.verdict == "gap shown" or (comparison.verdict == "not settled" and large)
