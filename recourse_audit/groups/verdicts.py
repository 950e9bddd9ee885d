"""What may be concluded from a gap: gap shown, no gap of so many points, or not settled.

*Gap shown*: after Holm's correction over its family, chance alone would rarely produce such a gap,
to the disadvantage of the group or of the reference.
*No gap*: a gap of `groups.concern` or more against the group is ruled out, by a one-sided test that
is corrected over the same family. *Not settled*: everything else, with the gap that would have been
found. The first two can both hold, of a small gap. There are two families, single attributes and
attributes crossed. No verdict says whether a decision was right, or what causes a gap.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from recourse_audit.groups.inference import detectable, holm
from recourse_audit.records.group_figures import Comparison, Family, Measure, Verdict, WorseOff
from recourse_audit.records.groups import FamilyTest, Finding, GroupTable
from recourse_audit.settings import GroupSettings

Named = tuple[str, Comparison]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
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
    adjusted, no_gaps = (holm([test[place] for test in tests]) for place in (0, 1))
    level = settings.alpha / max(1, len(tests))
    return [
        Corrected(
            adjusted=gap,
            no_gap=no_gap,
            smallest_gap=min(1.0, detectable(error, level)),
            tests=len(tests),
            verdict="gap shown"
            if gap <= settings.alpha
            else "no gap"
            if no_gap <= settings.alpha
            else "not settled",
        )
        for gap, no_gap, (_, _, error) in zip(adjusted, no_gaps, tests, strict=True)
    ]


def give_verdicts(
    named: Sequence[Named], settings: GroupSettings
) -> tuple[list[Comparison], list[FamilyTest]]:
    """Correct the tests of each family, and give each comparison of a family its verdict."""
    corrected: dict[int, Corrected] = {}
    for family in ("single", "crossed"):
        tests = {
            place: (comparison.tests.on_graph, comparison.tests.no_gap or 0.0, error.error)
            for place, (_, comparison) in enumerate(named)
            if comparison.family == family
            and comparison.tests.on_graph is not None
            and (error := comparison.precision) is not None
        }
        corrected |= zip(tests, correct_family([*tests.values()], settings), strict=True)
    decided = [
        _with_verdict(comparison, corrected.get(place), settings)
        for place, (_, comparison) in enumerate(named)
    ]
    tests_made = [
        FamilyTest(
            family=comparison.family or "single",
            table=named[place][0],
            group=comparison.group,
            measure=comparison.measure,
            p=comparison.tests.on_graph or 0.0,
            adjusted=corrected[place].adjusted,
            no_gap=comparison.tests.no_gap or 0.0,
            no_gap_adjusted=corrected[place].no_gap,
        )
        for place in sorted(corrected)
        for comparison in [named[place][1]]
    ]
    return decided, tests_made


def _with_verdict(
    comparison: Comparison, corrected: Corrected | None, settings: GroupSettings
) -> Comparison:
    if comparison.family is None:
        return comparison
    if corrected is None:
        return replace(comparison, verdict="not settled")
    return replace(
        comparison,
        tests=replace(
            comparison.tests,
            adjusted=corrected.adjusted,
            corrected_for=corrected.tests,
            no_gap_adjusted=corrected.no_gap,
        ),
        smallest_gap_in_family=corrected.smallest_gap,
        verdict=corrected.verdict,
        worse=worse_off(corrected.verdict, comparison.gap),
        no_gap=corrected.no_gap <= settings.alpha,
    )


def shown_by_chance(tests: Iterable[FamilyTest], settings: GroupSettings) -> float:
    """The largest share of reports without any gap that show one: `alpha` for each family.

    Holm's method keeps to `alpha` whatever the tests of a family have to do with each other.
    `benchmarks/calibration.py` measures how well the tests themselves do.
    """
    return min(1.0, settings.alpha * len({test.family for test in tests}))


def worse_off(verdict: Verdict, gap: float) -> WorseOff | None:
    """Whom a gap that is shown is to the disadvantage of: the group if it is a plus."""
    if verdict != "gap shown" or not gap:
        return None
    return "group" if gap > 0 else "reference"


MEASURES: tuple[Measure, ...] = ("feasibility", "adverse_rate", "cost")
FAMILIES: tuple[Family, ...] = ("single", "crossed")
VERDICTS: tuple[Verdict, ...] = ("gap shown", "not settled", "no gap")


def findings_of(tables: Iterable[GroupTable], settings: GroupSettings) -> Iterator[Finding]:
    """One finding per comparison with a verdict, by rank.

    What may lead comes first; then by verdict, direction, family, measure and size.
    """

    def order(named: Named) -> tuple[bool, int, bool, int, int, float]:
        comparison = named[1]
        assert comparison.verdict is not None
        assert comparison.family is not None
        shown = comparison.verdict == "gap shown"
        return (
            not _may_lead(comparison, settings),
            VERDICTS.index(comparison.verdict),
            comparison.gap <= 0,
            FAMILIES.index(comparison.family),
            MEASURES.index(comparison.measure) if shown else 0,
            -abs(comparison.gap),
        )

    named = [
        (table.name, comparison)
        for table in tables
        for comparison in table.comparisons
        if comparison.verdict is not None and comparison.family is not None
    ]
    for rank, (table, comparison) in enumerate(sorted(named, key=order), start=1):
        yield Finding(
            rank=rank,
            headline=rank == 1 and _may_lead(comparison, settings),
            family=comparison.family or "single",
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
            verdict=comparison.verdict or "not settled",
            worse=comparison.worse,
            no_gap=comparison.no_gap,
        )


def _may_lead(comparison: Comparison, settings: GroupSettings) -> bool:
    """Whether a finding may lead: a gap that is shown, or one that is not settled and large."""
    if comparison.verdict == "gap shown":
        return True
    return comparison.verdict == "not settled" and (
        abs(comparison.gap) >= settings.concern or comparison.below_four_fifths
    )
