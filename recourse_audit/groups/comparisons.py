"""A group against the reference group in one measure: the gap, its intervals and its tests."""

from dataclasses import dataclass, replace

from recourse_audit.groups.arrays import Floats, Ints, Mask
from recourse_audit.groups.inference import (
    CommunityError,
    GapTest,
    Inference,
    below,
    cohens_h,
    detectable,
    mid_ranks,
)
from recourse_audit.groups.measures import quartiles_of
from recourse_audit.records.group_figures import (
    ByColumn,
    Comparison,
    Family,
    GapIntervals,
    GapWithout,
    Interval,
    Intervals,
    Measure,
    Precision,
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
    """Both sides of a comparison: per person a value, a side, and the number in the graph.

    `stopped` are those for whom the search stopped early, so that nobody knows their true value.
    """

    values: Floats
    member: Mask
    people: Ints
    stopped: Mask

    @property
    def sides(self) -> tuple[Floats, Floats]:
        return self.values[self.member], self.values[~self.member]

    def without_stopped(self) -> "Sample | None":
        """The others; None if it stopped early for nobody, or nobody is left on a side."""
        kept = ~self.stopped
        if kept.all() or not self.member[kept].any() or self.member[kept].all():
            return None
        return Sample(
            values=self.values[kept],
            member=self.member[kept],
            people=self.people[kept],
            stopped=self.stopped[kept],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is compared, and with whom; `family` is None where nothing is concluded from it."""

    measure: Measure
    family: Family | None
    group: str
    reference: str
    settings: GroupSettings


def compare_groups(question: Question, sample: Sample, inference: Inference) -> Comparison:
    """Compare one group with the reference; the verdict depends on the whole family."""
    tested, settings = _test(question, sample, inference), question.settings
    one, other = sample.sides
    sign = HARDER[question.measure] or 1
    values: tuple[float | None, float | None]
    ratio: float | None
    favourable = None
    if question.measure in RATES:
        values = share, reference = float(one.mean()), float(other.mean())
        ratio = share / reference if reference else None
        good = [1 - each if sign > 0 else each for each in values]
        favourable = good[0] / good[1] if good[1] else None
        effect = {"cohens_h": cohens_h(share, reference)}
    else:
        values = quartiles_of(one).median, quartiles_of(other).median
        ratio = _odds(tested.difference)
        effect = {"relative_effect": (1 + tested.difference) / 2}
    error = tested.error
    return Comparison(
        measure=question.measure,
        primary=question.family is not None,
        family=question.family,
        group=question.group,
        reference=question.reference,
        people=one.size,
        reference_people=other.size,
        value=values[0],
        reference_value=values[1],
        difference=tested.difference,
        ratio=ratio,
        gap=sign * tested.difference,
        gap_interval=_turned(tested.interval, sign),
        intervals=GapIntervals(
            difference=Intervals(ordinary=tested.ordinary.interval, on_graph=tested.interval),
            ratio=Intervals(
                ordinary=tested.ordinary.ratio_interval, on_graph=tested.ratio_interval
            ),
        ),
        tests=PValues(
            ordinary=tested.ordinary.p,
            on_graph=tested.p,
            adjusted=None,
            corrected_for=None,
            no_gap=_no_gap(tested, sign, settings) if HARDER[question.measure] else None,
            no_gap_adjusted=None,
        ),
        precision=_precision(tested),
        without_not_found=_without_stopped(question, sample, inference),
        effect=effect,
        smallest_gap=None if error is None else detectable(error, settings.alpha),
        smallest_gap_in_family=None,
        favourable_ratio=favourable,
        below_four_fifths=favourable is not None and favourable < settings.four_fifths,
        verdict=None,
        worse=None,
        no_gap=False,
        untested=tested.reason,
    )


def _test(question: Question, sample: Sample, inference: Inference) -> GapTest:
    """Test shares as they are, and amounts by their ranks."""
    if question.measure in RATES:
        return inference.test(sample.values, sample.member, sample.people)
    tested = inference.test(mid_ranks(sample.values), sample.member, sample.people)
    odds = _odds_interval(tested.interval)
    ordinary = replace(
        tested.ordinary,
        interval=_within(tested.ordinary.interval),
        ratio_interval=_odds_interval(tested.ordinary.interval),
    )
    return replace(
        tested, interval=_within(tested.interval), ratio_interval=odds, ordinary=ordinary
    )


def _without_stopped(question: Question, sample: Sample, inference: Inference) -> GapWithout | None:
    """The same gap among those whose value is known for certain, if that is not everybody."""
    rest = sample.without_stopped()
    if question.family is None or rest is None:
        return None
    tested, sign = _test(question, rest, inference), HARDER[question.measure]
    return GapWithout(
        people=int(rest.member.sum()),
        reference_people=int((~rest.member).sum()),
        gap=sign * tested.difference,
        interval=_turned(tested.interval, sign),
        p=tested.p,
    )


def _no_gap(tested: GapTest, sign: int, settings: GroupSettings) -> float | None:
    if tested.p is None or tested.error is None:
        return None
    return below(sign * tested.difference, settings.concern, tested.error)


def _precision(tested: GapTest) -> Precision | None:
    if tested.error is None:
        return None
    assert tested.effective is not None
    assert tested.inflation is not None
    assert tested.redrawn is not None
    assert tested.fit is not None
    return Precision(
        error=tested.error,
        effective=tested.effective,
        inflation=tested.inflation,
        redrawn=tested.redrawn,
        fit=tested.fit,
        redraws=tested.redraws,
        by_column=_by_column(tested.communities, decides=tested.by_column),
    )


def _by_column(found: CommunityError | None, *, decides: bool) -> ByColumn | None:
    if found is None:
        return None
    return ByColumn(
        communities=found.communities, leaving=found.leaving, p=found.p, decides=decides
    )


def _turned(interval: Interval | None, sign: int) -> Interval | None:
    if interval is None or sign > 0:
        return interval
    return Interval(low=-interval.high, high=-interval.low)


def _within(interval: Interval | None) -> Interval | None:
    """A difference of chances is never beyond 1 or -1."""
    if interval is None:
        return None
    return Interval(low=max(-1.0, interval.low), high=min(1.0, interval.high))


def _odds(difference: float) -> float | None:
    """The odds of more against less, from the difference of their chances."""
    return (1 + difference) / (1 - difference) if difference < 1 else None


def _odds_interval(interval: Interval | None) -> Interval | None:
    found = _within(interval)
    if found is None:
        return None
    low, high = _odds(found.low), _odds(found.high)
    return None if low is None or high is None else Interval(low=low, high=high)
