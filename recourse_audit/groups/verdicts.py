"""What may be concluded from a gap: flag, no flag, or insufficient evidence.

*Flag*: after Holm's correction over the whole family, chance alone would rarely produce such a gap.
*No flag*: not flagged, and the interval excludes a gap of `groups.concern` or more against the
group. *Insufficient evidence*: everything else, with what was missing. No verdict says whether a
decision was right, or what causes a gap.
"""

from collections.abc import Sequence
from dataclasses import replace

from recourse_audit.groups.comparisons import HARDER, RATES
from recourse_audit.groups.iid_tests import detectable, holm
from recourse_audit.groups.wording import (
    chance,
    communities,
    p_value,
    percent,
    points,
    round_points,
    signed,
    signed_points,
)
from recourse_audit.records.group_figures import Comparison, Interval
from recourse_audit.records.groups import CommunityMethod, FamilyTest
from recourse_audit.settings import GroupSettings

Named = tuple[str, Comparison]
DIRECTION_WORDS = {
    "adverse_rate": ("is refused more often than", "is refused less often than"),
    "feasibility": ("has an option less often than", "has an option more often than"),
    "cost": ("has costlier options, or none, compared with", "has cheaper options than"),
}


def give_verdicts(
    named: Sequence[Named], settings: GroupSettings, method: CommunityMethod
) -> tuple[list[Comparison], list[FamilyTest]]:
    """Correct the primary tests for the whole family, and give each comparison its verdict.

    `method` says where communities come from.
    """
    family = [
        (place, table, one, one.tests.clustered)
        for place, (table, one) in enumerate(named)
        if one.primary and one.tests.clustered is not None
    ]
    adjusted = holm([p for *_, p in family])
    tests = [
        FamilyTest(table=table, group=one.group, measure=one.measure, p=p, adjusted=corrected)
        for (_, table, one, p), corrected in zip(family, adjusted, strict=True)
    ]
    corrected_at = dict(zip((place for place, *_ in family), adjusted, strict=True))
    decided = [
        _with_verdict(one, corrected_at.get(place), len(family), settings, method)
        for place, (_, one) in enumerate(named)
    ]
    return decided, tests


def _with_verdict(
    one: Comparison,
    adjusted: float | None,
    family: int,
    settings: GroupSettings,
    method: CommunityMethod,
) -> Comparison:
    if not one.primary:
        return one
    counted = communities(one.communities, one.alone, method)
    if adjusted is None or one.standard_error is None:
        beside = f" The two groups are in {counted}." if one.alone else ""
        why = f"Not tested: {one.reason or 'no test'}.{beside}"
        return replace(one, verdict="insufficient evidence", reason=why)
    level = settings.alpha / max(1, family)
    seen = one.standard_error * detectable(one.communities - 1, level)
    one = replace(
        one,
        tests=replace(one.tests, adjusted=adjusted, corrected_for=family),
        smallest_gap_in_family=min(seen, 1.0),
    )
    interval = one.intervals.difference.clustered
    assert interval is not None
    if adjusted <= settings.alpha:
        return replace(one, verdict="flag", reason=_flagged(one, interval, settings))
    if _worst(one, interval) < settings.concern:
        return replace(one, verdict="no flag", reason=_quiet(one, interval, settings))
    why = _undecided(one, interval, counted, settings)
    return replace(one, verdict="insufficient evidence", reason=why)


def _worst(one: Comparison, interval: Interval) -> float:
    """The largest gap against the group that the interval includes."""
    return interval.high if HARDER[one.measure] > 0 else -interval.low


def _flagged(one: Comparison, interval: Interval, settings: GroupSettings) -> str:
    if one.direction == "none":
        what = f"Costs of {one.group} and {one.reference} differ, but not in one direction"
    else:
        words = DIRECTION_WORDS[one.measure][one.direction == "easier"]
        what = f"{one.group} {words} {one.reference}"
    beside = " In favour of the group." if one.direction == "easier" else ""
    return (
        f"{what}: {_gap(one, interval, settings)}, {_tested(one)}.{beside}"
        f"{_four_fifths(one, settings)}"
    )


def _quiet(one: Comparison, interval: Interval, settings: GroupSettings) -> str:
    return (
        f"No sign of a gap of {round_points(settings.concern)} or more against {one.group}: "
        f"{_gap(one, interval, settings)}, {_tested(one)}.{_four_fifths(one, settings)}"
    )


def _undecided(one: Comparison, interval: Interval, counted: str, settings: GroupSettings) -> str:
    family = one.tests.corrected_for or 1
    if (one.tests.smallest or 0.0) * family > settings.alpha:
        could = f"no gap, however large, could have been flagged in a family of {family} tests"
    else:
        seen = one.smallest_gap_in_family or 0.0
        could = f"a gap of {points(seen)} would have been flagged four times in five"
    least = interval.low if HARDER[one.measure] > 0 else -interval.high
    if least > 0:
        what = f"There may be a gap against {one.group}, but it could be chance"
    else:
        what = (
            f"A gap of {round_points(settings.concern)} or more against {one.group} can neither be "
            "shown nor ruled out"
        )
    return (
        f"{what}: {_gap(one, interval, settings)}, {_tested(one)}. With {counted}, "
        f"{could}.{_four_fifths(one, settings)}"
    )


def _gap(one: Comparison, interval: Interval, settings: GroupSettings) -> str:
    ends = f"{signed(interval.low)} to {signed(interval.high)}"
    gap = f"{signed_points(one.difference)} ({1 - settings.alpha:.0%} interval {ends})"
    if one.measure in RATES:
        return f"{percent(one.value)} against {percent(one.reference_value)}, gap {gap}"
    return f"chance of costlier minus cheaper {gap}"


def _four_fifths(one: Comparison, settings: GroupSettings) -> str:
    if not one.below_four_fifths or one.favourable_ratio is None:
        return ""
    return (
        f" Ratio of favourable results {one.favourable_ratio:.2f}, below {settings.four_fifths:g}."
    )


def _tested(one: Comparison) -> str:
    """Both p values: of the test alone, and corrected for the whole family."""
    alone, adjusted, family = one.tests.clustered, one.tests.adjusted, one.tests.corrected_for
    assert alone is not None
    assert adjusted is not None
    if family == 1:
        return f"{p_value(alone)}, the only test"
    return f"{p_value(alone)} alone, {chance(adjusted)} corrected for {family} tests"
