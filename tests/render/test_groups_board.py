"""The board block: who, how much and how sure; every empty state; and nothing that is withheld."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from io import BytesIO

import pikepdf
import pytest

from recourse_audit.records.group_figures import Interval, Measure, Verdict
from recourse_audit.records.groups import GroupReport, LeftOut
from recourse_audit.render.i18n import LANGUAGES, Words
from recourse_audit.render.pages.board import BoardView, board_view
from recourse_audit.render.pages.board_words import times
from recourse_audit.render.pages.groups import groups_view
from recourse_audit.render.pdf import Printer
from recourse_audit.render.templates import Templates
from tests.render.browser import EACH_LANGUAGE
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

OPTION = (
    "An option is a change that the policy permits and after which the model decides favourably."
)
MINUS = "\N{MINUS SIGN}"
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


@cache
def words_in(language: str) -> Words:
    return Words(language, Templates())


def view_of(report: GroupReport, language: str = "en") -> BoardView:
    return board_view(report, words_in(language))


def text_of(view: BoardView) -> str:
    cards = [
        " ".join([one.title, one.empty, one.verdict, one.text, one.legend, *rows])
        for one in view.cards
        for rows in [[f"{row.strong} {row.figure} {row.words}" for row in one.rows]]
    ]
    lead = " ".join(run.words for run in view.lead)
    notes = [f"{note.title} {note.words}" for note in view.notes]
    return " ".join([view.about, view.headline, lead, *cards, view.panels_note, *notes])


def led_by(
    measure: Measure,
    value: float,
    reference: float,
    verdict: Verdict = "gap shown",
    *,
    interval: Interval | None = ENDS,
    gap: float | None = None,
    tested: bool = True,
) -> BoardView:
    """The block of one comparison between two shares."""
    worse = reference - value if measure == "feasibility" else value - reference
    one = compared(measure, worse if gap is None else gap, verdict, tested=tested)
    one = replace(one, value=value, reference_value=reference, gap_interval=interval)
    return view_of(report_on([one]))


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (None, ""),
        (0.0, ""),
        (1.0, ""),
        (1.79, ""),
        (1.81, "about twice as often"),
        (1.9, "twice as often"),
        (2.1, "twice as often"),
        (2.11, "about twice as often"),
        (2.21, ""),
        (2.69, ""),
        (2.71, "about 3 times as often"),
        (3.0, "3 times as often"),
        (10.4, "10 times as often"),
        (10.9, "more than 10 times as often"),
        (11.1, "more than 10 times as often"),
        (0.56, ""),
        (0.55, "about half as often"),
        (0.5188, "half as often"),
        (0.48, "half as often"),
        (0.44, ""),
        (1 / 3, "a third as often"),
        (0.36, "about a third as often"),
        (0.25, "a quarter as often"),
        (0.2, ""),
    ],
)
def test_a_ratio_is_a_word_only_where_it_is_close_to_one(ratio: float | None, said: str) -> None:
    assert times(words_in("en"), ratio) == said


def test_the_headline_and_its_line_say_who_how_much_and_how_sure() -> None:
    view = led_by("feasibility", 0.35, 0.674)
    assert view.headline == (
        "Refused people from south have an option half as often as those from north"
    )
    assert [(run.words, run.strong) for run in view.lead] == [
        ("35% of them have one, against 67%:", False),
        ("32 points fewer (95% interval 13 to 49 fewer).", True),
        (OPTION, False),
    ]


@pytest.mark.parametrize(
    ("measure", "value", "reference", "headline"),
    [
        ("adverse_rate", 0.41, 0.205, "People from south were refused twice as often as those"),
        ("adverse_rate", 0.41, 0.30, "People from south were refused more often than those from"),
        ("adverse_rate", 0.10, 0.30, "People from south were refused a third as often as those"),
        ("adverse_rate", 0.41, 0.0, "People from south were refused more often than those from"),
        ("feasibility", 0.6, 0.3, "Refused people from south have an option twice as often as"),
        ("feasibility", 0.5, 0.62, "Refused people from south have an option less often than"),
        ("cost", 0.6, 0.2, "Refused people from south need more effort than those from north, or"),
        ("cost", 0.2, 0.6, "Refused people from south need less effort than those from north"),
    ],
)
def test_every_measure_and_direction_has_its_headline(
    measure: Measure, value: float, reference: float, headline: str
) -> None:
    gap = reference - value if measure == "feasibility" else value - reference
    ends = Interval(low=gap - 0.05, high=gap + 0.05)
    assert led_by(measure, value, reference, interval=ends, gap=gap).headline.startswith(headline)


def test_the_size_has_the_direction_of_its_gap() -> None:
    better = led_by("feasibility", 0.6, 0.3, interval=Interval(low=-0.4, high=-0.2))
    assert better.lead[1].words == "30 points more (95% interval 20 to 40 more)."
    refused = led_by("adverse_rate", 0.41, 0.2, interval=Interval(low=0.11, high=0.3))
    assert refused.lead[1].words == "21 points more (95% interval 11 to 30 more)."
    effort = led_by("cost", 0.6, 0.2, interval=Interval(low=0.2, high=0.5))
    assert effort.lead[1].words == "40 points (95% interval 20 to 50)."


def test_a_finding_that_is_not_settled_says_so_with_its_interval_and_claims_no_more() -> None:
    ends = Interval(low=-0.004, high=0.37)
    view = led_by("adverse_rate", 0.412, 0.205, "not settled", interval=ends)
    assert view.headline == "People from south were refused twice as often as those from north"
    assert view.lead[1].words == "21 points more."
    assert view.lead[2].words == (
        f"Whether the gap goes beyond chance is not settled ({MINUS}0.4 to +37 points; plus is "
        "worse for south)."
    )
    untested = led_by("adverse_rate", 0.4, 0.2, "not settled", interval=None, tested=False)
    assert untested.lead[2].words == "It could not be tested whether this is more than chance."


@pytest.mark.parametrize(
    ("verdicts", "headline"),
    [
        (("no gap",), "No gap of 10 points or more against any group in 1 comparison"),
        (("no gap", "no gap"), "No gap of 10 points or more against any group in 2 comparisons"),
        (("no gap", "not settled"), "No gap is shown; 1 of 2 comparisons is not settled"),
        (("not settled",) * 2, "No gap is shown; 2 of 2 comparisons are not settled"),
    ],
)
def test_where_nothing_leads_the_headline_says_how_much_is_settled(
    verdicts: tuple[Verdict, ...], headline: str
) -> None:
    view = view_of(report_on([compared(gap=0.01, verdict=one) for one in verdicts]))
    assert view.headline == headline


def test_one_group_alone_is_shown_and_not_compared() -> None:
    view = view_of(one_group_report())
    first = one_group_report().tables[0].by_group[0].name
    assert view.headline == "Groups were not compared"
    assert "No attribute has two groups" in view.lead[0].words
    refused = view.cards[0]
    assert [row.strong for row in refused.rows] == [first, "other (3 groups)"]
    assert refused.verdict == "Not compared: fewer than two groups can be shown"
    assert view.panels == ()


def test_what_was_audited_is_said_first() -> None:
    report = gap_report()
    decided = report.overall.decisions
    assert decided is not None
    about = view_of(report).about
    assert about.startswith(f"900 people decided on · {decided.refused} refused (")
    assert about.endswith("all audited · nobody left out, no group pooled, no table left out")
    gone = LeftOut(table="origin x age", part="table", why="few_people")
    assert view_of(replace(report, left_out=(gone,))).about.endswith(" · 1 table left out")
    some = replace(decided, audited=24, not_audited=decided.refused - 24)
    found = report.overall.outcomes
    assert found is not None
    overall = replace(report.overall, decisions=some, excluded={"timeout": 2})
    said = view_of(replace(report, overall=overall)).about
    assert "a sample of 24 of them audited · 2 left out: the audit failed for them" in said
    overall = replace(report.overall, outcomes=replace(found, disagreeing=3))
    said = view_of(replace(report, overall=overall)).about
    assert "3 left out: record and model disagree" in said
    assert "failed" not in said
    assert "2 small groups pooled" in view_of(pooled_report()).about


def test_where_even_the_number_of_people_is_withheld_no_figure_is_said() -> None:
    view = view_of(tiny_report())
    assert view.about.startswith("How many people there are is withheld: fewer than 11")
    rest = text_of(view).replace("11", "").replace("1 table left out", "")
    assert not re.search(r"\d", rest)
    assert {one.empty for one in view.cards[:2]} == {
        "Left out: a figure would be about fewer than 11 people"
    }


def test_where_few_were_audited_decisions_are_shown_and_results_left_out() -> None:
    view = view_of(few_audited_report())
    assert "results withheld: fewer than 11 audited" in view.about
    assert view.cards[0].rows
    assert view.cards[1].empty == "Left out: a figure would be about fewer than 11 people"
    assert [panel.title for panel in view.panels] == [
        "Refused more often than the reference, points"
    ]


def test_groups_that_are_pooled_have_one_row_and_never_a_dash() -> None:
    view = view_of(pooled_report())
    for card in view.cards[:2]:
        assert [row.strong for row in card.rows][2:] == ["other (2 groups)"]
        assert all(row.picture is not None for row in card.rows)
    assert "\N{EN DASH}" not in text_of(view)


def test_nobody_refused_leaves_nothing_to_audit() -> None:
    view = view_of(favourable_report())
    assert "nobody refused" in view.about
    assert view.cards[1].empty == ("All 300 decisions were favourable; there is nothing to audit.")


def test_own_data_that_was_not_asked_or_is_withheld_says_so() -> None:
    card = view_of(gap_report()).cards[2]
    assert card.empty.startswith("Own data alone was not asked")
    assert card.title == "Refused on own data alone"


def test_cards_show_six_groups_at_most_and_say_how_many_more_there_are() -> None:
    view = view_of(many_groups_report())
    refused, option, _ = view.cards
    assert len(refused.rows) == len(option.rows) == 6
    assert refused.text.endswith("6 more groups are in the group report.")
    assert [len(panel.rows) for panel in view.panels] == [11, 11]


def test_gap_plots_stop_at_twelve_rows_and_say_so() -> None:
    report = gap_report()
    first = report.tables[0]
    many = tuple(
        replace(one, group=f"{one.group} {place}")
        for place in range(15)
        for one in first.comparisons
    )
    view = view_of(replace(report, tables=(replace(first, comparisons=many), *report.tables[1:])))
    assert [len(panel.rows) for panel in view.panels] == [12, 12]
    assert re.search(r"\d groups with smaller gaps are in the group report\.", view.panels_note)


def test_cards_say_their_verdict_with_a_mark_and_the_numbers_behind_it() -> None:
    report, view = gap_report(), view_of(gap_report())
    [one] = [
        one
        for one in report.tables[0].comparisons
        if (one.group, one.measure) == ("south", "feasibility")
    ]
    option = view.cards[1]
    assert option.verdict.startswith(f"▲ Gap shown: {round(100 * one.gap)} points fewer (")
    assert option.tone == "attention"
    assert "Stands after correction for 6 tests" in option.text
    assert option.rows[0].strong == "north"
    assert view.cards[0].verdict.startswith(("◇ Not settled", "○ No gap of 10 points"))
    assert view.cards[0].title == "Refused: no gap shown"


def test_the_rows_of_gaps_say_mark_gap_and_interval_right_is_worse() -> None:
    report, view = gap_report(), view_of(gap_report())
    [refusals, options] = view.panels
    south = next(row for row in options.rows if row.strong == "south")
    assert south.label == " against north"
    assert south.figure == "▲ gap shown"
    assert re.fullmatch(r" \+\d+ \(\+\d+ to \+\d+\)", south.words)
    assert refusals.axis is not None
    assert refusals.axis == options.axis, "one scale"
    assert "Right is worse for the group." in view.panels_note
    shown = sum(one.verdict == "gap shown" for one in report.findings if one.family == "crossed")
    assert (f"Of 9 comparisons of crossed groups, {shown}" in view.panels_note) == bool(shown)


def test_groups_of_the_same_name_say_which_attribute_they_are_of() -> None:
    report = renamed_report("same", "north")
    gender = report.tables[1]
    groups = tuple(replace(one, name="same", values=("same",)) for one in gender.by_group[:1])
    twice = replace(gender, by_group=(*groups, *gender.by_group[1:]))
    view = view_of(replace(report, tables=(report.tables[0], twice, *report.tables[2:])))
    assert "same (origin)" in view.headline
    assert "same (origin)" in {row.strong for panel in view.panels for row in panel.rows}


def test_an_unfinished_audit_says_so_first() -> None:
    assert view_of(unfinished_report()).unfinished.startswith(
        "This audit is not finished: 120 of 400 subjects are done"
    )
    assert view_of(gap_report()).unfinished == ""


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_report_has_a_board_in_every_language(name: str, language: str) -> None:
    view = view_of(report_of(name), language)
    assert view.headline
    assert len(view.cards) == 3
    for card in view.cards:
        assert bool(card.empty) != bool(card.rows)
    text = text_of(view)
    assert not re.search(r"[{}]|\\x|\bNone$|=None", text)


@pytest.mark.parametrize("language", EACH_LANGUAGE)
@pytest.mark.parametrize("name", ["gap", "quiet", "pooled", "tiny"])
def test_on_paper_the_block_is_the_first_sheet(name: str, language: str) -> None:
    words = Words(language, Templates())
    view = groups_view(report_of(name), words=words)
    page = Templates().render("pages/groups.html", view=view)
    with (
        pikepdf.open(BytesIO(Printer(Templates()).pdf(page))) as pdf,
        pdf.open_outline() as outline,
    ):
        items = [child for item in outline.root for child in (item, *item.children)]
        places = [
            (item.title, pdf.pages.index(pikepdf.Page(item.destination[0])))
            for item in items
            if isinstance(item.destination, pikepdf.Array)
        ]
    cards = [place for title, place in places if title in {one.title for one in view.board.cards}]
    assert cards == [0, 0, 0]
    rest = [place for title, place in places[4:]]
    assert min(rest) == 1, places
