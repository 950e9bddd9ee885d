"""The human study: one page for those who answer, a key for whoever analyses, and the analysis.

The page names nobody and holds neither objective: what is high and what is low is in the key alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recourse_audit.bundle.layout import MANIFEST
from recourse_audit.bundle.manifest import digest, digest_of
from recourse_audit.bundle.reader import StoredAudit
from recourse_audit.errors import InputError
from recourse_audit.records.codec import STUDY_KEY
from recourse_audit.records.search import StudyCase, Tie
from recourse_audit.records.study import Level, Quadrant, ShownCase, StudyAnalysis, StudyKey
from recourse_audit.records.subject import SubjectReport
from recourse_audit.render.charts import draw_network
from recourse_audit.render.decision_axis import facts_of
from recourse_audit.render.drawing import SMALL, Axis, Drawing, Picture, Strip
from recourse_audit.render.i18n import Words, words_of
from recourse_audit.render.redaction import redact
from recourse_audit.render.subject import SubjectPage
from recourse_audit.render.templates import Templates

PAGE, KEY = "study.html", "key.json"
LEVELS: tuple[Level, Level] = ("high", "low")
# How far two histograms must differ, as a share of all probability, for people to see it.
VISIBLE = 0.1
Chances = dict[str, float]
Order = tuple[Level, Level]


def make_study(
    stored: StoredAudit, subjects: int, seed: int, language: str, templates: Templates, about: str
) -> dict[str, bytes]:
    """The page, which says what it is `about`, and the key; subjects are drawn from those able."""
    reports = [result.report for result in stored.results()]
    able = [report for report in reports if is_visible(report)]
    if not any(report.study_cases for report in reports):
        raise InputError(
            f"{stored.folder}: holds no cases for a study; set search.study = true in audit.toml "
            "and run the audit again"
        )
    if len(able) <= subjects:
        raise InputError(
            f"{stored.folder}: a study of {subjects} subjects needs {subjects + 1}, one of them to "
            f"practise on, whose cases differ visibly; {len(able)} of {len(reports)} have such "
            "cases; audit more people, or ask for fewer with --subjects"
        )
    generator = np.random.default_rng(seed)
    *chosen, practice = (able[place] for place in generator.permutation(len(able))[: subjects + 1])
    key = StudyKey(
        audit=digest(stored.folder / MANIFEST),
        seed=seed,
        language=language,
        subjects=len(reports),
        able=len(able),
        training=tuple(
            _show(practice, level, turned=place == 1) for place, level in enumerate(LEVELS)
        ),
        cases=arrange_cases(chosen, generator),
    )
    text = STUDY_KEY.write_indented(key)
    view = StudyPage(stored, key, digest_of(text), words_of(stored.settings, language, templates))
    page = templates.render("pages/study.html", view=view, about=about)
    return {PAGE: page.encode(), KEY: text.encode()}


def arrange_cases(
    chosen: Sequence[SubjectReport], generator: np.random.Generator
) -> tuple[ShownCase, ...]:
    """Both cases of each subject, such that no habit of position looks like a finding.

    Every subject comes once before any comes again, half of them at high simulatability first. At
    both levels, equally many counterfactuals of high relevance come third: half, rounded up.
    """
    halves = ([0, 1] * len(chosen))[: len(chosen)]
    low_first, *turned = (generator.permutation(halves).tolist() for _ in range(3))
    return tuple(
        _show(report, LEVELS[low], turned=bool(turned[low][place]))
        for again in (0, 1)
        for place, report in enumerate(chosen)
        for low in [low_first[place] ^ again]
    )


def is_visible(report: SubjectReport) -> bool:
    """Whether people can see in the histograms of a subject what is high and what is low."""
    whole = report.subject.probabilities
    if len(report.study_cases) < len(LEVELS):
        return False
    near, far = (case.explanation.probabilities for case in report.study_cases)
    steps = [_apart(whole, far) - _apart(whole, near)]
    for case in report.study_cases:
        answer = case.explanation.probabilities
        high, low = (_apart(answer, rest.probabilities) for rest in (case.high, case.low))
        steps.append(high - low)
    return min(steps) >= VISIBLE


def _apart(answer: Chances, other: Chances) -> float:
    return sum(abs(answer[name] - other[name]) for name in answer) / 2


def _show(report: SubjectReport, level: Level, *, turned: bool) -> ShownCase:
    case = report.study_cases[LEVELS.index(level)]
    return ShownCase(
        subject=report.subject.id,
        level=level,
        simulatability=case.explanation.simulatability,
        order=LEVELS[::-1] if turned else LEVELS,
        relevance=(case.high.relevance, case.low.relevance),
    )


class StudyPage:
    """What the page of a study asks for: every case as four graphs, those to practise on first."""

    points = range(1, 6)
    questions = "abcd"

    def __init__(self, stored: StoredAudit, key: StudyKey, study: str, words: Words) -> None:
        self.words = words
        self.study = study
        self.practice = len(key.training)
        self.facts = facts = facts_of(stored.settings)
        self.favourable, self.other = (
            words.series([words.class_name(name) for name in facts.classes if good(name)])
            for good in (facts.favourable.__contains__, lambda name: name not in facts.favourable)
        )
        self.cases = [self._open(stored, case) for case in (*key.training, *key.cases)]

    def _open(self, stored: StoredAudit, case: ShownCase) -> tuple[SubjectPage, StudyCase, Order]:
        """The page of the person whom a case is about, without a name; the case, and its order."""
        number = stored.number_of(case.subject)
        assert number is not None
        report, name = stored.report(number), self.words.say("study.person")
        report = redact(report, "reviewer", self.facts.protected, self.words, subject=name)
        page = SubjectPage(report, self.facts, words=self.words)
        return page, report.study_cases[LEVELS.index(case.level)], case.order

    def draw_network(self, page: SubjectPage, ties: Sequence[Tie], alt: str) -> Picture:
        """Who is near the person, with the ties of an explanation marked."""
        assert page.report.ego_network is not None
        return draw_network(page.report.ego_network, page.kinds, ties, alt)

    def draw_bar(self, share: float, alt: str) -> Picture:
        axis = Axis(low=0.0, high=1.0, line=0.0, width=200.0)
        return Strip(axis, alt, height=20).bar([("yes", share)]).picture()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisPage:
    """What the page of an analysis asks for, besides the records."""

    words: Words
    analysis: StudyAnalysis
    key: StudyKey

    def draw_counts(self, quadrant: Quadrant, alt: str) -> Picture:
        """How often each point was given: a column for each, on one scale with the others."""
        quadrants = [each for own in self.analysis.variances for each in own.quadrants]
        most = max(max(each.counts) / max(sum(each.counts), 1) for each in quadrants)
        drawing, total = Drawing(250.0, 116.0, alt), max(sum(quadrant.counts), 1)
        for point, count in enumerate(quadrant.counts):
            x, height = 50.0 * point, 76 * count / total / most
            drawing.part(("no", "no", "open", "yes", "yes")[point], x + 8, 96 - height, 34, height)
            look: dict[str, Any] = {"text_anchor": "middle", "font_size": SMALL}
            drawing.text(x + 25, 90 - height, self.words.number(count), **look)
            drawing.text(x + 25, 112, self.words.number(point + 1), fill="muted", **look)
        return drawing.picture()
