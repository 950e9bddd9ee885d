"""The paper's human study: what was shown in which order, what people answered, and the analysis.

High and low are the levels of simulatability of an explanation, and of relevance of its two
counterfactuals, within the explanations of one subject.
"""

from typing import Literal

from recourse_audit.records import Record

Level = Literal["high", "low"]
Factor = Literal["simulatability", "relevance", "interaction"]
Topic = Literal["perceived", "acceptance", "importance", "importance_by_level"]
Test = Literal["welch", "paired_answers", "paired_participants"]
Rating = Literal[1, 2, 3, 4, 5]
Version = Literal["A", "B"]  # of the page; in B, the third and the fourth graph change places
# The paper's questions: how well the explanation reproduces the answer, how important what its
# third and its fourth graph leave out is, and how acceptable the explanation is.
Ratings = tuple[Rating, Rating, Rating, Rating]


class ShownCase(Record):
    """A case of a study; `order` has the relevance of the third graph, then of the fourth, in A.

    `relevance` is |μ| of the counterfactual of high relevance, then of that of low relevance.
    """

    subject: str
    level: Level
    simulatability: float
    order: tuple[Level, Level]
    relevance: tuple[float, float]


class StudyKey(Record):
    """What those who answer must not know: whom each case is about, and what is high and low.

    `audit` is the digest of the manifest of the bundle. `able` of its `subjects` have cases in
    which people can see what is high and what is low. The digest of this document names the study.
    """

    format: Literal[1] = 1
    audit: str
    seed: int
    language: str
    subjects: int
    able: int
    training: tuple[ShownCase, ...]
    cases: tuple[ShownCase, ...]


class StudyAnswers(Record):
    """What one person answered to each case of the study with this digest, in order, as shown.

    `version` is the one that the page showed: A if the last character of the code is odd (1, 3, a,
    c), B if it is even (2, 4, b, d).
    """

    format: Literal[1] = 1
    study: str
    participant: str
    version: Version
    answers: tuple[Ratings, ...]


class Term(Record):
    """One term of an analysis of variance; `size` is partial η², `low` to `high` its interval."""

    term: Factor
    squares: float
    f: float
    df: tuple[int, int]
    p: float
    size: float
    low: float
    high: float


class Difference(Record):
    """How much higher the mean of what is high is than that of what is low, over `count` values.

    `test` is Welch's over all answers, or paired, over answers or over the means of participants.
    `g` is Hedges' g with its interval, in units of the average standard deviation of both sides.
    Figures are None where all values, or all differences, are equal, so that nothing can be tested.
    """

    what: Topic
    among: Level | None
    test: Test
    count: int
    means: tuple[float, float]
    interval: tuple[float, float] | None = None
    t: float | None = None
    df: float | None = None
    p: float | None = None
    g: float | None = None
    g_interval: tuple[float, float] | None = None


class Quadrant(Record):
    """How often each point from 1 to 5 was given under one of the four conditions."""

    simulatability: Level
    relevance: Level
    counts: tuple[int, ...]


class Variance(Record):
    """A two-way analysis of variance; no `terms` where a condition or all variance is missing."""

    what: Topic
    quadrants: tuple[Quadrant, ...]
    terms: tuple[Term, ...]
    residual: float


class StudyAnalysis(Record):
    """The analysis of a study; `left_out` are those who gave the same answer to everything.

    `mirrored` is how many of the `participants` saw version B of the page.
    `detectable` is the smallest difference, in standard deviations of the differences between
    participants, that a paired test of so many participants finds four times in five.
    """

    format: Literal[1] = 1
    study: str
    participants: int
    mirrored: int
    left_out: tuple[str, ...]
    subjects: int
    detectable: float
    variances: tuple[Variance, ...]
    differences: tuple[Difference, ...]
