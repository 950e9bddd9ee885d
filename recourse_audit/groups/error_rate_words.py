"""Error rates in sentences: for whom outcomes are known, how often decisions were wrong."""

from collections.abc import Iterator

from recourse_audit.groups.wording import percent
from recourse_audit.records.error_rates import ErrorRateReport, ErrorRates

SIGNS = (
    "A gap with a plus means that the errors are more frequent in the group than in the reference. "
    "Fewer false approvals are no advantage by themselves: they can also mean that the group had "
    "to meet a stricter standard."
)


def error_rate_sentences(found: ErrorRateReport) -> tuple[str, ...]:
    """Whose outcomes are known, the error rates of everybody, and what is not shown."""
    return tuple(_sentences(found))


def _sentences(found: ErrorRateReport) -> Iterator[str]:
    if found.favourable is not None and found.refused is not None:
        yield (
            f"What came true later (column {found.column!r}) is known for "
            f"{found.favourable_known:,} of {found.favourable:,} people with a favourable decision "
            f"and for {found.refused_known:,} of {found.refused:,} refused; people without an "
            "outcome are left out of these figures."
        )
    if found.overall is not None:
        yield from _overall(found.overall)
    yield from found.notes
    if any(table.gaps for table in found.tables):
        yield SIGNS
    if found.overall is not None and found.overall.calibration is not None:
        yield _calibrated(found)


def _overall(rates: ErrorRates) -> Iterator[str]:
    approvals, refusals, good = rates.false_approvals, rates.false_refusals, rates.good_refused
    if approvals is not None:
        yield (
            f"False approvals: {percent(approvals.share)} of the people with a favourable decision "
            f"had a bad outcome ({approvals.count:,} of {approvals.of:,})."
        )
    if refusals is not None:
        yield (
            f"False refusals: {percent(refusals.share)} of the refused had a good outcome "
            f"({refusals.count:,} of {refusals.of:,})."
        )
    if good is not None:
        yield (
            f"Of {good.without_option.of:,} people who were refused and audited although their "
            f"outcome was good, {good.without_option.count:,} "
            f"({percent(good.without_option.share)}) have no option."
        )


def _calibrated(found: ErrorRateReport) -> str:
    what = "probability of a favourable class" if found.score == "probability" else "score"
    whom = "everybody" if found.calibrated == "everybody" else "people with a favourable decision"
    alone = "" if found.calibrated == "everybody" else " alone"
    return (
        f"Calibration compares the model's {what} with the share of good outcomes, for {whom} "
        f"with a known outcome{alone}, in bins that are the same for all groups of a table."
    )
