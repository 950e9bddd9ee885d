"""Refusals on own data alone by group, as the group report shows them: counts, then gaps."""

from collections.abc import Iterator

from recourse_audit.records.group_figures import OwnDataRates
from recourse_audit.records.groups import GroupReport, OwnDataTable
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_words import attribute_name, few_people, name_in
from recourse_audit.render.pages.groups_tables import columns
from recourse_audit.render.pages.groups_words import between, confidence, points, share
from recourse_audit.render.pages.tables import Table, cells
from recourse_audit.render.text import plain


def own_data_note(report: GroupReport, words: Words) -> str:
    """What everybody's refusals on own data alone are, and what they are not."""
    own = report.own_data
    if not own.known:
        return words.say("report.own.not_known")
    if own.overall is None:
        return few_people(words, report.smallest)
    return words.say(
        "report.own.text",
        alone=share(words, own.overall.refused_alone.share),
        decided=share(words, own.overall.refused.share),
    )


def own_data_tables(report: GroupReport, words: Words) -> tuple[Table, ...]:
    """Two tables per attribute, and per two attributes crossed, of those that are shown."""
    return tuple(
        table
        for one in report.own_data.tables
        for table in _tables(report, one, words)
        if table.rows
    )


def _tables(report: GroupReport, found: OwnDataTable, words: Words) -> Iterator[Table]:
    attribute = attribute_name(found.table)
    yield Table(
        caption=words.say("report.own.by", attribute=attribute),
        columns=(
            *columns(words, "group_alone", kind="plain"),
            *columns(
                words,
                "decided",
                "refused",
                "refused_alone",
                "with_ties",
                "without_ties",
                "difference",
            ),
        ),
        rows=tuple(
            _row(name_in(words, report, found.table, name), one, words)
            for name, one in found.by_group.items()
        ),
    )
    sure = confidence(words, report)
    yield Table(
        caption=words.say("report.own.gaps", attribute=attribute),
        columns=(
            *columns(words, "group", kind="plain"),
            *columns(words, "alone_gap", "interval", "ties_gap", "interval", confidence=sure),
        ),
        rows=tuple(
            cells(
                f"{plain(one.group)} {words.say('board.against', reference=plain(one.reference))}",
                points(words, one.alone),
                between(words, one.alone_interval),
                points(words, one.difference),
                between(words, one.interval),
            )
            for one in found.gaps
        ),
    )


def _row(name: str, one: OwnDataRates, words: Words) -> tuple[tuple[str, ...], ...]:
    return cells(
        name,
        words.number(one.refused.of),
        share(words, one.refused.share),
        share(words, one.refused_alone.share),
        words.number(one.to_favourable),
        words.number(one.to_refused),
        points(words, one.difference),
    )
