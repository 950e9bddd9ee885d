"""The board block: who, how much and how sure; every empty state; and nothing that is left out."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from recourse_audit.records.group_figures import Interval, Measure, OwnDataRates, Rate, Verdict
from recourse_audit.records.groups import (
    GroupReport,
    LeftOut,
    OwnDataGroups,
    OwnDataTable,
    ReasonFigures,
    ReasonMeasure,
)
from recourse_audit.render.i18n import LANGUAGES
from tests.render.boards import BoardText, board_of
from tests.render.comparisons import compared, report_on
from tests.render.group_reports import (
    favourable_report,
    few_audited_report,
    gap_report,
    many_groups_report,
    no_ties_report,
    one_group_report,
    pooled_report,
    quiet_report,
    renamed_report,
    tiny_report,
    unfinished_report,
)

OPTION = "An option is a set of permitted changes that would turn the refusal into an approval."
FEW = "Left out: a figure would be about fewer than 11 people"
ENDS = Interval(low=0.126, high=0.491)
LONG = "a name that goes on and on " * 11 + "end"
REPORTS: dict[str, Callable[[], GroupReport]] = {
    "gap": gap_report,
    "quiet": quiet_report,
    "pooled": pooled_report,
    "no ties": no_ties_report,
    "unfinished": unfinished_report,
    "tiny": tiny_report,
    "few audited": few_audited_report,
    "one group": one_group_report,
    "twelve groups": many_groups_report,
    "all favourable": favourable_report,
    "long": lambda: renamed_report(LONG),
    "right to left": lambda: renamed_report("جنوب", "שמאל"),
    "emoji": lambda: renamed_report("🌍🧑\N{ZERO WIDTH JOINER}🚀", "north"),
}


@cache
def report_of(name: str) -> GroupReport:
    return REPORTS[name]()


def led_by(
    measure: Measure,
    value: float,
    reference: float,
    verdict: Verdict = "gap shown",
    *,
    interval: Interval | None = ENDS,
    stands: bool = True,
) -> BoardText:
    """The block of one comparison between two shares."""
    worse = reference - value if measure == "feasibility" else value - reference
    one = compared(measure, worse, verdict, tested=interval is not None, stands=stands)
    one = replace(one, value=value, reference_value=reference, gap_interval=interval)
    return board_of(report_on([one]))


def test_the_headline_and_its_line_say_who_how_much_and_how_sure() -> None:
    board = led_by("feasibility", 0.35, 0.674)
    assert board.headline == (
        "Of those refused, people in the South have an option half as often as people in the North"
    )
    assert board.lead == (
        "35% of them have one, against 67%: 32 percentage points fewer (95% interval: 13 to 49 "
        f"fewer). The gap also stands under the cautious reading. {OPTION}"
    )


def test_a_gap_that_does_not_stand_under_the_cautious_reading_says_so() -> None:
    board = led_by("feasibility", 0.35, 0.674, stands=False)
    assert "Under the cautious reading it does not stand" in board.lead
    assert "also stands" not in board.lead
    open_gap = led_by("adverse_rate", 0.412, 0.205, "not settled")
    assert "cautious" not in open_gap.lead


def test_a_finding_that_is_not_settled_claims_no_direction_in_a_title() -> None:
    ends = Interval(low=-0.004, high=0.37)
    board = led_by("adverse_rate", 0.412, 0.205, "not settled", interval=ends)
    assert board.headline == (
        "Whether people in the South and people in the North are refused equally often is not "
        "settled"
    )
    assert board.titles[0] == "Refused: no gap shown"
    assert "21 percentage points more (95% interval: 0.4 fewer to 37 more)" in board.lead
    assert "A gap of 12 points would have been found four times in five." in board.lead
    untested = led_by("adverse_rate", 0.4, 0.2, "not settled", interval=None)
    assert "It could not be tested whether this is more than chance." in untested.lead


def test_a_gap_without_an_interval_says_why_it_has_none() -> None:
    one = replace(compared("feasibility", 0.13, "not settled", tested=False), gap_interval=None)
    [row] = board_of(report_on([one])).gaps
    assert row.endswith("◇ not settled 13 worse (fewer than 100 people have ties)")
    [row] = board_of(report_on([compared("feasibility", 0.13)])).gaps
    assert row.endswith("13 worse (3 to 23 worse)")


def test_one_group_alone_is_shown_and_not_compared() -> None:
    board = board_of(one_group_report())
    first = one_group_report().tables[0].by_group[0].name
    assert board.headline == "Groups were not compared"
    assert board.lead.startswith("No attribute has two groups that can be shown")
    assert board.titles[0] == "Refused"
    names = " ".join(board.rows(0)).casefold()
    assert first in names
    assert "other (3 groups)" in names
    assert "Not compared: fewer than two groups can be shown" in board.cards[0]
    assert board.gaps == []
    assert (
        "Gender: not compared, as fewer than two of its groups have enough people to be shown by "
        "themselves."
    ) in board.notes


def test_a_gap_against_the_reference_is_told_of_those_who_are_worse_off() -> None:
    board = led_by("feasibility", 0.674, 0.35, interval=Interval(low=-0.49, high=-0.13))
    assert board.headline == (
        "Of those refused, people in the North have an option half as often as people in the South"
    )
    assert board.lead.startswith(
        "35% of them have one, against 67%: 32 percentage points fewer (95% interval: 13 to 49 "
        "fewer)."
    )


def test_cards_of_a_gap_against_the_reference_are_about_the_reference() -> None:
    board, other = board_of(gap_report(south_is_reference=True)), board_of(gap_report())
    assert (board.headline, board.titles[1]) == (other.headline, other.titles[1])
    assert board.titles[1].startswith("People in the South have an option ")
    assert " points fewer (" in board.verdicts[1]


def test_a_gap_that_only_the_correction_unsettles_says_so() -> None:
    board = led_by("adverse_rate", 0.412, 0.25, "not settled", interval=ENDS)
    corrected = "not settled after correction for 7 tests"
    assert "Not settled after correction for 7 tests." in board.lead
    assert board.gaps[0].count(corrected) == 1
    across = led_by("adverse_rate", 0.3, 0.25, "not settled", interval=Interval(low=-0.1, high=0.2))
    assert "after correction" not in across.text
    assert "after correction" not in led_by("adverse_rate", 0.412, 0.25).text


def test_that_nothing_helps_nobody_is_not_said() -> None:
    def board(count: int) -> BoardText:
        rates: dict[ReasonMeasure, Rate] = {
            "reasons": Rate(count=20, of=20, share=1.0, interval=None, on_graph=None),
            "none_flips": Rate(count=12, of=20, share=0.6, interval=None, on_graph=None),
            "all_fixed": Rate(count=count, of=20, share=count / 20, interval=None, on_graph=None),
        }
        found = ReasonFigures(overall=rates, by_group={})
        return board_of(replace(gap_report(), reasons=found))

    assert board(0).reasons.startswith("For 12 of 20, no single permitted change of a reason")
    assert board(1).reasons.startswith("For 1 of 20 refused people, nothing that they may change")


def test_what_was_audited_is_said_first_and_what_is_left_out_with_its_reason() -> None:
    report = gap_report()
    decided, found = report.overall.decisions, report.overall.outcomes
    assert decided is not None
    assert found is not None
    assert board_of(report).about == (
        f"900 decisions · {decided.refused} refusals ({decided.refused / 900:.1%}), all audited"
    )
    gone = LeftOut(table="origin x age", part="table", why="few_people")
    assert board_of(replace(report, left_out=(gone,))).about.endswith(" · 1 table left out")
    some = replace(decided, audited=24, not_audited=decided.refused - 24)
    overall = replace(report.overall, decisions=some, excluded={"timeout": 2})
    about = board_of(replace(report, overall=overall)).about
    assert ", 24 of them audited · 2 left out: the audit failed for them" in about
    overall = replace(report.overall, outcomes=replace(found, disagreeing=3))
    about = board_of(replace(report, overall=overall)).about
    assert "3 left out: record and model disagree" in about
    assert "failed" not in about
    assert "2 small groups pooled" in board_of(pooled_report()).about


def test_where_even_the_number_of_people_is_withheld_no_figure_is_said() -> None:
    board = board_of(tiny_report())
    assert board.about.startswith("How many people there are is withheld: fewer than 11")
    rest = board.text.replace("11", "").replace("1 table left out", "").replace("Not 10 points", "")
    assert not re.search(r"\d", rest.replace("“No gap of 10 points", "").replace("10 points", ""))
    assert all(card.endswith(FEW) for card in board.cards[:2])


def test_where_few_were_audited_decisions_are_shown_and_results_left_out() -> None:
    board = board_of(few_audited_report())
    assert "results withheld: fewer than 11 audited" in board.about
    assert board.rows(0)
    assert board.cards[1].endswith(FEW)
    assert "Being refused" in board.text
    assert "Having no option once refused" not in board.text


def test_groups_that_are_pooled_have_one_row_and_never_a_dash() -> None:
    board = board_of(pooled_report())
    for card in (0, 1):
        assert board.rows(card)[2].startswith("Other (2 groups)")
    assert "\N{EN DASH}" not in board.text


def test_nobody_refused_leaves_nothing_to_audit() -> None:
    board = board_of(favourable_report())
    assert "no refusals" in board.about
    assert "All 300 decisions were favourable; there is nothing to audit." in board.cards[1]


def rate(count: int, of: int) -> Rate:
    return Rate(count=count, of=of, share=count / of, interval=None, on_graph=None)


def with_own_data(*, shows_groups: bool = True) -> GroupReport:
    """136 people would be approved without their ties and have no option."""

    def rates(alone: int, without: int) -> OwnDataRates:
        return OwnDataRates(
            refused=rate(100, 400),
            refused_alone=rate(alone, 400),
            to_favourable=329,
            to_refused=164,
            difference=0.1,
            approved_alone=rate(80, 400 - alone),
            no_option=rate(without, 300) if shows_groups else None,
        )

    overall = replace(rates(80, 136), no_option=rate(136, 521))
    groups = {"south": rates(77, 131), "north": rates(81, 5)}
    table = OwnDataTable(table="origin", by_group=groups, gaps=(), carried={})
    own = OwnDataGroups(known=True, overall=overall, tables=(table,), ties={})
    return replace(gap_report(), own_data=own)


def test_who_would_be_approved_without_ties_and_has_no_option_is_counted_by_group() -> None:
    board = board_of(with_own_data(), people="index.html")
    assert board.titles[3] == ("136 people would be approved without their ties and have no option")
    assert board.rows(3)[:2] == ["South 131 43.7% of 300", "North 5 1.7% of 300"]
    assert board.rows(2)[:2] == ["South 24.8% 80 of 323", "North 25.1% 80 of 319"]
    assert "Counted, not tested" in board.cards[3]
    assert "Offer a review by a person. Show these 136 people" in board.cards[3]
    assert 'href="index.html#need=Approved%20without%20ties%2C%20no%20option"' in board.markup
    assert "of the 320 people whom the model would approve on own data alone" in board.cards[2]
    assert "Refused without any ties: South 19.2%, North 20.2%." in board.cards[2]
    alone = board_of(with_own_data(shows_groups=False))
    assert alone.rows(3) == ["Everyone 136 26.1% of 521"]
    assert "href" not in alone.cards[3]


def test_own_data_that_was_not_asked_says_so() -> None:
    for card in board_of(gap_report()).cards[2:]:
        assert "The model was not asked about own data alone" in card


def test_cards_show_six_groups_at_most_and_the_plot_twelve_rows() -> None:
    board = board_of(many_groups_report())
    assert len(board.rows(0)) == len(board.rows(1)) == 6
    assert "6 more groups are in the group report." in board.cards[0]
    assert len(board.gaps) == 11
    report = gap_report()
    first = report.tables[0]
    many = tuple(
        replace(one, group=f"{one.group} {place}")
        for place in range(15)
        for one in first.comparisons
    )
    board = board_of(replace(report, tables=(replace(first, comparisons=many), *report.tables[1:])))
    assert len(board.gaps) == 12
    assert re.search(r"\d groups with smaller gaps are in the group report\.", board.text)


def test_cards_say_their_verdict_with_a_mark_and_the_numbers_behind_it() -> None:
    report, board = gap_report(), board_of(gap_report())
    [one] = [
        one
        for one in report.tables[0].comparisons
        if (one.group, one.measure) == ("south", "feasibility")
    ]
    assert board.titles[1].startswith("People in the South have an option ")
    assert f"▲ gap shown: {round(100 * one.gap)} points fewer (" in board.cards[1]
    assert re.search(r"p [=<].0\.\d+, corrected for 6 tests\.", board.cards[1])
    assert board.rows(0)[0].startswith("South ")
    assert re.search("(◇ not settled|no gap of 10 points): ", board.cards[0], re.IGNORECASE)


def test_the_rows_of_gaps_say_verdict_gap_and_interval_and_right_is_worse() -> None:
    report, board = gap_report(), board_of(gap_report())
    [south] = [row for row in board.gaps if row.startswith("South against North")]
    assert re.search(r"▲ gap shown \d+ worse \(\d+ to \d+ worse\)$", south)
    assert not re.search(r"[-+\N{MINUS SIGN}]\d", board.text)
    assert "Right of zero is worse for the group named first" in board.text
    shown = sum(one.verdict == "gap shown" for one in report.findings if one.family == "crossed")
    assert "9 combinations of two attributes were also compared" in board.notes
    assert (f"{shown} show" in board.notes) == (shown > 1)
    assert "Without any gap, at most 10% of such reports should show one" in board.notes
    assert "does not rule out a smaller gap" in board.notes


def test_groups_of_the_same_name_say_which_attribute_they_are_of() -> None:
    report = renamed_report("same", "north")
    gender = report.tables[1]
    groups = tuple(replace(one, name="same", values=("same",)) for one in gender.by_group[:1])
    twice = replace(gender, by_group=(*groups, *gender.by_group[1:]))
    board = board_of(replace(report, tables=(report.tables[0], twice, *report.tables[2:])))
    assert any(row.startswith("Same (origin) against") for row in board.gaps)


def test_an_unfinished_audit_says_so_first() -> None:
    assert board_of(unfinished_report()).text.startswith(
        "This audit is not finished: 120 of 400 people are done"
    )
    assert "not finished" not in board_of(gap_report()).text


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_report_has_a_board_in_every_language(language: str) -> None:
    for name in REPORTS:
        board = board_of(report_of(name), language)
        assert board.headline, name
        assert len(board.cards) == len(board.titles) == 4, name
        for place, card in enumerate(board.cards):
            empty = 'class="empty"' in board.markup.split('<section class="card">')[place + 1]
            assert empty != bool(board.rows(place)), (name, card)
        assert not re.search(r"[{}]|\\x|\bNone$|=None", board.text), name
