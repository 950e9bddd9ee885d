"""The paper's analysis of its human study: two-way analysis of variance, and tests of differences.

As in the paper, those who give the same answer to everything are left out, and answers are pooled
as if each came from somebody else. As participants answer many times, every difference is also
tested over one value per participant. Acceptance is asked once per case; its conditions are the
case's simulatability, and whether the more relevant of its counterfactuals is above the median of
those of the same simulatability. Intervals are of 95 %; p-values are not corrected.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, ncfdtrinc, nctdtrinc

from recourse_audit.errors import InputError
from recourse_audit.graph.graph import Floats
from recourse_audit.records.study import (
    Difference,
    Factor,
    Level,
    Quadrant,
    StudyAnalysis,
    StudyAnswers,
    StudyKey,
    Term,
    Test,
    Topic,
    Variance,
)

Mask = NDArray[np.bool_]
FEWEST = 3  # with two, no effect can be scaled
LEVELS: tuple[Level, Level] = ("high", "low")
UPPER, LOWER = 0.975, 0.025
DIGITS = 6
TINY = 1e-9


def analyse(key: StudyKey, study: str, answers: Sequence[StudyAnswers]) -> StudyAnalysis:
    """Analyse answers to all cases of a study; raises `InputError` if too few are left."""
    alike = [each for each in answers if len({*sum(each.answers, ())}) == 1]
    counted = sorted(
        (each for each in answers if each not in alike), key=lambda each: each.participant
    )
    if len(counted) < FEWEST:
        gone = (
            f", not counting {len(alike)} who gave the same answer to everything" if alike else ""
        )
        raise InputError(
            f"the analysis needs answers from at least {FEWEST} participants (got {len(counted)}"
            f"{gone}); collect more"
        )
    ratings = np.array([each.answers for each in counted], float)
    # By participant, case and relevance of the counterfactual: high, then low.
    mirrored = np.array([each.version == "B" for each in counted])
    first_high = np.array([case.order[0] == "high" for case in key.cases]) ^ mirrored[:, None]
    third, fourth = ratings[:, :, 1], ratings[:, :, 2]
    importance = np.stack(
        (np.where(first_high, third, fourth), np.where(first_high, fourth, third)), axis=2
    )
    level = np.array([case.level == "high" for case in key.cases])
    return StudyAnalysis(
        study=study,
        participants=len(counted),
        mirrored=int(mirrored.sum()),
        left_out=tuple(sorted(each.participant for each in alike)),
        subjects=len({case.subject for case in key.cases}),
        detectable=_detectable(len(counted)),
        variances=(
            _variance("acceptance", ratings[:, :, 3], level, _strong(key, level)),
            _variance("importance", importance, level[:, None], np.array([True, False])),
        ),
        differences=tuple(_differences(ratings, importance, level)),
    )


def _strong(key: StudyKey, level: Mask) -> Mask:
    """Whether the more relevant counterfactual is above the median of cases of the same level."""
    relevance = np.array([case.relevance[0] for case in key.cases])
    medians = {each: np.median(relevance[level == each]) for each in {*level.tolist()}}
    return relevance > np.array([medians[each] for each in level.tolist()])


def _variance(what: Topic, ratings: Floats, level: Mask, relevance: Mask) -> Variance:
    """Type II sums of squares of both factors and their interaction; F tests, partial η²."""
    high, strong = (np.broadcast_to(each, ratings.shape).ravel() for each in (level, relevance))
    values, points = ratings.ravel(), ratings.ravel().astype(int)
    quadrants = tuple(
        Quadrant(simulatability=name, relevance=other, counts=(*counts[1:].tolist(),))
        for name, rows in zip(LEVELS, (high, ~high), strict=True)
        for other, columns in zip(LEVELS, (strong, ~strong), strict=True)
        for counts in [np.bincount(points[rows & columns], minlength=6)]
    )

    def residual(*factors: Floats) -> float:
        design = np.stack((np.ones(len(values)), *factors), axis=1)
        fitted = design @ np.linalg.lstsq(design, values)[0]
        return float(((values - fitted) ** 2).sum())

    by_level, by_relevance = high - 0.5, strong - 0.5
    whole = residual(by_level, by_relevance, by_level * by_relevance)
    within = len(values) - len(quadrants)
    terms: dict[Factor, float] = {}
    if all(any(quadrant.counts) for quadrant in quadrants) and whole > TINY and within:
        both = residual(by_level, by_relevance)
        terms = {
            "simulatability": residual(by_relevance) - both,
            "relevance": residual(by_level) - both,
            "interaction": both - whole,
        }
    return Variance(
        what=what,
        quadrants=quadrants,
        terms=tuple(_term(name, max(own, 0.0), whole, within) for name, own in terms.items()),
        residual=round(whole, DIGITS),
    )


def _term(name: Factor, squares: float, whole: float, within: int) -> Term:
    f = squares / (whole / within)
    p = float(fdtrc(1, within, f))
    # The interval of the noncentrality of F, as a share of all variance.
    bounds = [
        float(ncfdtrinc(1, within, share, f)) if p < 1 - share else 0.0 for share in (UPPER, LOWER)
    ]
    low, high = (bound / (bound + within + 4) for bound in bounds)
    return Term(
        term=name,
        squares=round(squares, DIGITS),
        f=round(f, DIGITS),
        df=(1, within),
        p=float(f"{p:.{DIGITS}g}"),
        size=round(squares / (squares + whole), DIGITS),
        low=round(low, 3),
        high=round(high, 3),
    )


def _differences(ratings: Floats, importance: Floats, level: Mask) -> Iterator[Difference]:
    topics: tuple[tuple[Topic, int], ...] = (("perceived", 0), ("acceptance", 3))
    for what, place in topics:
        high, low = ratings[:, level, place], ratings[:, ~level, place]
        yield _difference(what, high.ravel(), low.ravel(), test="welch")
        yield _difference(what, high.mean(axis=1), low.mean(axis=1))
    parts: tuple[tuple[Level | None, Mask], ...] = (
        (None, level | True),
        ("high", level),
        ("low", ~level),
    )
    for among, cases in parts:
        high, low = importance[:, cases, 0], importance[:, cases, 1]
        yield _difference("importance", high.ravel(), low.ravel(), among, "paired_answers")
        yield _difference("importance", high.mean(axis=1), low.mean(axis=1), among)
    apart = importance[:, :, 0] - importance[:, :, 1]
    by_level = apart[:, level].mean(axis=1), apart[:, ~level].mean(axis=1)
    yield _difference("importance_by_level", *by_level)


def _difference(
    what: Topic,
    high: Floats,
    low: Floats,
    among: Level | None = None,
    test: Test = "paired_participants",
) -> Difference:
    """A difference of means, its t test and Hedges' g_av; there are as many high values as low."""
    from scipy.stats import ttest_ind, ttest_rel

    count = len(high)
    means = round(float(high.mean()), DIGITS), round(float(low.mean()), DIGITS)
    made = Difference(what=what, among=among, test=test, count=count, means=means)
    average = np.sqrt((high.var(ddof=1) + low.var(ddof=1)) / 2)
    paired = (high - low).std(ddof=1) / np.sqrt(count)
    error = average * np.sqrt(2 / count) if test == "welch" else paired
    if not error > TINY:
        return made
    tested = ttest_ind(high, low, equal_var=False) if test == "welch" else ttest_rel(high, low)
    t, df, within = float(tested.statistic), float(tested.df), tested.confidence_interval()
    small = 1 - 3 / (4 * df - 1)  # Hedges' correction
    scale = error / average * small
    bounds = (nctdtrinc(df, share, t) * scale for share in (UPPER, LOWER))
    g_low, g_high = (round(float(bound), 3) for bound in bounds)
    return replace(
        made,
        interval=(round(float(within.low), DIGITS), round(float(within.high), DIGITS)),
        t=round(t, DIGITS),
        df=round(df, DIGITS),
        p=float(f"{tested.pvalue:.{DIGITS}g}"),
        g=round(float(t * scale), DIGITS),
        g_interval=(g_low, g_high),
    )


def _detectable(participants: int) -> float:
    """The smallest standardised difference that a paired test finds four times in five."""
    from statsmodels.stats.power import TTestPower

    return round(float(TTestPower().solve_power(nobs=participants, alpha=0.05, power=0.8)), 3)
