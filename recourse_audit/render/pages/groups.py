"""The page of the group report: the board block, every attribute, what is open, and an annex.

In: a group report. Out: one record with every sentence, table and chart of the page, in the
language of its words. The annex has all figures; on a screen it is folded, on paper it is not.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from recourse_audit.records.groups import GroupReport
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board import Board, board_view
from recourse_audit.render.pages.board_words import attribute_name, crossed, singles
from recourse_audit.render.pages.groups_actions import (
    action_sets,
    action_tables,
    actions_note,
    overall_actions,
)
from recourse_audit.render.pages.groups_charts import (
    AttributeView,
    attributes,
    common_chart,
    cut_off_notes,
)
from recourse_audit.render.pages.groups_error_rates import (
    error_rate_notes,
    error_rate_tables,
    more_error_tables,
)
from recourse_audit.render.pages.groups_method import agreement, day_of, facts, method
from recourse_audit.render.pages.groups_own_data import own_data_note, own_data_tables
from recourse_audit.render.pages.groups_tables import (
    common_table,
    cut_off_table,
    every_test,
    exploratory,
    impact_ratios,
    left_out_table,
    not_settled,
)
from recourse_audit.render.pages.groups_words import ratio
from recourse_audit.render.pages.tables import ChartTable, Fact, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Another file of the bundle."""

    address: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Annex:
    """A part of the annex: what is said of its tables, and the tables."""

    title: str
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsView:
    """What the page shows; parts without anything to show are left out by the template."""

    words: Words
    title: str
    day: str
    links: tuple[Link, ...]
    board: Board
    agreement: tuple[str, ...]
    attributes: tuple[AttributeView, ...]
    cut_off_notes: tuple[str, ...]
    common: ChartTable | None
    actions_note: str
    action_sets: tuple[str, ...]
    actions: Table | None
    error_rate_notes: tuple[str, ...]
    error_rates: tuple[Table, ...]
    not_settled: tuple[Table, ...]
    annex: tuple[Annex, ...]


def groups_view(
    report: GroupReport, *, words: Words | None = None, paper: bool = True
) -> GroupsView:
    """Make the page; `paper` says whether there is a PDF of it."""
    said = words or Words()
    return GroupsView(
        words=said,
        title=said.say("page.groups"),
        day=day_of(report.ran, said),
        links=tuple(_links(said, paper=paper)),
        board=board_view(report, said),
        agreement=agreement(report.agreement, said),
        attributes=attributes(report, said),
        cut_off_notes=tuple(cut_off_notes(report, said)),
        common=common_chart(report, said),
        actions_note=actions_note(report, said),
        action_sets=action_sets(report, said),
        actions=overall_actions(report, said),
        error_rate_notes=error_rate_notes(report, said),
        error_rates=error_rate_tables(report, said),
        not_settled=tuple(_not_settled(report, said)),
        annex=tuple(one for one in _annex(report, said) if one.notes or one.tables or one.facts),
    )


def _links(words: Words, *, paper: bool) -> Iterator[Link]:
    yield Link(address="index.html", words=words.say("page.index"))
    if paper:
        yield Link(address="groups.pdf", words=words.say("page.pdf"))
    yield Link(address="groups.csv", words=words.say("report.csv"))


def _not_settled(report: GroupReport, words: Words) -> Iterator[Table]:
    for tables, key in ((singles(report), "single"), (crossed(report), "crossed")):
        found = not_settled(report, tables, words.say(f"report.open.{key}"), words)
        if found.rows:
            yield found


def _annex(report: GroupReport, words: Words) -> Iterator[Annex]:
    single, both = singles(report), crossed(report)
    tests = [
        every_test(report, tables, words.say(f"report.tests.{key}"), words)
        for tables, key in ((single, "single"), (both, "crossed"))
    ]
    tests.append(exploratory(report, single, words))
    plus = words.say("report.plus")
    yield Annex(
        title=words.say("report.tests"),
        notes=(plus,),
        tables=tuple(one for one in tests if one.rows),
    )
    line = ratio(words, report.four_fifths)
    yield Annex(
        title=words.say("report.impact"),
        notes=(words.say("report.impact.text", line=line),),
        tables=tuple(impact_ratios(report, table, words) for table in (*single, *both)),
    )
    own = own_data_tables(report, words)
    yield Annex(
        title=words.say("report.own"),
        notes=(own_data_note(report, words), *([plus] if own else [])),
        tables=own,
    )
    yield Annex(title=words.say("report.errors.more"), tables=more_error_tables(report, words))
    actions = action_tables(report, words)
    yield Annex(
        title=words.say("report.actions.groups"),
        notes=(plus,) if actions else (),
        tables=actions,
    )
    options = [
        common_table(report, words),
        *(cut_off_table(report, one, words) for one in report.cut_off),
    ]
    yield Annex(
        title=words.say("report.options"),
        notes=(words.say("report.served_only"),) if any(one.rows for one in options) else (),
        tables=tuple(one for one in options if one.rows),
    )
    yield Annex(
        title=words.say("report.left_out"),
        notes=tuple(_left_out_notes(report, words)),
        tables=(left_out_table(report, words),) if report.left_out else (),
    )
    yield Annex(
        title=words.say("report.method"), notes=method(report, words), facts=facts(report, words)
    )


def _left_out_notes(report: GroupReport, words: Words) -> Iterator[str]:
    """The rule by which groups are pooled and tables left out, and whether any are."""
    yield words.say("report.left_out.rule", smallest=words.number(report.smallest))
    if not report.pooled and not report.left_out:
        yield words.say("report.left_out.nothing")
    for table in report.tables:
        for group in table.by_group:
            if group.pooled:
                what = attribute_name(table.name)
                yield words.say_count("report.left_out.pooled", group.pooled, attribute=what)
