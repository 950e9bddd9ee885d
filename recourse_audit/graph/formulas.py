"""Formulas and conditions on arrays: a tree and columns come in, one value per row goes out."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from recourse_audit.settings.formulas import (
    Arithmetic,
    Comparison,
    Condition,
    Formula,
    Joined,
    Name,
    Negative,
    Not,
    Number,
    Operand,
    Text,
)

Columns = Mapping[str, NDArray[np.generic]]
Doubles = NDArray[np.float64]
ARITHMETIC = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.float_power,
}
COMPARISONS = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def formula_values(tree: Formula, columns: Columns) -> Doubles:
    """What a formula gives on every row, in float64; NaN or infinite where it has no value."""
    with np.errstate(all="ignore"):
        return _value(tree, columns)


def _value(tree: Formula, columns: Columns) -> Doubles:
    match tree:
        case Number(value):
            return np.float64(value)  # type: ignore[return-value]  # numpy spreads it over rows
        case Name(name):
            return columns[name].astype(np.float64)
        case Negative(of):
            return -_value(of, columns)
        case Arithmetic(sign, left, right):
            result: Doubles = ARITHMETIC[sign](_value(left, columns), _value(right, columns))
            return result


def condition_holds(tree: Condition, columns: Columns) -> NDArray[np.bool_]:
    """On which rows a condition holds; columns are numbers or texts."""
    match tree:
        case Not(of):
            return ~condition_holds(of, columns)
        case Joined(word, left, right):
            join = np.logical_and if word == "and" else np.logical_or
            both: NDArray[np.bool_] = join(
                condition_holds(left, columns), condition_holds(right, columns)
            )
            return both
        case Comparison(sign, left, right):
            compared: NDArray[np.bool_] = np.asarray(
                COMPARISONS[sign](_operand(left, columns), _operand(right, columns))
            )
            return compared


def _operand(operand: Operand, columns: Columns) -> NDArray[np.generic] | float | str:
    match operand:
        case Number(value):
            return value
        case Text(value):
            return value
        case Name(name):
            return columns[name]
