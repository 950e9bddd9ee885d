"""A finished option checked once more as a whole: conditions, formulas, protected attributes.

Nothing here uses what the search for options uses. The user's texts are read again, with Python's
own grammar and a short list of what is allowed, and worked out number by number on the one row
that the option leads to. Nothing is ever run as code: `ast.parse` only reads.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite

from recourse_audit.records.recourse import Action, SetAction
from recourse_audit.recourse.attributes import Attribute, Value, column_of
from recourse_audit.recourse.policy import Policy

CLOSE = 1e-9
Row = dict[str, Value]
Truth = frozenset[bool]
_PIECE = re.compile(
    r"""(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<text>"[^"]*"|'[^']*') | `(?P<quoted>[^`]+)` | (?P<word>[^\W\d]\w*) | (?P<space>\s+)
    | (?P<sign>\*\*|!=|<=|>=|=|.)""",
    re.VERBOSE | re.DOTALL,
)


def broken_by_result(policy: Policy, subject: int, actions: Sequence[Action]) -> str:
    """What would be wrong after an option: a condition, a formula, a protected value; or empty."""
    moved = _moved(actions)
    columns = policy.columns
    if not moved or not (policy.settings.conditions or columns.derived or columns.encodings):
        return ""
    row = _known_row(policy, subject, moved)
    before = _completed(policy, row)
    after = _completed(policy, row | _stored(policy, moved))
    for derived in columns.derived:
        value = after[derived.name]
        if isinstance(value, str) or not isfinite(value):
            return f"{derived.name!r} would have no finite value"
    for name in policy.protected:
        if name in before and _differ(before[name], after[name]):
            return f"the protected attribute {name!r} would change"
    shown = _in_units(policy, after) | moved
    for condition in policy.settings.conditions:
        named = _names(condition.then) | _names(condition.when or "")
        touched = {name for name in named if name in moved or _differ(before[name], after[name])}
        applies = condition.when is None or _may_hold(condition.when, shown) == {True}
        if touched and applies and _may_hold(condition.then, shown) == {False}:
            return f"the condition {condition.text!r} would not hold"
    return ""


def _differ(one: Value, other: Value) -> bool:
    """Whether two values are not the same; two that are missing (NaN) are."""
    return one != other and not (one != one and other != other)  # noqa: PLR0124


def _moved(actions: Sequence[Action]) -> Row:
    """What an option sets, in the user's units."""
    found: Row = {}
    for action in actions:
        if isinstance(action, SetAction):
            found[action.attribute] = action.after
            found |= {move.attribute: move.after for move in action.implied}
    return found


def _known_row(policy: Policy, subject: int, moved: Row) -> Row:
    """What is known of one person and matters here, as the table holds it."""
    names = {*moved, *policy.protected}
    for encoding in policy.columns.encodings:
        names |= {encoding.name, *encoding.columns, encoding.of or encoding.name}
    for derived in policy.columns.derived:
        names |= {derived.name, *_names(derived.formula)}
    for condition in policy.settings.conditions:
        names |= _names(condition.then) | _names(condition.when or "")
    found: Row = {}
    for name in sorted(names & {*policy.graph.column_names}):
        value = column_of(policy.graph, name)[subject]
        found[name] = value if isinstance(value, str) else float(value)
    return found


def _stored(policy: Policy, moved: Mapping[str, Value]) -> Row:
    """New values in the table's units."""
    units = _units(policy)
    return {
        name: value
        if isinstance(value, str)
        else float(units[name].stored([value])[0])
        if name in units
        else value
        for name, value in moved.items()
    }


def _units(policy: Policy) -> dict[str, Attribute]:
    return {
        one.name: one
        for movement in policy.movements
        for one in movement.moved
        if isinstance(one, Attribute)
    }


def _in_units(policy: Policy, row: Row) -> Row:
    """A row in the user's units."""
    units = _units(policy)
    return {
        name: value if name not in units or isinstance(value, str) else units[name].shown(value)
        for name, value in row.items()
    }


def _completed(policy: Policy, row: Row) -> Row:
    """A row with what follows from it computed again: repeated until nothing changes."""
    done = dict(row)
    for _ in range(len(policy.columns.derived) + len(policy.columns.encodings) + 1):
        for encoding in policy.columns.encodings:
            if encoding.of is not None:
                number = done[encoding.of]
                assert not isinstance(number, str)
                place = sum(number >= edge for edge in encoding.edges)
                done[encoding.name] = encoding.all_labels[place]
            place = encoding.all_labels.index(str(done[encoding.name]))
            done |= dict(zip(encoding.columns, encoding.codes[place], strict=True))
        for derived in policy.columns.derived:
            done[derived.name] = _worked_out(derived.formula, done)
    return done


def _read(text: str) -> tuple[ast.expr, dict[str, str]]:
    """A text as Python's grammar reads it, with columns under neutral names."""
    names: dict[str, str] = {}
    pieces = []
    for found in _PIECE.finditer(text):
        piece, kind = found[0], found.lastgroup
        if kind == "text":
            piece = repr(piece[1:-1])
        elif kind == "quoted" or (kind == "word" and piece not in ("and", "or", "not")):
            piece = names.setdefault(found[kind], f"column_{len(names)}")
        elif kind == "space":
            piece = " "
        pieces.append("==" if piece == "=" else piece)
    tree = ast.parse(f"({''.join(pieces)})", mode="eval")
    return tree.body, {neutral: name for name, neutral in names.items()}


def _names(text: str) -> set[str]:
    return set(_read(text)[1].values()) if text else set()


def _worked_out(formula: str, row: Row) -> float:
    """A formula on one row; NaN where it has no value."""
    tree, names = _read(formula)

    def value(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                known = row[names[name]]
                assert not isinstance(known, str)
                return known
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -value(inner)
            case ast.BinOp(left=left, op=sign, right=right):
                return _joined(sign, value(left), value(right))
        raise AssertionError(f"{formula!r} is no arithmetic, and was let through")

    return value(tree)


def _joined(sign: ast.operator, left: float, right: float) -> float:
    try:
        match sign:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div():
                return left / right
            case ast.Pow():
                power = left**right
                return power if isinstance(power, float) else float("nan")
    except (ZeroDivisionError, OverflowError):
        return float("nan")
    raise AssertionError(f"{sign!r} is no arithmetic, and was let through")


def _may_hold(condition: str, row: Row) -> Truth:
    """Whether a condition holds on a row: both answers where rounding decides."""
    tree, names = _read(condition)

    def operand(node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=str() as text):
                return text
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -float(number)
            case ast.Name(id=name):
                return row[names[name]]
        raise AssertionError(f"{condition!r} is no condition, and was let through")

    def truth(node: ast.expr) -> Truth:
        match node:
            case ast.BoolOp(op=ast.And(), values=parts):
                return _combined(all, [truth(part) for part in parts])
            case ast.BoolOp(op=ast.Or(), values=parts):
                return _combined(any, [truth(part) for part in parts])
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return frozenset(not one for one in truth(inner))
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                return _compared(sign, operand(left), operand(right))
        raise AssertionError(f"{condition!r} is no condition, and was let through")

    return truth(tree)


def _combined(join: Callable[[Sequence[bool]], bool], parts: Sequence[Truth]) -> Truth:
    surely = [part == {True} for part in parts]
    perhaps = [True in part for part in parts]
    return frozenset((join(surely), join(perhaps)))


def _compared(sign: ast.cmpop, left: Value, right: Value) -> Truth:
    if isinstance(left, str) or isinstance(right, str):
        return frozenset([(left == right) == isinstance(sign, ast.Eq)])
    near = abs(left - right) <= CLOSE * max(1.0, abs(left), abs(right))
    exact = {
        ast.Eq: left == right,
        ast.NotEq: left != right,
        ast.Lt: left < right,
        ast.LtE: left <= right,
        ast.Gt: left > right,
        ast.GtE: left >= right,
    }[type(sign)]
    return frozenset((True, False)) if near and left != right else frozenset([exact])
