"""Columns that follow from others: what encodes a category, and what a formula gives.

Vocabulary
----------
base column   what the user's table says and nothing else determines: a number or a category.
step          one encoding or one formula, which makes columns from others.
category      text. Of an encoding, it is read from its columns once, and written into them again
              whenever it changes; of a number in bins, it follows from the number.

Steps are in an order in which each finds what it needs. The same steps serve everybody when the
graph is read, and one person's changed row later on.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.columns import Column, Columns, Place, as_strings, check_known
from recourse_audit.graph.graph import Graph, Ints
from recourse_audit.settings import DerivedSettings, EncodingSettings, GraphSettings
from recourse_audit.settings.expressions import ColumnName, Expression

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
        count = len(columns[self.inputs[0]] if self.inputs else next(iter(columns.values()), ()))
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
        return as_strings(np.array(self.settings.all_labels, object))

    @cached_property
    def codes(self) -> NDArray[np.float64]:
        return np.array(self.settings.codes)

    def fill(self, columns: dict[str, Column]) -> None:
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
        return np.asarray(np.searchsorted(edges, numbers, side="right"))

    def read(self, columns: Columns, place: Place) -> Column:
        """The category of every row, or an error that names the first row without one."""
        parts = [columns[name] for name in self.settings.columns]
        labels = np.full(len(parts[0]), -1)
        for label, codes in enumerate(self.codes):
            same = np.ones(len(labels), bool)
            for part, code in zip(parts, codes, strict=True):
                same &= part == np.asarray(code, part.dtype if part.dtype.kind == "f" else None)
            labels[same] = label
        broken = np.flatnonzero(labels < 0)
        if len(broken):
            row = int(broken[0])
            raise GraphError(
                f"{place.row(row)}: {self._complaint([part[row].item() for part in parts])} "
                f"({self.key}); correct the row, or the encoding"
            )
        return np.asarray(self.labels[labels])

    def _complaint(self, values: list[float]) -> str:
        name, columns, kind = self.settings.name, self.settings.columns, self.settings.kind
        for column, value in zip(columns, values, strict=True):
            if np.isnan(value):
                return f"column {column!r} is empty, but it is part of {name!r}"
        rule = "1 up to one column, and 0 after it" if kind == "thermometer" else "a single 1"
        if len(columns) == 1:
            rule = ", ".join(f"{code:g}" for code in self.codes[:12, 0].tolist())
        several = len(columns) > 1
        given = [
            f"column {column!r} is {value:g}"
            for column, value in zip(columns, values, strict=True)
            if value or not several
        ]
        there = ", ".join(given) or f"every column of {name!r} is 0"
        return f"{there}, which is no code of {name!r} ({rule})"


Step = DerivedStep | EncodingStep


# Two float32 computations of one number may differ by a few units in the last place.
SAME = 1e-6


class Computation:
    """All steps of an audit's settings, in an order in which each finds what it needs."""

    def __init__(self, settings: GraphSettings) -> None:
        encodings = [
            EncodingStep(step, f"graph.encodings[{place}]")
            for place, step in enumerate(settings.encodings)
        ]
        derived = (
            DerivedStep(step, f"graph.derived[{place}]")
            for place, step in enumerate(settings.derived)
        )
        steps: tuple[Step, ...] = (*encodings, *derived)
        self.maker = {name: step for step in steps for name in step.outputs}
        self.categories = {step.settings.name: step for step in encodings}
        self.steps = _sort_steps(steps, self.maker)

    def __bool__(self) -> bool:
        return bool(self.steps)

    def complete(self, columns: Columns) -> dict[str, Column]:
        """Base columns together with all that follows from them."""
        whole = dict(columns)
        for step in self.steps:
            if all(name in whole for name in step.inputs):
                step.fill(whole)
        return whole

    def base(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The base columns that some columns follow from, in order of first use."""
        base: dict[str, None] = {}
        for name in names:
            step = self.maker.get(name)
            base |= dict.fromkeys((name,) if step is None else self.base(step.inputs))
        return tuple(base)

    def sources(self, name: str) -> tuple[str, ...]:
        """Every column that one follows from, near ones first; none for a base column."""
        step = self.maker.get(name)
        if step is None:
            return ()
        further = (name for source in step.inputs for name in self.sources(source))
        return tuple(dict.fromkeys((*step.inputs, *further)))


def _sort_steps(steps: tuple[Step, ...], maker: Mapping[str, Step]) -> tuple[Step, ...]:
    """Each step after those that make what it needs; a circle is an error."""
    by_key = {step.key: step for step in steps}
    needs = {step.key: [maker[n].key for n in step.inputs if n in maker] for step in steps}
    try:
        return tuple(by_key[key] for key in TopologicalSorter(needs).static_order())
    except CycleError as error:
        circle = [by_key[key] for key in reversed(error.args[1])]
        names = " -> ".join(step.settings.name for step in circle)
        raise SettingsError(
            f"{circle[0].key}: is computed from itself ({names}); break the circle"
        ) from None


def with_computed(graph: Graph, settings: GraphSettings, place: Place) -> Graph:
    """Read categories and compute derived columns for everybody, and check every row.

    A column that the table has as well must agree. Derived features join the others in the order
    of `graph.features`; where the table has them, the computed numbers replace its own.

    Raises
    ------
    GraphError
        A row encodes no category, or a formula has no value on it, or the table disagrees.
    SettingsError
        A setting names a column that is not there, or text where a number must be.
    """
    computation = Computation(settings)
    if not computation:
        return graph
    table: Columns = {**graph.attributes, **graph.features_by_name}
    columns = dict(table)
    for step in computation.steps:
        _check_inputs(step, columns, computation)
        if isinstance(step, EncodingStep) and step.settings.of is None:
            columns[step.settings.name] = step.read(columns, place)
        else:
            _fill_and_check(step, columns, place)
        _check_agreement(step, table, columns, place)
    return _with_features(graph, settings, columns)


def _with_features(graph: Graph, settings: GraphSettings, columns: Columns) -> Graph:
    """The graph with the features that the settings list; what is no feature is an attribute."""
    derived = {column.name for column in settings.derived}
    names, features = graph.feature_names, graph.features
    if settings.features and set(settings.features) - derived <= set(names):
        names = settings.features
    if names != graph.feature_names or derived & set(names):
        # Float64 if all of them are derived; otherwise the number type of those in the table.
        plain = set(graph.feature_names) - derived
        kind = features.dtype if plain else np.dtype(np.float64)
        features = np.empty((graph.node_count, len(names)), kind)
        for number, name in enumerate(names):
            features[:, number] = columns[name]
    left = {name: values for name, values in graph.features_by_name.items() if name not in names}
    return replace(
        graph,
        features=features,
        feature_names=names,
        attributes={**graph.attributes, **left},
        more={
            **{step.name: columns[step.name] for step in settings.encodings},
            **{step.name: columns[step.name] for step in settings.derived},
        },
    )


def _check_inputs(step: Step, columns: Columns, computation: Computation) -> None:
    """Refuse a step that names a column which is not there, or not a number."""
    key = f"{step.key}.formula" if isinstance(step, DerivedStep) else f"{step.key}.columns"
    wanted = step.inputs if isinstance(step, DerivedStep) else step.settings.columns
    if isinstance(step, EncodingStep) and step.settings.of is not None:
        key, wanted = f"{step.key}.of", (step.settings.of, *wanted)
    for name in wanted:
        check_known(key, name, columns)
        if columns[name].dtype.kind not in "biuf":
            what = "a category" if name in computation.categories else "text"
            raise SettingsError(f"{key}: {name!r} is {what}, but numbers are needed; name others")


def _fill_and_check(step: Step, columns: dict[str, Column], place: Place) -> None:
    """Fill in columns; refuse an empty cell that they need, and a row without a finite result."""
    for name in step.inputs:
        empty = np.flatnonzero(~np.isfinite(columns[name].astype(np.float64)))
        if len(empty):
            raise GraphError(
                f"{place.row(int(empty[0]))}: column {name!r} is empty or not finite, but "
                f"{step.settings.name!r} is computed from it ({step.key}); fill it in"
            )
    step.fill(columns)
    if isinstance(step, DerivedStep):
        broken = np.flatnonzero(~np.isfinite(columns[step.settings.name]))
        if len(broken):
            row = int(broken[0])
            values = ", ".join(f"{name} = {columns[name][row].item():g}" for name in step.inputs)
            raise GraphError(
                f"{place.row(row)}: {step.settings.name!r} has no finite value ({step.key}: "
                f"{step.settings.formula}, with {values}); correct the row or the formula"
            )


def _check_agreement(step: Step, table: Columns, columns: Columns, place: Place) -> None:
    """Refuse a table that says something else than what follows from its other columns."""
    for name in dict.fromkeys((*step.outputs, step.settings.name)):
        if name not in table or table[name] is columns[name]:
            continue
        differs = _differs(table[name], columns[name])
        if differs.any():
            row = int(np.flatnonzero(differs)[0])
            written, computed = (_text(column[row]) for column in (table[name], columns[name]))
            raise GraphError(
                f"{place.row(row)}: column {name!r} is {written}, but {step.key} gives "
                f"{computed}; correct one of the two"
            )


def _differs(written: Column, computed: Column) -> NDArray[np.bool_]:
    if computed.dtype.kind == "T" or written.dtype.kind not in "biuf":
        rows = zip(written.tolist(), computed.tolist(), strict=True)
        return np.array([str(value) != str(other) for value, other in rows], bool)
    close = np.isclose(
        written.astype(np.float64), computed.astype(np.float64), rtol=SAME, atol=1e-12
    )
    return ~close


def _text(value: object) -> str:
    return repr(value) if isinstance(value, str) else f"{float(str(value)):.9g}"
