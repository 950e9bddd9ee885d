"""The small language of formulas and conditions: what it reads, and what it refuses."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recourse_audit.graph.computed import evaluate
from recourse_audit.settings.expressions import parse_condition, parse_formula
from tests.recourse.oracle import by_python

COLUMNS: dict[str, Any] = {
    "a": np.array([1.0, 2.0, -3.0]),
    "b": np.array([4.0, 0.5, 2.0]),
    "loan-amount": np.array([10.0, 20.0, 30.0]),
    "job": np.array(["none", "clerk", "none"], dtype=np.dtypes.StringDType()),
}
ROWS = [{name: values[row] for name, values in COLUMNS.items()} for row in range(3)]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("a + b * 2", [9, 3, 1]),
        ("(a + b) * 2", [10, 5, -2]),
        ("-a ** 2", [-1, -4, -9]),
        ("2 ** -b ** 2", [2.0**-16, 2**-0.25, 2.0**-4]),
        ("a - b - 1", [-4, 0.5, -6]),
        ("a / b / 2", [0.125, 2, -0.75]),
        ("1e1 + .5", [10.5] * 3),
        ("`loan-amount` / 10", [1, 2, 3]),
    ],
)
def test_a_formula_is_arithmetic_as_everybody_learnt_it(formula: str, expected: list[Any]) -> None:
    values = np.broadcast_to(evaluate(parse_formula(formula), COLUMNS), 3)
    assert values == pytest.approx(expected)
    assert [by_python(formula, row) for row in ROWS] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("max(a, b)", "cannot be read; a formula has columns"),
        ("__import__('os')", "cannot be read; a formula has columns"),
        ("a.real", "columns have no attributes"),
        ("a + 'x'", "has the text 'x', but arithmetic needs numbers"),
        ("a +", "cannot be read; a formula has columns"),
        ("", "cannot be read; a formula has columns"),
        ("a b", "cannot be read; a formula has columns"),
        ("(a + b", "cannot be read; a formula has columns"),
        ("a[0]", r"has '\[', which means nothing here"),
        ("a; b", "has ';'"),
        ("a = b", "cannot be read; a formula has columns"),
        ("a // b", "cannot be read; a formula has columns"),
        ("lambda: 1", "has ':'"),
        ("`a", "quotes are never closed"),
        ("(" * 60 + "a" + ")" * 60, "more than 40 parentheses and signs"),
        ("-" * 60 + "a", "more than 40 parentheses and signs"),
        ("a" * 600, "has 600 characters"),
    ],
)
def test_anything_else_is_refused(formula: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_formula(formula)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ('job = "none"', [True, False, True]),
        ("job != 'none' or a < 0", [False, True, True]),
        ("not a < b and b >= 0.5", [False, True, False]),
        ("not (a < b and b >= 0.5)", [False, True, False]),
        ("a = 1 or a = 2 and b > 1", [True, False, False]),
        ("a > -3", [True, True, False]),
        ("10 < `loan-amount`", [False, True, True]),
        ("a <= b", [True, False, True]),
    ],
)
def test_a_condition_compares_columns(condition: str, expected: list[bool]) -> None:
    assert evaluate(parse_condition(condition), COLUMNS).tolist() == expected
    assert [by_python(condition, row) for row in ROWS] == expected


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("a", "has no comparison where one is needed"),
        ("a == 1", "cannot be read; a condition compares"),
        ("1 = 1", "compares two values; one side must be a column"),
        ("a < b < 3", "has no comparison where one is needed"),
        ("a + 1 < b", "cannot be read; a condition compares"),
        ("open(a) = 1", "cannot be read; a condition compares"),
        ("a.b = 1", "columns have no attributes"),
        ("not", "cannot be read; a condition compares"),
        ('a = "x', "quotes are never closed"),
        ("a = -b", "has no comparison where one is needed"),
    ],
)
def test_a_condition_that_is_none_is_refused(condition: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_condition(condition)


def test_the_columns_of_a_formula_are_known_before_it_is_worked_out() -> None:
    assert [*parse_formula("a / (b + `loan-amount`) - a").names] == [
        "a",
        "b",
        "loan-amount",
        "a",
    ]
    assert [*parse_condition('not (a < b or job = "x")').names] == ["a", "b", "job"]


PIECES = (
    "a",
    "b",
    "+",
    "-",
    "*",
    "/",
    "**",
    "(",
    ")",
    "2",
    "0.5",
    "1e2",
    " ",
    "\n",
    "\u00a0",
    "`a`",
)


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_python_itself_agrees_on_every_formula(pieces: list[str]) -> None:
    text = "".join(pieces)
    try:
        names = [*parse_formula(text).names]
    except ValueError:
        return
    if not set(names) <= set(COLUMNS):
        return
    values = np.broadcast_to(evaluate(parse_formula(text), COLUMNS), 3)
    again = np.array([by_python(text, row) for row in ROWS])
    both = np.isfinite(values) & np.isfinite(again)
    assert values[both] == pytest.approx(again[both])


TERMS = ("a < b", "a = 1", "b >= 0.5", 'job = "none"', "job != 'clerk'", "`loan-amount` > -1e1")
JOINTS = ("and", "or", "and not", "or not", "and (", "or not (", ") and", ")")


@given(st.lists(st.sampled_from((*TERMS, *JOINTS)), max_size=9))
def test_python_itself_agrees_on_every_condition(pieces: list[str]) -> None:
    text = " ".join(pieces)
    try:
        tree = parse_condition(text)
    except ValueError:
        return
    assert evaluate(tree, COLUMNS).tolist() == [by_python(text, row) for row in ROWS]


def test_a_text_is_taken_as_it_is_written() -> None:
    odd = 'job = "a\\nb"'
    row: dict[str, float | str] = {"job": "a\\nb"}
    columns: Any = {"job": np.array([row["job"]], dtype=np.dtypes.StringDType())}
    assert evaluate(parse_condition(odd), columns).tolist() == [True]


@given(st.text(alphabet="ab01.()+-*/=<>!,`'\" \n\u00a0andortlmbde_[]{}:@\x00\u212b", max_size=60))
def test_whatever_is_written_is_read_or_refused_in_words(text: str) -> None:
    for parse in (parse_formula, parse_condition):
        try:
            names = parse(text).names
        except ValueError:
            continue  # any other exception, of Python's own reader too, would fail the test
        assert all(name in text for name in names)


@pytest.mark.parametrize("text", ["1" + "+1" * 240, "a" + "-a" * 240, "a=1" + " or a=1" * 60])
def test_a_long_chain_is_no_deep_nest(text: str) -> None:
    parse = parse_condition if "or" in text else parse_formula
    assert evaluate(parse(text), COLUMNS).shape in ((), (3,))
