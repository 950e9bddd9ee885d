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
class _Corrected:
    """The adjusted p values of one test, and how many tests its family has."""

    gap: float
    no_gap: float
    tests: int


def give_verdicts(
    named: Sequence[Named], settings: GroupSettings
) -> tuple[list[Comparison], list[FamilyTest]]:
    """Correct the tests of each family, and give each comparison of a family its verdict."""
    corrected: dict[int, _Corrected] = {}
    for family in ("single", "crossed"):
        places = [
            place
            for place, (_, one) in enumerate(named)
            if one.family == family and one.tests.on_graph is not None
        ]
        gaps = holm([named[place][1].tests.on_graph or 0.0 for place in places])
        no_gaps = holm([named[place][1].tests.no_gap or 0.0 for place in places])
        for place, gap, no_gap in zip(places, gaps, no_gaps, strict=True):
            corrected[place] = _Corrected(gap=gap, no_gap=no_gap, tests=len(places))
    decided = [
        _with_verdict(one, corrected.get(place), settings) for place, (_, one) in enumerate(named)
    ]
    tests = [_family_test(named[place], corrected[place]) for place in sorted(corrected)]
    return decided, tests


def _family_test(named: Named, corrected: _Corrected) -> FamilyTest:
    table, one = named
    assert one.family is not None
    assert one.tests.on_graph is not None
    assert one.tests.no_gap is not None
    return FamilyTest(
        family=one.family,
        table=table,
        group=one.group,
        measure=one.measure,
        p=one.tests.on_graph,
        adjusted=corrected.gap,
        no_gap=one.tests.no_gap,
        no_gap_adjusted=corrected.no_gap,
    )


def _with_verdict(
    one: Comparison, corrected: _Corrected | None, settings: GroupSettings
) -> Comparison:
    if one.family is None:
        return one
    if corrected is None or one.precision is None:
        return replace(one, verdict="not settled")
    level = settings.alpha / corrected.tests
    no_gap = corrected.no_gap <= settings.alpha
    verdict: Verdict = "no gap" if no_gap else "not settled"
    if corrected.gap <= settings.alpha:
        verdict = "gap shown"
    return replace(
        one,
        tests=replace(
            one.tests,
            adjusted=corrected.gap,
            corrected_for=corrected.tests,
            no_gap_adjusted=corrected.no_gap,
        ),
        smallest_gap_in_family=min(detectable(one.precision.error, level), 1.0),
        verdict=verdict,
        worse=worse_off(verdict, one.gap),
        no_gap=no_gap,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A comparison with a verdict, where it stands, and whether it may lead."""

    table: str
    one: Comparison
    family: Family
    verdict: Verdict
    matters: bool

    @property
    def order(self) -> tuple[bool, int, bool, int, int, float]:
        """What may lead first; then by verdict, direction, family, measure and size."""
        return (
            not self.matters,
            VERDICTS.index(self.verdict),
            self.one.gap <= 0,
            FAMILIES.index(self.family),
            MEASURES.index(self.one.measure) if self.verdict == "gap shown" else 0,
            -abs(self.one.gap),
        )


def findings_of(tables: Iterable[GroupTable], settings: GroupSettings) -> Iterator[Finding]:
    """One finding per comparison with a verdict, by rank."""
    candidates = sorted(_candidates(tables, settings), key=lambda one: one.order)
    for rank, found in enumerate(candidates, start=1):
        one = found.one
        yield Finding(
            rank=rank,
            headline=rank == 1 and found.matters,
            family=found.family,
            table=found.table,
            group=one.group,
            reference=one.reference,
            measure=one.measure,
            value=one.value,
            reference_value=one.reference_value,
            gap=one.gap,
            interval=one.gap_interval,
            ratio=one.ratio,
            adjusted=one.tests.adjusted,
            tests=one.tests.corrected_for or 0,
            smallest_gap=one.smallest_gap_in_family,
            verdict=found.verdict,
            worse=one.worse,
            no_gap=one.no_gap,
        )


def _candidates(tables: Iterable[GroupTable], settings: GroupSettings) -> Iterator[_Candidate]:
    for table in tables:
        for one in table.comparisons:
            if one.verdict is not None and one.family is not None:
                yield _Candidate(
                    table=table.name,
                    one=one,
                    family=one.family,
                    verdict=one.verdict,
                    matters=_matters(one, settings),
                )


def _matters(one: Comparison, settings: GroupSettings) -> bool:
    """Whether a finding may lead: a gap that is shown, or one that is open and large."""
    if one.verdict == "gap shown":
        return True
    return one.verdict == "not settled" and (
        abs(one.gap) >= settings.concern or one.below_four_fifths
    )
