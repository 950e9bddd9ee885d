"""The group summary for a board: what was compared, what came of it, and what is left open.

In: the report on groups. Out: one record with every sentence, table and picture of the page. The
first part is made to fit about two sheets of paper; the annex has every figure behind it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from recourse_audit.groups.records import (
    PRIMARY,
    Comparison,
    CutOffTable,
    GroupReport,
    GroupTable,
    Verdict,
)
from recourse_audit.render.pieces import plain
from recourse_audit.render.views.groups_pictures import (
    Figure,
    common_figure,
    curves_figure,
    cut_off_figure,
    gaps_figure,
)
from recourse_audit.render.views.groups_tables import (
    GlancePart,
    every_test,
    exploratory,
    glance,
    impact_ratios,
    withheld_log,
)
from recourse_audit.render.views.groups_words import (
    MEASURES,
    SHORT,
    crossed,
    judged,
    listed,
    name_of,
    percent,
    several,
    singles,
)
from recourse_audit.render.views.index import GroupVerdict, GroupVerdicts
from recourse_audit.render.views.tables import Fact, Table

TITLE = "Group summary"
SURVIVORS = (
    "Costs and medians are of everybody audited: who has no option counts as beyond every cost. "
    "Costs of those with an option alone would make the group with the fewest options look best."
)
SERVED_ONLY = (
    "Only people with an option are in this picture. Who has none is not, so it says nothing of "
    "what would be asked of them."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsView:
    """What the group summary shows."""

    title: str
    warnings: tuple[str, ...]
    lead: str
    facts: tuple[Fact, ...]
    parts: tuple[GlancePart, ...]
    glance_note: str
    open_questions: tuple[str, ...]
    main_gap: Figure | None
    main_curve: Figure | None
    main_cut_off: Figure | None
    common: Figure | None
    survivors: str
    served_only: str
    tests: tuple[str, ...]
    impact_note: str
    impacts: tuple[Table, ...]
    more_figures: tuple[Figure, ...]
    test_tables: tuple[Table, ...]
    exploratory: Table
    withheld: Table
    withheld_note: str


def groups_view(report: GroupReport, *, date: str = "") -> GroupsView:
    """Make the summary; `date` is the day it was made on, as it is to be printed."""
    single, both = singles(report), crossed(report)
    main = _main_attribute(report)
    figures = _figures(report)
    return GroupsView(
        title=TITLE,
        warnings=tuple(_warnings(report)),
        lead=_lead(report),
        facts=tuple(_facts(report, date)),
        parts=glance(report),
        glance_note=_glance_note(report),
        open_questions=tuple(_open_questions(report)),
        main_gap=figures.pop("gap feasibility", None),
        main_curve=figures.pop(f"curve {main}", None),
        main_cut_off=figures.pop(f"cut {main}", None),
        common=common_figure(report),
        survivors=SURVIVORS,
        served_only=SERVED_ONLY,
        tests=tuple(_tests(report)),
        impact_note=_impact_note(report),
        impacts=tuple(impact_ratios(table, report.four_fifths) for table in (*single, *both)),
        more_figures=tuple(figures.values()),
        test_tables=tuple(
            every_test(report, tables, caption)
            for tables, caption in (
                (single, "Every test of one attribute"),
                (both, "Every test of two attributes crossed"),
            )
            if tables
        ),
        exploratory=exploratory(single),
        withheld=withheld_log(report.suppressed),
        withheld_note=_withheld_note(report),
    )


def verdicts_of(report: GroupReport, page: str) -> GroupVerdicts:
    """What the index says about groups."""
    rows = []
    for table in report.tables:
        found = Counter(one.verdict for one in table.comparisons)
        rows.append(
            GroupVerdict(
                attribute=name_of(table),
                flags=found["flag"],
                no_flags=found["no flag"],
                insufficient=found["insufficient evidence"],
            )
        )
    return GroupVerdicts(page=page, rows=tuple(rows))


def _with(found: list[tuple[GroupTable, Comparison]], verdict: Verdict) -> list[Comparison]:
    return [one for _, one in found if one.verdict == verdict]


def _warnings(report: GroupReport) -> Iterator[str]:
    if not report.finished:
        yield (
            f"This audit is not finished: {report.done:,} of {report.total:,} subjects are done, "
            "and all figures are of these alone."
        )
    if report.communities.method == "none":
        yield f"No verdicts: communities are not known ({plain(report.communities.reason)})."


def _lead(report: GroupReport) -> str:
    """The result in one or two sentences."""
    found = judged(report.tables)
    if not found:
        return "No groups could be compared."
    flags, quiet = _with(found, "flag"), _with(found, "no flag")
    rest = len(found) - len(flags) - len(quiet)
    counts = (
        f"{len(quiet):,} show no gap of {report.concern:.0%} or more against a group, and "
        f"{rest:,} cannot be decided on this evidence."
    ).replace("%", " %")
    all_of = several(len(found), "comparison")
    if not flags:
        return f"None of {all_of} is flagged: {counts}"
    named = [f"{name_of(table)} ({_named(table)})" for table in _flagged(singles(report))]
    more = sum(one.verdict == "flag" for _, one in judged(crossed(report)))
    places = [*named, *([f"{more:,} in attributes crossed"] if more else [])]
    return f"{len(flags):,} of {all_of} are flagged: {listed(places)}. {counts}"


def _flagged(tables: tuple[GroupTable, ...]) -> list[GroupTable]:
    return [table for table in tables if any(one.verdict == "flag" for one in table.comparisons)]


def _named(table: GroupTable) -> str:
    """Who is flagged against whom, in what."""
    by_group: dict[str, list[str]] = {}
    for one in table.comparisons:
        if one.verdict == "flag":
            by_group.setdefault(f"{one.group} against {one.reference}", []).append(
                SHORT[one.measure]
            )
    return plain("; ".join(f"{who}: {listed(what)}" for who, what in by_group.items()))


def _facts(report: GroupReport, date: str) -> Iterator[Fact]:
    decided, found = report.overall.decisions, report.overall.outcomes
    if decided is None:
        yield Fact(name="Population", value="Too few people to show anything.")
        return
    yield Fact(
        name="Population",
        value=f"{several(decided.people, 'person', 'people')}: {decided.refused:,} refused "
        f"({percent(decided.adverse_rate.share)}), {decided.favourable:,} decided on favourably, "
        f"{decided.undecided:,} without a decision.",
    )
    yield Fact(
        name="Audited",
        value=f"{decided.audited:,} of {decided.refused:,} refused; {decided.not_audited:,} not in "
        f"the audit. {_outcomes(report) if found else 'Too few to show what was found.'}",
    )
    excluded = [
        f"{several(count, 'person', 'people')}: {plain(reason)}"
        for reason, count in report.overall.excluded.items()
    ]
    yield Fact(name="Left out", value=f"{'; '.join(excluded)}." if excluded else "Nobody.")
    yield Fact(name="Communities", value=_communities(report))
    made = f"Made on {date}. " if date else ""
    yield Fact(name="Dates", value=f"{made}When the audit ran is in run.jsonl of the bundle.")


def _outcomes(report: GroupReport) -> str:
    found = report.overall.outcomes
    assert found is not None
    return (
        f"{found.verified:,} have a verified option ({percent(found.feasibility.share)}), "
        f"{found.certified_infeasible:,} are certified infeasible, for "
        f"{found.not_found_within_budget:,} none was found within the budget, and "
        f"{found.errors:,} had errors."
    )


def _communities(report: GroupReport) -> str:
    found = report.communities
    if found.method == "none":
        return "Not known."
    source = (
        "found in the ties (Louvain)"
        if found.method == "louvain"
        else f"named by the column {plain(found.column or '')}"
    )
    return (
        f"{found.count:,}, {source}. People of one community resemble each other, so tests and "
        "intervals count communities, not people."
    )


def _glance_note(report: GroupReport) -> str:
    return (
        "Ratio: the share with the good result (not refused; having an option) divided by that of "
        f"the reference group; below {report.four_fifths:g} it is said so (the four-fifths line), "
        "which is a rule of thumb and never a verdict. Cost is the median; none: half or more "
        f"have no option. {SURVIVORS}"
    )


def _open_questions(report: GroupReport) -> Iterator[str]:
    """What could not be concluded, the attributes by themselves first."""
    for table, one in judged(singles(report)):
        if one.verdict == "insufficient evidence":
            yield f"{name_of(table).capitalize()}, {MEASURES[one.measure]}: {plain(one.reason)}"
    among = judged(crossed(report))
    rest = _with(among, "insufficient evidence")
    if rest:
        seen = [one.smallest_gap_in_family for one in rest if one.smallest_gap_in_family]
        least = (
            f" The gaps that would have been flagged four times in five are "
            f"{percent(min(seen))} to {percent(max(seen))}."
            if seen
            else ""
        )
        yield (
            f"Attributes crossed: {len(rest):,} of {several(len(among), 'comparison')} cannot be "
            f"decided.{least}"
        )
    if report.untested:
        yield f"{several(report.untested, 'comparison')} could not be tested at all."
    yield from (plain(note) for note in report.notes)
    yield (
        "No figure here says where a gap comes from, nor that a decision about anybody was right "
        "or wrong; and where nothing is flagged there may still be a gap."
    )


def _main_attribute(report: GroupReport) -> str:
    """The attribute with most flags, the first of those with as many."""
    single = singles(report)
    if not single:
        return ""
    flags = [sum(one.verdict == "flag" for one in table.comparisons) for table in single]
    return single[flags.index(max(flags))].name


def _figures(report: GroupReport) -> dict[str, Figure]:
    """Every picture by what it is of, in the order in which they would be read."""
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


def _tests(report: GroupReport) -> Iterator[str]:
    """How many tests there are, and how they are corrected."""
    measures = listed([MEASURES[one] for one in PRIMARY])
    yield (
        f"The family has {several(len(report.family), 'test')}: {measures}, for every known group "
        "that is shown against its reference group, attributes crossed included. All are "
        f"corrected together with Holm's method at {report.alpha:g}."
    )
    yield (
        "Flag: after the correction chance alone would seldom bring such a gap. No flag: not "
        f"that, and the interval leaves no room for a gap of {100 * report.concern:.0f} points or "
        "more against the group. Insufficient evidence: everything else. The ordinary interval, "
        "which takes people for independent, stands beside for comparison and is often too short."
    )


def _impact_note(report: GroupReport) -> str:
    return (
        "The share decided on favourably, divided by that of the group with the largest share: "
        "the impact ratio that New York City's Local Law 144 asks for, by attribute and crossed. "
        "People of unknown groups are counted and have no ratio. The four-fifths line is "
        f"{report.four_fifths:g}; a ratio on either side of it settles nothing by itself."
    )


def _withheld_note(report: GroupReport) -> str:
    rule = (
        f"Groups of fewer than {report.smallest} people, or of fewer than {report.smallest} "
        "audited, are withheld, and so are those that would give them away."
    )
    if report.suppressed:
        return f"{rule} How many people they are is not in this summary."
    return f"{rule} Nothing had to be."
