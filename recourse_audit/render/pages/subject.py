"""The report on one subject as a page shows it, at a level of redaction.

In: the report from the bundle. Out: a view in which everything is worded and formatted; templates
lay it out and decide nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from recourse_audit.records.model import ProbeReport
from recourse_audit.records.report import NO_TIE_MOVES, SubjectReport
from recourse_audit.render.answers import decided_words, margin_words, rule_sentence
from recourse_audit.render.charts.histograms import Look, looks_of
from recourse_audit.render.charts.neighbourhood import Pair
from recourse_audit.render.charts.own_data import own_data_chart
from recourse_audit.render.charts.svg import Picture
from recourse_audit.render.own_data import (
    HEADING,
    HOW_TO_READ,
    answer_rows,
    own_data_sentences,
    watched_value,
)
from recourse_audit.render.page_words import SUBJECT_WORDS, PageWords, english
from recourse_audit.render.pages.redaction import SAID, Level, redacted
from recourse_audit.render.pages.subject_carriers import (
    CarriersView,
    carriers_view,
    disagreements,
)
from recourse_audit.render.pages.subject_recourse import (
    CaveatView,
    RecourseView,
    caveat_views,
    recourse_view,
)
from recourse_audit.render.pages.subject_search import (
    counterfactual_table,
    explanation_facts,
    histogram_picture,
    limit_sentence,
    neighbourhood_of,
    neighbourhood_pictures,
    objective_picture,
    people_table,
    remark_on,
    tie_words,
)
from recourse_audit.render.pages.tables import AuditFacts, Column, Fact, Table, cells, provenance
from recourse_audit.render.text import PROBE_MEANINGS, coverage_words, number, plain

SCORES_NOTE = (
    "The model gives scores: for both objectives, a score counts as a normal distribution around "
    "it, with the standard deviation of everybody's scores."
)
NOTHING = "There is nothing to explain by ties."


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDataView:
    """What the model answers on own data alone, and with data and places exchanged."""

    heading: str
    sentences: tuple[str, ...]
    picture: Picture | None
    caption: str
    how_to_read: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectView:
    """What the report on one subject shows; links are relative, and empty where there is none."""

    words: PageWords
    title: str
    subject: str
    mark: str
    mark_sign: str
    copy: str
    index_link: str
    letter_link: str
    warnings: tuple[str, ...]
    summary: str
    decision_facts: tuple[Fact, ...]
    histograms: Picture | None
    histograms_title: str
    scores_note: str
    explanation: tuple[Fact, ...]
    remark: str
    nothing: str
    neighbourhood: Pair | None
    limit: str
    people: Table | None
    counterfactuals: Table | None
    disagreements: tuple[str, ...]
    carriers: CarriersView | None
    carriers_first: bool
    objective_grid: Picture | None
    own_data: OwnDataView | None
    recourse: RecourseView | None
    caveats: tuple[CaveatView, ...]
    search_facts: tuple[Fact, ...]
    probes: Table
    provenance: tuple[Fact, ...]


def subject_view(
    report: SubjectReport,
    facts: AuditFacts,
    *,
    words: PageWords | None = None,
    level: Level = "auditor",
    members: Mapping[str, str] | None = None,
    index_link: str = "../index.html",
    letter_link: str = "",
) -> SubjectView:
    """Word a report for one kind of reader.

    `members` are the subject's own values of protected attributes; only the auditor sees them.
    """
    if report.moves_nothing:
        report = _without_counterfactuals(report)
    shown = redacted(report, level, facts.protected)
    decision, found = shown.subject, shown.counterfactuals
    looks = _looks(facts)
    ties = tie_words(report, shown, level)
    near = neighbourhood_of(shown, level, looks)
    return SubjectView(
        words=words or english(*SUBJECT_WORDS),
        title=f"{decision.id}: {decision.decision or 'no decision'}",
        subject=decision.id,
        mark="favourable" if decision.favourable else "unfavourable",
        mark_sign="●" if decision.favourable else "■",
        copy=SAID[level],
        index_link=index_link,
        letter_link=letter_link,
        warnings=tuple(words for words in (shown.error, *shown.probes.notes.values()) if words),
        summary=_summary(shown),
        decision_facts=_decision_facts(shown, (members or {}) if level == "auditor" else {}),
        histograms=histogram_picture(shown, looks),
        scores_note=SCORES_NOTE if shown.decision.scored else "",
        histograms_title="The score" if shown.decision.scored else "Probability of each class",
        explanation=explanation_facts(shown, ties),
        remark=remark_on(shown),
        nothing="" if found else shown.note or NOTHING,
        neighbourhood=neighbourhood_pictures(near),
        limit=limit_sentence(near),
        people=people_table(near),
        counterfactuals=counterfactual_table(shown, ties),
        disagreements=disagreements(shown),
        carriers=carriers_view(report, shown, level),
        carriers_first=facts.prefer == "whole_graph",
        objective_grid=objective_picture(shown),
        own_data=_own_data(shown),
        recourse=recourse_view(shown, shown.recourse, level) if shown.recourse else None,
        caveats=caveat_views(shown, level),
        search_facts=_search_facts(shown),
        probes=_probes(shown.probes),
        provenance=provenance(facts),
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


def _looks(facts: AuditFacts) -> dict[str, Look]:
    favourable = [plain(name) for name in facts.favourable]
    return looks_of([plain(name) for name in facts.classes], favourable)


def _summary(shown: SubjectReport) -> str:
    decision = shown.subject
    if not decision.decision:
        return "The model gave no usable answer for this subject."
    kind = "favourable" if decision.favourable else "unfavourable"
    rule = rule_sentence(shown.decision)
    return (
        f"The model decided {decision.decision}{decided_words(shown)} on the whole graph. This "
        f"counts as {kind}.{f' {rule}' if rule else ''}"
    )


def _own_data(shown: SubjectReport) -> OwnDataView | None:
    found = shown.own_data
    sentences = own_data_sentences(shown)
    if found is None or not sentences:
        return None
    rows = answer_rows(shown, found)
    watched = watched_value(shown)
    exchanged = found.cells is not None
    return OwnDataView(
        heading=HEADING,
        sentences=tuple(sentences),
        picture=own_data_chart(rows, watched, scored=shown.decision.scored) if exchanged else None,
        caption=f"The {watched}, over {number(found.draws, 'draw')} of two other people",
        how_to_read=HOW_TO_READ if exchanged else "",
    )


def _decision_facts(shown: SubjectReport, members: Mapping[str, str]) -> tuple[Fact, ...]:
    facts = [Fact(name="Decision", value=shown.subject.decision or "none")]
    if shown.decision.margin is not None:
        value = margin_words(shown.decision, shown.decision.margin)
        facts.append(Fact(name="Margin", value=value))
    if shown.decision.recorded:
        facts.append(Fact(name="Decision on record", value=plain(shown.decision.recorded)))
    depth = shown.probes.depth
    reach = "every node, however far" if depth is None else f"nodes within {number(depth, 'hop')}"
    facts.append(Fact(name="Reach of the model", value=reach))
    facts += [
        Fact(name=plain(name).capitalize(), value=plain(value)) for name, value in members.items()
    ]
    return tuple(facts)


def _search_facts(shown: SubjectReport) -> tuple[Fact, ...]:
    search = shown.search
    if search is None:
        return ()
    extent = f"of up to {number(search.max_nodes, 'node')} within {number(search.max_hops, 'hop')}"
    asked = [f"{search.queries:,} for the search"]
    if shown.recourse is not None:
        asked.append(f"{shown.recourse.evaluations:,} for options")
    return (
        Fact(name="Coverage", value=f"{coverage_words(search)} {extent}"),
        Fact(name="Pairs", value=f"{search.pairs:,}, {shown.front_size:,} of them on the front"),
        Fact(
            name="Queries",
            value=f"{shown.queries:,} in total, including {' and '.join(asked)}{_repeats(shown)}",
        ),
    )


def _repeats(shown: SubjectReport) -> str:
    return f"; {shown.repeats}" if shown.repeats.calls else ""


def _probes(probes: ProbeReport) -> Table:
    passed = {name: name not in probes.failed for name in PROBE_MEANINGS}
    return Table(
        caption="What can be relied on in the model",
        columns=(
            Column(heading="Probe"),
            Column(heading="What it checks"),
            Column(heading="Passed"),
        ),
        rows=tuple(
            cells(name.replace("_", " "), meaning, "yes" if passed[name] else "NO")
            for name, meaning in PROBE_MEANINGS.items()
        ),
    )
