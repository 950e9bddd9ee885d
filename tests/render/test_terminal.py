"""What a person reads: everything that matters, as text, at any width."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from recourse_audit.records.recourse import AskedOn
from recourse_audit.records.subject import NO_TIE_MOVES
from recourse_audit.render.status import STATUS_WORDS
from recourse_audit.render.terminal.subject import show_subject
from recourse_audit.render.text import plain
from tests.audits import SAMPLES, lending_audit, small_audit
from tests.command import command
from tests.render.subject_reports import made_report, with_recourse


def test_a_subject_is_shown_with_decision_tree_histograms_table_and_caution(tmp_path: Path) -> None:
    finished = command("explain", lending_audit(tmp_path), "P0004", "--full")
    assert finished.err == ""
    assert finished.out.startswith("P0004: denied. On own data alone the model would also deny.")
    assert "Decided denied with probability 0.9" in finished.out
    for words in (
        *("├── ", "✂ ", "whole graph", "explanation", "counterfactual", "█", "░"),
        *("Diverse counterfactuals", "simulatability ν", "relevance |μ|", "dominates"),
        *("subgraphs of up to 4 people within 2 hops", "Caution. "),
    ):
        assert words in finished.out, words


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_no_figure_is_cut_off_however_narrow_the_terminal(columns: int, tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    out = command("explain", settings, "P0004", "--full", columns=columns).out
    document = command("explain", settings, "P0004", "--json").document
    assert max(len(line) for line in out.splitlines()) <= columns
    for found in document["counterfactuals"]:
        assert f"{found['simulatability']:.6f}".replace("-", "\N{MINUS SIGN}") in out
        assert f"{found['relevance']:.6f}" in out
        assert f"+{found['relevance']:.6f}" not in out, "a sign there is not a direction"


def test_markup_and_control_characters_in_ids_are_shown_as_text(tmp_path: Path) -> None:
    ids = ["[bold]x[/]", "<b>h</b>", "new\nline", "\x1b[31mred", "ünï"]
    out = command("explain", small_audit(tmp_path), *ids, "--full").out
    for name in ("[bold]x[/]", "<b>h</b>", "new\\nline", "\\x1b[31mred", "ünï"):
        assert f"\n{name}: " in f"\n{out}"
    assert "[b]maybe" in out, "so are classes"
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("trap", "words"),
    [
        ("dropout", "The same question gets different answers"),
        ("tie_order", "Answers depend on the order in which ties are listed"),
        ("node_order", "Answers depend on the order in which nodes are listed"),
        ("batch", "A graph's answer changes with what is asked beside it"),
        ("ties", "Answers do not change when ties do"),
    ],
)
def test_a_failed_probe_is_told_in_the_first_lines_once(
    trap: str, words: str, tmp_path: Path
) -> None:
    finished = command("explain", small_audit(tmp_path, trap), "a", "c")
    assert finished.out.startswith(f"! {words}")
    assert finished.out.count(words) == 1


def test_a_sound_model_starts_with_the_decision(tmp_path: Path) -> None:
    assert command("explain", small_audit(tmp_path), "a").out.startswith("a: ")


def test_a_person_without_ties_gets_a_sentence_and_no_caution(tmp_path: Path) -> None:
    finished = command("explain", small_audit(tmp_path), "lonely")
    assert finished.code == 0
    assert "lonely has no ties; the decision rests on own data alone." in finished.out
    assert "Caution" not in finished.out
    assert "as decided" in finished.out
    assert "without" not in finished.out


def test_a_stream_that_cannot_hold_the_signs_still_gets_the_figures(tmp_path: Path) -> None:
    for full in ((), ("--full",)):
        finished = command("explain", small_audit(tmp_path), "a", *full, encoding="ascii")
        assert finished.code == 0, finished.err
        assert "as decided" in finished.out
        assert re.search(r"o-*>|<-*o", finished.out), "an arrow, in characters that it knows"
        assert finished.out.count("?") == 2 * finished.out.count("?n?"), "but for a name: ünï"


@pytest.mark.parametrize("columns", [40, 80, 130])
def test_options_are_shown_with_all_that_goes_with_them(columns: int, tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    text = settings.read_text(encoding="utf-8").split("[recourse]")[0]
    settings.write_text(text, encoding="utf-8")
    out = command("explain", settings, "P0029", "--full", columns=columns).out
    words = " ".join(out.split())
    found = STATUS_WORDS["verified"].name
    assert f"Status: {found}. 1 option that the model confirms on the whole graph." in words
    for part in ("drop the address tie P0029 - P1761", "approved 0.220 → 0.534", "+0.068"):
        assert part in words or columns > 100, part
    assert re.search(r"\d+ of \d+ with other ties \(\d+\.\d%, \d+ to \d+\)", words) or columns > 100
    assert "worse for P0727" in words
    assert "4 of 7 combinations (up to 3 changes) were tried; the others contain one that" in words
    assert max(len(line) for line in out.splitlines()) <= columns


@pytest.mark.parametrize(
    ("asked_on", "words"),
    [
        (("whole graph", "whole graph"), "2 options that the model confirms on the whole graph."),
        (
            ("neighbourhood", "neighbourhood"),
            "2 options that the model confirms on the neighbourhood.",
        ),
        (
            ("neighbourhood", "whole graph"),
            "2 options that the model confirms on the whole graph or on the neighbourhood.",
        ),
    ],
)
def test_where_options_were_verified_is_said_as_it_was(
    asked_on: tuple[AskedOn, AskedOn], words: str
) -> None:
    report = made_report()
    assert report.recourse is not None
    options = tuple(
        replace(option, verified_on=place)
        for option, place in zip(report.recourse.options, asked_on, strict=True)
    )
    console = Console(file=io.StringIO(), width=200)
    with console.capture() as captured:
        show_subject(console, with_recourse(report, options=options))
    assert f"Status: {STATUS_WORDS['verified'].name}. {words}" in captured.get()


def test_no_option_is_said_with_its_proof_or_its_budget(tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    text = settings.read_text(encoding="utf-8").split("[recourse]")[0]
    settings.write_text(text, encoding="utf-8")
    words = " ".join(command("explain", settings, "P0002", "P0001", "--full").out.split())
    assert "No combination of up to 3 permitted changes changes the decision." in words
    assert "All 987 combinations (up to 3 changes) were tried." in words
    assert "Permitted: 18 ties to drop. Never suggested: 2 ties." in words
    assert "The decision is already favourable: there is nothing to change." in words
    settings.write_text(f"{text}\n[recourse]\nbudget = 200\n", encoding="utf-8")
    words = " ".join(command("explain", settings, "P0002", "--full").out.split())
    assert "No option was found within the budget; there may be one." in words
    assert "including all of up to 2 changes. Permitted: 18 ties" in words
    nothing = '[[recourse.ties]]\nkind = "*"\nallow = []\n'
    settings.write_text(f"{text}\n{nothing}", encoding="utf-8")
    words = " ".join(command("explain", settings, "P0002", "--full").out.split())
    assert "The policy permits this person no change." in words


def test_a_change_tried_by_hand_is_shown_with_what_the_policy_says(tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    words = ("--what-if", "savings=20000", "--what-if", "drop P0029-P1761")
    out = " ".join(command("explain", settings, "P0029", *words).out.split())
    assert "drop the address tie P0029 - P1761; savings 2,540 → 20,000" in out
    assert "decided approved with probability" in out
    assert "margin +" in out
    document = command("explain", settings, "P0029", *words, "--json").document["what_if"]
    assert document["favourable"] is True
    assert [action["do"] for action in document["actions"]] == ["drop", "set"]
    assert document["margin"] > 0 > document["margin_before"]


def test_a_model_is_shown_with_ports_probes_and_what_to_write() -> None:
    finished = command("inspect", SAMPLES / "gcn.onnx", "--full")
    for words in ("edge_index", "features", "logits", "ties_matter", "depth"):
        assert words in finished.out
    assert 'roles = { "x" = "features", "edge_index" = "edges" }' in finished.err
    assert 'output = "logits"' in finished.err
    assert "Probed with made-up features" in finished.err
    assert "normalisation" not in finished.err


def test_a_model_that_takes_weights_is_shown_with_the_settings_for_them() -> None:
    finished = command("inspect", SAMPLES / "outside_normalised.onnx")
    for words in ('self_loops = "add"', 'normalisation = "symmetric"', 'tie_weights = "column"'):
        assert words in finished.err


def test_the_advice_names_the_settings_file_that_was_given(tmp_path: Path) -> None:
    settings = small_audit(tmp_path)
    finished = command("inspect", settings)
    assert f"correct it in {settings}:" in finished.err
    assert "made-up" not in finished.err


def test_plain_text_stays_as_it_is() -> None:
    assert plain("Zoë O'Neill [7]") == "Zoë O'Neill [7]"
    assert plain("a\tb\u202ec") == "a\\tb\\u202ec"


def test_where_no_tie_moves_the_answer_no_explanation_is_shown(tmp_path: Path) -> None:
    out = command("explain", small_audit(tmp_path, trap="saturated"), "a", "--full").out
    assert NO_TIE_MOVES in " ".join(out.split())
    assert "What the decision rests on" not in out
    assert "Caution" not in out
    assert "pairs" in out, "how much was tried is still told"


@pytest.mark.parametrize("columns", [60, 120])
def test_the_effect_says_which_way_and_who_held_the_decision_back(
    columns: int, tmp_path: Path
) -> None:
    settings = small_audit(tmp_path)
    against = 0
    for subject in ("a", "b", "c", "d"):
        document = command("explain", settings, subject, "--json").document
        out = command("explain", settings, subject, "--full", columns=columns).out
        decision = document["subject"]["decision"]
        for found in document["counterfactuals"]:
            before = found["explanation"]["probabilities"][decision]
            after = found["probabilities"][decision]
            assert f"{before:.3f} → {after:.3f}" in out
        raised = [
            one["probabilities"][decision] > one["explanation"]["probabilities"][decision]
            for one in document["counterfactuals"]
        ]
        assert out.count("(held it back)") == sum(raised)
        against_it = "the decision does not rest on them; they held it back"
        assert (against_it in " ".join(out.split())) == raised[0]
        against += sum(raised)
    assert against, "this graph has ties of both directions"


@pytest.mark.parametrize("words", [("gcn.onnx",), ("outside_normalised.onnx",), ("audit.toml",)])
def test_a_model_with_what_to_write_fits_a_terminal(words: tuple[str, ...]) -> None:
    finished = command("inspect", *(SAMPLES / word for word in words), columns=80)
    assert "Model checks: 5 of 5 passed. Reach: 2 hops." in finished.out
    assert "  edge_index " in finished.out
    assert not [line for line in finished.out.splitlines()[1:] if line.endswith("…")]
    assert max(map(len, finished.out.splitlines())) <= 80


def test_people_of_the_sample_fit_a_terminal_and_the_full_view_has_the_rest(
    tmp_path: Path,
) -> None:
    settings = lending_audit(tmp_path)
    for subject in ("P0001", "P0002", "P0004", "P0716"):
        brief = command("explain", settings, subject, columns=80)
        assert brief.err == ""
        assert max(map(len, brief.out.splitlines())) <= 80
        full = command("explain", settings, subject, "--full", columns=80).out
        assert brief.out.splitlines()[0] == full.splitlines()[0]
        assert len(full.splitlines()) > len(brief.out.splitlines())
        for line in brief.out.splitlines():
            if line.startswith(("  as decided", "  own data alone")):
                assert line in full.splitlines()
