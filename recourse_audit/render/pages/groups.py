"""The page of the group report: what was compared, the results, and what remains open.

In: a group report. Out: one record with every sentence, table and chart of the page. The first part
is made to fit about three sheets of paper; the annex has all figures.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from recourse_audit.groups.action_wording import introduction, set_sentences
from recourse_audit.groups.error_rate_words import error_rate_sentences
from recourse_audit.groups.wording import own_data_sentence
from recourse_audit.records.group_figures import PRIMARY
from recourse_audit.records.groups import CutOffTable, GroupReport
from recourse_audit.render.agreement import agreement_sentences
from recourse_audit.render.page_words import GROUP_WORDS, PageWords, english
from recourse_audit.render.pages.groups_actions import action_tables
from recourse_audit.render.pages.groups_charts import (
    Figure,
    common_figure,
    common_table,
    curves_figure,
    cut_off_figure,
    cut_off_table,
    gaps_figure,
)
from recourse_audit.render.pages.groups_error_rates import error_rate_notes, error_rate_tables
from recourse_audit.render.pages.groups_own_data import own_data_tables
from recourse_audit.render.pages.groups_sentences import (
    crossed,
    facts,
    glance_note,
    impact_note,
    lead,
    open_questions,
    sentences,
    singles,
    tests,
    warnings,
    withheld_note,
)
from recourse_audit.render.pages.groups_tables import (
    GlancePart,
    every_test,
    exploratory,
    glance,
    impact_ratios,
    withheld_list,
)
from recourse_audit.render.pages.tables import Fact, Table
from recourse_audit.render.text import plain

TITLE = "Group report"
EVERYBODY_AUDITED = (
    "Costs and medians include everybody audited: people without an option count as beyond every "
    "cost. The costs of people with an option alone would make the group with the fewest options "
    "look best."
)
SERVED_ONLY = (
    "Only people with an option are counted here. This says nothing about what would be asked of "
    "the people who have none."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Another file of the bundle."""

    address: str
    words: str


INDEX = Link(address="index.html", words="Index of the audit")
AS_PDF = Link(address="groups.pdf", words="This report as PDF")
AS_CSV = Link(address="groups.csv", words="Its figures as CSV")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsView:
    """What the page shows."""

    words: PageWords
    title: str
    links: tuple[Link, ...]
    agreement: tuple[str, ...]
    warnings: tuple[str, ...]
    lead: str
    findings: tuple[str, ...]
    facts: tuple[Fact, ...]
    parts: tuple[GlancePart, ...]
    glance_note: str
    open_questions: tuple[str, ...]
    main_gap: Figure | None
    main_curve: Figure | None
    main_cut_off: Figure | None
    common: Figure | None
    everybody_audited: str
    served_only: str
    tests: tuple[str, ...]
    impact_note: str
    impacts: tuple[Table, ...]
    more_figures: tuple[Figure, ...]
    option_tables: tuple[Table, ...]
    option_notes: tuple[str, ...]
    test_tables: tuple[Table, ...]
    exploratory: Table
    actions_note: str
    action_sets: tuple[str, ...]
    actions: tuple[Table, ...]
    own_data_note: str
    own_data: tuple[Table, ...]
    error_rate_notes: tuple[str, ...]
    error_rates: tuple[Table, ...]
    withheld: Table
    withheld_note: str


def groups_view(
    report: GroupReport, *, words: PageWords | None = None, paper: bool = True
) -> GroupsView:
    """Make the page; `paper` says whether there is a PDF of it."""
    single, both = singles(report), crossed(report)
    main = _main_attribute(report)
    figures = _figures(report)
    return GroupsView(
        words=words or english(*GROUP_WORDS),
        title=TITLE,
        links=(INDEX, *([AS_PDF] if paper else []), AS_CSV),
        agreement=() if report.agreement is None else agreement_sentences(report.agreement),
        warnings=tuple(warnings(report)),
        lead=lead(report),
        findings=sentences(report),
        facts=tuple(facts(report)),
        parts=glance(report),
        glance_note=glance_note(report),
        open_questions=tuple(open_questions(report)),
        main_gap=_main_gap(figures),
        main_curve=figures.pop(f"curve {main}", None),
        main_cut_off=figures.pop(f"cut {main}", None),
        common=common_figure(report),
        everybody_audited=EVERYBODY_AUDITED,
        served_only=SERVED_ONLY,
        tests=tuple(tests(report)),
        impact_note=impact_note(report),
        impacts=tuple(impact_ratios(table, report.four_fifths) for table in (*single, *both)),
        more_figures=tuple(figures.values()),
        option_tables=tuple(_option_tables(report)),
        option_notes=tuple(
            f"{plain(table.attribute)}: {plain(table.note)}"
            for table in report.cut_off
            if table.note
        ),
        test_tables=tuple(
            every_test(tables, caption, sum(one.family == family for one in report.tests))
            for tables, caption, family in (
                (single, "Every test of one attribute", "single"),
                (both, "Every test of two attributes crossed", "crossed"),
            )
            if tables
        ),
        exploratory=exploratory(single),
        actions_note=introduction(report.common_actions, report.smallest),
        action_sets=tuple(map(plain, set_sentences(report.common_actions))),
        actions=action_tables(report),
        own_data_note=own_data_sentence(report.own_data),
        own_data=own_data_tables(report),
        error_rate_notes=tuple(_error_rate_notes(report)),
        error_rates=error_rate_tables(report),
        withheld=withheld_list(report.suppressed),
        withheld_note=withheld_note(report),
    )


def _main_gap(figures: dict[str, Figure]) -> Figure | None:
    """The chart of gaps in having an option, or of refusals where options are withheld."""
    for measure in ("feasibility", "adverse_rate"):
        if f"gap {measure}" in figures:
            return figures.pop(f"gap {measure}")
    return None


def _main_attribute(report: GroupReport) -> str:
    """The attribute with the most gaps shown; the first, if several have equally many."""
    single = singles(report)
    if not single:
        return ""
    flags = [sum(one.verdict == "gap shown" for one in table.comparisons) for table in single]
    return single[flags.index(max(flags))].name


def _figures(report: GroupReport) -> dict[str, Figure]:
    """Every chart by what it shows, in reading order."""
    single = singles(report)
    captions = {
        "feasibility": "Gaps in having an option",
        "adverse_rate": "Gaps in refusals",
        "cost": "Gaps in the cost of the cheapest option",
    }
    found: dict[str, Figure | None] = {
        f"gap {measure}": gaps_figure(single, measure, captions[measure]) for measure in PRIMARY
    }
    found |= {f"curve {table.name}": curves_figure(table) for table in single}
    found |= {f"cut {table.attribute}": cut_off_figure(table) for table in _first(report)}
    return {name: figure for name, figure in found.items() if figure is not None}


def _first(report: GroupReport) -> list[CutOffTable]:
    return [table for table in report.cut_off if table.options == "first"]


def _error_rate_notes(report: GroupReport) -> Iterator[str]:
    """What is said of everybody's error rates, and what single tables go without."""
    if report.error_rates is not None:
        yield plain(" ".join(error_rate_sentences(report.error_rates)))
        yield from error_rate_notes(report)


def _option_tables(report: GroupReport) -> Iterator[Table]:
    """Common options, then whom the options cut off; empty tables are left out."""
    tables = [common_table(report), *(cut_off_table(table) for table in report.cut_off)]
    yield from (table for table in tables if table.rows)
