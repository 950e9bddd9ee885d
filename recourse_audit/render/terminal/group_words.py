"""What the terminal says of groups in sentences: figures, error rates, common actions, parts."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Literal

from recourse_audit.records.group_figures import (
    ActionSet,
    CommonActions,
    ErrorRateReport,
    ErrorRates,
    Group,
    WhyUntested,
)
from recourse_audit.records.groups import (
    Days,
    GroupReport,
    LeftOut,
    OwnDataGroups,
    Part,
    WhyNotCompared,
)
from recourse_audit.render.i18n import format_day
from recourse_audit.render.text import common_action_words

UNTESTED: dict[WhyUntested, str] = {
    "no_ties": "fewer than 100 people have ties, and the test was never tried on so few",
    "unlike": "the labels of these groups clump as no redrawn labels do",
    "few_cases": "too few cases: by chance, less than one would be expected in one of the groups",
    "alike": "everybody is alike",
    "few_effective": "because people who are tied are alike, the smaller group counts for fewer "
    "than 10 people, and no gap could be shown",
}
NOT_COMPARED: dict[WhyNotCompared, str] = {
    "few_groups": "Fewer than two known groups are shown, so none are compared.",
    "reference_pooled": "The reference group is pooled with others, so nothing is compared with "
    "it.",
}
NO_TIES_CUT: dict[Literal["few_people", "no_tie_dropped"], str] = {
    "few_people": "few people have an option",
    "no_tie_dropped": "no option drops a tie",
}
PARTS: dict[Part, str] = {
    "table": "the whole table",
    "outcomes": "who has an option, and effort",
    "details": "whether no option exists or the search is unfinished",
    "cost_curve": "options by effort",
    "grades": "grades of caveats",
    "explanations": "explanations",
    "own_data": "refusals on own data alone",
    "own_data_no_option": "who would be approved on own data alone and has no option",
    "approvals": "false approvals",
    "refusals": "false refusals",
    "good_refused": "who was refused, had a good outcome and has no option",
    "good_refused_details": "for whom of them no option exists",
    "calibration": "the calibration of the score",
    "common_options": "shares served by common options",
    "common_actions": "whom some of the common actions serve",
    "ties": "whom options cut off",
}


def percent(share: float | None) -> str:
    """A share with one decimal."""
    return "nothing" if share is None else f"{share:.1%}"


def round_points(difference: float) -> str:
    """A gap from the settings, with as many digits as it was written with: 10 points."""
    figure = f"{100 * difference:g}"
    return f"{figure} point" if figure == "1" else f"{figure} points"


def chance(p: float) -> str:
    """A p value that is never shown as zero."""
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def p_value(p: float) -> str:
    """A p value with its name: p = 0.043."""
    return f"p {chance(p)}" if p < 0.001 else f"p = {chance(p)}"


def two_p_values(tests: int) -> str:
    """Why a corrected p value may seem to contradict its interval; "" for a single test."""
    if tests < 2:
        return ""
    return (
        "A corrected p value allows for all tests of its family, while an interval allows for its "
        "own comparison only; so the p value can be large although the interval excludes zero."
    )


def group_label(group: Group) -> str:
    """A group as a line names it; of pooled groups it is said how many they are."""
    return f"{group.name} ({group.pooled} groups)" if group.pooled else group.name


def left_out_lines(report: GroupReport) -> Iterator[str]:
    """How groups were pooled, and what each table goes without."""
    for table in report.tables:
        for group in table.by_group:
            if group.pooled:
                yield f"{table.name}: {group.pooled} groups are pooled as {group.name!r}"
    names = dict.fromkeys(one.table for one in report.left_out)
    for name in names:
        parts = ", ".join(_part(one) for one in report.left_out if one.table == name)
        yield f"{'everybody' if name == 'overall' else name}: without {parts}"


def _part(one: LeftOut) -> str:
    return "any figure (too many groups)" if one.why == "too_many_groups" else PARTS[one.part]


def own_data_sentence(found: OwnDataGroups) -> str:
    """What everybody's refusals on own data alone are, and what they are not."""
    if not found.known:
        return (
            "It is not known for everybody what the model would decide on their own data alone: it "
            "was not asked, or its answer is not a number."
        )
    if found.overall is None:
        return "Refusals on own data alone are left out: a figure would be about a few people."
    decided, alone = found.overall.refused.share, found.overall.refused_alone.share
    return (
        f"With all ties removed the model would refuse {percent(alone)}; with ties as they are, "
        f"{percent(decided)} were refused. This is its answer to a changed question: not how "
        f"the ties came about, nor how people without ties fare."
    )


def ran_on(days: Days | None) -> str:
    """When the audit ran, by the clock of the machine that ran it."""
    if days is None:
        return "The date of the audit is not known: it is not in run.jsonl of the bundle."
    first, last = (format_day(date.fromisoformat(day)) for day in (days.first, days.last))
    when = f"on {first}" if first == last else f"from {first} to {last}"
    return f"The audit ran {when} (UTC, according to run.jsonl of the bundle)."


TITLE = "One action for all"
WHAT = (
    "The same changes, one at a time, were tried on everybody refused and audited. An action "
    "serves a person if the decision is favourable with this change alone. Shares are of everybody "
    "audited in a group, people to whom the action does not apply included. A plus means that the "
    "action serves a smaller share of the group than of the reference."
)
ACTIONS_NOTHING: dict[Literal["not_asked", "few_people"], str] = {
    "not_asked": "No common actions were tried in this audit (recourse.common_actions).",
    "few_people": "Too few people were audited to show what common actions do.",
}
SHARES = {0.5: "half of them", 0.8: "80 % of them", 0.9: "90 % of them"}


def introduction(found: CommonActions, smallest: int) -> str:
    """What the figures are; or why there are none."""
    if found.nothing is not None:
        return ACTIONS_NOTHING[found.nothing]
    hidden = sum(one.served.everybody is None for one in found.actions)
    if not hidden:
        return WHAT
    they = "1 has no figures and is" if hidden == 1 else f"{hidden} have no figures and are"
    return (
        f"{WHAT} Of {len(found.actions)} actions, {they} in no set: a figure would be about fewer "
        f"than {smallest} people."
    )


def any_of(found: CommonActions, numbers: Sequence[int]) -> str:
    """Actions of a set in one line: drop one payment tie or raise savings by 5,000 euros."""
    names = [common_action_words(found.actions[number].action) for number in numbers]
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def set_sentences(found: CommonActions) -> Iterator[str]:
    """The smallest sets in sentences, the widest first."""
    every = [one for one in found.sets if one.of == "of the served"]
    for one in every[-1:]:
        served = one.served.everybody
        if served is not None:
            yield (
                f"{served.count:,} of {served.of:,} audited people ({percent(served.share)}) are "
                f"served by at least one of the actions with figures. {_smallest(one)} that serves "
                f"all of them: {any_of(found, one.actions)}."
            )
    for one in every[:-1]:
        yield from _sentence(found, one, SHARES[one.share])
    for one in found.sets:
        if one.of == "of everybody":
            yield from _sentence(found, one, f"{one.share:.0%} of everybody audited")
    if every and not any(one.of == "of everybody" for one in found.sets):
        yield "No set of actions serves half of everybody audited."


def _sentence(found: CommonActions, one: ActionSet, whom: str) -> Iterator[str]:
    served = one.served.everybody
    if served is not None:
        yield (
            f"{_smallest(one)} that serves {whom}: {any_of(found, one.actions)} "
            f"({served.count:,} people, {percent(served.share)} of everybody audited)."
        )


def _smallest(one: ActionSet) -> str:
    size = len(one.actions)
    actions = "1 action" if size == 1 else f"{size} actions"
    return f"The smallest set ({actions})" if one.exact else f"A small set ({actions})"


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
        yield from _overall_errors(found.overall)
    if found.overall is None:
        yield "Error rates are left out: a figure would be about a few people."
    elif found.calibrated == "favourable":
        yield (
            "False refusals are not computed: that takes the outcomes of 95 % of the refused, and "
            "those of people who were refused are rarely seen."
        )
    if any(table.gaps for table in found.tables):
        yield SIGNS
    if found.overall is not None and found.overall.calibration is not None:
        yield _calibrated(found)


def _overall_errors(rates: ErrorRates) -> Iterator[str]:
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
