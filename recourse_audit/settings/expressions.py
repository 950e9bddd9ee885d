"""Formulas and conditions of `audit.toml`, read by Python's grammar with an allow-list.

    formula      debt / (income + 1)             numbers, columns, + - * / ** and parentheses
    condition    job = "none" and income > 0     comparisons joined by and, or, not

Every number, text and column is replaced by a neutral name before `ast.parse` sees the text, so
Python only decides what belongs together: there are no calls, attributes or other names, and
nothing is ever compiled or run. A column whose name is not a plain word is written in backquotes:
`loan-amount`.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

LONGEST, DEEPEST = 500, 40
WORDS = ("and", "or", "not")
FORMULA = "a formula has columns, numbers, + - * / ** and parentheses"
CONDITION = "a condition compares (= != <= >= < >) columns with values, joined by and, or, not"
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<text>"[^"]*"|'[^']*')
    | (?P<quoted>`[^`]+`)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign>\*\*|!=|<=|>=|[-+*/()<>=,])
    )""",
    re.VERBOSE,
)
_SIGNS = {ast.Eq: "=", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_LEAVES = (ast.Name, ast.Load, ast.UnaryOp, ast.USub)
_ARITHMETIC = (*_LEAVES, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_LOGIC = (*_LEAVES, ast.Not, ast.BoolOp, ast.And, ast.Or, ast.Compare, *_SIGNS)


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column that a formula or a condition names."""

    name: str


Operand = ColumnName | float | str


class Comparison(NamedTuple):
    """Two operands, of which at least one is a column."""

    sign: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Expression:
    """A formula or a condition as it was read: name `_3` of the tree is the operand at place 3."""

    tree: ast.expr
    operands: tuple[Operand, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it names, as often as it names them."""
        return tuple(operand.name for operand in self.operands if isinstance(operand, ColumnName))

    def operand(self, node: ast.expr) -> Operand:
        """The operand that a leaf of the tree stands for; in a condition, also with a minus."""
        if isinstance(node, ast.UnaryOp):
            number = self.operand(node.operand)
            assert isinstance(number, float)
            return -number
        assert isinstance(node, ast.Name)
        return self.operands[int(node.id[1:])]

    @property
    def comparisons(self) -> Iterator[Comparison]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Compare):
                sides = self.operand(node.left), self.operand(node.comparators[0])
                yield Comparison(_SIGNS[type(node.ops[0])], *sides)


def parse_formula(text: str) -> Expression:
    """Read arithmetic on columns; anything else is a `ValueError`."""
    formula = _parse(text, _ARITHMETIC, FORMULA)
    for operand in formula.operands:
        if isinstance(operand, str):
            raise ValueError(f"has the text {operand!r}, but arithmetic needs numbers")
    return formula


def parse_condition(text: str) -> Expression:
    """Read comparisons of columns, joined by and, or, not; anything else is a `ValueError`."""
    condition = _parse(text, _LOGIC, CONDITION)
    parts = [condition.tree]
    while parts:
        match parts.pop():
            case ast.BoolOp(values=inner):
                parts += inner
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                parts.append(operand)
            case ast.Compare(left=left, comparators=[right]) if _are_values(condition, left, right):
                continue
            case _:
                raise ValueError(f"has no comparison where one is needed; {CONDITION}")
    for _, *sides in condition.comparisons:
        if not any(isinstance(side, ColumnName) for side in sides):
            raise ValueError("compares two values; one side must be a column")
    return condition


def _are_values(condition: Expression, *sides: ast.expr) -> bool:
    """Whether both sides are columns or values; only a number may have a minus sign."""
    for side in sides:
        leaf = side.operand if isinstance(side, ast.UnaryOp) else side
        if not isinstance(leaf, ast.Name):
            return False
        if leaf is not side and not isinstance(condition.operand(leaf), float):
            return False
    return True


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def is_operand(self) -> bool:
        return self.kind != "sign" and not (self.kind == "name" and self.text in WORDS)

    @property
    def operand(self) -> Operand:
        if self.kind == "number":
            return float(self.text)
        inner = self.text if self.kind == "name" else self.text[1:-1]
        return inner if self.kind == "text" else ColumnName(inner)


def _tokens(text: str) -> list[_Token]:
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text)} characters, and at most {LONGEST} are read")
    tokens, place = [], 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(_stranger(text[place:].lstrip()))
        assert match.lastgroup is not None
        tokens.append(_Token(match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return tokens


def _stranger(rest: str) -> str:
    if rest[0] == ".":
        return f"has {rest[:12]!r}: columns have no attributes; name a column alone"
    if rest[0] in "\"'`":
        return f"has {rest[:12]!r}: the quotes are never closed"
    return f"has {rest[0]!r}, which means nothing here"


def _parse(text: str, allowed: tuple[type[ast.AST], ...], grammar: str) -> Expression:
    """A text as a tree of permitted nodes."""
    operands: list[Operand] = []
    words = []
    for token in _tokens(text):
        if token.is_operand:
            words.append(f"_{len(operands)}")
            operands.append(token.operand)
        else:
            words.append("==" if token.text == "=" else token.text)
    try:
        tree = ast.parse(" ".join(words), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"cannot be read; {grammar}") from None
    nodes = [*ast.walk(tree)]
    if words.count("(") + sum(isinstance(node, ast.UnaryOp) for node in nodes) > DEEPEST:
        raise ValueError(f"has more than {DEEPEST} parentheses and signs before them; simplify it")
    if not all(isinstance(node, allowed) for node in nodes):
        raise ValueError(f"cannot be read; {grammar}")
    return Expression(tree, tuple(operands))
