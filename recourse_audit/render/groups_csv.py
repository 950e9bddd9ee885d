"""The group report as CSV, under column names that other programs rely on.

Codes are those of the JSON; `result` says the same in the words of the page.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from recourse_audit.records import Record
from recourse_audit.records.group_figures import (
    Comparison,
    ErrorRates,
    Estimate,
    Group,
    Interval,
    JudgedGap,
    OwnDataGap,
    OwnDataMeasure,
    OwnDataRates,
    Rate,
    Verdict,
)
from recourse_audit.records.groups import GroupReport, Overall
from recourse_audit.records.rates import Figure, RateGap
from recourse_audit.records.recourse import CommonAction, RecourseStatus
from recourse_audit.records.texts import Cell, csv_lines
from recourse_audit.render.groups import GroupPage, find_gap
from recourse_audit.render.i18n import Words

COLUMNS = (
    *("table", "group", "kind", "measure", "count", "of", "value", "low", "high"),
    *("on_graph_low", "on_graph_high", "reference"),
    *("difference", "difference_low", "difference_high", "ratio", "ratio_low", "ratio_high"),
    *("gap", "gap_low", "gap_high", "favourable_ratio", "impact_ratio"),
    *("odds_ratio", "odds_ratio_low", "odds_ratio_high", "z", "z_on_graph"),
    *("p_ordinary", "p_on_graph", "p_adjusted", "corrected_for", "p_cautious"),
    *("p_cautious_adjusted", "p_no_gap", "p_no_gap_adjusted"),
    *("effective", "smallest_gap", "smallest_gap_in_family", "verdict", "worse"),
    *("result", "left_out"),
)
COUNTS = ("people", "favourable", "refused", "undecided", "audited", "not_audited")
STATUSES: dict[str, RecourseStatus] = {
    "feasibility": "verified",
    "infeasible": "certified_infeasible",
    "not_found": "not_found_within_budget",
}
OWN_DATA: dict[OwnDataMeasure, str] = {
    "alone": "adverse_rate alone",
    "ties": "adverse_rate minus alone",
    "given_alone": "adverse_rate given alone",
    "approved_alone": "adverse_rate of those approved alone",
}
EVERYBODY = "everybody"
SWEPT = ("table", "group", "reference", "cut_off", "in_force", "of", "refused_share")
COMPARED = ("ratio", "gap", "favourable_ratio", "smallest_gap", "smallest_gap_in_family", "worse")
CORRECTED = ("adjusted", "cautious_adjusted", "no_gap_adjusted")
TESTS = ("ordinary", "on_graph", "cautious", "no_gap", *CORRECTED)
CURVE = ("refused", "selection_rate", "impact_ratio", "highest_ratio")
Row = dict[str, Cell]


def groups_csv(report: GroupReport, words: Words | None = None) -> str:
    """One row per group and measure; the intervals of gaps allow for ties between people."""
    rows = _Rows(report, words).all_rows()
    return table_text(COLUMNS, (map(row.get, COLUMNS) for row in rows))


def cut_offs_csv(report: GroupReport) -> str:
    """One row per group and cut-off."""
    rows: list[Sequence[Cell]] = []
    for table in report.sweeps:
        for group, curve in table.by_group.items():
            start = (table.table, group, table.reference)
            for place, cut_off in enumerate(table.cut_offs):
                share = curve.refused[place] / curve.of
                figures = (values[place] for values in _pick(curve, CURVE).values())
                in_force = cut_off == table.rule.cut_off
                rows.append((*start, cut_off, in_force, curve.of, share, *figures))
    return table_text((*SWEPT, *CURVE), rows)


def table_text(columns: Sequence[str], rows: Iterable[Iterable[Cell]]) -> str:
    """A table as CSV; figures have six significant digits, so that people can read it."""
    cells = ([f"{x:.6g}" if isinstance(x, float) else x for x in row] for row in rows)
    return "".join(csv_lines(chain([columns], cells)))


class _Rows:
    def __init__(self, report: GroupReport, words: Words | None) -> None:
        self._report = report
        self._page = GroupPage(report, words)
        self._words = self._page.words
        self._kinds = {("overall", EVERYBODY): EVERYBODY}
        for table in report.tables:
            for group in table.by_group:
                kind = next((kind for kind in group.kinds if kind != "known"), "known")
                pooled = f" {group.pooled}" if group.pooled else ""
                self._kinds[table.name, group.name] = f"{kind}{pooled}"

    def all_rows(self) -> Iterator[Row]:
        report, overall = self._report, self._report.overall
        yield from self._group("overall", EVERYBODY, overall, ())
        for table in report.tables:
            for group in table.by_group:
                gaps = [gap for gap in table.comparisons if gap.group == group.name]
                yield from self._group(table.name, group.name, group, gaps)
        yield from self._own_data()
        yield from self._reasons()
        yield from self._rates()
        for name, groups in self._page.outcome_tables():
            for group_name, rates in groups.items():
                named = EVERYBODY if name == "overall" else group_name
                yield from self._further_errors(name, named, rates)
        yield from self._changes()
        for part in report.left_out:
            yield {"table": part.table, "measure": part.part, "left_out": part.why}

    def _start(self, table: str, group: str, measure: str) -> Row:
        kind = self._kinds[table, group]
        return {"table": table, "group": group, "kind": kind, "measure": measure}

    def _judge(self, verdict: Verdict | None) -> Row:
        """A verdict as a code, and in words."""
        if verdict is None:
            return {}
        return {"verdict": verdict, "result": self._words.verdict(verdict, self._report.concern)}

    def _group(
        self, table: str, group: str, found: Group | Overall, gaps: Sequence[Comparison]
    ) -> Iterator[Row]:
        """The counts of a group, its shares and quartiles with their gaps, and its grades."""
        decisions, outcomes = found.decisions, found.outcomes
        if decisions is None:
            return
        compared = {gap.measure: self._compare(gap) for gap in gaps}
        for name in COUNTS:
            yield self._start(table, group, name) | {"count": getattr(decisions, name)}
        start = self._start(table, group, "adverse_rate")
        yield start | _rate(decisions.adverse_rate) | compared.get("adverse_rate", {})
        if outcomes is None:
            return
        for name in ("errors", "disagreeing"):
            yield self._start(table, group, name) | {"count": getattr(outcomes, name)}
        for name, status in STATUSES.items():
            if (rate := getattr(outcomes, name)) is not None:
                row = self._start(table, group, name) | {"result": self._words.status(status)}
                gap = compared.get("feasibility", {}) if status == "verified" else {}
                yield row | _rate(rate) | gap
        for measure in ("cost", "options", "simulatability", "relevance"):
            if (quartiles := getattr(outcomes, measure)) is not None:
                # The median with the other quartiles as its ends; empty is beyond all found.
                values = {"of": quartiles.of, "value": quartiles.median}
                values |= {"low": quartiles.first, "high": quartiles.third}
                yield self._start(table, group, measure) | values | compared.get(measure, {})
        for grade, count in (outcomes.grades or {}).items():
            yield self._start(table, group, f"caveats {grade}") | {"count": count}
        if "caveats" in compared:
            yield self._start(table, group, "caveats") | compared["caveats"]

    def _compare(self, gap: Comparison) -> Row:
        return {
            **_difference(gap.reference, gap.difference, gap.intervals.difference.on_graph),
            **_ends("ratio", gap.intervals.ratio.on_graph),
            **_ends("gap", gap.gap_interval),
            **_pick(gap, COMPARED),
            **{f"p_{name}": p for name, p in _pick(gap.tests, TESTS).items()},
            "corrected_for": gap.tests.corrected_for,
            "effective": None if gap.precision is None else gap.precision.effective,
            **self._judge(gap.verdict),
        }

    def _own_data(self) -> Iterator[Row]:
        """Refusals on own data alone and with ties, who has no option, and what ties tell."""
        found = self._report.own_data
        if found.overall is not None:
            yield from self._own_rates("overall", EVERYBODY, found.overall)
        for table in found.tables:
            for group, rates in table.by_group.items():
                yield from self._own_rates(table.table, group, rates, table.gaps)
                if group in table.carried:
                    code = table.carried[group]
                    row = self._start(table.table, group, "gap carried by") | {"verdict": code}
                    yield row | {"result": self._words.say(f"report.carried.{code}")}
        for name, ties in found.ties.items():
            start: Row = {"table": name, "measure": "ties within groups"}
            yield start | _estimate(ties.within)
            chance = "ties within groups, by chance"
            yield {"table": name, "measure": chance, "value": ties.by_chance}
            for group, area in ties.told.items():
                yield self._start(name, group, "AUC of neighbours' groups") | _estimate(area)
        for name, compared in self._report.comparators.items():
            for group, people in compared.items():
                for where, share in (("other groups", people.others), ("own group", people.own)):
                    yield self._start(name, group, f"no better, approved: {where}") | {
                        "value": share
                    }

    def _own_rates(
        self, table: str, group: str, rates: OwnDataRates, own_gaps: Iterable[OwnDataGap] = ()
    ) -> Iterator[Row]:
        gaps = {gap.measure: gap for gap in own_gaps if gap.group == group}
        own: dict[OwnDataMeasure, Row] = {
            "alone": _rate(rates.refused_alone),
            "ties": {} if table == "overall" else {"value": rates.difference},
            "given_alone": {},
            "approved_alone": _rate(rates.approved_alone),
        }
        for measure, figures in own.items():
            gap = gaps.get(measure)
            compared = {} if gap is None else _difference(gap.reference, gap.gap, gap.interval)
            if figures or gap is not None:
                start = self._start(table, group, OWN_DATA[measure])
                yield start | figures | compared | self._judged(gap)
        if rates.no_option is not None:
            yield self._start(table, group, "favourable alone, no option") | _rate(rates.no_option)

    def _reasons(self) -> Iterator[Row]:
        """Who has reasons and may change them; and how often each part is one, or is changed."""
        every = [("", figures) for figures in (self._report.reasons,) if figures is not None]
        for one in self._report.reason_parts:
            part = f"{one.part.what} {one.part.name}: "
            every += [(part, one.reasons), (part, one.changes)]
        for part, figures in every:
            tables = {"overall": {EVERYBODY: figures.overall}} | figures.by_group
            for table, groups in tables.items():
                for group, rates in groups.items():
                    for measure, rate in rates.items():
                        yield self._start(table, group, f"{part}{measure}") | _rate(rate)

    def _rates(self) -> Iterator[Row]:
        """Each rate with its gap, how far all groups are apart, and how far answers are."""
        for table in self._page.rate_tables():
            for group, rates in table.by_group.items():
                named, pair = group, find_gap(table.pairs, group)
                if table.table == "overall":
                    named = EVERYBODY
                for name, rate in rates.items():
                    row = self._start(table.table, named, name) | _rate(rate)
                    if name in (impact := table.impact_ratios.get(group, {})):
                        row["impact_ratio"] = impact[name].highest
                    if pair is not None and name in pair.by_rate:
                        row |= {"reference": pair.reference} | _compare_rates(pair.by_rate[name])
                    yield row
                if pair is not None and pair.standardised_mean_difference.value is not None:
                    figure = pair.standardised_mean_difference
                    row = self._start(table.table, named, "standardised_mean_difference")
                    row |= {"reference": pair.reference, "value": figure.value}
                    row |= _ends("", figure.ordinary) | _ends("on_graph", figure.on_graph)
                    yield row
            for spread, value in table.spreads.items():
                yield {"table": table.table, "measure": spread, "value": value}

    def _further_errors(self, table: str, group: str, rates: ErrorRates) -> Iterator[Row]:
        """Refused people with a good outcome, and scores against outcomes."""
        for part in ("without_option", "certified_infeasible", "not_found_within_budget"):
            if (rate := getattr(rates.good_refused, part, None)) is not None:
                yield self._start(table, group, f"good_refused {part}") | _rate(rate)
        for score in rates.calibration or ():
            where = f"calibration {score.low:g} to {score.high:g}"
            yield self._start(table, group, where) | _rate(score.good)
            yield self._start(table, group, f"{where} score") | {"value": score.score}

    def _changes(self) -> Iterator[Row]:
        """Whom each change helps, and each set; gaps are in the share that is not helped."""
        for changes, served in self._page.help_of_changes:
            measure = f"served: {' | '.join(map(_code, changes))}"
            start = self._start("overall", EVERYBODY, measure)
            start["result"] = self._page.say("any_of", changes)
            if served.everybody is None:
                yield start | {"left_out": "few_people"}
                continue
            yield start | _rate(served.everybody)
            for table, groups in served.by_group.items():
                for group, rate in groups.items():
                    gap = find_gap(served.gaps, group, table=table)
                    yield self._start(table, group, measure) | _rate(rate) | self._judged(gap)

    def _judged(self, gap: JudgedGap | None) -> Row:
        if gap is None:
            return {}
        return {
            **_pick(gap, ("reference", "gap", "effective", "worse")),
            **_ends("gap", gap.interval),
            **{f"p_{name}": p for name, p in _pick(gap, CORRECTED).items()},
            "p_on_graph": gap.p,
            "corrected_for": gap.corrected_for or None,
            "smallest_gap_in_family": gap.smallest_gap,
            **self._judge(gap.verdict),
        }


def _code(change: CommonAction) -> str:
    """A change by its codes: drop payment 2; set savings +5000."""
    by = None if change.by is None else f"{change.by:+.12g}"
    return " ".join(
        str(part) for part in (change.do, change.what, change.ties, by, change.to) if part
    )


def _difference(reference: str, value: float, interval: Interval | None) -> Row:
    return {"reference": reference, "difference": value, **_ends("difference", interval)}


def _rate(rate: Rate) -> Row:
    figures: Row = {"count": rate.count, "of": rate.of, "value": rate.share}
    return figures | _ends("", rate.interval) | _ends("on_graph", rate.on_graph)


def _compare_rates(gap: RateGap) -> Row:
    row: Row = {"p_on_graph": gap.p} | _pick(gap, ("z", "z_on_graph", "effective"))
    for name in ("difference", "ratio", "odds_ratio"):
        figure: Figure = getattr(gap, name)
        row |= {name: figure.value} | _ends(name, figure.on_graph)
    return row


def _estimate(figure: Estimate) -> Row:
    return {"value": figure.value} | _ends("", figure.interval)


def _pick(record: Record, names: Iterable[str]) -> dict[str, Any]:
    """Some fields of a record by their names, which are those of columns."""
    return {name: getattr(record, name) for name in names}


def _ends(name: str, interval: Interval | None) -> Row:
    if interval is None:
        return {}
    return {f"{name}_low".lstrip("_"): interval.low, f"{name}_high".lstrip("_"): interval.high}
