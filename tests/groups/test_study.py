"""The analysis of the human study: sums of squares worked out by hand, and what is planted."""

from dataclasses import replace
from itertools import product
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from recourse_audit.errors import InputError
from recourse_audit.groups.study import analyse
from recourse_audit.records.study import (
    Difference,
    Level,
    Ratings,
    ShownCase,
    StudyAnalysis,
    StudyAnswers,
    StudyKey,
    Variance,
)

STUDY = "a" * 64
LEVELS: tuple[Level, Level] = ("high", "low")


def key_of(subjects: int) -> StudyKey:
    """Two cases per subject; the counterfactual of high relevance comes first in every other."""
    cases = [
        ShownCase(
            subject=f"P{subject}",
            level=level,
            simulatability=-0.1,
            order=("high", "low") if subject % 2 else ("low", "high"),
            relevance=(1.0 + subject, 0.1),
        )
        for subject, level in product(range(subjects), LEVELS)
    ]
    return StudyKey(
        audit=STUDY,
        seed=0,
        language="en",
        subjects=9,
        able=9,
        training=(),
        cases=tuple(cases),
    )


def answers_of(key: StudyKey, participants: int, *, interaction: float) -> list[StudyAnswers]:
    """Answers drawn around means; the interaction is how much relevance matters at high only."""
    random = np.random.default_rng(3)

    def rate(mean: float) -> int:
        return int(np.clip(np.rint(mean + random.normal(0, 0.8)), 1, 5))

    def ratings(case: ShownCase) -> Ratings:
        high = case.level == "high"
        means = {"low": 2.0, "high": 2.6 + interaction * high}
        third, fourth = (rate(means[level]) for level in case.order)
        return rate(4 if high else 2), third, fourth, rate(3.8 if high else 2.2)  # type: ignore[return-value]

    return [
        StudyAnswers(
            study=STUDY, participant=f"T{n}", version="A", answers=tuple(map(ratings, key.cases))
        )
        for n in range(participants)
    ]


def variance_of(analysis: StudyAnalysis, what: str) -> Variance:
    return next(each for each in analysis.variances if each.what == what)


def difference_of(
    analysis: StudyAnalysis, what: str, test: str, among: str | None = None
) -> Difference:
    return next(
        each
        for each in analysis.differences
        if (each.what, each.test, each.among) == (what, test, among)
    )


def test_a_balanced_table_has_the_sums_of_squares_of_a_hand_calculation() -> None:
    """Three participants, one subject: importance of 5, 4, 5 | 2, 1, 2 | 3, 2, 3 | 2, 3, 3."""
    key = key_of(2)
    key = StudyKey(**{**vars(key), "cases": tuple(c for c in key.cases if c.subject == "P1")})
    rows: list[tuple[Ratings, Ratings]] = [
        ((4, 5, 2, 4), (2, 3, 2, 2)),
        ((5, 4, 1, 4), (1, 2, 3, 1)),
        ((4, 5, 2, 5), (2, 3, 3, 2)),
    ]
    answers = [
        StudyAnswers(study=STUDY, participant=str(n), version="A", answers=row)
        for n, row in enumerate(rows)
    ]
    analysis = analyse(key, STUDY, answers)
    cells = {(1, 1): [5, 4, 5], (1, 0): [2, 1, 2], (0, 1): [3, 2, 3], (0, 0): [2, 3, 3]}
    mean = {cell: sum(values) / 3 for cell, values in cells.items()}
    grand = sum(mean.values()) / 4
    by_level = {a: (mean[a, 1] + mean[a, 0]) / 2 for a in (0, 1)}
    by_relevance = {b: (mean[1, b] + mean[0, b]) / 2 for b in (0, 1)}
    squares = {
        "simulatability": 6 * sum((by_level[a] - grand) ** 2 for a in (0, 1)),
        "relevance": 6 * sum((by_relevance[b] - grand) ** 2 for b in (0, 1)),
        "interaction": 3
        * sum((mean[a, b] - by_level[a] - by_relevance[b] + grand) ** 2 for a, b in cells),
    }
    residual = sum((value - mean[cell]) ** 2 for cell, values in cells.items() for value in values)
    made = variance_of(analysis, "importance")
    assert made.residual == pytest.approx(residual, abs=1e-6)
    for term in made.terms:
        own = squares[term.term]
        assert term.squares == pytest.approx(own, abs=1e-6)
        assert term.f == pytest.approx(own / (residual / 8), abs=1e-5)
        assert term.df == (1, 8)
        assert term.p == pytest.approx(stats.f.sf(own / (residual / 8), 1, 8), rel=1e-5)
        assert term.size == pytest.approx(own / (own + residual), abs=1e-6)
    assert squares["interaction"] == pytest.approx(27 / 4)
    paired = difference_of(analysis, "importance_by_level", "paired_participants")
    at_high, at_low = [3, 3, 3], [1, -1, 0]  # importance, high minus low relevance
    apart = [a - b for a, b in zip(at_high, at_low, strict=True)]
    assert paired.means == (3.0, 0.0)
    assert paired.t == pytest.approx(3 / (np.std(apart, ddof=1) / sqrt(3)), abs=1e-5)
    reach = stats.t.ppf(0.975, 2) * np.std(apart, ddof=1) / sqrt(3)
    assert paired.interval == pytest.approx((3 - reach, 3 + reach), abs=1e-5)
    average = sqrt((np.var(at_high, ddof=1) + np.var(at_low, ddof=1)) / 2)
    assert paired.g == pytest.approx((1 - 3 / 7) * 3 / average, abs=1e-5)
    welch = difference_of(analysis, "acceptance", "welch")
    expected = stats.ttest_ind([4, 4, 5], [2, 1, 2], equal_var=False)
    assert (welch.t, welch.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-5)


def test_effect_sizes_have_the_same_unit_whether_paired_or_not() -> None:
    """Acceptance of 4, 4, 5, 3 against 2, 1, 3, 1: average deviation √((2/3 + 11/12) / 2)."""
    key = key_of(1)
    rows: list[tuple[Ratings, Ratings]] = [
        ((4, 5, 2, 4), (2, 3, 2, 2)),
        ((5, 4, 1, 4), (1, 2, 3, 1)),
        ((4, 5, 2, 5), (2, 3, 3, 3)),
        ((4, 5, 2, 3), (2, 3, 3, 1)),
    ]
    analysis = analyse(
        key,
        STUDY,
        [
            StudyAnswers(study=STUDY, participant=str(n), version="A", answers=row)
            for n, row in enumerate(rows)
        ],
    )
    unpaired, paired = (
        difference_of(analysis, "acceptance", test) for test in ("welch", "paired_participants")
    )
    assert unpaired.means == paired.means == (4.0, 1.75)
    apart = 2.25 / sqrt((2 / 3 + 11 / 12) / 2)
    assert paired.g == pytest.approx((1 - 3 / 11) * apart, abs=1e-5)
    assert unpaired.df is not None
    assert unpaired.g == pytest.approx((1 - 3 / (4 * unpaired.df - 1)) * apart, abs=1e-5)
    assert paired.t is not None
    # The ends of the interval are the effects under which t is as extreme as 2.5 % of studies.
    assert paired.g is not None
    assert paired.g_interval is not None
    low, high = (end * paired.t / paired.g for end in paired.g_interval)
    assert stats.nct.sf(paired.t, 3, low) == pytest.approx(0.025, abs=0.002)
    assert stats.nct.cdf(paired.t, 3, high) == pytest.approx(0.025, abs=0.002)


def test_answers_to_the_mirrored_version_count_as_if_nothing_was_mirrored() -> None:
    key = key_of(3)
    answers = answers_of(key, 4, interaction=1.0)
    mirrored = [
        replace(
            each,
            version="B" if place % 2 else "A",
            answers=tuple((a, c, b, d) for a, b, c, d in each.answers)
            if place % 2
            else each.answers,
        )
        for place, each in enumerate(answers)
    ]
    analysis = analyse(key, STUDY, mirrored)
    assert analysis.mirrored == 2
    assert replace(analysis, mirrored=0) == analyse(key, STUDY, answers)


def test_an_unbalanced_table_equals_statsmodels() -> None:
    key = key_of(5)  # two of five subjects are above the median
    answers = answers_of(key, 7, interaction=1.0)
    rows = [
        {
            "rating": given[3],
            "level": case.level,
            "relevance": "high" if case.relevance[0] > 3 else "low",
        }
        for each in answers
        for given, case in zip(each.answers, key.cases, strict=True)
    ]
    fitted = ols("rating ~ C(level, Sum) * C(relevance, Sum)", pd.DataFrame(rows)).fit()
    table = anova_lm(fitted, typ=2)
    made = variance_of(analyse(key, STUDY, answers), "acceptance")
    assert sum(sum(each.counts) for each in made.quadrants) == 70
    for term, squares, f, p in zip(
        made.terms, table["sum_sq"], table["F"], table["PR(>F)"], strict=False
    ):
        assert (term.squares, term.f) == pytest.approx((squares, f), abs=1e-5)
        assert term.p == pytest.approx(p, rel=1e-4)
        low, high = (share * (70 / (1 - share)) for share in (term.low, term.high))
        if term.low:
            assert stats.ncf.sf(term.f, 1, 66, low) == pytest.approx(0.025, abs=0.003)
        assert stats.ncf.cdf(term.f, 1, 66, high) == pytest.approx(0.025, abs=0.003)


@pytest.mark.parametrize(("interaction", "planted"), [(1.6, True), (0.0, False)])
def test_an_interaction_is_found_where_it_is_planted(interaction: float, planted: bool) -> None:
    key = key_of(5)
    analysis = analyse(key, STUDY, answers_of(key, 10, interaction=interaction))
    made = variance_of(analysis, "importance")
    term = next(term for term in made.terms if term.term == "interaction")
    assert (term.p < 0.001) is planted
    assert (term.low > 0.0) is planted
    paired = difference_of(analysis, "importance_by_level", "paired_participants")
    assert paired.interval is not None
    assert (paired.interval[0] > 0) is planted


def test_those_who_answer_everything_alike_are_left_out_and_counted() -> None:
    key = key_of(3)
    answers = answers_of(key, 4, interaction=1.0)
    alike = StudyAnswers(study=STUDY, participant="same", version="A", answers=((3, 3, 3, 3),) * 6)
    with_alike = analyse(key, STUDY, [alike, *answers])
    assert with_alike.left_out == ("same",)
    assert with_alike.participants == 4
    assert with_alike.differences == analyse(key, STUDY, answers).differences
    with pytest.raises(InputError, match="at least 3 participants"):
        analyse(key, STUDY, [alike, *answers[:2]])


def test_without_spread_nothing_is_tested() -> None:
    key = key_of(2)
    row: tuple[Ratings, ...] = tuple((4, 3, 3, 5) for _ in key.cases)
    answers = [
        StudyAnswers(study=STUDY, participant=str(n), version="A", answers=row) for n in range(3)
    ]
    analysis = analyse(key, STUDY, answers)
    assert all(each.terms == () for each in analysis.variances)
    assert {each.p for each in analysis.differences} == {None}


def test_more_participants_find_smaller_differences() -> None:
    key = key_of(2)
    few, many = (
        analyse(key, STUDY, answers_of(key, count, interaction=1.0)).detectable for count in (3, 30)
    )
    assert few > 3
    assert 0.5 < many < 1
