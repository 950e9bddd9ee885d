"""Own data alone, and sets of ties on the whole graph: two sections of the annex."""

from dataclasses import dataclass

from recourse_audit.records.report import SubjectReport
from recourse_audit.render.own_data import own_data_sentences
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.subject_annex import Section
from recourse_audit.render.pages.subject_axis import Watched
from recourse_audit.render.pages.subject_ladder import then
from recourse_audit.render.pages.subject_ties import shown_ties, ties_between
from recourse_audit.render.pages.tables import Column, Table, cells
from recourse_audit.render.whole_graph import carriers_coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDataView:
    """What the model answers with all ties removed."""

    head: Section
    sentences: tuple[str, ...]


def own_data_view(shown: SubjectReport, watched: Watched, letter: str) -> OwnDataView | None:
    """Own data alone; None where nothing was asked or said."""
    words = watched.words
    sentences = own_data_sentences(shown, words)
    if not sentences:
        return None
    return OwnDataView(
        head=Section(
            letter=letter,
            title=words.say("subject.own.title"),
            about=words.say("subject.own.about"),
        ),
        sentences=tuple(sentences),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SetsView:
    """The sets of ties that move the decision farthest on the whole graph, and the rest of own."""

    head: Section
    sentence: str
    table: Table | None
    rest: Table | None
    note: str


def sets_view(
    report: SubjectReport,
    shown: SubjectReport,
    level: Level,
    watched: Watched,
    rest: Table | None,
    letter: str,
) -> SetsView | None:
    """The front of size against effect, and how far the search for it went."""
    words = watched.words
    if report.carriers is None or shown.carriers is None:
        return None
    between = ties_between(report)
    rows = tuple(
        cells(
            words.number(other.size),
            shown_ties(one.removed, other.removed, between, level, words),
            watched.pair(watched.decided, watched.value(other)),
            then(words, other),
        )
        for one, other in zip(report.carriers.front, shown.carriers.front, strict=True)
    )
    table = Table(
        caption=words.say("subject.sets.caption"),
        columns=(
            Column(heading=words.say("subject.sets.ties"), kind="figures"),
            Column(heading=words.say("subject.sets.removed")),
            Column(heading=watched.name, kind="figures"),
            Column(heading=words.say("subject.sets.decision")),
        ),
        rows=rows,
    )
    return SetsView(
        head=Section(
            letter=letter,
            title=words.say("subject.sets.title"),
            about=words.say("subject.sets.about", most=words.number(shown.carriers.max_ties)),
        ),
        sentence="" if rows else words.say("subject.sets.none"),
        table=table if rows else None,
        rest=rest,
        note=f"{carriers_coverage(shown.carriers, words)} {words.say('subject.sets.note')}",
    )
