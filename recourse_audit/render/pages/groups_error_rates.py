"""How decisions turned out, by group, as the group report shows it: at most seven columns each."""

from collections.abc import Iterator, Mapping

from recourse_audit.records.group_figures import (
    CalibrationBin,
    ErrorGap,
    ErrorMeasure,
    ErrorRateReport,
    ErrorRates,
    ErrorRateTable,
    GoodRefused,
    Rate,
)
from recourse_audit.records.groups import GroupReport
from recourse_audit.render.i18n import Words
from recourse_audit.render.pages.board_words import attribute_name, colon, few_people, name_in
from recourse_audit.render.pages.groups_tables import columns
from recourse_audit.render.pages.groups_words import (
    NOTHING,
    between,
    confidence,
    points,
    share,
    shares_between,
)
from recourse_audit.render.pages.tables import Table, cells
from recourse_audit.render.text import plain

Cell = str | tuple[str, ...]
Gaps = Mapping[tuple[ErrorMeasure, str], ErrorGap]
MEASURES: tuple[ErrorMeasure, ...] = ("false_approvals", "false_refusals")


def error_rate_notes(report: GroupReport, words: Words) -> tuple[str, ...]:
    """Whose outcomes are known, everybody's error rates, and what is not shown; () without any."""
    found = report.error_rates
    if found is None:
        return ()
    said = [*_known(found, words), *_overall(found, words)]
    if found.overall is None:
        said.append(few_people(words, report.smallest))
    elif found.calibrated == "favourable":
        said.append(words.say("report.errors.few"))
    if any(table.gaps for table in found.tables):
        said.append(words.say("report.errors.signs"))
    if found.overall is not None and found.overall.calibration is not None:
        said.append(words.say(f"report.errors.calibrated.{found.calibrated}.{found.score}"))
    for table in found.tables:
        few = [
            name
            for name, one in _named(report, table, words).items()
            if one.refused_known and one.false_refusals is None
        ]
        if few:
            groups = words.say("report.errors.few_in", groups=", ".join(few))
            said.append(colon(words, attribute_name(table.table), groups))
    return tuple(said)


def _known(found: ErrorRateReport, words: Words) -> Iterator[str]:
    if found.favourable is not None and found.refused is not None:
        yield words.say(
            "report.errors.known",
            column=plain(found.column),
            favourable=words.out_of(found.favourable_known or 0, found.favourable),
            refused=words.out_of(found.refused_known or 0, found.refused),
        )


def _overall(found: ErrorRateReport, words: Words) -> Iterator[str]:
    rates = found.overall
    if rates is None:
        return
    good = rates.good_refused
    for key, rate in (
        ("approvals", rates.false_approvals),
        ("refusals", rates.false_refusals),
        ("good", None if good is None else good.without_option),
    ):
        if rate is not None:
            yield words.say(
                f"report.errors.{key}",
                share=share(words, rate.share),
                count=words.out_of(rate.count, rate.of),
            )


def error_rate_tables(report: GroupReport, words: Words) -> tuple[Table, ...]:
    """Both error rates by the groups of each table; tables without rows are left out."""
    found = report.error_rates
    if found is None:
        return ()
    tables = [
        _rates(
            report,
            attribute_name(one.table),
            _named(report, one, words),
            _gaps(report, one, words),
            measure,
            words,
        )
        for one in found.tables
        for measure in MEASURES
    ]
    return tuple(table for table in tables if table.rows)


def more_error_tables(report: GroupReport, words: Words) -> tuple[Table, ...]:
    """The error rates of everybody, and by group who had no way in, and the calibration."""
    found = report.error_rates
    if found is None or found.overall is None:
        return ()
    everybody = words.say("report.everybody")
    whom = {everybody: found.overall}
    tables = [_rates(report, everybody, whom, {}, measure, words) for measure in MEASURES]
    parts = [(everybody, whom)]
    parts += [(attribute_name(one.table), _named(report, one, words)) for one in found.tables]
    tables += [_good_refused(name, by_group, words) for name, by_group in parts]
    tables += [_calibration(name, by_group, words) for name, by_group in parts]
    return tuple(table for table in tables if table.rows)


def _named(report: GroupReport, table: ErrorRateTable, words: Words) -> dict[str, ErrorRates]:
    """The rates of each group, by its name as the reader meets it."""
    found = table.by_group.items()
    return {name_in(words, report, table.table, group): one for group, one in found}


def _gaps(report: GroupReport, table: ErrorRateTable, words: Words) -> Gaps:
    return {
        (one.measure, name_in(words, report, table.table, one.group)): one for one in table.gaps
    }


def _rates(
    report: GroupReport,
    name: str,
    by_group: Mapping[str, ErrorRates],
    gaps: Gaps,
    measure: ErrorMeasure,
    words: Words,
) -> Table:
    rows = []
    for group, one in by_group.items():
        known, rate = one.favourable_known, one.false_approvals
        if measure == "false_refusals":
            known, rate = one.refused_known, one.false_refusals
        if known is not None:
            gap = gaps.get((measure, group))
            rows.append(cells(group, *_error(known, rate, words), *_gap(gap, words)))
    sure = confidence(words, report)
    return Table(
        caption=words.say(f"report.errors.{measure}", attribute=name),
        columns=(
            *columns(words, "group_alone", kind="plain"),
            *columns(words, f"{measure}_known", f"{measure}_count"),
            *columns(words, "share", "interval_shares", "gap", "interval", confidence=sure),
        ),
        rows=tuple(rows),
    )


def _error(known: int, rate: Rate | None, words: Words) -> tuple[Cell, Cell, Cell, Cell]:
    if rate is None or rate.share is None:
        return words.number(known), NOTHING, NOTHING, NOTHING
    return words.number(known), words.number(rate.count), *_share(rate, words)


def _share(rate: Rate, words: Words) -> tuple[str, str]:
    """A share and its interval, which allows for ties if that was measured."""
    return share(words, rate.share), shares_between(words, rate)


def _gap(gap: ErrorGap | None, words: Words) -> tuple[Cell, Cell]:
    if gap is None:
        return NOTHING, NOTHING
    return points(words, gap.difference), between(words, gap.interval)


def _good_refused(name: str, by_group: Mapping[str, ErrorRates], words: Words) -> Table:
    return Table(
        caption=words.say("report.errors.good_refused", attribute=name),
        columns=(
            *columns(words, "group_alone", kind="plain"),
            *columns(words, "good_refused", "without", "share", "none_exists", "not_decided"),
        ),
        rows=tuple(
            cells(group, *_without(one.good_refused, words))
            for group, one in by_group.items()
            if one.good_refused is not None
        ),
    )


def _without(found: GoodRefused, words: Words) -> Iterator[Cell]:
    yield words.number(found.without_option.of)
    yield words.number(found.without_option.count)
    yield _share(found.without_option, words) if found.without_option.of else NOTHING
    for rate in (found.certified_infeasible, found.not_found_within_budget):
        yield NOTHING if rate is None else words.number(rate.count)


def _calibration(name: str, by_group: Mapping[str, ErrorRates], words: Words) -> Table:
    return Table(
        caption=words.say("report.errors.calibration", attribute=name),
        columns=(
            *columns(words, "group_alone", kind="plain"),
            *columns(words, "score", "people", "mean_score", "good_outcome", "share"),
        ),
        rows=tuple(
            _bin(group, one, words)
            for group, rates in by_group.items()
            for one in rates.calibration or ()
        ),
    )


def _bin(group: str, one: CalibrationBin, words: Words) -> tuple[tuple[str, ...], ...]:
    return cells(
        group,
        words.interval(words.amount(one.low), words.amount(one.high)),
        words.number(one.good.of),
        words.amount(one.score),
        words.number(one.good.count),
        _share(one.good, words),
    )
