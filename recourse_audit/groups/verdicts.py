"""What may be concluded from a gap: gap shown, no gap of so many points, or not settled.

*Gap shown*: after Holm's correction over its family, chance alone would rarely produce such a gap.
*No gap*: a gap of `groups.concern` or more against the group is ruled out, by a one-sided test that
is corrected over the same family. *Not settled*: everything else, with the gap that would have been
found. The first two can both hold, of a small gap. There are two families, single attributes and
attributes crossed. No verdict says whether a decision was right, or what causes a gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recourse_audit.groups.comparisons import RATES
from recourse_audit.groups.inference import detectable, holm
from recourse_audit.groups.wording import (
    chance,
    p_value,
    percent,
    points,
    round_points,
    signed,
    signed_points,
)
from recourse_audit.records.group_figures import Comparison, Verdict
from recourse_audit.records.groups import FamilyTest
from recourse_audit.settings import GroupSettings

Named = tuple[str, Comparison]
DIRECTION_WORDS = {
    "adverse_rate": ("is refused more often than", "is refused less often than"),
    "feasibility": ("has an option less often than", "has an option more often than"),
    "cost": ("needs more effort, or has no option, compared with", "needs less effort than"),
}


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
        found = replace(one, verdict="not settled")
        return replace(found, reason=f"Not tested: {one.reason}. {_counted(one)}".strip())
    level = settings.alpha / corrected.tests
    no_gap = corrected.no_gap <= settings.alpha
    verdict: Verdict = "no gap" if no_gap else "not settled"
    if corrected.gap <= settings.alpha:
        verdict = "gap shown"
    found = replace(
        one,
        tests=replace(
            one.tests,
            adjusted=corrected.gap,
            corrected_for=corrected.tests,
            no_gap_adjusted=corrected.no_gap,
        ),
        smallest_gap_in_family=min(detectable(one.precision.error, level), 1.0),
        verdict=verdict,
        no_gap=no_gap,
    )
    return replace(found, reason=_reason(found, settings))


def _reason(one: Comparison, settings: GroupSettings) -> str:
    """The verdict with its figures in two sentences or so."""
    parts = [f"{_what(one, settings)}: {_gap(one, settings)}, {_tested(one)}."]
    if one.verdict == "gap shown" and one.direction == "easier":
        parts.append("In favour of the group.")
    if one.verdict == "gap shown" and one.no_gap and one.direction == "harder":
        parts.append(f"It is smaller than {round_points(settings.concern)}.")
    if one.verdict == "not settled":
        seen = one.smallest_gap_in_family or 0.0
        parts.append(f"A gap of {points(seen)} would have been found four times in five.")
    parts.append(_counted(one))
    if one.below_four_fifths and one.favourable_ratio is not None:
        parts.append(
            f"Ratio of favourable results {one.favourable_ratio:.2f}, below "
            f"{settings.four_fifths:g}."
        )
    return " ".join(part for part in parts if part)


def _what(one: Comparison, settings: GroupSettings) -> str:
    if one.verdict == "gap shown":
        words = DIRECTION_WORDS[one.measure][one.direction == "easier"]
        return f"{one.group} {words} {one.reference}"
    size = round_points(settings.concern)
    if one.verdict == "no gap":
        return f"No gap of {size} or more against {one.group}"
    return f"Whether there is a gap between {one.group} and {one.reference} is not settled"


def _gap(one: Comparison, settings: GroupSettings) -> str:
    gap = signed_points(one.gap)
    if one.gap_interval is not None:
        ends = f"{signed(one.gap_interval.low)} to {signed(one.gap_interval.high)}"
        gap = f"{gap} ({1 - settings.alpha:.0%} interval {ends})"
    if one.measure in RATES:
        return f"{percent(one.value)} against {percent(one.reference_value)}, gap {gap}"
    return f"chance of more effort minus chance of less {gap}"


def _counted(one: Comparison) -> str:
    """How many people count, because people who are tied are alike."""
    if one.precision is None:
        return ""
    everybody = one.people + one.reference_people
    return (
        f"Because people who are tied are alike, these {everybody:,} people count as "
        f"{one.precision.effective:,.0f}."
    )


def _tested(one: Comparison) -> str:
    """Both p values: of the test alone, and corrected for the whole family."""
    alone, adjusted, family = one.tests.on_graph, one.tests.adjusted, one.tests.corrected_for
    assert alone is not None
    assert adjusted is not None
    if family == 1:
        return f"{p_value(alone)}, the only test"
    return f"{p_value(alone)} alone, {chance(adjusted)} corrected for {family} tests"
