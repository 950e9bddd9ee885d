"""A group against the reference group in one measure: the gap, its intervals and its tests."""

import math
from dataclasses import dataclass, replace

import numpy as np

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.clustered import (
    Estimate,
    estimate,
    few_communities,
    jackknife,
    log_rank_scores,
    mid_ranks,
    ratio_interval,
    relative_effect,
    sums_of,
)
from recourse_audit.groups.iid_tests import (
    brunner_munzel,
    cohens_h,
    detectable,
    log_rank,
    newcombe,
    rank_interval,
    rates_test,
    score_ratio,
)
from recourse_audit.groups.measures import quartiles_of
from recourse_audit.groups.sums import Sums
from recourse_audit.groups.wild_bootstrap import (
    gap_test,
    percentile_interval,
    smallest_p,
    wild_interval,
)
from recourse_audit.records.group_figures import (
    Comparison,
    Direction,
    GapIntervals,
    Interval,
    Intervals,
    Measure,
    PValues,
)
from recourse_audit.settings import GroupSettings

# The sign of a difference that is to the disadvantage of the group; 0 where neither sign is.
HARDER: dict[Measure, int] = {
    "adverse_rate": 1,
    "feasibility": -1,
    "cost": 1,
    "options": -1,
    "simulatability": 0,
    "relevance": 0,
    "caveats": 0,
}
RATES = ("adverse_rate", "feasibility")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Both sides of a comparison: per person a value, a side and, if known, a community."""

    values: Floats
    member: Mask
    community: Ints | None
    alone: int

    @property
    def sides(self) -> tuple[Floats, Floats]:
        return self.values[self.member], self.values[~self.member]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is compared, with whom, and how."""

    measure: Measure
    primary: bool
    group: str
    reference: str
    settings: GroupSettings
    seed: int
    level: float
    no_communities: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clustered:
    """The gap, ratio and p value over communities; or none of them, and the reason."""

    communities: int = 0
    gap: Estimate | None = None
    ratio: Interval | None = None
    bootstrap: Interval | None = None
    p: float | None = None
    smallest_p: float | None = None
    score: float = 0.0
    reason: str = ""


def compare_groups(question: Question, sample: Sample) -> Comparison:
    """Compare one group with the reference; the verdict depends on the whole family."""
    if question.measure in RATES:
        return _rates(question, sample)
    return _amounts(question, sample)


def _rates(question: Question, sample: Sample) -> Comparison:
    one, other = sample.sides
    count, of, others, of_others = int(one.sum()), one.size, int(other.sum()), other.size
    share, reference = count / of, others / of_others
    alpha = question.settings.alpha
    good = (1 - share, 1 - reference) if question.measure == "adverse_rate" else (share, reference)
    favourable = good[0] / good[1] if good[1] else None
    clustered = _clustered_rates(question, sample)
    tests = ("z", rates_test(count, of, others, of_others))
    return _comparison(
        question,
        sample,
        clustered,
        tests,
        values=(share, reference),
        gap=share - reference,
        ratio=share / reference if reference else None,
        ordinary=(
            newcombe(count, of, others, of_others, alpha),
            score_ratio(count, of, others, of_others, alpha),
        ),
        effect={"cohens_h": cohens_h(share, reference)},
        favourable=favourable,
    )


def _amounts(question: Question, sample: Sample) -> Comparison:
    one, other = sample.sides
    effect = relative_effect(
        sample.values, sample.member, np.zeros(sample.values.size, dtype=np.int64)
    ).value
    costs = question.measure == "cost"
    tests: tuple[str, float | None]
    if costs:
        tests = ("log-rank", log_rank(one, other))
    else:
        tests = ("Brunner-Munzel", brunner_munzel(one, other))
    ordinary = rank_interval(one, other, question.settings.alpha)
    odds = None if ordinary is None else _odds_interval(ordinary)
    gap = None if ordinary is None else _gap_interval(ordinary)
    return _comparison(
        question,
        sample,
        _clustered_amounts(question, sample, effect),
        tests,
        values=(quartiles_of(one).median, quartiles_of(other).median),
        gap=2 * effect - 1,
        ratio=effect / (1 - effect) if effect < 1 else None,
        ordinary=(gap, odds),
        effect={"relative_effect": effect},
        favourable=None,
    )


def _comparison(
    question: Question,
    sample: Sample,
    clustered: _Clustered,
    tests: tuple[str, float | None],
    *,
    values: tuple[float | None, float | None],
    gap: float,
    ratio: float | None,
    ordinary: tuple[Interval | None, Interval | None],
    effect: dict[str, float],
    favourable: float | None,
) -> Comparison:
    estimated = clustered.gap
    freedom, alpha = clustered.communities - 1, question.settings.alpha
    return Comparison(
        measure=question.measure,
        primary=question.primary,
        group=question.group,
        reference=question.reference,
        people=int(sample.member.sum()),
        reference_people=int((~sample.member).sum()),
        communities=clustered.communities,
        alone=sample.alone,
        value=values[0],
        reference_value=values[1],
        difference=gap,
        ratio=ratio,
        intervals=GapIntervals(
            difference=Intervals(
                ordinary=ordinary[0],
                clustered=None if estimated is None else _within(estimated.interval),
                bootstrap=clustered.bootstrap,
            ),
            ratio=Intervals(ordinary=ordinary[1], clustered=clustered.ratio, bootstrap=None),
        ),
        tests=PValues(
            method=tests[0],
            ordinary=tests[1],
            clustered=clustered.p,
            smallest=clustered.smallest_p,
            adjusted=None,
            corrected_for=None,
        ),
        effect=effect,
        smallest_gap=None if estimated is None else estimated.error * detectable(freedom, alpha),
        smallest_gap_in_family=None,
        standard_error=None if estimated is None else estimated.error,
        favourable_ratio=favourable,
        below_four_fifths=favourable is not None and favourable < question.settings.four_fifths,
        direction=_direction(question, gap, clustered),
        verdict=None,
        reason=clustered.reason,
    )


def _direction(question: Question, gap: float, clustered: _Clustered) -> Direction:
    """Who is at a disadvantage; "none" where the test and the gap disagree about the direction."""
    sign = HARDER[question.measure] * gap
    if not sign or (question.measure == "cost" and clustered.score * gap > 0):
        return "none"
    return "harder" if sign > 0 else "easier"


def _clustered_rates(question: Question, sample: Sample) -> _Clustered:
    if sample.community is None:
        return _Clustered(reason=question.no_communities)
    sums = sums_of(sample.values, sample.member, sample.community)
    few = few_communities(sums)
    if few:
        return _Clustered(communities=len(sums), reason=few)
    settings = question.settings
    value, error, count = jackknife(sums.difference, sums.differences_without)
    group, reference = sums.means
    with np.errstate(all="ignore"):
        without = np.divide(*sums.means_without())
    return _Clustered(
        communities=count,
        gap=_inverted(estimate(value, error, count, settings.alpha), sums, settings, question.seed),
        ratio=ratio_interval(group / reference, without, settings.alpha) if reference else None,
        bootstrap=percentile_interval(
            sums, alpha=settings.alpha, draws=settings.draws, seed=question.seed
        ),
        p=gap_test(sums, draws=settings.draws, seed=question.seed, level=question.level),
        smallest_p=smallest_p(sums),
    )


def _clustered_amounts(question: Question, sample: Sample, effect: float) -> _Clustered:
    if sample.community is None:
        return _Clustered(reason=question.no_communities)
    costs = question.measure == "cost"
    scores = log_rank_scores(sample.values) if costs else mid_ranks(sample.values)
    sums: Sums = sums_of(scores, sample.member, sample.community)
    few = few_communities(sums)
    if few:
        return _Clustered(communities=len(sums), reason=few)
    settings = question.settings
    without = relative_effect(sample.values, sample.member, sample.community).without
    value, error, count = jackknife(2 * effect - 1, 2 * without - 1)
    with np.errstate(all="ignore"):
        odds = without / (1 - without)
    found = estimate(value, error, count, settings.alpha)
    doubled = sums_of(2 * mid_ranks(sample.values), sample.member, sample.community)
    return _Clustered(
        communities=count,
        gap=_inverted(found, doubled, settings, question.seed),
        ratio=ratio_interval(effect / (1 - effect), odds, settings.alpha) if effect < 1 else None,
        p=gap_test(sums, draws=settings.draws, seed=question.seed, level=question.level),
        smallest_p=smallest_p(sums),
        score=sums.difference,
    )


def gap_over_communities(
    sample: Sample, settings: GroupSettings, seed: int
) -> tuple[Interval | None, int, str]:
    """The interval of a gap in a mean, over how many communities; or why there is none."""
    if sample.community is None:
        return None, 0, "communities are not known"
    sums = sums_of(sample.values, sample.member, sample.community)
    few = few_communities(sums)
    if few:
        return None, len(sums), few
    value, error, count = jackknife(sums.difference, sums.differences_without)
    found = estimate(value, error, count, settings.alpha)
    return _inverted(found, sums, settings, seed).interval, count, ""


def _inverted(estimated: Estimate, sums: Sums, settings: GroupSettings, seed: int) -> Estimate:
    """The estimate with the interval that agrees with its test.

    Where no community is mixed, the test takes the larger of two p values and this inverts only one
    of them; so the interval is made at least as wide as the jackknife's.
    """
    jackknifed = estimated.interval
    interval = wild_interval(
        sums,
        alpha=settings.alpha,
        draws=settings.draws,
        seed=seed,
        reach=jackknifed.high - estimated.value,
    )
    if not sums.mixed:
        interval = Interval(
            low=min(interval.low, jackknifed.low), high=max(interval.high, jackknifed.high)
        )
    return replace(estimated, interval=interval)


def _within(interval: Interval) -> Interval:
    """A difference of shares or chances is never beyond 1 or -1."""
    return Interval(low=max(-1.0, interval.low), high=min(1.0, interval.high))


def _gap_interval(effect: Interval) -> Interval:
    return Interval(low=2 * effect.low - 1, high=2 * effect.high - 1)


def _odds_interval(effect: Interval) -> Interval | None:
    low, high = effect.low, effect.high
    if high >= 1 or not math.isfinite(low):
        return None
    return Interval(low=max(0.0, low) / (1 - max(0.0, low)), high=high / (1 - high))
