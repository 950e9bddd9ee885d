"""What a person reads: everything that matters, as text, at any width."""

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from recourse_audit import Audit
from recourse_audit.records.codec import SUBJECT
from recourse_audit.render.i18n import status_name
from recourse_audit.render.terminal import show_subject
from recourse_audit.render.text import plain
from tests.audits import SAMPLES, lending_audit, small_audit
from tests.command import command


def test_a_subject_is_shown_with_decision_ladder_options_counterfactuals_and_caution(
    tmp_path: Path,
) -> None:
    finished = command("explain", lending_audit(tmp_path), "P0004", "--full")
    assert finished.err == ""
    assert finished.out.startswith(
        "P0004: refused. On their own data alone, the model would decide the same."
    )
    text = " ".join(finished.out.split())
    for words in (
        *("Approval probability 0.0", "As decided", "Own data alone", "○", "│"),
        *("Late payments", "approved median", "of all", "Own data: one item"),
        *("What could change the decision", "Counterfactuals from the search"),
        *("Simulatability ν", "Relevance |μ|", "Dominates", "On the whole graph: 0.0"),
        *("subgraphs of up to 4 people, within 2 ties", "not its only or true cause"),
    ):
        assert words in text, words


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


def test_long_names_are_whole_at_any_width(tmp_path: Path) -> None:
    """A sign that is nowhere else is there as often in a narrow terminal as in a wide one."""
    report = Audit.from_toml(lending_audit(tmp_path)).explain("P0004")
    long = SUBJECT.write(report).replace("P0320", "\N{CYRILLIC SMALL LETTER ZHE}" * 70)
    counts = set()
    for width in (40, 60, 80, 120):
        out = StringIO()
        console = Console(width=width, file=out, markup=False, highlight=False, emoji=False)
        show_subject(console, SUBJECT.read(long), full=True)
        assert max(map(len, out.getvalue().splitlines())) <= width
        counts.add(out.getvalue().count("\N{CYRILLIC SMALL LETTER ZHE}"))
    assert len(counts) == 1, counts
    assert counts != {0}


def test_markup_and_control_characters_in_ids_are_shown_as_text(tmp_path: Path) -> None:
    ids = ["[bold]x[/]", "<b>h</b>", "new\nline", "\x1b[31mred", "ünï"]
    out = command("explain", small_audit(tmp_path), *ids, "--full").out
    for name in ("[bold]x[/]", "<b>h</b>", "new\\nline", "\\x1b[31mred", "ünï"):
        assert f"\n{name}: " in f"\n{out}"
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("trap", "words"),
    [
        ("dropout", "The same query gets different answers"),
        ("tie_order", "Answers depend on the order in which ties are listed"),
        ("node_order", "Answers depend on the order in which people are listed"),
        ("batch", "answer changes with what else is in the query"),
        ("ties", "Answers do not change when ties do"),
    ],
)
def test_a_failed_probe_is_told_in_the_first_lines_once(
    trap: str, words: str, tmp_path: Path
) -> None:
    finished = command("explain", small_audit(tmp_path, trap), "a", "c")
    assert words in finished.out[: len(words) + 12]
    assert finished.out.count(words) == 1


def test_a_sound_model_starts_with_the_decision(tmp_path: Path) -> None:
    assert command("explain", small_audit(tmp_path), "a").out.startswith("a: ")


def test_a_person_without_ties_gets_a_sentence_and_no_caution(tmp_path: Path) -> None:
    finished = command("explain", small_audit(tmp_path), "lonely")
    assert finished.code == 0
    assert "lonely has no ties; the decision rests on their own data alone." in finished.out
    assert "As decided" in finished.out
    assert "Ties: without" not in finished.out


def test_a_stream_that_cannot_hold_the_signs_still_gets_the_figures(tmp_path: Path) -> None:
    for full in ((), ("--full",)):
        finished = command("explain", small_audit(tmp_path), "a", *full, encoding="ascii")
        assert finished.code == 0, finished.err
        assert "As decided" in finished.out
        assert re.search(r"o-*>|<-*o", finished.out), "an arrow, in characters that it knows"
        assert finished.out.count("?") == 2 * finished.out.count("?n?"), "but for a name: ünï"


@pytest.mark.parametrize("columns", [40, 80, 130])
def test_options_are_shown_with_all_that_goes_with_them(columns: int, tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    text = settings.read_text(encoding="utf-8").split("[recourse]")[0]
    settings.write_text(text, encoding="utf-8")
    out = command("explain", settings, "P0029", "--full", columns=columns).out
    words = " ".join(out.split())
    assert f"Status: {status_name('verified')}." in words
    for part in (
        "What could change the decision: 1 option",
        "are covered: 4 were tried, and 3 only add to one that already works.",
        "1 End one address tie (with P1761)",
        "Effort: 1; 0.534 0.034 past the cut-off;",
        "Worse for P0727.",
    ):
        assert part in words, part
    assert re.search(r"\d+ of 50 tests", words)
    assert max(len(line) for line in out.splitlines()) <= columns


def test_no_option_is_said_with_its_proof_or_its_budget(tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    text = settings.read_text(encoding="utf-8").split("[recourse]")[0]
    settings.write_text(text, encoding="utf-8")
    words = " ".join(command("explain", settings, "P0002", "P0001", "--full").out.split())
    assert "all 987 combinations of up to 3 permitted changes were tried." in words
    assert "Permitted: 18 ties to end. Never suggested: 2 ties of protected kinds." in words
    assert "The decision is favourable already." in words
    settings.write_text(f"{text}\n[recourse]\nbudget = 200\n", encoding="utf-8")
    words = " ".join(command("explain", settings, "P0002", "--full").out.split())
    assert "There may be one." in words
    assert "rerun. All combinations of up to 2 changes were covered." in words
    nothing = '[[recourse.ties]]\nkind = "*"\nallow = []\n'
    settings.write_text(f"{text}\n{nothing}", encoding="utf-8")
    words = " ".join(command("explain", settings, "P0002", "--full").out.split())
    assert "There was nothing to try: the policy permits this person no change." in words


def test_a_change_tried_by_hand_is_shown_with_what_the_policy_says(tmp_path: Path) -> None:
    settings = lending_audit(tmp_path)
    words = ("--what-if", "savings=20000", "--what-if", "drop P0029-P1761")
    out = " ".join(command("explain", settings, "P0029", *words).out.split())
    assert "What if: move to another address (with P1761); raise savings from €2,540 to" in out
    assert re.search(r"\? 0\.\d+ → 0\.\d+, approved\.", out)
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
    words = " ".join(out.split())
    assert "No tie that was tried moves the answer" not in words, "for single ones have rows"
    assert "probabilities stayed the same to six digits" in words
    assert "up > 100 in log-odds" in words or "in log-odds" in words
    assert "from the search" not in out
    assert "true cause" not in out


@pytest.mark.parametrize("words", [("gcn.onnx",), ("outside_normalised.onnx",), ("audit.toml",)])
def test_a_model_with_what_to_write_fits_a_terminal(words: tuple[str, ...]) -> None:
    finished = command("inspect", *(SAMPLES / word for word in words), columns=80)
    assert "Model checks: 5 of 5 passed. Reach: 2 ties." in finished.out
    assert "edge_index " in finished.out
    assert not [line for line in finished.out.splitlines()[2:] if line.endswith("…")]
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
            if line.startswith(("As decided", "Own data alone")):
                assert line in full.splitlines()
