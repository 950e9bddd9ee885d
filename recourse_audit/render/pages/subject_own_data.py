"""Own data against surroundings, and sets of ties on the whole graph: two sections of the annex."""

from dataclasses import dataclass

from recourse_audit.records.report import SubjectReport
from recourse_audit.render.charts.strips import Axis, Strip, axis_row
from recourse_audit.render.charts.svg import ticks, widened
from recourse_audit.render.own_data import answer_rows, own_data_sentences, watched_value
from recourse_audit.render.pages.redaction import Level
from recourse_audit.render.pages.subject_annex import Section
from recourse_audit.render.pages.subject_axis import QUARTERS, WIDE, Watched
from recourse_audit.render.pages.subject_ladder import then
from recourse_audit.render.pages.subject_ties import shown_ties, ties_between
from recourse_audit.render.pages.tables import ChartRow, ChartTable, Column, Table, cells
from recourse_audit.render.whole_graph import carriers_coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDataView:
    """What the model answers with data and places exchanged."""

    head: Section
    sentences: tuple[str, ...]
    chart: ChartTable | None


def own_data_view(shown: SubjectReport, watched: Watched, letter: str) -> OwnDataView | None:
    """Own data against surroundings; None where nothing was asked or said."""
    found, words = shown.own_data, watched.words
    sentences = own_data_sentences(shown, words)
    if found is None or not sentences:
        return None
    return OwnDataView(
        head=Section(
            letter=letter,
            title=words.say("subject.own.title"),
            about=words.say("subject.own.about"),
        ),
        sentences=tuple(sentences),
        chart=_exchanged(shown, watched) if found.cells is not None else None,
    )


def _exchanged(shown: SubjectReport, watched: Watched) -> ChartTable:
    found, words = shown.own_data, watched.words
    assert found is not None
    rows = answer_rows(shown, found, words)
    low, high = 0.0, 1.0
    places: tuple[float, ...] = QUARTERS
    if shown.decision.scored:
        low, high = widened(min(row.low for row in rows), max(row.high for row in rows))
        room = (high - low) * 0.06
        low, high = low - room, high + room
        places = tuple(ticks(low, high, 4))
    line = watched.line if watched.kind != "lead" else None
    drawn = line if line is not None and low <= line <= high else None
    axis = Axis(low=low, high=high, ticks=places, line=drawn, width=WIDE)
    return ChartTable(
        title="",
        rows=tuple(
            ChartRow(
                label=row.name,
                picture=Strip(axis, f"{row.name}: {row.words}")
                .interval(row.mean, row.low, row.high, filled=row.low == row.high)
                .picture(),
                figure=row.words,
                words=f"; {words.say('subject.own.favourably', share=row.favourable)}",
            )
            for row in rows
        ),
        axis=axis_row(axis, [words.number(tick) for tick in places], watched_value(shown, words)),
        head=(
            words.say("subject.own.whose"),
            watched_value(shown, words),
            words.say("subject.own.answers"),
        ),
        note=words.say_count("subject.own.how_to_read", found.draws),
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
