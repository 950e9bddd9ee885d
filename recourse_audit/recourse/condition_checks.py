"""Conditions checked against the graph: known columns, known categories, nothing protected."""

from numpy import generic
from numpy.typing import NDArray

from recourse_audit.errors import SettingsError
from recourse_audit.graph.columns import near_matches
from recourse_audit.recourse.attribute_checks import CHECKED, AttributeChecks
from recourse_audit.recourse.attributes import column_of
from recourse_audit.recourse.condition_trees import Conditions
from recourse_audit.settings.expressions import ColumnName, Comparison, Operand


def check_conditions(checks: AttributeChecks, conditions: Conditions) -> None:
    """Refuse what cannot be compared, and what ties a change to a protected attribute."""
    for place, (when, then) in enumerate(conditions.trees):
        for word, tree in (("if", when), ("then", then)):
            if tree is None:
                continue
            key = f"recourse.conditions[{place}].{word}"
            for name in tree.names:
                _check_column(checks, name, key)
            for comparison in tree.comparisons:
                _check_comparison(checks, comparison, key)
        _check_protected(checks, conditions, place)


def _check_column(checks: AttributeChecks, name: str, key: str) -> None:
    known = checks.graph.column_names
    if name not in known:
        raise SettingsError(
            f"{key}: the nodes have no column {name!r}; {near_matches(name, known)}"
        )


def _check_comparison(checks: AttributeChecks, one: Comparison, key: str) -> None:
    sides = one.left, one.right
    texts = [_is_text(checks, side) for side in sides]
    column = next(side.name for side in sides if isinstance(side, ColumnName))
    if texts[0] != texts[1]:
        what = "a category" if _is_text(checks, ColumnName(column)) else "a number"
        raise SettingsError(
            f"{key}: {column!r} is {what} and is compared with something else; compare texts (in "
            "quotes) with categories, and numbers with numbers"
        )
    if texts[0] and one.sign not in ("=", "!="):
        raise SettingsError(
            f"{key}: {column!r} is a category, which is neither less nor more than another; use = "
            "or !="
        )
    for side in sides:
        if isinstance(side, str):
            checks.check_label(column, side, key)


def _is_text(checks: AttributeChecks, side: Operand) -> bool:
    if isinstance(side, ColumnName):
        column: NDArray[generic] = column_of(checks.graph, side.name)
        return column.dtype.kind not in "biuf"
    return isinstance(side, str)


def _check_protected(checks: AttributeChecks, conditions: Conditions, place: int) -> None:
    """Refuse a condition by which what may change follows from a protected attribute."""
    named, base = conditions.named[place], conditions.base[place]
    touched = [
        protected
        for protected in checks.protected
        if any(name == protected or checks.related(name, protected) for name in named)
    ]
    moved = [name for name in checks.changeable if name in base and name not in checks.checked]
    if touched and moved:
        raise SettingsError(
            f"recourse.conditions[{place}]: makes what {moved[0]!r} may become depend on the "
            f"protected attribute {touched[0]!r} (groups.attributes), and what follows from a "
            f"protected attribute never changes; leave it out; {CHECKED}"
        )
