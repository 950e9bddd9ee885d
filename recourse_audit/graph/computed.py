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

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recourse_audit.errors import GraphError, SettingsError
from recourse_audit.graph.arrays import Graph
from recourse_audit.graph.columns import Place, as_strings, near_matches
from recourse_audit.graph.steps import Column, Columns, DerivedStep, EncodingStep, Step
from recourse_audit.settings import GraphSettings

# Two float32 computations of one number may differ by a few units in the last place.
SAME = 1e-6


class Computation:
    """All steps of an audit's settings, in an order in which each finds what it needs."""

    def __init__(self, settings: GraphSettings) -> None:
        derived = [
            DerivedStep(one, f"graph.derived[{place}]")
            for place, one in enumerate(settings.derived)
        ]
        encodings = [
            EncodingStep(one, f"graph.encodings[{place}]")
            for place, one in enumerate(settings.encodings)
        ]
        steps: tuple[Step, ...] = (*encodings, *derived)
        self.maker = {name: step for step in steps for name in step.outputs}
        self.categories = {step.settings.name: step for step in encodings}
        self.steps = _ordered(steps, self.maker)

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
        found: dict[str, None] = {}
        for name in names:
            step = self.maker.get(name)
            found |= dict.fromkeys((name,) if step is None else self.base(step.inputs))
        return tuple(found)

    def sources(self, name: str) -> tuple[str, ...]:
        """Every column that one follows from, near ones first; none for a base column."""
        step = self.maker.get(name)
        if step is None:
            return ()
        further = (one for source in step.inputs for one in self.sources(source))
        return tuple(dict.fromkeys((*step.inputs, *further)))


def _ordered(steps: tuple[Step, ...], maker: Mapping[str, Step]) -> tuple[Step, ...]:
    """Each step after those that make what it needs; a circle is an error."""
    done: list[Step] = []

    def place(step: Step, waiting: tuple[Step, ...]) -> None:
        if step in waiting:
            names = " -> ".join(one.settings.name for one in (*waiting, step))
            raise SettingsError(f"{step.key}: is computed from itself ({names}); break the circle")
        if step not in done:
            for name in step.inputs:
                if name in maker:
                    place(maker[name], (*waiting, step))
            done.append(step)

    for step in steps:
        place(step, ())
    return tuple(done)


def needed_features(settings: GraphSettings, known: Collection[str]) -> tuple[str, ...]:
    """The features that must stand in the table: all but derived ones that it lacks."""
    made = {one.name for one in settings.derived}
    return tuple(name for name in settings.features if name in known or name not in made)


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
    table = {**graph.attributes, **graph.features_by_name}
    columns: dict[str, Column] = dict(table)
    for step in computation.steps:
        _check_inputs(step, columns, computation)
        if isinstance(step, EncodingStep) and step.settings.of is None:
            columns[step.settings.name] = step.read(columns, place)
        else:
            _check_numbers(step, columns, place)
            step.fill(columns)
        _check_agreement(step, table, columns, place)
    more = {
        name: columns[name]
        for name in (*computation.categories, *(one.name for one in settings.derived))
    }
    return _with_features(graph, settings, columns, more)


def _with_features(
    graph: Graph, settings: GraphSettings, columns: Columns, more: Mapping[str, Column]
) -> Graph:
    """The graph with the features that the settings list; what is no feature is an attribute."""
    made = {one.name for one in settings.derived}
    listed = settings.features
    names = graph.feature_names
    if listed and set(listed) - made <= set(names):
        names = listed
    features = graph.features
    if names != graph.feature_names or made & set(names):
        features = np.empty((graph.node_count, len(names)), _kind_of(graph, settings))
        for number, name in enumerate(names):
            features[:, number] = columns[name]
    left = {name: values for name, values in graph.features_by_name.items() if name not in names}
    return replace(
        graph,
        features=features,
        feature_names=names,
        attributes={**graph.attributes, **left},
        more=more,
    )


def _kind_of(graph: Graph, settings: GraphSettings) -> np.dtype[np.floating]:
    """The number type of the features in the table; float64 if all of them are derived."""
    made = {one.name for one in settings.derived}
    plain = [name for name in graph.feature_names if name not in made]
    return graph.features.dtype if plain else np.dtype(np.float64)


def _check_inputs(step: Step, columns: Mapping[str, Column], computation: Computation) -> None:
    """Refuse a step that names a column which is not there, or not a number."""
    key = f"{step.key}.formula" if isinstance(step, DerivedStep) else f"{step.key}.columns"
    wanted = step.inputs if isinstance(step, DerivedStep) else step.settings.columns
    if isinstance(step, EncodingStep) and step.settings.of is not None:
        key, wanted = f"{step.key}.of", (step.settings.of, *wanted)
    for name in wanted:
        if name not in columns:
            raise SettingsError(
                f"{key}: the nodes have no column {name!r}; {near_matches(name, columns)}"
            )
        if columns[name].dtype.kind not in "biuf":
            what = "a category" if name in computation.categories else "text"
            raise SettingsError(f"{key}: {name!r} is {what}, but numbers are needed; name others")


def _check_numbers(step: Step, columns: dict[str, Column], place: Place) -> None:
    """Refuse an empty cell in what a step computes with, and a row without a finite result."""
    for name in step.inputs:
        empty = np.flatnonzero(~np.isfinite(columns[name].astype(np.float64)))
        if len(empty):
            raise GraphError(
                f"{place.row(int(empty[0]))}: column {name!r} is empty or not finite, but "
                f"{step.settings.name!r} is computed from it ({step.key}); fill it in"
            )
    if isinstance(step, DerivedStep):
        result = dict(columns)
        step.fill(result)
        broken = np.flatnonzero(~np.isfinite(result[step.settings.name]))
        if len(broken):
            row = int(broken[0])
            values = ", ".join(f"{name} = {columns[name][row].item():g}" for name in step.inputs)
            raise GraphError(
                f"{place.row(row)}: {step.settings.name!r} has no finite value ({step.key}: "
                f"{step.settings.formula}, with {values}); correct the row or the formula"
            )


def _check_agreement(
    step: Step, table: Mapping[str, Column], columns: Mapping[str, Column], place: Place
) -> None:
    """Refuse a table that says something else than what follows from its other columns."""
    for name in dict.fromkeys((*step.outputs, step.settings.name)):
        if name not in table or table[name] is columns[name]:
            continue
        differs = _differs(table[name], columns[name])
        if differs.any():
            row = int(np.flatnonzero(differs)[0])
            written, computed = (_shown(one[row]) for one in (table[name], columns[name]))
            raise GraphError(
                f"{place.row(row)}: column {name!r} is {written}, but {step.key} gives "
                f"{computed}; correct one of the two"
            )


def _differs(written: Column, computed: Column) -> NDArray[np.bool_]:
    if computed.dtype.kind == "T" or written.dtype.kind not in "biuf":
        one, other = (
            as_strings(np.array([str(value) for value in column.tolist()], object))
            for column in (written, computed)
        )
        different: NDArray[np.bool_] = np.asarray(one != other)
        return different
    close = np.isclose(
        written.astype(np.float64), computed.astype(np.float64), rtol=SAME, atol=1e-12
    )
    return ~close


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str) else f"{float(str(value)):.9g}"
