"""The group report as CSV, under column names that other programs rely on."""

from collections.abc import Iterator
from itertools import chain

from recourse_audit.records.group_figures import (
    ActionGap,
    Comparison,
    DecisionCounts,
    ErrorGap,
    ErrorMeasure,
    ErrorRates,
    Interval,
    Outcomes,
    Quartiles,
    Rate,
)
from recourse_audit.records.groups import GroupReport
from recourse_audit.records.texts import Cell, csv_lines
from recourse_audit.render.terminal.group_words import any_of
from recourse_audit.render.text import common_action_words

COLUMNS = (
    "table",
    "group",
    "kind",
    "measure",
    "count",
    "of",
    "value",
    "low",
    "high",
    "on_graph_low",
    "on_graph_high",
    "reference",
    "difference",
    "difference_low",
    "difference_high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "gap",
    "gap_low",
    "gap_high",
    "favourable_ratio",
    "p_ordinary",
    "p_on_graph",
    "p_adjusted",
    "corrected_for",
    "p_no_gap",
    "p_no_gap_adjusted",
    "effective",
    "smallest_gap",
    "smallest_gap_in_family",
    "verdict",
    "worse",
    "left_out",
)


def groups_csv(report: GroupReport) -> str:
    """One row per group and measure; the intervals of gaps allow for ties between people."""
    rows = ([_rounded(row.get(name)) for name in COLUMNS] for row in _rows(report))
    return "".join(csv_lines(chain([COLUMNS], rows)))


def _rows(report: GroupReport) -> Iterator[dict[str, Cell]]:
    decisions, outcomes = report.overall.decisions, report.overall.outcomes
    kinds = _kinds(report)
    if decisions is not None:
        yield from _group_rows(_start("overall", "everybody", kinds), decisions, outcomes, {})
    for table in report.tables:
        for group in table.by_group:
            compared = (one for one in table.comparisons if one.group == group.name)
            gaps: dict[str, Comparison] = {one.measure: one for one in compared}
            start = _start(table.name, group.name, kinds)
            yield from _group_rows(start, group.decisions, group.outcomes, gaps)
    yield from _own_data_rows(report, kinds)
    yield from _error_rate_rows(report, kinds)
    yield from _action_rows(report, kinds)
    for one in report.left_out:
        yield {"table": one.table, "measure": one.part, "left_out": one.why}


Kinds = dict[tuple[str, str], str]


def _kinds(report: GroupReport) -> Kinds:
    """What kind of group each is; of pooled ones, how many there are."""
    found = {("overall", "everybody"): "everybody"}
    for table in report.tables:
        for group in table.by_group:
            odd = next((kind for kind in group.kinds if kind != "known"), "known")
            found[table.name, group.name] = f"{odd} {group.pooled}" if group.pooled else odd
    return found


def _start(table: str, group: str, kinds: Kinds) -> dict[str, Cell]:
    return {"table": table, "group": group, "kind": kinds[table, group]}


def _group_rows(
    start: dict[str, Cell],
    decisions: DecisionCounts,
    outcomes: Outcomes | None,
    gaps: dict[str, Comparison],
) -> Iterator[dict[str, Cell]]:
    for name in ("people", "favourable", "refused", "undecided", "audited", "not_audited"):
        yield start | {"measure": name, "count": getattr(decisions, name)}
    yield start | _rate("adverse_rate", decisions.adverse_rate) | _gap(gaps.get("adverse_rate"))
    if outcomes is None:
        return
    yield start | {"measure": "errors", "count": outcomes.errors}
    yield start | {"measure": "disagreeing", "count": outcomes.disagreeing}
    for name in ("feasibility", "infeasible", "not_found"):
        rate: Rate | None = getattr(outcomes, name)
        if rate is not None:
            yield start | _rate(name, rate) | _gap(gaps.get(name))
    for name in ("cost", "options", "simulatability", "relevance"):
        quartiles: Quartiles | None = getattr(outcomes, name)
        if quartiles is not None:
            yield start | _quartiles(name, quartiles) | _gap(gaps.get(name))
    for grade, count in (outcomes.grades or {}).items():
        yield start | {"measure": f"caveats {grade}", "count": count}
    if "caveats" in gaps:
        yield start | {"measure": "caveats"} | _gap(gaps["caveats"])


def _own_data_rows(report: GroupReport, kinds: Kinds) -> Iterator[dict[str, Cell]]:
    """Refusals on own data alone, and how far those that were decided differ from them."""
    found = report.own_data
    if found.overall is not None:
        start = _start("overall", "everybody", kinds)
        yield start | _rate("adverse_rate alone", found.overall.refused_alone)
    for table in found.tables:
        gaps = {one.group: one for one in table.gaps}
        for name, rates in table.by_group.items():
            start = _start(table.table, name, kinds)
            alone: dict[str, Cell] = {}
            paired: dict[str, Cell] = {
                "measure": "adverse_rate minus alone",
                "value": rates.difference,
            }
            if (gap := gaps.get(name)) is not None:
                alone = _difference(gap.reference, gap.alone, gap.alone_interval)
                paired |= _difference(gap.reference, gap.difference, gap.interval)
            yield start | _rate("adverse_rate alone", rates.refused_alone) | alone
            yield start | paired


def _error_rate_rows(report: GroupReport, kinds: Kinds) -> Iterator[dict[str, Cell]]:
    """How decisions turned out: error rates, refused people with a good outcome, calibration."""
    found = report.error_rates
    if found is None or found.overall is None:
        return
    start = _start("overall", "everybody", kinds)
    yield from _error_rates(start, found.overall, {})
    for table in found.tables:
        for name, rates in table.by_group.items():
            start = _start(table.table, name, kinds)
            yield from _error_rates(
                start, rates, {one.measure: one for one in table.gaps if one.group == name}
            )


def _error_rates(
    start: dict[str, Cell], rates: ErrorRates, gaps: dict[ErrorMeasure, ErrorGap]
) -> Iterator[dict[str, Cell]]:
    measures: tuple[ErrorMeasure, ...] = ("false_approvals", "false_refusals")
    for name in measures:
        rate: Rate | None = getattr(rates, name)
        if rate is not None:
            row = start | _rate(name, rate)
            if (gap := gaps.get(name)) is not None:
                row |= _difference(gap.reference, gap.difference, gap.interval)
                row["p_on_graph"] = gap.p
            yield row
    if rates.good_refused is not None:
        for part in ("without_option", "certified_infeasible", "not_found_within_budget"):
            found: Rate | None = getattr(rates.good_refused, part)
            if found is not None:
                yield start | _rate(f"good_refused {part}", found)
    for one in rates.calibration or ():
        where = f"calibration {one.low:g} to {one.high:g}"
        yield start | _rate(where, one.good)
        yield start | {"measure": f"{where} score", "value": one.score}


def _action_rows(report: GroupReport, kinds: Kinds) -> Iterator[dict[str, Cell]]:
    """Whom each action serves, and each set; gaps are in the share that is not served."""
    found = report.common_actions
    rows = [(f"served: {common_action_words(one.action)}", one.served) for one in found.actions]
    sets = {one.actions: one.served for one in found.sets if len(one.actions) > 1}
    rows += [(f"served: {any_of(found, actions)}", one) for actions, one in sets.items()]
    for measure, served in rows:
        start = _start("overall", "everybody", kinds)
        if served.everybody is None:
            yield start | {"measure": measure, "left_out": "few_people"}
            continue
        yield start | _rate(measure, served.everybody)
        gaps = {(one.table, one.group): one for one in served.gaps}
        for table, groups in served.by_group.items():
            for group, rate in groups.items():
                start = _start(table, group, kinds)
                yield start | _rate(measure, rate) | _action_gap(gaps.get((table, group)))


def _action_gap(gap: ActionGap | None) -> dict[str, Cell]:
    if gap is None:
        return {}
    low, high = _ends(gap.interval)
    return {
        "reference": gap.reference,
        "gap": gap.gap,
        "gap_low": low,
        "gap_high": high,
        "p_on_graph": gap.p,
        "p_adjusted": gap.adjusted,
        "corrected_for": gap.corrected_for,
        "effective": gap.effective,
        "smallest_gap_in_family": gap.smallest_gap,
        "verdict": gap.verdict,
        "worse": gap.worse,
    }


def _difference(reference: str, value: float, interval: Interval | None) -> dict[str, Cell]:
    low, high = _ends(interval)
    return {
        "reference": reference,
        "difference": value,
        "difference_low": low,
        "difference_high": high,
    }


def _rate(name: str, rate: Rate) -> dict[str, Cell]:
    low, high = _ends(rate.interval)
    on_graph_low, on_graph_high = _ends(rate.on_graph)
    return {
        "measure": name,
        "count": rate.count,
        "of": rate.of,
        "value": rate.share,
        "low": low,
        "high": high,
        "on_graph_low": on_graph_low,
        "on_graph_high": on_graph_high,
    }


def _quartiles(name: str, quartiles: Quartiles) -> dict[str, Cell]:
    """The median as the value and the other quartiles as its ends; empty is beyond all found."""
    return {
        "measure": name,
        "of": quartiles.of,
        "value": quartiles.median,
        "low": quartiles.first,
        "high": quartiles.third,
    }


def _gap(gap: Comparison | None) -> dict[str, Cell]:
    if gap is None:
        return {}
    difference_low, difference_high = _ends(gap.intervals.difference.on_graph)
    ratio_low, ratio_high = _ends(gap.intervals.ratio.on_graph)
    gap_low, gap_high = _ends(gap.gap_interval)
    return {
        "reference": gap.reference,
        "difference": gap.difference,
        "difference_low": difference_low,
        "difference_high": difference_high,
        "ratio": gap.ratio,
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
        "gap": gap.gap,
        "gap_low": gap_low,
        "gap_high": gap_high,
        "favourable_ratio": gap.favourable_ratio,
        "p_ordinary": gap.tests.ordinary,
        "p_on_graph": gap.tests.on_graph,
        "p_adjusted": gap.tests.adjusted,
        "corrected_for": gap.tests.corrected_for,
        "p_no_gap": gap.tests.no_gap,
        "p_no_gap_adjusted": gap.tests.no_gap_adjusted,
        "effective": None if gap.precision is None else gap.precision.effective,
        "smallest_gap": gap.smallest_gap,
        "smallest_gap_in_family": gap.smallest_gap_in_family,
        "verdict": gap.verdict,
        "worse": gap.worse,
    }


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low, interval.high)


def _rounded(value: Cell) -> Cell:
    """Six significant digits, so that people can read the table."""
    return f"{value:.6g}" if isinstance(value, float) else value
