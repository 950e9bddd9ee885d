"""What the terminal shows by default fits 80 columns, whatever the record holds."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import networkx as nx
import pytest
from rich.cells import cell_len
from rich.console import Console

from recourse_audit.records.groups import LeftOut
from recourse_audit.records.model import (
    ModelInput,
    ModelOutput,
    ModelReport,
    ProbeReport,
    RuleReport,
)
from recourse_audit.records.recourse import (
    FRAGILE,
    STATUSES,
    STEADY,
    Certificate,
    RecourseStatus,
    SetAction,
    SideEffects,
    WhatIf,
    forbid,
)
from recourse_audit.records.search import Carriers, CarryingSet
from recourse_audit.records.subject import AnswerAlone, DecisionLine, SubjectReport
from recourse_audit.render.decision_axis import AuditFacts
from recourse_audit.render.groups import GroupPage
from recourse_audit.render.i18n import Words, status_name
from recourse_audit.render.terminal import show_groups, show_model, what_if_lines
from recourse_audit.render.terminal import show_subject as show_any
from recourse_audit.settings import LetterSettings
from tests.render.group_pages import ReadGroups
from tests.render.group_reports import (
    column_report,
    few_audited_report,
    gap_report,
    no_ties_report,
    pooled_report,
    quiet_report,
    tiny_report,
    unfinished_report,
)
from tests.render.subject_pages import NAMED
from tests.render.subject_reports import (
    PROBES,
    made_report,
    option,
    own_data,
    person,
    probabilities,
    with_recourse,
)

MINUS = "\N{MINUS SIGN}"
ARABIC = "\N{ARABIC LETTER ALEF}\N{ARABIC LETTER BEH}"
NAMES: dict[str, Callable[[int], str]] = {
    "short": person,
    "long": lambda place: f"{place}{'x' * 300}",
    "emoji": lambda place: f"{place}" + 60 * "\N{SLICE OF PIZZA}",
    "right to left": lambda place: f"{60 * ARABIC}{place}",
    "wide": lambda place: f"{60 * chr(0x6F22)}{place}",
    "hostile": lambda place: f"{place}\n\x1b[2J\u202e[bold]",
}
FAMILY = forbid("kind_denied", kind="family")
REASONS: dict[RecourseStatus, str] = {
    "error": "the model's answer is not a number. " * 12,
}


def printed(show: Callable[..., None], *things: Any, width: int = 80, **how: Any) -> str:
    console = Console(
        file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False, no_color=True
    )
    show(console, *things, **how)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def fits(text: str, columns: int = 80) -> str:
    """The text, once it is known to fit the width."""
    assert max(map(cell_len, text.splitlines())) <= columns, text
    return text


show_subject = partial(show_any, words=NAMED)


def own_ties(report: SubjectReport, count: int, spread: float = 0.4) -> SubjectReport:
    """The report with so many own ties, each moving the answer less than the one before."""
    name, classes = report.subject.id, tuple(report.subject.probabilities)
    scored = report.decision.score is not None
    found = tuple(
        CarryingSet(
            removed=((name, f"N{place:03d}"),),
            size=1,
            probabilities=probabilities(0.9 - spread / (place + 1), classes) if classes else {},
            score=0.1 + spread / (place + 1) if scored else None,
            effect=-spread / (place + 1),
            decision=report.subject.decision,
            favourable=report.subject.favourable,
            flips=False,
        )
        for place in range(count)
    )
    carriers = Carriers(
        front=(),
        smallest_flip=None,
        own=found,
        own_ties=count,
        ties_in_reach=count,
        max_ties=1,
        coverage="exhaustive",
        tried=(),
    )
    return replace(report, carriers=carriers)


def with_status(status: RecourseStatus, **how: Any) -> SubjectReport:
    report = own_ties(made_report(**how), 20)
    assert report.recourse is not None
    kept = report.recourse.options if status == "verified" else ()
    return with_recourse(report, status=status, options=kept, error=REASONS.get(status, ""))


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("status", STATUSES)
def test_a_subject_of_every_status_fits_a_terminal(status: RecourseStatus, names: str) -> None:
    name = NAMES[names]
    kind = name(7)
    report = with_status(status, name=name, kind=kind, attribute=kind)
    text = fits(printed(show_subject, report))
    assert f"Status: {status_name(status)}." in text
    assert "\x1b" not in text
    assert "As decided" in text


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_a_subject_fits_a_terminal_of_any_width(width: int) -> None:
    text = printed(show_subject, with_status("verified"), width=width)
    fits(text, columns=min(width, 80))


def test_of_everything_at_once_no_sentence_is_cut() -> None:
    save = SetAction(attribute="savings", before=1.0, after=2.0)
    tried = WhatIf(
        actions=(save,) * 9,
        decision="approved",
        favourable=True,
        probabilities=probabilities(0.2),
        margin_before=-0.8,
        margin=0.6,
        forbidden=(FAMILY,) * 4,
    )
    worse = SideEffects(measured=True, to_unfavourable=("P1", "P2"))
    options = tuple(option([save], 1.0, side_effects=worse) for _ in range(9))
    report = with_recourse(with_status("verified"), options=options)
    line = DecisionLine(
        rule="quota", cut_off=0.5, score=0.1, margin=-0.4, places=200, rank=900, recorded="denied"
    )
    report = replace(own_ties(replace(report, decision=line), 60), what_if=tried)
    warnings = ["The same query gets different answers: " + 20 * "a warning " for _ in range(5)]
    text = fits(printed(show_subject, report, warnings))
    caution = "What moves the answer did not necessarily cause it."
    [forbidden] = what_if_lines("forbidden", FAMILY, NAMED)
    for words in (*warnings, "What if", "--full: ", caution, forbidden):
        assert " ".join(words.split()) in " ".join(text.split())
    assert text.count("Worse for P1 and P2.") == 9


def test_the_headline_says_what_own_data_alone_would_give() -> None:
    other = own_data(
        alone=AnswerAlone(
            decision="approved", favourable=True, probabilities=probabilities(0.4), value=0.6
        )
    )
    lines = printed(show_subject, made_report(own_data=other)).splitlines()
    assert lines[0] == "P0000: refused. On their own data alone, the model would approve."
    lines = printed(show_subject, made_report()).splitlines()
    assert lines[0] == "P0000: refused. On their own data alone, the model would decide the same."
    classes = ("high_risk", "low_risk")
    lines = printed(show_subject, made_report(classes=classes)).splitlines()
    assert lines[0].startswith("P0000: \N{LEFT SINGLE QUOTATION MARK}high_risk"), "it has no word"
    silent = own_data(alone=AnswerAlone(decision="", favourable=False, probabilities={}))
    lines = printed(show_subject, made_report(own_data=silent)).splitlines()
    assert lines[0] == "P0000: refused."
    assert "With all ties removed, the model gives no usable answer." in " ".join(
        " ".join(lines).split()
    )


def test_every_row_of_the_ladder_has_its_figure_and_the_line_is_drawn_at_one_place() -> None:
    text = printed(show_subject, own_ties(made_report(), 4))
    rows = [line for line in text.splitlines() if re.match("As decided|Own data alone|N0", line)]
    assert len(rows) == 6
    figures = [re.search(r" (0\.\d{3}) (?:up .*, still )?refused", row) for row in rows]
    assert [found and found[1] for found in figures] == [
        *("0.100", "0.200", "0.500", "0.300", "0.233", "0.200")
    ]
    assert len({row.index("│") for row in rows if "│" in row}) == 1
    assert re.search("○ +│ ", rows[0])
    assert rows[2].count("○") == 1
    assert "─▶" in rows[3]


@pytest.mark.parametrize(("first", "side"), [(0.492, "▶"), (0.508, "┼▶")])
def test_an_answer_close_to_the_line_is_drawn_on_its_side(first: float, side: str) -> None:
    text = printed(show_subject, own_ties(made_report(), 1, spread=first - 0.1))
    [row] = [line for line in text.splitlines() if line.startswith("N000")]
    assert (f"─{side} " if first > 0.5 else f"─{side}│") in row


def test_ties_that_do_not_move_the_figure_share_a_row() -> None:
    text = printed(show_subject, own_ties(made_report(), 30, spread=0.0))
    assert "\n30 single ties move the answer by less than 0.01 each\n" in text
    assert "N0" not in text


def test_ties_after_the_first_are_counted_and_in_the_full_view() -> None:
    report = own_ties(made_report(), 30)
    text = fits(printed(show_subject, report))
    assert text.count("\nN0") == 8
    assert "22 more ties, all with smaller effects: see Evidence." in text
    assert "evidence" in text.splitlines()[-2]
    full = printed(show_subject, report, full=True)
    assert full.count("\nN0") == 30
    assert "--full" not in full
    assert "annex" not in text + full, "a terminal has none"


LINES: dict[str, tuple[DecisionLine, str]] = {
    "cut-off": (
        DecisionLine(rule="cut_off", cut_off=0.65, score=0.1, margin=-0.55),
        "Approval probability 0.100; approval needs at least 0.650.",
    ),
    "quota": (
        DecisionLine(rule="quota", cut_off=0.7, score=0.1, margin=-0.6, places=20, rank=90),
        "20 places go to the best; approval probability: 0.100, rank 90.",
    ),
    "score": (
        DecisionLine(rule="cut_off", cut_off=-3.5, score=-12.25, margin=-8.75, better="higher"),
        "favourable from −3.50 on.",  # noqa: RUF001
    ),
    "lower score": (
        DecisionLine(rule="cut_off", cut_off=1200.0, score=4500.0, margin=-3300.0, better="lower"),
        "Score 4,500; favourable up to 1,200.",
    ),
    "quota without a line": (
        DecisionLine(rule="quota", score=0.1, places=20),
        "20 places go to the best;",
    ),
}


@pytest.mark.parametrize("rule", LINES)
def test_every_rule_is_drawn_on_its_own_axis(rule: str) -> None:
    line, words = LINES[rule]
    report = replace(with_status("verified"), decision=line)
    if line.has_score:
        assert report.recourse is not None
        moved = tuple(replace(one, score=0.5, probabilities={}) for one in report.recourse.options)
        subject = replace(report.subject, probabilities={})
        report = with_recourse(replace(report, subject=subject), options=moved)
    text = fits(printed(show_subject, own_ties(report, 5)))
    assert words in " ".join(text.split())
    assert ("│" in text) == (line.cut_off is not None)
    assert not re.search(r"(?<![\w-])-\d", text), "a minus is a real one"
    if rule == "score":
        assert f"{MINUS}12.2" in text


def test_several_classes_are_drawn_by_their_margin_with_its_line_at_zero() -> None:
    classes = ("no", "maybe", "yes")
    report = own_ties(made_report(classes=classes), 3)
    text = fits(
        printed(show_subject, report, facts=AuditFacts(classes=classes, favourable=("yes",)))
    )
    assert "Lead of the favourable classes over the others" in text
    [decided] = [line for line in text.splitlines() if line.startswith("As decided")]
    assert f"{MINUS}0.850" in decided
    [first] = [line for line in text.splitlines() if line.startswith("N000")]
    assert f"{MINUS}0.250" in first, "0.25 for yes, 0.5 for no"
    unknown = replace(report, ego_network=None)
    assert "N0" not in printed(show_subject, unknown), "maybe may be favourable"


def test_options_take_a_line_each_and_fragile_ones_have_the_word() -> None:
    report = made_report()
    assert report.recourse is not None
    first, second = report.recourse.options
    assert second.robustness is not None
    weak = replace(second.robustness, ties=replace(second.robustness.ties, count=25, share=0.5))
    report = with_recourse(report, options=(first, replace(second, robustness=weak)))
    text = " ".join(printed(show_subject, report).replace("\N{NO-BREAK SPACE}", " ").split())
    assert "1 Raise savings from €100 to €600 0.5 0.700 40 of 50 Also better for P0003." in text
    assert "2 End one guarantor tie (between P0001 1.0 0.700 25 of 50 ▲ fragile and P0002)" in text
    everything = printed(show_subject, report, full=True)
    assert "0.200 past the cut-off; Tests with" in everything, "the distance and both kinds of test"
    assert "▲ Fragile: failed 25 of 50 tests" in " ".join(everything.split())
    letters = LetterSettings()
    assert (letters.steady_share, letters.fragile_share) == (STEADY, FRAGILE), "as in letters"
    unmeasured = with_recourse(report, options=(replace(first, robustness=None),))
    assert "not tested" in printed(show_subject, unmeasured)


def test_no_ties_is_a_sentence_and_no_ladder_of_ties() -> None:
    report = made_report(nx.empty_graph(1), note="no_ties", ego_network=None, search=None)
    text = fits(printed(show_subject, report))
    assert "P0000 has no ties; the decision rests on their own" in text
    assert "Ties: without" not in text


def test_no_option_says_how_many_combinations_were_tried() -> None:
    every = Certificate(max_changes=3, tried=3860, possible=3860, exhaustive=True)
    report = with_recourse(with_status("certified_infeasible"), certificate=every)
    text = " ".join(printed(show_subject, report).split())
    assert (
        "No option exists within the limits: all 3,860 combinations of up to 3 permitted changes "
        "were tried."
    ) in text
    nothing = Certificate(max_changes=3, exhaustive=True)
    report = with_recourse(report, certificate=nothing)
    assert "the policy permits this person no change." in " ".join(
        printed(show_subject, report).split()
    )
    some = Certificate(max_changes=3, tried=4899, possible=5198)
    report = with_recourse(with_status("not_found_within_budget"), certificate=some)
    text = " ".join(printed(show_subject, report).split())
    assert "No option found yet: 4,899 of 5,198 combinations of up to 3 permitted" in text


GROUPS: dict[str, Callable[[], Any]] = {
    "gap": gap_report,
    "quiet": quiet_report,
    "withheld": pooled_report,
    "withheld, long": lambda: pooled_report(f"{60 * ARABIC}\N{SLICE OF PIZZA}{'x' * 300}"),
    "column": column_report,
    "no ties": no_ties_report,
    "unfinished": unfinished_report,
    "tiny": tiny_report,
    "few audited": few_audited_report,
}


@pytest.mark.parametrize("name", GROUPS)
def test_every_group_report_fits_a_terminal(name: str) -> None:
    report = GROUPS[name]()
    for full in (False, True):
        text = fits(printed(show_groups, report, full=full))
        assert not re.search(r"(?<![\w-])-\d", text), "a minus is a real one"
        assert not re.search(r"<[a-z]|&[a-z]+;", text)
    single = [one for one in report.findings if one.family == "single"]
    text = printed(show_groups, report)
    rows = re.findall(r"^(?:▲ |◇ )?(gap shown|not settled|no gap) ", text, re.MULTILINE)
    assert rows == [one.verdict for one in single]
    crossed = len(report.findings) - len(single)
    assert (f"{crossed} combinations of two attributes" in text) == bool(crossed)


def test_the_groups_lead_with_the_headline_and_give_gaps_with_intervals() -> None:
    report = gap_report()
    text = " ".join(printed(show_groups, report).split())
    assert text.startswith(GroupPage(report).say("summary"))
    first = next(one for one in report.findings if one.family == "single")
    assert first.interval is not None
    between = f"{Words().points(first.interval.low)} to {Words().points(first.interval.high)}"
    row = (
        f"▲ gap shown south against north having an option {Words().points(first.gap)} ({between})"
    )
    assert row in text
    assert "plus is worse for the group" in text


def test_the_full_view_has_the_sections_of_the_page_and_of_its_annex() -> None:
    brief, full = (printed(show_groups, gap_report(), full=full) for full in (False, True))
    pages = ReadGroups(gap_report())
    headings = pages.texts(".//div/section/h2")
    assert len(headings) > 10
    lines = full.splitlines()
    board = pages.texts(".//div[@class='board']//h2")
    assert set(headings) - set(lines) <= set(board)
    assert set(brief.splitlines()[:12]) <= set(lines)
    assert "--full: " in brief
    assert "--full" not in full


def test_comparisons_after_the_first_are_counted() -> None:
    report = gap_report()
    many = tuple(
        replace(report.findings[0], family="single", group=f"group {place}") for place in range(90)
    )
    text = fits(printed(show_groups, replace(report, findings=many)))
    [more] = re.findall(r"(\d+) more comparisons: --full", text)
    assert text.count("▲ gap shown") == 90 - int(more)


def test_an_unfinished_audit_says_so_first() -> None:
    text = printed(show_groups, unfinished_report())
    assert text.startswith("THIS AUDIT IS NOT FINISHED: 120 of 400 subjects are done")


def test_groups_that_are_pooled_are_counted_with_the_reason() -> None:
    text = " ".join(printed(show_groups, pooled_report()).split())
    assert "Every count and share is of at least 11 people, or of nobody" in text
    assert "2 groups are pooled." in text
    gone = LeftOut(table="gender x age", part="table", why="few_people")
    report = replace(quiet_report(), left_out=(gone,))
    assert "the whole table" in " ".join(printed(show_groups, report).split())
    assert "Gender, age" in printed(show_groups, report, full=True)


def test_without_comparisons_that_is_the_headline() -> None:
    report = replace(quiet_report(), tables=(), findings=())
    assert printed(show_groups, report).splitlines()[0] == "Groups were not compared."


def model(inputs: int = 2, **changes: Any) -> ModelReport:
    made = ModelReport(
        sha256="0" * 64,
        inputs=tuple(
            ModelInput(
                name=f"input_{place}",
                dtype="float32",
                shape=(None, 5),
                role="features",
                why="",
                sure="unsure",
            )
            for place in range(inputs)
        ),
        output=ModelOutput(
            name="logits", dtype="float32", shape=("n", 2), kind="logits", classes=2, why="a name"
        ),
        outputs=(),
        probes=PROBES,
        decision=RuleReport(
            rule="argmax",
            cut_offs={},
            better=None,
            places=None,
            favourable=1279,
            refused=521,
            undecided=0,
        ),
    )
    return replace(made, **changes)


@pytest.mark.parametrize("inputs", [2, 40])
@pytest.mark.parametrize("name", ["gcn.onnx", "/a/very/long/path" * 20, 60 * ARABIC])
def test_a_model_fits_a_terminal(name: str, inputs: int) -> None:
    text = fits(printed(show_model, name, model(inputs)))
    assert "Model checks: 5 of 5 passed. Reach: 2 ties." in text
    assert "1,279" in text
    assert "features" in text


def test_what_failed_is_shown_in_full_and_so_is_a_role_that_is_not_known() -> None:
    probes = ProbeReport(
        deterministic=True,
        node_order=True,
        tie_order=False,
        ties_matter=True,
        packing=False,
        depth=None,
        notes={"tie_order": {}},
    )
    strange = ModelInput(
        name="strange", dtype="int64", shape=("n",), role=None, why="", sure="unsure"
    )
    report = model(30, probes=probes)
    report = replace(report, inputs=(*report.inputs, strange))
    text = " ".join(printed(show_model, "m", report).split())
    assert "Model checks: 3 of 5 passed. Reach: without limit." in text
    assert "FAILED tie_order: The order of ties does not matter" in text
    assert "FAILED packing: " in text
    assert "are probably not those its makers measured" in text
    assert "strange ? unknown" in text
