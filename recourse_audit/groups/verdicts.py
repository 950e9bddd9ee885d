"""What may be concluded from a gap: gap shown, no gap of so many points, or not settled.

*Gap shown*: after Holm's correction over its family, chance alone would rarely produce such a gap,
to the disadvantage of the group or of the reference.
*No gap*: a gap of `groups.concern` or more against the group is ruled out, by a one-sided test that
is corrected over the same family. *Not settled*: everything else, with the gap that would have been
found. The first two can both hold, of a small gap. There are two families, single attributes and
attributes crossed. No verdict says whether a decision was right, or what causes a gap.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from recourse_audit.groups.inference import detectable, holm
from recourse_audit.records.group_figures import Comparison, Family, Measure, Verdict, WorseOff
from recourse_audit.records.groups import Finding, GroupTable
from recourse_audit.settings import GroupSettings

# In the order in which findings are listed.
MEASURES: tuple[Measure, ...] = ("feasibility", "adverse_rate", "cost")
FAMILIES: tuple[Family, ...] = ("single", "crossed")
VERDICTS: tuple[Verdict, ...] = ("gap shown", "not settled", "no gap")
# What a finding repeats of its comparison under the same name.
SAME = (
    *("family", "group", "reference", "measure", "value", "reference_value"),
    *("gap", "ratio", "verdict", "worse", "no_gap", "stands"),
)


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
    tests: Mapping[int, tuple[float, float, float]], settings: GroupSettings
) -> dict[int, Corrected]:
    """Correct the tests of a family: their p values, those of *no gap*, and standard errors."""
    count, alpha, corrected = len(tests), settings.alpha, {}
    adjusted, no_gaps = (holm([test[part] for test in tests.values()]) for part in (0, 1))
    for (place, (_, _, error)), gap, no_gap in zip(tests.items(), adjusted, no_gaps, strict=True):
        verdict: Verdict = "no gap" if no_gap <= alpha else "not settled"
        verdict = "gap shown" if gap <= alpha else verdict
        smallest = min(1.0, detectable(error, alpha / count))
        corrected[place] = Corrected(gap, no_gap, smallest, count, verdict)
    return corrected


def give_verdicts(
    comparisons: Sequence[Comparison], settings: GroupSettings
) -> Iterator[Comparison]:
    """Correct the tests of each family, and give each comparison of a family its verdict."""
    corrected: dict[int, Corrected] = {}
    cautious: dict[int, float] = {}
    for family in FAMILIES:
        tests = {
            place: (comparison.tests.on_graph, comparison.tests.no_gap or 0.0, error.error)
            for place, comparison in enumerate(comparisons)
            if comparison.family == family
            and comparison.tests.on_graph is not None
            and (error := comparison.precision) is not None
        }
        corrected |= correct_family(tests, settings)
        most = [comparisons[place].tests.cautious or 0.0 for place in tests]
        cautious |= dict(zip(tests, holm(most), strict=True))
    for place, comparison in enumerate(comparisons):
        own = corrected.get(place)
        if own is None:
            yield replace(comparison, verdict=None if comparison.family is None else "not settled")
            continue
        yield replace(
            comparison,
            tests=replace(
                comparison.tests,
                adjusted=own.adjusted,
                corrected_for=own.tests,
                cautious_adjusted=cautious[place],
                no_gap_adjusted=own.no_gap,
            ),
            smallest_gap_in_family=own.smallest_gap,
            verdict=own.verdict,
            worse=worse_off(own.verdict, comparison.gap),
            no_gap=own.no_gap <= settings.alpha,
            stands=own.verdict == "gap shown" and cautious[place] <= settings.alpha,
        )


def worse_off(verdict: Verdict, gap: float) -> WorseOff | None:
    """Whom a gap that is shown is to the disadvantage of: the group if it is a plus."""
    if verdict != "gap shown" or not gap:
        return None
    return "group" if gap > 0 else "reference"


def findings_of(tables: Iterable[GroupTable], settings: GroupSettings) -> Iterator[Finding]:
    """One finding per comparison with a verdict, by rank.

    What may lead comes first, a gap that is shown, or one that is not settled and large; then by
    verdict, direction, family, measure and size.
    """
    findings = []
    for table in tables:
        for comparison in table.comparisons:
            if comparison.verdict is None:
                continue
            large = abs(comparison.gap) >= settings.concern or comparison.below_four_fifths
            leads = {"gap shown": True, "not settled": large, "no gap": False}[comparison.verdict]
            fields: dict[str, Any] = {name: getattr(comparison, name) for name in SAME}
            finding = Finding(
                **fields,
                rank=0,
                headline=leads,
                table=table.name,
                interval=comparison.gap_interval,
                adjusted=comparison.tests.adjusted,
                tests=comparison.tests.corrected_for or 0,
                smallest_gap=comparison.smallest_gap_in_family,
            )
            findings.append(finding)
    for rank, finding in enumerate(sorted(findings, key=_order), start=1):
        yield replace(finding, rank=rank, headline=finding.headline and rank == 1)


def _order(finding: Finding) -> tuple[bool, int, bool, int, int, float]:
    return (
        not finding.headline,
        VERDICTS.index(finding.verdict),
        finding.gap <= 0,
        FAMILIES.index(finding.family),
        MEASURES.index(finding.measure) if finding.verdict == "gap shown" else 0,
        -abs(finding.gap),
    )
