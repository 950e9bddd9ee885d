"""The report on one subject as a page shows it, at a level of redaction and in one language.

In: the report from the bundle. Out: a view in which everything is worded and formatted; templates
lay it out and decide nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from recourse_audit.records.report import NO_TIE_MOVES, SubjectReport
from recourse_audit.render.page_words import SUBJECT_WORDS, PageWords, english
from recourse_audit.render.pages.redaction import Level, redacted
from recourse_audit.render.pages.subject_annex import (
    ChecksView,
    RepeatView,
    Section,
    checks_view,
    letters_of,
    people_head,
    repeat_view,
)
from recourse_audit.render.pages.subject_axis import watched_of
from recourse_audit.render.pages.subject_caveats import CaveatsView, caveats_view
from recourse_audit.render.pages.subject_changes import before_signing
from recourse_audit.render.pages.subject_counterfactuals import (
    CounterfactualsView,
    counterfactuals_view,
)
from recourse_audit.render.pages.subject_findings import (
    Said,
    about_of,
    lead_of,
    note_of,
    title_of,
    warnings_of,
)
from recourse_audit.render.pages.subject_ladder import LadderView, ladder_view
from recourse_audit.render.pages.subject_neighbourhood import (
    NeighbourhoodView,
    neighbourhood_view,
)
from recourse_audit.render.pages.subject_own_data import (
    OwnDataView,
    SetsView,
    own_data_view,
    sets_view,
)
from recourse_audit.render.pages.subject_recourse import RecourseView, recourse_view
from recourse_audit.render.pages.subject_search import SearchView, search_view
from recourse_audit.render.pages.tables import AuditFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnexView:
    """The sections of the annex; None where the report has nothing for one."""

    search: SearchView | None
    caveats: CaveatsView | None
    checks: ChecksView
    people: Section | None
    own_data: OwnDataView | None
    sets: SetsView | None
    repeat: RepeatView


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectView:
    """What the report on one subject shows; links are relative, and empty where there is none."""

    words: PageWords
    title: str
    subject: str
    about: str
    index_link: str
    previous_link: str
    next_link: str
    letter_link: str
    warnings: tuple[Said, ...]
    lead: str
    note: Said | None
    ladder: LadderView
    recourse: RecourseView | None
    clerk: tuple[str, ...]
    counterfactuals: CounterfactualsView | None
    neighbourhood: NeighbourhoodView | None
    annex: AnnexView


def subject_view(
    report: SubjectReport,
    facts: AuditFacts,
    *,
    words: PageWords | None = None,
    level: Level = "auditor",
    members: Mapping[str, str] | None = None,
    index_link: str = "../index.html",
    previous_link: str = "",
    next_link: str = "",
    letter_link: str = "",
) -> SubjectView:
    """Word a report for one kind of reader.

    `members` are the subject's own values of protected attributes; only the auditor sees them.
    """
    words = words or english(*SUBJECT_WORDS)
    if report.moves_nothing:
        report = _without_counterfactuals(report)
    shown = redacted(report, level, facts.protected, words)
    watched = watched_of(shown, facts, words)
    letters = letters_of(shown, level)
    ladder = ladder_view(shown, level, watched, letters.get("sets", ""))
    near = neighbourhood_view(shown, level, words, letters.get("people", ""))
    return SubjectView(
        words=words,
        title=title_of(shown, words),
        subject=shown.subject.id,
        about=about_of(shown, words, level, members or {}),
        index_link=index_link,
        previous_link=previous_link,
        next_link=next_link,
        letter_link=letter_link,
        warnings=warnings_of(shown, words),
        lead=" ".join(lead_of(shown, watched)),
        note=note_of(shown, words),
        ladder=ladder,
        recourse=recourse_view(shown, shown.recourse, level, watched, facts)
        if shown.recourse
        else None,
        clerk=before_signing(shown, level, words),
        counterfactuals=counterfactuals_view(report, shown, level, watched),
        neighbourhood=near,
        annex=AnnexView(
            search=search_view(report, shown, level, watched, letters.get("search", "")),
            caveats=caveats_view(shown, level, words, letters.get("caveats", "")),
            checks=checks_view(shown.probes, words, letters["checks"]),
            people=people_head(len(near.people.rows), words, letters["people"]) if near else None,
            own_data=own_data_view(shown, watched, letters.get("own", "")),
            sets=sets_view(report, shown, level, watched, ladder.rest, letters.get("sets", "")),
            repeat=repeat_view(shown, facts, words, letters["repeat"]),
        ),
    )


def _without_counterfactuals(report: SubjectReport) -> SubjectReport:
    """The report on a subject whose answer no tie moves: whatever was tried explains nothing.

    Bundles of older versions caution about such ties, as if they had an effect.
    """
    return replace(
        report,
        counterfactuals=(),
        caveats=(),
        objective_grid=None,
        note=report.note or NO_TIE_MOVES,
    )
