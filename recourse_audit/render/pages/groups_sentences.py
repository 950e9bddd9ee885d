"""The sentences of the group report: the result, who was counted, and what remains open."""

from collections.abc import Iterable, Iterator, Sequence

from recourse_audit.groups.wording import points, ran_on, round_points, two_p_values
from recourse_audit.records.group_figures import (
    PRIMARY,
    Comparison,
    Group,
    Interval,
    Measure,
    Quartiles,
    Verdict,
    WhyWithheld,
)
from recourse_audit.records.groups import GroupReport, GroupTable
from recourse_audit.render.pages.tables import Fact
from recourse_audit.render.text import plain

NOTHING = "\N{EN DASH}"
MEASURES: dict[Measure, str] = {
    "adverse_rate": "refusals",
    "feasibility": "having an option",
    "cost": "cost of the cheapest option",
    "options": "options per person",
    "simulatability": "simulatability",
    "relevance": "relevance",
    "caveats": "caveat grades",
}
SHORT: dict[Measure, str] = {"adverse_rate": "refusals", "feasibility": "options", "cost": "cost"}
VERDICTS: tuple[Verdict, ...] = ("gap shown", "not settled", "no gap")
SIGNS: dict[Verdict, str] = {"gap shown": "▲", "not settled": "◇", "no gap": "○"}
WITHHELD: dict[WhyWithheld, str] = {
    "few_people": "withheld: too few people",
    "few_audited": "withheld: too few audited",
    "complementary": "withheld: would reveal another group",
}


def percent(share: float | None) -> str:
    """A share with one decimal."""
    return NOTHING if share is None else f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def signed_points(difference: float | None) -> str:
    """A difference of shares in percentage points, with its sign."""
    return NOTHING if difference is None else signed(100 * difference, 1)


def size(difference: float | None) -> str:
    """The size of a gap in percentage points, whatever its direction."""
    return NOTHING if difference is None else f"{100 * difference:.1f}"


def signed(value: float, decimals: int) -> str:
    """A figure with its sign, the minus as wide as the plus; zero has none."""
    words = f"{value:+.{decimals}f}"
    return words[1:] if float(words) == 0 else words.replace("-", "\N{MINUS SIGN}")


def between(interval: Interval | None) -> str:
    """An interval of differences in percentage points."""
    if interval is None:
        return NOTHING
    return f"{signed_points(interval.low)} to {signed_points(interval.high)}"


def chance(p: float | None) -> str:
    """A p value that is never shown as zero."""
    if p is None:
        return NOTHING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def ratio(value: float | None) -> str:
    """A ratio with two decimals."""
    return NOTHING if value is None else f"{value:.2f}"


def median_of(quartiles: Quartiles | None, decimals: int) -> str:
    """The median; "none" where it lies beyond every cost that was found."""
    if quartiles is None or not quartiles.of:
        return NOTHING
    return "none" if quartiles.median is None else f"{quartiles.median:.{decimals}f}"


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence: a, b and c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def several(count: int, word: str, plural: str = "") -> str:
    """How many of something; give the plural if it is irregular."""
    return f"{count:,} {word if count == 1 else plural or f'{word}s'}"


def singles(report: GroupReport) -> tuple[GroupTable, ...]:
    """The tables of one attribute."""
    return tuple(table for table in report.tables if len(table.attributes) == 1)


def crossed(report: GroupReport) -> tuple[GroupTable, ...]:
    """The tables of two attributes."""
    return tuple(table for table in report.tables if len(table.attributes) > 1)


def with_verdicts(tables: Iterable[GroupTable]) -> list[tuple[GroupTable, Comparison]]:
    """Every comparison that has a verdict, with its table."""
    return [
        (table, one) for table in tables for one in table.comparisons if one.verdict is not None
    ]


def counted(group: Group) -> bool:
    """Whether a group is listed: the unknown group is not if it is empty."""
    return group.known or group.decisions is None or group.decisions.people > 0


def name_of(table: GroupTable) -> str:
    """The attributes of a table, in the user's own words."""
    return plain(" and ".join(table.attributes))


def _with(found: list[tuple[GroupTable, Comparison]], verdict: Verdict) -> list[Comparison]:
    return [one for _, one in found if one.verdict == verdict]


def warnings(report: GroupReport) -> Iterator[str]:
    """What the reader must know first."""
    if not report.finished:
        yield (
            f"This audit is not finished: {report.done:,} of {report.total:,} subjects are done, "
            "and all figures cover these only."
        )


def lead(report: GroupReport) -> str:
    """The finding to lead with, and how many comparisons have which verdict."""
    found = with_verdicts(report.tables)
    if not found:
        return "No groups could be compared."
    shown, quiet = _with(found, "gap shown"), _with(found, "no gap")
    rest = len(found) - len(shown) - len(quiet)
    return (
        f"{report.headline['en']} Of {several(len(found), 'comparison')}, {len(shown):,} "
        f"{'shows' if len(shown) == 1 else 'show'} a gap, {len(quiet):,} "
        f"{'rules' if len(quiet) == 1 else 'rule'} out a gap of {round_points(report.concern)} or "
        f"more against the group, and {rest:,} {'is' if rest == 1 else 'are'} not settled."
    )


def sentences(report: GroupReport) -> tuple[str, ...]:
    """Every finding of single attributes, and the gaps shown of crossed ones, in order."""
    return tuple(
        one.sentences["en"]
        for one in report.findings
        if one.family == "single" or one.verdict == "gap shown"
    )


def facts(report: GroupReport) -> Iterator[Fact]:
    """Who was counted, who was left out, how groups were tested, and when."""
    decided, found = report.overall.decisions, report.overall.outcomes
    if decided is None:
        yield Fact(name="Population", value="Too few people to show anything.")
        yield Fact(name="Date", value=ran_on(report.ran))
        return
    yield Fact(
        name="Population",
        value=f"{several(decided.people, 'person', 'people')}: {decided.refused:,} refused "
        f"({percent(decided.adverse_rate.share)}), {decided.favourable:,} favourable, "
        f"{decided.undecided:,} without a decision.",
    )
    yield Fact(
        name="Audited",
        value=f"{decided.audited:,} of {decided.refused:,} refused; {decided.not_audited:,} not in "
        f"the audit. {_outcomes(report) if found else 'Too few to show the results.'}",
    )
    excluded = [
        f"{several(count, 'person', 'people')}: {plain(reason)}"
        for reason, count in report.overall.excluded.items()
    ]
    yield Fact(name="Left out", value=f"{'; '.join(excluded)}." if excluded else "Nobody.")
    if report.communities.column is not None:
        yield Fact(name="Communities", value=_communities(report))
    yield Fact(
        name="Tests", value=f"{_families(report)} {two_p_values(len(report.tests))}".rstrip()
    )
    withheld = several(len(report.suppressed), "group in the tables", "groups in the tables")
    named = f"{withheld}; the annex lists them." if report.suppressed else "Nothing."
    yield Fact(name="Withheld", value=named)
    yield Fact(name="Date", value=ran_on(report.ran))


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
    return (
        f"{several(found.count, 'community', 'communities')}, named by the column "
        f"{plain(found.column or '')}. Gaps are tested over them as well; that test decides where "
        "at most 20 % of all ties lead out of a community, and otherwise the larger p value does."
    )


def _families(report: GroupReport) -> str:
    """How many tests each family has, and how they are corrected."""
    single, both = (
        sum(one.family == family for one in report.tests) for family in ("single", "crossed")
    )
    return (
        f"{single:,} of single attributes and {both:,} of attributes crossed, each family "
        f"corrected with Holm's method at {report.alpha:g}; so by chance alone a gap is shown in "
        f"up to {report.alpha * 2 if both and single else report.alpha:.0%} of such reports."
    )


def glance_note(report: GroupReport) -> str:
    """How to read the table."""
    return (
        "Ratio: the share with a favourable result (not refused; having an option) divided by that "
        f"of the reference group. Ratios below {report.four_fifths:g}, the four-fifths line, are "
        "marked, but are never a verdict by themselves. Cost: the median over everybody audited; "
        "none: half or more have no option."
    )


def open_questions(report: GroupReport) -> Iterator[str]:
    """What could not be concluded; single attributes come first."""
    for table, one in with_verdicts(singles(report)):
        if one.verdict == "not settled":
            yield f"{name_of(table).capitalize()}, {MEASURES[one.measure]}: {plain(one.reason)}"
    among = with_verdicts(crossed(report))
    rest = _with(among, "not settled")
    if rest:
        seen = [one.smallest_gap_in_family for one in rest if one.smallest_gap_in_family]
        least = (
            f" Gaps of {100 * min(seen):.1f} to {points(max(seen))} would have been found four "
            "times in five."
            if seen
            else ""
        )
        yield (
            f"Attributes crossed: {len(rest):,} of {several(len(among), 'comparison')} "
            f"{'is' if len(rest) == 1 else 'are'} not settled.{least}"
        )
    if report.untested:
        yield f"{several(report.untested, 'comparison')} could not be tested at all."
    yield from (plain(note) for note in report.notes)
    yield (
        "No figure here says what causes a gap, or whether any decision was right or wrong. Where "
        "no gap is shown, there may still be one."
    )


def tests(report: GroupReport) -> Iterator[str]:
    """How gaps are tested, how tests are corrected, and what the verdicts mean."""
    measures = listed([MEASURES[one] for one in PRIMARY])
    yield (
        "People who are tied are alike, both in their group and in what becomes of them, so a gap "
        "can arise by chance more easily than between independent people. How much more easily is "
        "measured: the labels of both groups are redrawn on the same graph, so that they clump as "
        "the observed ones do, while what became of people stays as it is. Gaps between redrawn "
        "labels show how large gaps are by chance. The number of people over that factor is as how "
        "many they count."
    )
    yield (
        f"Tested are {measures}, for every known group that is shown against its reference group, "
        f"in two families. {_families(report)}"
    )
    yield (
        "Gap shown: after the correction, chance alone would rarely produce such a gap. No gap: a "
        f"gap of {round_points(report.concern)} or more against the group is ruled out, by a test "
        "of its own that is corrected in the same way. Not settled: everything else. Gaps and "
        "their intervals are in percentage points, and plus is always worse for the group: the "
        "difference between two shares, or between the chances of more and of less effort."
    )


def impact_note(report: GroupReport) -> str:
    """What an impact ratio is, and what it does not show."""
    return (
        "The share of favourable decisions, divided by that of the group with the largest share: "
        "the impact ratio that New York City's Local Law 144 requires, for single and crossed "
        "attributes. People of unknown groups are counted but have no ratio. The four-fifths line "
        f"is {report.four_fifths:g}; a ratio on either side of it settles nothing by itself."
    )


def withheld_note(report: GroupReport) -> str:
    """The rule by which groups are withheld."""
    rule = (
        f"Groups with fewer than {report.smallest} people, or fewer than {report.smallest} "
        "audited people, are withheld, and so are groups that would reveal them."
    )
    if report.suppressed:
        return f"{rule} This report does not say how many people they are."
    return f"{rule} Here, nothing had to be withheld."
