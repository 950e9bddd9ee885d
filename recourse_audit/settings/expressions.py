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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

LONGEST, DEEPEST = 500, 40
WORDS = ("and", "or", "not")
ARITHMETIC = ("+", "-", "*", "/", "**")
COMPARISONS = ("=", "!=", "<=", ">=", "<", ">")
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
_ALLOWED = (
    *(ast.Name, ast.Load, ast.UnaryOp, ast.USub, ast.Not, ast.BoolOp, ast.And, ast.Or),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Compare, *_SIGNS),
)


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
        """The comparisons of a condition."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Compare):
                sides = self.operand(node.left), self.operand(node.comparators[0])
                yield Comparison(_SIGNS[type(node.ops[0])], *sides)


def parse_formula(text: str) -> Expression:
    """Read arithmetic on columns.

    Raises
    ------
    ValueError
        It is not arithmetic on columns; the message says where it stops being that.
    """
    tokens = _tokens(text)
    _Order(tokens).check_formula()
    return _parse(tokens)


def parse_condition(text: str) -> Expression:
    """Read comparisons of columns, joined by and, or, not; errors as for a formula."""
    tokens = _tokens(text)
    _Order(tokens).check_condition()
    condition = _parse(tokens)
    for _, *sides in condition.comparisons:
        if not any(isinstance(side, ColumnName) for side in sides):
            raise ValueError("compares two values; one side must be a column")
    return condition


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


_END = _Token("sign", "the end")


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


def _parse(tokens: Sequence[_Token]) -> Expression:
    """Tokens in a permitted order, as a tree of permitted nodes."""
    operands: list[Operand] = []
    words = []
    for token in tokens:
        if token.is_operand:
            words.append(f"_{len(operands)}")
            operands.append(token.operand)
        else:
            words.append("==" if token.text == "=" else token.text)
    tree = ast.parse(" ".join(words), mode="eval").body
    if not all(isinstance(node, _ALLOWED) for node in ast.walk(tree)):
        raise ValueError("has more than columns, values and signs in it")
    return Expression(tree, tuple(operands))


class _Order:
    """Checks that operands and signs alternate as they must, and says what does not.

    Python would refuse the same texts, with messages about a language that the user does not write.
    """

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._rest = [*tokens[::-1]]
        self._open: list[int] = []
        self._depth = 0

    def check_formula(self) -> None:
        while True:
            self._skip_prefixes("-")
            token = self._next("a column or a number")
            if token.kind == "text":
                raise ValueError(f"has the text {token.text}, but arithmetic needs numbers")
            self._check_operand(token)
            self._close()
            if not self._joined_by(ARITHMETIC):
                return

    def check_condition(self) -> None:
        while True:
            self._skip_prefixes("not")
            self._check_side()
            sign = self._take()
            if sign.text not in COMPARISONS or sign.kind != "sign":
                raise ValueError(
                    f"has {sign.text!r} where a comparison is needed: one of "
                    f"{', '.join(COMPARISONS)}"
                )
            self._check_side()
            self._close()
            if not self._joined_by(("and", "or")):
                return

    def _check_side(self) -> None:
        """One side of a comparison: a column, a text or a number, which may have a minus sign."""
        minus = self._ahead.text == "-" and bool(self._take())
        token = self._next("a column, a number or a text in quotes")
        if minus and token.kind != "number":
            raise ValueError(f"has {token.text!r} after a minus sign, where a number is needed")
        self._check_operand(token)

    def _check_operand(self, token: _Token) -> None:
        if not token.is_operand:
            raise ValueError(f"has {token.text!r} where a column or a value is needed")
        if token.kind == "name" and self._ahead.text == "(":
            raise ValueError(f"calls {token.text!r}, and nothing can be called here")

    def _skip_prefixes(self, prefix: str) -> None:
        while self._ahead.text in (prefix, "(") and self._ahead.kind in ("sign", "name"):
            if self._take().text == "(":
                self._open.append(self._depth)
            self._deepen()

    def _close(self) -> None:
        while self._open and self._ahead.text == ")":
            self._take()
            self._depth = self._open.pop()

    def _joined_by(self, signs: Sequence[str]) -> bool:
        """Whether another part follows; False at the end."""
        token = self._take()
        if token.text in signs and token.kind in ("sign", "name"):
            if token.text == "**":
                self._deepen()
            else:
                self._depth = self._open[-1] + 1 if self._open else 0
            return True
        if self._open:
            raise ValueError(f"has {token.text!r} where a parenthesis should close")
        if token is not _END:
            raise ValueError(f"goes on with {token.text!r} where it should end")
        return False

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"is nested more than {DEEPEST} deep")

    @property
    def _ahead(self) -> _Token:
        return self._rest[-1] if self._rest else _END

    def _take(self) -> _Token:
        return self._rest.pop() if self._rest else _END

    def _next(self, wanted: str) -> _Token:
        if not self._rest:
            raise ValueError(f"ends where {wanted} is needed")
        return self._rest.pop()
