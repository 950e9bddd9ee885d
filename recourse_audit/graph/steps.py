"""The steps by which columns follow from others: an encoding, or a formula."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError
from recourse_audit.graph.arrays import Ints
from recourse_audit.graph.columns import Place, as_labels, as_strings
from recourse_audit.settings import DerivedSettings, EncodingSettings
from recourse_audit.settings.expressions import ColumnName, Expression

Column = NDArray[np.generic]
Columns = Mapping[str, Column]
_FUNCTIONS: dict[type[ast.AST], np.ufunc] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.float_power,
    ast.USub: np.negative,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.And: np.logical_and,
    ast.Or: np.logical_or,
    ast.Not: np.logical_not,
}


def evaluate(expression: Expression, columns: Columns) -> NDArray[Any]:
    """What a formula gives on every row, in float64, or on which rows a condition holds.

    A formula is NaN or infinite where it has no value. What names no column is a single value.
    """

    def value(node: ast.expr) -> Any:
        match node:
            case ast.UnaryOp(op=sign, operand=inner):
                return _FUNCTIONS[type(sign)](value(inner))
            case ast.BinOp(left=left, op=sign, right=right):
                return _FUNCTIONS[type(sign)](value(left), value(right))
            case ast.Compare(left=left, ops=[comparison], comparators=[right]):
                return _FUNCTIONS[type(comparison)](value(left), value(right))
            case ast.BoolOp(op=word, values=parts):
                return reduce(_FUNCTIONS[type(word)], map(value, parts))
        operand = expression.operand(node)
        if not isinstance(operand, ColumnName):
            return operand
        column = columns[operand.name]
        return column.astype(np.float64) if column.dtype.kind in "biuf" else column

    with np.errstate(all="ignore"):
        return np.asarray(value(expression.tree))


@dataclass(frozen=True)
class DerivedStep:
    """A column that a formula gives."""

    settings: DerivedSettings
    key: str

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.settings.tree.names))

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.settings.name,)

    def fill(self, columns: dict[str, Column]) -> None:
        """Add the column to some others."""
        count = len(columns[self.inputs[0]]) if self.inputs else _length(columns)
        values = evaluate(self.settings.tree, columns)
        columns[self.settings.name] = np.broadcast_to(values, (count,)).astype(np.float64)


@dataclass(frozen=True)
class EncodingStep:
    """Columns that encode a category; with `of`, the category follows from a number as well."""

    settings: EncodingSettings
    key: str

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.settings.of or self.settings.name,)

    @property
    def outputs(self) -> tuple[str, ...]:
        own = () if self.settings.of is None else (self.settings.name,)
        return (*own, *self.settings.columns)

    @cached_property
    def labels(self) -> Column:
        return as_labels(as_strings(np.array(self.settings.all_labels, object)))

    @cached_property
    def codes(self) -> NDArray[np.float64]:
        return np.array(self.settings.codes)

    def fill(self, columns: dict[str, Column]) -> None:
        """Add the columns that encode the category, and the bin of a number."""
        if self.settings.of is None:
            number = {label: place for place, label in enumerate(self.settings.all_labels)}
            places = np.array([number[text] for text in columns[self.settings.name].tolist()], int)
        else:
            places = self.bins(columns[self.settings.of])
            columns[self.settings.name] = self.labels[places]
        for place, name in enumerate(self.settings.columns):
            columns[name] = self.codes[places, place]

    def bins(self, numbers: Column) -> Ints:
        """Which bin each number lies in; an edge is as exact as the column."""
        kind = numbers.dtype if numbers.dtype.kind == "f" else np.dtype(float)
        edges = np.array(self.settings.edges, kind)
        places: Ints = np.searchsorted(edges, numbers, side="right")
        return places

    def read(self, columns: Mapping[str, Column], place: Place) -> Column:
        """The category of every row, or an error that names the first row without one."""
        parts = [columns[name] for name in self.settings.columns]
        found = np.full(len(parts[0]), -1)
        for label, codes in enumerate(self.codes):
            same = np.ones(len(found), bool)
            for part, code in zip(parts, codes, strict=True):
                same &= part == np.asarray(code, part.dtype if part.dtype.kind == "f" else None)
            found[same] = label
        broken = np.flatnonzero(found < 0)
        if len(broken):
            row = int(broken[0])
            raise GraphError(
                f"{place.row(row)}: {self._complaint([part[row].item() for part in parts])} "
                f"({self.key}); correct the row, or the encoding"
            )
        categories: Column = self.labels[found]
        return categories

    def _complaint(self, values: list[float]) -> str:
        """What is wrong with one row."""
        name, columns, kind = self.settings.name, self.settings.columns, self.settings.kind
        for column, value in zip(columns, values, strict=True):
            if np.isnan(value):
                return f"column {column!r} is empty, but it is part of {name!r}"
        if len(columns) == 1:
            known = ", ".join(f"{code:g}" for code in self.codes[:12, 0].tolist())
            return f"column {columns[0]!r} is {values[0]:g}, which is no code of {name!r} ({known})"
        for column, value in zip(columns, values, strict=True):
            if value not in (0, 1):
                return f"column {column!r} is {value:g}, but in {name!r} it must be 0 or 1"
        hot = [column for column, value in zip(columns, values, strict=True) if value == 1]
        if kind == "thermometer":
            return f"the columns of {name!r} are not 1 up to one of them and 0 after it"
        if not hot:
            return f"none of the columns of {name!r} is 1, but exactly one must be"
        return (
            f"{len(hot)} of the columns of {name!r} are 1 ({', '.join(map(repr, hot))}), but "
            "exactly one must be"
        )


Step = DerivedStep | EncodingStep


def _length(columns: Columns) -> int:
    return len(next(iter(columns.values()), ()))
